//! ShadowCode's rules: which hooks run at an event, one after the other, and what their ends mean.

use std::cell::OnceCell;
use std::collections::HashSet;

use serde_json::Value;

use super::context::{self, Context};
use super::definitions::{FILE_LIMIT, Moment};
use super::load::{Force, Loaded, SHOWN};
use super::moments::{self, BLOCKED, Happening};
use super::repair::{self, Failure};
use super::{catalog, lexical, record};
use crate::dialect::{
    Batch, Bound, End, Finished, Firing, Job, Name, Notice, Problem, Recheck, Rules, Said, Source, Standing,
    Step, Then, Way,
};
use crate::event::{Event, EventName};
use crate::outcome::{Decision, Run, Status, ToolResult};
use crate::place::{Links, Place, What};
use crate::scope::{Mode, Scope};
use crate::spelling::shell_quote;
use crate::text;

impl Rules for Loaded {
    fn dialect(&self) -> Name {
        Name::Shadowcode
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn problems(&self) -> &[Problem] {
        &self.problems
    }

    fn listens(&self, event: &Event) -> bool {
        if !self.notices.is_empty() {
            return true;
        }
        let blocked = || self.live.is_blocked() || self.frozen.as_ref().is_some_and(Force::is_blocked);
        match event.name {
            EventName::UserPromptSubmit => self.holds_anything() || blocked(),
            EventName::Stop | EventName::StopFailure if self.is_kept => true,
            _ => {
                let possible = moments::possible(event);
                possible.iter().any(|moment| self.listened.contains(moment))
                    || (!possible.is_empty() && blocked())
            }
        }
    }

    fn record(&self, job: &Job, finished: Option<&Finished>) -> Option<Value> {
        record::of(self, job, finished)
    }

    fn catalog(&self) -> Option<Value> {
        Some(catalog::of(self))
    }

    fn way<'a>(&'a self, firing: &'a Firing<'a>) -> Way<'a> {
        if firing.event.name == EventName::UserPromptSubmit {
            return Box::new(|_| Step::Done(Box::new(self.prompt(firing))));
        }
        let mut walk = Walk::new(self, firing);
        Box::new(move |ended| walk.next(ended))
    }
}

/// Why no hook runs at all, in the word that skipped runs have.
fn idle(force: &Force, scope: &Scope) -> Option<&'static str> {
    if scope.mode != Mode::Build || force.snapshot.policy.read_only {
        Some("disabled")
    } else if !force.snapshot.trusted {
        Some("untrusted")
    } else {
        None
    }
}

impl Loaded {
    /// Whether there is anything that a task would have to be held to.
    fn holds_anything(&self) -> bool {
        self.is_kept || !self.sources.is_empty() || !self.live.snapshot.registrations.is_empty()
    }

    /// A task begins: what it goes by is held fast, unless it cannot begin. A subagent's prompt is within a task.
    fn prompt(&self, firing: &Firing<'_>) -> Said {
        let mut said = Said { notices: self.notices.clone(), ..Said::default() };
        if firing.session.is_own_prompt(firing.event) {
            return said;
        }
        let is_task = firing.event.subagent().is_none();
        let force = if is_task { &self.live } else { self.frozen.as_ref().unwrap_or(&self.live) };
        let is_blocked = firing.scope.mode == Mode::Build && force.is_blocked();
        if is_blocked {
            said.decision = Decision::Deny;
            said.reason = Some(self.blocked(force));
            said.runs = self.blocked_runs(force, firing.event.name.as_str(), firing.look);
        }
        if is_task && (is_blocked || force.is_unknown()) {
            // Nothing is held fast: everything is read at each event.
            said.keep = Some(Value::Null);
        } else if is_task && self.holds_anything() {
            said.keep = serde_json::to_value(&force.snapshot).ok();
        }
        said
    }

    /// Why build work is blocked, with the way out.
    fn blocked(&self, force: &Force) -> String {
        let drifted = force.drifted.iter().map(|(source, why)| {
            let path = text::line(&self.paths[*source]);
            format!("the enabled hook {path} cannot run: {}", self.drifted(*source, why))
        });
        force.broken.iter().cloned().chain(drifted).collect::<Vec<_>>().join("\n")
    }

