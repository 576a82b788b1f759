//! What the doctor starts: itself and agents, nothing that a file or the place where it stands could name, and nothing that
//! stays.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::{AGENTS, Place, Said, finish};

/// A project's file with one line at a tool call.
fn project_file(place: &Place, agent: &str, line: &str) -> PathBuf {
    let (path, event) = match agent {
        "claude" => ("shop/.claude/settings.json", "PreToolUse"),
        "codex" => ("shop/.codex/hooks.json", "PreToolUse"),
        _ => ("shop/.gemini/settings.json", "BeforeTool"),
    };
    let file = json!({"hooks": {event: [{"hooks": [{"type": "command", "command": line}]}]}});
    place.write(path, file.to_string())
}

fn script(place: &Place, path: &str, text: &str) -> PathBuf {
    // Written by another process: one that this one starts meanwhile would hold it open, and it could not be run.
    let path = place.home().parent().unwrap().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut command = place.command("sh");
    command.args(["-c", "cat >\"$0\" && chmod 755 \"$0\""]).arg(&path);
    assert_eq!(finish(command.spawn().unwrap(), &format!("#!/bin/sh\n{text}\n")).exit, 0);
    path
}

fn doctor(place: &Place, arguments: &[&str], change: impl Fn(&mut Command)) -> Said {
    let mut command = place.command(env!("CARGO_BIN_EXE_becket"));
    command.arg("doctor").args(arguments);
    change(&mut command);
    finish(command.spawn().unwrap(), "")
}

fn exists(place: &Place, name: &str) -> bool {
    place.home().parent().unwrap().join(name).exists()
}

#[test]
fn no_word_of_a_file_is_run() {
    let place = Place::new();
    let started = place.home().parent().unwrap().join("started");
    let started = started.to_str().unwrap();
    script(&place, "shop/hook", &format!("touch {started}"));
    std::os::unix::fs::symlink("/proc/self/exe", place.shop().join("exe")).unwrap();
    let link = place.shop().join("exe");
    for agent in ["claude", "codex", "gemini"] {
        for program in ["/proc/self/exe", link.to_str().unwrap(), "/proc/thread-self/exe"] {
            let line = format!("{program} hook {agent} --home / --deadline 2 --event PreToolUse");
            let file = project_file(&place, agent, &line);
            for arguments in [&[][..], &[agent, "--project"]] {
                let said = doctor(&place, arguments, |_| ());
                assert_eq!(said.exit, 1);
                assert!(said.stdout.contains("another program than this one"), "{}", said.stdout);
                assert!(said.stdout.contains("not tried: "), "{}", said.stdout);
                assert!(!exists(&place, "started"), "{agent} {program}");
            }
            fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn a_link_of_a_project_that_leads_to_this_program_is_still_another_name() {
    let place = Place::new();
    let link = place.shop().join("becket");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_becket"), &link).unwrap();
    let home = place.home();
    let line =
        format!("{} hook claude --home {} --deadline 630 --event PreToolUse", link.display(), home.display());
    project_file(&place, "claude", &line);
    let said = doctor(&place, &["claude"], |_| ());
    assert!(said.exit == 1 && said.stdout.contains("another program than this one"), "{}", said.stdout);
}

#[test]
fn no_home_of_a_file_is_used() {
    let hooks = |place: &Place| {
        let marker = place.home().parent().unwrap().join("started");
        let hooks = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command",
            "command": format!("touch {}", marker.display())}]}]}});
        place.write("shop/evil/.albedo/hooks.json", hooks.to_string());
    };
    let becket = env!("CARGO_BIN_EXE_becket");
    for (options, why) in [
        ("--home SHOP/evil", "with the hooks of the home"),
        ("--home /proc/self/cwd/evil", "with the hooks of the home"),
        ("--home HOME --set BECKET_HOME=SHOP/made/here", "it moves other homes"),
        ("--home HOME --set ALBEDO_HOME=SHOP/evil/.albedo", "it moves other homes"),
        ("--home HOME --set BAD", "a line says more than `install` writes"),
        ("--home SHOP/evil --home HOME", "a line says more than `install` writes"),
    ] {
        let place = Place::new();
        hooks(&place);
        let (shop, home) = (place.shop(), place.home());
        let options = options.replace("SHOP", shop.to_str().unwrap()).replace("HOME=", "HOME\0");
        let options = options.replace("HOME", home.to_str().unwrap());
        let options = options.replace(&format!("{}\0", home.to_str().unwrap()), "HOME=");
        let line = format!("{becket} hook codex {options} --deadline 630 --event PreToolUse");
        project_file(&place, "codex", &line);
        let said = doctor(&place, &["codex"], |_| ());
        assert!(said.exit == 1 && said.stdout.contains(why), "{options}: {}", said.stdout);
        assert!(said.stdout.contains("not tried: "), "{options}: {}", said.stdout);
        assert!(!exists(&place, "started") && !exists(&place, "shop/made"), "{options}");
        let made: Vec<_> = fs::read_dir(place.shop().join("evil")).unwrap().collect();
        assert_eq!(made.len(), 1, "{options}: {made:?}");
    }
}

