//! What a hook is started with: its context, its environment, its bounds.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::moments::Happening;
use super::output;
use crate::dialect::{Command, Firing, Keep};
use crate::hash;
use crate::scope::Scope;

/// Largest context, in bytes of JSON. Nothing is shortened to fit: a gate would judge another command than the one
/// that runs.
const LIMIT: usize = 64_000;

/// Largest detail, in bytes.
const DETAIL: usize = 4_000;

/// How long pipes that outlive the hook are waited for.
const LINGER: Duration = Duration::from_secs(1);

/// The setting that says what hooks inherit: `inherit`, or `minimal`.
pub(super) const ENVIRONMENT: &str = "shadowcode.environment";

/// What `minimal` lets through.
const MINIMAL: [&str; 11] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TERM",
    "TMPDIR",
    "VIRTUAL_ENV",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// What keeps tools from waiting for a person or painting for a terminal.
const FIXED: [(&str, &str); 3] = [("GIT_TERMINAL_PROMPT", "0"), ("PAGER", "cat"), ("NO_COLOR", "1")];

/// What all hooks of one happening are told, made once for all of them.
#[derive(Debug)]
pub(super) struct Context {
    /// The JSON, or why no hook can be told this.
    told: Result<String, String>,
}

#[derive(Serialize)]
struct Told<'a> {
    event: &'a str,
    tool: &'a str,
    paths: &'a [String],
    command: &'a str,
    exit_code: Option<i64>,
    detail: &'a str,
    detail_truncated: bool,
}

impl Context {
    pub(super) fn of(happening: &Happening) -> Self {
        Self { told: told(happening) }
    }

    /// Why no hook can be told this.
    pub(super) fn problem(&self) -> Option<&str> {
        self.told.as_ref().err().map(String::as_str)
    }

    /// The variables that tell a hook of it.
    pub(super) fn environment(
        &self,
        happening: &Happening,
        firing: &Firing<'_>,
    ) -> Vec<(OsString, OsString)> {
        let json = self.told.as_deref().unwrap_or_default();
        let path = happening.paths.first().map_or("", String::as_str);
        let session = firing.event.session_id.as_deref().unwrap_or_default();
        let task = task_id(firing);
        let ours = [
            ("SHADOW_HOOK_EVENT", happening.moment.as_str()),
            ("SHADOW_HOOK_PATH", path),
            ("SHADOW_HOOK_COMMAND", &happening.command),
            ("SHADOW_HOOK_TASK_ID", &task),
            ("SHADOW_HOOK_SESSION_ID", session),
            ("SHADOW_HOOK_CONTEXT", json),
        ];
        let mut environment = inherited(firing.scope);
        environment.retain(|(name, _)| !ours.iter().chain(&FIXED).any(|(own, _)| name == own));
        environment.extend(FIXED.iter().chain(&ours).map(|(name, value)| (name.into(), value.into())));
        environment
    }
}

fn told(happening: &Happening) -> Result<String, String> {
    let Happening { moment, tool, paths, command, exit_code, detail } = happening;
    let too_large =
        || Err(format!("the hook's context has more than {LIMIT} bytes, and {LIMIT} are the most"));
    // JSON is never shorter than what it says. A patch of many files in a command that is too long is told of each, and
    // none of that is written out.
    let texts = tool.len() + command.len() + paths.iter().map(String::len).sum::<usize>();
    if texts > LIMIT {
        return too_large();
    }
    let told = Told {
        event: moment.as_str(),
        tool,
        paths,
        command,
        exit_code: *exit_code,
        detail: &detail[..detail.floor_char_boundary(DETAIL)],
        detail_truncated: detail.len() > DETAIL,
    };
    // Texts and numbers always have a JSON.
    let json = serde_json::to_string(&told).unwrap_or_default();
    if json.len() > LIMIT {
        return too_large();
    }
    if command.contains('\0') || paths.iter().any(|path| path.contains('\0')) {
        return Err("the command or path has a NUL in it, which no environment can hold".to_owned());
    }
    Ok(json)
}

/// The command of a hook, with its bounds.
pub(super) fn command(
    firing: &Firing<'_>,
    written: &str,
    timeout: u64,
    environment: Vec<(OsString, OsString)>,
) -> Command {
    let keep = Keep { head: output::HEAD, tail: output::TAIL, over_ends: false };
    Command {
        argv: vec!["/bin/sh".into(), "-c".into(), written.into()],
        directory: firing.scope.workspace.clone(),
        environment,
        stdin: Arc::default(),
        timeout: Duration::from_secs(timeout),
        grace: Duration::ZERO,
        linger: LINGER,
        stdout: keep,
        stderr: keep,
    }
}

