//! One event's session: what is known of it, where it is kept, and the facts that an event adds.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use becket_core::dialect::Notice;
use becket_core::event::{Event, EventName};
use becket_core::merge::Voice;
use becket_core::outcome::Decision;
use becket_core::scope::{Mode, Scope};
use becket_core::session::{self, Fact, Facts, Gaps};
use becket_core::text;
use camino::Utf8Path;

use crate::engine::{Engine, Request};
use crate::home::Home;
use crate::read;

/// How the keys of sessions begin that their host has named.
const NAMED: &str = "session ";

/// Longest path that Linux takes, in bytes.
const MOST_OF_A_PATH: usize = 4096;

/// Sessions of an engine that forgets.
pub(crate) type Memory = Mutex<BTreeMap<String, Facts>>;

/// What is known of the event's session, and where it is kept.
pub(crate) struct Session<'a> {
    engine: &'a Engine,
    key: Option<String>,
    home: Option<Home>,
    pub(crate) facts: Facts,
    /// Of this event: the session's workspace, the mode.
    pub(crate) scope: Scope,
    begins: bool,
    wrong: Wrong,
}

/// What is wrong with what is known of a session.
#[derive(Default)]
struct Wrong {
    /// Told at every event.
    messages: Vec<String>,
    /// Told once.
    notice: Option<Notice>,
}

impl<'a> Session<'a> {
    /// `project` is where the workspace is looked for before the event's own directory.
    pub(crate) fn of(engine: &'a Engine, request: &Request<'_>, project: Option<&Utf8Path>) -> Self {
        let event = request.event;
        let named = request.workspace.map(|named| read::absolute(named, &engine.directory));
        // A path that no system takes is nobody's directory.
        let is_path = |cwd: &&Utf8Path| cwd.is_absolute() && cwd.as_str().len() <= MOST_OF_A_PATH;
        let reported = event.cwd.as_deref().filter(is_path);
        let start = project.or(reported).unwrap_or(&engine.directory);
        // Whether the home may be believed is judged against the workspace, which it may have to tell.
        let mut home = engine.open_home().ok().cloned();
        let mut wrong = Wrong::default();
        let key = event.session_id.as_ref().map(|id| format!("{NAMED}{id}"));
        let mut facts = match &key {
            Some(key) => read_facts(engine, home.as_ref(), key, &mut wrong),
            None => Facts::default(),
        };
        let mode = request.mode.unwrap_or_else(|| mode_of(event));
        let found = || engine.find_workspace(&read::absolute(start, &engine.directory));
        let workspace = named.clone().or_else(|| facts.workspace.clone()).unwrap_or_else(found);
        let mut scope = engine.scope(workspace, mode);
        if home.as_ref().is_some_and(|home| home.believed(&scope).is_err()) {
            // Whoever writes the workspace could have written these facts.
            home = None;
            facts = Facts::default();
            scope = engine.scope(named.unwrap_or_else(found), mode);
        }
        // Where a tool call was is the model's choice, unless the host says more.
        let is_hosts_choice = event.tool.is_none() || project.is_some();
        let begins = key.is_some() && facts.workspace.is_none() && is_hosts_choice;
        let mut session = Self { engine, key, home, facts, scope, begins, wrong };
        if session.key.is_none() {
            // Without a session an event stands alone; only the bound on stops must outlive it.
            let key = format!("workspace {}", session.scope.workspace);
            if event.name.is_stop() || event.name == EventName::UserPromptSubmit {
                let counted = read_facts(engine, session.home.as_ref(), &key, &mut session.wrong);
                session.facts.continued = counted.continued;
                session.facts.under_way = counted.under_way;
            }
            session.key = Some(key);
        }
        session
    }

    fn is_alone(&self) -> bool {
        !self.facts.remembered
    }

