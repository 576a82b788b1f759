//! opencode, over OpenAI's Chat Completions.

use std::process::Command;

use becket_model::Model;
use serde_json::json;

use crate::{Error, Sandbox};

pub(super) fn configure(sandbox: &Sandbox, model: &Model) -> Result<(), Error> {
    let config = json!({
        "$schema": "https://opencode.ai/config.json",
        "model": "mock/mock",
        "small_model": "mock/mock",
        "autoupdate": false,
        "share": "disabled",
        "permission": {"edit": "allow", "bash": "allow"},
        "provider": {"mock": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "mock",
            "options": {"baseURL": format!("{}/v1", model.url()), "apiKey": "none"},
            "models": {"mock": {"name": "mock", "tool_call": true}},
        }},
    });
    sandbox.write("project/opencode.json", &format!("{config:#}\n"))?;
    Ok(())
}

pub(super) fn ask(command: &mut Command, prompt: &str) {
    command.env("OPENCODE_DISABLE_AUTOUPDATE", "1").env("OPENCODE_DISABLE_MODELS_FETCH", "1");
    command.args(["run", prompt]);
}
