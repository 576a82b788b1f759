//! What became of a job.

use std::path::PathBuf;
use std::time::Duration;

use crate::capture::Captured;
use crate::start::StartError;

/// What is known about a job that is over.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Why it is over.
    pub end: End,
    /// What it wrote to its standard output, within its limits; kept also when it was cut short.
    pub stdout: Captured,
    /// The same of its standard error.
    pub stderr: Captured,
    /// From its start to its end, waiting for its pipes included. Zero where it was never started.
    pub duration: Duration,
    /// It exited, and a process it left behind still held one of its pipes when
    /// [`Limits::linger`](crate::Limits::linger) ran out. What was written until then is captured.
    pub held: bool,
    /// The directory it ran in, where that is not the one asked for because that one is gone.
    pub dir: Option<PathBuf>,
    /// The number of the process; nobody has it any more, or soon somebody else. For messages only.
    pub pid: Option<u32>,
}

impl Ended {
    pub(crate) fn unstarted(end: End) -> Self {
        Self {
            end,
            stdout: Captured::default(),
            stderr: Captured::default(),
            duration: Duration::ZERO,
            held: false,
            dir: None,
            pid: None,
        }
    }
}

/// Why a job is over. Only [`Exited`](Self::Exited) is a verdict of the program itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// It ended by itself, with this exit code (0 to 255).
    Exited(i32),
    /// It was ended by this signal, which the runner did not send.
    Signalled(i32),
    /// It was running when its own timeout, or the deadline of the batch, ran out; it was cut short.
    TimedOut,
    /// It wrote more than was allowed where [`Overflow::End`](crate::Overflow::End) was asked for. Does
    /// not depend on timing: also said when the surplus was found after it had exited.
    Overflowed(Stream),
    /// What it had written was [enough](crate::Job::enough), and it was cut short.
    Sufficed,
    /// The batch was cancelled: it was cut short, or, where [`Ended::pid`] is `None`, never started.
    Cancelled,
    /// It could not be started.
    NotStarted(StartError),
    /// No time was left before it could be started.
    NoTime,
    /// How it ended could not be learnt: somebody else reaped it (and the kernel is older than 6.15),
    /// or the keeper it ran under is gone. It may have done its work or not.
    Lost,
}

impl End {
    /// Whether the job was ended by the runner before it ended by itself.
    #[must_use]
    pub fn cut_short(&self) -> bool {
        matches!(self, Self::TimedOut | Self::Overflowed(_) | Self::Sufficed | Self::Cancelled | Self::Lost)
    }
}

/// One of the two streams that are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a process ended, as the system tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
}

impl Exit {
    pub(crate) fn of(status: &rustix::process::WaitIdStatus) -> Option<Self> {
        status.exit_status().map(Self::Code).or_else(|| status.terminating_signal().map(Self::Signal))
    }
}

impl From<Exit> for End {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Code(code) => Self::Exited(code),
            Exit::Signal(signal) => Self::Signalled(signal),
        }
    }
}
