//! What lasts between events: facts, how they add up, and the rules that hang on them.
//!
//! A session is kept as a list of facts that is only ever added to, so that events that come at once lose nothing
//! and a kill at any moment costs at most the line being written. [`Facts`] is what they add up to.
//!
//! What they tell of begins and ends with something:
//!
//! | belongs to | what | ends with |
//! |---|---|---|
//! | the name | the workspace, how many tasks there were | never |
//! | the session | prompts, what was told, units that the host names, what dialects hold | its end |
//! | an agent's turn | how often it was continued, continuations under way | its next prompt, a stop that no hook objects to |
//! | the person's turn | that it was halted | the person's next prompt |
//! | a call | that it was blocked, that it is open | its end, and the next call of its name |
//!
//! A subagent's prompts, stops and end are its own: they begin and end nothing of the session's turn, nor of another subagent.

mod counter;

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::counter::{Counter, Counts};
use crate::dialect::{Bound, Name, Then};
use crate::event::{Event, EventError, EventName};
use crate::json::Object;
use crate::merge::Voice;
use crate::outcome::Decision;
use crate::stored;

/// Version of the form of a line. All earlier ones are read too.
pub const VERSION: u32 = 2;

/// The key of what is only added to: see [`Fact::Kept`].
pub const FIRST: &str = "first";

/// Most keys of told notices that are remembered; beyond that the first are told again.
const MOST_TOLD: usize = 2_000;

/// Most blocked calls that are remembered: a host reports the end of one soon or never.
const MOST_BLOCKED: usize = 500;

/// Most calls that are held open; the oldest goes first.
const MOST_OPEN: usize = 32;

/// Most continuations that are known again when they come back as prompts; the oldest goes first. Many hosts never report
/// them as such.
const MOST_UNDER_WAY: usize = 500;

/// One thing that happened in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The session's first event, which fixes its workspace.
    Began {
        /// Absolute.
        workspace: Utf8PathBuf,
    },
    /// A person's prompt: a new turn of the session's own agent.
    Prompted,
    /// The session ended. If it goes on under its name, that is a new start.
    Ended,
    /// A stop was denied: the agent's turn goes on.
    Continued {
        /// The counters that go up by one, all of the agent that goes on.
        counters: Vec<Counter>,
        /// SHA-256 of the text the agent goes on with, to know it again if it comes back as a prompt.
        with: String,
    },
    /// An agent's turn is over: at a stop that no hook objected to, and with a subagent's next prompt or its end.
    Rested {
        /// The agent's. It starts again, with those of dialects for the same turn.
        counter: Counter,
    },
    /// A continuation is no longer under way: it came back as a prompt, or the agent's stop was let go after all.
    Used {
        /// The subagent whose it was; `None` for the session's own agent.
        agent: Option<String>,
        /// As in [`Fact::Continued`]; `None` for all of that agent's.
        with: Option<String>,
    },
    /// A person was told something.
    Told {
        /// [`crate::dialect::Notice::key`].
        key: String,
    },
    /// A gate blocked a tool call.
    Blocked {
        /// The host's name for the call.
        call: String,
    },
    /// A blocked call ended, or another call of its name began that no gate blocked: some hosts call all of them the same.
    Unblocked {
        /// The host's name for the call.
        call: String,
    },
    /// A dialect holds something fast. Of an object, what stands under [`FIRST`] is added to what is held there
    /// already, and never replaces it: two events at once that each hold something then lose nothing. That it let go of
    /// what it held is remembered as null, which is not the same as never having held anything.
    Kept {
        /// Whose.
        dialect: Name,
        /// What; null lets it go.
        #[serde(deserialize_with = "stored::value")]
        value: Value,
    },
    /// A call was let through whose end its host will never report.
    Opened {
        /// The call.
        call: Box<OpenCall>,
    },
    /// That call counts as ended.
    Closed {
        /// [`OpenCall::id`].
        id: String,
    },
    /// A hook ended the turn where its host cannot: nothing more of it is let through.
    Halted {
        /// The hook's own text.
        reason: String,
        /// The turn is the one that the next prompt begins.
        next_turn: bool,
    },
    /// All facts so far, added up.
    Sum(Box<Facts>),
}

/// A call whose end its host will never report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The host's name for the call.
    pub id: String,
    /// The subagent that made it; `None` for the session's own agent.
    pub agent: Option<String>,
    /// The envelope it was reported in, with the input that ran.
    #[serde(deserialize_with = "stored::object")]
    pub fields: Object,
}

impl OpenCall {
    /// Whether `event` shows that the call is over: whoever made it does something else, or comes to an end.
    pub fn is_over_at(&self, event: &Event) -> bool {
        // A question about this very call comes before it runs.
        let input = event.tool.as_ref().and_then(|tool| tool.input.as_ref());
        let is_asked_about = event.name == EventName::PermissionRequest
            && input == self.fields.get("tool_input").and_then(Value::as_object);
        if is_asked_about {
            return false;
        }
        let is_sessions = event.subagent().is_none();
        self.agent.as_deref() == event.subagent()
            || (is_sessions && matches!(event.name, EventName::Stop | EventName::SessionEnd))
    }

    /// The end of the call, as its host would have reported it: without a result, which nobody knows.
    ///
    /// # Errors
    /// The envelope no longer makes an event.
    pub fn end(mut self) -> Result<Event, EventError> {
        self.fields.insert("hook_event_name".to_owned(), EventName::PostToolUse.as_str().into());
        Event::from_fields(self.fields, Some(EventName::PostToolUse))
    }
}

/// A turn that a hook ended and its host did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halted {
    /// The hook's own text.
    pub reason: String,
    /// The turn is the one that the next prompt begins.
    pub next_turn: bool,
}

