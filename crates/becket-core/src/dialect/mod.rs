//! Dialects: one family's way of writing hooks, granting them trust and talking with them.
//!
//! A dialect is a pure function of what was read and of what has happened. It names the places that the engine
//! must read ([`Dialect::places`]), turns what was found into [`Rules`], and from then on is asked again and
//! again what comes next ([`Rules::next`]): more runs to start side by side, or what all of them said.

pub mod albedo;
pub mod celeste;
pub mod shadowcode;

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Event;
use crate::json::Object;
use crate::ledger::Ledger;
use crate::outcome::{Decision, Run, ToolResult};
use crate::place::{Found, Place};
use crate::scope::Scope;
use crate::session::Facts;

/// Every dialect this program knows, in the order in which they are asked.
pub static ALL: &[&dyn Dialect] = &[&albedo::Albedo, &celeste::Celeste, &shadowcode::Shadowcode];

/// The name of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "each is named after its system")]
pub enum Name {
    Albedo,
    Celeste,
    Claude,
    Codex,
    Shadowcode,
}

impl Name {
    /// The name as it is written in settings, options and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Albedo => "albedo",
            Self::Celeste => "celeste",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Shadowcode => "shadowcode",
        }
    }

    /// The name as its own project writes it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Albedo => "albedo",
            Self::Celeste => "Celeste",
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Shadowcode => "ShadowCode",
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One family's way with hooks.
pub trait Dialect: Sync {
    /// Its name.
    fn name(&self) -> Name;

    /// Paths whose presence makes `directory` a workspace of this dialect.
    fn marks(&self, directory: &Utf8Path, scope: &Scope) -> Vec<Utf8PathBuf>;

    /// What the engine must read before [`Dialect::load`]. The order is the order of `found` there.
    fn places(&self, scope: &Scope) -> Vec<Place>;

    /// What stands in the places. Never fails: what is wrong becomes a [`Problem`], and the rest stands.
    fn load(&self, scope: &Scope, found: &[Found], known: &Known<'_>) -> Box<dyn Rules>;

    /// What a person is asked before approving `source`, up to where the answer is typed, in a form that does not
    /// promise to remember a no. `None` where the general question will do.
    fn question(&self, _source: &Source) -> Option<String> {
        None
    }

    /// Where the standing of `source` is kept.
    fn store(&self, scope: &Scope, source: &Source) -> Store;

    /// The store after a person's answer. `before` is its content, `None` if it has none.
    ///
    /// # Errors
    /// The store must not be touched, with the reason.
    fn decide(&self, ask: &Question<'_>, before: Option<&[u8]>) -> Result<StoreChange, String>;
}

/// A person's answer, with all that it stands on.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What stands around it.
    pub scope: &'a Scope,
    /// What Becket remembers.
    pub known: Known<'a>,
    /// What was asked about, as it was read just now.
    pub source: &'a Source,
    /// What was answered.
    pub answer: Answer,
    /// When.
    pub now: Timestamp,
}

impl fmt::Debug for dyn Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().as_str())
    }
}

/// What outlives the reading of files: approvals Becket keeps itself, and what a session holds fast.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Becket's own record of answers.
    pub ledger: &'a Ledger,
    /// What [`Said::keep`] gave earlier in this session.
    pub kept: Option<&'a Value>,
}

/// A dialect's definitions, loaded and judged for trust.
pub trait Rules: Send + Sync {
    /// The dialect.
    fn dialect(&self) -> Name;

    /// The sources, in the order in which they run.
    fn sources(&self) -> &[Source];

    /// What is wrong with definitions and stores.
    fn problems(&self) -> &[Problem];

    /// Whether an event of this name could start anything or say anything. Must be cheap.
    fn listens(&self, event: &Event) -> bool;

    /// The dialect's own record of a run, for the journal: before its start (`finished` is `None`, the checks before
    /// the start have passed) and after its end.
    fn record(&self, _job: &Job, _finished: Option<&Finished>) -> Option<Value> {
        None
    }

    /// The dialect's own list of its definitions, where it has such a form.
    fn catalog(&self) -> Option<Value> {
        None
    }

