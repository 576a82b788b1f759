//! Together: how all dialects judge one event, and what their answers mean as one.
//!
//! [`hear`] asks the dialects in order, by its own small loop each; [`outcome`] merges what they said. Both are
//! pure: what runs is handed in as a function, so that tests and `explain` use the same way with made-up ends.

use crate::dialect::{Batch, Finished, Firing, Name, Rules, Said, Step};
use crate::event::{Event, EventName};
use crate::json::Object;
use crate::outcome::{Decision, Outcome, ToolResult};
use crate::scope::Scope;
use crate::session::Facts;

/// What one dialect said of an event, over both looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Voice {
    /// Whose.
    pub dialect: Name,
    /// What.
    pub said: Said,
}

/// Runs a batch and answers the ends in the order of its jobs.
pub type Runner<'a> = dyn FnMut(&dyn Rules, Batch) -> Vec<Finished> + 'a;

/// Asks every dialect about an event.
///
/// At a gate there are two looks. In the first each dialect judges the call as the model made it; the first denial
/// or halt ends it. If somebody rewrote the input, the first rewrite in dialect order counts, and in a second look
/// every dialect but its author judges that one too. What runs has so been judged by every guard, and so has what
/// was asked for. At every other event all dialects are heard.
pub fn hear(
    event: &Event,
    rules: &[&dyn Rules],
    scope: &Scope,
    session: &Facts,
    run: &mut Runner<'_>,
) -> Vec<Voice> {
    let mut voices = Vec::with_capacity(rules.len());
    for rules in rules {
        let said = ask(*rules, &Firing { event, look: 1, scope, session }, run);
        let ends = event.name.is_gate() && said.decision >= Decision::Deny;
        voices.push(Voice { dialect: rules.dialect(), said });
        if ends {
            return without_rewrites(voices);
        }
    }
    let Some((author, input)) = choose_rewrite(event, &mut voices) else {
        return voices;
    };
    let rewritten = event.with_input(input);
    for (voice, rules) in voices.iter_mut().zip(rules) {
        if voice.dialect != author {
            let second = ask(*rules, &Firing { event: &rewritten, look: 2, scope, session }, run);
            add_second_look(&mut voice.said, second);
        }
    }
    voices
}

fn ask(rules: &dyn Rules, firing: &Firing<'_>, run: &mut Runner<'_>) -> Said {
    let mut next = rules.way(firing);
    let mut ended = Vec::new();
    loop {
        match next(ended) {
            Step::Run(batch) => ended = run(rules, batch),
            Step::Done(said) => return *said,
        }
    }
}

/// A blocked call has no input that will run.
fn without_rewrites(mut voices: Vec<Voice>) -> Vec<Voice> {
    for voice in &mut voices {
        voice.said.updated_input = None;
    }
    voices
}

/// The first rewrite counts and is kept; others that differ are reported and dropped.
fn choose_rewrite(event: &Event, voices: &mut [Voice]) -> Option<(Name, Object)> {
    let original = event.tool.as_ref().and_then(|tool| tool.input.as_ref());
    let mut chosen: Option<(Name, Object)> = None;
    for voice in voices {
        let Some(input) = voice.said.updated_input.take() else { continue };
        match &chosen {
            None if Some(&input) == original => {}
            None => {
                voice.said.updated_input = Some(input.clone());
                chosen = Some((voice.dialect, input));
            }
            Some((_, first)) if *first == input => {}
            Some((author, _)) => voice.said.messages.push(format!(
                "{}: its rewrite of the tool's input was dropped: {author} rewrote it first, in another way",
                voice.dialect
            )),
        }
    }
    chosen
}

/// The strictest of both looks. Rewrites and contexts of the second are not taken.
fn add_second_look(first: &mut Said, second: Said) {
    if second.decision > first.decision {
        first.decision = second.decision;
        first.reason = second.reason;
    }
    first.messages.extend(second.messages);
    first.notices.extend(second.notices);
    first.runs.extend(second.runs);
}

