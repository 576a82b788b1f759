//! What one dialect says of an event.

use serde_json::Value;

use crate::json::Object;
use crate::outcome::{Decision, Run, ToolResult};

/// What one dialect said of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Its decision; [`Decision::Allow`] where it has no objection.
    pub decision: Decision,
    /// Why.
    pub reason: Option<String>,
    /// The tool's whole new input, in the host's keys.
    pub updated_input: Option<Object>,
    /// What becomes of the tool's result.
    pub result: Option<ToolResult>,
    /// For the model.
    pub additional_context: Vec<String>,
    /// For the person, every time.
    pub messages: Vec<String>,
    /// For the person, once a session.
    pub notices: Vec<Notice>,
    /// What to go on with, where a stop is denied.
    pub continue_with: Option<String>,
    /// How often it may deny a stop.
    pub bound: Option<Bound>,
    /// What a person is told when `bound` lets the end come, in the dialect's own words.
    pub at_bound: Option<String>,
    /// What the session holds fast for it from now on; null lets it go, at a stop only if the turn ends with it.
    pub keep: Option<Value>,
    /// Its runs, skipped ones too.
    pub runs: Vec<Run>,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            decision: Decision::Allow,
            reason: None,
            updated_input: None,
            result: None,
            additional_context: Vec::new(),
            messages: Vec::new(),
            notices: Vec::new(),
            continue_with: None,
            bound: None,
            at_bound: None,
            keep: None,
            runs: Vec::new(),
        }
    }
}

/// Something a person is told once a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it is about: the same key is not told twice.
    pub key: String,
    /// What is told.
    pub text: String,
}

/// How often one dialect may deny a stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// So many times in one unit.
    pub most: u32,
    /// The unit that is counted in; `None` for a turn.
    pub unit: Option<String>,
    /// What happens then.
    pub then: Then,
}

/// What happens when a bound is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The denial is dropped, with a message.
    LetEnd,
    /// The task has failed.
    Halt,
}
