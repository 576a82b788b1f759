use serde_json::json;

use super::*;
use crate::dialect::{Answer, Name, Timestamp};
use crate::event::EventName;
use crate::journal::{Record, VERSION};
use crate::outcome::Status;

const SECRET: &str = "password: hunter2";

/// What is stored of it.
fn stored(what: What) -> What {
    let line = Record { v: VERSION, at: Timestamp(0), what }.line();
    let record = Record::parse(&line).unwrap();
    assert_eq!(record.clone().line(), line, "masking again changes nothing");
    record.what
}

#[test]
fn every_text_of_an_outcome_is_masked_but_by_what_a_run_is_found() {
    let text = || SECRET.to_owned();
    let input = r#"{"a":["password: hunter2",{"Db_Password":"hunter2","password":5,"x":1}],"password: hunter2":1,"path":"password: hunter2"}"#;
    let outcome = Outcome {
        reason: Some(text()),
        updated_input: crate::json::parse_object(input.as_bytes()).ok(),
        result: Some(ToolResult { failed: true, feedback: text(), replaces: true }),
        additional_context: vec![text()],
        messages: vec![text()],
        continue_with: Some(text()),
        runs: vec![Run {
            dialect: Name::Albedo,
            source: text(),
            index: 0,
            name: Some(text()),
            moment: text(),
            command: text(),
            look: 1,
            status: Status::Failed,
            detail: text(),
            exit_code: None,
            duration_ms: 0.0,
            truncated: false,
        }],
        ..Outcome::nothing(EventName::PreToolUse)
    };
    let fired = What::Fired {
        session: Some(text()),
        workspace: SECRET.into(),
        tool: Some(text()),
        outcome: Box::new(outcome),
    };
    let What::Fired { session, workspace, tool, mut outcome } = stored(fired) else {
        panic!("it is read as something else");
    };
    let mut run = outcome.runs.remove(0);
    let found_by = [session, Some(workspace.into_string()), tool, run.name.take()];
    for kept in found_by.into_iter().flatten().chain([&mut run.source, &mut run.moment].map(std::mem::take)) {
        assert_eq!(kept, SECRET);
    }
    outcome.runs.push(run);
    let rest = serde_json::to_string(&outcome).unwrap();
    assert!(!rest.contains("hunter2"), "{rest}");
    let masked = r#"{"a":["password: [masked]",{"Db_Password":"[masked]","password":"[masked]","x":1}],"password: [masked]":1,"path":"password: [masked]"}"#;
    assert!(rest.contains(masked), "{rest}");
}

#[test]
fn every_text_of_a_dialects_own_record_is_masked_but_by_what_a_run_is_found() {
    let found_by = ["id", "name", "event", "path", "hash"];
    let kept: Object = found_by.iter().map(|key| ((*key).to_owned(), SECRET.into())).collect();
    let mut payload = kept.clone();
    payload.insert("command".to_owned(), SECRET.into());
    payload.insert("process".to_owned(), json!({"ok": true, "stdout": SECRET, "lines": [SECRET], "pid": 7}));
    payload.insert("whatever comes".to_owned(), SECRET.into());
    let record = json!({"type": "hook.completed", "payload": payload});
    let What::Hook { record, .. } = stored(What::Hook { dialect: Name::Shadowcode, session: None, record })
    else {
        panic!("it is read as something else");
    };
    let masked = "password: [masked]";
    let mut payload = kept;
    payload.insert("command".to_owned(), masked.into());
    payload.insert("process".to_owned(), json!({"ok": true, "stdout": masked, "lines": [masked], "pid": 7}));
    payload.insert("whatever comes".to_owned(), masked.into());
    assert_eq!(record, json!({"type": "hook.completed", "payload": payload}));
}

#[test]
fn an_answer_is_stored_as_it_is() {
    let answered = What::Answered {
        dialect: Name::Celeste,
        path: "/home/Dev2/Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRkdISUpLTE1OT1A".to_owned(),
        answer: Answer::Approve,
        hash: Some(crate::hash::of(b"x")),
    };
    assert_eq!(stored(answered.clone()), answered);
}
