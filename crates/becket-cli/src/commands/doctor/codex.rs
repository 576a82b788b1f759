//! Whether Codex trusts the entries: it is asked itself, through its own server on stdin and stdout.

use std::process::Command;

use becket::others;
use becket_hosts::Host;
use becket_hosts::install::{edit, is_installed_line};
use camino::Utf8Path;
use serde_json::{Value, json};

use super::{Check, Finding, VERSION_TIME, run};
use crate::commands::install::{Places, next_steps};

/// What Codex says of the entries in `path`; where it cannot be asked, what its settings say.
pub(super) fn trust(places: &Places, path: &Utf8Path, entries: usize) -> Check {
    let (trusted, from) = match ask(places, path) {
        Some(trusted) => (trusted, "Codex itself says so"),
        None => (remembered(places, path), "its config.toml says so"),
    };
    if trusted >= entries {
        let text = format!("all {entries} entries are trusted ({from})");
        return Check { what: "trust", finding: Finding::Good, text };
    }
    let text = format!(
        "{trusted} of {entries} entries are trusted ({from}); it skips the others without a word.\n{}",
        next_steps(Host::Codex, false).trim_end()
    );
    Check { what: "trust", finding: Finding::Bad, text }
}

/// How many of our entries run, told by `hooks/list`.
fn ask(places: &Places, path: &Utf8Path) -> Option<usize> {
    let client = json!({ "name": "becket", "title": "becket doctor", "version": env!("CARGO_PKG_VERSION") });
    let said = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "clientInfo": client } }),
        json!({ "jsonrpc": "2.0", "method": "initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "hooks/list", "params": { "cwds": [places.project()] } }),
    ];
    let said: String = said.iter().map(|line| format!("{line}\n")).collect();
    let mut command = Command::new(Host::Codex.as_str());
    command.arg("app-server").current_dir(places.project());
    let is_answer = |line: &str| {
        serde_json::from_str::<Value>(line).is_ok_and(|answer| answer.get("id") == Some(&json!(1)))
    };
    let answer = run::until_a_line(command, &said, VERSION_TIME, is_answer)?;
    let answer: Value = serde_json::from_str(&answer).ok()?;
    let hooks = answer.get("result")?.get("data")?.as_array()?.iter();
    let hooks = hooks.filter_map(|directory| directory.get("hooks")?.as_array()).flatten();
    let runs = hooks.filter(|hook| {
        let text = |key: &str| hook.get(key).and_then(Value::as_str).unwrap_or_default();
        text("sourcePath") == path.as_str()
            && is_installed_line(Host::Codex, text("command"))
            && matches!(text("trustStatus"), "trusted" | "managed")
            && hook.get("enabled") != Some(&json!(false))
    });
    Some(runs.count())
}

/// How many entries its settings have an answer of the person's about.
fn remembered(places: &Places, path: &Utf8Path) -> usize {
    let config = others::read(&places.codex_config(), edit::LIMIT).ok().flatten().unwrap_or_default();
    let config = String::from_utf8_lossy(&config);
    let key = format!("[hooks.state.\"{path}:");
    config.lines().filter(|line| line.trim_start().starts_with(&key)).count()
}
