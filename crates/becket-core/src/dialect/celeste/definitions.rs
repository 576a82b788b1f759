//! `hooks.json`: one flat list, and one bad entry rejects the whole file, so that a typo never drops a guard
//! unseen.

use std::fmt;

use unicode_general_category::{GeneralCategory as Category, get_general_category};

use super::{go, v1};
use crate::dialect::Hook;
use crate::event::{Event, EventName};
use crate::hash;
use crate::json::{self, Node};
use crate::text;

/// Seconds a hook has where its definition names none.
pub const DEFAULT_TIMEOUT: u32 = 30;

/// Most seconds a definition may name.
pub const MAX_TIMEOUT: u32 = 600;

/// A point in a session at which Celeste's hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is named after its moment")]
pub enum Moment {
    PreToolUse,
    PostToolUse,
    SessionStart,
    UserPromptSubmit,
    PreCompact,
    PostCompact,
    Stop,
    SubagentStop,
}

impl Moment {
    /// Every moment.
    pub const ALL: [Self; 8] = [
        Self::PreToolUse,
        Self::PostToolUse,
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreCompact,
        Self::PostCompact,
        Self::Stop,
        Self::SubagentStop,
    ];

    /// The name as definitions and payloads have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
        }
    }

    /// The moment of this name; names are case-sensitive.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|moment| moment.as_str() == name)
    }

    /// The moment that an event of the common vocabulary is. Celeste tells of every call that ran, failed or not.
    pub fn of(event: &Event) -> Option<Self> {
        match event.name {
            EventName::PreToolUse => Some(Self::PreToolUse),
            EventName::PostToolUse | EventName::PostToolUseFailure => Some(Self::PostToolUse),
            EventName::SessionStart => Some(Self::SessionStart),
            EventName::UserPromptSubmit => Some(Self::UserPromptSubmit),
            EventName::PreCompact => Some(Self::PreCompact),
            EventName::PostCompact => Some(Self::PostCompact),
            EventName::Stop => Some(Self::Stop),
            EventName::SubagentStop => Some(Self::SubagentStop),
            EventName::SessionEnd
            | EventName::PermissionRequest
            | EventName::StopFailure
            | EventName::SubagentStart
            | EventName::Notification => None,
        }
    }

    /// Whether a matcher is tried here.
    pub fn is_tool(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse)
    }

    /// Whether something waits for leave here: a hook that fails then denies.
    pub fn is_gate(self) -> bool {
        matches!(self, Self::PreToolUse | Self::UserPromptSubmit | Self::PreCompact)
    }

    /// Whether a denial means going on.
    pub fn is_stop(self) -> bool {
        matches!(self, Self::Stop | Self::SubagentStop)
    }

    /// Whether a decision counts at all.
    pub fn decides(self) -> bool {
        self.is_gate() || self.is_stop()
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How a hook is told and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// By exit code, with templates in its command.
    V1,
    /// By one JSON object on stdout.
    V2,
}

impl Protocol {
    /// The word in definitions.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }

    /// The protocol of this word.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "v1" => Some(Self::V1),
            "v2" => Some(Self::V2),
            _ => None,
        }
    }
}

/// One hook, normalised: trimmed, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// When it runs.
    pub moment: Moment,
    /// A tool's exact name, or `*` for all.
    pub matcher: String,
    /// For `sh -c`.
    pub command: String,
    /// Seconds, 1 to [`MAX_TIMEOUT`].
    pub timeout: u32,
    /// How it is told and answers.
    pub protocol: Protocol,
}

impl Definition {
    /// As it is listed.
    pub(super) fn hook(&self, index: usize) -> Hook {
        Hook {
            index,
            name: None,
            event: self.moment.as_str().to_owned(),
            matcher: Some(self.matcher.clone()),
            command: self.command.clone(),
            timeout: f64::from(self.timeout),
            invalid: self.hole(),
        }
    }

    /// Why running it fails, where its command has a template that could not be filled in safely.
    pub(super) fn hole(&self) -> Option<String> {
        match self.protocol {
            Protocol::V1 => v1::hole(&self.command),
            Protocol::V2 => None,
        }
    }
}

