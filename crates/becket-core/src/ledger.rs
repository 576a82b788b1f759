//! Becket's own record of answers: what the three systems' stores cannot hold. It never grants for them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::dialect::{Answer, Name, Timestamp};

/// Version of the file's form. A newer one is not written over.
pub const VERSION: u32 = 1;

/// Every answer that Becket remembers, by dialect and path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// [`VERSION`].
    pub version: u32,
    /// Why the ledger could not be read: then nobody knows what was answered.
    #[serde(skip)]
    pub unreadable: Option<String>,
    /// Key: dialect, a space, path.
    pub entries: BTreeMap<String, Entry>,
}

/// The last answer about one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// What was answered.
    pub answer: Answer,
    /// Hash of what was answered about, as its dialect counts it.
    pub hash: String,
    /// SHA-256 of the content that a person read, where that is not `hash`: it is kept under this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// When.
    pub at: Timestamp,
    /// The dialect's store may still hold the approval that this decline takes back, for whoever declined was killed in
    /// between. Until the next answer that approval does not count, however new the store is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
}

impl Ledger {
    /// The last answer about a source.
    pub fn entry(&self, dialect: Name, path: &str) -> Option<&Entry> {
        self.entries.get(&key(dialect, path))
    }

    /// Records an answer, or takes the last one back.
    pub fn record(&mut self, dialect: Name, path: &str, answer: Answer, hash: &str, at: Timestamp) {
        self.version = VERSION;
        match answer {
            Answer::Forget => {
                self.entries.remove(&key(dialect, path));
            }
            Answer::Approve | Answer::Decline => {
                let entry = Entry { answer, hash: hash.to_owned(), content: None, at, unfinished: false };
                self.entries.insert(key(dialect, path), entry);
            }
        }
    }

    /// Notes whether the dialect's store has yet to follow the last answer about a source.
    pub fn note_unfinished(&mut self, dialect: Name, path: &str, unfinished: bool) {
        if let Some(entry) = self.entries.get_mut(&key(dialect, path)) {
            entry.unfinished = unfinished;
        }
    }

    /// Notes under which name the content is kept that was answered about last.
    pub fn note_content(&mut self, dialect: Name, path: &str, content: String) {
        if let Some(entry) = self.entries.get_mut(&key(dialect, path)) {
            entry.content = (content != entry.hash).then_some(content);
        }
    }

    /// Reads a ledger's file.
    ///
    /// # Errors
    /// Not a ledger, or a newer form of one.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let ledger: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if ledger.version > VERSION {
            return Err(format!("it was written by a newer Becket (form {})", ledger.version));
        }
        Ok(ledger)
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

fn key(dialect: Name, path: &str) -> String {
    format!("{dialect} {path}")
}
