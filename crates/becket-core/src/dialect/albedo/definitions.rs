//! `hooks.json`, read so that one bad entry loses only itself.

use std::collections::HashMap;
use std::time::Duration;

use becket_pattern::Pattern;

use crate::dialect::{Hook, Problem};
use crate::event::EventName;
use crate::json::{self, Node};
use crate::text;

/// The events that albedo has.
pub(super) const EVENTS: [EventName; 6] = [
    EventName::SessionStart,
    EventName::SessionEnd,
    EventName::UserPromptSubmit,
    EventName::PreToolUse,
    EventName::PostToolUse,
    EventName::Stop,
];

/// Seconds a command has where its definition names none.
const DEFAULT_TIMEOUT: f64 = 600.0;

/// So many problems of one file are named, and the others counted: a person reads no more, and finding the place of
/// each in a large file takes time.
const MOST_PROBLEMS: usize = 100;

/// What one file defines.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    /// What is listed, in the order of the file.
    pub(super) hooks: Vec<Hook>,
    /// What runs it, beside each hook.
    pub(super) plans: Vec<Plan>,
    /// What is wrong.
    pub(super) problems: Vec<Problem>,
}

/// When and how long a hook runs.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) event: EventName,
    /// `None` where the matcher is invalid: the hook would then run on no tool.
    pub(super) matcher: Option<Matcher>,
    pub(super) timeout: Duration,
}

/// What a matcher asks of the tool's name.
#[derive(Debug, Clone)]
pub(super) enum Matcher {
    All,
    Pattern(Pattern),
}

/// Reads a file's definitions.
pub(super) fn parse(path: &str, bytes: &[u8]) -> Definitions {
    let mut reading = Reading { path, result: Definitions::default(), unnamed: 0 };
    match json::text(bytes).and_then(|text| Ok((text, Node::document(text)?))) {
        Ok((_, document)) => reading.document(document),
        Err(error) => reading.result.problems.push(Problem {
            path: path.to_owned(),
            line: Some(error.line),
            column: Some(error.column),
            message: format!("{}: no hook of this file runs", error.message),
        }),
    }
    reading.count_unnamed();
    reading.result
}

struct Reading<'p> {
    path: &'p str,
    result: Definitions,
    unnamed: usize,
}

