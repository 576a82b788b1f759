//! A home and a workspace of a campaign's own.

use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use becket_e2e::Error;
use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use crate::census;
use crate::process::{Process, Ran};

/// No verb may take longer, on however busy a machine.
pub(crate) const LONGEST: Duration = Duration::from_secs(30);

/// Directories that are removed when this is dropped, with whatever still runs in them.
#[derive(Debug)]
pub(crate) struct Stage {
    _directory: TempDir,
    root: Utf8PathBuf,
    becket: &'static Path,
}

impl Stage {
    /// A home, a project with a `.git`, and a folder for the marks of hooks that ran.
    pub(crate) fn new() -> Result<Self, Error> {
        let directory = tempfile::Builder::new().prefix("becket-campaign-").tempdir()?;
        let root = Utf8PathBuf::from_path_buf(directory.path().canonicalize()?)
            .map_err(|path| format!("{} is not UTF-8", path.display()))?;
        let private = |path: &str| fs::DirBuilder::new().recursive(true).mode(0o700).create(root.join(path));
        for path in ["home", "project/.git", "bin", "tmp", "marks", "profile/config"] {
            private(path)?;
        }
        symlink("/bin/sleep", root.join("bin/linger"))?;
        let stage = Self { _directory: directory, root, becket: becket_e2e::becket()? };
        // Links to the program stay as they are named, so that `install` writes the same line each time.
        symlink(stage.becket, stage.root.join("bin/becket"))?;
        Ok(stage)
    }

    pub(crate) fn root(&self) -> &Utf8Path {
        &self.root
    }

    pub(crate) fn home(&self) -> Utf8PathBuf {
        self.root.join("home")
    }

    pub(crate) fn project(&self) -> Utf8PathBuf {
        self.root.join("project")
    }

    pub(crate) fn marks(&self) -> Utf8PathBuf {
        self.root.join("marks")
    }

    /// `BECKET_HOME`.
    pub(crate) fn state(&self) -> Utf8PathBuf {
        self.root.join("home/.local/state/becket")
    }

    /// A program that does nothing for so many seconds; its command line tells of this stage.
    pub(crate) fn linger(&self, seconds: u32) -> String {
        format!("{}/bin/linger {seconds}", self.root)
    }

    /// A hook of albedo's that denies what has this word in it, and names the event, `event-N`, in all that it says.
    pub(crate) fn guard(event: &str, word: &str) -> String {
        let context = format!(
            r#"{{"hookSpecificOutput":{{"hookEventName":"{event}","additionalContext":"event-%s"}}}}"#
        );
        format!(
            "text=$(cat); n=${{text##*event-}}; n=${{n%%[!0-9]*}}; \
             case $text in *{word}*) echo \"no event-$n\" >&2; exit 2;; esac; printf '{context}' \"$n\""
        )
    }

    /// What albedo keeps for a workspace.
    pub(crate) fn albedo(&self, workspace: &Utf8Path) -> Utf8PathBuf {
        let dashed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let slug: String = workspace.as_str().chars().map(dashed).collect();
        self.home().join(".albedo/workspaces").join(slug)
    }

    /// Writes a file, with its directories, by its path from the stage's root.
    pub(crate) fn write(&self, path: impl AsRef<Utf8Path>, content: &str) -> Result<Utf8PathBuf, Error> {
        let path = self.root.join(path);
        if let Some(parent) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        fs::write(&path, content)?;
        Ok(path)
    }

    /// The environment of everything here.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let path = env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        vec![
            ("PATH", format!("{}/bin:{path}", self.root)),
            ("HOME", self.home().into_string()),
            ("TMPDIR", self.root.join("tmp").into_string()),
            ("SHADOWCODE_PROFILE", self.root.join("profile").into_string()),
            ("LANG", "C.UTF-8".to_owned()),
        ]
    }

    /// The program in the project, with nothing of our own environment.
    pub(crate) fn becket(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.root.join("bin/becket"));
        command.args(arguments).current_dir(self.project()).env_clear().envs(self.environment());
        command
    }

    /// Runs the program, bounded.
    pub(crate) fn run(&self, arguments: &[&str], stdin: &str) -> Result<Ran, Error> {
        Ok(Process::start(&mut self.becket(arguments), stdin.as_bytes())?.finish(LONGEST)?)
    }

    /// Runs the program, which must succeed.
    pub(crate) fn must(&self, arguments: &[&str]) -> Result<Ran, Error> {
        let ran = self.run(arguments, "")?;
        if ran.code == Some(0) {
            return Ok(ran);
        }
        Err(format!("becket {}: {}", arguments.join(" "), ran.words()).into())
    }

    /// The sources that `becket list` knows, with path, standing and hash.
    pub(crate) fn sources(&self) -> Result<Vec<(String, String, String)>, Error> {
        let list = self.must(&["list", "--json"])?.json();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let sources = list["sources"].as_array().into_iter().flatten();
        Ok(sources.map(|at| (text(&at["path"]), text(&at["standing"]), text(&at["hash"]))).collect())
    }

    /// The names of hooks that have left their mark.
    pub(crate) fn marked(&self) -> Vec<String> {
        let entries = fs::read_dir(self.marks()).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Forgets who has left a mark.
    pub(crate) fn wipe_marks(&self) {
        for name in self.marked() {
            drop(fs::remove_file(self.marks().join(name)));
        }
    }

    /// Files below the stage whose name begins so.
    pub(crate) fn files_named(&self, beginning: &str) -> Vec<Utf8PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
            for entry in entries {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path().to_owned()),
                    Ok(_) if entry.file_name().starts_with(beginning) => found.push(entry.path().to_owned()),
                    _ => {}
                }
            }
        }
        found
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let left = census::carrying(self.root.as_str());
        census::end(&left, &[]);
    }
}
