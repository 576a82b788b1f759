//! Who is the parent of the jobs, and what that can promise.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, pidfd_send_signal, waitid,
};

use crate::ending::Exit;
use crate::image::Image;
use crate::keeper::Keeper;
use crate::mark::{Mark, Track};
use crate::start::StartError;
use crate::tree::{self, Node};
use crate::{job::Job, procfs, sys};

/// Who starts the jobs, and so what can be promised about what they leave behind.
///
/// | | [`Group`](Self::Group) | [`Keeper`](Self::Keeper) |
/// |---|---|---|
/// | parent of the jobs | this process | a process of their own |
/// | a finished job | its group is killed, what left that stays | the same |
/// | a job that is cut short | its group, what still hangs below it, what carries its mark | everything, proven |
/// | this process is killed | its jobs go on | everything is killed |
/// | somebody here reaps all children | statuses may be lost before Linux 6.15 | no effect |
/// | cost over the bare start | about 1.05 | about 1.2 |
///
/// One custody serves one event: what a finished job left running on purpose is told apart from what a
/// job that was cut short left behind for as long as the custody lasts.
#[derive(Debug, Default)]
pub enum Custody {
    /// This process is the parent, and kills groups. A descendant that left its group *and* was orphaned
    /// *and* cleaned its environment escapes.
    #[default]
    Group,
    /// A keeper process is the parent, and the reaper of all orphans below it: nothing escapes.
    Keeper(Keeper),
}

/// A job's first process, alive or not yet reaped.
pub(crate) struct Leader {
    pub(crate) pid: Pid,
    pub(crate) fd: OwnedFd,
    pub(crate) track: Track,
    /// Descendants that were found when it was cut short.
    found: Vec<Node>,
}

impl Leader {
    pub(crate) fn new(pid: Pid, fd: OwnedFd, track: Track) -> Self {
        Self { pid, fd, track, found: Vec::new() }
    }

    /// The quick way: itself and its group.
    pub(crate) fn kill(&self) {
        let _ = sys::signal_group(self.fd.as_fd(), Signal::KILL);
        self.node_signal(Signal::KILL);
    }

    fn node_signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.fd, signal);
    }
}

/// What asking for a job's status brought.
pub(crate) enum Status {
    /// It had exited; its group is killed and it is reaped.
    Ended(Exit),
    /// It is gone, and how it ended cannot be learnt.
    Lost,
    /// It has not exited.
    Running,
}

/// Why there is no leader.
pub(crate) enum StartFailure {
    Not(StartError),
    /// It may have been started, but whoever did cannot be asked.
    Lost,
}

impl From<StartError> for StartFailure {
    fn from(error: StartError) -> Self {
        Self::Not(error)
    }
}

impl Custody {
    pub(crate) fn start(
        &mut self,
        job: &Job,
        image: &Image,
        track: Track,
        dir: BorrowedFd<'_>,
        stdio: [BorrowedFd<'_>; 3],
    ) -> Result<Leader, StartFailure> {
        let failed = |errno| StartFailure::Not(StartError::of(errno, &job.program, dir));
        match self {
            Self::Group => {
                let (pid, fd) = sys::spawn(image, dir, stdio).map_err(failed)?;
                Ok(Leader::new(pid, fd, track))
            }
            Self::Keeper(keeper) => match keeper.start(image, dir, stdio) {
                Ok((pid, fd)) => Ok(Leader::new(pid, fd, track)),
                Err(crate::keeper::Refused::Errno(errno)) => Err(failed(errno)),
                Err(crate::keeper::Refused::Gone) => Err(StartError::KeeperGone.into()),
                Err(crate::keeper::Refused::Silent) => Err(StartFailure::Lost),
            },
        }
    }

    /// A descriptor that becomes readable when the custodian is gone.
    pub(crate) fn lifeline(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Group => None,
            Self::Keeper(keeper) => keeper.lifeline(),
        }
    }

