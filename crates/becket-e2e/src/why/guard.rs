//! What a guard says, in the words of the engine that reads it.

use becket_e2e::{Dialect, Host};
use serde_json::{Value, json};

/// Whose words.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Words {
    Codex,
    Gemini,
    Albedo,
    Celeste,
}

impl From<Host> for Words {
    fn from(host: Host) -> Self {
        match host {
            Host::Codex | Host::Opencode => Self::Codex,
            Host::Gemini => Self::Gemini,
        }
    }
}

impl From<Dialect> for Words {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Albedo | Dialect::Shadowcode => Self::Albedo,
            Dialect::Celeste => Self::Celeste,
        }
    }
}

impl Words {
    /// No, before a tool.
    pub(crate) fn deny(self) -> Value {
        match self {
            Self::Codex | Self::Albedo => json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "the guard said no",
            }}),
            Self::Gemini | Self::Celeste => json!({"decision": "deny", "reason": "the guard said no"}),
        }
    }

    /// No, with a key beside it that the engine does not know.
    pub(crate) fn deny_with_more(self) -> Value {
        let mut deny = self.deny();
        match deny.get_mut("hookSpecificOutput") {
            Some(specific) => specific["severity"] = "high".into(),
            None => deny["severity"] = "high".into(),
        }
        deny
    }

    /// Run this instead.
    pub(crate) fn rewrite(self, host: Host, command: &str) -> Value {
        let input = match host {
            Host::Codex => json!({"command": command}),
            Host::Gemini | Host::Opencode => json!({"command": command, "description": "scripted"}),
        };
        match self {
            Self::Codex | Self::Albedo => json!({"hookSpecificOutput": {
                "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": input,
            }}),
            Self::Gemini => json!({"hookSpecificOutput": {"tool_input": input}}),
            Self::Celeste => json!({"updatedInput": input}),
        }
    }

    /// Not done yet, at a stop.
    pub(crate) fn go_on(self) -> Value {
        let decision = match self {
            Self::Codex | Self::Albedo => "block",
            Self::Gemini | Self::Celeste => "deny",
        };
        json!({"decision": decision, "reason": "the tests fail"})
    }
}