    /// What comes next, given all runs that have finished for this firing, in the order in which they were given
    /// out. Called again after each batch until it answers [`Step::Done`].
    fn next(&self, firing: &Firing<'_>, past: &[Finished]) -> Step;
}

/// One source of definitions: a file, or a section of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Whose.
    pub dialect: Name,
    /// What sort of source, in the dialect's own word.
    pub kind: &'static str,
    /// Where it was found: absolute, links not resolved; with a `#section` where it is one of several in a file.
    pub path: String,
    /// Whether it may run.
    pub standing: Standing,
    /// Lower-case hex SHA-256 of what is approved; `None` where there is no content.
    pub hash: Option<String>,
    /// What a person reads before approving.
    pub content: Arc<[u8]>,
    /// Its definitions.
    pub hooks: Vec<Hook>,
    /// Whether a person's approval is needed at all.
    pub needs_approval: bool,
}

/// One definition, as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    /// Its place in its source, from 0.
    pub index: usize,
    /// Its own name.
    pub name: Option<String>,
    /// The event or events, with commas between.
    pub event: String,
    /// The matcher as written.
    pub matcher: Option<String>,
    /// The command as written.
    pub command: String,
    /// Seconds.
    pub timeout: f64,
    /// Why it cannot run.
    pub invalid: Option<String>,
}

/// Whether a source may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It runs.
    Trusted,
    /// Nobody has answered yet.
    Untrusted,
    /// It was approved with other content.
    Changed,
    /// It was declined with this content.
    Declined,
    /// It was declined with other content.
    DeclinedChanged,
}

impl Standing {
    /// The word in JSON and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Changed => "changed",
            Self::Declined => "declined",
            Self::DeclinedChanged => "declined-changed",
        }
    }
}

/// Something wrong with a definition or a store, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file.
    pub path: String,
    /// From 1; `None` where the whole file is meant.
    pub line: Option<usize>,
    /// From 1, in bytes.
    pub column: Option<usize>,
    /// What is wrong and what becomes of it. Untrusted text in it is escaped.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::text::line(&self.path))?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A person's answer about a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// It may run with the content that was shown.
    Approve,
    /// It must not run, and is not asked about again until it changes.
    Decline,
    /// Earlier answers are taken back.
    Forget,
}

/// Where a dialect keeps its approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// The file.
    pub path: Utf8PathBuf,
    /// A file that is locked while the store changes; `None` if the dialect locks nothing.
    pub lock: Option<Utf8PathBuf>,
    /// Largest content that is taken, in bytes.
    pub limit: u64,
}

/// What an answer does to a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChange {
    /// Nothing.
    Keep,
    /// The store's whole new content.
    Write(Vec<u8>),
    /// The store is removed.
    Remove,
}

/// Milliseconds since 1970, UTC: handed in, for the core has no clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// One event on its way through one dialect.
#[derive(Debug, Clone, Copy)]
pub struct Firing<'a> {
    /// The event, with the input under judgement.
    pub event: &'a Event,
    /// 1, or 2 when another input is judged than the one the model wrote.
    pub look: u8,
    /// What stands around it.
    pub scope: &'a Scope,
    /// What the session remembers.
    pub session: &'a Facts,
}

/// What a dialect wants next.
#[derive(Debug)]
pub enum Step {
    /// These runs, side by side.
    Run(Batch),
    /// Nothing more: this was said.
    Done(Box<Said>),
}

/// Runs that are started side by side.
#[derive(Debug, Clone)]
pub struct Batch {
    /// What to run, in the order in which the ends are wanted.
    pub jobs: Vec<Job>,
    /// At most so many at once.
    pub at_once: usize,
    /// Time for the whole firing, counted from its beginning.
    pub within: Option<Duration>,
}

/// One run to be started.
#[derive(Debug, Clone)]
pub struct Job {
    /// Index into [`Rules::sources`].
    pub source: usize,
    /// Index into [`Source::hooks`].
    pub hook: usize,
    /// The event as the dialect sees it.
    pub moment: String,
    /// What to start.
    pub command: Command,
    /// The file that must still have this content just before the start.
    pub recheck: Option<Recheck>,
}

/// A command and its bounds.
#[derive(Debug, Clone)]
pub struct Command {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// Where it runs.
    pub directory: Utf8PathBuf,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// What stands on its standard input, then end of file.
    pub stdin: Arc<[u8]>,
    /// Its own time.
    pub timeout: Duration,
    /// Between TERM and KILL when it is cut short; zero for KILL at once.
    pub grace: Duration,
    /// How long pipes that a stranger holds are waited for after its end.
    pub linger: Duration,
    /// What is kept of stdout.
    pub stdout: Keep,
    /// What is kept of stderr.
    pub stderr: Keep,
}

