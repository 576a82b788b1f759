//! The file of variables that Gemini CLI takes into its environment before it looks at them: anybody who can put one above
//! the directory in which it is started can keep it from running hooks. Driven with 0.61.

use std::collections::HashSet;
use std::fmt::Write as _;

use becket_core::text;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::dotenv::{self, Variable};
use super::{Applies, NOT_TRUSTED, Off, Read, Roots, gemini};
use crate::Host;
use crate::install::edit;

/// Variables that say where Gemini CLI looks for its settings and its trust in folders. It asks for some before it has read
/// the file, and for some after.
pub(super) const PLACES: [&str; 4] = [
    "GEMINI_CLI_HOME",
    "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
    "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
];

/// A file of variables as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Which one.
    pub path: Utf8PathBuf,
    /// Its bytes, or why it cannot be read.
    pub bytes: Result<Vec<u8>, String>,
}

/// Where Gemini CLI looks for that file: it takes the first that is there, even if that cannot be read. Several lists where
/// nobody can tell by which it goes. `start` is the directory in which it is started, links resolved.
pub fn environment_files(files: &[Read], start: &Utf8Path, roots: Roots<'_>) -> Vec<Vec<Utf8PathBuf>> {
    let home = gemini::home(roots);
    let list = |without_local: bool| {
        let mut list = Vec::new();
        for level in start.ancestors() {
            list.push(level.join(".gemini/.env"));
            if !without_local || level == home {
                list.push(level.join(".env"));
            }
        }
        list.extend([home.join(".gemini/.env"), home.join(".env")]);
        list
    };
    match Settings::of(files).ignores_local {
        Some(ignores) => vec![list(ignores)],
        None => vec![list(false), list(true)],
    }
}

/// What Gemini CLI's settings say of such files.
struct Settings {
    /// Whether those beside a project's files are left out; `None` where nobody can tell.
    ignores_local: Option<bool>,
    /// Names that are not taken from those.
    excluded: Vec<String>,
}

impl Settings {
    fn of(files: &[Read]) -> Self {
        let mut said = Self { ignores_local: Some(false), excluded: Vec::new() };
        for file in files {
            let advanced = std::str::from_utf8(&file.bytes).ok().and_then(edit::value);
            match advanced.as_ref().and_then(|root| root.get("advanced")) {
                None => {}
                Some(Value::Object(advanced)) => {
                    if let Some(ignores) = advanced.get("ignoreLocalEnv") {
                        said.ignores_local = match ignores {
                            Value::Bool(ignores) => Some(*ignores),
                            Value::Null => Some(false),
                            // What is no boolean may be made one, or count as it is.
                            _ => None,
                        };
                    }
                    // All files' lists count together.
                    let names = advanced.get("excludedEnvVars").and_then(Value::as_array);
                    let names = names.into_iter().flatten().filter_map(Value::as_str);
                    said.excluded.extend(names.map(str::to_owned));
                }
                // It takes the place of all that earlier files say.
                Some(_) => said = Self { ignores_local: Some(false), excluded: Vec::new() },
            }
        }
        said
    }
}

/// What the variables of a file do to hooks. It counts only where the folder is trusted; where it is not, no hook runs.
pub fn by_environment(files: &[Read], environment: &Environment, roots: Roots<'_>) -> Vec<Off> {
    let shown = text::line(environment.path.as_str());
    let here = text::line(roots.here().as_str());
    let off = |text: String| Off { applies: Applies::Here, file: Some(environment.path.clone()), text };
    let bytes = match &environment.bytes {
        Ok(bytes) => bytes,
        Err(why) => {
            return vec![off(format!(
                "{}: Gemini CLI started in {here} takes variables from this file, so nobody can tell whether it runs hooks. \
                 Make it readable or move it away",
                text::line(why)
            ))];
        }
    };
    // Those of its own folder are never left out.
    let excluded =
        if environment.path.as_str().contains(".gemini") { Vec::new() } else { Settings::of(files).excluded };
    let mut all = dotenv::variables(bytes);
    // Of two with one name the last counts.
    let mut later = HashSet::new();
    all.reverse();
    all.retain(|variable| later.insert(variable.name.clone()));
    all.reverse();
    // What is set already stays, even if it is set to nothing.
    let counts = |variable: &Variable| {
        !excluded.contains(&variable.name) && (roots.variable)(&variable.name).is_none()
    };
    let told = all.iter().filter_map(|variable| {
        let what = effect(variable).filter(|_| counts(variable))?;
        let value = text::quote(text::bounded(&variable.value, 200).trim_end());
        let mut told = format!("{shown}:{}: the variable {} is {value}, ", variable.line, variable.name);
        let title = Host::Gemini.title();
        let _ =
            write!(told, "and {title} started in {here} takes it from there: it {what}. Take that line out");
        Some(off(told))
    });
    told.collect()
}

/// What a variable does to hooks.
fn effect(variable: &Variable) -> Option<&'static str> {
    match variable.name.as_str() {
        "GEMINI_RESTRICTED_MODE" if variable.value == "true" => Some(NOT_TRUSTED),
        "GEMINI_CLI_TRUST_WORKSPACE" if variable.value == "false" => Some(NOT_TRUSTED),
        gemini::SANDBOX_VARIABLE if gemini::names_sandbox(&variable.value) => Some(gemini::IN_CONTAINER),
        name if PLACES.contains(&name) && !variable.value.is_empty() => {
            Some("looks elsewhere for what is its own, and nobody can tell whether it runs hooks")
        }
        // The shell that runs the lines takes these for its own.
        "BASH_ENV" | "BASHOPTS" | "SHELLOPTS" if !variable.value.is_empty() => {
            Some("runs every hook's line with it, and nobody can tell whether that still runs")
        }
        _ => None,
    }
}
