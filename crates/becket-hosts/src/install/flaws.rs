//! What is wrong with a file that should hold Becket's entries.

use becket_core::event::EventName;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{Line, OurEntry, edit, expanded, has_traces, our_entries, plugged, plugin};
use crate::Host;

/// Something that is wrong with a file that should hold Becket's entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Whether something goes unguarded by it; else it is only to be known.
    pub is_grave: bool,
    /// Whether a person must mend the file first; else a new install mends it.
    pub by_hand: bool,
    /// What; for people.
    pub text: String,
}

/// What is wrong with the entries in an agent's file, or with the file around them. `line` is what would be installed
/// now.
pub fn flaws(host: Host, bytes: &[u8], line: &Line) -> Vec<Flaw> {
    if let Some(text) = unreadable(host, bytes) {
        return vec![Flaw { is_grave: true, by_hand: true, text }];
    }
    let mut flaws: Vec<Flaw> = other_in_file(host, bytes).into_iter().collect();
    if has_traces(host, bytes) {
        let differences = differences(host, bytes, line);
        flaws.extend(differences.into_iter().map(|text| Flaw { is_grave: true, by_hand: false, text }));
        let is_whole = plugged(host, Some(bytes), line).is_ok_and(|text| text.as_bytes() == bytes);
        if !is_whole && flaws.is_empty() {
            let text = format!(
                "its entries are others than this becket would write; `becket install {host}` renews them"
            );
            flaws.push(Flaw { is_grave: false, by_hand: false, text });
        }
    }
    flaws
}

/// Whether everything of Becket's in a file runs what `install` would write now, and a tool call is among it: only then
/// does a trial of that tell anything about the file.
pub fn is_as_written(host: Host, bytes: &[u8], line: &Line) -> bool {
    let gate = host.row(EventName::PreToolUse).map(|row| row.native);
    unreadable(host, bytes).is_none()
        && our_entries(host, bytes).iter().any(|entry| Some(entry.event.as_str()) == gate && entry.guards)
        && line_differences(host, bytes, line).is_empty()
        && alterations(host, &our_entries(host, bytes)).is_empty()
}

/// Why nobody can read the file, and what the agent makes of that.
fn unreadable(host: Host, bytes: &[u8]) -> Option<String> {
    if host == Host::Opencode {
        let is_changed = match plugin::whose(bytes) {
            plugin::Whose::Ours => false,
            plugin::Whose::Changed => true,
            // Somebody put something before the line by which it is known.
            plugin::Whose::Other => has_traces(host, bytes),
        };
        return is_changed
            .then(|| "it was changed since becket wrote it, so nobody can tell what it does".to_owned());
    }
    let title = host.title();
    let effect = match host {
        Host::Gemini => "does not start with it",
        _ => "reads none of it, so nothing of becket guards there",
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Some(format!("it is not valid UTF-8: {title} {effect}"));
    };
    if let Err(error) = edit::check(text) {
        let error = error.to_string();
        return Some(format!("{}: {title} {effect}", becket_core::text::line(&error)));
    }
    match edit::plainness(text) {
        edit::Plainness::Marked if host != Host::Claude => {
            Some(format!("it begins with a byte order mark: {title} {effect}"))
        }
        edit::Plainness::Commas if host != Host::Claude => {
            Some(format!("it has a comma behind a last item: {title} {effect}"))
        }
        edit::Plainness::Comments if host == Host::Codex => {
            Some(format!("{title} reads only plain JSON, without comments: it {effect}"))
        }
        _ => None,
    }
}

/// What else in the same file keeps the agent from reading the entries, or might.
fn other_in_file(host: Host, bytes: &[u8]) -> Option<Flaw> {
    let text = std::str::from_utf8(bytes).ok()?;
    match host {
        Host::Codex => {
            let root = edit::value(text)?;
            let other =
                root.as_object()?.keys().find(|key| !matches!(key.as_str(), "hooks" | "description"))?;
            let text = format!(
                "Codex skips the whole file for the key {}: it takes only `hooks` and `description`",
                becket_core::text::quote(other)
            );
            Some(Flaw { is_grave: true, by_hand: true, text })
        }
        Host::Claude if edit::plainness(text) != edit::Plainness::Plain => Some(Flaw {
            is_grave: false,
            by_hand: true,
            text: "it is more than plain JSON, which is all that Claude Code's reference promises to read; its /hooks \
                   page shows whether it did"
                .to_owned(),
        }),
        _ => None,
    }
}