impl Reading<'_> {
    fn problem(&mut self, at: Node<'_>, message: String) {
        if self.result.problems.len() >= MOST_PROBLEMS {
            self.unnamed += 1;
            return;
        }
        let (line, column) = at.place();
        let path = self.path.to_owned();
        self.result.problems.push(Problem { path, line: Some(line), column: Some(column), message });
    }

    fn count_unnamed(&mut self) {
        if self.unnamed > 0 {
            let message = format!("{} more problems are not named one by one", self.unnamed);
            self.result.problems.push(Problem {
                path: self.path.to_owned(),
                line: None,
                column: None,
                message,
            });
        }
    }

    /// The entries of an object, the last of repeated keys only, as albedo's reader has it.
    fn entries<'a>(&mut self, node: Node<'a>, what: &str) -> Option<Vec<(String, Node<'a>)>> {
        let Some(entries) = node.object() else {
            self.problem(node, format!("{what} must be an object, not {}: it is skipped", node.kind()));
            return None;
        };
        let mut kept: Vec<(String, Node<'a>)> = Vec::with_capacity(entries.len());
        let mut places = HashMap::with_capacity(entries.len());
        for (key, value) in entries {
            let place = *places.entry(key.clone()).or_insert(kept.len());
            if let Some((_, earlier)) = kept.get_mut(place) {
                let lost = std::mem::replace(earlier, value);
                let key = text::quote(&key);
                self.problem(lost, format!("the key {key} stands again further down: this one is ignored"));
            } else {
                kept.push((key, value));
            }
        }
        Some(kept)
    }

    fn document(&mut self, document: Node<'_>) {
        let Some(entries) = self.entries(document, "the file") else { return };
        for (key, value) in entries {
            if key == "hooks" {
                self.events(value);
            } else if is_event(&key) {
                self.problem(value, format!("{key} stands beside `hooks`, not in it: its hooks do not run"));
            } else {
                self.problem(value, format!("unknown key {}: it is ignored", text::quote(&key)));
            }
        }
    }

    fn events(&mut self, hooks: Node<'_>) {
        let Some(events) = self.entries(hooks, "`hooks`") else { return };
        for (name, groups) in events {
            match EVENTS.iter().copied().find(|event| event.as_str() == name) {
                Some(event) => self.groups(event, groups),
                None => {
                    let why = if is_event(&name) { "albedo has no event" } else { "unknown event" };
                    let near = EVENTS.iter().find(|event| event.as_str().eq_ignore_ascii_case(&name));
                    let near = near.map(|event| format!(" (did you mean {event}?)")).unwrap_or_default();
                    self.problem(groups, format!("{why} {}{near}: its hooks do not run", text::quote(&name)));
                }
            }
        }
    }

    fn groups(&mut self, event: EventName, groups: Node<'_>) {
        let Some(groups) = groups.array() else {
            self.problem(groups, format!("{event} must be a list, not {}: it is skipped", groups.kind()));
            return;
        };
        for group in groups {
            self.group(event, group);
        }
    }

    fn group(&mut self, event: EventName, group: Node<'_>) {
        let Some(entries) = self.entries(group, &format!("an entry of {event}")) else { return };
        let mut matcher = None;
        let mut hooks = None;
        let mut flat = false;
        for (key, value) in entries {
            match key.as_str() {
                "matcher" => matcher = Some(value),
                "hooks" => hooks = Some(value),
                "type" | "command" | "timeout" => flat = true,
                _ => self.problem(value, format!("unknown key {}: it is ignored", text::quote(&key))),
            }
        }
        let Some(hooks) = hooks else {
            let hint = if flat { ": write {\"hooks\": [{\"type\": \"command\", …}]}" } else { "" };
            self.problem(group, format!("this entry of {event} has no list `hooks`{hint}; it is skipped"));
            return;
        };
        if flat {
            self.problem(
                group,
                "`type`, `command` and `timeout` belong into `hooks`: here they are ignored".to_owned(),
            );
        }
        let matcher = self.matcher(matcher);
        let Some(hooks) = hooks.array() else {
            self.problem(hooks, format!("`hooks` must be a list, not {}: it is skipped", hooks.kind()));
            return;
        };
        for hook in hooks {
            self.hook(event, &matcher, hook);
        }
    }

    /// The matcher as written, and what it means: an error leaves the reason.
    fn matcher(&mut self, node: Option<Node<'_>>) -> (Option<String>, Result<Matcher, String>) {
        let Some(node) = node.filter(|node| node.kind() != "null") else {
            return (None, Ok(Matcher::All));
        };
        let Some(written) = node.string() else {
            let why = format!("`matcher` must be a string, not {}", node.kind());
            self.problem(node, format!("{why}: the hooks of this entry do not run"));
            return (Some(node.raw().to_owned()), Err(why));
        };
        if written.is_empty() || written == "*" {
            return (Some(written), Ok(Matcher::All));
        }
        match Pattern::new(&written) {
            Ok(pattern) => (Some(written), Ok(Matcher::Pattern(pattern))),
            Err(error) => {
                let shown = text::quote(&text::bounded(&written, 200));
                let why = format!("invalid matcher {shown}: {}", error.message);
                self.problem(node, format!("{why}: the hooks of this entry do not run"));
                (Some(written), Err(why))
            }
        }
    }

    fn hook(
        &mut self,
        event: EventName,
        matcher: &(Option<String>, Result<Matcher, String>),
        node: Node<'_>,
    ) {
        let Some(entries) = self.entries(node, &format!("a hook of {event}")) else { return };
        let mut invalid = matcher.1.as_ref().err().cloned();
        let kind = entries.iter().find(|(key, _)| key == "type").map(|(_, value)| (*value, value.string()));
        // What a hook of another type holds is its own affair: one message is enough.
        let is_foreign = matches!(&kind, Some((_, Some(word))) if word != "command");
        let mut command = None;
        let mut timeout = DEFAULT_TIMEOUT;
        let mut wrong = |reading: &mut Self, at: Node<'_>, why: String| {
            reading.problem(at, format!("{why}: this hook does not run"));
            invalid.get_or_insert(why);
        };
        for (key, value) in entries {
            match key.as_str() {
                "type" => {}
                "command" => command = Some(value),
                _ if is_foreign => {}
                "timeout" if value.kind() == "null" => {}
                "timeout" => match seconds(value) {
                    Some(seconds) => timeout = seconds,
                    None => {
                        let written = text::line(value.raw()).into_owned();
                        let why = format!("`timeout` must be a positive number of seconds, not {written}");
                        wrong(self, value, why);
                    }
                },
                _ => self.problem(value, format!("unknown key {}: it is ignored", text::quote(&key))),
            }
        }
        match kind {
            Some((_, Some(word))) if word == "command" => {}
            Some((at, Some(word))) => {
                wrong(self, at, format!("unsupported type {}: only \"command\" is", text::quote(&word)));
            }
            Some((at, None)) => wrong(self, at, format!("`type` must be a string, not {}", at.kind())),
            None => wrong(self, node, "it has no `type`: write \"type\": \"command\"".to_owned()),
        }
        let written = command.and_then(|command| command.string());
        match (command, &written) {
            _ if is_foreign => {}
            (_, Some(text)) if !text.trim().is_empty() => {}
            (Some(at), Some(_)) => wrong(self, at, "`command` is empty".to_owned()),
            (Some(at), None) => wrong(self, at, format!("`command` must be a string, not {}", at.kind())),
            (None, _) => wrong(self, node, "it has no `command`".to_owned()),
        }
        self.result.hooks.push(Hook {
            index: self.result.hooks.len(),
            name: None,
            event: event.to_string(),
            matcher: matcher.0.clone(),
            command: written.unwrap_or_default(),
            timeout,
            invalid,
        });
        self.result.plans.push(Plan {
            event,
            matcher: matcher.1.as_ref().ok().cloned(),
            timeout: Duration::try_from_secs_f64(timeout).unwrap_or(Duration::from_secs(600)),
        });
    }
}

