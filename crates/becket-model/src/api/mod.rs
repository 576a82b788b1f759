//! The interfaces.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde::Serialize;
use serde_json::{Value, json};

use crate::{Answered, Turn};

/// A model interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// OpenAI's `POST …/responses`.
    Responses,
    /// OpenAI's `POST …/chat/completions`.
    Chat,
    /// Gemini's `POST …:generateContent` and `:streamGenerateContent`.
    Gemini,
    /// Anthropic's `POST …/messages`.
    Anthropic,
}

/// What an address asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The body says whether the answer is to be streamed.
    AsTheBodySays,
    Streamed,
    Whole,
    Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ask {
    pub(crate) api: Api,
    pub(crate) form: Form,
}

/// The data of one server-sent event, with the event's name or "".
pub(crate) type Sent = (&'static str, Value);

impl Ask {
    pub(crate) fn of(url: &str) -> Option<Self> {
        let path = url.split('?').next().unwrap_or_default();
        let ends = [
            ("/responses", Api::Responses, Form::AsTheBodySays),
            ("/chat/completions", Api::Chat, Form::AsTheBodySays),
            (":streamGenerateContent", Api::Gemini, Form::Streamed),
            (":generateContent", Api::Gemini, Form::Whole),
            (":countTokens", Api::Gemini, Form::Count),
            ("/messages", Api::Anthropic, Form::AsTheBodySays),
            ("/messages/count_tokens", Api::Anthropic, Form::Count),
        ];
        ends.into_iter().find(|(end, ..)| path.ends_with(end)).map(|(_, api, form)| Self { api, form })
    }

    pub(crate) fn streams(self, body: &Value) -> bool {
        match self.form {
            Form::AsTheBodySays => body.get("stream") == Some(&Value::Bool(true)),
            Form::Streamed => true,
            Form::Whole | Form::Count => false,
        }
    }
}

impl Api {
    pub(crate) fn offers_tools(self, body: &Value) -> bool {
        body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
    }

    pub(crate) fn events(self, turn: &Turn, number: usize) -> Vec<Sent> {
        match self {
            Self::Responses => responses::events(turn, number),
            Self::Chat => chat::events(turn, number),
            Self::Gemini => vec![("", gemini::whole(turn, number))],
            Self::Anthropic => anthropic::events(turn, number),
        }
    }

    pub(crate) fn whole(self, turn: &Turn, number: usize) -> Value {
        match self {
            Self::Responses => responses::whole(turn, number),
            Self::Chat => chat::whole(turn, number),
            Self::Gemini => gemini::whole(turn, number),
            Self::Anthropic => anthropic::whole(turn, number),
        }
    }

    pub(crate) fn count(self) -> Value {
        match self {
            Self::Gemini => json!({"totalTokens": 1}),
            Self::Responses | Self::Chat | Self::Anthropic => json!({"input_tokens": 1}),
        }
    }

    pub(crate) fn results(self, body: &Value) -> Vec<Answered> {
        match self {
            Self::Responses => responses::results(body),
            Self::Chat => chat::results(body),
            Self::Gemini => gemini::results(body),
            Self::Anthropic => anthropic::results(body),
        }
    }
}

/// The id of one call of one answer.
fn call_id(number: usize, index: usize) -> String {
    format!("call_{number}_{index}")
}

/// The items of a list in a body; none if it is not there.
fn list<'a>(body: &'a Value, key: &str) -> &'a [Value] {
    body.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(item: &'a Value, key: &str) -> &'a str {
    item.get(key).and_then(Value::as_str).unwrap_or_default()
}
