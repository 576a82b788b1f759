//! The pipes of a job, and the directory it runs in.

use std::io::{self};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fcntl_getfl, fcntl_setfl, openat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::start::StartError;

/// A pipe's usual size.
pub(crate) const USUAL: usize = 64 * 1024;
/// What an unprivileged user may grow a pipe to by default.
pub(crate) const LARGEST: usize = 1024 * 1024;

/// The same descriptor with a number above the three standard ones. A program that was started with one
/// of those closed gets their numbers for whatever it opens next; a child's would then be overwritten.
pub(crate) fn above_stdio(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 { Ok(fd) } else { Ok(fcntl_dupfd_cloexec(&fd, 3)?) }
}

/// A pipe, neither end inherited by anybody.
pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let lift = |fd| above_stdio(fd).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::MFILE));
    Ok((lift(read)?, lift(write)?))
}

/// Our ends only: the other end, which a job gets, is a description of its own and stays blocking.
pub(crate) fn set_nonblocking(fd: &OwnedFd) -> Result<(), Errno> {
    fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)
}

/// The directory a job runs in.
pub(crate) struct Dir {
    pub(crate) fd: OwnedFd,
    /// Where it is, if it is not the one that was asked for.
    pub(crate) instead: Option<PathBuf>,
}

impl Dir {
    /// The directory, or the nearest one above that exists.
    pub(crate) fn open(wanted: &Path) -> Result<Self, StartError> {
        let error = |errno: Errno| match errno {
            Errno::MFILE | Errno::NFILE => StartError::TooManyFiles,
            Errno::INVAL => StartError::Nul("the directory".into()),
            _ => StartError::Dir { dir: wanted.into(), why: errno.to_string() },
        };
        for dir in wanted.ancestors() {
            let path = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            match openat(CWD, path, flags, Mode::empty()) {
                Ok(fd) => {
                    let fd = above_stdio(fd).map_err(|_| StartError::TooManyFiles)?;
                    let instead = (dir != wanted).then(|| path.to_path_buf());
                    return Ok(Self { fd, instead });
                }
                // Nothing can be there.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::LOOP) => {}
                Err(errno) => return Err(error(errno)),
            }
        }
        Err(error(Errno::NOENT))
    }
}
