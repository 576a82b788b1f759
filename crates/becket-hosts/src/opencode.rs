//! opencode, through the plugin that Becket installs: the words on both sides are Becket's own.

use becket_core::event::{Event, EventName};
use becket_core::json::Object;
use becket_core::outcome::Decision;
use serde_json::Value;

use crate::Verified;
use crate::loss::{Answer, Row, Way};
use crate::plan::Plan;

pub(crate) const VERIFIED: Verified = Verified {
    version: "1.18.33",
    date: "2026-11-30",
    how: "driven: a denial, a rewrite, contexts, a stop that goes on in its server; the plugin interface of 2.0 by its documents only",
};

pub(crate) const ROWS: &[Row] = &[
    Row::new(EventName::SessionStart, "session.created")
        .observed()
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::Later)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::UserPromptSubmit, "chat.message")
        .is(Answer::Ask, Way::Denied)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PreToolUse, "tool.execute.before")
        .is(Answer::Grant, Way::OwnRules)
        .is(Answer::Ask, Way::Denied)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Held)
        .is(Answer::Rewrite, Way::Honoured)
        .is(Answer::Context, Way::Later)
        .is(Answer::Message, Way::Honoured),
    AFTER,
    Row { event: EventName::PostToolUseFailure, native: "tool.execute.after (2.0, failed)", ..AFTER },
    Row::new(EventName::PreCompact, "experimental.session.compacting")
        .is(Answer::Ask, Way::Cannot)
        .is(Answer::Deny, Way::Cannot)
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PostCompact, "session.compacted")
        .observed()
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::Later)
        .is(Answer::Message, Way::Honoured),
    STOP,
    Row::new(EventName::StopFailure, "session.error")
        .observed()
        .is(Answer::Halt, Way::ToPerson)
        .is(Answer::Context, Way::Later)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::SubagentStart, "session.created (of a parent)")
        .observed()
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::Later)
        .is(Answer::Message, Way::Honoured),
    Row { event: EventName::SubagentStop, native: "session.idle (of a parent)", ..STOP },
    Row::new(EventName::Notification, "permission.asked")
        .observed()
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::Later)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::SessionEnd, "session.deleted")
        .observed()
        .is(Answer::Halt, Way::ToPerson)
        .is(Answer::Context, Way::ToPerson)
        .is(Answer::Message, Way::Honoured),
];

const AFTER: Row = Row::new(EventName::PostToolUse, "tool.execute.after")
    .is(Answer::Ask, Way::ToPerson)
    .is(Answer::Deny, Way::Beside)
    .is(Answer::Halt, Way::Held)
    .is(Answer::Replace, Way::Honoured)
    .is(Answer::Feedback, Way::Beside)
    .is(Answer::Context, Way::Honoured)
    .is(Answer::Message, Way::Honoured);

const STOP: Row = Row::new(EventName::Stop, "session.idle")
    .is(Answer::Deny, Way::Honoured)
    .is(Answer::Halt, Way::Honoured)
    .is(Answer::Context, Way::Later)
    .is(Answer::Message, Way::Honoured);

/// What the plugin is told. It knows no other keys.
pub(crate) fn words(event: &Event, plan: &Plan) -> Object {
    let mut reply = Object::new();
    let mut say = |key: &str, value: Value| reply.insert(key.to_owned(), value);
    let goes_on = event.name.is_stop() && plan.decision == Decision::Deny;
    let verdict = match plan.decision {
        _ if goes_on => "continue",
        Decision::Allow | Decision::Grant | Decision::Ask => "allow",
        Decision::Deny | Decision::Halt => "deny",
    };
    say("verdict", verdict.into());
    if goes_on || plan.decision >= Decision::Deny {
        say("reason", plan.reason.as_str().into());
    }
    if let Some(input) = &plan.rewrite {
        say("input", input.clone().into());
    }
    if let Some(text) = &plan.replace {
        say("replace", text.as_str().into());
    }
    if let Some(context) = &plan.context {
        say("context", context.as_str().into());
    }
    if !plan.messages.is_empty() {
        say("message", plan.messages.join("\n").into());
    }
    reply
}

