//! What switches an agent's hooks off although Becket's entries stand in its file: settings of its own, in every file
//! it takes them from, and variables. Found out from the agents in the versions of [`crate::Host::verified`].

mod claude;
mod codex;
mod dotenv;
mod gemini;
mod gemini_env;

use std::fmt::Write as _;

use becket_core::text;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::Host;
use crate::install::{edit, home_variable, line_of};

pub use codex::{Remembered, remembered};
pub use gemini::{FolderTrust, folder_trust, hook_names, trusted_folders};
pub use gemini_env::{Environment, by_environment, environment_files};

/// What Gemini CLI does by some variables.
const NOT_TRUSTED: &str = "takes every folder for untrusted, and runs no hook there";

/// What is asked of the environment. A variable that is set to nothing is set.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Where agents keep their settings.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it holds a function")]
pub struct Roots<'a> {
    /// The home directory.
    pub home: &'a Utf8Path,
    /// The directory in which the agent is started, and those above it up to the root of the repository, the uppermost
    /// first; where there is no repository, that directory alone.
    pub levels: &'a [Utf8PathBuf],
    /// The environment.
    pub variable: Variables<'a>,
}

impl<'a> Roots<'a> {
    /// Where the agent is started.
    pub fn here(&self) -> &'a Utf8Path {
        self.levels.last().map_or(self.home, Utf8PathBuf::as_path)
    }
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
    /// The file that says it; none for what the environment says.
    pub file: Option<Utf8PathBuf>,
    /// What, in which file and line, and what to do; for people.
    pub text: String,
}

/// The files from which an agent takes what could switch hooks off; the later wins.
pub fn layers(host: Host, roots: Roots<'_>) -> Vec<Layer> {
    match host {
        Host::Claude => claude::layers(roots),
        Host::Codex => codex::layers(roots),
        Host::Gemini => gemini::layers(roots),
        // Its settings have no such switch.
        Host::Opencode => Vec::new(),
    }
}

/// A home of the agent's that a variable names.
fn directory(roots: Roots<'_>, name: &str) -> Option<Utf8PathBuf> {
    (roots.variable)(name).map(Utf8PathBuf::from).filter(|path| path.is_absolute())
}

/// Variables that name places of the agent's by a path that is not absolute: each agent follows it in its own way, most of
/// them from where they are started, and Becket not at all.
pub fn relative_places(host: Host, roots: Roots<'_>) -> Vec<String> {
    let names: &[&str] = match host {
        Host::Gemini => &gemini_env::PLACES,
        Host::Claude | Host::Codex | Host::Opencode => &[home_variable(host)],
    };
    names.iter().filter_map(|name| relative_place(host, name, roots.variable)).collect()
}

/// As [`relative_places`], for the variable that says where the person's file is.
pub fn relative_home(host: Host, roots: Roots<'_>) -> Option<String> {
    relative_place(host, home_variable(host), roots.variable)
}

fn relative_place(host: Host, name: &str, variable: Variables<'_>) -> Option<String> {
    let value = variable(name).filter(|value| !value.is_empty() && !value.starts_with('/'))?;
    Some(format!(
        "the variable {name} is {} here, which is no absolute path, so nobody can tell which files {} reads. Set it to an \
         absolute path or unset it",
        text::quote(&value),
        host.title()
    ))
}

fn layer(path: impl Into<Utf8PathBuf>, reach: Reach) -> Layer {
    Layer { path: path.into(), reach, suffix: None }
}

fn folder(path: impl Into<Utf8PathBuf>, reach: Reach, suffix: &'static str) -> Layer {
    Layer { path: path.into(), reach, suffix: Some(suffix) }
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
    for file in files {
        match read(host, file) {
            Ok(values) => said.extend(values),
            Err(why) => found.push(Off {
                applies: Applies::Unknown,
                file: Some(file.layer.path.clone()),
                text: format!(
                    "{}: {}; whether it switches hooks off cannot be told, and {} may read none of it. Mend it",
                    text::line(file.layer.path.as_str()),
                    text::line(&why),
                    host.title(),
                ),
            }),
        }
    }
    let trusted = if host == Host::Codex { codex::trusted(files, roots.levels) } else { Vec::new() };
    // Codex takes nothing from a project that is not trusted; of the others it is said below where it matters.
    let counts_here = |said: &Said<'_>| match said.layer.reach {
        Reach::Everywhere | Reach::Managed => true,
        Reach::Project => {
            host != Host::Codex
                || trusted.iter().any(|level| said.layer.path.starts_with(level.join(".codex")))
        }
        Reach::Profile => false,
    };
    let here: Vec<&Said<'_>> = said.iter().filter(|said| counts_here(said)).collect();
    let elsewhere: Vec<&Said<'_>> =
        here.iter().copied().filter(|said| said.layer.reach != Reach::Project).collect();
    let off_here = decide(host, &here, names, roots);
    let off_elsewhere = if for_project { None } else { decide(host, &elsewhere, names, roots) };
    let is_same = |first: &Said<'_>, second: &Said<'_>| std::ptr::eq(first, second);
    match (off_here, off_elsewhere) {
        (Some(here), Some(elsewhere)) if is_same(here, elsewhere) => {
            found.push(told(host, here, Applies::Always, roots));
        }
        (here, elsewhere) => {
            found.extend(here.map(|said| told(host, said, Applies::Here, roots)));
            found.extend(elsewhere.map(|said| told(host, said, Applies::Elsewhere, roots)));
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
        let by_it = decide(host, &with_it, names, roots).filter(|said| said.layer == profile);
        found.extend(by_it.map(|said| told(host, said, Applies::Profile, roots)));
    }
    found
}

