//! Outcomes in each agent's words, whole; and that these are never looser than what the hooks meant.

#![expect(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value, reason = "tests")]

use becket_core::event::{Event, EventName};
use becket_core::json::Object;
use becket_core::outcome::{Decision, Outcome, ToolResult};
use becket_hosts::Host;
use becket_hosts::answer::{Words, encode};
use becket_hosts::loss::{Answer, Way};
use proptest::prelude::*;
use serde_json::{Value, json};

fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap()
}

fn event_of(name: EventName) -> Event {
    let fields = json!({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls", "description": "d"},
        "tool_response": "out", "prompt": "p", "permission_mode": "default"});
    Event::from_fields(object(fields), Some(name)).unwrap()
}

fn outcome(name: EventName, decision: Decision) -> Outcome {
    Outcome { decision, reason: Some("because".to_owned()), ..Outcome::nothing(name) }
}

fn say(host: Host, outcome: &Outcome) -> Value {
    let words = encode(host, &event_of(outcome.event), outcome);
    assert_eq!(words.exit, 0);
    serde_json::from_str(&words.stdout).unwrap()
}

#[test]
fn a_denied_call() {
    let denied = outcome(EventName::PreToolUse, Decision::Deny);
    let claude = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "because"}});
    assert_eq!(say(Host::Claude, &denied), claude);
    assert_eq!(say(Host::Codex, &denied), claude);
    assert_eq!(say(Host::Gemini, &denied), json!({"decision": "deny", "reason": "because"}));
    assert_eq!(say(Host::Opencode, &denied), json!({"verdict": "deny", "reason": "because"}));
}

#[test]
fn who_sends_what_claude_code_does_not_is_answered_at_the_top_too() {
    let other = |name| {
        let mut event = event_of(name);
        event.fields.insert("timestamp".to_owned(), "2026-08-22T10:00:00Z".into());
        event
    };
    for name in [EventName::PreToolUse, EventName::PermissionRequest, EventName::PostToolUse, EventName::Stop]
    {
        for decision in [Decision::Allow, Decision::Grant, Decision::Ask, Decision::Deny, Decision::Halt] {
            let outcome = Outcome { additional_context: vec!["c".to_owned()], ..outcome(name, decision) };
            let said: Value =
                serde_json::from_str(&encode(Host::Claude, &other(name), &outcome).stdout).unwrap();
            let alone = say(Host::Claude, &outcome);
            for (key, value) in alone.as_object().unwrap() {
                assert_eq!(&said[key], value, "what Claude Code is told stays: {said}");
            }
            let specific = &alone["hookSpecificOutput"];
            for key in ["permissionDecision", "permissionDecisionReason", "additionalContext"] {
                assert_eq!(said[key], specific[key], "{said}");
            }
            for key in ["behavior", "message"] {
                assert_eq!(said[key], specific["decision"][key], "{said}");
            }
        }
    }
}

#[test]
fn nothing_to_say_is_said() {
    let nothing = Outcome::nothing(EventName::PreToolUse);
    for host in [Host::Claude, Host::Codex, Host::Gemini] {
        assert_eq!(say(host, &nothing), json!({}));
    }
    assert_eq!(say(Host::Opencode, &nothing), json!({"verdict": "allow"}));
}

#[test]
fn a_question_where_none_can_be_asked_is_a_denial() {
    let ask = outcome(EventName::PreToolUse, Decision::Ask);
    assert_eq!(say(Host::Claude, &ask)["hookSpecificOutput"]["permissionDecision"], "ask");
    let codex = say(Host::Codex, &ask);
    assert_eq!(codex["hookSpecificOutput"]["permissionDecision"], "deny");
    let reason = codex["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.starts_with("because\n") && reason.contains("cannot ask"), "{reason}");
    assert_eq!(say(Host::Gemini, &ask)["decision"], "deny");
    assert_eq!(say(Host::Opencode, &ask)["verdict"], "deny");
}

#[test]
fn a_rewritten_call() {
    let input = object(json!({"command": "ls -l", "description": "d"}));
    let rewritten = Outcome { updated_input: Some(input), ..Outcome::nothing(EventName::PreToolUse) };
    let new = json!({"command": "ls -l", "description": "d"});
    assert_eq!(
        say(Host::Codex, &rewritten),
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": new}})
    );
    assert_eq!(
        say(Host::Claude, &rewritten),
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
            "permissionDecisionReason": "A hook rewrote this call.", "updatedInput": new}})
    );
    let granted = Outcome { decision: Decision::Grant, ..rewritten.clone() };
    assert_eq!(
        say(Host::Claude, &granted),
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": new}})
    );
    assert_eq!(
        say(Host::Gemini, &rewritten),
        json!({"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": new}})
    );
    assert_eq!(say(Host::Opencode, &rewritten), json!({"verdict": "allow", "input": new}));
}

