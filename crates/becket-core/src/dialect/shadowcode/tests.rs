//! Whole firings, with made-up files and ends.

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
        let known = Known { ledger: &self.ledger, kept: None };
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
        let mut past: Vec<Finished> = Vec::new();
        let said = loop {
            match loaded.next(&firing, &past) {
                Step::Done(said) => break *said,
                Step::Run(batch) => {
                    assert_eq!((batch.jobs.len(), batch.at_once), (1, 1), "one at a time");
                    let job = batch.jobs.into_iter().next().unwrap();
                    let (end, stderr) = end(&job.command.argv[2].to_string_lossy());
                    self.started.push(job.clone());
                    let captured = |text: &str| Captured {
                        head: text.as_bytes().to_vec(),
                        tail: vec![],
                        total: text.len() as u64,
                    };
                    past.push(Finished {
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
        for fact in settle(&event, &mut voices, &facts, 8) {
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

#[test]
fn the_catalog_shows_hooks_issues_and_registrations() {
    let mut world = World::new();
    world.trust(Answer::Forget);
    world.write(".shadowcode/hooks/old.py", "def register(registry): pass");
    world.write(".shadowcode/hooks/odd.yaml", &definition("on_error", "x", "colour: red\n"));
    world.write(".shadowcode/hooks/check.yaml", &definition("on_complete", "make check", ""));
    world.put(".shadow/hooks/away.yaml", Found::Refused(Refusal::Escapes));
    let bytes = definition("on_complete", "make check", "");
    assert_eq!(
        world.catalog(),
        json!({
            "approved": [],
            "dirs": [".shadowcode/hooks", ".shadow/hooks"],
            "events": ["before_command", "after_edit", "before_commit", "after_test", "on_error", "on_complete", "on_compaction"],
            "format": "command-v1",
            "hooks": [{
                "builtin": false, "command": "make check", "description": "", "enabled": false,
                "events": ["on_complete"], "hash": hash::of(bytes.as_bytes()), "name": "n",
                "path": ".shadowcode/hooks/check.yaml", "path_suffix": "", "timeout_sec": 30,
            }],
            "issues": [
                ".shadowcode/hooks/odd.yaml:4:1: invalid hook YAML: unknown field \"colour\"",
                ".shadowcode/hooks/old.py: callbacks in Python are not run: write its command as a definition in YAML",
                ".shadow/hooks/away.yaml: it leads out of the project",
            ],
            "trusted": false,
            "workspace": "/w",
        })
    );
    let keys: Vec<String> = world.catalog().as_object().unwrap().keys().cloned().collect();
    assert!(keys.is_sorted());
    let places: Vec<String> = world.load().problems.iter().map(ToString::to_string).collect();
    assert!(places[0].starts_with("/w/.shadowcode/hooks/odd.yaml:4:1: "), "{places:?}");
    assert!(world.started.is_empty());
}

#[test]
fn enabling_needs_trust_and_never_runs_anything() {
    let mut world = World::new();
    let path = ".shadowcode/hooks/check.yaml";
    world.write(path, &definition("on_complete", "make", ""));
    world.trust(Answer::Forget);
    assert!(world.enable(path).unwrap_err().contains("not trusted"));
    world.trust(Answer::Approve);
    world.enable(path).unwrap();
    assert_eq!(world.catalog()["hooks"][0]["enabled"], true);
    assert_eq!(world.load().sources[0].standing, Standing::Trusted);
    assert!(world.started.is_empty());
    // Under another project path, or another profile, the registration is nothing.
    world.scope.real_workspace = "/elsewhere".into();
    assert_eq!(world.load().sources[0].standing, Standing::Untrusted);
    world.scope.real_workspace = "/w".into();
    world.answer(path, Answer::Forget).unwrap();
    assert_eq!(world.load().sources[0].standing, Standing::Untrusted);
    // Taking back needs no trust and may be done twice.
    world.enable(path).unwrap();
    world.trust(Answer::Forget);
    world.answer(path, Answer::Forget).unwrap();
    world.answer(path, Answer::Forget).unwrap();
    assert_eq!(world.catalog()["approved"], json!([]));
}

#[test]
fn permissions_are_asked_at_enabling() {
    let mut world = World::new();
    let path = ".shadowcode/hooks/check.yaml";
    world.write(path, &definition("on_complete", "sudo make", ""));
    assert!(world.enable(path).unwrap_err().contains("privileged"));
    world.write(path, &definition("on_complete", "npm test", ""));
    assert!(world.enable(path).unwrap_err().contains("permissions.network: true"));
    world.config = b"permissions: {network: true}\n".to_vec();
    world.enable(path).unwrap();
    world.config = b"permissions: {level: read-only}\n".to_vec();
    world.write(path, &definition("on_complete", "make", ""));
    assert!(world.enable(path).unwrap_err().contains("read-only"));
    world.config = Vec::new();
    world.overlay = Some(b"permissions: {level: read-only}\nhooks: {approved: []}\n".to_vec());
    assert!(world.enable(path).unwrap_err().contains("read-only"));
    world.overlay = None;
    world.write(path, "name: n\n");
    assert!(world.enable(path).is_err());
}

#[test]
fn a_projects_own_file_neither_adds_nor_clears_registrations() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("before_command", "exit 1", ""));
    world.overlay = Some(b"hooks: {approved: []}\npermissions: {level: read-only}\n".to_vec());
    let said = world.fire(PRE);
    assert_eq!(said.decision, Decision::Deny, "a gate is not switched off by what an agent can write");
    assert!(said.messages.iter().any(|message| message.contains("sets permissions.level to read-only")));
    world.overlay = Some(b"agent: [".to_vec());
    assert!(world.fire(PRE).messages.iter().any(|message| message.contains("nothing of it is taken")));
}

#[test]
fn a_failed_gate_blocks_and_stops_the_later_ones() {
    let mut world = World::new();
    world.hook(".shadowcode/hooks/a.yaml", &definition("before_command, before_commit", "guard; exit 3", ""));
    world.hook(".shadowcode/hooks/b.yaml", &definition("before_command", "later", ""));
    world.hook(".shadow/hooks/z.yaml", &definition("before_command", "first", ""));
    let said = world.fire(PRE);
    assert_eq!(world.commands(), ["first", "guard; exit 3"], "by byte order of paths, over both folders");
    let reason = said.reason.clone().unwrap();
    assert_eq!(said.decision, Decision::Deny);
    assert!(
        reason.starts_with(moments::BLOCKED)
            && reason.contains("said by guard")
            && reason.contains("exit code 3")
    );
    assert_eq!(statuses(&said), [(Status::Passed, ""), (Status::Blocked, "exit code 3")]);
    let background = PRE.replace("\"make\"", "\"make\",\"run_in_background\":true");
    assert_eq!(world.fire(&background).decision, Decision::Deny);
    assert_eq!(variable(&world.started[3], "SHADOW_HOOK_CONTEXT").matches("background_start").count(), 1);
    let commit = PRE.replace("\"Bash\"", "\"git_commit\"").replace("\"command\"", "\"message\"");
    assert_eq!(world.fire(&commit).decision, Decision::Deny);
    // What its host then reports as failed is no error of the tool.
    let failed = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "make"}, "error": reason});
    world.hook(".shadow/hooks/e.yaml", &definition("on_error", "err", ""));
    let before = world.started.len();
    world.fire(&failed.to_string());
    assert_eq!(world.started.len(), before);
}

#[test]
fn what_is_started_has_its_bounds() {
    let mut world = World::new();
    world.hook(".shadowcode/hooks/a.yaml", &definition("before_command", "x", "timeout_sec: 120\n"));
    world.fire(PRE);
    let command = &world.started[0].command;
    assert_eq!(command.argv, ["/bin/sh", "-c", "x"]);
    assert_eq!((command.directory.as_str(), command.timeout), ("/w", Duration::from_secs(60)));
    assert_eq!((command.grace, command.linger), (Duration::ZERO, Duration::from_secs(1)));
    assert!(command.stdin.is_empty() && !command.stdout.over_ends);
    let recheck = world.started[0].recheck.clone().unwrap();
    assert_eq!(recheck.place.path, "/w/.shadowcode/hooks/a.yaml");
    assert_eq!(recheck.hash, world.load().sources[0].hash.clone().unwrap());
    world.config.extend_from_slice(b"agent: {tool_timeout_sec: 7}\n");
    world.fire(PRE);
    assert_eq!(world.started[1].command.timeout, Duration::from_secs(7));
}

#[test]
fn a_gate_that_was_not_judged_blocks() {
    for (end, status) in [
        (End::TimedOut, Status::TimedOut),
        (End::Signalled(9), Status::Failed),
        (End::NotStarted("no".into()), Status::Failed),
        (End::Lost, Status::Lost),
        (End::NoTime, Status::Lost),
        (End::Cancelled, Status::Cancelled),
        (End::Replaced("other bytes".into()), Status::Failed),
        (End::Exited(127), Status::Blocked),
    ] {
        let mut world = World::new();
        world.hook(".shadow/hooks/a.yaml", &definition("before_command", "x", ""));
        let said = world.fire_with(PRE, |_| (end.clone(), String::new()));
        assert_eq!((said.decision, said.runs[0].status), (Decision::Deny, status), "{end:?}");
        if matches!(end, End::Replaced(_)) {
            assert!(said.reason.unwrap().contains("changed"));
        }
    }
}

#[test]
fn a_context_too_large_fails_without_starting() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("before_command", "x", ""));
    let long = PRE.replace("\"make\"", &format!("\"{}\"", "m".repeat(64_000)));
    let said = world.fire(&long);
    assert_eq!((said.decision, said.runs[0].status), (Decision::Deny, Status::Failed));
    assert!(said.reason.unwrap().contains("64000") && world.started.is_empty());
    // Without a hook that listens nothing is checked.
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("before_commit", "x", ""));
    assert_eq!(world.fire(&long).decision, Decision::Allow);
}