/// What an installed line says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Words {
    program: Utf8PathBuf,
    home: Option<String>,
    set: Vec<(String, String)>,
    deadline: Option<u64>,
    event: Option<String>,
}

impl Words {
    fn of(argv: &[String]) -> Option<Self> {
        let [program, _, _, options @ ..] = argv else { return None };
        let mut words = Self { program: program.into(), ..Self::default() };
        for pair in options.chunks(2) {
            let [option, value] = pair else { return None };
            match option.as_str() {
                "--home" => words.home = Some(value.clone()),
                "--deadline" => words.deadline = Some(value.parse().ok()?),
                "--event" => words.event = Some(value.clone()),
                _ => words.set.extend(value.split_once('=').map(|(name, value)| (name.into(), value.into()))),
            }
        }
        Some(words)
    }

    /// The words again, as `install` orders them.
    fn argv(&self, host: Host) -> Vec<String> {
        let mut argv = vec![self.program.to_string(), "hook".to_owned(), host.to_string()];
        let mut pair = |option: &str, value: String| argv.extend([option.to_owned(), value]);
        if let Some(home) = &self.home {
            pair("--home", home.clone());
        }
        for (name, value) in &self.set {
            pair("--set", format!("{name}={value}"));
        }
        if let Some(deadline) = self.deadline {
            pair("--deadline", deadline.to_string());
        }
        if let Some(event) = &self.event {
            pair("--event", event.clone());
        }
        argv
    }
}

/// The homes that are truly moved, in an order of their own: a variable that says where a home is anyway moves none.
fn moved(set: &[(String, String)], home: &Utf8Path) -> Vec<String> {
    let usual = |name: &str| match name {
        "ALBEDO_HOME" => Some(".albedo"),
        "CODEX_HOME" => Some(".codex"),
        "XDG_CACHE_HOME" => Some(".cache"),
        "XDG_CONFIG_HOME" => Some(".config"),
        "XDG_DATA_HOME" => Some(".local/share"),
        "XDG_STATE_HOME" => Some(".local/state"),
        _ => None,
    };
    let is_moved = |(name, value): &&(String, String)| {
        usual(name).is_none_or(|usual| home.join(usual) != Utf8Path::new(value))
    };
    let mut moved: Vec<String> =
        set.iter().filter(is_moved).map(|(name, value)| format!("{name}={value}")).collect();
    moved.sort();
    moved
}

/// How the entries differ from what would be installed, where that changes what is guarded.
fn differences(host: Host, bytes: &[u8], line: &Line) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let entries = our_entries(host, bytes);
    let unguarded: Vec<&str> = host
        .rows()
        .iter()
        .filter(|row| host != Host::Opencode || row.event == EventName::PreToolUse)
        .filter(|row| !entries.iter().any(|entry| entry.event == row.native && entry.guards))
        .map(|row| row.native)
        .collect();
    if !unguarded.is_empty() {
        found.push(format!(
            "no entry guards at {}: it is missing, bound to some tools, or not waited for",
            unguarded.join(", ")
        ));
    }
    found.extend(line_differences(host, bytes, line));
    found.extend(alterations(host, &entries));
    found
}

