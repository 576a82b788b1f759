//! What the program is killed at.

use std::{fmt, io};

use fastrand::Rng;
use serde_json::json;

use super::scene::{FORBIDDEN, Scene};
use crate::process::Process;

/// A kind of deed, each with a usual time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    FireCall,
    FireDenied,
    FirePrompt,
    FireEdit,
    FireStop,
    HookCall,
    HookDenied,
    Approve,
    Decline,
    Forget,
    Project,
    Install,
    Uninstall,
}

impl Kind {
    pub(super) const ALL: [Self; 13] = [
        Self::Project,
        Self::Approve,
        Self::FireCall,
        Self::FireDenied,
        Self::FirePrompt,
        Self::FireEdit,
        Self::FireStop,
        Self::HookCall,
        Self::HookDenied,
        Self::Decline,
        Self::Forget,
        Self::Install,
        Self::Uninstall,
    ];

    pub(super) fn any(rng: &mut Rng) -> Self {
        // Approvals are what must not be lost: twice as often.
        let at = rng.usize(..=Self::ALL.len());
        Self::ALL.get(at).copied().unwrap_or(Self::Approve)
    }

    pub(super) fn fires(self) -> bool {
        matches!(
            self,
            Self::FireCall
                | Self::FireDenied
                | Self::FirePrompt
                | Self::FireEdit
                | Self::FireStop
                | Self::HookCall
                | Self::HookDenied
        )
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::HookCall | Self::HookDenied => "`becket hook codex` under way",
            kind if kind.fires() => "`becket fire` under way",
            Self::Approve => "`becket approve` under way",
            Self::Decline => "`becket decline` under way",
            Self::Forget => "`becket forget` under way",
            Self::Project => "`becket trust` and `untrust` under way",
            _ => "`becket install` and `uninstall` under way",
        }
    }
}

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Approve,
    Decline,
    Forget,
}

/// An event.
pub(super) struct Fire {
    pub(super) session: String,
    /// Which event it is.
    pub(super) number: u64,
    /// The call's name; long, so that the session's file grows.
    pub(super) call: String,
    /// As an agent that Becket is plugged into.
    pub(super) as_codex: bool,
}

impl fmt::Debug for Fire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event-{} in {}", self.number, self.session)
    }
}

/// What is done.
#[derive(Debug)]
pub(super) enum What {
    Fire(Fire),
    /// About a source, by its place.
    Answer(usize, Answer),
    /// Whether the project is trusted.
    Project(bool),
    /// Whether an agent, by its place, is plugged in.
    Plug(usize, bool),
}

/// One deed.
#[derive(Debug)]
pub(super) struct Deed {
    pub(super) kind: Kind,
    pub(super) what: What,
}

impl Deed {
    pub(super) fn of(kind: Kind, scene: &Scene, rng: &mut Rng, session: &str, number: u64) -> Self {
        let what = match kind {
            Kind::Approve => answer(scene, rng, Answer::Approve),
            Kind::Decline => answer(scene, rng, Answer::Decline),
            Kind::Forget => answer(scene, rng, Answer::Forget),
            // Mostly trusted: what asks for it can be answered about only then.
            Kind::Project => What::Project(!scene.is_project_trusted || rng.u32(..3) > 0),
            Kind::Install => What::Plug(rng.usize(..scene.settings.len()), true),
            Kind::Uninstall => What::Plug(rng.usize(..scene.settings.len()), false),
            fires => What::Fire(Fire {
                session: session.to_owned(),
                number,
                call: format!("call-{:016x}-{}", rng.u64(..), "x".repeat(600)),
                as_codex: matches!(fires, Kind::HookCall | Kind::HookDenied),
            }),
        };
        Self { kind, what }
    }

