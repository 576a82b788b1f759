//! Codex.

use becket_core::event::{Event, EventName};
use becket_core::json::Object;
use becket_core::outcome::Decision;
use becket_core::patch;
use becket_core::tool::{Kind, ToolCall};
use serde_json::{Value, json};

use crate::Verified;
use crate::answer::Reply;
use crate::loss::{Answer, Row, Way};
use crate::plan::Plan;

pub(crate) const VERIFIED: Verified = Verified {
    version: "0.171.0",
    date: "2026-11-30",
    how: "driven: a denial, a rewrite, contexts, a stop that goes on, its trust; its source of August for the rest",
};

/// Its replies refuse unknown keys as a whole and then let the action go on, so no key is said that is not in this
/// table.
pub(crate) const ROWS: &[Row] = &[
    Row::new(EventName::SessionStart, "SessionStart")
        .observed()
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::UserPromptSubmit, "UserPromptSubmit")
        .is(Answer::Ask, Way::Denied)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PreToolUse, "PreToolUse")
        .is(Answer::Grant, Way::OwnRules)
        .is(Answer::Ask, Way::Denied)
        .is(Answer::Deny, Way::Honoured)
        // `continue: false` here makes the run a failed one, and the call goes on.
        .is(Answer::Halt, Way::Held)
        .is(Answer::Rewrite, Way::Honoured)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PermissionRequest, "PermissionRequest")
        .is(Answer::Grant, Way::Honoured)
        .is(Answer::Ask, Way::Honoured)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Held)
        .is(Answer::Rewrite, Way::Denied)
        .is(Answer::Context, Way::WithReason)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PostToolUse, "PostToolUse")
        .is(Answer::Ask, Way::ToPerson)
        .is(Answer::Deny, Way::Beside)
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Replace, Way::Honoured)
        // Its own objection replaces the result, which then would be lost.
        .is(Answer::Feedback, Way::Beside)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PreCompact, "PreCompact")
        .is(Answer::Ask, Way::Ends)
        .is(Answer::Deny, Way::Ends)
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Context, Way::WithReason)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PostCompact, "PostCompact")
        .observed()
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Context, Way::WithReason)
        .is(Answer::Message, Way::Honoured),
    STOP,
    Row::new(EventName::SubagentStart, "SubagentStart")
        .observed()
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row { event: EventName::SubagentStop, native: "SubagentStop", ..STOP },
    // It waits 3 s at most, whatever it is told, and reads nothing.
    Row::new(EventName::SessionEnd, "SessionEnd")
        .waits(3)
        .observed()
        .is(Answer::Halt, Way::ToPerson)
        .is(Answer::Context, Way::ToPerson)
        .is(Answer::Message, Way::Stderr),
];

const STOP: Row = Row::new(EventName::Stop, "Stop")
    .is(Answer::Deny, Way::Honoured)
    .is(Answer::Halt, Way::Honoured)
    .is(Answer::Context, Way::WithReason)
    .is(Answer::Message, Way::Honoured);

/// A patch that is applied through the shell: Codex takes it out of the command, and reports its end to nobody.
pub(crate) fn is_unreported(call: &ToolCall) -> bool {
    if !matches!(call.kind, Kind::Shell | Kind::BackgroundShell) {
        return false;
    }
    let command = call.input.as_ref().and_then(|input| input.get("command"));
    let text = match command {
        Some(Value::String(text)) => text.as_str(),
        Some(Value::Array(words)) => words.last().and_then(Value::as_str).unwrap_or_default(),
        _ => return false,
    };
    patch::is_in_command(text)
}

pub(crate) fn words(event: &Event, plan: &Plan) -> Object {
    let mut reply = Reply::default();
    let halts = plan.decision == Decision::Halt;
    let denies = plan.decision == Decision::Deny;
    match event.name {
        EventName::PreToolUse => {
            if denies {
                reply.specific("permissionDecision", "deny");
                reply.specific("permissionDecisionReason", plan.reason.as_str());
            } else if let Some(input) = &plan.rewrite {
                // The one case in which it takes an `allow`.
                reply.specific("permissionDecision", "allow");
                reply.specific("updatedInput", input.clone());
            }
        }
        EventName::PermissionRequest => match plan.decision {
            Decision::Deny => reply.specific("decision", json!({"behavior": "deny", "message": plan.reason})),
            Decision::Grant => reply.specific("decision", json!({"behavior": "allow"})),
            _ => {}
        },
        EventName::UserPromptSubmit | EventName::Stop | EventName::SubagentStop if denies => {
            reply.decision("block", &plan.reason);
        }
        EventName::PostToolUse => {
            if let Some(text) = &plan.replace {
                reply.decision("block", text);
            }
            if halts {
                reply.ends(&plan.reason);
            }
        }
        _ if halts => reply.ends(&plan.reason),
        _ => {}
    }
    reply.finish(event.name.as_str(), plan)
}
