//! A home and a project for one session.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use tempfile::TempDir;

use crate::bounded::{self, Ran};
use crate::{Agents, Error, Host};

/// A directory of one test's own. Whatever was started in it is ended when it is dropped.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
    path: OsString,
}

impl Sandbox {
    /// A fresh one, with an agent's program and Becket's on its path.
    ///
    /// # Errors
    /// A directory or a link cannot be made, or the agent cannot be had.
    pub fn new(agents: &Agents, host: Host, becket: &Path) -> Result<Self, Error> {
        let program = agents.program(host).map_err(|why| why.0)?;
        let root = tempfile::Builder::new().prefix("becket-e2e-").tempdir()?;
        for directory in ["home", "project/.git", "bin", "tmp"] {
            fs::create_dir_all(root.path().join(directory))?;
        }
        let bin = root.path().join("bin");
        symlink(program, bin.join(host.name()))?;
        symlink(becket, bin.join("becket"))?;
        if host == Host::Opencode {
            for directory in ["home/.config/opencode", "project/.opencode"] {
                lend_packages(&agents.plugin_packages(), &root.path().join(directory))?;
            }
        }
        let mut path = bin.into_os_string();
        if let Some(inherited) = env::var_os("PATH") {
            path.push(":");
            path.push(inherited);
        }
        Ok(Self { root, path })
    }

    /// Where everything is.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The user's home.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The project that the agent works in.
    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// Words that stand in the environment of every process of this sandbox, and of no other.
    pub fn words(&self) -> String {
        self.root().display().to_string()
    }

    /// Writes a file, with its directories, by its path from the sandbox's root.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &str, content: &str) -> Result<PathBuf, Error> {
        let path = self.root().join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, content)?;
        Ok(path)
    }

    /// A file's text; `None` when there is none.
    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    /// A command in the project with nothing of the caller's environment but the path.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.root().join("bin").join(program));
        command.current_dir(self.project()).stdin(Stdio::null()).env_clear().env("PATH", &self.path);
        command.env("HOME", self.home()).env("TMPDIR", self.root().join("tmp"));
        command.env("LANG", "C.UTF-8").env("TERM", "dumb").env("SHELL", "/bin/sh").env("NO_COLOR", "1");
        command
    }

    /// Runs a command of [`Sandbox::command`], bounded.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run(&self, command: &mut Command, longest: Duration) -> Result<Ran, Error> {
        Ok(bounded::run(command, self.root(), "agent", longest)?)
    }

    /// Runs Becket, which must succeed.
    ///
    /// # Errors
    /// It ends with another code than 0.
    pub fn becket(&self, arguments: &[&str]) -> Result<Ran, Error> {
        let ran = bounded::run(
            self.command("becket").args(arguments),
            self.root(),
            "becket",
            Duration::from_secs(60),
        )?;
        if ran.code == Some(0) {
            return Ok(ran);
        }
        Err(format!("becket {} ended with {:?}: {}{}", arguments.join(" "), ran.code, ran.stdout, ran.stderr)
            .into())
    }
}

/// What opencode would otherwise fetch for every directory that has a plugin.
fn lend_packages(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(from.join(file), to.join(file))?;
    }
    Ok(symlink(from.join("node_modules"), to.join("node_modules"))?)
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        bounded::end(&self.words());
    }
}
