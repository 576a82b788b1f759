//! One definition file: its six fields, their limits and the order in which they are checked.

use serde::{Deserialize, Serialize};

use super::tree::{self, Mistake, Node};
use crate::text;

/// The folders of definitions, in the order in which they are read.
pub(super) const FOLDERS: [&str; 2] = [".shadowcode/hooks", ".shadow/hooks"];

/// The endings of definition files. Others are no definitions, whatever their case.
pub(super) const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Largest file that is opened, in bytes.
pub(super) const FILE_LIMIT: u64 = 4_000_000;

/// Largest definition, in bytes.
pub(super) const LIMIT: usize = 32_000;

/// Largest command, in bytes.
const COMMAND_LIMIT: usize = 8_000;

/// Largest description, in bytes.
const DESCRIPTION_LIMIT: usize = 1_000;

/// Longest path suffix, in bytes.
const SUFFIX_LIMIT: usize = 80;

/// Longest name of a hook or of its file, in bytes.
const NAME_LIMIT: usize = 80;

/// Longest time a hook can have, in seconds.
const LONGEST: u64 = 120;

/// A moment at which ShadowCode runs hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Moment {
    BeforeCommand,
    AfterEdit,
    BeforeCommit,
    AfterTest,
    OnError,
    OnComplete,
    OnCompaction,
}

impl Moment {
    /// All, in the order of the catalog.
    pub(super) const ALL: [Self; 7] = [
        Self::BeforeCommand,
        Self::AfterEdit,
        Self::BeforeCommit,
        Self::AfterTest,
        Self::OnError,
        Self::OnComplete,
        Self::OnCompaction,
    ];

    /// As it is written in definitions.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::BeforeCommand => "before_command",
            Self::AfterEdit => "after_edit",
            Self::BeforeCommit => "before_commit",
            Self::AfterTest => "after_test",
            Self::OnError => "on_error",
            Self::OnComplete => "on_complete",
            Self::OnCompaction => "on_compaction",
        }
    }

    /// Whether a failure blocks what was about to happen, and the hooks after it.
    pub(super) fn is_gate(self) -> bool {
        matches!(self, Self::BeforeCommand | Self::BeforeCommit)
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|moment| moment.as_str() == name)
    }
}

/// A definition that holds all limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) events: Vec<Moment>,
    pub(super) command: String,
    /// Empty for every path, and for none.
    pub(super) path_suffix: String,
    /// Seconds.
    pub(super) timeout: u64,
}

/// Reads a definition; `file` is its name, which says whether it is read as JSON.
pub(super) fn parse(file: &str, bytes: &[u8]) -> Result<Definition, Mistake> {
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(Mistake::new(at, "there is a NUL byte in it"));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Mistake::new(error.valid_up_to(), "it is not valid UTF-8 from here on"))?;
    if text.len() > LIMIT {
        return Err(Mistake::whole(format!("it has {} bytes, and {LIMIT} are the most", text.len())));
    }
    let is_json = file.ends_with(".json");
    let format = if is_json { "JSON" } else { "YAML" };
    shape(text, is_json)
        .map_err(|wrong| Mistake { message: format!("invalid hook {format}: {}", wrong.message), ..wrong })
        .and_then(Shape::check)
}

/// The fields with the right types, not yet held against their limits.
struct Shape {
    name: Field<String>,
    description: Field<String>,
    events: Field<Vec<Field<String>>>,
    command: Field<String>,
    path_suffix: Field<String>,
    timeout: Field<u64>,
}

struct Field<T> {
    at: usize,
    value: T,
}

fn shape(text: &str, is_json: bool) -> Result<Shape, Mistake> {
    let root = if is_json { Some(tree::json(text)?) } else { tree::yaml(text)? };
    let Some(root) = root else { return Err(Mistake::whole("it is empty")) };
    // Someone who approves a command must see it where it stands.
    if let Some(at) = root.first_dressed() {
        return Err(Mistake::new(at, "anchors, aliases and tags are not taken: write the value out"));
    }
    shape_of(&root)
}

/// A definition that stands inside another file.
pub(super) fn of_node(node: &Node) -> Result<Definition, Mistake> {
    shape_of(node)?.check()
}

