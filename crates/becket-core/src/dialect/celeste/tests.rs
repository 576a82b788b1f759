//! The dialect as the engine sees it: files in, verdicts out, with made-up ends.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::Celeste;
use super::definitions::{hash_of, parse_file};
use super::store::TrustStore;
use crate::dialect::{
    Answer, Captured, Dialect, End, Finished, Firing, Known, Question, Rules, Said, Source, Standing, Step,
    StoreChange, Timestamp,
};
use crate::event::Event;
use crate::ledger::Ledger;
use crate::merge::{self, Voice};
use crate::outcome::{Decision, Status};
use crate::place::{Entry, File, Found, Place, Refusal, What};
use crate::scope::{Scope, tests::scope};
use crate::session::{Facts, settle};

/// A made-up file system of regular files and refusals.
#[derive(Clone, Default)]
struct Files(BTreeMap<String, Found>);

impl Files {
    fn put(mut self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let file = File { bytes: text.as_ref().into(), modified_ms: 0, unsafe_store: None };
        self.0.insert(path.to_owned(), Found::File(file));
        self
    }

    fn refuse(mut self, path: &str, refusal: Refusal) -> Self {
        self.0.insert(path.to_owned(), Found::Refused(refusal));
        self
    }

    fn without(mut self, path: &str) -> Self {
        self.0.remove(path);
        self
    }

    /// With every source of `path` approved as it stands.
    fn approve(self, path: &str) -> Self {
        self.answer(path, Answer::Approve)
    }

    fn answer(self, path: &str, answer: Answer) -> Self {
        let scope = scope();
        let loaded = self.load(&scope, None);
        let source = loaded.sources().iter().find(|source| source.path == path).unwrap();
        let before = self.0.get(STORE).and_then(Found::file).map(|file| file.bytes.to_vec());
        let ledger = Ledger::default();
        let known = Known::outside(&ledger);
        let question = Question { scope: &scope, known, source, answer, now: Timestamp(0) };
        match Celeste.decide(&question, before.as_deref()).unwrap() {
            StoreChange::Write(bytes) => self.put(STORE, bytes),
            _ => self,
        }
    }

    fn read(&self, place: &Place) -> Found {
        match (self.0.get(place.path.as_str()), place.what) {
            (Some(found), _) => found.clone(),
            (None, What::File) => Found::Missing,
            (None, What::Folder { endings, .. }) => {
                let inside = |path: &&String| {
                    camino::Utf8Path::new(path.as_str()).parent() == Some(place.path.as_path())
                        && endings.iter().any(|ending| path.ends_with(ending))
                };
                let entries: Vec<Entry> = self
                    .0
                    .keys()
                    .filter(inside)
                    .map(|path| Entry {
                        name: path.rsplit('/').next().unwrap().to_owned(),
                        found: Some(self.0[path].clone()),
                    })
                    .collect();
                if entries.is_empty() { Found::Missing } else { Found::Folder { entries, more: false } }
            }
        }
    }

    fn load(&self, scope: &Scope, kept: Option<&Value>) -> Box<dyn Rules> {
        let found: Vec<Found> = Celeste.places(scope).iter().map(|place| self.read(place)).collect();
        let ledger = Ledger::default();
        Celeste.load(scope, &found, &Known { ledger: &ledger, kept })
    }

    fn standings(&self) -> Vec<(String, &'static str, Standing)> {
        let loaded = self.load(&scope(), None);
        loaded.sources().iter().map(|source| (source.path.clone(), source.kind, source.standing)).collect()
    }

    fn problems(&self) -> Vec<String> {
        self.load(&scope(), None).problems().iter().map(ToString::to_string).collect()
    }
}

const STORE: &str = "/h/.celeste/trusted.json";
const GLOBAL: &str = "/h/.celeste/hooks.json";
const REPO: &str = "/w/.celeste/hooks.json";

/// A `hooks.json` of v2 hooks for every tool; commands say what they answer.
fn hooks(event: &str, commands: &[&str]) -> String {
    let entries: Vec<Value> =
        commands.iter().map(|command| json!({"event": event, "command": command})).collect();
    json!({ "hooks": entries }).to_string()
}

fn event(text: &str) -> Event {
    Event::read(text.as_bytes(), None).unwrap()
}

fn of(name: &str) -> Event {
    event(&format!(
        r#"{{"hook_event_name":"{name}","session_id":"s","tool_name":"Bash","tool_input":{{"command":"ls"}}}}"#
    ))
}

/// What each hook was started with.
type Started = Vec<(String, String, String)>;

/// Plays an event: each command is looked up in `ends`, else its own text is what it writes.
fn play_with(
    rules: &dyn Rules,
    event: &Event,
    facts: &Facts,
    mut end: impl FnMut(&str) -> (End, Vec<u8>, Vec<u8>, bool),
) -> (Said, Started) {
    let scope = scope();
    let firing = Firing { event, look: 1, scope: &scope, session: facts };
    let (mut ended, mut started) = (Vec::new(), Vec::new());
    let mut next = rules.way(&firing);
    loop {
        match next(std::mem::take(&mut ended)) {
            Step::Done(said) => return (*said, started),
            Step::Run(batch) => {
                assert_eq!((batch.jobs.len(), batch.at_once), (1, 1), "one at a time");
                let job = batch.jobs.into_iter().next().unwrap();
                let script = job.command.argv[2].to_str().unwrap().to_owned();
                let variable = |name: &str| {
                    let found = job.command.environment.iter().find(|(key, _)| key == name);
                    found.map(|(_, value)| value.to_str().unwrap().to_owned()).unwrap_or_default()
                };
                started.push((
                    script.clone(),
                    String::from_utf8(job.command.stdin.to_vec()).unwrap(),
                    variable("CELESTE_TOOL_COMMAND"),
                ));
                let (end, stdout, stderr, held) = end(&script);
                let captured = |head: Vec<u8>| Captured { total: head.len() as u64, head, tail: vec![] };
                ended.push(Finished {
                    job,
                    end,
                    stdout: captured(stdout),
                    stderr: captured(stderr),
                    duration: Duration::from_millis(1),
                    held,
                    moved_to: None,
                    pid: None,
                });
            }
        }
    }
}