fn inherited(scope: &Scope) -> Vec<(OsString, OsString)> {
    let minimal = scope.settings.values.get(ENVIRONMENT).is_some_and(|value| value == "minimal");
    let passes = |name: &OsString| !minimal || MINIMAL.iter().any(|passes| name == passes);
    scope.environment.iter().filter(|(name, _)| passes(name)).cloned().collect()
}

/// A task is what one prompt sets going: the same for all its moments, another for the next prompt.
pub(super) fn task_id(firing: &Firing<'_>) -> String {
    let Some(session) = &firing.event.session_id else { return String::new() };
    let mut id = hash::of(format!("{session}\0{}", firing.session.task()).as_bytes());
    id.truncate(32);
    id
}

#[cfg(test)]
mod tests {
    use super::super::definitions::Moment;
    use super::*;
    use crate::event::Event;
    use crate::scope::tests::scope;
    use crate::session::Facts;
    use proptest::prelude::*;

    fn happening(command: &str, detail: &str) -> Happening {
        Happening {
            moment: Moment::OnError,
            tool: "exec".into(),
            paths: vec!["$(x) 'a'".into(), "b".into()],
            command: command.into(),
            exit_code: Some(3),
            detail: detail.into(),
        }
    }

    fn environment(scope: &Scope, happening: &Happening) -> Vec<(String, String)> {
        let event = Event::read(br#"{"hook_event_name":"Stop","session_id":"s"}"#, None).unwrap();
        let facts = Facts::default();
        let firing = Firing { event: &event, look: 1, scope, session: &facts };
        Context::of(happening)
            .environment(happening, &firing)
            .into_iter()
            .map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap()))
            .collect()
    }

    #[test]
    fn six_variables_tell_of_it() {
        let mut scope = scope();
        scope.environment = Arc::from([
            ("PATH".into(), "/bin".into()),
            ("X_API_KEY".into(), "s".into()),
            ("PAGER".into(), "less".into()),
            ("SHADOW_HOOK_PATH".into(), "forged".into()),
        ]);
        let told = environment(&scope, &happening("a \"b\"", "d"));
        let get = |name: &str| told.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        assert_eq!(get("SHADOW_HOOK_EVENT"), Some("on_error"));
        assert_eq!(get("SHADOW_HOOK_PATH"), Some("$(x) 'a'"));
        assert_eq!(get("SHADOW_HOOK_COMMAND"), Some("a \"b\""));
        assert_eq!(get("SHADOW_HOOK_SESSION_ID"), Some("s"));
        assert_eq!(get("SHADOW_HOOK_TASK_ID").map(str::len), Some(32));
        assert_eq!(
            get("SHADOW_HOOK_CONTEXT"),
            Some(
                r#"{"event":"on_error","tool":"exec","paths":["$(x) 'a'","b"],"command":"a \"b\"","exit_code":3,"detail":"d","detail_truncated":false}"#
            )
        );
        assert_eq!(
            (get("X_API_KEY"), get("PAGER"), get("GIT_TERMINAL_PROMPT")),
            (Some("s"), Some("cat"), Some("0"))
        );
        assert_eq!(told.iter().filter(|(name, _)| name == "SHADOW_HOOK_PATH").count(), 1);
        scope.settings.values.insert(ENVIRONMENT, "minimal".to_owned());
        let told = environment(&scope, &happening("", ""));
        assert!(
            told.iter().all(|(name, _)| name != "X_API_KEY") && told.iter().any(|(name, _)| name == "PATH")
        );
    }

    #[test]
    fn a_detail_is_cut_and_a_context_is_not() {
        let long = happening("x", &"é".repeat(2_001));
        let context = Context::of(&long);
        assert!(context.told.unwrap().contains(r#""detail_truncated":true"#));
        let told = |command: &str, detail: &str| Context::of(&happening(command, detail)).told;
        assert!(told("x", &"x".repeat(4_000)).unwrap().contains(r#""detail_truncated":false"#));
        let fits = 64_000 - told("", "").unwrap().len();
        assert_eq!(told(&"x".repeat(fits), "").unwrap().len(), 64_000);
        // Escapes count: the limit is on the JSON.
        for long in ["x".repeat(fits + 1), "x".repeat(64_001), "\"".repeat(32_000)] {
            assert!(told(&long, "").unwrap_err().contains("64000"));
        }
        assert!(Context::of(&happening("a\0b", "")).problem().unwrap().contains("NUL"));
    }

    proptest! {
        #[test]
        fn every_context_is_json_that_says_the_command(command in any::<String>(), detail in any::<String>()) {
            let happening = happening(&command, &detail);
            let context = Context::of(&happening);
            let read: serde_json::Value = serde_json::from_str(&context.told.unwrap()).unwrap();
            prop_assert_eq!(&read["command"], &command);
        }
    }
}
