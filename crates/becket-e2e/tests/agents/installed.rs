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
        Behaviour::all("installed/switched-off-and-told", switched_off),
        Behaviour::of(Host::Codex, "installed/switched-off-below-and-told", switched_off_below),
        Behaviour::of(Host::Gemini, "installed/switched-off-below-and-told", switched_off_below),
        Behaviour::of(Host::Codex, "installed/trusted-by-hash", trusted_by_hash),
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

/// Each way to switch the agent's hooks off in its own settings: a file, what is put in the place of what in it (of
/// nothing: at its end), and how `doctor` names it.
fn switches(host: Host) -> &'static [(&'static str, &'static str, &'static str, &'static str)] {
    match host {
        Host::Codex => &[
            ("home/.codex/config.toml", "", "\n[features]\nhooks = false\n", "`features.hooks` is false"),
            (
                "home/.codex/config.toml",
                "",
                "\n[features]\ncodex_hooks = false\n",
                "`features.codex_hooks` is false",
            ),
            (
                "project/.codex/config.toml",
                "",
                "features.hooks = false\n",
                "config.toml:1: `features.hooks` is false",
            ),
        ],
        Host::Gemini => &[
            (
                "home/.gemini/settings.json",
                "\"enabled\": true",
                "\"enabled\": false",
                "`hooksConfig.enabled` is false",
            ),
            (
                "home/.gemini/settings.json",
                "\"enabled\": true",
                "\"disabled\": [\"becket\"]",
                "`hooksConfig.disabled` names becket's entries",
            ),
            (
                "project/.gemini/settings.json",
                "",
                "{\"hooksConfig\": {\"enabled\": false}}",
                "settings.json:1: `hooksConfig.enabled` is false",
            ),
            ("project/.gemini/settings.json", "", "{\"hooks\": null}", "`hooks` is null"),
            ("project/.gemini/settings.json", "", "{\"hooks\": []}", "`hooks` is []"),
            (
                "project/.gemini/settings.json",
                "",
                "{\"hooksConfig\": {\"enabled\": \"false\"}}",
                "`hooksConfig.enabled` is \"false\"",
            ),
            (
                "project/.gemini/settings.json",
                "",
                "{\"hooksConfig\": {\"disabled\": [\"${NONE:-becket}\"]}}",
                "`hooksConfig` holds a variable",
            ),
        ],
        Host::Opencode => &[],
    }
}

/// Of a project's directories each agent takes settings from other ones: `doctor` tells what is off exactly where the
/// agent asks no hook.
fn switched_off_below(context: &Context, host: Host) -> Result<(), Error> {
    let (file, text, is_off_below_that) = match host {
        Host::Codex => ("project/sub/.codex/config.toml", "features.hooks = false\n", true),
        _ => ("project/sub/.gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}}", false),
    };
    for (directory, is_off) in [("", false), ("sub", true), ("sub/deep", is_off_below_that)] {
        let sandbox = context.sandbox(host)?;
        Dialect::Albedo.forbid(&sandbox, "forbidden", "not in this house")?;
        let ran = sandbox.root().join("project/forbidden").display().to_string();
        let model = Model::start(Script::new([host.shell(&format!("echo x >{ran}"))]))?;
        host.configure(&sandbox, &model)?;
        sandbox.becket(&["install", host.name()])?;
        let trusted = format!("{{{:?}: \"TRUST_FOLDER\"}}", sandbox.project());
        sandbox.write("home/.gemini/trustedFolders.json", &trusted)?;
        sandbox.write(file, text)?;
        sandbox.write("project/sub/deep/file", "")?;
        // Codex looks at a repository's directories together, and knows one when it sees one.
        let mut git = std::process::Command::new("git");
        let is_made = git.args(["init", "-q", "."]).current_dir(sandbox.project()).status()?.success();
        let mut doctor = sandbox.command("becket");
        doctor.args(["doctor", host.name()]).current_dir(sandbox.project().join(directory));
        let doctor = sandbox.run(&mut doctor, MINUTE)?;
        let is_told = doctor.stdout.lines().any(|line| line.contains("BAD") && line.contains("switch: "));
        let ran = host.ask_below(&sandbox, &model, "fix the bug", directory, 2 * MINUTE)?;
        let played = Played { sandbox, ran, model };
        played.expect(is_made, "a repository")?;
        played
            .expect(is_told == is_off, &format!("{directory}: off is {is_off}, not:\n{}", doctor.stdout))?;
        played.expect(played.has("forbidden") == is_off, &format!("{directory}: off is {is_off}"))?;
    }
    Ok(())
}

