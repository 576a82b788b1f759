//! What lasts from a prompt to its last stop: settings held fast, and the repair loop.

use super::*;

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
    assert!(world.load().frozen.is_some());
    assert_eq!(world.fire(STOP).decision, Decision::Allow);
    assert!(world.load().frozen.is_none());
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
fn at_every_moment_an_enabled_hook_that_changed_or_vanished_has_failed() {
    let path = ".shadow/hooks/a.yaml";
    let after = |name: &str, tool: &str, input: Value, response: Value| {
        json!({"hook_event_name": name, "session_id": "s", "cwd": "/w", "tool_name": tool, "tool_input": input, "tool_response": response}).to_string()
    };
    let edit = after(
        "PostToolUse",
        "apply_patch",
        json!({"input": "*** Begin Patch\n*** Add File: a.rs\n*** Add File: b.md\n*** Add File: c.rs\n*** End Patch"}),
        json!("ok"),
    );
    let test = after("PostToolUse", "Bash", json!({"command": "cargo test"}), json!("ok"));
    let error = after("PostToolUseFailure", "Read", json!({"file_path": "x.rs"}), Value::Null);
    let compaction = json!({"hook_event_name": "PostCompact", "session_id": "s"}).to_string();
    let failure =
        json!({"hook_event_name": "StopFailure", "session_id": "s", "error": "overloaded"}).to_string();
    let events = [&edit, &test, &error, &compaction, &failure];
    for (moment, suffix, told) in [
        ("after_edit", "", vec![&edit]),
        ("after_edit", "path_suffix: .rs\n", vec![&edit]),
        ("after_edit", "path_suffix: .py\n", vec![]),
        ("after_test", "", vec![&test]),
        ("on_error", "", vec![&error, &failure]),
        ("on_error", "path_suffix: .rs\n", vec![&error]),
        ("on_compaction", "", vec![&compaction]),
        ("before_commit", "", vec![]),
    ] {
        for (new, is_known) in [
            // What it listens to now is not what was enabled.
            (Some(definition("before_commit", "other", "")), true),
            (Some("name: [".to_owned()), true),
            (None, true),
            // A task that began before it could be known when the hook runs.
            (None, false),
        ] {
            for event in events {
                let mut world = World::new();
                world.hook(path, &definition(moment, "x", suffix));
                if is_known {
                    world.fire(PROMPT);
                }
                match &new {
                    Some(text) => world.write(path, text),
                    None => world.files.clear(),
                }
                let said = world.fire(event);
                assert!(world.started.is_empty());
                let what = format!("{moment} {suffix} {new:?} {event}");
                if is_known && !told.contains(&event) {
                    assert!(said.runs.is_empty() && said.result.is_none(), "{what}");
                    assert_eq!((said.decision, said.messages.len()), (Decision::Allow, 0), "{what}");
                    continue;
                }
                let [run] = said.runs.as_slice() else { panic!("{what}: {:?}", said.runs) };
                assert_eq!((run.source.as_str(), run.status), ("/w/.shadow/hooks/a.yaml", Status::Failed));
                assert!(run.detail.starts_with("changed: it "), "{what}");
                let way_out = "becket forget /w/.shadow/hooks/a.yaml";
                if event == &compaction {
                    assert_eq!(said.decision, Decision::Halt, "{what}");
                    assert!(said.reason.unwrap().contains(way_out), "{what}");
                } else if event == &failure {
                    assert!(said.messages[0].contains(way_out), "{what}");
                } else {
                    let result = said.result.unwrap();
                    assert!(result.failed && result.feedback.contains(way_out), "{what}");
                }
            }
        }
    }
}

#[test]
fn a_hook_that_vanished_keeps_no_other_from_running() {
    let mut world = World::new();
    for name in ["a", "b", "c"] {
        world.hook(&format!(".shadow/hooks/{name}.yaml"), &definition("after_test", name, ""));
    }
    world.fire(PROMPT);
    world.files.retain(|(path, _)| !path.ends_with("b.yaml"));
    let said = world.fire(
        r#"{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"pytest"}}"#,
    );
    assert_eq!(world.commands(), ["a", "c"]);
    let statuses: Vec<Status> = said.runs.iter().map(|run| run.status).collect();
    assert_eq!(statuses, [Status::Passed, Status::Failed, Status::Passed]);
    assert!(said.result.unwrap().feedback.contains("it is gone"));
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
fn a_value_that_the_session_holds_from_a_newer_form_is_left_alone() {
    let mut world = World::new();
    world.hook(".shadow/hooks/a.yaml", &definition("before_command", "a", ""));
    world.facts.add(Fact::Kept { dialect: Name::Shadowcode, value: json!({"v": 9}) });
    world.fire(PRE);
    assert_eq!(world.commands(), ["a"]);
}