/// What all voices together mean for the agent.
pub fn outcome(event: EventName, voices: Vec<Voice>) -> Outcome {
    let mut outcome = Outcome::nothing(event);
    outcome.decision = decision(event, &voices);
    outcome.reason = voices
        .iter()
        .filter(|voice| voice.said.decision == outcome.decision)
        .find_map(|voice| voice.said.reason.clone());
    if event.is_stop() && outcome.decision == Decision::Deny {
        outcome.continue_with = continue_with(&voices);
    }
    let blocked = event.is_gate() && outcome.decision >= Decision::Deny;
    for Voice { said, .. } in voices {
        outcome.result = add_result(outcome.result.take(), said.result);
        if !blocked && outcome.updated_input.is_none() {
            outcome.updated_input = said.updated_input;
        }
        // The context of a prompt that the model never sees goes with the prompt.
        if !(blocked && event == EventName::UserPromptSubmit) {
            outcome.additional_context.extend(said.additional_context);
        }
        outcome.messages.extend(said.messages);
        outcome.runs.extend(said.runs);
    }
    outcome
}

/// The strictest voice counts. A grant is the exception: it speaks only where nobody says more.
fn decision(event: EventName, voices: &[Voice]) -> Decision {
    let strictest = voices.iter().map(|voice| voice.said.decision).max().unwrap_or(Decision::Allow);
    match strictest {
        // Asking makes no sense at an end: nothing is about to happen.
        Decision::Ask if event.is_stop() => Decision::Allow,
        Decision::Allow | Decision::Grant
            if voices.iter().any(|voice| voice.said.decision == Decision::Grant) =>
        {
            Decision::Grant
        }
        other => other,
    }
}

/// What the agent goes on with: the texts of all who deny the stop.
pub(crate) fn continue_with(voices: &[Voice]) -> Option<String> {
    let texts: Vec<&str> = voices
        .iter()
        .filter(|voice| voice.said.decision == Decision::Deny)
        .filter_map(|voice| voice.said.continue_with.as_deref())
        .collect();
    if texts.is_empty() { None } else { Some(texts.join("\n\n")) }
}

