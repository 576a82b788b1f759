//! What a YAML or JSON text says, as a tree in which every value has its place.
//!
//! Definitions and the profile are read from it, and the profile's text is changed by it: so one reading serves
//! messages with line and column, edits that leave the rest alone, and the comparison after an edit.

use std::collections::HashSet;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

use crate::json;
use crate::text;

/// Deepest nesting that is read.
const DEPTH: usize = 64;

/// A value with its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Byte offset where it begins.
    pub(super) at: usize,
    /// Byte offset behind its last character.
    pub(super) end: usize,
    /// Written between brackets or braces.
    pub(super) flow: bool,
    /// It has an anchor or a tag.
    pub(super) dressed: bool,
    pub(super) value: Value,
}

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// A quoted text or a block of text.
    Text(String),
    /// A YAML scalar without quotes: text, number or neither, as who reads it likes.
    Bare(String),
    /// A number of JSON.
    Number(String),
    /// `true`, `false` or `null` of JSON.
    Word(&'static str),
    /// Another value of the file, by its anchor.
    Alias(usize),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mistake {
    /// Byte offset; `None` where the whole text is meant.
    pub(super) at: Option<usize>,
    pub(super) message: String,
}

impl Mistake {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at: Some(at), message: message.into() }
    }

    pub(super) fn whole(message: impl Into<String>) -> Self {
        Self { at: None, message: message.into() }
    }

    /// Line and column in `text`, both from 1.
    pub(super) fn place(&self, text: &str) -> (Option<usize>, Option<usize>) {
        match self.at.map(|at| json::place(text, at)) {
            Some((line, column)) => (Some(line), Some(column)),
            None => (None, None),
        }
    }
}

impl Node {
    fn new(at: usize, end: usize, value: Value) -> Self {
        Self { at, end, flow: false, dressed: false, value }
    }

    /// "a list", … for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) | Value::Bare(_) => "a text",
            Value::Number(_) => "a number",
            Value::Word(word) => word,
            Value::Alias(_) => "an alias",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// The text of a scalar that can be one.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) | Value::Bare(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn map(&self) -> Option<&[(Node, Node)]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.map()?.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
    }

    /// Whether nothing is written there: an empty value, or YAML's words for none.
    pub(super) fn is_none(&self) -> bool {
        match &self.value {
            Value::Bare(text) => matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"),
            Value::Word(word) => *word == "null",
            _ => false,
        }
    }

    /// A whole number: decimal, `0x` or `0o`, without quotes.
    pub(super) fn whole_number(&self) -> Option<u64> {
        let (Value::Bare(text) | Value::Number(text)) = &self.value else { return None };
        let digits = |text: &str, radix| {
            let all = !text.is_empty() && text.chars().all(|digit| digit.is_digit(radix));
            all.then(|| u64::from_str_radix(text, radix).ok()).flatten()
        };
        match (text.strip_prefix("0x"), text.strip_prefix("0o")) {
            (Some(hex), _) => digits(hex, 16),
            (_, Some(octal)) => digits(octal, 8),
            _ => digits(text, 10),
        }
    }

    /// `true` or `false`, without quotes.
    pub(super) fn truth(&self) -> Option<bool> {
        match &self.value {
            Value::Bare(text) => match text.as_str() {
                "true" | "True" | "TRUE" => Some(true),
                "false" | "False" | "FALSE" => Some(false),
                _ => None,
            },
            Value::Word("true") => Some(true),
            Value::Word("false") => Some(false),
            _ => None,
        }
    }

    /// The first anchor, tag or alias in it: what stands there would not be what a reader sees.
    pub(super) fn first_dressed(&self) -> Option<usize> {
        if self.dressed || matches!(self.value, Value::Alias(_)) {
            return Some(self.at);
        }
        match &self.value {
            Value::List(items) => items.iter().find_map(Self::first_dressed),
            Value::Map(entries) => {
                entries.iter().find_map(|(key, value)| key.first_dressed().or_else(|| value.first_dressed()))
            }
            _ => None,
        }
    }

    /// Whether it says the same, wherever and in whatever style it is written.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        if self.dressed != other.dressed {
            return false;
        }
        match (&self.value, &other.value) {
            (Value::Text(a), Value::Text(b))
            | (Value::Bare(a), Value::Bare(b))
            | (Value::Number(a), Value::Number(b)) => a == b,
            (Value::Word(a), Value::Word(b)) => a == b,
            (Value::Alias(a), Value::Alias(b)) => a == b,
            (Value::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.says_the_same(b))
            }
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| a.0.says_the_same(&b.0) && a.1.says_the_same(&b.1))
            }
            _ => false,
        }
    }
}

