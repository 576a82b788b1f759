//! The journal, held against what events were told.
//!
//! One's own guard names the event in everything that it says ([`Stage::guard`]), so that an outcome can be found again in
//! the journal, whoever was told of it in whatever words.

use std::collections::{BTreeSet, HashMap};
use std::fs;

use becket_e2e::Error;
use serde_json::Value;

use crate::stage::Stage;

/// How an event's name begins.
const NAME: &str = "event-";

/// What the journal holds.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// In how many records an event is named.
    named: HashMap<u64, u64>,
    /// Records of events, with their sessions.
    pub(crate) fired: Vec<Value>,
    /// Lines that cannot be read.
    pub(crate) torn: Vec<String>,
}

impl Journal {
    /// Reads it, and the one that was put aside last.
    pub(crate) fn read(stage: &Stage) -> Result<Self, Error> {
        let mut journal = Self::default();
        for name in ["journal.1.jsonl", "journal.jsonl"] {
            let path = stage.state().join(name);
            let bytes = if path.exists() { fs::read(&path)? } else { Vec::new() };
            // A line that is not closed is one that somebody is torn off at.
            for line in String::from_utf8_lossy(&bytes).split_inclusive('\n').filter(|line| *line != "\n") {
                journal.add(line);
            }
        }
        Ok(journal)
    }

    fn add(&mut self, line: &str) {
        let Some(Ok(mut record)) = line.strip_suffix('\n').map(serde_json::from_str::<Value>) else {
            self.torn.push(line.to_owned());
            return;
        };
        let fired = record["what"]["fired"].take();
        if fired.is_null() {
            return;
        }
        for event in names(&fired["outcome"].to_string()) {
            *self.named.entry(event).or_default() += 1;
        }
        self.fired.push(fired);
    }

    /// How many records name this event.
    pub(crate) fn count(&self, event: u64) -> u64 {
        self.named.get(&event).copied().unwrap_or(0)
    }
}

/// The events that a text names.
pub(crate) fn names(text: &str) -> BTreeSet<u64> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices(NAME) {
        let digits: String = text[at + NAME.len()..].chars().take_while(char::is_ascii_digit).collect();
        names.extend(digits.parse::<u64>());
    }
    names
}
