//! Claude Code.

use becket_core::event::{Event, EventName};
use becket_core::json::Object;
use becket_core::outcome::Decision;
use serde_json::{Value, json};

use crate::Verified;
use crate::answer::Reply;
use crate::loss::{Answer, Row, Way};
use crate::plan::Plan;

pub(crate) const VERIFIED: Verified = Verified {
    version: "2.1.240",
    date: "2026-08-22",
    how: "its published reference; not driven here, so `becket doctor` is the proof",
};

pub(crate) const ROWS: &[Row] = &[
    Row::new(EventName::SessionStart, "SessionStart")
        .observed()
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    // Its reference gives this event 30 s where others have 600.
    Row::new(EventName::UserPromptSubmit, "UserPromptSubmit")
        .waits(30)
        .is(Answer::Ask, Way::Denied)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PreToolUse, "PreToolUse")
        .is(Answer::Grant, Way::Honoured)
        .is(Answer::Ask, Way::Honoured)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Honoured)
        // A rewrite needs a decision beside it, and `allow` would skip the question it asks otherwise.
        .is(Answer::Rewrite, Way::Confirmed)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PermissionRequest, "PermissionRequest")
        .is(Answer::Grant, Way::Honoured)
        .is(Answer::Ask, Way::Honoured)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Rewrite, Way::WithGrant)
        .is(Answer::Context, Way::WithReason)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PostToolUse, "PostToolUse")
        .is(Answer::Ask, Way::ToPerson)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Honoured)
        // Only for results whose shape is known; others are objected to, and seen.
        .is(Answer::Replace, Way::Honoured)
        .is(Answer::Feedback, Way::Honoured)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PostToolUseFailure, "PostToolUseFailure")
        .is(Answer::Ask, Way::ToPerson)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Replace, Way::Beside)
        .is(Answer::Feedback, Way::Honoured)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PreCompact, "PreCompact")
        .is(Answer::Ask, Way::Denied)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Context, Way::WithReason)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PostCompact, "PostCompact")
        .observed()
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::ToPerson)
        .is(Answer::Message, Way::Honoured),
    STOP,
    Row::new(EventName::StopFailure, "StopFailure")
        .observed()
        .is(Answer::Halt, Way::ToPerson)
        .is(Answer::Context, Way::ToPerson)
        .is(Answer::Message, Way::Stderr),
    Row::new(EventName::SubagentStart, "SubagentStart")
        .observed()
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row { event: EventName::SubagentStop, native: "SubagentStop", ..STOP },
    Row::new(EventName::Notification, "Notification")
        .observed()
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::ToPerson)
        .is(Answer::Message, Way::Stderr),
    // All its hooks share 1.5 s, or the longest time that an entry asks for, up to 60 s.
    Row::new(EventName::SessionEnd, "SessionEnd")
        .waits(60)
        .observed()
        .is(Answer::Halt, Way::ToPerson)
        .is(Answer::Context, Way::ToPerson)
        .is(Answer::Message, Way::Honoured),
];

const STOP: Row = Row::new(EventName::Stop, "Stop")
    .is(Answer::Deny, Way::Honoured)
    .is(Answer::Halt, Way::Honoured)
    // A context alone would make it go on.
    .is(Answer::Context, Way::WithReason)
    .is(Answer::Message, Way::Honoured);

pub(crate) fn words(event: &Event, plan: &Plan) -> Object {
    let mut reply = Reply::default();
    let blocks = plan.decision >= Decision::Deny;
    if plan.decision == Decision::Halt {
        reply.ends(&plan.reason);
    }
    match event.name {
        EventName::PreToolUse => {
            let word = match plan.decision {
                Decision::Allow => None,
                Decision::Grant => Some("allow"),
                Decision::Ask => Some("ask"),
                Decision::Deny | Decision::Halt => Some("deny"),
            };
            if let Some(word) = word {
                reply.specific("permissionDecision", word);
                if plan.decision != Decision::Grant {
                    reply.specific("permissionDecisionReason", plan.reason.as_str());
                }
            }
            if let Some(input) = &plan.rewrite {
                reply.specific("updatedInput", input.clone());
            }
        }
        EventName::PermissionRequest => {
            let mut decision = Object::new();
            if blocks {
                decision.insert("behavior".to_owned(), "deny".into());
                decision.insert("message".to_owned(), plan.reason.as_str().into());
                if plan.decision == Decision::Halt {
                    decision.insert("interrupt".to_owned(), true.into());
                }
            } else if plan.decision == Decision::Grant {
                decision.insert("behavior".to_owned(), "allow".into());
                if let Some(input) = &plan.rewrite {
                    decision.insert("updatedInput".to_owned(), input.clone().into());
                }
            }
            if !decision.is_empty() {
                reply.specific("decision", decision);
            }
        }
        EventName::PostToolUse | EventName::PostToolUseFailure => result(&mut reply, event, plan),
        // An end that is forced is not blocked as well: that would mean going on.
        EventName::Stop | EventName::SubagentStop if plan.decision == Decision::Deny => {
            reply.decision("block", &plan.reason);
        }
        EventName::UserPromptSubmit | EventName::PreCompact if blocks => {
            reply.decision("block", &plan.reason);
        }
        _ => {}
    }
    let mut said = reply.finish(event.name.as_str(), plan);
    if event.fields.contains_key(OF_OTHERS) {
        also_flat(&mut said);
    }
    said
}

/// A field that Claude Code does not send, and others that read its settings do.
const OF_OTHERS: &str = "timestamp";

/// Says what is for one event at the top as well: there Copilot CLI looks for it, which runs the lines in Claude Code's
/// files with payloads that look like Claude Code's.
fn also_flat(said: &mut Object) {
    let Some(Value::Object(specific)) = said.get("hookSpecificOutput").cloned() else { return };
    for (key, value) in specific {
        match value {
            Value::Object(answer) if key == "decision" => said.extend(answer),
            _ if key == "hookEventName" => {}
            value => {
                said.insert(key, value);
            }
        }
    }
}

fn result(reply: &mut Reply, event: &Event, plan: &Plan) {
    if let Some(text) = &plan.replace {
        match replaced(event.fields.get("tool_response"), text) {
            Some(output) => reply.specific("updatedToolOutput", output),
            None => reply.decision("block", text),
        }
    }
    if let Some(text) = &plan.feedback {
        reply.decision("block", text);
    }
}

/// A text in the shape of a tool's own result, where that shape is known: a wrong one is refused, and the result seen.
fn replaced(response: Option<&Value>, text: &str) -> Option<Value> {
    match response? {
        Value::String(_) => Some(text.into()),
        Value::Object(fields) if fields.get("stdout").is_some_and(Value::is_string) => {
            let mut fields = fields.clone();
            fields.insert("stdout".to_owned(), text.into());
            if fields.contains_key("stderr") {
                fields.insert("stderr".to_owned(), "".into());
            }
            Some(fields.into())
        }
        Value::Array(_) => Some(json!([{"type": "text", "text": text}])),
        _ => None,
    }
}