    /// What became of an enabled definition, with the way out.
    fn drifted(&self, source: usize, why: &str) -> String {
        let quoted = shell_quote(&self.sources[source].path);
        let again = if self.sources[source].standing == Standing::Trusted {
            "what stands there was enabled after this task began, and the next prompt takes it up; or "
                .to_owned()
        } else if self.definitions[source].is_some() {
            format!("read it and approve it with `becket approve {}`, or ", text::line(&quoted))
        } else {
            String::new()
        };
        format!("{why}; {again}disable it with `becket forget {}`", text::line(&quoted))
    }

    /// One run for each thing that blocks, so that the record says which it was.
    fn blocked_runs(&self, force: &Force, moment: &str, look: u8) -> Vec<Run> {
        let broken = force.broken.iter().map(|why| Run {
            source: self.config.clone(),
            status: Status::Failed,
            detail: why.clone(),
            ..run(moment, look)
        });
        let drifted = force.drifted.iter().map(|(source, why)| self.drifted_run(*source, why, moment, look));
        broken.chain(drifted).collect()
    }

    fn drifted_run(&self, source: usize, why: &str, moment: &str, look: u8) -> Run {
        Run { status: Status::Failed, detail: format!("changed: {why}"), ..self.run(source, moment, look) }
    }

    fn run(&self, source: usize, moment: &str, look: u8) -> Run {
        let hook = self.sources[source].hooks.first();
        Run {
            source: self.sources[source].path.clone(),
            name: hook.and_then(|hook| hook.name.clone()),
            command: hook.map(|hook| hook.command.clone()).unwrap_or_default(),
            ..run(moment, look)
        }
    }

    /// What a person is told of a hook that does not run.
    fn skipped_notice(&self, source: usize, force: &Force, mode: Mode) -> Notice {
        let path = &self.sources[source].path;
        let shown = text::line(path);
        let quoted = shell_quote(path);
        let how = text::line(&quoted);
        let registered = force.snapshot.registrations.contains_key(&self.paths[source]);
        let (why, way) = match self.sources[source].standing {
            _ if registered && !force.snapshot.trusted => {
                ("its project is not trusted", "trust it with `becket trust`".to_owned())
            }
            Standing::Untrusted => {
                let first =
                    if force.snapshot.trusted { "" } else { "trust the project with `becket trust`, then " };
                ("it is not enabled", format!("{first}read it, and enable it with `becket approve {how}`"))
            }
            Standing::Declined => ("it was declined", format!("enable it with `becket approve {how}`")),
            Standing::DeclinedChanged => {
                ("it was declined, and has changed since", format!("enable it with `becket approve {how}`"))
            }
            Standing::Changed => (
                "it changed since it was enabled",
                format!("read it, and enable it with `becket approve {how}`"),
            ),
            Standing::Trusted if registered && force.snapshot.policy.read_only => (
                "the permission level is read-only, at which no hook runs",
                "another `permissions.level` in ShadowCode's profile lets it, from the next prompt on"
                    .to_owned(),
            ),
            Standing::Trusted if registered && mode == Mode::Plan => {
                ("no hook runs in plan mode", "it does in build mode".to_owned())
            }
            Standing::Trusted if registered && mode == Mode::Review => {
                ("no hook runs in review mode", "it does in build mode".to_owned())
            }
            Standing::Trusted if registered => (
                "the permission level is read-only, at which no hook runs",
                "another `permissions.level` in ShadowCode's profile lets it, from the next prompt on"
                    .to_owned(),
            ),
            Standing::Trusted => {
                ("it was enabled while a task was under way", "it counts from the next prompt on".to_owned())
            }
        };
        let hash = self.sources[source].hash.as_deref().unwrap_or_default();
        Notice {
            key: format!("shadowcode {why} {path} {hash}"),
            text: format!("shadowcode: the hook in {shown} was skipped: {why}; {way}"),
        }
    }
}

