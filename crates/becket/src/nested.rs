//! Firing inside a hook: a hook that itself runs an agent's command fires nothing.
//!
//! Every run is given a mark in its environment: the path of a file that is locked as long as hooks of the marking
//! process run, and names that process. A mark is believed only if the file is ours, locked, and its process an
//! ancestor; an invented one changes nothing. A hook that cleans its environment is still found: the program does
//! nothing beside running hooks, so whatever has a running one above it is inside a hook.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;

use camino::{Utf8Path, Utf8PathBuf};

use crate::files::FileError;
use crate::home::Home;

/// The variable that holds the mark.
pub(crate) const VARIABLE: &str = "BECKET_EVENT";

/// The folder of marks in `BECKET_HOME`.
pub(crate) const RUNS: &str = "runs";

/// What a mark says of a process that does nothing beside firing events.
const PROGRAM: &str = "program";

/// A living run's mark. Dropping it takes it back.
#[derive(Debug)]
pub(crate) struct Mark {
    path: Utf8PathBuf,
    _locked: File,
}

impl Mark {
    /// `is_program`: this process does nothing beside firing events.
    pub(crate) fn set(home: &Home, is_program: bool) -> Result<Self, FileError> {
        let name = format!("{}-{}", std::process::id(), random());
        let (path, mut file) = home.run_mark(&name)?;
        let process = Process::of(std::process::id());
        let kind = if is_program { PROGRAM } else { "library" };
        let text =
            process.map(|process| format!("{} {} {kind}\n", process.id, process.started)).unwrap_or_default();
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

/// Whether this process runs inside a hook of a living Becket. Marks lie in `home`.
pub(crate) fn is_inside_a_hook(environment: &[(OsString, OsString)], home: &Utf8Path) -> bool {
    let mark = environment.iter().find(|(name, _)| name == VARIABLE).and_then(|(_, value)| value.to_str());
    if mark.is_some_and(|mark| is_living(Utf8Path::new(mark), false)) {
        return true;
    }
    // Mostly there is none: then nobody's ancestors are looked at.
    let Ok(runs) = home.join(RUNS).read_dir_utf8() else { return false };
    runs.flatten().any(|run| is_living(run.path(), true))
}

/// Whether a mark's file belongs to a living run above this process; `of_program`: only one that does nothing else, and a
/// dead one, which lies in our own folder, is removed.
fn is_living(path: &Utf8Path, of_program: bool) -> bool {
    let Ok(data) = fs::symlink_metadata(path) else { return false };
    let is_ours =
        data.is_file() && data.uid() == rustix::process::geteuid().as_raw() && data.mode() & 0o022 == 0;
    if !is_ours {
        return false;
    }
    let Ok(mut file) = File::open(path) else { return false };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {}
        Ok(()) if of_program => {
            // In our own folder: its Becket was killed. Whoever is just making one finds out that it is gone, for the lock
            // is held until then, and makes another.
            drop(fs::remove_file(path));
            return false;
        }
        _ => return false,
    }
    let mut text = String::new();
    if (&mut file).take(100).read_to_string(&mut text).is_err() {
        return false;
    }
    let mut words = text.split_whitespace().map(str::parse::<u64>);
    let (Some(Ok(id)), Some(Ok(started))) = (words.next(), words.next()) else { return false };
    if of_program && !text.trim_end().ends_with(PROGRAM) {
        return false;
    }
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