/// A continuation that has not come back as a prompt yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnderWay {
    /// The subagent that was told to go on; `None` for the session's own agent.
    pub agent: Option<String>,
    /// SHA-256 of the text it was told to go on with.
    pub with: String,
}

/// What a session's facts add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Whether the session is remembered at all; an event without a session stands alone.
    pub remembered: bool,
    /// Where its work is, fixed by its first event.
    pub workspace: Option<Utf8PathBuf>,
    /// How many prompts of the person's it saw since it began.
    pub prompts: u64,
    /// How many tasks its earlier starts had.
    pub earlier: u64,
    /// How often stops were denied, in each agent's turn and in each unit that the host names.
    pub continued: Counts,
    /// What agents were told to go on with, and have not been seen to.
    pub under_way: Vec<UnderWay>,
    /// What a person was told already.
    pub told: BTreeSet<String>,
    /// Tool calls that a gate blocked, by the host's names.
    pub blocked: BTreeSet<String>,
    /// What dialects hold fast; null where one let go of it.
    #[serde(deserialize_with = "stored::by_dialect")]
    pub kept: BTreeMap<Name, Value>,
    /// Calls whose end will never be reported.
    pub open: Vec<OpenCall>,
    /// The turn was ended by a hook and goes on all the same.
    pub halted: Option<Halted>,
}

impl Facts {
    /// Adds a fact.
    pub fn add(&mut self, fact: Fact) {
        match fact {
            Fact::Began { workspace } => {
                self.workspace.get_or_insert(workspace);
            }
            Fact::Prompted => {
                self.prompts += 1;
                self.start_turn(None);
                self.halted = None;
            }
            Fact::Ended => *self = self.begun_again(),
            Fact::Continued { counters, with } => {
                if let Some(counter) = counters.first() {
                    if self.under_way.len() >= MOST_UNDER_WAY {
                        self.under_way.remove(0);
                    }
                    self.under_way.push(UnderWay { agent: counter.agent.clone(), with });
                }
                for counter in counters {
                    self.continued.count(counter);
                }
            }
            Fact::Rested { counter } => self.start_turn(counter.agent.as_deref()),
            Fact::Used { agent, with: None } => self.under_way.retain(|one| one.agent != agent),
            Fact::Used { agent, with: Some(with) } => {
                let used = UnderWay { agent, with };
                if let Some(at) = self.under_way.iter().position(|one| *one == used) {
                    self.under_way.remove(at);
                }
            }
            Fact::Told { key } => {
                if self.told.len() >= MOST_TOLD {
                    self.told.clear();
                }
                self.told.insert(key);
            }
            Fact::Blocked { call } => {
                if self.blocked.len() >= MOST_BLOCKED {
                    self.blocked.clear();
                }
                self.blocked.insert(call);
            }
            Fact::Unblocked { call } => {
                self.blocked.remove(&call);
            }
            Fact::Kept { dialect, value } => self.keep(dialect, value),
            Fact::Opened { call } => {
                if self.open.len() >= MOST_OPEN {
                    self.open.remove(0);
                }
                self.open.push(*call);
            }
            Fact::Closed { id } => self.open.retain(|call| call.id != id),
            Fact::Halted { reason, next_turn } => self.halted = Some(Halted { reason, next_turn }),
            Fact::Sum(facts) => *self = *facts,
        }
    }

    /// What is left of a session that ended: where its work is, and that tasks went before.
    fn begun_again(&self) -> Self {
        // What happens before the next prompt is of no earlier task.
        let tasks = if self.prompts > 0 { self.prompts + 1 } else { 0 };
        Self {
            remembered: self.remembered,
            workspace: self.workspace.clone(),
            earlier: self.earlier + tasks,
            ..Self::default()
        }
    }

    fn start_turn(&mut self, agent: Option<&str>) {
        self.continued.start_turn(agent);
        self.under_way.retain(|one| one.agent.as_deref() != agent);
    }

    fn is_under_way(&self, agent: Option<&str>) -> bool {
        self.under_way.iter().any(|one| one.agent.as_deref() == agent)
    }

    fn keep(&mut self, dialect: Name, mut value: Value) {
        let held = self.kept.remove(&dialect).and_then(|mut held| held.get_mut(FIRST).map(Value::take));
        if let (Some(Value::Object(held)), Some(Value::Object(new))) = (held, value.get_mut(FIRST)) {
            new.extend(held);
        }
        self.kept.insert(dialect, value);
    }

