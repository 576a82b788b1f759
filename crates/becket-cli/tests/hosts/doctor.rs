//! What the doctor tells of files that broke, of switches, and of lines that guard less than they did.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::place::{AGENTS, Place, finish};

/// The file of an agent's that is plugged into.
fn file(agent: &str) -> &'static str {
    match agent {
        "claude" => "home/.claude/settings.json",
        "codex" => "home/.codex/hooks.json",
        "gemini" => "home/.gemini/settings.json",
        _ => "home/.config/opencode/plugin/becket.js",
    }
}

/// What is found of one kind, as its finding and its text.
pub(crate) fn found(said: &Value, agent: &str, what: &str) -> Vec<(String, String)> {
    let hosts = said["hosts"].as_array().unwrap();
    let host = hosts.iter().find(|host| host["host"] == agent).unwrap_or_else(|| panic!("{agent}: {said}"));
    let checks = host["checks"].as_array().unwrap().iter().filter(|check| check["check"] == what);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    checks.map(|check| (text(&check["finding"]), text(&check["text"]))).collect()
}

/// Asks the doctor about all that is installed, and about the one agent; both must say that something of the kind is wrong.
pub(crate) fn is_told(place: &Place, agent: &str, what: &str, why: &str) {
    for arguments in [&["doctor", "--json"][..], &["doctor", agent, "--json"]] {
        let said = place.becket(arguments);
        assert_eq!(said.exit, 1, "{agent} {why}: {}{}", said.stdout, said.stderr);
        let found = found(&said.json(), agent, what);
        assert!(
            found.iter().any(|(finding, text)| finding == "bad" && text.contains(why)),
            "{agent}: {why}, not {found:?}"
        );
    }
}

type Break = fn(&Path);

