//! albedo's rules: which commands run at an event, and what their replies mean together.

use std::sync::Arc;
use std::time::Duration;

use super::definitions::{self, Matcher, Plan};
use super::reply::{self, Reply};
use super::{protocol, seal};
use crate::dialect::{
    self, Batch, Bound, End, Finished, Firing, Job, Known, Name, Notice, Problem, Rules, Said, Source,
    Standing, Step, Then, Way,
};
use crate::event::{Event, EventName};
use crate::hash;
use crate::outcome::{Decision, Run, Status, ToolResult};
use crate::place::{Found, Refusal};
use crate::scope::Scope;
use crate::text;

/// Commands that run at once.
const AT_ONCE: usize = 8;

/// Time for all of a session's end.
const SESSION_END: Duration = Duration::from_secs(3);

/// How often a turn may be continued at its end.
const CONTINUATIONS: u32 = 8;

/// Both files, read and judged.
pub(super) struct Albedo {
    sources: Vec<Source>,
    plans: Vec<Vec<Plan>>,
    problems: Vec<Problem>,
    notices: Vec<Notice>,
}

/// Reads what was found at [`super::Albedo::places`].
pub(super) fn load(scope: &Scope, found: &[Found], known: &Known<'_>) -> Albedo {
    let mut loaded = Albedo { sources: vec![], plans: vec![], problems: vec![], notices: vec![] };
    let [workspace, seal, global] = found else { return loaded };
    let folder = super::workspace_folder(scope, &scope.workspace);
    loaded.file(folder.join("hooks.json").as_str(), workspace, Some(seal), scope, known);
    loaded.file(scope.homes.albedo.join("hooks.json").as_str(), global, None, scope, known);
    loaded
}

impl Albedo {
    fn file(&mut self, path: &str, found: &Found, seal: Option<&Found>, scope: &Scope, known: &Known<'_>) {
        let file = match found {
            Found::Missing => return self.gone(path, seal, known),
            Found::File(file) => file,
            Found::Refused(refusal) => return self.unreadable(path, refusal),
            Found::Folder { .. } => return self.unreadable(path, &Refusal::NotRegular),
        };
        let content = hash::of(&file.bytes);
        let standing = match seal {
            None => match scope.distrust(path.into(), file) {
                Some(why) => {
                    self.note_problem(path, &format!("{why}: its hooks do not run"));
                    Standing::Untrusted
                }
                None => Standing::Trusted,
            },
            Some(seal) => self.workspace_standing(path, &content, seal, scope, known),
        };
        let definitions = definitions::parse(path, &file.bytes);
        for problem in &definitions.problems {
            // Of a file that changed it is told that it did, and one that was declined nobody misses.
            if matches!(standing, Standing::Trusted | Standing::Untrusted) {
                self.notices.push(Notice {
                    key: format!("albedo problem {content} {problem}"),
                    text: format!("albedo: {problem}"),
                });
            }
        }
        self.problems.extend(definitions.problems);
        // What an approved file lost when it changed cannot be known: that is told whatever the event is.
        if standing == Standing::Changed {
            self.notices.push(skipped_notice(path, standing, &content));
        }
        self.plans.push(definitions.plans);
        self.sources.push(Source {
            dialect: Name::Albedo,
            kind: if seal.is_some() { "workspace" } else { "global" },
            path: path.to_owned(),
            standing,
            hash: Some(content),
            content: Arc::clone(&file.bytes),
            hooks: definitions.hooks,
            needs_approval: seal.is_some(),
        });
    }

    /// A workspace's file is gone. If it was approved its hooks are missed, and the approval can be forgotten.
    fn gone(&mut self, path: &str, seal: Option<&Found>, known: &Known<'_>) {
        let Some(seal @ Found::File(_)) = seal else { return };
        if seal::standing(path, "", seal, known).0 != Standing::Changed {
            return;
        }
        let quoted = crate::spelling::shell_quote(path);
        self.note_problem(
            path,
            &format!(
                "its hooks were approved, and the file is gone; take the approval back with `becket forget {}`",
                text::line(&quoted)
            ),
        );
        self.plans.push(Vec::new());
        self.sources.push(Source {
            dialect: Name::Albedo,
            kind: "workspace",
            path: path.to_owned(),
            standing: Standing::Changed,
            hash: None,
            content: Arc::from([]),
            hooks: Vec::new(),
            needs_approval: true,
        });
    }

