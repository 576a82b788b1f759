//! One event's hooks, strictly one after the other: the first denial ends the chain, the first ask stays, every hook
//! sees the input that the one before it wrote, and their contexts add up.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use camino::Utf8Path;

use super::definitions::{Definition, Moment, Protocol};
use super::environment::Told;
use super::payload::{Call, cut};
use super::stop;
use super::v1::{self, Slot};
use super::v2::{self, Answer, Verdict};
use crate::dialect::{Bound, Captured, Command, End, Finished, Firing, Keep, Name, Said, Source, Then};
use crate::outcome::{Decision, Run, Status, signal_name};
use crate::text;

/// What is kept of stdout; one byte more ends the hook.
const STDOUT: usize = 1 << 20;

/// What is kept of stderr; the rest is drained and dropped.
const STDERR: usize = 64 << 10;

/// How long pipes are waited for that something else still holds.
const LINGER: Duration = Duration::from_secs(1);

/// Longest reason and longest text of a failure, in bytes.
const REASON_LIMIT: usize = 2 << 10;

/// Longest context of all hooks of an event together, in bytes.
const CONTEXT_LIMIT: usize = 8 << 10;

/// What one run came to.
enum Came {
    Answered(Answer),
    /// It ran and broke, or could not run.
    Failed(Status, String),
}

/// An event on its way through its hooks.
pub(super) struct Chain<'a> {
    firing: &'a Firing<'a>,
    call: Call<'a>,
    /// What the last hook was told, for the next one in the same directory.
    told: Option<&'a Command>,
    /// Whether this call does not fit into the environment; asked only where a v1 hook needs to know.
    has_omissions: Option<bool>,
    asked: Option<String>,
    denied: Option<String>,
    context: String,
    messages: Vec<String>,
    runs: Vec<Run>,
}

impl<'a> Chain<'a> {
    pub(super) fn new(firing: &'a Firing<'a>, moment: Moment) -> Self {
        Self {
            firing,
            call: Call::new(firing.event, moment, &firing.scope.workspace),
            told: None,
            has_omissions: None,
            asked: None,
            denied: None,
            context: String::new(),
            messages: Vec::new(),
            runs: Vec::new(),
        }
    }

    fn moment(&self) -> Moment {
        self.call.moment
    }

    /// Whether no further hook is asked.
    pub(super) fn is_over(&self) -> bool {
        self.denied.is_some()
    }

    /// A hook that does not run, and why.
    pub(super) fn skip(&mut self, source: &Source, hook: usize, why: &str) {
        let mut run = self.run(source, hook);
        run.detail = why.to_owned();
        self.runs.push(run);
    }

    /// What starts a hook.
    ///
    /// # Errors
    /// It cannot be started as it is defined: a failure of the hook.
    pub(super) fn command(
        &mut self,
        definition: &Definition,
        directory: &Utf8Path,
    ) -> Result<Command, String> {
        let script = match definition.protocol {
            Protocol::V2 => definition.command.clone(),
            Protocol::V1 => self.filled(definition, directory)?,
        };
        let (stdin, environment) = match self.told {
            Some(last) if last.directory == directory => (Arc::clone(&last.stdin), last.environment.clone()),
            _ => self.tell(directory),
        };
        Ok(Command {
            argv: vec!["sh".into(), "-c".into(), script.into()],
            directory: directory.to_owned(),
            environment,
            stdin,
            timeout: Duration::from_secs(definition.timeout.into()),
            grace: Duration::ZERO,
            linger: LINGER,
            stdout: Keep { head: STDOUT, tail: 0, over_ends: true },
            stderr: Keep { head: STDERR, tail: 0, over_ends: false },
        })
    }

    /// Whether a hook could be started, without making its command.
    ///
    /// # Errors
    /// As [`Chain::command`].
    pub(super) fn check(&mut self, definition: &Definition, directory: &Utf8Path) -> Result<(), String> {
        match definition.protocol {
            Protocol::V2 => Ok(()),
            Protocol::V1 => self.filled(definition, directory).map(drop),
        }
    }

    /// A v1 hook lives on its environment and its templates: half of them would be another call.
    fn filled(&mut self, definition: &Definition, directory: &Utf8Path) -> Result<String, String> {
        let call = &self.call;
        let omits = *self.has_omissions.get_or_insert_with(|| Told::of(call, directory).has_omissions);
        if omits {
            return Err(
                "the call does not fit into the environment (120 KiB a value, no NUL), and a v1 hook has \
                        nothing else to judge by: write it for protocol v2, which has the whole call on stdin"
                    .to_owned(),
            );
        }
        v1::expand(&definition.command, |slot| match slot {
            Slot::Workspace => call.workspace.as_str(),
            Slot::Tool => call.tool_name().unwrap_or_default(),
            Slot::Path => call.input_text("path"),
            Slot::Command => call.input_text("command"),
        })
    }

