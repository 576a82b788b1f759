//! From an outcome to what a host can be told: the one place where the loss table is followed.

use becket_core::event::{Event, EventName};
use becket_core::json::Object;
use becket_core::outcome::{Decision, Outcome};
use becket_core::tool::Kind;

use crate::Host;
use crate::decode::INPUT_WAS_TEXT;
use crate::loss::{Answer, Row, Way};

/// What a host is told. Everything in it the host honours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) decision: Decision,
    /// Why; never blank.
    pub(crate) reason: String,
    pub(crate) rewrite: Option<Object>,
    /// Stands instead of the tool's result.
    pub(crate) replace: Option<String>,
    /// An objection beside the tool's result.
    pub(crate) feedback: Option<String>,
    /// For the model.
    pub(crate) context: Option<String>,
    /// For the person.
    pub(crate) messages: Vec<String>,
    /// For whoever reads stderr.
    pub(crate) notes: Vec<String>,
}

/// Follows the table. `event` is the one that was fired, for what hangs on its input.
pub(crate) fn plan(host: Host, row: &Row, event: &Event, outcome: &Outcome) -> Plan {
    let mut plan = Plan {
        decision: Decision::Allow,
        reason: reason(row.event, outcome),
        rewrite: None,
        replace: None,
        feedback: None,
        context: None,
        messages: outcome.messages.clone(),
        notes: Vec::new(),
    };
    let mut contexts: Vec<String> = outcome.additional_context.clone();
    let is_after = matches!(row.event, EventName::PostToolUse | EventName::PostToolUseFailure);
    if is_after && outcome.decision == Decision::Deny {
        // The tool has run: an objection is about its result.
        if outcome.result.is_none() {
            add_feedback(row, &mut plan, &mut contexts, plan_reason(outcome), false);
        }
    } else {
        decide(host, row, event, &mut plan, outcome.decision);
    }
    if let Some(result) = &outcome.result {
        add_feedback(row, &mut plan, &mut contexts, result.feedback.clone(), result.replaces);
    }
    if let Some(input) = outcome.updated_input.as_ref().filter(|_| plan.decision < Decision::Deny) {
        rewrite(host, row, event, &mut plan, input, outcome.decision);
    }
    add_context(host, row, &mut plan, &contexts);
    if row.way(Answer::Message) == Way::Stderr {
        plan.notes.append(&mut plan.messages);
    }
    plan
}

fn plan_reason(outcome: &Outcome) -> String {
    text(outcome.reason.as_deref()).unwrap_or("a hook objects to this result").to_owned()
}

fn text(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}

fn reason(event: EventName, outcome: &Outcome) -> String {
    let continue_with = outcome.continue_with.as_deref().filter(|_| event.is_stop());
    let given = text(continue_with).or_else(|| text(outcome.reason.as_deref()));
    given.map_or_else(
        || {
            match (event, outcome.decision) {
                (_, Decision::Halt) => "A hook ended this turn.",
                (_, Decision::Ask) => "A hook wants a person to decide this.",
                (EventName::Stop | EventName::SubagentStop, _) => "A hook wants the work to go on.",
                (EventName::UserPromptSubmit, _) => "A hook refused this prompt.",
                (EventName::PreCompact, _) => "A hook refused this compaction.",
                _ => "A hook denied this call.",
            }
            .to_owned()
        },
        str::to_owned,
    )
}

/// Turns a decision into one that the host honours.
fn decide(host: Host, row: &Row, event: &Event, plan: &mut Plan, decision: Decision) {
    let answer = match decision {
        Decision::Allow => return plan.decision = Decision::Allow,
        Decision::Grant => Answer::Grant,
        Decision::Ask => Answer::Ask,
        Decision::Deny => Answer::Deny,
        Decision::Halt => Answer::Halt,
    };
    let title = host.title();
    match row.way(answer) {
        Way::Honoured => plan.decision = decision,
        Way::Denied => {
            plan.decision = Decision::Deny;
            plan.reason = match decision {
                Decision::Ask => format!(
                    "{}\n(A hook wants a person to decide this. {title} cannot ask one here, so it is denied.)",
                    plan.reason
                ),
                _ => plan.reason.clone(),
            };
        }
        Way::Ends => {
            plan.decision = Decision::Halt;
            plan.reason = format!("{}\n({title} cannot refuse only this, so the turn ends.)", plan.reason);
        }
        Way::Held => {
            let can_deny = row.way(Answer::Deny) == Way::Honoured && !row.event.is_stop();
            // The ledger holds it by the session's name; without one there is nothing to hold it by.
            plan.reason = if event.session_id.is_some() {
                format!(
                    "{}\n(This turn is over: until the person's next prompt everything else is denied too. Stop here.)",
                    plan.reason
                )
            } else {
                format!("{}\n(This turn is over. Stop here.)", plan.reason)
            };
            if can_deny {
                plan.decision = Decision::Deny;
            } else {
                plan.messages.push(plan.reason.clone());
            }
        }
        Way::Cannot => plan.messages.push(format!("{}\n({title} cannot be kept from it.)", plan.reason)),
        // A grant that is not honoured leaves the agent's own rules.
        _ if decision == Decision::Grant => {}
        _ => plan.messages.push(plan.reason.clone()),
    }
}

