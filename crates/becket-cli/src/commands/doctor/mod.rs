//! `becket doctor`: whether agents obey. Nothing is changed.

mod codex;
mod run;

use std::process::Command;

use crate::exit::ExitCode;
use std::time::{Duration, Instant};

use becket::core::text;
use becket::others;
use becket_hosts::Host;
use becket_hosts::answer::is_denial;
use becket_hosts::install::{self, edit};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::Result;
use super::hook::CANARY;
use super::install::{Places, list, named, next_steps};
use crate::args::Common;
use crate::output;

/// How long an agent may take to say its version.
const VERSION_TIME: Duration = Duration::from_secs(20);

/// How long the canary may take.
const CANARY_TIME: Duration = Duration::from_secs(60);

/// What was found about one thing.
struct Check {
    what: &'static str,
    finding: Finding,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Finding {
    Good,
    /// To be known, or to be done by the person.
    Note,
    Bad,
}

impl Finding {
    fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Bad => "bad",
        }
    }
}

pub(crate) fn run(common: &Common, hosts: &[String], project: bool) -> Result {
    let places = Places::of(common, project)?;
    let wanted = named(hosts)?;
    let mut reports = Vec::new();
    for host in Host::ALL {
        let files = files(host, &places, project);
        let is_wanted = if wanted.is_empty() {
            files
                .iter()
                .any(|file| file.1.as_deref().is_some_and(|text| !install::installed(host, text).is_empty()))
        } else {
            wanted.contains(&host)
        };
        if is_wanted {
            reports.push((host, examine(host, &places, &files)));
        }
    }
    let is_bad = reports.iter().any(|(_, checks)| checks.iter().any(|check| check.finding == Finding::Bad));
    if common.json {
        output::json(&json!({ "hosts": reports.iter().map(report_json).collect::<Vec<_>>() }), true)?;
    } else {
        output::print(&page(&reports))?;
    }
    Ok(if is_bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn report_json((host, checks): &(Host, Vec<Check>)) -> Value {
    let checks: Vec<Value> = checks
        .iter()
        .map(|check| json!({ "check": check.what, "finding": check.finding.as_str(), "text": check.text }))
        .collect();
    json!({ "host": host.as_str(), "checks": checks })
}

fn page(reports: &[(Host, Vec<Check>)]) -> String {
    let mut page = String::new();
    if reports.is_empty() {
        page.push_str("becket is plugged into no agent. Try `becket install codex`.\n");
    }
    for (host, checks) in reports {
        page.push_str(host.title());
        page.push('\n');
        for check in checks {
            let mark = match check.finding {
                Finding::Good => "ok   ",
                Finding::Note => "note ",
                Finding::Bad => "BAD  ",
            };
            list(&mut page, mark, &format!("{}: {}", check.what, check.text));
        }
    }
    page
}

type FileRead = (Utf8PathBuf, Option<Vec<u8>>, Option<String>);

/// The agent's files, the person's and perhaps the project's, with what stands in them or why that cannot be told.
fn files(host: Host, places: &Places, project: bool) -> Vec<FileRead> {
    let scopes: &[bool] = if project { &[false, true] } else { &[false] };
    scopes
        .iter()
        .map(|is_project| {
            let path = places.file(host, *is_project);
            match others::read(&path, edit::LIMIT) {
                Ok(text) => (path, text, None),
                Err(error) => (path, None, Some(error.to_string())),
            }
        })
        .collect()
}

fn examine(host: Host, places: &Places, files: &[FileRead]) -> Vec<Check> {
    let mut checks = vec![version(host, places)];
    let mut found = 0;
    for (path, bytes, error) in files {
        let shown = text::line(path.as_str()).into_owned();
        let say = |what, finding, text| Check { what, finding, text };
        if let Some(error) = error {
            checks.push(say("entry", Finding::Bad, error.clone()));
            continue;
        }
        let Some(bytes) = bytes else { continue };
        let lines = install::installed(host, bytes);
        if lines.is_empty() {
            continue;
        }
        found += 1;
        let is_whole = install::plugged(host, Some(bytes), places.line())
            .is_ok_and(|text| text.as_bytes() == bytes.as_slice());
        checks.push(if is_whole {
            say("entry", Finding::Good, format!("in {shown}, for every event"))
        } else {
            let text = format!(
                "{shown} has other entries than this becket would write; `becket install {host}` renews them"
            );
            say("entry", Finding::Note, text)
        });
        if let Some(why) = install::switched_off(host, bytes) {
            checks.push(say("switch", Finding::Bad, why));
        }
        checks.push(trust(host, places, path, lines.len()));
        checks.push(canary(host, places, &lines));
    }
    if found > 1 {
        let text =
            "plugged in for you and for the project: events other than tool calls run every hook twice";
        checks.push(Check { what: "entry", finding: Finding::Bad, text: text.to_owned() });
    }
    if found == 0 {
        checks.push(Check {
            what: "entry",
            finding: Finding::Bad,
            text: format!("not plugged in; `becket install {host}` does it"),
        });
    }
    checks
}

fn version(host: Host, places: &Places) -> Check {
    let verified = host.verified();
    let say = |finding, text| Check { what: "version", finding, text };
    let mut command = Command::new(host.as_str());
    command.arg("--version").current_dir(places.project());
    let Ok(ran) = run::to_its_end(command, b"", VERSION_TIME) else {
        return say(Finding::Note, format!("no program `{host}` was found, or it did not say its version"));
    };
    let said = ran.stdout + &ran.stderr;
    let number = said
        .split(|character: char| character.is_whitespace() || character == 'v')
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.'));
    match number {
        Some(number) if number == verified.version => {
            say(Finding::Good, format!("{number}, which becket was checked against"))
        }
        Some(number) => say(
            Finding::Note,
            format!(
                "{}; becket was checked against {} on {}: the call below that must be denied is the proof",
                text::line(number),
                verified.version,
                verified.date
            ),
        ),
        None => say(Finding::Note, format!("`{host} --version` names none")),
    }
}

fn trust(host: Host, places: &Places, path: &Utf8Path, entries: usize) -> Check {
    match host {
        Host::Codex => codex::trust(places, path, entries),
        _ => Check { what: "trust", finding: Finding::Note, text: next_steps(host, false).trim().to_owned() },
    }
}

/// Runs the installed command as the agent would, with a call that must be denied.
fn canary(host: Host, places: &Places, lines: &[(String, String)]) -> Check {
    let say = |finding, text: String| Check { what: "denial", finding, text };
    let native = host.row(becket::EventName::PreToolUse).map_or("", |row| row.native);
    let Some((_, line)) = lines.iter().find(|(event, _)| event == native) else {
        return say(Finding::Bad, format!("there is no entry under {native}"));
    };
    let payload = payload(host, places.project()).to_string();
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(places.project());
    let began = Instant::now();
    match run::to_its_end(command, payload.as_bytes(), CANARY_TIME) {
        Err(error) => say(Finding::Bad, format!("the installed command cannot be run: {error}")),
        Ok(words) if is_denial(host, &words) => {
            let time = began.elapsed().as_secs_f64() * 1000.0;
            say(
                Finding::Good,
                format!("a call that must be denied was, by the installed command, in {time:.0} ms"),
            )
        }
        Ok(words) => {
            let said = text::line(text::bounded(words.stderr.trim(), 400).as_ref()).into_owned();
            say(
                Finding::Bad,
                format!(
                    "the installed command did not deny a call that must be denied (exit code {}): {said}",
                    words.exit
                ),
            )
        }
    }
}

/// A shell call as the agent reports it.
fn payload(host: Host, directory: &Utf8Path) -> Value {
    let input = json!({ "command": CANARY });
    match host {
        Host::Opencode => json!({
            "becket": 1, "hook": "tool.execute.before", "directory": directory,
            "input": { "tool": "bash", "sessionID": "", "callID": "canary" }, "output": { "args": input },
        }),
        Host::Gemini => json!({
            "cwd": directory, "hook_event_name": "BeforeTool", "tool_name": "run_shell_command",
            "tool_input": input,
        }),
        Host::Claude | Host::Codex => json!({
            "cwd": directory, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input,
        }),
    }
}