#[test]
fn entries_of_the_path_that_are_no_absolute_ones_are_not_looked_into() {
    let place = Place::new();
    let started = place.home().parent().unwrap().join("started");
    for name in ["codex", "gemini", "opencode", "claude", "sh", "becket"] {
        script(&place, &format!("shop/{name}"), &format!("touch {}\necho 1.2.3", started.display()));
    }
    place.install(&AGENTS);
    for path in [".:/usr/bin:/bin", ":/usr/bin:/bin", "/usr/bin:/bin:", ".", "", "../shop:/usr/bin:/bin"] {
        doctor(&place, &[], |command| {
            command.env("PATH", path);
        });
        assert!(!exists(&place, "started"), "PATH={path}");
    }
}

/// Whether a process with these words still runs.
fn runs(words: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(words))
}

/// An agent whose processes leave their group, hold its pipes, and start themselves again when they are ended.
fn clinging(place: &Place, then: &str) -> (PathBuf, String) {
    let token = format!("token-{}", place.home().parent().unwrap().file_name().unwrap().to_str().unwrap());
    let again = script(
        place,
        "bin/again",
        "trap 'setsid -f \"$0\" \"$1\"; exit' TERM\nsetsid -f sleep 1000 \"$1\" 2>/dev/null\nwhile :; do sleep 1; done",
    );
    let text =
        format!("setsid -f {} {token}\nsetsid -f sh -c 'sleep 100; : {token}'\n{then}", again.display());
    for name in AGENTS {
        script(place, &format!("bin/{name}"), &text);
    }
    (place.home().parent().unwrap().join("bin"), token)
}

#[test]
fn nothing_that_an_agent_started_stays_and_its_pipes_are_not_waited_for() {
    let place = Place::new();
    place.install(&AGENTS);
    let (bin, token) = clinging(&place, "echo 9.8.7");
    let began = Instant::now();
    let said = doctor(&place, &["--json"], |command| {
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    });
    let found: Value = said.json();
    for host in found["hosts"].as_array().unwrap() {
        let version = host["checks"][0]["text"].as_str().unwrap();
        assert!(version.starts_with("9.8.7"), "{host}");
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert!(!runs(&token));
}

#[test]
fn an_agent_that_hangs_is_ended_in_time_with_all_of_it() {
    let place = Place::new();
    place.install(&["gemini"]);
    let (bin, token) = clinging(&place, "trap '' TERM\nwhile :; do sleep 1; done");
    let began = Instant::now();
    let said = doctor(&place, &["gemini"], |command| {
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    });
    assert!(said.stdout.contains("it did not end in time"), "{}", said.stdout);
    assert!(began.elapsed() < Duration::from_secs(200), "{:?}", began.elapsed());
    assert!(!runs(&token));
}

#[test]
fn a_pipe_in_the_place_of_settings_leaves_no_process() {
    let place = Place::new();
    place.install(&["gemini"]);
    let settings = place.home().join(".gemini/settings.json");
    fs::remove_file(&settings).unwrap();
    assert!(Command::new("mkfifo").arg(&settings).status().unwrap().success());
    let token = format!("{}/.gemini/settings.json", place.home().display());
    script(&place, "bin/gemini", &format!("exec cat {token}"));
    let bin = place.home().parent().unwrap().join("bin");
    let said = doctor(&place, &["gemini"], |command| {
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    });
    assert!(said.exit == 1 && said.stdout.contains("not a regular file"), "{}", said.stdout);
    assert!(!runs(&token));
}

#[test]
fn hooks_that_deny_a_harmless_call_too_are_told() {
    let place = Place::new();
    place.install(&AGENTS);
    // What denies everything guards, and is told.
    place.hooks(&[("PreToolUse", "echo Nothing today. >&2; exit 2")]);
    let said = doctor(&place, &["claude", "gemini", "opencode", "--json"], |_| ());
    let all = said.json()["hosts"].as_array().unwrap().len();
    assert_eq!((said.exit, all), (0, 3), "{}", said.stdout);
    let told = denial(&said);
    let is_told = |check: &&(String, String)| check.0 == "note" && check.1.contains("Nothing today.");
    assert!(told.iter().filter(is_told).count() == 3, "{told:?}");
}

fn denial(said: &Said) -> Vec<(String, String)> {
    let found = said.json();
    let checks =
        found["hosts"].as_array().unwrap().iter().flat_map(|host| host["checks"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    checks
        .filter(|check| check["check"] == "denial")
        .map(|check| (text(&check["finding"]), text(&check["text"])))
        .collect()
}

#[test]
fn a_path_that_the_agent_would_change_is_refused() {
    let place = Place::new();
    let home = place.home().join("we ird$HOME'q");
    fs::create_dir_all(&home).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = place.command(env!("CARGO_BIN_EXE_becket"));
        finish(command.args(arguments).env("HOME", &home).spawn().unwrap(), "")
    };
    let said = run(&["install", "gemini"]);
    assert!(said.exit == 1 && said.stderr.contains("`$HOME`"), "{}", said.stderr);
    assert!(!home.join(".gemini").exists());
    // The others run the line as it stands.
    assert_eq!(run(&["install", "claude", "codex", "opencode"]).exit, 0);
    assert_eq!(run(&["doctor", "claude", "opencode"]).exit, 0);
}
