//! One moment in an agent's life, in the common vocabulary, read from the field's common envelope.

use std::fmt;
use std::str::FromStr;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::{self, JsonError, Object};
use crate::spelling::{self, InputError};
use crate::tool::{Kind, ToolCall};

/// Largest envelope that is read, in bytes: 64 MiB.
pub const MAX_ENVELOPE: usize = 64 << 20;

/// Keys of an envelope that are text in every event that has them.
const TEXTS: [&str; 10] = [
    "prompt",
    "source",
    "trigger",
    "reason",
    "last_assistant_message",
    "agent_id",
    "permission_mode",
    "tool_name",
    "tool_use_id",
    "tool_kind",
];

macro_rules! event_names {
    ($($name:ident),* $(,)?) => {
        /// The events of the common vocabulary.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[allow(missing_docs, reason = "each is named after the moment it stands for")]
        pub enum EventName { $($name),* }

        impl EventName {
            /// Every event, in the order of an agent's life.
            pub const ALL: &[EventName] = &[$(EventName::$name),*];

            /// The name as it stands in an envelope.
            pub fn as_str(self) -> &'static str {
                match self { $(EventName::$name => stringify!($name)),* }
            }
        }
    };
}

event_names!(
    SessionStart,
    SessionEnd,
    UserPromptSubmit,
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    PermissionRequest,
    PreCompact,
    PostCompact,
    Stop,
    StopFailure,
    SubagentStart,
    SubagentStop,
    Notification,
);

impl EventName {
    /// Whether the event asks leave for something that has not happened yet.
    pub fn is_gate(self) -> bool {
        matches!(self, Self::PreToolUse | Self::UserPromptSubmit | Self::PermissionRequest | Self::PreCompact)
    }

    /// Whether a denial of the event means going on.
    pub fn is_stop(self) -> bool {
        matches!(self, Self::Stop | Self::SubagentStop)
    }

    /// Whether the event tells of a tool call.
    pub fn is_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolUse | Self::PostToolUse | Self::PostToolUseFailure | Self::PermissionRequest
        )
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EventName {
    type Err = EventError;

    fn from_str(name: &str) -> Result<Self, EventError> {
        Self::ALL.iter().copied().find(|event| event.as_str() == name).ok_or_else(|| {
            let near = Self::ALL.iter().copied().find(|event| event.as_str().eq_ignore_ascii_case(name));
            EventError::UnknownEvent { name: name.to_owned(), near }
        })
    }
}

/// Why an envelope could not be read as an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// Larger than [`MAX_ENVELOPE`].
    #[error("the envelope is larger than {} MiB", MAX_ENVELOPE >> 20)]
    TooLarge,
    /// Not one JSON object.
    #[error("the envelope is not one JSON object: {0}")]
    Json(#[from] JsonError),
    /// No event is named, neither in the envelope nor beside it.
    #[error("no event is named: the envelope has no `hook_event_name`")]
    NoEvent,
    /// A name that is not in the vocabulary.
    #[error("unknown event {}{}", crate::text::quote(name), near_hint(*near))]
    UnknownEvent {
        /// As it was given.
        name: String,
        /// The event that was probably meant.
        near: Option<EventName>,
    },
    /// The envelope names another event than the caller.
    #[error("the envelope is of {envelope}, but {asked} was asked for")]
    OtherEvent {
        /// What the envelope says.
        envelope: EventName,
        /// What the caller said.
        asked: EventName,
    },
    /// A field of the wrong type.
    #[error("`{field}` must be {expected}, not {found}")]
    WrongType {
        /// The field's name.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A field that this event cannot do without.
    #[error("{event} needs `{field}`")]
    Missing {
        /// The event.
        event: EventName,
        /// The field's name.
        field: &'static str,
    },
    /// A tool's input that cannot be judged.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A tool kind that is not in the vocabulary.
    #[error("unknown `tool_kind` {}", crate::text::quote(.0))]
    UnknownKind(String),
}

fn near_hint(near: Option<EventName>) -> String {
    near.map(|event| format!(" (did you mean {event}?)")).unwrap_or_default()
}

/// One moment in an agent's life.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Which moment.
    pub name: EventName,
    /// The session, as the host names it; never empty.
    pub session_id: Option<String>,
    /// The directory the host reports. Of a tool call it is the model's choice.
    pub cwd: Option<Utf8PathBuf>,
    /// The call that a tool event tells of.
    pub tool: Option<ToolCall>,
    /// Everything that was sent, as it was sent.
    pub fields: Object,
}

impl Event {
    /// Reads an envelope. `asked` is the event the caller named, if it named one.
    ///
    /// # Errors
    /// Whatever keeps the envelope from being judged; see [`EventError`].
    pub fn read(bytes: &[u8], asked: Option<EventName>) -> Result<Self, EventError> {
        if bytes.len() > MAX_ENVELOPE {
            return Err(EventError::TooLarge);
        }
        Self::from_fields(json::parse_object(bytes)?, asked)
    }

