//! The catalog `command-v1`: what ShadowCode's own programs print of hooks, with the keys in its order.

use serde_json::{Value, json};

use super::definitions::{Definition, FOLDERS, Moment};
use super::load::Loaded;

/// The catalog's form.
const FORMAT: &str = "command-v1";

/// The catalog of what was loaded.
pub(super) fn of(loaded: &Loaded) -> Value {
    let registered = &loaded.live.snapshot.registrations;
    let hooks: Vec<Value> = loaded
        .shown
        .iter()
        .filter_map(|index| {
            let (path, source) = (&loaded.paths[*index], &loaded.sources[*index]);
            let hash = source.hash.as_deref().unwrap_or_default();
            let is_enabled = registered.get(path).is_some_and(|registered| registered == hash);
            Some(entry(loaded.definitions[*index].as_ref()?, path, hash, is_enabled))
        })
        .collect();
    let approved: Vec<Value> = registered
        .iter()
        .map(|(path, hash)| json!({"hash": hash, "path": path, "workspace": loaded.workspace}))
        .collect();
    json!({
        "approved": approved,
        "dirs": FOLDERS,
        "events": Moment::ALL.map(Moment::as_str),
        "format": FORMAT,
        "hooks": hooks,
        "issues": loaded.issues,
        "trusted": loaded.live.snapshot.trusted,
        "workspace": loaded.workspace,
    })
}

fn entry(definition: &Definition, path: &str, hash: &str, is_enabled: bool) -> Value {
    json!({
        "builtin": false,
        "command": definition.command,
        "description": definition.description,
        "enabled": is_enabled,
        "events": definition.events.iter().map(|moment| moment.as_str()).collect::<Vec<_>>(),
        "hash": hash,
        "name": definition.name,
        "path": path,
        "path_suffix": definition.path_suffix,
        "timeout_sec": definition.timeout,
    })
}
