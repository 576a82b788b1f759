//! Before and after tools and prompts.

use becket_e2e::{Dialect, Error, Hook, Host};
use becket_model::Turn;
use serde_json::json;

use crate::play::{Behaviour, Context, play, play_aloud};

pub(crate) fn behaviours() -> Vec<Behaviour> {
    vec![
        Behaviour::all("denied/albedo", |context, host| denied(context, host, Dialect::Albedo)),
        Behaviour::all("denied/celeste", |context, host| denied(context, host, Dialect::Celeste)),
        Behaviour::all("denied/shadowcode", |context, host| denied(context, host, Dialect::Shadowcode)),
        Behaviour::all("denied/one-of-two-at-once", one_of_two),
        Behaviour::all("halted/nothing-more-runs", halted),
        Behaviour::all("after-a-tool/an-objection-is-heard", objected),
        Behaviour::all("rewritten/albedo", |context, host| rewritten(context, host, Dialect::Albedo)),
        Behaviour::all("rewritten/celeste", |context, host| rewritten(context, host, Dialect::Celeste)),
        Behaviour::of(Host::Gemini, "rewritten/an-edit-without-an-instruction", rewritten_edit),
        Behaviour::all("rewritten-into-what-another-dialect-forbids", rewritten_and_forbidden),
        Behaviour::all("context/prompt", |context, host| {
            context_reaches(context, host, "UserPromptSubmit", 0)
        }),
        Behaviour::all("context/session", |context, host| context_reaches(context, host, "SessionStart", 0)),
        Behaviour::all("context/after-a-tool", |context, host| {
            context_reaches(context, host, "PostToolUse", 1)
        }),
        Behaviour::all("a-blocked-prompt-asks-no-model", blocked_prompt),
    ]
}

/// A denied command is not run, the model sees why, and the session goes on.
fn denied(context: &Context, host: Host, dialect: Dialect) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    dialect.forbid(&sandbox, "forbidden", "not in this house")?;
    let played = play(sandbox, host, [host.shell("echo x >forbidden"), host.shell("echo x >allowed")])?;
    played.expect(!played.has("forbidden"), "the denied command did not run")?;
    played.expect(played.told(1).contains("not in this house"), "the model was told why")?;
    played.expect(played.has("allowed"), "the next command ran")?;
    played.expect(played.turns().len() == 3, "the model was asked three times")
}

/// Two calls of one turn are judged each by itself.
fn one_of_two(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    Dialect::Celeste.forbid(&sandbox, "forbidden", "not in this house")?;
    let mut both = host.shell("echo x >forbidden");
    both.calls.extend(host.shell("echo x >allowed").calls);
    let played = play(sandbox, host, [both])?;
    played.expect(!played.has("forbidden"), "the denied command did not run")?;
    played.expect(played.has("allowed"), "the other ran")?;
    played.expect(played.heard(1, "not in this house"), "the model was told why")
}

/// After a halt the agent ends its turn, or Becket denies whatever else it tries in it.
fn halted(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let script = r#"grep -q first || exit 0; echo '{"continue": false, "stopReason": "enough for today"}'"#;
    Dialect::Albedo.hook(&sandbox, &[Hook::script(&sandbox, "PreToolUse", "halt", script)?])?;
    let played = play(sandbox, host, [host.shell("echo x >first"), host.shell("echo x >second")])?;
    played.expect(!played.has("first") && !played.has("second"), "nothing ran")
}

fn objected(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let script = "echo 'that file is not formatted' >&2; exit 2";
    Dialect::Albedo.hook(&sandbox, &[Hook::script(&sandbox, "PostToolUse", "lint", script)?])?;
    let played = play(sandbox, host, [host.shell("echo x >ran; echo the-output")])?;
    played.expect(played.has("ran"), "the command ran")?;
    played.expect(played.heard(1, "that file is not formatted"), "the model was told")?;
    played.expect(played.told(1).contains("the-output"), "and sees the result")
}