/// Lower-case hex SHA-256 of normalised definitions: exactly what a person approves. Formatting, the order of keys
/// and defaults that are written out do not change it.
pub fn hash_of(definitions: &[Definition]) -> String {
    hash::of(canonical(definitions).as_bytes())
}

/// The bytes that [`hash_of`] hashes.
pub(super) fn canonical(definitions: &[Definition]) -> String {
    let mut text = String::with_capacity(2 + definitions.len() * 128);
    text.push('[');
    for (index, definition) in definitions.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str("{\"event\":\"");
        text.push_str(definition.moment.as_str());
        text.push_str("\",\"matcher\":");
        go::write_string(&definition.matcher, &mut text);
        text.push_str(",\"command\":");
        go::write_string(&definition.command, &mut text);
        text.push_str(",\"timeout\":");
        text.push_str(&definition.timeout.to_string());
        text.push_str(",\"protocol\":\"");
        text.push_str(definition.protocol.as_str());
        text.push_str("\"}");
    }
    text.push(']');
    text
}

/// What is wrong in a file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {line}, column {column})")]
pub struct Mistake {
    /// From 1.
    pub line: usize,
    /// From 1, in bytes.
    pub column: usize,
    /// What is wrong. Untrusted text in it is escaped.
    pub message: String,
}

/// A mistake whose place was not looked for yet.
type Wrong<'a> = (Node<'a>, String);

/// So many mistakes of one kind in one file are named, and the others counted: a person reads no more, and finding the
/// place of each in a large file takes time.
const MOST: usize = 100;

/// Mistakes in the order of the file, as far as they are named.
#[derive(Default)]
pub(super) struct Mistakes {
    named: Vec<Mistake>,
    unnamed: usize,
}

impl Mistakes {
    fn add(&mut self, (node, message): Wrong<'_>) {
        self.add_with(|| {
            let (line, column) = node.place();
            Mistake { line, column, message }
        });
    }

    pub(super) fn add_with(&mut self, mistake: impl FnOnce() -> Mistake) {
        if self.named.len() < MOST { self.named.push(mistake()) } else { self.unnamed += 1 }
    }

    pub(super) fn finish(mut self) -> Vec<Mistake> {
        if let (Some(last), more @ 1..) = (self.named.last(), self.unnamed) {
            let message = format!("{more} more behind this are not named one by one");
            self.named.push(Mistake { message, ..*last });
        }
        self.named
    }
}

/// Reads a `hooks.json`.
///
/// # Errors
/// Everything that is wrong with it; the file then defines nothing.
pub fn parse_file(data: &[u8]) -> Result<Vec<Definition>, Vec<Mistake>> {
    parse(data).map(|parsed| parsed.definitions)
}

/// A file that was taken.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) definitions: Vec<Definition>,
    /// Definitions that load and cannot run.
    pub(super) holes: Vec<Mistake>,
}

pub(super) fn parse(data: &[u8]) -> Result<Parsed, Vec<Mistake>> {
    let whole = |error: json::JsonError| {
        vec![Mistake { line: error.line, column: error.column, message: error.message }]
    };
    let text = json::text(data).map_err(whole)?;
    let document = Node::document(text).map_err(whole)?;
    let mut mistakes = Mistakes::default();
    let parsed = read(document, &mut mistakes);
    let mistakes = mistakes.finish();
    if mistakes.is_empty() { Ok(parsed) } else { Err(mistakes) }
}

