//! Plugging in and out, and the doctor.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::place::{AGENTS, Place};

const SETTINGS: &str =
    "// mine\n{\n  \"model\": \"x\", /* best */\n  \"hooks\": {\n    \"Stop\": [],\n  },\n}\n";

#[test]
fn what_install_adds_uninstall_takes_out() {
    let place = Place::new();
    let path = place.write("home/.claude/settings.json", SETTINGS);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let shown = place.becket(&["install", "claude", "--dry-run"]);
    assert!(
        shown.stdout.contains("+     \"PreToolUse\"") && !shown.stdout.contains("-   \"model\""),
        "{}",
        shown.stdout
    );
    assert_eq!(place.read("home/.claude/settings.json").unwrap(), SETTINGS);
    place.install(&["claude"]);
    let plugged = place.read("home/.claude/settings.json").unwrap();
    assert!(plugged.starts_with("// mine\n{\n  \"model\": \"x\", /* best */\n"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(place.read("home/.claude/settings.json.before-becket").unwrap(), SETTINGS);
    place.install(&["claude"]);
    assert_eq!(place.read("home/.claude/settings.json").unwrap(), plugged);
    assert_eq!(place.becket(&["uninstall", "claude"]).exit, 0);
    assert_eq!(place.read("home/.claude/settings.json").unwrap(), SETTINGS);
    assert_eq!(place.read("home/.claude/settings.json.before-becket"), None);
}

#[test]
fn all_agents_at_once_in_a_project_and_out_again() {
    let place = Place::new();
    let said =
        place.becket(&["install", "--project", "codex", "gemini", "opencode", "claude", "codex", "--json"]);
    assert_eq!(said.exit, 0, "{}", said.stderr);
    assert_eq!(said.json()["hosts"].as_array().unwrap().len(), 4);
    for path in
        [".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json", ".opencode/plugin/becket.js"]
    {
        assert!(place.read(format!("shop/{path}")).is_some(), "{path}");
    }
    let said = place.becket(&["uninstall", "--project", "codex", "gemini", "opencode", "claude"]);
    assert_eq!(said.exit, 0, "{}", said.stderr);
    for path in
        [".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json", ".opencode/plugin/becket.js"]
    {
        assert!(place.read(format!("shop/{path}")).is_none(), "{path}");
    }
}

#[test]
fn links_are_followed_and_stay_links() {
    let place = Place::new();
    let real = place.write("dotfiles/gemini.json", "{\"a\": 1}\n");
    fs::create_dir(place.home().join(".gemini")).unwrap();
    symlink(&real, place.home().join(".gemini/settings.json")).unwrap();
    place.install(&["gemini"]);
    assert!(fs::symlink_metadata(place.home().join(".gemini/settings.json")).unwrap().is_symlink());
    assert!(place.read("dotfiles/gemini.json").unwrap().contains("BeforeTool"));
    place.becket(&["uninstall", "gemini"]);
    assert_eq!(place.read("dotfiles/gemini.json").unwrap(), "{\"a\": 1}\n");
}

#[test]
fn what_cannot_be_read_safely_is_left_alone_and_the_others_are_done() {
    let place = Place::new();
    place.write("home/.claude/settings.json", "{\"hooks\": ");
    fs::create_dir_all(place.home().join(".gemini")).unwrap();
    symlink("nowhere", place.home().join(".gemini/settings.json")).unwrap();
    fs::create_dir_all(place.home().join(".config/opencode/plugin/becket.js")).unwrap();
    let said = place.becket(&["install", "claude", "codex", "gemini", "opencode"]);
    assert_eq!(said.exit, 1);
    for why in ["not JSON", "leads nowhere", "not a regular file"] {
        assert!(said.stderr.contains(why), "{why}: {}", said.stderr);
    }
    assert_eq!(place.read("home/.claude/settings.json").unwrap(), "{\"hooks\": ");
    assert!(place.read("home/.codex/hooks.json").is_some());
    assert_eq!(place.becket(&["install", "nobody"]).exit, 2);
}

#[test]
fn a_half_written_copy_is_written_again() {
    let place = Place::new();
    place.write("home/.claude/settings.json", "{\"a\": 1}");
    place.write("home/.claude/settings.json.before-becket", "{\"a\"");
    place.install(&["claude"]);
    assert_eq!(place.read("home/.claude/settings.json.before-becket").unwrap(), "{\"a\": 1}");
}

#[test]
fn a_copy_that_says_something_else_is_never_written_over() {
    let place = Place::new();
    place.write("home/.claude/settings.json", "{\"a\": 1}");
    place.write("home/.claude/settings.json.before-becket", "mine");
    place.install(&["claude"]);
    assert_eq!(place.read("home/.claude/settings.json.before-becket-2").unwrap(), "{\"a\": 1}");
    assert_eq!(place.becket(&["uninstall", "claude"]).exit, 0);
    assert_eq!(place.read("home/.claude/settings.json.before-becket").unwrap(), "mine");
    assert!(place.read("home/.claude/settings.json.before-becket-2").is_none());
}

#[test]
fn a_line_with_more_in_it_is_not_beckets() {
    let place = Place::new();
    place.install(&["claude"]);
    let text = place.read("home/.claude/settings.json").unwrap();
    let changed = text.replacen("--event Stop\"", "--event Stop; notify-send done\"", 1);
    assert_ne!(text, changed);
    place.write("home/.claude/settings.json", changed);
    place.becket(&["uninstall", "claude"]);
    assert!(place.read("home/.claude/settings.json").unwrap().contains("notify-send done"));
}

#[test]
fn homes_that_were_moved_stand_in_the_line() {
    let place = Place::new();
    let mut command = place.command(env!("CARGO_BIN_EXE_becket"));
    command.args(["install", "codex"]).env("ALBEDO_HOME", place.home().join("my albedo"));
    assert!(crate::place::finish(command.spawn().unwrap(), "").exit == 0);
    assert!(place.line("codex", "PreToolUse").contains("my albedo'"));
    let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}});
    place.write("home/my albedo/hooks.json", hooks.to_string());
    assert!(place.shell("codex", "ls", "c").denial("codex").is_some());
}

