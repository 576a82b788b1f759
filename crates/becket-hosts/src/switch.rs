//! What switches an agent's hooks off although Becket's entries stand in its file: settings of its own, in every file
//! it takes them from, and variables. Found out from the agents in the versions of [`crate::Host::verified`].

use std::fmt::Write as _;

use becket_core::text;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::Host;
use crate::install::edit;

/// What is asked of the environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where agents keep their settings.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it holds a function")]
pub struct Roots<'a> {
    /// The home directory.
    pub home: &'a Utf8Path,
    /// The project.
    pub project: &'a Utf8Path,
    /// The environment.
    pub variable: Variables<'a>,
}

/// For which sessions a file of settings counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// All of them.
    Everywhere,
    /// Those in the project.
    Project,
    /// Those that are started with a profile.
    Profile,
    /// All of them, and nobody but an administrator can say otherwise.
    Managed,
}

/// One file from which an agent takes settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The file; a folder, if there is a `suffix`.
    pub path: Utf8PathBuf,
    /// For which sessions it counts.
    pub reach: Reach,
    /// The files in the folder whose names end so, each a layer of its own, by name.
    pub suffix: Option<&'static str>,
}

/// A file of settings and what stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Which one.
    pub layer: Layer,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Where something keeps hooks from running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// In every session.
    Always,
    /// In this project.
    Here,
    /// Everywhere but in this project.
    Elsewhere,
    /// In sessions with a profile.
    Profile,
    /// Nobody can tell, for a file cannot be read.
    Unknown,
}

/// Something that keeps hooks from running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Off {
    /// Where.
    pub applies: Applies,
    /// What, in which file and line, and what to do; for people.
    pub text: String,
}

/// The files from which an agent takes what could switch hooks off; the later wins.
pub fn layers(host: Host, roots: Roots<'_>) -> Vec<Layer> {
    let directory =
        |name: &str| (roots.variable)(name).map(Utf8PathBuf::from).filter(|path| path.is_absolute());
    let layer = |path: Utf8PathBuf, reach| Layer { path, reach, suffix: None };
    let folder = |path: Utf8PathBuf, reach, suffix| Layer { path, reach, suffix: Some(suffix) };
    match host {
        Host::Claude => {
            let own = directory("CLAUDE_CONFIG_DIR").unwrap_or_else(|| roots.home.join(".claude"));
            vec![
                layer(own.join("settings.json"), Reach::Everywhere),
                layer(roots.project.join(".claude/settings.json"), Reach::Project),
                layer(roots.project.join(".claude/settings.local.json"), Reach::Project),
                layer("/etc/claude-code/managed-settings.json".into(), Reach::Managed),
                folder("/etc/claude-code/managed-settings.d".into(), Reach::Managed, ".json"),
            ]
        }
        Host::Codex => {
            let own = directory("CODEX_HOME").unwrap_or_else(|| roots.home.join(".codex"));
            vec![
                layer("/etc/codex/config.toml".into(), Reach::Everywhere),
                layer(own.join("config.toml"), Reach::Everywhere),
                folder(own, Reach::Profile, ".config.toml"),
                layer(roots.project.join(".codex/config.toml"), Reach::Project),
                layer("/etc/codex/managed_config.toml".into(), Reach::Everywhere),
                layer("/etc/codex/requirements.toml".into(), Reach::Managed),
            ]
        }
        Host::Gemini => {
            let system = directory("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
                .unwrap_or_else(|| "/etc/gemini-cli/settings.json".into());
            let defaults = directory("GEMINI_CLI_SYSTEM_DEFAULTS_PATH").unwrap_or_else(|| {
                system.parent().unwrap_or_else(|| Utf8Path::new("/")).join("system-defaults.json")
            });
            let home = directory("GEMINI_CLI_HOME").unwrap_or_else(|| roots.home.to_owned());
            let mut layers = vec![
                layer(defaults, Reach::Everywhere),
                layer(home.join(".gemini/settings.json"), Reach::Everywhere),
            ];
            // The home directory has no settings of a project's.
            if roots.project != home {
                layers.push(layer(roots.project.join(".gemini/settings.json"), Reach::Project));
            }
            layers.push(layer(system, Reach::Managed));
            layers
        }
        // Its settings have no such switch.
        Host::Opencode => Vec::new(),
    }
}

/// One value that matters, and where it stands.
struct Said<'a> {
    layer: &'a Layer,
    key: &'static str,
    value: Value,
    line: usize,
}