/// What decides that hooks are off, if they are.
fn decide<'s, 'a>(
    host: Host,
    said: &[&'s Said<'a>],
    names: &[String],
    roots: Roots<'_>,
) -> Option<&'s Said<'a>> {
    match host {
        Host::Claude => claude::decide(said),
        Host::Codex => codex::decide(said),
        Host::Gemini => gemini::decide(said, names, roots.variable),
        Host::Opencode => None,
    }
}

/// What was last said of a key.
fn last<'s, 'a>(said: &[&'s Said<'a>], key: &str) -> Option<&'s Said<'a>> {
    said.iter().rev().copied().find(|said| said.key == key)
}

/// What an organisation last said of a key.
fn managed<'s, 'a>(said: &[&'s Said<'a>], key: &str) -> Option<&'s Said<'a>> {
    said.iter().rev().copied().find(|said| said.key == key && said.layer.reach == Reach::Managed)
}

/// The values of a file that matter.
fn read(host: Host, file: &Read) -> Result<Vec<Said<'_>>, String> {
    let text = std::str::from_utf8(&file.bytes).map_err(|_| "it is not valid UTF-8".to_owned())?;
    match host {
        Host::Codex => codex::read(&file.layer, text),
        // A file of nothing says nothing; what the agent makes of it is told where its entries are looked at.
        _ if text.trim().is_empty() => Ok(Vec::new()),
        Host::Claude => at_keys(&file.layer, text, claude::KEYS),
        Host::Gemini | Host::Opencode => at_keys(&file.layer, text, gemini::KEYS),
    }
}

/// What a JSON file says of some keys.
fn at_keys<'a>(
    layer: &'a Layer,
    text: &str,
    keys: &[(&'static str, &[&str])],
) -> Result<Vec<Said<'a>>, String> {
    let mut found = Vec::new();
    for (key, path) in keys {
        let at = edit::at(text, path).map_err(|error| error.to_string())?;
        found.extend(at.map(|(value, at)| Said { layer, key, value, line: line_of(text, at) }));
    }
    Ok(found)
}

fn told(host: Host, said: &Said<'_>, applies: Applies, roots: Roots<'_>) -> Off {
    let title = host.title();
    let mut told = format!("{}:{}: ", text::line(said.layer.path.as_str()), said.line);
    let value = said.value.to_string();
    let value = text::line(text::bounded(&value, 200).trim_end()).into_owned();
    let key = said.key;
    let off = || format!("`{key}` is {value}, so {title} runs no hook");
    told.push_str(&match host {
        Host::Claude => claude::told(said, &value).unwrap_or_else(off),
        Host::Codex => codex::told(said, &value).unwrap_or_else(off),
        Host::Gemini => gemini::told(said, &value).unwrap_or_else(off),
        Host::Opencode => off(),
    });
    let here = text::line(roots.here().as_str());
    let _ = match applies {
        Applies::Always | Applies::Unknown => Ok(()),
        Applies::Here => write!(told, " where it is started in {here}"),
        Applies::Elsewhere => write!(told, " outside {here}, where other settings say otherwise"),
        Applies::Profile => write!(told, " in sessions that are started with this profile"),
    };
    told.push_str(match key {
        _ if said.layer.reach == Reach::Managed => {
            ". Only whoever administers this machine can change that: nothing of becket guards here"
        }
        gemini::DISABLED if said.value.is_array() => {
            ". Take the name out of the list, or run /hooks enable-all there"
        }
        gemini::SANDBOX => {
            ". Take that line out, unless the container has becket, its homes and what hooks run at the same paths"
        }
        _ => ". Take that line out",
    });
    Off { applies, file: Some(said.layer.path.clone()), text: told }
}

fn by_variables(host: Host, variable: Variables<'_>, for_project: bool) -> Vec<Off> {
    // opencode's own words for yes, which does not start with others; Claude Code takes them in any case.
    let is_on = |name: &str| {
        let is_yes = |value: &str| matches!(value, "1" | "true" | "yes" | "on" | "y");
        variable(name).filter(
            |value| {
                if host == Host::Claude { claude::is_yes(value) } else { is_yes(value) }
            },
        )
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
            found.push(Off { applies: Applies::Always, file: None, text });
        }
    };
    match host {
        Host::Claude => {
            for name in ["CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"] {
                say(name, is_on(name), "runs no hook of yours");
            }
            let prefix = variable(claude::PREFIX).filter(|prefix| !prefix.is_empty());
            let what =
                "runs it with the line of every hook behind it, and nobody can tell whether the line is run";
            say(claude::PREFIX, prefix, what);
        }
        Host::Codex => {}
        Host::Gemini => {
            for (name, value) in [("GEMINI_RESTRICTED_MODE", "true"), ("GEMINI_CLI_TRUST_WORKSPACE", "false")]
            {
                say(name, is(name, value), NOT_TRUSTED);
            }
            // Inside the container it starts no other.
            let sandbox = variable(gemini::SANDBOX_VARIABLE).filter(|_| variable("SANDBOX").is_none());
            say(
                gemini::SANDBOX_VARIABLE,
                sandbox.filter(|value| gemini::names_sandbox(value)),
                gemini::IN_CONTAINER,
            );
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
