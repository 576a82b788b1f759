//! What the model says.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The turns of a model. When they are used up it says [`Script::then`], however often it is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// One for each request that offers tools.
    pub turns: Vec<Turn>,
    /// What is said after the last of them.
    #[serde(default = "done")]
    pub then: String,
}

/// One answer of the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// Text.
    pub say: Option<String>,
    /// Tools to call, after the text.
    pub calls: Vec<Call>,
    /// Milliseconds to wait before answering.
    pub wait_ms: u64,
    /// Answer with this HTTP status and `say` as its message instead.
    pub status: Option<u16>,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool's name, as the agent offers it.
    pub name: String,
    /// Its arguments: an object, or a string for a tool that takes free text.
    pub arguments: Value,
}

fn done() -> String {
    "all done".to_owned()
}

impl Script {
    /// These turns, then "all done".
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: turns.into_iter().collect(), then: done() }
    }

    /// The turn of one number, from 0.
    pub(crate) fn turn(&self, number: usize) -> Turn {
        self.turns.get(number).cloned().unwrap_or_else(|| Turn::say(self.then.as_str()))
    }
}

impl Turn {
    /// A turn that only says something.
    pub fn say(text: impl Into<String>) -> Self {
        Self { say: Some(text.into()), ..Self::default() }
    }

    /// A turn that calls one tool.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// The same turn with one more call, beside the others.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, arguments: Value) -> Self {
        self.calls.push(Call { name: name.into(), arguments });
        self
    }

    /// A turn that fails with an HTTP status.
    pub fn fail(status: u16, message: impl Into<String>) -> Self {
        Self { say: Some(message.into()), status: Some(status), ..Self::default() }
    }
}
