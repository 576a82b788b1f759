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

use becket_exec::{ancestors, is_own_proc, program_name};
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

/// Whether this process runs inside a hook of a living Becket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nesting {
    Outside,
    InsideAHook,
    /// Nobody can tell, and why.
    Hidden(&'static str),
}

/// Where this process stands. Marks lie in `home`.
pub(crate) fn nesting(environment: &[(OsString, OsString)], home: &Utf8Path) -> Nesting {
    let mark = environment.iter().find(|(name, _)| name == VARIABLE).and_then(|(_, value)| value.to_str());
    let by_mark = mark.map_or(Nesting::Outside, nesting_in);
    if by_mark != Nesting::Outside {
        return by_mark;
    }
    let Ok(marks) = Marks::open(&home.join(MARKS), false) else { return Nesting::Outside };
    // Mostly nobody runs any: then nobody's ancestors are looked at.
    if !marks.any_lock() {
        return Nesting::Outside;
    }
    let space = space();
    among_ancestors(&marks, |id| marks.any(places(id, space, true), |_| true))
}

/// Whether one of the ancestors for which there is a mark has set it.
fn among_ancestors(marks: &Marks, is_marked: impl Fn(u32) -> bool) -> Nesting {
    if !is_own_proc() {
        return Nesting::Hidden("/proc is missing, or is not that of this space of process numbers");
    }
    let Some(above) = ancestors() else {
        return Nesting::Hidden("the processes above this one come and go while they are looked at");
    };
    let mut nesting = Nesting::Outside;
    for id in above.into_iter().filter(|id| is_marked(*id)) {
        match marks.is_open_in(id) {
            Some(true) => return Nesting::InsideAHook,
            Some(false) => {}
            // Anybody can lock a place that names a stranger, so this may be a hook or a trick.
            None => {
                nesting =
                    Nesting::Hidden("a process above this one seems to run hooks and may not be looked into");
            }
        }
    }
    nesting
}

/// Whether hooks run just now in another space of process numbers, so that nobody can tell from here whether this process
/// is inside one of them.
pub(crate) fn are_hooks_elsewhere(home: &Utf8Path) -> bool {
    let Ok(marks) = Marks::open(&home.join(MARKS), false) else { return false };
    let own = space() % (1 << SPACE_BITS);
    marks.any(marks::PLACES, |at| (at >> (RUN_BITS + 1)) % (1 << SPACE_BITS) != own)
}

/// Whether this process was started, however far above, by a running copy of the same program: for the program, which
/// starts nothing but hooks, that is inside a hook, whatever became of the environment and of the homes it names. Where it
/// may not be told which program another process runs, its name counts; where they come and go so fast that nobody can tell
/// who they are, it counts as being inside.
pub fn is_below_itself() -> bool {
    let program = |process: &str| {
        std::fs::metadata(format!("/proc/{process}/exe")).map(|data| (data.dev(), data.ino()))
    };
    let own = program("self").ok();
    let own_name = program_name(std::process::id());
    let Some(above) = ancestors() else { return true };
    above.into_iter().any(|id| match program(&id.to_string()) {
        Ok(theirs) => Some(theirs) == own,
        Err(_) => program_name(id).is_some_and(|name| name == b"becket" || Some(name) == own_name),
    })
}

/// Whether the mark of a run belongs to a living one above this process.
fn nesting_in(mark: &str) -> Nesting {
    let Some((path, at)) = mark.rsplit_once('#') else { return Nesting::Outside };
    let Some(at) = at.parse::<u64>().ok().filter(|at| marks::PLACES.contains(at)) else {
        return Nesting::Outside;
    };
    let Ok(marks) = Marks::open(Utf8Path::new(path), false) else { return Nesting::Outside };
    if !marks.any(at..at + 1, |_| true) {
        return Nesting::Outside;
    }
    let space = space();
    let is_its = |id: u32| [true, false].into_iter().any(|kind| places(id, space, kind).contains(&at));
    among_ancestors(&marks, is_its)
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
}
