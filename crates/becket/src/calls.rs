//! One call that is reported twice is judged once: where an agent reads another's settings too, or the person's and
//! the project's, two installed lines report the same call.
//!
//! Whoever comes first holds the lock of the call's record while its hooks run, and leaves the verdict there. Who
//! comes second waits for the lock and repeats the verdict; if there is none, the first has died, and it runs itself.

use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::time::{Duration, Instant};

use becket_core::event::{Event, EventName};
use becket_core::hash;
use becket_core::outcome::{Decision, Outcome};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::files::{self, FileError};
use crate::home::Home;

/// A verdict is repeated for so long after it was given, unless the call ends before: lines that report the same call
/// do so at once, and one that comes later is no second report of it.
const FRESH: Duration = Duration::from_secs(10);

/// Records are removed this long after their verdict.
const AGE: Duration = Duration::from_secs(24 * 3600);

/// Between two looks at a record that somebody else holds.
const PAUSE: Duration = Duration::from_millis(5);

/// How long the other line's verdict is waited for where the host names no deadline.
const PATIENCE: Duration = Duration::from_secs(600);

/// Largest record that is read, in bytes.
const LIMIT: u64 = 16 << 20;

/// Whose turn it is to judge a call.
pub(crate) enum Turn {
    /// Nobody else can report this call, or it cannot be told.
    Alone,
    /// Ours: the verdict is left in the record.
    First(Record),
    /// Somebody else's, and this was the verdict.
    Second(Box<Outcome>),
    /// Somebody else's, and no verdict came in time.
    Stuck,
}

/// A call's record, locked.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
    input: String,
}

/// Version of the form of a record.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Verdict {
    v: u32,
    input: String,
    outcome: Outcome,
}

impl Record {
    /// Leaves the verdict for whoever comes second.
    pub(crate) fn keep(mut self, outcome: &Outcome) {
        let verdict =
            Verdict { v: VERSION, input: std::mem::take(&mut self.input), outcome: outcome.clone() };
        let bytes = serde_json::to_vec(&verdict).unwrap_or_default();
        // Without it the second line judges for itself.
        drop(self.file.write_all(&bytes));
    }
}

impl Home {
    /// The end of a call is the end of its life, whether any hook listens to it or not: what was said of its beginning is
    /// not said again.
    pub(crate) fn end_call(&self, event: &Event, call_id: Option<&str>) {
        let is_end = matches!(event.name, EventName::PostToolUse | EventName::PostToolUseFailure);
        if let (true, Some(call_id), Some(session)) = (is_end, call_id, &event.session_id) {
            let call = hash::of(format!("{session}\0{call_id}").as_bytes());
            drop(fs::remove_file(self.file(&format!("calls/{call}.{}", EventName::PreToolUse))));
        }
    }

    /// Waits for this call's turn.
    pub(crate) fn line_up(&self, event: &Event, call_id: Option<&str>, deadline: Option<Instant>) -> Turn {
        let (Some(call_id), Some(session), Some(tool)) = (call_id, &event.session_id, &event.tool) else {
            return Turn::Alone;
        };
        let Ok(folder) = self.folder("calls") else { return Turn::Alone };
        let call = hash::of(format!("{session}\0{call_id}").as_bytes());
        let path = folder.join(format!("{call}.{}", event.name));
        let said = serde_json::to_string(&tool.input).unwrap_or_default();
        let input = hash::of(format!("{}\0{said}", tool.name).as_bytes());
        let until = deadline.unwrap_or_else(|| Instant::now() + PATIENCE);
        let Some(mut file) = (match self.locked_until(&path, until) {
            Ok(file) => file,
            Err(_) => return Turn::Alone,
        }) else {
            return Turn::Stuck;
        };
        if let Some(verdict) = verdict(&mut file).filter(|verdict| verdict.input == input) {
            return Turn::Second(Box::new(verdict.outcome));
        }
        if file.set_len(0).and_then(|()| file.rewind()).is_err() {
            return Turn::Alone;
        }
        // The beginning of a call ends an earlier one of the same name, and its end is the end of its life.
        let others = [EventName::PreToolUse, EventName::PostToolUse, EventName::PostToolUseFailure];
        for other in others.iter().filter(|other| is_other_end(event.name, **other)) {
            drop(fs::remove_file(folder.join(format!("{call}.{other}"))));
        }
        if call.starts_with('0') {
            forget_old(&folder);
        }
        Turn::First(Record { file, input })
    }

    /// The file, locked and still under its name; `None` if somebody else held it for too long.
    fn locked_until(&self, path: &Utf8Path, until: Instant) -> Result<Option<File>, FileError> {
        let failed = |error: std::io::Error| FileError::new(path, error);
        loop {
            let file = self.open_file(path)?;
            loop {
                match file.try_lock() {
                    Ok(()) => break,
                    Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(PAUSE),
                    Err(TryLockError::WouldBlock) => return Ok(None),
                    Err(TryLockError::Error(error)) => return Err(failed(error)),
                }
            }
            if files::is_under_its_name(&file, path).map_err(failed)? {
                return Ok(Some(file));
            }
        }
    }
}

fn is_other_end(event: EventName, other: EventName) -> bool {
    (event == EventName::PreToolUse) != (other == EventName::PreToolUse)
}

/// What is done where no verdict came: a gate stays shut.
pub(crate) fn stuck(event: EventName) -> Outcome {
    let mut outcome = Outcome::nothing(event);
    let why = "becket: this call is being judged by another line that was installed for it, which did not end in time";
    if event.is_gate() {
        outcome.decision = Decision::Deny;
        outcome.reason = Some(why.to_owned());
    } else {
        outcome.messages.push(why.to_owned());
    }
    outcome
}

fn verdict(file: &mut File) -> Option<Verdict> {
    let data = file.metadata().ok()?;
    let is_fresh = data.modified().ok()?.elapsed().is_ok_and(|age| age < FRESH);
    if data.len() == 0 || data.len() > LIMIT || !is_fresh {
        return None;
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.read_to_end(&mut bytes).ok()?;
    // A torn one was left by a kill, and one of another version cannot be read: both are as good as none. They are of
    // this minute, and nothing is lost with them.
    serde_json::from_slice(&bytes).ok().filter(|verdict: &Verdict| verdict.v == VERSION)
}

fn forget_old(folder: &Utf8PathBuf) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().take(256) {
        let age =
            entry.metadata().and_then(|data| data.modified()).map(|at| at.elapsed().unwrap_or_default());
        if age.is_ok_and(|age| age > AGE) {
            drop(fs::remove_file(entry.path()));
        }
    }
}