#[test]
fn permissions_are_asked_again_at_every_run() {
    let mut world = World::new();
    world.config = b"permissions: {network: true}\n".to_vec();
    world.hook(".shadow/hooks/a.yaml", &definition("before_command", "curl x", ""));
    assert_eq!(world.fire(PRE).decision, Decision::Allow);
    world.config = String::from_utf8(world.config.clone())
        .unwrap()
        .replace("network: true", "network: false")
        .into_bytes();
    let said = world.fire(PRE);
    assert_eq!((said.runs[0].status, world.started.len()), (Status::Failed, 1));
    assert!(said.runs[0].detail.contains("network"));
}

#[test]
fn an_edit_of_several_files_fires_for_each_that_matches() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("after_edit", "a; exit 1", "path_suffix: .txt\n"));
    world.hook(".shadow/hooks/b.yaml", &definition("after_edit", "b", ""));
    let patch = "*** Begin Patch\n*** Update File: x.txt\n*** Update File: y.rs\n*** Update File: z.txt\n*** End Patch";
    let event = json!({"hook_event_name": "PostToolUse", "tool_name": "apply_patch", "tool_input": {"command": patch}, "tool_response": "ok"});
    let said = world.fire(&event.to_string());
    assert_eq!(
        world.commands(),
        ["a; exit 1", "b", "b", "a; exit 1", "b"],
        "path by path, and a failure stops nothing"
    );
    let paths: Vec<String> = world.started.iter().map(|job| variable(job, "SHADOW_HOOK_PATH")).collect();
    assert_eq!(paths, ["x.txt", "x.txt", "y.rs", "z.txt", "z.txt"]);
    let result = said.result.unwrap();
    assert!(result.failed && !result.replaces && result.feedback.contains("stays done"));
    assert!(result.feedback.contains("n (after_edit, z.txt): exit code 1\nstderr: said by a"));
    assert_eq!(said.decision, Decision::Deny);
}

