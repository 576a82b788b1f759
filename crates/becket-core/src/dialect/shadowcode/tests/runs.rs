//! Which hooks run at an event, with what, and what their ends mean.

use super::*;

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
fn records_have_their_fields() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("before_command", "echo checked", ""));
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
    let captured =
        |text: &str| Captured { head: text.as_bytes().to_vec(), tail: vec![], total: text.len() as u64 };
    let mut finished = Finished {
        job: job.clone(),
        end: End::Exited(3),
        stdout: captured("out"),
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
        json!({"ok": false, "stdout": "out", "stderr": "err", "exit_code": 3, "timed_out": false, "cancelled": false, "truncated": true, "duration_ms": 12, "pid": 7})
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
    let rules = Shadowcode.load(&scope, &missing, &Known::outside(&ledger));
    assert!(rules.sources().is_empty() && rules.problems().is_empty());
}