/// How an agent's file breaks, and what is told of it.
fn breaks() -> Vec<(&'static str, &'static [&'static str], Break, &'static str)> {
    let json: &[&str] = &["claude", "codex", "gemini"];
    vec![
        ("torn", json, |path| write(path, |text| text[..text.len() / 2].into()), "not JSON"),
        ("emptied", &AGENTS, |path| write(path, |_| String::new()), ""),
        ("garbage", json, |path| write(path, |_| "no".to_owned()), "not JSON"),
        ("no text", json, |path| fs::write(path, b"\xff\xfe{}").unwrap(), "not valid UTF-8"),
        (
            "marked",
            &["codex", "gemini"],
            |path| write(path, |text| format!("\u{feff}{text}")),
            "byte order mark",
        ),
        ("marked plugin", &["opencode"], |path| write(path, |text| format!("\u{feff}{text}")), ""),
        ("two at once", json, |path| write(path, |text| text.repeat(2)), "not JSON"),
        (
            "a directory",
            &AGENTS,
            |path| {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap();
            },
            "not a regular file",
        ),
        (
            "a link to nowhere",
            &AGENTS,
            |path| {
                fs::remove_file(path).unwrap();
                symlink("gone", path).unwrap();
            },
            "leads nowhere",
        ),
        ("gone", &AGENTS, |path| fs::remove_file(path).unwrap(), "is gone"),
        ("its folder gone", &AGENTS, |path| fs::remove_dir_all(path.parent().unwrap()).unwrap(), "is gone"),
        (
            "entries taken out",
            json,
            |path| write(path, |_| "{\"model\": \"x\"}\n".to_owned()),
            "has no entry of becket's any more",
        ),
        (
            "another plugin",
            &["opencode"],
            |path| write(path, |_| "export default {}\n".to_owned()),
            "has no entry of becket's any more",
        ),
        (
            "changed plugin",
            &["opencode"],
            |path| write(path, |text| text.replace("SIGKILL", "SIGTERM")),
            "changed since becket wrote it",
        ),
        (
            "another program",
            json,
            |path| write(path, |text| text.replace(env!("CARGO_BIN_EXE_becket"), "/bin/true")),
            "it runs /bin/true, which is another program",
        ),
        (
            "another home",
            json,
            |path| write(path, |text| text.replace("--home /", "--home /elsewhere/")),
            "with the hooks of the home /elsewhere/",
        ),
        (
            "an event taken out",
            json,
            |path| write(path, |text| text.replacen(" hook ", " hoax ", 1)),
            "no entry guards at",
        ),
    ]
}

fn write(path: &Path, change: impl Fn(String) -> String) {
    fs::write(path, change(fs::read_to_string(path).unwrap())).unwrap();
}

#[test]
fn whatever_broke_after_install_is_told() {
    for (name, agents, break_it, why) in breaks() {
        for agent in agents {
            for had_settings in [false, true] {
                if had_settings && *agent == "opencode" {
                    continue;
                }
                let place = Place::new();
                if had_settings {
                    let settings =
                        if *agent == "codex" { "{\"description\": \"x\"}\n" } else { "{\"a\": 1}\n" };
                    place.write(file(agent), settings);
                }
                place.install(&[agent]);
                break_it(&place.home().parent().unwrap().join(file(agent)));
                is_told(&place, agent, "entry", why);
                // An install of a time before there was a record is told by the copy beside the file.
                if had_settings && !name.contains("folder") {
                    fs::remove_file(place.home().join(".local/state/becket/installed.json")).unwrap();
                    is_told(&place, agent, "entry", why);
                }
            }
        }
    }
}

#[test]
fn a_file_that_nobody_may_read_is_told() {
    let place = Place::new();
    place.install(&AGENTS);
    for agent in AGENTS {
        let path = place.home().parent().unwrap().join(file(agent));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        if fs::read(&path).is_ok() {
            // Root may read anything.
            return;
        }
        is_told(&place, agent, "entry", "ermission denied");
    }
}

#[test]
fn a_program_that_is_gone_or_no_program_is_told() {
    let place = Place::new();
    let own = place.home().join("bin/becket");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    // Copied by another process: one that this one starts meanwhile would hold it open.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_becket")).arg(&own).status().unwrap().success());
    let run = |arguments: &[&str]| {
        let mut command = place.command(&own);
        finish(command.args(arguments).spawn().unwrap(), "")
    };
    let names: Vec<&str> = ["install"].into_iter().chain(AGENTS).collect();
    assert_eq!(run(&names).exit, 0);
    assert_eq!(run(&["doctor", "claude", "gemini", "opencode"]).exit, 0);
    for agent in AGENTS {
        is_told(&place, agent, "entry", "another program than this one");
    }
    fs::set_permissions(&own, fs::Permissions::from_mode(0o600)).unwrap();
    for agent in AGENTS {
        is_told(&place, agent, "program", "that is not executable");
    }
    fs::remove_file(&own).unwrap();
    for agent in AGENTS {
        is_told(&place, agent, "program", "No such file");
        is_told(&place, agent, "denial", "the doctor runs nothing else");
    }
}

#[test]
fn what_was_never_installed_or_was_uninstalled_is_none_of_the_doctors_business() {
    let place = Place::new();
    place.write("home/.claude/settings.json", "{\"broken\": ");
    let said = place.becket(&["doctor"]);
    assert_eq!((said.exit, said.stdout.contains("plugged into no agent")), (1, true), "{}", said.stdout);
    // Asked for by name it is told that it is not plugged in.
    assert_eq!(place.becket(&["doctor", "claude"]).exit, 1);
    // A copy that stays after uninstall, for the file has changed since, says nothing either.
    place.write("home/.gemini/settings.json", "{\"a\": 1}\n");
    place.install(&AGENTS.map(|agent| if agent == "claude" { "codex" } else { agent }));
    write(&place.home().join(".gemini/settings.json"), |text| text.replace("\"a\": 1", "\"a\": 2"));
    let said = place.becket(&["uninstall", "codex", "gemini", "opencode"]);
    assert_eq!((said.exit, said.stdout.matches(" and stays: ").count()), (0, 1), "{}", said.stdout);
    assert!(place.read("home/.gemini/settings.json.before-becket").is_some());
    let said = place.becket(&["doctor"]);
    assert_eq!((said.exit, said.stdout.contains("plugged into no agent")), (1, true), "{}", said.stdout);
}

#[test]
fn a_broken_file_can_be_mended_by_what_is_told() {
    let place = Place::new();
    place.install(&["codex"]);
    fs::remove_file(place.home().join(".codex/hooks.json")).unwrap();
    let said = place.becket(&["doctor"]);
    assert!(said.stdout.contains("`becket install codex`"), "{}", said.stdout);
    place.install(&["codex"]);
    assert!(found(&place.becket(&["doctor", "--json"]).json(), "codex", "entry")[0].0 == "ok");
    // Or it is given up.
    fs::remove_file(place.home().join(".codex/hooks.json")).unwrap();
    assert_eq!(place.becket(&["uninstall", "codex"]).exit, 0);
    let said = place.becket(&["doctor"]);
    assert_eq!((said.exit, said.stdout.contains("plugged into no agent")), (1, true), "{}", said.stdout);
}

#[test]
fn switches_in_the_agents_own_settings_are_told_with_their_place() {
    let place = Place::new();
    place.install(&AGENTS);
    let home = place.home();
    let settings = |agent: &str| home.parent().unwrap().join(file(agent));
    let with = |agent: &str, key: &str, value: Value| {
        let mut text: Value = serde_json::from_str(&fs::read_to_string(settings(agent)).unwrap()).unwrap();
        text[key] = value;
        fs::write(settings(agent), serde_json::to_string_pretty(&text).unwrap()).unwrap();
    };
    place.write("home/.codex/config.toml", "model = \"x\"\n[features]\nhooks = false\n");
    is_told(&place, "codex", "switch", "/.codex/config.toml:3: `features.hooks` is false");
    place.write("home/.codex/config.toml", "");
    place.write("home/.codex/work.config.toml", "[features]\ncodex_hooks = false\n");
    is_told(&place, "codex", "switch", "/.codex/work.config.toml:2: `features.codex_hooks` is false");
    fs::remove_file(home.join(".codex/work.config.toml")).unwrap();
    place.write(
        "home/.codex/config.toml",
        format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", place.shop()),
    );
    place.write("shop/.codex/config.toml", "features.hooks = false\n");
    is_told(
        &place,
        "codex",
        "switch",
        "/shop/.codex/config.toml:1: `features.hooks` is false, so Codex runs no hook where",
    );
    place.write("shop/.codex/config.toml", "features = \n");
    is_told(&place, "codex", "switch", "it is not TOML");

    let of_entry = format!("{}:pre_tool_use:0:0", settings("codex").display());
    place.write("home/.codex/config.toml", format!("[hooks.state.{of_entry:?}]\nenabled = false\n"));
    is_told(
        &place,
        "codex",
        "switch",
        "/.codex/config.toml:2: the entry \"pre_tool_use:0:0\" is switched off",
    );

    with("gemini", "hooksConfig", json!({"enabled": false}));
    is_told(&place, "gemini", "switch", "`hooksConfig.enabled` is false");
    with("gemini", "hooksConfig", json!({"disabled": ["becket"]}));
    is_told(&place, "gemini", "switch", "`hooksConfig.disabled` names becket's entries");
    with("gemini", "hooksConfig", json!({}));
    place.write("shop/.gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}}");
    is_told(&place, "gemini", "switch", "/shop/.gemini/settings.json:1: ");
    fs::remove_file(place.shop().join(".gemini/settings.json")).unwrap();
    place.write(
        "home/.gemini/trustedFolders.json",
        json!({place.shop().to_str().unwrap(): "DO_NOT_TRUST"}).to_string(),
    );
    is_told(&place, "gemini", "trust", "is not trusted");
    place.write(
        "home/.gemini/trustedFolders.json",
        json!({place.shop().to_str().unwrap(): "TRUST_FOLDER"}).to_string(),
    );
    assert_eq!(place.becket(&["doctor", "gemini"]).exit, 0);

    with("claude", "disableAllHooks", true.into());
    is_told(&place, "claude", "switch", "`disableAllHooks` is true");
    with("claude", "disableAllHooks", false.into());
    for name in ["settings.json", "settings.local.json"] {
        place.write(format!("shop/.claude/{name}"), "{\n\"disableAllHooks\": true}");
        is_told(&place, "claude", "switch", &format!("/shop/.claude/{name}:2: "));
        fs::remove_file(place.shop().join(".claude").join(name)).unwrap();
    }
    assert_eq!(place.becket(&["doctor", "claude"]).exit, 0);

    for (name, exit) in [("OPENCODE_PURE", 1), ("OPENCODE_DISABLE_DEFAULT_PLUGINS", 0)] {
        let mut command = place.command(env!("CARGO_BIN_EXE_becket"));
        let said = finish(command.args(["doctor", "opencode"]).env(name, "1").spawn().unwrap(), "");
        assert_eq!((said.exit, said.stdout.contains(name)), (exit, exit == 1), "{}", said.stdout);
    }
}

#[test]
fn both_at_once_are_told_when_they_are_installed_and_by_the_doctor() {
    for agent in AGENTS {
        let place = Place::new();
        assert_eq!(place.becket(&["install", agent]).stderr, "");
        let said = place.becket(&["install", "--project", agent]);
        assert_eq!(said.exit, 0);
        // opencode's two plugins know of each other, Gemini CLI drops the second of two equal lines.
        let runs_twice = matches!(agent, "claude" | "codex");
        assert_eq!(said.stderr.contains("run every hook twice"), runs_twice, "{}", said.stderr);
        if runs_twice {
            assert!(said.stderr.contains(&format!("`becket uninstall {agent}`")), "{}", said.stderr);
            is_told(&place, agent, "entry", "run every hook twice");
            let said = place.becket(&["install", agent, "--json"]).json();
            let warning = said["hosts"][0]["warnings"][0].as_str().unwrap();
            assert!(warning.contains("uninstall --project"), "{said}");
        } else {
            assert_eq!(place.becket(&["doctor", "--project", agent]).exit, 0);
        }
        assert_eq!(place.becket(&["uninstall", agent]).exit, 0);
        // What is plugged in for the project alone is looked at where it is.
        let said = place.becket(&["doctor", agent, "--json"]).json();
        let entries = found(&said, agent, "entry");
        assert!(entries.len() == 1 && entries[0].0 == "ok" && entries[0].1.contains("/shop/"), "{entries:?}");
    }
}

#[test]
fn no_program_that_a_project_names_is_started() {
    let place = Place::new();
    let evil = place.write("shop/becket", "#!/bin/sh\necho >\"$(dirname \"$0\")/started\"\n");
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    for agent in AGENTS {
        assert_eq!(place.becket(&["install", "--project", agent]).exit, 0);
        let path = place.shop().join(match agent {
            "claude" => ".claude/settings.json",
            "codex" => ".codex/hooks.json",
            "gemini" => ".gemini/settings.json",
            _ => ".opencode/plugin/becket.js",
        });
        write(&path, |text| text.replace(env!("CARGO_BIN_EXE_becket"), evil.to_str().unwrap()));
        for arguments in [&["doctor"][..], &["doctor", "--project", agent]] {
            let said = place.becket(arguments);
            assert_eq!(said.exit, 1);
            assert!(!place.shop().join("started").exists(), "{agent}: {}", said.stdout);
        }
    }
}

/// What the doctor says where it is started in a directory of the project's.
fn started_in(place: &Place, directory: &str, arguments: &[&str]) -> Value {
    let mut command = place.command(env!("CARGO_BIN_EXE_becket"));
    command.args(arguments).arg("--json").current_dir(place.shop().join(directory));
    finish(command.spawn().unwrap(), "").json()
}

fn bad(said: &Value, agent: &str, what: &str) -> Vec<String> {
    found(said, agent, what).into_iter().filter(|check| check.0 == "bad").map(|check| check.1).collect()
}

#[test]
fn settings_of_the_directory_in_which_the_agent_is_started_are_looked_at() {
    let place = Place::new();
    place.install(&["codex", "gemini", "claude"]);
    fs::create_dir_all(place.shop().join("sub/deep")).unwrap();
    place.write(
        "home/.codex/config.toml",
        format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", place.shop()),
    );
    place.write("shop/sub/.codex/config.toml", "[features]\nhooks = false\n");
    place.write("shop/sub/.gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}}");
    place.write("shop/sub/.claude/settings.json", "{\"disableAllHooks\": true}");
    for (directory, codex, gemini, claude) in [("", 0, 0, 0), ("sub", 1, 1, 1), ("sub/deep", 1, 0, 1)] {
        let said = started_in(&place, directory, &["doctor"]);
        let here = place.shop().join(directory);
        let here = here.to_str().unwrap().trim_end_matches('/');
        assert_eq!(said["directory"], here);
        for (agent, wanted) in [("codex", codex), ("gemini", gemini), ("claude", claude)] {
            let told = bad(&said, agent, "switch");
            assert_eq!(told.len(), wanted, "{agent} in {directory}: {told:?}");
            assert!(
                told.iter().all(|text| text.contains(&format!("where it is started in {here}."))),
                "{told:?}"
            );
        }
    }
    // What the project's root says is nothing to Gemini below it.
    place.write("shop/.gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}}");
    assert_eq!(bad(&started_in(&place, "sub/deep", &["doctor"]), "gemini", "switch"), Vec::<String>::new());
    let folders = json!({place.shop().to_str().unwrap(): "TRUST_FOLDER",
        place.shop().join("sub/deep").to_str().unwrap(): "DO_NOT_TRUST"});
    place.write("home/.gemini/trustedFolders.json", folders.to_string());
    let told = bad(&started_in(&place, "sub/deep", &["doctor"]), "gemini", "trust");
    assert!(told.len() == 1 && told[0].contains("/shop/sub/deep is not trusted"), "{told:?}");
    assert_eq!(bad(&started_in(&place, "sub", &["doctor"]), "gemini", "trust"), Vec::<String>::new());
}

#[test]
fn a_projects_entries_for_gemini_guard_only_where_it_is_started() {
    let place = Place::new();
    assert_eq!(place.becket(&["install", "--project", "gemini"]).exit, 0);
    assert_eq!(bad(&started_in(&place, "", &["doctor"]), "gemini", "entry"), Vec::<String>::new());
    let told = bad(&started_in(&place, "sub", &["doctor"]), "gemini", "entry");
    assert!(told.len() == 1 && told[0].contains("only where it is started in"), "{told:?}");
}

#[test]
fn what_keeps_the_guards_themselves_from_loading_is_told() {
    let place = Place::new();
    place.install(&["claude"]);
    let guards = |place: &Place| {
        let said = place.becket(&["doctor", "--json"]);
        assert_eq!(said.exit, 0, "{}", said.stdout);
        let said = said.json();
        let lines = said["guards"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned());
        (lines.collect::<Vec<_>>(), said["more_guards"].as_u64().unwrap())
    };
    assert_eq!(guards(&place), (vec![], 0));
    place.write("home/.albedo/hooks.json", "{\"hooks\": {\"PreToolUse\": [");
    let (told, more) = guards(&place);
    assert!(told.len() == 1 && more == 0 && told[0].contains("/.albedo/hooks.json"), "{told:?}");
    assert!(place.becket(&["doctor"]).stdout.contains("Your hooks\n  note  /"));
    place.write("home/.config/becket/config.toml", "[dialects]\nalbedo = false\n");
    let (told, _) = guards(&place);
    assert!(told.iter().any(|line| line.contains("the hooks of albedo are switched off")), "{told:?}");
    let many: String = (0..20).map(|at| format!("nothing_{at} = 1\n")).collect();
    place.write("home/.config/becket/config.toml", many);
    let (told, more) = guards(&place);
    assert!(told.len() == 5 && more > 10, "{told:?} {more}");
    assert!(place.becket(&["doctor"]).stdout.contains("more: `becket list`"));
}

#[test]
fn trust_is_told_by_the_hash_where_codex_cannot_be_asked() {
    let place = Place::new();
    place.install(&["codex"]);
    let file = place.home().join(".codex/hooks.json");
    let config = |hash: &str| {
        let events: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let events = events["hooks"].as_object().unwrap().keys().map(|event| {
            let mut label = String::new();
            for character in event.chars() {
                if character.is_uppercase() && !label.is_empty() {
                    label.push('_');
                }
                label.extend(character.to_lowercase());
            }
            label
        });
        let of = |label: String| {
            format!(
                "[hooks.state.{:?}]\ntrusted_hash = {hash:?}\n",
                format!("{}:{label}:0:0", file.display())
            )
        };
        place.write("home/.codex/config.toml", events.map(of).collect::<String>());
    };
    config("sha256:0");
    let told = bad(&place.becket(&["doctor", "--json"]).json(), "codex", "trust");
    assert!(
        told.len() == 1 && told[0].contains("0 of 11 entries are trusted, 11 were trusted as they"),
        "{told:?}"
    );
    assert!(told[0].contains("no program `codex` was found"), "{told:?}");
}

#[test]
fn a_neighbour_by_which_the_agent_skips_the_file_is_told_with_its_line() {
    for agent in ["claude", "codex", "gemini"] {
        let place = Place::new();
        let path = place.home().parent().unwrap().join(file(agent));
        let event = if agent == "gemini" { "AfterAgent" } else { "Stop" };
        let wrong = r#"{"hooks": [{"type": "command", "command": 5}]}"#;
        let text = format!("{{\n  \"hooks\": {{\n    \"{event}\": [\n      {wrong}\n    ]\n  }}\n}}\n");
        place.write(file(agent), text);
        let said = place.becket(&["install", agent]);
        let why =
            format!("{}:4: \"command\" of an entry under \"{event}\" is a number, not text", path.display());
        assert_eq!(said.exit, 0, "{}", said.stderr);
        if agent == "gemini" {
            assert_eq!(said.stderr, "");
        } else {
            assert!(said.stderr.contains(&why), "{}", said.stderr);
            is_told(&place, agent, "entry", &why);
        }
    }
}
