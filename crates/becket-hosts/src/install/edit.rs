//! Hooks added to and taken out of an agent's own settings file, as edits of its text: what stands in the file stays
//! as it is, byte for byte, and what was added can be taken out again without a trace.
//!
//! Each addition is one of two. Into a container that was there before and was empty it goes right behind the
//! bracket; a container of our own making has room between the bracket and what it holds. So that a container can be
//! told to be ours, and goes when its last entry of ours goes.

use std::ops::Range;

use becket_core::json::{self, Repeated};
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// Largest settings file that is edited, in bytes.
pub const LIMIT: usize = 4 << 20;

/// One entry: a group of hooks under an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The event, as the agent calls it.
    pub event: &'static str,
    /// The group, as JSON on one line.
    pub group: String,
}

/// Why a file is left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum EditError {
    #[error("it is larger than {} MiB", LIMIT >> 20)]
    TooLarge,
    #[error("it is not valid UTF-8")]
    NotUtf8,
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("it is not a JSON object")]
    NotObject,
    #[error("{0} stands in it twice, and which one counts only the agent knows")]
    Twice(String),
    #[error("{0} in it is not {1}")]
    OtherShape(String, &'static str),
    #[error("an addition to it could not be taken out again exactly")]
    NotReversible,
}

/// The file with the entries added, whichever it does not have yet; entries of ours that differ are replaced. `None`
/// for a file that is not there. `is_ours` tells our command lines.
///
/// # Errors
/// Why the file must be left alone.
pub fn add(
    bytes: Option<&[u8]>,
    entries: &[Entry],
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, EditError> {
    let Some(bytes) = bytes else { return Ok(new_file(entries)) };
    let (mark, text) = read(bytes)?;
    if text.trim().is_empty() {
        let added = format!("{mark}{text}{}", created_root(entries));
        return checked(bytes, added, is_ours);
    }
    let had = remove(bytes, is_ours)?;
    let is_fresh = had.as_deref() == std::str::from_utf8(bytes).ok();
    let mut text = text.to_owned();
    if !hooks_exist(&text)? {
        text = with_hooks(&text, entries)?;
    } else {
        for entry in entries {
            text = with_entry(&text, entry, is_ours)?;
        }
    }
    let added = format!("{mark}{text}");
    // What is ours already cannot be compared with a file that never had it.
    if is_fresh { checked(bytes, added, is_ours) } else { Ok(added) }
}

/// The file without anything of ours; `None` if nothing else was in it and it is ours as a whole.
///
/// # Errors
/// Why the file must be left alone.
pub fn remove(bytes: &[u8], is_ours: &dyn Fn(&str) -> bool) -> Result<Option<String>, EditError> {
    let (mark, text) = read(bytes)?;
    let mut text = text.to_owned();
    loop {
        match without_one(&text, is_ours)? {
            Removal::Nothing => return Ok(Some(format!("{mark}{text}"))),
            Removal::File => return Ok(None),
            Removal::Text(less) => text = less,
        }
    }
}

/// Whether every entry stands in the file as it would be written now.
///
/// # Errors
/// As [`add`].
pub fn has(bytes: &[u8], entries: &[Entry], is_ours: &dyn Fn(&str) -> bool) -> Result<bool, EditError> {
    Ok(add(Some(bytes), entries, is_ours)?.as_bytes() == bytes)
}

fn checked(before: &[u8], added: String, is_ours: &dyn Fn(&str) -> bool) -> Result<String, EditError> {
    match remove(added.as_bytes(), is_ours)? {
        Some(text) if text.as_bytes() == before => Ok(added),
        _ => Err(EditError::NotReversible),
    }
}

/// The byte order mark, if there is one, and the text behind it.
fn read(bytes: &[u8]) -> Result<(&str, &str), EditError> {
    if bytes.len() > LIMIT {
        return Err(EditError::TooLarge);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| EditError::NotUtf8)?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => (&text[..text.len() - rest.len()], rest),
        None => ("", text),
    })
}

