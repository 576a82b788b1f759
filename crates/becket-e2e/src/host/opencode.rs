//! opencode, over OpenAI's Chat Completions.

use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use becket_model::Model;
use serde_json::json;

use crate::{Error, Ran, Sandbox, bounded};

/// Many times what it takes from one stop to the next request.
const MOMENT: Duration = Duration::from_secs(2);

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
    quiet(command);
    command.args(["run", "--print-logs", prompt]);
}

/// Asks a server that stays, and leaves once the model has been asked so often and a moment more.
///
/// `opencode run` alone ends when the session is idle for the first time, and with it the plugin that would send it back.
pub(super) fn ask_server(
    sandbox: &Sandbox,
    prompt: &str,
    is_over: &dyn Fn() -> bool,
    longest: Duration,
) -> Result<Ran, Error> {
    let log = sandbox.root().join("server.log");
    let mut command = sandbox.command("opencode");
    quiet(&mut command);
    command.args(["serve", "--print-logs", "--hostname", "127.0.0.1", "--port", "0"]);
    let _server = bounded::serve(&mut command, &log)?;
    let mut address = None;
    bounded::until(longest, || {
        let said = fs::read_to_string(&log).unwrap_or_default();
        address = said
            .split_once("listening on ")
            .and_then(|(_, rest)| Some(rest.lines().next()?.trim().to_owned()));
        address.is_some()
    });
    let address = address.ok_or("opencode's server did not start")?;
    let mut command = sandbox.command("opencode");
    quiet(&mut command);
    let mut ran = sandbox.run(command.args(["run", "--attach", &address, prompt]), longest)?;
    bounded::until(longest, is_over);
    // Whether it goes on beyond that can only be waited for.
    thread::sleep(MOMENT);
    ran.stderr.push_str(&fs::read_to_string(&log)?);
    Ok(ran)
}

fn quiet(command: &mut Command) {
    command.env("OPENCODE_DISABLE_AUTOUPDATE", "1").env("OPENCODE_DISABLE_MODELS_FETCH", "1");
}
