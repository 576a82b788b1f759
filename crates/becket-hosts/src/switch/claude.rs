//! Claude Code's switches.

use serde_json::Value;

use super::{Layer, Reach, Roots, Said, directory, folder, last, layer, managed};

const ONLY_MANAGED: &str = "allowManagedHooksOnly";
const STRICT: &str = "strictPluginOnlyCustomization";
const DISABLE_ALL: &str = "disableAllHooks";

pub(super) const KEYS: &[(&str, &[&str])] =
    &[(DISABLE_ALL, &[DISABLE_ALL]), (ONLY_MANAGED, &[ONLY_MANAGED]), (STRICT, &[STRICT])];

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
        .or_else(|| last(said, DISABLE_ALL).filter(|said| said.value == Value::Bool(true)))
}

pub(super) fn told(said: &Said<'_>, value: &str) -> Option<String> {
    matches!(said.key, ONLY_MANAGED | STRICT).then(|| {
        format!("`{}` is {value}, so Claude Code runs only the hooks of your organisation", said.key)
    })
}
