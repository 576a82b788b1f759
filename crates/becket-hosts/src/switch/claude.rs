//! Claude Code's switches.

use serde_json::Value;

use super::{Layer, Reach, Roots, Said, directory, folder, last, layer, managed};

const ONLY_MANAGED: &str = "allowManagedHooksOnly";
const STRICT: &str = "strictPluginOnlyCustomization";
const DISABLE_ALL: &str = "disableAllHooks";
const SIMPLE: &str = "env.CLAUDE_CODE_SIMPLE";
const SAFE_MODE: &str = "env.CLAUDE_CODE_SAFE_MODE";

/// Run with the line of every hook behind it. Whatever it does with that, it can do nothing.
pub(super) const PREFIX: &str = "CLAUDE_CODE_SHELL_PREFIX";

/// Variables of a session that stand between it and the lines of its hooks: the prefix, and what the shell takes for its own.
const BETWEEN: [&str; 4] = ["env.CLAUDE_CODE_SHELL_PREFIX", "env.BASH_ENV", "env.BASHOPTS", "env.SHELLOPTS"];

pub(super) const KEYS: &[(&str, &[&str])] = &[
    (DISABLE_ALL, &[DISABLE_ALL]),
    (ONLY_MANAGED, &[ONLY_MANAGED]),
    (STRICT, &[STRICT]),
    (SIMPLE, &["env", "CLAUDE_CODE_SIMPLE"]),
    (SAFE_MODE, &["env", "CLAUDE_CODE_SAFE_MODE"]),
    (BETWEEN[0], &["env", PREFIX]),
    (BETWEEN[1], &["env", "BASH_ENV"]),
    (BETWEEN[2], &["env", "BASHOPTS"]),
    (BETWEEN[3], &["env", "SHELLOPTS"]),
];

pub(super) fn layers(roots: Roots<'_>) -> Vec<Layer> {
    let own = directory(roots, "CLAUDE_CONFIG_DIR").unwrap_or_else(|| roots.home.join(".claude"));
    let mut layers = vec![layer(own.join("settings.json"), Reach::Everywhere)];
    // It is not driven here: a level that does not count is told too often rather than too seldom.
    for level in roots.levels.iter().filter(|level| level.join(".claude") != own) {
        layers.push(layer(level.join(".claude/settings.json"), Reach::Project));
        layers.push(layer(level.join(".claude/settings.local.json"), Reach::Project));
    }
    layers.push(layer("/etc/claude-code/managed-settings.json", Reach::Managed));
    layers.push(folder("/etc/claude-code/managed-settings.d", Reach::Managed, ".json"));
    // What the organisation's server said last, which stands above its files.
    layers.push(layer(own.join("remote-settings.json"), Reach::Managed));
    layers
}

pub(super) fn decide<'s, 'a>(said: &[&'s Said<'a>]) -> Option<&'s Said<'a>> {
    let only_others = |said: &&Said<'_>| match &said.value {
        Value::Array(what) => what.contains(&"hooks".into()),
        Value::Object(what) => what.get("hooks") == Some(&Value::Bool(true)),
        value => value == &Value::Bool(true),
    };
    managed(said, ONLY_MANAGED)
        .filter(only_others)
        .or_else(|| managed(said, STRICT).filter(only_others))
        .or_else(|| {
            last(said, DISABLE_ALL).filter(|said| !matches!(said.value, Value::Bool(false) | Value::Null))
        })
        // Settings can set variables for the session, too.
        .or_else(|| {
            [SIMPLE, SAFE_MODE].into_iter().find_map(|key| last(said, key).filter(|said| is_on(&said.value)))
        })
        // Which file's counts is not asked: one is enough for nobody to be able to tell.
        .or_else(|| {
            let is_set = |said: &&Said<'_>| !matches!(&said.value, Value::Null) && said.value != "";
            said.iter().rev().copied().filter(|said| BETWEEN.contains(&said.key)).find(is_set)
        })
}

fn is_on(value: &Value) -> bool {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    is_yes(&text)
}

/// Its words for yes.
pub(super) fn is_yes(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on" | "y")
}

pub(super) fn told(said: &Said<'_>, value: &str) -> Option<String> {
    match said.key {
        ONLY_MANAGED | STRICT => Some(format!(
            "`{}` is {value}, so Claude Code runs only the hooks of your organisation",
            said.key
        )),
        DISABLE_ALL if said.value != Value::Bool(true) => {
            Some(format!("`{}` is {value}, so nobody can tell whether Claude Code runs hooks", said.key))
        }
        SIMPLE | SAFE_MODE => Some(format!("`{}` is {value}, so Claude Code may run no hook", said.key)),
        key if BETWEEN.contains(&key) => Some(format!(
            "`{key}` is {value}, with which Claude Code runs the line of every hook, so nobody can tell whether it is run"
        )),
        _ => None,
    }
}
