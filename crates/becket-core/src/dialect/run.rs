//! Runs: what is to be started, within which bounds, and how it ended.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use camino::Utf8PathBuf;

use crate::place::Place;

/// Runs that are started side by side.
#[derive(Debug, Clone)]
pub struct Batch {
    /// What to run, in the order in which the ends are wanted.
    pub jobs: Vec<Job>,
    /// At most so many at once.
    pub at_once: usize,
    /// Time for the whole firing, counted from its beginning.
    pub within: Option<Duration>,
}

/// One run to be started.
#[derive(Debug, Clone)]
pub struct Job {
    /// Index into [`Rules::sources`].
    pub source: usize,
    /// Index into [`Source::hooks`].
    pub hook: usize,
    /// The event as the dialect sees it.
    pub moment: String,
    /// What to start.
    pub command: Command,
    /// The file that must still have this content just before the start.
    pub recheck: Option<Recheck>,
    /// Why it is not started after all, where the dialect's own checks said no. It is a run all the same.
    pub refused: Option<String>,
}

/// A command and its bounds.
#[derive(Debug, Clone)]
pub struct Command {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// Where it runs.
    pub directory: Utf8PathBuf,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What stands on its standard input, then end of file.
    pub stdin: Arc<Vec<u8>>,
    /// Its own time.
    pub timeout: Duration,
    /// Between TERM and KILL when it is cut short; zero for KILL at once.
    pub grace: Duration,
    /// How long pipes that a stranger holds are waited for after its end.
    pub linger: Duration,
    /// What is kept of stdout.
    pub stdout: Keep,
    /// What is kept of stderr.
    pub stderr: Keep,
}

/// What is kept of a stream, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// From the beginning.
    pub head: usize,
    /// From the end.
    pub tail: usize,
    /// Whether one byte more ends the run; else the rest is drained and dropped.
    pub over_ends: bool,
}

/// The content a file must still have just before a run starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recheck {
    /// The file.
    pub place: Place,
    /// Lower-case hex SHA-256 of its bytes.
    pub hash: String,
}

/// A run that is over.
#[derive(Debug, Clone)]
pub struct Finished {
    /// What was to be run.
    pub job: Job,
    /// How it ended.
    pub end: End,
    /// What it wrote.
    pub stdout: Captured,
    /// What it wrote.
    pub stderr: Captured,
    /// Wall time.
    pub duration: Duration,
    /// Whether a stranger still held its pipes when waiting for them ended.
    pub held: bool,
    /// The directory it ran in, where that is not the one asked for, because that one was gone.
    pub moved_to: Option<String>,
    /// Its process, where one was started.
    pub pid: Option<u32>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With an exit code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// Its own time ran out.
    TimedOut,
    /// It wrote more than is taken, on the named stream.
    Overflowed(&'static str),
    /// Whoever asked no longer wants it.
    Cancelled,
    /// It could not be started.
    NotStarted(String),
    /// Its file no longer has the content that was approved.
    Replaced(String),
    /// The dialect's own checks said no: [`Job::refused`].
    Refused(String),
    /// The system had no room to start it: that says nothing of the hook.
    NoRoom(String),
    /// The time that the host gives ran out before it was started or before its own time did.
    NoTime,
    /// How it ended could not be learnt.
    Lost,
}

impl End {
    /// Whether nothing can be concluded from it, not even a failure of the hook.
    pub fn is_unjudged(&self) -> bool {
        matches!(self, Self::NoRoom(_) | Self::NoTime | Self::Lost | Self::Cancelled)
    }
}

/// What was kept of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// From the beginning.
    pub head: Vec<u8>,
    /// From the end, where it does not overlap the beginning.
    pub tail: Vec<u8>,
    /// Bytes in all.
    pub total: u64,
}

impl Captured {
    /// Whether something was left out.
    pub fn is_cut(&self) -> bool {
        self.total > (self.head.len() + self.tail.len()) as u64
    }
}
