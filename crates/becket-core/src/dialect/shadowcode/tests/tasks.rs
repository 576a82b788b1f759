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
