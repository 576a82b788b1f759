//! Every interface, streamed and whole, with a client of three lines.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use becket_model::{Answered, Model, Script, Turn};
use serde_json::{Value, json};

fn post(model: &Model, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(model.url().trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn script() -> Script {
    Script::new([Turn::say("looking")
        .and_call("shell", json!({"command": "ls"}))
        .and_call("shell", json!({}))])
}

/// The data of the events of a stream.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[test]
fn responses() {
    let model = Model::start(script()).unwrap();
    let ask = json!({"stream": true, "tools": [{}], "input": [
        {"type": "function_call_output", "call_id": "a", "output": "one"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "two"}]},
    ]});
    let (status, body) = post(&model, "/v1/responses", &ask.to_string());
    assert_eq!(status, 200);
    assert!(body.starts_with("event: response.created\n"), "{body}");
    let done: Vec<Value> =
        events(&body).into_iter().filter(|event| event["type"] == "response.output_item.done").collect();
    assert_eq!(done.len(), 3);
    assert_eq!(done[0]["item"]["content"][0]["text"], "looking");
    assert_eq!(done[1]["item"]["arguments"], r#"{"command":"ls"}"#);
    assert_eq!(done[1]["item"]["call_id"], "call_0_0");
    let expected = [
        Answered { call: "a".into(), text: "one".into() },
        Answered { call: "b".into(), text: "two".into() },
    ];
    assert_eq!(model.seen()[0].results(), expected);
    let (_, body) = post(&model, "/v1/responses", r#"{"tools": [{}]}"#);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["output"][0]["content"][0]["text"], "all done");
}

#[test]
fn chat() {
    let model = Model::start(script()).unwrap();
    let ask = json!({"stream": true, "tools": [{}], "messages": [
        {"role": "tool", "tool_call_id": "a", "content": "one"}, {"role": "user", "content": "hello"},
    ]});
    let (_, body) = post(&model, "/v1/chat/completions", &ask.to_string());
    assert!(body.ends_with("data: [DONE]\n\n"), "{body}");
    let events = events(&body);
    assert_eq!(events[0]["choices"][0]["delta"]["content"], "looking");
    assert_eq!(events[2]["choices"][0]["delta"]["tool_calls"][0]["index"], 1);
    assert_eq!(events[3]["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(model.seen()[0].results(), [Answered { call: "a".into(), text: "one".into() }]);
    assert!(model.seen()[0].hears("hello"));
    let (_, body) = post(&model, "/v1/chat/completions", r#"{"tools": [{}]}"#);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["choices"][0]["message"]["content"], "all done");
}

#[test]
fn gemini() {
    let model = Model::start(script()).unwrap();
    let ask = json!({"tools": [{}], "contents": [
        {"role": "user", "parts": [{"functionResponse": {"name": "shell", "response": {"output": "one"}}}]},
    ]});
    let (_, body) = post(&model, "/v1beta/models/m:streamGenerateContent?alt=sse", &ask.to_string());
    let parts = &events(&body)[0]["candidates"][0]["content"]["parts"];
    assert_eq!(parts[0]["text"], "looking");
    assert_eq!(parts[1]["functionCall"]["args"]["command"], "ls");
    assert_eq!(model.seen()[0].results(), [Answered { call: "shell".into(), text: "one".into() }]);
    let (_, body) = post(&model, "/v1beta/models/m:generateContent", r#"{"contents": []}"#);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["candidates"][0]["content"]["parts"][0]["text"], "ok", "without tools it is an aside");
    let (_, body) = post(&model, "/v1beta/models/m:countTokens", "{}");
    assert_eq!(body, r#"{"totalTokens":1}"#);
    assert_eq!(model.seen().len(), 2, "counting is not asking");
    assert_eq!(model.turns().len(), 1);
}

#[test]
fn anthropic() {
    let model = Model::start(script()).unwrap();
    let ask = json!({"stream": true, "tools": [{}], "messages": [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "one"}]}]},
    ]});
    let (_, body) = post(&model, "/v1/messages", &ask.to_string());
    let events = events(&body);
    assert_eq!(events[0]["message"]["content"], json!([]));
    assert_eq!(events[2]["delta"]["text"], "looking");
    assert_eq!(events[4]["content_block"]["input"], json!({}));
    assert_eq!(events[5]["delta"]["partial_json"], r#"{"command":"ls"}"#);
    assert_eq!(events.last().unwrap()["type"], "message_stop");
    assert_eq!(model.seen()[0].results(), [Answered { call: "a".into(), text: "one".into() }]);
    let (_, body) = post(&model, "/v1/messages", r#"{"tools": [{}]}"#);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["stop_reason"], "end_turn");
}

#[test]
fn failures() {
    let mut slow = Turn::say("late");
    slow.wait_ms = 30;
    let model = Model::start(Script::new([Turn::fail(429, "slower"), slow])).unwrap();
    assert_eq!(post(&model, "/v1/nothing", "{}").0, 404);
    assert_eq!(post(&model, "/v1/messages", "{").0, 400);
    let (status, body) = post(&model, "/v1/messages", r#"{"tools": [{}]}"#);
    assert_eq!(status, 429);
    assert!(body.contains("slower"), "{body}");
    let start = Instant::now();
    assert!(post(&model, "/v1/messages", r#"{"tools": [{}]}"#).1.contains("late"));
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[test]
fn scripts_are_json() {
    let script: Script =
        serde_json::from_str(r#"{"turns": [{"say": "hello"}, {"calls": [{"name": "x", "arguments": {}}]}]}"#)
            .unwrap();
    assert_eq!(script, Script::new([Turn::say("hello"), Turn::call("x", json!({}))]));
    assert!(serde_json::from_str::<Script>(r#"{"turns": [{"sya": "hello"}]}"#).is_err());
}
