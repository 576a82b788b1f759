//! Firing inside a hook: a hook that itself runs an agent's command fires nothing.
//!
//! One file in `BECKET_HOME` says who runs hooks: not by its content, it has none, but by which of its bytes are locked. A
//! process locks a byte whose place names it for as long as its hooks run, so that whatever ends it takes the mark back. Every
//! run is told its own place in its environment. It is believed only if that byte is locked, and the process it names is an
//! ancestor that holds the file open; an invented one changes nothing. A hook that cleans its environment is still
//! found: the program does nothing beside running hooks, so whatever has a running one above it is inside a hook.
//!
//! (A file for each run, made and removed, took a tenth of the time that one hook takes.)

use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;

use camino::Utf8Path;

use crate::files::FileError;
use crate::home::Home;
use crate::marks::{self, Marks};

/// The variable that holds a run's mark.
pub(crate) const VARIABLE: &str = "BECKET_EVENT";

/// The file in `BECKET_HOME` whose locks are the marks.
pub(crate) const MARKS: &str = "running.lock";

/// How the place of a mark is made up, from the highest of its bits on: the process's number (22), the space in which it
/// has that number (24; a container has one of its own, and may share the home), whether it does nothing beside firing
/// events (1), and which of its runs it is (15).
const NUMBER_BITS: u32 = 22;
const SPACE_BITS: u32 = 24;
const RUN_BITS: u32 = 15;

/// Most tries to find a byte that no other run of this process has.
const TRIES: usize = 16;

/// A living run's mark. Dropping it takes it back.
#[derive(Debug)]
pub(crate) struct Mark {
    marks: Marks,
    at: u64,
}

impl Mark {
    /// `is_program`: this process does nothing beside firing events.
    ///
    /// # Errors
    /// It cannot be set: a hook of this run that fires events will run hooks.
    pub(crate) fn set(home: &Home, is_program: bool) -> Result<Self, FileError> {
        let marks = Marks::open(&home.file(MARKS), true)?;
        let places = places(std::process::id(), space(), is_program);
        for _ in 0..TRIES {
            let at = places.start + random() % (1 << RUN_BITS);
            if marks.set(at)? {
                return Ok(Self { marks, at });
            }
        }
        Err(FileError::new(marks.path(), "somebody else holds a lock on all of it"))
    }

    pub(crate) fn value(&self) -> String {
        format!("{}#{}", self.marks.path(), self.at)
    }
}

/// Whether this process runs inside a hook of a living Becket. Marks lie in `home`.
pub(crate) fn is_inside_a_hook(environment: &[(OsString, OsString)], home: &Utf8Path) -> bool {
    let mark = environment.iter().find(|(name, _)| name == VARIABLE).and_then(|(_, value)| value.to_str());
    if mark.is_some_and(is_living) {
        return true;
    }
    let Ok(marks) = Marks::open(&home.join(MARKS), false) else { return false };
    // Mostly nobody runs any: then nobody's ancestors are looked at.
    marks.any_lock() && {
        let space = space();
        ancestors().any(|id| marks.any(places(id, space, true), |_| true) && marks.is_open_in(id))
    }
}

/// Whether hooks run just now in another space of process numbers, so that nobody can tell from here whether this process
/// is inside one of them.
pub(crate) fn are_hooks_elsewhere(home: &Utf8Path) -> bool {
    let Ok(marks) = Marks::open(&home.join(MARKS), false) else { return false };
    let own = space() % (1 << SPACE_BITS);
    marks.any(marks::PLACES, |at| (at >> (RUN_BITS + 1)) % (1 << SPACE_BITS) != own)
}

/// Whether this process was started, however far above, by a running copy of the same program: for the program, which
/// starts nothing but hooks, that is inside a hook, whatever became of the environment and of the homes it names.
pub fn is_below_itself() -> bool {
    let program = |process: &str| {
        std::fs::metadata(format!("/proc/{process}/exe")).ok().map(|data| (data.dev(), data.ino()))
    };
    program("self").is_some_and(|own| ancestors().any(|id| program(&id.to_string()) == Some(own)))
}

/// Whether the mark of a run belongs to a living one above this process.
fn is_living(mark: &str) -> bool {
    let Some((path, at)) = mark.rsplit_once('#') else { return false };
    let Some(at) = at.parse::<u64>().ok().filter(|at| marks::PLACES.contains(at)) else { return false };
    let Ok(marks) = Marks::open(Utf8Path::new(path), false) else { return false };
    let space = space();
    let is_its = |id: u32| [true, false].into_iter().any(|kind| places(id, space, kind).contains(&at));
    marks.any(at..at + 1, |_| true) && ancestors().any(|id| is_its(id) && marks.is_open_in(id))
}

/// Where a process's marks may stand. (The process lives as long as its locks, so its number is no other's.)
fn places(id: u32, space: u64, is_program: bool) -> Range<u64> {
    let (number, space) = (u64::from(id) % (1 << NUMBER_BITS), space % (1 << SPACE_BITS));
    let process = (((number << SPACE_BITS) | space) << 1) | u64::from(is_program);
    process << RUN_BITS..(process + 1) << RUN_BITS
}

/// The space in which processes here have their numbers.
fn space() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |space| space.ino())
}

/// The numbers of the processes above this one.
fn ancestors() -> impl Iterator<Item = u32> {
    std::iter::successors(parent(std::process::id()), |id| parent(*id))
}

fn parent(id: u32) -> Option<u32> {
    parent_in(&std::fs::read(format!("/proc/{id}/stat")).ok()?)
}

/// The name in parentheses may hold anything, also what is no text; the fields after it are counted from the last one.
fn parent_in(stat: &[u8]) -> Option<u32> {
    let name = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = str::from_utf8(stat.get(name + 1..)?).ok()?;
    fields.split_whitespace().nth(1)?.parse().ok().filter(|id| *id > 0)
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
    fn no_two_processes_spaces_or_kinds_share_a_place() {
        let all = [(1, 7), (2, 7), (2, 8), ((1 << NUMBER_BITS) - 1, (1 << SPACE_BITS) - 1)];
        let mut all: Vec<Range<u64>> =
            all.iter().flat_map(|(id, space)| [false, true].map(|kind| places(*id, *space, kind))).collect();
        all.sort_by_key(|range| range.start);
        assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start), "{all:?}");
        assert!(all.iter().all(|range| range.end <= marks::PLACES.end));
    }

    #[test]
    fn the_nearest_ancestor_is_the_parent() {
        assert_eq!(ancestors().next(), Some(std::os::unix::process::parent_id()));
    }

    #[test]
    fn a_parent_is_found_behind_any_name() {
        for name in [&b"sh"[..], b"\xff\xc3", b") S 1 (", b"a\nb", b""] {
            let stat = [b"5 (", name, b") S 77 5 5 0"].concat();
            assert_eq!(parent_in(&stat), Some(77), "{name:?}");
        }
        assert_eq!((parent_in(b"1 (init) S 0 1"), parent_in(b"")), (None, None));
    }
}
