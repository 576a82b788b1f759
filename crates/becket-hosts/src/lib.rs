//! The agents Becket plugs into: what each sends, what each understands, and how to plug in.
//!
//! One file a host. The way through: [`decode::decode`] makes an event of what the agent sent, the engine fires it,
//! and [`answer::encode`] says the outcome in the agent's own words. What an agent cannot say is looked up in one
//! table ([`loss`]), which the encoder follows and the documents are written from.
//!
//! Nothing here reads a file, starts a process, sees a clock or asks the environment; lints refuse it.

pub mod answer;
pub mod decode;
pub mod install;
pub mod loss;
mod plan;
pub mod switch;

mod claude;
mod codex;
mod gemini;
mod opencode;

use std::fmt;
use std::str::FromStr;

use becket_core::event::EventName;

use crate::loss::Row;

/// An agent that fires events at Becket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is named after its agent")]
pub enum Host {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

/// What a host's file in this crate was last checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// The agent's version.
    pub version: &'static str,
    /// The day, as year, month and day.
    pub date: &'static str,
    /// How it was checked.
    pub how: &'static str,
}

impl Host {
    /// Every host, by name.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode];

    /// The name on the command line. The agent's own program is called the same.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// The name as its own project writes it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
        }
    }

    /// What this crate's knowledge of the agent was last checked against.
    pub fn verified(self) -> Verified {
        match self {
            Self::Claude => claude::VERIFIED,
            Self::Codex => codex::VERIFIED,
            Self::Gemini => gemini::VERIFIED,
            Self::Opencode => opencode::VERIFIED,
        }
    }

    /// The events this agent reports, in the order of an agent's life, with what becomes of each answer.
    pub fn rows(self) -> &'static [Row] {
        match self {
            Self::Claude => claude::ROWS,
            Self::Codex => codex::ROWS,
            Self::Gemini => gemini::ROWS,
            Self::Opencode => opencode::ROWS,
        }
    }

    /// The row of one event; `None` where the agent does not report it.
    pub fn row(self, event: EventName) -> Option<&'static Row> {
        self.rows().iter().find(|row| row.event == event)
    }

    /// The variable in which the agent tells its hooks the project's directory.
    pub fn project_variable(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("CLAUDE_PROJECT_DIR"),
            Self::Gemini => Some("GEMINI_PROJECT_DIR"),
            // Codex has none; opencode's plugin sends the directory itself.
            Self::Codex | Self::Opencode => None,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no host's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown agent {}: known are claude, codex, gemini and opencode", becket_core::text::quote(.0))]
pub struct UnknownHost(pub String);

impl FromStr for Host {
    type Err = UnknownHost;

    fn from_str(name: &str) -> Result<Self, UnknownHost> {
        Self::ALL.into_iter().find(|host| host.as_str() == name).ok_or_else(|| UnknownHost(name.to_owned()))
    }
}
