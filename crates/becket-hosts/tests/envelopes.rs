//! What real agents sent, decoded.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use becket_core::event::{Event, EventName};
use becket_core::tool::Kind;
use becket_hosts::Host;
use becket_hosts::answer::is_denial;
use becket_hosts::decode::{Beside, Decoded, Heard, decode};
use serde_json::{Value, json};

const CODEX: &str = include_str!("data/codex-0.171.0.jsonl");
const GEMINI: &str = include_str!("data/gemini-cli-0.61.0.jsonl");
const OPENCODE: &str = include_str!("data/opencode-1.18.33.jsonl");

fn heard(host: Host, line: &str) -> Heard {
    decode(host, line.as_bytes(), Beside::default()).unwrap()
}

fn event(host: Host, line: &str) -> Decoded {
    match heard(host, line) {
        Heard::Event(decoded) => *decoded,
        Heard::Nothing => panic!("{line}"),
    }
}

fn told(decoded: &Decoded) -> (EventName, Option<Kind>, Option<i64>) {
    let code = decoded.event.fields.get("exit_code").and_then(Value::as_i64);
    (decoded.event.name, decoded.event.tool.as_ref().map(|tool| tool.kind), code)
}

#[test]
fn codex_is_read_whole() {
    use EventName::{PostToolUse, PreToolUse, SessionEnd, SessionStart, Stop, UserPromptSubmit};
    let events: Vec<Decoded> = CODEX.lines().map(|line| event(Host::Codex, line)).collect();
    let names: Vec<EventName> = events.iter().map(|decoded| decoded.event.name).collect();
    assert_eq!(
        names,
        [
            SessionStart,
            UserPromptSubmit,
            PreToolUse,
            PreToolUse,
            PostToolUse,
            PreToolUse,
            PostToolUse,
            Stop,
            SessionEnd
        ]
    );
    // The patch in the shell is the one call whose end is not reported.
    let unreported: Vec<usize> = (0..events.len()).filter(|at| events[*at].is_unreported).collect();
    assert_eq!(unreported, [2]);
    // The directory of a call is the model's choice, and never where the workspace is looked for.
    assert_eq!(events[0].start.as_deref().map(camino::Utf8Path::as_str), Some("/home/dev/shop"));
    assert_eq!(
        (events[5].event.cwd.as_deref().unwrap().as_str(), &events[5].start),
        ("/home/dev/shop/sub", &None)
    );
    assert_eq!(events[5].call_id.as_deref(), Some("call_3"));
}

#[test]
fn gemini_is_read_in_the_common_words() {
    let all: Vec<Heard> = GEMINI.lines().map(|line| heard(Host::Gemini, line)).collect();
    let silent = all.iter().filter(|heard| **heard == Heard::Nothing).count();
    assert_eq!((all.len(), silent), (16, 3));
    let events: Vec<Decoded> = all
        .into_iter()
        .filter_map(|heard| match heard {
            Heard::Event(decoded) => Some(*decoded),
            Heard::Nothing => None,
        })
        .collect();
    let told: Vec<_> = events.iter().map(told).collect();
    use EventName as E;
    assert_eq!(
        told,
        [
            (E::SessionStart, None, None),
            (E::UserPromptSubmit, None, None),
            (E::PreCompact, None, None),
            (E::PreToolUse, Some(Kind::Write), None),
            (E::PostToolUse, Some(Kind::Write), None),
            (E::PreToolUse, Some(Kind::Edit), None),
            (E::PostToolUse, Some(Kind::Edit), None),
            (E::PreToolUse, Some(Kind::Shell), None),
            (E::PostToolUse, Some(Kind::Shell), Some(3)),
            (E::PreToolUse, Some(Kind::Read), None),
            (E::PostToolUse, Some(Kind::Read), None),
            (E::Stop, None, None),
            (E::SessionEnd, None, None),
        ]
    );
    assert_eq!(events[11].event.text("last_assistant_message"), Some("all done"));
}

/// The recorded calls of the plugin's functions, as the plugin sends them on.
fn plugin_lines() -> Vec<String> {
    OPENCODE
        .lines()
        .map(|line| {
            let mut seen: Value = serde_json::from_str(line).unwrap();
            let sent = if let Some(event) = seen.get_mut("ev") {
                json!({"becket": 1, "directory": "/home/dev/shop", "hook": "event", "event": event.take()})
            } else {
                let (hook, input, output) = [
                    ("chat.message", "chat", "o"),
                    ("tool.execute.before", "before", "output"),
                    ("tool.execute.after", "after", "output"),
                ]
                .into_iter()
                .find(|(_, input, _)| seen.get(input).is_some())
                .unwrap();
                json!({"becket": 1, "directory": "/home/dev/shop", "hook": hook, "input": seen[input], "output": seen[output]})
            };
            sent.to_string()
        })
        .collect()
}