fn parse(text: &str) -> Result<Object<'_>, EditError> {
    parse_as(text, true, true)
}

fn parse_as(text: &str, comments: bool, commas: bool) -> Result<Object<'_>, EditError> {
    let options = ParseOptions {
        allow_comments: comments,
        allow_trailing_commas: commas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| EditError::NotJson(error.to_string()))?;
    match parsed.value {
        Some(Value::Object(root)) => Ok(root),
        _ => Err(EditError::NotObject),
    }
}

/// Whether a text can be read, and its hooks have the shape they must have.
pub(super) fn check(text: &str) -> Result<(), EditError> {
    let root = parse(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let Some(hooks) = hooks(&root)? else { return Ok(()) };
    for property in &hooks.properties {
        only(hooks, property.name.as_str())?;
    }
    Ok(())
}

/// How far a file is from plain JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plainness {
    /// It is plain.
    Plain,
    /// It has comments.
    Comments,
    /// It has commas behind last items, and perhaps comments.
    Commas,
    /// It begins with a byte order mark.
    Marked,
}

/// How far a text that can be read is from plain JSON.
pub(super) fn plainness(text: &str) -> Plainness {
    if text.starts_with('\u{feff}') {
        Plainness::Marked
    } else if parse_as(text, true, false).is_err() {
        Plainness::Commas
    } else if json::parse(text.as_bytes(), Repeated::LastWins).is_err() {
        Plainness::Comments
    } else {
        Plainness::Plain
    }
}

/// The file as a value, without its comments; `None` for one that cannot be read.
pub(crate) fn value(text: &str) -> Option<serde_json::Value> {
    let root = parse(text.strip_prefix('\u{feff}').unwrap_or(text)).ok()?;
    Some(plain(&Value::Object(root)))
}

fn plain(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::StringLit(text) => text.value.to_string().into(),
        Value::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_default(),
        Value::BooleanLit(boolean) => boolean.value.into(),
        Value::Array(array) => array.elements.iter().map(plain).collect(),
        Value::Object(object) => {
            let entries = object.properties.iter();
            entries.map(|entry| (entry.name.as_str().to_owned(), plain(&entry.value))).collect()
        }
        Value::NullKeyword(_) => serde_json::Value::Null,
    }
}

/// What stands under a path of keys, and where its key begins; of a key that stands twice the last, as in agents'
/// readers.
pub(crate) fn at(text: &str, path: &[&str]) -> Result<Option<(serde_json::Value, usize)>, EditError> {
    let mark = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let root = parse(&text[mark..])?;
    let mut object = &root;
    for (depth, key) in path.iter().enumerate() {
        let Some(property) = object.properties.iter().rev().find(|property| property.name.as_str() == *key)
        else {
            return Ok(None);
        };
        if depth + 1 == path.len() {
            return Ok(Some((plain(&property.value), mark + range(property).start)));
        }
        let Value::Object(inner) = &property.value else { return Ok(None) };
        object = inner;
    }
    Ok(None)
}

/// The `hooks` of the root, if there are any.
fn hooks<'a, 'b>(root: &'b Object<'a>) -> Result<Option<&'b Object<'a>>, EditError> {
    match only(root, "hooks")? {
        None => Ok(None),
        Some(Value::Object(hooks)) => Ok(Some(hooks)),
        Some(_) => Err(EditError::OtherShape("\"hooks\"".to_owned(), "an object")),
    }
}

fn only<'a, 'b>(object: &'b Object<'a>, key: &str) -> Result<Option<&'b Value<'a>>, EditError> {
    let mut found = object.properties.iter().filter(|property| property.name.as_str() == key);
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(EditError::Twice(format!("{key:?}"))),
        (first, _) => Ok(first.map(|property| &property.value)),
    }
}

fn hooks_exist(text: &str) -> Result<bool, EditError> {
    Ok(hooks(&parse(text)?)?.is_some())
}

// ---- adding ----

fn new_file(entries: &[Entry]) -> String {
    format!("{{\n  {}\n}}\n", created_hooks(entries, "\n", "  ", "  "))
}

