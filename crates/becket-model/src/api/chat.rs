//! OpenAI's Chat Completions.

use serde_json::{Value, json};

use super::{Sent, call_id, list, text};
use crate::seen::text_of;
use crate::{Answered, Turn};

pub(super) fn events(turn: &Turn, number: usize) -> Vec<Sent> {
    let mut deltas = vec![json!({"role": "assistant", "content": turn.say})];
    deltas.extend(calls(turn, number).into_iter().map(|call| json!({"tool_calls": [call]})));
    let mut events: Vec<Sent> =
        deltas.into_iter().map(|delta| ("", chunk(number, &delta, &Value::Null))).collect();
    events.push(("", chunk(number, &json!({}), &finish(turn).into())));
    events.push(("", json!("[DONE]")));
    events
}

fn chunk(number: usize, delta: &Value, finish: &Value) -> Value {
    json!({
        "id": format!("chat_{number}"), "object": "chat.completion.chunk", "created": 0, "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        "usage": if finish.is_null() { Value::Null } else { usage() },
    })
}

pub(super) fn whole(turn: &Turn, number: usize) -> Value {
    let mut message = json!({"role": "assistant", "content": turn.say});
    if !turn.calls.is_empty() {
        message["tool_calls"] = calls(turn, number).into();
    }
    json!({
        "id": format!("chat_{number}"), "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish(turn)}], "usage": usage(),
    })
}

fn finish(turn: &Turn) -> &'static str {
    if turn.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn usage() -> Value {
    json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2})
}

fn calls(turn: &Turn, number: usize) -> Vec<Value> {
    let call = |(index, call): (usize, &crate::Call)| {
        json!({
            "index": index, "id": call_id(number, index), "type": "function",
            "function": {"name": call.name, "arguments": call.arguments.to_string()},
        })
    };
    turn.calls.iter().enumerate().map(call).collect()
}

pub(super) fn results(body: &Value) -> Vec<Answered> {
    list(body, "messages")
        .iter()
        .filter(|message| text(message, "role") == "tool")
        .map(|message| Answered {
            call: text(message, "tool_call_id").to_owned(),
            text: text_of(&message["content"]),
        })
        .collect()
}