/// Everything that keeps Becket's entries from running. `files` are the [`layers`] that exist, in their order;
/// `names` is what [`hook_names`] says of the file with the entries; `for_project`: the entries are a project's.
pub fn off(host: Host, files: &[Read], names: &[String], roots: Roots<'_>, for_project: bool) -> Vec<Off> {
    let mut found = by_variables(host, roots.variable, for_project);
    let mut said = Vec::new();
    let mut is_trusted = false;
    for file in files {
        match read(host, file) {
            Ok(values) => said.extend(values),
            Err(why) => found.push(Off {
                applies: Applies::Unknown,
                text: format!(
                    "{}: {}; whether it switches hooks off cannot be told, and {} may read none of it. Mend it",
                    text::line(file.layer.path.as_str()),
                    text::line(&why),
                    host.title(),
                ),
            }),
        }
        is_trusted |= host == Host::Codex && trusts(&file.bytes, roots.project);
    }
    // Codex takes nothing from a project that is not trusted; of the others it is said below where it matters.
    let counts_here = |said: &Said<'_>| match said.layer.reach {
        Reach::Everywhere | Reach::Managed => true,
        Reach::Project => host != Host::Codex || is_trusted,
        Reach::Profile => false,
    };
    let here: Vec<&Said<'_>> = said.iter().filter(|said| counts_here(said)).collect();
    let elsewhere: Vec<&Said<'_>> =
        here.iter().copied().filter(|said| said.layer.reach != Reach::Project).collect();
    let off_here = decide(host, &here, names);
    let off_elsewhere = if for_project { None } else { decide(host, &elsewhere, names) };
    let is_same = |first: &Said<'_>, second: &Said<'_>| std::ptr::eq(first, second);
    match (off_here, off_elsewhere) {
        (Some(here), Some(elsewhere)) if is_same(here, elsewhere) => {
            found.push(told(host, here, Applies::Always));
        }
        (here, elsewhere) => {
            found.extend(here.map(|said| told(host, said, Applies::Here)));
            found.extend(elsewhere.map(|said| told(host, said, Applies::Elsewhere)));
        }
    }
    let mut profiles: Vec<&Layer> = Vec::new();
    for profile in said.iter().map(|said| said.layer).filter(|layer| layer.reach == Reach::Profile) {
        if !profiles.contains(&profile) {
            profiles.push(profile);
        }
    }
    for profile in profiles {
        let with_it: Vec<&Said<'_>> = said
            .iter()
            .filter(|said| {
                matches!(said.layer.reach, Reach::Everywhere | Reach::Managed) || said.layer == profile
            })
            .collect();
        let by_it = decide(host, &with_it, names).filter(|said| said.layer == profile);
        found.extend(by_it.map(|said| told(host, said, Applies::Profile)));
    }
    found
}

/// What decides that hooks are off, if they are.
fn decide<'s, 'a>(host: Host, said: &[&'s Said<'a>], names: &[String]) -> Option<&'s Said<'a>> {
    let last = |key: &str| said.iter().rev().copied().find(|said| said.key == key);
    let managed = |key: &str| {
        said.iter().rev().copied().find(|said| said.key == key && said.layer.reach == Reach::Managed)
    };
    match host {
        Host::Claude => {
            let only_others = |said: &&Said<'_>| match &said.value {
                Value::Array(what) => what.contains(&"hooks".into()),
                Value::Object(what) => what.get("hooks") == Some(&Value::Bool(true)),
                value => value == &Value::Bool(true),
            };
            managed(ONLY_MANAGED)
                .filter(only_others)
                .or_else(|| managed(STRICT).filter(only_others))
                .or_else(|| last("disableAllHooks").filter(|said| said.value == Value::Bool(true)))
        }
        Host::Codex => {
            // The name of today counts before the older one, in whichever file it stands.
            let pinned = managed("features.hooks").or_else(|| managed("features.codex_hooks"));
            let said = pinned.or_else(|| last("features.hooks")).or_else(|| last("features.codex_hooks"));
            managed(CODEX_ONLY_MANAGED)
                .filter(|said| said.value == Value::Bool(true))
                .or_else(|| said.filter(|said| said.value == Value::Bool(false)))
        }
        Host::Gemini => {
            let is_off =
                |said: &&Said<'_>| said.value == Value::Bool(false) || said.value == "" || said.value == 0;
            // Of lists all count.
            let disabled = || {
                said.iter().rev().copied().filter(|said| said.key == "hooksConfig.disabled").find(|said| {
                    let list = said.value.as_array().into_iter().flatten();
                    list.filter_map(Value::as_str).any(|name| names.iter().any(|own| own == name))
                })
            };
            last("hooksConfig.enabled").filter(is_off).or_else(disabled)
        }
        Host::Opencode => None,
    }
}