/// A whole document for a file that was blank.
fn created_root(entries: &[Entry]) -> String {
    format!("{{ {} }}", created_hooks(entries, "", "", ""))
}

/// `"hooks": {…}` with room inside: on one line where `newline` is empty.
fn created_hooks(entries: &[Entry], newline: &str, indent: &str, step: &str) -> String {
    let gap = if newline.is_empty() { " ".to_owned() } else { format!("{newline}{indent}{step}") };
    let end = if newline.is_empty() { " ".to_owned() } else { format!("{newline}{indent}") };
    let properties: Vec<String> =
        entries.iter().map(|entry| format!("{gap}{}", created_event(entry))).collect();
    format!("\"hooks\": {{{}{end}}}", properties.join(","))
}

/// `"Event": [ … ]` with room inside.
fn created_event(entry: &Entry) -> String {
    format!("\"{}\": [ {} ]", entry.event, entry.group)
}

fn with_hooks(text: &str, entries: &[Entry]) -> Result<String, EditError> {
    let root = parse(text)?;
    let items: Vec<Range<usize>> = root.properties.iter().map(range).collect();
    let layout = Layout::of(text, &range(&root), &items);
    let step = if layout.indent.is_empty() { "  " } else { layout.indent };
    Ok(layout.append(&created_hooks(entries, layout.newline, layout.indent, step)))
}

fn with_entry(text: &str, entry: &Entry, is_ours: &dyn Fn(&str) -> bool) -> Result<String, EditError> {
    let root = parse(text)?;
    let Some(hooks) = hooks(&root)? else { return Ok(text.to_owned()) };
    let groups = match only(hooks, entry.event)? {
        None => {
            let items: Vec<Range<usize>> = hooks.properties.iter().map(range).collect();
            return Ok(Layout::of(text, &range(hooks), &items).append(&created_event(entry)));
        }
        Some(Value::Array(groups)) => groups,
        Some(_) => return Err(EditError::OtherShape(format!("{:?}", entry.event), "a list")),
    };
    let ours = groups.elements.iter().find(|group| is_our_group(group, is_ours));
    if let Some(ours) = ours {
        return Ok(if same(&text[range(ours)], &entry.group) {
            text.to_owned()
        } else {
            spliced(text, vec![(range(ours), entry.group.as_str())])
        });
    }
    let items: Vec<Range<usize>> = groups.elements.iter().map(range).collect();
    Ok(Layout::of(text, &range(groups), &items).append(&entry.group))
}

/// Whether two JSON texts mean the same, however they are laid out.
fn same(first: &str, second: &str) -> bool {
    let value = |text: &str| json::parse(text.as_bytes(), Repeated::LastWins).ok();
    first == second || value(first).is_some_and(|first| Some(first) == value(second))
}

/// How a container's items are laid out in its text.
struct Layout<'a> {
    text: &'a str,
    open: usize,
    last: Option<Range<usize>>,
    /// Between items: empty if they stand on one line.
    newline: &'a str,
    indent: &'a str,
}

impl<'a> Layout<'a> {
    fn of(text: &'a str, container: &Range<usize>, items: &[Range<usize>]) -> Self {
        let open = container.start + 1;
        let mut layout = Self { text, open, last: items.last().cloned(), newline: "", indent: "" };
        if let Some(first) = items.first()
            && let Some(newline) = text[open..first.start].rfind('\n')
        {
            let line = open + newline + 1;
            let indent = &text[line..first.start];
            // A comment before the first item is no indentation.
            if indent.bytes().all(|byte| matches!(byte, b' ' | b'\t')) {
                layout.newline = if text[..line].ends_with("\r\n") { "\r\n" } else { "\n" };
                layout.indent = indent;
            }
        }
        layout
    }

