//! Locks and replacements of Becket's own files and of the dialects' stores.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// How long a lock that somebody else holds is waited for.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(5);

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
    lock(&file, path)?;
    Ok(Locked { _file: file })
}

/// A file of which only the locks count. `create`: where it is missing.
///
/// # Errors
/// It cannot be opened, it is no regular file, or somebody else could lock it.
pub(crate) fn open_marks(path: &Utf8Path, create: bool) -> Result<File, FileError> {
    // Without NONBLOCK opening a FIFO would wait for a reader.
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW).bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).mode(0o600).custom_flags(flags);
    let file = options.open(path).map_err(|error| FileError::new(path, error))?;
    let data = file.metadata().map_err(|error| FileError::new(path, error))?;
    let is_ours =
        data.is_file() && data.uid() == rustix::process::geteuid().as_raw() && data.mode() & 0o022 == 0;
    if is_ours { Ok(file) } else { Err(FileError::new(path, "it is not a file that only you can lock")) }
}

/// A lock on some bytes that lasts as long as the open file, whatever else this process opens and closes.
fn range_lock(range: Range<u64>) -> libc::flock {
    let offset = |at: u64| libc::off_t::try_from(at).unwrap_or(libc::off_t::MAX);
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: offset(range.start),
        l_len: offset(range.end - range.start),
        l_pid: 0,
    }
}

/// Locks one byte, which need not exist; `false` where it is locked already.
pub(crate) fn lock_byte(file: &File, at: u64) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&range_lock(at..at + 1))) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether somebody else holds a lock on any of these bytes.
pub(crate) fn is_locked(file: &File, range: Range<u64>) -> bool {
    let mut lock = range_lock(range);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock)).is_ok() && lock.l_type != libc::F_UNLCK as libc::c_short
}

/// A file that is appended to under its own lock, and still stands under its name.
pub(crate) fn open_appended(path: &Utf8Path) -> Result<File, FileError> {
    loop {
        let file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| FileError::new(path, error))?;
        lock(&file, path)?;
        // Whoever held the lock may have put another file in its place.
        let here = file.metadata().map_err(|error| FileError::new(path, error))?;
        match fs::metadata(path) {
            Ok(there) if (there.dev(), there.ino()) == (here.dev(), here.ino()) => return Ok(file),
            _ => {}
        }
    }
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

/// How the name of a temporary file begins; so many letters and digits follow.
const TEMPORARY: (&str, usize) = (".becket-", 6);

/// An unlocked temporary file that is this old was left behind by a kill: whoever writes one locks it at once.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// The same where the file system has no locks, so that only the age tells.
const LEFT_BEHIND_LOCKLESS: Duration = Duration::from_secs(24 * 3600);

/// A temporary file beside the one that it will replace. It is locked while its writer lives.
pub(crate) fn temporary(folder: &Utf8Path) -> io::Result<tempfile::NamedTempFile> {
    let (prefix, letters) = TEMPORARY;
    let file = tempfile::Builder::new().prefix(prefix).rand_bytes(letters).tempfile_in(folder)?;
    // Without a lock it is told by its age alone.
    drop(file.as_file().try_lock());
    Ok(file)
}

/// Removes temporary files that a kill left in a folder, and says which. Only what is certainly such a file goes: a
/// regular one of this user's, named so, that nobody writes any more.
pub(crate) fn sweep(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let Ok(entries) = folder.read_dir_utf8() else { return Vec::new() };
    let left =
        entries.flatten().filter(|entry| is_temporary(entry.file_name()) && is_left_behind(entry.path()));
    left.filter(|entry| fs::remove_file(entry.path()).is_ok()).map(camino::Utf8DirEntry::into_path).collect()
}

fn is_temporary(name: &str) -> bool {
    let (prefix, letters) = TEMPORARY;
    name.strip_prefix(prefix)
        .is_some_and(|rest| rest.len() == letters && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn is_left_behind(path: &Utf8Path) -> bool {
    let Ok(data) = fs::symlink_metadata(path) else { return false };
    if !data.is_file() || data.uid() != rustix::process::geteuid().as_raw() || data.nlink() != 1 {
        return false;
    }
    // One from the future is as good as new.
    let age = data.modified().ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
    if age < LEFT_BEHIND {
        return false;
    }
    let Ok(file) = OpenOptions::new().read(true).custom_flags(no_follow()).open(path) else { return false };
    match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => age > LEFT_BEHIND_LOCKLESS,
    }
}

/// Neither a link that was put there meanwhile nor a FIFO is waited for.
fn no_follow() -> i32 {
    use rustix::fs::OFlags;
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

/// Removes a file; one that is gone already is as good.
pub(crate) fn remove(path: &Utf8Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileError::new(path, error)),
        _ => Ok(()),
    }
}
