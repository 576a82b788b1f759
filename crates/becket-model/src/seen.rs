//! What the model was asked.

use serde::Serialize;
use serde_json::Value;

use crate::Api;

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Seen {
    /// In which interface.
    pub api: Api,
    /// The path and query.
    pub path: String,
    /// It offered no tools: an agent's question beside its work, such as a title for the session.
    pub aside: bool,
    /// When it had arrived, in milliseconds since the model was started.
    pub at_ms: u64,
    /// The whole body.
    pub body: Value,
}

/// What the model was told about one of its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The call's id; Gemini's interface may have the tool's name only.
    pub call: String,
    /// What came of it.
    pub text: String,
}

impl Seen {
    /// What came of the calls so far, in the order of the conversation.
    pub fn results(&self) -> Vec<Answered> {
        self.api.results(&self.body)
    }

    /// Whether any text of the conversation or of the instructions contains this one. The tools' descriptions do not
    /// count.
    pub fn hears(&self, text: &str) -> bool {
        let Some(body) = self.body.as_object() else { return false };
        body.iter().filter(|(key, _)| key.as_str() != "tools").any(|(_, value)| contains(value, text))
    }

    pub(crate) fn wants_json(&self) -> bool {
        self.body.pointer("/generationConfig/responseMimeType").and_then(Value::as_str)
            == Some("application/json")
    }
}

fn contains(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.contains(text),
        Value::Array(items) => items.iter().any(|item| contains(item, text)),
        Value::Object(fields) => fields.values().any(|value| contains(value, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The text of a content that is a string, a list of parts with `text`, or anything else (as JSON).
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            match ["text", "output", "content"].iter().find_map(|key| fields.get(*key)) {
                Some(inner) => text_of(inner),
                None => content.to_string(),
            }
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => content.to_string(),
    }
}
