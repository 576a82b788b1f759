//! What is fuzzed: everything that parses what somebody else wrote. Each function must end, and must not panic.
//!
//! The functions stand here so that the stable compiler can replay the corpus: `cargo test` in this folder.

mod agents;
mod definitions;
mod events;
mod records;
mod rules;

use becket_pattern::Pattern;

pub use agents::{agent, plug, settings};
pub use definitions::definitions;
pub use events::{envelope, reply};
pub use records::{journal, session, text};

/// Every target, by the name of its program and of its folder in the corpus.
pub const TARGETS: [(&str, fn(&[u8])); 10] = [
    ("agent", agent),
    ("definitions", definitions),
    ("envelope", envelope),
    ("journal", journal),
    ("pattern", pattern),
    ("plug", plug),
    ("reply", reply),
    ("session", session),
    ("settings", settings),
    ("text", text),
];

/// A matcher and a subject, with a newline between.
pub fn pattern(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (pattern, subject) = text.split_once('\n').unwrap_or((text, "Bash"));
    match Pattern::new(pattern) {
        Ok(pattern) => drop(pattern.is_match(subject).map_err(|error| error.to_string())),
        Err(error) => drop(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use becket_core::dialect::End;
    use becket_core::event::{Event, EventName};

    use super::TARGETS;
    use crate::rules::{DEFINITIONS, approved, finished, fire};

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
                        finished(job, End::Exited(0), b"{}", b"")
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
        for (name, target) in TARGETS {
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
