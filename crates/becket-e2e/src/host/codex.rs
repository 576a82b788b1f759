//! Codex, over OpenAI's Responses.

use std::process::Command;

use becket_model::Model;
use serde_json::{Value, json};

use crate::{Error, Hook, Sandbox};

pub(super) const PROGRAMS: [&str; 2] = [
    "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
    "@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex",
];

pub(super) fn configure(sandbox: &Sandbox, model: &Model) -> Result<(), Error> {
    let config = format!(
        r#"model = "gpt-5.5"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.mock]
name = "mock"
base_url = "{}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[projects.{}]
trust_level = "trusted"
"#,
        model.url(),
        Value::from(sandbox.project().display().to_string()),
    );
    sandbox.write("home/.codex/config.toml", &config)?;
    Ok(())
}

pub(super) fn hook_natively(sandbox: &Sandbox, hooks: &[Hook]) -> Result<(), Error> {
    let mut events = json!({});
    for hook in hooks {
        let entry = json!({"type": "command", "command": hook.command, "timeout": hook.seconds});
        let groups = &mut events[hook.event];
        if groups.is_null() {
            *groups = json!([{"hooks": []}]);
        }
        if let Some(entries) = groups.pointer_mut("/0/hooks").and_then(Value::as_array_mut) {
            entries.push(entry);
        }
    }
    sandbox.write("home/.codex/hooks.json", &json!({"hooks": events}).to_string())?;
    Ok(())
}

/// Codex runs a hook only once a person has reviewed it in its own page; this option stands for that.
pub(super) fn ask(command: &mut Command, sandbox: &Sandbox, prompt: &str) {
    command.env("CODEX_HOME", sandbox.home().join(".codex"));
    command.args(["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", prompt]);
}
