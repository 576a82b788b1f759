//! Locks and replacements of Becket's own files and of the dialects' stores.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::NamedTempFile;

/// How long a lock that somebody else holds is waited for.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(5);

/// How a file is named that will take another's place.
const TEMPORARY: &str = ".becket-unfinished-";

/// So many letters and digits follow that in its name.
const RANDOM: usize = 8;

/// One that is this old belongs to nobody, also where nothing can be locked.
const TEMPORARY_AGE: Duration = Duration::from_secs(24 * 3600);

/// Most tries to make one.
const TRIES: usize = 100;

/// Between two tries to take a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// An error on a file, with the file.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {message}")]
pub struct FileError {
    /// The file, escaped where it must be.
    pub path: String,
    /// What went wrong.
    pub message: String,
}

impl FileError {
    /// What went wrong with `path`.
    #[expect(clippy::needless_pass_by_value, reason = "errors are made on the spot and given away")]
    pub fn new(path: &Utf8Path, message: impl ToString) -> Self {
        Self { path: becket_core::text::line(path.as_str()).into_owned(), message: message.to_string() }
    }
}

/// Creates a directory and those above it, readable by nobody else.
pub(crate) fn create_directory(path: &Utf8Path) -> Result<(), FileError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path).map_err(|error| FileError::new(path, error))
}

/// Takes an exclusive lock, waiting at most [`LOCK_WAIT`].
pub(crate) fn lock(file: &File, path: &Utf8Path) -> Result<(), FileError> {
    let until = Instant::now() + LOCK_WAIT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => {
                let message = format!("another process has held its lock for {} s", LOCK_WAIT.as_secs());
                return Err(FileError::new(path, message));
            }
            Err(TryLockError::Error(error)) if is_lockless(&error) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(FileError::new(path, error)),
        }
    }
}

/// Some file systems have no locks; going on without one is better than not at all.
fn is_lockless(error: &io::Error) -> bool {
    use rustix::io::Errno;
    Errno::from_io_error(error).is_some_and(|errno| matches!(errno, Errno::NOLCK | Errno::OPNOTSUPP))
}

/// A lock file, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Locked {
    _file: File,
}

/// Takes the lock that `path` stands for, creating the file (mode 0600) where it is missing.
pub(crate) fn locked(path: &Utf8Path) -> Result<Locked, FileError> {
    // Without NONBLOCK opening a FIFO would wait for a reader.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(nonblock)
        .open(path)
        .map_err(|error| FileError::new(path, error))?;
    if !file.metadata().is_ok_and(|data| data.is_file()) {
        return Err(FileError::new(path, "it is not a regular file, so it cannot be locked"));
    }
    Locked::take(file, path)
}

impl Locked {
    /// Takes the lock of an open file.
    pub(crate) fn take(file: File, path: &Utf8Path) -> Result<Self, FileError> {
        lock(&file, path)?;
        Ok(Self { _file: file })
    }
}

/// Whether an open file is the one that stands under its name.
pub(crate) fn is_under_its_name(file: &File, path: &Utf8Path) -> io::Result<bool> {
    let here = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (here.dev(), here.ino())))
}

/// A file that will take the place of another in this folder. What programs left there that were killed is removed: a file
/// is locked for as long as somebody writes it.
pub(crate) fn temporary(folder: &Utf8Path) -> io::Result<NamedTempFile> {
    sweep(folder);
    for _ in 0..TRIES {
        let file = tempfile::Builder::new().prefix(TEMPORARY).rand_bytes(RANDOM).tempfile_in(folder)?;
        match file.as_file().try_lock() {
            // Somebody who sweeps may have come before the lock.
            Ok(()) if file.as_file().metadata()?.nlink() == 0 => {}
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) if is_lockless(&error) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other("a new file is taken away again and again"))
}

/// Removes what killed programs left in a folder. What cannot be removed is left.
pub(crate) fn sweep(folder: &Utf8Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_one = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY)).is_some_and(|rest| {
            rest.len() == RANDOM && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        if is_one {
            drop(remove_abandoned(&entry.path()));
        }
    }
}

/// Removes a file of ours unless somebody writes it. The lock is held until it is gone, so that nobody begins meanwhile.
fn remove_abandoned(path: &Path) -> io::Result<()> {
    use rustix::fs::OFlags;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let data = file.metadata()?;
    if !data.is_file() || data.uid() != rustix::process::geteuid().as_raw() || data.nlink() != 1 {
        return Ok(());
    }
    let is_abandoned = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => data.modified()?.elapsed().is_ok_and(|age| age > TEMPORARY_AGE),
    };
    if is_abandoned { fs::remove_file(path) } else { Ok(()) }
}

/// Replaces a file's content as one step: whoever reads it sees the old or the new. Links are followed, so that a
/// linked file stays linked. The new file has mode 0600.
pub(crate) fn replace(path: &Utf8Path, bytes: &[u8]) -> Result<(), FileError> {
    let target = match fs::canonicalize(path) {
        Ok(target) => Utf8PathBuf::from_path_buf(target)
            .map_err(|_| FileError::new(path, "it is a link to a path that is not UTF-8"))?,
        Err(_) if fs::symlink_metadata(path).is_ok() => {
            return Err(FileError::new(path, "it is a link that leads nowhere: it is left as it is"));
        }
        Err(_) => path.to_owned(),
    };
    let folder = target.parent().unwrap_or_else(|| Utf8Path::new("/"));
    let write = || -> io::Result<()> {
        let mut file = temporary(folder)?;
        file.write_all(bytes)?;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o600))?;
        file.as_file().sync_all()?;
        file.persist(&target).map_err(|error| error.error)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(|error| FileError::new(path, error))
}

/// Removes a file; one that is gone already is as good.
pub(crate) fn remove(path: &Utf8Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileError::new(path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_writer_left_goes_with_the_next_write() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(directory.path()).unwrap();
        let names =
            [".becket-unfinished-aB3xYz12", ".becket-backup", ".becket-unfinished-aB3xYz123", "other"];
        for name in names {
            fs::write(folder.join(name), "torn").unwrap();
        }
        let written = temporary(folder).unwrap();
        replace(&folder.join("store"), b"whole").unwrap();
        let left = |name: &str| folder.join(name).exists();
        assert_eq!(names.map(left), [false, true, true, true]);
        assert!(written.path().exists(), "one that is being written stays");
        assert_eq!(fs::read(folder.join("store")).unwrap(), b"whole");
    }

    #[test]
    fn writers_at_once_never_take_each_others_files_away() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(directory.path()).unwrap();
        std::thread::scope(|scope| {
            for number in 0..4 {
                scope.spawn(move || {
                    for round in 0..100 {
                        let text = format!("{number} {round}");
                        let path = folder.join(number.to_string());
                        replace(&path, text.as_bytes()).unwrap();
                        assert_eq!(fs::read_to_string(path).unwrap(), text);
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(folder).unwrap().count(), 4);
    }
}
