//! JSON, read strictly, with every value's place in its text.
//!
//! Two readings, both by `serde_json`:
//! [`parse_object`] gives a plain value and refuses repeated keys, for what an agent sends: two programs that
//! disagree on `{"command": "a", "command": "b"}` are a way past a guard.
//! [`Node`] gives one level at a time and keeps repeated keys and places, for files and replies that people
//! write, so that a message can name line and column.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// A JSON object, its keys in the order of its text.
pub type Object = Map<String, Value>;

/// Most levels of nesting in what an agent sends and in what is to run instead of it.
///
/// `serde_json`, which agents read with too, takes [`MOST_READ`] levels. What is sent is put into other objects: a
/// session's facts, a verdict, an answer in an agent's words. The difference is their room.
pub const MOST_SENT: usize = 100;

/// Most levels of nesting in any text: `serde_json`'s own bound.
const MOST_READ: usize = 127;

/// Why a text was not taken, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {line}, column {column})")]
pub struct JsonError {
    /// What is wrong, without the place.
    pub message: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in bytes.
    pub column: usize,
}

impl JsonError {
    fn at(text: &str, offset: usize, message: String) -> Self {
        let (line, column) = place(text, offset);
        Self { message, line, column }
    }

    fn from_serde(error: &serde_json::Error) -> Self {
        let whole = error.to_string();
        // serde_json ends its messages with the place, which is kept apart here.
        let message = match whole.rfind(" at line ") {
            Some(end) => whole[..end].to_owned(),
            None => whole,
        };
        let message = match message.as_str() {
            "unexpected end of hex escape" | "lone leading surrogate in hex escape" => {
                "an escape is not four hex digits or is half of a surrogate pair".to_owned()
            }
            _ => message,
        };
        Self { message, line: error.line().max(1), column: error.column().max(1) }
    }
}

/// Line and column of a byte offset in `text`, both counted from 1.
pub fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    (line, before.len() - start + 1)
}

/// Bytes as the text of one JSON document: UTF-8 without a byte order mark.
///
/// # Errors
/// Invalid UTF-8 (with its place) or a leading byte order mark.
pub fn text(bytes: &[u8]) -> Result<&str, JsonError> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.starts_with('\u{feff}') => Err(JsonError {
            message: "the text begins with a byte order mark, which JSON does not allow".to_owned(),
            line: 1,
            column: 1,
        }),
        Ok(text) => Ok(text),
        Err(error) => {
            let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            Err(JsonError::at(valid, valid.len(), "this is not valid UTF-8".to_owned()))
        }
    }
}

/// Reads exactly one JSON object, as an agent sends it. Repeated keys at any depth, nesting over [`MOST_SENT`] levels,
/// lone surrogates, `NaN` and anything after the object are errors. Numbers keep their digits, keys their order.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse_object(bytes: &[u8]) -> Result<Object, JsonError> {
    match read(text(bytes)?, Strict { repeated: Repeated::Refuse, levels: MOST_SENT })? {
        Value::Object(object) => Ok(object),
        other => Err(JsonError {
            message: format!("expected a JSON object, found {}", kind_of(&other)),
            line: 1,
            column: 1,
        }),
    }
}

/// What becomes of a key that stands twice in one object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    /// The text is refused.
    Refuse,
    /// The last one counts, as in Python's `json`.
    LastWins,
}

/// Reads exactly one JSON value, nested at most 127 levels deep.
///
/// # Errors
/// As [`parse_object`].
pub fn parse(bytes: &[u8], repeated: Repeated) -> Result<Value, JsonError> {
    read(text(bytes)?, Strict { repeated, levels: MOST_READ })
}

fn read(text: &str, strict: Strict) -> Result<Value, JsonError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = strict.deserialize(&mut reader).map_err(|error| JsonError::from_serde(&error))?;
    reader.end().map_err(|error| JsonError::from_serde(&error))?;
    Ok(value)
}