fn run(moment: &str, look: u8) -> Run {
    Run {
        dialect: Name::Shadowcode,
        source: String::new(),
        index: 0,
        name: None,
        moment: moment.to_owned(),
        command: String::new(),
        look,
        status: Status::Skipped,
        detail: String::new(),
        exit_code: None,
        duration_ms: 0.0,
        truncated: false,
    }
}

/// One moment of an event on its way through the hooks.
struct Here {
    happening: Happening,
    /// Made once a hook is to be told it.
    context: OnceCell<Context>,
    /// The next hook.
    source: usize,
    /// How many did not run.
    skipped: usize,
}

impl Here {
    fn new(happening: Happening) -> Self {
        Self { happening, context: OnceCell::new(), source: 0, skipped: 0 }
    }
}

/// The way of an event through its moments, and of each of those through the hooks. It is gone once, whatever number of
/// runs is on it: how many files an edit has is the model's to say.
struct Walk<'a> {
    loaded: &'a Loaded,
    firing: &'a Firing<'a>,
    force: &'a Force,
    idle: Option<&'static str>,
    /// The moments that are to come after this one.
    to_come: std::vec::IntoIter<Happening>,
    /// `None` before the first moment and after the last.
    here: Option<Here>,
    said: Said,
    /// Hooks that did not run, each told once: an edit of many files would say the same of each.
    told: HashSet<(usize, Moment)>,
    failures: Vec<Failure>,
}

impl<'a> Walk<'a> {
    fn new(loaded: &'a Loaded, firing: &'a Firing<'a>) -> Self {
        let force = loaded.frozen.as_ref().unwrap_or(&loaded.live);
        Self {
            loaded,
            firing,
            force,
            idle: idle(force, firing.scope),
            to_come: moments::of(firing.event, firing.scope, firing.session).into_iter(),
            here: None,
            said: Said { notices: loaded.notices.clone(), ..Said::default() },
            told: HashSet::new(),
            failures: Vec::new(),
        }
    }

    /// On to the next run, given how the last one ended.
    fn next(&mut self, ended: Vec<Finished>) -> Step {
        let mut goes_on = true;
        if let Some(here) = self.here.take() {
            goes_on = ended.into_iter().all(|finished| self.ended(&here.happening, finished));
            self.here = Some(here);
        }
        match goes_on.then(|| self.next_job()).flatten() {
            Some(job) => Step::Run(Batch { jobs: vec![job], at_once: 1, within: None }),
            None => Step::Done(Box::new(self.conclude())),
        }
    }

    fn next_job(&mut self) -> Option<Job> {
        loop {
            let mut here = match self.here.take() {
                Some(here) => here,
                None => Here::new(self.to_come.next()?),
            };
            if here.source == 0 && self.is_blocked(&here.happening) {
                return None;
            }
            if let Some(job) = self.job_in(&mut here) {
                self.here = Some(here);
                return Some(job);
            }
        }
    }

    /// Whether nothing can pass this moment, because of what blocks build work.
    fn is_blocked(&mut self, happening: &Happening) -> bool {
        let moment = happening.moment;
        let must_hold = moment.is_gate() || moment == Moment::OnComplete;
        let is_blocked = self.idle.is_none() && must_hold && self.force.is_blocked();
        if is_blocked {
            let runs = self.loaded.blocked_runs(self.force, moment.as_str(), self.firing.look);
            self.said.runs.extend(runs);
            let detail = self.loaded.blocked(self.force);
            self.failures.push(Failure { name: String::new(), moment, path: None, detail, output: None });
        }
        is_blocked
    }