    /// Starts the program.
    pub(super) fn start(&self, scene: &Scene) -> io::Result<Process> {
        let stage = &scene.stage;
        match &self.what {
            What::Fire(fire) => {
                let envelope = self.envelope(scene, fire).to_string();
                let home = stage.home();
                let profile = format!("SHADOWCODE_PROFILE={}/profile", stage.root());
                let event = self.event();
                let hook = [
                    "hook",
                    "codex",
                    "--home",
                    home.as_str(),
                    "--deadline",
                    "25",
                    "--event",
                    event,
                    "--set",
                    &profile,
                ];
                let arguments: &[&str] = if fire.as_codex { &hook } else { &["fire"] };
                Process::start(&mut stage.becket(arguments), envelope.as_bytes())
            }
            What::Answer(source, answer) => {
                let source = &scene.sources[*source];
                let verb = match answer {
                    Answer::Approve => "approve",
                    Answer::Decline => "decline",
                    Answer::Forget => "forget",
                };
                let arguments = [verb, source.path.as_str(), "--hash", &source.hash];
                Process::start(&mut stage.becket(&arguments), b"")
            }
            What::Project(is_trusted) => {
                let verb = if *is_trusted { "trust" } else { "untrust" };
                Process::start(&mut stage.becket(&[verb]), b"")
            }
            What::Plug(host, is_in) => {
                let verb = if *is_in { "install" } else { "uninstall" };
                Process::start(&mut stage.becket(&[verb, scene.settings[*host].host]), b"")
            }
        }
    }

    /// The event's name.
    pub(super) fn event(&self) -> &'static str {
        match self.kind {
            Kind::FirePrompt => "UserPromptSubmit",
            Kind::FireEdit => "PostToolUse",
            Kind::FireStop => "Stop",
            _ => "PreToolUse",
        }
    }

    /// Whether the right verdict is a denial.
    pub(super) fn must_be_denied(&self) -> bool {
        matches!(self.kind, Kind::FireDenied | Kind::HookDenied)
    }

    fn envelope(&self, scene: &Scene, fire: &Fire) -> serde_json::Value {
        let mut envelope = json!({
            "hook_event_name": self.event(), "session_id": fire.session, "cwd": scene.stage.project(),
        });
        let more = match self.kind {
            Kind::FirePrompt => json!({"prompt": format!("fix event-{}", fire.number)}),
            Kind::FireStop => json!({"stop_hook_active": false}),
            Kind::FireEdit => json!({
                "tool_name": "Write", "tool_use_id": fire.call, "tool_response": "ok",
                "tool_input": {"file_path": "notes.md", "content": format!("x event-{}", fire.number)},
            }),
            _ => {
                let word = if self.must_be_denied() { FORBIDDEN } else { "fine" };
                json!({"tool_name": "Bash", "tool_use_id": fire.call, "tool_input": {"command": format!("echo {word} event-{}", fire.number)}})
            }
        };
        if fire.as_codex {
            envelope["turn_id"] = "turn".into();
            envelope["transcript_path"] = "/nowhere/rollout.jsonl".into();
            envelope["model"] = "scripted".into();
            envelope["permission_mode"] = "default".into();
        }
        for (key, value) in more.as_object().into_iter().flatten() {
            envelope[key] = value.clone();
        }
        envelope
    }

    /// Whether an exit code acknowledges the deed.
    pub(super) fn is_taken(&self, code: Option<i32>) -> bool {
        match (&self.what, self.kind) {
            (What::Fire(fire), _) if fire.as_codex => code == Some(0),
            (What::Fire(_), Kind::FireDenied) => code == Some(2),
            // A turn is continued eight times, then it ends.
            (What::Fire(_), Kind::FireStop) => matches!(code, Some(0 | 2)),
            _ => code == Some(0),
        }
    }
}

fn answer(scene: &Scene, rng: &mut Rng, answer: Answer) -> What {
    let can_be = |source: &super::scene::Source| {
        !source.is_never_answered && (scene.is_project_trusted || !source.asks_for_project)
    };
    let sources: Vec<usize> =
        (0..scene.sources.len()).filter(|source| can_be(&scene.sources[*source])).collect();
    What::Answer(sources[rng.usize(..sources.len())], answer)
}