/// Reads one YAML document; `None` where the text holds none.
pub(super) fn yaml(text: &str) -> Result<Option<Node>, Mistake> {
    if text.starts_with('\u{feff}') {
        return Err(Mistake::new(0, "the text begins with a byte order mark"));
    }
    let options = granit_parser::options! { flow_nesting_limit: DEPTH, block_nesting_limit: DEPTH, emit_comments: false };
    let mut building = Building::default();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or(text.len());
            Mistake::new(at.min(text.len()), text::line(&error.info()).into_owned())
        })?;
        let range = span.byte_range().unwrap_or(0..0);
        building.event(event, range.start, range.end)?;
    }
    Ok(building.root)
}

#[derive(Default)]
struct Building {
    open: Vec<Open>,
    root: Option<Node>,
}

struct Open {
    node: Node,
    /// The key of a mapping whose value comes next.
    key: Option<Node>,
    seen: HashSet<String>,
}

impl Building {
    fn event(&mut self, event: Event<'_>, at: usize, end: usize) -> Result<(), Mistake> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let text = text.into_owned();
                let value = match style {
                    // Where nothing is written the reader gives its word for none, as if that were written.
                    ScalarStyle::Plain if at == end => Value::Bare(String::new()),
                    ScalarStyle::Plain => Value::Bare(text),
                    _ => Value::Text(text),
                };
                let dressed = anchor != 0 || tag.is_some();
                self.put(Node { dressed, ..Node::new(at, end, value) })
            }
            Event::Alias(anchor) => self.put(Node::new(at, end, Value::Alias(anchor))),
            Event::SequenceStart(style, anchor, tag) => {
                self.start(at, style, anchor != 0 || tag.is_some(), Value::List(Vec::new()));
                Ok(())
            }
            Event::MappingStart(style, anchor, tag) => {
                self.start(at, style, anchor != 0 || tag.is_some(), Value::Map(Vec::new()));
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open { mut node, .. }) => {
                    if node.flow {
                        node.end = end;
                    }
                    self.put(node)
                }
                None => Ok(()),
            },
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(Mistake::new(at, "a second document begins here: only one is read"))
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, at: usize, style: StructureStyle, dressed: bool, value: Value) {
        let flow = style == StructureStyle::Flow;
        let node = Node { at, end: at, flow, dressed, value };
        self.open.push(Open { node, key: None, seen: HashSet::new() });
    }

    fn put(&mut self, node: Node) -> Result<(), Mistake> {
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return Ok(());
        };
        // A block ends where its last value ends: what the reader gives includes the blank lines after it.
        if !open.node.flow {
            open.node.end = open.node.end.max(node.end);
        }
        match (&mut open.node.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(entries), Some(key)) => entries.push((key, node)),
            (_, None) => {
                if let Some(name) = node.text()
                    && !open.seen.insert(name.to_owned())
                {
                    let message = format!("the key {} stands twice in one mapping", text::quote(name));
                    return Err(Mistake::new(node.at, message));
                }
                open.key = Some(node);
            }
            (_, Some(_)) => {}
        }
        Ok(())
    }
}

/// Reads one JSON document.
pub(super) fn json(text: &str) -> Result<Node, Mistake> {
    let document = json::text(text.as_bytes()).and_then(json::Node::document).map_err(|error| {
        let line_at: usize = text.split_inclusive('\n').take(error.line - 1).map(str::len).sum();
        Mistake::new((line_at + error.column - 1).min(text.len()), error.message)
    })?;
    json_node(text, document)
}

