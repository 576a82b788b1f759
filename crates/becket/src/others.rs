//! Files of other programs: read whole, and replaced as one step, with their links and their mode kept.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use becket_core::place::Refusal;
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{Access, Mode, OFlags};
use rustix::io::Errno;

use crate::files::{self, FileError};
use crate::read::is_of_kernel;

/// What is put behind a file's name for the copy of it as it was.
const BACKUP: &str = ".before-becket";

/// Said of a link without a target.
const NOWHERE: &str = "it is a link that leads nowhere";

/// The file that `path` stands for, or will once it is made, links followed.
///
/// # Errors
/// A link that leads nowhere.
pub fn target(path: &Utf8Path) -> Result<Utf8PathBuf, FileError> {
    match fs::canonicalize(path) {
        Ok(target) => Utf8PathBuf::from_path_buf(target)
            .map_err(|_| FileError::new(path, "it is a link to a path that is not UTF-8")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink()) {
                return Err(FileError::new(path, NOWHERE));
            }
            // What is there of the way may lead elsewhere; the rest will be made there.
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                return Ok(path.to_owned());
            };
            Ok(target(folder)?.join(name))
        }
        Err(error) => Err(FileError::new(path, error)),
    }
}

/// Most copies of one file that are kept.
const BACKUPS: usize = 9;

/// Where copies of a file are kept.
pub fn backups(path: &Utf8Path) -> impl Iterator<Item = Utf8PathBuf> {
    let numbered = |number: usize| if number == 1 { String::new() } else { format!("-{number}") };
    (1..=BACKUPS).map(move |number| Utf8PathBuf::from(format!("{path}{BACKUP}{}", numbered(number))))
}

/// Removes the temporary files that a kill of [`replace`] left beside a file. Others' files, and those that somebody
/// still writes, stay.
pub fn sweep(path: &Utf8Path) {
    if let Some(folder) = path.parent() {
        files::sweep(folder);
    }
}

/// The directories above a file that are not there yet, the uppermost first: [`replace`] makes them.
pub fn missing_directories(path: &Utf8Path) -> Vec<Utf8PathBuf> {
    let missing = path.ancestors().skip(1).take_while(|folder| fs::symlink_metadata(folder).is_err());
    let mut missing: Vec<_> = missing.map(Utf8Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Removes directories that were made for a file and are empty now, the innermost first; what holds anything stays.
pub fn remove_empty(path: &Utf8Path, made: &[Utf8PathBuf]) {
    // By whichever links they were made, or were recorded by.
    let real = |folder: &Utf8PathBuf| target(folder).unwrap_or_else(|_| folder.clone());
    let mut made: Vec<Utf8PathBuf> =
        made.iter().map(real).filter(|folder| path.starts_with(folder)).collect();
    made.dedup();
    made.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in made {
        // It refuses links, and directories with anything in them. One that is gone keeps none above it.
        match fs::remove_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return,
            _ => {}
        }
    }
}

/// The whole file; `None` if it is not there.
///
/// # Errors
/// It is no regular file, a link that leads nowhere, larger than `limit` bytes, or cannot be read.
pub fn read(path: &Utf8Path, limit: usize) -> Result<Option<Vec<u8>>, FileError> {
    let fail = |error: io::Error| FileError::new(path, error);
    let mut found = fs::metadata(path);
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    if found.as_ref().is_err_and(is_missing) {
        if !fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink()) {
            return Ok(None);
        }
        // The link may have come after it was looked for.
        found = fs::metadata(path);
    }
    match found {
        Err(error) if is_missing(&error) => return Err(FileError::new(path, NOWHERE)),
        Err(error) => return Err(fail(error)),
        // Opening a device may do something.
        Ok(data) if !data.is_file() => return Err(FileError::new(path, Refusal::NotRegular)),
        Ok(_) => {}
    }
    // Something else may stand there by now: a FIFO would wait for a writer, a file of the kernel's for whatever it tells.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path.as_std_path(), flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Err(FileError::new(path, Refusal::Changing)),
        Err(errno) => return Err(fail(errno.into())),
    };
    if !file.metadata().map_err(fail)?.is_file() {
        return Err(FileError::new(path, Refusal::NotRegular));
    }
    if is_of_kernel(&file) {
        return Err(FileError::new(path, Refusal::OfKernel));
    }
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() > limit {
        return Err(FileError::new(path, format!("it is larger than {limit} bytes")));
    }
    Ok(Some(bytes))
}