#[test]
fn the_doctor_proves_a_denial() {
    let place = Place::new();
    assert_eq!(place.becket(&["doctor", "claude"]).exit, 1);
    place.install(&AGENTS);
    let said = place.becket(&["doctor", "--json"]);
    let found = said.json();
    for host in found["hosts"].as_array().unwrap() {
        let check = |what: &str| {
            host["checks"].as_array().unwrap().iter().find(|check| check["check"] == what).unwrap()["finding"]
                .clone()
        };
        assert_eq!((check("entry"), check("denial")), (json!("ok"), json!("ok")), "{host}");
    }
    assert_eq!(found["hosts"].as_array().unwrap().len(), 4);
    // Codex has not been asked yet.
    assert_eq!(said.exit, 1);
    assert_eq!(place.becket(&["doctor", "claude", "gemini", "opencode"]).exit, 0);
    // A line whose program is gone denies nothing.
    let settings = place.read("home/.gemini/settings.json").unwrap();
    place.write("home/.gemini/settings.json", settings.replace(env!("CARGO_BIN_EXE_becket"), "/gone/becket"));
    assert_eq!(place.becket(&["doctor", "gemini"]).exit, 1);
    let mut off: Value = serde_json::from_str(&place.read("home/.claude/settings.json").unwrap()).unwrap();
    off["disableAllHooks"] = true.into();
    place.write("home/.claude/settings.json", off.to_string());
    assert!(place.becket(&["doctor", "claude"]).stdout.contains("disableAllHooks"));
}

#[test]
fn the_loss_table_is_printed() {
    let place = Place::new();
    let table = place.becket(&["hosts", "--json"]).json();
    let codex = table["hosts"].as_array().unwrap().iter().find(|host| host["host"] == "codex").unwrap();
    let gate = codex["events"].as_array().unwrap().iter().find(|row| row["event"] == "PreToolUse").unwrap();
    assert_eq!((&gate["answers"]["ask"], &gate["answers"]["halt"]), (&json!("denied"), &json!("held")));
    assert!(place.becket(&["hosts"]).stdout.contains("ask: denied"));
}

