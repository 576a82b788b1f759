//! When the agent says that it is done.

use becket_e2e::{Dialect, Error, Hook, Host};
use becket_model::Turn;
use serde_json::json;

use crate::play::{Behaviour, Context, play, play_on};

pub(crate) fn behaviours() -> Vec<Behaviour> {
    vec![
        Behaviour::all("stop/continues-until-done", continues),
        Behaviour::all("stop/that-always-blocks-is-bounded", |context, host| {
            bounded(context, host, Dialect::Albedo)
        }),
        Behaviour::all("stop/repairs-are-bounded", |context, host| {
            bounded(context, host, Dialect::Shadowcode)
        }),
        Behaviour::all("after-edit/by-tool", edited),
        Behaviour::of(Host::Codex, "after-edit/by-shell", patched_by_shell),
    ]
}

/// The hook sends the agent back until its work is there.
fn continues(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let reply = json!({"decision": "block", "reason": "the tests fail"});
    let script = format!("test -e {} || echo '{reply}'", sandbox.project().join("done").display());
    Dialect::Albedo.hook(&sandbox, &[Hook::script(&sandbox, "Stop", "tests", &script)?])?;
    let played = play_on(sandbox, host, [Turn::say("all done"), host.shell("echo x >done")], 3)?;
    played.expect(played.heard(1, "the tests fail"), "the model was told why it is not done")?;
    played.expect(played.has("done"), "it went back to work")?;
    played.expect(played.turns().len() == 3, "and then it was let go")
}

/// Whoever sends it back, and whatever the agent counts as a prompt, there is an end.
fn bounded(context: &Context, host: Host, dialect: Dialect) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let (event, script) = match dialect {
        Dialect::Shadowcode => ("on_complete", "echo 'the tests fail' >&2; exit 1"),
        Dialect::Albedo | Dialect::Celeste => {
            ("Stop", r#"echo '{"decision": "block", "reason": "the tests fail"}'"#)
        }
    };
    let log = sandbox.root().join("stops").display().to_string();
    let script = format!("echo stop >>{log}; {script}");
    dialect.hook(&sandbox, &[Hook::script(&sandbox, event, "tests", &script)?])?;
    let expected = match dialect {
        // Once for the prompt, and eight times more.
        Dialect::Albedo | Dialect::Celeste => 9,
        // Its own setting, `max_fix_retries`, is 3.
        Dialect::Shadowcode => 4,
    };
    let played = play_on(sandbox, host, [], expected)?;
    let asked = played.turns().len();
    played.expect(asked == expected, &format!("the model was asked {expected} times, not {asked}"))?;
    let stops = played.sandbox.read("stops").unwrap_or_default().lines().count();
    played.expect(stops == expected, &format!("the hook ran {expected} times, not {stops}"))
}

fn listener(context: &Context, host: Host) -> Result<becket_e2e::Sandbox, Error> {
    let sandbox = context.sandbox(host)?;
    let log = sandbox.root().join("edited").display().to_string();
    let script = format!(r#"echo "$SHADOW_HOOK_PATH" >>{log}"#);
    Dialect::Shadowcode.hook(&sandbox, &[Hook::script(&sandbox, "after_edit", "format", &script)?])?;
    Ok(sandbox)
}

/// Every file that was written, once, relative to the project.
fn edited(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = listener(context, host)?;
    let mut turns = vec![host.write("src/a.py", "print(1)"), host.shell("echo x >not-an-edit")];
    if host == Host::Codex {
        let patch = "*** Begin Patch\n*** Add File: b.py\n+1\n*** Add File: c.py\n+1\n*** End Patch\n";
        turns.push(Turn::call("apply_patch", patch.into()));
    }
    let played = play(sandbox, host, turns)?;
    played.expect(played.has("src/a.py") && played.has("not-an-edit"), "the tools ran")?;
    let edited = played.sandbox.read("edited").unwrap_or_default();
    let expected = if host == Host::Codex { "src/a.py\nb.py\nc.py\n" } else { "src/a.py\n" };
    played.expect(edited == expected, &format!("the hook heard of {expected:?}, not {edited:?}"))
}

/// Codex takes a patch out of a shell command, and reports its end to nobody.
fn patched_by_shell(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = listener(context, host)?;
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: b.py\n+1\n*** End Patch\nEOF";
    let played = play(sandbox, host, [host.shell(patch)])?;
    played.expect(played.has("b.py"), "the patch was applied")?;
    let edited = played.sandbox.read("edited").unwrap_or_default();
    played.expect(edited == "b.py\n", &format!("the hook heard of it, not of {edited:?}"))
}