fn read(document: Node<'_>, mistakes: &mut Mistakes) -> Parsed {
    let mut parsed = Parsed::default();
    if is_null(document) {
        return parsed;
    }
    let Some(entries) = document.object() else {
        mistakes.add((document, format!("the file must be an object, not {}", document.kind())));
        return parsed;
    };
    let mut hooks = None;
    for (key, value) in entries {
        if key != "hooks" {
            mistakes.add(unknown_key(&key, &["hooks"], value));
        } else if hooks.replace(value).is_some() {
            mistakes.add((value, "`hooks` stands twice".to_owned()));
        }
    }
    let Some(hooks) = hooks.filter(|hooks| !is_null(*hooks)) else { return parsed };
    let Some(items) = hooks.array() else {
        mistakes.add((hooks, format!("`hooks` must be a list, not {}", hooks.kind())));
        return parsed;
    };
    let mut holes = Mistakes::default();
    parsed.definitions.reserve(items.len());
    for (index, item) in items.into_iter().enumerate() {
        match entry(item) {
            Ok((definition, command)) => {
                if let Some(hole) = definition.hole() {
                    holes.add((command, format!("hooks[{index}]: running it fails: {hole}")));
                }
                parsed.definitions.push(definition);
            }
            Err(wrong) => {
                for (node, message) in wrong {
                    mistakes.add((node, format!("hooks[{index}]: {message}")));
                }
            }
        }
    }
    parsed.holes = holes.finish();
    parsed
}

/// The fields of an entry, each with the node it stands in.
const FIELDS: [&str; 5] = ["event", "matcher", "command", "timeout", "protocol"];

fn entry(node: Node<'_>) -> Result<(Definition, Node<'_>), Vec<Wrong<'_>>> {
    let Some(entries) = node.object() else {
        return Err(vec![(node, format!("a hook must be an object, not {}", node.kind()))]);
    };
    let mut found: [Option<Node<'_>>; 5] = [None; 5];
    let mut wrong = Vec::new();
    for (key, value) in entries {
        match FIELDS.iter().position(|field| *field == key) {
            None => wrong.push(unknown_key(&key, &FIELDS, value)),
            Some(at) if found[at].is_some() => {
                wrong.push((value, format!("`{key}` stands twice in one hook")));
            }
            Some(at) => found[at] = Some(value),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    // Null is as good as absent.
    let [event, matcher, command, timeout, protocol] = found.map(|node| node.filter(|node| !is_null(*node)));
    let written = Written {
        event: text_of(event, "event")?,
        matcher: text_of(matcher, "matcher")?,
        command: text_of(command, "command")?,
        timeout: timeout.map_or(Ok(0), seconds)?,
        protocol: text_of(protocol, "protocol")?,
    };
    let definition = written.normalised().map_err(|(field, message)| {
        let at = [event, matcher, command, timeout, protocol][field as usize];
        vec![(at.unwrap_or(node), message)]
    })?;
    Ok((definition, command.unwrap_or(node)))
}

fn text_of<'a>(node: Option<Node<'a>>, field: &str) -> Result<String, Vec<Wrong<'a>>> {
    let Some(node) = node else { return Ok(String::new()) };
    node.string().ok_or_else(|| vec![(node, format!("`{field}` must be a string, not {}", node.kind()))])
}

fn seconds(node: Node<'_>) -> Result<i64, Vec<Wrong<'_>>> {
    let wrong = || {
        let written = text::line(node.raw()).into_owned();
        vec![(node, format!("`timeout` must be a whole number of seconds, not {written}"))]
    };
    if node.kind() != "a number" {
        return Err(wrong());
    }
    node.raw().parse().map_err(|_| wrong())
}

fn is_null(node: Node<'_>) -> bool {
    node.raw() == "null"
}

fn unknown_key<'a>(key: &str, known: &[&str], node: Node<'a>) -> Wrong<'a> {
    let near = known.iter().find(|name| name.eq_ignore_ascii_case(key));
    let near = near.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default();
    (node, format!("unknown field {}{near}", text::quote(key)))
}

/// Where in an entry something is wrong; the numbers are the places in [`FIELDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Event = 0,
    Matcher = 1,
    Command = 2,
    Timeout = 3,
    Protocol = 4,
}

/// An entry as written; what is absent is empty or 0.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) event: String,
    pub(super) matcher: String,
    pub(super) command: String,
    pub(super) timeout: i64,
    pub(super) protocol: String,
}

