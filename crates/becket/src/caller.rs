//! What is known of the agent that reports an event, beside the event: and what the engine does where the agent
//! cannot end a turn, or does not report the end of a call.

use becket_core::event::{Event, EventName};
use becket_core::outcome::{Decision, Outcome};
use becket_core::session::{self, Fact, OpenCall};
use camino::Utf8Path;

use crate::engine::{Engine, Request};
use crate::session::Session;

/// What is known of the agent that reports an event.
#[derive(Debug, Clone, Copy)]
pub struct Caller<'a> {
    /// Where the workspace of a session is looked for whose workspace is not known yet.
    pub start: Option<&'a Utf8Path>,
    /// The agent's name for this one call, which it gives to no other: the same call that is reported twice is judged
    /// once.
    pub call_id: Option<&'a str>,
    /// The agent will never report the end of this call.
    pub is_unreported: bool,
    /// The agent ends its turn when it is told to, at this event. Where it does not, everything that follows is halted
    /// until the person's next prompt.
    pub can_halt: bool,
}

impl Default for Caller<'_> {
    fn default() -> Self {
        Self { start: None, call_id: None, is_unreported: false, can_halt: true }
    }
}

impl Engine {
    /// Ends the calls that are over and of which the agent does not say so: their hooks run now.
    pub(crate) fn close_calls(
        &self,
        session: &Session<'_>,
        request: &Request<'_>,
        caller: &Caller<'_>,
    ) -> Vec<Outcome> {
        let event = request.event;
        let is_own_end = |call: &OpenCall| {
            event.name != EventName::PreToolUse
                && event.tool.as_ref().is_some_and(|tool| tool.call_id.as_ref() == Some(&call.id))
        };
        let is_again = |call: &OpenCall| {
            event.name == EventName::PreToolUse
                && event.tool.as_ref().is_some_and(|tool| tool.call_id.as_ref() == Some(&call.id))
        };
        let over = session.facts.open.iter().filter(|call| call.is_over_at(event) && !is_again(call));
        let mut ended = Vec::new();
        for call in over {
            let mut is_ours = false;
            // Events that come at once all see the open call; one of them ends it.
            let noted = session.note(|facts| {
                is_ours = facts.open.iter().any(|open| open.id == call.id);
                if is_ours { vec![Fact::Closed { id: call.id.clone() }] } else { Vec::new() }
            });
            // Where that is not remembered the call's hooks run again at the next event: rather twice than never.
            drop(noted);
            if !is_ours || is_own_end(call) {
                continue;
            }
            if let Ok(end) = call.clone().end() {
                let request = Request { event: &end, mode: request.mode, ..*request };
                ended.push(self.fire_from(&request, &Caller { start: caller.start, ..Caller::default() }));
            }
        }
        ended
    }

    /// Remembers what the agent will not: an open call, a turn that goes on though it was ended.
    pub(crate) fn remember(
        &self,
        request: &Request<'_>,
        caller: &Caller<'_>,
        outcome: &mut Outcome,
        was_halted: bool,
    ) {
        let event = request.event;
        if outcome.decision == Decision::Halt && !caller.can_halt && !was_halted {
            let reason = outcome.reason.clone().unwrap_or_else(|| "A hook ended this turn.".to_owned());
            let next_turn = event.name == EventName::SessionStart;
            let noted =
                Session::of(self, request, caller.start).note(|_| vec![Fact::Halted { reason, next_turn }]);
            outcome.messages.extend(noted.err().map(|why| {
                format!(
                    "becket: a hook ended this turn, but that could not be remembered, so what follows is not held: {why}"
                )
            }));
        }
        if caller.is_unreported
            && outcome.decision <= Decision::Allow
            && let Some(call) = opened(event, outcome)
        {
            let noted = Session::of(self, request, caller.start).note(|facts| {
                let is_known = facts.open.iter().any(|open| open.id == call.id);
                if is_known { Vec::new() } else { vec![Fact::Opened { call: Box::new(call) }] }
            });
            outcome.messages.extend(noted.err().map(|why| {
                format!("becket: this call could not be remembered, so no hook will judge its end: {why}")
            }));
        }
    }
}

/// The answer to an event of a turn that a hook has ended already.
pub(crate) fn held(session: &Session<'_>, event: &Event) -> Option<Outcome> {
    let halted = session.facts.halted.as_ref()?;
    if !event.name.is_gate() {
        return None;
    }
    let is_persons = event.name == EventName::UserPromptSubmit
        && event.subagent().is_none()
        && !session.facts.is_own_prompt(event);
    if is_persons && !halted.next_turn {
        return None;
    }
    // If it is the prompt that was to be held, the next one is a new turn. It is held all the same; where that is not
    // remembered, the next one is too.
    drop(session.note(|facts| session::settle_held(event, facts)));
    let mut outcome = Outcome::nothing(event.name);
    outcome.decision = Decision::Halt;
    outcome.reason = Some(halted.reason.clone());
    Some(outcome)
}

fn opened(event: &Event, outcome: &Outcome) -> Option<OpenCall> {
    let id = event.tool.as_ref()?.call_id.clone()?;
    let mut fields = event.fields.clone();
    if let Some(input) = &outcome.updated_input {
        fields.insert("tool_input".to_owned(), input.clone().into());
    }
    Some(OpenCall { id, agent: event.subagent().map(str::to_owned), fields })
}

/// Tells what became of calls that ended unreported, with the event that showed it.
pub(crate) fn add_ended(outcome: &mut Outcome, ended: Vec<Outcome>) {
    let mut contexts = Vec::new();
    let mut messages = Vec::new();
    let mut runs = Vec::new();
    for end in ended {
        if end.decision == Decision::Halt && outcome.decision < Decision::Halt {
            outcome.decision = Decision::Halt;
            outcome.reason.clone_from(&end.reason);
            outcome.continue_with = None;
            outcome.updated_input = None;
        }
        let objection = end
            .result
            .map(|result| result.feedback)
            .or_else(|| end.reason.filter(|_| end.decision == Decision::Deny));
        contexts.extend(objection.map(|text| format!("About the call before this one: {text}")));
        contexts.extend(end.additional_context);
        messages.extend(end.messages);
        runs.extend(end.runs);
    }
    outcome.additional_context.splice(0..0, contexts);
    outcome.messages.splice(0..0, messages);
    outcome.runs.splice(0..0, runs);
}