    /// Applies the session's rules to what was said, and stores the facts that follow. Answers what a person is told.
    pub(crate) fn settle(mut self, event: &Event, voices: &mut Vec<Voice>, stop_limit: u32) -> Vec<String> {
        let began = self.begins.then(|| Fact::Began { workspace: self.scope.workspace.clone() });
        let alone = self.is_alone();
        let task = self.facts.task();
        let decide = |facts: &Facts, voices: &mut Vec<Voice>| {
            let mut new: Vec<Fact> = began.clone().into_iter().collect();
            new.extend(session::settle(event, voices, facts, task, stop_limit));
            if alone {
                let counts = !facts.continued.is_empty() || !facts.under_way.is_empty();
                // Nothing else tells where such a session ends.
                let ends = counts && new.contains(&Fact::Prompted);
                new.retain(|fact| {
                    matches!(fact, Fact::Continued { .. } | Fact::Rested { .. } | Fact::Used { .. })
                });
                new.extend(ends.then_some(Fact::Ended));
            }
            new
        };
        let mut settled = voices.clone();
        let new = decide(&self.facts, &mut settled);
        if new.is_empty() {
            *voices = settled;
            return self.wrong.messages;
        }
        let key = self.key.take().unwrap_or_default();
        let mut stored = std::mem::take(voices);
        let result = self.store(&key, |facts| {
            let mut facts = facts.clone();
            facts.remembered = !alone;
            decide(&facts, &mut stored)
        });
        match result {
            Ok(()) => *voices = stored,
            Err(message) => {
                *voices = settled;
                self.wrong.messages.push(format!("becket: the session could not be remembered: {message}"));
                if event.name.is_stop() {
                    unbounded_stop(voices);
                }
            }
        }
        self.wrong.messages
    }

    /// What a person is told once of this session's state.
    pub(crate) fn notice(&self) -> Option<Notice> {
        self.wrong.notice.clone()
    }

    /// Adds facts to a session that has a name; one without stands alone.
    ///
    /// # Errors
    /// They are not remembered. That changes no verdict, but where something else hangs on it a person is told.
    pub(crate) fn note(&self, decide: impl FnOnce(&Facts) -> Vec<Fact>) -> Result<(), String> {
        match self.key.as_deref().filter(|key| key.starts_with(NAMED)) {
            Some(key) => self.store(key, decide),
            None => Ok(()),
        }
    }

    fn store(&self, key: &str, decide: impl FnOnce(&Facts) -> Vec<Fact>) -> Result<(), String> {
        if let Some(memory) = self.engine.memory() {
            let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
            let facts =
                memory.entry(key.to_owned()).or_insert(Facts { remembered: true, ..Facts::default() });
            for fact in decide(facts) {
                facts.add(fact);
            }
            return Ok(());
        }
        match &self.home {
            Some(home) => home.add_facts(key, decide).map_err(|error| error.to_string()),
            None => Err("there is no place for it".to_owned()),
        }
    }
}

/// What is known of a session, and what is `wrong` with that.
fn read_facts(engine: &Engine, home: Option<&Home>, key: &str, wrong: &mut Wrong) -> Facts {
    if let Some(memory) = engine.memory() {
        let memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        return memory.get(key).cloned().unwrap_or(Facts { remembered: true, ..Facts::default() });
    }
    let Some(home) = home else { return Facts::default() };
    match home.session(key) {
        Ok((facts, Gaps { newer, unreadable })) => {
            if newer > 0 {
                wrong.messages.push(format!(
                    "becket: {newer} facts of this session were written by a newer Becket and are not understood"
                ));
            }
            wrong.notice = (unreadable > 0).then(|| unreadable_lines(&home.session_file(key), unreadable));
            facts
        }
        Err(error) => {
            wrong.messages.push(format!("becket: the session could not be read: {error}"));
            Facts::default()
        }
    }
}

/// Facts that are lost are lost to hooks too; told once for as many lines.
fn unreadable_lines(file: &Utf8Path, count: usize) -> Notice {
    let lines = if count == 1 { "1 line".to_owned() } else { format!("{count} lines") };
    Notice {
        key: format!("becket session unreadable {count}"),
        text: format!(
            "becket: {}: {lines} of this session's state cannot be read. What stands there is not known: it may be the \
             session's workspace, a hook that it holds fast, that its turn was ended, or how often one was continued, \
             which then counts from what is left. To be sure of all of them, start a new session",
            text::line(file.as_str())
        ),
    }
}

/// ShadowCode's mode, told from the host's permission mode.
fn mode_of(event: &Event) -> Mode {
    match event.text("permission_mode") {
        Some("plan") => Mode::Plan,
        Some("review") => Mode::Review,
        _ => Mode::Build,
    }
}

/// A stop that cannot be counted is not denied: it might be for ever.
fn unbounded_stop(voices: &mut [Voice]) {
    for voice in voices.iter_mut().filter(|voice| voice.said.decision == Decision::Deny) {
        let why = voice.said.reason.take().map(|why| format!(": {}", text::line(&why))).unwrap_or_default();
        voice.said.decision = Decision::Allow;
        voice.said.continue_with = None;
        voice.said.messages.push(format!(
            "{}: a hook objects to this end, but how often it did cannot be counted, so the turn ends{why}",
            voice.dialect
        ));
    }
}
