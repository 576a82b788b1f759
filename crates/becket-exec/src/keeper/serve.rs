//! The keeper's side: a process with one thread that answers one caller, and outlives it only to
//! clean up.

use std::convert::Infallible;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process_group, set_child_subreaper,
    set_dumpable_behavior, setsid, waitid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::sweep::sweep;
use super::wire::{self, Answer, Closed, Request};
use super::{KeeperError, WAKE, marks, refuse_threads};
use crate::ending::Exit;
use crate::image::Image;
use crate::procfs;
use crate::sys::{self, Heartbeat};

/// How often orphans that have ended are looked for while jobs run, and how often while there are any. Most jobs are over
/// before the first time.
const RARELY: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const OFTEN: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Whether a child has ended; and the same, with its number given back.
const PEEK: WaitIdOptions = REAP.union(WaitIdOptions::NOWAIT);
const REAP: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::NOHANG);

/// How often a keeper at rest looks for those that took longer than [`SETTLE`].
const LOOKS_AT_REST: u32 = 100;

/// How long killed processes may take to be gone before a keeper counts as not free.
const SETTLE: Duration = Duration::from_millis(20);

/// Turns this program into a keeper. To be called first thing in the `main` of a program that
/// [`Keeper::spawn`](super::Keeper::spawn) starts; serves until its caller is done or gone, then ends
/// the process. Never returns after it has begun.
///
/// # Errors
///
/// [`KeeperError::NotStartedAsOne`] if standard input is not a keeper's socket, and
/// [`KeeperError::Threads`] if threads were started already; then nothing has been touched.
pub fn keeper_main() -> Result<Infallible, KeeperError> {
    refuse_threads()?;
    // A copy: standard input itself is about to become /dev/null.
    let socket = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(|_| KeeperError::NotStartedAsOne)?;
    if rustix::net::sockopt::socket_type(&socket).is_err() {
        return Err(KeeperError::NotStartedAsOne);
    }
    let greeting = wire::receive_request(socket.as_fd());
    let Ok(Request { kind: wire::HELLO, mut fds, .. }) = greeting else {
        return Err(KeeperError::NotStartedAsOne);
    };
    let caller = fds.pop().ok_or(KeeperError::NotStartedAsOne)?;
    let hello = Answer { how: wire::OK, value: wire::VERSION.cast_signed() };
    let _ = wire::answer(socket.as_fd(), hello, None);
    become_keeper(&socket, &caller)
}

/// The child of a fork.
pub(super) fn forked(socket: &OwnedFd, caller: &OwnedFd) -> ! {
    become_keeper(socket, caller)
}

fn become_keeper(socket: &OwnedFd, caller: &OwnedFd) -> ! {
    let code = match catch_unwind(AssertUnwindSafe(|| settle(socket, caller))) {
        Ok(Ok(())) => 0,
        Ok(Err(_)) => 1,
        Err(_) => {
            // Whatever went wrong, nothing may be left behind.
            let _ = catch_unwind(|| sweep(&[]));
            70
        }
    };
    sys::exit_now(code)
}

/// Lets go of everything of the caller's, then serves.
fn settle(socket: &OwnedFd, caller: &OwnedFd) -> Result<(), Errno> {
    // Its own session: what is done to the caller's group or terminal does not reach it. A program
    // that leads one already is content.
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    // No directory is kept busy.
    let _ = rustix::process::chdir("/");
    let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    drop(null);
    // The two that stay move above where everything else may be, and then below where all is closed.
    let high = socket.as_raw_fd().max(caller.as_raw_fd()) + 1;
    let socket = fcntl_dupfd_cloexec(socket, high)?;
    let caller = fcntl_dupfd_cloexec(caller, high)?;
    let socket = sys::move_to(&socket, 3)?;
    let caller = sys::move_to(&caller, 4)?;
    sys::become_keeper_process(5);
    // No job may stop it as a debugger does, or look into it.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    serve(&socket, &caller);
    Ok(())
}

/// Answers requests until told that all is done, or the caller is gone.
fn serve(socket: &OwnedFd, caller: &OwnedFd) {
    let mut keeper =
        Serving { socket, caller, leaders: Vec::new(), looks: 0, heartbeat: Heartbeat::new(), beats: false };
    while keeper.wait() {
        let Ok(request) = wire::receive_request(socket.as_fd()) else { break };
        if request.kind == wire::DONE {
            return;
        }
        if keeper.answer(request).is_err() {
            break;
        }
    }
    // The end of the lifeline: nobody will ask any more, and nothing may stay. Before anything else goes what needs no
    // looking for: a job may be about to stop this process.
    for leader in &keeper.leaders {
        let _ = kill_process_group(*leader, Signal::KILL);
    }
    sweep(&[]);
}

struct Serving<'a> {
    socket: &'a OwnedFd,
    caller: &'a OwnedFd,
    /// Started and not reaped, so their numbers are theirs.
    leaders: Vec<Pid>,
    /// How often orphans are looked for yet while no job runs.
    looks: u32,
    /// A job may stop its keeper, and nobody else may be left who would tell it to go on.
    heartbeat: Option<Heartbeat>,
    /// Whether that is going: from an event's first job on.
    beats: bool,
}

