//! Dialects with made-up places, stores and ends.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use becket_core::dialect::{
    self, Answer, Captured, Dialect, End, Finished, Known, Name, Question, Rules, Source, Standing,
    StoreChange, Timestamp,
};
use becket_core::event::Event;
use becket_core::journal::{Record, VERSION, What as Told};
use becket_core::ledger::Ledger;
use becket_core::merge;
use becket_core::outcome::Outcome;
use becket_core::place::{Entry, File, Found, Place, What};
use becket_core::scope::{Homes, Mode, Scope, Settings};
use becket_core::session::Facts;
use camino::Utf8PathBuf;
use serde_json::Value;

const NOW: Timestamp = Timestamp(0);

pub(crate) fn scope() -> Scope {
    let environment: Arc<[(OsString, OsString)]> = Arc::from([("PATH".into(), "/bin".into())]);
    Scope {
        workspace: "/w".into(),
        real_workspace: "/w".into(),
        real_home: "/h".into(),
        homes: Homes {
            home: "/h".into(),
            albedo: "/h/.albedo".into(),
            shadowcode_profile: Some("/h/profile".into()),
            becket: "/h/becket".into(),
            config: "/h/.config".into(),
        },
        settings: Settings::default(),
        environment,
        mode: Mode::Build,
    }
}

fn file(bytes: &[u8]) -> Found {
    Found::File(File { bytes: bytes.into(), modified_ms: 0, unsafe_store: None })
}

/// What every dialect makes of the same bytes at every place (definitions, stores, profiles), where a person has approved
/// whatever of it can be approved.
pub(crate) fn approved(bytes: &[u8]) -> Vec<Box<dyn Rules>> {
    let mut ledger = Ledger::default();
    ledger.record(Name::Shadowcode, scope().real_workspace.as_str(), Answer::Approve, "", NOW);
    let all = dialect::ALL.iter().map(|dialect| {
        let mut stores = BTreeMap::new();
        let rules = load_one(*dialect, bytes, &ledger, &stores, None);
        let mut taken = Vec::new();
        for source in rules.sources().iter().filter(|source| source.needs_approval) {
            let store = dialect.store(&scope(), source).path;
            let before = stores.get(&store).map(Vec::as_slice);
            if let Ok(StoreChange::Write(after)) = decide(*dialect, &ledger, source, Answer::Approve, before)
            {
                stores.insert(store, after);
                taken.push((source.path.clone(), source.hash.clone()));
            }
        }
        let rules = load_one(*dialect, bytes, &ledger, &stores, None);
        for source in rules.sources() {
            let was_taken = taken.contains(&(source.path.clone(), source.hash.clone()));
            assert!(!was_taken || source.standing == Standing::Trusted, "{source:?}");
        }
        rules
    });
    all.collect()
}

/// One dialect's store after an answer.
pub(crate) fn decide(
    dialect: &dyn Dialect,
    ledger: &Ledger,
    source: &Source,
    answer: Answer,
    before: Option<&[u8]>,
) -> Result<StoreChange, String> {
    let known = Known::outside(ledger);
    dialect.decide(&Question { scope: &scope(), known, source, answer, now: NOW }, before)
}

/// One dialect's rules, of stores with their own content and the same bytes at every other place.
pub(crate) fn load_one(
    dialect: &dyn Dialect,
    bytes: &[u8],
    ledger: &Ledger,
    stores: &BTreeMap<Utf8PathBuf, Vec<u8>>,
    kept: Option<&Value>,
) -> Box<dyn Rules> {
    let scope = scope();
    let found = |place: &Place| match place.what {
        What::File => file(stores.get(&place.path).map_or(bytes, Vec::as_slice)),
        What::Folder { endings, .. } => Found::Folder {
            entries: endings
                .iter()
                .map(|ending| Entry { name: format!("x{ending}"), found: Some(file(bytes)) })
                .collect(),
            more: false,
        },
    };
    let found: Vec<Found> = dialect.places(&scope).iter().map(found).collect();
    dialect.load(&scope, &found, &Known { ledger, kept })
}

