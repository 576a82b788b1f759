//! The file whose locked bytes say who runs hooks just now. It has no content; whatever ends a process takes its marks back.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rustix::fs::OFlags;

use crate::files::FileError;

/// Every place at which a mark may stand.
pub(crate) const PLACES: Range<u64> = 0..1 << 62;

/// Most locks that are looked at. There are as many as runs, and what strangers lock.
const MOST_LOCKS: usize = 10_000;

/// The open file. Marks that were set through it last as long as it.
#[derive(Debug)]
pub(crate) struct Marks {
    file: File,
    path: Utf8PathBuf,
}

/// A lock that somebody else holds.
struct Lock {
    range: Range<u64>,
    /// One byte, for writing, as a mark is: strangers who lock a file lock all of it.
    is_mark: bool,
}

impl Marks {
    /// The file at a path. `create`: where it is missing.
    ///
    /// # Errors
    /// It cannot be opened, it is no regular file, or it is somebody else's.
    pub(crate) fn open(path: &Utf8Path, create: bool) -> Result<Self, FileError> {
        // Without NONBLOCK opening a FIFO would wait for a reader.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(create).mode(0o600).custom_flags(flags);
        let file = options.open(path).map_err(|error| FileError::new(path, error))?;
        let data = file.metadata().map_err(|error| FileError::new(path, error))?;
        if !data.is_file() || data.uid() != rustix::process::geteuid().as_raw() {
            return Err(FileError::new(path, "it is not a file of yours"));
        }
        Ok(Self { file, path: path.to_owned() })
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Sets a mark; `false` where something is locked already.
    ///
    /// # Errors
    /// The file system has no such locks.
    pub(crate) fn set(&self, at: u64) -> Result<bool, FileError> {
        match fcntl(&self.file, FcntlArg::F_OFD_SETLK(&lock(at..at + 1))) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
            Err(errno) => Err(FileError::new(&self.path, io::Error::from(errno))),
        }
    }

    /// Whether anybody holds any lock: mostly nobody does, and one step tells.
    pub(crate) fn any_lock(&self) -> bool {
        self.first_in(&PLACES).is_some()
    }

    /// Whether one of the marks in a range is one of those that are `wanted`.
    pub(crate) fn any(&self, range: Range<u64>, mut wanted: impl FnMut(u64) -> bool) -> bool {
        let mut unseen = vec![range];
        for _ in 0..MOST_LOCKS {
            let Some(range) = unseen.pop() else { return false };
            let Some(lock) = (!range.is_empty()).then(|| self.first_in(&range)).flatten() else { continue };
            if lock.is_mark && wanted(lock.range.start) {
                return true;
            }
            // The system names one of them, not the first by place.
            unseen.push(range.start..lock.range.start.min(range.end));
            unseen.push(lock.range.end.max(range.start)..range.end);
        }
        false
    }

    fn first_in(&self, range: &Range<u64>) -> Option<Lock> {
        let mut found = lock(range.clone());
        fcntl(&self.file, FcntlArg::F_OFD_GETLK(&mut found)).ok()?;
        if found.l_type == libc::F_UNLCK as libc::c_short {
            return None;
        }
        let start = u64::try_from(found.l_start).unwrap_or(0);
        // A length of 0 is everything from there on.
        let length = u64::try_from(found.l_len).unwrap_or(0);
        let end = if length == 0 { u64::MAX } else { start.saturating_add(length) };
        let is_mark = length == 1 && found.l_type == libc::F_WRLCK as libc::c_short;
        Some(Lock { range: start..end, is_mark })
    }

    /// Whether a process holds this file open, as whoever set a mark in it does: nobody can make another do so. `None`
    /// where what it holds may not be looked at (another user's, in another user namespace, with other rights).
    pub(crate) fn is_open_in(&self, process: u32) -> Option<bool> {
        let own = self.file.metadata().ok()?;
        let is_this = |path: &std::path::Path| {
            std::fs::metadata(path).map(|data| (data.dev(), data.ino()) == (own.dev(), own.ino()))
        };
        let open = match std::fs::read_dir(format!("/proc/{process}/fd")) {
            Ok(open) => open,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(false),
            Err(_) => return None,
        };
        let mut hidden = false;
        for entry in open.flatten() {
            match is_this(&entry.path()) {
                Ok(true) => return Some(true),
                Ok(false) => {}
                Err(error) => hidden |= error.kind() == io::ErrorKind::PermissionDenied,
            }
        }
        (!hidden).then_some(false)
    }
}

/// A lock on bytes, which need not exist, that lasts as long as the open file, whatever else this process closes.
fn lock(range: Range<u64>) -> libc::flock {
    let offset = |at: u64| libc::off_t::try_from(at).unwrap_or(libc::off_t::MAX);
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: offset(range.start),
        l_len: offset(range.end - range.start),
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_among_locks_of_strangers() {
        let directory = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(directory.path()).unwrap().join("marks");
        let open = || Marks::open(&path, true).unwrap();
        let (first, second, stranger, look) = (open(), open(), open(), open());
        assert!(!look.any_lock() && !look.any(PLACES, |_| true));
        let stranger_locks = |range: Range<u64>, how: libc::c_int| {
            let lock = libc::flock { l_type: how as libc::c_short, ..lock(range) };
            fcntl(&stranger.file, FcntlArg::F_OFD_SETLK(&lock)).unwrap();
        };
        stranger_locks(0..1 << 61, libc::F_RDLCK);
        assert!(look.any_lock() && !look.any(PLACES, |_| true));
        assert!(!first.set(7).unwrap());
        stranger_locks(0..1 << 61, libc::F_UNLCK);
        assert!(first.set(7).unwrap() && second.set(1 << 40).unwrap() && !second.set(7).unwrap());
        for range in [0..3, 5..7, 8..10, 100..5000, (1 << 41)..(1 << 61)] {
            stranger_locks(range, libc::F_WRLCK);
        }
        let mut seen = Vec::new();
        assert!(!look.any(PLACES, |at| {
            seen.push(at);
            false
        }));
        seen.sort_unstable();
        assert_eq!(seen, [7, 1 << 40]);
        assert!(look.any(7..8, |at| at == 7) && !look.any(8..100, |_| true) && !look.any(0..7, |_| true));
        assert_eq!(look.is_open_in(std::process::id()), Some(true));
        drop((first, second, stranger));
        assert!(!look.any_lock());
    }
}
