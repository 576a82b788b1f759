//! ShadowCode's moments in the common events: which of the seven happen, and what hooks are told of each.

use std::rc::Rc;

use camino::Utf8Path;
use serde_json::Value;

use super::definitions::Moment;
use super::ending::{self, Ending};
use super::lexical;
use crate::dialect::Name;
use crate::event::{Event, EventName};
use crate::json::Object;
use crate::paths;
use crate::place;
use crate::scope::Scope;
use crate::session::{Blocked, Facts};
use crate::spelling::View;
use crate::tool::{Kind, ToolCall};

/// With this the reason of every gate's block begins, so that a blocked call is known again if its host reports it
/// as a failed one.
pub(super) const BLOCKED: &str = "blocked by ShadowCode's hooks";

/// One moment, with what is told of it. What a model may make long is shared: an edit of many files is as many moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Happening {
    pub(super) moment: Moment,
    /// In ShadowCode's spelling; `model` where the provider failed.
    pub(super) tool: Rc<str>,
    pub(super) paths: Vec<String>,
    pub(super) command: Rc<str>,
    pub(super) exit_code: Option<i64>,
    pub(super) detail: String,
}

impl Happening {
    fn of(moment: Moment, tool: &Rc<str>) -> Self {
        Self {
            moment,
            tool: Rc::clone(tool),
            paths: Vec::new(),
            command: Rc::from(""),
            exit_code: None,
            detail: String::new(),
        }
    }

    /// Whether a hook runs then that has these events and this path suffix.
    pub(super) fn is_for(&self, events: &[Moment], path_suffix: &str) -> bool {
        events.contains(&self.moment)
            && (path_suffix.is_empty() || self.paths.iter().any(|path| path.ends_with(path_suffix)))
    }
}

/// The moments that an event could be, whatever is in it.
pub(super) fn possible(event: &Event) -> &'static [Moment] {
    use Moment::{AfterEdit, AfterTest, BeforeCommand, BeforeCommit, OnCompaction, OnComplete, OnError};
    let kind = event.tool.as_ref().map(|tool| tool.kind);
    match (event.name, kind) {
        (EventName::PreToolUse, Some(Kind::Shell | Kind::BackgroundShell)) => &[BeforeCommand],
        (EventName::PreToolUse, Some(Kind::Commit)) => &[BeforeCommit],
        (EventName::PostToolUse, Some(Kind::Shell)) => &[AfterEdit, AfterTest, OnError],
        (EventName::PostToolUse, Some(Kind::Write | Kind::Edit | Kind::Patch | Kind::BackgroundShell)) => {
            &[AfterEdit, OnError]
        }
        (EventName::PostToolUseFailure, Some(Kind::Shell)) => &[AfterTest, OnError],
        (EventName::PostToolUse | EventName::PostToolUseFailure, _) | (EventName::StopFailure, _) => {
            &[OnError]
        }
        (EventName::Stop, _) => &[OnComplete],
        (EventName::PostCompact, _) => &[OnCompaction],
        _ => &[],
    }
}

/// The moments that an event is, in the order in which their hooks run. The session knows whether a gate blocked the call
/// that the event tells of, whosever gate it was.
pub(super) fn of(event: &Event, scope: &Scope, session: &Facts) -> Vec<Happening> {
    match (event.name, &event.tool) {
        (EventName::PreToolUse, Some(call)) => before(call).into_iter().collect(),
        (EventName::PostToolUse | EventName::PostToolUseFailure, Some(call)) => {
            after(event, call, scope, session)
        }
        (EventName::Stop, _) => {
            let detail = event.text("last_assistant_message").unwrap_or_default().to_owned();
            vec![Happening { detail, ..Happening::of(Moment::OnComplete, &Rc::from("")) }]
        }
        (EventName::StopFailure, _) => {
            vec![Happening {
                detail: provider_error(event),
                ..Happening::of(Moment::OnError, &Rc::from("model"))
            }]
        }
        (EventName::PostCompact, _) => {
            vec![Happening {
                detail: compaction(event),
                ..Happening::of(Moment::OnCompaction, &Rc::from(""))
            }]
        }
        _ => Vec::new(),
    }
}