fn rewrite(host: Host, row: &Row, event: &Event, plan: &mut Plan, input: &Object, decision: Decision) {
    let refuse = |plan: &mut Plan, why: &str| {
        plan.decision = Decision::Deny;
        plan.reason = format!("A hook rewrote this call, and {} {why}, so it is denied.", host.title());
    };
    if let Err(why) = rewritable(host, event, input) {
        return refuse(plan, why);
    }
    let input = with_purpose(host, event, input);
    match row.way(Answer::Rewrite) {
        Way::Honoured => plan.rewrite = Some(input),
        Way::WithGrant if plan.decision == Decision::Grant => plan.rewrite = Some(input),
        Way::Confirmed => {
            let asks_nobody = event.text("permission_mode") == Some("bypassPermissions");
            plan.rewrite = Some(input);
            if decision == Decision::Allow {
                if asks_nobody {
                    plan.decision = Decision::Grant;
                } else {
                    plan.decision = Decision::Ask;
                    plan.reason = "A hook rewrote this call.".to_owned();
                }
            }
        }
        _ => refuse(plan, "cannot be told so here"),
    }
}

/// Whether the host would really run this input.
fn rewritable(host: Host, event: &Event, input: &Object) -> Result<(), &'static str> {
    let Some(tool) = &event.tool else { return Ok(()) };
    if event.flag(INPUT_WAS_TEXT) == Some(true) {
        return Err("sent its arguments as a text, so how it takes a rewrite is not known");
    }
    match host {
        Host::Codex if matches!(tool.kind, Kind::Shell | Kind::BackgroundShell | Kind::Patch) => {
            let has_command = input.get("command").is_some_and(serde_json::Value::is_string);
            if has_command { Ok(()) } else { Err("takes a rewrite of this tool only with a `command`") }
        }
        // What a hook answers is laid over the model's own arguments: a key cannot be taken away.
        Host::Gemini => {
            let mut keys = tool.input.iter().flat_map(Object::keys);
            let keeps = keys.all(|key| input.contains_key(key) || Some(key.as_str()) == purpose(tool.kind));
            if keeps { Ok(()) } else { Err("cannot take an argument away from a call") }
        }
        _ => Ok(()),
    }
}

/// The argument of Gemini CLI's own tools that only says in words what a call is for. Hooks that were written for other
/// agents do not know it. A server's tool may mean something by the same name.
fn purpose(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Shell | Kind::BackgroundShell => Some("description"),
        Kind::Edit => Some("instruction"),
        _ => None,
    }
}

/// A rewrite with other words about the call where the hook gave none: Gemini CLI takes no edit without them, and it goes
/// by the model's when an edit does not fit.
fn with_purpose(host: Host, event: &Event, input: &Object) -> Object {
    let mut input = input.clone();
    if let (Host::Gemini, Some(tool)) = (host, &event.tool)
        && let Some(key) = purpose(tool.kind).filter(|key| !input.contains_key(*key))
        && tool.input.as_ref().is_some_and(|given| given.contains_key(key))
    {
        input.insert(key.to_owned(), "A hook rewrote this call.".into());
    }
    input
}

fn add_feedback(row: &Row, plan: &mut Plan, contexts: &mut Vec<String>, feedback: String, replaces: bool) {
    let answer = if replaces { Answer::Replace } else { Answer::Feedback };
    match row.way(answer) {
        Way::Honoured if replaces => plan.replace = Some(feedback),
        Way::Honoured => plan.feedback = Some(feedback),
        Way::Beside if row.way(Answer::Feedback) == Way::Honoured => plan.feedback = Some(feedback),
        Way::Beside | Way::Later => contexts.insert(0, feedback),
        _ => plan.messages.push(feedback),
    }
}

fn add_context(host: Host, row: &Row, plan: &mut Plan, contexts: &[String]) {
    let contexts: Vec<&str> = contexts.iter().filter_map(|context| text(Some(context))).collect();
    if contexts.is_empty() {
        return;
    }
    let joined = contexts.join("\n\n");
    let objects = plan.decision >= Decision::Deny;
    match row.way(Answer::Context) {
        Way::Honoured => plan.context = Some(joined),
        // A text that Becket makes the agent go on with is known again by its hash: nothing is added to it.
        Way::Later if !objects || row.event.is_stop() => plan.context = Some(joined),
        Way::Later | Way::WithReason if objects => plan.reason = format!("{}\n\n{joined}", plan.reason),
        _ => plan.messages.push(format!(
            "A hook has something for the model that {} cannot be told here:\n{joined}",
            host.title()
        )),
    }
}
