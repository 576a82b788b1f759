//! What an agent sent, as an event in the common vocabulary; or why it cannot be judged, and how to say so.

use becket_core::dialect::Name;
use becket_core::event::{Event, EventName, MAX_ENVELOPE};
use becket_core::json::{self, Object};
use becket_core::spelling::View;
use becket_core::text;
use becket_core::tool::{Kind, ToolCall};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::answer::{self, Words};
use crate::{Host, codex, gemini, opencode};

/// What stands beside what the agent sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// The event that the installed line stands under.
    pub event: Option<EventName>,
    /// The value of [`Host::project_variable`].
    pub project: Option<&'a str>,
}

/// What was sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// An event.
    Event(Box<Decoded>),
    /// Something that has no counterpart and asks nothing.
    Nothing,
}

/// An event of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The event.
    pub event: Event,
    /// Where the session's workspace is looked for: what the host calls the project, else where the event was if that
    /// was not the model's choice.
    pub start: Option<Utf8PathBuf>,
    /// The host's own name for this one call, where it never gives it to another.
    pub call_id: Option<String>,
    /// The host will never report the end of this call.
    pub is_unreported: bool,
}

/// Why something cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct DecodeError {
    why: String,
    answers: Answers,
}

/// To whom the refusal is said.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answers {
    /// A known host, about an event if that is known.
    To(Host, Option<EventName>),
    /// An unknown agent that asks nothing here.
    Nobody,
    /// An unknown agent that may be asking.
    Anybody,
}

impl DecodeError {
    fn new(host: Host, event: Option<EventName>, why: impl Into<String>) -> Self {
        Self { why: why.into(), answers: Answers::To(host, event) }
    }

    /// The refusal: a denial wherever the agent may be asking for leave.
    pub fn words(&self) -> Words {
        match self.answers {
            Answers::To(host, event) => answer::refuse(host, event, &self.why),
            Answers::Nobody => answer::told(&self.why, 0),
            Answers::Anybody => answer::told(&self.why, 2),
        }
    }
}

/// Reads what `host` sent.
///
/// # Errors
/// Whatever keeps it from being judged: it is not one JSON object, another agent's, or of a version that has other
/// fields than the one this was written for.
pub fn decode(host: Host, bytes: &[u8], beside: Beside<'_>) -> Result<Heard, DecodeError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let fail = |why: String| DecodeError::new(host, beside.event, why);
    if bytes.len() > MAX_ENVELOPE {
        return Err(fail(format!("what {} sent is larger than {} MiB", host.title(), MAX_ENVELOPE >> 20)));
    }
    let fields = json::parse_object(bytes)
        .map_err(|error| fail(format!("what {} sent is not one JSON object: {error}", host.title())))?;
    if let Some(error) = foreign(host, &fields, beside.event) {
        return Err(error);
    }
    let read = match host {
        Host::Opencode => opencode::read(&fields)
            .map_err(|why| renamed(host, beside.event, &why))?
            .map(|(event, fields)| Fields { event, fields }),
        Host::Gemini => native(host, &fields, beside.event)?.map(|event| gemini_fields(event, fields)),
        Host::Claude | Host::Codex => {
            let event = native(host, &fields, beside.event)?;
            event.map(|event| Fields { event, fields })
        }
    };
    // At a gate's line somebody waits for leave, whatever the event calls itself.
    if let Some(line) = beside.event.filter(|line| line.is_gate())
        && read.as_ref().map(|read| read.event) != Some(line)
    {
        let event = read.map_or("one without a counterpart", |read| read.event.as_str());
        let what = format!("its event is {event}, under the line of {line}");
        return Err(renamed(host, Some(line), &what));
    }
    let Some(read) = read else { return Ok(Heard::Nothing) };
    judge(host, read, beside.project).map(|decoded| Heard::Event(Box::new(decoded)))
}

/// Fields in the common vocabulary.
struct Fields {
    event: EventName,
    fields: Object,
}

fn renamed(host: Host, event: Option<EventName>, what: &str) -> DecodeError {
    let verified = host.verified();
    let why = format!(
        "this is not what {} {} sends: {what}; nothing can be judged, see `becket doctor`",
        host.title(),
        verified.version
    );
    DecodeError::new(host, event, why)
}

/// The event under the host's own name for it; `None` for one without a counterpart.
fn native(host: Host, fields: &Object, beside: Option<EventName>) -> Result<Option<EventName>, DecodeError> {
    let name = match fields.get("hook_event_name") {
        Some(Value::String(name)) if !name.is_empty() => name,
        None => return Err(renamed(host, beside, "it has no `hook_event_name`")),
        Some(_) => return Err(renamed(host, beside, "its `hook_event_name` is not a name")),
    };
    if host == Host::Gemini && gemini::WITHOUT_COUNTERPART.contains(&name.as_str()) {
        return Ok(None);
    }
    if let Some(row) = host.rows().iter().find(|row| row.native == name) {
        return Ok(Some(row.event));
    }
    let mut error = renamed(host, beside, &format!("its event is {}", text::quote(name)));
    if beside.is_none() && asks_nothing(name) {
        error.answers = Answers::Nobody;
    }
    Err(error)
}