fn before(call: &ToolCall) -> Option<Happening> {
    let view = View::of(call, Name::Shadowcode);
    let tool = Rc::from(view.tool_name.as_str());
    match call.kind {
        Kind::Shell | Kind::BackgroundShell => {
            let command = command_of(view.tool_input.as_ref());
            Some(Happening { command, ..Happening::of(Moment::BeforeCommand, &tool) })
        }
        Kind::Commit => Some(Happening::of(Moment::BeforeCommit, &tool)),
        _ => None,
    }
}

/// The command in ShadowCode's spelling. One that is no text is shown as the JSON it is: a gate that saw nothing
/// would let it pass.
fn command_of(input: Option<&Object>) -> Rc<str> {
    match input.and_then(|input| input.get("command")) {
        Some(Value::String(command)) => Rc::from(command.as_str()),
        Some(Value::Null) | None => Rc::from(""),
        Some(other) => Rc::from(other.to_string()),
    }
}

fn after(event: &Event, call: &ToolCall, scope: &Scope, session: &Facts) -> Vec<Happening> {
    let end = ending::of(event);
    // A call that a gate blocked has not run, however that is reported: there is nothing that comes after it. What may be
    // another one counts as that one where it failed: a check too many does less harm than one that is lost.
    let has_run = match session.blocked(event) {
        Blocked::Surely => false,
        Blocked::Perhaps => !end.failed,
        Blocked::No => !says_blocked(call, &end, session),
    };
    if !has_run {
        return Vec::new();
    }
    let view = View::of(call, Name::Shadowcode);
    let tool = &Rc::from(view.tool_name.as_str());
    let command = command_of(view.tool_input.as_ref());
    let paths = paths_of(event, call, scope);
    let mut happenings = Vec::new();
    let edits =
        matches!(call.kind, Kind::Write | Kind::Edit | Kind::Patch | Kind::Shell | Kind::BackgroundShell);
    if edits && !end.failed {
        happenings.extend(paths.iter().map(|path| Happening {
            paths: vec![path.clone()],
            command: Rc::clone(&command),
            ..Happening::of(Moment::AfterEdit, tool)
        }));
    }
    if call.kind == Kind::Shell && lexical::is_test(&command) {
        happenings.push(Happening {
            command: Rc::clone(&command),
            exit_code: end.exit_code,
            detail: end.error.clone(),
            ..Happening::of(Moment::AfterTest, tool)
        });
    }
    if end.failed {
        let argument = || paths::argument(call).map(|path| from_project(path, event, scope));
        happenings.push(Happening {
            paths: if paths.is_empty() { argument().into_iter().collect() } else { paths },
            command,
            exit_code: end.exit_code,
            detail: end.error,
            ..Happening::of(Moment::OnError, tool)
        });
    }
    happenings
}

/// Whether a call is one that was blocked by its error alone, which repeats the reason: no session knows it again where none
/// is remembered, or, without a name, where its host reports another input than before. What has an exit code has run,
/// whatever it printed.
fn says_blocked(call: &ToolCall, end: &Ending, session: &Facts) -> bool {
    let is_unknown = call.call_id.is_none() || !session.remembered;
    is_unknown && end.exit_code.is_none() && end.error.contains(BLOCKED)
}

/// The files of a call: those its result names, else those its input names; from the project's directory where they
/// lie below it, for there hooks run.
fn paths_of(event: &Event, call: &ToolCall, scope: &Scope) -> Vec<String> {
    let result = event.fields.get("tool_response").and_then(|response| response.get("paths"));
    let told: Option<Vec<String>> = result
        .and_then(Value::as_array)
        .map(|paths| paths.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let found = told.filter(|paths| !paths.is_empty()).unwrap_or_else(|| paths::of(call));
    paths::without_repeats(found.into_iter().map(|path| from_project(&path, event, scope)).collect())
}

/// A path from the project's directory, where it lies below it: one form for each file, by name alone, whether or not
/// links lead there.
fn from_project(path: &str, event: &Event, scope: &Scope) -> String {
    // A host's relative path starts where the host says that the call ran.
    let start = event.cwd.as_deref().filter(|cwd| cwd.is_absolute()).unwrap_or(&scope.workspace);
    let absolute = place::absolute(path.into(), start);
    let below = absolute
        .strip_prefix(&scope.workspace)
        .or_else(|_| absolute.strip_prefix(&scope.real_workspace))
        .map(Utf8Path::as_str);
    match below {
        Ok(below) if !below.is_empty() => below.to_owned(),
        _ => absolute.into_string(),
    }
}

fn provider_error(event: &Event) -> String {
    let fields = ["error", "error_details", "reason", "message"];
    let texts: Vec<String> = fields
        .iter()
        .filter_map(|field| match event.fields.get(*field)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        })
        .collect();
    texts.join(": ")
}