    /// As [`Event::read`], of fields that were read already.
    ///
    /// # Errors
    /// As [`Event::read`].
    pub fn from_fields(fields: Object, asked: Option<EventName>) -> Result<Self, EventError> {
        let named = string(&fields, "hook_event_name")?.map(EventName::from_str).transpose()?;
        let name = match (named, asked) {
            (Some(envelope), Some(asked)) if envelope != asked => {
                return Err(EventError::OtherEvent { envelope, asked });
            }
            (Some(name), _) | (None, Some(name)) => name,
            (None, None) => return Err(EventError::NoEvent),
        };
        let session_id = string(&fields, "session_id")?.filter(|id| !id.is_empty()).map(str::to_owned);
        let cwd = string(&fields, "cwd")?.filter(|cwd| !cwd.is_empty()).map(Utf8PathBuf::from);
        // Checked here, once for all who read or hand them on, whatever the event.
        for field in TEXTS {
            string(&fields, field)?;
        }
        match name {
            EventName::PreCompact => drop(string(&fields, "custom_instructions")?),
            EventName::PostCompact => drop(string(&fields, "summary")?),
            EventName::Stop | EventName::SubagentStop => {
                string(&fields, "unit")?;
                integer(&fields, "turns_left")?;
            }
            _ => {}
        }
        boolean(&fields, "stop_hook_active")?;
        let tool = if name.is_tool() { Some(tool_call(name, &fields)?) } else { None };
        Ok(Self { name, session_id, cwd, tool, fields })
    }

    /// A field's text; `None` where it is absent or null.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field).and_then(Value::as_str)
    }

    /// The subagent whose event this is, by its host's name, empty where it has none; `None` for the session's own agent.
    pub fn subagent(&self) -> Option<&str> {
        let is_subagents = matches!(self.name, EventName::SubagentStart | EventName::SubagentStop);
        self.text("agent_id").filter(|id| !id.is_empty()).or_else(|| is_subagents.then_some(""))
    }

    /// A field's truth; `None` where it is absent or null.
    pub fn flag(&self, field: &str) -> Option<bool> {
        self.fields.get(field).and_then(Value::as_bool)
    }

    /// A field's whole number; `None` where it is absent, null or not one.
    pub fn integer(&self, field: &str) -> Option<i64> {
        self.fields.get(field).and_then(Value::as_i64)
    }

    /// The same event with another tool input, as a second look judges it.
    #[must_use]
    pub fn with_input(&self, input: Object) -> Self {
        let mut event = self.clone();
        event.tool = event.tool.map(|tool| tool.with_input(input));
        event
    }
}

fn tool_call(event: EventName, fields: &Object) -> Result<ToolCall, EventError> {
    let name = string(fields, "tool_name")?
        .filter(|name| !name.is_empty())
        .ok_or(EventError::Missing { event, field: "tool_name" })?;
    let input = match fields.get("tool_input") {
        None | Some(Value::Null) => None,
        Some(Value::Object(input)) => Some(input.clone()),
        Some(other) => {
            return Err(EventError::WrongType {
                field: "tool_input",
                expected: "an object",
                found: json::kind_of(other),
            });
        }
    };
    let kind = match string(fields, "tool_kind")? {
        Some(word) => word.parse::<Kind>().map_err(|()| EventError::UnknownKind(word.to_owned()))?,
        None => Kind::of(name, input.as_ref()),
    };
    if let Some(input) = &input {
        spelling::check_keys(kind, input)?;
        if event.is_gate() {
            spelling::check_texts(kind, input)?;
        }
    }
    let call_id = string(fields, "tool_use_id")?.map(str::to_owned);
    Ok(ToolCall { name: name.to_owned(), kind, input, call_id })
}

fn string<'a>(fields: &'a Object, field: &'static str) -> Result<Option<&'a str>, EventError> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => {
            Err(EventError::WrongType { field, expected: "a string", found: json::kind_of(other) })
        }
    }
}

fn integer(fields: &Object, field: &'static str) -> Result<Option<i64>, EventError> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => match number.as_i64() {
            Some(integer) => Ok(Some(integer)),
            None => Err(EventError::WrongType { field, expected: "a whole number", found: "another number" }),
        },
        Some(other) => {
            Err(EventError::WrongType { field, expected: "a whole number", found: json::kind_of(other) })
        }
    }
}

fn boolean(fields: &Object, field: &'static str) -> Result<Option<bool>, EventError> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(other) => {
            Err(EventError::WrongType { field, expected: "true or false", found: json::kind_of(other) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Event, EventError> {
        Event::read(text.as_bytes(), None)
    }

    #[test]
    fn a_tool_event_is_read_whole() {
        let event = read(
            r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"exec_command","tool_input":{"cmd":"ls"},"x":1}"#,
        )
        .unwrap();
        let tool = event.tool.as_ref().unwrap();
        assert_eq!(
            (event.name, tool.kind, event.session_id.as_deref()),
            (EventName::PreToolUse, Kind::Shell, Some("s"))
        );
        assert_eq!(event.fields["x"], 1);
    }

    #[test]
    fn what_cannot_be_judged_says_why() {
        let of = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(of("{}"), "no event is named: the envelope has no `hook_event_name`");
        assert_eq!(
            of(r#"{"hook_event_name":"pretooluse"}"#),
            "unknown event \"pretooluse\" (did you mean PreToolUse?)"
        );
        assert_eq!(of(r#"{"hook_event_name":"PreToolUse"}"#), "PreToolUse needs `tool_name`");
        assert_eq!(
            of(r#"{"hook_event_name":"Stop","session_id":5}"#),
            "`session_id` must be a string, not a number"
        );
        for field in TEXTS {
            for value in ["5", "true", "[\"plan\"]", "{}"] {
                let told = of(&format!(r#"{{"hook_event_name":"Notification","{field}":{value}}}"#));
                assert!(told.starts_with(&format!("`{field}` must be a string, not ")), "{told}");
            }
        }
        assert_eq!(
            of(r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":[]}"#),
            "`tool_input` must be an object, not an array"
        );
        assert_eq!(
            Event::read(br#"{"hook_event_name":"Stop"}"#, Some(EventName::SessionEnd))
                .unwrap_err()
                .to_string(),
            "the envelope is of Stop, but SessionEnd was asked for"
        );
    }
}
