//! The dialects that guards are written in.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::{Error, Sandbox};

/// Whose words a guard speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named after its project")]
pub enum Dialect {
    Albedo,
    Celeste,
    Shadowcode,
}

/// A hook in a dialect.
#[derive(Debug, Clone)]
pub struct Hook {
    /// The event, in the words of who reads it.
    pub event: &'static str,
    /// A shell command of one line.
    pub command: String,
    /// Seconds it may take.
    pub seconds: u64,
}

impl Hook {
    /// Writes a script in shell and makes a hook of it that may take 20 s.
    ///
    /// # Errors
    /// The script cannot be written.
    pub fn script(sandbox: &Sandbox, event: &'static str, name: &str, text: &str) -> Result<Self, Error> {
        let path = sandbox.write(&format!("hooks/{name}"), &format!("#!/bin/sh\n{text}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(Self { event, command: path.display().to_string(), seconds: 20 })
    }

    /// The same with another limit.
    #[must_use]
    pub fn within(self, seconds: u64) -> Self {
        Self { seconds, ..self }
    }
}

impl Dialect {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Albedo, Self::Celeste, Self::Shadowcode];

    /// Its name for Becket.
    pub fn name(self) -> &'static str {
        match self {
            Self::Albedo => "albedo",
            Self::Celeste => "celeste",
            Self::Shadowcode => "shadowcode",
        }
    }

    /// Writes hooks and sees to it that they may run: the user's own files for albedo and Celeste, definitions of the
    /// project, approved, for ShadowCode.
    ///
    /// # Errors
    /// A file cannot be written, or Becket refuses the approval.
    pub fn hook(self, sandbox: &Sandbox, hooks: &[Hook]) -> Result<(), Error> {
        match self {
            Self::Albedo => sandbox.write("home/.albedo/hooks.json", &albedo(hooks).to_string()).map(drop),
            Self::Celeste => sandbox.write("home/.celeste/hooks.json", &celeste(hooks).to_string()).map(drop),
            Self::Shadowcode => {
                define(sandbox, hooks)?;
                approve(sandbox)
            }
        }
    }

    /// A guard that forbids shell commands with this word in them.
    ///
    /// # Errors
    /// As [`Dialect::hook`].
    pub fn forbid(self, sandbox: &Sandbox, word: &str, reason: &str) -> Result<(), Error> {
        let (event, text) = match self {
            Self::Albedo => ("PreToolUse", format!("grep -q {word} || exit 0\necho '{reason}' >&2\nexit 2")),
            Self::Celeste => {
                let deny = json!({"decision": "deny", "reason": reason});
                ("PreToolUse", format!("grep -q {word} || exit 0\necho '{deny}'"))
            }
            Self::Shadowcode => {
                let text =
                    format!("case $SHADOW_HOOK_COMMAND in *{word}*) echo '{reason}' >&2; exit 1;; esac");
                ("before_command", text)
            }
        };
        self.hook(sandbox, &[Hook::script(sandbox, event, "forbid", &text)?])
    }
}

fn albedo(hooks: &[Hook]) -> Value {
    let mut events = json!({});
    for hook in hooks {
        let entry = json!({"hooks": [{"type": "command", "command": hook.command, "timeout": hook.seconds}]});
        match &mut events[hook.event] {
            Value::Array(entries) => entries.push(entry),
            none => *none = json!([entry]),
        }
    }
    json!({"hooks": events})
}

fn celeste(hooks: &[Hook]) -> Value {
    let entry = |hook: &Hook| json!({"event": hook.event, "command": hook.command, "timeout": hook.seconds});
    json!({"hooks": hooks.iter().map(entry).collect::<Vec<_>>()})
}

fn define(sandbox: &Sandbox, hooks: &[Hook]) -> Result<(), Error> {
    for (number, hook) in hooks.iter().enumerate() {
        let definition = json!({
            "name": format!("hook-{number}"), "events": [hook.event], "command": hook.command,
            "timeout_sec": hook.seconds,
        });
        sandbox.write(&format!("project/.shadowcode/hooks/hook-{number}.json"), &definition.to_string())?;
    }
    Ok(())
}

/// Approves everything in the project that awaits it.
fn approve(sandbox: &Sandbox) -> Result<(), Error> {
    sandbox.becket(&["trust", &sandbox.project().display().to_string()])?;
    let list: Value = serde_json::from_str(&sandbox.becket(&["list", "--json"])?.stdout)?;
    for source in list["sources"].as_array().into_iter().flatten() {
        if let (Some("untrusted"), Some(path), Some(hash)) =
            (source["standing"].as_str(), source["path"].as_str(), source["hash"].as_str())
        {
            sandbox.becket(&["approve", path, "--hash", hash])?;
        }
    }
    Ok(())
}