    /// Reads the lines of a session. A torn line, as a kill leaves it, is left out: it is the last, or whoever came next
    /// has closed it. What else could not be read is counted.
    pub fn read(lines: &str) -> (Self, Gaps) {
        let mut facts = Self { remembered: true, ..Self::default() };
        let mut gaps = Gaps::default();
        for line in lines.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            match serde_json::from_str::<Line>(line) {
                Ok(Line { v: ..=VERSION, fact }) => facts.add(fact),
                Ok(_) => gaps.newer += 1,
                Err(_) if is_newer(line) => gaps.newer += 1,
                Err(error) => gaps.unreadable += usize::from(!error.is_eof()),
            }
        }
        facts.remembered = true;
        if !gaps.is_none() {
            // Nobody knows who held something: none is taken for one who never did.
            for dialect in Name::EVERY {
                facts.kept.entry(dialect).or_insert(Value::Null);
            }
        }
        (facts, gaps)
    }

    /// Whether a prompt is a text with which Becket itself made whoever it is for go on.
    pub fn is_own_prompt(&self, event: &Event) -> bool {
        self.own_prompt(event).is_some()
    }

    fn own_prompt(&self, event: &Event) -> Option<&UnderWay> {
        let of_agent = |one: &&UnderWay| one.agent.as_deref() == event.subagent();
        let mut under_way = self.under_way.iter().filter(of_agent).peekable();
        // Most prompts come while nothing is under way.
        under_way.peek()?;
        let hash = crate::hash::of(event.text("prompt")?.trim().as_bytes());
        under_way.find(|one| one.with == hash)
    }

    /// Which of all tasks under the session's name this is; a prompt of the person's begins one.
    pub fn task(&self) -> u64 {
        self.earlier + self.prompts
    }

    /// Whether a gate blocked the call that the event tells of.
    pub fn is_blocked(&self, event: &Event) -> bool {
        let call = event.tool.as_ref().and_then(|tool| tool.call_id.as_ref());
        call.is_some_and(|call| self.blocked.contains(call))
    }

    /// How often one dialect's own bound was used already.
    pub fn bounded(&self, event: &Event, dialect: Name, bound: &Bound) -> u32 {
        self.continued.get(&Counter::turn(event.subagent()).of(dialect, bound))
    }

    /// How often this agent's turn was continued at its end already.
    pub fn continuations(&self, event: &Event) -> u32 {
        self.continued.get(&Counter::turn(event.subagent()))
    }
}

/// What of a session could not be read: then its facts are not all there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Lines of a newer form.
    pub newer: usize,
    /// Lines that are whole, and that nobody understands.
    pub unreadable: usize,
}

