//! What all replies together mean for the agent, and the runs that led to it: the JSON that `becket fire` prints,
//! `becket serve` answers and the journal keeps.

use serde::{Deserialize, Serialize};

use crate::event::EventName;
use crate::json::Object;

/// What the agent must do. The order is one of strictness: a later one is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// A hook that can says that no question is needed. The agent's own denials still apply.
    Grant,
    /// Nothing objects: the agent's own rules still apply.
    Allow,
    /// A person must be asked.
    Ask,
    /// This action, prompt, stop or compaction is blocked. On `Stop` and `SubagentStop`: go on.
    Deny,
    /// The turn or task ends.
    Halt,
}

/// What becomes of a tool's result after the tool has run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call counts as failed.
    pub failed: bool,
    /// What the model is told.
    pub feedback: String,
    /// Whether the feedback stands instead of what the model would have seen.
    pub replaces: bool,
}

/// How one run went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It ran and did not object.
    Passed,
    /// It ran and objected.
    Blocked,
    /// It broke.
    Failed,
    /// Its time ran out.
    TimedOut,
    /// It was ended because the event was.
    Cancelled,
    /// Its end could not be learnt, or it was never started for lack of time.
    Lost,
    /// It did not run; the detail says why.
    Skipped,
}

/// One execution of one hook, or the reason why there was none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The hook's dialect.
    pub dialect: crate::dialect::Name,
    /// The file that defines the hook.
    pub source: String,
    /// The hook's place in its source, from 0.
    pub index: usize,
    /// The hook's own name, where its dialect has names.
    pub name: Option<String>,
    /// The event as the dialect sees it.
    pub moment: String,
    /// The command as it is written.
    pub command: String,
    /// 1, or 2 when another input was judged than the one the model wrote.
    pub look: u8,
    /// How it went.
    pub status: Status,
    /// Why, in one line; empty where there is nothing to say.
    pub detail: String,
    /// Null after a signal and where nothing ran.
    pub exit_code: Option<i32>,
    /// Wall time in milliseconds, to a tenth.
    pub duration_ms: f64,
    /// Whether output was left out.
    pub truncated: bool,
}

/// A signal's usual name, for [`Run::detail`].
pub(crate) fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// What all replies together mean for the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The event that was fired.
    pub event: EventName,
    /// What the agent must do.
    pub decision: Decision,
    /// The deciding hook's own text. Whoever shows it escapes it.
    pub reason: Option<String>,
    /// The tool's input that will run instead, in the host's own keys.
    #[serde(default, deserialize_with = "crate::stored::perhaps_object")]
    pub updated_input: Option<Object>,
    /// What becomes of the tool's result.
    pub result: Option<ToolResult>,
    /// For the model, in order.
    pub additional_context: Vec<String>,
    /// For the person, in order.
    pub messages: Vec<String>,
    /// What to go on with, when a stop was denied.
    pub continue_with: Option<String>,
    /// What ran, and what was skipped.
    pub runs: Vec<Run>,
}

impl Outcome {
    /// The outcome of an event that nothing listens to.
    pub fn nothing(event: EventName) -> Self {
        Self {
            event,
            decision: Decision::Allow,
            reason: None,
            updated_input: None,
            result: None,
            additional_context: Vec::new(),
            messages: Vec::new(),
            continue_with: None,
            runs: Vec::new(),
        }
    }
}

/// The exit code of `becket fire` and what it tells a script. Public contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// Go on.
    GoOn = 0,
    /// Nothing could be judged: bad input or usage. Nothing stands on stdout.
    NotJudged = 1,
    /// Denied or halted.
    Blocked = 2,
    /// A person must be asked.
    Ask = 3,
}

impl From<Decision> for ExitCode {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Grant | Decision::Allow => Self::GoOn,
            Decision::Ask => Self::Ask,
            Decision::Deny | Decision::Halt => Self::Blocked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_reads_back_whatever_its_keys_are() {
        for input in [
            r#"{"a":{"$serde_json::private::Number":"1e5"}}"#,
            r#"{"$serde_json::private::RawValue":"{","n":1.10}"#,
            r"{}",
        ] {
            let updated_input = crate::json::parse_object(input.as_bytes()).ok();
            let outcome = Outcome { updated_input, ..Outcome::nothing(EventName::PreToolUse) };
            let written = serde_json::to_string(&outcome).unwrap();
            assert!(written.contains(input), "{written}");
            assert_eq!(serde_json::from_str::<Outcome>(&written).unwrap(), outcome);
            assert_eq!(serde_json::from_slice::<Outcome>(written.as_bytes()).unwrap(), outcome);
        }
    }
}
