//! An outcome in the words of the agent that asked.

use becket_core::event::{Event, EventName};
use becket_core::json::{self, Object, Repeated};
use becket_core::outcome::{Decision, Outcome};
use serde_json::Value;

use crate::plan::{Plan, plan};
use crate::{Host, claude, codex, gemini, opencode};

/// What is said to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// On stdout: one JSON object and a newline, or nothing where the agent must read stderr.
    pub stdout: String,
    /// On stderr; empty for nothing.
    pub stderr: String,
    /// The exit code.
    pub exit: u8,
    /// The exit code where stdout takes nothing: 2, a refusal, if the words ask at a gate for anything stricter than leave.
    pub exit_unheard: u8,
}

/// Says an outcome.
pub fn encode(host: Host, event: &Event, outcome: &Outcome) -> Words {
    let Some(row) = host.row(event.name) else {
        // Decoding never makes such an event of what this host sends.
        return refuse(host, Some(event.name), &format!("{} does not report {}", host.title(), event.name));
    };
    let plan = plan(host, row, event, outcome);
    let is_more_than_leave = plan.decision > Decision::Allow || plan.rewrite.is_some();
    let object = match host {
        Host::Claude => claude::words(event, &plan),
        Host::Codex => codex::words(event, &plan),
        Host::Gemini => gemini::words(event, &plan),
        Host::Opencode => opencode::words(event, &plan),
    };
    Words {
        stdout: line(&object),
        stderr: plan.notes.iter().map(|note| format!("{note}\n")).collect(),
        exit: 0,
        exit_unheard: if event.name.is_gate() && is_more_than_leave { 2 } else { 0 },
    }
}

/// Says that nothing could be judged, and why. At a gate that is a denial. Where not even the event is known it is
/// the one refusal that all agents share: exit code 2 and the reason on stderr.
pub fn refuse(host: Host, event: Option<EventName>, why: &str) -> Words {
    let shared = || told(why, 2);
    let Some(name) = event else { return shared() };
    let mut outcome = Outcome::nothing(name);
    if name.is_gate() {
        outcome.decision = Decision::Deny;
        outcome.reason = Some(format!("becket: {why}"));
    } else {
        outcome.messages.push(format!("becket: {why}"));
    }
    if host.row(name).is_none() {
        return shared();
    }
    let event = Event { name, session_id: None, cwd: None, tool: None, fields: Object::new() };
    let mut words = encode(host, &event, &outcome);
    // Said a second time for whoever looks at the agent's log.
    words.stderr = format!("becket: {why}\n");
    words
}

/// Words that stand on stderr alone.
pub(crate) fn told(why: &str, exit: u8) -> Words {
    Words { stdout: String::new(), stderr: format!("becket: {why}\n"), exit, exit_unheard: exit }
}

/// Whether the agent will take these words as a denial of a tool call.
pub fn is_denial(host: Host, words: &Words) -> bool {
    if words.exit == 2 {
        return host != Host::Opencode && !words.stderr.trim().is_empty();
    }
    let said = json::parse(words.stdout.trim_end().as_bytes(), Repeated::Refuse).unwrap_or_default();
    let (place, key, word) = match host {
        Host::Claude | Host::Codex => (said.get("hookSpecificOutput"), "permissionDecision", "deny"),
        Host::Gemini => return said.get("decision").and_then(Value::as_str) == Some("deny"),
        Host::Opencode => return said.get("verdict").and_then(Value::as_str) == Some("deny"),
    };
    words.exit == 0 && place.and_then(|place| place.get(key)).and_then(Value::as_str) == Some(word)
}

/// Says nothing, explicitly: for events that have no counterpart.
pub fn nothing() -> Words {
    Words { stdout: "{}\n".to_owned(), stderr: String::new(), exit: 0, exit_unheard: 0 }
}

fn line(object: &Object) -> String {
    let mut line = serde_json::to_string(object).unwrap_or_else(|_| "{}".to_owned());
    line.push('\n');
    line
}

/// The reply that Claude Code brought up and others took over: universal keys, and those of one event.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    top: Object,
    specific: Object,
}

impl Reply {
    pub(crate) fn top(&mut self, key: &str, value: impl Into<Value>) {
        self.top.insert(key.to_owned(), value.into());
    }

    pub(crate) fn specific(&mut self, key: &str, value: impl Into<Value>) {
        self.specific.insert(key.to_owned(), value.into());
    }

    /// The turn ends.
    pub(crate) fn ends(&mut self, reason: &str) {
        self.top("continue", false);
        self.top("stopReason", reason);
    }

    pub(crate) fn decision(&mut self, word: &str, reason: &str) {
        self.top("decision", word);
        self.top("reason", reason);
    }

    /// The whole reply, with what is for the model and for the person.
    pub(crate) fn finish(mut self, event: &str, plan: &Plan) -> Object {
        if let Some(context) = &plan.context {
            self.specific("additionalContext", context.as_str());
        }
        if !plan.messages.is_empty() {
            self.top("systemMessage", plan.messages.join("\n"));
        }
        if !self.specific.is_empty() {
            let mut specific = Object::new();
            specific.insert("hookEventName".to_owned(), event.into());
            specific.append(&mut self.specific);
            self.top("hookSpecificOutput", specific);
        }
        self.top
    }
}
