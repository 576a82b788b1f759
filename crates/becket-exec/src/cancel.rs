//! Cancelling a batch from another thread or a signal handler.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{FileType, fstat};
use rustix::net::getpeername;

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

    /// The same switch, which is also thrown when nobody is left who could read what is written to this pipe or connected
    /// socket (some agents use those for pipes): whoever asked is gone. What is neither is not watched.
    ///
    /// # Errors
    ///
    /// If the system has no descriptor left.
    pub fn or_unread(self, answer: impl AsFd) -> io::Result<Self> {
        let is_read = fstat(&answer).is_ok_and(|stat| {
            let kind = FileType::from_raw_mode(stat.st_mode);
            // Of one that was never connected, poll says that nobody is there.
            kind.is_fifo() || (kind.is_socket() && getpeername(&answer).is_ok())
        });
        let answer =
            if is_read { Some(Arc::new(above_stdio(answer.as_fd().try_clone_to_owned()?)?)) } else { None };
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
        // A write end is told of the last reader's end unasked, and a socket of its peer's; that the peer only ends what
        // it has to say is no end.
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
    use std::net::Shutdown;
    use std::os::unix::net::{UnixDatagram, UnixStream};

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
    fn a_peer_that_goes_throws_it_and_one_that_has_nothing_more_to_say_does_not() {
        let (theirs, ours) = UnixStream::pair().unwrap();
        let cancel = Cancel::new().unwrap().or_unread(&ours).unwrap();
        assert!(!cancel.is_triggered());
        theirs.shutdown(Shutdown::Write).unwrap();
        assert!(!cancel.is_triggered());
        drop(theirs);
        assert!(cancel.is_triggered());
    }

    #[test]
    fn what_nobody_reads_from_is_not_watched() {
        let file: OwnedFd = std::fs::File::open("/dev/null").unwrap().into();
        let lonely: OwnedFd = UnixDatagram::unbound().unwrap().into();
        for answer in [file, lonely] {
            let cancel = Cancel::new().unwrap().or_unread(&answer).unwrap();
            assert!(!cancel.is_triggered());
            cancel.trigger();
            assert!(cancel.is_triggered());
        }
    }
}
