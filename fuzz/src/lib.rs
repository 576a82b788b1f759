//! What is fuzzed: everything that parses what somebody else wrote. Each function must end, and must not panic.
//!
//! The functions stand here so that the stable compiler can replay the corpus: `cargo test` in this folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use becket_core::dialect::{
    self, Answer, Captured, Dialect, End, Finished, Known, Name, Question, Rules, StoreChange, Timestamp,
};
use becket_core::event::{Event, EventName};
use becket_core::journal::Record;
use becket_core::json::{self, Repeated};
use becket_core::ledger::Ledger;
use becket_core::outcome::{Decision, Outcome};
use becket_core::place::{Entry, File, Found, Place, What};
use becket_core::scope::{Homes, Mode, Scope, Settings};
use becket_core::session::{Fact, Facts, OpenCall, line};
use becket_core::{merge, patch, text as safe};
use becket_hosts::Host;
use becket_hosts::answer;
use becket_hosts::decode::{Beside, Heard, decode};
use becket_hosts::install::{self, Line};
use becket_pattern::Pattern;
use camino::Utf8PathBuf;

fn scope() -> Scope {
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

/// The same bytes at every place of every dialect: definitions, stores, profiles.
fn load(bytes: &[u8]) -> Vec<Box<dyn Rules>> {
    let ledger = Ledger::default();
    dialect::ALL.iter().map(|dialect| load_one(*dialect, bytes, &ledger, &BTreeMap::new())).collect()
}

/// The same, and a person has approved whatever of it can be approved.
fn approved(bytes: &[u8]) -> Vec<Box<dyn Rules>> {
    let scope = scope();
    let mut ledger = Ledger::default();
    let now = Timestamp(0);
    ledger.record(Name::Shadowcode, scope.real_workspace.as_str(), Answer::Approve, "", now);
    let all = dialect::ALL.iter().map(|dialect| {
        let mut stores = BTreeMap::new();
        let rules = load_one(*dialect, bytes, &ledger, &stores);
        for source in rules.sources().iter().filter(|source| source.needs_approval) {
            let store = dialect.store(&scope, source).path;
            let known = Known { ledger: &ledger, kept: None };
            let question = Question { scope: &scope, known, source, answer: Answer::Approve, now };
            let before = stores.get(&store).map(Vec::as_slice);
            if let Ok(StoreChange::Write(after)) = dialect.decide(&question, before) {
                stores.insert(store, after);
            }
        }
        load_one(*dialect, bytes, &ledger, &stores)
    });
    all.collect()
}

/// One dialect's rules, of stores with their own content and the same bytes at every other place.
fn load_one(
    dialect: &dyn Dialect,
    bytes: &[u8],
    ledger: &Ledger,
    stores: &BTreeMap<Utf8PathBuf, Vec<u8>>,
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
    dialect.load(&scope, &found, &Known { ledger, kept: None })
}

fn fire(event: &Event, rules: &[Box<dyn Rules>], end: impl Fn(dialect::Job) -> Finished) {
    let scope = scope();
    let facts = Facts { remembered: true, prompts: 1, ..Facts::default() };
    let rules: Vec<&dyn Rules> = rules.iter().map(AsRef::as_ref).collect();
    let voices = merge::hear(event, &rules, &scope, &facts, &mut |_, batch| {
        batch.jobs.into_iter().map(&end).collect()
    });
    let outcome = merge::outcome(event.name, voices);
    let written = serde_json::to_string(&outcome).expect("an outcome has a JSON");
    assert_eq!(serde_json::from_str::<Outcome>(&written).ok(), Some(outcome));
}

fn finished(job: dialect::Job, end: End, stdout: &[u8]) -> Finished {
    let captured = Captured { head: stdout.to_vec(), tail: Vec::new(), total: stdout.len() as u64 };
    Finished {
        job,
        end,
        stdout: captured.clone(),
        stderr: captured,
        duration: Duration::ZERO,
        held: false,
        moved_to: None,
        pid: None,
    }
}

thread_local! {
    /// Definitions in each dialect's words, read once: they are not what these targets are about.
    static RULES: Vec<Vec<Box<dyn Rules>>> = DEFINITIONS.iter().map(|bytes| approved(bytes)).collect();
}

const DEFINITIONS: &[&[u8]] = &[
    br#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x"}]}],"PostToolUse":[{"hooks":[{"type":"command","command":"x"}]}],"Stop":[{"hooks":[{"type":"command","command":"x"}]}],"UserPromptSubmit":[{"hooks":[{"type":"command","command":"x"}]}],"SessionStart":[{"hooks":[{"type":"command","command":"x"}]}]}}"#,
    br#"{"hooks":[{"event":"PreToolUse","command":"x"},{"event":"PreToolUse","protocol":"v2","command":"x"},{"event":"PostToolUse","protocol":"v2","command":"x"},{"event":"Stop","command":"x"},{"event":"Stop","protocol":"v2","command":"x"},{"event":"UserPromptSubmit","protocol":"v2","command":"x"}]}"#,
    br#"{"name":"x","events":["before_command","after_edit","after_test","on_error","on_complete"],"command":"x"}"#,
];

/// An envelope, and what every dialect makes of the event.
pub fn envelope(bytes: &[u8]) {
    let Ok(event) = Event::read(bytes, None) else { return };
    remember(&event);
    RULES.with(|all| {
        for rules in all {
            fire(&event, rules, |job| finished(job, End::Exited(0), b""));
        }
    });
}

/// Files of definitions and stores.
pub fn definitions(bytes: &[u8]) {
    let (asked, rules) = (load(bytes), approved(bytes));
    for rules in asked.iter().chain(&rules) {
        for source in rules.sources() {
            assert!(source.hash.as_deref().is_none_or(becket_core::hash::is_hash));
        }
        for problem in rules.problems() {
            assert!(!problem.to_string().contains('\u{1b}'));
        }
    }
    for name in [EventName::PreToolUse, EventName::Stop] {
        let text =
            format!(r#"{{"hook_event_name":"{name}","tool_name":"Bash","tool_input":{{"command":"x"}}}}"#);
        let event = Event::read(text.as_bytes(), None).expect("it is a right one");
        fire(&event, &rules, |job| finished(job, End::Exited(0), b""));
    }
}

/// A hook's output: the first byte chooses the event and the exit code.
pub fn reply(bytes: &[u8]) {
    let Some((choice, output)) = bytes.split_first() else { return };
    let name = EventName::ALL[usize::from(*choice) % EventName::ALL.len()];
    let code = if choice & 0x80 == 0 { 0 } else { 2 };
    let text = format!(r#"{{"hook_event_name":"{name}","tool_name":"Bash","tool_input":{{"command":"x"}}}}"#);
    let event = Event::read(text.as_bytes(), None).expect("it is a right one");
    RULES.with(|all| {
        for rules in all {
            fire(&event, rules, |job| finished(job, End::Exited(code), output));
        }
    });
}

/// A matcher and a subject, with a newline between.
pub fn pattern(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (pattern, subject) = text.split_once('\n').unwrap_or((text, "Bash"));
    if let Ok(pattern) = Pattern::new(pattern) {
        drop(pattern.is_match(subject));
    }
}

/// Whatever is accepted is remembered as it is, by itself and added up.
fn remember(event: &Event) {
    let call = OpenCall { id: "c".to_owned(), agent: None, fields: event.fields.clone() };
    let mut facts = Facts { remembered: true, ..Facts::default() };
    facts.add(Fact::Opened { call: Box::new(call.clone()) });
    for fact in [Fact::Opened { call: Box::new(call) }, Fact::Sum(Box::new(facts.clone()))] {
        let (read, gaps) = Facts::read(&line(&fact).expect("it reads back"));
        assert!(gaps.is_none());
        assert_eq!(read, facts);
    }
}

/// The lines of a session: their sum reads back, or there is none.
pub fn session(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (facts, _) = Facts::read(&text);
    if let Some(sum) = line(&Fact::Sum(Box::new(facts.clone()))) {
        assert_eq!(Facts::read(&sum).0, facts);
    }
}

/// A line of the journal, and the ledger.
pub fn journal(bytes: &[u8]) {
    drop(Ledger::parse(bytes));
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(record) = Record::parse(text) {
        assert!(Record::parse(record.line().trim_end()).is_ok());
    }
}

/// Text made fit to be shown, and the files that a patch names.
pub fn text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    drop(patch::files(&text));
    for shown in [safe::line(&text).into_owned(), safe::quote(&text)] {
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
    }
}

/// What an agent sends, and what it is told: the first byte chooses the agent, the event of its line and the outcome.
pub fn agent(bytes: &[u8]) {
    let Some((choice, payload)) = bytes.split_first() else { return };
    let host = Host::ALL[usize::from(*choice) % Host::ALL.len()];
    let rows = host.rows();
    let beside =
        Beside { event: rows.get(usize::from(*choice) / 4 % 16).map(|row| row.event), project: Some("/w") };
    let event = match decode(host, payload, beside) {
        Ok(Heard::Event(decoded)) => decoded.event,
        Ok(Heard::Nothing) => return,
        // What could not be read is never passed over at a gate.
        Err(error) => {
            let words = error.words();
            match beside.event {
                // Another agent's payload is refused in that agent's words.
                Some(EventName::PreToolUse) => {
                    assert!(Host::ALL.iter().any(|host| answer::is_denial(*host, &words)), "{words:?}");
                }
                Some(gate) if gate.is_gate() => {
                    assert!(words.exit == 2 || words.stdout.len() > 3, "{words:?}")
                }
                _ => {}
            }
            return;
        }
    };
    let decisions = [Decision::Allow, Decision::Grant, Decision::Ask, Decision::Deny, Decision::Halt];
    for decision in decisions {
        let outcome = Outcome {
            decision,
            reason: Some("\u{1b}[31mno\u{202e}".to_owned()),
            updated_input: event.tool.as_ref().and_then(|tool| tool.input.clone()),
            additional_context: vec!["context".to_owned()],
            messages: vec!["message".to_owned()],
            ..Outcome::nothing(event.name)
        };
        let words = answer::encode(host, &event, &outcome);
        assert!(words.stdout.is_empty() || json::parse(words.stdout.as_bytes(), Repeated::Refuse).is_ok());
    }
}

/// An agent's settings, the first byte chooses whose: what is plugged in is taken out again byte for byte.
pub fn plug(bytes: &[u8]) {
    let Some((choice, settings)) = bytes.split_first() else { return };
    let host = Host::ALL[usize::from(*choice) % Host::ALL.len()];
    let line = Line { program: "/bin/becket".into(), home: "/h".into(), set: Vec::new() };
    drop(install::installed(host, settings));
    let _ = install::has_traces(host, settings);
    let Ok(plugged) = install::plugged(host, Some(settings), &line) else { return };
    let again = install::plugged(host, Some(plugged.as_bytes()), &line).expect("it was plugged in before");
    assert_eq!(again, plugged, "a second time changes nothing");
    if install::installed(host, settings).is_empty() && host != Host::Opencode {
        let out = install::unplugged(host, plugged.as_bytes()).expect("it was plugged in");
        assert_eq!(out.as_deref().map(str::as_bytes), Some(settings), "it is as it was");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;

    /// A target that runs no hook of a dialect finds nothing in it.
    #[test]
    fn hooks_of_every_dialect_run() {
        let ran = RefCell::new(BTreeSet::new());
        for name in [EventName::PreToolUse, EventName::PostToolUse, EventName::Stop] {
            let text = format!(
                r#"{{"hook_event_name":"{name}","tool_name":"Bash","tool_input":{{"command":"cargo test"}}}}"#
            );
            let event = Event::read(text.as_bytes(), None).expect("it is a right one");
            for definitions in DEFINITIONS {
                let rules = approved(definitions);
                for rules in rules.iter().filter(|rules| rules.listens(&event)) {
                    let dialect = rules.dialect();
                    fire(&event, std::slice::from_ref(rules), |job| {
                        ran.borrow_mut().insert((dialect.as_str(), name.as_str()));
                        finished(job, End::Exited(0), b"{}")
                    });
                }
            }
        }
        let ran: Vec<_> =
            ran.into_inner().into_iter().map(|(dialect, name)| format!("{dialect} {name}")).collect();
        assert_eq!(
            ran,
            [
                "albedo PostToolUse",
                "albedo PreToolUse",
                "albedo Stop",
                "celeste PostToolUse",
                "celeste PreToolUse",
                "celeste Stop",
                "shadowcode PostToolUse",
                "shadowcode PreToolUse",
                "shadowcode Stop"
            ]
        );
    }

    /// Every file of the corpus goes through its target, as a regression test on the stable compiler.
    #[test]
    fn the_corpus_is_replayed() {
        let targets: [(&str, fn(&[u8])); 9] = [
            ("envelope", super::envelope),
            ("definitions", super::definitions),
            ("reply", super::reply),
            ("pattern", super::pattern),
            ("session", super::session),
            ("journal", super::journal),
            ("text", super::text),
            ("agent", super::agent),
            ("plug", super::plug),
        ];
        for (name, target) in targets {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
            let mut count = 0;
            for entry in std::fs::read_dir(&folder).expect("the corpus is there") {
                target(&std::fs::read(entry.unwrap().path()).unwrap());
                count += 1;
            }
            assert!(count > 0, "{name} has no corpus");
        }
    }
}