impl Serving<'_> {
    /// Whether there is something to receive; `false` when the caller has died. Meanwhile orphans are reaped that have
    /// ended: while jobs run, their number would grow for as long, and count among those that a user may have.
    fn wait(&mut self) -> bool {
        let mut pause = RARELY;
        loop {
            let mut fds = [PollFd::new(self.socket, PollFlags::IN), PollFd::new(self.caller, PollFlags::IN)];
            let looks = !self.leaders.is_empty() || self.looks > 0;
            match poll(&mut fds, looks.then_some(&pause)) {
                Ok(0) | Err(Errno::INTR) => {
                    self.looks = self.looks.saturating_sub(1);
                    pause = if self.reap_orphans() { OFTEN } else { RARELY };
                }
                // What the caller said before it died counts.
                Ok(_) => return !fds[0].revents().is_empty(),
                Err(_) => return false,
            }
        }
    }

    /// Reaps what has ended and is no job's first process: who wants to know of those asks, and until then their groups'
    /// numbers must stay theirs. Whether there was any.
    fn reap_orphans(&self) -> bool {
        // Mostly there is none, and then nothing is read.
        let any = waitid(WaitId::All, PEEK);
        let Ok(Some(_)) = any else { return false };
        let children = procfs::check().and_then(|()| procfs::children(getpid())).unwrap_or_default();
        let orphans = children.into_iter().filter(|child| !self.leaders.contains(child));
        orphans.filter(|orphan| matches!(waitid(WaitId::Pid(*orphan), REAP), Ok(Some(_)))).count() > 0
    }

    /// From here on this process goes on whoever stops it.
    fn beat(&mut self, on: bool) {
        if self.beats != on
            && let Some(heartbeat) = &self.heartbeat
        {
            heartbeat.beat(if on { WAKE } else { Duration::ZERO });
            self.beats = on;
        }
    }

    fn answer(&mut self, request: Request) -> Result<(), Closed> {
        let ok = |value| Answer { how: wire::OK, value };
        let (answer, fd) = match request.kind {
            wire::START => match self.start(request) {
                Ok((pid, fd)) => (ok(pid.as_raw_nonzero().get()), Some(fd)),
                Err(errno) => (Answer { how: wire::FAILED, value: errno.raw_os_error() }, None),
            },
            wire::FINISH => (self.finish(&request)?, None),
            wire::SIGNAL => (self.signal(&request)?, None),
            wire::SWEEP => {
                let left = sweep(&marks(&request.body));
                // No job runs any more, and what was reaped has no number to be asked by.
                self.leaders.clear();
                (ok(left), None)
            }
            wire::REST => (ok(i32::from(!self.settled())), None),
            _ => return Err(Closed),
        };
        wire::answer(self.socket.as_fd(), answer, fd.as_ref().map(AsFd::as_fd))
    }

    fn start(&mut self, mut request: Request) -> Result<(Pid, OwnedFd), Errno> {
        let [dir, stdin, stdout, stderr] = request.fds.as_slice() else { return Err(Errno::MFILE) };
        let word = |at| wire::word(&request.body, at).map_err(|_| Errno::INVAL);
        let (args, vars) = (word(0)? as usize, word(4)? as usize);
        let block = request.body.split_off(8);
        let image = Image::from_block(block, args, vars).ok_or(Errno::INVAL)?;
        self.beat(true);
        let (pid, fd) = sys::spawn(&image, dir.as_fd(), [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
        self.leaders.push(pid);
        Ok((pid, fd))
    }

    /// One of the leaders, by what the request says.
    fn leader(&self, request: &Request) -> Result<Pid, Closed> {
        let pid = Pid::from_raw(wire::word(&request.body, 0)?.cast_signed()).ok_or(Closed)?;
        if self.leaders.contains(&pid) { Ok(pid) } else { Err(Closed) }
    }

    fn finish(&mut self, request: &Request) -> Result<Answer, Closed> {
        let pid = self.leader(request)?;
        let status = match waitid(WaitId::Pid(pid), PEEK) {
            Ok(Some(status)) => status,
            Ok(None) => return Ok(Answer { how: wire::RUNNING, value: 0 }),
            Err(errno) => return Ok(Answer { how: wire::FAILED, value: errno.raw_os_error() }),
        };
        // The leader still holds its number, so the group is the one meant.
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = waitid(WaitId::Pid(pid), REAP);
        self.leaders.retain(|leader| *leader != pid);
        Ok(match Exit::of(&status) {
            Some(Exit::Code(code)) => Answer { how: wire::EXITED, value: code },
            Some(Exit::Signal(signal)) => Answer { how: wire::SIGNALLED, value: signal },
            None => Answer { how: wire::FAILED, value: Errno::CHILD.raw_os_error() },
        })
    }

    fn signal(&mut self, request: &Request) -> Result<Answer, Closed> {
        let pid = self.leader(request)?;
        let signal = wire::word(&request.body, 4)?.cast_signed();
        let signal = Signal::from_named_raw(signal).ok_or(Closed)?;
        let _ = kill_process_group(pid, signal);
        Ok(Answer { how: wire::OK, value: 0 })
    }

    /// Whether nothing is left below. What was killed a moment ago is given that moment.
    fn settled(&mut self) -> bool {
        // No job runs any more.
        self.leaders.clear();
        self.beat(false);
        self.looks = 0;
        let until = Instant::now() + SETTLE;
        loop {
            match waitid(WaitId::All, REAP) {
                Err(Errno::CHILD) => return true,
                _ if Instant::now() > until => {
                    self.looks = LOOKS_AT_REST;
                    return false;
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(_)) | Err(_) => {}
            }
        }
    }
}

pub(super) fn has_no_child() -> bool {
    waitid(WaitId::All, PEEK).is_err_and(|errno| errno == Errno::CHILD)
}