fn is_event(name: &str) -> bool {
    EventName::ALL.iter().any(|event| event.as_str() == name)
}

/// Positive, finite seconds; more than a year counts as a year.
fn seconds(node: Node<'_>) -> Option<f64> {
    const YEAR: f64 = 365.0 * 24.0 * 3600.0;
    if node.kind() != "a number" {
        return None;
    }
    let seconds: f64 = node.raw().parse().ok()?;
    (seconds.is_finite() && seconds > 0.0).then_some(seconds.min(YEAR))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Vec<String>, Vec<String>) {
        let read = parse("/f", text.as_bytes());
        let runs = read.hooks.iter().filter(|hook| hook.invalid.is_none());
        (
            runs.map(|hook| hook.command.clone()).collect(),
            read.problems.iter().map(ToString::to_string).collect(),
        )
    }

    const GOOD: &str = r#""Stop":[{"hooks":[{"type":"command","command":"good"}]}]"#;

    #[test]
    fn one_bad_entry_loses_only_itself_and_says_so_once() {
        for (bad, says) in [
            (
                r#""PreToolUse":[{"matcher":{},"hooks":[{"type":"command","command":"x"}]}]"#,
                "`matcher` must be a string",
            ),
            (r#""PreToolUse":[{"type":"command","command":"x"}]"#, "has no list `hooks`"),
            (r#""PreToolUse":[{"hooks":[{"type":"prompt","command":"x"}]}]"#, "unsupported type \"prompt\""),
            (
                r#""PreToolUse":[{"hooks":[{"type":"http","url":"x","timeout":"1m"}]}]"#,
                "unsupported type \"http\"",
            ),
            (r#""Unheard":[{"hooks":[]}]"#, "unknown event \"Unheard\""),
            (r#""SubagentStop":[]"#, "albedo has no event \"SubagentStop\""),
            (r#""pretooluse":[]"#, "did you mean PreToolUse?"),
            (
                r#""PreToolUse":[{"matcher":"[","hooks":[{"type":"command","command":"x"}]}]"#,
                "invalid matcher \"[\"",
            ),
            (
                r#""PreToolUse":[{"hooks":[{"type":"command","command":"x","timeout":0}]}]"#,
                "positive number of seconds, not 0",
            ),
            (
                r#""PreToolUse":[{"hooks":[{"type":"command","command":"x","timeout":true}]}]"#,
                "positive number of seconds, not true",
            ),
            (
                r#""PreToolUse":[{"hooks":[{"type":"command","command":"x","timeout":1e400}]}]"#,
                "positive number of seconds",
            ),
            (r#""PreToolUse":[{"hooks":[{"type":"command","command":" "}]}]"#, "`command` is empty"),
            (r#""PreToolUse":[{"hooks":[{"type":"command"}]}]"#, "it has no `command`"),
            (r#""PreToolUse":[{"hooks":[7]}]"#, "a hook of PreToolUse must be an object"),
            (r#""PreToolUse":7"#, "PreToolUse must be a list"),
        ] {
            let (runs, problems) = of(&format!("{{\"hooks\":{{{bad},{GOOD}}}}}"));
            assert_eq!(runs, ["good"], "{bad}");
            assert_eq!(problems.len(), 1, "{bad}: {problems:?}");
            assert!(problems[0].contains(says), "{bad}: {problems:?}");
            assert!(problems[0].starts_with("/f:1:"), "{problems:?}");
        }
    }

    #[test]
    fn what_stands_in_the_wrong_place_is_named() {
        let (runs, problems) =
            of(&format!("{{\"description\":\"d\",\n\"PreToolUse\":[],\"hooks\":{{{GOOD}}}}}"));
        assert_eq!(runs, ["good"]);
        assert_eq!(problems.len(), 2);
        assert!(problems[1].starts_with("/f:2:14: PreToolUse stands beside `hooks`"), "{problems:?}");
        assert_eq!(of("{\"hooks\": ").1.len(), 1);
        assert!(of("[]").1[0].contains("the file must be an object, not an array"));
        assert_eq!(of("{}"), (vec![], vec![]));
    }

    #[test]
    fn of_a_repeated_key_the_last_counts_and_the_first_is_named() {
        let (runs, problems) = of(&format!(
            "{{\"hooks\":{{\"Stop\":[{{\"hooks\":[{{\"type\":\"command\",\"command\":\"lost\"}}]}}],{GOOD}}}}}"
        ));
        assert_eq!(runs, ["good"]);
        assert!(problems[0].contains("stands again further down"));
    }

    #[test]
    fn of_very_many_problems_some_are_named_and_the_others_counted() {
        let bad = "{\"hooks\":[7]},".repeat(5_000);
        let (runs, problems) =
            of(&format!("{{\"hooks\":{{\"PreToolUse\":[{bad}{{\"hooks\":[]}}],{GOOD}}}}}"));
        assert_eq!((runs, problems.len()), (vec!["good".to_owned()], MOST_PROBLEMS + 1));
        assert!(problems[MOST_PROBLEMS].contains("4900 more problems"), "{}", problems[MOST_PROBLEMS]);
    }

    #[test]
    fn fractions_of_seconds_are_taken() {
        let read = parse(
            "/f",
            br#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","timeout":0.25}]}]}}"#,
        );
        assert_eq!(read.plans[0].timeout, Duration::from_millis(250));
    }
}
