//! What is wrong with a file that should hold Becket's entries.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use becket_core::event::EventName;
use becket_core::text;
use camino::{Utf8Path, Utf8PathBuf};
use jsonc_parser::ast::Object;
use serde_json::Value;

use super::{
    EditError, Line, OurEntry, edit, entries, expanded, has_traces, our_entries, plugged, plugin, shape,
    texts,
};
use crate::Host;

/// Something that is wrong with a file that should hold Becket's entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Whether something goes unguarded by it; else it is only to be known.
    pub is_grave: bool,
    /// Whether a person must mend the file first; else a new install mends it.
    pub by_hand: bool,
    /// The line of the file, where it is about one.
    pub line: Option<usize>,
    /// What; for people.
    pub text: String,
}

/// So many of one kind are named, and the others counted: a person reads no more, and a repository may bring a file with
/// any number.
pub(super) const MOST: usize = 100;

/// Longest piece of a file that is shown in what is told of it, in bytes.
const LONGEST: usize = 300;

/// A piece of the file, made fit to be shown.
fn shown(piece: &str) -> String {
    text::line(&text::bounded(piece, LONGEST)).into_owned()
}

/// Different things that are told, each once, as far as they are named.
#[derive(Default)]
struct Told {
    known: HashSet<String>,
    named: Vec<String>,
}

impl Told {
    fn add(&mut self, what: String) {
        if self.named.len() < MOST && !self.known.contains(&what) {
            self.named.push(what.clone());
        }
        self.known.insert(what);
    }

    fn finish(mut self) -> Vec<String> {
        let more = self.known.len() - self.named.len();
        if more > 0 {
            self.named.push(format!("{more} more like these are not named one by one"));
        }
        self.named
    }
}

/// What is wrong with the entries in an agent's file, or with the file around them. `line` is what would be installed
/// now.
pub fn flaws(host: Host, bytes: &[u8], line: &Line) -> Vec<Flaw> {
    let file = match File::read(host, bytes) {
        Ok(file) => file,
        Err(text) => return vec![Flaw { is_grave: true, by_hand: true, line: None, text }],
    };
    let mut flaws = file.other_flaws(host, bytes);
    if !file.entries.is_empty() || has_traces(host, bytes) {
        let differences = differences(host, bytes, &file.entries, line);
        flaws.extend(differences.into_iter().map(|text| Flaw {
            is_grave: true,
            by_hand: false,
            line: None,
            text,
        }));
        // Where more is wrong already it is not said.
        let is_whole = || plugged(host, Some(bytes), line).is_ok_and(|text| text.as_bytes() == bytes);
        if flaws.is_empty() && !is_whole() {
            let text = format!(
                "its entries are others than this becket would write; `becket install {host}` renews them"
            );
            flaws.push(Flaw { is_grave: false, by_hand: false, line: None, text });
        }
    }
    flaws
}

/// Whether everything of Becket's in a file runs what `install` would write now, and a tool call is among it: only then
/// does a trial of that tell anything about the file.
pub fn is_as_written(host: Host, bytes: &[u8], line: &Line) -> bool {
    let gate = host.row(EventName::PreToolUse).map(|row| row.native);
    let Ok(file) = File::read(host, bytes) else { return false };
    file.entries.iter().any(|entry| Some(entry.event.as_str()) == gate && entry.guards)
        && line_differences(host, bytes, &file.entries, line).is_empty()
        && alterations(host, &file.entries).is_empty()
}

/// A file that was read, once: it may be large.
struct File<'a> {
    /// Nothing for a plugin.
    settings: Option<(edit::Plainness, Object<'a>)>,
    entries: Vec<OurEntry>,
}