    /// Of a job that has exited: learns how, kills its group, and only then reaps it.
    ///
    /// Whoever traces it is told of its end first, and passes it on, most in a moment. One that does not is killed if it
    /// is the job's own.
    pub(crate) fn finish(&mut self, leader: &Leader) -> Status {
        /// How long a tracer is given.
        const PATIENCE: Duration = Duration::from_millis(25);
        /// How long one that was killed may take to be gone.
        const DEATH: Duration = Duration::from_secs(1);
        let (mut until, mut last) = (Instant::now() + PATIENCE, false);
        loop {
            let status = self.ask(leader);
            let is_late = Instant::now() > until;
            if !matches!(status, Status::Running) || (is_late && last) {
                return status;
            }
            if is_late {
                self.signal_group(leader, Signal::KILL);
                until = Instant::now() + if kill_own_tracer(leader) { DEATH } else { PATIENCE };
                last = true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn ask(&mut self, leader: &Leader) -> Status {
        match self {
            Self::Group => finish(leader.pid, leader.fd.as_fd()),
            Self::Keeper(keeper) => keeper.finish(leader.pid),
        }
    }

    /// Asks everything that can be found of the job to end. `KILL` is not asked here.
    pub(crate) fn ask_to_end(&mut self, leader: &mut Leader) {
        leader.found = tree::below(leader.pid, Some(leader.fd.as_fd()), |_| true).nodes;
        for signal in [Signal::TERM, Signal::CONT] {
            self.signal_group(leader, signal);
            for node in &leader.found {
                node.signal(signal);
            }
        }
    }

    /// Kills everything that can be found of the job. Under a keeper the rest goes with its sweep, but
    /// that comes only when the whole batch is over.
    pub(crate) fn kill(&mut self, leader: &mut Leader) {
        kill_tree(leader);
        self.signal_group(leader, Signal::KILL);
    }

    /// Kills what can be found of a job that has exited and must leave nothing behind.
    pub(crate) fn clear(&mut self, leader: &mut Leader) {
        for node in leader.found.drain(..) {
            kill_below(&node);
        }
        match self {
            Self::Group => kill_marked(&[leader.track]),
            // Its sweep finds these, and more, without looking at every process there is.
            Self::Keeper(keeper) => keeper.will_sweep(leader.track),
        }
    }

    /// The custodian is gone: the job cannot be asked about any more, and is killed.
    pub(crate) fn abandon(&mut self, leader: &mut Leader) {
        kill_tree(leader);
        leader.kill();
        kill_marked(&[leader.track]);
    }

    fn signal_group(&mut self, leader: &Leader, signal: Signal) {
        if sys::signal_group(leader.fd.as_fd(), signal) != Err(Errno::INVAL) {
            return;
        }
        // Before Linux 6.9 a group has only its number, which is safe while its leader is not reaped.
        match self {
            Self::Group => {
                if is_own_child(leader.fd.as_fd()) {
                    let _ = kill_process_group(leader.pid, signal);
                } else {
                    leader.node_signal(signal);
                }
            }
            Self::Keeper(keeper) => {
                if !keeper.signal(leader.pid, signal) {
                    leader.node_signal(signal);
                }
            }
        }
    }

    /// Tells the custodian which job finished by itself: what that left running stays.
    pub(crate) fn spare(&mut self, mark: Mark) {
        if let Self::Keeper(keeper) = self {
            keeper.spare(mark);
        }
    }

    /// Between `begin` and `end` the death of this process means that jobs were cut short.
    pub(crate) fn begin(&mut self) {
        if let Self::Keeper(keeper) = self {
            keeper.set_busy(true);
        }
    }

    /// Ends a batch; `sweep` if something of it has to go.
    pub(crate) fn end(&mut self, sweep: bool) {
        if let Self::Keeper(keeper) = self {
            if sweep {
                kill_marked(&keeper.sweep());
            }
            keeper.set_busy(false);
        }
    }
}

/// Learns the status, kills the group while the leader still holds its number, reaps.
pub(crate) fn finish(pid: Pid, fd: BorrowedFd<'_>) -> Status {
    let peek = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match waitid(WaitId::PidFd(fd), peek) {
        Ok(Some(status)) => {
            if sys::signal_group(fd, Signal::KILL) == Err(Errno::INVAL) {
                let _ = kill_process_group(pid, Signal::KILL);
            }
            let _ = waitid(WaitId::PidFd(fd), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            Exit::of(&status).map_or(Status::Lost, Status::Ended)
        }
        Ok(None) => Status::Running,
        Err(_) => {
            // Somebody else has reaped it. The group still has its kernel object; its number may be
            // anybody's.
            let _ = sys::signal_group(fd, Signal::KILL);
            reaped(fd).map_or(Status::Lost, Status::Ended)
        }
    }
}

/// The kernel's own note of how a process ended comes a moment after the news that it did.
fn reaped(fd: BorrowedFd<'_>) -> Option<Exit> {
    let until = Instant::now() + Duration::from_millis(50);
    loop {
        if let Some(exit) = sys::exit_of_reaped(fd) {
            return Some(exit);
        }
        if !sys::unreaped(fd) || Instant::now() > until {
            return sys::exit_of_reaped(fd);
        }
        std::thread::yield_now();
    }
}

fn is_own_child(fd: BorrowedFd<'_>) -> bool {
    let peek = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    waitid(WaitId::PidFd(fd), peek).is_ok()
}

/// Stops everything below the leader so that nothing is forked meanwhile, then kills it all.
fn kill_tree(leader: &mut Leader) {
    leader.node_signal(Signal::STOP);
    let mut found = tree::below(leader.pid, Some(leader.fd.as_fd()), stop).nodes;
    // A second look finds what was forked before its parent had stopped.
    found.extend(tree::below(leader.pid, Some(leader.fd.as_fd()), stop).nodes);
    for node in &found {
        node.signal(Signal::KILL);
    }
    for node in &leader.found {
        kill_below(node);
    }
}

/// Kills everything that carries the mark of one of the jobs, and follows what it forks meanwhile.
fn kill_marked(jobs: &[Track]) {
    /// For what goes on forking.
    const LONGEST: Duration = Duration::from_secs(2);
    /// Looks in a row that find nothing: what is executing programs one after the other would have been seen in one of
    /// them, and on a busy machine there are always strangers that come and go.
    const VAIN: u32 = 50;
    if jobs.is_empty() {
        return;
    }
    let until = Instant::now() + LONGEST;
    let (mut known, mut vain) = (HashSet::new(), 0);
    loop {
        let look = tree::marked(jobs, until, &mut known, kill_below);
        vain = if look.any { 0 } else { vain + 1 };
        if !look.again || vain == VAIN || Instant::now() > until {
            return;
        }
    }
}

fn stop(node: &Node) -> bool {
    node.signal(Signal::STOP);
    true
}

/// A process of the job's that holds its first one as a debugger does keeps the news of its end to itself. Whether
/// there was one.
fn kill_own_tracer(leader: &Leader) -> bool {
    let Some(tracer) = procfs::tracer(leader.pid) else { return false };
    let Ok(fd) = pidfd_open(tracer, PidfdFlags::empty()) else { return false };
    let is_own = tree::carries(tracer, &[leader.track.mark]) == Some(true);
    // Still so now that it is pinned, and nobody has reaped the leader, whose number that was asked by.
    is_own
        && procfs::tracer(leader.pid) == Some(tracer)
        && sys::unreaped(leader.fd.as_fd())
        && pidfd_send_signal(&fd, Signal::KILL).is_ok()
}

fn kill_below(root: &Node) {
    stop(root);
    for node in tree::below(root.pid, Some(root.fd.as_fd()), stop).nodes {
        node.signal(Signal::KILL);
    }
    root.signal(Signal::KILL);
}
