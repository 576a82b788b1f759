//! What a program needs that is entered without the standard library's own preparations.

use std::os::fd::IntoRawFd as _;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::stdio::{stderr, stdin, stdout};

use crate::sys;

/// Prepares a process that is all this program's own. Call it once, before anything is opened.
///
/// - A standard descriptor that was closed is opened, on `/dev/null`, or, for stdout, on `/dev/full`, so that what cannot be said
///   is known not to have been: else the first file that is opened would get its number, and what is printed would be
///   written into that file.
/// - A write to a pipe that nobody reads any more is an error, and so is one beyond the limit on a file's size
///   (`ulimit -f`): a verdict must not be lost to a journal that cannot grow. What the program runs has the defaults
///   again.
///
/// The process is aborted where a closed one cannot be opened: nothing could be printed safely.
pub fn begin_program() {
    open_standard_descriptors();
    sys::ignore_failed_writes();
}

fn open_standard_descriptors() {
    let (stdin, stdout, stderr) = (stdin(), stdout(), stderr());
    let mut standard =
        [&stdin, &stdout, &stderr].map(|descriptor| PollFd::new(descriptor, PollFlags::empty()));
    let polled = poll(&mut standard, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    if polled.is_err() {
        return;
    }
    let instead = ["/dev/null", "/dev/full", "/dev/null"];
    let is_closed = |fd: &&PollFd<'_>| fd.revents().contains(PollFlags::NVAL);
    for (_, instead) in standard.iter().zip(instead).filter(|(fd, _)| is_closed(fd)) {
        // The lowest number that is free is the one that is missing. It stays open.
        let open = |path: &str| open(path, OFlags::RDWR, Mode::empty());
        match open(instead).or_else(|_| open("/dev/null")) {
            Ok(opened) => drop(opened.into_raw_fd()),
            Err(_) => std::process::abort(),
        }
    }
}

/// What a program says that comes to no end by itself, and its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWords {
    /// For its standard output.
    pub stdout: Vec<u8>,
    /// For its standard error.
    pub stderr: Vec<u8>,
    /// Its exit code.
    pub exit: u8,
    /// Its exit code where standard output takes nothing.
    pub exit_unheard: u8,
}

/// Has these words said, and the process ended, once `after` is over, when the process would end by a fault of its own (no
/// memory or no stack is left, a limit on processor time is reached), or when somebody ends it by a signal. Until [`forget_last_words`]; words set before count no
/// more. What only the kernel can end (KILL, a process that waits for a disk) ends without them.
///
/// For a process that is all this program's own: it takes every signal that ends a process save KILL, PIPE, XFSZ and the
/// real-time ones, and the one timer that a process has; what its starter ignores of those that people send stays ignored. A
/// process that is forked meanwhile says nothing. What the program runs has the defaults again.
pub fn set_last_words(words: LastWords, after: Option<Duration>) {
    sys::last_words::set(words, after);
}

/// The program has said what it had to say, or is about to.
pub fn forget_last_words() {
    sys::last_words::forget();
}