fn shape_of(root: &Node) -> Result<Shape, Mistake> {
    let Some(entries) = root.map() else {
        return Err(Mistake::new(root.at, format!("a definition is a mapping, not {}", root.kind())));
    };
    let (mut name, mut description, mut events) = (None, None, None);
    let (mut command, mut path_suffix, mut timeout) = (None, None, None);
    for (key, value) in entries {
        match key.text() {
            Some("name") => name = Some(string("name", value)?),
            Some("description") => description = Some(string("description", value)?),
            Some("events") => events = Some(list(value)?),
            Some("command") => command = Some(string("command", value)?),
            Some("path_suffix") => path_suffix = Some(string("path_suffix", value)?),
            Some("timeout_sec") => timeout = Some(seconds(value)?),
            Some(other) => return Err(unknown(key.at, other)),
            None => return Err(Mistake::new(key.at, format!("{} cannot be a field's name", key.kind()))),
        }
    }
    let missing = |field: &str| Mistake::new(root.at, format!("the field `{field}` is missing"));
    let empty = || Field { at: root.at, value: String::new() };
    Ok(Shape {
        name: name.ok_or_else(|| missing("name"))?,
        events: events.ok_or_else(|| missing("events"))?,
        command: command.ok_or_else(|| missing("command"))?,
        description: description.unwrap_or_else(empty),
        path_suffix: path_suffix.unwrap_or_else(empty),
        timeout: timeout.unwrap_or(Field { at: root.at, value: 30 }),
    })
}

fn unknown(at: usize, field: &str) -> Mistake {
    const FIELDS: [&str; 6] = ["name", "description", "events", "command", "path_suffix", "timeout_sec"];
    let meant = match field {
        "event" | "on" => Some("events"),
        "timeout" => Some("timeout_sec"),
        "run" => Some("command"),
        "suffix" | "matcher" => Some("path_suffix"),
        _ => FIELDS.into_iter().find(|known| known.eq_ignore_ascii_case(field)),
    };
    let hint = meant.map(|known| format!(" (did you mean `{known}`?)")).unwrap_or_default();
    Mistake::new(at, format!("unknown field {}{hint}", text::quote(field)))
}

fn string(field: &str, node: &Node) -> Result<Field<String>, Mistake> {
    match node.text() {
        Some(text) => Ok(Field { at: node.at, value: text.to_owned() }),
        None => Err(Mistake::new(node.at, format!("`{field}` must be a text, not {}", node.kind()))),
    }
}

fn list(node: &Node) -> Result<Field<Vec<Field<String>>>, Mistake> {
    let Some(items) = node.list() else {
        return Err(Mistake::new(node.at, format!("`events` must be a list, not {}", node.kind())));
    };
    let items: Result<_, _> = items.iter().map(|item| string("events", item)).collect();
    Ok(Field { at: node.at, value: items? })
}

fn seconds(node: &Node) -> Result<Field<u64>, Mistake> {
    match node.whole_number() {
        Some(value) => Ok(Field { at: node.at, value }),
        None => Err(Mistake::new(node.at, "`timeout_sec` must be a whole number of seconds, without quotes")),
    }
}

