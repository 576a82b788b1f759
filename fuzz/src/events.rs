//! Envelopes, and what hooks reply.

use becket_core::dialect::End;
use becket_core::event::{Event, EventName};
use becket_core::session::{Fact, Facts, OpenCall, line};

use crate::rules::{RULES, finished, fire};

/// Tool calls of every kind that dialects tell apart.
const CALLS: [&str; 8] = [
    r#""tool_name":"Bash","tool_input":{"command":"x"}"#,
    r#""tool_name":"exec_command","tool_input":{"cmd":"cargo test","workdir":"/w"}"#,
    r#""tool_name":"Edit","tool_input":{"file_path":"/w/a.rs","old_string":"a","new_string":"b","replace_all":true}"#,
    r#""tool_name":"write_file","tool_input":{"path":"a.rs","content":"x"}"#,
    r#""tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n*** Add File: c.py\n*** Delete File: d\n*** End Patch"}"#,
    r#""tool_name":"MultiEdit","tool_input":{"edits":[{"path":"a.rs"},{"path":"b.py"}]}"#,
    r#""tool_name":"git_commit","tool_input":{"message":"x"}"#,
    r#""tool_name":"mcp__a__b","tool_input":{"command":"x","any":[1.50,{"key":null}]}"#,
];

/// An envelope, and what every dialect makes of the event.
pub fn envelope(bytes: &[u8]) {
    let Ok(event) = Event::read(bytes, None) else { return };
    remember(&event);
    RULES.with(|all| {
        for rules in all {
            fire(&event, rules, |job| finished(job, End::Exited(0), b"", b""));
        }
    });
}

/// Whatever is accepted is remembered as it is, by itself and added up.
fn remember(event: &Event) {
    let call = OpenCall { id: "c".to_owned(), agent: None, fields: event.fields.clone() };
    let mut facts = Facts { remembered: true, ..Facts::default() };
    facts.add(Fact::Opened { call: Box::new(call.clone()) });
    for fact in [Fact::Opened { call: Box::new(call) }, Fact::Sum(Box::new(facts.clone()))] {
        let (read, gaps) = Facts::read(&line(&fact).expect("it reads back"));
        assert!(gaps.is_none());
        assert_eq!(read, facts);
    }
}

/// A hook's output: the first byte chooses the event and the stream, the second the tool call and the end.
pub fn reply(bytes: &[u8]) {
    let [first, second, output @ ..] = bytes else { return };
    let name = EventName::ALL[usize::from(first & 0x3f) % EventName::ALL.len()];
    let call = CALLS[usize::from(second & 7)];
    let end = match second >> 3 & 7 {
        0..=2 => End::Exited(0),
        3 => End::Exited(1),
        4 | 5 => End::Exited(2),
        6 => End::TimedOut,
        _ => End::Signalled(11),
    };
    let (stdout, stderr): (&[u8], &[u8]) = match first >> 6 {
        0 => (output, b""),
        1 => (b"", output),
        2 => (output, output),
        _ => (output, b"[31msecret\xff token=abcdefghijklmnop"),
    };
    let text = format!(
        r#"{{"hook_event_name":"{name}",{call},"tool_response":{{"exit_code":1}},"tool_use_id":"1"}}"#
    );
    let event = Event::read(text.as_bytes(), None).expect("it is a right one");
    RULES.with(|all| {
        for rules in all {
            fire(&event, rules, |job| finished(job, end.clone(), stdout, stderr));
        }
    });
}
