//! What lasts between events: facts, how they add up, and the rules that hang on them.
//!
//! A session is kept as a list of facts that is only ever added to, so that events that come at once lose nothing
//! and a kill at any moment costs at most the line being written. [`Facts`] is what they add up to.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dialect::{Bound, Name, Then};
use crate::event::{Event, EventError, EventName};
use crate::json::Object;
use crate::merge::Voice;
use crate::outcome::Decision;
use crate::stored;

/// Version of the form of a line.
pub const VERSION: u32 = 1;

/// The key of what is only added to: see [`Fact::Kept`].
pub const FIRST: &str = "first";

/// Most keys of told notices that are remembered; beyond that the first are told again.
const MOST_TOLD: usize = 2_000;

/// Most blocked calls that are remembered: a host reports the end of one soon or never.
const MOST_BLOCKED: usize = 500;

/// Most calls that are held open; the oldest goes first.
const MOST_OPEN: usize = 32;

/// One thing that happened in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The session's first event, which fixes its workspace.
    Began {
        /// Absolute.
        workspace: Utf8PathBuf,
    },
    /// A person's prompt: a new turn.
    Prompted,
    /// The session ended. If it goes on under its name, that is a new start.
    Ended,
    /// A stop was denied: the turn goes on.
    Continued {
        /// The counters that go up by one.
        counters: Vec<String>,
        /// SHA-256 of the text the agent goes on with, to know it again if it comes back as a prompt.
        with: String,
    },
    /// A stop that no hook objected to: the turn is over.
    Rested {
        /// The counter that starts again, with all below it.
        counter: String,
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
    /// A dialect holds something fast. Of an object, what stands under [`FIRST`] is added to what is held there
    /// already, and never replaces it: two events at once that each hold something then lose nothing.
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
        self.agent.as_deref() == event.text("agent_id")
            || matches!(event.name, EventName::Stop | EventName::SessionEnd)
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

/// What a session's facts add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Whether the session is remembered at all; an event without a session stands alone.
    pub remembered: bool,
    /// Where its work is, fixed by its first event.
    pub workspace: Option<Utf8PathBuf>,
    /// How many prompts it saw.
    pub prompts: u64,
    /// How often a stop was denied since the last prompt, by counter.
    pub continued: BTreeMap<String, u32>,
    /// SHA-256 of the last text that the agent was told to go on with.
    pub continued_with: Option<String>,
    /// What a person was told already.
    pub told: BTreeSet<String>,
    /// Tool calls that a gate blocked, by the host's names.
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
                self.continued.clear();
                self.continued_with = None;
                self.halted = None;
            }
            Fact::Ended => {
                self.prompts = 0;
                self.continued.clear();
                self.continued_with = None;
                self.kept.clear();
            }
            Fact::Continued { counters, with } => {
                for counter in counters {
                    *self.continued.entry(counter).or_default() += 1;
                }
                self.continued_with = Some(with);
            }
            Fact::Rested { counter } => {
                self.continued.retain(|key, _| !is_below(key, &counter));
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
                Ok(Line { v: VERSION, fact }) => facts.add(fact),
                Ok(_) => gaps.newer += 1,
                Err(_) if is_newer(line) => gaps.newer += 1,
                Err(error) => gaps.unreadable += usize::from(!error.is_eof()),
            }
        }
        facts.remembered = true;
        (facts, gaps)
    }

    /// Whether a prompt is the text with which Becket itself made the agent go on.
    pub fn is_own_prompt(&self, prompt: &str) -> bool {
        self.continued_with.as_deref() == Some(crate::hash::of(prompt.trim().as_bytes()).as_str())
    }

    /// Whether a gate blocked the call that the event tells of.
    pub fn is_blocked(&self, event: &Event) -> bool {
        let call = event.tool.as_ref().and_then(|tool| tool.call_id.as_ref());
        call.is_some_and(|call| self.blocked.contains(call))
    }

    fn count(&self, counter: &str) -> u32 {
        self.continued.get(counter).copied().unwrap_or(0)
    }

    /// How often one dialect's own bound was used already.
    pub fn bounded(&self, event: &Event, dialect: Name, bound: &Bound) -> u32 {
        self.count(&bound_counter(&counter(event), dialect, bound))
    }

    /// How often this turn was continued at its end already.
    pub fn continuations(&self, event: &Event) -> u32 {
        self.count(&counter(event))
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

/// The counter of continuations that a stop belongs to: each subagent has one of its own.
fn counter(event: &Event) -> String {
    match event.name {
        EventName::SubagentStop => format!("subagent {}", event.text("agent_id").unwrap_or_default()),
        _ => "turn".to_owned(),
    }
}

/// The counter of one dialect's own bound, below the whole's.
fn bound_counter(whole: &str, dialect: Name, bound: &Bound) -> String {
    match &bound.unit {
        Some(unit) => format!("{whole}/{dialect}/{unit}"),
        None => format!("{whole}/{dialect}"),
    }
}

fn is_below(counter: &str, whole: &str) -> bool {
    counter.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Applies the session's rules to what the dialects said: notices are told once, and no stop is denied beyond its
/// bounds. Answers the facts that follow. Must be called with facts that nobody changes until they are stored.
pub fn settle(event: &Event, voices: &mut [Voice], facts: &Facts, stop_limit: u32) -> Vec<Fact> {
    let mut new = Vec::new();
    if event.name == EventName::UserPromptSubmit
        && !event.text("prompt").is_some_and(|prompt| facts.is_own_prompt(prompt))
    {
        new.push(Fact::Prompted);
    }
    for voice in voices.iter_mut() {
        let kept = voice.said.keep.take().filter(|value| facts.kept.get(&voice.dialect) != Some(value));
        new.extend(kept.map(|value| Fact::Kept { dialect: voice.dialect, value }));
    }
    tell_once(voices, facts, &mut new);
    if event.name == EventName::SessionEnd && (facts.prompts > 0 || !facts.kept.is_empty()) {
        new.push(Fact::Ended);
    }
    if matches!(event.name, EventName::PreToolUse | EventName::PermissionRequest)
        && voices.iter().any(|voice| voice.said.decision >= Decision::Deny)
        && let Some(call) = event.tool.as_ref().and_then(|tool| tool.call_id.clone())
        && !facts.blocked.contains(&call)
    {
        new.push(Fact::Blocked { call });
    }
    if event.name.is_stop() {
        bound_stop(event, voices, facts, stop_limit, &mut new);
    }
    new
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
    let whole = counter(event);
    let mut counters = Vec::new();
    let mut dropped = false;
    let is_full = facts.count(&whole) >= limit;
    for voice in voices.iter_mut().filter(|voice| voice.said.decision == Decision::Deny) {
        let own = voice.said.bound.as_ref().map(|bound| (bound, bound_counter(&whole, voice.dialect, bound)));
        let spent = own.as_ref().filter(|(bound, counter)| facts.count(counter) >= bound.most);
        let spent = spent.map(|(bound, _)| bound.most);
        let halts = own.as_ref().is_some_and(|(bound, _)| bound.then == Then::Halt);
        match (spent, is_full) {
            // A task that has not passed its checks has failed, whichever bound ends it.
            (Some(_), _) | (None, true) if halts => {
                voice.said.decision = Decision::Halt;
                voice.said.continue_with = None;
                dropped = true;
            }
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
    let decides = |decision| voices.iter().any(|voice| voice.said.decision == decision);
    if decides(Decision::Halt) {
        return;
    }
    if decides(Decision::Deny) {
        counters.push(whole);
        let with = crate::merge::continue_with(voices).unwrap_or_default();
        new.push(Fact::Continued { counters, with: crate::hash::of(with.trim().as_bytes()) });
    } else if !dropped && !facts.continued.is_empty() {
        new.push(Fact::Rested { counter: whole });
    }
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
        assert_eq!(settle(&own, &mut [], &facts, 8), []);
        let person = stop(r#"{"hook_event_name":"UserPromptSubmit","prompt":"else"}"#);
        assert_eq!(settle(&person, &mut [], &facts, 8), [Fact::Prompted]);
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
        assert!(facts.kept.is_empty());
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