    /// The next run of a moment.
    fn job_in(&mut self, here: &mut Here) -> Option<Job> {
        let happening = &here.happening;
        while let Some(definition) = self.loaded.definitions.get(here.source) {
            let source = here.source;
            here.source += 1;
            if let (None, Some(why)) = (self.idle, self.force.drift_of(source)) {
                self.drifted(source, why, happening);
                continue;
            }
            let runs_then =
                definition.as_ref().is_some_and(|it| happening.is_for(&it.events, &it.path_suffix));
            if !runs_then {
                continue;
            }
            if let Some(why) = self.skipped(source) {
                here.skipped += 1;
                if here.skipped <= SHOWN {
                    self.skip(source, happening.moment, why);
                }
                continue;
            }
            let context = here.context.get_or_init(|| Context::of(happening));
            return Some(self.job(source, happening, context));
        }
        None
    }

    /// An enabled hook that is no longer what was enabled: where it would have run, it has failed.
    fn drifted(&mut self, source: usize, why: &str, happening: &Happening) {
        let (loaded, moment) = (self.loaded, happening.moment);
        // When one would have run that was so before the task began, nobody knows.
        let known = self.force.snapshot.listening.get(&loaded.paths[source]);
        if known.is_some_and(|(events, path_suffix)| !happening.is_for(events, path_suffix)) {
            return;
        }
        if !self.told.insert((source, moment)) {
            return;
        }
        self.said.runs.push(loaded.drifted_run(source, why, moment.as_str(), self.firing.look));
        self.failures.push(Failure {
            name: text::line(&loaded.paths[source]).into_owned(),
            moment,
            path: None,
            detail: loaded.drifted(source, why),
            output: None,
        });
    }

    /// Why a hook does not run.
    fn skipped(&self, source: usize) -> Option<&'static str> {
        let registered = self.force.snapshot.registrations.get(&self.loaded.paths[source]);
        match registered {
            Some(hash) if self.loaded.sources[source].hash.as_ref() == Some(hash) => self.idle,
            Some(_) => Some("changed"),
            None => Some(match self.loaded.sources[source].standing {
                // It was enabled after this task began.
                Standing::Trusted => "disabled",
                standing => standing.as_str(),
            }),
        }
    }

    fn skip(&mut self, source: usize, moment: Moment, why: &str) {
        if !self.told.insert((source, moment)) {
            return;
        }
        let run = self.loaded.run(source, moment.as_str(), self.firing.look);
        self.said.runs.push(Run { detail: why.to_owned(), ..run });
        let mode = self.firing.scope.mode;
        self.said.notices.push(self.loaded.skipped_notice(source, self.force, mode));
    }

    /// Takes the end of a run, and says whether it goes on after it.
    fn ended(&mut self, happening: &Happening, finished: Finished) -> bool {
        let moment = happening.moment;
        let source = finished.job.source;
        let mut run = self.loaded.run(source, moment.as_str(), self.firing.look);
        judge(&mut run, moment, &finished);
        let name = run.name.clone().unwrap_or_default();
        self.said.runs.push(run);
        if let Some(directory) = &finished.moved_to {
            self.said
                .messages
                .push(format!("shadowcode: the project is gone, so a hook ran in {}", text::line(directory)));
        }
        let Some(detail) = detail(&finished) else { return true };
        let goes_on = !moment.is_gate() && finished.end != End::Cancelled;
        self.failures.push(Failure {
            name,
            moment,
            path: happening.paths.first().filter(|_| moment == Moment::AfterEdit).cloned(),
            detail,
            output: Some((finished.stdout, finished.stderr)),
        });
        goes_on
    }

    fn job(&self, source: usize, happening: &Happening, context: &Context) -> Job {
        let listed = &self.loaded.sources[source];
        let scope = self.firing.scope;
        let timeout = self.loaded.definitions[source].as_ref().map_or(1, |definition| definition.timeout);
        let timeout = timeout.min(self.force.snapshot.agent.tool_timeout);
        let command = &listed.hooks[0].command;
        let problem = context.problem().map(str::to_owned);
        let refused = problem.or_else(|| lexical::denial(command, &self.force.snapshot.policy));
        let environment =
            if refused.is_none() { context.environment(happening, self.firing) } else { Vec::new() };
        Job {
            source,
            hook: 0,
            moment: happening.moment.as_str().to_owned(),
            command: context::command(self.firing, command, timeout, environment),
            recheck: Some(Recheck {
                place: Place {
                    path: scope.workspace.join(&self.loaded.paths[source]),
                    what: What::File,
                    links: Links::Beneath { root: scope.workspace.clone() },
                    limit: FILE_LIMIT,
                },
                hash: listed.hash.clone().unwrap_or_default(),
            }),
            refused,
        }
    }

    fn conclude(&mut self) -> Said {
        let Self { loaded, firing, force, .. } = *self;
        let mut said = std::mem::take(&mut self.said);
        let failures = std::mem::take(&mut self.failures);
        let event = firing.event.name;
        let is_end = matches!(event, EventName::Stop | EventName::StopFailure);
        let is_over = is_end && firing.event.subagent().is_none();
        said.keep = (is_over && loaded.is_kept).then_some(Value::Null);
        if failures.is_empty() {
            return said;
        }
        match event {
            EventName::PreToolUse => {
                said.decision = Decision::Deny;
                said.reason = Some(format!("{BLOCKED}: {}", repair::text("", &failures)));
            }
            EventName::PostToolUse | EventName::PostToolUseFailure => {
                let feedback = repair::text(
                    "After the tool had run, a ShadowCode hook failed. What the tool did stays done.",
                    &failures,
                );
                said.decision = Decision::Deny;
                said.result = Some(ToolResult { failed: true, feedback: feedback.clone(), replaces: false });
                said.reason = Some(feedback);
            }
            EventName::PostCompact => {
                said.decision = Decision::Halt;
                said.reason = Some(repair::text("A ShadowCode hook failed after the compaction.", &failures));
            }
            EventName::Stop => {
                said.decision = Decision::Deny;
                said.reason = Some(repair::text("A ShadowCode completion check did not pass.", &failures));
                said.continue_with = Some(repair::request(&failures));
                said.bound =
                    Some(Bound { most: force.snapshot.agent.max_fix_retries, unit: None, then: Then::Halt });
            }
            // The provider's own error stands, whatever a hook makes of it.
            _ => {
                let told = failures.iter().map(|failure| {
                    format!("shadowcode: the hook {} failed: {}", failure.name, text::line(&failure.detail))
                });
                said.messages.extend(told);
            }
        }
        said
    }
}

