//! Whole firings, with made-up files and ends.

mod enabling;
mod runs;
mod tasks;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::dialect::{Captured, End, Finished, Firing, Job, Said, Standing, Step, Timestamp};
use crate::event::Event;
use crate::hash;
use crate::ledger::Ledger;
use crate::merge::Voice;
use crate::outcome::{Decision, Run, Status};
use crate::place::{Entry, File, Refusal};
use crate::scope::Mode;
use crate::session::{Fact, Facts, settle};

const PRE: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"Bash","tool_input":{"command":"make"}}"#;
const STOP: &str = r#"{"hook_event_name":"Stop","session_id":"s","last_assistant_message":"done"}"#;
const PROMPT: &str = r#"{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"go"}"#;

/// A project, a profile and a session, all made up.
struct World {
    scope: Scope,
    files: Vec<(String, Found)>,
    config: Vec<u8>,
    unsafe_config: Option<String>,
    overlay: Option<Vec<u8>>,
    ledger: Ledger,
    facts: Facts,
    /// What was started, in order.
    started: Vec<Job>,
}

fn file(bytes: &[u8]) -> Found {
    Found::File(File { bytes: bytes.into(), modified_ms: 0, unsafe_store: None })
}

fn definition(events: &str, command: &str, more: &str) -> String {
    format!("name: n\nevents: [{events}]\ncommand: {command}\n{more}")
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            scope: crate::scope::tests::scope(),
            files: Vec::new(),
            config: Vec::new(),
            unsafe_config: None,
            overlay: None,
            ledger: Ledger::default(),
            facts: Facts { remembered: true, ..Facts::default() },
            started: Vec::new(),
        };
        world.trust(Answer::Approve);
        world
    }

    fn trust(&mut self, answer: Answer) {
        self.ledger.record(Name::Shadowcode, "/w", answer, "", Timestamp(1));
    }

    fn put(&mut self, path: &str, found: Found) {
        self.files.retain(|(name, _)| name != path);
        self.files.push((path.to_owned(), found));
        self.files.sort_by(|a, b| a.0.cmp(&b.0));
    }

    fn write(&mut self, path: &str, text: &str) {
        self.put(path, file(text.as_bytes()));
    }

    /// Writes a definition and enables it.
    fn hook(&mut self, path: &str, text: &str) {
        self.write(path, text);
        self.enable(path).unwrap();
    }

    fn found(&self) -> Vec<Found> {
        let folder = |folder: &str| {
            let entries: Vec<Entry> = self
                .files
                .iter()
                .filter_map(|(path, found)| {
                    let name = path.strip_prefix(folder)?.strip_prefix('/')?;
                    let is_read = ENDINGS.iter().any(|ending| name.ends_with(ending));
                    Some(Entry { name: name.to_owned(), found: is_read.then(|| found.clone()) })
                })
                .collect();
            if entries.is_empty() { Found::Missing } else { Found::Folder { entries, more: false } }
        };
        let config = Found::File(File {
            bytes: self.config.clone().into(),
            modified_ms: 0,
            unsafe_store: self.unsafe_config.clone(),
        });
        let overlay = self.overlay.as_ref().map_or(Found::Missing, |bytes| file(bytes));
        vec![folder(FOLDERS[0]), folder(FOLDERS[1]), config, overlay]
    }

    fn load(&self) -> load::Loaded {
        let known = Known { ledger: &self.ledger, kept: self.facts.kept.get(&Name::Shadowcode) };
        load::load(&self.scope, &self.found(), &known)
    }

    fn answer(&mut self, path: &str, answer: Answer) -> Result<(), String> {
        let loaded = self.load();
        let source = loaded.sources.iter().find(|source| source.path == format!("/w/{path}"));
        let source = source.ok_or("no such source")?;
        let known = Known::outside(&self.ledger);
        let ask = Question { scope: &self.scope, known, source, answer, now: Timestamp(2) };
        match Shadowcode.decide(&ask, Some(&self.config))? {
            StoreChange::Write(bytes) => self.config = bytes,
            StoreChange::Keep => {}
            StoreChange::Remove => return Err("the profile must never be removed".to_owned()),
        }
        Ok(())
    }

    fn enable(&mut self, path: &str) -> Result<(), String> {
        self.answer(path, Answer::Approve)
    }

    /// Fires an event through the session's rules; `end` makes each run's end from its command.
    fn fire_with(&mut self, envelope: &str, end: impl Fn(&str) -> (End, String)) -> Said {
        let event = Event::read(envelope.as_bytes(), None).unwrap();
        let loaded = self.load();
        let facts = self.facts.clone();
        let firing = Firing { event: &event, look: 1, scope: &self.scope, session: &facts };
        let mut next = loaded.way(&firing);
        let mut ended: Vec<Finished> = Vec::new();
        let said = loop {
            match next(std::mem::take(&mut ended)) {
                Step::Done(said) => break *said,
                Step::Run(batch) => {
                    assert_eq!((batch.jobs.len(), batch.at_once), (1, 1), "one at a time");
                    let job = batch.jobs.into_iter().next().unwrap();
                    let (end, stderr) = match &job.refused {
                        Some(why) => (End::Refused(why.clone()), String::new()),
                        None => {
                            self.started.push(job.clone());
                            end(&job.command.argv[2].to_string_lossy())
                        }
                    };
                    let captured = |text: &str| Captured {
                        head: text.as_bytes().to_vec(),
                        tail: vec![],
                        total: text.len() as u64,
                    };
                    ended.push(Finished {
                        job,
                        end,
                        stdout: captured(""),
                        stderr: captured(&stderr),
                        duration: Duration::from_millis(3),
                        held: false,
                        moved_to: None,
                        pid: Some(7),
                    });
                }
            }
        };
        if !said.runs.is_empty() || said.decision != Decision::Allow || said.keep.is_some() {
            assert!(loaded.listens(&event), "it must listen to what it answers");
        }
        let mut voices = [Voice { dialect: Name::Shadowcode, said }];
        for fact in settle(&event, &mut voices, &facts, facts.task(), 8) {
            self.facts.add(fact);
        }
        let [voice] = voices;
        voice.said
    }

    /// Fires an event; a command exits with the number after its `exit`, or passes.
    fn fire(&mut self, envelope: &str) -> Said {
        self.fire_with(envelope, |command| {
            let code =
                command.rsplit_once("exit ").and_then(|(_, code)| code.trim().parse().ok()).unwrap_or(0);
            (End::Exited(code), format!("said by {command}"))
        })
    }

    fn commands(&self) -> Vec<String> {
        self.started.iter().map(|job| job.command.argv[2].to_string_lossy().into_owned()).collect()
    }

    fn catalog(&self) -> Value {
        self.load().catalog().unwrap()
    }
}

fn statuses(said: &Said) -> Vec<(Status, &str)> {
    said.runs.iter().map(|Run { status, detail, .. }| (*status, detail.as_str())).collect()
}

fn variable(job: &Job, name: &str) -> String {
    let found = job.command.environment.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap()
}
