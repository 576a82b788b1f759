//! What a program needs that is entered without the standard library's own preparations.

use std::os::fd::IntoRawFd as _;

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
