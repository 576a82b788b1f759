//! The record of runs and decisions: one line of JSON for each event that ran, skipped or decided something.

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::dialect::{Answer, Name, Timestamp};
use crate::outcome::Outcome;
use crate::redact;

/// Version of the form of a line.
pub const VERSION: u32 = 1;

/// One line of the journal. [`Record::line`] is the only way in which one is written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Record {
    /// [`VERSION`].
    pub v: u32,
    /// When it was written.
    pub at: Timestamp,
    /// What happened.
    pub what: What,
}

/// What a line tells of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// An event and what came of it.
    Fired {
        /// The session, as its host names it.
        session: Option<String>,
        /// Where.
        workspace: Utf8PathBuf,
        /// The tool's name as the host gave it.
        tool: Option<String>,
        /// What came of it.
        outcome: Box<Outcome>,
    },
    /// A dialect's own record of a run.
    Hook {
        /// Whose.
        dialect: Name,
        /// The session, as its host names it.
        session: Option<String>,
        /// In the dialect's own form.
        #[serde(deserialize_with = "crate::stored::value")]
        record: serde_json::Value,
    },
    /// A person's answer about a source.
    Answered {
        /// The source's dialect.
        dialect: Name,
        /// Its path.
        path: String,
        /// What was answered.
        answer: Answer,
        /// The content it was answered about.
        hash: Option<String>,
    },
}

impl Record {
    /// The record as a line, its newline included, with everything masked in it that looks like a secret.
    pub fn line(mut self) -> String {
        #[derive(Serialize)]
        struct Line {
            v: u32,
            at: Timestamp,
            what: What,
        }
        redact::mask_record(&mut self.what);
        let Self { v, at, what } = self;
        let mut line = serde_json::to_string(&Line { v, at, what }).unwrap_or_default();
        line.push('\n');
        line
    }

    /// Reads a line.
    ///
    /// # Errors
    /// Not a record, or one of a newer form.
    pub fn parse(line: &str) -> Result<Self, String> {
        let record: Self = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if record.v > VERSION {
            return Err(format!("it was written by a newer Becket (form {})", record.v));
        }
        Ok(record)
    }
}