/// Fires an event with made-up ends. What comes of it reads back, and what each dialect wants to be kept comes back.
pub(crate) fn fire(
    event: &Event,
    rules: &[Box<dyn Rules>],
    end: impl Fn(dialect::Job) -> Finished,
) -> BTreeMap<Name, Value> {
    let scope = scope();
    let facts = Facts { remembered: true, prompts: 1, ..Facts::default() };
    let rules: Vec<&dyn Rules> = rules.iter().map(AsRef::as_ref).collect();
    let mut records = Vec::new();
    let voices = merge::hear(event, &rules, &scope, &facts, &mut |rules, batch| {
        let run = |job| {
            let before = rules.record(&job, None);
            let finished = end(job);
            let after = rules.record(&finished.job, Some(&finished));
            records.extend([before, after].into_iter().flatten().map(|record| (rules.dialect(), record)));
            finished
        };
        batch.jobs.into_iter().map(run).collect()
    });
    let kept = voices.iter().filter_map(|voice| Some((voice.dialect, voice.said.keep.clone()?))).collect();
    let outcome = merge::outcome(event.name, voices);
    let written = serde_json::to_string(&outcome).expect("an outcome has a JSON");
    assert_eq!(serde_json::from_str::<Outcome>(&written).ok().as_ref(), Some(&outcome));
    for (dialect, record) in records {
        reads_back(Told::Hook { dialect, session: event.session_id.clone(), record });
    }
    reads_back(Told::Fired {
        session: event.session_id.clone(),
        workspace: scope.workspace.clone(),
        tool: event.tool.as_ref().map(|tool| tool.name.clone()),
        outcome: Box::new(outcome),
    });
    kept
}

fn reads_back(what: Told) {
    let record = Record { v: VERSION, at: Timestamp(0), what };
    crate::records::reads_back(record);
}

/// A run that ended so. What it wrote over 300 bytes was not kept.
pub(crate) fn finished(job: dialect::Job, end: End, stdout: &[u8], stderr: &[u8]) -> Finished {
    let captured = |bytes: &[u8], keep: dialect::Keep| {
        let head = bytes.len().min(keep.head.min(300));
        let tail = (bytes.len() - head).min(keep.tail.min(20));
        Captured {
            head: bytes[..head].to_vec(),
            tail: bytes[bytes.len() - tail..].to_vec(),
            total: bytes.len() as u64,
        }
    };
    Finished {
        stdout: captured(stdout, job.command.stdout),
        stderr: captured(stderr, job.command.stderr),
        job,
        end,
        duration: Duration::ZERO,
        held: false,
        moved_to: None,
        pid: None,
    }
}

thread_local! {
    /// Definitions in each dialect's words, read once: they are not what these targets are about.
    pub(crate) static RULES: Vec<Vec<Box<dyn Rules>>> = DEFINITIONS.iter().map(|bytes| approved(bytes)).collect();
}

pub(crate) const DEFINITIONS: &[&[u8]] = &[
    br#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x"}]}],"PostToolUse":[{"hooks":[{"type":"command","command":"x"}]}],"Stop":[{"hooks":[{"type":"command","command":"x"}]}],"UserPromptSubmit":[{"hooks":[{"type":"command","command":"x"}]}],"SessionStart":[{"hooks":[{"type":"command","command":"x"}]}]}}"#,
    br#"{"hooks":[{"event":"PreToolUse","command":"x"},{"event":"PreToolUse","protocol":"v2","command":"x"},{"event":"PostToolUse","protocol":"v2","command":"x"},{"event":"Stop","command":"x"},{"event":"Stop","protocol":"v2","command":"x"},{"event":"UserPromptSubmit","protocol":"v2","command":"x"}]}"#,
    br#"{"name":"x","events":["before_command","after_edit","after_test","on_error","on_complete"],"command":"x"}"#,
];