impl Written {
    /// Checks an entry, the first thing that is wrong first, and fills in the defaults.
    pub(super) fn normalised(self) -> Result<Definition, (Field, String)> {
        let moment = Moment::named(&self.event).ok_or_else(|| (Field::Event, unknown_event(&self.event)))?;
        let command = trimmed(self.command);
        if command.is_empty() {
            return Err((Field::Command, "`command` is empty".to_owned()));
        }
        refuse_unsafe("command", &command).map_err(|why| (Field::Command, why))?;
        let protocol = match self.protocol.as_str() {
            "" => Protocol::V2,
            word => Protocol::named(word).ok_or_else(|| {
                let word = text::quote(word);
                (Field::Protocol, format!("unknown protocol {word}: there are \"v1\" and \"v2\""))
            })?,
        };
        if protocol == Protocol::V1 && !moment.is_tool() {
            return Err((
                Field::Protocol,
                format!("protocol v1 is for PreToolUse and PostToolUse only, not for {moment}"),
            ));
        }
        let mut matcher = trimmed(self.matcher);
        refuse_unsafe("matcher", &matcher).map_err(|why| (Field::Matcher, why))?;
        if !moment.is_tool() && !matches!(matcher.as_str(), "" | "*") {
            return Err((Field::Matcher, format!("{moment} has no tool to match: leave `matcher` out")));
        }
        if matcher.is_empty() {
            matcher.push('*');
        }
        let timeout = match u32::try_from(self.timeout) {
            Ok(0) => DEFAULT_TIMEOUT,
            Ok(seconds) if seconds <= MAX_TIMEOUT => seconds,
            _ => {
                let given = self.timeout;
                let message = format!("`timeout` must be 1 to {MAX_TIMEOUT} seconds, not {given}");
                return Err((Field::Timeout, message));
            }
        };
        Ok(Definition { moment, matcher, command, timeout, protocol })
    }
}

fn unknown_event(name: &str) -> String {
    if name.is_empty() {
        return "it names no `event`".to_owned();
    }
    let near = Moment::ALL.into_iter().find(|moment| moment.as_str().eq_ignore_ascii_case(name.trim()));
    let near = near.map(|moment| format!(" (did you mean {moment}?)")).unwrap_or_default();
    format!("unknown event {}{near}", text::quote(name))
}

fn trimmed(text: String) -> String {
    let inner = text.trim();
    if inner.len() == text.len() { text } else { inner.to_owned() }
}

/// Characters that could make a command show as another than the one that runs are not taken at all.
fn refuse_unsafe(field: &str, text: &str) -> Result<(), String> {
    match text.chars().find(|character| is_unsafe(*character)) {
        None => Ok(()),
        Some(character) => {
            let code = u32::from(character);
            Err(format!("`{field}` holds U+{code:04X}, a character that acts or hides when it is shown"))
        }
    }
}