    fn workspace_standing(
        &mut self,
        path: &str,
        content: &str,
        seal: &Found,
        scope: &Scope,
        known: &Known<'_>,
    ) -> Standing {
        let seal_path = camino::Utf8Path::new(path).with_file_name(seal::FILE);
        if scope.is_planted(&seal_path) {
            self.note_problem(
                seal_path.as_str(),
                "it lies inside the workspace, so no approval in it is believed",
            );
            return Standing::Untrusted;
        }
        let (standing, problem) = seal::standing(path, content, seal, known);
        if let Some(problem) = problem {
            self.note_problem(seal_path.as_str(), &format!("{problem}: it is not taken for an approval"));
        }
        standing
    }

    fn unreadable(&mut self, path: &str, refusal: &Refusal) {
        self.note_problem(path, &format!("{refusal}: no hook of this file runs"));
    }

    fn note_problem(&mut self, path: &str, message: &str) {
        let problem =
            Problem { path: path.to_owned(), line: None, column: None, message: message.to_owned() };
        self.notices
            .push(Notice { key: format!("albedo problem {problem}"), text: format!("albedo: {problem}") });
        self.problems.push(problem);
    }

    /// Every hook that listens to the moment and whose matcher takes the tool, in order.
    fn matching(&self, moment: EventName, subject: &str) -> Vec<Match<'_>> {
        let mut matching = Vec::new();
        for (source, (listed, plans)) in self.sources.iter().zip(&self.plans).enumerate() {
            for (hook, plan) in plans.iter().enumerate().filter(|(_, plan)| plan.event == moment) {
                let invalid = listed.hooks[hook].invalid.clone();
                let problem = match &plan.matcher {
                    None | Some(Matcher::All) => invalid,
                    Some(Matcher::Pattern(pattern)) => match pattern.is_match(subject) {
                        Ok(true) => invalid,
                        Ok(false) => continue,
                        Err(error) => Some(error.to_string()),
                    },
                };
                matching.push(Match { source, hook, timeout: plan.timeout, problem, listed });
            }
        }
        matching
    }
}

/// A hook that is due.
struct Match<'a> {
    source: usize,
    hook: usize,
    timeout: Duration,
    problem: Option<String>,
    listed: &'a Source,
}

impl Match<'_> {
    /// Why it does not run.
    fn skipped(&self) -> Option<&'static str> {
        match self.listed.standing {
            Standing::Trusted if self.problem.is_some() => Some("invalid"),
            Standing::Trusted => None,
            standing => Some(standing.as_str()),
        }
    }

    fn run(&self, moment: &str, look: u8) -> Run {
        let hook = &self.listed.hooks[self.hook];
        Run {
            dialect: Name::Albedo,
            source: self.listed.path.clone(),
            index: hook.index,
            name: None,
            moment: moment.to_owned(),
            command: hook.command.clone(),
            look,
            status: Status::Skipped,
            detail: self.skipped().unwrap_or_default().to_owned(),
            exit_code: None,
            duration_ms: 0.0,
            truncated: false,
        }
    }

    /// What a person is told of a hook that does not run.
    fn notice(&self) -> Option<Notice> {
        let source = self.listed;
        let path = text::line(&source.path);
        let hash = source.hash.as_deref().unwrap_or_default();
        if self.listed.standing == Standing::Trusted {
            let problem = self.problem.as_deref()?;
            let command = text::line(&source.hooks[self.hook].command);
            let key = format!("albedo invalid {hash} {} {problem}", self.hook);
            // An invalid definition is told of where the file is read; this is a matcher that gave up.
            return source.hooks[self.hook].invalid.is_none().then(|| Notice {
                key,
                text: format!("albedo: {path}: hook {command} was skipped: {problem}"),
            });
        }
        // Why one's own file is not believed was told when it was read.
        source.needs_approval.then(|| skipped_notice(&source.path, source.standing, hash))
    }
}

