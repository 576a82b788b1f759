//! Events through installed lines.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::{AGENTS, Place, finish};

#[test]
fn a_guard_of_each_dialect_denies_in_each_agent() {
    for dialect in ["albedo", "celeste", "shadowcode"] {
        let place = Place::new();
        match dialect {
            "albedo" => place.hooks(&[("PreToolUse", "echo no >&2; exit 2")]),
            "celeste" => {
                let hooks = json!({"hooks": [{"event": "PreToolUse", "command": "exit 1"}]});
                place.write("home/.celeste/hooks.json", hooks.to_string());
            }
            _ => shadowcode(
                &place,
                &json!({"name": "guard", "events": ["before_command"], "command": "exit 1"}),
            ),
        }
        place.install(&AGENTS);
        for agent in AGENTS {
            let said = place.shell(agent, "ls", "c");
            assert!(said.denial(agent).is_some(), "{dialect} {agent}: {} {}", said.stdout, said.stderr);
            assert_eq!(said.exit, 0);
        }
    }
}

/// A hook of ShadowCode's in the shop, trusted and approved.
fn shadowcode(place: &Place, hook: &Value) {
    let path = place.write("shop/.shadowcode/hooks/guard.json", hook.to_string());
    assert_eq!(place.becket(&["trust"]).exit, 0);
    let listed = place.becket(&["list", "--json"]).json();
    let hash = listed["sources"][0]["hash"].as_str().unwrap().to_owned();
    let said = place.becket(&["approve", path.to_str().unwrap(), "--hash", &hash]);
    assert_eq!(said.exit, 0, "{}", said.stderr);
}

#[test]
fn checks_after_an_edit_run_for_a_patch_in_the_shell() {
    let place = Place::new();
    let command = "echo \"$SHADOW_HOOK_PATH\" >> \"$HOME/edited\"; echo not formatted; exit 1";
    shadowcode(
        &place,
        &json!({"name": "format", "events": ["after_edit"], "command": command, "path_suffix": ".md"}),
    );
    place.install(&["codex"]);
    place.event("codex", "PreToolUse", &patch(&place));
    let next = place.shell("codex", "ls", "c2").json();
    let context =
        next["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_else(|| panic!("{next}"));
    assert!(
        context.contains("About the call before this one") && context.contains("not formatted"),
        "{context}"
    );
    assert_eq!(place.read("home/edited").unwrap().lines().count(), 1);
}

#[test]
fn a_call_that_nobody_objects_to_is_answered_explicitly() {
    let place = Place::new();
    place.install(&AGENTS);
    for agent in AGENTS {
        let said = place.shell(agent, "ls", "c");
        assert_eq!((said.exit, said.stderr.as_str()), (0, ""));
        let nothing = if agent == "opencode" { "{\"verdict\":\"allow\"}\n" } else { "{}\n" };
        assert_eq!(said.stdout, nothing);
    }
}

#[test]
fn what_cannot_be_judged_is_denied_with_the_reason() {
    let place = Place::new();
    place.install(&AGENTS);
    for agent in AGENTS.iter().filter(|agent| **agent != "opencode") {
        let event = if *agent == "gemini" { "BeforeTool" } else { "PreToolUse" };
        for sent in ["", "junk", "{}", "{\"hook_event_name\":\"Renamed\"}", "{\"a\":1} {\"b\":2}"] {
            let said = finish(place.start(&place.line(agent, event)), sent);
            let reason = said.denial(agent).unwrap_or_else(|| panic!("{agent} {sent}: {}", said.stdout));
            assert!(reason.contains("becket:"), "{reason}");
        }
        // At an end the same is no reason to go on.
        let event = if *agent == "gemini" { "AfterAgent" } else { "Stop" };
        let said = finish(place.start(&place.line(agent, event)), "junk");
        assert!(said.exit == 0 && said.json().get("decision").is_none(), "{}", said.stdout);
    }
}

#[test]
fn a_line_without_a_home_judges_nothing() {
    let place = Place::new();
    place.hooks(&[("PreToolUse", "true")]);
    let (_, envelope) = place.call("codex", "ls", "c");
    let line = format!("{} hook codex", env!("CARGO_BIN_EXE_becket"));
    let said = finish(place.start(&line), &envelope.to_string());
    assert!(said.denial("codex").unwrap().contains("no home"));
    let said = finish(place.start(&format!("{line} --wrong")), &envelope.to_string());
    assert_eq!((said.exit, said.stdout.as_str()), (2, ""));
    // At an end a refusal would mean to go on, for ever.
    let said = finish(place.start(&format!("{line} --wrong --event Stop")), &envelope.to_string());
    assert_eq!((said.exit, said.stdout.as_str()), (1, ""));
    let said = finish(place.start(&format!("{} hook nobody", env!("CARGO_BIN_EXE_becket"))), "{}");
    assert_eq!((said.exit, said.stdout.as_str()), (2, ""));
}

#[test]
fn the_end_of_stdin_is_not_waited_for() {
    let place = Place::new();
    place.install(&["claude"]);
    let mut child = place.start(&place.line("claude", "PreToolUse"));
    let (_, envelope) = place.call("claude", "ls", "c");
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(envelope.to_string().as_bytes()).unwrap();
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "{}\n");
    child.wait().unwrap();
    drop(pipe);
}

