//! Secrets masked in what is stored. What a gate said is judged raw; what is kept of it is not.

mod secrets;

use serde_json::Value;

use crate::journal::What;
use crate::json::Object;
use crate::outcome::{Outcome, Run, ToolResult};

/// What is masked, and what is not.
struct Rule {
    /// Keys whose texts stay as they are.
    keeps: &'static [&'static str],
    /// Whether a long run of letters and digits is a key.
    is_key: fn(&[u8]) -> bool,
}

/// Of what Becket says itself, and of what hooks say to it: paths of words stay.
const OUTCOME: Rule = Rule { keeps: &[], is_key: secrets::looks_random_and_no_path };

/// Of a dialect's own record: as ShadowCode masks its own, to which long paths may look like keys. By what a run and its
/// hook are found again stays.
const OWN: Rule =
    Rule { keeps: &["type", "id", "name", "event", "path", "hash"], is_key: secrets::looks_random };

/// Masks everything that looks like a secret in what a line of the journal tells. By what an event, a run or an answer is
/// found again stays: the session, the workspace and the tool, files and their hashes, the names of hooks and moments.
pub fn mask_record(what: &mut What) {
    // Each field by its name, here and below, so that a new one is decided on.
    match what {
        What::Fired { session: _, workspace: _, tool: _, outcome } => mask_outcome(outcome),
        What::Hook { dialect: _, session: _, record } => OWN.mask_value(record),
        What::Answered { dialect: _, path: _, answer: _, hash: _ } => {}
    }
}

/// `text` as it is stored in a dialect's own record.
pub fn mask(text: &str) -> String {
    secrets::mask(text, OWN.is_key)
}

fn mask_outcome(outcome: &mut Outcome) {
    let Outcome {
        event: _,
        decision: _,
        reason,
        updated_input,
        result,
        additional_context,
        messages,
        continue_with,
        runs,
    } = outcome;
    let feedback = result.iter_mut().map(|ToolResult { failed: _, feedback, replaces: _ }| feedback);
    let texts = reason.iter_mut().chain(continue_with).chain(feedback).chain(additional_context);
    for text in texts.chain(messages) {
        OUTCOME.mask(text);
    }
    if let Some(input) = updated_input {
        OUTCOME.mask_object(input);
    }
    for run in runs {
        let Run {
            dialect: _,
            source: _,
            index: _,
            name: _,
            moment: _,
            command,
            look: _,
            status: _,
            detail,
            exit_code: _,
            duration_ms: _,
            truncated: _,
        } = run;
        OUTCOME.mask(command);
        OUTCOME.mask(detail);
    }
}

impl Rule {
    fn mask(&self, text: &mut String) {
        *text = secrets::mask(text, self.is_key);
    }

    fn mask_object(&self, object: &mut Object) {
        let entries = std::mem::take(object);
        object.extend(entries.into_iter().map(|(mut key, mut value)| {
            match value {
                Value::String(_) if self.keeps.contains(&key.as_str()) => {}
                Value::String(_) | Value::Number(_) if secrets::is_name(&key) => value = secrets::MASK.into(),
                _ => self.mask_value(&mut value),
            }
            self.mask(&mut key);
            (key, value)
        }));
    }

    fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.mask(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_value(item)),
            Value::Object(object) => self.mask_object(object),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
