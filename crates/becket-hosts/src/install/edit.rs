//! Hooks added to and taken out of an agent's own settings file, as edits of its text: what stands in the file stays
//! as it is, byte for byte, and what was added can be taken out again without a trace.
//!
//! Each addition is one of two. Into a container that was there before and was empty it goes right behind the
//! bracket; a container of our own making has room between the bracket and what it holds. So that a container can be
//! told to be ours, and goes when its last entry of ours goes.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use becket_core::text;
use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::texts::{self, comma_after, comment_in, end_of_line_trivia, line_of, spliced};

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
    #[error("with the entries it would be larger than {} MiB, and they could not be taken out again", LIMIT >> 20)]
    Grown,
    #[error("it is not valid UTF-8")]
    NotUtf8,
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("it is not a JSON object")]
    NotObject,
    #[error("{0} stands in it twice, on line {1} again, and which one counts only the agent knows")]
    Twice(String, usize),
    #[error("{0} in it is not {1}")]
    OtherShape(String, &'static str),
    #[error(
        "a comment stands in an entry of becket's, on line {0}, and would be lost with it; move it out of there"
    )]
    Comment(usize),
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
    let root = parse(text)?;
    let (added, is_fresh) = match hooks(text, &root)? {
        None => (with_hooks(text, &root, entries), true),
        Some(hooks) => (with_entries(text, hooks, entries, is_ours)?, !has_ours(hooks, is_ours)),
    };
    let added = format!("{mark}{added}");
    if added.len() > LIMIT {
        return Err(EditError::Grown);
    }
    // What is ours already cannot be compared with a file that never had it.
    if is_fresh { checked(bytes, added, is_ours) } else { Ok(added) }
}

