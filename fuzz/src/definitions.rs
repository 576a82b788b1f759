//! Files of definitions, stores and bundles.

use std::collections::BTreeMap;

use becket_core::dialect::shadowcode::{Bundle, Installed, State};
use becket_core::dialect::{self, Answer, End, Rules, StoreChange};
use becket_core::event::{Event, EventName};
use becket_core::hash;
use becket_core::ledger::Ledger;

use crate::rules::{approved, decide, finished, fire, load_one, scope};

/// Files of definitions and stores: read, asked about, answered, fired at, and held fast by a session.
pub fn definitions(bytes: &[u8]) {
    let (ledger, none) = (Ledger::default(), BTreeMap::new());
    for dialect in dialect::ALL {
        assert!(!dialect.marks("/w".into(), &scope()).is_empty() || dialect.name().as_str() == "albedo");
        let rules = load_one(*dialect, bytes, &ledger, &none, None);
        check(rules.as_ref());
        for source in rules.sources() {
            assert!(dialect.question(source).is_none_or(|question| !question.contains('\u{1b}')));
            for answer in [Answer::Approve, Answer::Decline, Answer::Forget] {
                for before in [None, Some(bytes)] {
                    // Whatever a store becomes can be answered about again.
                    if let Ok(StoreChange::Write(after)) = decide(*dialect, &ledger, source, answer, before) {
                        let again = decide(*dialect, &ledger, source, answer, Some(&after));
                        assert!(again.is_ok(), "{answer:?}: {again:?}");
                    }
                }
            }
        }
    }
    let rules = approved(bytes);
    rules.iter().for_each(|rules| check(rules.as_ref()));
    for name in [EventName::SessionStart, EventName::PreToolUse, EventName::PostToolUse, EventName::Stop] {
        let text = format!(
            r#"{{"hook_event_name":"{name}","tool_name":"Bash","tool_input":{{"command":"cargo test"}}}}"#
        );
        let event = Event::read(text.as_bytes(), None).expect("it is a right one");
        for rules in &rules {
            let _ = rules.listens(&event);
        }
        let kept = fire(&event, &rules, |job| finished(job, End::Exited(0), b"", b""));
        // What a session holds fast stands, whatever has become of the files.
        for dialect in dialect::ALL {
            if let Some(kept) = kept.get(&dialect.name()) {
                check(load_one(*dialect, b"{}", &ledger, &none, Some(kept)).as_ref());
            }
        }
    }
    bundle(bytes);
}

fn check(rules: &dyn Rules) {
    for source in rules.sources() {
        assert!(source.hash.as_deref().is_none_or(hash::is_hash));
    }
    for problem in rules.problems() {
        assert!(!problem.to_string().contains('\u{1b}'));
    }
    drop(rules.catalog());
}

/// It makes `.shadowcode/hooks/x--y.json`.
const BUNDLE: &str = r#"{"format":"shadowcode-plugin-v1","name":"x","hooks":[{"name":"y","events":["after_edit"],"command":"z"}]}"#;

/// A plugin's bundle, and the record of one with the profile from which it is taken out.
fn bundle(bytes: &[u8]) {
    if let Ok(bundle) = Bundle::parse(bytes) {
        drop(bundle.check(&[]));
    }
    if let Ok(record) = Installed::parse(bytes) {
        assert_eq!(Installed::parse(&record.to_bytes()).as_ref(), Ok(&record));
    }
    let bundle = Bundle::parse(BUNDLE.as_bytes()).expect("it is a right one");
    let record = bundle.installed("/w", State::Adding);
    if let Ok(Some(after)) = record.revoke(bytes) {
        assert_eq!(record.revoke(&after), Ok(None), "nothing is left of it");
    }
}
