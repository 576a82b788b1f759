//! Anthropic's Messages.

use serde_json::{Value, json};

use super::{Sent, call_id, list, text};
use crate::seen::text_of;
use crate::{Answered, Turn};

pub(super) fn events(turn: &Turn, number: usize) -> Vec<Sent> {
    let mut opened = whole(turn, number);
    opened["content"] = json!([]);
    opened["stop_reason"] = Value::Null;
    let mut events: Vec<Sent> = vec![("message_start", json!({"type": "message_start", "message": opened}))];
    for (index, block) in blocks(turn, number).into_iter().enumerate() {
        let (opened, delta) = if text(&block, "type") == "text" {
            (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": block["text"]}))
        } else {
            let part = block["input"].to_string();
            let mut opened = block;
            opened["input"] = json!({});
            (opened, json!({"type": "input_json_delta", "partial_json": part}))
        };
        let start = json!({"type": "content_block_start", "index": index, "content_block": opened});
        events.push(("content_block_start", start));
        let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.push(("content_block_delta", delta));
        events.push(("content_block_stop", json!({"type": "content_block_stop", "index": index})));
    }
    let end = json!({
        "type": "message_delta", "delta": {"stop_reason": reason(turn), "stop_sequence": null},
        "usage": {"output_tokens": 1},
    });
    events.push(("message_delta", end));
    events.push(("message_stop", json!({"type": "message_stop"})));
    events
}

pub(super) fn whole(turn: &Turn, number: usize) -> Value {
    json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "scripted",
        "content": blocks(turn, number), "stop_reason": reason(turn), "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    })
}

fn reason(turn: &Turn) -> &'static str {
    if turn.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn blocks(turn: &Turn, number: usize) -> Vec<Value> {
    let said = turn.say.iter().map(|said| json!({"type": "text", "text": said}));
    let calls = turn.calls.iter().enumerate().map(|(index, call)| {
        json!({"type": "tool_use", "id": call_id(number, index), "name": call.name, "input": call.arguments})
    });
    said.chain(calls).collect()
}

pub(super) fn results(body: &Value) -> Vec<Answered> {
    list(body, "messages")
        .iter()
        .flat_map(|message| list(message, "content"))
        .filter(|block| text(block, "type") == "tool_result")
        .map(|block| Answered {
            call: text(block, "tool_use_id").to_owned(),
            text: text_of(&block["content"]),
        })
        .collect()
}
