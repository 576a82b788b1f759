//! The loop: a whole batch of jobs side by side, in one thread, over their pipes and pidfds.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::cancel::Cancel;
use crate::custody::{Custody, Leader, StartFailure, Status};
use crate::drain::{Drain, QUIET};
use crate::ending::{End, Ended, Stream};
use crate::feed::Feed;
use crate::image::{self, Image};
use crate::job::{Enough, Job, Limits};
use crate::mark::Track;
use crate::pipes::Dir;
use crate::start::StartError;
use crate::sys::QuietPipes;

/// How a batch of jobs is run.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// How many run side by side; zero counts as one. Each holds up to five descriptors meanwhile.
    pub at_once: usize,
    /// When all of it must be over: what has not been started by then is [`End::NoTime`], what is
    /// running [`End::TimedOut`].
    pub deadline: Option<Instant>,
    /// Ends all of it: what is running is cut short, what has not been started is [`End::Cancelled`]. A
    /// job that has exited and is only waited for because of its pipes keeps its own end.
    pub cancel: &'a Cancel,
}

/// How long a killed process is waited for. Only one that the kernel itself holds takes longer than
/// milliseconds; it is then left to its fate.
const DEATH: Duration = Duration::from_secs(2);

/// A time nobody waits for.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Runs jobs, in order, up to [`Batch::at_once`] side by side, and returns what became of each, in the
/// same order. `on_end` is told of each as soon as it is over.
///
/// Blocks until all is over: at the latest when the last job's timeout or the batch's deadline is over,
/// plus that job's grace and a few seconds for killing and cleaning up, which usually take milliseconds. A
/// keeper that is alive but does not answer (somebody has stopped it) counts as gone after ten seconds.
/// Starts no thread. Works from any thread; a [`Custody`] serves one batch at a time.
///
/// Nothing here is an error of the call: each job has its own end.
pub fn run(
    custody: &mut Custody,
    jobs: &[Job],
    batch: &Batch<'_>,
    mut on_end: impl FnMut(usize, &Ended),
) -> Vec<Ended> {
    let mut ends: Vec<Option<Ended>> = jobs.iter().map(|_| None).collect();
    let mut running: Vec<Running> = Vec::new();
    let mut waiting = jobs.iter().enumerate();
    let mut buffer = vec![0; QUIET];
    let mut sweep = false;
    let mut quiet = None;
    let mut cancelled = false;

    custody.begin();
    loop {
        while running.len() < batch.at_once.max(1) {
            let Some((index, job)) = waiting.next() else { break };
            // What is running already hears of it from the wait below.
            let end = if cancelled || batch.cancel.is_triggered() {
                End::Cancelled
            } else if batch.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                End::NoTime
            } else {
                match Running::start(custody, index, job, batch.deadline) {
                    Ok(job) => {
                        if job.feed.is_some() && quiet.is_none() {
                            quiet = Some(QuietPipes::new());
                        }
                        running.push(job);
                        continue;
                    }
                    Err(StartFailure::Not(error)) => End::NotStarted(error),
                    Err(StartFailure::Lost) => End::Lost,
                }
            };
            sweep |= matches!(end, End::Lost);
            let ended = Ended::unstarted(end);
            on_end(index, &ended);
            ends[index] = Some(ended);
        }
        if running.is_empty() {
            break;
        }

        let woken = wait(custody, &running, (!cancelled).then_some(batch.cancel));
        cancelled |= woken.cancelled;
        let mut at = 0;
        for ready in woken.jobs {
            let job = &mut running[at];
            let over = if woken.custodian_gone {
                job.abandon(custody, &mut buffer)
            } else {
                job.advance(custody, ready, cancelled, &mut buffer)
            };
            if !over {
                at += 1;
                continue;
            }
            let mut job = running.remove(at);
            let ended = job.finish();
            if job.must_go(&ended.end) {
                custody.clear(&mut job.leader);
                sweep = true;
            } else {
                custody.spare(job.leader.track.mark);
            }
            on_end(job.index, &ended);
            ends[job.index] = Some(ended);
        }
    }
    custody.end(sweep);
    ends.into_iter().map(|ended| ended.unwrap_or_else(|| Ended::unstarted(End::Lost))).collect()
}

/// A job that has been started.
struct Running {
    index: usize,
    leader: Leader,
    feed: Option<Feed>,
    stdout: Drain,
    stderr: Drain,
    enough: Option<Enough>,
    limits: Limits,
    started: Instant,
    deadline: Instant,
    dir: Option<PathBuf>,
    phase: Phase,
    /// Whether the leader has exited.
    exited: bool,
    /// How, once that was asked.
    status: Status,
    held: bool,
    /// Why it is being cut short.
    cut: Option<End>,
    /// Nothing is left to do for it.
    over: bool,
}

