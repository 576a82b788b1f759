//! Settings: one table of what can be set, and for each what is in force and what set it.

mod file;

use std::ffi::OsString;

use becket_core::dialect::{Name, Problem};
use becket_core::place::{self, Found, Place};
use becket_core::scope::{Homes, Settings};
use becket_core::text;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

pub use self::file::{Written, parse};
use crate::read;

/// Largest settings file, in bytes.
const LIMIT: u64 = 1 << 20;

/// The key of ShadowCode's profile, which an option can name too.
const PROFILE: &str = "homes.shadowcode_profile";

/// What values a setting takes.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Switch,
    Path,
    Count { least: u64, most: u64 },
    Word(&'static [&'static str]),
}

/// One thing that can be set.
struct Setting {
    key: &'static str,
    kind: Kind,
    /// Empty where the default depends on the system.
    default: &'static str,
    variable: Option<&'static str>,
    help: &'static str,
}

/// Everything that can be set.
const TABLE: [Setting; 11] = [
    switch("dialects.albedo", "true", "albedo's hooks: ALBEDO_HOME/hooks.json and the workspace's"),
    switch("dialects.celeste", "true", "Celeste's hooks: ~/.celeste and .celeste/hooks.json"),
    switch("dialects.shadowcode", "true", "ShadowCode's hooks: .shadowcode/hooks and .shadow/hooks"),
    path("homes.albedo", "ALBEDO_HOME", "albedo's directory; by default ~/.albedo"),
    path(
        "homes.becket",
        "BECKET_HOME",
        "ledger, journal and sessions; by default in the XDG state directory",
    ),
    path(PROFILE, "SHADOWCODE_PROFILE", "ShadowCode's profile; by default the XDG directories"),
    Setting {
        key: "stop.max_continuations",
        kind: Kind::Count { least: 0, most: 1000 },
        default: "8",
        variable: None,
        help: "how often all hooks together may continue one turn at its end",
    },
    Setting {
        key: "limits.definition_bytes",
        kind: Kind::Count { least: 1024, most: 64 << 20 },
        default: "1048576",
        variable: None,
        help: "largest file of definitions that is read, where its dialect names no limit",
    },
    switch(
        "exec.end_everything",
        "false",
        "also end what a finished hook left running outside its process group",
    ),
    switch("journal.enabled", "true", "whether runs and decisions are recorded"),
    Setting {
        key: "shadowcode.environment",
        kind: Kind::Word(&["inherit", "minimal"]),
        default: "inherit",
        variable: None,
        help: "what ShadowCode's hooks inherit: your whole environment, or a short list",
    },
];

const fn switch(key: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting { key, kind: Kind::Switch, default, variable: None, help }
}

const fn path(key: &'static str, variable: &'static str, help: &'static str) -> Setting {
    Setting { key, kind: Kind::Path, default: "", variable: Some(variable), help }
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effective {
    /// Its key.
    pub key: &'static str,
    /// Its value, as it would be written.
    pub value: String,
    /// What set it.
    pub origin: Origin,
    /// What it is for.
    pub help: &'static str,
    /// The variable that sets it, if one does.
    #[serde(skip)]
    pub variable: Option<&'static str>,
}

/// What set a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Nothing did.
    Default,
    /// A file.
    File {
        /// The file.
        path: Utf8PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Variable(&'static str),
    /// An option of the command line.
    Option(&'static str),
}

/// By what settings are told.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The settings file; `None` for `becket/config.toml` in the XDG configuration directory.
    pub file: Option<&'a Utf8Path>,
    /// ShadowCode's profile, before what the environment says.
    pub profile: Option<&'a Utf8Path>,
    /// Where the process stands: homes that are set relative are so to this.
    pub directory: &'a Utf8Path,
    /// The environment.
    pub environment: &'a [(OsString, OsString)],
}

/// All settings, with where they come from and what is wrong with their file.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Every setting, in the order of the table.
    pub effective: Vec<Effective>,
    /// What could not be taken; the defaults stand in its place.
    pub problems: Vec<Problem>,
    /// Whether runs are recorded.
    pub journal: bool,
    /// For the core.
    pub settings: Settings,
    /// For the core.
    pub homes: Homes,
}

/// Why there are no settings at all.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file that was named explicitly cannot be used.
    #[error("cannot read the settings: {0}")]
    File(String),
}

