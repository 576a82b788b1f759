//! How each agent is configured and asked.

mod codex;
mod codex_server;
mod gemini;
mod opencode;

use std::process::Command;
use std::time::Duration;

use becket_model::{Model, Turn};
use serde_json::{Value, json};

use crate::{Error, Hook, Ran, Sandbox, Served, bounded};

/// An agent that can be driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named after its agent")]
pub enum Host {
    Codex,
    Gemini,
    Opencode,
}

impl Host {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Codex, Self::Gemini, Self::Opencode];

    /// Its name for Becket, and its program's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// The package and version that is fetched.
    pub fn version(self) -> &'static str {
        match self {
            Self::Codex => "Codex 0.171.0",
            Self::Gemini => "Gemini CLI 0.61.0",
            Self::Opencode => "opencode 1.18.33",
        }
    }

    /// Where its program may be below `node_modules`.
    pub(crate) fn program_paths(self) -> &'static [&'static str] {
        match self {
            Self::Codex => &codex::PROGRAMS,
            Self::Gemini => &["@google/gemini-cli/bundle/gemini.js"],
            Self::Opencode => &["opencode-linux-x64-baseline/bin/opencode"],
        }
    }

    /// Writes the agent's configuration, without hooks.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn configure(self, sandbox: &Sandbox, model: &Model) -> Result<(), Error> {
        match self {
            Self::Codex => codex::configure(sandbox, model),
            Self::Gemini => gemini::configure(sandbox),
            Self::Opencode => opencode::configure(sandbox, model),
        }
    }

    /// Writes hooks for the agent's own engine, after [`Host::configure`].
    ///
    /// # Errors
    /// A file cannot be written, or the agent has no engine for commands.
    pub fn hook_natively(self, sandbox: &Sandbox, hooks: &[Hook]) -> Result<(), Error> {
        match self {
            Self::Codex => codex::hook_natively(sandbox, hooks),
            Self::Gemini => gemini::hook_natively(sandbox, hooks),
            Self::Opencode => Err("opencode has no hooks that are commands".into()),
        }
    }

    /// Asks the agent once, without a person, and waits for its end; for so long at most.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn ask(
        self,
        sandbox: &Sandbox,
        model: &Model,
        prompt: &str,
        longest: Duration,
    ) -> Result<Ran, Error> {
        let mut command = self.asking(sandbox, model, prompt);
        sandbox.run(&mut command, longest)
    }

    /// As [`Self::ask`], started in a directory of the project's.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn ask_below(
        self,
        sandbox: &Sandbox,
        model: &Model,
        prompt: &str,
        directory: &str,
        longest: Duration,
    ) -> Result<Ran, Error> {
        let mut command = self.asking(sandbox, model, prompt);
        sandbox.run(command.current_dir(sandbox.project().join(directory)), longest)
    }

    /// Starts asking it, and ends it and its process group when the result is dropped.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(self, sandbox: &Sandbox, model: &Model, prompt: &str) -> Result<Served, Error> {
        Ok(bounded::serve(&mut self.asking(sandbox, model, prompt), &sandbox.root().join("agent.log"))?)
    }

    fn asking(self, sandbox: &Sandbox, model: &Model, prompt: &str) -> Command {
        let mut command = sandbox.command(self.name());
        match self {
            Self::Codex => codex::ask(&mut command, sandbox, prompt),
            Self::Gemini => gemini::ask(&mut command, model, prompt),
            Self::Opencode => opencode::ask(&mut command, prompt),
        }
        command
    }

    /// Asks so that what the agent tells the person is in what it writes. Hooks must have been trusted
    /// ([`Host::trust`]).
    ///
    /// # Errors
    /// It cannot be started.
    pub fn ask_aloud(
        self,
        sandbox: &Sandbox,
        model: &Model,
        prompt: &str,
        longest: Duration,
    ) -> Result<Ran, Error> {
        match self {
            Self::Codex => codex_server::ask(sandbox, prompt, longest),
            Self::Gemini | Self::Opencode => self.ask(sandbox, model, prompt, longest),
        }
    }

    /// Does what a person does to let the agent run its hooks; how many it now trusts, where it counts them.
    ///
    /// # Errors
    /// The agent refuses.
    pub fn trust(self, sandbox: &Sandbox, longest: Duration) -> Result<Option<usize>, Error> {
        match self {
            Self::Codex => codex_server::trust(sandbox, longest).map(Some),
            Self::Gemini | Self::Opencode => Ok(None),
        }
    }

    /// Asks in a session that lasts beyond the first stop, as it does before a person: until something is so, and a
    /// moment more.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn ask_on(
        self,
        sandbox: &Sandbox,
        model: &Model,
        prompt: &str,
        is_over: &dyn Fn() -> bool,
        longest: Duration,
    ) -> Result<Ran, Error> {
        match self {
            Self::Codex | Self::Gemini => self.ask(sandbox, model, prompt, longest),
            Self::Opencode => opencode::ask_server(sandbox, prompt, is_over, longest),
        }
    }

    /// The model calls the agent's shell.
    pub fn shell(self, command: &str) -> Turn {
        match self {
            Self::Codex => Turn::call("exec_command", json!({"cmd": command})),
            Self::Gemini => {
                Turn::call("run_shell_command", json!({"command": command, "description": "scripted"}))
            }
            Self::Opencode => Turn::call("bash", json!({"command": command, "description": "scripted"})),
        }
    }

    /// The model writes a new file of one line, by its path in the project.
    pub fn write(self, path: &str, line: &str) -> Turn {
        match self {
            Self::Codex => {
                let patch = format!("*** Begin Patch\n*** Add File: {path}\n+{line}\n*** End Patch\n");
                Turn::call("apply_patch", Value::String(patch))
            }
            Self::Gemini => {
                Turn::call("write_file", json!({"file_path": path, "content": format!("{line}\n")}))
            }
            Self::Opencode => Turn::call("write", json!({"filePath": path, "content": format!("{line}\n")})),
        }
    }
}