fn gemini_fields(event: EventName, mut fields: Object) -> Fields {
    if let Some(code) = fields.get("tool_response").and_then(gemini::exit_code) {
        fields.insert("exit_code".to_owned(), code.into());
    }
    if let Some(said) = fields.get("prompt_response").cloned() {
        fields.insert("last_assistant_message".to_owned(), said);
    }
    let is_mcp = fields.get("mcp_context").is_some_and(|context| !context.is_null())
        || fields.get("tool_name").and_then(Value::as_str).is_some_and(|name| name.starts_with("mcp_"));
    if is_mcp {
        fields.insert("tool_kind".to_owned(), Kind::Mcp.as_str().into());
    } else {
        fields.shift_remove("tool_kind");
    }
    Fields { event, fields }
}

/// What all hosts have in common from here on.
fn judge(host: Host, read: Fields, project: Option<&str>) -> Result<Decoded, DecodeError> {
    let Fields { event: name, mut fields } = read;
    fields.insert("hook_event_name".to_owned(), name.as_str().into());
    if host != Host::Gemini {
        fields.shift_remove("tool_kind");
    }
    if let Some(Value::String(arguments)) = fields.get("tool_input") {
        let input = json::parse_object(arguments.as_bytes()).map_err(|error| {
            renamed(host, Some(name), &format!("its `tool_input` is a text that is no JSON object: {error}"))
        })?;
        fields.insert("tool_input".to_owned(), input.into());
        fields.insert(INPUT_WAS_TEXT.to_owned(), true.into());
    }
    if name.is_gate()
        && let Some(what) = lacks(name, &fields)
    {
        return Err(renamed(host, Some(name), what));
    }
    let event = Event::from_fields(fields, Some(name))
        .map_err(|error| renamed(host, Some(name), &error.to_string()))?;
    if name.is_gate()
        && let Some(what) = event.tool.as_ref().and_then(|call| lacks_argument(host, call))
    {
        return Err(renamed(host, Some(name), what));
    }
    let project = project.map(Utf8Path::new).filter(|project| project.is_absolute());
    let chosen_by_host = event.tool.is_none() || host == Host::Opencode;
    let start = project
        .or(event.cwd.as_deref().filter(|cwd| chosen_by_host && cwd.is_absolute()))
        .map(Utf8Path::to_owned);
    // opencode hands on what the model's provider called the call, and some call every one the same.
    let call_id = event
        .tool
        .as_ref()
        .and_then(|tool| tool.call_id.clone())
        .filter(|id| host != Host::Opencode && !id.is_empty());
    let is_unreported = host == Host::Codex
        && name == EventName::PreToolUse
        && event.tool.as_ref().is_some_and(codex::is_unreported);
    Ok(Decoded { event, start, call_id, is_unreported })
}

/// Marks an event whose tool input came as a text: what form a rewrite must have is then not known.
pub(crate) const INPUT_WAS_TEXT: &str = "becket_input_was_text";

/// A field without which a gate cannot be judged.
fn lacks(event: EventName, fields: &Object) -> Option<&'static str> {
    let is_text = |field: &str| fields.get(field).is_some_and(Value::is_string);
    match event {
        EventName::UserPromptSubmit if !is_text("prompt") => Some("it has no `prompt`"),
        EventName::PreToolUse | EventName::PermissionRequest => {
            if !is_text("tool_name") {
                Some("it has no `tool_name`")
            } else if !fields.get("tool_input").is_some_and(Value::is_object) {
                Some("it has no `tool_input`")
            } else {
                None
            }
        }
        _ => None,
    }
}

/// An argument without which one of the host's own tools cannot be judged. Tools that others add may be called the same
/// as another host's, and take what they like.
fn lacks_argument(host: Host, call: &ToolCall) -> Option<&'static str> {
    let own: &[&str] = match host {
        Host::Claude => &["Bash", "Read", "Write", "Edit", "MultiEdit"],
        Host::Codex => &["Bash", "apply_patch"],
        Host::Gemini => &["run_shell_command", "read_file", "write_file", "replace"],
        Host::Opencode => &["bash", "shell", "read", "write", "edit", "multiedit", "patch", "apply_patch"],
    };
    if !own.contains(&call.name.as_str()) {
        return None;
    }
    let view = View::of(call, Name::Celeste);
    let has = |key: &str| view.tool_input.as_ref().is_some_and(|input| input.contains_key(key));
    match call.kind {
        Kind::Shell | Kind::BackgroundShell if !has("command") => Some("its shell call has no `command`"),
        Kind::Read | Kind::Write | Kind::Edit if !has("path") => Some("its call of a file names no file"),
        Kind::Patch if !has("patch") => Some("its patch has no text"),
        _ => None,
    }
}

