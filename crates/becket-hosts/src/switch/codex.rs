//! Codex's switches, its trust in directories, and what it remembers of entries.

use becket_core::hash;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use toml::de::{DeTable, DeValue};

use super::{Layer, Reach, Read, Roots, Said, directory, folder, last, layer, managed};
use crate::Host;
use crate::install::line_of;
use crate::install::our_entries;

const ONLY_MANAGED: &str = "allow_managed_hooks_only";

pub(super) fn layers(roots: Roots<'_>) -> Vec<Layer> {
    let own = directory(roots, "CODEX_HOME").unwrap_or_else(|| roots.home.join(".codex"));
    let mut layers = vec![
        layer("/etc/codex/config.toml", Reach::Everywhere),
        layer(own.join("config.toml"), Reach::Everywhere),
        folder(own.clone(), Reach::Profile, ".config.toml"),
    ];
    let levels = roots.levels.iter().filter(|level| level.join(".codex") != own);
    layers.extend(levels.map(|level| layer(level.join(".codex/config.toml"), Reach::Project)));
    layers.push(layer("/etc/codex/managed_config.toml", Reach::Everywhere));
    layers.push(layer("/etc/codex/requirements.toml", Reach::Managed));
    layers
}

pub(super) fn read<'a>(layer: &'a Layer, text: &str) -> Result<Vec<Said<'a>>, String> {
    let table = DeTable::parse(text).map_err(|error| format!("it is not TOML: {}", error.message()))?;
    let keys = [
        ("features.hooks", &["features", "hooks"][..]),
        ("features.codex_hooks", &["features", "codex_hooks"]),
        (ONLY_MANAGED, &[ONLY_MANAGED]),
    ];
    let found = keys.into_iter().filter_map(|(key, path)| {
        let (value, at) = in_table(table.get_ref(), path)?;
        let DeValue::Boolean(value) = value else { return None };
        Some(Said { layer, key, value: (*value).into(), line: line_of(text, at) })
    });
    Ok(found.collect())
}

pub(super) fn decide<'s, 'a>(said: &[&'s Said<'a>]) -> Option<&'s Said<'a>> {
    // The name of today counts before the older one, in whichever file it stands.
    let pinned = managed(said, "features.hooks").or_else(|| managed(said, "features.codex_hooks"));
    let switch =
        pinned.or_else(|| last(said, "features.hooks")).or_else(|| last(said, "features.codex_hooks"));
    managed(said, ONLY_MANAGED)
        .filter(|said| said.value == Value::Bool(true))
        .or_else(|| switch.filter(|said| said.value == Value::Bool(false)))
}

pub(super) fn told(said: &Said<'_>, value: &str) -> Option<String> {
    (said.key == ONLY_MANAGED)
        .then(|| format!("`{}` is {value}, so Codex runs only the hooks of your organisation", said.key))
}

fn in_table<'a, 'b>(table: &'b DeTable<'a>, path: &[&str]) -> Option<(&'b DeValue<'a>, usize)> {
    let (key, rest) = path.split_first()?;
    let (at, value) = table.iter().find(|(name, _)| name.get_ref().as_ref() == *key)?;
    match (value.get_ref(), rest) {
        (value, []) => Some((value, at.span().start)),
        (DeValue::Table(table), rest) => in_table(table, rest),
        _ => None,
    }
}

/// The levels from which Codex takes settings: those it was told to trust, and all if that is the uppermost.
pub(super) fn trusted<'a>(files: &[Read], levels: &'a [Utf8PathBuf]) -> Vec<&'a Utf8Path> {
    let is_trusted = |level: &Utf8Path| files.iter().any(|file| trusts(&file.bytes, level));
    let is_root = levels.first().is_some_and(|root| is_trusted(root));
    levels.iter().map(Utf8PathBuf::as_path).filter(|level| is_root || is_trusted(level)).collect()
}

fn trusts(bytes: &[u8], level: &Utf8Path) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(table) = DeTable::parse(text) else { return false };
    let level = in_table(table.get_ref(), &["projects", level.as_str(), "trust_level"]);
    matches!(level, Some((DeValue::String(level), _)) if level == "trusted")
}

/// What Codex's own settings remember of the entries in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered {
    /// So many are trusted as they stand there now, by their hash.
    pub trusted: usize,
    /// So many were trusted, and say something else now; or nobody can tell.
    pub changed: usize,
    /// Those that a person switched off on its page for hooks: each where in the file it stands, as Codex writes it, and
    /// the line in the settings.
    pub disabled: Vec<(String, usize)>,
}

/// What Codex's `config.toml` remembers of the entries in a file, which it may know by one of several paths.
pub fn remembered(config: &[u8], paths: &[&Utf8Path], entries: &[u8]) -> Remembered {
    let mut found = Remembered::default();
    let Ok(text) = std::str::from_utf8(config) else { return found };
    let Ok(table) = DeTable::parse(text) else { return found };
    let Some((DeValue::Table(states), _)) = in_table(table.get_ref(), &["hooks", "state"]) else {
        return found;
    };
    let hashes = hashes(entries);
    for (key, state) in states {
        let of_file = |path: &&Utf8Path| key.get_ref().strip_prefix(path.as_str())?.strip_prefix(':');
        let (Some(entry), DeValue::Table(state)) = (paths.iter().find_map(of_file), state.get_ref()) else {
            continue;
        };
        let Some((_, hash)) = hashes.iter().find(|known| known.0 == entry) else { continue };
        match in_table(state, &["trusted_hash"]) {
            Some((DeValue::String(known), _)) if known.as_ref() == hash => found.trusted += 1,
            Some(_) => found.changed += 1,
            None => {}
        }
        if let Some((DeValue::Boolean(false), at)) = in_table(state, &["enabled"]) {
            found.disabled.push((entry.to_owned(), line_of(text, at)));
        }
    }
    found
}

/// The hash by which Codex trusts each entry of ours, by where it stands. It is of what the entry says, in an order of
/// its own; of an entry with more in it than `install` writes it is another.
fn hashes(entries: &[u8]) -> Vec<(String, String)> {
    let label = |event: &str| {
        let mut label = String::new();
        for character in event.chars() {
            if character.is_ascii_uppercase() && !label.is_empty() {
                label.push('_');
            }
            label.push(character.to_ascii_lowercase());
        }
        label
    };
    let of = |entry: crate::install::OurEntry| {
        let label = label(&entry.event);
        let command = entry.handler.get("command").cloned().unwrap_or_default();
        let handler =
            json!({ "async": false, "command": command, "timeout": entry.timeout, "type": "command" });
        let said = json!({ "event_name": label, "hooks": [handler] });
        let (group, at) = entry.place;
        (format!("{label}:{group}:{at}"), format!("sha256:{}", hash::of(said.to_string().as_bytes())))
    };
    our_entries(Host::Codex, entries).into_iter().map(of).collect()
}
