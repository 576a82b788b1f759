//! Firing inside a hook: a hook that itself runs an agent's command fires nothing.
//!
//! One file in `BECKET_HOME` says who runs hooks: not by its content, it has none, but by which of its bytes are locked. A
//! process locks a byte whose place names it for as long as hooks of its run, so that whatever ends it takes the mark
//! back. Every run is told its own place in its environment. It is believed only if the file is ours, that byte locked,
//! and the process it names an ancestor; an invented one changes nothing. A hook that cleans its environment is still
//! found: the program does nothing beside running hooks, so whatever has a running one above it is inside a hook.
//!
//! (A file for each run, made and removed, took a tenth of the time that one hook takes.)

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;

use camino::{Utf8Path, Utf8PathBuf};

use crate::files::{self, FileError};
use crate::home::Home;

/// The variable that holds a run's mark.
pub(crate) const VARIABLE: &str = "BECKET_EVENT";

/// The file in `BECKET_HOME` whose locks are the marks.
pub(crate) const MARKS: &str = "running.lock";

/// Longer than what the system tells of a process, in bytes.
const STAT: usize = 1024;

/// How the place of a mark is made up, from the highest of its bits on: the process's number (22), when it started (24),
/// whether it does nothing beside firing events (1), and which of its runs it is (15).
const NUMBER_BITS: u32 = 22;
const STARTED_BITS: u32 = 24;
const RUN_BITS: u32 = 15;

/// Most tries to find a byte that no other run of this process has.
const TRIES: usize = 16;

/// A living run's mark. Dropping it takes it back.
#[derive(Debug)]
pub(crate) struct Mark {
    path: Utf8PathBuf,
    at: u64,
    _locked: File,
}

impl Mark {
    /// `is_program`: this process does nothing beside firing events. `None` where it cannot be marked.
    ///
    /// # Errors
    /// The file cannot be had.
    pub(crate) fn set(home: &Home, is_program: bool) -> Result<Option<Self>, FileError> {
        let path = home.file(MARKS);
        let file = files::open_marks(&path, true)?;
        let Some(places) = Process::of(std::process::id()).and_then(|process| process.places(is_program))
        else {
            return Ok(None);
        };
        for _ in 0..TRIES {
            let at = places.start + random() % (1 << RUN_BITS);
            if files::lock_byte(&file, at).map_err(|error| FileError::new(&path, error))? {
                return Ok(Some(Self { path, at, _locked: file }));
            }
        }
        Ok(None)
    }

    pub(crate) fn value(&self) -> String {
        format!("{}#{}", self.path, self.at)
    }
}

/// Whether this process runs inside a hook of a living Becket. Marks lie in `home`.
pub(crate) fn is_inside_a_hook(environment: &[(OsString, OsString)], home: &Utf8Path) -> bool {
    let mark = environment.iter().find(|(name, _)| name == VARIABLE).and_then(|(_, value)| value.to_str());
    if mark.is_some_and(is_living) {
        return true;
    }
    let Ok(file) = files::open_marks(&home.join(MARKS), false) else { return false };
    // Mostly nobody runs any: then nobody's ancestors are looked at.
    files::is_locked(&file, 0..1 << 62)
        && ancestors()
            .any(|process| process.places(true).is_some_and(|places| files::is_locked(&file, places)))
}

/// Whether the mark of a run belongs to a living one above this process.
fn is_living(mark: &str) -> bool {
    let Some((path, at)) = mark.rsplit_once('#') else { return false };
    let Ok(at) = at.parse::<u64>() else { return false };
    let Ok(file) = files::open_marks(Utf8Path::new(path), false) else { return false };
    let is_its = |process: &Process| {
        [true, false].into_iter().any(|kind| process.places(kind).is_some_and(|places| places.contains(&at)))
    };
    at < 1 << 62 && files::is_locked(&file, at..at + 1) && ancestors().any(|process| is_its(&process))
}

/// A process, told from a later one of the same number by when it was started.
struct Process {
    id: u32,
    parent: u32,
    started: u64,
}

impl Process {
    /// Where its marks may stand. `None` for a number that no system gives.
    fn places(&self, is_program: bool) -> Option<Range<u64>> {
        let number = Some(u64::from(self.id)).filter(|id| *id < 1 << NUMBER_BITS)?;
        let started = self.started % (1 << STARTED_BITS);
        let process = (number << STARTED_BITS | started) << 1 | u64::from(is_program);
        Some(process << RUN_BITS..(process + 1) << RUN_BITS)
    }

    fn of(id: u32) -> Option<Self> {
        let mut stat = String::with_capacity(STAT);
        File::open(format!("/proc/{id}/stat")).ok()?.read_to_string(&mut stat).ok()?;
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
    format!("{:016x}{:016x}", random(), random())
}

fn random() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_processes_or_kinds_share_a_place() {
        let of = |id, started| Process { id, parent: 1, started };
        let all = [of(1, 7), of(2, 7), of(2, 8), of((1 << NUMBER_BITS) - 1, (1 << STARTED_BITS) - 1)];
        let mut places: Vec<Range<u64>> =
            all.iter().flat_map(|process| [false, true].map(|kind| process.places(kind).unwrap())).collect();
        places.sort_by_key(|range| range.start);
        assert!(places.windows(2).all(|pair| pair[0].end <= pair[1].start), "{places:?}");
        assert!(places.iter().all(|range| range.end <= 1 << 62));
        assert!(of(1 << NUMBER_BITS, 0).places(true).is_none());
    }
}