#[test]
fn what_a_kill_left_is_swept_and_nothing_else() {
    let place = Place::new();
    let folder = "home/.codex";
    let left = |name: &str| place.write(format!("{folder}/{name}"), "left");
    let gone = left(".becket-unfinished-aB3xYz12");
    let stays = [
        left(".becket-backup"),
        left(".becket-unfinished-aB3xYz123"),
        left(".becket-unfinished-notes.md"),
        left("becket-unfinished-aB3xYz12"),
    ];
    let locked = left(".becket-unfinished-Locked12");
    let writer = fs::File::open(&locked).unwrap();
    writer.lock().unwrap();
    let link = place.home().join(".codex/.becket-unfinished-linked12");
    symlink(&stays[2], &link).unwrap();
    fs::create_dir(place.home().join(".codex/.becket-unfinished-folder12")).unwrap();
    place.install(&["codex"]);
    assert!(!gone.exists());
    assert!(stays.iter().chain([&locked, &link]).all(|path| path.exists()));
    assert!(place.home().join(".codex/.becket-unfinished-folder12").exists());
    drop(writer);
    assert_eq!(place.becket(&["uninstall", "codex"]).exit, 0);
    assert!(!locked.exists());
}

#[test]
fn directories_that_install_made_go_with_it_if_nothing_else_is_in_them() {
    let place = Place::new();
    let exists = |path: &str| place.home().parent().unwrap().join(path).exists();
    let uninstall = |arguments: &[&str]| {
        let said = place.becket(&[&["uninstall"], arguments].concat());
        assert_eq!(said.exit, 0, "{}", said.stderr);
    };
    fs::create_dir(place.home().join(".gemini")).unwrap();
    place.install(&AGENTS);
    // A second install makes nothing, and what the first one made is still known.
    place.install(&AGENTS);
    uninstall(&AGENTS);
    assert!(!exists("home/.codex") && !exists("home/.claude") && !exists("home/.config"));
    assert!(exists("home/.gemini"), "it was there before");
    place.install(&["opencode", "codex"]);
    place.write("home/.config/opencode/opencode.json", "{}");
    place.write("home/.codex/auth.json", "{}");
    uninstall(&["opencode", "codex"]);
    assert!(!exists("home/.config/opencode/plugin") && exists("home/.config/opencode/opencode.json"));
    assert!(exists("home/.codex/auth.json"));
    // What somebody made again meanwhile is not install's.
    place.install(&["claude"]);
    uninstall(&["claude"]);
    fs::create_dir(place.home().join(".claude")).unwrap();
    uninstall(&["claude"]);
    assert!(exists("home/.claude"));
    assert_eq!(place.becket(&["install", "--project", "opencode"]).exit, 0);
    uninstall(&["--project", "opencode"]);
    assert!(!exists("shop/.opencode") && exists("shop/.git"));
}

#[test]
fn install_goes_where_gemini_was_moved() {
    let place = Place::new();
    let mut command = place.command(env!("CARGO_BIN_EXE_becket"));
    command.args(["install", "gemini"]).env("GEMINI_CLI_HOME", place.home().join("moved"));
    assert_eq!(crate::place::finish(command.spawn().unwrap(), "").exit, 0);
    assert!(place.read("home/moved/.gemini/settings.json").is_some());
    assert!(place.read("home/.gemini/settings.json").is_none());
}

