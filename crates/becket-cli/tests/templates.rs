//! Templates of Celeste's protocol v1, read by real shells: whatever command they are filled into, their values stay words.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use becket_core::dialect::celeste::Celeste;
use becket_core::dialect::{Dialect, Firing, Known, Step};
use becket_core::event::Event;
use becket_core::ledger::Ledger;
use becket_core::place::{File, Found};
use becket_core::scope::{Homes, Mode, Scope, Settings};
use becket_core::session::Facts;
use proptest::prelude::*;
use serde_json::json;

/// Runs `touch ran` wherever a shell reads any part of it as more than a word.
const VALUE: &str = "v\ntouch ran\n$(touch ran)`touch ran`;touch ran;'\ntouch ran\n'\"\ntouch ran\n\"a[$(touch ran)]) ;touch ran #}";

/// Most of them are refused, which costs nothing.
const CASES: u32 = 1_000;

/// What the shell is given; `None` where the hook does not run.
fn filled(command: &str) -> Option<String> {
    let homes = Homes {
        home: "/h".into(),
        albedo: "/h/a".into(),
        shadowcode_profile: None,
        becket: "/h/b".into(),
        config: "/h/c".into(),
    };
    let scope = Scope {
        workspace: "/w".into(),
        real_workspace: "/w".into(),
        real_home: "/h".into(),
        homes,
        settings: Settings::default(),
        environment: Arc::from([]),
        mode: Mode::Build,
    };
    let hooks = json!({"hooks": [{"event": "PreToolUse", "command": command, "protocol": "v1"}]}).to_string();
    let file = File { bytes: hooks.into_bytes().into(), modified_ms: 0, unsafe_store: None };
    let at = |path: &str| {
        if path == "/h/.celeste/hooks.json" { Found::File(file.clone()) } else { Found::Missing }
    };
    let found: Vec<Found> = Celeste.places(&scope).iter().map(|place| at(place.path.as_str())).collect();
    let ledger = Ledger::default();
    let rules = Celeste.load(&scope, &found, &Known::outside(&ledger));
    assert_eq!(rules.sources().len(), 1, "{command}");
    let event =
        json!({"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": VALUE}});
    let event = Event::read(event.to_string().as_bytes(), None).unwrap();
    let firing = Firing { event: &event, look: 1, scope: &scope, session: &Facts::default() };
    match rules.way(&firing)(Vec::new()) {
        Step::Run(batch) => Some(batch.jobs[0].command.argv[2].to_str().unwrap().to_owned()),
        Step::Done(_) => None,
    }
}

/// What may be `sh`, as far as it is here.
fn shells() -> &'static [Vec<&'static str>] {
    static SHELLS: OnceLock<Vec<Vec<&str>>> = OnceLock::new();
    SHELLS.get_or_init(|| {
        let known: [&[&str]; 8] = [
            &["sh"],
            &["dash"],
            &["bash"],
            &["bash", "--posix"],
            &["ksh"],
            &["mksh"],
            &["busybox", "sh"],
            &["zsh", "--emulate", "sh"],
        ];
        let is_here = |shell: &&[&str]| {
            let tried =
                Command::new(shell[0]).args(&shell[1..]).args(["-c", "true"]).stderr(Stdio::null()).status();
            tried.is_ok_and(|status| status.success())
        };
        known.iter().copied().filter(is_here).map(<[_]>::to_vec).collect()
    })
}

/// What each shell prints, and that none ran a part of the value.
fn printed(script: &str) -> Result<Vec<String>, TestCaseError> {
    let mut all = Vec::new();
    for shell in shells() {
        let directory = tempfile::tempdir().unwrap();
        let output = Command::new(shell[0])
            .args(&shell[1..])
            .args(["-c", script])
            .current_dir(directory.path())
            .env("BASH_ENV", "")
            .env("ENV", "")
            .env("x", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        prop_assert!(!directory.path().join("ran").exists(), "{shell:?} ran a part of the value: {script}");
        all.push(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Ok(all)
}

#[test]
fn harmless_commands_are_filled_in_and_read_alike() {
    for command in [
        "printf '<%s>' {{path}}",
        "d=${TMPDIR:-$HOME}; printf '<%s>' {{path}} ${d:+set}",
        "n=$((${N:-0}+1)); printf '<%s>' $n {{path}}",
        "printf '<%s>' \"${a:-${b:-$((x << 2))}}\" {{path}}",
        "printf '<%s>' ${x##*/} ${x%%;*} ${x:-a|b} {{path}}",
        "x=$(printf '<%s>' \"${x#?}\" {{path}}); printf %s \"$x\"",
        "case {{tool}} in read_file) printf '<%s>' {{path}};; esac",
    ] {
        let script = filled(command).unwrap_or_else(|| panic!("{command} is refused"));
        let all = printed(&script).unwrap();
        assert!(
            all.iter().all(|one| *one == all[0] && one.contains(VALUE.trim_end())),
            "{command}: {all:#?}"
        );
    }
}

/// Commands of all that shells read by rules of their own, mostly well formed.
fn command() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{{path}}",
        " {{path}} ",
        "\"{{path}}\"",
        "'{{path}}'",
        "\"",
        "'",
        "`",
        "$",
        ")",
        "}",
        "]",
        "(",
        "((",
        "[",
        " -eq ",
        "\\",
        "#",
        " #",
        " ",
        "x",
        "1",
        "x=",
        "$x",
        ":-",
        "<<",
        "<<<",
        "< ",
        "<<< ",
        "; ",
        " && ",
        "| ",
        "echo ",
        "cat ",
        "case ",
        " in ",
        "esac",
        "é",
        "!",
        "+",
        "=(",
        "%",
        "*",
        "x[",
        "?",
    ]);
    let piece = piece.prop_map(str::to_owned);
    let pair = prop::sample::select(vec![
        ("${x:-", "}"),
        ("${x%", "}"),
        ("${", "}"),
        ("$((", "))"),
        ("$[", "]"),
        ("$(", ")"),
        ("`", "`"),
        ("\"", "\""),
        ("'", "'"),
        ("$'", "'"),
        ("$\"", "\""),
        ("((", "))"),
        ("(", ")"),
        ("{ ", "; }"),
        ("[[ ", " ]]"),
        ("[ ", " ]"),
        ("x[", "]=1"),
        ("x=(", ")"),
        ("case x in ", ") echo;; esac"),
    ]);
    piece.prop_recursive(3, 12, 4, move |inner| {
        let inside = prop::collection::vec(inner, 1..4);
        prop_oneof![
            3 => (pair.clone(), inside.clone()).prop_map(|((open, close), parts)| format!("{open}{}{close}", parts.concat())),
            1 => inside.prop_map(|parts| parts.concat()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, ..ProptestConfig::default() })]
    #[test]
    fn no_shell_runs_a_value(
        parts in prop::collection::vec(command(), 0..5),
        last in prop::sample::select(vec!["{{path}}", " {{path}}", "; echo {{path}}"]),
    ) {
        let command = format!("echo {}{last}", parts.concat());
        // A function that calls itself would never end.
        prop_assume!(!command.replace(' ', "").contains("()"));
        if let Some(script) = filled(&command) {
            printed(&script)?;
        }
    }
}
