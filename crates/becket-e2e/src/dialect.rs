//! The dialects that guards are written in.

use serde_json::{Value, json};

use crate::{Error, Sandbox};

/// Whose words a guard speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named after its project")]
pub enum Dialect {
    Albedo,
    Celeste,
}

/// A hook in a dialect.
#[derive(Debug, Clone)]
pub struct Hook {
    /// The common name of the event.
    pub event: &'static str,
    /// A shell command of one line.
    pub command: String,
    /// Seconds it may take.
    pub seconds: u64,
}

impl Dialect {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Albedo => "albedo",
            Self::Celeste => "Celeste",
        }
    }

    /// Writes hooks where the user's own are, which need no approval.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn hook(self, sandbox: &Sandbox, hooks: &[Hook]) -> Result<(), Error> {
        let (path, content) = match self {
            Self::Albedo => ("home/.albedo/hooks.json", albedo(hooks)),
            Self::Celeste => ("home/.celeste/hooks.json", celeste(hooks)),
        };
        sandbox.write(path, &content.to_string())?;
        Ok(())
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
