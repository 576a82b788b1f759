//! Files of any content, as a repository may bring them: the work grows no faster than they do, and what is told of them
//! is bounded.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::place::Place;

/// Far below the largest file that is read: what takes the square of this is long over time, and what does not has been
/// measured at the largest.
const SIZE: usize = 256 << 10;

/// Much longer than the work takes on a busy machine without optimization.
const LONGEST: Duration = Duration::from_secs(60);

/// Most that is said, in bytes.
const MOST_SAID: usize = 200_000;

fn line(host: &str, number: usize) -> String {
    format!("/bin/b{number} hook {host} --home /h --deadline 1 --event Stop")
}

fn entry(host: &str, number: usize) -> String {
    format!(r#"{{"type":"command","command":"{}"}}"#, line(host, number))
}

/// A file that is filled with numbered pieces.
fn filled(head: &str, tail: &str, piece: impl Fn(usize) -> String) -> String {
    let mut text = head.to_owned();
    for number in 0.. {
        let piece = piece(number);
        if text.len() + piece.len() + tail.len() >= SIZE {
            break;
        }
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{piece}");
    }
    text + tail
}

/// Files that are much of one thing.
fn files(host: &str) -> Vec<(&'static str, String)> {
    let ours = entry(host, 0);
    let group = |number| format!(r#"{{"hooks":[{}]}}"#, entry(host, number));
    let in_list = (r#"{"hooks":{"Stop":[{"hooks":[]},"#, "]}}");
    let keys = |number| format!(r#""k{number}":1"#);
    let half = filled("", "", keys);
    let half = &half[..half[..SIZE / 2].rfind(',').unwrap()];
    vec![
        (
            "unknown events",
            filled(&format!(r#"{{"hooks":{{"Stop":[{}],"#, group(0)), "}}", |number| {
                format!(r#""e{number}":[]"#)
            }),
        ),
        (
            "events with our line",
            filled(r#"{"hooks":{"#, "}}", |number| format!(r#""e{number}":[{}]"#, group(0))),
        ),
        ("groups with our line", filled(in_list.0, in_list.1, |_| group(0))),
        ("groups with different programs", filled(in_list.0, in_list.1, group)),
        ("our lines in one group", filled(r#"{"hooks":{"Stop":[{"hooks":[1,"#, "]}]}}", |_| entry(host, 0))),
        (
            "keys in one entry",
            filled(
                &format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{},"#, &ours[..ours.len() - 1]),
                "}]}]}}",
                keys,
            ),
        ),
        (
            "our lines in one group with keys",
            filled(&format!(r#"{{"hooks":{{"Stop":[{{{half},"hooks":["#), "]}]}}", |_| entry(host, 0)),
        ),
        (
            "our lines under one long name",
            filled(&format!(r#"{{"hooks":{{"{}":["#, "e".repeat(SIZE / 2)), "]}}", |_| group(0)),
        ),
        ("a long program", group(0).replace("/bin/b0", &format!("/{}", "x".repeat(SIZE)))),
        (
            "different types",
            filled(in_list.0, in_list.1, |number| {
                group(0).replace("\"command\",", &format!("\"t{number}\","))
            }),
        ),
        (
            "wrong groups",
            filled(&format!(r#"{{"hooks":{{"Stop":[{},"#, group(0)), in_list.1, |_| {
                r#"{"type":1}"#.to_owned()
            }),
        ),
        (
            "many lines",
            filled(&format!(r#"{{"hooks":{{"Stop":[{},"#, group(0)), in_list.1, |_| "\n1".to_owned()),
        ),
    ]
}

#[test]
fn whatever_a_project_brings_is_looked_at_in_time_and_told_in_short() {
    for (host, path) in [
        ("claude", "shop/.claude/settings.json"),
        ("codex", "shop/.codex/hooks.json"),
        ("gemini", "shop/.gemini/settings.json"),
    ] {
        for (what, text) in files(host) {
            // It is whole in each case but the one that is a group and no file.
            let text = if text.starts_with(r#"{"hooks":{"#) {
                text
            } else {
                format!(r#"{{"hooks":{{"Stop":[{text}]}}}}"#)
            };
            let place = Place::new();
            place.write(path, text);
            for verb in ["doctor", "install", "uninstall"] {
                let begin = Instant::now();
                let said = place.becket(&[verb, "--project", host]);
                let time = begin.elapsed();
                assert!(time < LONGEST, "{host}: {what}: {verb} took {time:?}");
                let length = said.stdout.len() + said.stderr.len();
                assert!(length < MOST_SAID, "{host}: {what}: {verb} said {length} bytes");
                assert_eq!(said.exit, i32::from(verb == "doctor"), "{host}: {what}: {verb}: {}", said.stderr);
            }
        }
    }
}
