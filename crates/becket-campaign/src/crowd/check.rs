//! What must hold of a crowd.

use std::collections::BTreeMap;
use std::fs;

use becket::core::session::{Counter, Facts};
use becket_e2e::Error;
use serde_json::Value;

use super::event::{Event, Way};
use crate::figures::Figures;
use crate::journal::{Journal, names};
use crate::process::Ran;
use crate::stage::Stage;

const NONE: &str = "events without a verdict";
const WRONG: &str = "wrong verdicts";
const STOPS: &str = "sessions continued too often or too seldom";
const FACTS: &str = "facts of sessions lost";
const NOTICES: &str = "notices not given exactly once in their session";
const RECORDS: &str = "events without exactly one whole record in the journal";
const LINES: &str = "lines of the journal and of sessions that cannot be read";
const COMPLAINTS: &str = "events that could not remember or record";
pub(super) const LEFT: &str = "processes left";

/// What must never be counted.
pub(super) const FAULTS: &[&str] = &[NONE, WRONG, STOPS, FACTS, NOTICES, RECORDS, LINES, COMPLAINTS, LEFT];

/// How often a turn is continued at its end.
const CONTINUATIONS: usize = 8;

/// How a notice of a source ends that nobody has approved. Each session has calls that meet both.
const SKIPPED: [&str; 2] = [".grimoire was skipped", "/hooks.json were skipped"];

fn decision(event: &Event, ran: &Ran) -> Option<&'static str> {
    let said = ran.json();
    if event.way.is_in_codex() {
        let words = &said["hookSpecificOutput"];
        return match words["permissionDecision"].as_str() {
            Some("deny") => Some("deny"),
            None if ran.code == Some(0) && said.is_object() => Some("allow"),
            _ => None,
        };
    }
    match (ran.code, said["decision"].as_str()) {
        (Some(0), Some("allow")) => Some("allow"),
        (Some(2), Some("deny")) => Some("deny"),
        _ => None,
    }
}

/// Each event got the verdict that it would have got alone.
pub(super) fn verdicts(figures: &mut Figures, crowd: &[Event], ran: &[Ran]) {
    for (event, ran) in crowd.iter().zip(ran) {
        let words = || format!("{event:?}: {}", ran.words());
        match decision(event, ran) {
            None => figures.count(NONE, words),
            // Which of a session's stops come within its bound is told by `sessions`.
            Some(_) if event.way == Way::Stop => {}
            Some(decision) if (decision == "deny") != event.way.is_denied() => figures.count(WRONG, words),
            Some(_) if !names(&ran.stdout).contains(&event.number.into()) => figures.count(WRONG, words),
            Some(_) => {}
        }
        if ran.complains() {
            figures.count(COMPLAINTS, words);
        }
    }
}

/// What a session must know after its events.
#[derive(Default)]
struct Wanted {
    prompts: u64,
    blocked: Vec<String>,
    stops: usize,
    denied_stops: usize,
    calls: usize,
    notices: [usize; 2],
}

pub(super) fn sessions(
    figures: &mut Figures,
    stage: &Stage,
    crowd: &[Event],
    ran: &[Ran],
) -> Result<(), Error> {
    let mut sessions: BTreeMap<&str, Wanted> = BTreeMap::new();
    for (event, ran) in crowd.iter().zip(ran) {
        let wanted = sessions.entry(&event.session).or_default();
        wanted.prompts += u64::from(event.way == Way::Prompt);
        if event.way.is_denied() {
            wanted.blocked.push(event.call());
        }
        if event.way == Way::Stop {
            wanted.stops += 1;
            wanted.denied_stops += usize::from(decision(event, ran) == Some("deny"));
        }
        wanted.calls += usize::from(matches!(event.way, Way::Allowed | Way::AllowedInCodex));
        for (count, words) in wanted.notices.iter_mut().zip(SKIPPED) {
            *count += ran.stdout.matches(words).count();
        }
    }
    let mut found = 0;
    for (session, wanted) in &sessions {
        let key = becket::core::hash::of(format!("session {session}").as_bytes());
        let text = fs::read_to_string(stage.state().join(format!("sessions/{key}.jsonl")))?;
        let whole =
            |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|line| line["fact"] != Value::Null);
        let torn = text.lines().filter(|line| !whole(line)).count() + usize::from(!text.ends_with('\n'));
        for _ in 0..torn {
            figures.count(LINES, || format!("{session}: {text}"));
        }
        let (facts, gaps) = Facts::read(&text);
        let continued = facts.continued.get(&Counter::turn(None)) as usize;
        let lost = [
            wanted.prompts.abs_diff(facts.prompts),
            wanted.blocked.iter().filter(|call| !facts.blocked.contains(*call)).count() as u64,
            wanted.denied_stops.abs_diff(continued) as u64,
            u64::from(
                facts.workspace.as_deref() != Some(&stage.project())
                    && wanted.prompts + wanted.stops as u64 > 0,
            ),
            (gaps.newer + gaps.unreadable) as u64,
        ];
        for _ in 0..lost.iter().sum() {
            figures.count(FACTS, || format!("{session}: {lost:?}"));
        }
        found += facts.prompts + facts.blocked.len() as u64 + continued as u64 + facts.told.len() as u64;
        if wanted.denied_stops != wanted.stops.min(CONTINUATIONS) {
            figures.count(STOPS, || format!("{session}: {} of {}", wanted.denied_stops, wanted.stops));
        }
        for (count, words) in wanted.notices.iter().zip(SKIPPED) {
            if *count != usize::from(wanted.calls > 0) {
                figures.count(NOTICES, || format!("{session}: {words}: {count} times"));
            }
        }
    }
    figures.tell("facts of sessions found", found);
    Ok(())
}

/// The journal has one record for each event, and it says what the event was told.
pub(super) fn journal(
    figures: &mut Figures,
    stage: &Stage,
    crowd: &[Event],
    ran: &[Ran],
) -> Result<(), Error> {
    let journal = Journal::read(stage)?;
    for line in &journal.torn {
        figures.count(LINES, || line.clone());
    }
    // The decision of each event in each session, as it was told and as it was written down.
    let mut written: BTreeMap<String, u64> = BTreeMap::new();
    for fired in journal.fired.iter().filter(|fired| fired["session"] != "alone") {
        let key =
            format!("{} {} {}", fired["session"], fired["outcome"]["event"], fired["outcome"]["decision"]);
        *written.entry(key).or_default() += 1;
    }
    figures.tell("records of events in the journal", written.values().sum::<u64>());
    for (event, ran) in crowd.iter().zip(ran) {
        let decision = decision(event, ran).unwrap_or_default();
        let key = format!("{:?} {:?} {decision:?}", event.session, event.way.event());
        let is_there = written.get_mut(&key).is_some_and(|count| {
            let is_there = *count > 0;
            *count = count.saturating_sub(1);
            is_there
        });
        // Stops are not named in what they say.
        let times = if event.way == Way::Stop { 1 } else { journal.count(event.number.into()) };
        if !is_there || times != 1 {
            figures.count(RECORDS, || format!("{event:?}: {times}, {is_there}: {}", ran.words()));
        }
    }
    for (key, count) in written.iter().filter(|(_, count)| **count > 0) {
        figures.count(RECORDS, || format!("{count} too many: {key}"));
    }
    Ok(())
}