impl<'a> File<'a> {
    /// Reads it, or says why nobody can, and what the agent makes of that.
    fn read(host: Host, bytes: &'a [u8]) -> Result<Self, String> {
        if host == Host::Opencode {
            let is_changed = match plugin::whose(bytes) {
                plugin::Whose::Ours => false,
                plugin::Whose::Changed => true,
                // Somebody put something before the line by which it is known.
                plugin::Whose::Other => has_traces(host, bytes),
            };
            if is_changed {
                return Err(
                    "it was changed since becket wrote it, so nobody can tell what it does".to_owned()
                );
            }
            return Ok(Self { settings: None, entries: our_entries(host, bytes) });
        }
        let title = host.title();
        let effect = match host {
            Host::Gemini => "does not start with it",
            _ => "reads none of it, so nothing of becket guards there",
        };
        let text =
            std::str::from_utf8(bytes).map_err(|_| format!("it is not valid UTF-8: {title} {effect}"))?;
        let root = edit::root(text).map_err(|error| match error {
            EditError::Twice(..) => format!("{error}: nobody can tell what of becket guards there"),
            _ => format!("{}: {title} {effect}", text::line(&error.to_string())),
        })?;
        let plainness = edit::plainness(text, &root);
        match plainness {
            edit::Plainness::Marked if host != Host::Claude => {
                Err(format!("it begins with a byte order mark: {title} {effect}"))
            }
            edit::Plainness::Commas if host != Host::Claude => {
                Err(format!("it has a comma behind a last item: {title} {effect}"))
            }
            edit::Plainness::Comments if host == Host::Codex => {
                Err(format!("{title} reads only plain JSON, without comments: it {effect}"))
            }
            _ => {
                let entries = entries::of_root(host, &root);
                Ok(Self { settings: Some((plainness, root)), entries })
            }
        }
    }