fn json_node(text: &str, from: json::Node<'_>) -> Result<Node, Mistake> {
    let at = from.raw().as_ptr() as usize - text.as_ptr() as usize;
    let value = match from.kind() {
        "an object" => {
            let mut seen = HashSet::new();
            let mut entries = Vec::new();
            for (key, value) in from.object().unwrap_or_default() {
                let value = json_node(text, value)?;
                if !seen.insert(key.clone()) {
                    let message = format!("the key {} stands twice in one object", text::quote(&key));
                    return Err(Mistake::new(value.at, message));
                }
                entries.push((Node::new(value.at, value.at, Value::Text(key)), value));
            }
            Value::Map(entries)
        }
        "an array" => {
            let items: Result<_, _> =
                from.array().unwrap_or_default().into_iter().map(|item| json_node(text, item)).collect();
            Value::List(items?)
        }
        "a string" => Value::Text(from.string().unwrap_or_default()),
        "a number" => Value::Number(from.raw().to_owned()),
        _ => Value::Word(match from.raw() {
            "true" => "true",
            "false" => "false",
            _ => "null",
        }),
    };
    Ok(Node { flow: true, ..Node::new(at, at + from.raw().len(), value) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(text: &str) -> (Option<usize>, Option<usize>, String) {
        let mistake = yaml(text).unwrap_err();
        let (line, column) = mistake.place(text);
        (line, column, mistake.message)
    }

    #[test]
    fn places_are_those_of_the_text() {
        let text = "a: 1\nhooks:\n  approved:\n  - path: é\n    hash: 'x'\n\n# end\nz: [1, {b: 2}]  # c\n";
        let root = yaml(text).unwrap().unwrap();
        let approved = root.get("hooks").unwrap().get("approved").unwrap();
        assert_eq!(&text[approved.at..approved.end], "path: é\n    hash: 'x'");
        let z = root.get("z").unwrap();
        assert_eq!((&text[z.at..z.end], z.flow), ("[1, {b: 2}]", true));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        assert_eq!(
            message("a: 1\nb: 2\na: 3\n"),
            (Some(3), Some(1), "the key \"a\" stands twice in one mapping".into())
        );
        assert!(message("a: 1\n---\nb: 2\n").2.contains("second document"));
        assert!(message("\u{feff}a: 1").2.contains("byte order mark"));
        assert_eq!(message("b: 1\na: [1\n").0, Some(2));
        assert!(yaml(&"[".repeat(100_000)).is_err());
        assert!(yaml(&format!("a: {}", "- ".repeat(10_000))).is_err());
        assert!(yaml("").unwrap().is_none());
        let mistake = json("{\"a\": 1,\n  \"b\": }").unwrap_err();
        assert_eq!(mistake.place("{\"a\": 1,\n  \"b\": }").0, Some(2));
        assert!(json(r#"{"a":1,"a":2}"#).unwrap_err().message.contains("twice"));
    }

    #[test]
    fn numbers_are_whole_and_bare() {
        let number = |text: &str| yaml(text).unwrap().unwrap().whole_number();
        assert_eq!(
            (number("30"), number("0x10"), number("0o10"), number("007")),
            (Some(30), Some(16), Some(8), Some(7))
        );
        for not in ["'30'", "-1", "+1", "1.5", "~", "''", "1e2", "99999999999999999999999"] {
            assert_eq!(number(not), None, "{not}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in any::<String>()) {
            let _ = yaml(&text);
            let _ = json(&text);
        }

        #[test]
        fn nothing_that_looks_like_yaml_breaks_it(text in "[a-b:\\-\\[\\]{}&*!|>'\", \n#%?é]{0,60}") {
            if let Ok(Some(root)) = yaml(&text) {
                prop_assert!(root.says_the_same(&root));
                let _ = root.first_dressed();
                prop_assert!(text.is_char_boundary(root.at) && text.is_char_boundary(root.end.min(text.len())));
            }
        }
    }
}