/// What a person is told of a source that does not run.
fn skipped_notice(path: &str, standing: Standing, hash: &str) -> Notice {
    let why = match standing {
        Standing::Changed => "it changed since it was approved",
        Standing::Declined => "it was declined",
        Standing::DeclinedChanged => "it was declined, and has changed since",
        Standing::Trusted | Standing::Untrusted => "it is not approved",
    };
    Notice {
        key: format!("albedo {} {path} {hash}", standing.as_str()),
        text: format!(
            "albedo: the hooks in {} were skipped: {why}; read them with `becket list`, approve them with `becket \
             approve {}`",
            text::line(path),
            text::line(&crate::spelling::shell_quote(path))
        ),
    }
}
impl Rules for Albedo {
    fn dialect(&self) -> Name {
        Name::Albedo
    }

    fn sources(&self) -> &[Source] {
        &self.sources
    }

    fn problems(&self) -> &[Problem] {
        &self.problems
    }

    fn listens(&self, event: &Event) -> bool {
        let Some(moment) = protocol::moment(event) else { return !self.notices.is_empty() };
        !self.notices.is_empty() || self.plans.iter().flatten().any(|plan| plan.event == moment)
    }

    fn way<'a>(&'a self, firing: &'a Firing<'a>) -> Way<'a> {
        dialect::from_the_beginning(|past| self.next(firing, past))
    }
}

impl Albedo {
    fn next(&self, firing: &Firing<'_>, past: &[Finished]) -> Step {
        let mut said = Said { notices: self.notices.clone(), ..Said::default() };
        let Some(moment) = protocol::moment(firing.event) else { return Step::Done(Box::new(said)) };
        if moment == EventName::SessionEnd && firing.session.remembered && firing.session.prompts == 0 {
            return Step::Done(Box::new(said));
        }
        let view = protocol::view(firing.event);
        let matching = self.matching(moment, protocol::subject(view.as_ref()));
        if past.is_empty() && matching.iter().any(|hook| hook.skipped().is_none()) {
            let stdin = Arc::new(protocol::envelope(firing, moment, view));
            return Step::Run(self.batch(firing.scope, moment, &matching, &stdin));
        }
        let mut ends = past.iter();
        let mut together = Together::new(firing, moment);
        for hook in &matching {
            let mut run = hook.run(moment.as_str(), firing.look);
            said.notices.extend(hook.notice());
            if hook.skipped().is_none()
                && let Some(finished) = ends.next()
            {
                together.add(&mut said, &mut run, finished);
            }
            said.runs.push(run);
        }
        together.conclude(&mut said, view.as_ref());
        Step::Done(Box::new(said))
    }
}

impl Albedo {
    fn batch(&self, scope: &Scope, moment: EventName, matching: &[Match<'_>], stdin: &Arc<Vec<u8>>) -> Batch {
        let jobs = matching.iter().filter(|hook| hook.skipped().is_none()).map(|hook| Job {
            source: hook.source,
            hook: hook.hook,
            moment: moment.to_string(),
            command: protocol::command(
                scope,
                &hook.listed.hooks[hook.hook].command,
                Arc::clone(stdin),
                hook.timeout,
            ),
            recheck: None,
            refused: None,
        });
        let within = (moment == EventName::SessionEnd).then_some(SESSION_END);
        Batch { jobs: jobs.collect(), at_once: AT_ONCE, within }
    }
}

/// All replies of one firing: of blocks, halts and rewrites the first counts, contexts and messages add up.
struct Together<'a> {
    firing: &'a Firing<'a>,
    moment: EventName,
    block: Option<String>,
    halt: Option<Option<String>>,
    rewrite: Option<crate::json::Object>,
    conflicts: usize,
    unjudged: Option<String>,
}

impl<'a> Together<'a> {
    fn new(firing: &'a Firing<'a>, moment: EventName) -> Self {
        Self { firing, moment, block: None, halt: None, rewrite: None, conflicts: 0, unjudged: None }
    }