#[test]
fn opencode_is_read_in_the_common_words() {
    let events: Vec<Decoded> = plugin_lines().iter().map(|line| event(Host::Opencode, line)).collect();
    use EventName as E;
    assert_eq!(
        events.iter().map(told).collect::<Vec<_>>(),
        [
            (E::SessionStart, None, None),
            (E::UserPromptSubmit, None, None),
            (E::PreToolUse, Some(Kind::Write), None),
            (E::PostToolUse, Some(Kind::Write), None),
            (E::PreToolUse, Some(Kind::Edit), None),
            (E::PostToolUse, Some(Kind::Edit), None),
            (E::PreToolUse, Some(Kind::Shell), None),
            (E::PostToolUse, Some(Kind::Shell), Some(3)),
            (E::Stop, None, None),
        ]
    );
    let sessions: Vec<_> = events.iter().map(|decoded| decoded.event.session_id.as_deref()).collect();
    assert!(sessions.iter().all(|id| *id == Some("ses_dd3a7e077ffeSCFmY6ye9ZVw5M")));
    assert_eq!(events[1].event.text("prompt"), Some("\"fix the bug\""));
    // Its calls all have one name here, which therefore tells nothing.
    assert!(events.iter().all(|decoded| decoded.call_id.is_none() && decoded.start.is_some()));
}

#[test]
fn a_child_session_of_opencode_is_a_subagent() {
    let line = json!({"becket": 1, "hook": "event", "directory": "/w", "parent": "p",
        "event": {"type": "session.idle", "properties": {"sessionID": "c"}}});
    let Event { name, session_id, fields, .. } = event(Host::Opencode, &line.to_string()).event;
    assert_eq!(
        (name, session_id.as_deref(), &fields["agent_id"]),
        (EventName::SubagentStop, Some("p"), &json!("c"))
    );
}

#[test]
fn odd_but_honest_payloads_are_read() {
    let mut bytes = b"\xef\xbb\xbf".to_vec();
    bytes.extend_from_slice(
        br#"{"hook_event_name":"PreToolUse","cwd":"","tool_name":"Bash","tool_input":"{\"command\":\"ls\"}"}"#,
    );
    let Heard::Event(decoded) = decode(Host::Claude, &bytes, Beside::default()).unwrap() else { panic!() };
    let tool = decoded.event.tool.as_ref().unwrap();
    assert_eq!(tool.input.as_ref().unwrap()["command"], "ls");
    assert_eq!((&decoded.event.cwd, &decoded.event.session_id, &decoded.start), (&None, &None, &None));
    let beside = Beside { project: Some("/w"), event: None };
    let Heard::Event(decoded) = decode(Host::Claude, &bytes, beside).unwrap() else { panic!() };
    assert_eq!(decoded.start.unwrap(), "/w");
}

#[test]
fn tools_of_servers_are_told_by_geminis_names() {
    let line = r#"{"hook_event_name":"BeforeTool","tool_name":"mcp_memory_create","tool_input":{}}"#;
    assert_eq!(event(Host::Gemini, line).event.tool.unwrap().kind, Kind::Mcp);
    // A tool that somebody adds may have the name of another agent's, and arguments of its own.
    let line = r#"{"hook_event_name":"PreToolUse","tool_name":"execute","tool_input":{"sql":"x"}}"#;
    assert_eq!(event(Host::Codex, line).event.tool.unwrap().name, "execute");
    // What a sender says of its own tool counts for nothing.
    let line = r#"{"hook_event_name":"PreToolUse","tool_kind":"other","tool_name":"Bash","tool_input":{"command":"x"}}"#;
    assert_eq!(event(Host::Codex, line).event.tool.unwrap().kind, Kind::Shell);
}

/// Exit code, whether stdout holds a denial or nothing, and the reason.
fn refusal(host: Host, event: Option<EventName>, sent: &str) -> (u8, String) {
    let words = decode(host, sent.as_bytes(), Beside { event, project: None }).unwrap_err().words();
    if words.exit == 0 && !words.stdout.is_empty() {
        assert_eq!(is_denial(host, &words), words.stdout.contains("deny"), "{words:?}");
    }
    (words.exit, format!("{}{}", words.stdout, words.stderr))
}

#[test]
fn renamed_fields_are_said_and_denied() {
    let gate = Some(EventName::PreToolUse);
    for (host, event, sent, what) in [
        (Host::Codex, gate, "", "not one JSON object"),
        (Host::Codex, gate, r#"{"hook_event_name":"PreToolUse","tool_name":"Bash"}"#, "no `tool_input`"),
        (
            Host::Codex,
            None,
            r#"{"hook_event_name":"PreToolUse","tool":"Bash","tool_input":{}}"#,
            "no `tool_name`",
        ),
        (
            Host::Claude,
            None,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"script":"x"}}"#,
            "no `command`",
        ),
        (
            Host::Claude,
            None,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"where":"x"}}"#,
            "names no file",
        ),
        (Host::Codex, gate, r#"{"hook_event_name":"BeforeToolUse","tool_name":"Bash"}"#, "its event is"),
        (Host::Codex, gate, r#"{"tool_name":"Bash"}"#, "no `hook_event_name`"),
        (
            Host::Gemini,
            None,
            r#"{"hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"cmdline":"x"}}"#,
            "no `command`",
        ),
        (
            Host::Codex,
            gate,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"a","command":"b"}}"#,
            "stands twice",
        ),
    ] {
        let (exit, said) = refusal(host, event, sent);
        assert!(said.contains("deny") && said.contains(what), "{exit} {said}");
    }
    // Where not even the event is known, the refusal is the one that all share.
    assert_eq!(refusal(Host::Codex, None, "nonsense").0, 2);
    let (exit, said) = refusal(Host::Claude, None, r#"{"hook_event_name":"UserPromptSubmit","text":"x"}"#);
    assert!(exit == 0 && said.contains("\"decision\":\"block\"") && said.contains("no `prompt`"), "{said}");
    // A stop that cannot be judged is no reason to go on.
    let (exit, said) = refusal(Host::Codex, Some(EventName::Stop), "nonsense");
    assert!(exit == 0 && !said.contains("block") && said.contains("systemMessage"), "{said}");
}

