//! `becket hook`: what the line that `install` wrote calls. Whatever happens, the agent gets an answer, and at a gate
//! one that holds.

use crate::exit::ExitCode;
use std::ffi::OsString;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr as _;
use std::time::{Duration, Instant};

use becket::core::outcome::Decision;
use becket::core::tool::Kind;
use becket::{Caller, Cancel, Event, EventName, LastWords, Request};
use becket_hosts::Host;
use becket_hosts::answer::{self, Words};
use becket_hosts::decode::{Beside, Decoded, Heard, decode};
use becket_hosts::install::HOME_VARIABLES;
use becket_hosts::loss::{Answer, Way, last_moment};

use super::{Result, engine_in};
use crate::args::{Common, Hook};
use crate::input;
use crate::output::{self, CommandError};

/// The command with which `doctor` proves that a denial arrives. It exists nowhere, and is denied always.
pub(super) const CANARY: &str = "becket-doctor-canary";

/// Why it is denied: by this `doctor` tells that denial from every other.
pub(super) const CANARY_REASON: &str = "becket: this is the call that must be denied, and it is";

pub(crate) fn run(common: &Common, options: &Hook) -> Result {
    let began = Instant::now();
    // Exit code 2 is the refusal that all agents understand.
    let host = match Host::from_str(&options.host) {
        Ok(host) => host,
        Err(error) => {
            output::error(&CommandError::new(error));
            return Ok(ExitCode::from(2));
        }
    };
    let beside = options.event.as_deref().and_then(|name| EventName::from_str(name).ok());
    set_last_words(host, beside, options.deadline);
    let judged = catch_unwind(AssertUnwindSafe(|| judge(common, options, host, beside, began)));
    let words = match judged {
        Ok(Ok(words)) => words,
        Ok(Err((event, error))) => answer::refuse(host, event.or(beside), &error.to_string()),
        Err(_) => answer::refuse(host, beside, "it broke while it judged this event"),
    };
    becket::forget_last_words();
    Ok(say(&words))
}

/// Has the event refused, whatever becomes of this process: an agent that gets no answer in its time, or sees its hook end
/// by a signal, whoever sent it, goes on.
fn set_last_words(host: Host, event: Option<EventName>, deadline: Option<u64>) {
    let why = "it came to no verdict: it was ended, its time or its memory was used up, or it broke";
    let words = answer::refuse(host, event, why);
    let words = LastWords {
        stdout: words.stdout.into_bytes(),
        stderr: words.stderr.into_bytes(),
        exit: words.exit,
        exit_unheard: words.exit_unheard,
    };
    let deadline = deadline.or_else(|| Some(host.row(event?)?.deadline().into()));
    becket::set_last_words(words, deadline.map(last_moment));
}

/// Whether a line that could not be understood stands under an event that asks for nothing.
pub(crate) fn tells(mut arguments: impl Iterator<Item = OsString>) -> bool {
    let event = arguments.find(|argument| argument == "--event").and_then(|_| arguments.next());
    event.and_then(|name| EventName::from_str(name.to_str()?).ok()).is_some_and(|event| !event.is_gate())
}

fn say(words: &Words) -> ExitCode {
    if !words.stderr.is_empty() {
        output::note(words.stderr.trim_end());
    }
    if output::say(&words.stdout) {
        return ExitCode::from(words.exit);
    }
    // The words are lost, but a refusal still stands in the exit code; agents want a reason with it.
    if words.exit_unheard == 2 {
        output::note("becket: what hooks answered could not be written to stdout, so this is refused");
    }
    ExitCode::from(words.exit_unheard)
}

type Failed = (Option<EventName>, CommandError);

fn judge(
    common: &Common,
    options: &Hook,
    host: Host,
    event: Option<EventName>,
    began: Instant,
) -> std::result::Result<Words, Failed> {
    let patience = options.deadline.map_or(Duration::MAX, Duration::from_secs);
    let bytes = input::envelope_within(patience).map_err(|error| (None, error))?;
    let project = host.project_variable().and_then(|name| std::env::var(name).ok());
    let heard = match decode(host, &bytes, Beside { event, project: project.as_deref() }) {
        Ok(heard) => heard,
        Err(error) => return Ok(error.words()),
    };
    let Heard::Event(decoded) = heard else { return Ok(answer::nothing()) };
    fire(common, options, host, &decoded, began).map_err(|error| (Some(decoded.event.name), error))
}

fn fire(common: &Common, options: &Hook, host: Host, decoded: &Decoded, began: Instant) -> Result<Words> {
    let engine = engine_in(common, environment(options)?, false)?;
    // An agent that was killed waits for no verdict, and its hook must not stay behind until its deadline.
    let cancel =
        Cancel::new().and_then(|cancel| cancel.or_unread(io::stdout())).map_err(CommandError::new)?;
    let event = &decoded.event;
    let row = host.row(event.name);
    let patience = options.deadline.or(row.map(|row| row.deadline().into()));
    // Where a tool call was is the model's choice; the agent starts hooks where it works itself.
    let own = event.tool.is_some().then(|| std::env::current_dir().ok()).flatten();
    let own = own.and_then(|own| camino::Utf8PathBuf::from_path_buf(own).ok());
    let request = Request {
        event,
        workspace: common.workspace.as_deref(),
        mode: None,
        // More seconds than a clock can say are no deadline.
        deadline: patience.and_then(|seconds| began.checked_add(Duration::from_secs(seconds))),
        cancel: &cancel,
    };
    let caller = Caller {
        start: decoded.start.as_deref().or(own.as_deref()),
        call_id: decoded.call_id.as_deref(),
        is_unreported: decoded.is_unreported,
        can_halt: row.is_none_or(|row| row.way(Answer::Halt) != Way::Held),
    };
    let mut outcome = engine.fire_from(&request, &caller);
    if is_canary(event) {
        outcome.decision = Decision::Deny;
        outcome.reason = Some(CANARY_REASON.to_owned());
    }
    Ok(answer::encode(host, event, &outcome))
}

fn is_canary(event: &Event) -> bool {
    let tool = event.tool.as_ref().filter(|tool| tool.kind == Kind::Shell);
    event.name == EventName::PreToolUse
        && tool.and_then(|tool| tool.input.as_ref()?.get("command")?.as_str()) == Some(CANARY)
}

/// The environment with the homes that the line names, and no others.
fn environment(options: &Hook) -> Result<Vec<(OsString, OsString)>> {
    let home =
        options.home.as_ref().filter(|home| home.is_absolute()).ok_or_else(|| {
            CommandError::new("its line names no home; write it again with `becket install`")
        })?;
    // A home that is not there, perhaps not mounted, has hooks that nobody can see.
    if !home.is_dir() {
        return Err(CommandError::new(format!(
            "the home {} is not there",
            becket::core::text::line(home.as_str())
        )));
    }
    let mut environment: Vec<(OsString, OsString)> = std::env::vars_os()
        .filter(|(name, _)| name != "HOME" && HOME_VARIABLES.iter().all(|home| name != *home))
        .collect();
    environment.push(("HOME".into(), home.as_str().into()));
    for set in &options.set {
        match set.split_once('=') {
            Some((name, value)) if HOME_VARIABLES.contains(&name) => {
                if !value.starts_with('/') {
                    return Err(CommandError::new(format!(
                        "its line sets {name} to what is no absolute path; write it again with `becket install`"
                    )));
                }
                environment.push((name.into(), value.into()));
            }
            _ => return Err(CommandError::new("its line sets something that is no home")),
        }
    }
    Ok(environment)
}
