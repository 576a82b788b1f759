//! Cancelling a batch from another thread or a signal handler.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

use crate::pipes::above_stdio;

/// A switch that can be thrown once, from anywhere. Clones are the same switch.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<OwnedFd>);

impl Cancel {
    /// A new switch, not thrown.
    ///
    /// # Errors
    ///
    /// If the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(above_stdio(fd)?)))
    }

    /// Throws the switch, for good. One `write`: safe in a signal handler and in any thread.
    pub fn trigger(&self) {
        // The counter cannot be full before 2^64 - 1 calls, and then the switch is thrown anyway.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }

    /// Whether the switch has been thrown.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        let mut fds = [PollFd::new(&*self.0, PollFlags::IN)];
        poll(&mut fds, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }
}

/// Readable once the switch has been thrown; writing eight bytes (`1u64`, native) throws it.
impl AsFd for Cancel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
