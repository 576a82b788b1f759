//! What a command is told: its envelope, its environment, its bounds.

use std::borrow::Cow;
use std::ffi::OsString;
use std::time::Duration;

use serde::Serializer as _;
use serde_json::{Value, json};

use crate::dialect::{Command, Firing, Keep, Name};
use crate::event::{Event, EventName};
use crate::scope::Scope;
use crate::spelling::View;

/// What is kept of each stream; one byte more ends the command.
pub(super) const CAPTURE: usize = 1 << 20;

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_millis(250);

/// How long pipes that outlive the command are waited for.
const LINGER: Duration = Duration::from_millis(100);

/// The variables that a command inherits; no key or token is among them.
const INHERITED: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TMP",
    "TEMP",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "SYSTEMROOT",
    "ALBEDO_HOME",
    "ALBEDO_SSH",
    "ALBEDO_JOB_GRACE_SECONDS",
];

/// The event as albedo names it; `None` where albedo has no such event.
pub(super) fn moment(event: &Event) -> Option<EventName> {
    match event.name {
        // A subagent's end is not that of the session, whose name its envelope bears.
        EventName::SessionEnd if event.subagent().is_some() => None,
        // albedo tells of every call that ran, whether it succeeded or not.
        EventName::PostToolUseFailure => Some(EventName::PostToolUse),
        name => super::definitions::EVENTS.contains(&name).then_some(name),
    }
}

/// What a matcher is tried on: the tool's name in albedo's spelling, and nothing outside tool events.
pub(super) fn subject(view: Option<&View>) -> &str {
    view.map_or("", |view| &view.tool_name)
}

/// The tool call of a tool event in albedo's spelling.
pub(super) fn view(event: &Event) -> Option<View> {
    event.tool.as_ref().map(|tool| View::of(tool, Name::Albedo))
}

/// The one JSON object on a command's standard input. A tool's response may be large: it is written from where it
/// stands.
pub(super) fn envelope(firing: &Firing<'_>, moment: EventName, view: Option<View>) -> Vec<u8> {
    let event = firing.event;
    let text = |field: &str| json!(event.text(field).unwrap_or_default());
    let mut envelope: Vec<(&str, Cow<'_, Value>)> = Vec::with_capacity(8);
    let mut put = |key, value| envelope.push((key, Cow::Owned(value)));
    put("session_id", json!(event.session_id.as_deref().unwrap_or_default()));
    put("transcript_path", json!(""));
    put("cwd", json!(firing.scope.workspace));
    put("hook_event_name", json!(moment.as_str()));
    put("permission_mode", json!("default"));
    match moment {
        EventName::SessionStart => put("source", json!("startup")),
        EventName::UserPromptSubmit => put("prompt", text("prompt")),
        EventName::Stop => {
            put("last_assistant_message", text("last_assistant_message"));
            let again =
                firing.session.continuations(event) > 0 || event.flag("stop_hook_active") == Some(true);
            put("stop_hook_active", json!(again));
        }
        _ => {}
    }
    if let Some(view) = view {
        put("tool_name", json!(view.tool_name));
        put("tool_input", Value::Object(view.tool_input.unwrap_or_default()));
        if moment == EventName::PostToolUse {
            envelope.push(("tool_response", response(event)));
        }
    }
    let mut bytes = Vec::new();
    let mut writer = serde_json::Serializer::new(&mut bytes);
    // Writing to memory cannot fail.
    drop(writer.collect_map(envelope));
    bytes
}

/// What the tool answered; of a failed call perhaps only the error is known.
fn response(event: &Event) -> Cow<'_, Value> {
    match (event.fields.get("tool_response"), event.fields.get("error")) {
        (Some(response), _) => Cow::Borrowed(response),
        (None, Some(error)) => Cow::Owned(json!({ "error": error })),
        (None, None) => Cow::Owned(Value::Null),
    }
}

/// A command with albedo's bounds.
pub(super) fn command(
    scope: &Scope,
    written: &str,
    stdin: std::sync::Arc<Vec<u8>>,
    timeout: Duration,
) -> Command {
    let keep = Keep { head: CAPTURE, tail: 0, over_ends: true };
    Command {
        argv: vec!["/bin/sh".into(), "-c".into(), written.into()],
        directory: scope.workspace.clone(),
        environment: environment(scope),
        stdin,
        timeout,
        grace: GRACE,
        linger: LINGER,
        stdout: keep,
        stderr: keep,
    }
}

fn environment(scope: &Scope) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = scope
        .environment
        .iter()
        .filter(|(name, _)| name != "ALBEDO_HOME" && INHERITED.iter().any(|inherited| name == inherited))
        .cloned()
        .collect();
    environment.push(("ALBEDO_HOME".into(), scope.homes.albedo.as_str().into()));
    environment
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::tests::scope;
    use crate::session::Facts;

    fn sent(envelope_text: &str) -> String {
        let event = Event::read(envelope_text.as_bytes(), None).unwrap();
        let (scope, facts) = (scope(), Facts::default());
        let firing = Firing { event: &event, look: 1, scope: &scope, session: &facts };
        String::from_utf8(envelope(&firing, moment(&event).unwrap(), view(&event))).unwrap()
    }

    #[test]
    fn each_event_has_its_exact_envelope() {
        let common = r#"{"session_id":"s","transcript_path":"","cwd":"/w","hook_event_name":"#;
        for (given, expected) in [
            (
                r#""SessionStart","source":"resume""#,
                r#""SessionStart","permission_mode":"default","source":"startup""#,
            ),
            (r#""SessionEnd","reason":"exit""#, r#""SessionEnd","permission_mode":"default""#),
            (
                r#""UserPromptSubmit","prompt":"p""#,
                r#""UserPromptSubmit","permission_mode":"default","prompt":"p""#,
            ),
            (
                r#""PreToolUse","tool_name":"exec","tool_input":{"command":"x","n":1.10}"#,
                r#""PreToolUse","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"x","n":1.10}"#,
            ),
            (
                r#""PostToolUse","tool_name":"python","tool_input":{"code":"1"},"tool_response":{"value":1}"#,
                r#""PostToolUse","permission_mode":"default","tool_name":"python","tool_input":{"code":"1"},"tool_response":{"value":1}"#,
            ),
            (
                r#""PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"x"},"error":"e""#,
                r#""PostToolUse","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"x"},"tool_response":{"error":"e"}"#,
            ),
            (
                r#""Stop","last_assistant_message":"m","stop_hook_active":true"#,
                r#""Stop","permission_mode":"default","last_assistant_message":"m","stop_hook_active":true"#,
            ),
        ] {
            let given = format!(r#"{{"session_id":"s","cwd":"/else","hook_event_name":{given}}}"#);
            assert_eq!(sent(&given), format!("{common}{expected}}}"));
        }
    }

    #[test]
    fn only_what_is_on_the_list_is_inherited() {
        let names: Vec<OsString> = environment(&scope()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["PATH", "ALBEDO_HOME"]);
    }
}