    fn tell(&self, directory: &Utf8Path) -> (Arc<Vec<u8>>, Vec<(OsString, OsString)>) {
        let environment = Told::of(&self.call, directory).environment(&self.firing.scope.environment);
        (self.call.stdin(directory).into(), environment)
    }

    /// A hook that could not be started as it is defined.
    pub(super) fn fail(&mut self, source: &Source, hook: usize, why: &str) {
        let mut run = self.run(source, hook);
        self.take_failure(source, &mut run, Status::Failed, why);
        self.runs.push(run);
    }

    /// A hook that has run.
    pub(super) fn take(&mut self, source: &Source, definition: &Definition, finished: &'a Finished) {
        let mut run = self.run(source, finished.job.hook);
        run.exit_code = match finished.end {
            End::Exited(code) => Some(code),
            _ => None,
        };
        run.duration_ms = (finished.duration.as_secs_f64() * 10_000.0).round() / 10.0;
        run.truncated = finished.stdout.is_cut() || finished.stderr.is_cut();
        self.told = Some(&finished.job.command);
        if let Some(directory) = &finished.moved_to {
            self.messages.push(format!(
                "{}: its directory is gone, so it ran in {}",
                self.named(source),
                text::line(directory)
            ));
        }
        match judge(finished, definition, self.moment()) {
            Came::Answered(answer) => self.take_answer(&mut run, answer),
            Came::Failed(status, why) => self.take_failure(source, &mut run, status, &why),
        }
        self.runs.push(run);
    }

    fn take_failure(&mut self, source: &Source, run: &mut Run, status: Status, why: &str) {
        let why = text::line(cut(why, REASON_LIMIT).0).into_owned();
        self.messages.push(format!("{} failed: {why}", self.named(source)));
        if self.moment().is_gate() {
            self.denied = Some(format!("hook failed: {why}"));
        }
        run.status = status;
        run.detail = why;
    }

    fn take_answer(&mut self, run: &mut Run, answer: Answer) {
        let Answer { verdict, reason, context, rewrite } = answer;
        run.status = Status::Passed;
        self.add_context(&context);
        let reason = cut(&reason, REASON_LIMIT).0.to_owned();
        match verdict {
            Verdict::Allow => {}
            Verdict::Deny if self.moment().decides() => {
                run.status = Status::Blocked;
                self.denied = Some(reason);
            }
            Verdict::Ask if self.moment().is_gate() => {
                run.status = Status::Blocked;
                "it wants a person to be asked".clone_into(&mut run.detail);
                self.asked.get_or_insert(reason);
            }
            Verdict::Ask | Verdict::Deny => {
                run.detail = format!("its decision was ignored: {} takes none of this kind", self.moment());
            }
        }
        if let (Some(rewrite), Moment::PreToolUse, None) = (rewrite, self.moment(), &self.denied)
            && self.firing.takes_rewrites()
        {
            self.denied = self.call.rewrite(&rewrite).err();
            self.told = None;
            self.has_omissions = None;
        }
    }

    fn add_context(&mut self, context: &str) {
        if context.is_empty() || self.context.len() > CONTEXT_LIMIT {
            return;
        }
        if !self.context.is_empty() {
            self.context.push('\n');
        }
        // One byte over the limit is enough to know that something is left out.
        self.context.push_str(&context[..context.floor_char_boundary(CONTEXT_LIMIT + 4)]);
    }

    fn named(&self, source: &Source) -> String {
        format!("celeste: {} hook from {}", self.moment(), text::quote(&source.path))
    }

    fn run(&self, source: &Source, hook: usize) -> Run {
        Run {
            dialect: Name::Celeste,
            source: source.path.clone(),
            index: hook,
            name: None,
            moment: self.moment().as_str().to_owned(),
            command: source.hooks[hook].command.clone(),
            look: self.firing.look,
            status: Status::Skipped,
            detail: String::new(),
            exit_code: None,
            duration_ms: 0.0,
            truncated: false,
        }
    }

