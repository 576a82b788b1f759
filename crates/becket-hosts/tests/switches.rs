//! What switches an agent's hooks off in its own settings.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::LazyLock;

use becket_hosts::Host;
use becket_hosts::install::{Line, plugged};
use becket_hosts::switch::{self, Applies, Environment, FolderTrust, Layer, Reach, Read, Roots};
use camino::{Utf8Path, Utf8PathBuf};

const USER: Reach = Reach::Everywhere;
const PROJECT: Reach = Reach::Project;
const MANAGED: Reach = Reach::Managed;

/// Where a project's files are, which is left out where they are told.
const OF_PROJECT: &str = "/home/dev/shop/.codex";

fn roots(variable: switch::Variables<'_>) -> Roots<'_> {
    static LEVELS: LazyLock<Vec<Utf8PathBuf>> = LazyLock::new(|| vec!["/home/dev/shop".into()]);
    Roots { home: Utf8Path::new("/home/dev"), levels: &LEVELS, variable }
}

fn none(_: &str) -> Option<String> {
    None
}

fn files(said: &[(Reach, &str)]) -> Vec<Read> {
    let file = |(at, (reach, text)): (usize, &(Reach, &str))| {
        let folder = if *reach == Reach::Project { OF_PROJECT } else { "" };
        Read {
            layer: Layer { path: format!("{folder}/{at}").into(), reach: *reach, suffix: None },
            bytes: text.as_bytes().to_vec(),
        }
    };
    said.iter().enumerate().map(file).collect()
}

fn off(host: Host, said: &[(Reach, &str)]) -> Vec<(Applies, String)> {
    let line = Line { program: "/usr/bin/becket".into(), home: "/home/dev".into(), set: vec![] };
    let entries = plugged(host, None, &line).unwrap();
    let names = switch::hook_names(host, entries.as_bytes());
    let found = switch::off(host, &files(said), &names, roots(&none), false);
    found.into_iter().map(|off| (off.applies, off.text.replacen(OF_PROJECT, "", 1))).collect()
}

/// Each as its place, line and key.
fn expect(host: Host, said: &[(Reach, &str)], wanted: &[(Applies, &str)]) {
    let found = off(host, said);
    let is_so = found.len() == wanted.len()
        && found
            .iter()
            .zip(wanted)
            .all(|(found, wanted)| found.0 == wanted.0 && found.1.starts_with(wanted.1));
    assert!(is_so, "{said:?}: {found:?}, not {wanted:?}");
}

#[test]
fn codex() {
    let off = "[features]\nhooks = false\n";
    let on = "[features]\nhooks = true\n";
    let older = "[features]\n\n# no\ncodex_hooks = false\n";
    let trusted = |more: &str| format!("{more}[projects.\"/home/dev/shop\"]\ntrust_level = \"trusted\"\n");
    let always = &[(Applies::Always, "/0:2: `features.hooks` is false, so Codex runs no hook")];
    expect(Host::Codex, &[(USER, "")], &[]);
    expect(Host::Codex, &[(USER, off)], always);
    expect(Host::Codex, &[(USER, "model = \"x\"\nfeatures.hooks = false")], always);
    expect(Host::Codex, &[(USER, "features = { hooks = false }")], &[(Applies::Always, "/0:1: ")]);
    expect(Host::Codex, &[(USER, older)], &[(Applies::Always, "/0:4: `features.codex_hooks` is false")]);
    // The name of today counts, wherever it stands.
    expect(Host::Codex, &[(USER, "[features]\nhooks = true\ncodex_hooks = false")], &[]);
    expect(Host::Codex, &[(USER, "[features]\nhooks = false\ncodex_hooks = true")], always);
    expect(Host::Codex, &[(USER, on), (USER, older)], &[]);
    // A later file counts before an earlier one, a project's only if it is trusted.
    expect(Host::Codex, &[(USER, off), (USER, on)], &[]);
    expect(Host::Codex, &[(USER, ""), (PROJECT, off)], &[]);
    expect(Host::Codex, &[(USER, &trusted("")), (PROJECT, off)], &[(Applies::Here, "/1:2: ")]);
    expect(Host::Codex, &[(USER, &trusted(off)), (PROJECT, on)], &[(Applies::Elsewhere, "/0:2: ")]);
    // A profile switches off what is on without it.
    expect(Host::Codex, &[(USER, ""), (Reach::Profile, off)], &[(Applies::Profile, "/1:2: ")]);
    expect(Host::Codex, &[(USER, off), (Reach::Profile, off)], &[always[0], (Applies::Profile, "/1:2: ")]);
    expect(Host::Codex, &[(USER, "[profiles.x.features]\nhooks = false")], &[]);
    // An organisation says the last word; what only it may say counts nowhere else.
    expect(Host::Codex, &[(USER, off), (MANAGED, on)], &[]);
    expect(Host::Codex, &[(USER, on), (MANAGED, off)], &[(Applies::Always, "/1:2: ")]);
    expect(Host::Codex, &[(USER, "allow_managed_hooks_only = true")], &[]);
    expect(
        Host::Codex,
        &[(MANAGED, "allow_managed_hooks_only = true")],
        &[(
            Applies::Always,
            "/0:1: `allow_managed_hooks_only` is true, so Codex runs only the hooks of your organisation",
        )],
    );
    expect(Host::Codex, &[(USER, "[features\nhooks = false")], &[(Applies::Unknown, "/0: it is not TOML")]);
}

#[test]
fn codex_takes_settings_from_every_level_it_trusts() {
    let levels: Vec<Utf8PathBuf> = vec!["/r".into(), "/r/sub".into(), "/r/sub/deep".into()];
    let roots = Roots { home: Utf8Path::new("/home/dev"), levels: &levels, variable: &none };
    let paths: Vec<_> = switch::layers(Host::Codex, roots).into_iter().map(|layer| layer.path).collect();
    for level in &levels {
        assert!(paths.contains(&level.join(".codex/config.toml")), "{paths:?}");
    }
    let read = |reach, path: &str, text: &str| Read {
        layer: Layer { path: path.into(), reach, suffix: None },
        bytes: text.as_bytes().to_vec(),
    };
    let off = "[features]\nhooks = false\n";
    for (trusted, level, is_off) in [
        ("/r", "/r/sub", true),
        ("/r", "/r/sub/deep", true),
        ("/r/sub", "/r/sub", true),
        ("/r/sub", "/r/sub/deep", false),
        ("/r/sub", "/r", false),
        ("/r/su", "/r/sub", false),
    ] {
        let trust = format!("[projects.{trusted:?}]\ntrust_level = \"trusted\"\n");
        let files = [
            read(USER, "/c/config.toml", &trust),
            read(PROJECT, &format!("{level}/.codex/config.toml"), off),
        ];
        let found = switch::off(Host::Codex, &files, &[], roots, false);
        assert_eq!(!found.is_empty(), is_off, "{trusted} {level}: {found:?}");
        assert!(
            found.iter().all(|off| off.text.contains(" where it is started in /r/sub/deep.")),
            "{found:?}"
        );
    }
}

#[test]
fn gemini_takes_settings_only_from_where_it_is_started() {
    let levels: Vec<Utf8PathBuf> = vec!["/r".into(), "/r/sub".into()];
    let roots = Roots { home: Utf8Path::new("/home/dev"), levels: &levels, variable: &none };
    let project: Vec<_> =
        switch::layers(Host::Gemini, roots).into_iter().filter(|layer| layer.reach == PROJECT).collect();
    assert_eq!(project.len(), 1);
    assert_eq!(project[0].path, "/r/sub/.gemini/settings.json");
    let folders = br#"{"/r": "TRUST_FOLDER", "/r/sub": "DO_NOT_TRUST"}"#;
    let real = |path: &Utf8Path| -> Utf8PathBuf { path.to_owned() };
    assert_eq!(switch::folder_trust(&[], Some(folders), roots, &real), FolderTrust::Refused);
}

#[test]
fn what_codex_remembers_of_entries() {
    // The hash is the one that Codex itself made of this entry.
    let command = "/usr/bin/becket hook codex --home /home/dev --deadline 630 --event PreToolUse";
    let entries = |command: &str| {
        serde_json::json!({"hooks": {"PreToolUse": [{"hooks": [
            {"type": "command", "command": command, "timeout": 660}]}]}})
        .to_string()
    };
    let config = "[hooks.state.\"/h/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n\
                  [hooks.state.\"/h/hooks.json:pre_tool_use:0:0\"]\n\
                  trusted_hash = \"sha256:0350a0fb1cdd33f9c03ff3f5ae956855b9aca14792564a81f4a93ecabc8bf7c3\"\n\
                  enabled = false\n\
                  [hooks.state.\"/h/hooks.json.other:pre_tool_use:0:0\"]\nenabled = false\n";
    let path = Utf8Path::new("/h/hooks.json");
    let remembered = |entries: String, paths: &[&Utf8Path]| {
        let found = switch::remembered(config.as_bytes(), paths, entries.as_bytes());
        (found.trusted, found.changed, found.disabled)
    };
    let disabled = vec![("pre_tool_use:0:0".to_owned(), 5)];
    assert_eq!(remembered(entries(command), &[path]), (1, 0, disabled.clone()));
    assert_eq!(remembered(entries(command), &[Utf8Path::new("/l/hooks.json"), path]).0, 1);
    let altered = entries(&command.replace("630", "631"));
    assert_eq!(remembered(altered, &[path]), (0, 1, disabled), "trusted once, and as something else");
    assert_eq!(remembered("{}".to_owned(), &[path]), (0, 0, vec![]));
    assert_eq!(switch::remembered(b"[", &[path], b""), switch::Remembered::default());
}

#[test]
fn gemini() {
    let off = "{\n  // no\n  \"hooksConfig\": {\n    \"enabled\": false\n  }\n}";
    let on = r#"{"hooksConfig": {"enabled": true}}"#;
    let always = &[(Applies::Always, "/0:4: `hooksConfig.enabled` is false, so Gemini CLI runs no hook")];
    expect(Host::Gemini, &[(USER, "{}"), (USER, "")], &[]);
    expect(Host::Gemini, &[(USER, off)], always);
    expect(Host::Gemini, &[(USER, r#"{"hooksConfig": {"enabled": 0}}"#)], &[(Applies::Always, "/0:1: ")]);
    expect(Host::Gemini, &[(USER, r#"{"hooksConfig": {"enabled": null}}"#)], &[]);
    expect(Host::Gemini, &[(USER, r#"{"hooks": {"enabled": false}}"#)], &[]);
    expect(Host::Gemini, &[(USER, off), (MANAGED, on)], &[]);
    expect(Host::Gemini, &[(USER, on), (PROJECT, off)], &[(Applies::Here, "/1:4: ")]);
    expect(Host::Gemini, &[(USER, off), (PROJECT, on)], &[(Applies::Elsewhere, "/0:4: ")]);
    // Lists are added up, and name a hook by its name.
    let named = r#"{"hooksConfig": {"disabled": ["x", "becket"]}}"#;
    expect(
        Host::Gemini,
        &[(USER, named), (USER, r#"{"hooksConfig": {"disabled": []}}"#)],
        &[(Applies::Always, "/0:1: `hooksConfig.disabled` names becket's entries")],
    );
    let command = r#"{"hooksConfig": {"disabled": ["/usr/bin/becket hook gemini --home /h"]}}"#;
    expect(Host::Gemini, &[(USER, command)], &[]);
    let entries =
        r#"{"hooks": {"Stop": [{"hooks": [{"command": "/usr/bin/becket hook gemini --home /h"}]}]}}"#;
    let names = switch::hook_names(Host::Gemini, entries.as_bytes());
    assert_eq!(switch::off(Host::Gemini, &files(&[(USER, command)]), &names, roots(&none), false).len(), 1);
    expect(Host::Gemini, &[(PROJECT, "{")], &[(Applies::Unknown, "/0: it is not JSON")]);
}

#[test]
fn gemini_in_a_container() {
    let here = |value: &str| format!("{{\"tools\": {{\"sandbox\": {value}}}}}");
    for value in
        ["true", "\"docker\"", "\"1\"", "{\"enabled\": true}", "{\"enabled\": 1, \"command\": \"lxc\"}"]
    {
        let found = off(Host::Gemini, &[(USER, &here(value)), (PROJECT, "{}")]);
        let wanted = format!("/0:1: `tools.sandbox` is {}", &value[..value.len() - 1]);
        assert!(found.len() == 1 && found[0].0 == Applies::Always, "{value}: {found:?}");
        assert!(value.starts_with('{') || found[0].1.starts_with(&wanted), "{value}: {found:?}");
        expect(Host::Gemini, &[(USER, &here(value)), (MANAGED, &here("false"))], &[]);
        expect(Host::Gemini, &[(USER, "{}"), (PROJECT, &here(value))], &[(Applies::Here, "/1:1: ")]);
    }
    for value in
        ["false", "null", "\"\"", "\"0\"", "\"false\"", "0", "1", "[1]", "{}", "{\"command\": \"docker\"}"]
    {
        expect(Host::Gemini, &[(USER, &here(value))], &[]);
    }
    // Objects are merged.
    let on = here("{\"enabled\": true}");
    expect(
        Host::Gemini,
        &[(USER, &on), (PROJECT, &here("{\"image\": \"x\"}"))],
        &[(Applies::Always, "/0:1: ")],
    );
    expect(
        Host::Gemini,
        &[(USER, &on), (PROJECT, &here("{\"enabled\": false}"))],
        &[(Applies::Elsewhere, "/0:1: ")],
    );
    // The variable stands above the settings; inside the container there is no other.
    let by = |settings: &str, variable: switch::Variables<'_>| {
        switch::off(Host::Gemini, &files(&[(USER, settings)]), &[], roots(variable), false).len()
    };
    let set = |wanted: &'static str, value: &'static str| {
        move |name: &str| (name == wanted).then(|| value.to_owned())
    };
    for (settings, variable, value, found) in [
        ("{}", "GEMINI_SANDBOX", "docker", 1),
        ("{}", "GEMINI_SANDBOX", " True ", 1),
        ("{}", "GEMINI_SANDBOX", "0", 0),
        (&on, "GEMINI_SANDBOX", "false", 0),
        (&on, "GEMINI_SANDBOX", " ", 1),
        (&on, "GEMINI_SANDBOX", "podman", 1),
        (&on, "SANDBOX", "gemini-0", 0),
    ] {
        assert_eq!(by(settings, &set(variable, value)), found, "{settings} {variable}={value}");
    }
}

#[test]
fn what_gemini_makes_of_odd_values() {
    let project = |text: &str| off(Host::Gemini, &[(USER, "{}"), (PROJECT, text)]);
    for (text, why) in [
        (r#"{"hooks": null}"#, "`hooks` is null, which is no object, so Gemini CLI loses the hooks"),
        (r#"{"hooks": []}"#, "`hooks` is [], "),
        (r#"{"hooks": "x"}"#, "`hooks` is \"x\", "),
        (r#"{"hooks": false}"#, "`hooks` is false, "),
        (r#"{"hooksConfig": null}"#, "`hooksConfig` is null, which Gemini CLI cannot read"),
        (
            r#"{"hooksConfig": {"enabled": "false"}}"#,
            "`hooksConfig.enabled` is \"false\", so Gemini CLI runs no hook",
        ),
        (r#"{"hooksConfig": {"enabled": "$NOPE"}}"#, "`hooksConfig` holds a variable"),
        (r#"{"hooksConfig": {"enabled": "${X:-}"}}"#, "`hooksConfig` holds a variable"),
        (r#"{"hooksConfig": {"disabled": ["${HK:-becket}"]}}"#, "`hooksConfig` holds a variable"),
        (r#"{"hooksConfig": {"enabled": []}}"#, "`hooksConfig.enabled` is [], so nobody can tell"),
        (
            r#"{"hooksConfig": {"disabled": "xbecketx"}}"#,
            "`hooksConfig.disabled` is \"xbecketx\", so nobody can tell",
        ),
    ] {
        let found = project(text);
        assert!(
            found.len() == 1 && found[0].0 == Applies::Here && found[0].1.contains(why),
            "{text}: {found:?}"
        );
        let system = off(Host::Gemini, &[(USER, "{}"), (MANAGED, text)]);
        assert!(system.len() == 1 && system[0].0 == Applies::Always, "{text}: {system:?}");
    }
    for text in [
        r#"{"hooks": {"BeforeTool": []}}"#,
        r#"{"hooks": {"BeforeTool": null}}"#,
        r#"{"hooksConfig": []}"#,
        r#"{"hooksConfig": "x"}"#,
        r#"{"hooksConfig": {"enabled": null, "disabled": null}}"#,
        r#"{"hooksConfig": {"disabled": ["other"]}}"#,
    ] {
        assert_eq!(project(text), vec![], "{text}");
    }
}

#[test]
fn gemini_takes_the_first_file_of_variables_on_its_way_up() {
    let start = Utf8Path::new("/r/sub");
    let lists = |said: &[(Reach, &str)]| -> Vec<String> {
        let lists = switch::environment_files(&files(said), start, roots(&none));
        lists.iter().map(|list| list.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(" ")).collect()
    };
    let all = "/r/sub/.gemini/.env /r/sub/.env /r/.gemini/.env /r/.env /.gemini/.env /.env \
               /home/dev/.gemini/.env /home/dev/.env";
    let no_local = "/r/sub/.gemini/.env /r/.gemini/.env /.gemini/.env /home/dev/.gemini/.env /home/dev/.env";
    let ignore = |value: &str| format!("{{\"advanced\": {{\"ignoreLocalEnv\": {value}}}}}");
    assert_eq!(lists(&[]), [all]);
    assert_eq!(lists(&[(USER, &ignore("true"))]), [no_local]);
    assert_eq!(lists(&[(USER, &ignore("true")), (PROJECT, &ignore("null"))]), [all]);
    assert_eq!(lists(&[(PROJECT, &ignore("true")), (MANAGED, &ignore("false"))]), [all]);
    assert_eq!(lists(&[(USER, &ignore("true")), (PROJECT, "{\"advanced\": 0}")]), [all]);
    // Nobody can tell what it takes for yes.
    assert_eq!(lists(&[(USER, &ignore("\"$X\""))]), [all, no_local]);
}

#[test]
fn variables_of_a_file_count_for_gemini_unless_they_are_set_or_excluded() {
    let told =
        |path: &str, text: &str, said: &[(Reach, &str)], variable: switch::Variables<'_>| -> Vec<String> {
            let environment = Environment { path: path.into(), bytes: Ok(text.as_bytes().to_vec()) };
            let found = switch::by_environment(&files(said), &environment, roots(variable));
            assert!(found.iter().all(|off| off.applies == Applies::Here));
            found.into_iter().map(|off| off.text).collect()
        };
    let local = "/home/dev/shop/.env";
    for (text, wanted) in [
        (
            "GEMINI_CLI_TRUST_WORKSPACE=false",
            "/home/dev/shop/.env:1: the variable GEMINI_CLI_TRUST_WORKSPACE is \"false\", ",
        ),
        ("A=1\n\nexport GEMINI_RESTRICTED_MODE='true' # no\n", "/home/dev/shop/.env:3: "),
        ("GEMINI_RESTRICTED_MODE: true", "takes every folder for untrusted"),
        ("GEMINI_SANDBOX=podman", "runs itself and its hooks in a container"),
        ("GEMINI_CLI_HOME=/elsewhere", "nobody can tell whether it runs hooks"),
        ("GEMINI_CLI_TRUSTED_FOLDERS_PATH=/elsewhere", "nobody can tell whether it runs hooks"),
        ("BASH_ENV=quiet.sh", "nobody can tell whether that still runs"),
        ("GEMINI_CLI_TRUST_WORKSPACE=true\nGEMINI_CLI_TRUST_WORKSPACE=false", "/home/dev/shop/.env:2: "),
    ] {
        let found = told(local, text, &[], &none);
        assert!(found.len() == 1 && found[0].contains(wanted), "{text}: {found:?}");
    }
    for text in [
        "GEMINI_CLI_TRUST_WORKSPACE=true",
        "GEMINI_CLI_TRUST_WORKSPACE=False",
        "# GEMINI_CLI_TRUST_WORKSPACE=false",
        "X='\nGEMINI_CLI_TRUST_WORKSPACE=false\n'",
        "GEMINI_CLI_TRUST_WORKSPACE=false\nGEMINI_CLI_TRUST_WORKSPACE=",
        "GEMINI_CLI_HOME=",
        "GEMINI_SANDBOX=FALSE",
        "GEMINI_API_KEY=x",
    ] {
        assert_eq!(told(local, text, &[], &none), Vec::<String>::new(), "{text}");
    }
    let off = "GEMINI_CLI_TRUST_WORKSPACE=false";
    // What is set wins, even if it is set to nothing.
    for value in ["", "true"] {
        let set = |name: &str| (name == "GEMINI_CLI_TRUST_WORKSPACE").then(|| value.to_owned());
        assert!(told(local, off, &[], &set).is_empty());
    }
    let excluded = r#"{"advanced": {"excludedEnvVars": ["GEMINI_CLI_TRUST_WORKSPACE"]}}"#;
    assert!(
        told(local, off, &[(USER, excluded), (PROJECT, r#"{"advanced": {"excludedEnvVars": []}}"#)], &none)
            .is_empty()
    );
    assert_eq!(told(local, off, &[(USER, excluded), (PROJECT, r#"{"advanced": null}"#)], &none).len(), 1);
    assert_eq!(told("/home/dev/shop/.gemini/.env", off, &[(USER, excluded)], &none).len(), 1);
    let torn = Environment { path: local.into(), bytes: Err(format!("{local}: it is too large")) };
    let found = switch::by_environment(&[], &torn, roots(&none));
    assert!(found[0].text.contains("nobody can tell"), "{found:?}");
}

#[test]
fn claude() {
    let off = r#"{"disableAllHooks": true}"#;
    let on = r#"{"disableAllHooks": false}"#;
    expect(
        Host::Claude,
        &[(USER, off)],
        &[(Applies::Always, "/0:1: `disableAllHooks` is true, so Claude Code runs no hook")],
    );
    expect(Host::Claude, &[(USER, "{}"), (PROJECT, off)], &[(Applies::Here, "/1:1: ")]);
    expect(Host::Claude, &[(PROJECT, off), (PROJECT, on)], &[]);
    expect(Host::Claude, &[(USER, off), (PROJECT, on)], &[(Applies::Elsewhere, "/0:1: ")]);
    expect(Host::Claude, &[(USER, off), (MANAGED, on)], &[]);
    expect(Host::Claude, &[(USER, r#"{"allowManagedHooksOnly": true}"#)], &[]);
    let odd = r#"{"disableAllHooks": "true"}"#;
    expect(
        Host::Claude,
        &[(PROJECT, odd)],
        &[(Applies::Here, "/0:1: `disableAllHooks` is \"true\", so nobody can")],
    );
    for variable in ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"] {
        let by_settings = |value: &str| format!("{{\"env\": {{{variable:?}: {value:?}}}}}");
        let wanted = format!("/0:1: `env.{variable}` is ");
        expect(Host::Claude, &[(PROJECT, &by_settings("1"))], &[(Applies::Here, &wanted)]);
        expect(Host::Claude, &[(PROJECT, &by_settings("0"))], &[]);
    }
    for variable in ["CLAUDE_CODE_SHELL_PREFIX", "BASH_ENV", "BASHOPTS", "SHELLOPTS"] {
        let by_settings = |value: &str| format!("{{\"env\": {{{variable:?}: {value}}}}}");
        let wanted = format!("/0:1: `env.{variable}` is ");
        for value in ["\"/bin/true\"", "\"0\"", "\" \"", "1"] {
            expect(Host::Claude, &[(PROJECT, &by_settings(value))], &[(Applies::Here, &wanted)]);
            expect(
                Host::Claude,
                &[(MANAGED, &by_settings(value)), (PROJECT, &by_settings("\"\""))],
                &[(Applies::Always, &wanted)],
            );
        }
        expect(Host::Claude, &[(PROJECT, &by_settings("\"\"")), (USER, &by_settings("null"))], &[]);
    }
    for managed in [
        r#"{"allowManagedHooksOnly": true}"#,
        r#"{"strictPluginOnlyCustomization": true}"#,
        r#"{"strictPluginOnlyCustomization": ["mcp", "hooks"]}"#,
    ] {
        let wanted = &[(Applies::Always, "/1:1: ")];
        expect(Host::Claude, &[(USER, on), (MANAGED, managed)], wanted);
    }
    expect(Host::Claude, &[(MANAGED, r#"{"strictPluginOnlyCustomization": ["mcp"]}"#)], &[]);
}

#[test]
fn what_claudes_server_said_stands_above_the_managed_files() {
    let own = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| "/c".to_owned());
    for (variable, path) in [
        (&none as switch::Variables<'_>, "/home/dev/.claude/remote-settings.json"),
        (&own, "/c/remote-settings.json"),
    ] {
        let layers = switch::layers(Host::Claude, roots(variable));
        let last = layers.last().unwrap();
        assert_eq!((last.path.as_str(), last.reach), (path, MANAGED));
    }
}

#[test]
fn what_a_projects_entries_meet_elsewhere_is_nothing_to_them() {
    let said = [(USER, r#"{"disableAllHooks": true}"#), (PROJECT, r#"{"disableAllHooks": false}"#)];
    assert!(switch::off(Host::Claude, &files(&said), &[], roots(&none), true).is_empty());
}

#[test]
fn variables() {
    for (host, name, value, for_project, is_off) in [
        (Host::Opencode, "OPENCODE_PURE", "1", false, true),
        (Host::Opencode, "OPENCODE_PURE", "true", false, true),
        (Host::Opencode, "OPENCODE_PURE", "0", false, false),
        (Host::Opencode, "OPENCODE_DISABLE_DEFAULT_PLUGINS", "1", false, false),
        (Host::Opencode, "OPENCODE_DISABLE_PROJECT_CONFIG", "1", false, false),
        (Host::Opencode, "OPENCODE_DISABLE_PROJECT_CONFIG", "1", true, true),
        (Host::Gemini, "GEMINI_RESTRICTED_MODE", "true", false, true),
        (Host::Gemini, "GEMINI_CLI_TRUST_WORKSPACE", "false", false, true),
        (Host::Gemini, "GEMINI_CLI_TRUST_WORKSPACE", "true", false, false),
        (Host::Claude, "CLAUDE_CODE_SIMPLE", "1", false, true),
        (Host::Claude, "CLAUDE_CODE_SHELL_PREFIX", "/bin/true", false, true),
        (Host::Claude, "CLAUDE_CODE_SHELL_PREFIX", "0", false, true),
        (Host::Claude, "CLAUDE_CODE_SHELL_PREFIX", "", false, false),
        (Host::Codex, "OPENCODE_PURE", "1", false, false),
    ] {
        let variable = |asked: &str| (asked == name).then(|| value.to_owned());
        let found = switch::off(host, &[], &[], roots(&variable), for_project);
        assert_eq!(!found.is_empty(), is_off, "{name}={value}: {found:?}");
    }
}

#[test]
fn the_files_of_each_agent_follow_its_variables() {
    let variable = |name: &str| match name {
        "CODEX_HOME" => Some("/c".to_owned()),
        "CLAUDE_CONFIG_DIR" => Some("/cl".to_owned()),
        "GEMINI_CLI_HOME" => Some("/g".to_owned()),
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH" => Some("/s/settings.json".to_owned()),
        _ => None,
    };
    let paths =
        |host| switch::layers(host, roots(&variable)).into_iter().map(|layer| layer.path).collect::<Vec<_>>();
    assert_eq!(
        paths(Host::Gemini),
        [
            "/s/system-defaults.json",
            "/g/.gemini/settings.json",
            "/home/dev/shop/.gemini/settings.json",
            "/s/settings.json"
        ]
    );
    assert!(paths(Host::Codex).contains(&"/c/config.toml".into()));
    assert!(paths(Host::Claude).contains(&"/cl/settings.json".into()));
    assert!(paths(Host::Opencode).is_empty());
}

#[test]
fn geminis_trusted_folders() {
    let real = |path: &Utf8Path| -> Utf8PathBuf { path.to_owned() };
    let trust = |said: &[(Reach, &str)], folders: Option<&str>| {
        switch::folder_trust(&files(said), folders.map(str::as_bytes), roots(&none), &real)
    };
    let not_asked = r#"{"security": {"folderTrust": {"enabled": false}}}"#;
    assert_eq!(trust(&[], None), FolderTrust::Undecided);
    assert_eq!(trust(&[(USER, not_asked)], None), FolderTrust::NotAsked);
    assert_eq!(trust(&[(PROJECT, not_asked)], None), FolderTrust::Undecided);
    assert_eq!(trust(&[], Some(r#"{"/home": "TRUST_FOLDER"}"#)), FolderTrust::Trusted);
    assert_eq!(trust(&[], Some(r#"{"/home/dev/other": "TRUST_PARENT"}"#)), FolderTrust::Trusted);
    assert_eq!(
        trust(&[], Some(r#"{"/home": "TRUST_FOLDER", "/home/dev/shop": "DO_NOT_TRUST"}"#)),
        FolderTrust::Refused
    );
    assert_eq!(trust(&[], Some(r#"{"/home/dev/sho": "DO_NOT_TRUST"}"#)), FolderTrust::Undecided);
}
