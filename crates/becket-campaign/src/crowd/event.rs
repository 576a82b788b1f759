//! One event of the crowd, and what it must come to.

use std::process::Command;

use serde_json::json;

use crate::stage::Stage;

/// What kind of event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A call to which nobody objects.
    Allowed,
    /// The same, as an agent reports it that Becket is plugged into.
    AllowedInCodex,
    /// A call that a guard of one of the dialects denies.
    Denied(&'static str),
    /// The same, in an agent.
    DeniedInCodex(&'static str),
    Prompt,
    Edit,
    /// A stop to which a hook always objects.
    Stop,
}

/// The words that albedo's, Celeste's and ShadowCode's guards deny.
const WORDS: [&str; 3] = ["forbidden", "barred", "banned"];

impl Way {
    /// A prompt begins a new turn, and with it a new count of stops: so stops and prompts come in different sessions.
    pub(super) fn of(session: u32, place: u32) -> Self {
        let word = WORDS[(place / 5 % 3) as usize];
        match (session % 2, place % 5) {
            (0, 0..=2) => Self::Stop,
            (0, 3) => Self::Denied(word),
            (_, 0) => Self::Prompt,
            (_, 1) => Self::Edit,
            (_, 2) if place.is_multiple_of(2) => Self::Denied(word),
            (_, 2) => Self::DeniedInCodex(word),
            (0, _) | (_, 3) => Self::Allowed,
            _ => Self::AllowedInCodex,
        }
    }

    pub(super) fn is_in_codex(self) -> bool {
        matches!(self, Self::AllowedInCodex | Self::DeniedInCodex(_))
    }

    pub(super) fn is_denied(self) -> bool {
        matches!(self, Self::Denied(_) | Self::DeniedInCodex(_))
    }

    pub(super) fn event(self) -> &'static str {
        match self {
            Self::Prompt => "UserPromptSubmit",
            Self::Edit => "PostToolUse",
            Self::Stop => "Stop",
            _ => "PreToolUse",
        }
    }
}

#[derive(Debug)]
pub(super) struct Event {
    pub(super) number: u32,
    pub(super) session: String,
    pub(super) way: Way,
}

impl Event {
    pub(super) fn of(number: u32, session: &str, way: Way) -> Self {
        Self { number, session: session.to_owned(), way }
    }

    /// The host's name for the call.
    pub(super) fn call(&self) -> String {
        format!("call-{}", self.number)
    }

    pub(super) fn command(&self, stage: &Stage) -> Command {
        if !self.way.is_in_codex() {
            return stage.becket(&["fire"]);
        }
        let profile = format!("SHADOWCODE_PROFILE={}/profile", stage.root());
        let event = self.way.event();
        let home = stage.home();
        stage.becket(&[
            "hook",
            "codex",
            "--home",
            home.as_str(),
            "--deadline",
            "120",
            "--event",
            event,
            "--set",
            &profile,
        ])
    }

    pub(super) fn envelope(&self, stage: &Stage) -> String {
        let mut envelope = json!({
            "hook_event_name": self.way.event(), "session_id": self.session, "cwd": stage.project(),
        });
        let word = match self.way {
            Way::Denied(word) | Way::DeniedInCodex(word) => word,
            _ => "fine",
        };
        let more = match self.way {
            Way::Prompt => json!({"prompt": format!("fix event-{}", self.number)}),
            Way::Stop => json!({"stop_hook_active": false}),
            Way::Edit => json!({
                "tool_name": "Write", "tool_use_id": self.call(), "tool_response": "ok",
                "tool_input": {"file_path": "notes.md", "content": format!("x event-{}", self.number)},
            }),
            _ => json!({
                "tool_name": "Bash", "tool_use_id": self.call(),
                "tool_input": {"command": format!("echo {word} event-{}", self.number)},
            }),
        };
        for (key, value) in more.as_object().into_iter().flatten() {
            envelope[key] = value.clone();
        }
        if self.way.is_in_codex() {
            envelope["turn_id"] = "turn".into();
            envelope["transcript_path"] = "/nowhere/rollout.jsonl".into();
            envelope["model"] = "scripted".into();
            envelope["permission_mode"] = "default".into();
        }
        envelope.to_string()
    }
}