    /// What all hooks together have said.
    pub(super) fn conclude(mut self, said: &mut Said) {
        let moment = self.moment();
        if self.denied.is_none() {
            said.updated_input = self.call.into_rewritten();
        }
        let context = cut(&self.context, CONTEXT_LIMIT).0;
        said.additional_context.extend((!context.is_empty()).then(|| context.to_owned()));
        said.messages.append(&mut self.messages);
        said.runs.append(&mut self.runs);
        let reason = |reason: String| (!reason.is_empty()).then_some(reason);
        match (self.denied, self.asked) {
            (Some(denied), _) if moment.is_stop() => continue_stop(self.firing, said, denied),
            (Some(denied), _) => {
                said.decision = Decision::Deny;
                said.reason = reason(denied);
            }
            (None, Some(asked)) => {
                // Nobody can be asked about a prompt or a compaction: it is blocked.
                let can_ask = moment == Moment::PreToolUse;
                said.decision = if can_ask { Decision::Ask } else { Decision::Deny };
                said.reason = reason(asked);
            }
            (None, None) => {}
        }
    }
}

/// A denied stop goes on once a unit. The session counts; what it says when the bound is reached is said here.
fn continue_stop(firing: &Firing<'_>, said: &mut Said, reason: String) {
    let event = firing.event;
    let unit = event.text("unit").filter(|unit| !unit.is_empty());
    let has_turns = event.integer("turns_left").is_none_or(|turns| turns > 0);
    let bound = Bound { most: 1, unit: unit.map(str::to_owned), then: Then::LetEnd };
    let scope =
        stop::StopScope { event: event.name.as_str(), actor: "the agent", unit: unit.unwrap_or("turn") };
    let has_continued = firing.session.bounded(event, Name::Celeste, &bound) >= bound.most;
    let warning =
        if has_turns || has_continued { stop::again(&reason, scope) } else { stop::no_turns(&reason, scope) };
    said.at_bound = Some(format!("celeste: {warning}"));
    said.bound = Some(if has_turns { bound } else { Bound { most: 0, ..bound } });
    said.decision = Decision::Deny;
    said.continue_with = Some(stop::instruction(&reason));
    said.reason = (!reason.is_empty()).then_some(reason);
}

/// What an end says, checked in this order: too much output, no end in time, a start that failed or pipes that
/// something still holds, the exit code, the output.
fn judge(finished: &Finished, definition: &Definition, moment: Moment) -> Came {
    let failed = |why: String| Came::Failed(Status::Failed, why);
    let did_not_finish = |status, why: &str| Came::Failed(status, format!("it did not finish: {why}"));
    match &finished.end {
        End::Overflowed(stream) => failed(format!("its output on {stream} exceeded 1 MiB, and it was ended")),
        End::TimedOut => {
            let seconds = definition.timeout;
            Came::Failed(Status::TimedOut, format!("it did not finish within {seconds} s, and was ended"))
        }
        End::Cancelled => did_not_finish(Status::Cancelled, "the event was cancelled"),
        End::NoRoom(why) => Came::Failed(Status::Lost, format!("it could not be started: {why}")),
        End::NoTime => did_not_finish(Status::Lost, "no time was left for it"),
        End::Lost => did_not_finish(Status::Lost, "how it ended could not be learnt"),
        End::NotStarted(why) => failed(format!("it could not be started: {why}")),
        End::Replaced(why) | End::Refused(why) => failed(why.clone()),
        End::Exited(0) if finished.held => {
            failed("background process kept the hook's output open".to_owned())
        }
        End::Exited(0) if definition.protocol == Protocol::V1 => Came::Answered(Answer::default()),
        End::Exited(0) => match v2::read(&finished.stdout.head) {
            Ok(answer) => Came::Answered(answer),
            Err(why) => failed(why),
        },
        End::Exited(code) => objected(finished, definition, moment, &format!("exit status {code}")),
        End::Signalled(signal) => {
            objected(finished, definition, moment, &format!("ended by {}", signal_name(*signal)))
        }
    }
}

/// An end that is not a success. Before a tool it is a v1 hook's way of denying; else it is a failure.
fn objected(finished: &Finished, definition: &Definition, moment: Moment, end: &str) -> Came {
    let (stdout, stderr) = (trimmed(&finished.stdout), trimmed(&finished.stderr));
    let is_v1 = definition.protocol == Protocol::V1;
    let (first, second) = if is_v1 { (stdout, stderr) } else { (stderr, stdout) };
    let said = if first.is_empty() { second } else { first };
    if is_v1 && moment == Moment::PreToolUse {
        return Came::Answered(Answer { verdict: Verdict::Deny, reason: said, ..Answer::default() });
    }
    let why = if said.is_empty() { end.to_owned() } else { format!("{end}: {said}") };
    Came::Failed(Status::Failed, why)
}

fn trimmed(captured: &Captured) -> String {
    // What cannot be text is left out, as where Celeste cuts a text to its limit.
    let text: String = captured.head.utf8_chunks().map(|chunk| chunk.valid()).collect();
    text.trim().to_owned()
}