    /// The text with another item at the end of the container.
    fn append(&self, item: &str) -> String {
        let Some(last) = &self.last else {
            return spliced(self.text, vec![(self.open..self.open, item)]);
        };
        let comma = comma_after(self.text, last.end);
        let (at, on_line_comment) = end_of_line_trivia(self.text, comma.map_or(last.end, |comma| comma + 1));
        let newline = if on_line_comment && self.newline.is_empty() { "\n" } else { self.newline };
        let gap = if newline.is_empty() { " ".to_owned() } else { format!("{newline}{}", self.indent) };
        if comma.is_some() {
            spliced(self.text, vec![(at..at, &format!("{gap}{item},"))])
        } else {
            spliced(self.text, vec![(last.end..last.end, ","), (at..at, &format!("{gap}{item}"))])
        }
    }
}

// ---- taking out ----

enum Removal {
    Nothing,
    File,
    Text(String),
}

/// Takes out the last thing that is ours.
fn without_one(text: &str, is_ours: &dyn Fn(&str) -> bool) -> Result<Removal, EditError> {
    if text.trim().is_empty() {
        return Ok(Removal::Nothing);
    }
    let root = parse(text)?;
    let Some(hooks) = hooks(&root)? else { return Ok(Removal::Nothing) };
    let is_whole = |value: &Value<'_>| match value {
        Value::Array(groups) => {
            let items: Vec<Range<usize>> = groups.elements.iter().map(range).collect();
            groups.elements.iter().all(|group| is_our_group(group, is_ours))
                && is_created(text, &range(groups), &items)
        }
        _ => false,
    };
    let events: Vec<Range<usize>> = hooks.properties.iter().map(range).collect();
    let all_ours = hooks.properties.iter().all(|property| is_whole(&property.value));
    if all_ours && is_created(text, &range(hooks), &events) {
        let items: Vec<Range<usize>> = root.properties.iter().map(range).collect();
        let at = root.properties.iter().position(|property| property.name.as_str() == "hooks").unwrap_or(0);
        let opening = &text[range(&root).start + 1..items[0].start];
        let is_alone = items.len() == 1 && is_created(text, &range(&root), &items);
        if is_alone && opening == " " {
            // The document was written into a blank file.
            return Ok(Removal::Text(spliced(text, vec![(range(&root), "")])));
        }
        if is_alone && text[..range(&root).start].is_empty() && text[range(&root).end..].trim().is_empty() {
            return Ok(Removal::File);
        }
        return Ok(Removal::Text(without_item(text, &range(&root), &items, at)));
    }
    for (at, property) in hooks.properties.iter().enumerate().rev() {
        if is_whole(&property.value) {
            return Ok(Removal::Text(without_item(text, &range(hooks), &events, at)));
        }
        let Value::Array(groups) = &property.value else { continue };
        let items: Vec<Range<usize>> = groups.elements.iter().map(range).collect();
        for (at, group) in groups.elements.iter().enumerate().rev() {
            if is_our_group(group, is_ours) {
                return Ok(Removal::Text(without_item(text, &range(groups), &items, at)));
            }
            // A handler of ours that somebody put beside theirs.
            let Some(handlers) = handlers(group) else { continue };
            let items: Vec<Range<usize>> = handlers.iter().map(range).collect();
            if let Some(at) = handlers.iter().rposition(|handler| is_our_handler(handler, is_ours))
                && let Some(Value::Array(list)) = group.as_object().and_then(|group| get(group, "hooks"))
            {
                return Ok(Removal::Text(without_item(text, &range(list), &items, at)));
            }
        }
    }
    Ok(Removal::Nothing)
}

/// Whether a container that holds only what is ours is itself ours: there is room behind its bracket, and nothing
/// else in it.
fn is_created(text: &str, container: &Range<usize>, items: &[Range<usize>]) -> bool {
    let Some(first) = items.first() else { return false };
    if first.start == container.start + 1 {
        return false;
    }
    let mut outside = String::new();
    let mut at = container.start + 1;
    for item in items {
        outside.push_str(&text[at..item.start]);
        at = item.end;
    }
    outside.push_str(&text[at..container.end - 1]);
    outside.bytes().all(|byte| byte.is_ascii_whitespace() || byte == b',')
}

