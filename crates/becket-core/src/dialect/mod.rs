//! Dialects: one family's way of writing hooks, granting them trust and talking with them.
//!
//! A dialect is a pure function of what was read and of what has happened. It names the places that the engine
//! must read ([`Dialect::places`]), turns what was found into [`Rules`], and for each event gives a way
//! ([`Rules::way`]) that is asked again and again what comes next: more runs to start side by side, or what all of them
//! said.

pub mod albedo;
pub mod celeste;
pub mod shadowcode;

mod run;
mod said;
mod source;

use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::run::{Batch, Captured, Command, End, Finished, Job, Keep, Recheck};
pub use self::said::{Bound, Notice, Said, Then};
pub use self::source::{Answer, Hook, Problem, Source, Standing, Store, StoreChange, Timestamp};
use crate::event::Event;
use crate::ledger::Ledger;
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
    /// Every name.
    pub const EVERY: [Self; 5] = [Self::Albedo, Self::Celeste, Self::Claude, Self::Codex, Self::Shadowcode];

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

    /// The dialect of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|known| known.as_str() == name)
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

    /// Whether an approval can be taken back without having seen the content: where the dialect's own program does so.
    fn forgets_unseen(&self) -> bool {
        false
    }

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

impl<'a> Known<'a> {
    /// Outside of any session.
    pub fn outside(ledger: &'a Ledger) -> Self {
        Self { ledger, kept: None }
    }
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
    /// the start have passed) and after its end. It holds everything as it is: the journal masks what it stores
    /// ([`crate::redact`]), but for texts under `type`, `id`, `name`, `event`, `path` and `hash`.
    fn record(&self, _job: &Job, _finished: Option<&Finished>) -> Option<Value> {
        None
    }

    /// The dialect's own list of its definitions, where it has such a form.
    fn catalog(&self) -> Option<Value> {
        None
    }

    /// The way of one event through these rules. What it answers hangs on the firing and the ends alone.
    fn way<'a>(&'a self, firing: &'a Firing<'a>) -> Way<'a>;
}

/// What comes next, given how the runs ended that were asked for last, in the order in which they were given out: none
/// at first. Called again after each batch until it answers [`Step::Done`], and not after that.
pub type Way<'a> = Box<dyn FnMut(Vec<Finished>) -> Step + 'a>;

/// The way of a dialect that thinks through all that has ended from the beginning at each step, as suits those where
/// only people decide how many steps there are.
fn from_the_beginning<'a>(next: impl Fn(&[Finished]) -> Step + 'a) -> Way<'a> {
    let mut past = Vec::new();
    Box::new(move |ended| {
        past.extend(ended);
        next(&past)
    })
}

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

impl Firing<'_> {
    /// Whether a hook may change the input. What a second look judges is what will run, and stays that for every guard.
    pub fn takes_rewrites(&self) -> bool {
        self.look == 1
    }
}

/// What a dialect wants next.
#[derive(Debug)]
pub enum Step {
    /// These runs, side by side.
    Run(Batch),
    /// Nothing more: this was said.
    Done(Box<Said>),
}
