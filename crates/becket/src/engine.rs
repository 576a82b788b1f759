//! The rim around the pure core: it reads what dialects ask for, runs what they want run, remembers and records.

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use becket_core::dialect::{self, Dialect, Known, Name, Notice, Problem, Rules, Said};
use becket_core::event::{Event, EventName};
use becket_core::journal::{self, Record};
use becket_core::ledger::Ledger;
use becket_core::merge::{self, Voice};
use becket_core::outcome::{Decision, Outcome};
use becket_core::place::{Found, Refusal};
use becket_core::scope::{Mode, Scope};
use becket_core::session::Facts;
use becket_core::text;
use becket_exec::{Cancel, Pool};
use camino::{Utf8Path, Utf8PathBuf};

use crate::caller::{self, Caller};
use crate::calls::{self, Turn};
use crate::files::FileError;
use crate::home::{self, Home};
use crate::nested::{self, Nesting};
use crate::read::{self, Reader};
use crate::runs::Runs;
use crate::session::{Memory, Session};
use crate::settings::{self, Given, SettingsError};
use crate::workspace;

/// Who is the parent of hooks: what is guaranteed when one is cut short or this process dies.
#[derive(Debug, Default)]
pub enum Custodian {
    /// This process; only process groups are ended. Cheapest.
    #[default]
    Group,
    /// A process forked for each event that runs anything: nothing survives. Only in a program with one thread.
    Fork,
    /// A process of a pool, for programs with threads: nothing survives.
    Pool(Pool),
}

/// How an engine is opened.
#[derive(Debug, Default)]
pub struct Options {
    /// The settings file; `None` for the user's own.
    pub config: Option<Utf8PathBuf>,
    /// Only these dialects; empty for all that are not switched off.
    pub dialects: Vec<Name>,
    /// The environment: homes are told from it, and hooks inherit from it.
    pub environment: Vec<(OsString, OsString)>,
    /// ShadowCode's profile, before what the environment says.
    pub profile: Option<Utf8PathBuf>,
    /// Where the process stands; paths are relative to it.
    pub directory: Utf8PathBuf,
    /// Who is the parent of hooks.
    pub custodian: Custodian,
    /// Whether sessions and the journal are written. Without, each engine remembers by itself: for trying things.
    pub forgetful: bool,
}

/// One event to be fired.
#[derive(Debug)]
pub struct Request<'a> {
    /// The event.
    pub event: &'a Event,
    /// The workspace, if the caller decides it.
    pub workspace: Option<&'a Utf8Path>,
    /// Which work the agent is at, if the caller decides it.
    pub mode: Option<Mode>,
    /// When the host's patience ends.
    pub deadline: Option<Instant>,
    /// Ends all runs.
    pub cancel: &'a Cancel,
}

/// The engine: settings and homes of one user, ready to fire events.
#[derive(Debug)]
pub struct Engine {
    pub(crate) settings: settings::Loaded,
    pub(crate) dialects: Vec<&'static dyn Dialect>,
    pub(crate) environment: Arc<[(OsString, OsString)]>,
    pub(crate) directory: Utf8PathBuf,
    real_home: Utf8PathBuf,
    /// `BECKET_HOME`, once it was found safe.
    home: OnceLock<Home>,
    custodian: Custodian,
    /// Sessions of a forgetful engine.
    memory: Option<Memory>,
}

/// All dialects' rules for one scope.
pub struct Loaded {
    /// What stands around them.
    pub scope: Scope,
    /// In the order in which they are asked.
    pub rules: Vec<Box<dyn Rules>>,
    /// What is wrong outside definitions: settings, the home.
    pub problems: Vec<Problem>,
    pub(crate) ledger: Ledger,
    pub(crate) home: Option<Home>,
    messages: Vec<String>,
    /// A place that could not be looked at for want of room: what guards stand there is not known.
    unread: Option<String>,
}

impl Engine {
    /// Reads settings and homes.
    ///
    /// # Errors
    /// A settings file that was named explicitly and cannot be used.
    pub fn open(options: Options) -> Result<Self, SettingsError> {
        let settings = settings::load(&Given {
            file: options.config.as_deref(),
            profile: options.profile.as_deref(),
            directory: &options.directory,
            environment: &options.environment,
        })?;
        let wanted = |name: Name| options.dialects.is_empty() || options.dialects.contains(&name);
        let is_on = |name: Name| wanted(name) && !settings.settings.off.contains(&name);
        let dialects = dialect::ALL.iter().copied().filter(|dialect| is_on(dialect.name())).collect();
        Ok(Self {
            real_home: read::resolved(&settings.homes.home),
            home: OnceLock::new(),
            settings,
            dialects,
            environment: options.environment.into(),
            directory: options.directory,
            custodian: options.custodian,
            memory: options.forgetful.then(Default::default),
        })
    }

    /// Every setting in force, and what is wrong with their file.
    pub fn settings(&self) -> &settings::Loaded {
        &self.settings
    }