#[test]
fn a_hook_that_hangs_is_ended_at_our_deadline() {
    let place = Place::new();
    place.hooks(&[("PreToolUse", "sleep 600")]);
    place.install(&AGENTS);
    let began = Instant::now();
    for agent in AGENTS {
        let (event, envelope) = place.call(agent, "ls", "c");
        let line = place.line(agent, event).replace("--deadline 630", "--deadline 1");
        let said = finish(place.start(&line), &envelope.to_string());
        assert!(said.denial(agent).is_some(), "{agent} {}", said.stdout);
    }
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_call_reported_by_two_lines_is_judged_once() {
    let place = Place::new();
    place.hooks(&[("PreToolUse", "echo x >> \"$HOME/ran\"; sleep 0.4; echo no >&2; exit 2")]);
    place.install(&["claude", "codex"]);
    let (event, envelope) = place.call("claude", "ls", "c1");
    let line = place.line("claude", event);
    // The person's settings and the project's, at once; and a third that comes when the first has ended.
    let first = place.start(&line);
    let second = place.start(&line);
    let ends = [first, second].map(|child| {
        let envelope = envelope.to_string();
        std::thread::spawn(move || finish(child, &envelope))
    });
    for end in ends {
        assert_eq!(end.join().unwrap().denial("claude").as_deref(), Some("no"));
    }
    assert_eq!(place.event("claude", event, &envelope).denial("claude").as_deref(), Some("no"));
    assert_eq!(place.read("home/ran").as_deref(), Some("x\n"));
    // Another call, or another input under the same name, is another event.
    assert!(place.shell("claude", "ls", "c2").denial("claude").is_some());
    assert!(place.shell("claude", "ls -l", "c1").denial("claude").is_some());
    assert_eq!(place.read("home/ran").as_deref(), Some("x\nx\nx\n"));
    // Without a name for the call both lines run.
    let mut nameless = envelope;
    nameless.as_object_mut().unwrap().remove("tool_use_id");
    place.event("claude", event, &nameless);
    place.event("claude", event, &nameless);
    assert_eq!(place.read("home/ran").as_deref(), Some("x\nx\nx\nx\nx\n"));
}

#[test]
fn a_new_call_of_an_old_name_is_judged_anew() {
    let place = Place::new();
    place
        .hooks(&[("PreToolUse", "echo pre >> \"$HOME/ran\""), ("PostToolUse", "echo post >> \"$HOME/ran\"")]);
    place.install(&["claude"]);
    let (event, envelope) = place.call("claude", "ls", "c");
    let mut after = envelope.clone();
    after["hook_event_name"] = "PostToolUse".into();
    after["tool_response"] = "".into();
    for _ in 0..2 {
        for _ in 0..2 {
            place.event("claude", event, &envelope);
        }
        for _ in 0..2 {
            place.event("claude", "PostToolUse", &after);
        }
    }
    assert_eq!(place.read("home/ran").as_deref(), Some("pre\npost\npre\npost\n"));
}

#[test]
fn if_the_first_line_dies_the_second_judges() {
    let place = Place::new();
    place.hooks(&[(
        "PreToolUse",
        "test -e \"$HOME/slow\"; slow=$?; echo x >> \"$HOME/ran\"; test $slow = 0 && sleep 60; echo no >&2; exit 2",
    )]);
    place.install(&["codex"]);
    place.write("home/slow", "");
    let (event, envelope) = place.call("codex", "ls", "c1");
    let line = format!("exec {}", place.line("codex", event));
    let mut first = place.start(&line);
    first.stdin.take().unwrap().write_all(envelope.to_string().as_bytes()).unwrap();
    while place.read("home/ran").is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::remove_file(place.home().join("slow")).unwrap();
    let second = place.start(&line);
    let waiting = {
        let envelope = envelope.to_string();
        std::thread::spawn(move || finish(second, &envelope))
    };
    std::thread::sleep(Duration::from_millis(300));
    assert!(!waiting.is_finished());
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(waiting.join().unwrap().denial("codex").as_deref(), Some("no"));
    assert_eq!(place.read("home/ran").as_deref(), Some("x\nx\n"));
}

/// A patch through Codex's shell, whose end is never reported.
fn patch(place: &Place) -> Value {
    let command = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: notes.md\n+hello\n*** End Patch\nEOF";
    place.call("codex", command, "p1").1
}

#[test]
fn a_call_whose_end_is_not_reported_ends_at_the_next_event() {
    let place = Place::new();
    place.hooks(&[(
        "PostToolUse",
        "cat >> \"$HOME/seen\"; echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"additionalContext\":\"about the patch\"}}'",
    )]);
    place.install(&["codex"]);
    place.event("codex", "PreToolUse", &patch(&place));
    assert_eq!(place.read("home/seen"), None);
    let next = place.shell("codex", "ls", "c2");
    assert!(
        next.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap().contains("about the patch")
    );
    let seen: Value = serde_json::from_str(&place.read("home/seen").unwrap()).unwrap();
    assert_eq!(seen["hook_event_name"], "PostToolUse");
    assert!(seen["tool_input"]["command"].as_str().unwrap().contains("notes.md"));
    // Once, and not for the ordinary call, of which an end is reported.
    place.shell("codex", "ls", "c3");
    assert_eq!(place.read("home/seen").unwrap().matches("notes.md").count(), 1);
}

#[test]
fn a_denied_patch_has_no_end_and_a_reported_end_is_the_end() {
    let place = Place::new();
    place.hooks(&[
        ("PreToolUse", "grep -q forbidden && exit 2 || true"),
        ("PostToolUse", "echo x >> \"$HOME/seen\""),
    ]);
    place.install(&["codex"]);
    let mut denied = patch(&place);
    let command = denied["tool_input"]["command"].as_str().unwrap().replace("notes.md", "forbidden");
    denied["tool_input"]["command"] = command.into();
    place.event("codex", "PreToolUse", &denied);
    place.shell("codex", "ls", "c2");
    assert_eq!(place.read("home/seen"), None);
    // A version that reports the end does not have it twice.
    let mut reported = patch(&place);
    place.event("codex", "PreToolUse", &reported);
    reported["hook_event_name"] = "PostToolUse".into();
    reported["tool_response"] = "done".into();
    place.event("codex", "PostToolUse", &reported);
    place.shell("codex", "ls", "c3");
    assert_eq!(place.read("home/seen").as_deref(), Some("x\n"));
    // Another agent of the session going on says nothing of this one.
    place.event("codex", "PreToolUse", &patch(&place));
    let mut other = place.call("codex", "ls", "c4").1;
    other["agent_id"] = "a".into();
    place.event("codex", "PreToolUse", &other);
    assert_eq!(place.read("home/seen").as_deref(), Some("x\n"));
    place.shell("codex", "ls", "c5");
    assert_eq!(place.read("home/seen").as_deref(), Some("x\nx\n"));
}

#[test]
fn a_turn_that_the_agent_does_not_end_is_held() {
    let place = Place::new();
    place.hooks(&[(
        "PreToolUse",
        "grep -q secret && echo '{\"continue\":false,\"stopReason\":\"that was the end\"}' || true",
    )]);
    place.install(&["codex"]);
    assert!(place.shell("codex", "ls", "c1").denial("codex").is_none());
    assert!(place.shell("codex", "cat secret", "c2").denial("codex").unwrap().contains("that was the end"));
    assert!(place.shell("codex", "ls", "c3").denial("codex").unwrap().contains("that was the end"));
    let prompt = json!({"session_id": "s", "turn_id": "u", "transcript_path": "/t", "cwd": place.shop(),
        "hook_event_name": "UserPromptSubmit", "model": "m", "permission_mode": "default", "prompt": "go on"});
    assert_eq!(place.event("codex", "UserPromptSubmit", &prompt).stdout, "{}\n");
    assert!(place.shell("codex", "ls", "c4").denial("codex").is_none());
}

#[test]
fn the_workspace_is_the_sessions_and_not_a_calls() {
    let place = Place::new();
    place.hooks(&[("PreToolUse", "pwd >> \"$HOME/where\"")]);
    place.install(&["codex", "claude"]);
    let start = json!({"session_id": "s", "transcript_path": "/t", "cwd": place.shop(),
        "hook_event_name": "SessionStart", "model": "m", "permission_mode": "default", "source": "startup"});
    place.event("codex", "SessionStart", &start);
    let mut call = place.call("codex", "ls", "c1").1;
    call["cwd"] = "/".into();
    place.event("codex", "PreToolUse", &call);
    assert_eq!(place.read("home/where").unwrap(), format!("{}\n", place.shop().display()));
    // An agent that names its project is believed before its directory.
    let mut call = place.call("claude", "ls", "c2").1;
    call["session_id"] = "other".into();
    call["cwd"] = "/".into();
    let line =
        format!("CLAUDE_PROJECT_DIR={} {}", place.shop().display(), place.line("claude", "PreToolUse"));
    finish(place.start(&line), &call.to_string());
    assert_eq!(place.read("home/where").unwrap().lines().count(), 2);
    assert!(!place.read("home/where").unwrap().lines().any(|line| line == "/"));
}

#[test]
fn a_call_that_ended_is_not_answered_for_again() {
    let place = Place::new();
    place.hooks(&[("PreToolUse", "exit 0")]);
    place.install(&["claude"]);
    let (_, mut envelope) = place.call("claude", "ls", "c");
    assert!(place.event("claude", "PreToolUse", &envelope).denial("claude").is_none());
    envelope["hook_event_name"] = "PostToolUse".into();
    envelope["tool_response"] = "ok".into();
    place.event("claude", "PostToolUse", &envelope);
    // The same words again are another call, and the guard has learnt since.
    place.hooks(&[("PreToolUse", "exit 2")]);
    envelope["hook_event_name"] = "PreToolUse".into();
    assert!(place.event("claude", "PreToolUse", &envelope).denial("claude").is_some());
}

#[test]
fn another_tool_under_the_same_id_is_another_call() {
    let place = Place::new();
    place.hooks(&[("PreToolUse", "grep -q '\"Write\"' && exit 2; exit 0")]);
    place.install(&["claude"]);
    let (_, mut envelope) = place.call("claude", "ls", "c");
    envelope["tool_input"] = json!({"file_path": "/a", "content": "x"});
    for (tool, denies) in [("Read", false), ("Write", true)] {
        envelope["tool_name"] = tool.into();
        assert_eq!(
            place.event("claude", "PreToolUse", &envelope).denial("claude").is_some(),
            denies,
            "{tool}"
        );
    }
}

#[test]
fn another_event_under_a_gates_line_is_denied() {
    let place = Place::new();
    place.install(&AGENTS);
    for agent in ["claude", "codex"] {
        let (_, mut envelope) = place.call(agent, "ls", "c");
        envelope["hook_event_name"] = "PostToolUse".into();
        let said = place.event(agent, "PreToolUse", &envelope);
        assert!(said.denial(agent).unwrap().contains("under the line of PreToolUse"), "{agent}");
    }
    let (event, mut envelope) = place.call("gemini", "ls", "c");
    envelope["hook_event_name"] = "BeforeModel".into();
    let said = place.event("gemini", event, &envelope);
    assert!(said.denial("gemini").unwrap().contains("under the line of PreToolUse"), "{}", said.stdout);
}

#[test]
fn a_question_about_an_open_patch_is_not_its_end() {
    let place = Place::new();
    shadowcode(
        &place,
        &json!({"name": "seen", "events": ["after_edit"], "command": "test -e notes.md && echo there >>\"$HOME/seen\" || echo too early >>\"$HOME/seen\""}),
    );
    place.install(&["codex"]);
    let mut envelope = patch(&place);
    place.event("codex", "PreToolUse", &envelope);
    envelope["hook_event_name"] = "PermissionRequest".into();
    envelope.as_object_mut().unwrap().remove("tool_use_id");
    place.event("codex", "PermissionRequest", &envelope);
    place.write("shop/notes.md", "hello");
    place.shell("codex", "ls", "c2");
    assert_eq!(place.read("home/seen").as_deref(), Some("there\n"));
}

#[test]
fn a_home_that_is_not_there_judges_nothing_and_is_not_made() {
    let place = Place::new();
    let (_, envelope) = place.call("codex", "ls", "c");
    let gone = place.home().join("gone");
    let line = format!("{} hook codex --home {}", env!("CARGO_BIN_EXE_becket"), gone.display());
    let said = finish(place.start(&line), &envelope.to_string());
    assert!(said.denial("codex").unwrap().contains("is not there") && !gone.exists());
}
