//! Giving a job its standard input.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::{Errno, write};
use rustix::pipe::fcntl_setpipe_size;

use crate::pipes::{LARGEST, USUAL, pipe, set_nonblocking};

/// What an empty pipe takes at once, whatever limits a user has reached.
const ALWAYS_FITS: usize = 4096;
/// The rest of a payload that did not fit into the pipe beforehand.
pub(crate) struct Feed {
    fd: OwnedFd,
    payload: Arc<Vec<u8>>,
    written: usize,
    /// Stays open behind the last byte.
    holds: bool,
}

impl Feed {
    /// A pipe with as much of the payload in it as fits, and what is left to feed.
    ///
    /// Where all of it fits the writing end is closed before the job exists: no later fork of the
    /// embedding program can then hold it open and keep the job from seeing the end.
    ///
    /// With `holds` it stays open until it is dropped.
    pub(crate) fn prepare(payload: &Arc<Vec<u8>>, holds: bool) -> Result<(OwnedFd, Option<Self>), Errno> {
        let (read, fd) = pipe()?;
        if payload.is_empty() && !holds {
            return Ok((read, None));
        }
        if payload.len() > USUAL {
            // Refused where the user has reached a limit; then more is fed later.
            let _ = fcntl_setpipe_size(&fd, payload.len().min(LARGEST));
        }
        if payload.len() > ALWAYS_FITS {
            set_nonblocking(&fd)?;
        }
        let feed = Self { fd, payload: Arc::clone(payload), written: 0, holds };
        Ok((read, feed.advance()))
    }

    /// Writes what goes in without waiting; `None` once there is nothing left to do.
    pub(crate) fn advance(mut self) -> Option<Self> {
        while self.written < self.payload.len() {
            match write(&self.fd, &self.payload[self.written..]) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Some(self),
                // A job that does not want its input has done nothing wrong.
                Err(_) => return None,
            }
        }
        self.holds.then_some(self)
    }

    /// What to wait for until more can be written, if anything is left.
    pub(crate) fn waits(&self) -> Option<BorrowedFd<'_>> {
        (self.written < self.payload.len()).then(|| self.fd.as_fd())
    }
}
