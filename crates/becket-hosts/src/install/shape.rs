//! The shape that an agent's reader wants of the hooks in a file, ours and others'. One wrong piece, whosever it is, may
//! make the agent skip the whole file without a word: then nothing of Becket's guards either.
//!
//! Codex reads with types, as its source shows: what it does not know it passes over, and a known field of another
//! kind ends the reading. Claude Code checks the file against a schema of its own; what that is says its reference.
//! Gemini CLI was seen to run Becket's entries whatever stood beside them, so nothing is said there.

use jsonc_parser::ast::{Array, Object, Value};

use super::edit::{last, range, shown_key};
use super::flaws::MOST;
use crate::Host;

/// What a field must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Flag,
    Number,
    /// From 0, without a fraction.
    Whole,
    List,
    Object,
}

impl Kind {
    fn wanted(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Flag => "true or false",
            Self::Number => "a number",
            Self::Whole => "a whole number from 0",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }

    fn is_kind_of(self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Text, Value::StringLit(_))
            | (Self::Flag, Value::BooleanLit(_))
            | (Self::Number, Value::NumberLit(_))
            | (Self::List, Value::Array(_))
            | (Self::Object, Value::Object(_)) => true,
            (Self::Whole, Value::NumberLit(number)) => number.value.parse::<u64>().is_ok(),
            _ => false,
        }
    }
}

/// One field of a handler.
struct Field {
    key: &'static str,
    kind: Kind,
    is_needed: bool,
    /// Whether `null` is as good as nothing.
    or_null: bool,
}

const fn needed(key: &'static str, kind: Kind) -> Field {
    Field { key, kind, is_needed: true, or_null: false }
}

const fn strict(key: &'static str, kind: Kind) -> Field {
    Field { key, kind, is_needed: false, or_null: false }
}

const fn or_null(key: &'static str, kind: Kind) -> Field {
    Field { key, kind, is_needed: false, or_null: true }
}

/// The types of handlers that an agent knows, each with the fields that it reads.
type Types = &'static [(&'static str, &'static [Field])];

const CLAUDE: Types = &[
    (
        "command",
        &[
            needed("command", Kind::Text),
            strict("args", Kind::List),
            strict("timeout", Kind::Number),
            strict("async", Kind::Flag),
            strict("asyncRewake", Kind::Flag),
            strict("once", Kind::Flag),
            strict("if", Kind::Text),
            strict("shell", Kind::Text),
            strict("statusMessage", Kind::Text),
        ],
    ),
    ("prompt", CLAUDE_PROMPT),
    ("agent", CLAUDE_PROMPT),
    (
        "http",
        &[
            needed("url", Kind::Text),
            strict("headers", Kind::Object),
            strict("allowedEnvVars", Kind::List),
            strict("timeout", Kind::Number),
        ],
    ),
    (
        "mcp_tool",
        &[
            needed("server", Kind::Text),
            needed("tool", Kind::Text),
            strict("input", Kind::Object),
            strict("timeout", Kind::Number),
        ],
    ),
];

const CLAUDE_PROMPT: &[Field] =
    &[needed("prompt", Kind::Text), strict("model", Kind::Text), strict("timeout", Kind::Number)];

const CODEX: Types = &[
    (
        "command",
        &[
            needed("command", Kind::Text),
            or_null("commandWindows", Kind::Text),
            or_null("command_windows", Kind::Text),
            or_null("timeout", Kind::Whole),
            strict("async", Kind::Flag),
            or_null("statusMessage", Kind::Text),
            or_null("additionalContextLimit", Kind::Whole),
        ],
    ),
    (
        "mcp_tool",
        &[
            needed("server", Kind::Text),
            needed("tool", Kind::Text),
            strict("input", Kind::Object),
            or_null("timeout", Kind::Whole),
            or_null("statusMessage", Kind::Text),
        ],
    ),
    ("prompt", &[]),
    ("agent", &[]),
];

/// Events of Claude Code's that its reference names, beside those at which Becket is plugged in.
const CLAUDE_EVENTS: &[&str] = &[
    "ConfigChange",
    "CwdChanged",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "PermissionDenied",
    "PostToolBatch",
    "Setup",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "WorktreeCreate",
    "WorktreeRemove",
];

/// Events of Codex's, beside those at which Becket is plugged in.
const CODEX_EVENTS: &[&str] = &["Interrupt"];

/// What is wrong, each with where in the text it stands, as far as it is named.
#[derive(Default)]
pub(super) struct Wrong {
    pub(super) named: Vec<(usize, String)>,
    pub(super) unnamed: usize,
}

impl Wrong {
    fn add(&mut self, at: usize, what: impl FnOnce() -> String) {
        if self.named.len() < MOST { self.named.push((at, what())) } else { self.unnamed += 1 }
    }