fn is_unsafe(character: char) -> bool {
    match character {
        ' '..='~' => false,
        _ => matches!(
            get_general_category(character),
            Category::Control | Category::Format | Category::LineSeparator | Category::ParagraphSeparator
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hooks(entries: &str) -> Result<Vec<Definition>, Vec<Mistake>> {
        parse_file(format!("{{\"hooks\":[{entries}]}}").as_bytes())
    }

    fn why(text: &str) -> String {
        parse_file(text.as_bytes()).unwrap_err()[0].message.clone()
    }

    fn entry_why(entry: &str) -> String {
        why(&format!("{{\"hooks\":[{entry}]}}"))
    }

    #[test]
    fn defaults_are_filled_in() {
        let read = hooks(r#"{"event":"PreToolUse","command":"  x \n"}"#).unwrap();
        let expected = Definition {
            moment: Moment::PreToolUse,
            matcher: "*".to_owned(),
            command: "x".to_owned(),
            timeout: 30,
            protocol: Protocol::V2,
        };
        assert_eq!(read, std::slice::from_ref(&expected));
        let nulls = r#"{"event":"PreToolUse","command":"x","matcher":null,"timeout":null,"protocol":null}"#;
        assert_eq!(hooks(nulls).unwrap(), [expected]);
        assert_eq!(
            hooks(r#"{"event":"Stop","command":"x","timeout":0,"matcher":" * "}"#).unwrap()[0].timeout,
            30
        );
    }

    #[test]
    fn what_defines_nothing_is_no_mistake() {
        for empty in ["{}", "null", r#"{"hooks":null}"#, r#"{"hooks":[]}"#, " {} \n"] {
            assert_eq!(parse_file(empty.as_bytes()), Ok(vec![]), "{empty}");
        }
    }

    #[test]
    fn one_mistake_rejects_the_whole_file() {
        for (text, says) in [
            ("", "EOF"),
            ("not json", "expected"),
            ("[]", "must be an object, not an array"),
            ("\u{feff}{}", "byte order mark"),
            (r#"{"hooks":[]} {}"#, "trailing"),
            (r#"{"hooks":{}}"#, "`hooks` must be a list"),
            (r#"{"$schema":"x","hooks":[]}"#, "unknown field \"$schema\""),
            (r#"{"Hooks":[]}"#, "did you mean `hooks`?"),
            (r#"{"hooks":[],"hooks":[]}"#, "stands twice"),
        ] {
            assert!(why(text).contains(says), "{text}: {}", why(text));
        }
        for (entry, says) in [
            (r#"{"event":"PreToolUse","comand":"x"}"#, "hooks[0]: unknown field \"comand\""),
            (r#"{"EVENT":"Stop","command":"x"}"#, "did you mean `event`?"),
            (r#"{"event":"pretooluse","command":"x"}"#, "did you mean PreToolUse?"),
            (r#"{"event":" Stop","command":"x"}"#, "unknown event \" Stop\""),
            (r#"{"event":"SessionEnd","command":"x"}"#, "unknown event"),
            ("null", "must be an object, not null"),
            (r#"{"command":"x"}"#, "names no `event`"),
            (r#"{"event":"Stop","command":"  "}"#, "`command` is empty"),
            (r#"{"event":"Stop"}"#, "`command` is empty"),
            (r#"{"event":"Stop","command":"x","protocol":"v3"}"#, "unknown protocol \"v3\""),
            (r#"{"event":"Stop","command":"x","protocol":"v1"}"#, "protocol v1 is for"),
            (r#"{"event":"Stop","command":"x","timeout":-1}"#, "1 to 600 seconds, not -1"),
            (r#"{"event":"Stop","command":"x","timeout":601}"#, "1 to 600 seconds, not 601"),
            (r#"{"event":"Stop","command":"x","timeout":10.0}"#, "whole number"),
            (r#"{"event":"Stop","command":"x","timeout":1e1}"#, "whole number"),
            (r#"{"event":"Stop","command":"x","timeout":"5"}"#, "whole number"),
            (r#"{"event":"Stop","command":"x","timeout":99999999999999999999}"#, "whole number"),
            (r#"{"event":"SessionStart","command":"x","matcher":"bash"}"#, "no tool to match"),
            (r#"{"event":"Stop","command":"x","command":"y"}"#, "stands twice"),
            (r#"{"event":"Stop","command":["x"]}"#, "must be a string, not an array"),
            (r#"{"event":"Stop","command":"a\u001bb"}"#, "U+001B"),
            (r#"{"event":"Stop","command":"a\nb"}"#, "U+000A"),
            (r#"{"event":"Stop","command":"a\u009bb"}"#, "U+009B"),
            (r#"{"event":"Stop","command":"a\u200eb"}"#, "U+200E"),
            (r#"{"event":"PreToolUse","command":"x","matcher":"a\u202eb"}"#, "U+202E"),
            (r#"{"event":"PreToolUse","command":"x","matcher":"a\u2028b"}"#, "U+2028"),
            (r#"{"event":"Stop","command":"\ud800"}"#, "surrogate"),
        ] {
            assert!(entry_why(entry).contains(says), "{entry}: {}", entry_why(entry));
        }
        // An embedded no-break space is taken: it is shown as an escape.
        assert!(hooks(r#"{"event":"Stop","command":"a\u00a0b"}"#).is_ok());
    }

    #[test]
    fn mistakes_have_their_places_and_their_index() {
        let text = "{\"hooks\": [\n  {\"event\": \"Stop\", \"command\": \"x\"},\n  {\"event\": \"Stop\", \"command\": \"x\", \"timeout\": 700},\n  {\"event\": \"No\", \"command\": \"x\"}\n]}";
        let mistakes = parse_file(text.as_bytes()).unwrap_err();
        let places: Vec<_> = mistakes.iter().map(|mistake| (mistake.line, mistake.column)).collect();
        assert_eq!(places, [(3, 48), (4, 13)]);
        assert!(mistakes[0].message.starts_with("hooks[1]: "), "{}", mistakes[0]);
        let bytes = b"{\"hooks\":[{\"event\":\"Stop\",\"command\":\"a\xff\"}]}";
        assert!(parse_file(bytes).unwrap_err()[0].message.contains("UTF-8"));
    }

    #[test]
    fn hashes_are_celestes() {
        for (entry, hash) in [
            (
                r#"{"event":"PreToolUse","command":"x"}"#,
                "452221b814c22f89502c738dca5aec500290d384215fb2b9f69c7fdd4649ec72",
            ),
            (
                r#"{"timeout":10,"command":" a && b > c ","matcher":"bash","event":"PreToolUse"}"#,
                "04b26b34fbe0b5048380e40941474ce0a919b80eb0019ed0008d4e9380fcfb02",
            ),
            (
                r#"{"event":"PreToolUse","matcher":"bash","command":"echo pre","protocol":"v1"}"#,
                "68e6d19139772c7cefb301880b978afe0bec9e79b1d74ff79678b5a5ff3c9b87",
            ),
            (
                r#"{"event":"PreToolUse","command":"echo \"\u00e9\" \\ \/"}"#,
                "098d3a4a6a07d4bbdce202746f27a6372364d2b87b608149574bdc6ddd34738c",
            ),
        ] {
            assert_eq!(hash_of(&hooks(entry).unwrap()), hash, "{entry}");
        }
    }

    #[test]
    fn a_template_that_cannot_be_filled_in_safely_is_pointed_at_and_loads() {
        let parsed =
            parse(br#"{"hooks":[{"event":"PreToolUse","protocol":"v1","command":"echo \"f: {{path}}\""}]}"#)
                .unwrap();
        assert_eq!((parsed.definitions.len(), parsed.holes.len()), (1, 1));
        assert!(parsed.holes[0].message.contains("{{path}}"), "{}", parsed.holes[0]);
        assert_eq!((parsed.holes[0].line, parsed.holes[0].column), (1, 59));
    }

    fn definition() -> impl Strategy<Value = (String, String, u32, bool)> {
        ("[a-z&<>\"\\\\é/ ]{1,12}x", "[a-z*]{0,4}", 1u32..=600, any::<bool>())
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}") {
            let _ = parse_file(text.as_bytes());
        }

        #[test]
        fn no_document_panics(
            entry in "\\{(\"(event|command|matcher|timeout|protocol|x)\":(\"(Stop|v1|PreToolUse|a|\\\\ud800|)\"|1|-7|null|\\[\\]|1e9),?){0,6}\\}?",
        ) {
            let _ = hooks(&entry);
        }

        #[test]
        fn a_hash_does_not_depend_on_form((command, matcher, timeout, spaced) in definition()) {
            let quoted = serde_json::to_string(&command).unwrap();
            let plain = hooks(&format!(
                r#"{{"event":"PreToolUse","matcher":"{matcher}","command":{quoted},"timeout":{timeout},"protocol":"v2"}}"#
            )).unwrap();
            let space = if spaced { " \n\t" } else { "" };
            let other = hooks(&format!(
                r#"{{{space}"timeout":{space}{timeout},{space}"command":{quoted}{space},"matcher":{space}" {matcher} ","event":"PreToolUse"}}"#
            )).unwrap();
            prop_assert_eq!(hash_of(&plain), hash_of(&other));
            let changed = hooks(&format!(
                r#"{{"event":"PreToolUse","matcher":"{matcher}","command":"y{}","timeout":{timeout}}}"#,
                &quoted[1..quoted.len() - 1]
            )).unwrap();
            prop_assert_ne!(hash_of(&plain), hash_of(&changed));
        }
    }
}