/// A rewrite of the whole input, with the keys that the agent asks for.
fn input(host: Host, command: &str) -> serde_json::Value {
    match host {
        Host::Codex => json!({"command": command}),
        Host::Gemini | Host::Opencode => json!({"command": command, "description": "scripted"}),
    }
}

fn rewriter(sandbox: &becket_e2e::Sandbox, host: Host, dialect: Dialect, command: &str) -> Result<(), Error> {
    let input = input(host, command);
    let reply = match dialect {
        Dialect::Albedo => {
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": input}})
        }
        Dialect::Celeste => json!({"updatedInput": input}),
        Dialect::Shadowcode => return Err("ShadowCode's hooks rewrite nothing".into()),
    };
    dialect.hook(sandbox, &[Hook::script(sandbox, "PreToolUse", "rewrite", &format!("echo '{reply}'"))?])
}

fn rewritten(context: &Context, host: Host, dialect: Dialect) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    rewriter(&sandbox, host, dialect, "echo x >rewritten")?;
    let played = play(sandbox, host, [host.shell("echo x >asked")])?;
    played.expect(played.has("rewritten"), "the rewritten command ran")?;
    played.expect(!played.has("asked"), "what was asked for did not run")
}

/// Gemini CLI takes no edit without an instruction, which hooks that were written for other agents do not know.
fn rewritten_edit(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    sandbox.write("project/note.txt", "the tide is low\n")?;
    let edit = |new: &str| json!({"file_path": "note.txt", "old_string": "low", "new_string": new});
    let reply = json!({"updatedInput": edit("high")});
    let hook = Hook::script(&sandbox, "PreToolUse", "rewrite", &format!("echo '{reply}'"))?;
    Dialect::Celeste.hook(&sandbox, &[hook])?;
    let mut asked = edit("gone");
    asked["instruction"] = json!("make it gone");
    let played = play(sandbox, host, [Turn::call("replace", asked)])?;
    let text = played.sandbox.read("project/note.txt");
    played.expect(text.as_deref() == Some("the tide is high\n"), "the edit is the hook's")
}

/// What runs has been judged by the guards of every other dialect.
fn rewritten_and_forbidden(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    Dialect::Albedo.forbid(&sandbox, "forbidden", "not in this house")?;
    rewriter(&sandbox, host, Dialect::Celeste, "echo x >forbidden")?;
    let played = play(sandbox, host, [host.shell("echo x >asked")])?;
    played.expect(!played.has("forbidden"), "the forbidden command did not run")?;
    played.expect(!played.has("asked"), "nor did what was asked for")?;
    played.expect(played.told(1).contains("not in this house"), "the model was told why")
}

fn context_reaches(context: &Context, host: Host, event: &'static str, request: usize) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let reply = json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": "the tide turns at nine"}});
    Dialect::Albedo
        .hook(&sandbox, &[Hook::script(&sandbox, event, "context", &format!("echo '{reply}'"))?])?;
    let played = play(sandbox, host, [host.shell("echo x >ran")])?;
    played.expect(played.has("ran"), "the command ran")?;
    played.expect(played.heard(request, "the tide turns at nine"), "the context reached the model")
}

fn blocked_prompt(context: &Context, host: Host) -> Result<(), Error> {
    let sandbox = context.sandbox(host)?;
    let hook = Hook::script(&sandbox, "UserPromptSubmit", "block", "echo 'not on a Sunday' >&2; exit 2")?;
    Dialect::Albedo.hook(&sandbox, &[hook])?;
    let played = play_aloud(sandbox, host, [host.shell("echo x >ran")])?;
    played.expect(played.model.seen().is_empty(), "the model was not asked, not even for a title")?;
    let said = format!("{}{}", played.ran.stdout, played.ran.stderr);
    played.expect(said.contains("not on a Sunday"), "the person is told why")
}
