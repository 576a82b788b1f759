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
//! | an agent's turn | how often it was continued, continuations under way | its next prompt, a stop that no hook objects to; of a subagent also its next start, and the person's next prompt |
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
use crate::tool::ToolCall;

/// Version of the form of a line. All earlier ones are read too.
pub const VERSION: u32 = 2;

/// The key of what is only added to: see [`Fact::Kept`].
pub const FIRST: &str = "first";

/// Most keys of told notices that are remembered; beyond that the first are told again.
const MOST_TOLD: usize = 2_000;

/// Most marks of blocked calls that are remembered, two a call: a host reports the end of one soon or never.
const MOST_BLOCKED: usize = 1_000;

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
    /// An agent's turn is over: at a stop that no hook objected to, and with a subagent's next start or prompt or its end.
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
        /// The host's name for the call, alone or with what stands for what it does; without a name that alone.
        call: String,
    },
    /// A blocked call ended, or another call of its name began that no gate blocked: some hosts call all of them the same.
    Unblocked {
        /// As in [`Fact::Blocked`].
        call: String,
    },
    /// A dialect holds something fast. Of an object, what stands under [`FIRST`] is added to what is held there
    /// already, and never replaces it: two events at once that each hold something then lose nothing. Null lets go of it.
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

impl Fact {
    /// Whether it ends something of the session's own task.
    fn ends_task(&self) -> bool {
        match self {
            Self::Ended | Self::Kept { value: Value::Null, .. } | Self::Used { agent: None, with: None } => {
                true
            }
            Self::Rested { counter } => counter.agent.is_none(),
            _ => false,
        }
    }
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
    /// Tool calls that a gate blocked, as [`Fact::Blocked`] has them.
    pub blocked: BTreeSet<String>,
    /// What dialects hold fast.
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
                // Of subagents too: perhaps neither their names nor their starts are reported. What they were told to go on
                // with may still come back.
                self.continued.start_turns();
                self.under_way.retain(|one| one.agent.is_some());
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
            Fact::Kept { dialect, value: Value::Null } => {
                self.kept.remove(&dialect);
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
    pub fn blocked(&self, event: &Event) -> Blocked {
        // Most sessions have none: nothing is made out of the call then.
        let Some(call) = event.tool.as_ref().filter(|_| !self.blocked.is_empty()) else { return Blocked::No };
        let marks = marks(event, call);
        match (marks.iter().any(|mark| self.blocked.contains(mark)), marks.last()) {
            (true, Some(last)) if call.call_id.is_some() && self.blocked.contains(last) => Blocked::Surely,
            (true, _) => Blocked::Perhaps,
            (false, _) => Blocked::No,
        }
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

/// Whether a gate blocked a call whose end is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocked {
    /// None did.
    No,
    /// One of its name, by which some hosts call several; or one without a name that does the same.
    Perhaps,
    /// One of its name that does the same.
    Surely,
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
/// bounds. Answers the facts that follow. Must be called with facts that nobody changes until they are stored. `task` is the
/// [`Facts::task`] that the event met.
pub fn settle(event: &Event, voices: &mut [Voice], facts: &Facts, task: u64, stop_limit: u32) -> Vec<Fact> {
    let mut new = Vec::new();
    if event.name.is_stop() {
        bound_stop(event, voices, facts, stop_limit, &mut new);
    }
    let decision = decision(voices);
    let goes_on = event.name.is_stop() && decision == Decision::Deny;
    for voice in voices.iter_mut() {
        let is_new = |value: &Value| facts.kept.get(&voice.dialect).unwrap_or(&Value::Null) != value;
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
    if event.name == EventName::SubagentStart {
        new.extend(event.subagent().and_then(|agent| rested(Some(agent), facts)));
    }
    if facts.task() != task {
        // While hooks ran the person went on. What would end now has, and what has begun since is another's.
        new.retain(|fact| !fact.ends_task());
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

/// By what a blocked call is known again: the host's name for it, alone and with what it does, or, without a name, by what
/// it does alone. The last is the surest.
fn marks(event: &Event, call: &ToolCall) -> Vec<String> {
    let does = serde_json::to_vec(&(event.subagent(), &call.name, &call.input)).unwrap_or_default();
    let does = crate::hash::of(&does);
    match &call.call_id {
        Some(name) => vec![name.clone(), format!("{name} {does}")],
        None => vec![format!("unnamed {does}")],
    }
}

/// What a tool event does to the marks of a blocked call of its name.
fn blocked_call(event: &Event, is_denied: bool, facts: &Facts) -> Vec<Fact> {
    let Some(call) = &event.tool else { return Vec::new() };
    let is_blocked = is_denied && matches!(event.name, EventName::PreToolUse | EventName::PermissionRequest);
    if !is_blocked && facts.blocked.is_empty() {
        return Vec::new();
    }
    let marks = marks(event, call).into_iter();
    match event.name {
        _ if is_blocked => {
            let new = marks.filter(|mark| !facts.blocked.contains(mark));
            new.map(|call| Fact::Blocked { call }).collect()
        }
        // It may be about the call that was blocked.
        EventName::PermissionRequest => Vec::new(),
        _ => {
            let known = marks.filter(|mark| facts.blocked.contains(mark));
            known.map(|call| Fact::Unblocked { call }).collect()
        }
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
mod tests;
