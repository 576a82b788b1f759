//! What stands around one firing: the workspace, the homes, the settings.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::dialect::Name;
use crate::place::{File, is_inside};

/// The user's directories. Each is absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Homes {
    /// `HOME`.
    pub home: Utf8PathBuf,
    /// `ALBEDO_HOME`, by default `~/.albedo`.
    pub albedo: Utf8PathBuf,
    /// `SHADOWCODE_PROFILE`; `None` means the XDG directories.
    pub shadowcode_profile: Option<Utf8PathBuf>,
    /// `BECKET_HOME`: ledger, journal and sessions.
    pub becket: Utf8PathBuf,
    /// `XDG_CONFIG_HOME`, by default `~/.config`.
    pub config: Utf8PathBuf,
}

/// Which work the agent is at; ShadowCode's hooks run only while it builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It may change things.
    Build,
    /// It plans and only reads.
    Plan,
    /// It reviews and only reads.
    Review,
}

/// The settings that decide how hooks behave.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Dialects that are switched off.
    pub off: Vec<Name>,
    /// How often a turn may be continued at its end, whoever asks: 8 unless set.
    pub stop_limit: u32,
    /// Largest file of definitions that is read, in bytes.
    pub definition_bytes: u64,
    /// Whether a finished hook's strays are ended too.
    pub end_everything: bool,
    /// Settings of single dialects, by their whole key.
    pub values: BTreeMap<&'static str, String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            off: Vec::new(),
            stop_limit: 8,
            definition_bytes: 1 << 20,
            end_everything: false,
            values: BTreeMap::new(),
        }
    }
}

/// What stands around one firing.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The session's workspace: absolute, symbolic links not resolved.
    pub workspace: Utf8PathBuf,
    /// The workspace with symbolic links resolved: by this name some systems' own stores know it.
    pub real_workspace: Utf8PathBuf,
    /// The home directory with symbolic links resolved.
    pub real_home: Utf8PathBuf,
    /// The user's directories.
    pub homes: Homes,
    /// The settings in force.
    pub settings: Settings,
    /// The environment that hooks may inherit from, as Becket was started with.
    pub environment: Arc<[(OsString, OsString)]>,
    /// Which work the agent is at.
    pub mode: Mode,
}

impl Scope {
    /// Whether whoever writes the workspace could have planted `path` there. A home directory used as a workspace
    /// holds the user's own files and does not count.
    pub fn is_planted(&self, path: &Utf8Path) -> bool {
        let is_own =
            is_inside(&self.homes.home, &self.workspace) || is_inside(&self.real_home, &self.real_workspace);
        !is_own && (is_inside(path, &self.workspace) || is_inside(path, &self.real_workspace))
    }

    /// Why neither approvals nor the user's own hooks in a file are believed: somebody else could have written it.
    pub fn distrust(&self, path: &Utf8Path, file: &File) -> Option<String> {
        let planted = "it lies inside the workspace, so whoever writes there could have planted it";
        if self.is_planted(path) { Some(planted.to_owned()) } else { file.unsafe_store.clone() }
    }

    /// A variable of the inherited environment.
    pub fn variable(&self, name: &str) -> Option<&OsString> {
        self.environment.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A scope for tests, in `/w` with its homes under `/h`.
    pub(crate) fn scope() -> Scope {
        Scope {
            workspace: "/w".into(),
            real_workspace: "/w".into(),
            real_home: "/h".into(),
            homes: Homes {
                home: "/h".into(),
                albedo: "/h/.albedo".into(),
                shadowcode_profile: None,
                becket: "/h/.local/state/becket".into(),
                config: "/h/.config".into(),
            },
            settings: Settings::default(),
            environment: Arc::from([("PATH".into(), "/bin".into()), ("X_API_KEY".into(), "s".into())]),
            mode: Mode::Build,
        }
    }

    #[test]
    fn a_store_inside_the_workspace_is_planted_unless_the_workspace_is_home() {
        let mut scope = scope();
        scope.workspace = "/h/project".into();
        scope.real_workspace = "/data/project".into();
        assert!(scope.is_planted("/data/project/.albedo".into()));
        assert!(scope.is_planted("/h/project/.albedo".into()));
        assert!(!scope.is_planted("/h/project2/.albedo".into()));
        scope.workspace = "/h".into();
        scope.real_workspace = "/h".into();
        assert!(!scope.is_planted("/h/.albedo".into()));
    }
}
