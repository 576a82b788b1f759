//! OpenAI's Responses.

use serde_json::{Value, json};

use super::{Sent, call_id, list, text};
use crate::seen::text_of;
use crate::{Answered, Call, Turn};

pub(super) fn events(turn: &Turn, number: usize) -> Vec<Sent> {
    let id = format!("resp_{number}");
    let opened = json!({"id": id, "object": "response", "status": "in_progress", "output": []});
    let mut events: Vec<Sent> =
        vec![("response.created", json!({"type": "response.created", "response": opened}))];
    for (index, item) in items(turn, number).into_iter().enumerate() {
        let added = json!({"type": "response.output_item.added", "output_index": index, "item": item});
        events.push(("response.output_item.added", added));
        if let Some(said) = item.pointer("/content/0/text") {
            let delta = json!({
                "type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                "content_index": 0, "delta": said,
            });
            events.push(("response.output_text.delta", delta));
        }
        let done = json!({"type": "response.output_item.done", "output_index": index, "item": item});
        events.push(("response.output_item.done", done));
    }
    let completed = json!({"type": "response.completed", "response": whole(turn, number)});
    events.push(("response.completed", completed));
    events
}

pub(super) fn whole(turn: &Turn, number: usize) -> Value {
    json!({
        "id": format!("resp_{number}"), "object": "response", "status": "completed", "model": "scripted",
        "output": items(turn, number),
        "usage": {
            "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
        },
    })
}

fn items(turn: &Turn, number: usize) -> Vec<Value> {
    let said = turn.say.iter().map(|said| {
        json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": said, "annotations": []}],
        })
    });
    let calls = turn.calls.iter().enumerate().map(|(index, call)| item(call, &call_id(number, index)));
    said.chain(calls).collect()
}

fn item(call: &Call, id: &str) -> Value {
    match &call.arguments {
        Value::String(input) => json!({
            "type": "custom_tool_call", "id": format!("item_{id}"), "status": "completed", "call_id": id,
            "name": call.name, "input": input,
        }),
        arguments => json!({
            "type": "function_call", "id": format!("item_{id}"), "status": "completed", "call_id": id,
            "name": call.name, "arguments": arguments.to_string(),
        }),
    }
}

pub(super) fn results(body: &Value) -> Vec<Answered> {
    list(body, "input")
        .iter()
        .filter(|item| matches!(text(item, "type"), "function_call_output" | "custom_tool_call_output"))
        .map(|item| Answered { call: text(item, "call_id").to_owned(), text: text_of(&item["output"]) })
        .collect()
}