/// Whether an object nests deeper than may be sent.
pub fn is_too_deep(object: &Object) -> bool {
    fn fits(value: &Value, levels: usize) -> bool {
        match value {
            Value::Object(object) => levels > 0 && object.values().all(|value| fits(value, levels - 1)),
            Value::Array(array) => levels > 0 && array.iter().all(|value| fits(value, levels - 1)),
            _ => true,
        }
    }
    !object.values().all(|value| fits(value, MOST_SENT - 1))
}

/// A JSON text whose strings show every character as itself: what acts on a terminal or hides is escaped. It means the
/// same.
pub fn visible(text: &str) -> Cow<'_, str> {
    // Outside strings JSON is ASCII, and serde_json escapes the controls among that.
    let is_shown =
        |character: char| character.is_ascii() && character != '\u{7f}' || crate::text::is_visible(character);
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_shown(character) {
            escaped.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(escaped)
}

/// "a string", "an object", … for messages.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The reading of a value: what JSON means, and nothing that `serde_json` means by it besides.
#[derive(Clone, Copy)]
pub(crate) struct Strict {
    repeated: Repeated,
    /// So many levels may still be opened.
    levels: usize,
}

impl Strict {
    /// For what Becket wrote itself: it was read strictly before.
    pub(crate) const OWN: Self = Self { repeated: Repeated::LastWins, levels: MOST_READ };

    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.levels.checked_sub(1) {
            Some(levels) => Ok(Self { levels, ..self }),
            None => Err(E::custom(format_args!("it is nested over {MOST_SENT} levels deep"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(inside)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Object::new();
        let mut next = entries.next_key::<String>()?;
        if next.as_deref() == Some(NUMBER_TOKEN) {
            match entries.next_value_seed(AfterToken(self))? {
                Handed::Digits(digits) => {
                    return digits.parse::<Number>().map(Value::Number).map_err(A::Error::custom);
                }
                Handed::Value(value) => object.insert(NUMBER_TOKEN.to_owned(), value),
            };
            next = entries.next_key()?;
        }
        let inside = self.inside()?;
        while let Some(key) = next {
            let value = entries.next_value_seed(inside)?;
            if object.insert(key.clone(), value).is_some() && self.repeated == Repeated::Refuse {
                return Err(A::Error::custom(format_args!("the key {key:?} stands twice in one object")));
            }
            next = entries.next_key()?;
        }
        Ok(Value::Object(object))
    }
}

/// The name under which `serde_json` hands over a number whose digits it kept: as an object with this one key. An object
/// that really has this key means what it says, and must be told apart.
const NUMBER_TOKEN: &str = "$serde_json::private::Number";

/// What stands under [`NUMBER_TOKEN`].
enum Handed {
    /// A number's digits.
    Digits(String),
    /// The value of a key that somebody wrote.
    Value(Value),
}

/// Tells a number from an object that has its key. A number's digits are handed over as a string of their own; a string that
/// stands in the text is lent, whether it has escapes or not.
struct AfterToken(Strict);

impl<'de> DeserializeSeed<'de> for AfterToken {
    type Value = Handed;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Handed, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AfterToken {
    type Value = Handed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }
    fn visit_string<E>(self, digits: String) -> Result<Handed, E> {
        Ok(Handed::Digits(digits))
    }
    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Handed, E> {
        self.0.visit_str(value).map(Handed::Value)
    }
    fn visit_unit<E: serde::de::Error>(self) -> Result<Handed, E> {
        self.0.visit_unit().map(Handed::Value)
    }
    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Handed, E> {
        self.0.visit_bool(value).map(Handed::Value)
    }
    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Handed, E> {
        self.0.visit_u64(value).map(Handed::Value)
    }
    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Handed, E> {
        self.0.visit_i64(value).map(Handed::Value)
    }
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Handed, E> {
        self.0.visit_f64(value).map(Handed::Value)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Handed, A::Error> {
        self.0.inside()?.visit_seq(items).map(Handed::Value)
    }
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Handed, A::Error> {
        // This may be a number again, which opens no level.
        let inside = Strict { levels: self.0.levels.saturating_sub(1), ..self.0 };
        inside.visit_map(entries).map(Handed::Value)
    }
}

/// One value inside a JSON text, not yet looked into, with its place.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    document: &'a str,
    raw: &'a str,
}

impl<'a> Node<'a> {
    /// The one value that `document` holds.
    ///
    /// # Errors
    /// Text that is not exactly one JSON value, or is nested over 127 levels deep.
    pub fn document(document: &'a str) -> Result<Self, JsonError> {
        // The whole is checked once here, so that what is found in it later has only shape to go wrong.
        read(document, Strict { repeated: Repeated::LastWins, levels: MOST_READ })?;
        Ok(Self { document, raw: document.trim_matches(WHITE) })
    }

    /// The value's text.
    pub fn raw(&self) -> &'a str {
        self.raw
    }

    /// Line and column where the value begins, counted from 1.
    pub fn place(&self) -> (usize, usize) {
        place(self.document, self.offset())
    }

    fn offset(&self) -> usize {
        self.raw.as_ptr() as usize - self.document.as_ptr() as usize
    }

    /// The value itself, with the last of repeated keys.
    pub fn value(&self) -> Value {
        // The text was read whole by `document`: it cannot fail now.
        parse(self.raw.as_bytes(), Repeated::LastWins).unwrap_or(Value::Null)
    }

    /// What kind of value this is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.raw.as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }

    /// The entries of an object in the order of the text, repeated keys and all; `None` for another kind.
    pub fn object(&self) -> Option<Vec<(String, Node<'a>)>> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry::<String, &RawValue>()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }
        if !self.raw.starts_with('{') {
            return None;
        }
        let entries = serde_json::Deserializer::from_str(self.raw).deserialize_map(Entries).ok()?;
        Some(entries.into_iter().map(|(key, value)| (key, self.inside(value))).collect())
    }

    /// The items of an array; `None` for another kind.
    pub fn array(&self) -> Option<Vec<Node<'a>>> {
        if !self.raw.starts_with('[') {
            return None;
        }
        let items: Vec<&RawValue> = serde_json::from_str(self.raw).ok()?;
        Some(items.into_iter().map(|item| self.inside(item)).collect())
    }

    /// The value of a string; `None` for another kind.
    pub fn string(&self) -> Option<String> {
        if !self.raw.starts_with('"') {
            return None;
        }
        serde_json::from_str(self.raw).ok()
    }

    fn inside(&self, raw: &'a RawValue) -> Node<'a> {
        Node { document: self.document, raw: raw.get() }
    }
}

const WHITE: [char; 4] = [' ', '\t', '\n', '\r'];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(text: &str) -> String {
        parse_object(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_hides_is_escaped_and_means_the_same() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}x\u{e0001}é\u{7f}"});
        let written = serde_json::to_string(&value).unwrap();
        let shown = visible(&written);
        assert_eq!(shown, r#"{"a\u202e":"\u009bx\udb40\udc01é\u007f"}"#);
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
        assert!(matches!(visible("{\n \"a\": 1}"), Cow::Borrowed(_)));
    }

    #[test]
    fn numbers_and_order_survive() {
        let text = r#"{"z":12345678901234567890123,"a":1.10,"m":{"k":-0.0,"b":[1e+400]}}"#;
        assert_eq!(serde_json::to_string(&parse_object(text.as_bytes()).unwrap()).unwrap(), text);
    }

    #[test]
    fn what_could_mean_two_things_is_refused() {
        assert_eq!(
            message(r#"{"a":{"b":1,"b":2}}"#),
            "the key \"b\" stands twice in one object (line 1, column 18)"
        );
        assert!(message("{\"a\":\"\\ud800\"}").contains("surrogate"));
        assert!(message("{} {}").contains("trailing"));
        assert!(message("[1]").starts_with("expected a JSON object, found an array"));
        assert!(parse_object(b"{\"a\":\"\xff\"}").unwrap_err().message.contains("UTF-8"));
        assert!(message("\u{feff}{}").contains("byte order mark"));
        assert!(message("{\"a\":NaN}").contains("line 1"));
        assert!(message("{\"a\":\"\0\"}").contains("control character"));
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_crash() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(message(&deep).contains("it is nested over 100 levels deep (line 1, column 105)"));
        assert!(Node::document(&deep).is_err_and(|error| error.message.contains("recursion limit")));
    }

    #[test]
    fn the_deepest_level_may_hold_anything_but_another() {
        let nested = |levels: usize, inner: &str| {
            format!("{{\"a\":{}{inner}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1))
        };
        for inner in ["", "1", "-1.5e3", "\"s\"", "null"] {
            let object = parse_object(nested(MOST_SENT, inner).as_bytes()).unwrap();
            assert!(!is_too_deep(&object), "{inner}");
            assert!(parse(nested(MOST_READ, inner).as_bytes(), Repeated::Refuse).is_ok());
        }
        for inner in ["{}", "[]", NUMBER_KEY, "{\"$serde_json::private::Number\":[]}"] {
            assert!(message(&nested(MOST_SENT, inner)).contains("nested over 100 levels"), "{inner}");
            let deep = parse(nested(MOST_SENT, inner).as_bytes(), Repeated::Refuse).unwrap();
            assert!(is_too_deep(deep.as_object().unwrap()));
        }
    }

    const NUMBER_KEY: &str = r#"{"$serde_json::private::Number":"1e5"}"#;

    #[test]
    fn what_serde_json_means_by_a_key_is_not_what_it_means() {
        for (text, number) in [
            (NUMBER_KEY, json!("1e5")),
            (r#"{"\u0024serde_json::private::Number":"1e5"}"#, json!("1e5")),
            (r#"{"$serde_json::private::Number":"1\u00655"}"#, json!("1e5")),
            (r#"{"$serde_json::private::Number":"x","more":1}"#, json!("x")),
            (r#"{"$serde_json::private::Number":7}"#, json!(7)),
            (r#"{"$serde_json::private::Number":-7.5}"#, serde_json::from_str("-7.5").unwrap()),
            (r#"{"$serde_json::private::Number":null}"#, json!(null)),
            (r#"{"$serde_json::private::Number":[true]}"#, json!([true])),
            (r#"{"$serde_json::private::Number":{}}"#, json!({})),
        ] {
            let object = parse_object(text.as_bytes()).unwrap();
            assert_eq!(object.get(NUMBER_TOKEN), Some(&number), "{text}");
            let inside = format!("[{text}]");
            let read = [
                parse(inside.as_bytes(), Repeated::LastWins).unwrap(),
                Node::document(&inside).unwrap().value(),
                json!([Node::document(&inside).unwrap().array().unwrap()[0].value()]),
            ];
            assert!(read.iter().all(|value| *value == json!([object.clone()])), "{text}");
        }
        let raw = r#"{"a":{"$serde_json::private::RawValue":"{"}}"#;
        assert_eq!(serde_json::to_string(&parse_object(raw.as_bytes()).unwrap()).unwrap(), raw);
        let twice = r#"{"$serde_json::private::Number":"1","$serde_json::private::Number":"2"}"#;
        assert!(message(twice).contains("stands twice"));
    }

    #[test]
    fn nodes_know_their_places_and_keep_repeated_keys() {
        let text = "{\n  \"a\": 1,\n  \"a\": [true, \"x\\u0041\"]\n}\n";
        let entries = Node::document(text).unwrap().object().unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[1].1.place(), (3, 8));
        let items = entries[1].1.array().unwrap();
        assert_eq!((items[1].place(), items[1].string().unwrap()), ((3, 15), "xA".to_owned()));
        assert!(items[0].object().is_none() && items[0].string().is_none());
    }
}