#[test]
fn a_newer_version_with_the_marks_of_two_is_believed_to_be_the_lines_own() {
    let line = r#"{"hook_event_name":"PreToolUse","turn_id":"t","prompt_id":"p","tool_name":"Bash","tool_input":{"command":"x"}}"#;
    for host in [Host::Claude, Host::Codex] {
        assert_eq!(event(host, line).event.name, EventName::PreToolUse);
    }
}

#[test]
fn other_agents_are_recognised() {
    for (sent, name, exit) in [
        (r#"{"hookEventName":"pre_tool_use","toolName":"Bash","toolInput":{}}"#, "Grok", 2),
        (r#"{"hookEventName":"PostToolUse","toolName":"Bash","toolInput":{}}"#, "Grok", 0),
        (r#"{"hookEventName":"PreToolUse","sessionId":"s","tool_name":"x","tool_input":{}}"#, "VS Code", 2),
        (
            r#"{"conversation_id":"c","generation_id":"g","hook_event_name":"beforeShellExecution","command":"x"}"#,
            "Cursor",
            2,
        ),
        (r#"{"conversation_id":"c","generation_id":"g","hook_event_name":"stop"}"#, "Cursor", 0),
        (r#"{"agent_action_name":"pre_run_command"}"#, "Windsurf", 2),
        (r#"{"event":"PreToolUse","working_dir":"/","tool_name":"x"}"#, "Goose", 2),
        (r#"{"sessionId":"s","timestamp":1,"toolName":"bash","toolArgs":"{}"}"#, "Copilot", 2),
        // One we know is answered in its own words.
        (r#"{"hook_event_name":"BeforeTool","tool_name":"x","tool_input":{}}"#, "Gemini", 0),
        (
            r#"{"hook_event_name":"PreToolUse","turn_id":"t","tool_name":"Bash","tool_input":{"command":"x"}}"#,
            "Codex",
            0,
        ),
    ] {
        let words = decode(Host::Claude, sent.as_bytes(), Beside::default()).unwrap_err().words();
        assert!(words.stderr.contains(name), "{words:?}");
        assert_eq!(words.exit, exit, "{words:?}");
        if name == "Gemini" || name == "Codex" {
            assert!(words.stdout.contains("deny"), "{words:?}");
        }
    }
}

/// Whatever name another agent's payload gives its event: under a line that asks for leave, it gets none.
#[test]
fn no_payload_of_another_agent_passes_a_gate() {
    for host in Host::ALL {
        let beside = Beside { event: Some(EventName::PreToolUse), project: None };
        let natives = Host::ALL.into_iter().filter(|other| *other != host).flat_map(Host::rows);
        for native in natives.map(|row| row.native).chain(["sessionStart", "agentStop", "notification"]) {
            for mark in ["timestamp", "cursor_version", "hookName", "sessionId", "x"] {
                let payload = json!({"hook_event_name": native, mark: "1", "event": native});
                if let Err(error) = decode(host, payload.to_string().as_bytes(), beside) {
                    let words = error.words();
                    let denies = Host::ALL.into_iter().any(|host| is_denial(host, &words));
                    assert!(denies, "{host} {payload}: {words:?}");
                }
            }
        }
    }
}

#[test]
fn an_event_without_a_counterpart_is_no_way_past_a_gate() {
    for host in Host::ALL {
        for line in host.rows().iter().map(|row| row.event) {
            for event in ["BeforeModel", "AfterModel", "BeforeToolSelection"] {
                let sent = json!({ "session_id": "s", "cwd": "/w", "hook_event_name": event,
                    "tool_name": "run_shell_command", "tool_input": { "command": "git push" } });
                let beside = Beside { event: Some(line), project: None };
                let heard = decode(host, sent.to_string().as_bytes(), beside);
                if line.is_gate() {
                    let words = heard.unwrap_err().words();
                    // Some can be kept from no compaction: there it is told.
                    let is_refused = words.exit == 2
                        || is_denial(host, &words)
                        || (line == EventName::PreCompact && words.stdout.contains("nothing can be judged"));
                    assert!(is_refused, "{host} {line} {event}: {words:?}");
                } else if host == Host::Gemini {
                    assert_eq!(heard, Ok(Heard::Nothing), "{line} {event}");
                }
            }
        }
    }
}