/// Another agent's payload under this agent's line, which stands under the event `beside`.
fn foreign(host: Host, fields: &Object, beside: Option<EventName>) -> Option<DecodeError> {
    let (name, known) = sender(host, fields)?;
    let event = ["hook_event_name", "hookEventName", "agent_action_name", "hookName", "event"]
        .iter()
        .find_map(|key| fields.get(*key)?.as_str())
        .unwrap_or_default();
    let why = format!(
        "this was sent by {name}, but the line is {}'s; nothing can be judged: install becket for {name} itself, or \
         keep it from reading {}'s settings",
        host.title(),
        host.title()
    );
    // Where leave is asked for, the name of another event is not believed: whoever sent it may be waiting for an answer.
    let is_gate = beside.is_some_and(EventName::is_gate);
    let row = known.and_then(|known| known.rows().iter().find(|row| row.native == event));
    let answers = match known {
        Some(known) if !is_gate || row.is_some_and(|row| Some(row.event) == beside) => {
            Answers::To(known, row.map(|row| row.event))
        }
        None if !is_gate && asks_nothing(event) => Answers::Nobody,
        _ => Answers::Anybody,
    };
    Some(DecodeError { why, answers })
}

/// Who sent it, if that is not `host`; and which host that is, if it is one we know.
fn sender(host: Host, fields: &Object) -> Option<(&'static str, Option<Host>)> {
    const MARKS: [(&str, &[&str]); 14] = [
        ("Cursor", &["cursor_version"]),
        ("Cursor", &["conversation_id", "generation_id"]),
        ("Windsurf", &["agent_action_name"]),
        ("Cline", &["hookName"]),
        ("Antigravity", &["conversationId"]),
        ("Augment", &["conversation_id", "workspace_roots"]),
        ("Grok CLI", &["hookEventName", "toolInput"]),
        ("Grok CLI", &["hookEventName", "workspaceRoots"]),
        ("VS Code", &["hookEventName"]),
        ("Copilot CLI", &["toolArgs"]),
        ("Copilot CLI", &["sessionId", "timestamp"]),
        ("rho", &["schema_version", "event_id"]),
        ("Goose", &["event", "working_dir"]),
        ("Crush", &["event", "tool_input"]),
    ];
    let has = |key: &&str| fields.contains_key(*key);
    let is_plugin = has(&"becket") && has(&"hook");
    if is_plugin {
        return (host != Host::Opencode).then_some((Host::Opencode.title(), Some(Host::Opencode)));
    }
    if let Some((name, _)) = MARKS.iter().find(|(_, keys)| keys.iter().all(has)) {
        return Some((name, None));
    }
    let event = fields.get("hook_event_name").and_then(Value::as_str)?;
    let is_of = |other: Host| other.rows().iter().any(|row| row.native == event);
    let is_gemini =
        matches!(event, "BeforeTool" | "AfterTool" | "BeforeAgent" | "AfterAgent" | "PreCompress")
            || gemini::WITHOUT_COUNTERPART.contains(&event);
    // One that has the marks of both is a newer version of whichever it is: the line is believed.
    let (like_codex, like_claude) = (has(&"turn_id"), has(&"prompt_id") || has(&"effort"));
    let is_codex = like_codex && !like_claude && is_of(Host::Codex);
    let is_claude = like_claude && !like_codex && is_of(Host::Claude);
    let sender = match host {
        Host::Gemini if is_gemini => return None,
        Host::Claude | Host::Codex | Host::Opencode if is_gemini => Host::Gemini,
        Host::Claude | Host::Gemini | Host::Opencode if is_codex => Host::Codex,
        Host::Codex | Host::Gemini | Host::Opencode if is_claude => Host::Claude,
        // Names that only the family of Claude Code has; which of them cannot be told.
        Host::Gemini if !is_of(Host::Gemini) && is_of(Host::Claude) => return Some(("another agent", None)),
        _ => return None,
    };
    Some((sender.title(), Some(sender)))
}

/// Whether an event of this name, in anybody's spelling, is told after the fact: a refusal of it would mean
/// something else, at an end for instance to go on.
fn asks_nothing(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    const TELLS: [&str; 14] = [
        "post",
        "after",
        "sessionstart",
        "sessionend",
        "stop",
        "agentstop",
        "subagentst",
        "notification",
        "interrupt",
        "error",
        "taskstart",
        "taskcomplete",
        "workspaceopen",
        "sessionshutdown",
    ];
    TELLS.iter().any(|tells| plain.starts_with(tells))
}
