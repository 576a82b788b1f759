//! Why a job could not be started.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, accessat};
use rustix::io::Errno;

/// Why a job could not be started. Nothing of it ran.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A string for the program contains a byte that ends strings.
    #[error("{0} contains a NUL byte")]
    Nul(String),
    /// There is no such program.
    #[error("no such program: {}", .0.display())]
    NotFound(PathBuf),
    /// No absolute entry of `PATH` has a program of that name.
    #[error("no program {} in any absolute entry of PATH", .0.display())]
    NotOnPath(PathBuf),
    /// The program is there, but what is to interpret it (its `#!` line, or its loader) is not.
    #[error("{}: the interpreter it names does not exist", .0.display())]
    NoInterpreter(PathBuf),
    /// The program may not be executed.
    #[error("{}: permission denied", .0.display())]
    Denied(PathBuf),
    /// The file is not something the system can execute: damaged, empty, or a script without `#!`.
    #[error("{}: not an executable format (a script needs a #! line)", .0.display())]
    BadFormat(PathBuf),
    /// Somebody has the program open for writing.
    #[error("{}: the file is being written", .0.display())]
    Busy(PathBuf),
    /// Neither the directory nor any above it can be entered.
    #[error("cannot enter the directory {}: {why}", .dir.display())]
    Dir {
        /// The directory that was asked for.
        dir: PathBuf,
        /// What the system said.
        why: String,
    },
    /// Arguments and environment together, or one of them, exceed what the system takes.
    #[error("the arguments and environment are too long for the system")]
    TooLong,
    /// The system has no memory for it.
    #[error("not enough memory to start a process")]
    NoMemory,
    /// The user, or the control group, may have no more processes.
    #[error("no more processes are allowed")]
    TooManyProcesses,
    /// This process, or the system, may have no more open files.
    #[error("no more open files are allowed")]
    TooManyFiles,
    /// The keeper that should have started it is gone.
    #[error("the keeper process is gone")]
    KeeperGone,
    /// Something else that the system said.
    #[error("cannot start {}: {why}", .program.display())]
    Other {
        /// The program.
        program: PathBuf,
        /// What the system said.
        why: String,
    },
}

impl StartError {
    /// What an error of the system means for this program in this directory.
    pub(crate) fn of(errno: Errno, program: &OsStr, dir: BorrowedFd<'_>) -> Self {
        let path = PathBuf::from(program);
        match errno {
            Errno::NOENT if exists(&path, dir) => Self::NoInterpreter(path),
            Errno::NOENT | Errno::NOTDIR => Self::NotFound(path),
            Errno::ACCESS | Errno::PERM if !enterable(dir) => {
                Self::Dir { dir: dir_name(dir), why: errno.to_string() }
            }
            Errno::ACCESS | Errno::PERM => Self::Denied(path),
            Errno::NOEXEC => Self::BadFormat(path),
            Errno::TXTBSY => Self::Busy(path),
            Errno::TOOBIG => Self::TooLong,
            _ => Self::of_resources(errno, program),
        }
    }

    /// The same where no program has been tried yet.
    pub(crate) fn of_resources(errno: Errno, program: &OsStr) -> Self {
        match errno {
            Errno::NOMEM => Self::NoMemory,
            Errno::AGAIN => Self::TooManyProcesses,
            Errno::MFILE | Errno::NFILE => Self::TooManyFiles,
            _ => Self::Other { program: program.into(), why: errno.to_string() },
        }
    }
}

fn exists(path: &Path, dir: BorrowedFd<'_>) -> bool {
    accessat(dir, path, Access::EXISTS, AtFlags::empty()).is_ok()
}

fn enterable(dir: BorrowedFd<'_>) -> bool {
    accessat(dir, ".", Access::EXEC_OK, AtFlags::empty()).is_ok()
}

/// For the message; the descriptor knows its own path.
fn dir_name(dir: BorrowedFd<'_>) -> PathBuf {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd())).unwrap_or_default()
}
