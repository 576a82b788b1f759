//! Gemini's interface. A stream is one event with everything in it.

use serde_json::{Value, json};

use super::{call_id, list, text};
use crate::seen::text_of;
use crate::{Answered, Turn};

pub(super) fn whole(turn: &Turn, number: usize) -> Value {
    let said = turn.say.iter().map(|said| json!({"text": said}));
    let calls = turn.calls.iter().enumerate().map(|(index, call)| {
        json!({"functionCall": {"id": call_id(number, index), "name": call.name, "args": call.arguments}})
    });
    json!({
        "candidates": [{
            "index": 0, "finishReason": "STOP",
            "content": {"role": "model", "parts": said.chain(calls).collect::<Vec<_>>()},
        }],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "scripted",
    })
}

pub(super) fn results(body: &Value) -> Vec<Answered> {
    list(body, "contents")
        .iter()
        .flat_map(|content| list(content, "parts"))
        .filter_map(|part| part.get("functionResponse"))
        .map(|result| {
            let id = if text(result, "id").is_empty() { "name" } else { "id" };
            Answered { call: text(result, id).to_owned(), text: text_of(&result["response"]) }
        })
        .collect()
}