    pub(crate) fn nesting(&self) -> Nesting {
        nested::nesting(&self.environment, &self.settings.homes.becket)
    }

    pub(crate) fn are_hooks_elsewhere(&self) -> bool {
        nested::are_hooks_elsewhere(&self.settings.homes.becket)
    }

    pub(crate) fn custodian(&self) -> &Custodian {
        &self.custodian
    }

    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    /// `BECKET_HOME`, if it is safe.
    pub(crate) fn open_home(&self) -> Result<&Home, FileError> {
        match self.home.get() {
            Some(home) => Ok(home),
            None => Home::open(&self.settings.homes.becket).map(|home| self.home.get_or_init(|| home)),
        }
    }

    /// `BECKET_HOME`, if it is safe and may be believed in this scope.
    pub(crate) fn home(&self, scope: &Scope) -> Result<Home, FileError> {
        self.open_home()?.believed(scope)
    }

    pub(crate) fn scope(&self, workspace: Utf8PathBuf, mode: Mode) -> Scope {
        self.scope_as(read::resolved(&workspace), workspace, mode)
    }

    fn scope_as(&self, real_workspace: Utf8PathBuf, workspace: Utf8PathBuf, mode: Mode) -> Scope {
        Scope {
            real_workspace,
            real_home: self.real_home.clone(),
            workspace,
            homes: self.settings.homes.clone(),
            settings: self.settings.settings.clone(),
            environment: Arc::clone(&self.environment),
            mode,
        }
    }

    /// The workspace of whoever asks without an event: as named, else found from where the process stands.
    pub fn workspace(&self, named: Option<&Utf8Path>) -> Utf8PathBuf {
        match named {
            Some(named) => read::absolute(named, &self.directory),
            None => self.find_workspace(&self.directory),
        }
    }

    pub(crate) fn find_workspace(&self, start: &Utf8Path) -> Utf8PathBuf {
        // What marks a workspace does not depend on where links lead.
        let scope = self.scope_as(start.to_owned(), start.to_owned(), Mode::Build);
        workspace::find(start, &scope, &self.dialects)
    }

    /// Reads and judges everything that is defined for a workspace, as a new session would.
    pub fn load(&self, workspace: Utf8PathBuf) -> Loaded {
        self.load_with(self.scope(workspace, Mode::Build), &Facts::default())
    }

    fn load_with(&self, scope: Scope, facts: &Facts) -> Loaded {
        let mut messages = Vec::new();
        let mut problems = self.settings.problems.clone();
        let home = self.home(&scope).inspect_err(|error| messages.push(home::unusable(error))).ok();
        let ledger = home.as_ref().map(Home::ledger).transpose().unwrap_or_else(|error| {
            messages.push(home::unusable(&error));
            None
        });
        let unreadable = ledger.is_none().then(|| messages.join("; "));
        let mut ledger = ledger.unwrap_or_default();
        ledger.unreadable = unreadable;
        for message in &messages {
            let path = scope.homes.becket.to_string();
            problems.push(Problem { path, line: None, column: None, message: message.clone() });
        }
        let mut reader = Reader::within(&scope);
        let mut unread = None;
        let rules = self
            .dialects
            .iter()
            .map(|dialect| {
                let places = dialect.places(&scope);
                let found: Vec<_> = places.iter().map(|place| reader.read(place)).collect();
                for (place, found) in places.iter().zip(&found) {
                    if let Found::Refused(why @ Refusal::NoRoom(_)) = found {
                        unread.get_or_insert_with(|| format!("{}: {why}", text::line(place.path.as_str())));
                    }
                }
                let kept = facts.kept.get(&dialect.name());
                dialect.load(&scope, &found, &Known { ledger: &ledger, kept })
            })
            .collect();
        Loaded { scope, rules, problems, ledger, home, messages, unread }
    }

    /// Fires one event: loads, runs what applies, remembers, records, and says what the agent must do.
    pub fn fire(&self, request: &Request<'_>) -> Outcome {
        self.fire_from(request, &Caller::default())
    }

