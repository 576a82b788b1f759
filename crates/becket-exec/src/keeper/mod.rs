//! The caller's side of a keeper: starting one, asking it, letting it go.

mod pool;
mod serve;
mod sweep;
mod wire;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, pidfd_open, waitid};

use crate::custody::Status;
use crate::ending::Exit;
use crate::image::Image;
use crate::mark::{MARK_LEN, Mark, Track};
use crate::pipes::{Dir, above_stdio};
use crate::procfs;
use crate::start::StartError;
use crate::sys;

pub use pool::{Leased, Pool};
pub use serve::keeper_main;

/// How long a keeper may take over one answer before it counts as gone. A sweep takes at most two
/// seconds, everything else far less.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a keeper may be silent before it is told to go on, in case somebody stopped it; and again after that, for somebody
/// may do so again.
const WAKE: Duration = Duration::from_millis(250);

/// A process that is the parent of one event's jobs, and reaps everything below itself.
///
/// It has one thread, a session of its own, `/dev/null` as its standard descriptors, and of the
/// caller's descriptors only its end of a socket: its lifeline. However the caller ends, the keeper
/// notices and kills everything below itself, unless it had been told that all is done.
///
/// Dropping it says so: what finished jobs left running stays. A keeper that is dropped in the middle of
/// a batch (by a panic) kills everything instead.
#[derive(Debug)]
pub struct Keeper {
    socket: OwnedFd,
    /// The keeper process itself; `None` once it has been reaped or is left to others.
    process: Option<OwnedFd>,
    spared: Vec<Mark>,
    /// Of jobs that must leave nothing: what a sweep is for.
    swept: Vec<Track>,
    busy: bool,
    gone: bool,
    /// It was told that all is done, and the socket is closed.
    left: bool,
}