const ONLY_MANAGED: &str = "allowManagedHooksOnly";
const STRICT: &str = "strictPluginOnlyCustomization";
const CODEX_ONLY_MANAGED: &str = "allow_managed_hooks_only";

/// The values of a file that matter.
fn read(host: Host, file: &Read) -> Result<Vec<Said<'_>>, String> {
    let layer = &file.layer;
    let text = std::str::from_utf8(&file.bytes).map_err(|_| "it is not valid UTF-8".to_owned())?;
    let said = |key, (value, line)| Said { layer, key, value, line };
    if host == Host::Codex {
        let table = DeTable::parse(text).map_err(|error| format!("it is not TOML: {}", error.message()))?;
        let keys = [
            ("features.hooks", &["features", "hooks"][..]),
            ("features.codex_hooks", &["features", "codex_hooks"]),
            (CODEX_ONLY_MANAGED, &[CODEX_ONLY_MANAGED]),
        ];
        let found = keys.into_iter().filter_map(|(key, path)| {
            let (value, at) = in_table(table.get_ref(), path)?;
            let DeValue::Boolean(value) = value else { return None };
            Some(said(key, ((*value).into(), line_of(text, at))))
        });
        return Ok(found.collect());
    }
    // A file of nothing says nothing; what the agent makes of it is told where its entries are looked at.
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let keys: &[(&'static str, &[&str])] = match host {
        Host::Claude => {
            &[("disableAllHooks", &["disableAllHooks"]), (ONLY_MANAGED, &[ONLY_MANAGED]), (STRICT, &[STRICT])]
        }
        _ => &[
            ("hooksConfig.enabled", &["hooksConfig", "enabled"]),
            ("hooksConfig.disabled", &["hooksConfig", "disabled"]),
        ],
    };
    let mut found = Vec::new();
    for (key, path) in keys {
        let at = edit::at(text, path).map_err(|error| error.to_string())?;
        found.extend(at.map(|(value, at)| said(key, (value, line_of(text, at)))));
    }
    Ok(found)
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

/// Whether Codex's settings say that it trusts a project, without which it takes none of the project's.
fn trusts(bytes: &[u8], project: &Utf8Path) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(table) = DeTable::parse(text) else { return false };
    let level = in_table(table.get_ref(), &["projects", project.as_str(), "trust_level"]);
    matches!(level, Some((DeValue::String(level), _)) if level == "trusted")
}

/// What Codex's own settings remember of the entries in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remembered {
    /// So many were trusted, as they were then.
    pub trusted: usize,
    /// Those that a person switched off on its page for hooks: each where in the file it stands, as Codex writes it, and
    /// the line in the settings.
    pub disabled: Vec<(String, usize)>,
}