impl Shape {
    fn check(self) -> Result<Definition, Mistake> {
        if !is_name(&self.name.value) {
            let message = format!("`name` must be 1 to {NAME_LIMIT} letters, digits, `_` or `-`");
            return Err(Mistake::new(self.name.at, message));
        }
        let command = &self.command;
        let wrong = if command.value.trim().is_empty() {
            Some("`command` is empty".to_owned())
        } else if command.value.len() > COMMAND_LIMIT {
            Some(format!("`command` has {} bytes, and {COMMAND_LIMIT} are the most", command.value.len()))
        } else {
            command.value.contains('\0').then(|| "`command` has a NUL in it".to_owned())
        };
        if let Some(message) = wrong {
            return Err(Mistake::new(command.at, message));
        }
        let events = self.events.value;
        if events.is_empty() || events.len() > Moment::ALL.len() {
            let message = format!("`events` must name 1 to {} events", Moment::ALL.len());
            return Err(Mistake::new(self.events.at, message));
        }
        let mut moments: Vec<Moment> = Vec::with_capacity(events.len());
        for event in events {
            let shown = text::quote(&event.value);
            let Some(moment) = Moment::named(&event.value) else {
                let near = Moment::ALL.into_iter().find(|moment| is_near(moment.as_str(), &event.value));
                let near =
                    near.map(|moment| format!(" (did you mean `{}`?)", moment.as_str())).unwrap_or_default();
                return Err(Mistake::new(event.at, format!("unknown event {shown}{near}")));
            };
            if moments.contains(&moment) {
                return Err(Mistake::new(event.at, format!("the event {shown} stands twice in `events`")));
            }
            moments.push(moment);
        }
        if !(1..=LONGEST).contains(&self.timeout.value) {
            let message = format!("`timeout_sec` must be 1 to {LONGEST}, not {}", self.timeout.value);
            return Err(Mistake::new(self.timeout.at, message));
        }
        let (description, suffix) = (self.description, self.path_suffix);
        let suffix_wrong = suffix.value.len() > SUFFIX_LIMIT || suffix.value.contains(['\0', '\n', '\r']);
        if description.value.len() > DESCRIPTION_LIMIT || suffix_wrong {
            let at = if suffix_wrong { suffix.at } else { description.at };
            let message = format!(
                "`description` can have {DESCRIPTION_LIMIT} bytes, `path_suffix` {SUFFIX_LIMIT} on one line"
            );
            return Err(Mistake::new(at, message));
        }
        Ok(Definition {
            name: self.name.value,
            description: description.value,
            events: moments,
            command: self.command.value,
            path_suffix: suffix.value,
            timeout: self.timeout.value,
        })
    }
}

/// Whether a name was probably meant: the same letters in another case or with other signs between.
fn is_near(known: &str, given: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    letters(known) == letters(given)
}

/// Whether a text can be the name of a hook or the stem of its file.
pub(super) fn is_name(text: &str) -> bool {
    (1..=NAME_LIMIT).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// What the name of a file in a folder of definitions says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileName {
    /// It has nothing to do with hooks.
    Other,
    /// A callback of the time before native hooks.
    Python,
    /// A definition by its ending, whose stem no definition can have.
    BadStem,
    /// A definition.
    Definition,
}

/// Judges a file's name.
pub(super) fn file_name(name: &str) -> FileName {
    if name.ends_with(".py") {
        return FileName::Python;
    }
    match name.rsplit_once('.') {
        // A name that is all ending has none.
        None | Some(("", _)) => FileName::Other,
        Some((stem, ending)) if ENDINGS.contains(&ending) => {
            if is_name(stem) {
                FileName::Definition
            } else {
                FileName::BadStem
            }
        }
        Some(_) => FileName::Other,
    }
}

