//! What is to be run, and within which limits.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// One program to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// A path, or a bare name that is looked up in the absolute entries of the `PATH` of [`env`](Self::env)
    /// (`/bin:/usr/bin` where that has none): an empty or relative entry would find what somebody put into
    /// [`dir`](Self::dir). A path that is relative is so to that directory. Also the program's own name for
    /// itself (`argv[0]`).
    pub program: OsString,
    /// Its arguments, without the program itself. Together with the environment at most what the system
    /// takes (usually 2 MiB, and 128 KiB each), else [`StartError::TooLong`](crate::StartError::TooLong).
    pub args: Vec<OsString>,
    /// Its working directory. If it is gone, the nearest directory above that exists is taken and
    /// reported in [`Ended::dir`](crate::Ended::dir). A relative one starts from this process's own.
    pub dir: PathBuf,
    /// Its whole environment: nothing is inherited. The runner adds its [mark](crate::MARK).
    pub env: Vec<(OsString, OsString)>,
    /// What it reads from its standard input, then end of file. Any size; never reading it is no error.
    pub stdin: Arc<Vec<u8>>,
    /// For one that goes on until it is told to end, and answers meanwhile: its standard input stays open behind what it
    /// reads, and once this says so of its standard output so far (its [`head`](Keep::head)) it is cut short, as
    /// [`End::Sufficed`](crate::End::Sufficed).
    pub enough: Option<Enough>,
    /// Its limits.
    pub limits: Limits,
}

/// Whether what a job has written is all that was wanted of it.
#[derive(Debug, Clone, Copy)]
pub struct Enough(pub fn(&[u8]) -> bool);

impl PartialEq for Enough {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Enough {}

/// The limits of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run, from the moment it is started. Covers feeding, draining and waiting. What
    /// comes on top in the worst case: [`grace`](Self::grace) and two seconds for killing and reaping.
    pub timeout: Duration,
    /// A job that is cut short gets `TERM` (and `CONT`), this long, then `KILL`. Zero: `KILL` at once.
    /// Once all of it that still holds the pipes is gone the rest of the time is not waited for.
    pub grace: Duration,
    /// How long pipes that are still held by something it left behind are waited for after it has
    /// exited; never past its deadline.
    pub linger: Duration,
    /// What is kept of its standard output.
    pub stdout: Keep,
    /// What is kept of its standard error.
    pub stderr: Keep,
    /// Ends also what left its process group when it *finished*, not only when it was cut short.
    pub end_everything: bool,
}

/// How much of a stream is kept. At most `head + tail` bytes of memory are used, whatever comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Bytes kept from the beginning.
    pub head: usize,
    /// Bytes kept from the end.
    pub tail: usize,
    /// What happens beyond `head + tail`.
    pub overflow: Overflow,
}

/// What happens when a stream gets longer than what is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The rest is read and counted, and the middle forgotten.
    Drain,
    /// The first byte too many cuts the job short: [`End::Overflowed`](crate::End::Overflowed).
    End,
}
