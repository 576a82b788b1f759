//! Hooks that misbehave, in all three dialects, and the events that meet them.

use becket_e2e::Error;
use camino::{Utf8Path, Utf8PathBuf};
use fastrand::Rng;
use serde_json::{Value, json};

use super::kinds::{KINDS, Kind};
use crate::stage::Stage;

/// So many mixtures of albedo's hooks there are.
const MIXTURES: usize = 64;
/// Hooks of one mixture: as many as albedo runs at once.
const AT_ONCE: usize = 8;
/// ShadowCode lets a project enable as many.
const MOST_OF_PROJECT: usize = 16;
/// A tool's input that no pipe takes at once.
const LARGE: usize = 200_000;

/// Where the hooks run: below whom, and with which setting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mode {
    pub(super) name: &'static str,
    /// The share of all hooks, in a hundred.
    pub(super) share: u32,
    pub(super) keepers: bool,
    pub(super) everything_ends: bool,
}

/// Each has hooks and a home of its own.
pub(super) const MODES: &[Mode] = &[
    Mode { name: "Group", share: 30, keepers: false, everything_ends: false },
    Mode { name: "Keeper", share: 30, keepers: true, everything_ends: false },
    Mode { name: "Group, end_everything", share: 15, keepers: false, everything_ends: true },
    Mode { name: "Keeper, end_everything", share: 15, keepers: true, everything_ends: true },
];

/// A stage with the hooks of a mode, and its settings file.
pub(super) fn set(mode: Mode, rng: &mut Rng) -> Result<(Stage, Utf8PathBuf), Error> {
    let stage = Stage::new()?;
    let kinds: Vec<&Kind> =
        KINDS.iter().filter(|kind| kind.has_a_place(mode.keepers, mode.everything_ends)).collect();
    let command = |kind: &Kind| kind.command(|seconds| stage.linger(seconds));
    let mut mixtures = Vec::new();
    for number in 0..MIXTURES {
        let hooks: Vec<Value> = (0..AT_ONCE)
            .map(|_| {
                let kind = kinds[rng.usize(..kinds.len())];
                let timeout = 0.1 + 0.2 * rng.f64();
                json!({"type": "command", "command": command(kind), "timeout": timeout})
            })
            .collect();
        mixtures.push(json!({"matcher": format!("^mixture-{number}$"), "hooks": hooks}));
    }
    stage.write("home/.albedo/hooks.json", &json!({"hooks": {"PreToolUse": mixtures}}).to_string())?;
    let celeste: Vec<Value> = kinds
        .iter()
        .map(|kind| {
            let matcher = format!("one-{}", kind.name);
            json!({"event": "PreToolUse", "matcher": matcher, "command": command(kind), "timeout": 1})
        })
        .collect();
    stage.write("home/.celeste/hooks.json", &json!({ "hooks": celeste }).to_string())?;
    // The last ones, among which are those that only have a place here.
    for kind in kinds.iter().rev().take(MOST_OF_PROJECT) {
        let hook = json!({
            "name": kind.name, "events": ["after_edit"], "path_suffix": format!(".{}", kind.name),
            "command": command(kind), "timeout_sec": 1,
        });
        stage.write(format!("project/.shadowcode/hooks/{}.json", kind.name), &hook.to_string())?;
    }
    stage.must(&["trust"])?;
    for (path, standing, hash) in stage.sources()? {
        if standing == "untrusted" {
            stage.must(&["approve", &path, "--hash", &hash])?;
        }
    }
    let config = stage.write(
        "home/.config/becket/config.toml",
        &format!("[exec]\nend_everything = {}\n", mode.everything_ends),
    )?;
    Ok((stage, config))
}

/// An event that meets some of them: mostly a mixture, sometimes one of Celeste's or ShadowCode's, which may take a second
/// each.
pub(crate) fn envelope(project: &Utf8Path, rng: &mut Rng) -> Value {
    let kind = &KINDS[rng.usize(..KINDS.len())];
    let more = if rng.u32(..5) == 0 { LARGE } else { 10 };
    let input = json!({"file_path": format!("notes.{}", kind.name), "content": "x".repeat(more)});
    let (event, tool) = match rng.u32(..8) {
        0 => ("PreToolUse", format!("one-{}", kind.name)),
        1 => ("PostToolUse", "Write".to_owned()),
        _ => ("PreToolUse", format!("mixture-{}", rng.usize(..MIXTURES))),
    };
    json!({
        "hook_event_name": event, "cwd": project, "tool_name": tool, "tool_input": input, "tool_response": "ok",
    })
}