fn play(files: &Files, event: &Event) -> (Said, Started) {
    let rules = files.load(&scope(), None);
    play_with(&*rules, event, &Facts::default(), |script| {
        (End::Exited(0), script.as_bytes().to_vec(), vec![], false)
    })
}

fn play_global(event_name: &str, commands: &[&str]) -> (Said, Started) {
    play(&Files::default().put(GLOBAL, hooks(event_name, commands)), &of(event_name))
}

fn statuses(said: &Said) -> Vec<Status> {
    said.runs.iter().map(|run| run.status).collect()
}

// ---- files and order ------------------------------------------------------------------------------------------

#[test]
fn sources_run_in_their_order_from_their_roots() {
    let one = hooks("PreToolUse", &["{}"]);
    let grimoire = "## Hooks\n### PreToolUse\n- bash: x\n";
    let files = Files::default()
        .put("/w/.grimoire.local", grimoire)
        .put("/w/.celeste/grimoire/b.md", grimoire)
        .put("/w/.celeste/grimoire/a.md", grimoire)
        .put("/w/.grimoire", grimoire)
        .put("/.grimoire", grimoire)
        .put(REPO, &one)
        .put("/.celeste/hooks.json", &one)
        .put("/h/.celeste/grimoire.md", grimoire)
        .put(GLOBAL, &one);
    let paths: Vec<_> = files.standings().into_iter().map(|(path, kind, _)| (path, kind)).collect();
    let expected = [
        (GLOBAL, "global"),
        ("/h/.celeste/grimoire.md", "global-grimoire"),
        ("/.celeste/hooks.json", "repo"),
        (REPO, "repo"),
        ("/.grimoire", "repo-grimoire"),
        ("/w/.grimoire", "repo-grimoire"),
        ("/w/.celeste/grimoire/a.md", "repo-grimoire"),
        ("/w/.celeste/grimoire/b.md", "repo-grimoire"),
        ("/w/.grimoire.local", "repo-grimoire"),
    ];
    assert_eq!(paths, expected.map(|(path, kind)| (path.to_owned(), kind)));
    let files = files.approve("/.celeste/hooks.json").approve(REPO);
    let (said, started) = play(&files, &of("PreToolUse"));
    assert_eq!(started.len(), 4);
    assert!(started[2].1.contains(r#""project_dir":"/","#) && started[2].1.contains(r#""workspace":"/w""#));
    assert!(started[0].1.contains(r#""project_dir":"/w""#));
    assert_eq!(said.runs.len(), 9);
}

#[test]
fn a_source_that_defines_nothing_is_none() {
    let files = Files::default().put(REPO, "{}").put("/w/.grimoire", "# Notes\n");
    assert_eq!(files.standings(), []);
    assert!(!files.load(&scope(), None).listens(&of("PreToolUse")));
}

#[test]
fn what_cannot_be_taken_is_told_of_and_the_rest_runs() {
    let files = Files::default()
        .put(GLOBAL, hooks("PreToolUse", &["{}"]))
        .put(REPO, "{\"hooks\":[\n{\"event\":\"No\",\"command\":\"x\"}]}")
        .refuse("/.celeste/hooks.json", Refusal::TooLarge(1 << 20))
        .refuse("/w/.grimoire", Refusal::Link)
        .refuse("/w/.grimoire.local", Refusal::NotRegular);
    let (said, _) = play(&files, &of("PreToolUse"));
    assert_eq!(statuses(&said), [Status::Passed]);
    let problems = files.problems();
    for (problem, says) in
        problems.iter().zip(["1 MiB", "/w/.celeste/hooks.json:2:10", "symlink", "not a regular file"])
    {
        assert!(problem.contains(says), "{problem}");
    }
    assert_eq!((problems.len(), said.notices.len()), (4, 4));
    assert!(
        problems[1].contains("hooks[0]: unknown event \"No\": no hook of this file runs"),
        "{problems:?}"
    );
}

#[test]
fn one_linked_folder_is_told_of_once() {
    let files = ["hooks.json", "grimoire", "config.json", "mcp.json"]
        .iter()
        .fold(Files::default(), |files, name| files.refuse(&format!("/w/.celeste/{name}"), Refusal::Link));
    assert_eq!(files.problems().len(), 1);
    assert_eq!(files.standings(), []);
}

#[test]
fn a_home_that_is_not_absolute_turns_this_dialect_off() {
    for home in ["", ".", "home"] {
        let mut scope = scope();
        scope.homes.home = home.into();
        assert_eq!(Celeste.places(&scope), []);
        let ledger = Ledger::default();
        let rules = Celeste.load(&scope, &[], &Known::outside(&ledger));
        assert!(rules.sources().is_empty() && rules.listens(&of("Stop")));
        let (said, _) = play_with(&*rules, &of("PreToolUse"), &Facts::default(), |_| panic!());
        assert_eq!((said.decision, said.notices.len(), rules.problems().len()), (Decision::Allow, 1, 1));
        assert!(said.notices[0].text.contains("hooks disabled: the home directory"), "{:?}", said.notices);
        assert!(said.notices[0].text.contains("including global guards"));
    }
    assert_eq!(super::disabled_warning(None), "");
}

// ---- trust ----------------------------------------------------------------------------------------------------

#[test]
fn a_repo_source_runs_only_while_it_is_what_was_approved() {
    let files = Files::default().put(REPO, hooks("PreToolUse", &["{\"decision\":\"deny\"}"]));
    let (said, started) = play(&files, &of("PreToolUse"));
    assert_eq!((said.decision, started.len(), &*said.runs[0].detail), (Decision::Allow, 0, "untrusted"));
    assert!(said.notices[0].text.contains("`becket approve /w/.celeste/hooks.json`"), "{:?}", said.notices);
    let files = files.approve(REPO);
    let (said, _) = play(&files, &of("PreToolUse"));
    assert_eq!((said.decision, said.notices.len()), (Decision::Deny, 0));
    let edited = files.clone().put(REPO, hooks("PreToolUse", &["{}"]));
    let (said, started) = play(&edited, &of("PreToolUse"));
    assert_eq!((started.len(), &*said.runs[0].detail), (0, "changed"));
    assert!(said.notices[0].text.contains("changed since you approved it"));
    let declined = files.answer(REPO, Answer::Decline);
    let (said, _) = play(&declined, &of("PreToolUse"));
    assert_eq!(&*said.runs[0].detail, "declined");
    assert!(said.notices[0].text.contains("declined") && said.notices[0].text.contains("becket approve"));
    let declined = declined.put(REPO, hooks("PreToolUse", &["{}"]));
    assert_eq!(declined.standings()[0].2, Standing::DeclinedChanged);
    assert_eq!(declined.answer(REPO, Answer::Forget).standings()[0].2, Standing::Untrusted);
}

#[test]
fn what_is_skipped_is_told_of_at_once_in_a_session_and_when_due_outside_one() {
    let files = Files::default().put(REPO, hooks("PreToolUse", &["{}"]));
    let mut session = Session::begun();
    assert_eq!(session.fire(&files, &of("Stop")).said.messages.len(), 1);
    assert_eq!(session.fire(&files, &of("PreToolUse")).said.messages.len(), 0);
    let mut alone = Session(Facts::default());
    let stop = event(r#"{"hook_event_name":"Stop"}"#);
    assert_eq!(alone.fire(&files, &stop).said.messages.len(), 0);
    let call = event(r#"{"hook_event_name":"PreToolUse","tool_name":"X","tool_input":{}}"#);
    assert_eq!(alone.fire(&files, &call).said.messages.len(), 1);
}

#[test]
fn a_store_written_by_hand_is_honoured() {
    let text = hooks("PreToolUse", &["a && b"]);
    let hash = hash_of(&parse_file(text.as_bytes()).unwrap());
    let store = format!(
        "{{\"hooks\":{{\"{REPO}\":{{\"sha256\":\"{hash}\",\"approved_at\":\"2026-01-01T00:00:00Z\"}}}}}}"
    );
    assert_eq!(Files::default().put(REPO, text).put(STORE, store).standings()[0].2, Standing::Trusted);
}

#[test]
fn a_store_that_cannot_be_believed_leaves_repo_hooks_untrusted() {
    let files = Files::default().put(REPO, hooks("PreToolUse", &["{}"])).approve(REPO);
    let good = files.0[STORE].file().unwrap().bytes.clone();
    let bad = |found: Found| {
        let mut files = files.clone();
        files.0.insert(STORE.to_owned(), found);
        let (said, started) = play(&files, &of("PreToolUse"));
        assert_eq!(started.len(), 0);
        let told = said.notices.iter().filter(|notice| notice.text.contains("repo hooks stay untrusted"));
        assert_eq!(told.count(), 1);
        files.problems().last().unwrap().clone()
    };
    let file = |bytes: &[u8], why: Option<&str>| {
        Found::File(File { bytes: bytes.into(), modified_ms: 0, unsafe_store: why.map(str::to_owned) })
    };
    assert!(bad(file(b"{", None)).contains("corrupt"));
    assert!(bad(file(&good, Some("others may write it"))).contains("others may write it"));
    assert!(bad(Found::Refused(Refusal::TooLarge(1 << 20))).contains("1 MiB"));
    assert!(bad(Found::Refused(Refusal::NotRegular)).contains("not a regular file"));
    // Nobody asks the store where nothing needs it.
    let global = Files::default().put(GLOBAL, hooks("PreToolUse", &["{}"])).put(STORE, "{");
    assert_eq!(global.problems(), [""; 0]);
}

#[test]
fn what_lies_inside_the_workspace_is_not_the_users_own() {
    let mut scope = scope();
    scope.workspace = "/h/.celeste".into();
    let files = Files::default().put(GLOBAL, hooks("PreToolUse", &["{}"]));
    let rules = files.load(&scope, None);
    assert_eq!(rules.sources()[0].standing, Standing::Untrusted);
    scope.workspace = "/h".into();
    let rules = files.load(&scope, None);
    assert_eq!((rules.sources().len(), rules.sources()[0].standing), (1, Standing::Trusted));
}

#[test]
fn other_sections_are_listed_and_answered_for() {
    let files = Files::default()
        .put("/w/.grimoire", "## Hooks\n### PreToolUse\n- bash: x\n## Stream Rules\nrule\n")
        .put("/.grimoire", "## Stream Rules\nonly\n")
        .put("/w/.celeste/config.json", r#"{"sandbox":{"network":true}}"#)
        .put(
            "/w/.mcp.json",
            r#"{"mcpServers":{"one":{"command":"a"},"two":{"command":"b","env":{"K":"SECRET"}}}}"#,
        )
        .put("/w/.celeste/mcp.json", r#"{"mcpServers":{"one":{"command":"c"}}}"#);
    let listed: Vec<_> = files.standings().into_iter().map(|(path, kind, _)| (path, kind)).collect();
    let expected = [
        ("/.grimoire#stream-rules", "repo-stream-rules"),
        ("/w/.grimoire", "repo-grimoire"),
        ("/w/.grimoire#stream-rules", "repo-stream-rules"),
        ("/w/.celeste/config.json#sandbox", "repo-sandbox"),
        ("/w/.celeste/mcp.json#mcp:one", "repo-mcp"),
        ("/w/.mcp.json#mcp:two", "repo-mcp"),
    ];
    assert_eq!(listed, expected.map(|(path, kind)| (path.to_owned(), kind)));
    let approved = files.clone().approve("/w/.mcp.json#mcp:two").approve("/w/.grimoire#stream-rules");
    let rules = approved.load(&scope(), None);
    let usable = |key: &str| super::may_use(rules.sources(), key);
    assert_eq!(usable("/w/.mcp.json#mcp:two"), Ok(()));
    assert_eq!(usable("/w/.grimoire#stream-rules"), Ok(()));
    assert_eq!(usable("/w/.celeste/config.json#sandbox"), Err("not trusted"));
    for source in rules.sources() {
        assert!(!String::from_utf8_lossy(&source.content).contains("SECRET"), "{source:?}");
        assert_eq!(source.hash.as_ref().map(String::len), Some(64));
    }
    // None of them runs anything or says anything when hooks run.
    let quiet = files.without("/w/.grimoire");
    let (said, started) = play(&quiet, &of("PreToolUse"));
    assert_eq!((said.notices.len(), said.runs.len(), started.len()), (0, 0, 0));
}

// ---- combining ------------------------------------------------------------------------------------------------

const DENY: &str = r#"{"decision":"deny","reason":"no"}"#;
const ASK: &str = r#"{"decision":"ask","reason":"sure?"}"#;

#[test]
fn the_first_denial_ends_the_chain() {
    let (said, started) = play_global("PreToolUse", &["{}", DENY, ASK]);
    assert_eq!((said.decision, said.reason.as_deref(), started.len()), (Decision::Deny, Some("no"), 2));
    assert_eq!(statuses(&said), [Status::Passed, Status::Blocked]);
    let (said, _) = play_global("PreToolUse", &["{\"decision\":\"deny\",\"reason\":\"\\u001b raw \"}"]);
    assert_eq!(said.reason.as_deref(), Some("\u{1b} raw "));
}

#[test]
fn the_first_ask_stays_until_somebody_denies() {
    let later = r#"{"decision":"ask","reason":"later"}"#;
    let (said, _) = play_global("PreToolUse", &["{}", ASK, "{\"decision\":\"allow\"}", later]);
    assert_eq!((said.decision, said.reason.as_deref()), (Decision::Ask, Some("sure?")));
    let (said, _) = play_global("PreToolUse", &[ASK, DENY]);
    assert_eq!((said.decision, said.reason.as_deref()), (Decision::Deny, Some("no")));
    // Nobody can be asked about a prompt or a compaction.
    for name in ["UserPromptSubmit", "PreCompact"] {
        let (said, _) = play_global(name, &[ASK, "{}"]);
        assert_eq!(
            (said.decision, said.reason.as_deref(), said.runs.len()),
            (Decision::Deny, Some("sure?"), 2)
        );
    }
    let (said, _) = play_global("Stop", &[ASK]);
    assert_eq!((said.decision, said.continue_with), (Decision::Allow, None));
}

#[test]
fn each_hook_sees_what_the_one_before_wrote() {
    let first = r#"{"updatedInput":{"command":"one","n":9007199254740993}}"#;
    let second = r#"{"updatedInput":{"command":"two","n":9007199254740993}}"#;
    let (said, started) = play_global("PreToolUse", &["{}", first, second, "{}"]);
    let commands: Vec<&str> = started.iter().map(|(_, _, command)| command.as_str()).collect();
    assert_eq!(commands, ["ls", "ls", "one", "two"]);
    assert!(
        started[3].1.contains(r#""tool_input":{"command":"two","n":9007199254740993}"#),
        "{}",
        started[3].1
    );
    let written = serde_json::to_string(&said.updated_input).unwrap();
    assert_eq!(written, r#"{"command":"two","n":9007199254740993}"#);
    // Elsewhere a rewrite means nothing, but must still be one.
    assert_eq!(play_global("PostToolUse", &[first]).0.updated_input, None);
    let (said, _) = play_global("PostToolUse", &[r#"{"updatedInput":7}"#]);
    assert_eq!(statuses(&said), [Status::Failed]);
}

#[test]
fn a_rewrite_comes_back_in_the_hosts_words_or_denies() {
    let files = Files::default().put(
        GLOBAL,
        hooks("PreToolUse", &[r#"{"updatedInput":{"path":"b","old_string":"x","new_string":"y"}}"#]),
    );
    let edit = event(
        r#"{"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"a","old_string":"x","new_string":"y"}}"#,
    );
    let (said, started) = play(&files, &edit);
    assert!(started[0].1.contains(r#""tool_name":"patch_file""#));
    assert_eq!(said.updated_input.unwrap()["file_path"], "b");
    let several = event(
        r#"{"hook_event_name":"PreToolUse","tool_name":"MultiEdit","tool_input":{"file_path":"a","edits":[{"old_string":"x","new_string":"y"}]}}"#,
    );
    let (said, _) = play(&files, &several);
    assert_eq!((said.decision, said.updated_input), (Decision::Deny, None));
    assert!(said.reason.unwrap().contains("several edits"));
}

#[test]
fn contexts_are_joined_and_capped() {
    let context = |text: &str| json!({ "additionalContext": text }).to_string();
    let (one, two) = (context("one"), context("two"));
    let (said, _) = play_global("PreToolUse", &[&one, "{}", &two]);
    assert_eq!(said.additional_context, ["one\ntwo"]);
    let (a, b, c) = (context(&"a".repeat(3000)), context(&"b".repeat(3000)), context(&"é".repeat(3000)));
    let (said, _) = play_global("SessionStart", &[&a, &b, &c, &a]);
    let all = &said.additional_context[0];
    assert_eq!(all.len(), 8192);
    assert!(all.starts_with(&"a".repeat(3000)) && all.ends_with('é'));
    let denied = json!({"decision": "deny", "additionalContext": "why"}).to_string();
    let (said, _) = play_global("PreToolUse", &[&one, &denied]);
    assert_eq!(
        (said.decision, said.reason, said.additional_context),
        (Decision::Deny, None, vec!["one\nwhy".to_owned()])
    );
    assert_eq!(play_global("PreToolUse", &[&context("")]).0.additional_context, [""; 0]);
}

#[test]
fn decisions_count_only_where_they_can() {
    for name in ["PostToolUse", "SessionStart", "PostCompact"] {
        let (said, started) = play_global(name, &[DENY, "{}"]);
        assert_eq!((said.decision, &said.reason, started.len()), (Decision::Allow, &None, 2), "{name}");
        assert_eq!(statuses(&said), [Status::Passed, Status::Passed]);
    }
    for name in ["Stop", "SubagentStop"] {
        let (said, started) = play_global(name, &[DENY, "{}"]);
        assert_eq!((said.decision, started.len()), (Decision::Deny, 1), "{name}");
    }
}

#[test]
fn matchers_are_exact_names() {
    let text = json!({"hooks": [
        {"event": "PreToolUse", "matcher": "bash", "command": "bash"},
        {"event": "PreToolUse", "matcher": "*", "command": "all"},
        {"event": "PreToolUse", "matcher": "Bash", "command": "other"},
        {"event": "PreToolUse", "matcher": "bas.*", "command": "other"},
        {"event": "PostToolUse", "matcher": "bash", "command": "after"},
        {"event": "PreToolUse", "matcher": "bash", "command": "again"},
    ]});
    let files = Files::default().put(GLOBAL, text.to_string());
    let rules = files.load(&scope(), None);
    let scripts = |event: &Event| -> Vec<String> {
        let (_, started) =
            play_with(&*rules, event, &Facts::default(), |_| (End::Exited(0), vec![], vec![], false));
        started.into_iter().map(|(script, _, _)| script).collect()
    };
    assert_eq!(scripts(&of("PreToolUse")), ["bash", "all", "again"]);
    assert_eq!(scripts(&of("PostToolUse")), ["after"]);
    assert_eq!(scripts(&of("PostToolUseFailure")), ["after"]);
    let other = event(r#"{"hook_event_name":"PreToolUse","tool_name":"WebFetch","tool_input":{}}"#);
    assert_eq!(scripts(&other), ["all"]);
    let quiet = event(r#"{"hook_event_name":"Notification"}"#);
    assert!(rules.listens(&other) && !rules.listens(&quiet));
    let quiet = event(r#"{"hook_event_name":"PostToolUse","tool_name":"WebFetch","tool_input":{}}"#);
    assert!(!rules.listens(&quiet));
}

// ---- failures -------------------------------------------------------------------------------------------------

#[test]
fn a_broken_hook_holds_gates_and_lets_the_rest_go() {
    for name in ["PreToolUse", "UserPromptSubmit", "PreCompact"] {
        let (said, started) = play_global(name, &["not json", "{}"]);
        assert_eq!((said.decision, started.len(), said.messages.len()), (Decision::Deny, 1, 1), "{name}");
        assert!(said.reason.as_ref().unwrap().starts_with("hook failed: "), "{:?}", said.reason);
        assert!(
            said.messages[0].contains(&format!("{name} hook from \"{GLOBAL}\" failed: ")),
            "{:?}",
            said.messages
        );
        assert_eq!(statuses(&said), [Status::Failed]);
    }
    for name in ["PostToolUse", "SessionStart", "PostCompact", "Stop", "SubagentStop"] {
        let (said, started) = play_global(name, &["not json", "{}"]);
        assert_eq!((said.decision, started.len(), said.messages.len()), (Decision::Allow, 2, 1), "{name}");
        assert_eq!(statuses(&said), [Status::Failed, Status::Passed]);
    }
    let (said, _) = play_global("PreToolUse", &[ASK, r#"{"additionalContext":"kept"}"#, "broken"]);
    assert_eq!((said.decision, said.additional_context), (Decision::Deny, vec!["kept".to_owned()]));
}

/// One global hook of `protocol` at `event_name` that ends as told.
fn ended(protocol: &str, event_name: &str, end: &End, stdout: &[u8], stderr: &[u8], held: bool) -> Said {
    let text = json!({"hooks": [{"event": event_name, "command": "x", "protocol": protocol, "timeout": 7}]});
    let rules = Files::default().put(GLOBAL, text.to_string()).load(&scope(), None);
    play_with(&*rules, &of(event_name), &Facts::default(), |_| {
        (end.clone(), stdout.to_vec(), stderr.to_vec(), held)
    })
    .0
}

#[test]
fn ends_are_judged_in_their_order() {
    let of = |end: End, stdout: &[u8], stderr: &[u8], held: bool| {
        ended("v2", "PreToolUse", &end, stdout, stderr, held).reason.unwrap_or_default()
    };
    assert_eq!(of(End::Exited(3), b"out", b" err \n", false), "hook failed: exit status 3: err");
    assert_eq!(
        of(End::Exited(2), DENY.as_bytes(), b"", true),
        format!("hook failed: {}", crate::text::line(&format!("exit status 2: {DENY}")))
    );
    assert_eq!(of(End::Exited(1), b"", b"", false), "hook failed: exit status 1");
    assert_eq!(of(End::Signalled(9), b"", b"e", false), "hook failed: ended by SIGKILL: e");
    assert_eq!(
        of(End::Exited(0), b"{}", b"", true),
        "hook failed: background process kept the hook's output open"
    );
    assert!(of(End::Overflowed("stdout"), b"{}", b"", true).contains("exceeded"));
    assert!(of(End::TimedOut, b"", b"", false).contains("did not finish within 7 s"));
    assert!(of(End::NotStarted("no such file".to_owned()), b"", b"", false).contains("no such file"));
    for end in [End::Cancelled, End::NoTime] {
        assert!(of(end, b"", b"", false).contains("did not finish"));
    }
    assert!(of(End::Lost, b"", b"", false).contains("could not be learnt"));
    assert_eq!(of(End::Exited(1), b"", b"\x1b[2J", false), "hook failed: \"exit status 1: \\x1b[2J\"");
    let long = of(End::Exited(1), b"", &b"x".repeat(5000), false);
    assert_eq!(long.len(), "hook failed: ".len() + 2048);
    let said = ended("v2", "Stop", &End::Lost, b"", b"", false);
    assert_eq!((said.decision, statuses(&said)), (Decision::Allow, vec![Status::Lost]));
}

#[test]
fn v1_answers_by_exit_code() {
    let of = |event: &str, end: End, stdout: &[u8], stderr: &[u8]| {
        let said = ended("v1", event, &end, stdout, stderr, false);
        (said.decision, said.reason, said.messages.len())
    };
    assert_eq!(of("PreToolUse", End::Exited(0), DENY.as_bytes(), b""), (Decision::Allow, None, 0));
    assert_eq!(of("PreToolUse", End::Exited(1), b" no \n", b"e"), (Decision::Deny, Some("no".to_owned()), 0));
    assert_eq!(of("PreToolUse", End::Exited(9), b" \n", b"e"), (Decision::Deny, Some("e".to_owned()), 0));
    assert_eq!(of("PreToolUse", End::Exited(1), b"", b""), (Decision::Deny, None, 0));
    let (decision, reason, _) = of("PreToolUse", End::Exited(1), &b"x".repeat(3000), b"");
    assert_eq!((decision, reason.unwrap().len()), (Decision::Deny, 2048));
    let said = ended("v1", "PostToolUse", &End::Exited(2), b"", b"bad", false);
    assert_eq!((said.decision, statuses(&said)), (Decision::Allow, vec![Status::Failed]));
    assert!(said.messages[0].ends_with("failed: exit status 2: bad"), "{:?}", said.messages);
}

#[test]
fn a_v1_hook_that_cannot_be_told_everything_fails_unstarted() {
    let text = |command: &str| {
        let pre = json!({"event": "PreToolUse", "command": command, "protocol": "v1"});
        let post = json!({"event": "PostToolUse", "command": command, "protocol": "v1"});
        Files::default().put(GLOBAL, json!({ "hooks": [pre, post] }).to_string())
    };
    let call = |name: &str, command: &str| {
        event(
            &json!({"hook_event_name": name, "tool_name": "Bash", "tool_input": {"command": command}})
                .to_string(),
        )
    };
    for command in ["x".repeat(200 << 10), "a\0b".to_owned()] {
        let (said, started) = play(&text("guard"), &call("PreToolUse", &command));
        assert_eq!(
            (said.decision, started.len(), statuses(&said)),
            (Decision::Deny, 0, vec![Status::Failed])
        );
        assert!(said.reason.unwrap().contains("protocol v2"));
        let (said, started) = play(&text("guard"), &call("PostToolUse", &command));
        assert_eq!((said.decision, started.len(), said.messages.len()), (Decision::Allow, 0, 1));
    }
    let hole = text("echo \"f: {{command}}\"");
    let (said, started) = play(&hole, &call("PreToolUse", "ls"));
    assert_eq!((said.decision, started.len()), (Decision::Deny, 0));
    assert!(said.reason.unwrap().contains("{{command}} stands inside a longer quoted string"));
    let rules = hole.load(&scope(), None);
    assert!(rules.sources()[0].hooks[0].invalid.as_ref().unwrap().contains("write it as"));
    assert!(rules.problems()[0].line.is_some());
    let (_, started) = play(&text("guard {{tool}} {{command}}"), &call("PreToolUse", "it's"));
    assert_eq!(started[0].0, r"guard 'bash' 'it'\''s'");
}

#[test]
fn a_failure_without_a_start_does_not_shift_the_ends() {
    let text = json!({"hooks": [
        {"event": "PostToolUse", "command": "true \"a {{tool}}\"", "protocol": "v1"},
        {"event": "PostToolUse", "command": "{\"additionalContext\":\"one\"}"},
        {"event": "PostToolUse", "command": "true \"a {{tool}}\"", "protocol": "v1"},
        {"event": "PostToolUse", "command": "{\"additionalContext\":\"two\"}"},
    ]});
    let (said, _) = play(&Files::default().put(GLOBAL, text.to_string()), &of("PostToolUse"));
    assert_eq!(statuses(&said), [Status::Failed, Status::Passed, Status::Failed, Status::Passed]);
    assert_eq!(said.additional_context, ["one\ntwo"]);
    assert_eq!(said.runs.iter().map(|run| run.index).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

// ---- stops ----------------------------------------------------------------------------------------------------

/// Stops again and again; answers what each came to and what a person was told.
fn stops(envelopes: &[&str], answer: &str) -> Vec<(Decision, Option<String>, usize, String)> {
    let files = Files::default().put(GLOBAL, hooks("Stop", &[answer]));
    let rules = files.load(&scope(), None);
    let mut facts = Facts { remembered: true, ..Facts::default() };
    envelopes
        .iter()
        .map(|fields| {
            let event = event(&format!(r#"{{"hook_event_name":"Stop","session_id":"s"{fields}}}"#));
            let (said, _) = play_with(&*rules, &event, &facts, |script| {
                (End::Exited(0), script.as_bytes().to_vec(), vec![], false)
            });
            let mut voices = [Voice { dialect: rules.dialect(), said }];
            for fact in settle(&event, &mut voices, &facts, facts.task(), 8) {
                facts.add(fact);
            }
            let outcome = merge::outcome(event.name, voices.into());
            let told = outcome.messages.last().cloned().unwrap_or_default();
            (outcome.decision, outcome.continue_with, outcome.messages.len(), told)
        })
        .collect()
}

#[test]
fn a_stop_is_continued_once_a_unit() {
    let came = stops(&["", "", r#","unit":"run-2""#, r#","unit":"run-2""#], DENY);
    assert_eq!(came[0], (Decision::Deny, Some("no".to_owned()), 0, String::new()));
    assert_eq!((came[1].0, came[1].1.as_ref(), came[1].2), (Decision::Allow, None, 1));
    assert!(came[1].3.contains("again") && came[1].3.contains("once per turn"), "{}", came[1].3);
    assert_eq!((came[2].0, came[3].0), (Decision::Deny, Decision::Allow));
    assert!(came[3].3.contains("once per run-2"), "{}", came[3].3);
    let blank = stops(&[""], r#"{"decision":"deny","reason":"  "}"#);
    assert_eq!(blank[0].1.as_deref(), Some("Continue."));
    let spaces = stops(&[""], r#"{"decision":"deny","reason":" as is\n"}"#);
    assert_eq!(spaces[0].1.as_deref(), Some(" as is\n"));
}

#[test]
fn a_stop_without_turns_left_ends() {
    for turns in ["0", "-1"] {
        let fields = format!(r#","turns_left":{turns}"#);
        let came = stops(&[&fields], DENY);
        assert_eq!((came[0].0, came[0].1.as_ref()), (Decision::Allow, None));
        assert!(came[0].3.contains("no turns left"), "{}", came[0].3);
    }
    let came = stops(&[r#","turns_left":3"#, r#","turns_left":0"#], DENY);
    assert_eq!(came[0].0, Decision::Deny);
    assert!(came[1].3.contains("again"), "{}", came[1].3);
    assert!(Event::read(br#"{"hook_event_name":"Stop","turns_left":"3"}"#, None).is_err());
}

// ---- sessions -------------------------------------------------------------------------------------------------

/// A session that remembers what the dialect keeps.
#[derive(Default)]
struct Session(Facts);

impl Session {
    fn begun() -> Self {
        Self(Facts { remembered: true, ..Facts::default() })
    }

    fn fire(&mut self, files: &Files, event: &Event) -> Voice {
        let kept = self.0.kept.get(&crate::dialect::Name::Celeste).cloned();
        let rules = files.load(&scope(), kept.as_ref());
        if !rules.listens(event) {
            return Voice { dialect: rules.dialect(), said: Said::default() };
        }
        let (said, _) = play_with(&*rules, event, &self.0, |script| {
            (End::Exited(0), script.as_bytes().to_vec(), vec![], false)
        });
        let mut voices = [Voice { dialect: rules.dialect(), said }];
        for fact in settle(event, &mut voices, &self.0, self.0.task(), 8) {
            self.0.add(fact);
        }
        let [voice] = voices;
        voice
    }
}

#[test]
fn a_source_stays_as_it_was_approved_until_the_session_ends() {
    let grimoire = "/w/.celeste/grimoire/a.md";
    let files = Files::default()
        .put(GLOBAL, hooks("PreToolUse", &["{}"]))
        .put(REPO, hooks("PreToolUse", &[DENY]))
        .put(grimoire, "## Hooks\n### PostToolUse\n- bash: true\n")
        .approve(REPO)
        .approve(grimoire);
    let mut session = Session::begun();
    // The first event is one that no hook listens to; from then on everything is held.
    assert_eq!(session.fire(&files, &of("Notification")).said.runs.len(), 0);
    assert!(session.0.kept.contains_key(&crate::dialect::Name::Celeste));
    let reformatted = files.clone().put(REPO, format!(" {}\n", hooks("PreToolUse", &[DENY])));
    let voice = session.fire(&reformatted, &of("PreToolUse"));
    assert_eq!((voice.said.decision, voice.said.messages.len()), (Decision::Deny, 0));
    for (became, says) in [
        (files.clone().put(REPO, hooks("PreToolUse", &["{}"])), "was edited"),
        (files.clone().put(REPO, "{}"), "was edited"),
        (files.clone().put(REPO, "rubbish"), "can no longer be read"),
        (files.clone().without(REPO), "was removed"),
        (files.clone().refuse(REPO, Refusal::Link), "can no longer be read"),
        (files.clone().put(STORE, "{}"), "lost its approval"),
        (files.clone().answer(REPO, Answer::Decline), "was declined"),
    ] {
        let voice = session.fire(&became, &of("PreToolUse"));
        assert_eq!((voice.said.decision, voice.said.runs.len()), (Decision::Deny, 2), "{says}");
        assert!(says.is_empty() || voice.said.messages.iter().any(|told| told.contains(says)), "{says}");
        let again = session.fire(&became, &of("PreToolUse"));
        assert_eq!(again.said.messages, [""; 0], "{says}");
        // The next session asks again.
        let fresh = Session::begun().fire(&became, &of("PreToolUse"));
        assert_eq!(fresh.said.decision, Decision::Allow, "{says}");
    }
    // A file of one's own that others may write by now is no longer believed, from the next session on.
    let mut open = files.clone();
    let Some(Found::File(file)) = open.0.get_mut(GLOBAL) else { panic!() };
    file.unsafe_store = Some("others may write it".to_owned());
    let voice = session.fire(&open, &of("PreToolUse"));
    assert_eq!((voice.said.runs.len(), voice.said.messages.len()), (2, 1), "{:?}", voice.said.messages);
    assert!(voice.said.messages[0].contains("can no longer be believed"), "{:?}", voice.said.messages);
    assert_eq!(session.fire(&open, &of("PreToolUse")).said.messages, [""; 0]);
    let removed = files.clone().without(grimoire);
    assert_eq!(statuses(&session.fire(&removed, &of("PostToolUse")).said), [Status::Passed]);
    // An approval of the new content counts from the next session on.
    let approved = files.clone().put(REPO, hooks("PreToolUse", &["{}"])).approve(REPO);
    let voice = session.fire(&approved, &of("PreToolUse"));
    assert_eq!(voice.said.decision, Decision::Deny);
    assert!(voice.said.runs[1].command.contains("deny"));
}

#[test]
fn what_is_approved_during_a_session_joins_it() {
    let files = Files::default().put(REPO, hooks("PreToolUse", &[DENY]));
    let mut session = Session::begun();
    assert_eq!(session.fire(&files, &of("PreToolUse")).said.decision, Decision::Allow);
    assert!(session.0.kept.is_empty());
    let approved = files.approve(REPO);
    assert_eq!(session.fire(&approved, &of("PreToolUse")).said.decision, Decision::Deny);
    let edited = approved.put(REPO, hooks("PreToolUse", &["{}"]));
    assert_eq!(session.fire(&edited, &of("PreToolUse")).said.decision, Decision::Deny);
}

#[test]
fn two_events_at_once_lose_no_guard() {
    let files =
        Files::default().put(GLOBAL, hooks("PreToolUse", &["{}"])).put(REPO, hooks("PreToolUse", &[DENY]));
    let approved = files.approve(REPO);
    let edited = approved.clone().put(REPO, hooks("PreToolUse", &["{}"]));
    let mut session = Session::begun();
    // Both events began before either had stored what it holds.
    let stale = session.0.clone();
    let keep = |files: &Files| {
        let rules = files.load(&scope(), None);
        play_with(&*rules, &of("Notification"), &stale, |_| panic!()).0.keep.unwrap()
    };
    let dialect = crate::dialect::Name::Celeste;
    for value in [keep(&approved), keep(&edited)] {
        session.0.add(crate::session::Fact::Kept { dialect, value });
    }
    assert_eq!(session.fire(&edited, &of("PreToolUse")).said.decision, Decision::Deny);
}

#[test]
fn an_event_without_a_session_stands_alone() {
    let files = Files::default().put(REPO, hooks("PreToolUse", &[DENY])).approve(REPO);
    let mut session = Session(Facts::default());
    let alone = event(r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}"#);
    assert_eq!(session.fire(&files, &alone).said.decision, Decision::Deny);
    assert!(session.0.kept.is_empty());
    let quiet = event(r#"{"hook_event_name":"Notification"}"#);
    assert!(!files.load(&scope(), None).listens(&quiet));
    assert!(files.load(&scope(), None).listens(&of("Notification")));
    assert!(!files.load(&scope(), None).listens(&of("SessionEnd")));
}

// ---- size -----------------------------------------------------------------------------------------------------

fn many(count: usize) -> Files {
    let entries: Vec<Value> = (0..count)
        .map(|index| json!({"event": "PreToolUse", "matcher": format!("tool{index}"), "command": format!("guard {index} && x > y")}))
        .collect();
    Files::default().put(GLOBAL, json!({ "hooks": entries }).to_string())
}

#[test]
fn an_event_finds_its_hooks_among_many() {
    let rules = many(2_000).load(&scope(), None);
    let call = event(r#"{"hook_event_name":"PreToolUse","tool_name":"tool1234","tool_input":{}}"#);
    let (said, started) =
        play_with(&*rules, &call, &Facts::default(), |_| (End::Exited(0), vec![], vec![], false));
    assert_eq!((said.runs[0].index, started[0].0.as_str()), (1234, "guard 1234 && x > y"));
    let none = event(r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}"#);
    assert!(!rules.listens(&none));
}

#[test]
fn the_store_is_the_users_own_and_locked() {
    let source = Source {
        dialect: crate::dialect::Name::Celeste,
        kind: "repo",
        path: REPO.to_owned(),
        standing: Standing::Untrusted,
        hash: None,
        content: std::sync::Arc::from([]),
        hooks: vec![],
        needs_approval: true,
    };
    let store = Celeste.store(&scope(), &source);
    assert_eq!(
        (store.path.as_str(), store.lock.as_ref().map(|lock| lock.as_str()), store.limit),
        (STORE, Some("/h/.celeste/trusted.json.lock"), 1 << 20)
    );
    assert!(TrustStore::parse(&[]).is_err());
}
