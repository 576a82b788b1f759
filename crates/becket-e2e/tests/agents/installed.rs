//! Plugging in and out.

use becket_e2e::{Dialect, Error, Hook, Host, Sandbox};
use becket_model::{Model, Script};

use crate::play::{Check, Context, go, play};

pub(crate) fn checks() -> Vec<(String, Check)> {
    let checks: [(&str, Check); 3] = [
        ("installed/doctor-proves-it", doctor),
        ("installed/and-uninstalled", uninstalled),
        ("installed/twice-fires-once", twice),
    ];
    checks.map(|(name, check)| (name.to_owned(), check)).into()
}

fn doctor(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let model = Model::start(Script::new([]))?;
    host.configure(&sandbox, &model)?;
    sandbox.becket(&["install", host.name()])?;
    let mut command = sandbox.command("becket");
    let ran = sandbox.run(command.args(["doctor"]), std::time::Duration::from_secs(60))?;
    let proven = ran.stdout.lines().any(|line| line.trim_start().starts_with("ok") && line.contains("denial"));
    let version = host.version().rsplit(' ').next().unwrap_or_default();
    if proven && ran.stdout.contains(version) {
        return Ok(());
    }
    Err(format!("doctor names {version} and proves the denial, not:\n{}\n{}", ran.stdout, ran.stderr).into())
}

/// After `uninstall` the agent's files are as they were, and nothing is denied.
fn uninstalled(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    Dialect::Albedo.forbid(&sandbox, "forbidden", "not in this house")?;
    let model = Model::start(Script::new([host.shell("echo x >forbidden")]))?;
    host.configure(&sandbox, &model)?;
    let files = ["home/.codex/hooks.json", "home/.codex/config.toml", "home/.gemini/settings.json"];
    let read = |sandbox: &Sandbox| files.map(|file| sandbox.read(file));
    let before = read(&sandbox);
    sandbox.becket(&["install", host.name()])?;
    sandbox.becket(&["uninstall", host.name()])?;
    let after = read(&sandbox);
    let played = go(sandbox, host, model)?;
    played.expect(before == after, "the agent's files are as they were")?;
    played.expect(played.has("forbidden"), "the command ran")
}

/// The user's line and the project's are one event, where the agent names its calls.
fn twice(context: &Context, host: Host) -> Result<(), Error> {
    if host == Host::Gemini {
        // It does not name its calls: both lines run (docs/hosts.md).
        return Ok(());
    }
    let sandbox = context.sandbox(host)?;
    let log = sandbox.root().join("fired").display().to_string();
    let script = format!("echo fired >>{log}; echo 'not in this house' >&2; exit 2");
    Dialect::Albedo.hook(&sandbox, &[Hook::script(&sandbox, "PreToolUse", "count", &script)?])?;
    sandbox.becket(&["install", "--project", host.name()])?;
    let played = play(sandbox, host, [host.shell("echo x >ran")])?;
    played.expect(!played.has("ran"), "the command did not run")?;
    let fired = played.sandbox.read("fired").unwrap_or_default().lines().count();
    played.expect(fired == 1, &format!("the hook ran once, not {fired} times"))
}