impl Gaps {
    /// Whether everything was read.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

#[derive(PartialEq, Serialize, Deserialize)]
struct Line {
    v: u32,
    fact: Fact,
}

fn is_newer(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Form {
        v: u32,
    }
    serde_json::from_str::<Form>(line).is_ok_and(|form| form.v > VERSION)
}

/// A fact as a line, its newline included; `None` if it would not read back as the same fact.
pub fn line(fact: &Fact) -> Option<String> {
    stored::line(&Line { v: VERSION, fact: fact.clone() })
}

/// Applies the session's rules to what the dialects said: notices are told once, and no stop is denied beyond its
/// bounds. Answers the facts that follow. Must be called with facts that nobody changes until they are stored.
pub fn settle(event: &Event, voices: &mut [Voice], facts: &Facts, stop_limit: u32) -> Vec<Fact> {
    let mut new = Vec::new();
    if event.name.is_stop() {
        bound_stop(event, voices, facts, stop_limit, &mut new);
    }
    let decision = decision(voices);
    let goes_on = event.name.is_stop() && decision == Decision::Deny;
    for voice in voices.iter_mut() {
        let is_new = |value: &Value| facts.kept.get(&voice.dialect) != Some(value);
        let kept = voice.said.keep.take().filter(|value| is_new(value) && !(goes_on && value.is_null()));
        new.extend(kept.map(|value| Fact::Kept { dialect: voice.dialect, value }));
    }
    // After what is held from it on: a kill between the two must not leave a prompt at which nothing was held.
    new.extend(prompted(event, facts));
    tell_once(voices, facts, &mut new);
    new.extend(blocked_call(event, decision >= Decision::Deny, facts));
    if event.name == EventName::SessionEnd {
        new.extend(ended(event, facts, !new.is_empty()));
    }
    new
}

/// The facts of an event that was denied unheard, because its turn was halted.
pub fn settle_held(event: &Event, facts: &Facts) -> Vec<Fact> {
    prompted(event, facts).into_iter().chain(blocked_call(event, true, facts)).collect()
}

/// What a prompt is: Becket's own, a subagent's, or the person's.
fn prompted(event: &Event, facts: &Facts) -> Option<Fact> {
    if event.name != EventName::UserPromptSubmit {
        return None;
    }
    match (facts.own_prompt(event), event.subagent()) {
        (Some(UnderWay { agent, with }), _) => {
            Some(Fact::Used { agent: agent.clone(), with: Some(with.clone()) })
        }
        (None, Some(agent)) => rested(Some(agent), facts),
        (None, None) => Some(Fact::Prompted),
    }
}

fn rested(agent: Option<&str>, facts: &Facts) -> Option<Fact> {
    let has_turn = facts.continued.has_turn(agent) || facts.is_under_way(agent);
    has_turn.then(|| Fact::Rested { counter: Counter::turn(agent) })
}

/// The end of a session, or of a subagent alone.
fn ended(event: &Event, facts: &Facts, adds: bool) -> Option<Fact> {
    match event.subagent() {
        Some(agent) => rested(Some(agent), facts),
        None => (adds || facts.begun_again() != *facts).then_some(Fact::Ended),
    }
}

/// What a tool event does to the mark of a blocked call of its name.
fn blocked_call(event: &Event, is_denied: bool, facts: &Facts) -> Option<Fact> {
    let call = event.tool.as_ref()?.call_id.as_ref()?;
    let is_marked = facts.blocked.contains(call);
    let call = call.clone();
    match event.name {
        EventName::PreToolUse | EventName::PermissionRequest if is_denied => {
            (!is_marked).then_some(Fact::Blocked { call })
        }
        // It may be about the call that was blocked.
        EventName::PermissionRequest => None,
        _ => is_marked.then_some(Fact::Unblocked { call }),
    }
}

/// The strictest.
fn decision(voices: &[Voice]) -> Decision {
    voices.iter().map(|voice| voice.said.decision).max().unwrap_or(Decision::Allow)
}

fn tell_once(voices: &mut [Voice], facts: &Facts, new: &mut Vec<Fact>) {
    let mut told = BTreeSet::new();
    for voice in voices {
        for notice in std::mem::take(&mut voice.said.notices) {
            if facts.told.contains(&notice.key) || !told.insert(notice.key.clone()) {
                continue;
            }
            voice.said.messages.push(notice.text);
            new.push(Fact::Told { key: notice.key });
        }
    }
}

fn bound_stop(event: &Event, voices: &mut [Voice], facts: &Facts, limit: u32, new: &mut Vec<Fact>) {
    let agent = event.subagent();
    let whole = Counter::turn(agent);
    let mut counters = Vec::new();
    let mut dropped = false;
    let is_full = facts.continued.get(&whole) >= limit;
    for voice in voices.iter_mut().filter(|voice| voice.said.decision == Decision::Deny) {
        let own = voice.said.bound.as_ref().map(|bound| (bound, whole.of(voice.dialect, bound)));
        let spent = own.as_ref().filter(|(bound, counter)| facts.continued.get(counter) >= bound.most);
        let spent = spent.map(|(bound, _)| bound.most);
        let halts = own.as_ref().is_some_and(|(bound, _)| bound.then == Then::Halt);
        match (spent, is_full) {
            // The turn was ended; nobody makes it go on.
            _ if facts.halted.is_some() => halt(voice),
            // A task that has not passed its checks has failed, whichever bound ends it.
            (Some(_), _) | (None, true) if halts => halt(voice),
            (Some(most), _) => {
                drop_denial(voice, most);
                dropped = true;
            }
            (None, true) => {
                drop_denial(voice, limit);
                dropped = true;
            }
            (None, false) => counters.extend(own.map(|(_, counter)| counter)),
        }
    }
    match decision(voices) {
        Decision::Deny => {
            counters.push(whole);
            let with = crate::merge::continue_with(voices).unwrap_or_default();
            new.push(Fact::Continued { counters, with: crate::hash::of(with.trim().as_bytes()) });
        }
        Decision::Allow | Decision::Grant | Decision::Ask if !dropped => new.extend(rested(agent, facts)),
        // It ends against a hook's will. What was counted stays: without a prompt nothing begins anew.
        _ if facts.is_under_way(agent) => {
            new.push(Fact::Used { agent: agent.map(str::to_owned), with: None });
        }
        _ => {}
    }
}

fn halt(voice: &mut Voice) {
    voice.said.decision = Decision::Halt;
    voice.said.continue_with = None;
}

fn drop_denial(voice: &mut Voice, most: u32) {
    let said = &mut voice.said;
    said.decision = Decision::Allow;
    said.continue_with = None;
    let own = said.at_bound.take().filter(|_| said.bound.as_ref().is_some_and(|bound| bound.most == most));
    if let Some(text) = own {
        said.messages.push(text);
        said.reason = None;
        return;
    }
    let times = if most == 1 { "once".to_owned() } else { format!("{most} times") };
    let why =
        said.reason.as_deref().map(|reason| format!(": {}", crate::text::line(reason))).unwrap_or_default();
    said.messages.push(format!(
        "{}: a hook still objects, but the turn was continued {times} already and ends now{why}",
        voice.dialect
    ));
    said.reason = None;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dialect::{Notice, Said};

    fn stop(envelope: &str) -> Event {
        Event::read(envelope.as_bytes(), None).unwrap()
    }

    fn objects(dialect: Name, most: u32) -> Voice {
        let bound = Some(Bound { most, unit: None, then: Then::LetEnd });
        let said = Said {
            decision: Decision::Deny,
            continue_with: Some("more".to_owned()),
            bound,
            ..Said::default()
        };
        Voice { dialect, said }
    }

    fn denials(facts: &mut Facts, rounds: usize, voice: &Voice, limit: u32) -> usize {
        let event = stop(r#"{"hook_event_name":"Stop"}"#);
        (0..rounds)
            .filter(|_| {
                let mut voices = [voice.clone()];
                for fact in settle(&event, &mut voices, facts, limit) {
                    facts.add(fact);
                }
                voices[0].said.decision == Decision::Deny
            })
            .count()
    }

    #[test]
    fn stops_are_bounded_by_the_dialect_and_by_the_whole() {
        assert_eq!(denials(&mut Facts::default(), 20, &objects(Name::Albedo, 8), 99), 8);
        assert_eq!(denials(&mut Facts::default(), 20, &objects(Name::Albedo, 8), 3), 3);
        let mut facts = Facts::default();
        assert_eq!(denials(&mut facts, 20, &objects(Name::Albedo, 8), 8), 8);
        facts.add(Fact::Prompted);
        assert_eq!(denials(&mut facts, 20, &objects(Name::Albedo, 8), 8), 8);
    }

    #[test]
    fn a_bound_that_halts_halts_whichever_bound_ends_it() {
        for (most, limit, denied) in [(0, 8, 0), (2, 8, 2), (10, 3, 3)] {
            let mut voice = objects(Name::Shadowcode, most);
            voice.said.bound = Some(Bound { most, unit: None, then: Then::Halt });
            let mut facts = Facts::default();
            assert_eq!(denials(&mut facts, denied, &voice, limit), denied);
            let mut last = [voice];
            settle(&stop(r#"{"hook_event_name":"Stop"}"#), &mut last, &facts, limit);
            assert_eq!(
                (last[0].said.decision, last[0].said.continue_with.as_deref()),
                (Decision::Halt, None)
            );
        }
    }

    #[test]
    fn a_turn_that_rests_starts_counting_again_and_subagents_count_apart() {
        let mut facts = Facts::default();
        assert_eq!(denials(&mut facts, 3, &objects(Name::Albedo, 8), 8), 3);
        let agent = stop(r#"{"hook_event_name":"SubagentStop","agent_id":"a"}"#);
        assert_eq!(facts.continuations(&agent), 0);
        let quiet = Voice { dialect: Name::Albedo, said: Said::default() };
        assert_eq!(denials(&mut facts, 1, &quiet, 8), 0);
        assert_eq!(facts.continuations(&stop(r#"{"hook_event_name":"Stop"}"#)), 0);
    }

    #[test]
    fn a_prompt_that_becket_caused_starts_no_turn() {
        let mut facts = Facts::default();
        denials(&mut facts, 1, &objects(Name::Albedo, 8), 8);
        let own = stop(r#"{"hook_event_name":"UserPromptSubmit","prompt":"more"}"#);
        let [used] = &settle(&own, &mut [], &facts, 8)[..] else { panic!() };
        assert!(matches!(used, Fact::Used { agent: None, with: Some(_) }));
        let person = stop(r#"{"hook_event_name":"UserPromptSubmit","prompt":"else"}"#);
        assert_eq!(settle(&person, &mut [], &facts, 8), [Fact::Prompted]);
    }

    /// Applies an event, with what one hook says to it, and answers what came of that.
    fn apply(facts: &mut Facts, event: &Event, said: Said) -> Decision {
        let mut voices = [Voice { dialect: Name::Celeste, said }];
        for fact in settle(event, &mut voices, facts, 8) {
            facts.add(fact);
        }
        voices[0].said.decision
    }

    fn of(event: &str, agent: Option<&str>, prompt: &str) -> Event {
        let mut fields = serde_json::json!({"hook_event_name": event, "prompt": prompt});
        fields["agent_id"] = agent.into();
        stop(&fields.to_string())
    }

    fn stop_of(agent: Option<&str>) -> Event {
        of(if agent.is_some() { "SubagentStop" } else { "Stop" }, agent, "")
    }

    fn goes_on_with(text: &str, most: u32, unit: Option<&str>) -> Said {
        let bound = Some(Bound { most, unit: unit.map(str::to_owned), then: Then::LetEnd });
        Said { decision: Decision::Deny, continue_with: Some(text.to_owned()), bound, ..Said::default() }
    }

    /// What agents do, in any order.
    #[derive(Debug, Clone)]
    enum Deed {
        /// Somebody stops, and a hook objects or not.
        Stop(usize, bool),
        /// One of the continuations under way comes back.
        Continue(prop::sample::Index),
        /// Somebody is prompted, with the text of a continuation that may be under way or not.
        Prompt(usize, u8),
        /// Somebody comes to an end, with the session or without.
        End(usize),
    }

    const AGENTS: [Option<&str>; 5] = [None, Some("a"), Some("a/celeste"), Some("a%2Fceleste"), Some("turn")];

    fn deed(prompts: bool) -> impl Strategy<Value = Deed> {
        let agent = 0..AGENTS.len();
        prop_oneof![
            6 => (agent.clone(), prop::bool::weighted(0.95)).prop_map(|(agent, objects)| Deed::Stop(agent, objects)),
            6 => any::<prop::sample::Index>().prop_map(Deed::Continue),
            u32::from(prompts) => (agent, 0..3_u8).prop_map(|(agent, text)| Deed::Prompt(agent, text)),
            u32::from(prompts) => (1..AGENTS.len()).prop_map(Deed::End),
        ]
    }

    proptest! {
        /// Each agent's bounds hold within each of its turns, whatever the others do meanwhile.
        #[test]
        fn each_agents_bounds_hold_in_any_order(
            deeds in prop::collection::vec(deed(true), 0..400), most in 0..10_u32,
        ) {
            let mut facts = Facts::default();
            let mut continued = [0; AGENTS.len()];
            let mut under_way: Vec<(usize, String)> = Vec::new();
            let mut prompts = 0;
            for deed in deeds {
                match deed {
                    Deed::Stop(at, objects) => {
                        // Several are told to go on with the same text, and one agent with several.
                        let text = format!("text {}", continued[at] % 3);
                        let said = if objects { goes_on_with(&text, most, None) } else { Said::default() };
                        if apply(&mut facts, &stop_of(AGENTS[at]), said) == Decision::Deny {
                            continued[at] += 1;
                            under_way.push((at, text));
                        } else {
                            prop_assert!(!objects || continued[at] == most.min(8));
                            under_way.retain(|(agent, _)| *agent != at);
                            continued[at] *= u32::from(objects);
                        }
                    }
                    Deed::Continue(index) if !under_way.is_empty() => {
                        let (at, text) = under_way.remove(index.index(under_way.len()));
                        let event = of("UserPromptSubmit", AGENTS[at], &text);
                        prop_assert!(facts.is_own_prompt(&event));
                        apply(&mut facts, &event, Said::default());
                    }
                    Deed::Continue(_) => {}
                    Deed::Prompt(at, text) => {
                        let text = format!("text {text}");
                        let event = of("UserPromptSubmit", AGENTS[at], &text);
                        let own = under_way.iter().position(|one| *one == (at, text.clone()));
                        prop_assert_eq!(facts.is_own_prompt(&event), own.is_some());
                        if let Some(own) = own {
                            under_way.remove(own);
                        } else {
                            under_way.retain(|(agent, _)| *agent != at);
                            continued[at] = 0;
                            prompts += u64::from(at == 0);
                        }
                        apply(&mut facts, &event, Said::default());
                    }
                    Deed::End(at) => {
                        under_way.retain(|(agent, _)| *agent != at);
                        continued[at] = 0;
                        apply(&mut facts, &of("SessionEnd", AGENTS[at], ""), Said::default());
                    }
                }
                prop_assert!(continued.iter().all(|times| *times <= most.min(8)));
                prop_assert_eq!(facts.prompts, prompts);
                for (agent, times) in AGENTS.iter().zip(continued) {
                    prop_assert_eq!(facts.continuations(&stop_of(*agent)), times);
                }
            }
            prop_assert_eq!(read_back(&Fact::Sum(Box::new(facts.clone()))), Facts { remembered: true, ..facts });
        }

        /// Where nobody but hooks makes anybody go on, everybody comes to an end.
        #[test]
        fn what_only_hooks_keep_going_ends(deeds in prop::collection::vec(deed(false), 0..1_000)) {
            let mut facts = Facts::default();
            let mut denied = 0;
            let mut under_way: Vec<(usize, String)> = Vec::new();
            for deed in deeds {
                match deed {
                    Deed::Stop(at, _) => {
                        let text = format!("text {}", denied % 2);
                        if apply(&mut facts, &stop_of(AGENTS[at]), goes_on_with(&text, 8, None)) == Decision::Deny {
                            denied += 1;
                            under_way.push((at, text));
                        } else {
                            under_way.retain(|(agent, _)| *agent != at);
                        }
                    }
                    Deed::Continue(index) if !under_way.is_empty() => {
                        let (at, text) = under_way.remove(index.index(under_way.len()));
                        apply(&mut facts, &of("UserPromptSubmit", AGENTS[at], &text), Said::default());
                    }
                    _ => {}
                }
            }
            prop_assert!(denied <= 8 * AGENTS.len());
        }
    }

    #[test]
    fn a_continuation_counts_once_and_only_while_it_is_under_way() {
        let prompt = of("UserPromptSubmit", None, " more\n");
        for (objects, halted) in [(true, false), (false, false), (true, true)] {
            let mut facts = Facts::default();
            let again = || goes_on_with("more", 1, None);
            assert_eq!(apply(&mut facts, &stop_of(None), again()), Decision::Deny);
            assert!(facts.is_own_prompt(&prompt));
            if halted {
                facts.add(Fact::Halted { reason: "r".to_owned(), next_turn: false });
            }
            let said = if objects { again() } else { Said::default() };
            let came = apply(&mut facts, &stop_of(None), said);
            assert_eq!(came, if halted { Decision::Halt } else { Decision::Allow });
            assert!(!facts.is_own_prompt(&prompt), "the turn is over");
            assert_eq!(facts.continuations(&stop_of(None)), u32::from(objects));
        }
        let mut facts = Facts::default();
        for _ in 0..2 {
            apply(&mut facts, &stop_of(None), goes_on_with("more", 8, None));
        }
        for _ in 0..2 {
            assert!(facts.is_own_prompt(&prompt));
            apply(&mut facts, &prompt, Said::default());
        }
        assert!(!facts.is_own_prompt(&prompt));
        apply(&mut facts, &prompt, Said::default());
        assert_eq!((facts.prompts, facts.continuations(&stop_of(None))), (1, 0));
    }

    #[test]
    fn a_unit_that_the_host_names_lasts_as_long_as_the_session() {
        let mut facts = Facts::default();
        let stops = |facts: &mut Facts, agent, unit| {
            apply(facts, &stop_of(agent), goes_on_with("more", 1, Some(unit)))
        };
        for agent in [None, Some("a")] {
            assert_eq!(stops(&mut facts, agent, "run-7"), Decision::Deny);
            assert_eq!(stops(&mut facts, agent, "run-8"), Decision::Deny);
            for between in
                [stop_of(agent), of("UserPromptSubmit", agent, "x"), of("SessionEnd", Some("a"), "")]
            {
                apply(&mut facts, &between, Said::default());
                assert_eq!(stops(&mut facts, agent, "run-7"), Decision::Allow);
            }
        }
        apply(&mut facts, &of("SessionEnd", None, ""), Said::default());
        assert_eq!(stops(&mut facts, None, "run-7"), Decision::Deny);
    }

    #[test]
    fn a_session_that_ended_begins_with_its_workspace_alone() {
        let facts = |facts: &mut Facts| {
            facts.add(Fact::Began { workspace: "/w".into() });
            for _ in 0..3 {
                facts.add(Fact::Prompted);
            }
            facts.add(Fact::Told { key: "k".to_owned() });
            facts.add(Fact::Blocked { call: "c".to_owned() });
            facts.add(Fact::Kept { dialect: Name::Celeste, value: Value::Null });
            facts.add(Fact::Halted { reason: "r".to_owned(), next_turn: true });
            apply(facts, &stop_of(None), goes_on_with("more", 8, Some("u")));
        };
        let mut ended = Facts::default();
        facts(&mut ended);
        let tasks = ended.task();
        apply(&mut ended, &of("SessionEnd", None, ""), Said::default());
        let left = Facts { workspace: Some("/w".into()), earlier: ended.earlier, ..Facts::default() };
        assert_eq!(ended, left);
        assert!(ended.task() > tasks);
        assert_eq!(settle(&of("SessionEnd", None, ""), &mut [], &ended, 8), [], "there is nothing to end");
    }

    #[test]
    fn a_blocked_call_is_one_until_it_ends_or_another_begins() {
        let call = |event: &str, id: &str| {
            stop(&format!(
                r#"{{"hook_event_name":"{event}","tool_name":"Bash","tool_input":{{"command":"ls"}},"tool_use_id":"{id}"}}"#
            ))
        };
        for (event, stays) in [
            ("PreToolUse", false),
            ("PermissionRequest", true),
            ("PostToolUse", false),
            ("PostToolUseFailure", false),
        ] {
            let mut facts = Facts::default();
            apply(&mut facts, &call("PreToolUse", "c"), goes_on_with("", 1, None));
            let event = call(event, "c");
            assert!(facts.is_blocked(&event));
            apply(&mut facts, &call("PreToolUse", "d"), Said::default());
            assert!(facts.is_blocked(&event), "it is another call");
            apply(&mut facts, &event, Said::default());
            assert_eq!(facts.is_blocked(&event), stays);
        }
        let held = settle_held(&call("PreToolUse", "c"), &Facts::default());
        assert_eq!(held, [Fact::Blocked { call: "c".to_owned() }]);
    }

    #[test]
    fn what_is_let_go_at_a_stop_is_so_if_the_turn_ends_with_it() {
        let held = Fact::Kept { dialect: Name::Celeste, value: true.into() };
        for (objects, left) in [(true, Value::Bool(true)), (false, Value::Null)] {
            let mut facts = Facts::default();
            facts.add(held.clone());
            let said = Said { keep: Some(Value::Null), ..Said::default() };
            let mut voices = [Voice { dialect: Name::Celeste, said }, objects_if(objects)];
            for fact in settle(&stop_of(None), &mut voices, &facts, 8) {
                facts.add(fact);
            }
            assert_eq!(facts.kept[&Name::Celeste], left);
        }
    }

    fn objects_if(objects_too: bool) -> Voice {
        let quiet = Voice { dialect: Name::Albedo, said: Said::default() };
        if objects_too { objects(Name::Albedo, 8) } else { quiet }
    }

    #[test]
    fn lines_of_the_first_form_are_read() {
        let lines = [
            r#"{"v":1,"fact":"prompted"}"#,
            r#"{"v":1,"fact":{"continued":{"counters":["turn/albedo","turn"],"with":"h"}}}"#,
            r#"{"v":1,"fact":{"continued":{"counters":["subagent a/albedo","subagent a"],"with":"i"}}}"#,
            r#"{"v":1,"fact":{"rested":{"counter":"subagent a"}}}"#,
            "",
        ];
        let (facts, gaps) = Facts::read(&lines.join("\n"));
        assert_eq!((facts.prompts, gaps), (1, Gaps::default()));
        assert_eq!(facts.under_way, [UnderWay { agent: None, with: "h".to_owned() }]);
        assert_eq!((facts.continuations(&stop_of(None)), facts.continuations(&stop_of(Some("a")))), (1, 0));
        let sum = r#"{"v":1,"fact":{"sum":{"remembered":true,"prompts":4,"continued":{"turn":2},"continued_with":"h"}}}"#;
        let (facts, gaps) = Facts::read(&format!("{sum}\n"));
        assert_eq!((facts.task(), facts.continuations(&stop_of(None)), gaps), (4, 2, Gaps::default()));
    }

    #[test]
    fn where_lines_are_missing_nobody_is_known_to_have_held_nothing() {
        let prompted = line(&Fact::Prompted).unwrap();
        assert!(Facts::read(&prompted).0.kept.is_empty());
        assert_eq!(Facts::read(&format!("rubbish\n{prompted}")).0.kept[&Name::Shadowcode], Value::Null);
    }

    #[test]
    fn an_open_call_is_over_when_its_own_agent_goes_on() {
        let fields = stop(
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"c","agent_id":"a"}"#,
        )
        .fields;
        let call = OpenCall { id: "c".to_owned(), agent: Some("a".to_owned()), fields };
        let mut facts = Facts::default();
        facts.add(Fact::Opened { call: Box::new(call.clone()) });
        assert_eq!(facts.open.len(), 1);
        assert!(!call.is_over_at(&stop(r#"{"hook_event_name":"Notification"}"#)));
        assert!(call.is_over_at(&stop(r#"{"hook_event_name":"SubagentStop","agent_id":"a"}"#)));
        assert!(call.is_over_at(&stop(r#"{"hook_event_name":"SessionEnd"}"#)));
        for other in ["Stop", "SessionEnd", "SubagentStop"] {
            let of = format!(r#"{{"hook_event_name":"{other}","agent_id":"b"}}"#);
            assert!(!call.is_over_at(&stop(&of)), "another's end is nobody else's");
        }
        let end = call.end().unwrap();
        assert_eq!((end.name, end.tool.unwrap().call_id.as_deref()), (EventName::PostToolUse, Some("c")));
        facts.add(Fact::Closed { id: "c".to_owned() });
        assert_eq!(facts.open, []);
    }

    #[test]
    fn a_halt_that_the_host_did_not_follow_lasts_until_the_next_prompt() {
        let mut facts = Facts::default();
        facts.add(Fact::Halted { reason: "r".to_owned(), next_turn: false });
        assert!(facts.halted.is_some());
        facts.add(Fact::Prompted);
        assert_eq!(facts.halted, None);
    }

    #[test]
    fn notices_are_told_once() {
        let notice = Notice { key: "k".to_owned(), text: "t".to_owned() };
        let voice = Voice {
            dialect: Name::Albedo,
            said: Said { notices: vec![notice.clone(), notice], ..Said::default() },
        };
        let event = stop(r#"{"hook_event_name":"SessionStart"}"#);
        let mut facts = Facts::default();
        let mut first = [voice.clone()];
        for fact in settle(&event, &mut first, &facts, 8) {
            facts.add(fact);
        }
        let mut second = [voice];
        settle(&event, &mut second, &facts, 8);
        assert_eq!((first[0].said.messages.len(), second[0].said.messages.len()), (1, 0));
    }

    #[test]
    fn what_is_held_first_stays_and_is_added_to() {
        let kept = |value: Value| Fact::Kept { dialect: Name::Celeste, value };
        let mut facts = Facts::default();
        facts.add(kept(serde_json::json!({"first": {"a": 1, "b": 1}})));
        facts.add(kept(serde_json::json!({"first": {"b": 2, "c": 2}})));
        assert_eq!(facts.kept[&Name::Celeste], serde_json::json!({"first": {"a": 1, "b": 1, "c": 2}}));
        facts.add(kept(serde_json::json!({"n": 1})));
        assert_eq!(facts.kept[&Name::Celeste], serde_json::json!({"n": 1}));
        facts.add(kept(Value::Null));
        assert_eq!(facts.kept[&Name::Celeste], Value::Null);
    }

    #[test]
    fn a_torn_or_newer_line_loses_only_itself() {
        let mut lines: String =
            [Fact::Prompted, Fact::Told { key: "k".to_owned() }].iter().filter_map(line).collect();
        lines.push_str("{\"v\":9,\"fact\":\"unheard\"}\nrubbish\n{\"v\":1,\"fact\":\"prom");
        let (facts, gaps) = Facts::read(&lines);
        assert_eq!((facts.prompts, facts.told.len(), gaps), (1, 1, Gaps { newer: 1, unreadable: 1 }));
    }

    #[test]
    fn a_line_torn_anywhere_and_closed_later_is_no_gap() {
        let call = OpenCall { id: "c".to_owned(), agent: None, fields: fields(r#"{"a":[1.5,"\u00e9"]}"#) };
        let whole = line(&Fact::Opened { call: Box::new(call) }).unwrap();
        for end in (0..whole.len() - 1).filter(|end| whole.is_char_boundary(*end)) {
            let (facts, gaps) = Facts::read(&format!("{}\n{whole}", &whole[..end]));
            assert_eq!((facts.open.len(), gaps), (1, Gaps::default()), "{}", &whole[..end]);
        }
    }

    #[test]
    fn a_sum_reads_back_as_the_facts_it_sums() {
        let mut facts = Facts { remembered: true, ..Facts::default() };
        facts.add(Fact::Began { workspace: "/w".into() });
        facts.add(Fact::Kept { dialect: Name::Celeste, value: serde_json::json!({"n": 1.10}) });
        denials(&mut facts, 2, &objects(Name::Albedo, 8), 8);
        assert_eq!(read_back(&Fact::Sum(Box::new(facts.clone()))), facts);
    }

    fn fields(text: &str) -> Object {
        crate::json::parse_object(text.as_bytes()).unwrap()
    }

    fn read_back(fact: &Fact) -> Facts {
        let (facts, gaps) = Facts::read(&line(fact).unwrap());
        assert!(gaps.is_none());
        facts
    }

    /// JSON that is accepted, with what readers trip over: depth, numbers' digits, keys that `serde_json` means something by.
    fn foreign() -> impl Strategy<Value = String> {
        let key = prop_oneof![
            Just("$serde_json::private::Number"),
            Just("$serde_json::private::RawValue"),
            Just("\\u0024serde_json::private::Number"),
            Just("a"),
            Just("v"),
            Just("fact"),
        ];
        let leaf = prop_oneof![
            Just("\"1e5\"".to_owned()),
            Just("\"{\"".to_owned()),
            Just("\"\\u0031\"".to_owned()),
            Just("1.10".to_owned()),
            Just("-12345678901234567890123e+400".to_owned()),
            Just("null".to_owned()),
            Just("true".to_owned()),
        ];
        leaf.prop_recursive(110, 200, 3, move |inner| {
            prop_oneof![
                (key.clone(), inner.clone()).prop_map(|(key, value)| format!("{{\"{key}\":{value}}}")),
                (key.clone(), inner.clone())
                    .prop_map(|(key, value)| format!("{{\"{key}\":{value},\"z\":0}}")),
                prop::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_reads_back_from_its_facts_and_their_sum(
            inner in foreign(), levels in 0..crate::json::MOST_SENT,
        ) {
            let deep = format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels));
            let envelope = format!(
                r#"{{"hook_event_name":"PreToolUse","tool_name":"X","tool_use_id":"c","tool_input":{{"x":{deep}}},"y":{deep}}}"#
            );
            let Ok(event) = Event::read(envelope.as_bytes(), None) else { return Ok(()) };
            let call = OpenCall { id: "c".to_owned(), agent: None, fields: event.fields.clone() };
            let mut facts = Facts { remembered: true, ..Facts::default() };
            let opened = Fact::Opened { call: Box::new(call.clone()) };
            let kept = Fact::Kept { dialect: Name::Celeste, value: event.fields["y"].clone() };
            let one = read_back(&opened).open;
            prop_assert_eq!(one, [call]);
            for fact in [opened, kept] {
                facts.add(fact);
            }
            prop_assert_eq!(read_back(&Fact::Sum(Box::new(facts.clone()))), facts);
        }
    }

    #[test]
    fn the_deepest_that_is_accepted_reads_back() {
        let nested =
            |levels: usize| format!("{{\"x\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        let most = crate::json::MOST_SENT;
        assert!(crate::json::parse_object(nested(most + 1).as_bytes()).is_err());
        // An agent may hand an input over as a text, which is read to the same depth and then stands one level deeper.
        let mut fields = fields(&nested(most));
        fields.insert("tool_input".to_owned(), fields.clone().into());
        let mut facts = Facts { remembered: true, ..Facts::default() };
        facts.add(Fact::Opened { call: Box::new(OpenCall { id: "c".to_owned(), agent: None, fields }) });
        assert_eq!(read_back(&Fact::Sum(Box::new(facts.clone()))), facts);
    }

    #[test]
    fn what_would_not_read_back_is_no_line() {
        let deep = (0..127).fold(Value::Null, |value, _| serde_json::json!([value]));
        assert_eq!(line(&Fact::Kept { dialect: Name::Celeste, value: deep }), None);
    }
}