/// What else the lines run than the one that would be installed.
fn line_differences(host: Host, bytes: &[u8], line: &Line) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut say = |what: String| {
        if !found.contains(&what) {
            found.push(what);
        }
    };
    let shown = |text: &str| becket_core::text::line(text).into_owned();
    let (mut misplaced, mut hurried) = (Vec::new(), Vec::new());
    for entry in &our_entries(host, bytes) {
        let Some(words) = Words::of(&entry.argv) else {
            say("a line in it cannot be read".to_owned());
            continue;
        };
        if words.program != line.program {
            say(format!(
                "it runs {}, which is another program than this one, {}",
                shown(words.program.as_str()),
                shown(line.program.as_str())
            ));
        }
        if words.home.as_deref() != Some(line.home.as_str()) {
            let home = words.home.as_deref().unwrap_or_default();
            say(format!(
                "it guards with the hooks of the home {}, not {}",
                shown(home),
                shown(line.home.as_str())
            ));
        }
        let (said, wanted) = (moved(&words.set, &line.home), moved(&line.set, &line.home));
        if said != wanted {
            let names =
                |set: &[String]| if set.is_empty() { "none".to_owned() } else { shown(&set.join(" ")) };
            say(format!(
                "it moves other homes ({}) than the variables here do ({})",
                names(&said),
                names(&wanted)
            ));
        }
        if words.argv(host) != entry.argv {
            say("a line says more than `install` writes, or says it otherwise".to_owned());
        }
        if let Some(variable) = entry.argv.iter().find_map(|word| expanded(host, word)) {
            say(format!(
                "{} puts something else in the place of `{}` in a line",
                host.title(),
                shown(variable)
            ));
        }
        if host == Host::Opencode {
            let as_said = Line { program: words.program, home: line.home.clone(), set: words.set };
            if plugin::file(&as_said).as_bytes() != bytes {
                say("it is not the plugin that this becket writes: it may do something else".to_owned());
            }
            continue;
        }
        let Some(row) = host.rows().iter().find(|row| row.native == entry.event) else {
            say(format!("a line stands under {}, where `install` writes none", shown(&entry.event)));
            continue;
        };
        if words.event.as_deref() != Some(row.event.as_str()) {
            misplaced.push(row.native);
        }
        let unit = if host == Host::Gemini { 1000 } else { 1 };
        let is_short = entry.timeout.is_none_or(|timeout| timeout < u64::from(row.patience) * unit);
        if is_short || words.deadline.is_none_or(|deadline| deadline > u64::from(row.deadline())) {
            hurried.push(row.native);
        }
    }
    if !misplaced.is_empty() {
        say(format!("a line stands under another event than it says: {}", misplaced.join(", ")));
    }
    if !hurried.is_empty() {
        say(format!("{} does not wait for the answer at {}", host.title(), hurried.join(", ")));
    }
    found
}

/// What stands beside the lines and may change whether or how they are run: keys that `install` does not write, and a
/// type that is no command's.
fn alterations(host: Host, entries: &[OurEntry]) -> Vec<String> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    let mut say = |what: String, event| match found.iter_mut().find(|known| known.0 == what) {
        Some(known) => known.1.push(event),
        None => found.push((what, vec![event])),
    };
    let quoted = |text: &str| becket_core::text::quote(text);
    for entry in entries.iter().filter(|_| host != Host::Opencode) {
        let known: &[&str] = match host {
            Host::Gemini => &["name", "type", "command", "timeout"],
            _ => &["type", "command", "timeout"],
        };
        let keys = |value: &'_ Value| -> Vec<String> {
            value.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
        };
        for key in keys(&entry.handler).iter().filter(|key| !known.contains(&key.as_str())) {
            say(
                format!("the entry has the key {}, which `install` does not write", quoted(key)),
                &entry.event,
            );
        }
        for key in keys(&entry.group).iter().filter(|key| *key != "hooks") {
            let text =
                format!("the group of the entry has the key {}, which `install` does not write", quoted(key));
            say(text, &entry.event);
        }
        match entry.handler.get("type") {
            Some(Value::String(kind)) if kind == "command" => {}
            Some(kind) => {
                let kind = becket_core::text::line(&kind.to_string()).into_owned();
                say(format!("the entry's type is {kind}, not \"command\""), &entry.event);
            }
            None => say("the entry has no type".to_owned(), &entry.event),
        }
    }
    found
        .into_iter()
        .map(|(what, events)| {
            format!("it was altered: {what} (at {})", becket_core::text::line(&events.join(", ")))
        })
        .collect()
}

/// Whether a group of entries is for every tool, as `install` writes it.
pub(super) fn is_for_all(group: &Value) -> bool {
    group.get("matcher").is_none_or(|matcher| matches!(matcher.as_str(), Some("" | "*" | ".*")))
}

/// Whether the agent waits for an entry's answer.
pub(super) fn is_waited_for(handler: &Value) -> bool {
    handler.get("async") != Some(&true.into())
}
