//! What a denied stop means: one continuation a unit, and only while there are turns to continue in.

use crate::outcome::Decision;
use crate::text;

/// Who is asked to go on, for the warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopScope<'a> {
    /// `Stop` or `SubagentStop`.
    pub event: &'a str,
    /// Who would go on, such as `the chat`.
    pub actor: &'a str,
    /// What continuations are counted in, such as `turn`, `call` or `run`.
    pub unit: &'a str,
}

/// What a stop comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Continuation {
    /// The work goes on with this text.
    GoOn(String),
    /// The work ends; with a warning where a hook wanted otherwise.
    Finish(Option<String>),
}

/// What the work goes on with where the hook gave no reason.
const CONTINUE: &str = "Continue.";

/// The rule: a denial continues the work once a unit and only while turns remain; a later one, or one without turns
/// left, is told of and ignored, so that a hook cannot keep the work going for ever.
pub fn stop_continuation(
    decision: Decision,
    reason: &str,
    continued: bool,
    turns_left: i64,
    scope: StopScope<'_>,
) -> Continuation {
    if decision != Decision::Deny {
        return Continuation::Finish(None);
    }
    if continued {
        return Continuation::Finish(Some(again(reason, scope)));
    }
    if turns_left <= 0 {
        return Continuation::Finish(Some(no_turns(reason, scope)));
    }
    Continuation::GoOn(instruction(reason))
}

/// The reason as the hook wrote it; a blank one says nothing to go on with.
pub(super) fn instruction(reason: &str) -> String {
    if reason.trim().is_empty() { CONTINUE.to_owned() } else { reason.to_owned() }
}

pub(super) fn again(reason: &str, scope: StopScope<'_>) -> String {
    let StopScope { event, actor, unit } = scope;
    let unit = text::line(unit);
    format!("a {event} hook asked {actor} to continue again; it does so once per {unit}{}", because(reason))
}

pub(super) fn no_turns(reason: &str, scope: StopScope<'_>) -> String {
    let StopScope { event, actor, unit } = scope;
    let unit = text::line(unit);
    format!("a {event} hook asked {actor} to continue, but the {unit} has no turns left{}", because(reason))
}

fn because(reason: &str) -> String {
    match reason.trim() {
        "" => String::new(),
        reason => format!(": {}", text::line(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: StopScope<'_> = StopScope { event: "Stop", actor: "the chat", unit: "turn" };
    const AGENT: StopScope<'_> = StopScope { event: "SubagentStop", actor: "the agent", unit: "run" };

    #[test]
    fn only_the_first_denial_with_turns_left_continues() {
        for decision in [Decision::Allow, Decision::Ask] {
            assert_eq!(stop_continuation(decision, "r", false, 5, CHAT), Continuation::Finish(None));
        }
        assert_eq!(
            stop_continuation(Decision::Deny, " as is\n", false, 1, CHAT),
            Continuation::GoOn(" as is\n".to_owned())
        );
        assert_eq!(
            stop_continuation(Decision::Deny, " \n", false, 1, CHAT),
            Continuation::GoOn("Continue.".to_owned())
        );
    }

    #[test]
    fn what_is_ignored_is_told_and_again_comes_first() {
        for scope in [CHAT, AGENT] {
            let warning = |continued, turns| match stop_continuation(
                Decision::Deny,
                "r\u{1b}",
                continued,
                turns,
                scope,
            ) {
                Continuation::Finish(Some(warning)) => warning,
                other => panic!("{other:?}"),
            };
            for warning in [warning(true, 5), warning(true, 0)] {
                assert!(warning.contains("again") && warning.contains(scope.unit), "{warning}");
                assert!(warning.contains(scope.event) && warning.contains(scope.actor), "{warning}");
                assert!(warning.ends_with("\"r\\x1b\""), "{warning}");
            }
            for warning in [warning(false, 0), warning(false, -1)] {
                assert!(warning.contains("no turns left") && warning.contains(scope.unit), "{warning}");
            }
        }
    }
}
