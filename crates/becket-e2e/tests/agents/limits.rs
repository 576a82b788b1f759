//! Hooks that hang, and hooks that nobody approved.

use std::os::unix::fs::symlink;
use std::time::Duration;

use becket_e2e::{Dialect, Error, Hook, Host, left, until};
use becket_model::{Model, Script};
use serde_json::json;

use crate::play::{Behaviour, Context, play, play_aloud};

pub(crate) fn behaviours() -> Vec<Behaviour> {
    vec![
        Behaviour::all("hangs/albedo-lets-go", |context, host| hangs(context, host, Dialect::Albedo)),
        Behaviour::all("hangs/celeste-holds", |context, host| hangs(context, host, Dialect::Celeste)),
        Behaviour::all("hangs/shadowcode-holds", |context, host| hangs(context, host, Dialect::Shadowcode)),
        Behaviour::all("hangs/and-the-agent-is-killed", killed),
        Behaviour::all("unapproved/albedo", |context, host| unapproved(context, host, Dialect::Albedo)),
        Behaviour::all("unapproved/celeste", |context, host| unapproved(context, host, Dialect::Celeste)),
        Behaviour::all("unapproved/shadowcode", |context, host| {
            unapproved(context, host, Dialect::Shadowcode)
        }),
    ]
}

/// A hook that hangs, with a child in a session of its own, is ended whole, and what that means is the dialect's.
fn hangs(context: &Context, host: Host, dialect: Dialect) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let linger = sandbox.root().join("bin/linger").display().to_string();
    symlink("/bin/sleep", &linger)?;
    let event = if dialect == Dialect::Shadowcode { "before_command" } else { "PreToolUse" };
    let script = format!("setsid {linger} 600 &\n{linger} 600");
    dialect.hook(&sandbox, &[Hook::script(&sandbox, event, "hang", &script)?.within(1)])?;
    let played = play(sandbox, host, [host.shell("echo x >ran")])?;
    let lets_go = dialect == Dialect::Albedo;
    played
        .expect(played.has("ran") == lets_go, if lets_go { "the command ran" } else { "it did not run" })?;
    played.expect(left(&linger).is_empty(), "nothing of the hook is left")?;
    let turns = played.turns();
    played.expect(turns.len() == 2, "the model was told about it")?;
    let took = Duration::from_millis(turns[1].at_ms - turns[0].at_ms);
    played.expect(took < Duration::from_secs(30), &format!("it was ended after its second, not {took:?}"))
}

/// An agent that is killed while a hook runs leaves nothing of the hook.
fn killed(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let linger = sandbox.root().join("bin/linger").display().to_string();
    symlink("/bin/sleep", &linger)?;
    let script = format!("setsid {linger} 600 &\n{linger} 600");
    Dialect::Albedo.hook(&sandbox, &[Hook::script(&sandbox, "PreToolUse", "hang", &script)?.within(300)])?;
    let model = Model::start(Script::new([host.shell("echo x >ran")]))?;
    host.configure(&sandbox, &model)?;
    sandbox.becket(&["install", host.name()])?;
    let agent = host.start(&sandbox, &model, "fix the bug")?;
    let runs = until(Duration::from_secs(60), || left(&linger).len() >= 2);
    drop(agent);
    let is_gone = until(Duration::from_secs(20), || left(&linger).is_empty());
    let log = sandbox.read("agent.log").unwrap_or_default();
    if !runs {
        return Err(format!("expected: the hook ran\n{log}").into());
    }
    if !is_gone {
        return Err(format!("expected: nothing of the hook is left\n{log}").into());
    }
    Ok(())
}

/// A project's hook that nobody approved does not run, and the person reads that it was skipped.
fn unapproved(context: &Context, host: Host, dialect: Dialect) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let mark = sandbox.root().join("hook-ran").display().to_string();
    let (path, content) = match dialect {
        Dialect::Albedo => {
            let project = std::fs::canonicalize(sandbox.project())?.display().to_string();
            let slug = project.replace(|character: char| !character.is_ascii_alphanumeric(), "-");
            let entry = json!([{"hooks": [{"type": "command", "command": format!("touch {mark}")}]}]);
            let content = json!({"hooks": {"PreToolUse": entry}});
            (format!("home/.albedo/workspaces/{slug}/hooks.json"), content.to_string())
        }
        Dialect::Celeste => {
            let content = json!({"hooks": [{"event": "PreToolUse", "command": format!("touch {mark}")}]});
            ("project/.celeste/hooks.json".into(), content.to_string())
        }
        Dialect::Shadowcode => (
            "project/.shadowcode/hooks/mark.yaml".into(),
            format!("name: mark\nevents: [before_command]\ncommand: touch {mark}\n"),
        ),
    };
    sandbox.write(&path, &content)?;
    let played = play_aloud(sandbox, host, [host.shell("echo x >ran")])?;
    played.expect(played.has("ran"), "the command ran")?;
    played.expect(played.sandbox.read("hook-ran").is_none(), "the hook did not")?;
    let said = format!("{}{}", played.ran.stdout, played.ran.stderr);
    let name = path.rsplit('/').next().unwrap_or_default();
    played.expect(said.contains(name), "the person is told which was skipped")
}
