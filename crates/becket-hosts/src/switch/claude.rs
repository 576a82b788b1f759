//! Claude Code's switches.

use serde_json::Value;

use super::{Layer, Reach, Roots, Said, directory, folder, last, layer, managed};

const ONLY_MANAGED: &str = "allowManagedHooksOnly";
const STRICT: &str = "strictPluginOnlyCustomization";
const DISABLE_ALL: &str = "disableAllHooks";
const SIMPLE: &str = "env.CLAUDE_CODE_SIMPLE";
const SAFE_MODE: &str = "env.CLAUDE_CODE_SAFE_MODE";

pub(super) const KEYS: &[(&str, &[&str])] = &[
    (DISABLE_ALL, &[DISABLE_ALL]),
    (ONLY_MANAGED, &[ONLY_MANAGED]),
    (STRICT, &[STRICT]),
    (SIMPLE, &["env", "CLAUDE_CODE_SIMPLE"]),
    (SAFE_MODE, &["env", "CLAUDE_CODE_SAFE_MODE"]),
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
        _ => None,
    }
}
