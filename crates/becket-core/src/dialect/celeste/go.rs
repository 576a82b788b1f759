//! JSON as Go's `encoding/json` writes it. Hashes and the trust store are compared byte by byte with what Celeste
//! itself writes, so every escape counts.

use serde_json::Value;

use crate::json::Object;

/// A value in Go's compact form: keys sorted by bytes, numbers with the digits they came with.
pub(super) fn compact(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// As [`compact`], of an object.
pub(super) fn compact_object(object: &Object) -> String {
    let mut text = String::new();
    write_object(object, &mut text);
    text
}

/// Appends a value in Go's compact form.
pub(super) fn write(value: &Value, into: &mut String) {
    match value {
        Value::Null => into.push_str("null"),
        Value::Bool(true) => into.push_str("true"),
        Value::Bool(false) => into.push_str("false"),
        Value::Number(number) => into.push_str(number.as_str()),
        Value::String(text) => write_string(text, into),
        Value::Array(items) => {
            into.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    into.push(',');
                }
                write(item, into);
            }
            into.push(']');
        }
        Value::Object(object) => write_object(object, into),
    }
}

/// Appends an object in Go's compact form.
pub(super) fn write_object(object: &Object, into: &mut String) {
    let mut entries: Vec<(&String, &Value)> = object.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| key.as_bytes());
    into.push('{');
    for (index, (key, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            into.push(',');
        }
        write_string(key, into);
        into.push(':');
        write(value, into);
    }
    into.push('}');
}

/// Appends a string with its quotes. Beyond what JSON asks for, Go escapes `&`, `<`, `>` and the two separators
/// that JavaScript once took for line ends.
pub(super) fn write_string(text: &str, into: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    into.push('"');
    let mut plain = 0;
    for (at, character) in text.char_indices() {
        let short = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '&' => "\\u0026",
            '<' => "\\u003c",
            '>' => "\\u003e",
            '\u{2028}' => "\\u2028",
            '\u{2029}' => "\\u2029",
            '\0'..='\u{1f}' => "",
            _ => continue,
        };
        into.push_str(&text[plain..at]);
        plain = at + character.len_utf8();
        if short.is_empty() {
            let byte = text.as_bytes()[at];
            into.push_str("\\u00");
            into.push(char::from(HEX[usize::from(byte >> 4)]));
            into.push(char::from(HEX[usize::from(byte & 15)]));
        } else {
            into.push_str(short);
        }
    }
    into.push_str(&text[plain..]);
    into.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_and_order_are_gos() {
        let value: Value = serde_json::from_str(
            r#"{"b":[1.10,12345678901234567890,-0.0,1e+400,null,true,false],"a":{"é":"<&>/\u2028","Z":"\u0001\b\f\n\u007f\\\""}}"#,
        )
        .unwrap();
        assert_eq!(
            compact(&value),
            "{\"a\":{\"Z\":\"\\u0001\\b\\f\\n\u{7f}\\\\\\\"\",\"é\":\"\\u003c\\u0026\\u003e/\\u2028\"},\"b\":[1.10,12345678901234567890,-0.0,1e+400,null,true,false]}"
        );
        assert_eq!(compact(&Value::Object(Object::new())), "{}");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(text in any::<String>()) {
            let mut written = String::new();
            write_string(&text, &mut written);
            let raw = ['<', '>', '&', '\u{2028}', '\n'];
            prop_assert!(!written.contains(raw));
            prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
        }
    }
}