#[test]
fn a_rewrite_that_would_not_be_what_runs_is_a_denial() {
    let without = |input: Value| Outcome {
        updated_input: Some(object(input)),
        ..Outcome::nothing(EventName::PreToolUse)
    };
    // Gemini lays a rewrite over the old arguments; Codex wants a command.
    assert_eq!(say(Host::Gemini, &without(json!({"description": "x"})))["decision"], "deny");
    let codex = say(Host::Codex, &without(json!({"description": "x"})));
    assert_eq!(codex["hookSpecificOutput"]["permissionDecision"], "deny");
    let mut at_question = without(json!({"command": "x"}));
    at_question.event = EventName::PermissionRequest;
    for host in [Host::Claude, Host::Codex] {
        assert_eq!(say(host, &at_question)["hookSpecificOutput"]["decision"]["behavior"], "deny");
    }
}

#[test]
fn only_words_about_a_call_may_stay_in_a_rewrite() {
    let says = |tool: &str, input: Value, rewritten: Value| {
        let fields = json!({"session_id": "s", "tool_name": tool, "tool_input": input});
        let event = Event::from_fields(object(fields), Some(EventName::PreToolUse)).unwrap();
        let outcome =
            Outcome { updated_input: Some(object(rewritten)), ..Outcome::nothing(EventName::PreToolUse) };
        let words: Value = serde_json::from_str(&encode(Host::Gemini, &event, &outcome).stdout).unwrap();
        let rewrite = &words["hookSpecificOutput"]["tool_input"];
        assert!(!rewrite.to_string().contains("the model's words"), "{rewrite}");
        words["decision"].as_str().unwrap_or("allow").to_owned()
    };
    let shell = json!({"command": "ls", "description": "the model's words"});
    assert_eq!(says("run_shell_command", shell, json!({"command": "x"})), "allow");
    let edit = |more: &str| json!({"file_path": "a", "old_string": "b", "new_string": "c", more: "the model's words"});
    let rewritten = json!({"file_path": "a", "old_string": "b", "new_string": "e"});
    assert_eq!(says("replace", edit("instruction"), rewritten.clone()), "allow");
    assert_eq!(says("replace", edit("description"), rewritten), "deny");
    // Gemini CLI takes no edit without one.
    let fields = json!({"session_id": "s", "tool_name": "replace", "tool_input": edit("instruction")});
    let event = Event::from_fields(object(fields), Some(EventName::PreToolUse)).unwrap();
    let new = json!({"file_path": "a", "old_string": "b", "new_string": "e"});
    let outcome = Outcome { updated_input: Some(object(new)), ..Outcome::nothing(EventName::PreToolUse) };
    let words: Value = serde_json::from_str(&encode(Host::Gemini, &event, &outcome).stdout).unwrap();
    assert_eq!(words["hookSpecificOutput"]["tool_input"]["instruction"], "A hook rewrote this call.");
    let issue = |key: &str| json!({"title": "t", key: "secret"});
    for key in ["description", "instruction"] {
        assert_eq!(says("mcp_forge_create_issue", issue(key), json!({"title": "t"})), "deny");
        assert_eq!(says("another", issue(key), json!({"title": "t"})), "deny");
    }
}

