//! Sources of definitions, whether they may run, and what a person answers about them.

use std::fmt;
use std::sync::Arc;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use super::Name;

/// One source of definitions: a file, or a section of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Whose.
    pub dialect: Name,
    /// What sort of source, in the dialect's own word.
    pub kind: &'static str,
    /// Where it was found: absolute, links not resolved; with a `#section` where it is one of several in a file.
    pub path: String,
    /// Whether it may run.
    pub standing: Standing,
    /// Lower-case hex SHA-256 of what is approved; `None` where there is no content.
    pub hash: Option<String>,
    /// What a person reads before approving.
    pub content: Arc<[u8]>,
    /// Its definitions.
    pub hooks: Vec<Hook>,
    /// Whether a person's approval is needed at all.
    pub needs_approval: bool,
}

/// One definition, as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    /// Its place in its source, from 0.
    pub index: usize,
    /// Its own name.
    pub name: Option<String>,
    /// The event or events, with commas between.
    pub event: String,
    /// The matcher as written.
    pub matcher: Option<String>,
    /// The command as written.
    pub command: String,
    /// Seconds.
    pub timeout: f64,
    /// Why it cannot run.
    pub invalid: Option<String>,
}

/// Whether a source may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It runs.
    Trusted,
    /// Nobody has answered yet.
    Untrusted,
    /// It was approved with other content.
    Changed,
    /// It was declined with this content.
    Declined,
    /// It was declined with other content.
    DeclinedChanged,
}

impl Standing {
    /// The word in JSON and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Changed => "changed",
            Self::Declined => "declined",
            Self::DeclinedChanged => "declined-changed",
        }
    }
}

/// Something wrong with a definition or a store, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file.
    pub path: String,
    /// From 1; `None` where the whole file is meant.
    pub line: Option<usize>,
    /// From 1, in bytes.
    pub column: Option<usize>,
    /// What is wrong and what becomes of it. Untrusted text in it is escaped.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::text::line(&self.path))?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A person's answer about a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It may run with the content that was shown.
    Approve,
    /// It must not run, and is not asked about again until it changes.
    Decline,
    /// Earlier answers are taken back.
    Forget,
}

/// Where a dialect keeps its approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// The file.
    pub path: Utf8PathBuf,
    /// A file that is locked while the store changes; `None` if the dialect locks nothing.
    pub lock: Option<Utf8PathBuf>,
    /// Largest content that is taken, in bytes.
    pub limit: u64,
}

/// What an answer does to a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChange {
    /// Nothing.
    Keep,
    /// The store's whole new content.
    Write(Vec<u8>),
    /// The store is removed.
    Remove,
}

/// Milliseconds since 1970, UTC: handed in, for the core has no clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);