/// A path as registrations hold it: one of the folders, then a definition's file name; `None` for any other. What a
/// reader of paths does not see, doubled and trailing slashes and dots between them, is left out.
pub(super) fn normal_path(path: &str) -> Option<String> {
    let path = camino::Utf8Path::new(path);
    let parts: Option<Vec<&str>> = path
        .components()
        .filter(|part| !matches!(part, camino::Utf8Component::CurDir))
        .map(|part| match part {
            camino::Utf8Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let parts = parts?;
    let [first, second, name] = parts.as_slice() else { return None };
    let folder = format!("{first}/{second}");
    let is_definition = FOLDERS.contains(&folder.as_str()) && file_name(name) == FileName::Definition;
    is_definition.then(|| format!("{folder}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wrong(text: &str) -> String {
        parse("x.yaml", text.as_bytes()).unwrap_err().message
    }

    fn right(text: &str) -> Definition {
        parse("x.yaml", text.as_bytes()).unwrap()
    }

    const GOOD: &str = "name: n\nevents: [on_complete]\ncommand: c\n";

    #[test]
    fn a_definition_is_read_with_its_defaults() {
        let read = right(GOOD);
        assert_eq!((read.timeout, read.path_suffix.as_str(), read.description.as_str()), (30, "", ""));
        assert_eq!(read.events, [Moment::OnComplete]);
        let block = right(
            "name: n\nevents:\n- before_command\n- after_edit\ncommand: |\n  a\n  b\ntimeout_sec: 0x10\n",
        );
        assert_eq!((block.command.as_str(), block.timeout, block.events.len()), ("a\nb\n", 16, 2));
    }

    #[test]
    fn scalars_without_quotes_are_texts() {
        let read = right("name: 007\nevents: [on_error]\ncommand: true\ndescription: ~\n");
        assert_eq!(
            (read.name.as_str(), read.command.as_str(), read.description.as_str()),
            ("007", "true", "~")
        );
        assert_eq!(right(&format!("{GOOD}description:\n")).description, "");
    }

    #[test]
    fn the_first_of_several_mistakes_is_told() {
        let mut text =
            "name: '!'\ncommand: ''\nevents: []\ntimeout_sec: 0\npath_suffix: \"\\n\"\n".to_owned();
        for (find, put, says) in [
            ("name: '!'", "name: n", "`name` must be"),
            ("command: ''", "command: c", "`command` is empty"),
            ("events: []", "events: [nope, nope]", "`events` must name 1 to 7"),
            ("[nope, nope]", "[on_error, on_error]", "unknown event \"nope\""),
            ("[on_error, on_error]", "[on_error]", "\"on_error\" stands twice"),
            ("timeout_sec: 0", "timeout_sec: 1", "`timeout_sec` must be 1 to 120, not 0"),
            ("\"\\n\"", "x", "`description` can have"),
        ] {
            assert!(wrong(&text).contains(says), "{text}: {}", wrong(&text));
            text = text.replacen(find, put, 1);
        }
        right(&text);
    }

    #[test]
    fn limits_are_decimal_bytes_and_exact() {
        let with = |field: &str, length: usize| format!("{field}: \"{}\"\n", "x".repeat(length));
        let definition = |command: usize, description: usize, suffix: usize| {
            let text = format!(
                "name: n\nevents: [on_complete]\n{}{}{}",
                with("command", command),
                with("description", description),
                with("path_suffix", suffix)
            );
            parse("x.yml", text.as_bytes()).is_ok()
        };
        assert!(definition(8_000, 1_000, 80));
        assert!(
            !definition(8_001, 1_000, 80) && !definition(8_000, 1_001, 80) && !definition(8_000, 1_000, 81)
        );
        let sized = |size: usize| format!("{GOOD}#{}", "é".repeat((size - GOOD.len() - 1) / 2));
        assert!(parse("x.yaml", sized(31_999).as_bytes()).is_ok());
        assert!(wrong(&sized(32_003)).contains("32000 are the most"));
        assert!(right(&GOOD.replace("name: n", &format!("name: {}", "n".repeat(80)))).name.len() == 80);
        assert!(wrong(&GOOD.replace("name: n", &format!("name: {}", "n".repeat(81)))).contains("1 to 80"));
        assert!(right(&format!("{GOOD}timeout_sec: 120")).timeout == 120);
        assert!(wrong(&format!("{GOOD}timeout_sec: 121")).contains("not 121"));
        // The size comes before anything that is in it.
        assert!(wrong(&format!("{}[", sized(32_003))).contains("are the most"));
    }

    #[test]
    fn shapes_that_are_refused() {
        for (text, says) in [
            ("", "it is empty"),
            ("# only a comment\n", "it is empty"),
            ("[1]", "a definition is a mapping, not a list"),
            ("events: [on_error]\ncommand: c", "the field `name` is missing"),
            ("name: n\ncommand: c", "the field `events` is missing"),
            ("name: n\nevents: on_complete\ncommand: c", "`events` must be a list, not a text"),
            ("name: n\nevents: [[x]]\ncommand: c", "`events` must be a text, not a list"),
            ("name: n\nevents: [on_error]\ncommand: {a: b}", "`command` must be a text, not a mapping"),
            ("name: n\nname: m\nevents: [on_error]\ncommand: c", "the key \"name\" stands twice"),
            ("base: &b {name: n}\n<<: *b\n", "anchors, aliases and tags"),
            ("name: !!str n\nevents: [on_error]\ncommand: c", "anchors, aliases and tags"),
            ("<<: {name: n}\nevents: [on_error]\ncommand: c", "unknown field \"<<\""),
            ("name: n\nevents: [on_error]\ncommand: c\n---\nname: m", "a second document"),
            ("\u{feff}name: n", "byte order mark"),
            ("name: n\nevents: [on_error]\ncommand: c\ntimeout: 3", "did you mean `timeout_sec`?"),
            ("name: n\nevents: [onComplete]\ncommand: c", "did you mean `on_complete`?"),
        ] {
            assert!(wrong(text).contains(says), "{text:?}: {}", wrong(text));
        }
        for seconds in ["'30'", "-1", "1.5", "null", "~", "", "true", "[1]"] {
            assert!(wrong(&format!("{GOOD}timeout_sec: {seconds}\n")).contains("whole number"), "{seconds}");
        }
        assert!(wrong("name: n\0").contains("NUL"));
        assert!(wrong("name: n\nevents: [on_error]\ncommand: \"a\\0b\"").contains("NUL"));
        assert!(parse("x.yaml", b"name: \xff").unwrap_err().message.contains("UTF-8"));
    }

    #[test]
    fn mistakes_have_line_and_column() {
        let text = "name: n\nevents:\n  - on_error\n  - nope\ncommand: c\n";
        assert_eq!(parse("x.yaml", text.as_bytes()).unwrap_err().place(text), (Some(4), Some(5)));
        let text = "{\n  \"name\": \"n\",\n  \"events\": [\"nope\"],\n  \"command\": \"c\"\n}";
        assert_eq!(parse("x.json", text.as_bytes()).unwrap_err().place(text), (Some(3), Some(14)));
    }

    #[test]
    fn json_is_read_as_json() {
        let json = |text: &str| parse("x.json", text.as_bytes());
        let read =
            json(r#"{"name":"n","events":["on_complete"],"command":"echo \ud83d\ude00 \/","timeout_sec":5}"#)
                .unwrap();
        assert_eq!((read.command.as_str(), read.timeout), ("echo 😀 /", 5));
        for wrong in [
            r#"{"name":"n","events":["on_complete"],"command":"c",}"#,
            r#"{"name":"n","events":["on_complete"],"command":true}"#,
            r#"{"name":"n","name":"n","events":["on_complete"],"command":"c"}"#,
            r#"{"name":"n","events":["on_complete"],"command":"c","timeout_sec":"5"}"#,
            r#"{"name":"n","events":["on_complete"],"command":"c","timeout_sec":5.0}"#,
            r#"{"name":"n","events":["on_complete"],"command":"c","timeout_sec":null}"#,
            "name: n",
            r#"{"name":"n","events":["on_complete"],"command":"\ud83d"}"#,
        ] {
            assert!(json(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn file_names_decide_before_anything_is_read() {
        for (name, is) in [
            ("check.yaml", FileName::Definition),
            ("A_b-9.yml", FileName::Definition),
            ("x.json", FileName::Definition),
            ("a.b.yaml", FileName::BadStem),
            ("é.yaml", FileName::BadStem),
            (".yaml", FileName::Other),
            ("x.YAML", FileName::Other),
            ("x.py", FileName::Python),
            ("a.b.py", FileName::Python),
            (".py", FileName::Python),
            ("x.PY", FileName::Other),
            ("py", FileName::Other),
            ("README", FileName::Other),
            ("x.yaml.bak", FileName::Other),
        ] {
            assert_eq!(file_name(name), is, "{name}");
        }
        assert_eq!(file_name(&format!("{}.yaml", "n".repeat(81))), FileName::BadStem);
    }

    #[test]
    fn paths_are_brought_to_one_form() {
        let normal = ".shadowcode/hooks/x.yaml";
        for path in
            [normal, ".shadowcode//hooks/x.yaml", "./.shadowcode/hooks/x.yaml/", ".shadowcode/./hooks/x.yaml"]
        {
            assert_eq!(normal_path(path).as_deref(), Some(normal), "{path}");
        }
        for path in [
            "/w/.shadow/hooks/x.yaml",
            ".shadow/hooks/../hooks/x.yaml",
            ".shadow/hooks/a/x.yaml",
            ".other/hooks/x.yaml",
            ".shadow/hooks/x.txt",
            "",
        ] {
            assert_eq!(normal_path(path), None, "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200), json in any::<bool>()) {
            let _ = parse(if json { "x.json" } else { "x.yaml" }, &bytes);
        }
    }
}