/// The text without one item of a container, and without the comma and the gap that came with it.
fn without_item(text: &str, container: &Range<usize>, items: &[Range<usize>], at: usize) -> String {
    let item = &items[at];
    let comma = comma_after(text, item.end);
    if at == 0 && item.start == container.start + 1 {
        // Right behind the bracket of a container that was there before.
        let mut cuts = vec![(item.clone(), "")];
        cuts.extend(comma.map(|comma| (comma..comma + 1, "")));
        return spliced(text, cuts);
    }
    let gap = gap_before(text, item.start);
    let mut cuts = Vec::new();
    match comma {
        Some(comma) => {
            cuts.push((gap..item.end, ""));
            cuts.push((comma..comma + 1, ""));
        }
        None => {
            let before = at.checked_sub(1).and_then(|before| comma_after(text, items[before].end));
            cuts.extend(before.map(|comma| (comma..comma + 1, "")));
            cuts.push((gap..item.end, ""));
        }
    }
    spliced(text, cuts)
}

/// Where the gap before an item begins: its line's end, or one blank.
fn gap_before(text: &str, start: usize) -> usize {
    let before = text[..start].trim_end_matches([' ', '\t']);
    if let Some(line) = before.strip_suffix('\n') {
        return line.strip_suffix('\r').unwrap_or(line).len();
    }
    if before.len() < start { start - 1 } else { start }
}

fn is_our_group(group: &Value<'_>, is_ours: &dyn Fn(&str) -> bool) -> bool {
    handlers(group).is_some_and(|handlers| match handlers {
        [handler] => is_our_handler(handler, is_ours),
        _ => false,
    })
}

fn handlers<'a, 'b>(group: &'b Value<'a>) -> Option<&'b [Value<'a>]> {
    match get(group.as_object()?, "hooks")? {
        Value::Array(handlers) => Some(&handlers.elements),
        _ => None,
    }
}

fn get<'a, 'b>(object: &'b Object<'a>, key: &str) -> Option<&'b Value<'a>> {
    object.properties.iter().find(|property| property.name.as_str() == key).map(|property| &property.value)
}

fn is_our_handler(handler: &Value<'_>, is_ours: &dyn Fn(&str) -> bool) -> bool {
    let command = handler.as_object().and_then(|handler| get(handler, "command"));
    matches!(command, Some(Value::StringLit(command)) if is_ours(&command.value))
}

// ---- texts ----

fn range(of: &impl jsonc_parser::common::Ranged) -> Range<usize> {
    let range = of.range();
    range.start..range.end
}

/// Puts texts in place of ranges that do not overlap, in their order.
fn spliced(text: &str, cuts: Vec<(Range<usize>, &str)>) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in cuts {
        whole.push_str(&text[at..range.start]);
        whole.push_str(new);
        at = range.end;
    }
    whole.push_str(&text[at..]);
    whole
}

/// The comma behind an item, past blanks and comments.
fn comma_after(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        match comment_end(text, at) {
            Some(end) => at = end,
            None => return text[at..].starts_with(',').then_some(at),
        }
    }
}

/// The end of what stands behind an item on its line: its comments, without the blanks after them. And whether the
/// last of them runs to the end of the line.
fn end_of_line_trivia(text: &str, from: usize) -> (usize, bool) {
    let mut end = from;
    loop {
        let rest = &text[end..];
        let at = end + rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let Some(comment) = comment_end(text, at) else { return (end, false) };
        if text[at..].starts_with("//") {
            return (comment, true);
        }
        if text[at..comment].contains('\n') {
            return (end, false);
        }
        end = comment;
    }
}

/// The end of a comment that begins here.
fn comment_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    if rest.starts_with("//") {
        let line = rest.find('\n').map_or(rest, |end| &rest[..end]);
        return Some(at + line.strip_suffix('\r').unwrap_or(line).len());
    }
    rest.strip_prefix("/*").map(|inside| at + 2 + inside.find("*/").map_or(inside.len(), |end| end + 2))
}
