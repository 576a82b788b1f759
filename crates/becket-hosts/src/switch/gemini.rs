//! Gemini CLI's switches, and its trust in folders.

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{Layer, Reach, Read, Roots, Said, Variables, directory, last, layer};
use crate::Host;
use crate::install::edit;

const CONFIG: &str = "hooksConfig";
const HOOKS: &str = "hooks";
const ENABLED: &str = "hooksConfig.enabled";
pub(super) const DISABLED: &str = "hooksConfig.disabled";
pub(super) const SANDBOX: &str = "tools.sandbox";
pub(super) const SANDBOX_VARIABLE: &str = "GEMINI_SANDBOX";

/// What it does in a sandbox, which on Linux is a container of docker, podman, runsc or lxc.
pub(super) const IN_CONTAINER: &str = "runs itself and its hooks in a container, where becket is missing unless somebody put it there: a hook that cannot be \
     started stops nothing";

pub(super) const KEYS: &[(&str, &[&str])] = &[
    (HOOKS, &[HOOKS]),
    (CONFIG, &[CONFIG]),
    (ENABLED, &[CONFIG, "enabled"]),
    (DISABLED, &[CONFIG, "disabled"]),
    (SANDBOX, &["tools", "sandbox"]),
];

/// What it takes for the home directory.
pub(super) fn home(roots: Roots<'_>) -> Utf8PathBuf {
    directory(roots, "GEMINI_CLI_HOME").unwrap_or_else(|| roots.home.to_owned())
}

pub(super) fn layers(roots: Roots<'_>) -> Vec<Layer> {
    let system = directory(roots, "GEMINI_CLI_SYSTEM_SETTINGS_PATH")
        .unwrap_or_else(|| "/etc/gemini-cli/settings.json".into());
    let defaults = directory(roots, "GEMINI_CLI_SYSTEM_DEFAULTS_PATH").unwrap_or_else(|| {
        system.parent().unwrap_or_else(|| Utf8Path::new("/")).join("system-defaults.json")
    });
    let home = home(roots);
    let mut layers = vec![
        layer(defaults, Reach::Everywhere),
        layer(home.join(".gemini/settings.json"), Reach::Everywhere),
    ];
    // Only where it is started; and the home directory has no settings of a project's.
    if roots.here() != home {
        layers.push(layer(roots.here().join(".gemini/settings.json"), Reach::Project));
    }
    layers.push(layer(system, Reach::Managed));
    layers
}

pub(super) fn decide<'s, 'a>(
    said: &[&'s Said<'a>],
    names: &[String],
    variable: Variables<'_>,
) -> Option<&'s Said<'a>> {
    let any = |key: &'static str, is_wrong: &dyn Fn(&Value) -> bool| {
        said.iter().rev().copied().find(|said| said.key == key && is_wrong(&said.value))
    };
    // It takes anything that is no object for the hooks of all files together.
    any(HOOKS, &|hooks| !hooks.is_object())
        .or_else(|| any(CONFIG, &|config| config.is_null() || has_variable(config)))
        .or_else(|| last(said, ENABLED).filter(|said| !matches!(said.value, Value::Bool(true) | Value::Null)))
        .or_else(|| {
            // Of lists all count.
            any(DISABLED, &|disabled| match disabled {
                Value::Null => false,
                Value::Array(list) => {
                    list.iter().filter_map(Value::as_str).any(|name| names.iter().any(|own| own == name))
                }
                _ => true,
            })
        })
        .or_else(|| {
            let is_set = |name: &str| variable(name).is_some_and(|value| !value.trim().is_empty());
            // The variable stands above the settings, and inside the container it starts no other.
            sandbox(said).filter(|_| !is_set(SANDBOX_VARIABLE) && !is_set("SANDBOX"))
        })
}

/// What starts it in a sandbox.
fn sandbox<'s, 'a>(said: &[&'s Said<'a>]) -> Option<&'s Said<'a>> {
    let mut all = said.iter().rev().copied().filter(|said| said.key == SANDBOX).peekable();
    let last = all.peek().copied()?;
    match &last.value {
        // Those of several files are merged.
        Value::Object(_) => all
            .map_while(|said| Some((said, said.value.as_object()?)))
            .find_map(|(said, object)| Some((said, object.get("enabled")?)))
            .filter(|(_, enabled)| is_yes(enabled))
            .map(|(said, _)| said),
        Value::Bool(true) => Some(last),
        Value::String(text) if names_sandbox(text) => Some(last),
        _ => None,
    }
}