fn add_result(first: Option<ToolResult>, second: Option<ToolResult>) -> Option<ToolResult> {
    match (first, second) {
        (Some(first), Some(second)) => Some(ToolResult {
            failed: first.failed || second.failed,
            feedback: [first.feedback, second.feedback].join("\n\n"),
            replaces: first.replaces || second.replaces,
        }),
        (first, second) => first.or(second),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::dialect::{
        Captured, Dialect, End, Known, Problem, Source, Way, albedo::Albedo, celeste::Celeste,
    };
    use crate::ledger::Ledger;
    use crate::place::{File, Found};
    use crate::scope::tests::scope;

    /// A made-up dialect: it denies inputs that hold any of its forbidden words, and may rewrite or grant.
    #[derive(Debug, Clone)]
    struct Guard {
        dialect: Name,
        forbids: Vec<u8>,
        asks: Vec<u8>,
        rewrites_to: Option<u8>,
        grants: bool,
    }

    struct Heard<'a>(&'a Guard, &'a RefCell<Vec<(Name, u8, u8)>>);

    impl Rules for Heard<'_> {
        fn dialect(&self) -> Name {
            self.0.dialect
        }
        fn sources(&self) -> &[Source] {
            &[]
        }
        fn problems(&self) -> &[Problem] {
            &[]
        }
        fn listens(&self, _: &Event) -> bool {
            true
        }
        fn way<'a>(&'a self, firing: &'a Firing<'a>) -> Way<'a> {
            Box::new(|_| self.judge(firing))
        }
    }

    impl Heard<'_> {
        fn judge(&self, firing: &Firing<'_>) -> Step {
            let word = word(firing.event.tool.as_ref().unwrap().input.as_ref().unwrap());
            self.1.borrow_mut().push((self.0.dialect, firing.look, word));
            let decision = if self.0.forbids.contains(&word) {
                Decision::Deny
            } else if self.0.asks.contains(&word) {
                Decision::Ask
            } else if self.0.grants {
                Decision::Grant
            } else {
                Decision::Allow
            };
            let updated_input = self.0.rewrites_to.map(input);
            Step::Done(Box::new(Said {
                decision,
                updated_input,
                additional_context: vec!["c".into()],
                ..Said::default()
            }))
        }
    }

    // The trait asks for it; tests run each case on one thread.
    #[allow(unsafe_code, reason = "a test double that never leaves its thread")]
    unsafe impl Sync for Heard<'_> {}
    #[allow(unsafe_code, reason = "a test double that never leaves its thread")]
    unsafe impl Send for Heard<'_> {}

    fn input(word: u8) -> Object {
        json!({ "command": word }).as_object().cloned().unwrap()
    }

    /// What the model wrote: word 0.
    fn asked() -> Event {
        let event = br#"{"hook_event_name":"PreToolUse","tool_name":"Other","tool_input":{"command":0}}"#;
        Event::read(event, None).unwrap()
    }

    fn word(input: &Object) -> u8 {
        u8::try_from(input["command"].as_u64().unwrap()).unwrap()
    }

    fn judge(guards: &[Guard]) -> (Outcome, Vec<(Name, u8, u8)>) {
        let seen = RefCell::new(Vec::new());
        let heard: Vec<Heard<'_>> = guards.iter().map(|guard| Heard(guard, &seen)).collect();
        let rules: Vec<&dyn Rules> = heard.iter().map(|heard| heard as &dyn Rules).collect();
        let event = asked();
        let voices = hear(&event, &rules, &scope(), &Facts::default(), &mut |_, _| Vec::new());
        let outcome = outcome(event.name, voices);
        (outcome, seen.into_inner())
    }

    fn guards() -> impl Strategy<Value = Vec<Guard>> {
        let one = |dialect| {
            (
                prop::option::weighted(
                    0.8,
                    (
                        prop::collection::vec(0u8..4, 0..2),
                        prop::collection::vec(0u8..4, 0..2),
                        prop::option::of(0u8..4),
                        any::<bool>(),
                    ),
                ),
                Just(dialect),
            )
                .prop_map(|(guard, dialect)| {
                    guard.map(|(forbids, asks, rewrites_to, grants)| Guard {
                        dialect,
                        forbids,
                        asks,
                        rewrites_to,
                        grants,
                    })
                })
        };
        (one(Name::Albedo), one(Name::Celeste), one(Name::Claude), one(Name::Codex), one(Name::Shadowcode))
            .prop_map(|(a, b, c, d, e)| [a, b, c, d, e].into_iter().flatten().collect())
    }

    proptest! {
        #[test]
        fn what_runs_and_what_was_asked_for_are_judged_by_every_guard(guards in guards()) {
            let (outcome, seen) = judge(&guards);
            if outcome.decision >= Decision::Deny {
                prop_assert_eq!(outcome.updated_input, None);
                return Ok(());
            }
            let runs = outcome.updated_input.as_ref().map_or(0, word);
            let author = guards.iter().find(|g| g.rewrites_to.is_some_and(|to| to != 0)).map(|g| g.dialect);
            for guard in &guards {
                prop_assert!(seen.contains(&(guard.dialect, 1, 0)));
                if runs != 0 && Some(guard.dialect) != author {
                    prop_assert!(seen.contains(&(guard.dialect, 2, runs)));
                    prop_assert!(!guard.forbids.contains(&runs));
                }
                prop_assert!(!guard.forbids.contains(&0));
            }
            // Contexts of the second look are not taken.
            prop_assert_eq!(outcome.additional_context.len(), guards.len());
        }

        #[test]
        fn another_guard_never_loosens(guards in guards(), forbids in prop::collection::vec(0u8..4, 0..3), at in 0usize..5) {
            let dialects = [Name::Albedo, Name::Celeste, Name::Claude, Name::Codex, Name::Shadowcode];
            let mut more = guards.clone();
            match more.iter_mut().find(|guard| guard.dialect == dialects[at]) {
                Some(guard) => guard.forbids.extend(forbids),
                None => {
                    more.push(Guard { dialect: dialects[at], forbids, asks: vec![], rewrites_to: None, grants: false });
                    more.sort_by_key(|guard| guard.dialect);
                }
            }
            prop_assert!(judge(&more).0.decision >= judge(&guards).0.decision);
        }

        #[test]
        fn a_grant_holds_for_what_runs(guards in guards()) {
            let (outcome, _) = judge(&guards);
            if outcome.decision == Decision::Grant {
                let runs = outcome.updated_input.as_ref().map_or(0, word);
                let author = guards.iter().find(|g| g.rewrites_to.is_some_and(|to| to != 0)).map(|g| g.dialect);
                // What the author of a rewrite grants it grants of that.
                let granted = |guard: &Guard| {
                    guard.grants && (Some(guard.dialect) == author || !guard.asks.contains(&runs))
                };
                prop_assert!(guards.iter().any(granted));
            }
        }
    }

    /// What one hook of a file does.
    #[derive(Debug, Clone, Copy)]
    enum Does {
        Forbids(u8),
        RewritesTo(u8),
    }

    fn does() -> impl Strategy<Value = Vec<Does>> {
        let one =
            prop_oneof![2 => (0u8..4).prop_map(Does::Forbids), 1 => (1u8..4).prop_map(Does::RewritesTo)];
        prop::collection::vec(one, 0..5)
    }

    /// A dialect's real rules, of its user's own file.
    fn real(dialect: &dyn Dialect, text: &str) -> Box<dyn Rules> {
        let (scope, ledger) = (scope(), Ledger::default());
        let own = ["/h/.albedo/hooks.json", "/h/.celeste/hooks.json"];
        let file = File { bytes: text.as_bytes().into(), modified_ms: 0, unsafe_store: None };
        let places = dialect.places(&scope).into_iter();
        let found: Vec<Found> =
            places
                .map(|place| {
                    if own.contains(&place.path.as_str()) {
                        Found::File(file.clone())
                    } else {
                        Found::Missing
                    }
                })
                .collect();
        dialect.load(&scope, &found, &Known::outside(&ledger))
    }

    fn albedo(hooks: &[Does]) -> Box<dyn Rules> {
        let hooks: Vec<_> =
            (0..hooks.len()).map(|at| json!({"type": "command", "command": at.to_string()})).collect();
        real(&Albedo, &json!({"hooks": {"PreToolUse": [{ "hooks": hooks }]}}).to_string())
    }

    fn celeste(hooks: &[Does]) -> Box<dyn Rules> {
        let hooks: Vec<_> =
            (0..hooks.len()).map(|at| json!({"event": "PreToolUse", "command": at.to_string()})).collect();
        real(&Celeste, &json!({ "hooks": hooks }).to_string())
    }

    /// The end of a hook that does this, of the word it was told.
    fn end(dialect: Name, does: Does, told: u8) -> (End, String) {
        match does {
            Does::Forbids(word) if word == told => match dialect {
                Name::Celeste => (End::Exited(0), json!({"decision": "deny"}).to_string()),
                _ => (End::Exited(2), String::new()),
            },
            Does::Forbids(_) => (End::Exited(0), String::new()),
            Does::RewritesTo(word) => {
                let rewrite = json!({ "updatedInput": input(word) });
                let said =
                    if dialect == Name::Celeste { rewrite } else { json!({ "hookSpecificOutput": rewrite }) };
                (End::Exited(0), said.to_string())
            }
        }
    }

    proptest! {
        /// As above, of dialects with several hooks, that see each other's rewrites or do not: the real albedo and
        /// Celeste, and another rewriter behind them.
        #[test]
        fn what_runs_is_judged_by_every_hook_whoever_rewrote(first in does(), then in does(), last in prop::option::of(1u8..4)) {
            let behind =
                Guard { dialect: Name::Shadowcode, forbids: vec![], asks: vec![], rewrites_to: last, grants: false };
            let unused = RefCell::new(Vec::new());
            let (one, two, three) = (albedo(&first), celeste(&then), Heard(&behind, &unused));
            let rules: [&dyn Rules; 3] = [&*one, &*two, &three];
            // Dialect, look, hook, and the word that it was told.
            let mut seen: Vec<(Name, u8, usize, u8)> = Vec::new();
            let mut looked = std::collections::HashMap::<Name, usize>::new();
            let voices = hear(&asked(), &rules, &scope(), &Facts::default(), &mut |rules, batch| {
                let dialect = rules.dialect();
                let hooks = if dialect == Name::Albedo { &first } else { &then };
                batch.jobs.into_iter().map(|job| {
                    let told: serde_json::Value = serde_json::from_slice(&job.command.stdin).unwrap();
                    let told = u8::try_from(told["tool_input"]["command"].as_u64().unwrap()).unwrap();
                    // Each look begins at the first hook.
                    let look = looked.entry(dialect).or_default();
                    *look += usize::from(job.hook == 0);
                    seen.push((dialect, u8::try_from(*look).unwrap(), job.hook, told));
                    let (end, stdout) = end(dialect, hooks[job.hook], told);
                    let stdout = Captured { total: stdout.len() as u64, head: stdout.into_bytes(), tail: vec![] };
                    Finished {
                        job, end, stdout, stderr: Captured::default(), duration: std::time::Duration::ZERO, held: false,
                        moved_to: None, pid: None,
                    }
                }).collect()
            });
            let author = voices.iter().find(|voice| voice.said.updated_input.is_some()).map(|voice| voice.dialect);
            let outcome = outcome(EventName::PreToolUse, voices);
            if outcome.decision >= Decision::Deny {
                prop_assert_eq!(outcome.updated_input, None);
                return Ok(());
            }
            let runs = outcome.updated_input.as_ref().map_or(0, word);
            let told = |dialect, look, hook| {
                seen.iter().find(|seen| (seen.0, seen.1, seen.2) == (dialect, look, hook)).map(|seen| seen.3)
            };
            for (dialect, hooks) in [(Name::Albedo, &first), (Name::Celeste, &then)] {
                let mut last = 0;
                for (at, does) in hooks.iter().enumerate() {
                    // By the dialect's inner rules: albedo's hooks see what was asked for, Celeste's the last rewrite.
                    prop_assert_eq!(told(dialect, 1, at), Some(last));
                    if let (Name::Celeste, Does::RewritesTo(word)) = (dialect, does) {
                        last = *word;
                    }
                    // What is not its own work every hook of a dialect has judged as it will run.
                    if author.is_some_and(|author| author != dialect) {
                        prop_assert_eq!(told(dialect, 2, at), Some(runs));
                        prop_assert!(!matches!(does, Does::Forbids(word) if *word == runs));
                    } else {
                        prop_assert_eq!(told(dialect, 2, at), None);
                    }
                }
                // Its own is what the last of its rewriters made, and those behind that one have judged it.
                if (author, dialect) == (Some(Name::Celeste), Name::Celeste) {
                    prop_assert_eq!(runs, last);
                    let judges = hooks.iter().rev().take_while(|does| matches!(does, Does::Forbids(_)));
                    for does in judges {
                        prop_assert!(!matches!(does, Does::Forbids(word) if *word == runs));
                    }
                }
            }
        }
    }

    #[test]
    fn other_rewrites_are_reported_once() {
        let guard = |dialect, to| Guard {
            dialect,
            forbids: vec![],
            asks: vec![],
            rewrites_to: Some(to),
            grants: false,
        };
        let (outcome, _) = judge(&[guard(Name::Albedo, 1), guard(Name::Celeste, 2), guard(Name::Codex, 1)]);
        assert_eq!(outcome.updated_input, Some(input(1)));
        assert_eq!(outcome.messages.len(), 1);
    }

    #[test]
    fn results_and_texts_add_up() {
        let result = |feedback: &str, failed| {
            Some(ToolResult { failed, feedback: feedback.to_owned(), replaces: false })
        };
        let voice = |dialect, decision, result| Voice {
            dialect,
            said: Said { decision, result, continue_with: Some(dialect.to_string()), ..Said::default() },
        };
        let after = outcome(
            EventName::PostToolUse,
            vec![
                voice(Name::Albedo, Decision::Deny, result("a", true)),
                voice(Name::Celeste, Decision::Allow, None),
                voice(Name::Shadowcode, Decision::Deny, result("b", true)),
            ],
        );
        assert_eq!(after.result, result("a\n\nb", true));
        let stop = outcome(
            EventName::Stop,
            vec![
                voice(Name::Albedo, Decision::Deny, None),
                voice(Name::Celeste, Decision::Ask, None),
                voice(Name::Shadowcode, Decision::Deny, None),
            ],
        );
        assert_eq!(
            (stop.decision, stop.continue_with.as_deref()),
            (Decision::Deny, Some("albedo\n\nshadowcode"))
        );
        let halted = outcome(
            EventName::Stop,
            vec![voice(Name::Albedo, Decision::Deny, None), voice(Name::Celeste, Decision::Halt, None)],
        );
        assert_eq!((halted.decision, halted.continue_with), (Decision::Halt, None));
    }
}