/// Reads the settings.
///
/// # Errors
/// A file that was named explicitly and cannot be read. One that is only wrong in parts loses those parts, with
/// problems.
pub fn load(given: &Given<'_>) -> Result<Loaded, SettingsError> {
    let Given { file, profile, directory: here, environment } = *given;
    let variable = |name: &str| {
        let value = environment.iter().find(|(key, _)| key == name).map(|(_, value)| value)?;
        value.to_str().filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let home = Utf8PathBuf::from(variable("HOME").unwrap_or_default());
    let directory = |name: &str, below: &str| {
        // As the XDG specification has it, a relative path there is ignored.
        let set = variable(name).map(Utf8PathBuf::from).filter(|path| path.is_absolute());
        set.unwrap_or_else(|| home.join(below))
    };
    let config = directory("XDG_CONFIG_HOME", ".config");
    let path = match file {
        Some(named) => from_here(named)?,
        None => config.join("becket/config.toml"),
    };
    let mut problems = Vec::new();
    for name in TABLE.iter().filter_map(|setting| setting.variable).chain([
        "HOME",
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
    ]) {
        if environment.iter().any(|(key, value)| key == name && value.to_str().is_none()) {
            let message = "it is not valid UTF-8: it counts as not set".to_owned();
            problems.push(Problem { path: format!("${name}"), line: None, column: None, message });
        }
    }
    let written = match read_file(&path, file.is_some()) {
        Ok(written) => written,
        Err(problem) if file.is_some() => return Err(SettingsError::File(problem.to_string())),
        Err(mut problem) => {
            problem.message.push_str(": the defaults stand");
            problems.push(problem);
            Written::default()
        }
    };
    problems.extend(written.problems.iter().cloned());
    let effective: Vec<Effective> = TABLE
        .iter()
        .map(|setting| {
            let option = profile.filter(|_| setting.key == PROFILE);
            let (mut value, origin) = match (
                option,
                setting.variable.and_then(|name| Some((name, variable(name)?))),
                written.values.get(setting.key),
            ) {
                (Some(profile), ..) => {
                    (read::absolute(profile, here).into_string(), Origin::Option("--profile"))
                }
                (None, Some((name, value)), _) => (value, Origin::Variable(name)),
                (None, None, Some((value, line))) => {
                    (value.clone(), Origin::File { path: path.clone(), line: *line })
                }
                (None, None, None) => (setting.default.to_owned(), Origin::Default),
            };
            if matches!(origin, Origin::Variable(_)) && !value.starts_with('/') && home.is_absolute() {
                value = read::absolute(Utf8Path::new(&value), here).into_string();
            }
            Effective { key: setting.key, value, origin, help: setting.help, variable: setting.variable }
        })
        .collect();
    let get = |key: &str| {
        effective.iter().find(|setting| setting.key == key).map_or("", |setting| setting.value.as_str())
    };
    let place = |key: &str, default: Utf8PathBuf| match get(key) {
        "" if home.is_absolute() => read::absolute(&default, here),
        "" => default,
        set if set.starts_with('/') => read::absolute(Utf8Path::new(set), here),
        set => set.into(),
    };
    let homes = Homes {
        albedo: place("homes.albedo", home.join(".albedo")),
        shadowcode_profile: Some(get(PROFILE))
            .filter(|set| !set.is_empty())
            .map(|_| place(PROFILE, "".into())),
        becket: place("homes.becket", directory("XDG_STATE_HOME", ".local/state").join("becket")),
        config,
        home,
    };
    let names = [Name::Albedo, Name::Celeste, Name::Shadowcode];
    let settings = Settings {
        off: names.into_iter().filter(|name| get(&format!("dialects.{name}")) == "false").collect(),
        stop_limit: get("stop.max_continuations").parse().unwrap_or(8),
        definition_bytes: get("limits.definition_bytes").parse().unwrap_or(1 << 20),
        end_everything: get("exec.end_everything") == "true",
        values: effective.iter().map(|setting| (setting.key, setting.value.clone())).collect(),
    };
    let journal = get("journal.enabled") == "true";
    let mut effective = effective;
    for setting in &mut effective {
        // Where the default depends on the system, show what it came to.
        if setting.origin == Origin::Default && setting.value.is_empty() {
            setting.value = match setting.key {
                "homes.albedo" => homes.albedo.to_string(),
                "homes.becket" => homes.becket.to_string(),
                _ => String::new(),
            };
        }
    }
    Ok(Loaded { effective, problems, journal, settings, homes })
}

/// A file that was named, relative to where the process stands.
fn from_here(named: &Utf8Path) -> Result<Utf8PathBuf, SettingsError> {
    let wrong = |why: String| SettingsError::File(format!("{}: {why}", text::line(named.as_str())));
    let path = std::path::absolute(named).map_err(|error| wrong(error.to_string()))?;
    Utf8PathBuf::from_path_buf(path).map_err(|_| wrong("the current directory is not UTF-8".to_owned()))
}

/// What the file sets. One that is not `named` may be missing.
fn read_file(path: &Utf8Path, named: bool) -> Result<Written, Problem> {
    let whole = |message: String| Problem { path: path.to_string(), line: None, column: None, message };
    match read::read(&Place::file(path.to_owned(), LIMIT)) {
        // Whoever may write it could switch guards off.
        Found::File(place::File { unsafe_store: Some(why), .. }) => Err(whole(why)),
        Found::File(file) => parse(path, &file.bytes),
        Found::Missing if named => Err(whole("there is no such file".to_owned())),
        Found::Missing => Ok(Written::default()),
        Found::Refused(refusal) => Err(whole(refusal.to_string())),
        Found::Folder { .. } => Err(whole("it is a folder".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Loaded {
        let directory = tempfile::tempdir().unwrap();
        let config = directory.path().join("becket");
        std::fs::create_dir(&config).unwrap();
        std::fs::write(config.join("config.toml"), text).unwrap();
        let environment = [
            ("HOME".into(), "/h".into()),
            ("XDG_CONFIG_HOME".into(), directory.path().as_os_str().to_owned()),
            ("ALBEDO_HOME".into(), "/a".into()),
        ];
        let given = Given { file: None, profile: None, directory: "/w".into(), environment: &environment };
        load(&given).unwrap()
    }

    #[test]
    fn each_setting_says_what_set_it() {
        let loaded =
            of("[dialects]\nalbedo = false\n\n[stop]\nmax_continuations = 3\n[homes]\nalbedo = \"/b\"\n");
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        assert_eq!((loaded.settings.off, loaded.settings.stop_limit), (vec![Name::Albedo], 3));
        assert_eq!(
            (loaded.homes.albedo.as_str(), loaded.homes.becket.as_str()),
            ("/a", "/h/.local/state/becket")
        );
        let origin =
            |key: &str| loaded.effective.iter().find(|setting| setting.key == key).unwrap().origin.clone();
        assert!(matches!(origin("stop.max_continuations"), Origin::File { line: 5, .. }));
        assert_eq!(origin("homes.albedo"), Origin::Variable("ALBEDO_HOME"));
        assert_eq!(origin("journal.enabled"), Origin::Default);
    }

    #[test]
    fn homes_are_where_they_are_set_and_the_option_comes_first() {
        let set = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let environment =
            [set("HOME", "/h"), set("ALBEDO_HOME", "a/../b"), set("SHADOWCODE_PROFILE", "/p//q")];
        let of = |profile: Option<&str>| {
            let profile = profile.map(Utf8Path::new);
            let loaded =
                load(&Given { file: None, profile, directory: "/w".into(), environment: &environment });
            let Loaded { effective, homes, .. } = loaded.unwrap();
            let of = |key: &str| effective.iter().find(|setting| setting.key == key).unwrap().clone();
            (of("homes.albedo").value, of(PROFILE), homes)
        };
        let (albedo, profile, homes) = of(None);
        assert_eq!((albedo.as_str(), homes.albedo.as_str()), ("/w/b", "/w/b"));
        assert_eq!(
            (profile.value.as_str(), profile.origin),
            ("/p//q", Origin::Variable("SHADOWCODE_PROFILE"))
        );
        assert_eq!(homes.shadowcode_profile.unwrap(), "/p/q");
        let (_, profile, homes) = of(Some("mine"));
        assert_eq!((profile.value.as_str(), profile.origin), ("/w/mine", Origin::Option("--profile")));
        assert_eq!(homes.shadowcode_profile.unwrap(), "/w/mine");
    }

    #[test]
    fn what_is_wrong_loses_only_itself_and_names_its_place() {
        let loaded =
            of("loose = 1\n[dialects]\nalbedo = \"no\"\nceleste = false\n[stop]\nmax-continuations = 1\n");
        let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        assert_eq!(loaded.settings.off, [Name::Celeste]);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(
            problems
                .iter()
                .any(|problem| problem.contains("config.toml:3:10: `dialects.albedo` must be true or false"))
        );
        assert!(problems.iter().any(|problem| problem.contains("did you mean `stop.max_continuations`?")));
        let many: String = (0..200).map(|key| format!("[x{key}]\nk = 1\n")).collect();
        let many = of(&format!("{many}[dialects]\nalbedo = false\n"));
        assert_eq!((many.problems.len(), many.settings.off.len()), (101, 1));
        assert_eq!(many.problems[100].message, "100 more problems are not named one by one");
        let broken = of("[dialects\n");
        assert_eq!((broken.problems.len(), broken.settings.off.len()), (1, 0));
        assert!(broken.problems[0].line == Some(1), "{:?}", broken.problems);
    }
}
