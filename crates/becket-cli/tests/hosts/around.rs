//! What the doctor tells of what stands around an agent's file: variables, and files of them.

use std::fs;
use std::os::unix::fs::symlink;

use crate::doctor::{found, is_told};
use crate::place::{Place, Said, finish};

#[test]
fn the_file_of_variables_that_gemini_takes_is_told_wherever_it_stands() {
    let place = Place::new();
    place.install(&["gemini"]);
    let home = place.home();
    let trust = format!("{{{:?}: \"TRUST_FOLDER\"}}", place.shop());
    place.write("home/.gemini/trustedFolders.json", trust);
    assert_eq!(place.becket(&["doctor"]).exit, 0);
    // Past the repository's root, and at last at home.
    for path in ["shop/.gemini/.env", "shop/.env", ".gemini/.env", ".env", "home/.gemini/.env", "home/.env"] {
        let path = place.write(path, "# x\nGEMINI_CLI_TRUST_WORKSPACE=false\n");
        is_told(&place, "gemini", "switch", &format!("{}:2: the variable GEMINI_CLI_TRUST", path.display()));
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(place.becket(&["doctor"]).exit, 0);
    // It takes the first alone, whatever that is.
    place.write("home/.env", "GEMINI_RESTRICTED_MODE=true\n");
    place.write("shop/.env", "A=1\n");
    assert_eq!(place.becket(&["doctor"]).exit, 0);
    fs::remove_file(place.shop().join(".env")).unwrap();
    fs::create_dir(place.shop().join(".env")).unwrap();
    assert_eq!(place.becket(&["doctor"]).exit, 0);
    fs::remove_dir(place.shop().join(".env")).unwrap();
    is_told(&place, "gemini", "switch", "home/.env:1: the variable GEMINI_RESTRICTED_MODE is \"true\"");
    fs::remove_file(home.join(".env")).unwrap();
    // One that cannot be read may say anything.
    place.write("shop/.env", vec![b'#'; 5 << 20]);
    is_told(&place, "gemini", "switch", "nobody can tell whether it runs hooks");
}

#[test]
fn at_home_there_is_no_file_of_a_projects() {
    for linked in [false, true] {
        let place = Place::new();
        let home = place.home();
        let link = home.parent().unwrap().join("linked");
        symlink(&home, &link).unwrap();
        let named = if linked { &link } else { &home };
        let run = |arguments: &[&str]| {
            let mut command = place.command(env!("CARGO_BIN_EXE_becket"));
            command.args(arguments).env("HOME", named).current_dir(&home);
            finish(command.spawn().unwrap(), "")
        };
        for agent in ["claude", "codex", "gemini"] {
            let said = run(&["install", "--project", agent]);
            assert_eq!(said.exit, 1, "{}", said.stdout);
            assert!(said.stderr.contains("there is no file of a project's"), "{}", said.stderr);
            let said = run(&["install", agent]);
            assert_eq!((said.exit, said.stderr.as_str()), (0, ""), "{agent}");
            let entries = found(&run(&["doctor", agent, "--json"]).json(), agent, "entry");
            assert!(entries.len() == 1 && entries[0].0 == "ok", "{agent} {entries:?}");
            let entries = found(&run(&["doctor", "--project", agent, "--json"]).json(), agent, "entry");
            assert!(entries[1].0 == "bad" && entries[1].1.contains("Leave --project out"), "{entries:?}");
            // What was plugged in stays.
            let said = run(&["uninstall", "--project", agent]);
            assert!(said.exit == 1 && said.stderr.contains("Leave --project out"), "{}", said.stderr);
            assert!(found(&run(&["doctor", agent, "--json"]).json(), agent, "entry")[0].0 == "ok");
        }
        // What its own settings say is said once.
        let settings = place.home().join(".claude/settings.json");
        let text = fs::read_to_string(&settings).unwrap();
        fs::write(&settings, text.replacen('{', "{\"disableAllHooks\": true,", 1)).unwrap();
        let switches = found(&run(&["doctor", "claude", "--json"]).json(), "claude", "switch");
        assert!(switches.len() == 1, "{switches:?}");
    }
}

#[test]
fn what_only_looks_like_a_file_is_read_by_nobody() {
    let place = Place::new();
    place.hooks(&[("PreToolUse", "exit 0")]);
    place.install(&["claude", "codex", "gemini"]);
    for name in [".claude/settings.json", ".codex/config.toml", ".gemini/settings.json", ".env"] {
        let path = place.shop().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink("/proc/version", path).unwrap();
    }
    for agent in ["claude", "codex", "gemini"] {
        is_told(&place, agent, "switch", "something that the kernel tells");
    }
    // A definition is refused as any other that cannot be read, and no event waits for it.
    for name in [".albedo/hooks.json", ".celeste/hooks.json"] {
        let path = place.shop().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink("/proc/kmsg", path).unwrap();
    }
    assert_eq!(place.shell("claude", "true", "1").exit, 0);
    fs::create_dir_all(place.home().join(".celeste")).unwrap();
    symlink("/proc/version", place.home().join(".celeste/hooks.json")).unwrap();
    let said = place.becket(&["list", "--json"]);
    assert!(said.stdout.contains("something that the kernel tells"), "{} {}", said.stdout, said.stderr);
}

#[test]
fn directories_that_were_made_go_even_if_some_are_gone_already() {
    let place = Place::new();
    place.install(&["opencode"]);
    fs::remove_dir_all(place.home().join(".config/opencode/plugin")).unwrap();
    assert_eq!(place.becket(&["uninstall", "opencode"]).exit, 0);
    assert!(!place.home().join(".config/opencode").exists());
}

#[test]
fn what_stands_between_claude_and_a_line_is_told_wherever_it_is_said() {
    let place = Place::new();
    place.install(&["claude"]);
    let prefix = "CLAUDE_CODE_SHELL_PREFIX";
    let said = with(&place, prefix, "/bin/true", &["doctor", "claude"]);
    assert!(
        said.exit == 1 && said.stdout.contains("the variable CLAUDE_CODE_SHELL_PREFIX is"),
        "{}",
        said.stdout
    );
    let settings = format!("{{\"env\": {{{prefix:?}: \"/bin/true\"}}}}");
    for path in [
        "shop/.claude/settings.json",
        "shop/.claude/settings.local.json",
        "home/.claude/remote-settings.json",
    ] {
        let path = place.write(path, &settings);
        is_told(&place, "claude", "switch", &format!("{}:1: `env.{prefix}`", path.display()));
        fs::remove_file(path).unwrap();
    }
    assert_eq!(place.becket(&["doctor", "claude"]).exit, 0);
    place.write("home/.claude/remote-settings.json", "{\n\"allowManagedHooksOnly\": true}");
    is_told(&place, "claude", "switch", "/remote-settings.json:2: `allowManagedHooksOnly` is true");
}

/// Each agent's variable that names its home, and what of a home it stands for.
const HOMES: [(&str, &str, &str); 4] = [
    ("claude", "CLAUDE_CONFIG_DIR", ".claude"),
    ("codex", "CODEX_HOME", ".codex"),
    ("gemini", "GEMINI_CLI_HOME", ""),
    ("opencode", "XDG_CONFIG_HOME", ".config"),
];

fn with(place: &Place, name: &str, value: &str, arguments: &[&str]) -> Said {
    let mut command = place.command(env!("CARGO_BIN_EXE_becket"));
    finish(command.args(arguments).env(name, value).spawn().unwrap(), "")
}

#[test]
fn an_agent_that_looks_elsewhere_now_is_missed() {
    for (agent, name, _) in HOMES {
        let place = Place::new();
        let other = place.home().join("other");
        let other = other.to_str().unwrap();
        let is_missed = |said: &Said, at: &str| {
            let entries = found(&said.json(), agent, "entry");
            let wanted = format!("plugged in at {at}");
            assert!(said.exit == 1 && entries.len() == 1, "{agent}: {entries:?}");
            assert!(entries[0].0 == "bad" && entries[0].1.starts_with(&wanted), "{agent}: {entries:?}");
        };
        let home = place.home();
        place.install(&[agent, "claude", "gemini"]);
        is_missed(&with(&place, name, other, &["doctor", "--json"]), home.to_str().unwrap());
        let said = with(&place, name, other, &["uninstall", agent]);
        assert!(said.exit == 0 && said.stdout.contains("was not plugged in"), "{}", said.stdout);
        assert!(said.stderr.contains(&format!("without {name} ends it there")), "{}", said.stderr);
        // Both are two homes, each guarded.
        assert_eq!(with(&place, name, other, &["install", agent]).exit, 0);
        let said = with(&place, name, other, &["doctor", agent, "--json"]).json();
        assert!(found(&said, agent, "entry").iter().all(|entry| entry.0 == "ok"), "{said}");
        // And back.
        assert_eq!(place.becket(&["uninstall", agent]).exit, 0);
        is_missed(&place.becket(&["doctor", agent, "--json"]), other);
        let said = place.becket(&["uninstall", agent]).stderr;
        assert!(said.contains(&format!("with {name} set to \"{other}\" ends it there")), "{said}");
        assert_eq!(with(&place, name, other, &["uninstall", agent]).stderr, "");
        let said = place.becket(&["doctor", agent, "--json"]);
        assert!(found(&said.json(), agent, "entry")[0].1.starts_with("not plugged in"), "{}", said.stdout);
    }
}

#[test]
fn another_projects_file_is_not_missed() {
    let place = Place::new();
    for (agent, _, _) in HOMES {
        assert_eq!(place.becket(&["install", "--project", agent]).exit, 0);
        fs::create_dir_all(place.home().join("b/.git")).unwrap();
        let other = place.home().join("b");
        let told = || {
            let said = place.becket(&["doctor", agent, "--json", "--workspace", other.to_str().unwrap()]);
            found(&said.json(), agent, "entry")
        };
        assert!(told().iter().all(|entry| entry.1.starts_with("not plugged in")), "{:?}", told());
        // A record of before it said whose file it is.
        let record = place.read("home/.local/state/becket/installed.json").unwrap();
        let older = record.replace("\"for_project\": true,", "");
        assert_ne!(older, record);
        place.write("home/.local/state/becket/installed.json", older);
        assert!(told().iter().all(|entry| entry.1.starts_with("not plugged in")), "{:?}", told());
    }
}

#[test]
fn a_home_that_is_no_absolute_path_is_not_passed_over() {
    for (agent, name, below) in HOMES {
        let place = Place::new();
        for verb in ["install", "uninstall"] {
            let said = with(&place, name, "rel", &[verb, agent]);
            assert!(said.exit == 1 && said.stderr.contains("is no absolute path"), "{}", said.stderr);
        }
        assert!(!place.home().join(below).exists() || below.is_empty());
        place.install(&[agent]);
        let entries = found(&with(&place, name, "rel", &["doctor", "--json"]).json(), agent, "entry");
        let wanted = format!("the variable {name} is \"rel\" here");
        assert!(entries[0].0 == "bad" && entries[0].1.starts_with(&wanted), "{entries:?}");
        // Set to nothing it is not set.
        let entries = found(&with(&place, name, "", &["doctor", "--json"]).json(), agent, "entry");
        assert!(entries.len() == 1 && entries[0].0 == "ok", "{entries:?}");
    }
    // Others' homes are nothing to an agent; where else it looks is.
    let place = Place::new();
    place.install(&["claude", "gemini"]);
    assert_eq!(with(&place, "XDG_CONFIG_HOME", "rel", &["doctor", "claude"]).exit, 0);
    assert_eq!(with(&place, "GEMINI_CLI_TRUSTED_FOLDERS_PATH", "rel", &["doctor", "gemini"]).exit, 1);
}