#[test]
fn a_file_that_the_agent_does_not_read_is_said_at_once() {
    for (agent, path, text, why) in [
        ("codex", "home/.codex/hooks.json", "// mine\n{}\n", "Codex reads only plain JSON"),
        (
            "codex",
            "home/.codex/hooks.json",
            "{\"model\": 1}\n",
            "Codex skips the whole file for the key \"model\"",
        ),
        ("gemini", "home/.gemini/settings.json", "\u{feff}{}\n", "Gemini CLI does not start with it"),
        ("gemini", "home/.gemini/settings.json", "// mine\n{}\n", ""),
    ] {
        let place = Place::new();
        place.write(path, text);
        let said = place.becket(&["install", agent]);
        assert_eq!(said.exit, 0);
        assert_eq!(said.stderr.is_empty(), why.is_empty(), "{}", said.stderr);
        assert!(said.stderr.contains(why), "{}", said.stderr);
    }
}

#[test]
fn directories_that_were_made_behind_a_link_go_too() {
    let place = Place::new();
    let dotfiles = place.home().parent().unwrap().join("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    symlink(&dotfiles, place.home().join(".config")).unwrap();
    symlink("../dotfiles", place.home().join(".gemini")).unwrap();
    place.install(&["opencode", "gemini"]);
    assert!(dotfiles.join("opencode/plugin/becket.js").exists() && dotfiles.join("settings.json").exists());
    assert_eq!(place.becket(&["uninstall", "opencode", "gemini"]).exit, 0);
    let left: Vec<_> = fs::read_dir(&dotfiles).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_record_that_cannot_be_read_is_told_and_written_anew() {
    let place = Place::new();
    let record = "home/.local/state/becket/installed.json";
    for torn in ["{\"version\":1,\"installs\":[", "", "null", "[]"] {
        place.install(&["claude"]);
        place.write(record, torn);
        let said = place.becket(&["doctor", "claude"]);
        assert!(said.exit == 1 && said.stderr.contains("`becket install` keeps it aside"), "{}", said.stderr);
        // Uninstall changes the agent's file, and says what the record will make the doctor think.
        let said = place.becket(&["uninstall", "claude"]);
        let follows = "may go on missing the entries of claude, though they were taken out";
        assert!(said.exit == 0 && said.stderr.contains(follows), "{}", said.stderr);
        let said = place.becket(&["install", "claude"]);
        assert_eq!((said.exit, said.stderr.as_str()), (0, ""));
        assert!(place.read(record).unwrap().contains("\"claude\""));
        assert_eq!(place.becket(&["doctor", "claude"]).exit, 0);
    }
    assert_eq!(place.read(format!("{record}.torn-1")).unwrap(), "{\"version\":1,\"installs\":[");
    // A newer one is nobody's to put aside.
    place.write(record, "{\"version\":99,\"others\":[]}");
    assert!(place.becket(&["install", "claude"]).stderr.contains("written by a newer Becket"));
    assert_eq!(place.read(record).unwrap(), "{\"version\":99,\"others\":[]}");
}

#[test]
fn what_a_person_put_into_our_entries_is_not_taken_out_with_them() {
    for agent in ["claude", "codex", "gemini"] {
        let place = Place::new();
        place.install(&[agent]);
        let folder = format!("home/.{agent}");
        let path = format!("{folder}/{}", if agent == "codex" { "hooks.json" } else { "settings.json" });
        let whole = place.read(&path).unwrap();
        for (from, to, why) in [
            (
                "\"type\"",
                "\"command\": \"mine\", \"type\"",
                "\"command\" stands in it twice, on line 3 again",
            ),
            (
                "\"hooks\": [{",
                "\"hooks\": [{\"command\": \"mine\"}], \"hooks\": [{",
                "\"hooks\" stands in it twice",
            ),
            ("\"type\"", "/* mine */ \"type\"", "a comment stands in an entry of becket's, on line 3"),
        ] {
            let changed = whole.replacen(from, to, 1);
            assert_ne!(changed, whole);
            place.write(&path, &changed);
            let said = place.becket(&["uninstall", agent]);
            assert_eq!(said.exit, 1);
            assert!(said.stderr.contains("was left alone: ") && said.stderr.contains(why), "{}", said.stderr);
            assert_eq!(place.read(&path).unwrap(), changed);
        }
        place.write(&path, &whole);
        assert_eq!(place.becket(&["uninstall", agent]).exit, 0);
        assert!(place.read(&path).is_none());
    }
}
