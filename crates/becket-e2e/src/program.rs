//! The `becket` program under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::{env, fs};

use serde_json::Value;

use crate::Error;
use crate::agents::workspace_directory;

/// The program: `$BECKET` if it is set, else what cargo builds of this project, once, in the profile of whoever asks.
///
/// # Errors
/// It cannot be built.
pub fn becket() -> Result<&'static Path, Error> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| match env::var_os("BECKET") {
        Some(path) => fs::canonicalize(path).map_err(|error| format!("BECKET: {error}")),
        None => build().map_err(|error| format!("becket could not be built: {error}")),
    });
    program.as_deref().map_err(|error| error.clone().into())
}

fn build() -> Result<PathBuf, Error> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let built = Command::new(cargo)
        .args([
            "build",
            "--locked",
            "-p",
            "becket-cli",
            "--bin",
            "becket",
            "--message-format=json-render-diagnostics",
            "--profile",
            profile,
        ])
        .current_dir(workspace_directory())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    let messages = String::from_utf8(built.stdout)?;
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find_map(|message| Some(PathBuf::from(message.get("executable")?.as_str()?)));
    executable.ok_or_else(|| format!("cargo ended with {}", built.status).into())
}