#[test]
fn a_suffix_without_a_path_never_fires() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("before_command, on_error", "x", "path_suffix: .rs\n"));
    world.fire(PRE);
    assert!(world.started.is_empty());
    world.fire(r#"{"hook_event_name":"PostToolUseFailure","tool_name":"Read","tool_input":{"file_path":"/w/a.rs"},"error":"e"}"#);
    assert_eq!(variable(&world.started[0], "SHADOW_HOOK_PATH"), "a.rs");
}

#[test]
fn tests_then_errors_and_a_failing_hook_is_no_error() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("after_test", "t; exit 1", ""));
    world.hook(".shadow/hooks/b.yaml", &definition("on_error", "e; exit 1", ""));
    let bash = |code: i32| {
        json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "echo pytest"}, "tool_response": {"exit_code": code}}).to_string()
    };
    world.fire(&bash(1));
    assert_eq!(world.commands(), ["t; exit 1", "e; exit 1"]);
    assert!(variable(&world.started[0], "SHADOW_HOOK_CONTEXT").contains(r#""exit_code":1"#));
    let said = world.fire(&bash(0));
    assert_eq!(world.commands()[2..], ["t; exit 1"]);
    assert!(said.result.unwrap().failed);
}

#[test]
fn a_failed_compaction_check_halts_and_a_provider_error_stands() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("on_compaction, on_error", "x; exit 1", ""));
    assert_eq!(world.fire(r#"{"hook_event_name":"PreCompact","trigger":"auto"}"#).decision, Decision::Allow);
    assert!(world.started.is_empty());
    let said = world.fire(r#"{"hook_event_name":"PostCompact","trigger":"auto"}"#);
    assert_eq!(said.decision, Decision::Halt);
    assert!(said.reason.unwrap().contains("compaction"));
    let said = world.fire(r#"{"hook_event_name":"StopFailure","error":"overloaded"}"#);
    assert_eq!((said.decision, said.messages.len()), (Decision::Allow, 1));
    assert!(variable(&world.started[1], "SHADOW_HOOK_CONTEXT").contains(r#""tool":"model""#));
}

#[test]
fn a_failed_completion_is_repaired_until_the_budget_is_spent() {
    for (setting, denied) in
        [("", 3), ("agent: {max_fix_retries: 1}\n", 1), ("agent: {max_fix_retries: 0}\n", 0)]
    {
        let mut world = World::new();
        world.config = setting.as_bytes().to_vec();
        world.hook(".shadow/hooks/a.yaml", &definition("on_complete", "a; exit 1", ""));
        world.hook(".shadow/hooks/b.yaml", &definition("on_complete", "b", ""));
        world.fire(PROMPT);
        for _ in 0..denied {
            let said = world.fire(STOP);
            assert_eq!(said.decision, Decision::Deny);
            let with = said.continue_with.unwrap();
            assert!(with.len() <= repair::LIMIT && with.contains("said by a; exit 1"));
            // What it goes on with comes back as a prompt, and begins no new task.
            let own = json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": with});
            assert_eq!(world.fire(&own.to_string()).decision, Decision::Allow);
        }
        let said = world.fire(STOP);
        assert_eq!((said.decision, said.continue_with), (Decision::Halt, None));
        assert!(said.reason.unwrap().contains("did not pass"));
        assert_eq!(world.started.len(), 2 * (denied + 1), "all checks, every time");
        // A new prompt is a new task with a whole budget.
        world.fire(PROMPT);
        assert_eq!(world.fire(STOP).decision, if denied == 0 { Decision::Halt } else { Decision::Deny });
    }
}

#[test]
fn a_repaired_completion_passes_and_ends_the_task() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("on_complete", "a", ""));
    world.fire(PROMPT);
    assert_eq!(world.fire_with(STOP, |_| (End::Exited(1), String::new())).decision, Decision::Deny);
    assert!(world.facts.kept.contains_key(&Name::Shadowcode));
    assert_eq!(world.fire(STOP).decision, Decision::Allow);
    assert!(!world.facts.kept.contains_key(&Name::Shadowcode));
    assert!(variable(&world.started[1], "SHADOW_HOOK_CONTEXT").contains(r#""detail":"done""#));
    let ids: Vec<String> = world.started.iter().map(|job| variable(job, "SHADOW_HOOK_TASK_ID")).collect();
    assert_eq!((ids[0].len(), &ids[0]), (32, &ids[1]));
    world.fire(PROMPT);
    world.fire(STOP);
    assert_ne!(variable(&world.started[2], "SHADOW_HOOK_TASK_ID"), ids[0]);
}

#[test]
fn a_changed_or_missing_definition_blocks_build_work() {
    let path = ".shadow/hooks/a.yaml";
    for (new, says) in [
        (Some(definition("on_error", "other", "")), "it changed since it was enabled"),
        (Some("name: [".to_owned()), "it cannot be read"),
        (None, "it is gone"),
    ] {
        let mut world = World::new();
        world.hook(path, &definition("on_error", "x", ""));
        match &new {
            Some(text) => world.write(path, text),
            None => world.files.clear(),
        }
        let source = world.load().sources.remove(0);
        assert_eq!(source.standing, Standing::Changed);
        assert_eq!(
            (source.hash.is_none(), source.hooks.is_empty()),
            (new.is_none(), !says.contains("changed"))
        );
        assert_eq!(world.catalog()["approved"].as_array().unwrap().len(), 1);
        for event in [PROMPT, PRE, STOP] {
            let said = world.fire(event);
            assert_eq!(said.decision, Decision::Deny, "{event}");
            assert!(said.reason.unwrap().contains(says), "{says}");
            assert_eq!(
                (said.runs[0].source.as_str(), said.runs[0].status),
                ("/w/.shadow/hooks/a.yaml", Status::Failed)
            );
            assert!(said.runs[0].detail.starts_with("changed"));
        }
        for mode in [Mode::Plan, Mode::Review] {
            world.scope.mode = mode;
            for event in [PROMPT, PRE, STOP] {
                assert_eq!(world.fire(event).decision, Decision::Allow);
            }
        }
        world.scope.mode = Mode::Build;
        world.answer(path, Answer::Forget).unwrap();
        assert_eq!(world.fire(PROMPT).decision, Decision::Allow);
        assert!(world.started.is_empty());
    }
}

#[test]
fn a_changed_definition_can_be_enabled_again() {
    let mut world = World::new();
    let path = ".shadow/hooks/a.yaml";
    world.hook(path, &definition("before_command", "x", ""));
    world.hook(path, &definition("before_command", "y", ""));
    assert_eq!(world.fire(PRE).decision, Decision::Allow);
    assert_eq!(world.commands(), ["y"]);
    assert_eq!(world.catalog()["approved"].as_array().unwrap().len(), 1);
}

#[test]
fn a_task_goes_by_what_stood_when_it_was_given() {
    let mut world = World::new();
    let (a, b) = (".shadow/hooks/a.yaml", ".shadow/hooks/b.yaml");
    world.hook(a, &definition("before_command", "a", ""));
    world.write(b, &definition("before_command", "b", ""));
    world.fire(PROMPT);
    // Enabled later: not used. Disabled later: still runs.
    world.enable(b).unwrap();
    world.answer(a, Answer::Forget).unwrap();
    let said = world.fire(PRE);
    assert_eq!(world.commands(), ["a"]);
    assert_eq!(statuses(&said), [(Status::Passed, ""), (Status::Skipped, "disabled")]);
    // Changed and enabled again: the task holds the old hash, and what is new never runs in it.
    world.hook(a, &definition("before_command", "new", ""));
    let said = world.fire(PRE);
    assert_eq!((said.decision, world.started.len()), (Decision::Deny, 1));
    assert!(said.reason.unwrap().contains("changed"));
    // Nor does a project that is no longer trusted stop it.
    world.write(a, &definition("before_command", "a", ""));
    world.trust(Answer::Forget);
    assert_eq!(world.fire(PRE).decision, Decision::Allow);
    assert_eq!(world.commands(), ["a", "a"]);
    world.trust(Answer::Approve);
    world.fire(STOP);
    world.hook(a, &definition("before_command", "new", ""));
    world.fire(PROMPT);
    world.fire(PRE);
    assert_eq!(world.commands()[2..], ["new", "b"]);
}

#[test]
fn plan_review_and_read_only_run_nothing() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("before_command, on_complete", "exit 1", ""));
    for mode in [Mode::Plan, Mode::Review] {
        world.scope.mode = mode;
        let said = world.fire(PRE);
        assert_eq!((said.decision, statuses(&said)), (Decision::Allow, vec![(Status::Skipped, "disabled")]));
    }
    world.scope.mode = Mode::Build;
    world.config.extend_from_slice(b"permissions: {level: read-only}\n");
    assert_eq!(world.fire(STOP).decision, Decision::Allow);
    assert!(world.started.is_empty());
}

#[test]
fn an_untrusted_project_runs_nothing_and_says_so_once() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("before_command", "exit 1", ""));
    world.trust(Answer::Forget);
    assert_eq!(world.load().sources[0].standing, Standing::Untrusted);
    let said = world.fire(PRE);
    assert_eq!((said.decision, statuses(&said)), (Decision::Allow, vec![(Status::Skipped, "untrusted")]));
    assert!(said.messages[0].contains("becket trust"));
    assert!(world.fire(PRE).messages.is_empty());
    world.files.clear();
    assert_eq!(world.fire(PROMPT).decision, Decision::Allow);
}

#[test]
fn what_is_not_enabled_is_skipped_and_told_once_for_each_content() {
    let mut world = World::new();
    let path = ".shadow/hooks/a.yaml";
    world.write(path, &definition("before_command", "x", ""));
    let said = world.fire(PRE);
    assert_eq!(statuses(&said), [(Status::Skipped, "untrusted")]);
    assert!(said.messages[0].contains("becket approve /w/.shadow/hooks/a.yaml"));
    assert_eq!((world.fire(PRE).messages.len(), world.fire(PRE).runs.len()), (0, 1));
    world.write(path, &definition("before_command", "y", ""));
    assert_eq!(world.fire(PRE).messages.len(), 1);
    let content = world.load().sources[0].hash.clone().unwrap();
    world.ledger.record(Name::Shadowcode, "/w/.shadow/hooks/a.yaml", Answer::Decline, &content, Timestamp(3));
    assert_eq!(statuses(&world.fire(PRE)), [(Status::Skipped, "declined")]);
    world.write(path, &definition("before_command", "z", ""));
    assert_eq!(statuses(&world.fire(PRE)), [(Status::Skipped, "declined-changed")]);
    // Enabled in the profile, and declined after that was written: the later answer counts.
    world.enable(path).unwrap();
    assert_eq!(statuses(&world.fire(PRE)), [(Status::Skipped, "declined-changed")]);
    world.ledger.record(Name::Shadowcode, "/w/.shadow/hooks/a.yaml", Answer::Decline, &content, Timestamp(0));
    assert!(world.started.is_empty());
    assert_eq!(statuses(&world.fire(PRE)), [(Status::Passed, "")]);
}

#[test]
fn a_profile_that_cannot_be_known_blocks_a_trusted_project() {
    for config in ["hooks: [", "hooks: {approved: [5]}", "hooks: {other: 1}"] {
        let mut world = World::new();
        world.write(".shadow/hooks/a.yaml", &definition("on_error", "x", ""));
        world.config = config.as_bytes().to_vec();
        for event in [PROMPT, PRE, STOP] {
            let said = world.fire(event);
            assert_eq!(said.decision, Decision::Deny);
            assert!(said.reason.unwrap().contains("/h/.config/shadowcode/config.yaml"));
            assert_eq!(said.runs[0].source, "/h/.config/shadowcode/config.yaml");
        }
        assert!(world.enable(".shadow/hooks/a.yaml").is_err());
        assert_eq!(world.config, config.as_bytes());
        world.trust(Answer::Forget);
        assert_eq!(world.fire(PROMPT).decision, Decision::Allow);
    }
    let mut world = World::new();
    world.unsafe_config = Some("others may write it".to_owned());
    assert_eq!(world.fire(PRE).decision, Decision::Deny);
    let mut world = World::new();
    world.scope.homes.config = ".config".into();
    assert_eq!(world.fire(PRE).decision, Decision::Deny);
    let mut world = World::new();
    world.scope.homes.shadowcode_profile = Some("/w/profile".into());
    assert_eq!(world.fire(PRE).decision, Decision::Deny);
    world.write(".shadow/hooks/a.yaml", &definition("on_error", "x", ""));
    assert!(world.enable(".shadow/hooks/a.yaml").unwrap_err().contains("inside the workspace"));
}

#[test]
fn more_registrations_than_may_be_block_too() {
    let mut world = World::new();
    let mut config = String::from("hooks:\n  approved:\n");
    for n in 0..17 {
        config.push_str(&format!(
            "  - workspace: /w\n    path: .shadow/hooks/h{n}.yaml\n    hash: {}\n",
            "0".repeat(64)
        ));
    }
    world.config = config.into_bytes();
    assert!(world.fire(PRE).reason.unwrap().contains("more than 16"));
}

#[test]
fn sixty_four_are_shown_and_nothing_else_pushes_them_out() {
    let mut world = World::new();
    for n in 0..200 {
        world.write(&format!(".shadowcode/hooks/{n:03}.txt"), "");
    }
    for n in 0..63 {
        world.write(&format!(".shadowcode/hooks/h{n:02}.yaml"), &definition("on_error", "x", ""));
    }
    assert_eq!(world.catalog()["issues"], json!([]));
    world.write(".shadow/hooks/bad.yaml", "name: [");
    for n in 0..5 {
        world.write(&format!(".shadow/hooks/h{n}.yaml"), &definition("before_command", "late", ""));
    }
    let catalog = world.catalog();
    let (hooks, issues) = (catalog["hooks"].as_array().unwrap(), catalog["issues"].as_array().unwrap());
    assert_eq!((hooks.len(), issues.len()), (63, 2));
    assert!(issues[1].as_str().unwrap().starts_with("5 more"), "{issues:?}");
    // One that is not shown can be enabled and runs all the same.
    world.enable(".shadow/hooks/h4.yaml").unwrap();
    world.fire(PRE);
    assert_eq!(world.commands(), ["late"]);
    let paths: Vec<String> = world.load().paths;
    assert!(paths.is_sorted() && paths[0] == ".shadow/hooks/h0.yaml");
}

#[test]
fn names_and_odd_entries_are_issues_and_hang_nothing() {
    let mut world = World::new();
    world.put(".shadow/hooks/fifo.yaml", Found::Refused(Refusal::NotRegular));
    world.put(".shadow/hooks/dangling.yaml", Found::Missing);
    world.write(".shadow/hooks/a.b.yaml", "");
    world.write(".shadow/hooks/x.YAML", "");
    let issues = world.catalog()["issues"].clone();
    assert_eq!(issues.as_array().unwrap().len(), 3, "{issues}");
    assert!(world.load().sources.is_empty());
}

#[test]
fn records_have_their_fields_and_hold_no_secret() {
    let mut world = World::new();
    world.hook(
        ".shadow/hooks/a.yaml",
        &definition("before_command", "echo TOKEN=ghp_0123456789abcdefghij", ""),
    );
    world.fire(PRE);
    let loaded = world.load();
    let job = world.started[0].clone();
    let started = loaded.record(&job, None).unwrap();
    let payload = &started["payload"];
    assert_eq!(
        (&started["type"], &payload["status"], &payload["success"], &payload["process"], &payload["detail"]),
        (&json!("hook.started"), &json!("running"), &json!(true), &Value::Null, &json!(""))
    );
    assert_eq!(payload["path"], ".shadow/hooks/a.yaml");
    assert!(
        payload["command"].as_str().unwrap().contains("ghp_0123456789"),
        "what is approved is not masked"
    );
    let captured =
        |text: &str| Captured { head: text.as_bytes().to_vec(), tail: vec![], total: text.len() as u64 };
    let mut finished = Finished {
        job: job.clone(),
        end: End::Exited(3),
        stdout: captured("out ghp_0123456789abcdefghij"),
        stderr: captured("err"),
        duration: Duration::from_millis(12),
        held: true,
        moved_to: None,
        pid: Some(7),
    };
    let completed = loaded.record(&job, Some(&finished)).unwrap();
    assert_eq!(completed["type"], "hook.completed");
    assert_eq!(
        completed["payload"]["process"],
        json!({"ok": false, "stdout": "out [masked]", "stderr": "err", "exit_code": 3, "timed_out": false, "cancelled": false, "truncated": true, "duration_ms": 12, "pid": 7})
    );
    assert_eq!(
        (&completed["payload"]["status"], &completed["payload"]["detail"]),
        (&json!("failed"), &json!("exit code 3"))
    );
    let keys = |value: &Value| value["payload"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&started), keys(&completed));
    finished.end = End::TimedOut;
    let timed_out = loaded.record(&job, Some(&finished)).unwrap();
    assert_eq!(
        (&timed_out["payload"]["process"]["timed_out"], &timed_out["payload"]["process"]["exit_code"]),
        (&json!(true), &json!(-1))
    );
    finished.end = End::NotStarted("x".into());
    assert_eq!(loaded.record(&job, Some(&finished)).unwrap()["payload"]["process"], Value::Null);
}

