//! Firing inside a hook: a hook that itself runs an agent's command fires nothing.
//!
//! Every run is given a mark in its environment: the path of a file that is locked as long as hooks of the marking
//! process run, and names that process. A mark is believed only if the file is ours, locked, and its process an
//! ancestor; an invented one changes nothing.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;

use camino::{Utf8Path, Utf8PathBuf};

use crate::files::FileError;
use crate::home::Home;

/// The variable that holds the mark.
pub(crate) const VARIABLE: &str = "BECKET_EVENT";

/// A living run's mark. Dropping it takes it back.
#[derive(Debug)]
pub(crate) struct Mark {
    path: Utf8PathBuf,
    _locked: File,
}

impl Mark {
    pub(crate) fn set(home: &Home) -> Result<Self, FileError> {
        let name = format!("{}-{}", std::process::id(), random());
        let (path, mut file) = home.run_mark(&name)?;
        let process = Process::of(std::process::id());
        let text = process.map(|process| format!("{} {}\n", process.id, process.started)).unwrap_or_default();
        file.write_all(text.as_bytes()).map_err(|error| FileError::new(&path, error))?;
        Ok(Self { path, _locked: file })
    }

    pub(crate) fn value(&self) -> String {
        self.path.to_string()
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}

/// Whether this process runs inside a hook of a living Becket.
pub(crate) fn is_inside_a_hook(environment: &[(OsString, OsString)]) -> bool {
    let mark = environment.iter().find(|(name, _)| name == VARIABLE).and_then(|(_, value)| value.to_str());
    mark.is_some_and(|mark| is_living(Utf8Path::new(mark)))
}

fn is_living(path: &Utf8Path) -> bool {
    let Ok(data) = fs::symlink_metadata(path) else { return false };
    let is_ours =
        data.is_file() && data.uid() == rustix::process::geteuid().as_raw() && data.mode() & 0o022 == 0;
    if !is_ours {
        return false;
    }
    let Ok(mut file) = File::open(path) else { return false };
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return false;
    }
    let mut text = String::new();
    if (&mut file).take(100).read_to_string(&mut text).is_err() {
        return false;
    }
    let mut words = text.split_whitespace().map(str::parse::<u64>);
    let (Some(Ok(id)), Some(Ok(started))) = (words.next(), words.next()) else { return false };
    ancestors().any(|process| u64::from(process.id) == id && process.started == started)
}

/// A process, told from a later one of the same number by when it was started.
struct Process {
    id: u32,
    parent: u32,
    started: u64,
}

impl Process {
    fn of(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name in parentheses may hold anything; the fields after it are counted from the last one.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Self { id, parent: fields.get(1)?.parse().ok()?, started: fields.get(19)?.parse().ok()? })
    }
}

fn ancestors() -> impl Iterator<Item = Process> {
    let mut next = Process::of(std::process::id()).map(|process| process.parent);
    std::iter::from_fn(move || {
        let process = Process::of(next.filter(|id| *id > 0)?)?;
        next = Some(process.parent);
        Some(process)
    })
}

/// An id for one run: 32 hex digits, never the same twice.
pub(crate) fn fresh_id() -> String {
    [random(), random()].concat()
}

fn random() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    format!("{:016x}", RandomState::new().hash_one(0))
}
