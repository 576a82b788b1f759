//! The rim around the pure core: it reads what dialects ask for, runs what they want run, remembers and records.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Instant;

use becket_core::dialect::{self, Dialect, Finished, Known, Name, Notice, Problem, Rules, Said};
use becket_core::event::{Event, EventName};
use becket_core::journal::{self, Record};
use becket_core::ledger::Ledger;
use becket_core::merge::{self, Voice};
use becket_core::outcome::{Decision, Outcome};
use becket_core::scope::{Mode, Scope};
use becket_core::session::{self, Fact, Facts};
use becket_core::text;
use becket_exec::{Cancel, Custody, Keeper, Pool};
use camino::{Utf8Path, Utf8PathBuf};

use crate::home::{self, Home};
use crate::nested::{self, Mark};
use crate::read;
use crate::run::{self, Bounds};
use crate::settings::{self, SettingsError};
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
    custodian: Custodian,
    /// Sessions of a forgetful engine.
    memory: Option<std::sync::Mutex<std::collections::BTreeMap<String, Facts>>>,
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
}

impl Engine {
    /// Reads settings and homes.
    ///
    /// # Errors
    /// A settings file that was named explicitly and cannot be used.
    pub fn open(options: Options) -> Result<Self, SettingsError> {
        let mut settings = settings::load(options.config.as_deref(), &options.environment)?;
        if let Some(profile) = options.profile {
            settings.homes.shadowcode_profile = Some(read::absolute(&profile, &options.directory));
        }
        // Homes that were set relative are so to where the process stands.
        for home in [&mut settings.homes.albedo, &mut settings.homes.becket] {
            if !home.as_str().is_empty() && settings.homes.home.is_absolute() {
                *home = read::absolute(home, &options.directory);
            }
        }
        let wanted = |name: Name| options.dialects.is_empty() || options.dialects.contains(&name);
        let is_on = |name: Name| wanted(name) && !settings.settings.off.contains(&name);
        let dialects = dialect::ALL.iter().copied().filter(|dialect| is_on(dialect.name())).collect();
        Ok(Self {
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

    pub(crate) fn scope(&self, workspace: Utf8PathBuf, mode: Mode) -> Scope {
        Scope {
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

    fn find_workspace(&self, start: &Utf8Path) -> Utf8PathBuf {
        workspace::find(start, &self.scope(start.to_owned(), Mode::Build), &self.dialects)
    }

    /// Reads and judges everything that is defined for a workspace, as a new session would.
    pub fn load(&self, workspace: Utf8PathBuf) -> Loaded {
        self.load_with(self.scope(workspace, Mode::Build), &Facts::default())
    }

    fn load_with(&self, scope: Scope, facts: &Facts) -> Loaded {
        let mut messages = Vec::new();
        let mut problems = self.settings.problems.clone();
        let home = Home::open(&scope).inspect_err(|error| messages.push(home::unusable(error))).ok();
        let ledger = home.as_ref().map(Home::ledger).transpose().unwrap_or_else(|error| {
            messages.push(home::unusable(&error));
            None
        });
        let ledger = ledger.unwrap_or_default();
        for message in &messages {
            let path = scope.homes.becket.to_string();
            problems.push(Problem { path, line: None, column: None, message: message.clone() });
        }
        let rules = self
            .dialects
            .iter()
            .map(|dialect| {
                let found: Vec<_> = dialect.places(&scope).iter().map(read::read).collect();
                let kept = facts.kept.get(&dialect.name());
                dialect.load(&scope, &found, &Known { ledger: &ledger, kept })
            })
            .collect();
        Loaded { scope, rules, problems, ledger, home, messages }
    }

    /// Fires one event: loads, runs what applies, remembers, records, and says what the agent must do.
    pub fn fire(&self, request: &Request<'_>) -> Outcome {
        let began = Instant::now();
        let event = request.event;
        if nested::is_inside_a_hook(&self.environment) {
            let mut outcome = Outcome::nothing(event.name);
            outcome.messages.push("becket: fired inside a hook, so no hooks run".to_owned());
            return outcome;
        }
        let session = Session::of(self, request);
        let scope = self.scope(session.workspace.clone(), request.mode.unwrap_or_else(|| mode_of(event)));
        let loaded = self.load_with(scope, &session.facts);
        self.fire_loaded(request, &loaded, session, began)
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
        let mut records = Vec::new();
        let mut voices = if rules.is_empty() {
            Vec::new()
        } else {
            let mut runs = Runs::new(self, request, loaded, began);
            let voices = merge::hear(event, &rules, &loaded.scope, &session.facts, &mut |rules, batch| {
                runs.run(rules, batch)
            });
            records = runs.finish();
            voices
        };
        self.add_own_voice(&mut voices, loaded);
        let mut messages = loaded.messages.clone();
        messages.extend(session.settle(event, &mut voices, loaded.scope.settings.stop_limit));
        let mut outcome = merge::outcome(event.name, voices);
        outcome.messages.extend(messages);
        self.record(event, loaded, &outcome, records);
        outcome
    }

    /// What Becket itself has to say: what is wrong with its settings.
    fn add_own_voice(&self, voices: &mut Vec<Voice>, loaded: &Loaded) {
        let problems = &self.settings.problems;
        if problems.is_empty() {
            return;
        }
        let notices = problems.iter().map(|problem| Notice {
            key: format!("becket settings {problem}"),
            text: format!("becket: {problem}"),
        });
        let said = Said { notices: notices.collect(), ..Said::default() };
        // A voice needs a dialect's name; a message that says nothing else belongs to none of them.
        let dialect = loaded.rules.first().map_or(Name::Albedo, |rules| rules.dialect());
        voices.push(Voice { dialect, said });
    }

    fn record(&self, event: &Event, loaded: &Loaded, outcome: &Outcome, mut records: Vec<Record>) {
        let is_silent = outcome.runs.is_empty() && outcome.decision == Decision::Allow;
        let (Some(home), true, None) = (&loaded.home, self.settings.journal, &self.memory) else { return };
        if is_silent && records.is_empty() {
            return;
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
        // A record that cannot be kept changes no verdict.
        drop(home.journal(&records));
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

/// The runs of one firing. A custodian is taken only once something runs.
struct Runs<'a> {
    engine: &'a Engine,
    request: &'a Request<'a>,
    loaded: &'a Loaded,
    began: Instant,
    custody: Option<Held<'a>>,
    mark: Option<Mark>,
    records: Vec<Record>,
}

/// What holds the processes of one firing.
enum Held<'a> {
    Own(Custody),
    Leased(becket_exec::Leased<'a>),
}

impl<'a> Runs<'a> {
    fn new(engine: &'a Engine, request: &'a Request<'a>, loaded: &'a Loaded, began: Instant) -> Self {
        Self { engine, request, loaded, began, custody: None, mark: None, records: Vec::new() }
    }

    fn run(&mut self, rules: &dyn Rules, batch: dialect::Batch) -> Vec<Finished> {
        for job in &batch.jobs {
            self.add_record(rules, rules.record(job, None));
        }
        if self.mark.is_none() {
            self.mark = self.loaded.home.as_ref().and_then(|home| Mark::set(home).ok());
        }
        let bounds = Bounds {
            began: self.began,
            deadline: self.request.deadline,
            cancel: self.request.cancel,
            end_everything: self.loaded.scope.settings.end_everything,
            mark: self.mark.as_ref().map(|mark| (nested::VARIABLE, mark.value())),
        };
        let engine = self.engine;
        let custody = match self.custody.get_or_insert_with(|| engine.hold()) {
            Held::Own(custody) => custody,
            Held::Leased(leased) => &mut *leased,
        };
        let finished = run::run(custody, batch, &bounds);
        for finished in &finished {
            self.add_record(rules, rules.record(&finished.job, Some(finished)));
        }
        finished
    }

    fn add_record(&mut self, rules: &dyn Rules, record: Option<serde_json::Value>) {
        let Some(record) = record else { return };
        self.records.push(Record {
            v: journal::VERSION,
            at: home::now(),
            what: journal::What::Hook {
                dialect: rules.dialect(),
                session: self.request.event.session_id.clone(),
                record,
            },
        });
    }

    fn finish(self) -> Vec<Record> {
        if let Some(Held::Own(Custody::Keeper(keeper))) = self.custody {
            // It cleans up after us: the answer need not wait for that.
            keeper.leave();
        }
        self.records
    }
}

impl Engine {
    /// A custodian for one firing. Where the one asked for cannot be had the weaker one serves: hooks that do not run
    /// would be worse.
    fn hold(&self) -> Held<'_> {
        match &self.custodian {
            Custodian::Group => Held::Own(Custody::Group),
            Custodian::Fork => Held::Own(Keeper::fork().map_or(Custody::Group, Custody::Keeper)),
            Custodian::Pool(pool) => pool.lease().map_or(Held::Own(Custody::Group), Held::Leased),
        }
    }
}

/// What is known of the event's session, and where it is kept.
struct Session<'a> {
    engine: &'a Engine,
    key: Option<String>,
    home: Option<Home>,
    facts: Facts,
    workspace: Utf8PathBuf,
    begins: bool,
    messages: Vec<String>,
}

impl<'a> Session<'a> {
    fn of(engine: &'a Engine, request: &Request<'_>) -> Self {
        let event = request.event;
        let named = request.workspace.map(|named| read::absolute(named, &engine.directory));
        let start = event.cwd.as_deref().filter(|cwd| cwd.is_absolute()).unwrap_or(&engine.directory);
        // The home's safety is judged against the workspace; where that is not known yet, against the start.
        let guess = named.clone().unwrap_or_else(|| start.to_owned());
        let home = Home::open(&engine.scope(guess, Mode::Build)).ok();
        let mut session = Self {
            engine,
            key: event.session_id.as_ref().map(|id| format!("session {id}")),
            home,
            facts: Facts::default(),
            workspace: Utf8PathBuf::new(),
            begins: false,
            messages: Vec::new(),
        };
        if let Some(key) = session.key.clone() {
            session.facts = session.read(&key);
        }
        session.begins = session.key.is_some() && session.facts.workspace.is_none() && event.tool.is_none();
        session.workspace = named
            .or_else(|| session.facts.workspace.clone())
            .unwrap_or_else(|| engine.find_workspace(&read::absolute(start, &engine.directory)));
        if session.key.is_none() {
            // Without a session an event stands alone; only the bound on stops must outlive it.
            let key = format!("workspace {}", session.workspace);
            if event.name.is_stop() || event.name == EventName::UserPromptSubmit {
                let counted = session.read(&key);
                session.facts.continued = counted.continued;
                session.facts.continued_with = counted.continued_with;
            }
            session.key = Some(key);
        }
        session
    }

    fn is_alone(&self) -> bool {
        !self.facts.remembered
    }

    fn read(&mut self, key: &str) -> Facts {
        if let Some(memory) = &self.engine.memory {
            let memory = memory.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            return memory.get(key).cloned().unwrap_or(Facts { remembered: true, ..Facts::default() });
        }
        let Some(home) = &self.home else { return Facts::default() };
        match home.session(key) {
            Ok((facts, 0)) => facts,
            Ok((facts, newer)) => {
                self.messages.push(format!(
                    "becket: {newer} facts of this session were written by a newer Becket and are not understood"
                ));
                facts
            }
            Err(error) => {
                self.messages.push(format!("becket: the session could not be read: {error}"));
                Facts::default()
            }
        }
    }

    /// Applies the session's rules to what was said, and stores the facts that follow. Answers what a person is told.
    fn settle(mut self, event: &Event, voices: &mut Vec<Voice>, stop_limit: u32) -> Vec<String> {
        let began = self.begins.then(|| Fact::Began { workspace: self.workspace.clone() });
        let alone = self.is_alone();
        let decide = |facts: &Facts, voices: &mut Vec<Voice>| {
            let mut new: Vec<Fact> = began.clone().into_iter().collect();
            new.extend(session::settle(event, voices, facts, stop_limit));
            if alone {
                new.retain(|fact| {
                    matches!(fact, Fact::Prompted | Fact::Continued { .. } | Fact::Rested { .. })
                });
                if facts.continued.is_empty() {
                    new.retain(|fact| !matches!(fact, Fact::Prompted));
                }
            }
            new
        };
        let mut settled = voices.clone();
        let new = decide(&self.facts, &mut settled);
        if new.is_empty() {
            *voices = settled;
            return self.messages;
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
                self.messages.push(format!("becket: the session could not be remembered: {message}"));
                if event.name.is_stop() && event.flag("stop_hook_active") != Some(false) {
                    unbounded_stop(voices);
                }
            }
        }
        self.messages
    }

    fn store(&self, key: &str, decide: impl FnOnce(&Facts) -> Vec<Fact>) -> Result<(), String> {
        if let Some(memory) = &self.engine.memory {
            let mut memory = memory.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