/// Where a batch is left by a panic of its caller's.
impl Drop for Running {
    fn drop(&mut self) {
        if !self.over {
            self.leader.kill();
        }
    }
}

/// How far a job has got.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It runs until it exits or its deadline comes.
    Live,
    /// It has exited; its pipes are read until they end, or this moment.
    Lingering(Instant),
    /// It was asked to end, and is killed at this moment.
    Asked(Instant),
    /// It was killed, and is waited for until this moment.
    Killed(Instant),
}

/// What a job's descriptors are ready for.
#[derive(Clone, Copy, Default)]
struct Ready {
    feed: bool,
    stdout: bool,
    stderr: bool,
    exited: bool,
}

impl Running {
    fn start(
        custody: &mut Custody,
        index: usize,
        job: &Job,
        deadline: Option<Instant>,
    ) -> Result<Self, StartFailure> {
        let track = Track::begin();
        let dir = Dir::open(&job.dir)?;
        let path = image::locate(job, dir.fd.as_fd())?;
        let image = Image::new(job, &path, &track.mark)?;
        let failed = |errno| StartError::of_resources(errno, &job.program);
        let (stdin, feed) = Feed::prepare(&job.stdin, job.enough.is_some()).map_err(failed)?;
        let (stdout, out) = Drain::prepare(job.limits.stdout).map_err(failed)?;
        let (stderr, err) = Drain::prepare(job.limits.stderr).map_err(failed)?;
        let started = Instant::now();
        let leader =
            custody.start(job, &image, track, dir.fd.as_fd(), [stdin.as_fd(), out.as_fd(), err.as_fd()])?;
        let own = started.checked_add(job.limits.timeout);
        // A timeout beyond what a clock can say is none.
        let own = own.unwrap_or_else(|| started + NEVER);
        Ok(Self {
            index,
            leader,
            feed,
            stdout,
            stderr,
            enough: job.enough,
            limits: job.limits.clone(),
            started,
            deadline: deadline.map_or(own, |deadline| deadline.min(own)),
            dir: dir.instead,
            phase: Phase::Live,
            exited: false,
            status: Status::Running,
            held: false,
            cut: None,
            over: false,
        })
    }

    /// When it has to be looked at even if nothing happens.
    fn wake(&self) -> Instant {
        match self.phase {
            Phase::Live => self.deadline,
            Phase::Lingering(at) | Phase::Asked(at) | Phase::Killed(at) => at,
        }
    }

    fn at_end_of_pipes(&self) -> bool {
        self.stdout.open().is_none() && self.stderr.open().is_none()
    }

    /// Takes the job as far as it goes without waiting. `true` once it is over.
    fn advance(
        &mut self,
        custody: &mut Custody,
        ready: Ready,
        cancelled: bool,
        buffer: &mut Vec<u8>,
    ) -> bool {
        if ready.feed {
            self.feed = self.feed.take().and_then(Feed::advance);
        }
        if ready.stdout {
            self.stdout.advance(buffer);
        }
        if ready.stderr {
            self.stderr.advance(buffer);
        }
        let now = Instant::now();
        if ready.exited {
            self.note_exit(now, buffer);
        }
        if self.cut.is_none() {
            let why = if let Some(stream) = self.overflow() {
                Some(End::Overflowed(stream))
            } else if self.exited {
                None
            } else if ready.stdout && self.enough.is_some_and(|enough| enough.0(self.stdout.so_far())) {
                Some(End::Sufficed)
            } else if cancelled {
                Some(End::Cancelled)
            } else {
                (now >= self.deadline).then_some(End::TimedOut)
            };
            if let Some(why) = why {
                self.cut = Some(why);
                self.cut_short(custody, now);
            }
        }
        let over = match self.phase {
            Phase::Live => false,
            Phase::Lingering(until) => {
                self.held = !self.at_end_of_pipes() && (cancelled || now >= until);
                self.at_end_of_pipes() || self.held
            }
            Phase::Asked(until) => {
                let gone = self.exited && self.at_end_of_pipes();
                if !gone && now >= until {
                    self.kill(custody, now);
                }
                gone || (self.exited && now >= until)
            }
            Phase::Killed(until) => self.exited || now >= until,
        };
        if over {
            self.settle(custody, buffer);
        }
        over
    }

    /// The leader has exited: what it wrote is all there, and only strangers can add to it.
    fn note_exit(&mut self, now: Instant, buffer: &mut Vec<u8>) {
        self.exited = true;
        self.feed = None;
        self.stdout.last_look(buffer);
        self.stderr.last_look(buffer);
        if self.phase == Phase::Live {
            let linger = now.checked_add(self.limits.linger).unwrap_or(self.deadline);
            self.phase = Phase::Lingering(linger.min(self.deadline));
        }
    }