    /// As [`Engine::fire`], with what is known of the agent that reports the event.
    pub fn fire_from(&self, request: &Request<'_>, caller: &Caller<'_>) -> Outcome {
        let began = Instant::now();
        let event = request.event;
        match self.nesting() {
            Nesting::Outside => {}
            Nesting::InsideAHook => {
                let mut outcome = Outcome::nothing(event.name);
                outcome.messages.push("becket: fired inside a hook, so no hooks run".to_owned());
                return outcome;
            }
            Nesting::Hidden(why) => return cannot_tell(event.name, why),
        }
        let session = Session::of(self, request, caller.start);
        if let Some(outcome) = caller::held(&session, event) {
            // The outcome is made and told; that its record was not kept changes nothing.
            let loaded = self.load_with(session.scope.clone(), &session.facts);
            drop(self.record(event, &loaded, &outcome, Vec::new()));
            return outcome;
        }
        let ended = self.close_calls(&session, request, caller);
        let was_halted = session.facts.halted.is_some();
        let loaded = self.load_with(session.scope.clone(), &session.facts);
        if let (Some(home), None) = (&loaded.home, &self.memory) {
            home.end_call(event, caller.call_id);
        }
        let turn = match &loaded.home {
            Some(home) if self.memory.is_none() && loaded.rules.iter().any(|rules| rules.listens(event)) => {
                home.line_up(event, caller.call_id, request.deadline)
            }
            _ => Turn::Alone,
        };
        let mut outcome = match turn {
            Turn::Second(outcome) => *outcome,
            Turn::Stuck => calls::stuck(event.name),
            Turn::Alone => self.fire_loaded(request, &loaded, session, began),
            Turn::First(record) => {
                let outcome = self.fire_loaded(request, &loaded, session, began);
                record.keep(&outcome);
                outcome
            }
        };
        caller::add_ended(&mut outcome, ended);
        self.remember(request, caller, &mut outcome, was_halted);
        outcome
    }

    fn fire_loaded(
        &self,
        request: &Request<'_>,
        loaded: &Loaded,
        session: Session<'_>,
        began: Instant,
    ) -> Outcome {
        let event = request.event;
        let rules: Vec<&dyn Rules> =
            loaded.rules.iter().map(AsRef::as_ref).filter(|rules| rules.listens(event)).collect();
        let (mut records, mut told) = (Vec::new(), Vec::new());
        let mut voices = if rules.is_empty() {
            Vec::new()
        } else {
            let mut runs = Runs::new(self, request, loaded, began);
            let voices = merge::hear(event, &rules, &loaded.scope, &session.facts, &mut |rules, batch| {
                runs.run(rules, batch)
            });
            (records, told) = runs.finish();
            voices
        };
        self.add_own_voice(event, &mut voices, loaded, session.notice());
        let mut messages = loaded.messages.clone();
        messages.extend(told);
        messages.extend(session.settle(event, &mut voices, loaded.scope.settings.stop_limit));
        let mut outcome = merge::outcome(event.name, voices);
        outcome.messages.extend(messages);
        if let Err(error) = self.record(event, loaded, &outcome, records) {
            // A record that cannot be kept changes no verdict.
            outcome.messages.push(format!("becket: the journal could not be written: {error}"));
        }
        outcome
    }

    /// What Becket itself has to say: what is wrong with its settings and with the session's state, and a gate that it
    /// cannot judge.
    fn add_own_voice(
        &self,
        event: &Event,
        voices: &mut Vec<Voice>,
        loaded: &Loaded,
        of_session: Option<Notice>,
    ) {
        let problems = &self.settings.problems;
        if problems.is_empty() && loaded.unread.is_none() && of_session.is_none() {
            return;
        }
        let notices = problems.iter().map(|problem| Notice {
            key: format!("becket settings {problem}"),
            text: format!("becket: {problem}"),
        });
        let mut said = Said { notices: notices.chain(of_session).collect(), ..Said::default() };
        if let Some(unread) = &loaded.unread {
            said.messages.push(format!("becket: {unread}: what hooks stand there is not known"));
            if event.name.is_gate() {
                said.decision = Decision::Deny;
                said.reason = Some(format!("this could not be judged: {unread}"));
            }
        }
        // A voice needs a dialect's name; a message that says nothing else belongs to none of them.
        let dialect = loaded.rules.first().map_or(Name::Albedo, |rules| rules.dialect());
        voices.push(Voice { dialect, said });
    }

    fn record(
        &self,
        event: &Event,
        loaded: &Loaded,
        outcome: &Outcome,
        mut records: Vec<Record>,
    ) -> Result<(), FileError> {
        let is_silent = outcome.runs.is_empty() && outcome.decision == Decision::Allow;
        let (Some(home), true, None) = (&loaded.home, self.settings.journal, &self.memory) else {
            return Ok(());
        };
        if is_silent && records.is_empty() {
            return Ok(());
        }
        records.push(Record {
            v: journal::VERSION,
            at: home::now(),
            what: journal::What::Fired {
                session: event.session_id.clone(),
                workspace: loaded.scope.workspace.clone(),
                tool: event.tool.as_ref().map(|tool| tool.name.clone()),
                outcome: Box::new(outcome.clone()),
            },
        });
        home.journal(records)
    }
}

/// An event of which nobody can tell whether a hook fires it: no hooks run by it, and at a gate that is no leave.
fn cannot_tell(event: EventName, why: &str) -> Outcome {
    let mut outcome = Outcome::nothing(event);
    let message = format!("{why}: whether this is fired inside a hook cannot be told, so no hooks run");
    if event.is_gate() {
        outcome.decision = Decision::Deny;
        outcome.reason = Some(message.clone());
    }
    outcome.messages.push(format!("becket: {message}"));
    outcome
}