#[test]
fn silence_costs_nothing_and_nothing_is_held_for_a_project_without_hooks() {
    let world = World::new();
    let loaded = world.load();
    for event in [PROMPT, PRE, STOP] {
        assert!(!loaded.listens(&Event::read(event.as_bytes(), None).unwrap()), "{event}");
    }
    let places = Shadowcode.places(&world.scope);
    assert_eq!(places.len(), world.found().len());
    assert!(places[0].links == Links::Beneath { root: "/w".into() });
    let mut scope = world.scope;
    scope.homes.shadowcode_profile = Some("/p".into());
    assert_eq!(Shadowcode.places(&scope)[2].path, "/p/config/config.yaml");
    let missing: Arc<[Found]> = Arc::from(vec![Found::Missing; 4]);
    let ledger = Ledger::default();
    let rules = Shadowcode.load(&scope, &missing, &Known { ledger: &ledger, kept: None });
    assert!(rules.sources().is_empty() && rules.problems().is_empty());
}

#[test]
fn a_value_that_the_session_holds_from_a_newer_form_is_left_alone() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("before_command", "a", ""));
    world.facts.add(Fact::Kept { dialect: Name::Shadowcode, value: json!({"v": 9}) });
    world.fire(PRE);
    assert_eq!(world.commands(), ["a"]);
}