#[test]
fn a_held_end_is_promised_only_where_it_can_be_held() {
    let halt = outcome(EventName::PreToolUse, Decision::Halt);
    let reason = |session: Value| {
        let fields = json!({"session_id": session, "tool_name": "Bash", "tool_input": {"command": "ls"}});
        let event = Event::from_fields(object(fields), Some(EventName::PreToolUse)).unwrap();
        let words: Value = serde_json::from_str(&encode(Host::Codex, &event, &halt).stdout).unwrap();
        assert_eq!(words["hookSpecificOutput"]["permissionDecision"], "deny");
        words["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap().to_owned()
    };
    assert!(reason(json!("s")).contains("until the person's next prompt"));
    for nameless in [json!(null), json!("")] {
        let reason = reason(nameless);
        assert!(reason.contains("This turn is over") && !reason.contains("next prompt"), "{reason}");
    }
}

#[test]
fn an_ended_turn() {
    let halt = outcome(EventName::PreToolUse, Decision::Halt);
    let claude = say(Host::Claude, &halt);
    assert_eq!((&claude["continue"], &claude["stopReason"]), (&json!(false), &json!("because")));
    assert_eq!(claude["hookSpecificOutput"]["permissionDecision"], "deny");
    let codex = say(Host::Codex, &halt);
    assert_eq!(codex["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(codex.get("continue"), None, "Codex takes it for a failed run, and the call goes on");
    assert_eq!(
        say(Host::Gemini, &halt),
        json!({"continue": false, "stopReason": "because", "decision": "deny", "reason": "because"})
    );
}

#[test]
fn a_stop_goes_on() {
    let mut stop = outcome(EventName::Stop, Decision::Deny);
    stop.continue_with = Some("run the tests".to_owned());
    assert_eq!(say(Host::Claude, &stop), json!({"decision": "block", "reason": "run the tests"}));
    assert_eq!(say(Host::Codex, &stop), json!({"decision": "block", "reason": "run the tests"}));
    assert_eq!(say(Host::Gemini, &stop), json!({"decision": "deny", "reason": "run the tests"}));
    assert_eq!(say(Host::Opencode, &stop), json!({"verdict": "continue", "reason": "run the tests"}));
    let end = outcome(EventName::Stop, Decision::Halt);
    assert_eq!(say(Host::Codex, &end), json!({"continue": false, "stopReason": "because"}));
    assert_eq!(say(Host::Gemini, &end), json!({"continue": false, "stopReason": "because"}));
    // What comes back as a prompt is known by its text: a context must not change it.
    stop.additional_context = vec!["c".to_owned()];
    assert_eq!(say(Host::Gemini, &stop)["reason"], "run the tests");
    assert_eq!(say(Host::Opencode, &stop)["reason"], "run the tests");
}

#[test]
fn results_contexts_and_messages() {
    let mut after = Outcome::nothing(EventName::PostToolUse);
    after.result = Some(ToolResult { failed: true, feedback: "secret".to_owned(), replaces: true });
    after.additional_context = vec!["one".to_owned(), "two".to_owned()];
    after.messages = vec!["m".to_owned(), "n".to_owned()];
    assert_eq!(
        say(Host::Codex, &after),
        json!({"decision": "block", "reason": "secret", "systemMessage": "m\nn",
            "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "one\n\ntwo"}})
    );
    assert_eq!(
        say(Host::Claude, &after)["hookSpecificOutput"],
        json!({"hookEventName": "PostToolUse", "updatedToolOutput": "secret", "additionalContext": "one\n\ntwo"})
    );
    assert_eq!(say(Host::Gemini, &after)["reason"], "secret");
    assert_eq!(say(Host::Opencode, &after)["replace"], "secret");
    // Beside a result, an objection of Codex's own would hide it.
    after.result.as_mut().unwrap().replaces = false;
    let codex = say(Host::Codex, &after);
    assert_eq!(codex.get("decision"), None);
    assert_eq!(codex["hookSpecificOutput"]["additionalContext"], "secret\n\none\n\ntwo");
    assert_eq!(say(Host::Claude, &after)["decision"], "block");
}

#[test]
fn what_no_reply_carries_stands_on_stderr() {
    let mut end = Outcome::nothing(EventName::SessionEnd);
    end.messages = vec!["m".to_owned()];
    let words = encode(Host::Codex, &event_of(EventName::SessionEnd), &end);
    assert_eq!(
        words,
        Words { stdout: "{}\n".to_owned(), stderr: "m\n".to_owned(), exit: 0, exit_unheard: 0 }
    );
}

#[test]
fn words_that_are_lost_at_a_gate_refuse_unless_they_gave_leave() {
    for host in Host::ALL {
        for row in host.rows() {
            let event = event_of(row.event);
            let unheard = |outcome: &Outcome| encode(host, &event, outcome).exit_unheard;
            let of = |decision| unheard(&outcome(row.event, decision));
            let mut leave = Outcome::nothing(row.event);
            leave.messages = vec!["m".to_owned()];
            leave.additional_context = vec!["c".to_owned()];
            assert_eq!([unheard(&leave), of(Decision::Grant)], [0, 0], "{host} {}", row.event);
            let rewrites = row.event.is_gate();
            let rewrite = Outcome {
                updated_input: Some(object(json!({"command": "safe", "description": "d"}))),
                ..Outcome::nothing(row.event)
            };
            assert_eq!(unheard(&rewrite) == 2, rewrites, "{host} {}", row.event);
            // Where nothing can be kept from happening, nothing is.
            for (decision, answer) in
                [(Decision::Ask, Answer::Ask), (Decision::Deny, Answer::Deny), (Decision::Halt, Answer::Halt)]
            {
                let can = row.way(answer) != Way::Cannot
                    && (row.way(answer) != Way::Held || row.way(Answer::Deny) == Way::Honoured);
                assert_eq!(
                    of(decision) == 2,
                    row.event.is_gate() && can,
                    "{host} {} {decision:?}",
                    row.event
                );
            }
        }
    }
}

// ---- what an agent does with the words, told from its documents and not from the encoder ----

/// What becomes of the action, from least to most strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Does {
    SkipsItsQuestion,
    AsItLikes,
    AsksAPerson,
    Refuses,
    EndsTheTurn,
}

struct Heard {
    does: Does,
    runs: Option<Value>,
    everything: String,
}

fn obey(host: Host, event: EventName, words: &Words) -> Heard {
    assert_eq!(words.exit, 0);
    let said: Value = serde_json::from_str(words.stdout.strip_suffix('\n').unwrap()).unwrap();
    let specific = said.get("hookSpecificOutput").cloned().unwrap_or_default();
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let ends = said.get("continue") == Some(&json!(false));
    let everything = format!("{}{}", words.stdout, words.stderr);
    let (does, runs) = match host {
        Host::Codex => {
            codex_takes(event, &said, &specific);
            let does =
                match (text(&specific, "permissionDecision").as_str(), text(&said, "decision").as_str()) {
                    _ if ends => Does::EndsTheTurn,
                    ("deny", _) => Does::Refuses,
                    (_, "block") if event != EventName::PostToolUse => Does::Refuses,
                    _ => match specific["decision"]["behavior"].as_str() {
                        Some("deny") => Does::Refuses,
                        Some("allow") => Does::SkipsItsQuestion,
                        _ if event == EventName::PermissionRequest => Does::AsksAPerson,
                        _ => Does::AsItLikes,
                    },
                };
            (does, specific.get("updatedInput").cloned())
        }
        Host::Claude => {
            let does =
                match (text(&specific, "permissionDecision").as_str(), text(&said, "decision").as_str()) {
                    _ if ends => Does::EndsTheTurn,
                    ("deny", _) => Does::Refuses,
                    ("ask", _) => Does::AsksAPerson,
                    ("allow", _) => Does::SkipsItsQuestion,
                    (_, "block")
                        if !matches!(event, EventName::PostToolUse | EventName::PostToolUseFailure) =>
                    {
                        Does::Refuses
                    }
                    _ => match specific["decision"]["behavior"].as_str() {
                        Some("deny") => Does::Refuses,
                        Some("allow") => Does::SkipsItsQuestion,
                        _ if event == EventName::PermissionRequest => Does::AsksAPerson,
                        _ => Does::AsItLikes,
                    },
                };
            let runs = specific.get("updatedInput").or_else(|| specific["decision"].get("updatedInput"));
            (does, runs.cloned())
        }
        Host::Gemini => {
            let ignores = matches!(
                event,
                EventName::SessionStart
                    | EventName::SessionEnd
                    | EventName::PreCompact
                    | EventName::Notification
            );
            let does = match text(&said, "decision").as_str() {
                _ if ignores => Does::AsItLikes,
                _ if ends => Does::EndsTheTurn,
                "deny" if event != EventName::PostToolUse => Does::Refuses,
                _ => Does::AsItLikes,
            };
            let runs = specific.get("tool_input").map(|input| {
                let mut merged = event_of(event).tool.unwrap().input.unwrap();
                merged.extend(input.as_object().cloned().unwrap());
                Value::Object(merged)
            });
            (does, runs)
        }
        Host::Opencode => {
            let does = match text(&said, "verdict").as_str() {
                "deny" | "continue" => Does::Refuses,
                _ => Does::AsItLikes,
            };
            (does, said.get("input").cloned())
        }
    };
    Heard { does, runs, everything }
}

/// Codex refuses a whole reply for one key it does not know there, and goes on.
fn codex_takes(event: EventName, said: &Value, specific: &Value) {
    let mut top = vec!["continue", "stopReason", "systemMessage", "hookSpecificOutput"];
    if matches!(
        event,
        EventName::UserPromptSubmit | EventName::PostToolUse | EventName::Stop | EventName::SubagentStop
    ) {
        top.extend(["decision", "reason"]);
    }
    if matches!(event, EventName::PreToolUse | EventName::PermissionRequest) {
        top.retain(|key| !matches!(*key, "continue" | "stopReason"));
    }
    let inside: &[&str] = match event {
        EventName::PreToolUse => &[
            "hookEventName",
            "permissionDecision",
            "permissionDecisionReason",
            "updatedInput",
            "additionalContext",
        ],
        EventName::PermissionRequest => &["hookEventName", "decision"],
        EventName::SessionStart
        | EventName::SubagentStart
        | EventName::UserPromptSubmit
        | EventName::PostToolUse => &["hookEventName", "additionalContext"],
        _ => &[],
    };
    for key in said.as_object().unwrap().keys() {
        assert!(top.contains(&key.as_str()), "{event} {key}");
    }
    for key in specific.as_object().into_iter().flatten().map(|(key, _)| key) {
        assert!(inside.contains(&key.as_str()), "{event} {key}");
    }
    match specific.get("permissionDecision").and_then(Value::as_str) {
        Some("allow") => assert!(specific["updatedInput"]["command"].is_string()),
        Some("deny") => assert!(!specific["permissionDecisionReason"].as_str().unwrap().trim().is_empty()),
        Some(other) => panic!("{other}"),
        None => {}
    }
    if said.get("decision").is_some() {
        assert!(!said["reason"].as_str().unwrap().trim().is_empty());
    }
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    let decision = prop_oneof![
        Just(Decision::Grant),
        Just(Decision::Allow),
        Just(Decision::Ask),
        Just(Decision::Deny),
        Just(Decision::Halt)
    ];
    let text = prop_oneof![Just(String::new()), Just("  ".to_owned()), "[a-z]{6}"];
    let input = prop_oneof![
        Just(json!({"command": "x", "description": "d"})),
        Just(json!({"command": "x"})),
        Just(json!({"description": "d"})),
        Just(json!({"command": 5, "description": "d"}))
    ];
    let result = (any::<bool>(), any::<bool>());
    (
        prop::sample::select(EventName::ALL),
        decision,
        prop::option::of(text),
        prop::option::of(input),
        prop::option::of(result),
        prop::collection::vec("context-[a-z]{5}", 0..3),
        prop::collection::vec("message-[a-z]{5}", 0..3),
    )
        .prop_map(|(event, decision, reason, input, result, additional_context, messages)| {
            let is_tool = matches!(event, EventName::PreToolUse | EventName::PermissionRequest);
            let is_after = matches!(event, EventName::PostToolUse | EventName::PostToolUseFailure);
            let blocked = event.is_gate() && decision >= Decision::Deny;
            // Shapes that the merge never makes are left out.
            let decision = match decision {
                Decision::Grant if !is_tool => Decision::Allow,
                Decision::Ask if !event.is_gate() => Decision::Allow,
                other => other,
            };
            Outcome {
                decision,
                continue_with: (event.is_stop() && decision == Decision::Deny).then(|| "go-on".to_owned()),
                reason,
                updated_input: input.filter(|_| is_tool && !blocked).map(object),
                result: result.filter(|_| is_after).map(|(failed, replaces)| ToolResult {
                    failed,
                    feedback: "feedback-text".to_owned(),
                    replaces,
                }),
                additional_context,
                messages,
                ..Outcome::nothing(event)
            }
        })
}

/// What the hooks meant, in the same order of strictness.
fn meant(outcome: &Outcome) -> Does {
    match outcome.decision {
        // After a tool a denial is about the result, and at other events there is nothing to refuse.
        Decision::Deny if !outcome.event.is_gate() && !outcome.event.is_stop() => Does::AsItLikes,
        Decision::Grant => Does::SkipsItsQuestion,
        Decision::Allow => Does::AsItLikes,
        Decision::Ask => Does::AsksAPerson,
        Decision::Deny => Does::Refuses,
        Decision::Halt => Does::EndsTheTurn,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_agent_is_told_less_than_the_hooks_meant(outcome in outcomes(), at in 0usize..4) {
        let host = Host::ALL[at];
        let Some(row) = host.row(outcome.event) else { return Ok(()) };
        let event = event_of(outcome.event);
        let words = encode(host, &event, &outcome);
        let heard = obey(host, outcome.event, &words);
        let meant = meant(&outcome);
        let halted = outcome.decision == Decision::Halt;
        // The table is what excuses, and only in these ways.
        let excused = match outcome.decision {
            // The engine refuses all that follows.
            Decision::Halt => match row.way(Answer::Halt) {
                Way::Held => Some(if row.event.is_gate() && row.way(Answer::Deny) == Way::Honoured { Does::Refuses } else { Does::AsItLikes }),
                Way::ToPerson => Some(Does::AsItLikes),
                // No turn begins.
                Way::Honoured if host == Host::Opencode && row.event == EventName::UserPromptSubmit => Some(Does::Refuses),
                // It has ended already.
                Way::Honoured if host == Host::Opencode && row.event.is_stop() => None,
                _ => None,
            },
            Decision::Deny | Decision::Ask if row.way(Answer::Deny) == Way::Cannot => Some(Does::AsItLikes),
            _ => None,
        };
        let least = excused.unwrap_or(meant);
        if !(halted && host == Host::Opencode && row.event.is_stop()) {
            // At a stop, going on and ending are no order of strictness: the agent does the one that was meant.
            if row.event.is_stop() {
                prop_assert_eq!(heard.does, meant, "{}", heard.everything);
            } else {
                prop_assert!(heard.does >= least, "{host} {:?} {:?} < {least:?}: {}", outcome, heard.does, heard.everything);
            }
        }
        // Never does a question go unasked that no hook answered.
        if outcome.decision != Decision::Grant {
            prop_assert!(heard.does != Does::SkipsItsQuestion, "{}", heard.everything);
        }
        // What runs is what was judged, or nothing runs.
        if let Some(input) = &outcome.updated_input
            && heard.does < Does::Refuses
        {
            let mut runs = input.clone();
            if host == Host::Gemini {
                // Words about the call, which Gemini keeps; the model's own go.
                runs.entry("description").or_insert_with(|| "A hook rewrote this call.".into());
            }
            prop_assert_eq!(heard.runs.as_ref(), Some(&Value::Object(runs)), "{}", heard.everything);
        } else if heard.does >= Does::Refuses {
            prop_assert!(heard.runs.is_none());
        }
        // Nothing that was said is lost, wherever it stands.
        for text in outcome.additional_context.iter().chain(&outcome.messages) {
            prop_assert!(heard.everything.contains(text.as_str()), "{host} lost {text}: {}", heard.everything);
        }
        if outcome.result.is_some() {
            prop_assert!(heard.everything.contains("feedback-text"), "{}", heard.everything);
        }
        // One JSON object and a newline, and nothing else.
        prop_assert_eq!(words.stdout.lines().count(), 1);
    }
}
