//! The lines of Becket's that stand in a file.

use std::collections::HashMap;
use std::rc::Rc;

use becket_core::text;
use jsonc_parser::ast::{Array, Object, Value as Node};
use serde_json::Value;

use super::{edit, is_installed_line, shell_words};
use crate::Host;

/// One line of Becket's in a file, whether or not it guards.
pub(crate) struct OurEntry {
    /// The event, as the agent calls it; a name that no event can have is cut, for it may be as long as the file.
    pub(crate) event: String,
    pub(crate) guards: bool,
    pub(crate) argv: Vec<String>,
    pub(crate) timeout: Option<u64>,
    /// Where it stands among the groups of its event, and in its group.
    pub(crate) place: (usize, usize),
    /// The entry itself; nothing for a plugin.
    pub(crate) handler: Value,
    /// The keys of its group, which all entries in it share.
    pub(crate) group_keys: Rc<Vec<String>>,
}

/// Longer than the name of any event.
const LONGEST_EVENT: usize = 100;

/// What every line of a host's has in it.
pub(super) fn mark(host: Host) -> String {
    format!(" hook {host} --home ")
}

pub(crate) fn our_entries(host: Host, bytes: &[u8]) -> Vec<OurEntry> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    if host == Host::Opencode {
        return of_plugin(text).into_iter().collect();
    }
    // Most files have none, and that is told sooner than by reading them: only as `\u….` could a line be written
    // otherwise.
    if !text.contains(&mark(host)) && !text.contains("\\u") {
        return Vec::new();
    }
    edit::parse(text.strip_prefix('\u{feff}').unwrap_or(text))
        .map(|root| of_root(host, &root))
        .unwrap_or_default()
}

fn of_plugin(text: &str) -> Option<OurEntry> {
    let argv = text.lines().find_map(|line| line.strip_prefix("const LINE = "))?;
    Some(OurEntry {
        event: "tool.execute.before".to_owned(),
        guards: true,
        argv: serde_json::from_str(argv).ok()?,
        timeout: None,
        place: (0, 0),
        handler: Value::Null,
        group_keys: Rc::default(),
    })
}

/// The lines in a file that was read; of a key that stands twice the last counts, as in agents' readers.
pub(super) fn of_root(host: Host, root: &Object<'_>) -> Vec<OurEntry> {
    let Some(Node::Object(hooks)) = edit::last(root, "hooks") else { return Vec::new() };
    let events: HashMap<&str, usize> =
        hooks.properties.iter().enumerate().map(|(at, event)| (event.name.as_str(), at)).collect();
    let mut entries = Vec::new();
    for (at, event) in hooks.properties.iter().enumerate() {
        let Node::Array(groups) = &event.value else { continue };
        if events.get(event.name.as_str()) == Some(&at) {
            of_event(host, &text::bounded(event.name.as_str(), LONGEST_EVENT), groups, &mut entries);
        }
    }
    entries
}

fn of_event(host: Host, event: &str, groups: &Array<'_>, entries: &mut Vec<OurEntry>) {
    for (group_at, group) in groups.elements.iter().enumerate() {
        let Node::Object(group) = group else { continue };
        let Some(Node::Array(handlers)) = edit::last(group, "hooks") else { continue };
        let mut group_keys: Option<Rc<Vec<String>>> = None;
        // Told once for all of them: a group may have as many keys as entries.
        let is_for_all = edit::last(group, "matcher").is_none_or(|matcher| {
            matches!(matcher, Node::StringLit(matcher) if matches!(matcher.value.as_ref(), "" | "*" | ".*"))
        });
        for (at, handler) in handlers.elements.iter().enumerate() {
            let Node::Object(fields) = handler else { continue };
            let Some(Node::StringLit(command)) = edit::last(fields, "command") else { continue };
            if !is_installed_line(host, &command.value) {
                continue;
            }
            let is_waited_for = !matches!(edit::last(fields, "async"), Some(Node::BooleanLit(asynchronous)) if asynchronous.value);
            let handler = edit::plain(handler);
            let keys = || group.properties.iter().map(|property| property.name.as_str().to_owned()).collect();
            entries.push(OurEntry {
                event: event.to_owned(),
                guards: is_waited_for && is_for_all,
                argv: shell_words(&command.value).unwrap_or_default(),
                timeout: handler.get("timeout").and_then(Value::as_u64),
                place: (group_at, at),
                handler,
                group_keys: Rc::clone(group_keys.get_or_insert_with(|| Rc::new(keys()))),
            });
        }
    }
}
