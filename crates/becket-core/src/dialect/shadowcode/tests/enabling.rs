//! What is listed, and what a person must have answered before it runs.

use super::*;

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
                ".shadowcode/hooks/odd.yaml: invalid hook YAML: unknown field \"colour\"",
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
fn the_window_shows_names_in_order_without_regard_to_case() {
    let mut world = World::new();
    for n in 10..50 {
        for name in [format!("a{n}"), format!("B{n}")] {
            world.write(&format!(".shadowcode/hooks/{name}.yaml"), &definition("on_error", "x", ""));
        }
    }
    let catalog = world.catalog();
    let shown: Vec<&str> =
        catalog["hooks"].as_array().unwrap().iter().map(|hook| hook["path"].as_str().unwrap()).collect();
    let of = |begin: &str| shown.iter().filter(|path| path.contains(begin)).count();
    assert_eq!((of("hooks/a"), of("hooks/B")), (40, 24));
    // What is shown stands in byte order all the same.
    assert!(shown.is_sorted() && shown[23].ends_with("B33.yaml"), "{shown:?}");
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