/// Whether [`replace`] or [`remove`] would be let change a file, as far as rights go, there or not.
///
/// # Errors
/// It may not be written, or nothing may be put beside it.
pub fn check_writable(path: &Utf8Path) -> Result<(), FileError> {
    let may = |path: &Utf8Path| rustix::fs::access(path.as_std_path(), Access::WRITE_OK);
    if fs::symlink_metadata(path).is_ok() {
        may(path).map_err(|_| FileError::new(path, "it may not be written"))?;
    }
    // What is missing of the way to it is made.
    let folder = path.ancestors().skip(1).find(|folder| fs::symlink_metadata(folder).is_ok());
    folder.map_or(Ok(()), |folder| {
        may(folder).map_err(|_| FileError::new(folder, "nothing may be written into this directory"))
    })
}

/// Replaces a file that was read as `before`, or creates it with the directories above it. Whoever reads it sees the
/// old or the new.
///
/// # Errors
/// It may not be written, cannot be, or is no longer what was read.
pub fn replace(path: &Utf8Path, before: Option<&[u8]>, after: &[u8]) -> Result<(), FileError> {
    let fail = |error: io::Error| FileError::new(path, error);
    let folder = path.parent().unwrap_or_else(|| Utf8Path::new("/"));
    check_writable(path)?;
    files::create_directory(folder)?;
    let mut file = files::temporary(folder).map_err(fail)?;
    let mode = fs::metadata(path).map_or(0o600, |data| data.permissions().mode() & 0o7777);
    file.write_all(after).map_err(fail)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(mode)).map_err(fail)?;
    if let Ok(owner) = fs::metadata(path) {
        // Root may change files of others; they stay theirs.
        drop(std::os::unix::fs::fchown(file.as_file(), Some(owner.uid()), Some(owner.gid())));
    }
    file.as_file().sync_all().map_err(fail)?;
    unchanged(path, before)?;
    file.persist(path).map_err(|error| fail(error.error))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(fail)
}

/// Removes a file that was read as `before`.
///
/// # Errors
/// It cannot be removed, or is no longer what was read.
pub fn remove(path: &Utf8Path, before: &[u8]) -> Result<(), FileError> {
    unchanged(path, Some(before))?;
    files::remove(path)
}

fn unchanged(path: &Utf8Path, before: Option<&[u8]>) -> Result<(), FileError> {
    let limit = before.map_or(0, <[u8]>::len);
    match read(path, limit) {
        Ok(now) if now.as_deref() == before => Ok(()),
        _ => Err(FileError::new(path, "somebody else changed it just now; try again")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, FileType};

    use super::*;

    #[test]
    fn nothing_that_is_swapped_in_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        let (path, file, fifo) = (root.join("path"), root.join("file"), root.join("fifo"));
        fs::write(&file, "x").unwrap();
        rustix::fs::mknodat(CWD, fifo.as_std_path(), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let next = root.join("next");
                let mut targets = [&file, &fifo].into_iter().cycle();
                while !is_over.load(Ordering::Relaxed) {
                    std::os::unix::fs::symlink(targets.next().unwrap(), &next).unwrap();
                    fs::rename(&next, &path).unwrap();
                }
            });
            // Each is one of the two, at once.
            let mut all_fine = true;
            for _ in 0..20_000 {
                all_fine &= match read(&path, 9) {
                    Ok(bytes) => bytes.is_none_or(|bytes| bytes == b"x"),
                    Err(error) => error.to_string().contains("not a regular file"),
                };
            }
            is_over.store(true, Ordering::Relaxed);
            assert!(all_fine);
        });
    }

    #[test]
    fn directories_that_are_gone_keep_no_other_from_going() {
        let directory = tempfile::tempdir().unwrap();
        let root = target(Utf8Path::from_path(directory.path()).unwrap()).unwrap();
        let made = ["a", "a/b", "a/b/c"].map(|folder| root.join(folder));
        fs::create_dir_all(&made[1]).unwrap();
        remove_empty(&made[2].join("file"), &made);
        assert!(!made[0].exists());
        // What holds anything stays, and all above it.
        fs::create_dir_all(&made[1]).unwrap();
        fs::write(made[1].join("other"), "").unwrap();
        remove_empty(&made[2].join("file"), &made);
        assert!(made[1].exists());
    }
}
