//! Agents: what they send, what they are told, and their files of settings.

use becket::settings;
use becket_core::event::EventName;
use becket_core::json::{self, Repeated};
use becket_core::outcome::{Decision, Outcome, ToolResult};
use becket_hosts::Host;
use becket_hosts::answer;
use becket_hosts::decode::{Beside, Heard, decode};
use becket_hosts::install::{self, Line};
use becket_hosts::switch::{self, Environment, Layer, Reach, Read, Roots};
use camino::{Utf8Path, Utf8PathBuf};

/// What an agent sends, and what it is told: the first byte chooses the agent, the event of its line and the outcome.
pub fn agent(bytes: &[u8]) {
    let Some((choice, payload)) = bytes.split_first() else { return };
    let host = Host::ALL[usize::from(*choice) % Host::ALL.len()];
    let rows = host.rows();
    let beside =
        Beside { event: rows.get(usize::from(*choice) / 4 % 16).map(|row| row.event), project: Some("/w") };
    let event = match decode(host, payload, beside) {
        Ok(Heard::Event(decoded)) => decoded.event,
        Ok(Heard::Nothing) => return,
        // What could not be read is never passed over at a gate.
        Err(error) => {
            let words = error.words();
            match beside.event {
                // Another agent's payload is refused in that agent's words.
                Some(EventName::PreToolUse) => {
                    assert!(Host::ALL.iter().any(|host| answer::is_denial(*host, &words)), "{words:?}");
                }
                Some(gate) if gate.is_gate() => {
                    assert!(words.exit == 2 || words.stdout.len() > 3, "{words:?}")
                }
                _ => {}
            }
            return;
        }
    };
    let decisions = [Decision::Allow, Decision::Grant, Decision::Ask, Decision::Deny, Decision::Halt];
    let results = [(false, false), (true, false), (false, true)];
    let result =
        |(failed, replaces)| Some(ToolResult { failed, feedback: "\u{1b}feedback".to_owned(), replaces });
    for (decision, result) in decisions.into_iter().zip([None, None].into_iter().chain(results.map(result))) {
        let outcome = Outcome {
            decision,
            reason: Some("\u{1b}[31mno\u{202e}".to_owned()),
            updated_input: event.tool.as_ref().and_then(|tool| tool.input.clone()),
            result,
            additional_context: vec!["context".to_owned()],
            messages: vec!["message".to_owned()],
            continue_with: (decision == Decision::Deny).then(|| "go on".to_owned()),
            ..Outcome::nothing(event.name)
        };
        let words = answer::encode(host, &event, &outcome);
        assert!(words.stdout.is_empty() || json::parse(words.stdout.as_bytes(), Repeated::Refuse).is_ok());
    }
}

/// An agent's settings, the first byte chooses whose: what is plugged in is taken out again byte for byte.
pub fn plug(bytes: &[u8]) {
    let Some((choice, settings)) = bytes.split_first() else { return };
    let host = Host::ALL[usize::from(*choice) % Host::ALL.len()];
    let line = Line { program: "/bin/becket".into(), home: "/h".into(), set: Vec::new() };
    drop(install::installed(host, settings));
    let _ = install::has_traces(host, settings);
    let Ok(plugged) = install::plugged(host, Some(settings), &line) else { return };
    let again = install::plugged(host, Some(plugged.as_bytes()), &line).expect("it was plugged in before");
    assert_eq!(again, plugged, "a second time changes nothing");
    if install::installed(host, settings).is_empty() && host != Host::Opencode {
        let out = install::unplugged(host, plugged.as_bytes()).expect("it was plugged in");
        assert_eq!(out.as_deref().map(str::as_bytes), Some(settings), "it is as it was");
    }
}

/// Settings, the first byte chooses whose: Becket's own, or an agent's, in which a switch is looked for as the doctor does.
/// Behind the first byte that is 0 begins a second file.
pub fn settings(bytes: &[u8]) {
    let Some((choice, files)) = bytes.split_first() else { return };
    let mut halves = files.splitn(2, |byte| *byte == 0);
    let [first, second] = [(); 2].map(|()| halves.next().unwrap_or_default());
    let harmless = |text: &str| assert!(!text.chars().any(char::is_control), "{text:?}");
    match settings::parse(Utf8Path::new("/h/config.toml"), first) {
        Ok(written) => written.problems.iter().for_each(|problem| harmless(&problem.to_string())),
        Err(problem) => harmless(&problem.to_string()),
    }
    let host = Host::ALL[usize::from(*choice) % Host::ALL.len()];
    let reach = match choice >> 2 & 3 {
        0 => Reach::Everywhere,
        1 => Reach::Project,
        2 => Reach::Managed,
        _ => Reach::Profile,
    };
    let levels = [Utf8PathBuf::from("/w")];
    let variable = |name: &str| (name == "HOME").then(|| "/h".to_owned());
    let roots = Roots { home: Utf8Path::new("/h"), levels: &levels, variable: &variable };
    let file = |path: &str, reach, bytes: &[u8]| Read {
        layer: Layer { path: path.into(), reach, suffix: None },
        bytes: bytes.to_vec(),
    };
    let files = [
        file("/h/.codex/config.toml", Reach::Everywhere, first),
        file("/w/.codex/config.toml", reach, second),
    ];
    let names = switch::hook_names(host, first);
    let environment = Environment { path: "/w/.env".into(), bytes: Ok(second.to_vec()) };
    let off = switch::off(host, &files, &names, roots, choice & 0x10 != 0);
    for off in off.into_iter().chain(switch::by_environment(&files, &environment, roots)) {
        harmless(&off.text);
    }
    drop(switch::environment_files(&files, Utf8Path::new("/w"), roots));
    let _ = switch::folder_trust(&files, Some(second), roots, &|path| path.to_owned());
    drop(switch::remembered(first, &["/h/.codex/hooks.json".into()], second));
    let line = Line { program: "/bin/becket".into(), home: "/h".into(), set: Vec::new() };
    for flaw in install::flaws(host, first, &line) {
        harmless(&flaw.text);
    }
    let _ = install::is_as_written(host, first, &line);
    let _ = install::runs_twice(host, first, second);
    drop(install::programs(host, first));
}