/// What the host tells of a compaction, as JSON.
fn compaction(event: &Event) -> String {
    const ENVELOPE: [&str; 8] = [
        "session_id",
        "transcript_path",
        "cwd",
        "hook_event_name",
        "permission_mode",
        "timestamp",
        "turn_id",
        "model",
    ];
    let told: Object = event
        .fields
        .iter()
        .filter(|(key, _)| !ENVELOPE.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Value::Object(told).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Said;
    use crate::merge::Voice;
    use crate::outcome::Decision;
    use crate::scope::tests::scope;
    use crate::session::settle;
    use serde_json::json;

    fn event(text: &str) -> Event {
        Event::read(text.as_bytes(), None).unwrap()
    }

    fn remembered() -> Facts {
        Facts { remembered: true, ..Facts::default() }
    }

    /// What a session knows in which the call that is told of was denied.
    fn blocked(text: &str) -> Facts {
        let name = event(text).name.as_str();
        let before = event(&text.replace(name, "PreToolUse"));
        let said = Said { decision: Decision::Deny, ..Said::default() };
        let mut facts = remembered();
        for fact in settle(&before, &mut [Voice { dialect: Name::Albedo, said }], &facts.clone(), 0, 8) {
            facts.add(fact);
        }
        facts
    }

    fn moments(text: &str) -> Vec<(Moment, String, Vec<String>)> {
        let event = event(text);
        let found = of(&event, &scope(), &remembered());
        for happening in &found {
            assert!(possible(&event).contains(&happening.moment), "{text}");
        }
        found.into_iter().map(|found| (found.moment, found.tool.to_string(), found.paths)).collect()
    }

    fn names(text: &str) -> Vec<&'static str> {
        moments(text).iter().map(|(moment, _, _)| moment.as_str()).collect()
    }

    fn tool(name: &str, tool: &str, input: &str, response: &str) -> String {
        format!(
            r#"{{"hook_event_name":"{name}","cwd":"/w","tool_name":"{tool}","tool_input":{input},"tool_response":{response}}}"#
        )
    }

    #[test]
    fn gates_are_told_by_kind() {
        for (name, input, expected, spelled) in [
            ("Bash", r#"{"command":"x"}"#, "before_command", "exec"),
            ("exec_command", r#"{"cmd":"x"}"#, "before_command", "exec"),
            ("run_shell_command", r#"{"command":"x"}"#, "before_command", "exec"),
            ("background_start", r#"{"command":"x"}"#, "before_command", "background_start"),
            ("Bash", r#"{"command":"x","run_in_background":true}"#, "before_command", "background_start"),
            ("git_commit", r#"{"message":"m"}"#, "before_commit", "git_commit"),
        ] {
            let text = tool("PreToolUse", name, input, "null");
            assert_eq!(names(&text), [expected], "{name}");
            assert_eq!(moments(&text)[0].1, spelled);
        }
        assert!(names(&tool("PreToolUse", "Write", r#"{"file_path":"a"}"#, "null")).is_empty());
        assert_eq!(
            names(&tool("PreToolUse", "Bash", r#"{"command":"git commit -m x"}"#, "null")),
            ["before_command"]
        );
        let odd = of(
            &event(&tool("PreToolUse", "shell", r#"{"command":["ls","a b"]}"#, "null")),
            &scope(),
            &remembered(),
        );
        assert_eq!(&*odd[0].command, "ls 'a b'");
        let commit = of(
            &event(&tool("PreToolUse", "git_commit", r#"{"message":"m"}"#, "null")),
            &scope(),
            &remembered(),
        );
        assert_eq!(&*commit[0].command, "");
    }

    #[test]
    fn an_edit_is_told_once_for_each_path() {
        let patch = json!({"input": "*** Begin Patch\n*** Update File: a.txt\n*** Update File: /w/b.txt\n*** Add File: ./c.rs\n*** Update File: a.txt\n*** End Patch"});
        let told = moments(&tool("PostToolUse", "apply_patch", &patch.to_string(), r#""ok""#));
        let paths: Vec<&str> = told.iter().map(|(_, _, paths)| paths[0].as_str()).collect();
        assert_eq!(paths, ["a.txt", "b.txt", "c.rs"]);
        let gemini =
            tool("PostToolUse", "write_file", r#"{"file_path":"src/a.py"}"#, r#"{"llmContent":"ok"}"#);
        assert_eq!(
            moments(&gemini),
            [(Moment::AfterEdit, "write_file".to_owned(), vec!["src/a.py".to_owned()])]
        );
        // What failed has edited nothing.
        assert_eq!(
            names(&tool("PostToolUse", "Edit", r#"{"file_path":"a"}"#, r#"{"is_error":true}"#)),
            ["on_error"]
        );
        assert!(names(&tool("PostToolUse", "Read", r#"{"file_path":"a"}"#, "null")).is_empty());
        let own = tool("PostToolUse", "move_it", r#"{"path":"a"}"#, r#"{"paths":["a","b"]}"#);
        assert!(names(&own).is_empty());
    }

    #[test]
    fn paths_are_told_from_the_project() {
        let at = |cwd: &str, path: &str| {
            let text = tool("PostToolUse", "Write", &json!({ "file_path": path }).to_string(), "null");
            moments(&text.replace("\"/w\"", &format!("\"{cwd}\"")))[0].2[0].clone()
        };
        assert_eq!(at("/w", "/w/src/a.rs"), "src/a.rs");
        assert_eq!(at("/w/sub", "a.rs"), "sub/a.rs");
        assert_eq!(at("/w", "/other/a.rs"), "/other/a.rs");
        assert_eq!(at("/other", "a.rs"), "/other/a.rs");
        assert_eq!(at("/w", "$(touch x) ;'\".rs"), "$(touch x) ;'\".rs");
        for spelling in ["../src/a.rs", "/w/sub/../src/./a.rs", "../../w/src/a.rs", ".././src//a.rs"] {
            assert_eq!(at("/w/sub", spelling), "src/a.rs", "{spelling}");
        }
        assert_eq!(at("/w", "/w/../other/./a.rs"), "/other/a.rs");
        assert_eq!(at("/w", "a.rs/.."), "/w");
        let patch = json!({"input": "*** Begin Patch\n*** Update File: ../a.rs\n*** Update File: /w/a.rs\n*** Update File: ./../sub/../a.rs\n*** End Patch"});
        let told = tool("PostToolUse", "apply_patch", &patch.to_string(), r#""ok""#);
        let told = moments(&told.replace("\"/w\"", "\"/w/sub\""));
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].2, ["a.rs"]);
    }

    #[test]
    fn an_error_names_the_path_that_its_tool_was_given() {
        let failed = |tool: &str, input: &str| {
            let text = format!(
                r#"{{"hook_event_name":"PostToolUseFailure","cwd":"/w","tool_name":"{tool}","tool_input":{input},"error":"no"}}"#
            );
            let mut told = moments(&text);
            let (moment, _, paths) = told.pop().unwrap();
            assert!(told.is_empty() && moment == Moment::OnError);
            paths
        };
        for tool in ["delete_file", "list_dir", "Glob", "mcp__x__y", "Bash", "python", "git_commit"] {
            assert_eq!(failed(tool, r#"{"command":"x","path":"/w/src/../a.rs"}"#), ["a.rs"], "{tool}");
        }
        assert_eq!(failed("mcp__x__y", r#"{"path":["a.rs"]}"#), Vec::<String>::new());
        // What happened otherwise is no matter of an argument.
        for (name, given, input) in [
            ("PostToolUse", "delete_file", r#"{"path":"a.rs"}"#),
            ("PreToolUse", "Bash", r#"{"command":"x","path":"a.rs"}"#),
        ] {
            let told = moments(&tool(name, given, input, "null"));
            assert!(told.iter().all(|(_, _, paths)| paths.is_empty()), "{told:?}");
        }
    }

    #[test]
    fn tests_and_errors_are_told_after_the_edit() {
        let bash = |command: &str, response: &str| {
            names(&tool("PostToolUse", "Bash", &json!({ "command": command }).to_string(), response))
        };
        assert_eq!(bash("cargo test", r#""""#), ["after_test"]);
        assert_eq!(bash("echo pytest; exit 1", r#"{"exit_code":1}"#), ["after_test", "on_error"]);
        assert!(bash("ls", r#""""#).is_empty());
        assert_eq!(bash("ls", r#"{"metadata":{"exit":3}}"#), ["on_error"]);
        let heredoc =
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: notes.md\n+hello\n*** End Patch\nEOF";
        assert_eq!(bash(heredoc, r#""""#), ["after_edit"]);
        let background = r#"{"command":"cargo test","run_in_background":true}"#;
        assert!(names(&tool("PostToolUse", "Bash", background, "null")).is_empty());
        let failure = r#"{"hook_event_name":"PostToolUseFailure","tool_name":"Read","tool_input":{"file_path":"/w/a"},"error":"gone"}"#;
        assert_eq!(moments(failure), [(Moment::OnError, "read_file".to_owned(), vec!["a".to_owned()])]);
    }

    #[test]
    fn a_call_that_a_gate_blocked_is_no_error() {
        let said = |more: &str| {
            names(&format!(
                r#"{{"hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{{"command":"cargo test"}},{more}}}"#
            ))
        };
        assert!(said(&format!(r#""error":"denied: {BLOCKED} guard""#)).is_empty());
        // One that ran may print the same, and a call with a name is known by that.
        for ran in [
            format!(r#""error":"Exit code 1\nassert: {BLOCKED}: x""#),
            format!(r#""tool_response":{{"exit_code":1,"error":"{BLOCKED}"}}"#),
            format!(r#""tool_use_id":"c","error":"{BLOCKED}: x""#),
        ] {
            assert_eq!(said(&ran), ["after_test", "on_error"], "{ran}");
        }
        for (name, more) in [
            ("PostToolUseFailure", r#""error":"refused""#),
            ("PostToolUse", r#""tool_response":{"is_error":true}"#),
        ] {
            let text = format!(
                r#"{{"hook_event_name":"{name}","tool_name":"Bash","tool_input":{{"command":"cargo test"}},{more}}}"#
            );
            assert_eq!(names(&text), ["after_test", "on_error"], "{name}");
            assert!(of(&event(&text), &scope(), &blocked(&text)).is_empty(), "{name}");
        }
        for (called, input) in [("Bash", r#"{"command":"cargo test"}"#), ("Write", r#"{"file_path":"a"}"#)] {
            let unnamed = tool("PostToolUse", called, input, r#""not run: a hook said no""#);
            // Of two that do the same it may be the other one.
            assert_eq!(of(&event(&unnamed), &scope(), &blocked(&unnamed)).len(), 1);
            let told = unnamed.replacen('{', r#"{"tool_use_id":"c","#, 1);
            let other = told.replace("cargo test", "ls").replace("\"a\"", "\"b\"");
            assert_eq!(of(&event(&told), &scope(), &blocked(&other)).len(), 1, "another of its name");
            assert_eq!(names(&told).len(), 1);
            assert!(of(&event(&told), &scope(), &blocked(&told)).is_empty(), "{called}");
        }
    }

    #[test]
    fn ends_and_compactions_are_told() {
        let of = |text: &str| of(&event(text), &scope(), &remembered()).remove(0);
        assert_eq!(of(r#"{"hook_event_name":"Stop","last_assistant_message":"done"}"#).detail, "done");
        let model = of(r#"{"hook_event_name":"StopFailure","error":"rate_limit","error_details":"429"}"#);
        assert_eq!((&*model.tool, model.detail.as_str()), ("model", "rate_limit: 429"));
        let compaction = of(
            r#"{"hook_event_name":"PostCompact","session_id":"s","trigger":"auto","compact_summary":"x"}"#,
        );
        assert_eq!(compaction.detail, r#"{"trigger":"auto","compact_summary":"x"}"#);
        for silent in ["PreCompact", "SubagentStop", "SessionStart", "SessionEnd", "Notification"] {
            assert!(names(&format!(r#"{{"hook_event_name":"{silent}"}}"#)).is_empty());
        }
    }
}