/// Why a keeper could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeeperError {
    /// A fork would copy the other threads' locks and none of the threads.
    #[error("a keeper cannot be forked from a process with several threads ({0} here)")]
    Threads(usize),
    /// The keeper's program could not be started.
    #[error("cannot start the keeper: {0}")]
    Start(#[from] StartError),
    /// Without `/proc`, or with that of another space of process numbers, a keeper cannot find what it is to end.
    #[error("/proc is missing, or is not that of this space of process numbers")]
    NoProc,
    /// The program that was started does not behave as a keeper of this version.
    #[error("the program does not answer as a keeper of this version")]
    NotAKeeper,
    /// [`keeper_main`] was called in a program that was not started as a keeper.
    #[error("this program was not started as a keeper")]
    NotStartedAsOne,
    /// The system refused.
    #[error("cannot set up a keeper: {0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for KeeperError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// Why a keeper started nothing.
pub(crate) enum Refused {
    /// The system's answer.
    Errno(Errno),
    /// It was gone before it was asked.
    Gone,
    /// It was asked, and did not answer: it may have started the job or not.
    Silent,
}

impl Keeper {
    /// Forks the calling process: the child becomes the keeper and never returns from here.
    ///
    /// For a command-line program, before it starts any thread. Costs little while the process is small;
    /// what the process holds in memory stays shared with the keeper.
    ///
    /// # Errors
    ///
    /// [`KeeperError::Threads`] if the process has more than one thread, [`KeeperError::Io`] if the
    /// system refuses a socket or a process, [`KeeperError::NoProc`] without a `/proc` of its own.
    pub fn fork() -> Result<Self, KeeperError> {
        procfs::check().map_err(|_| KeeperError::NoProc)?;
        refuse_threads()?;
        let (socket, theirs) = lifeline()?;
        // Before the fork: afterwards the keeper could only name its parent by a number.
        let caller = caller()?;
        match sys::fork()? {
            None => serve::forked(&theirs, &caller),
            Some(pid) => {
                let process = pidfd_open(pid, PidfdFlags::empty()).ok();
                Ok(Self::new(socket, process))
            }
        }
    }

    /// Starts `program` with `args` (and this process's environment), which must call [`keeper_main`]
    /// before it does anything else. For a library in a process with threads.
    ///
    /// # Errors
    ///
    /// [`KeeperError::Start`] if it cannot be started, [`KeeperError::NotAKeeper`] if it does not answer
    /// as one within ten seconds, [`KeeperError::Io`] if the system refuses a socket.
    pub fn spawn(program: &Path, args: &[OsString]) -> Result<Self, KeeperError> {
        procfs::check().map_err(|_| KeeperError::NoProc)?;
        let (socket, theirs) = lifeline()?;
        let image = Image::inheriting(program, args)?;
        let root = Dir::open(Path::new("."))?;
        let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let null = above_stdio(null)?;
        let (_, process) = sys::spawn(&image, root.fd.as_fd(), [theirs.as_fd(), null.as_fd(), null.as_fd()])
            .map_err(|errno| StartError::of(errno, program.as_os_str(), root.fd.as_fd()))?;
        drop(theirs);
        let mut keeper = Self::new(socket, Some(process));
        let caller = caller()?;
        let hello = keeper.ask(wire::HELLO, &[&wire::VERSION.to_ne_bytes()], &[caller.as_fd()]);
        match hello {
            Ok((wire::Answer { how: wire::OK, value }, _)) if value.cast_unsigned() == wire::VERSION => {
                Ok(keeper)
            }
            _ => {
                // Whatever it is, it is nobody's.
                if let Some(process) = &keeper.process {
                    let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
                }
                Err(KeeperError::NotAKeeper)
            }
        }
    }

    /// Lets the keeper go without waiting for its end, as dropping it does. For a program that exits at
    /// once after this.
    pub fn leave(mut self) {
        self.say_done();
        self.process = None;
    }

    fn new(socket: OwnedFd, process: Option<OwnedFd>) -> Self {
        Self { socket, process, spared: Vec::new(), swept: Vec::new(), busy: false, gone: false, left: false }
    }

    pub(crate) fn lifeline(&self) -> Option<BorrowedFd<'_>> {
        (!self.gone).then(|| self.socket.as_fd())
    }

    pub(crate) fn set_busy(&mut self, busy: bool) {
        self.busy = busy;
    }

    pub(crate) fn spare(&mut self, mark: Mark) {
        self.spared.push(mark);
    }

    pub(crate) fn start(
        &mut self,
        image: &Image,
        dir: BorrowedFd<'_>,
        [stdin, stdout, stderr]: [BorrowedFd<'_>; 3],
    ) -> Result<(Pid, OwnedFd), Refused> {
        let counts = [image.args(), image.vars()].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let body: [&[u8]; 3] = [&counts[0].to_ne_bytes(), &counts[1].to_ne_bytes(), image.block()];
        if self.request(wire::START, &body, &[dir, stdin, stdout, stderr]).is_err() {
            return Err(Refused::Gone);
        }
        match self.answer() {
            Ok((wire::Answer { how: wire::OK, value }, Some(fd))) => {
                Pid::from_raw(value).map(|pid| (pid, fd)).ok_or(Refused::Silent)
            }
            Ok((wire::Answer { how: wire::FAILED, value }, _)) => {
                Err(Refused::Errno(Errno::from_raw_os_error(value)))
            }
            // It runs, but there was no room here for its descriptor.
            Ok((wire::Answer { value, .. }, None)) => {
                let _ = Pid::from_raw(value).is_some_and(|pid| self.signal(pid, Signal::KILL));
                Err(Refused::Silent)
            }
            _ => Err(Refused::Silent),
        }
    }

    pub(crate) fn finish(&mut self, pid: Pid) -> Status {
        let Ok((answer, _)) = self.ask(wire::FINISH, &[&pid.as_raw_nonzero().get().to_ne_bytes()], &[])
        else {
            return Status::Lost;
        };
        match answer.how {
            wire::EXITED => Status::Ended(Exit::Code(answer.value)),
            wire::SIGNALLED => Status::Ended(Exit::Signal(answer.value)),
            wire::RUNNING => Status::Running,
            _ => Status::Lost,
        }
    }

    /// Whether the keeper sent the signal to the group.
    pub(crate) fn signal(&mut self, pid: Pid, signal: Signal) -> bool {
        let body = [pid.as_raw_nonzero().get().to_ne_bytes(), signal.as_raw().to_ne_bytes()];
        self.ask(wire::SIGNAL, &[&body[0], &body[1]], &[]).is_ok()
    }

    /// Notes a job of which nothing may be left once the batch is over.
    pub(crate) fn will_sweep(&mut self, track: Track) {
        self.swept.push(track);
    }

    /// Ends everything below the keeper except what finished jobs left running. Waits at most two
    /// seconds for that, usually about a millisecond. If the keeper is gone, or could not end all of it, it answers the
    /// tracks of what it was to end.
    pub(crate) fn sweep(&mut self) -> Vec<Track> {
        let marks: Vec<u8> = self.spared.iter().flat_map(|mark| *mark.as_bytes()).collect();
        let answer = self.ask(wire::SWEEP, &[&marks], &[]);
        let is_swept = matches!(answer, Ok((wire::Answer { how: wire::OK, value: 0 }, _)));
        let swept = std::mem::take(&mut self.swept);
        if is_swept { Vec::new() } else { swept }
    }

    fn ask(
        &mut self,
        kind: u32,
        body: &[&[u8]],
        fds: &[BorrowedFd<'_>],
    ) -> Result<(wire::Answer, Option<OwnedFd>), wire::Closed> {
        self.request(kind, body, fds)?;
        self.answer()
    }

    fn request(&mut self, kind: u32, body: &[&[u8]], fds: &[BorrowedFd<'_>]) -> Result<(), wire::Closed> {
        if self.gone {
            return Err(wire::Closed);
        }
        let sent = wire::send(self.socket.as_fd(), kind, body, fds, self.wakes());
        self.gone |= sent.is_err();
        sent
    }

    fn answer(&mut self) -> Result<(wire::Answer, Option<OwnedFd>), wire::Closed> {
        let answer = wire::receive_answer(self.socket.as_fd(), self.wakes());
        if answer.is_err() {
            self.gone = true;
            // It may be alive and silent: nobody would ever end it.
            self.send(Signal::KILL);
        }
        answer
    }

    /// Asked each time the keeper has been silent for a moment: tells it to go on, and whether to have patience.
    fn wakes(&self) -> impl FnMut() -> bool {
        let until = Instant::now() + PATIENCE;
        move || {
            self.send(Signal::CONT);
            Instant::now() < until
        }
    }

    fn send(&self, signal: Signal) {
        if let Some(process) = &self.process {
            let _ = rustix::process::pidfd_send_signal(process, signal);
        }
    }

    /// The event is over; the keeper looks whether it can serve another.
    fn rest(&mut self) {
        self.spared.clear();
        let _ = self.request(wire::REST, &[], &[]);
    }

    /// The answer to `rest`: whether nothing is left below the keeper.
    fn rested(&mut self) -> bool {
        let free = !self.gone && matches!(self.answer(), Ok((wire::Answer { how: wire::OK, value: 0 }, _)));
        // It may have died after it answered.
        let mut fds = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        free && poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
    }

    fn say_done(&mut self) {
        if std::mem::replace(&mut self.left, true) {
            return;
        }
        if !self.gone && !self.busy {
            let _ = self.request(wire::DONE, &[], &[]);
            // It may have been stopped, and would never hear of it.
            self.send(Signal::CONT);
        }
        self.gone = true;
        // Without this a keeper that was not told `done` would live as long as `self`.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.say_done();
        let Some(process) = self.process.take() else { return };
        // It exits at once; a moment is given so that no zombie is left in a host that goes on.
        let mut fds = [PollFd::new(&process, PollFlags::IN)];
        let _ = retry_on_intr(|| poll(&mut fds, Some(&Timespec { tv_sec: 2, tv_nsec: 0 })));
        let _ = waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

/// A process with one thread may fork a keeper or become one.
fn refuse_threads() -> Result<(), KeeperError> {
    // Each thread is a directory in there, and so a link to it beside its own two.
    if fs::metadata("/proc/self/task")?.nlink() == 3 {
        return Ok(());
    }
    // A system that only resembles Linux may count its links in another way.
    match fs::read_dir("/proc/self/task")?.count() {
        1 => Ok(()),
        threads => Err(KeeperError::Threads(threads)),
    }
}

/// The caller's end and the keeper's end.
fn lifeline() -> Result<(OwnedFd, OwnedFd), KeeperError> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let ours = above_stdio(ours)?;
    for direction in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(&ours, direction, Some(WAKE))?;
    }
    Ok((ours, above_stdio(theirs)?))
}

/// A pidfd of this process, by which the keeper notices its end even if a fork of it that knows nothing
/// of keepers still holds the socket.
fn caller() -> Result<OwnedFd, KeeperError> {
    Ok(above_stdio(pidfd_open(getpid(), PidfdFlags::empty())?)?)
}

/// Marks on the wire.
fn marks(body: &[u8]) -> Vec<Mark> {
    body.as_chunks::<{ MARK_LEN / 2 }>().0.iter().copied().map(Mark::from_bytes).collect()
}