/// Where Codex cannot be asked, `doctor` computes its hashes; and a line that changed since is not trusted.
fn trusted_by_hash(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let model = Model::start(Script::new([]))?;
    host.configure(&sandbox, &model)?;
    sandbox.becket(&["install", "codex"])?;
    host.trust(&sandbox, MINUTE)?;
    let trust = |sandbox: &Sandbox| -> Result<String, Error> {
        let mut doctor = sandbox.command("becket");
        let path = format!("{}:/usr/bin:/bin", sandbox.root().join("other").display());
        let ran = sandbox.run(doctor.args(["doctor", "codex"]).env("PATH", path), MINUTE)?;
        Ok(ran.stdout.lines().filter(|line| line.contains("trust: ")).collect())
    };
    let all = trust(&sandbox)?;
    let file = "home/.codex/hooks.json";
    let changed = sandbox.read(file).unwrap_or_default().replacen("\"timeout\": 660", "\"timeout\": 661", 1);
    sandbox.write(file, &changed)?;
    let less = trust(&sandbox)?;
    let is_so =
        all.contains("all 11 entries are trusted") && less.contains("10 of 11 entries are trusted, 1 were");
    if is_so { Ok(()) } else { Err(format!("{all}\n{less}").into()) }
}

/// What switches an agent's hooks off in truth, `doctor` finds.
fn switched_off(context: &Context, host: Host) -> Result<(), Error> {
    for (file, old, new, told) in switches(host) {
        let sandbox = context.sandbox(host)?;
        Dialect::Albedo.forbid(&sandbox, "forbidden", "not in this house")?;
        let model = Model::start(Script::new([host.shell("echo x >forbidden")]))?;
        host.configure(&sandbox, &model)?;
        sandbox.becket(&["install", host.name()])?;
        if host == Host::Gemini {
            // It takes nothing from the settings of a project that is not trusted.
            let trusted = format!("{{{:?}: \"TRUST_FOLDER\"}}", sandbox.project());
            sandbox.write("home/.gemini/trustedFolders.json", &trusted)?;
        }
        let text = sandbox.read(file).unwrap_or_default();
        let text = if old.is_empty() { text + new } else { text.replacen(old, new, 1) };
        sandbox.write(file, &text)?;
        let doctor = sandbox.run(sandbox.command("becket").args(["doctor", host.name()]), MINUTE)?;
        let line = doctor.stdout.lines().find(|line| line.contains("BAD") && line.contains("switch: "));
        let is_told = doctor.code == Some(1) && line.is_some_and(|line| line.contains(told));
        let played = go(sandbox, host, model)?;
        played.expect(is_told, &format!("doctor tells that {told}, not:\n{}", doctor.stdout))?;
        played.expect(played.has("forbidden"), &format!("{told}, and the agent asks no hook"))?;
    }
    if host == Host::Opencode {
        let sandbox = context.sandbox(host)?;
        host.configure(&sandbox, &Model::start(Script::new([]))?)?;
        sandbox.becket(&["install", host.name()])?;
        for (value, is_off) in [("false", false), ("0", false), ("1", true), ("true", true)] {
            let asked = |program: &str, arguments: &[&str]| {
                sandbox.run(sandbox.command(program).args(arguments).env("OPENCODE_PURE", value), MINUTE)
            };
            let info = asked("opencode", &["debug", "info"])?;
            let doctor = asked("becket", &["doctor", "opencode"])?;
            let is_so = info.stdout.contains("becket.js") != is_off
                && (doctor.code == Some(1) && doctor.stdout.contains("OPENCODE_PURE")) == is_off;
            if !is_so {
                let said = (&info.stdout, &info.stderr, &doctor.stdout);
                return Err(format!("OPENCODE_PURE={value}: off is {is_off}, not {said:?}").into());
            }
        }
    }
    Ok(())
}
