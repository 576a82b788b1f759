//! Plugging in and out.

use std::time::Duration;

use becket_e2e::{Dialect, Error, Hook, Host, Sandbox};
use becket_model::{Model, Script};

use crate::play::{Behaviour, Context, Played, go, play};

const MINUTE: Duration = Duration::from_secs(60);

pub(crate) fn behaviours() -> Vec<Behaviour> {
    vec![
        Behaviour::all("installed/doctor-proves-it", doctor),
        Behaviour::all("installed/and-uninstalled", uninstalled),
        Behaviour::of(Host::Codex, "installed/and-trusted-by-the-agent", trusted),
        Behaviour::all("installed/twice-is-one-event", twice),
    ]
}

fn doctor(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let model = Model::start(Script::new([]))?;
    host.configure(&sandbox, &model)?;
    sandbox.becket(&["install", host.name()])?;
    let mut command = sandbox.command("becket");
    let ran = sandbox.run(command.args(["doctor"]), MINUTE)?;
    let proven =
        ran.stdout.lines().any(|line| line.trim_start().starts_with("ok") && line.contains("denial"));
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

/// Codex skips what no person has reviewed, and `doctor` says so; reviewed, it obeys without any option.
fn trusted(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    Dialect::Albedo.forbid(&sandbox, "forbidden", "not in this house")?;
    let model = Model::start(Script::new([host.shell("echo x >forbidden")]))?;
    host.configure(&sandbox, &model)?;
    sandbox.becket(&["install", "codex"])?;
    let trust = |sandbox: &Sandbox| -> Result<bool, Error> {
        let ran = sandbox.run(sandbox.command("becket").arg("doctor"), MINUTE)?;
        Ok(ran.stdout.lines().any(|line| line.trim_start().starts_with("ok") && line.contains("trust")))
    };
    let before = trust(&sandbox)?;
    let hooks = host.trust(&sandbox, MINUTE)?;
    let after = trust(&sandbox)?;
    let ran = host.ask_aloud(&sandbox, &model, "fix the bug", MINUTE)?;
    let played = Played { sandbox, ran, model };
    played.expect(!before, "doctor said that the entries are not trusted")?;
    played
        .expect(hooks.is_some_and(|hooks| hooks > 5), &format!("Codex trusts the entries, not {hooks:?}"))?;
    played.expect(after, "doctor says that they are")?;
    played.expect(!played.has("forbidden"), "the denied command did not run")?;
    played.expect(played.told(1).contains("not in this house"), "the model was told why")
}

/// The user's line and the project's are one event. (Gemini CLI, which does not name its calls, drops the second of two equal
/// lines by itself.)
fn twice(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let log = sandbox.root().join("fired").display().to_string();
    let script = format!("echo fired >>{log}; echo 'not in this house' >&2; exit 2");
    Dialect::Albedo.hook(&sandbox, &[Hook::script(&sandbox, "PreToolUse", "count", &script)?])?;
    sandbox.becket(&["install", "--project", host.name()])?;
    let played = play(sandbox, host, [host.shell("echo x >ran")])?;
    played.expect(!played.has("ran"), "the command did not run")?;
    let fired = played.sandbox.read("fired").unwrap_or_default().lines().count();
    if host == Host::Codex {
        let lines = played.ran.stderr.lines().filter(|line| *line == "hook: PreToolUse").count();
        played.expect(lines == 2, &format!("Codex called both lines, not {lines}"))?;
    }
    played.expect(fired == 1, &format!("the hook ran once, not {fired} times"))
}