/// Why a run did not pass; `None` where it did.
pub(super) fn detail(finished: &Finished) -> Option<String> {
    Some(match &finished.end {
        End::Exited(0) => return None,
        End::Exited(code) => format!("exit code {code}"),
        End::Signalled(signal) => format!("ended by signal {signal}"),
        End::TimedOut => {
            format!("did not finish within {} s and was ended", finished.job.command.timeout.as_secs_f64())
        }
        End::Overflowed(stream) => format!("wrote too much on {stream} and was ended"),
        End::Cancelled => "the event was cancelled".to_owned(),
        End::NotStarted(why) | End::NoRoom(why) => format!("could not be started: {why}"),
        End::Replaced(why) => {
            format!("changed: its definition is no longer the one that was enabled ({why})")
        }
        End::Refused(why) => why.clone(),
        End::NoTime => "no time was left to run it to its end".to_owned(),
        End::Lost => "how it ended could not be learnt".to_owned(),
    })
}

/// Only the exit status counts.
fn judge(run: &mut Run, moment: Moment, finished: &Finished) {
    let objects = moment.is_gate() || matches!(moment, Moment::OnComplete | Moment::OnCompaction);
    run.status = match finished.end {
        End::Exited(0) => Status::Passed,
        End::Exited(_) if objects => Status::Blocked,
        End::TimedOut => Status::TimedOut,
        End::Cancelled => Status::Cancelled,
        End::NoRoom(_) | End::NoTime | End::Lost => Status::Lost,
        _ => Status::Failed,
    };
    run.detail = detail(finished).unwrap_or_default();
    run.exit_code = match finished.end {
        End::Exited(code) => Some(code),
        _ => None,
    };
    run.duration_ms = (finished.duration.as_secs_f64() * 10_000.0).round() / 10.0;
    run.truncated = record::is_truncated(finished);
}
