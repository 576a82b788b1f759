//! Plugging in and out: what stands in an agent's file stays, byte for byte.

#![expect(clippy::unwrap_used, reason = "tests")]

use becket_hosts::Host;
use becket_hosts::install::{
    EditError, InstallError, Line, flaws, has_traces, installed, is_as_written, is_installed_line, plugged,
    programs, runs_twice, unplugged,
};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use proptest::prelude::*;
use serde_json::Value;

fn line() -> Line {
    Line { program: "/usr/bin/becket".into(), home: "/home/dev".into(), set: vec![] }
}

fn into(host: Host, before: &str) -> String {
    plugged(host, Some(before.as_bytes()), &line()).unwrap()
}

fn out(host: Host, text: &str) -> Option<String> {
    unplugged(host, text.as_bytes()).unwrap()
}

#[test]
fn a_new_file_holds_an_entry_for_every_event() {
    let text = plugged(Host::Codex, None, &line()).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let groups = &value["hooks"]["PreToolUse"];
    assert_eq!(
        groups.to_string(),
        r#"[{"hooks":[{"type":"command","command":"/usr/bin/becket hook codex --home /home/dev --deadline 630 --event PreToolUse","timeout":660}]}]"#
    );
    assert_eq!(value["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"], 3);
    assert!(value["hooks"]["SessionEnd"].to_string().contains("--deadline 2 "));
    assert_eq!(value["hooks"].as_object().unwrap().len(), Host::Codex.rows().len());
    assert_eq!(out(Host::Codex, &text), None, "nothing is left of it");
    let gemini = plugged(Host::Gemini, None, &line()).unwrap();
    let value: Value = serde_json::from_str(&gemini).unwrap();
    assert_eq!(value["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 660_000);
    assert_eq!(value["hooks"]["BeforeTool"][0]["hooks"][0]["name"], "becket");
}

#[test]
fn a_file_with_comments_keeps_all_of_it() {
    let before = "// mine\r\n{\r\n    \"model\": \"x\", // the best\r\n    \"hooks\": {\r\n        /* guards */\r\n        \"PreToolUse\": [\r\n            {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}, // first\r\n        ],\r\n    },\r\n}\r\n";
    let after = into(Host::Claude, before);
    assert!(after.contains("}]}, // first\r\n            {\"hooks\": [{\"type\""), "{after}");
    assert!(!after.replace("\r\n", "").contains('\n'), "its line ends are kept");
    assert_eq!(out(Host::Claude, &after).as_deref(), Some(before));
    assert_eq!(into(Host::Claude, &after), after, "a second time changes nothing");
    assert_eq!(installed(Host::Claude, after.as_bytes()).len(), Host::Claude.rows().len());
}

#[test]
fn what_the_agent_wrote_anew_is_still_taken_out() {
    // Agents write their own file anew, in their own layout and without comments.
    let plain = into(Host::Gemini, r#"{"model": "x"}"#);
    let value: Value = serde_json::from_str(&plain).unwrap();
    let anew = serde_json::to_string_pretty(&value).unwrap();
    let left: Value = serde_json::from_str(&out(Host::Gemini, &anew).unwrap()).unwrap();
    assert_eq!(left, serde_json::json!({"model": "x"}));
    assert_eq!(into(Host::Gemini, &anew), anew);
    let tight = serde_json::to_string(&value).unwrap();
    let left: Value = serde_json::from_str(&out(Host::Gemini, &tight).unwrap()).unwrap();
    assert_eq!(left["model"], "x");
    assert!(installed(Host::Gemini, left.to_string().as_bytes()).is_empty());
}

#[test]
fn what_others_put_beside_ours_stays() {
    let mut value: Value = serde_json::from_str(&plugged(Host::Codex, None, &line()).unwrap()).unwrap();
    let theirs = serde_json::json!({"type": "command", "command": "theirs"});
    value["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap().push(theirs.clone());
    value["hooks"]["PreToolUse"].as_array_mut().unwrap().insert(0, serde_json::json!({"hooks": [theirs]}));
    let left = out(Host::Codex, &serde_json::to_string_pretty(&value).unwrap()).unwrap();
    let left: Value = serde_json::from_str(&left).unwrap();
    assert_eq!(
        left,
        serde_json::json!({"hooks": {"Stop": [{"hooks": [theirs]}], "PreToolUse": [{"hooks": [theirs]}]}})
    );
}

#[test]
fn an_older_entry_is_renewed_in_its_place() {
    let old = Line { program: "/opt/old/becket".into(), ..line() };
    let before = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}"#;
    let older = plugged(Host::Codex, Some(before.as_bytes()), &old).unwrap();
    let newer = into(Host::Codex, &older);
    assert!(!newer.contains("/opt/old"));
    assert_eq!(newer, into(Host::Codex, before));
    assert_eq!(out(Host::Codex, &newer).as_deref(), Some(before));
}

#[test]
fn what_cannot_be_read_safely_is_left_alone_with_the_reason() {
    for (text, why) in [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{'a': 1}", "not JSON"),
        (r#"{"hooks": {}, "hooks": {}}"#, "twice"),
        (r#"{"hooks": {"Stop": [], "Stop": []}}"#, "twice"),
        (r#"{"hooks": []}"#, "not an object"),
        (r#"{"hooks": {"Stop": {}}}"#, "not a list"),
        (r#"{} {}"#, "not JSON"),
    ] {
        let error = plugged(Host::Codex, Some(text.as_bytes()), &line()).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    assert!(plugged(Host::Codex, Some(b"{\"a\": \"\xff\"}"), &line()).is_err());
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(plugged(Host::Codex, Some(deep.as_bytes()), &line()).is_err());
}

/// What is told of a file, the grave marked.
fn told(host: Host, text: &[u8]) -> Vec<String> {
    let flaws = flaws(host, text, &line());
    flaws.into_iter().map(|flaw| format!("{}{}", if flaw.is_grave { "! " } else { "" }, flaw.text)).collect()
}

#[test]
fn what_is_whole_has_no_flaw() {
    for host in Host::ALL {
        let text = plugged(host, None, &line()).unwrap();
        assert_eq!(told(host, text.as_bytes()), Vec::<String>::new());
        assert!(has_traces(host, text.as_bytes()));
        assert_eq!(programs(host, text.as_bytes()), ["/usr/bin/becket"]);
        assert!(!has_traces(host, b"{\"hooks\": {}}") && !has_traces(host, b""));
    }
    let usual = Line { set: vec![("XDG_CONFIG_HOME".into(), "/home/dev/.config".into())], ..line() };
    let text = plugged(Host::Codex, None, &usual).unwrap();
    let found = flaws(Host::Codex, text.as_bytes(), &line());
    assert!(found.len() == 1 && !found[0].is_grave, "the home is where it is anyway: {found:?}");
    let renamed = Line { program: "/opt/becket".into(), ..line() };
    let text = plugged(Host::Codex, None, &renamed).unwrap();
    let found = flaws(Host::Codex, text.as_bytes(), &line());
    assert!(found.len() == 1 && found[0].is_grave, "a program under another name may be any: {found:?}");
}

#[test]
fn what_keeps_the_agent_from_reading_them_is_noticed() {
    let with =
        |host, change: &dyn Fn(String) -> Vec<u8>| told(host, &change(plugged(host, None, &line()).unwrap()));
    let comment = |text: String| format!("// mine\n{text}").into_bytes();
    let comma = |text: String| text.replacen("\n}", ",\n}", 1).into_bytes();
    let mark = |text: String| format!("\u{feff}{text}").into_bytes();
    let torn = |text: String| text.as_bytes()[..text.len() / 2].to_vec();
    let bytes = |text: String| [text.as_bytes(), b"\xff"].concat();
    let key = |text: String| text.replacen("{\n", "{\n  \"model\": 1,\n", 1).into_bytes();
    let list = |text: String| text.replacen("\"Stop\"", "\"Else\": 1, \"Stop\"", 1).into_bytes();
    for (host, change, why) in [
        (Host::Codex, &comment as &dyn Fn(String) -> Vec<u8>, "! Codex reads only plain JSON"),
        (Host::Codex, &comma, "! it has a comma behind a last item: Codex reads none of it"),
        (Host::Codex, &mark, "! it begins with a byte order mark"),
        (Host::Codex, &torn, "! it is not JSON"),
        (Host::Codex, &bytes, "! it is not valid UTF-8"),
        (Host::Codex, &key, "! Codex skips the whole file for the key \"model\""),
        (Host::Codex, &list, ""),
        (Host::Gemini, &comment, ""),
        (Host::Gemini, &comma, "! it has a comma behind a last item: Gemini CLI does not start with it"),
        (Host::Gemini, &mark, "! it begins with a byte order mark"),
        (Host::Gemini, &torn, "! it is not JSON"),
        (Host::Claude, &comment, "it is more than plain JSON"),
        (Host::Claude, &torn, "! it is not JSON"),
    ] {
        let found = with(host, change);
        let is_told =
            if why.is_empty() { found.is_empty() } else { found.iter().any(|said| said.starts_with(why)) };
        assert!(is_told, "{host}: {why}: {found:?}");
    }
    let torn = torn(plugged(Host::Codex, None, &line()).unwrap());
    assert!(has_traces(Host::Codex, &torn));
}

#[test]
fn entries_that_guard_less_are_noticed() {
    let json = [Host::Claude, Host::Codex, Host::Gemini];
    let all = Host::ALL;
    let cases: [(&[Host], &str, &str, &str); 9] = [
        (
            &all,
            "/usr/bin/becket",
            "/tmp/other",
            "it runs /tmp/other, which is another program than this one, /usr/bin/becket",
        ),
        (&all, "/home/dev", "/tmp/empty", "it guards with the hooks of the home /tmp/empty, not /home/dev"),
        (
            &json,
            "--home /home/dev",
            "--home /home/dev --set ALBEDO_HOME=/tmp/x",
            "it moves other homes (ALBEDO_HOME=/tmp/x)",
        ),
        (&json, "--event PreToolUse", "--event Stop", "a line stands under another event than it says"),
        (
            &json,
            "--deadline 630 --event PreToolUse",
            "--deadline 900 --event PreToolUse",
            "does not wait for the answer at ",
        ),
        (&json, "\"timeout\": 660", "\"timeout\": 6", "does not wait for the answer at "),
        (&json, "becket hook", "becket hoax", "no entry guards at"),
        (&json, "{\"hooks\": [{\"", "{\"matcher\": \"Read\", \"hooks\": [{\"", "no entry guards at"),
        (&json, "\"type\": \"command\"", "\"async\": true, \"type\": \"command\"", "no entry guards at"),
    ];
    for (hosts, old, new, why) in cases {
        for host in hosts {
            let text = plugged(*host, None, &line()).unwrap();
            // A plugin that somebody changed says nothing any more, so this one is written with other words.
            let changed = if *host == Host::Opencode {
                let program = if old.contains("becket") { new.into() } else { line().program };
                let home = if old.contains("home") { new.into() } else { line().home };
                plugged(*host, None, &Line { program, home, set: vec![] }).unwrap()
            } else {
                text.replacen(old, new, 1)
            };
            assert_ne!(text, changed, "{old}");
            let found = told(*host, changed.as_bytes());
            assert!(
                found.iter().any(|said| said.starts_with("! ") && said.contains(why)),
                "{host} {new}: {found:?}"
            );
        }
    }
    let plugin = plugged(Host::Opencode, None, &line()).unwrap().replace("SIGKILL", "SIGTERM");
    assert!(told(Host::Opencode, plugin.as_bytes())[0].starts_with("! it was changed since becket wrote it"));
    assert!(has_traces(Host::Opencode, plugin.as_bytes()));
}

#[test]
fn two_files_with_entries_run_hooks_twice_where_the_agent_lets_them() {
    let text =
        |host, program: &str| plugged(host, None, &Line { program: program.into(), ..line() }).unwrap();
    for (host, same, other) in [
        (Host::Claude, true, true),
        (Host::Codex, true, true),
        (Host::Gemini, false, true),
        (Host::Opencode, false, false),
    ] {
        let (first, second) = (text(host, "/a/becket"), text(host, "/b/becket"));
        assert_eq!(runs_twice(host, first.as_bytes(), first.as_bytes()), same, "{host}");
        assert_eq!(runs_twice(host, first.as_bytes(), second.as_bytes()), other, "{host}");
        assert!(!runs_twice(host, first.as_bytes(), b"{}"), "{host}");
    }
}

#[test]
fn a_line_is_told_from_others() {
    for line in
        ["/usr/bin/becket hook codex --home /home/dev --deadline 1", "'/a b/becket' hook codex --home /h"]
    {
        assert!(is_installed_line(Host::Codex, line), "{line}");
    }
    for line in [
        "becket hook codex",
        "/usr/bin/becket hook claude --home /h",
        "echo hi; /usr/bin/becket hook codex --home /h",
        "/bin/sh -c x && becket hook codex --home /h",
    ] {
        assert!(!is_installed_line(Host::Codex, line), "{line}");
    }
}

#[test]
fn opencodes_plugin_is_replaced_and_removed_only_as_it_was_written() {
    let text = plugged(Host::Opencode, None, &line()).unwrap();
    assert!(text.contains("const LINE = [\"/usr/bin/becket\",\"hook\",\"opencode\",\"--home\",\"/home/dev\",\"--deadline\",\"630\"]"));
    assert_eq!(out(Host::Opencode, &text), None);
    assert_eq!(into(Host::Opencode, &text), text);
    let changed = text.replace("SIGKILL", "SIGTERM");
    assert_eq!(unplugged(Host::Opencode, changed.as_bytes()), Err(InstallError::Changed));
    assert_eq!(plugged(Host::Opencode, Some(changed.as_bytes()), &line()), Err(InstallError::Changed));
    assert_eq!(plugged(Host::Opencode, Some(b"export {}"), &line()), Err(InstallError::Foreign));
    assert_eq!(out(Host::Opencode, "export {}").as_deref(), Some("export {}"));
}

/// White space and comments, as they may stand anywhere between tokens.
fn gap() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\t".to_owned()),
        1 => Just("\r\n    ".to_owned()),
        1 => Just("// note, with , and ]\n".to_owned()),
        1 => Just("// note\r\n  ".to_owned()),
        1 => Just(" /* a , ] } */ ".to_owned()),
        1 => Just("/* two\nlines */".to_owned()),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

/// A container's text from the texts of its items.
fn container(
    open: char,
    close: char,
    items: Vec<(String, String, String)>,
    empty: &str,
    trailing: bool,
) -> String {
    if items.is_empty() {
        return format!("{open}{empty}{close}");
    }
    let last = items.len() - 1;
    let mut text = String::from(open);
    for (at, (before, item, after)) in items.into_iter().enumerate() {
        text.push_str(&before);
        text.push_str(&item);
        text.push_str(&after);
        if at < last || trailing {
            text.push(',');
        }
    }
    text.push_str(empty);
    text.push(close);
    text
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1.50".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just(r#""text // no comment, \" \u00e9""#.to_owned())
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let items = prop::collection::vec((gap(), inner, gap()), 0..4);
        (items, gap(), any::<bool>(), any::<bool>()).prop_map(|(items, empty, trailing, is_list)| {
            if is_list {
                return container('[', ']', items, &empty, trailing);
            }
            let items = items
                .into_iter()
                .enumerate()
                .map(|(at, (before, item, after))| (before, format!("\"k{at}\": {item}"), after))
                .collect();
            container('{', '}', items, &empty, trailing)
        })
    })
}

/// Somebody's hooks: some events, each with some groups.
fn hooks() -> impl Strategy<Value = String> {
    let group = prop_oneof![
        Just(r#"{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}"#.to_owned()),
        Just(r#"{"hooks": []}"#.to_owned()),
        Just("{}".to_owned()),
        value()
    ];
    let list = (prop::collection::vec((gap(), group, gap()), 0..3), gap(), any::<bool>())
        .prop_map(|(items, empty, trailing)| container('[', ']', items, &empty, trailing));
    let names = Just(vec!["PreToolUse", "Stop", "BeforeTool", "SessionEnd", "Unknown"]).prop_shuffle();
    (prop::collection::vec((gap(), list, gap(), gap()), 0..5), names, gap(), any::<bool>()).prop_map(
        |(lists, names, empty, trailing)| {
            let items = lists
                .into_iter()
                .zip(names)
                .map(|((before, list, colon, after), name)| {
                    (before, format!("\"{name}\"{colon}:{list}"), after)
                })
                .collect();
            container('{', '}', items, &empty, trailing)
        },
    )
}

fn settings() -> impl Strategy<Value = String> {
    let others = prop::collection::vec((gap(), value(), gap()), 0..4);
    let hooks = prop::option::of((gap(), hooks(), gap()));
    (others, hooks, any::<prop::sample::Index>(), gap(), any::<bool>(), gap(), gap(), any::<bool>()).prop_map(
        |(others, hooks, place, empty, trailing, before, after, bom)| {
            let mut items: Vec<_> = others
                .into_iter()
                .enumerate()
                .map(|(at, (before, item, after))| (before, format!("\"o{at}\":{item}"), after))
                .collect();
            if let Some((before, hooks, after)) = hooks {
                let at = place.index(items.len() + 1);
                items.insert(at, (before, format!("\"hooks\": {hooks}"), after));
            }
            let bom = if bom { "\u{feff}" } else { "" };
            format!("{bom}{before}{}{after}", container('{', '}', items, &empty, trailing))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn plugging_out_gives_back_the_same_bytes(before in settings(), at in 0usize..3) {
        let host = [Host::Claude, Host::Codex, Host::Gemini][at];
        let after = plugged(host, Some(before.as_bytes()), &line()).unwrap();
        prop_assert_eq!(installed(host, after.as_bytes()).len(), host.rows().len(), "{}", after);
        let again = plugged(host, Some(after.as_bytes()), &line()).unwrap();
        prop_assert_eq!(again.as_str(), after.as_str());
        let restored = unplugged(host, after.as_bytes()).unwrap();
        prop_assert_eq!(restored.as_deref(), Some(before.as_str()));
        // What was not ours is not touched.
        let untouched = unplugged(host, before.as_bytes()).unwrap();
        prop_assert_eq!(untouched.as_deref(), Some(before.as_str()));
    }

    #[test]
    fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[\\[\\]{},:\"/* \n\rhoks]{0,80}") {
        for host in [Host::Codex, Host::Opencode] {
            for before in [bytes.as_slice(), text.as_bytes()] {
                if let Ok(after) = plugged(host, Some(before), &line()) {
                    let restored = unplugged(host, after.as_bytes()).unwrap();
                    prop_assert_eq!(restored.as_deref().map(str::as_bytes), Some(before));
                }
            }
        }
    }
}

#[test]
fn whatever_stands_beside_the_line_is_an_alteration() {
    for host in [Host::Claude, Host::Codex, Host::Gemini] {
        let whole = plugged(host, None, &line()).unwrap();
        assert!(is_as_written(host, whole.as_bytes(), &line()));
        for (from, to, why) in [
            ("\"type\": \"command\"", "\"type\": \"prompt\"", "the entry's type is \"prompt\""),
            ("\"type\": \"command\", ", "", "the entry has no type"),
            (
                "\"type\": \"command\"",
                "\"type\": \"command\", \"env\": {\"PATH\": \"/x\"}",
                "the key \"env\"",
            ),
            ("\"type\": \"command\"", "\"type\": \"command\", \"if\": \"Bash(rm *)\"", "the key \"if\""),
            ("\"type\": \"command\"", "\"type\": \"command\", \"once\": true", "the key \"once\""),
            (
                "\"type\": \"command\"",
                "\"type\": \"command\", \"asyncRewake\": true",
                "the key \"asyncRewake\"",
            ),
            (
                "\"type\": \"command\"",
                "\"type\": \"command\", \"shell\": \"powershell\"",
                "the key \"shell\"",
            ),
            ("{\"hooks\": [{", "{\"matcher\": \".*\", \"hooks\": [{", "the key \"matcher\""),
            ("{\"hooks\": [{", "{\"sequential\": true, \"hooks\": [{", "the key \"sequential\""),
        ] {
            let altered = whole.replacen(from, to, 1);
            assert_ne!(altered, whole);
            let told = told(host, altered.as_bytes());
            assert!(
                told.iter().any(|said| said.starts_with("! it was altered") && said.contains(why)),
                "{told:?}"
            );
            assert!(!is_as_written(host, altered.as_bytes(), &line()), "{host}: {why}");
        }
    }
}

#[test]
fn a_plugin_that_only_vouches_for_itself_is_an_alteration() {
    let other = Line { program: "/bin/echo".into(), ..line() };
    let forged = plugged(Host::Opencode, None, &other).unwrap();
    let found = told(Host::Opencode, forged.as_bytes());
    assert!(found.iter().any(|said| said.contains("it runs /bin/echo")), "{found:?}");
    let whole = plugged(Host::Opencode, None, &line()).unwrap();
    let (first, rest) = whole.split_once('\n').unwrap();
    let rest = rest.replace("verdict: \"deny\"", "verdict: \"allow\"");
    let mark = first.split_once("sha256:").unwrap().0;
    let hash = becket_core::hash::of(rest.as_bytes());
    let forged = format!("{mark}sha256:{hash}\n{rest}");
    let forged = forged.replace("sha256:sha256:", "sha256:");
    let found = told(Host::Opencode, forged.as_bytes());
    assert!(
        found.iter().any(|said| said.contains("it is not the plugin that this becket writes")),
        "{found:?}"
    );
    assert!(!is_as_written(Host::Opencode, forged.as_bytes(), &line()));
}

#[test]
fn paths_that_gemini_would_change_are_refused() {
    for (path, is_refused) in [
        ("/home/$USER", true),
        ("/home/a${X}b", true),
        ("/home/a$1", true),
        ("/home/a$", false),
        ("/home/a$/b", false),
        ("/home/a${", false),
    ] {
        let line = Line { home: path.into(), ..line() };
        assert_eq!(plugged(Host::Gemini, None, &line).is_err(), is_refused, "{path}");
        assert!(plugged(Host::Codex, None, &line).is_ok());
    }
}

/// A file with our entries and, under Stop, somebody's group in front of ours.
fn beside(host: Host, group: &str) -> String {
    let event = if host == Host::Gemini { "AfterAgent" } else { "Stop" };
    into(host, &format!("{{\n  \"hooks\": {{\n    \"{event}\": [\n      {group}\n    ]\n  }}\n}}\n"))
}

#[test]
fn a_key_twice_in_what_is_read_leaves_the_file_alone() {
    for host in [Host::Claude, Host::Codex, Host::Gemini] {
        let whole = plugged(host, None, &line()).unwrap();
        let mine = r#"{"type": "command", "command": "mine"}"#;
        let last = whole.rfind("]}").unwrap();
        let ours = &whole[whole.find("{\"hooks\": [{").unwrap()..];
        let handler = &ours["{\"hooks\": [".len()..ours.find("]}").unwrap()];
        let command =
            &handler[handler.find("\"command\": \"/").unwrap()..handler.find(", \"timeout\"").unwrap()];
        for (twice, key) in [
            (format!("{}], \"hooks\": [{mine}{}", &whole[..last], &whole[last..]), "hooks"),
            (whole.replacen("{\"hooks\": [{", &format!("{{\"hooks\": [{mine}], \"hooks\": [{{"), 1), "hooks"),
            (whole.replacen(command, &format!("{command}, \"command\": \"mine\""), 1), "command"),
            (whole.replacen(command, &format!("\"command\": \"mine\", {command}"), 1), "command"),
            (whole.replacen(command, &format!("\"comm\\u0061nd\": \"mine\", {command}"), 1), "command"),
            (
                beside(host, r#"{"matcher": "a", "hooks": []}"#).replacen(
                    "\"hooks\": []",
                    "\"matcher\": \"b\"",
                    1,
                ),
                "matcher",
            ),
        ] {
            assert_ne!(twice, whole);
            for error in [
                unplugged(host, twice.as_bytes()).unwrap_err().to_string(),
                plugged(host, Some(twice.as_bytes()), &line()).unwrap_err().to_string(),
            ] {
                assert!(
                    error.starts_with(&format!("{key:?} stands in it twice, on line ")),
                    "{host}: {error}"
                );
            }
            let found = told(host, twice.as_bytes());
            assert!(
                found.len() == 1 && found[0].contains("nobody can tell what of becket guards"),
                "{found:?}"
            );
            assert!(!is_as_written(host, twice.as_bytes(), &line()));
        }
    }
}

#[test]
fn a_comment_in_our_own_entry_is_not_lost() {
    let host = Host::Claude;
    for before in ["{\n  \"model\": \"x\"\n}\n", "{\"hooks\": {\"Stop\": [{\"hooks\": []}]}}", ""] {
        let whole =
            if before.is_empty() { plugged(host, None, &line()).unwrap() } else { into(host, before) };
        for (at, comment) in [
            ("{\"type\"", "/* see https://x */ "),
            ("\"timeout\": 660", "// long\n"),
            ("[{\"type\"", "/*[*/"),
        ] {
            let place = whole.rfind(at).unwrap();
            let with = format!("{}{comment}{}", &whole[..place], &whole[place..]);
            let line_of = whole[..place].matches('\n').count() + 1;
            let error = unplugged(host, with.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(&format!("entry of becket's, on line {line_of}, ")), "{error}");
            // It is as it would be written, so nothing changes.
            assert_eq!(into(host, &with), with);
            // One that is written anew would lose it, too.
            let other = Line { program: "/opt/becket".into(), ..line() };
            let error = plugged(host, Some(with.as_bytes()), &other).unwrap_err();
            assert!(matches!(error, InstallError::Edit(EditError::Comment(_))), "{error}");
        }
        // Two slashes in a text are no comment.
        let slashes = Line { home: "//home".into(), ..line() };
        let with = plugged(host, Some(before.as_bytes()).filter(|_| !before.is_empty()), &slashes).unwrap();
        assert_eq!(out(host, &with).as_deref(), Some(before).filter(|before| !before.is_empty()));
    }
}

#[test]
fn a_file_that_would_grow_over_the_limit_is_left_alone() {
    let old = Line { program: "/a/b".into(), ..line() };
    let text = plugged(Host::Codex, None, &old).unwrap();
    let fill = " ".repeat((4 << 20) - text.len());
    let error = plugged(Host::Codex, Some(format!("{text}{fill}").as_bytes()), &line()).unwrap_err();
    assert!(matches!(error, InstallError::Edit(EditError::Grown)), "{error}");
}

#[test]
fn what_else_is_wrong_in_the_file_is_noticed_where_it_silences_all() {
    let all = &[Host::Claude, Host::Codex][..];
    let (claude, codex) = (&[Host::Claude][..], &[Host::Codex][..]);
    let wrong: &[(&[Host], &str, &str)] = &[
        (
            all,
            r#"{"matcher": {"type": "always"}, "hooks": []}"#,
            r#""matcher" of a group under "Stop" is an object, not text"#,
        ),
        (all, r#"{"matcher": 5, "hooks": []}"#, "is a number, not text"),
        (claude, r#"{"matcher": null, "hooks": []}"#, "is null, not text"),
        (claude, r#"{"type": "command", "command": "x"}"#, r#"a group under "Stop" has no list "hooks""#),
        (all, r#""x""#, r#"a group under "Stop" is text, not an object"#),
        (all, r#"{"hooks": {}}"#, r#""hooks" of a group under "Stop" is an object, not a list"#),
        (all, r#"{"hooks": ["x"]}"#, r#"an entry under "Stop" is text, not an object"#),
        (all, r#"{"hooks": [{"command": "x"}]}"#, r#"an entry under "Stop" has no "type""#),
        (
            all,
            r#"{"hooks": [{"type": 1, "command": "x"}]}"#,
            r#""type" of an entry under "Stop" is a number, not text"#,
        ),
        (all, r#"{"hooks": [{"type": "weird", "command": "x"}]}"#, r#"has the type "weird", which"#),
        (
            all,
            r#"{"hooks": [{"type": "command", "command": 5}]}"#,
            r#""command" of an entry under "Stop" is a number"#,
        ),
        (
            all,
            r#"{"hooks": [{"type": "command"}]}"#,
            r#"an entry of type "command" under "Stop" has no "command""#,
        ),
        (
            all,
            r#"{"hooks": [{"type": "command", "command": "x", "timeout": "9"}]}"#,
            r#""timeout" of an entry"#,
        ),
        (codex, r#"{"hooks": [{"type": "command", "command": "x", "timeout": 1.5}]}"#, "not a whole number"),
        (
            all,
            r#"{"hooks": [{"type": "command", "command": "x", "async": "no"}]}"#,
            "is text, not true or false",
        ),
        (all, r#"{"hooks": [{"type": "mcp_tool", "server": "x"}]}"#, r#"has no "tool""#),
        (claude, r#"{"hooks": [{"type": "http", "url": []}]}"#, r#""url" of an entry"#),
    ];
    for (hosts, group, why) in wrong {
        for host in *hosts {
            let found = flaws(*host, beside(*host, group).as_bytes(), &line());
            assert!(found.len() == 1, "{host} {group}: {found:?}");
            assert!(
                found[0].is_grave && found[0].by_hand && found[0].line == Some(4),
                "{host} {group}: {found:?}"
            );
            assert!(found[0].text.contains(why), "{host} {group}: {found:?}");
        }
        // It was seen to run our entries beside anything.
        assert_eq!(told(Host::Gemini, beside(Host::Gemini, group).as_bytes()), Vec::<String>::new());
    }
    let right: &[(&[Host], &str)] = &[
        (all, r#"{"hooks": [{"type": "command", "command": "x", "timeout": 5, "own": {}}]}"#),
        (all, r#"{"matcher": "", "own": 1, "hooks": []}"#),
        (all, r#"{"hooks": [{"type": "mcp_tool", "server": "x", "tool": "y", "input": {}}]}"#),
        (
            claude,
            r#"{"hooks": [{"type": "prompt", "prompt": "x", "timeout": 1.5}, {"type": "http", "url": "x"}]}"#,
        ),
        (codex, r#"{"matcher": null, "hooks": [{"type": "command", "command": "x", "timeout": null}]}"#),
        (codex, r#"{"type": "command", "command": "x"}"#),
        (codex, r#"{"hooks": [{"type": "prompt", "prompt": 5}]}"#),
    ];
    for (hosts, group) in right {
        for host in *hosts {
            assert_eq!(told(*host, beside(*host, group).as_bytes()), Vec::<String>::new(), "{group}");
        }
    }
}

#[test]
fn other_settings_that_silence_all_are_noticed() {
    for (host, key, count, why) in [
        (Host::Claude, r#""permissions": []"#, 1, "! \"permissions\" is a list, not an object"),
        (
            Host::Claude,
            r#""permissions": {"allow": "x", "deny": [], "ask": {}}"#,
            2,
            "! \"allow\" of \"permissions\" is text",
        ),
        (Host::Claude, r#""permissions": {"allow": ["x"], "own": 1}"#, 0, ""),
        (Host::Gemini, r#""permissions": []"#, 0, ""),
    ] {
        let found = told(host, into(host, &format!("{{{key}}}")).as_bytes());
        assert_eq!(found.len(), count, "{key}: {found:?}");
        assert!(found.is_empty() || found[0].starts_with(why), "{key}: {found:?}");
    }
    for (host, hooks, count, why) in [
        (Host::Claude, r#"{"Setup": {}}"#, 1, "! \"Setup\" is an object, not a list"),
        (
            Host::Claude,
            r#"{"Stopp": [], "Else": []}"#,
            1,
            "becket does not know the event \"Stopp\" and 1 more",
        ),
        (Host::Codex, r#"{"Interrupt": {}}"#, 1, "! \"Interrupt\" is an object, not a list"),
        (Host::Codex, r#"{"Stopp": {}, "Else": 1}"#, 0, ""),
        (Host::Gemini, r#"{"Stopp": {}}"#, 0, ""),
    ] {
        let found = told(host, into(host, &format!("{{\"hooks\": {hooks}}}")).as_bytes());
        assert_eq!(found.len(), count, "{hooks}: {found:?}");
        assert!(found.is_empty() || found[0].starts_with(why), "{hooks}: {found:?}");
    }
}

#[test]
fn of_many_mistakes_a_hundred_are_named() {
    let groups = vec!["{}"; 1000].join(", ");
    let text = into(Host::Claude, &format!("{{\"hooks\": {{\"Stop\": [{groups}]}}}}"));
    let found = told(Host::Claude, text.as_bytes());
    assert_eq!(found.len(), 101);
    assert!(found[100].starts_with("! 900 more places"), "{}", found[100]);
}

/// The texts of the groups that a reader finds under Stop.
fn groups_under_stop(text: &str) -> Vec<String> {
    let read = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).unwrap();
    let root = read.value.unwrap();
    let hooks = root.as_object().unwrap().get_object("hooks").unwrap();
    let Some(groups) = hooks.get_array("Stop") else { return Vec::new() };
    groups.elements.iter().map(|group| text[group.start()..group.end()].to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Wherever people moved our entries to, with whatever between: nothing of theirs goes with them.
    #[test]
    fn nothing_of_others_is_lost_wherever_ours_stand(
        pieces in prop::collection::vec((gap(), any::<bool>(), gap()), 1..6), empty in gap(), trailing in any::<bool>(),
    ) {
        let whole = plugged(Host::Claude, None, &line()).unwrap();
        let value: Value = serde_json::from_str(&whole).unwrap();
        let ours = value["hooks"]["Stop"][0].to_string();
        let mut theirs = Vec::new();
        let items = pieces.into_iter().enumerate().map(|(at, (before, is_ours, after))| {
            let group = if is_ours { ours.clone() } else { format!(r#"{{"matcher": "m{at}", "hooks": []}}"#) };
            if !is_ours {
                theirs.push(group.clone());
            }
            (before, group, after)
        });
        let list = container('[', ']', items.collect(), &empty, trailing);
        let text = format!("{{\"a\": 1, \"hooks\": {{\"Stop\": {list}}}}}");
        let left = out(Host::Claude, &text).unwrap();
        let comments = |text: &str| text.matches("note").count() + text.matches("/*").count();
        prop_assert_eq!(comments(&left), comments(&text), "{}", left);
        prop_assert!(installed(Host::Claude, left.as_bytes()).is_empty());
        prop_assert_eq!(groups_under_stop(&left), theirs, "{}", left);
        let again = into(Host::Claude, &left);
        let named = flaws(Host::Claude, again.as_bytes(), &line());
        prop_assert!(named.iter().all(|flaw| !flaw.is_grave), "{again}\n{named:?}");
        prop_assert_eq!(out(Host::Claude, &again), Some(left));
    }
}
