//! Sessions, by the facts that follow from events.

use proptest::prelude::*;

use super::*;
use crate::dialect::{Notice, Said};

fn stop(envelope: &str) -> Event {
    Event::read(envelope.as_bytes(), None).unwrap()
}

fn objects(dialect: Name, most: u32) -> Voice {
    let bound = Some(Bound { most, unit: None, then: Then::LetEnd });
    let said =
        Said { decision: Decision::Deny, continue_with: Some("more".to_owned()), bound, ..Said::default() };
    Voice { dialect, said }
}

fn denials(facts: &mut Facts, rounds: usize, voice: &Voice, limit: u32) -> usize {
    let event = stop(r#"{"hook_event_name":"Stop"}"#);
    (0..rounds)
        .filter(|_| {
            let mut voices = [voice.clone()];
            for fact in settle(&event, &mut voices, facts, facts.task(), limit) {
                facts.add(fact);
            }
            voices[0].said.decision == Decision::Deny
        })
        .count()
}

#[test]
fn stops_are_bounded_by_the_dialect_and_by_the_whole() {
    assert_eq!(denials(&mut Facts::default(), 20, &objects(Name::Albedo, 8), 99), 8);
    assert_eq!(denials(&mut Facts::default(), 20, &objects(Name::Albedo, 8), 3), 3);
    let mut facts = Facts::default();
    assert_eq!(denials(&mut facts, 20, &objects(Name::Albedo, 8), 8), 8);
    facts.add(Fact::Prompted);
    assert_eq!(denials(&mut facts, 20, &objects(Name::Albedo, 8), 8), 8);
}

#[test]
fn a_bound_that_halts_halts_whichever_bound_ends_it() {
    for (most, limit, denied) in [(0, 8, 0), (2, 8, 2), (10, 3, 3)] {
        let mut voice = objects(Name::Shadowcode, most);
        voice.said.bound = Some(Bound { most, unit: None, then: Then::Halt });
        let mut facts = Facts::default();
        assert_eq!(denials(&mut facts, denied, &voice, limit), denied);
        let mut last = [voice];
        settle(&stop(r#"{"hook_event_name":"Stop"}"#), &mut last, &facts, facts.task(), limit);
        assert_eq!((last[0].said.decision, last[0].said.continue_with.as_deref()), (Decision::Halt, None));
    }
}

#[test]
fn a_turn_that_rests_starts_counting_again_and_subagents_count_apart() {
    let mut facts = Facts::default();
    assert_eq!(denials(&mut facts, 3, &objects(Name::Albedo, 8), 8), 3);
    let agent = stop(r#"{"hook_event_name":"SubagentStop","agent_id":"a"}"#);
    assert_eq!(facts.continuations(&agent), 0);
    let quiet = Voice { dialect: Name::Albedo, said: Said::default() };
    assert_eq!(denials(&mut facts, 1, &quiet, 8), 0);
    assert_eq!(facts.continuations(&stop(r#"{"hook_event_name":"Stop"}"#)), 0);
}

#[test]
fn a_prompt_that_becket_caused_starts_no_turn() {
    let mut facts = Facts::default();
    denials(&mut facts, 1, &objects(Name::Albedo, 8), 8);
    let own = stop(r#"{"hook_event_name":"UserPromptSubmit","prompt":"more"}"#);
    let [used] = &settle(&own, &mut [], &facts, facts.task(), 8)[..] else { panic!() };
    assert!(matches!(used, Fact::Used { agent: None, with: Some(_) }));
    let person = stop(r#"{"hook_event_name":"UserPromptSubmit","prompt":"else"}"#);
    assert_eq!(settle(&person, &mut [], &facts, facts.task(), 8), [Fact::Prompted]);
}

/// Applies an event, with what one hook says to it, and answers what came of that.
fn apply(facts: &mut Facts, event: &Event, said: Said) -> Decision {
    let mut voices = [Voice { dialect: Name::Celeste, said }];
    for fact in settle(event, &mut voices, facts, facts.task(), 8) {
        facts.add(fact);
    }
    voices[0].said.decision
}

fn of(event: &str, agent: Option<&str>, prompt: &str) -> Event {
    let mut fields = serde_json::json!({"hook_event_name": event, "prompt": prompt});
    fields["agent_id"] = agent.into();
    stop(&fields.to_string())
}

fn stop_of(agent: Option<&str>) -> Event {
    of(if agent.is_some() { "SubagentStop" } else { "Stop" }, agent, "")
}

fn goes_on_with(text: &str, most: u32, unit: Option<&str>) -> Said {
    let bound = Some(Bound { most, unit: unit.map(str::to_owned), then: Then::LetEnd });
    Said { decision: Decision::Deny, continue_with: Some(text.to_owned()), bound, ..Said::default() }
}

/// What agents do, in any order.
#[derive(Debug, Clone)]
enum Deed {
    /// Somebody stops, and a hook objects or not.
    Stop(usize, bool),
    /// One of the continuations under way comes back.
    Continue(prop::sample::Index),
    /// Somebody is prompted, with the text of a continuation that may be under way or not.
    Prompt(usize, u8),
    /// Somebody comes to an end, with the session or without.
    End(usize),
}

const AGENTS: [Option<&str>; 5] = [None, Some("a"), Some("a/celeste"), Some("a%2Fceleste"), Some("turn")];

fn deed(prompts: bool) -> impl Strategy<Value = Deed> {
    let agent = 0..AGENTS.len();
    prop_oneof![
        6 => (agent.clone(), prop::bool::weighted(0.95)).prop_map(|(agent, objects)| Deed::Stop(agent, objects)),
        6 => any::<prop::sample::Index>().prop_map(Deed::Continue),
        u32::from(prompts) => (agent, 0..3_u8).prop_map(|(agent, text)| Deed::Prompt(agent, text)),
        u32::from(prompts) => (1..AGENTS.len()).prop_map(Deed::End),
    ]
}

proptest! {
    /// Each agent's bounds hold within each of its turns, whatever the others do meanwhile.
    #[test]
    fn each_agents_bounds_hold_in_any_order(
        deeds in prop::collection::vec(deed(true), 0..400), most in 0..10_u32,
    ) {
        let mut facts = Facts::default();
        let mut continued = [0; AGENTS.len()];
        let mut under_way: Vec<(usize, String)> = Vec::new();
        let mut prompts = 0;
        for deed in deeds {
            match deed {
                Deed::Stop(at, objects) => {
                    // Several are told to go on with the same text, and one agent with several.
                    let text = format!("text {}", continued[at] % 3);
                    let said = if objects { goes_on_with(&text, most, None) } else { Said::default() };
                    if apply(&mut facts, &stop_of(AGENTS[at]), said) == Decision::Deny {
                        continued[at] += 1;
                        under_way.push((at, text));
                    } else {
                        prop_assert!(!objects || continued[at] == most.min(8));
                        under_way.retain(|(agent, _)| *agent != at);
                        continued[at] *= u32::from(objects);
                    }
                }
                Deed::Continue(index) if !under_way.is_empty() => {
                    let (at, text) = under_way.remove(index.index(under_way.len()));
                    let event = of("UserPromptSubmit", AGENTS[at], &text);
                    prop_assert!(facts.is_own_prompt(&event));
                    apply(&mut facts, &event, Said::default());
                }
                Deed::Continue(_) => {}
                Deed::Prompt(at, text) => {
                    let text = format!("text {text}");
                    let event = of("UserPromptSubmit", AGENTS[at], &text);
                    let own = under_way.iter().position(|one| *one == (at, text.clone()));
                    prop_assert_eq!(facts.is_own_prompt(&event), own.is_some());
                    if let Some(own) = own {
                        under_way.remove(own);
                    } else {
                        under_way.retain(|(agent, _)| *agent != at);
                        continued[at] = 0;
                        if at == 0 {
                            continued.fill(0);
                            prompts += 1;
                        }
                    }
                    apply(&mut facts, &event, Said::default());
                }
                Deed::End(at) => {
                    under_way.retain(|(agent, _)| *agent != at);
                    continued[at] = 0;
                    apply(&mut facts, &of("SessionEnd", AGENTS[at], ""), Said::default());
                }
            }
            prop_assert!(continued.iter().all(|times| *times <= most.min(8)));
            prop_assert_eq!(facts.prompts, prompts);
            for (agent, times) in AGENTS.iter().zip(continued) {
                prop_assert_eq!(facts.continuations(&stop_of(*agent)), times);
            }
        }
        prop_assert_eq!(read_back(&Fact::Sum(Box::new(facts.clone()))), Facts { remembered: true, ..facts });
    }

    /// Where nobody but hooks makes anybody go on, everybody comes to an end.
    #[test]
    fn what_only_hooks_keep_going_ends(deeds in prop::collection::vec(deed(false), 0..1_000)) {
        let mut facts = Facts::default();
        let mut denied = 0;
        let mut under_way: Vec<(usize, String)> = Vec::new();
        for deed in deeds {
            match deed {
                Deed::Stop(at, _) => {
                    let text = format!("text {}", denied % 2);
                    if apply(&mut facts, &stop_of(AGENTS[at]), goes_on_with(&text, 8, None)) == Decision::Deny {
                        denied += 1;
                        under_way.push((at, text));
                    } else {
                        under_way.retain(|(agent, _)| *agent != at);
                    }
                }
                Deed::Continue(index) if !under_way.is_empty() => {
                    let (at, text) = under_way.remove(index.index(under_way.len()));
                    apply(&mut facts, &of("UserPromptSubmit", AGENTS[at], &text), Said::default());
                }
                _ => {}
            }
        }
        prop_assert!(denied <= 8 * AGENTS.len());
    }
}

#[test]
fn a_subagent_that_runs_again_is_sent_back_again() {
    let again = || goes_on_with("more", 1, None);
    // By its start, by another prompt, or in another of the person's turns, as hosts report it that tell of neither.
    for agent in ["a", ""] {
        for between in [
            of("SubagentStart", Some(agent), ""),
            of("UserPromptSubmit", Some(agent), "else"),
            of("UserPromptSubmit", None, "else"),
        ] {
            let mut facts = Facts::default();
            let stop = of("SubagentStop", Some(agent), "");
            for _run in 0..3 {
                assert_eq!(apply(&mut facts, &stop, again()), Decision::Deny, "{agent} {between:?}");
                // However often it comes back by itself, or its end is reported.
                for _end in 0..3 {
                    assert_eq!(apply(&mut facts, &stop, again()), Decision::Allow, "{agent} {between:?}");
                }
                apply(&mut facts, &between, Said::default());
            }
        }
    }
    // One that was killed never stopped.
    let mut facts = Facts::default();
    assert_eq!(apply(&mut facts, &of("SubagentStop", Some("a"), ""), again()), Decision::Deny);
    apply(&mut facts, &of("SubagentStart", Some("a"), ""), Said::default());
    assert_eq!(apply(&mut facts, &of("SubagentStop", Some("a"), ""), again()), Decision::Deny);
}

#[test]
fn what_ends_late_ends_nothing_of_the_next_task() {
    let kept = |value: Value| Said { keep: Some(value), ..Said::default() };
    for late in ["Stop", "StopFailure", "SessionEnd"] {
        let mut facts = Facts { remembered: true, ..Facts::default() };
        apply(&mut facts, &of("UserPromptSubmit", None, "one"), kept(1.into()));
        let met = facts.task();
        // While its hooks run a person prompts, and that turn is continued once.
        apply(&mut facts, &of("UserPromptSubmit", None, "two"), kept(2.into()));
        apply(&mut facts, &stop_of(None), goes_on_with("more", 8, None));
        let held = facts.clone();
        let mut voices = [Voice { dialect: Name::Celeste, said: kept(Value::Null) }];
        for fact in settle(&of(late, None, ""), &mut voices, &facts, met, 8) {
            facts.add(fact);
        }
        assert_eq!(facts, held, "{late}");
        // In time it does.
        let mut voices = [Voice { dialect: Name::Celeste, said: kept(Value::Null) }];
        for fact in settle(&of(late, None, ""), &mut voices, &facts, facts.task(), 8) {
            facts.add(fact);
        }
        assert!(facts.kept.is_empty(), "{late}");
    }
}

#[test]
fn a_continuation_counts_once_and_only_while_it_is_under_way() {
    let prompt = of("UserPromptSubmit", None, " more\n");
    for (objects, halted) in [(true, false), (false, false), (true, true)] {
        let mut facts = Facts::default();
        let again = || goes_on_with("more", 1, None);
        assert_eq!(apply(&mut facts, &stop_of(None), again()), Decision::Deny);
        assert!(facts.is_own_prompt(&prompt));
        if halted {
            facts.add(Fact::Halted { reason: "r".to_owned(), next_turn: false });
        }
        let said = if objects { again() } else { Said::default() };
        let came = apply(&mut facts, &stop_of(None), said);
        assert_eq!(came, if halted { Decision::Halt } else { Decision::Allow });
        assert!(!facts.is_own_prompt(&prompt), "the turn is over");
        assert_eq!(facts.continuations(&stop_of(None)), u32::from(objects));
    }
    let mut facts = Facts::default();
    for _ in 0..2 {
        apply(&mut facts, &stop_of(None), goes_on_with("more", 8, None));
    }
    for _ in 0..2 {
        assert!(facts.is_own_prompt(&prompt));
        apply(&mut facts, &prompt, Said::default());
    }
    assert!(!facts.is_own_prompt(&prompt));
    apply(&mut facts, &prompt, Said::default());
    assert_eq!((facts.prompts, facts.continuations(&stop_of(None))), (1, 0));
}

#[test]
fn a_unit_that_the_host_names_lasts_as_long_as_the_session() {
    let mut facts = Facts::default();
    let stops =
        |facts: &mut Facts, agent, unit| apply(facts, &stop_of(agent), goes_on_with("more", 1, Some(unit)));
    for agent in [None, Some("a")] {
        assert_eq!(stops(&mut facts, agent, "run-7"), Decision::Deny);
        assert_eq!(stops(&mut facts, agent, "run-8"), Decision::Deny);
        for between in [stop_of(agent), of("UserPromptSubmit", agent, "x"), of("SessionEnd", Some("a"), "")] {
            apply(&mut facts, &between, Said::default());
            assert_eq!(stops(&mut facts, agent, "run-7"), Decision::Allow);
        }
    }
    apply(&mut facts, &of("SessionEnd", None, ""), Said::default());
    assert_eq!(stops(&mut facts, None, "run-7"), Decision::Deny);
}

#[test]
fn a_session_that_ended_begins_with_its_workspace_alone() {
    let facts = |facts: &mut Facts| {
        facts.add(Fact::Began { workspace: "/w".into() });
        for _ in 0..3 {
            facts.add(Fact::Prompted);
        }
        facts.add(Fact::Told { key: "k".to_owned() });
        facts.add(Fact::Blocked { call: "c".to_owned() });
        facts.add(Fact::Kept { dialect: Name::Celeste, value: true.into() });
        facts.add(Fact::Halted { reason: "r".to_owned(), next_turn: true });
        apply(facts, &stop_of(None), goes_on_with("more", 8, Some("u")));
    };
    let mut ended = Facts::default();
    facts(&mut ended);
    let tasks = ended.task();
    apply(&mut ended, &of("SessionEnd", None, ""), Said::default());
    let left = Facts { workspace: Some("/w".into()), earlier: ended.earlier, ..Facts::default() };
    assert_eq!(ended, left);
    assert!(ended.task() > tasks);
    assert_eq!(
        settle(&of("SessionEnd", None, ""), &mut [], &ended, ended.task(), 8),
        [],
        "there is nothing to end"
    );
}

#[test]
fn a_blocked_call_is_one_until_it_ends_or_another_begins() {
    let call = |event: &str, id: &str| {
        stop(&format!(
            r#"{{"hook_event_name":"{event}","tool_name":"Bash","tool_input":{{"command":"ls"}},"tool_use_id":"{id}"}}"#
        ))
    };
    for (event, stays) in [
        ("PreToolUse", false),
        ("PermissionRequest", true),
        ("PostToolUse", false),
        ("PostToolUseFailure", false),
    ] {
        let mut facts = Facts::default();
        apply(&mut facts, &call("PreToolUse", "c"), goes_on_with("", 1, None));
        let event = call(event, "c");
        assert_eq!(facts.blocked(&event), Blocked::Surely);
        apply(&mut facts, &call("PreToolUse", "d"), Said::default());
        assert_eq!(facts.blocked(&event), Blocked::Surely, "it is another call");
        apply(&mut facts, &event, Said::default());
        assert_eq!(facts.blocked(&event), if stays { Blocked::Surely } else { Blocked::No });
        assert_eq!(facts.blocked.is_empty(), !stays);
    }
    let mut facts = Facts::default();
    settle_held(&call("PreToolUse", "c"), &facts.clone()).into_iter().for_each(|fact| facts.add(fact));
    assert_eq!(facts.blocked(&call("PostToolUse", "c")), Blocked::Surely);
    // Some hosts call all their calls the same, and what a host reports may not be what it asked about.
    let other = stop(
        r#"{"hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"f"},"tool_use_id":"c"}"#,
    );
    assert_eq!(facts.blocked(&other), Blocked::Perhaps);
    // As it was remembered once.
    let mut facts = Facts::default();
    facts.add(Fact::Blocked { call: "c".to_owned() });
    assert_eq!(facts.blocked(&call("PostToolUse", "c")), Blocked::Perhaps);
}

#[test]
fn a_blocked_call_without_a_name_is_known_by_what_it_does() {
    let call = |event: &str, tool: &str, command: &str| {
        stop(&format!(
            r#"{{"hook_event_name":"{event}","tool_name":"{tool}","tool_input":{{"command":"{command}"}}}}"#
        ))
    };
    let mut facts = Facts::default();
    apply(&mut facts, &call("PreToolUse", "Bash", "ls"), goes_on_with("", 1, None));
    for (tool, command, blocked) in
        [("Bash", "ls", Blocked::Perhaps), ("Bash", "pwd", Blocked::No), ("shell", "ls", Blocked::No)]
    {
        let end = call("PostToolUse", tool, command);
        assert_eq!(facts.blocked(&end), blocked, "{tool} {command}");
    }
    // Nor is it one that somebody else makes.
    let anothers = stop(
        r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"agent_id":"a"}"#,
    );
    assert_eq!(facts.blocked(&anothers), Blocked::No);
    // One with a name is another.
    let named = stop(
        r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"c"}"#,
    );
    assert_eq!(facts.blocked(&named), Blocked::No);
    let mut ended = facts.clone();
    apply(&mut ended, &call("PostToolUseFailure", "Bash", "ls"), Said::default());
    assert_eq!(ended.blocked.len(), 0);
    apply(&mut facts, &call("PreToolUse", "Bash", "ls"), Said::default());
    assert_eq!(facts.blocked.len(), 0, "this time it was let through");
}

#[test]
fn what_is_let_go_at_a_stop_is_so_if_the_turn_ends_with_it() {
    let held = Fact::Kept { dialect: Name::Celeste, value: true.into() };
    for (objects, left) in [(true, Some(&Value::Bool(true))), (false, None)] {
        let mut facts = Facts::default();
        facts.add(held.clone());
        let said = Said { keep: Some(Value::Null), ..Said::default() };
        let mut voices = [Voice { dialect: Name::Celeste, said }, objects_if(objects)];
        for fact in settle(&stop_of(None), &mut voices, &facts, facts.task(), 8) {
            facts.add(fact);
        }
        assert_eq!(facts.kept.get(&Name::Celeste), left);
    }
}

fn objects_if(objects_too: bool) -> Voice {
    let quiet = Voice { dialect: Name::Albedo, said: Said::default() };
    if objects_too { objects(Name::Albedo, 8) } else { quiet }
}

#[test]
fn lines_of_the_first_form_are_read() {
    let lines = [
        r#"{"v":1,"fact":"prompted"}"#,
        r#"{"v":1,"fact":{"continued":{"counters":["turn/albedo","turn"],"with":"h"}}}"#,
        r#"{"v":1,"fact":{"continued":{"counters":["subagent a/albedo","subagent a"],"with":"i"}}}"#,
        r#"{"v":1,"fact":{"rested":{"counter":"subagent a"}}}"#,
        "",
    ];
    let (facts, gaps) = Facts::read(&lines.join("\n"));
    assert_eq!((facts.prompts, gaps), (1, Gaps::default()));
    assert_eq!(facts.under_way, [UnderWay { agent: None, with: "h".to_owned() }]);
    assert_eq!((facts.continuations(&stop_of(None)), facts.continuations(&stop_of(Some("a")))), (1, 0));
    let sum = r#"{"v":1,"fact":{"sum":{"remembered":true,"prompts":4,"continued":{"turn":2},"continued_with":"h"}}}"#;
    let (facts, gaps) = Facts::read(&format!("{sum}\n"));
    assert_eq!((facts.task(), facts.continuations(&stop_of(None)), gaps), (4, 2, Gaps::default()));
}

#[test]
fn an_open_call_is_over_when_its_own_agent_goes_on() {
    let fields = stop(
        r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"x"},"tool_use_id":"c","agent_id":"a"}"#,
    )
    .fields;
    let call = OpenCall { id: "c".to_owned(), agent: Some("a".to_owned()), fields };
    let mut facts = Facts::default();
    facts.add(Fact::Opened { call: Box::new(call.clone()) });
    assert_eq!(facts.open.len(), 1);
    assert!(!call.is_over_at(&stop(r#"{"hook_event_name":"Notification"}"#)));
    assert!(call.is_over_at(&stop(r#"{"hook_event_name":"SubagentStop","agent_id":"a"}"#)));
    assert!(call.is_over_at(&stop(r#"{"hook_event_name":"SessionEnd"}"#)));
    for other in ["Stop", "SessionEnd", "SubagentStop"] {
        let of = format!(r#"{{"hook_event_name":"{other}","agent_id":"b"}}"#);
        assert!(!call.is_over_at(&stop(&of)), "another's end is nobody else's");
    }
    let end = call.end().unwrap();
    assert_eq!((end.name, end.tool.unwrap().call_id.as_deref()), (EventName::PostToolUse, Some("c")));
    facts.add(Fact::Closed { id: "c".to_owned() });
    assert_eq!(facts.open, []);
}

#[test]
fn a_halt_that_the_host_did_not_follow_lasts_until_the_next_prompt() {
    let mut facts = Facts::default();
    facts.add(Fact::Halted { reason: "r".to_owned(), next_turn: false });
    assert!(facts.halted.is_some());
    facts.add(Fact::Prompted);
    assert_eq!(facts.halted, None);
}

#[test]
fn notices_are_told_once() {
    let notice = Notice { key: "k".to_owned(), text: "t".to_owned() };
    let voice = Voice {
        dialect: Name::Albedo,
        said: Said { notices: vec![notice.clone(), notice], ..Said::default() },
    };
    let event = stop(r#"{"hook_event_name":"SessionStart"}"#);
    let mut facts = Facts::default();
    let mut first = [voice.clone()];
    for fact in settle(&event, &mut first, &facts, facts.task(), 8) {
        facts.add(fact);
    }
    let mut second = [voice];
    settle(&event, &mut second, &facts, facts.task(), 8);
    assert_eq!((first[0].said.messages.len(), second[0].said.messages.len()), (1, 0));
}

#[test]
fn what_is_held_first_stays_and_is_added_to() {
    let kept = |value: Value| Fact::Kept { dialect: Name::Celeste, value };
    let mut facts = Facts::default();
    facts.add(kept(serde_json::json!({"first": {"a": 1, "b": 1}})));
    facts.add(kept(serde_json::json!({"first": {"b": 2, "c": 2}})));
    assert_eq!(facts.kept[&Name::Celeste], serde_json::json!({"first": {"a": 1, "b": 1, "c": 2}}));
    facts.add(kept(serde_json::json!({"n": 1})));
    assert_eq!(facts.kept[&Name::Celeste], serde_json::json!({"n": 1}));
    facts.add(kept(Value::Null));
    assert!(facts.kept.is_empty());
}

#[test]
fn a_torn_or_newer_line_loses_only_itself() {
    let mut lines: String =
        [Fact::Prompted, Fact::Told { key: "k".to_owned() }].iter().filter_map(line).collect();
    lines.push_str("{\"v\":9,\"fact\":\"unheard\"}\nrubbish\n{\"v\":1,\"fact\":\"prom");
    let (facts, gaps) = Facts::read(&lines);
    assert_eq!((facts.prompts, facts.told.len(), gaps), (1, 1, Gaps { newer: 1, unreadable: 1 }));
}

#[test]
fn a_line_torn_anywhere_and_closed_later_is_no_gap() {
    let call = OpenCall { id: "c".to_owned(), agent: None, fields: fields(r#"{"a":[1.5,"\u00e9"]}"#) };
    let whole = line(&Fact::Opened { call: Box::new(call) }).unwrap();
    for end in (0..whole.len() - 1).filter(|end| whole.is_char_boundary(*end)) {
        let (facts, gaps) = Facts::read(&format!("{}\n{whole}", &whole[..end]));
        assert_eq!((facts.open.len(), gaps), (1, Gaps::default()), "{}", &whole[..end]);
    }
}

#[test]
fn a_sum_reads_back_as_the_facts_it_sums() {
    let mut facts = Facts { remembered: true, ..Facts::default() };
    facts.add(Fact::Began { workspace: "/w".into() });
    facts.add(Fact::Kept { dialect: Name::Celeste, value: serde_json::json!({"n": 1.10}) });
    denials(&mut facts, 2, &objects(Name::Albedo, 8), 8);
    assert_eq!(read_back(&Fact::Sum(Box::new(facts.clone()))), facts);
}

fn fields(text: &str) -> Object {
    crate::json::parse_object(text.as_bytes()).unwrap()
}

fn read_back(fact: &Fact) -> Facts {
    let (facts, gaps) = Facts::read(&line(fact).unwrap());
    assert!(gaps.is_none());
    facts
}

/// JSON that is accepted, with what readers trip over: depth, numbers' digits, keys that `serde_json` means something by.
fn foreign() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("$serde_json::private::Number"),
        Just("$serde_json::private::RawValue"),
        Just("\\u0024serde_json::private::Number"),
        Just("a"),
        Just("v"),
        Just("fact"),
    ];
    let leaf = prop_oneof![
        Just("\"1e5\"".to_owned()),
        Just("\"{\"".to_owned()),
        Just("\"\\u0031\"".to_owned()),
        Just("1.10".to_owned()),
        Just("-12345678901234567890123e+400".to_owned()),
        Just("null".to_owned()),
        Just("true".to_owned()),
    ];
    leaf.prop_recursive(110, 200, 3, move |inner| {
        prop_oneof![
            (key.clone(), inner.clone()).prop_map(|(key, value)| format!("{{\"{key}\":{value}}}")),
            (key.clone(), inner.clone()).prop_map(|(key, value)| format!("{{\"{key}\":{value},\"z\":0}}")),
            prop::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_accepted_reads_back_from_its_facts_and_their_sum(
        inner in foreign(), levels in 0..crate::json::MOST_SENT,
    ) {
        let deep = format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels));
        let envelope = format!(
            r#"{{"hook_event_name":"PreToolUse","tool_name":"X","tool_use_id":"c","tool_input":{{"x":{deep}}},"y":{deep}}}"#
        );
        let Ok(event) = Event::read(envelope.as_bytes(), None) else { return Ok(()) };
        let call = OpenCall { id: "c".to_owned(), agent: None, fields: event.fields.clone() };
        let mut facts = Facts { remembered: true, ..Facts::default() };
        let opened = Fact::Opened { call: Box::new(call.clone()) };
        let kept = Fact::Kept { dialect: Name::Celeste, value: event.fields["y"].clone() };
        let one = read_back(&opened).open;
        prop_assert_eq!(one, [call]);
        for fact in [opened, kept] {
            facts.add(fact);
        }
        prop_assert_eq!(read_back(&Fact::Sum(Box::new(facts.clone()))), facts);
    }
}

#[test]
fn the_deepest_that_is_accepted_reads_back() {
    let nested = |levels: usize| format!("{{\"x\":{}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
    let most = crate::json::MOST_SENT;
    assert!(crate::json::parse_object(nested(most + 1).as_bytes()).is_err());
    // An agent may hand an input over as a text, which is read to the same depth and then stands one level deeper.
    let mut fields = fields(&nested(most));
    fields.insert("tool_input".to_owned(), fields.clone().into());
    let mut facts = Facts { remembered: true, ..Facts::default() };
    facts.add(Fact::Opened { call: Box::new(OpenCall { id: "c".to_owned(), agent: None, fields }) });
    assert_eq!(read_back(&Fact::Sum(Box::new(facts.clone()))), facts);
}

#[test]
fn what_would_not_read_back_is_no_line() {
    let deep = (0..127).fold(Value::Null, |value, _| serde_json::json!([value]));
    assert_eq!(line(&Fact::Kept { dialect: Name::Celeste, value: deep }), None);
}