    fn add(&mut self, said: &mut Said, run: &mut Run, finished: &Finished) {
        let reply = reply::read(self.moment, finished);
        run.status = reply.status;
        run.detail = reply.detail.clone();
        run.exit_code = match finished.end {
            End::Exited(code) => Some(code),
            _ => None,
        };
        run.duration_ms = (finished.duration.as_secs_f64() * 10_000.0).round() / 10.0;
        run.truncated = finished.stdout.is_cut() || finished.stderr.is_cut();
        let hook = format!("albedo: {} hook {}", self.moment, text::line(&text::bounded(&run.command, 200)));
        if let Some(directory) = &finished.moved_to {
            said.messages
                .push(format!("{hook}: the workspace is gone, so it ran in {}", text::line(directory)));
        }
        if finished.end.is_unjudged() && self.firing.event.name.is_gate() {
            self.unjudged
                .get_or_insert_with(|| format!("{} could not be judged: {}", told(run), reply.detail));
        } else if matches!(reply.status, Status::Failed | Status::TimedOut | Status::Lost | Status::Cancelled)
        {
            let goes_on = if self.moment == EventName::PostToolUse { "" } else { "; the agent goes on" };
            said.messages.push(format!("{hook} failed: {}{goes_on}", reply.detail));
        }
        self.take(said, run, reply, &hook);
    }

    fn take(&mut self, said: &mut Said, run: &Run, reply: Reply, hook: &str) {
        if let Some(reason) = reply.block {
            let reason = if reason.is_empty() {
                format!("{} blocked this and gave no reason", told(run))
            } else {
                reason
            };
            self.block.get_or_insert(reason);
        }
        if let Some(reason) = reply.halt {
            self.halt.get_or_insert(reason);
        }
        match (&self.rewrite, reply.rewrite.filter(|_| self.firing.takes_rewrites())) {
            (None, rewrite) => self.rewrite = rewrite,
            (Some(first), Some(second)) if *first != second => self.conflicts += 1,
            _ => {}
        }
        said.additional_context.extend(reply.context);
        said.messages.extend(reply.note);
        said.messages.extend(reply.remarks.into_iter().map(|remark| format!("{hook}: {remark}")));
    }

    fn conclude(self, said: &mut Said, view: Option<&crate::spelling::View>) {
        let event = self.firing.event.name;
        if self.conflicts > 0 {
            said.messages.push(
                "albedo: several hooks rewrote the tool's input in different ways: the first in file order counts"
                    .to_owned(),
            );
        }
        let mut block = self.block.or(self.unjudged);
        if let (Some(rewrite), Some(view)) = (self.rewrite, view) {
            match view.rewritten(&rewrite) {
                Ok(call) => said.updated_input = call.input,
                Err(why) => {
                    block.get_or_insert(why);
                }
            }
        }
        if let Some(reason) = self.halt {
            if event == EventName::SessionEnd {
                said.messages.push("albedo: a hook wanted to end a session that is ending".to_owned());
                return;
            }
            said.decision = Decision::Halt;
            said.reason = reason.or_else(|| Some("a hook ended the turn and gave no reason".to_owned()));
            return;
        }
        if event == EventName::Stop {
            return conclude_stop(said, block);
        }
        let Some(reason) = block else { return };
        said.decision = Decision::Deny;
        if self.moment == EventName::PostToolUse {
            said.result = Some(ToolResult { failed: true, feedback: reason.clone(), replaces: false });
        }
        said.reason = Some(reason);
    }
}

/// A hook as the model may know it: its command line may hold what is not for the model.
fn told(run: &Run) -> String {
    format!("albedo: {} hook {} of {}", run.moment, run.index, text::line(&run.source))
}

/// A block continues the turn, and so does a context: the model is to see it.
fn conclude_stop(said: &mut Said, block: Option<String>) {
    let mut texts: Vec<String> = block.iter().cloned().collect();
    texts.append(&mut said.additional_context);
    if texts.is_empty() {
        return;
    }
    said.decision = Decision::Deny;
    said.reason = block.or_else(|| texts.first().cloned());
    said.continue_with = Some(texts.join("\n\n"));
    said.bound = Some(Bound { most: CONTINUATIONS, unit: None, then: Then::LetEnd });
}
