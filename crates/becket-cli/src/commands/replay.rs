//! `becket replay`: recorded events through the hooks, as a timeline.

use crate::exit::ExitCode;
use std::fmt::Write as _;

use becket::core::outcome::{Run, Status};
use becket::core::text;
use becket::{Cancel, Decision, Event, Outcome, Request};
use camino::Utf8Path;

use super::{Result, engine};
use crate::args::Common;
use crate::input;
use crate::output::{self, CommandError};

/// Longest text of a hook that the timeline shows, in bytes.
const SHOWN: usize = 160;

pub(crate) fn run(common: &Common, file: &Utf8Path) -> Result {
    let bytes = input::file(file)?;
    let engine = engine(common, true)?;
    let cancel = Cancel::new().map_err(CommandError::new)?;
    let mut totals = Totals::default();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let event = match Event::read(line, None) {
            Ok(event) => event,
            Err(error) => {
                totals.unread += 1;
                output::note(&format!("becket: line {}: {error}; it was skipped", number + 1));
                continue;
            }
        };
        let workspace = common.workspace.as_deref();
        let outcome =
            engine.fire(&Request { event: &event, workspace, mode: None, deadline: None, cancel: &cancel });
        totals.add(&outcome);
        if common.json {
            output::json(&outcome, false)?;
        } else {
            output::print(&timeline(&event, &outcome))?;
        }
    }
    if !common.json {
        output::print(&totals.to_string())?;
    }
    Ok(if totals.unread == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What one event met.
fn timeline(event: &Event, outcome: &Outcome) -> String {
    let mut page = format!("{}{}\n", event.name, subject(event));
    for run in &outcome.runs {
        let _ = writeln!(page, "  {}", describe(run));
    }
    let _ = writeln!(page, "  => {}", verdict(outcome));
    if let Some(input) = &outcome.updated_input {
        let written = serde_json::to_string(input).unwrap_or_default();
        let _ = writeln!(page, "     runs instead: {}", shown(&written));
    }
    for context in &outcome.additional_context {
        let _ = writeln!(page, "     context: {}", shown(context));
    }
    for message in &outcome.messages {
        let _ = writeln!(page, "     {}", text::line(message));
    }
    page
}

fn subject(event: &Event) -> String {
    if let Some(tool) = &event.tool {
        let input = tool.input.as_ref();
        let first = input.and_then(|input| input.values().find_map(|value| value.as_str()));
        return format!("  {} {}", text::line(&tool.name), first.map(shown).unwrap_or_default());
    }
    let said = event.text("prompt").or_else(|| event.text("last_assistant_message"));
    said.map(|said| format!("  {}", shown(said))).unwrap_or_default()
}

fn describe(run: &Run) -> String {
    let status = match run.status {
        Status::Passed => "passed",
        Status::Blocked => "blocked",
        Status::Failed => "failed",
        Status::TimedOut => "timed out",
        Status::Cancelled => "cancelled",
        Status::Lost => "lost",
        Status::Skipped => "skipped",
    };
    let look = if run.look > 1 { " (second look)" } else { "" };
    let detail = if run.detail.is_empty() { String::new() } else { format!(": {}", shown(&run.detail)) };
    let name = run.name.as_deref().unwrap_or(&run.command);
    format!("{status:<9} {:>8.1} ms  {} {}{look}{detail}", run.duration_ms, run.dialect, shown(name))
}

fn verdict(outcome: &Outcome) -> String {
    let word = match (outcome.decision, outcome.event.is_stop(), &outcome.result) {
        (Decision::Allow, ..) => "go on",
        (Decision::Grant, ..) => "go on, no question needed",
        (Decision::Ask, ..) => "ask a person",
        (Decision::Deny, true, _) => "not done yet: the agent continues",
        (Decision::Deny, _, Some(_)) => "the result is marked",
        (Decision::Deny, ..) => "blocked",
        (Decision::Halt, ..) => "the turn ends",
    };
    let reason = outcome.reason.as_deref().map(|reason| format!(": {}", shown(reason))).unwrap_or_default();
    format!("{word}{reason}")
}

fn shown(said: &str) -> String {
    let first = said.trim().lines().next().unwrap_or_default();
    let cut = if said.trim().lines().count() > 1 { " …" } else { "" };
    format!("{}{cut}", text::line(&text::bounded(first, SHOWN)))
}

#[derive(Default)]
struct Totals {
    events: usize,
    runs: usize,
    blocked: usize,
    failed: usize,
    skipped: usize,
    unread: usize,
}

impl Totals {
    fn add(&mut self, outcome: &Outcome) {
        self.events += 1;
        for run in &outcome.runs {
            match run.status {
                Status::Skipped => self.skipped += 1,
                Status::Passed => self.runs += 1,
                Status::Blocked => {
                    self.runs += 1;
                    self.blocked += 1;
                }
                Status::Failed | Status::TimedOut | Status::Cancelled | Status::Lost => {
                    self.runs += 1;
                    self.failed += 1;
                }
            }
        }
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { events, runs, blocked, failed, skipped, unread } = self;
        write!(f, "\n{events} events, {runs} runs: {blocked} objected, {failed} failed, {skipped} skipped")?;
        if *unread > 0 {
            write!(f, "; {unread} lines could not be read")?;
        }
        writeln!(f)
    }
}