    fn overflow(&self) -> Option<Stream> {
        if self.stdout.overflowed() {
            Some(Stream::Stdout)
        } else {
            self.stderr.overflowed().then_some(Stream::Stderr)
        }
    }

    fn cut_short(&mut self, custody: &mut Custody, now: Instant) {
        self.feed = None;
        if self.limits.grace.is_zero() {
            self.kill(custody, now);
            return;
        }
        custody.ask_to_end(&mut self.leader);
        self.phase = Phase::Asked(now.checked_add(self.limits.grace).unwrap_or(now));
    }

    fn kill(&mut self, custody: &mut Custody, now: Instant) {
        custody.kill(&mut self.leader);
        self.phase = Phase::Killed(now + DEATH);
    }

    /// Learns the status, has the group killed, and reads what is left.
    fn settle(&mut self, custody: &mut Custody, buffer: &mut Vec<u8>) {
        if self.exited {
            self.status = custody.finish(&self.leader);
        }
        if !matches!(self.status, Status::Ended(_)) {
            custody.abandon(&mut self.leader);
        }
        self.stdout.last_look(buffer);
        self.stderr.last_look(buffer);
        if self.cut.is_none() {
            self.cut = self.overflow().map(End::Overflowed);
        }
    }

    /// Its keeper is gone. Nobody is left to say how it ends.
    fn abandon(&mut self, custody: &mut Custody, buffer: &mut Vec<u8>) -> bool {
        custody.abandon(&mut self.leader);
        self.stdout.last_look(buffer);
        self.stderr.last_look(buffer);
        self.status = Status::Lost;
        self.cut = Some(End::Lost);
        true
    }

    fn finish(&mut self) -> Ended {
        self.over = true;
        let end = self.cut.take().unwrap_or(match self.status {
            Status::Ended(exit) => exit.into(),
            Status::Lost | Status::Running => End::Lost,
        });
        Ended {
            end,
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
            duration: self.started.elapsed(),
            held: self.held,
            dir: self.dir.take(),
            pid: u32::try_from(self.leader.pid.as_raw_nonzero().get()).ok(),
        }
    }

    /// Whether also what left its group has to go.
    fn must_go(&self, end: &End) -> bool {
        end.cut_short() || self.limits.end_everything
    }

    fn watched(&self) -> [(Option<BorrowedFd<'_>>, PollFlags); 4] {
        [
            (self.feed.as_ref().and_then(Feed::waits), PollFlags::OUT),
            (self.stdout.open(), PollFlags::IN),
            (self.stderr.open(), PollFlags::IN),
            ((!self.exited).then(|| self.leader.fd.as_fd()), PollFlags::IN),
        ]
    }
}

/// What woke the loop.
struct Woken {
    cancelled: bool,
    custodian_gone: bool,
    /// One for each running job.
    jobs: Vec<Ready>,
}

/// Waits until something can be done, or the first job's time comes.
fn wait(custody: &Custody, running: &[Running], cancel: Option<&Cancel>) -> Woken {
    let lifeline = custody.lifeline();
    let custodian_gone = lifeline.is_none() && matches!(custody, Custody::Keeper(_));
    let mut fds = Vec::with_capacity(running.len() * 4 + 2);
    let switches = cancel.map_or([None, None], Cancel::watched);
    let is_watched = switches.each_ref().map(Option::is_some);
    fds.extend(switches.into_iter().flatten());
    fds.extend(lifeline.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::RDHUP)));
    for job in running {
        fds.extend(
            job.watched().into_iter().filter_map(|(fd, flags)| Some(PollFd::from_borrowed_fd(fd?, flags))),
        );
    }
    let until = running.iter().map(Running::wake).min();
    let until = until.filter(|_| !custodian_gone);
    let left = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
    let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
    // An interruption is a wake-up for nothing: every job is looked at, none is ready.
    let woken = poll(&mut fds, Some(&timeout)).is_ok();

    let mut results = fds.iter().map(|fd| woken && !fd.revents().is_empty());
    let mut next = |watched: bool| watched && results.next().unwrap_or(false);
    let [switch, unread] = is_watched.map(&mut next);
    let cancelled = switch || unread;
    let custodian_gone = custodian_gone || next(lifeline.is_some());
    let jobs = running
        .iter()
        .map(|job| {
            let [feed, stdout, stderr, exited] = job.watched().map(|(fd, _)| next(fd.is_some()));
            Ready { feed, stdout, stderr, exited }
        })
        .collect();
    Woken { cancelled, custodian_gone, jobs }
}