/// What the plugin sent, in the common vocabulary; `None` for what has no counterpart.
///
/// # Errors
/// What is missing.
pub(crate) fn read(sent: &Object) -> Result<Option<(EventName, Object)>, String> {
    let hook = sent.get("hook").and_then(Value::as_str).ok_or("it has no `hook`")?;
    let part = |key: &str| sent.get(key).and_then(Value::as_object);
    let mut fields = Object::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            fields.insert(key.to_owned(), value);
        }
    };
    let of = |object: Option<&Object>, key: &str| object.and_then(|object| object.get(key)).cloned();
    let (input, output) = (part("input"), part("output"));
    let is_child = sent.get("parent").is_some_and(Value::is_string);
    let mut session = of(input, "sessionID");
    let event = match hook {
        "chat.message" => {
            put("prompt", output.and_then(prompt).map(Value::from));
            EventName::UserPromptSubmit
        }
        "tool.execute.before" => {
            put("tool_name", of(input, "tool"));
            put("tool_use_id", of(input, "callID"));
            put("tool_input", of(output, "args"));
            EventName::PreToolUse
        }
        "tool.execute.after" => {
            put("tool_name", of(input, "tool"));
            put("tool_use_id", of(input, "callID"));
            put("tool_input", of(input, "args"));
            put("exit_code", output.and_then(|output| output.get("metadata")?.get("exit").cloned()));
            let error = of(output, "error");
            let failed = error.is_some();
            put("error", error);
            put("tool_response", output.cloned().map(Value::Object));
            if failed { EventName::PostToolUseFailure } else { EventName::PostToolUse }
        }
        "experimental.session.compacting" => {
            put("trigger", Some("auto".into()));
            EventName::PreCompact
        }
        "event" => {
            let told = part("event").ok_or("it has no `event`")?;
            let properties = told.get("properties").and_then(Value::as_object);
            session = of(properties, "sessionID").or_else(|| properties?.get("info")?.get("id").cloned());
            match told.get("type").and_then(Value::as_str).unwrap_or_default() {
                "session.created" => {
                    put("source", Some("startup".into()));
                    if is_child { EventName::SubagentStart } else { EventName::SessionStart }
                }
                "session.idle" => {
                    put("last_assistant_message", sent.get("said").cloned());
                    if is_child { EventName::SubagentStop } else { EventName::Stop }
                }
                "session.deleted" => {
                    put("reason", Some("other".into()));
                    EventName::SessionEnd
                }
                "session.compacted" => {
                    put("trigger", Some("auto".into()));
                    EventName::PostCompact
                }
                "session.error" => {
                    put("error", of(properties, "error"));
                    EventName::StopFailure
                }
                "permission.asked" => {
                    put("notification_type", Some("permission_prompt".into()));
                    EventName::Notification
                }
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    // A subagent reports its parent's session, and itself beside it.
    if is_child {
        put("agent_id", session);
        session = sent.get("parent").cloned();
    }
    put("session_id", session);
    put("cwd", sent.get("directory").cloned());
    if sent.get("agent").and_then(Value::as_str) == Some("plan") {
        put("permission_mode", Some("plan".into()));
    }
    Ok(Some((event, fields)))
}

/// What the person wrote, without what the program adds to it.
/// The texts of a prompt; `None` where it is not in the form that is known, for then a guard would not see all of it.
fn prompt(output: &Object) -> Option<String> {
    const KNOWN: [&str; 5] = ["text", "file", "agent", "subtask", "reasoning"];
    let parts = output.get("parts")?.as_array()?;
    let mut texts = Vec::new();
    for part in parts {
        let kind = part.get("type")?.as_str().filter(|kind| KNOWN.contains(kind))?;
        if kind == "text" {
            let text = part.get("text")?.as_str()?;
            if part.get("synthetic").and_then(Value::as_bool) != Some(true) {
                texts.push(text);
            }
        }
    }
    Some(texts.join("\n"))
}
