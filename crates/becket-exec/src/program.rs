//! What a program needs that is entered without the standard library's own preparations.

use std::os::fd::IntoRawFd as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::stdio::{stderr, stdin, stdout};

use crate::sys;

/// Prepares a process that is all this program's own. Call it once, before anything is opened.
///
/// - A standard descriptor that was closed is opened on `/dev/null`: else the first file that is opened would get its
///   number, and what is printed would be written into that file.
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
    let closed = standard.iter().filter(|fd| fd.revents().contains(PollFlags::NVAL)).count();
    if polled.is_err() || closed == 0 {
        return;
    }
    for _ in 0..closed {
        // The lowest number that is free is the one that is missing. It stays open.
        match open("/dev/null", OFlags::RDWR, Mode::empty()) {
            Ok(null) => drop(null.into_raw_fd()),
            Err(_) => std::process::abort(),
        }
    }
}
