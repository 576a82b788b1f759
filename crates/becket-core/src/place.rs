//! What a dialect asks the engine to read, and what was found there. The core names places; it opens none.

use std::sync::Arc;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

/// Something to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// An absolute path.
    pub path: Utf8PathBuf,
    /// One file, or the files directly in a folder.
    pub what: What,
    /// What becomes of symbolic links.
    pub links: Links,
    /// Largest file that is taken, in bytes.
    pub limit: u64,
}

impl Place {
    /// One file of at most `limit` bytes, links followed.
    pub fn file(path: impl Into<Utf8PathBuf>, limit: u64) -> Self {
        Self { path: path.into(), what: What::File, links: Links::Follow, limit }
    }
}

/// Whether a place is one file or a folder of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// One regular file.
    File,
    /// The entries directly in a folder, in byte order of their names. Directories are none; links to them are.
    Folder {
        /// Only names with one of these endings are read; others are told by name alone.
        endings: &'static [&'static str],
        /// At most this many entries are looked at.
        most: usize,
    },
}

/// What becomes of symbolic links on the way to a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Links {
    /// They are followed.
    Follow,
    /// None may stand below this directory, at the file itself or above it.
    Refuse {
        /// Directories above and including this one are not looked at.
        below: Utf8PathBuf,
    },
    /// They are followed while they stay relative and inside this directory.
    Beneath {
        /// The directory that cannot be left.
        root: Utf8PathBuf,
    },
}

/// What was found at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nothing is there.
    Missing,
    /// A file's bytes, read once.
    File(File),
    /// A folder's entries.
    Folder {
        /// In byte order of their names.
        entries: Vec<Entry>,
        /// Whether there were more than were looked at.
        more: bool,
    },
    /// Something is there and was not taken.
    Refused(Refusal),
}

impl Found {
    /// The file that was found, if one was.
    pub fn file(&self) -> Option<&File> {
        match self {
            Self::File(file) => Some(file),
            _ => None,
        }
    }
}

/// The bytes of one file, from one reading: what is hashed is what is parsed and what runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The whole content.
    pub bytes: Arc<[u8]>,
    /// When it was last written, in milliseconds since 1970.
    pub modified_ms: i64,
    /// Why neither approvals nor the user's own hooks in it are believed: a strange owner, others may write it, or
    /// links lead into the workspace.
    pub unsafe_store: Option<String>,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name; of one that is not UTF-8 what shows it, with `\xNN` for what is no text.
    pub name: String,
    /// Its content; `None` where the ending was not asked for.
    pub found: Option<Found>,
}

/// Why something that is there was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A directory, FIFO, socket or device.
    #[error("it is not a regular file")]
    NotRegular,
    /// Made up by the kernel when it is read, which may take for ever and use up what it tells.
    #[error("it is no file but something that the kernel tells, as in /proc")]
    OfKernel,
    /// Larger than the place's limit.
    #[error("it is larger than {} bytes", .0)]
    TooLarge(u64),
    /// The files before it in its folder hold this many bytes already.
    #[error("the files before it in its folder hold more than {} MiB, and no more are read", .0 >> 20)]
    Crowded(u64),
    /// Not UTF-8: no list could show it and no answer name it.
    #[error("its name is not valid UTF-8")]
    Name,
    /// A symbolic link where none may stand.
    #[error("it is reached through a symlink")]
    Link,
    /// A link that leads out of where it must stay.
    #[error("it leads out of the project")]
    Escapes,
    /// It changed while it was read, several times over.
    #[error("it keeps changing while it is read")]
    Changing,
    /// The system has no room to open it: what stands there is not known.
    #[error("it could not be opened: {0}")]
    NoRoom(String),
    /// The operating system refused.
    #[error("{0}")]
    Io(String),
}

/// Whether `path` is `directory` or lies below it, by components.
pub fn is_inside(path: &Utf8Path, directory: &Utf8Path) -> bool {
    path.starts_with(directory)
}

/// A path made absolute without touching links: `.` and `..` are taken out by name.
pub fn absolute(path: &Utf8Path, current: &Utf8Path) -> Utf8PathBuf {
    let mut whole = Utf8PathBuf::new();
    for component in current.join(path).components() {
        match component {
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir => {
                whole.pop();
            }
            other => whole.push(other),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute_by_name() {
        for (path, current, whole) in [
            ("../x/./y", "/a/b", "/a/x/y"),
            ("/p//q/", "/a", "/p/q"),
            ("../../../x", "/a/b", "/x"),
            ("a/../../b", "/w", "/b"),
            (".", "/w", "/w"),
        ] {
            assert_eq!(absolute(path.into(), current.into()), whole, "{path}");
        }
    }
}