/// What Codex's `config.toml` remembers of the entries in the file at `path`.
pub fn remembered(config: &[u8], path: &Utf8Path) -> Remembered {
    let mut found = Remembered::default();
    let Ok(text) = std::str::from_utf8(config) else { return found };
    let Ok(table) = DeTable::parse(text) else { return found };
    let Some((DeValue::Table(states), _)) = in_table(table.get_ref(), &["hooks", "state"]) else {
        return found;
    };
    for (key, state) in states {
        let of_file = key.get_ref().strip_prefix(path.as_str()).and_then(|rest| rest.strip_prefix(':'));
        let (Some(entry), DeValue::Table(state)) = (of_file, state.get_ref()) else { continue };
        if in_table(state, &["trusted_hash"]).is_some() {
            found.trusted += 1;
        }
        if let Some((DeValue::Boolean(false), at)) = in_table(state, &["enabled"]) {
            found.disabled.push((entry.to_owned(), line_of(text, at)));
        }
    }
    found
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn told(host: Host, said: &Said<'_>, applies: Applies) -> Off {
    let title = host.title();
    let mut told = format!("{}:{}: ", text::line(said.layer.path.as_str()), said.line);
    let value = text::line(&said.value.to_string()).into_owned();
    let _ = match said.key {
        "hooksConfig.disabled" => {
            write!(told, "`{}` names becket's entries, so {title} skips them", said.key)
        }
        ONLY_MANAGED | STRICT | CODEX_ONLY_MANAGED => {
            write!(told, "`{}` is {value}, so {title} runs only the hooks of your organisation", said.key)
        }
        _ => write!(told, "`{}` is {value}, so {title} runs no hook", said.key),
    };
    told.push_str(match applies {
        Applies::Always | Applies::Unknown => "",
        Applies::Here => " in this project",
        Applies::Elsewhere => " outside this project, whose own settings say otherwise",
        Applies::Profile => " in sessions that are started with this profile",
    });
    told.push_str(match said.key {
        _ if said.layer.reach == Reach::Managed => {
            ". Only whoever administers this machine can change that: nothing of becket guards here"
        }
        "hooksConfig.disabled" => ". Take the name out of the list, or run /hooks enable-all there",
        _ => ". Take that line out",
    });
    Off { applies, text: told }
}

fn by_variables(host: Host, variable: Variables<'_>, for_project: bool) -> Vec<Off> {
    // opencode's own words for yes, which does not start with others; Claude Code takes them in any case.
    let is_on = |name: &str| {
        let is_yes = |value: &str| matches!(value, "1" | "true" | "yes" | "on" | "y");
        variable(name).filter(|value| {
            if host == Host::Claude { is_yes(&value.trim().to_ascii_lowercase()) } else { is_yes(value) }
        })
    };
    let is = |name: &str, wanted: &str| variable(name).filter(|value| value == wanted);
    let mut found = Vec::new();
    let mut say = |name: &str, value: Option<String>, what: &str| {
        if let Some(value) = value {
            let text = format!(
                "the variable {name} is {} here: {} started with it {what}. Unset it",
                text::quote(&value),
                host.title()
            );
            found.push(Off { applies: Applies::Always, text });
        }
    };
    match host {
        Host::Claude => {
            for name in ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"] {
                say(name, is_on(name), "runs no hook of yours");
            }
        }
        Host::Codex => {}
        Host::Gemini => {
            let what = "takes every folder for untrusted, and runs no hook there";
            say("GEMINI_RESTRICTED_MODE", is("GEMINI_RESTRICTED_MODE", "true"), what);
            say("GEMINI_CLI_TRUST_WORKSPACE", is("GEMINI_CLI_TRUST_WORKSPACE", "false"), what);
        }
        Host::Opencode => {
            say("OPENCODE_PURE", is_on("OPENCODE_PURE"), "loads no plugin");
            if for_project {
                let name = "OPENCODE_DISABLE_PROJECT_CONFIG";
                say(name, is_on(name), "loads no plugin of a project's");
            }
        }
    }
    found
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
    let path = |name: &str| (roots.variable)(name).map(Utf8PathBuf::from).filter(|path| path.is_absolute());
    let home = || path("GEMINI_CLI_HOME").unwrap_or_else(|| roots.home.to_owned());
    path("GEMINI_CLI_TRUSTED_FOLDERS_PATH").unwrap_or_else(|| home().join(".gemini/trustedFolders.json"))
}

/// Whether Gemini CLI trusts the project, by its settings and the file of [`trusted_folders`]. `real` resolves links.
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
    let project = real(roots.project);
    let mut longest: Option<(usize, &str)> = None;
    for (path, level) in rules {
        let (Some(level), Some(path)) = (level.as_str(), Some(Utf8Path::new(path))) else { continue };
        let whole = if level == "TRUST_PARENT" { path.parent().unwrap_or(path) } else { path };
        let length = path.as_str().chars().count();
        if project.starts_with(real(whole)) && longest.is_none_or(|(most, _)| length > most) {
            longest = Some((length, level));
        }
    }
    match longest {
        Some((_, "TRUST_FOLDER" | "TRUST_PARENT")) => FolderTrust::Trusted,
        Some((_, "DO_NOT_TRUST")) => FolderTrust::Refused,
        _ => FolderTrust::Undecided,
    }
}
