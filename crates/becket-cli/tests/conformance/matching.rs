//! Whether a value is what a case expects: given keys count, others are free.

use serde_json::{Map, Value};

/// Every way in which `actual` is not as expected, each with its place.
pub(crate) fn differences(expected: &Value, actual: Option<&Value>, at: &str) -> Vec<String> {
    let mut found = Vec::new();
    compare(expected, actual, at, &mut found);
    found
}

fn compare(expected: &Value, actual: Option<&Value>, at: &str, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(wanted), _) if wanted.keys().any(|key| key.starts_with('_')) => {
            for (key, operand) in wanted {
                if let Err(why) = operator(key, operand, actual, at) {
                    found.push(why);
                }
            }
        }
        (_, None) => found.push(format!("{at}: expected {expected}, but it is absent")),
        (Value::Object(wanted), Some(Value::Object(given))) => {
            for (key, value) in wanted {
                compare(value, given.get(key), &format!("{at}.{key}"), found);
            }
        }
        (Value::Array(wanted), Some(Value::Array(given))) => {
            if wanted.len() != given.len() {
                found.push(format!("{at}: expected {} items, found {}", wanted.len(), given.len()));
            }
            for (index, value) in wanted.iter().enumerate().take(given.len()) {
                compare(value, given.get(index), &format!("{at}[{index}]"), found);
            }
        }
        (Value::String(pattern), Some(Value::String(given))) if pattern.starts_with('~') => {
            match regex_lite::Regex::new(&pattern[1..]) {
                Ok(regex) if regex.is_match(given) => {}
                Ok(_) => found.push(format!("{at}: {} does not match {}", short(given), &pattern[1..])),
                Err(error) => found.push(format!("{at}: {error}")),
            }
        }
        (Value::Number(wanted), Some(Value::Number(given))) if wanted.as_f64() == given.as_f64() => {}
        (wanted, Some(given)) if wanted == given => {}
        (wanted, Some(given)) => {
            let (wanted, given) = (short(&wanted.to_string()), short(&given.to_string()));
            found.push(format!("{at}: expected {wanted}, found {given}"));
        }
    }
}

fn operator(key: &str, operand: &Value, actual: Option<&Value>, at: &str) -> Result<(), String> {
    let shown = actual.map_or_else(|| "nothing".to_owned(), |value| short(&value.to_string()));
    let parts = |operand: &Value| match operand {
        Value::Array(items) => items.clone(),
        one => vec![one.clone()],
    };
    match key {
        "_contains" => match parts(operand).iter().find(|part| !contains(actual, part)) {
            None => Ok(()),
            Some(part) => Err(format!("{at}: {part} is not in {shown}")),
        },
        "_lacks" => match parts(operand).iter().find(|part| contains(actual, part)) {
            None => Ok(()),
            Some(part) => Err(format!("{at}: {part} must not be in {shown}")),
        },
        "_length" => match length(actual) {
            Some(length) if Some(length as u64) == operand.as_u64() => Ok(()),
            length => Err(format!("{at}: expected a length of {operand}, found {length:?}")),
        },
        "_least" | "_most" => {
            let given = actual.and_then(Value::as_f64).or_else(|| length(actual).map(|length| length as f64));
            let bound = operand.as_f64();
            let holds = match (given, bound) {
                (Some(given), Some(bound)) if key == "_least" => given >= bound,
                (Some(given), Some(bound)) => given <= bound,
                _ => false,
            };
            if holds { Ok(()) } else { Err(format!("{at}: {shown} is not {} {operand}", &key[1..])) }
        }
        "_is" => {
            let kind = kind(actual);
            if operand.as_str() == Some(kind) {
                Ok(())
            } else {
                Err(format!("{at}: expected {operand}, found {kind}: {shown}"))
            }
        }
        "_exactly" if actual == Some(operand) => Ok(()),
        "_exactly" => Err(format!("{at}: expected exactly {operand}, found {shown}")),
        _ => Err(format!("{at}: there is no {key}")),
    }
}

/// A text holds a part; a list holds an item that is as expected; an object has a key.
fn contains(actual: Option<&Value>, part: &Value) -> bool {
    match (actual, part) {
        (Some(Value::String(text)), Value::String(part)) => match part.strip_prefix('~') {
            Some(pattern) => regex_lite::Regex::new(pattern).is_ok_and(|regex| regex.is_match(text)),
            None => text.contains(part.as_str()),
        },
        (Some(Value::Array(items)), part) => {
            items.iter().any(|item| differences(part, Some(item), "").is_empty())
        }
        (Some(Value::Object(entries)), Value::String(key)) => Map::contains_key(entries, key),
        _ => false,
    }
}

fn length(value: Option<&Value>) -> Option<usize> {
    match value? {
        Value::String(text) => Some(text.chars().count()),
        Value::Array(items) => Some(items.len()),
        Value::Object(entries) => Some(entries.len()),
        _ => None,
    }
}

fn kind(value: Option<&Value>) -> &'static str {
    match value {
        None => "absent",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "list",
        Some(Value::Object(_)) => "object",
    }
}

/// Text that is fit for a line of a report.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(600) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
    }
}