/// JavaScript's notion.
fn is_yes(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// Whether a value that is a text switches the sandbox on.
pub(super) fn names_sandbox(value: &str) -> bool {
    !matches!(value.trim().to_ascii_lowercase().as_str(), "" | "0" | "false")
}

/// Whether something in it is replaced when it is read: what becomes of it depends on the environment of each start.
fn has_variable(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('$'),
        Value::Array(values) => values.iter().any(has_variable),
        Value::Object(values) => values.values().any(has_variable),
        _ => false,
    }
}

pub(super) fn told(said: &Said<'_>, value: &str) -> Option<String> {
    let title = Host::Gemini.title();
    let is_off =
        said.value == Value::Bool(false) || said.value == "" || said.value == "false" || said.value == 0;
    let unknown = || format!("`{}` is {value}, so nobody can tell whether {title} runs hooks", said.key);
    Some(match said.key {
        HOOKS => format!("`hooks` is {value}, which is no object, so {title} loses the hooks of all files"),
        CONFIG if said.value.is_null() => format!("`{CONFIG}` is null, which {title} cannot read"),
        CONFIG => {
            format!("`{CONFIG}` holds a variable ({value}), so nobody can tell whether {title} runs hooks")
        }
        ENABLED if is_off => return None,
        SANDBOX => format!("`{SANDBOX}` is {value}, so {title} {IN_CONTAINER}"),
        DISABLED if said.value.is_array() => {
            format!("`{DISABLED}` names becket's entries, so {title} skips them")
        }
        _ => unknown(),
    })
}

/// The names by which an agent's own list of switched-off hooks could mean Becket's entries in a file.
pub fn hook_names(host: Host, bytes: &[u8]) -> Vec<String> {
    if host != Host::Gemini {
        return Vec::new();
    }
    let root = std::str::from_utf8(bytes).ok().and_then(edit::value).unwrap_or_default();
    let events = root.get("hooks").and_then(Value::as_object).into_iter().flatten();
    let groups = events.filter_map(|(_, groups)| groups.as_array()).flatten();
    let handlers = groups.filter_map(|group| group.get("hooks")?.as_array()).flatten();
    let names = handlers.filter_map(|handler| {
        let command = handler.get("command")?.as_str()?;
        let name = handler.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        crate::install::is_installed_line(host, command).then(|| name.unwrap_or(command).to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// Whether Gemini CLI trusts a folder: without that it runs no hook in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderTrust {
    /// It asks for no trust.
    NotAsked,
    /// It was trusted.
    Trusted,
    /// It was refused trust.
    Refused,
    /// Nobody was asked yet.
    Undecided,
}

/// The file with Gemini CLI's trusted folders.
pub fn trusted_folders(roots: Roots<'_>) -> Utf8PathBuf {
    let named = directory(roots, "GEMINI_CLI_TRUSTED_FOLDERS_PATH");
    named.unwrap_or_else(|| home(roots).join(".gemini/trustedFolders.json"))
}

/// Whether Gemini CLI trusts the directory in which it is started, by its settings and the file of [`trusted_folders`]. `real` resolves links.
pub fn folder_trust(
    files: &[Read],
    folders: Option<&[u8]>,
    roots: Roots<'_>,
    real: &dyn Fn(&Utf8Path) -> Utf8PathBuf,
) -> FolderTrust {
    if (roots.variable)("GEMINI_CLI_TRUST_WORKSPACE").as_deref() == Some("true") {
        return FolderTrust::NotAsked;
    }
    // A project cannot say that it needs no trust.
    let everywhere = files.iter().filter(|file| file.layer.reach != Reach::Project);
    let mut asks = everywhere.filter_map(|file| {
        let text = std::str::from_utf8(&file.bytes).ok()?;
        Some(edit::at(text, &["security", "folderTrust", "enabled"]).ok()??.0)
    });
    if asks.next_back() == Some(Value::Bool(false)) {
        return FolderTrust::NotAsked;
    }
    let rules = folders.and_then(|bytes| std::str::from_utf8(bytes).ok()).and_then(edit::value);
    let rules = rules.as_ref().and_then(Value::as_object).into_iter().flatten();
    let here = real(roots.here());
    let mut longest: Option<(usize, &str)> = None;
    for (path, level) in rules {
        let (Some(level), Some(path)) = (level.as_str(), Some(Utf8Path::new(path))) else { continue };
        let whole = if level == "TRUST_PARENT" { path.parent().unwrap_or(path) } else { path };
        let length = path.as_str().chars().count();
        if here.starts_with(real(whole)) && longest.is_none_or(|(most, _)| length > most) {
            longest = Some((length, level));
        }
    }
    match longest {
        Some((_, "TRUST_FOLDER" | "TRUST_PARENT")) => FolderTrust::Trusted,
        Some((_, "DO_NOT_TRUST")) => FolderTrust::Refused,
        _ => FolderTrust::Undecided,
    }
}