/// What is kept of a stream, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// From the beginning.
    pub head: usize,
    /// From the end.
    pub tail: usize,
    /// Whether one byte more ends the run; else the rest is drained and dropped.
    pub over_ends: bool,
}

/// The content a file must still have just before a run starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recheck {
    /// The file.
    pub place: Place,
    /// Lower-case hex SHA-256 of its bytes.
    pub hash: String,
}

/// A run that is over.
#[derive(Debug, Clone)]
pub struct Finished {
    /// What was to be run.
    pub job: Job,
    /// How it ended.
    pub end: End,
    /// What it wrote.
    pub stdout: Captured,
    /// What it wrote.
    pub stderr: Captured,
    /// Wall time.
    pub duration: Duration,
    /// Whether a stranger still held its pipes when waiting for them ended.
    pub held: bool,
    /// The directory it ran in, where that is not the one asked for, because that one was gone.
    pub moved_to: Option<String>,
    /// Its process, where one was started.
    pub pid: Option<u32>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With an exit code.
    Exited(i32),
    /// By a signal that was not ours.
    Signalled(i32),
    /// Its own time ran out.
    TimedOut,
    /// It wrote more than is taken, on the named stream.
    Overflowed(&'static str),
    /// Whoever asked no longer wants it.
    Cancelled,
    /// It could not be started.
    NotStarted(String),
    /// Its file no longer has the content that was approved.
    Replaced(String),
    /// The time that the host gives ran out before it was started or before its own time did.
    NoTime,
    /// How it ended could not be learnt.
    Lost,
}

impl End {
    /// Whether nothing can be concluded from it, not even a failure of the hook.
    pub fn is_unjudged(&self) -> bool {
        matches!(self, Self::NoTime | Self::Lost | Self::Cancelled)
    }
}

/// What was kept of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// From the beginning.
    pub head: Vec<u8>,
    /// From the end, where it does not overlap the beginning.
    pub tail: Vec<u8>,
    /// Bytes in all.
    pub total: u64,
}

impl Captured {
    /// Whether something was left out.
    pub fn is_cut(&self) -> bool {
        self.total > (self.head.len() + self.tail.len()) as u64
    }
}

/// What one dialect said of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Its decision; [`Decision::Allow`] where it has no objection.
    pub decision: Decision,
    /// Why.
    pub reason: Option<String>,
    /// The tool's whole new input, in the host's keys.
    pub updated_input: Option<Object>,
    /// What becomes of the tool's result.
    pub result: Option<ToolResult>,
    /// For the model.
    pub additional_context: Vec<String>,
    /// For the person, every time.
    pub messages: Vec<String>,
    /// For the person, once a session.
    pub notices: Vec<Notice>,
    /// What to go on with, where a stop is denied.
    pub continue_with: Option<String>,
    /// How often it may deny a stop.
    pub bound: Option<Bound>,
    /// What a person is told when `bound` lets the end come, in the dialect's own words.
    pub at_bound: Option<String>,
    /// What the session holds fast for it from now on; null lets it go.
    pub keep: Option<Value>,
    /// Its runs, skipped ones too.
    pub runs: Vec<Run>,
}

impl Default for Said {
    fn default() -> Self {
        Self {
            decision: Decision::Allow,
            reason: None,
            updated_input: None,
            result: None,
            additional_context: Vec::new(),
            messages: Vec::new(),
            notices: Vec::new(),
            continue_with: None,
            bound: None,
            at_bound: None,
            keep: None,
            runs: Vec::new(),
        }
    }
}

/// Something a person is told once a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it is about: the same key is not told twice.
    pub key: String,
    /// What is told.
    pub text: String,
}

/// How often one dialect may deny a stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// So many times in one unit.
    pub most: u32,
    /// The unit that is counted in; `None` for a turn.
    pub unit: Option<String>,
    /// What happens then.
    pub then: Then,
}

/// What happens when a bound is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The denial is dropped, with a message.
    LetEnd,
    /// The task has failed.
    Halt,
}
