//! Reading what a job writes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, read};
use rustix::pipe::fcntl_setpipe_size;

use crate::capture::{Capture, Captured};
use crate::job::Keep;
use crate::pipes::{LARGEST, USUAL, pipe, set_nonblocking};

/// More than a pipe holds (when grown, here or by the job), so that one last look always reaches the
/// end of what was there, and a stranger who writes for ever cannot hold it up.
const LAST_LOOK: usize = 2 * LARGEST;

/// Most jobs write little, and clearing a large buffer for them costs more than reading.
pub(crate) const QUIET: usize = 4096;
/// Empties a busy pipe in few reads.
const BUSY: usize = 256 * 1024;

/// One output stream of a job.
pub(crate) struct Drain {
    fd: Option<OwnedFd>,
    capture: Capture,
    grown: bool,
}

impl Drain {
    /// The stream, and the end of the pipe that the job writes to.
    pub(crate) fn prepare(keep: Keep) -> Result<(Self, OwnedFd), Errno> {
        let (fd, write) = pipe()?;
        set_nonblocking(&fd)?;
        Ok((Self { fd: Some(fd), capture: Capture::new(keep), grown: false }, write))
    }

    /// The descriptor to wait on, until the stream has ended.
    pub(crate) fn open(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    /// The beginning of what was read.
    pub(crate) fn so_far(&self) -> &[u8] {
        self.capture.head()
    }

    pub(crate) fn overflowed(&self) -> bool {
        self.capture.overflowed()
    }

    /// Reads once.
    pub(crate) fn advance(&mut self, buffer: &mut Vec<u8>) {
        self.read_up_to(1, buffer);
    }

    /// Reads until nothing is there.
    pub(crate) fn last_look(&mut self, buffer: &mut Vec<u8>) {
        self.read_up_to(LAST_LOOK, buffer);
    }

    fn read_up_to(&mut self, most: usize, buffer: &mut Vec<u8>) {
        let mut done = 0;
        while let Some(fd) = self.fd.as_ref()
            && done < most
        {
            match read(fd, &mut **buffer) {
                Ok(0) => self.fd = None,
                Ok(count) => {
                    self.capture.push(&buffer[..count]);
                    if count >= USUAL && !self.grown {
                        // It writes faster than we look: fewer and larger looks. A refusal only costs time.
                        self.grown = true;
                        let _ = fcntl_setpipe_size(fd, LARGEST);
                    }
                    done += count;
                    if count == buffer.len() && count < BUSY {
                        buffer.resize(BUSY, 0);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.fd = None,
            }
        }
    }

    /// Closes the pipe and hands over what was kept.
    pub(crate) fn finish(&mut self) -> Captured {
        self.fd = None;
        self.capture.finish()
    }
}