/// The file without anything of ours; `None` if nothing else was in it and it is ours as a whole.
///
/// # Errors
/// Why the file must be left alone.
pub fn remove(bytes: &[u8], is_ours: &dyn Fn(&str) -> bool) -> Result<Option<String>, EditError> {
    let (mark, text) = read(bytes)?;
    if text.trim().is_empty() {
        return Ok(Some(format!("{mark}{text}")));
    }
    let root = parse(text)?;
    let mut cuts = match hooks(text, &root)? {
        None => Vec::new(),
        Some(hooks) => match ours(text, &root, hooks, is_ours) {
            Removal::Cuts(cuts) => cuts,
            Removal::File => match comment_in(text) {
                Some(at) => return Err(EditError::Comment(line_of(text, at))),
                None => return Ok(None),
            },
        },
    };
    cuts.sort_by_key(|cut| cut.start);
    let comment = cuts.iter().find_map(|cut| Some(cut.start + comment_in(&text[cut.clone()])?));
    if let Some(at) = comment {
        return Err(EditError::Comment(line_of(text, at)));
    }
    let less = spliced(text, cuts.into_iter().map(|cut| (cut, String::new())));
    Ok(Some(format!("{mark}{less}")))
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

pub(super) fn parse(text: &str) -> Result<Object<'_>, EditError> {
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

/// Reads a text whose hooks have no key twice.
pub(super) fn root(text: &str) -> Result<Object<'_>, EditError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = parse(text)?;
    hooks(text, &root)?;
    Ok(root)
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
pub(super) fn plainness(text: &str, root: &Object<'_>) -> Plainness {
    if text.starts_with('\u{feff}') {
        Plainness::Marked
    } else if serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
        && root.properties.iter().all(|property| is_shallow(&property.value, DEEPEST - 1))
    {
        Plainness::Plain
    } else if parse_as(text, true, false).is_err() {
        Plainness::Commas
    } else {
        Plainness::Comments
    }
}

/// So many containers in one another common readers of JSON take.
const DEEPEST: usize = 127;

fn is_shallow(value: &Value<'_>, most: usize) -> bool {
    match value {
        Value::Array(array) => most > 0 && array.elements.iter().all(|inner| is_shallow(inner, most - 1)),
        Value::Object(object) => {
            most > 0 && object.properties.iter().all(|property| is_shallow(&property.value, most - 1))
        }
        _ => true,
    }
}

/// The file as a value, without its comments; `None` for one that cannot be read.
pub(crate) fn value(text: &str) -> Option<serde_json::Value> {
    let root = parse(text.strip_prefix('\u{feff}').unwrap_or(text)).ok()?;
    Some(plain(&Value::Object(root)))
}

pub(super) fn plain(value: &Value<'_>) -> serde_json::Value {
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

/// The `hooks` of the root, if there are any. Of a key that stands twice in what is read of them the agent's reader and
/// ours might take another, and then what we take for ours is not what runs.
fn hooks<'a, 'b>(text: &str, root: &'b Object<'a>) -> Result<Option<&'b Object<'a>>, EditError> {
    let mut found = root.properties.iter().filter(|property| property.name.as_str() == "hooks");
    let hooks = match (found.next(), found.next()) {
        (None, _) => return Ok(None),
        (Some(_), Some(again)) => return Err(twice(text, again)),
        (Some(property), None) => match &property.value {
            Value::Object(hooks) => hooks,
            _ => return Err(EditError::OtherShape("\"hooks\"".to_owned(), "an object")),
        },
    };
    each_once(text, hooks)?;
    let events = hooks.properties.iter().filter_map(|property| property.value.as_array());
    for group in events.flat_map(|groups| &groups.elements).filter_map(Value::as_object) {
        each_once(text, group)?;
        for handler in handlers(group).iter().flat_map(|list| &list.elements).filter_map(Value::as_object) {
            each_once(text, handler)?;
        }
    }
    Ok(Some(hooks))
}

/// Refuses an object with a key that stands twice.
fn each_once(text: &str, object: &Object<'_>) -> Result<(), EditError> {
    let mut seen = HashSet::with_capacity(object.properties.len());
    match object.properties.iter().find(|property| !seen.insert(property.name.as_str())) {
        Some(again) => Err(twice(text, again)),
        None => Ok(()),
    }
}

fn twice(text: &str, again: &ObjectProp<'_>) -> EditError {
    EditError::Twice(shown_key(again.name.as_str()), line_of(text, range(again).start))
}

/// A key as it is shown: it may be anything, and of any length.
pub(super) fn shown_key(key: &str) -> String {
    text::quote(&text::bounded(key, 100))
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

fn with_hooks(text: &str, root: &Object<'_>, entries: &[Entry]) -> String {
    let items: Vec<Range<usize>> = root.properties.iter().map(range).collect();
    let layout = Layout::of(text, &range(root), &items);
    let step = if layout.indent.is_empty() { "  " } else { layout.indent };
    spliced(text, layout.append(&[created_hooks(entries, layout.newline, layout.indent, step)]))
}

fn with_entries(
    text: &str,
    hooks: &Object<'_>,
    entries: &[Entry],
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, EditError> {
    let events: HashMap<&str, &Value<'_>> =
        hooks.properties.iter().map(|property| (property.name.as_str(), &property.value)).collect();
    let mut changes = Vec::new();
    let mut new_events = Vec::new();
    for entry in entries {
        let groups = match events.get(entry.event) {
            None => {
                new_events.push(created_event(entry));
                continue;
            }
            Some(Value::Array(groups)) => groups,
            Some(_) => return Err(EditError::OtherShape(format!("{:?}", entry.event), "a list")),
        };
        let Some(ours) = groups.elements.iter().find(|group| is_our_group(group, is_ours)) else {
            let items: Vec<Range<usize>> = groups.elements.iter().map(range).collect();
            changes
                .extend(Layout::of(text, &range(groups), &items).append(std::slice::from_ref(&entry.group)));
            continue;
        };
        let at = range(ours);
        if !is_same(ours, &text[at.clone()], &entry.group) {
            if let Some(comment) = comment_in(&text[at.clone()]) {
                return Err(EditError::Comment(line_of(text, at.start + comment)));
            }
            changes.push((at, entry.group.clone()));
        }
    }
    if !new_events.is_empty() {
        let items: Vec<Range<usize>> = hooks.properties.iter().map(range).collect();
        changes.extend(Layout::of(text, &range(hooks), &items).append(&new_events));
    }
    // Those at one place stay in their order.
    changes.sort_by_key(|change| change.0.start);
    Ok(spliced(text, changes))
}

/// Whether a group means what it would be written as, however it is laid out.
fn is_same(group: &Value<'_>, as_it_stands: &str, wanted: &str) -> bool {
    let wanted_value = || serde_json::from_str::<serde_json::Value>(wanted).ok();
    as_it_stands == wanted || wanted_value() == Some(plain(group))
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

    /// What puts more items at the end of the container.
    fn append(&self, items: &[String]) -> Vec<(Range<usize>, String)> {
        let Some(last) = &self.last else {
            return vec![(self.open..self.open, items.join(", "))];
        };
        let comma = comma_after(self.text, last.end);
        let (at, on_line_comment) = end_of_line_trivia(self.text, comma.map_or(last.end, |comma| comma + 1));
        let gap =
            if self.newline.is_empty() { " ".to_owned() } else { format!("{}{}", self.newline, self.indent) };
        let first_gap = if on_line_comment && self.newline.is_empty() { "\n" } else { gap.as_str() };
        let items = items.join(&format!(",{gap}"));
        if comma.is_some() {
            vec![(at..at, format!("{first_gap}{items},"))]
        } else {
            vec![(last.end..last.end, ",".to_owned()), (at..at, format!("{first_gap}{items}"))]
        }
    }
}

// ---- taking out ----

enum Removal {
    /// The whole file is ours.
    File,
    /// Ranges that do not overlap.
    Cuts(Vec<Range<usize>>),
}

/// What is ours. Containers of our own making go when nothing else is in them.
fn ours(text: &str, root: &Object<'_>, hooks: &Object<'_>, is_ours: &dyn Fn(&str) -> bool) -> Removal {
    let is_whole = |property: &ObjectProp<'_>| {
        property.value.as_array().is_some_and(|groups| {
            let items: Vec<Range<usize>> = groups.elements.iter().map(range).collect();
            groups.elements.iter().all(|group| is_our_group(group, is_ours))
                && is_created(text, &range(groups), &items)
        })
    };
    let whole: Vec<bool> = hooks.properties.iter().map(is_whole).collect();
    let events: Vec<Range<usize>> = hooks.properties.iter().map(range).collect();
    if whole.iter().all(|is_whole| *is_whole) && is_created(text, &range(hooks), &events) {
        return all_hooks(text, root);
    }
    let mut cuts = without_items(text, &range(hooks), &events, &whole);
    for (property, is_whole) in hooks.properties.iter().zip(&whole) {
        let Some(groups) = property.value.as_array().filter(|_| !is_whole) else { continue };
        let gone: Vec<bool> = groups.elements.iter().map(|group| is_our_group(group, is_ours)).collect();
        let items: Vec<Range<usize>> = groups.elements.iter().map(range).collect();
        cuts.extend(without_items(text, &range(groups), &items, &gone));
        // Handlers of ours that somebody put beside theirs.
        let mixed = groups.elements.iter().zip(&gone).filter(|(_, is_gone)| !**is_gone);
        for list in mixed.filter_map(|(group, _)| handlers(group.as_object()?)) {
            let gone: Vec<bool> =
                list.elements.iter().map(|handler| is_our_handler(handler, is_ours)).collect();
            let items: Vec<Range<usize>> = list.elements.iter().map(range).collect();
            cuts.extend(without_items(text, &range(list), &items, &gone));
        }
    }
    Removal::Cuts(cuts)
}

/// Takes out `hooks` as a whole, and whatever was made to hold it.
fn all_hooks(text: &str, root: &Object<'_>) -> Removal {
    let items: Vec<Range<usize>> = root.properties.iter().map(range).collect();
    let container = range(root);
    let opening = &text[container.start + 1..items[0].start];
    let is_alone = items.len() == 1 && is_created(text, &container, &items);
    if is_alone && opening == " " {
        // The document was written into a blank file.
        return Removal::Cuts(vec![container]);
    }
    if is_alone && container.start == 0 && text[container.end..].trim().is_empty() {
        return Removal::File;
    }
    let gone: Vec<bool> = root.properties.iter().map(|property| property.name.as_str() == "hooks").collect();
    Removal::Cuts(without_items(text, &container, &items, &gone))
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

/// Cuts some items out of a container, each with the comma and the gap that came with it.
fn without_items(
    text: &str,
    container: &Range<usize>,
    items: &[Range<usize>],
    gone: &[bool],
) -> Vec<Range<usize>> {
    let mut cuts = Vec::new();
    if !gone.contains(&true) {
        return cuts;
    }
    let commas: Vec<Option<usize>> = items.iter().map(|item| comma_after(text, item.end)).collect();
    let mut left = commas.clone();
    // Whether a line ends behind what was just cut, and where that began.
    let mut behind: Option<(usize, bool)> = None;
    for (at, item) in items.iter().enumerate().rev() {
        let next = behind.take();
        if !gone[at] {
            continue;
        }
        let comma = commas[at];
        if at == 0 && item.start == container.start + 1 {
            // Right behind the bracket of a container that was there before.
            cuts.push(item.clone());
            cuts.extend(left[at].map(|comma| comma..comma + 1));
            continue;
        }
        let ends_line = texts::is_blank(&text[item.end..comma.unwrap_or(item.end)]) && {
            let rest = comma.map_or(item.end, |comma| comma + 1);
            match next {
                Some((begin, ends_line)) if texts::is_blank(&text[rest..begin]) => ends_line,
                _ => texts::is_line_end(&text[rest..]),
            }
        };
        let before = at.checked_sub(1).map_or(container.start + 1, |before| items[before].end);
        let gap = texts::gap_before(text, before, item.start, ends_line);
        cuts.push(gap..item.end);
        behind = Some((gap, ends_line));
        // The last item has none: then the one before it becomes the last.
        let comma = left[at].or_else(|| left[at.checked_sub(1)?].take());
        cuts.extend(comma.map(|comma| comma..comma + 1));
    }
    cuts
}

/// Whether a group holds nothing but lines of ours.
fn is_our_group(group: &Value<'_>, is_ours: &dyn Fn(&str) -> bool) -> bool {
    group.as_object().and_then(handlers).is_some_and(|handlers| {
        !handlers.elements.is_empty()
            && handlers.elements.iter().all(|handler| is_our_handler(handler, is_ours))
    })
}

fn has_ours(hooks: &Object<'_>, is_ours: &dyn Fn(&str) -> bool) -> bool {
    let groups = hooks.properties.iter().filter_map(|property| property.value.as_array());
    let groups = groups.flat_map(|groups| &groups.elements).filter_map(Value::as_object);
    let mut handlers = groups.filter_map(handlers).flat_map(|handlers| &handlers.elements);
    handlers.any(|handler| is_our_handler(handler, is_ours))
}

fn handlers<'a, 'b>(group: &'b Object<'a>) -> Option<&'b Array<'a>> {
    get(group, "hooks")?.as_array()
}

/// What stands under a key; of one that stands twice the last, as in agents' readers.
pub(super) fn last<'a, 'b>(object: &'b Object<'a>, key: &str) -> Option<&'b Value<'a>> {
    object
        .properties
        .iter()
        .rev()
        .find(|property| property.name.as_str() == key)
        .map(|property| &property.value)
}

/// What stands under a key that stands there once.
fn get<'a, 'b>(object: &'b Object<'a>, key: &str) -> Option<&'b Value<'a>> {
    object.properties.iter().find(|property| property.name.as_str() == key).map(|property| &property.value)
}

fn is_our_handler(handler: &Value<'_>, is_ours: &dyn Fn(&str) -> bool) -> bool {
    let command = handler.as_object().and_then(|handler| get(handler, "command"));
    matches!(command, Some(Value::StringLit(command)) if is_ours(&command.value))
}

pub(super) fn range(of: &impl jsonc_parser::common::Ranged) -> Range<usize> {
    let range = of.range();
    range.start..range.end
}
