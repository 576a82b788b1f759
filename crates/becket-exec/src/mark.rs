//! The mark that tells one job's descendants from another's.

use std::fmt::Write as _;

use rustix::rand::{GetRandomFlags, getrandom};

use crate::procfs::Ticks;

/// The environment variable that every job is given: a random number of its own, in hexadecimal. It
/// tells what a finished job left running on purpose from what a job that was cut short left behind.
/// A job's own variable of this name is replaced. It is a hint among the descendants of one runner, and
/// proves nothing to anybody else.
pub const MARK: &str = "BECKET_RUN";

/// Bytes of a mark in hexadecimal.
pub(crate) const MARK_LEN: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark([u8; MARK_LEN / 2]);

/// What a job's processes are told by, wherever they are: they carry its mark, and none is older than the job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Track {
    pub(crate) mark: Mark,
    pub(crate) since: Ticks,
}

impl Track {
    /// Of a job that is about to be started.
    pub(crate) fn begin() -> Self {
        Self { mark: Mark::random(), since: Ticks::now() }
    }
}

impl Mark {
    pub(crate) fn random() -> Self {
        let mut bytes = [0; MARK_LEN / 2];
        // Sixteen bytes are given whole or not at all, and since the system has booted always.
        let _ = getrandom(&mut bytes, GetRandomFlags::empty());
        Self(bytes)
    }

    pub(crate) fn from_bytes(bytes: [u8; MARK_LEN / 2]) -> Self {
        Self(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; MARK_LEN / 2] {
        &self.0
    }

    /// `NAME=value`, as it stands in an environment.
    pub(crate) fn assignment(&self) -> String {
        let mut text = format!("{MARK}=");
        for byte in self.0 {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}
