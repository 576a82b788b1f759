//! Gemini CLI.

use std::process::Command;

use becket_model::Model;
use serde_json::{Value, json};

use crate::{Error, Hook, Sandbox};

const SETTINGS: &str = "home/.gemini/settings.json";

fn settings() -> Value {
    json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "hooksConfig": {"enabled": true},
        "privacy": {"usageStatisticsEnabled": false},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "telemetry": {"enabled": false},
    })
}

pub(super) fn configure(sandbox: &Sandbox) -> Result<(), Error> {
    sandbox.write(SETTINGS, &format!("{:#}\n", settings()))?;
    Ok(())
}

/// The agent's word for an event.
fn word(event: &str) -> &str {
    match event {
        "UserPromptSubmit" => "BeforeAgent",
        "PreToolUse" => "BeforeTool",
        "PostToolUse" => "AfterTool",
        "Stop" => "AfterAgent",
        same => same,
    }
}

pub(super) fn hook_natively(sandbox: &Sandbox, hooks: &[Hook]) -> Result<(), Error> {
    let mut settings = settings();
    for (number, hook) in hooks.iter().enumerate() {
        let entry = json!({"type": "command", "command": hook.command, "name": format!("hook {number}"), "timeout": hook.seconds * 1000});
        let groups = &mut settings["hooks"][word(hook.event)];
        if groups.is_null() {
            *groups = json!([{"hooks": []}]);
        }
        if let Some(entries) = groups.pointer_mut("/0/hooks").and_then(Value::as_array_mut) {
            entries.push(entry);
        }
    }
    sandbox.write(SETTINGS, &format!("{settings:#}\n"))?;
    Ok(())
}

pub(super) fn ask(command: &mut Command, model: &Model, prompt: &str) {
    command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", model.url());
    // Without this it starts itself a second time, with more memory.
    command.env("GEMINI_CLI_NO_RELAUNCH", "true");
    command.args(["--yolo", "--skip-trust", "-m", "gemini-2.5-flash", "-p", prompt]);
}