    /// What else in the same file keeps the agent from reading the entries, or might.
    fn other_flaws(&self, host: Host, bytes: &[u8]) -> Vec<Flaw> {
        let Some((plainness, root)) = &self.settings else { return Vec::new() };
        let mut flaws = Vec::new();
        let mut say = |is_grave, line, text| flaws.push(Flaw { is_grave, by_hand: true, line, text });
        if host == Host::Codex {
            let mut keys = root.properties.iter().map(|property| property.name.as_str());
            if let Some(other) = keys.find(|key| !matches!(*key, "hooks" | "description")) {
                let text = format!(
                    "Codex skips the whole file for the key {}: it takes only `hooks` and `description`",
                    edit::shown_key(other)
                );
                say(true, None, text);
            }
        }
        if host == Host::Claude && *plainness != edit::Plainness::Plain {
            let text = "it is more than plain JSON, which is all that Claude Code's reference promises to read; its /hooks \
                        page shows whether it did";
            say(false, None, text.to_owned());
        }
        // Places are in the text behind the mark, which is no line of its own.
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let title = host.title();
        let wrong = shape::wrong(host, root);
        for (at, what) in wrong.named {
            let line = Some(texts::line_of(text, at));
            say(
                true,
                line,
                format!("{what}: {title} may skip the whole file for that, and every hook in it"),
            );
        }
        if wrong.unnamed > 0 {
            let more = wrong.unnamed;
            say(
                true,
                None,
                format!("{more} more places that are not as {title} wants them are not named one by one"),
            );
        }
        if let Some((at, event, more)) = shape::unknown_events(host, root) {
            let line = texts::line_of(text, at);
            let others = if more > 0 { format!(" and {more} more") } else { String::new() };
            let text = format!(
                "becket does not know the event {event}{others}, and whether {title} reads a file with an event that it \
                 does not know either cannot be told"
            );
            say(false, Some(line), text);
        }
        flaws
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
fn differences(host: Host, bytes: &[u8], entries: &[OurEntry], line: &Line) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
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
    found.extend(line_differences(host, bytes, entries, line));
    found.extend(alterations(host, entries));
    found
}

/// What else the lines run than the one that would be installed.
fn line_differences(host: Host, bytes: &[u8], entries: &[OurEntry], line: &Line) -> Vec<String> {
    let mut told = Told::default();
    let mut say = |what: String| told.add(what);
    let (mut misplaced, mut hurried) = (Vec::new(), Vec::new());
    let wanted = moved(&line.set, &line.home);
    for entry in entries {
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
        let said = moved(&words.set, &line.home);
        if said != wanted {
            let names =
                |set: &[String]| if set.is_empty() { "none".to_owned() } else { shown(&set.join(" ")) };
            say(format!(
                "it moves other homes ({}) than those in force here ({})",
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
            note_event(&mut misplaced, row.native);
        }
        let unit = if host == Host::Gemini { 1000 } else { 1 };
        let is_short = entry.timeout.is_none_or(|timeout| timeout < u64::from(row.patience) * unit);
        if is_short || words.deadline.is_none_or(|deadline| deadline > u64::from(row.deadline())) {
            note_event(&mut hurried, row.native);
        }
    }
    if !misplaced.is_empty() {
        say(format!("a line stands under another event than it says: {}", misplaced.join(", ")));
    }
    if !hurried.is_empty() {
        say(format!("{} does not wait for the answer at {}", host.title(), hurried.join(", ")));
    }
    told.finish()
}

/// Of the few events that an agent has, each once.
fn note_event(events: &mut Vec<&'static str>, event: &'static str) {
    if !events.contains(&event) {
        events.push(event);
    }
}

/// What stands beside the lines and may change whether or how they are run: keys that `install` does not write, and a
/// type that is no command's.
fn alterations(host: Host, entries: &[OurEntry]) -> Vec<String> {
    if host == Host::Opencode {
        return Vec::new();
    }
    let known: &[&str] = match host {
        Host::Gemini => &["name", "type", "command", "timeout"],
        _ => &["type", "command", "timeout"],
    };
    let mut found = Altered::default();
    let mut looked_at: Option<&Rc<Vec<String>>> = None;
    for entry in entries {
        for key in keys(&entry.handler).filter(|key| !known.contains(key)) {
            found.add(&entry.event, || {
                format!("the entry has the key {}, which `install` does not write", edit::shown_key(key))
            });
        }
        // What many entries share is looked at once.
        let is_known =
            looked_at.replace(&entry.group_keys).is_some_and(|last| Rc::ptr_eq(last, &entry.group_keys));
        for key in entry.group_keys.iter().filter(|key| !is_known && *key != "hooks") {
            found.add(&entry.event, || {
                let key = edit::shown_key(key);
                format!("the group of the entry has the key {key}, which `install` does not write")
            });
        }
        match entry.handler.get("type") {
            Some(Value::String(kind)) if kind == "command" => {}
            Some(kind) => {
                found.add(&entry.event, || {
                    format!("the entry's type is {}, not \"command\"", shown(&kind.to_string()))
                });
            }
            None => found.add(&entry.event, || "the entry has no type".to_owned()),
        }
    }
    found.finish()
}

fn keys(value: &Value) -> impl Iterator<Item = &str> {
    value.as_object().into_iter().flatten().map(|(key, _)| key.as_str())
}

/// Alterations, each with the events at which it was found.
#[derive(Default)]
struct Altered {
    places: HashMap<String, usize>,
    named: Vec<(String, Vec<String>)>,
    unnamed: usize,
}

/// At so many events an alteration is said to be found; the agents have no more.
const MOST_EVENTS: usize = 20;

impl Altered {
    fn add(&mut self, event: &str, what: impl FnOnce() -> String) {
        // There may be as many as the file has keys: no text is made of those that are only counted.
        if self.unnamed > 0 {
            self.unnamed += 1;
            return;
        }
        let what = what();
        match self.places.get(&what) {
            Some(at) => {
                let events = &mut self.named[*at].1;
                if events.len() < MOST_EVENTS && !events.iter().any(|known| known == event) {
                    events.push(event.to_owned());
                }
            }
            None if self.named.len() == MOST => self.unnamed += 1,
            None => {
                self.places.insert(what.clone(), self.named.len());
                self.named.push((what, vec![event.to_owned()]));
            }
        }
    }

    fn finish(self) -> Vec<String> {
        let told = |(what, events): (String, Vec<String>)| {
            format!("it was altered: {what} (at {})", text::line(&events.join(", ")))
        };
        let mut found: Vec<String> = self.named.into_iter().map(told).collect();
        if self.unnamed > 0 {
            let more = self.unnamed;
            found.push(format!("it was altered in {more} more places, which are not named one by one"));
        }
        found
    }
}
