//! What switches an agent's hooks off in its own settings.

#![expect(clippy::unwrap_used, reason = "tests")]

use becket_hosts::Host;
use becket_hosts::install::{Line, plugged};
use becket_hosts::switch::{self, Applies, FolderTrust, Layer, Reach, Read, Roots};
use camino::{Utf8Path, Utf8PathBuf};

const USER: Reach = Reach::Everywhere;
const PROJECT: Reach = Reach::Project;
const MANAGED: Reach = Reach::Managed;

fn roots(variable: switch::Variables<'_>) -> Roots<'_> {
    Roots { home: Utf8Path::new("/home/dev"), project: Utf8Path::new("/home/dev/shop"), variable }
}

fn none(_: &str) -> Option<String> {
    None
}

fn files(said: &[(Reach, &str)]) -> Vec<Read> {
    let file = |(at, (reach, text)): (usize, &(Reach, &str))| Read {
        layer: Layer { path: format!("/{at}").into(), reach: *reach, suffix: None },
        bytes: text.as_bytes().to_vec(),
    };
    said.iter().enumerate().map(file).collect()
}

fn off(host: Host, said: &[(Reach, &str)]) -> Vec<(Applies, String)> {
    let line = Line { program: "/usr/bin/becket".into(), home: "/home/dev".into(), set: vec![] };
    let entries = plugged(host, None, &line).unwrap();
    let names = switch::hook_names(host, entries.as_bytes());
    let found = switch::off(host, &files(said), &names, roots(&none), false);
    found.into_iter().map(|off| (off.applies, off.text)).collect()
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
fn what_codex_remembers_of_entries() {
    let config = "[hooks.state.\"/h/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n\
                  [hooks.state.\"/h/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:2\"\nenabled = false\n\
                  [hooks.state.\"/h/hooks.json.other:stop:0:0\"]\nenabled = false\n";
    let found = switch::remembered(config.as_bytes(), Utf8Path::new("/h/hooks.json"));
    assert_eq!((found.trusted, found.disabled), (2, vec![("pre_tool_use:0:0".to_owned(), 5)]));
    assert_eq!(switch::remembered(b"[", Utf8Path::new("/h")), switch::Remembered::default());
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
