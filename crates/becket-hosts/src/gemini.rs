//! Gemini CLI.

use becket_core::event::{Event, EventName};
use becket_core::json::Object;
use becket_core::outcome::Decision;
use serde_json::Value;

use crate::Verified;
use crate::answer::Reply;
use crate::loss::{Answer, Row, Way};
use crate::plan::Plan;

pub(crate) const VERIFIED: Verified = Verified {
    version: "0.61.0",
    date: "2026-11-30",
    how: "driven: a denial, a rewrite, contexts, a stop that goes on; its published reference for the rest",
};

pub(crate) const ROWS: &[Row] = &[
    Row::new(EventName::SessionStart, "SessionStart")
        .observed()
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::UserPromptSubmit, "BeforeAgent")
        .is(Answer::Ask, Way::Denied)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PreToolUse, "BeforeTool")
        .is(Answer::Grant, Way::OwnRules)
        // There is an `ask` in its source and none in its reference.
        .is(Answer::Ask, Way::Denied)
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Rewrite, Way::Honoured)
        .is(Answer::Context, Way::WithReason)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::PostToolUse, "AfterTool")
        .is(Answer::Ask, Way::ToPerson)
        .is(Answer::Deny, Way::Beside)
        .is(Answer::Halt, Way::Honoured)
        .is(Answer::Replace, Way::Honoured)
        // Its own objection replaces the result, which then would be lost.
        .is(Answer::Feedback, Way::Beside)
        .is(Answer::Context, Way::Honoured)
        .is(Answer::Message, Way::Honoured),
    // It comes before every request to the model, compressed or not, and is not waited for.
    Row::new(EventName::PreCompact, "PreCompress")
        .is(Answer::Ask, Way::Cannot)
        .is(Answer::Deny, Way::Cannot)
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::ToPerson)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::Stop, "AfterAgent")
        .is(Answer::Deny, Way::Honoured)
        .is(Answer::Halt, Way::Honoured)
        // The reason comes back as a prompt, and is known again by its text: nothing may be added to it.
        .is(Answer::Context, Way::ToPerson)
        .is(Answer::Message, Way::Honoured),
    Row::new(EventName::Notification, "Notification")
        .observed()
        .is(Answer::Halt, Way::Held)
        .is(Answer::Context, Way::ToPerson)
        .is(Answer::Message, Way::Honoured),
    // It does not wait for these.
    Row::new(EventName::SessionEnd, "SessionEnd")
        .observed()
        .is(Answer::Halt, Way::ToPerson)
        .is(Answer::Context, Way::ToPerson)
        .is(Answer::Message, Way::Honoured),
];

/// Events of the model's own traffic, which have no counterpart.
pub(crate) const WITHOUT_COUNTERPART: [&str; 3] = ["BeforeModel", "AfterModel", "BeforeToolSelection"];

/// The exit code of a shell call, which stands only in the text of its result.
pub(crate) fn exit_code(response: &Value) -> Option<i64> {
    let text = response.get("llmContent")?.as_str()?;
    // Only the report's own last lines count: what the command wrote comes before them, and may look the same.
    const REPORT: [&str; 6] =
        ["Exit Code:", "Error:", "Signal:", "Background PIDs:", "Process Group PGID:", "</"];
    let lines = text.lines().rev().map(str::trim);
    let mut report =
        lines.take_while(|line| line.is_empty() || REPORT.iter().any(|label| line.starts_with(label)));
    report.find_map(|line| line.strip_prefix("Exit Code:")?.trim().parse().ok())
}

pub(crate) fn words(event: &Event, plan: &Plan) -> Object {
    let mut reply = Reply::default();
    let native = crate::Host::Gemini.row(event.name).map_or("", |row| row.native);
    match plan.decision {
        Decision::Halt => {
            reply.ends(&plan.reason);
            // Of an end that is forced it must not be told to go on.
            if !event.name.is_stop() {
                reply.decision("deny", plan.replace.as_deref().unwrap_or(&plan.reason));
            }
        }
        Decision::Deny => reply.decision("deny", &plan.reason),
        _ => {
            if let Some(text) = &plan.replace {
                reply.decision("deny", text);
            }
            if let Some(input) = &plan.rewrite {
                reply.specific("tool_input", input.clone());
            }
        }
    }
    reply.finish(native, plan)
}
