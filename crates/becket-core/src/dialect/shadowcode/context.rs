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

/// What all hooks of one happening are told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    happening: &'a Happening,
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

impl<'a> Context<'a> {
    pub(super) fn of(happening: &'a Happening) -> Self {
        Self { happening }
    }

    fn json(self) -> String {
        let happening = self.happening;
        let detail = happening.detail.as_str();
        let told = Told {
            event: happening.moment.as_str(),
            tool: &happening.tool,
            paths: &happening.paths,
            command: &happening.command,
            exit_code: happening.exit_code,
            detail: &detail[..detail.floor_char_boundary(DETAIL)],
            detail_truncated: detail.len() > DETAIL,
        };
        // Texts and numbers always have a JSON.
        serde_json::to_string(&told).unwrap_or_default()
    }

    /// Why no hook can be told this.
    pub(super) fn problem(self) -> Option<String> {
        let Happening { tool, paths, command, detail, .. } = self.happening;
        // No byte becomes more than six. What is surely small enough is not written out to be measured: of a patch of
        // many files that would be done again for each at every step.
        let texts = [tool.len(), command.len(), detail.len().min(DETAIL)].iter().sum::<usize>();
        let most = 6 * texts + paths.iter().map(|path| 6 * path.len() + 3).sum::<usize>() + 256;
        let size = if most > LIMIT { self.json().len() } else { 0 };
        if size > LIMIT {
            return Some(format!("the hook's context has {size} bytes, and {LIMIT} are the most"));
        }
        let nul = |text: &String| text.contains('\0');
        (nul(command) || paths.iter().any(nul))
            .then(|| "the command or path has a NUL in it, which no environment can hold".to_owned())
    }

    /// The command of a hook, with its bounds.
    pub(super) fn command(self, firing: &Firing<'_>, written: &str, timeout: u64) -> Command {
        let keep = Keep { head: output::HEAD, tail: output::TAIL, over_ends: false };
        Command {
            argv: vec!["/bin/sh".into(), "-c".into(), written.into()],
            directory: firing.scope.workspace.clone(),
            environment: self.environment(firing),
            stdin: Arc::default(),
            timeout: Duration::from_secs(timeout),
            grace: Duration::ZERO,
            linger: LINGER,
            stdout: keep,
            stderr: keep,
        }
    }

    fn environment(self, firing: &Firing<'_>) -> Vec<(OsString, OsString)> {
        let json = self.json();
        let path = self.happening.paths.first().map_or("", String::as_str);
        let session = firing.event.session_id.as_deref().unwrap_or_default();
        let task = task_id(firing);
        let ours = [
            ("SHADOW_HOOK_EVENT", self.happening.moment.as_str()),
            ("SHADOW_HOOK_PATH", path),
            ("SHADOW_HOOK_COMMAND", &self.happening.command),
            ("SHADOW_HOOK_TASK_ID", &task),
            ("SHADOW_HOOK_SESSION_ID", session),
            ("SHADOW_HOOK_CONTEXT", &json),
        ];
        let mut environment = inherited(firing.scope);
        environment.retain(|(name, _)| !ours.iter().chain(&FIXED).any(|(own, _)| name == own));
        environment.extend(FIXED.iter().chain(&ours).map(|(name, value)| (name.into(), value.into())));
        environment
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
            .command(&firing, "x", 5)
            .environment
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
        assert!(context.json().contains(r#""detail_truncated":true"#) && context.problem().is_none());
        assert!(
            Context::of(&happening("x", &"x".repeat(4_000))).json().contains(r#""detail_truncated":false"#)
        );
        let fits = 64_000 - Context::of(&happening("", "")).json().len();
        assert_eq!(Context::of(&happening(&"x".repeat(fits), "")).problem(), None);
        assert!(Context::of(&happening(&"x".repeat(fits + 1), "")).problem().unwrap().contains("64000"));
        // Escapes count: the limit is on the JSON.
        assert!(Context::of(&happening(&"\"".repeat(32_000), "")).problem().is_some());
        assert!(Context::of(&happening("a\0b", "")).problem().unwrap().contains("NUL"));
    }

    proptest! {
        #[test]
        fn every_context_is_json_that_says_the_command(command in any::<String>(), detail in any::<String>()) {
            let happening = happening(&command, &detail);
            let context = Context::of(&happening);
            let read: serde_json::Value = serde_json::from_str(&context.json()).unwrap();
            prop_assert_eq!(&read["command"], &command);
        }
    }
}
