//! Cancelling a batch from another thread or a signal handler.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{FileType, fstat};

use crate::pipes::above_stdio;

/// A switch that can be thrown once, from anywhere. Clones are the same switch.
#[derive(Debug, Clone)]
pub struct Cancel {
    switch: Arc<OwnedFd>,
    answer: Option<Arc<OwnedFd>>,
}

impl Cancel {
    /// A new switch, not thrown.
    ///
    /// # Errors
    ///
    /// If the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { switch: Arc::new(above_stdio(fd)?), answer: None })
    }

    /// The same switch, which is also thrown when nobody is left who could read what is written to this pipe: whoever asked
    /// is gone. What is no pipe is not watched.
    ///
    /// # Errors
    ///
    /// If the system has no descriptor left.
    pub fn or_unread(self, answer: impl AsFd) -> io::Result<Self> {
        let is_pipe = fstat(&answer).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_fifo());
        let answer =
            if is_pipe { Some(Arc::new(above_stdio(answer.as_fd().try_clone_to_owned()?)?)) } else { None };
        Ok(Self { answer, ..self })
    }

    /// Throws the switch, for good. One `write`: safe in a signal handler and in any thread.
    pub fn trigger(&self) {
        // The counter cannot be full before 2^64 - 1 calls, and then the switch is thrown anyway.
        let _ = rustix::io::write(&*self.switch, &1u64.to_ne_bytes());
    }

    /// Whether the switch has been thrown.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        let mut fds: Vec<_> = self.watched().into_iter().flatten().collect();
        poll(&mut fds, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// What to poll for the switch and for the reader's end; whatever comes of either, it has been thrown.
    pub(crate) fn watched(&self) -> [Option<PollFd<'_>>; 2] {
        let switch = PollFd::new(&*self.switch, PollFlags::IN);
        // A write end is told of the last reader's end unasked.
        [Some(switch), self.answer.as_ref().map(|answer| PollFd::new(&**answer, PollFlags::empty()))]
    }
}

/// Readable once the switch has been thrown; writing eight bytes (`1u64`, native) throws it.
impl AsFd for Cancel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.switch.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_goes_throws_it() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let cancel = Cancel::new().unwrap().or_unread(&write).unwrap();
        assert!(!cancel.is_triggered());
        drop(read);
        assert!(cancel.is_triggered());
    }

    #[test]
    fn what_is_no_pipe_is_not_watched() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let cancel = Cancel::new().unwrap().or_unread(&file).unwrap();
        assert!(!cancel.is_triggered());
        cancel.trigger();
        assert!(cancel.is_triggered());
    }
}
