//! Whether the agent's own settings let its hooks run at all.

use std::fs;

use becket::core::text;
use becket::others;
use becket_hosts::Host;
use becket_hosts::install::edit;
use becket_hosts::switch::{self, Applies, Environment, FolderTrust, Layer, Off, Reach, Read};
use camino::{Utf8Path, Utf8PathBuf};

use super::{Check, Finding};
use crate::commands::install::{Places, is_same_place, next_steps};

/// The settings of an agent that exist, and those that cannot be read.
pub(super) struct Settings {
    files: Vec<Read>,
    unreadable: Vec<Off>,
    /// Gemini CLI's file of variables; two where nobody can tell which.
    environments: Vec<Environment>,
}

impl Settings {
    pub(super) fn read(host: Host, places: &Places) -> Self {
        let mut settings = Self { files: Vec::new(), unreadable: Vec::new(), environments: Vec::new() };
        for layer in switch::layers(host, places.roots()) {
            match layer.suffix {
                None => settings.take(layer),
                Some(suffix) => {
                    for path in with_suffix(&layer.path, suffix) {
                        settings.take(Layer { path, suffix: None, ..layer.clone() });
                    }
                }
            }
        }
        if host == Host::Gemini {
            let lists = switch::environment_files(&settings.files, &real(places.here()), places.roots());
            settings.environments = lists.iter().filter_map(|list| environment(list)).collect();
            settings.environments.dedup();
        }
        settings
    }

    fn take(&mut self, layer: Layer) {
        // The person's own file is no project's, by whichever links it is reached.
        let is_known = |known: &Read| is_same_place(&known.layer.path, &layer.path);
        if layer.reach == Reach::Project && self.files.iter().any(is_known) {
            return;
        }
        match others::read(&layer.path, edit::LIMIT) {
            Ok(Some(bytes)) => self.files.push(Read { layer, bytes }),
            Ok(None) => {}
            Err(error) => self.unreadable.push(Off {
                applies: Applies::Unknown,
                file: Some(layer.path),
                text: format!("{error}; whether it switches hooks off cannot be told. Make it readable"),
            }),
        }
    }

    /// What keeps the entries in a file from running. What is wrong with that file itself is told elsewhere.
    pub(super) fn off(
        &self,
        host: Host,
        places: &Places,
        entries: (&Utf8Path, &[u8]),
        for_project: bool,
    ) -> Vec<Off> {
        let (path, bytes) = entries;
        let names = switch::hook_names(host, bytes);
        let mut off = switch::off(host, &self.files, &names, places.roots(), for_project);
        off.extend(self.unreadable.iter().cloned());
        off.retain(|off| off.applies != Applies::Unknown || off.file.as_deref() != Some(path));
        for environment in &self.environments {
            off.extend(switch::by_environment(&self.files, environment, places.roots()));
        }
        off
    }

    /// Whether Gemini CLI runs hooks in this folder.
    pub(super) fn folder_trust(&self, places: &Places) -> Check {
        let say = |finding, text: String| Check { what: "trust", finding, text };
        let path = switch::trusted_folders(places.roots());
        let shown = text::line(path.as_str()).into_owned();
        let folders = match others::read(&path, edit::LIMIT) {
            Ok(folders) => folders,
            Err(error) => {
                return say(
                    Finding::Bad,
                    format!("{error}, so Gemini CLI trusts no folder. Make it readable"),
                );
            }
        };
        let folder = text::line(places.here().as_str());
        match switch::folder_trust(&self.files, folders.as_deref(), places.roots(), &real) {
            FolderTrust::NotAsked => say(Finding::Good, "it asks for none here".to_owned()),
            FolderTrust::Trusted => say(Finding::Good, format!("{folder} is trusted, says {shown}")),
            FolderTrust::Refused => say(
                Finding::Bad,
                format!(
                    "{folder} is not trusted, says {shown}: Gemini CLI runs no hook there, yours neither. Start `gemini` \
                     there and trust it with /permissions"
                ),
            ),
            FolderTrust::Undecided => say(
                Finding::Note,
                format!("nobody was asked about {folder} yet. {}", next_steps(Host::Gemini, false).trim()),
            ),
        }
    }
}

/// Each as a finding of its own.
pub(super) fn checks(off: Vec<Off>) -> impl Iterator<Item = Check> {
    off.into_iter().map(|off| Check { what: "switch", finding: Finding::Bad, text: off.text })
}

/// The first that is there. A directory is taken for it, too, and says nothing.
fn environment(list: &[Utf8PathBuf]) -> Option<Environment> {
    let path = list.iter().find(|path| path.exists())?;
    if path.is_dir() {
        return None;
    }
    let bytes = others::read(path, edit::LIMIT).map_err(|error| error.to_string());
    Some(Environment { path: path.clone(), bytes: bytes.map(Option::unwrap_or_default) })
}

fn with_suffix(folder: &Utf8Path, suffix: &str) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let mut paths: Vec<Utf8PathBuf> = entries
        .filter(|entry| entry.file_name().ends_with(suffix))
        .map(camino::Utf8DirEntry::into_path)
        .filter(|path| fs::metadata(path).is_ok_and(|data| data.is_file()))
        .collect();
    paths.sort();
    paths
}

fn real(path: &Utf8Path) -> Utf8PathBuf {
    path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned())
}