    /// A value that is not of the kind that it must be.
    fn kind(&mut self, value: &Value<'_>, of: &str, wanted: Kind) {
        self.add(range(value).start, || format!("{of} is {}, not {}", name(value), wanted.wanted()));
    }
}

/// What of the hooks in a file, and of what is read together with them, has not the shape that the agent wants.
pub(super) fn wrong(host: Host, root: &Object<'_>) -> Wrong {
    let mut wrong = Wrong::default();
    let types = match host {
        Host::Claude => CLAUDE,
        Host::Codex => CODEX,
        Host::Gemini | Host::Opencode => return wrong,
    };
    if let Some(Value::Object(hooks)) = last(root, "hooks") {
        for event in &hooks.properties {
            let is_read = host == Host::Claude || is_known(host, event.name.as_str());
            if is_read {
                groups(host, types, event.name.as_str(), &event.value, &mut wrong);
            }
        }
    }
    if host == Host::Claude {
        permissions(root, &mut wrong);
    }
    wrong
}

/// The events in a file that Becket does not know of an agent to which that might matter, the first few of them with
/// where it stands, and how many there are. Codex passes over them.
pub(super) fn unknown_events(host: Host, root: &Object<'_>) -> Option<(usize, String, usize)> {
    let Some(Value::Object(hooks)) = last(root, "hooks").filter(|_| host == Host::Claude) else {
        return None;
    };
    let mut unknown = hooks.properties.iter().filter(|event| !is_known(host, event.name.as_str()));
    let first = unknown.next()?;
    Some((range(first).start, shown_key(first.name.as_str()), unknown.count()))
}

fn is_known(host: Host, event: &str) -> bool {
    let others = if host == Host::Claude { CLAUDE_EVENTS } else { CODEX_EVENTS };
    host.rows().iter().any(|row| row.native == event) || others.contains(&event)
}

fn groups(host: Host, types: Types, event: &str, value: &Value<'_>, wrong: &mut Wrong) {
    let event = shown_key(event);
    let Value::Array(groups) = value else {
        return wrong.kind(value, &event, Kind::List);
    };
    for group in &groups.elements {
        let Value::Object(fields) = group else {
            wrong.kind(group, &format!("a group under {event}"), Kind::Object);
            continue;
        };
        match last(fields, "matcher") {
            None | Some(Value::StringLit(_)) => {}
            Some(Value::NullKeyword(_)) if host == Host::Codex => {}
            Some(matcher) => {
                wrong.kind(matcher, &format!("\"matcher\" of a group under {event}"), Kind::Text);
            }
        }
        match last(fields, "hooks") {
            Some(Value::Array(list)) => handlers(host, types, &event, list, wrong),
            Some(other) => wrong.kind(other, &format!("\"hooks\" of a group under {event}"), Kind::List),
            None if host == Host::Codex => {}
            None => wrong.add(range(group).start, || format!("a group under {event} has no list \"hooks\"")),
        }
    }
}

fn handlers(host: Host, types: Types, event: &str, list: &Array<'_>, wrong: &mut Wrong) {
    for handler in &list.elements {
        let Value::Object(fields) = handler else {
            wrong.kind(handler, &format!("an entry under {event}"), Kind::Object);
            continue;
        };
        let at = range(handler).start;
        let kind = match last(fields, "type") {
            Some(Value::StringLit(kind)) => kind.value.as_ref(),
            Some(other) => {
                wrong.kind(other, &format!("\"type\" of an entry under {event}"), Kind::Text);
                continue;
            }
            None => {
                wrong.add(at, || format!("an entry under {event} has no \"type\""));
                continue;
            }
        };
        let Some((kind, known)) = types.iter().find(|known| known.0 == kind) else {
            let kind = shown_key(kind);
            wrong.add(at, || {
                format!("an entry under {event} has the type {kind}, which {} may not know", host.title())
            });
            continue;
        };
        for field in *known {
            match last(fields, field.key) {
                Some(value) if field.kind.is_kind_of(value) => {}
                Some(Value::NullKeyword(_)) if field.or_null => {}
                Some(value) => {
                    wrong.kind(value, &format!("\"{}\" of an entry under {event}", field.key), field.kind);
                }
                None if field.is_needed => wrong.add(at, || {
                    format!("an entry of type \"{kind}\" under {event} has no \"{}\"", field.key)
                }),
                None => {}
            }
        }
    }
}

/// Claude Code checks its permissions by the same schema.
fn permissions(root: &Object<'_>, wrong: &mut Wrong) {
    let Some(value) = last(root, "permissions") else { return };
    let Value::Object(fields) = value else {
        return wrong.kind(value, "\"permissions\"", Kind::Object);
    };
    for key in ["allow", "deny", "ask"] {
        match last(fields, key) {
            None | Some(Value::Array(_)) => {}
            Some(other) => wrong.kind(other, &format!("\"{key}\" of \"permissions\""), Kind::List),
        }
    }
}

fn name(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "text",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}
