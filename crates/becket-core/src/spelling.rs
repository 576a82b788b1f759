//! How each dialect spells tool calls: names and keys, and the way back for a rewrite.
//!
//! A hook hears of a tool in its own dialect's words, whatever the host called it. Keys that the table does not
//! know are passed on untouched both ways, and an untouched view gives back the host's own input.

use serde_json::Value;

use crate::dialect::Name;
use crate::json::{self, Object};
use crate::tool::{Kind, ToolCall};

/// A part of a tool's input that several agents have under different keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Command,
    Path,
    Content,
    Old,
    New,
    Patch,
    Message,
    Code,
}

/// The keys under which hosts are known to send a field, the commonest first.
fn aliases(field: Field) -> &'static [&'static str] {
    match field {
        Field::Command => &["command", "cmd"],
        Field::Path => &["file_path", "path", "filePath", "absolute_path", "target_file", "notebook_path"],
        Field::Content => &["content", "contents", "file_text"],
        Field::Old => &["old_string", "oldString", "old_str"],
        Field::New => &["new_string", "newString", "new_str", "new_source"],
        Field::Patch => &["patch", "input", "command", "patchText"],
        Field::Message => &["message"],
        Field::Code => &["code"],
    }
}

/// The keys under which hosts are known to name a file, the commonest first.
pub(crate) fn path_keys() -> &'static [&'static str] {
    aliases(Field::Path)
}

/// The keys under which hosts are known to send a patch, the commonest first.
pub(crate) fn patch_keys() -> &'static [&'static str] {
    aliases(Field::Patch)
}

/// The command of a shell call as one text, whatever its key and form; `None` where it is no text.
pub(crate) fn command(input: &Object) -> Option<String> {
    match command_text(&input[present(input, Field::Command)?]).0 {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Why a tool's input cannot be judged, whoever wrote it: the model, or a hook that rewrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// Two keys that mean the same thing and say different things.
    #[error("`tool_input` has both `{first}` and `{second}`, which name the same thing and differ")]
    Ambiguous {
        /// One key.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A key that every guard must be able to read, and none can.
    #[error("`tool_input.{field}` is not a text, so no guard could read it")]
    Unreadable {
        /// The key.
        field: &'static str,
    },
}

/// One tool in one dialect's spelling.
struct Spelling {
    tool: &'static str,
    keys: &'static [(Field, &'static str)],
}

/// The whole table; `None` where the dialect keeps the host's own name and keys.
fn spelling(dialect: Name, kind: Kind) -> Option<Spelling> {
    use Field::{Code, Command, Content, Message, New, Old, Patch, Path};
    let (tool, keys): (_, &'static [_]) = match (dialect, kind) {
        (Name::Albedo | Name::Claude, Kind::Shell | Kind::BackgroundShell)
        | (Name::Codex, Kind::Shell | Kind::BackgroundShell) => ("Bash", &[(Command, "command")]),
        (Name::Albedo | Name::Claude, Kind::Read) => ("Read", &[(Path, "file_path")]),
        (Name::Albedo | Name::Claude, Kind::Write) => ("Write", &[(Path, "file_path"), (Content, "content")]),
        (Name::Albedo | Name::Claude, Kind::Edit) => {
            ("Edit", &[(Path, "file_path"), (Old, "old_string"), (New, "new_string")])
        }
        (Name::Albedo | Name::Claude | Name::Codex, Kind::Patch) => ("apply_patch", &[(Patch, "command")]),
        (Name::Albedo | Name::Claude | Name::Celeste, Kind::Python) => ("python", &[(Code, "code")]),
        (Name::Celeste, Kind::Shell | Kind::BackgroundShell) => ("bash", &[(Command, "command")]),
        (Name::Celeste | Name::Shadowcode, Kind::Read) => ("read_file", &[(Path, "path")]),
        (Name::Celeste | Name::Shadowcode, Kind::Write) => {
            ("write_file", &[(Path, "path"), (Content, "content")])
        }
        (Name::Celeste, Kind::Edit) => {
            ("patch_file", &[(Path, "path"), (Old, "old_string"), (New, "new_string")])
        }
        (Name::Celeste, Kind::Patch) => ("patch_file", &[(Patch, "patch")]),
        (Name::Shadowcode, Kind::Shell) => ("exec", &[(Command, "command")]),
        (Name::Shadowcode, Kind::BackgroundShell) => ("background_start", &[(Command, "command")]),
        (Name::Shadowcode, Kind::Edit) => {
            ("edit_file", &[(Path, "path"), (Old, "old_string"), (New, "new_string")])
        }
        (Name::Shadowcode, Kind::Patch) => ("apply_patch", &[(Patch, "patch")]),
        (Name::Shadowcode, Kind::Commit) => ("git_commit", &[(Message, "message")]),
        _ => return None,
    };
    Some(Spelling { tool, keys })
}

/// A tool's name in the spelling of `dialect`: what [`View::tool_name`] says, without looking into the input.
pub fn tool_name(call: &ToolCall, dialect: Name) -> &str {
    spelling(dialect, call.kind).map_or(&call.name, |spelling| spelling.tool)
}

/// A tool call as one dialect sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The tool's name in the dialect's spelling.
    pub tool_name: String,
    /// The input in the dialect's keys; `None` where the host sent none.
    pub tool_input: Option<Object>,
    /// The call as its host reports it.
    call: ToolCall,
    renamed: Vec<Renamed>,
    fixed: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq)]
struct Renamed {
    host: &'static str,
    dialect: &'static str,
    form: Form,
}

/// How a field's value in the view was made of the host's.
#[derive(Debug, Clone, PartialEq)]
enum Form {
    /// It is the same.
    Same,
    /// The host has a list of words that ends in a script for a shell: these come before it.
    Script(Vec<Value>),
    /// It cannot be turned back, for this reason.
    OneWay(&'static str),
}

impl View {
    /// The call in the spelling of `dialect`.
    pub fn of(call: &ToolCall, dialect: Name) -> Self {
        let Some(spelling) = spelling(dialect, call.kind) else {
            return Self::plain(call);
        };
        let Some(input) = &call.input else {
            return Self { tool_name: spelling.tool.to_owned(), ..Self::plain(call) };
        };
        let mut view = Object::with_capacity(input.len() + 1);
        let mut renamed = Vec::new();
        let found: Vec<(&'static str, &'static str)> =
            spelling.keys.iter().filter_map(|(field, key)| Some((present(input, *field)?, *key))).collect();
        for (key, value) in input {
            match found.iter().find(|(host, _)| host == key) {
                Some((host, name)) => {
                    let (value, form) = match *name {
                        "command" if call.kind != Kind::Patch => command_text(value),
                        _ => (value.clone(), Form::Same),
                    };
                    if name != key || form != Form::Same {
                        renamed.push(Renamed { host, dialect: name, form });
                    }
                    view.insert((*name).to_owned(), value);
                }
                None => {
                    view.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        if call.kind == Kind::Edit {
            several_edits(input, &mut view, &mut renamed);
        }
        let marks_background =
            call.kind == Kind::BackgroundShell && spelling.tool == "Bash" && !view.contains_key(BACKGROUND);
        if marks_background {
            view.insert(BACKGROUND.to_owned(), Value::Bool(true));
        }
        Self {
            tool_name: spelling.tool.to_owned(),
            tool_input: Some(view),
            call: call.clone(),
            renamed,
            fixed: marks_background.then_some(BACKGROUND),
        }
    }

    fn plain(call: &ToolCall) -> Self {
        Self {
            tool_name: call.name.clone(),
            tool_input: call.input.clone(),
            call: call.clone(),
            renamed: Vec::new(),
            fixed: None,
        }
    }

    /// The call with what a hook made of the view as its input, in the host's own keys. The untouched view gives back the
    /// call as it is. A rewrite is what will run, so it is held to what holds for the input of a gate's envelope.
    ///
    /// # Errors
    /// What the model is told: why the host has no input that means what was written, or why no guard could judge it.
    pub fn rewritten(&self, rewrite: &Object) -> Result<ToolCall, String> {
        self.in_host_keys(rewrite)
            .map_err(|why| format!("a hook rewrote this call, and the rewrite cannot be used: {why}"))
    }

    fn in_host_keys(&self, rewritten: &Object) -> Result<ToolCall, String> {
        if self.call.input.is_some() && self.tool_input.as_ref() == Some(rewritten) {
            return Ok(self.call.clone());
        }
        let mut rewritten = rewritten.clone();
        if let Some(key) = self.fixed
            && rewritten.remove(key).is_some_and(|value| value != Value::Bool(true))
        {
            return Err(format!("this tool cannot change `{key}`"));
        }
        for renamed in &self.renamed {
            if let Form::OneWay(why) = renamed.form {
                return Err(why.to_owned());
            }
            let Renamed { dialect: first, host: second, .. } = *renamed;
            if rewritten.get(second).is_some_and(|other| rewritten.get(first).is_some_and(|one| one != other))
            {
                return Err(InputError::Ambiguous { first, second }.to_string());
            }
        }
        let mut host = Object::with_capacity(rewritten.len());
        for (key, value) in rewritten {
            let Some(renamed) = self.renamed.iter().find(|renamed| renamed.dialect == key) else {
                host.entry(key).or_insert(value);
                continue;
            };
            let value = match &renamed.form {
                Form::Script(before) => Value::Array(before.iter().cloned().chain([value]).collect()),
                _ => value,
            };
            host.insert(renamed.host.to_owned(), value);
        }
        if json::is_too_deep(&host) {
            return Err(format!("it is nested over {} levels deep", json::MOST_SENT));
        }
        let call = self.call.with_input(host);
        if let Some(input) = &call.input {
            let checked = check_keys(call.kind, input).and_then(|()| check_texts(call.kind, input));
            checked.map_err(|error| error.to_string())?;
        }
        Ok(call)
    }
}

const BACKGROUND: &str = "run_in_background";

/// What of a call's input every guard must be able to tell and to read.
fn judged(kind: Kind) -> &'static [Field] {
    match kind {
        Kind::Shell | Kind::BackgroundShell => &[Field::Command],
        Kind::Read => &[Field::Path],
        Kind::Write => &[Field::Path, Field::Content],
        Kind::Edit => &[Field::Path, Field::Old, Field::New],
        Kind::Patch => &[Field::Patch],
        Kind::Python => &[Field::Code],
        Kind::Commit => &[Field::Message],
        Kind::Mcp | Kind::Other => &[],
    }
}

/// Whether each part of an input has one value.
///
/// # Errors
/// [`InputError::Ambiguous`]: two keys name the same thing and differ; which one counts only the host knows.
pub fn check_keys(kind: Kind, input: &Object) -> Result<(), InputError> {
    for field in judged(kind) {
        let mut present = aliases(*field).iter().copied().filter(|key| input.contains_key(*key));
        let Some(first) = present.next() else { continue };
        if let Some(second) = present.find(|key| input[*key] != input[first]) {
            return Err(InputError::Ambiguous { first, second });
        }
    }
    edits(kind, input).iter().filter_map(Value::as_object).try_for_each(|edit| check_keys(kind, edit))
}

/// Whether what must be a text in an input is one. A command and a patch may be lists of words.
///
/// # Errors
/// [`InputError::Unreadable`].
pub fn check_texts(kind: Kind, input: &Object) -> Result<(), InputError> {
    for field in judged(kind) {
        let Some(key) = present(input, *field) else { continue };
        let is_text = match &input[key] {
            Value::String(_) => true,
            // A commit may go without a message of its own.
            Value::Null => matches!(field, Field::Message),
            Value::Array(words) if matches!(field, Field::Command | Field::Patch) => {
                !words.is_empty() && words.iter().all(Value::is_string)
            }
            _ => false,
        };
        if !is_text {
            return Err(InputError::Unreadable { field: key });
        }
    }
    let unreadable = InputError::Unreadable { field: EDITS };
    if kind == Kind::Edit && input.get(EDITS).is_some_and(|edits| !edits.is_array() && !edits.is_null()) {
        return Err(unreadable);
    }
    edits(kind, input).iter().try_for_each(|edit| check_texts(kind, edit.as_object().ok_or(unreadable)?))
}

/// Where a call makes several edits at once: each names what one does.
const EDITS: &str = "edits";

fn edits(kind: Kind, input: &Object) -> &[Value] {
    let edits = (kind == Kind::Edit).then(|| input.get(EDITS)?.as_array()).flatten();
    edits.map_or(&[], Vec::as_slice)
}

fn present(input: &Object, field: Field) -> Option<&'static str> {
    aliases(field).iter().copied().find(|key| input.contains_key(*key))
}

/// A command as one text. Some hosts send a list of words.
fn command_text(value: &Value) -> (Value, Form) {
    let Value::Array(words) = value else {
        return (value.clone(), Form::Same);
    };
    let texts: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
    match texts.as_deref() {
        Some([shell, option, script]) if is_shell(shell) && matches!(*option, "-c" | "-lc") => {
            (Value::String((*script).to_owned()), Form::Script(words[..2].to_vec()))
        }
        Some(texts) => {
            let quoted: Vec<String> = texts.iter().map(|word| shell_quote(word)).collect();
            (Value::String(quoted.join(" ")), Form::OneWay("the agent sent this command as a list of words"))
        }
        None => (value.clone(), Form::Same),
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh")
}

/// A word that a POSIX shell reads back as itself.
pub fn shell_quote(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A call that makes several edits at once shows all old and all new texts, one after the other, so that a guard
/// that reads them misses none.
fn several_edits(input: &Object, view: &mut Object, renamed: &mut Vec<Renamed>) {
    let Some(edits) = input.get(EDITS).and_then(Value::as_array) else {
        return;
    };
    for (field, name) in [(Field::Old, "old_string"), (Field::New, "new_string")] {
        let texts: Vec<&str> = edits
            .iter()
            .filter_map(Value::as_object)
            .filter_map(|edit| edit.get(present(edit, field)?)?.as_str())
            .collect();
        if !texts.is_empty() && !view.contains_key(name) {
            view.insert(name.to_owned(), Value::String(texts.join("\n")));
            let form = Form::OneWay("this call makes several edits at once");
            renamed.push(Renamed { host: EDITS, dialect: name, form });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn call(name: &str, input: &Value) -> ToolCall {
        let input = input.as_object().cloned();
        ToolCall { name: name.to_owned(), kind: Kind::of(name, input.as_ref()), input, call_id: None }
    }

    #[expect(clippy::needless_pass_by_value, reason = "tests read better with literals")]
    fn view(name: &str, input: Value, dialect: Name) -> View {
        View::of(&call(name, &input), dialect)
    }

    fn host_input(view: &View, rewrite: &Object) -> Result<Object, String> {
        view.rewritten(rewrite).map(|call| call.input.unwrap())
    }

    fn object(value: Value) -> Object {
        match value {
            Value::Object(object) => object,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn each_dialect_hears_its_own_words() {
        let gemini = view("write_file", json!({"file_path": "a", "content": "b"}), Name::Celeste);
        assert_eq!(
            (gemini.tool_name.as_str(), gemini.tool_input),
            ("write_file", Some(object(json!({"path": "a", "content": "b"}))))
        );
        let codex = view("exec_command", json!({"cmd": "ls", "workdir": "/"}), Name::Albedo);
        assert_eq!(codex.tool_input, Some(object(json!({"command": "ls", "workdir": "/"}))));
        let other = view("WebFetch", json!({"url": "x"}), Name::Shadowcode);
        assert_eq!(
            (other.tool_name.as_str(), other.tool_input),
            ("WebFetch", Some(object(json!({"url": "x"}))))
        );
        let started = view("background_start", json!({"command": "x"}), Name::Albedo);
        assert_eq!(started.tool_input, Some(object(json!({"command": "x", "run_in_background": true}))));
    }

    #[test]
    fn a_rewrite_comes_back_in_the_hosts_keys() {
        let seen = view(
            "edit",
            json!({"filePath": "a", "oldString": "x", "newString": "y", "extra": 1}),
            Name::Celeste,
        );
        let mut rewritten = seen.tool_input.clone().unwrap();
        rewritten.insert("new_string".to_owned(), json!("z"));
        assert_eq!(
            host_input(&seen, &rewritten).unwrap(),
            object(json!({"filePath": "a", "oldString": "x", "newString": "z", "extra": 1}))
        );
        let shell = view("shell", json!({"command": ["bash", "-lc", "ls"]}), Name::Codex);
        assert_eq!(shell.tool_input, Some(object(json!({"command": "ls"}))));
        assert_eq!(
            host_input(&shell, &object(json!({"command": "pwd"}))).unwrap(),
            object(json!({"command": ["bash", "-lc", "pwd"]}))
        );
    }

    #[test]
    fn what_cannot_be_said_back_is_refused() {
        let words = view("shell", json!({"command": ["ls", "a b"]}), Name::Albedo);
        assert_eq!(words.tool_input, Some(object(json!({"command": "ls 'a b'"}))));
        assert!(host_input(&words, &object(json!({"command": "ls"}))).is_err());
        let edits = json!({"file_path": "a", "edits": [{"old_string": "1", "new_string": "2"}, {"old_string": "3", "new_string": "4"}]});
        let several = view("MultiEdit", edits.clone(), Name::Albedo);
        assert_eq!(several.tool_input.as_ref().unwrap()["new_string"], "2\n4");
        assert!(host_input(&several, &object(json!({"file_path": "b"}))).is_err());
        let other = view("WebFetch", json!({"url": "x"}), Name::Shadowcode);
        let nested = |levels| (1..levels).fold(json!(1), |value, _| json!([value]));
        assert!(host_input(&other, &object(json!({ "x": nested(json::MOST_SENT) }))).is_ok());
        assert!(host_input(&other, &object(json!({ "x": nested(json::MOST_SENT + 1) }))).is_err());
        assert_eq!(host_input(&several, several.tool_input.as_ref().unwrap()).unwrap(), object(edits));
        let started = view("background_start", json!({"command": "x"}), Name::Albedo);
        assert!(host_input(&started, &object(json!({"command": "y", "run_in_background": false}))).is_err());
        assert_eq!(
            host_input(&started, &object(json!({"command": "y"}))).unwrap(),
            object(json!({"command": "y"}))
        );
    }

    #[test]
    fn a_rewrite_is_held_to_what_holds_for_an_envelope() {
        let refused = |name: &str, input: Value, dialect, rewrite: Value| {
            host_input(&view(name, input, dialect), &object(rewrite)).unwrap_err()
        };
        for dialect in [Name::Albedo, Name::Celeste, Name::Claude, Name::Codex] {
            let both = json!({"command": "ls", "cmd": "rm -rf /"});
            for (name, input) in [
                ("exec_command", json!({"cmd": "x"})),
                ("Bash", json!({"command": "x"})),
                ("shell", json!({"command": ["bash", "-lc", "x"]})),
            ] {
                let why = refused(name, input.clone(), dialect, both.clone());
                assert!(why.contains("has both `command` and `cmd`"), "{why}");
                for no_text in [json!(5), json!(null), json!({}), json!([]), json!([1])] {
                    let why = refused(name, input.clone(), dialect, json!({ "command": no_text }));
                    assert!(why.contains("is not a text"), "{why}");
                }
            }
            let why = refused(
                "apply_patch",
                json!({"input": "x"}),
                dialect,
                json!({"command": "a", "patch": "b", "input": "c"}),
            );
            assert!(why.contains("has both"), "{why}");
        }
        let why = refused(
            "Write",
            json!({"file_path": "a", "content": ""}),
            Name::Celeste,
            json!({"path": "a", "file_path": "b"}),
        );
        assert!(why.contains("has both `path` and `file_path`"), "{why}");
        // A rewrite may make another kind of call of it, which then is judged as that.
        let other = view("patch_file", json!({"path": "a"}), Name::Celeste);
        assert_eq!(other.rewritten(&object(json!({"patch": "p"}))).unwrap().kind, Kind::Patch);
    }

    #[test]
    fn two_names_for_one_thing_are_noticed() {
        let input = object(json!({"path": "a", "file_path": "b"}));
        let both = InputError::Ambiguous { first: "file_path", second: "path" };
        assert_eq!(check_keys(Kind::Write, &input), Err(both));
        assert_eq!(check_keys(Kind::Write, &object(json!({"path": "a", "file_path": "a"}))), Ok(()));
        assert_eq!(check_keys(Kind::Other, &input), Ok(()));
        assert!(check_keys(Kind::Patch, &object(json!({"patch": "a", "input": "b"}))).is_err());
    }

    fn tool() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "Bash",
            "exec_command",
            "Read",
            "write",
            "edit",
            "MultiEdit",
            "apply_patch",
            "patch_file",
            "python",
            "git_commit",
            "background_start",
            "X",
        ])
    }

    /// Any keys that mean something to somebody, with texts, words or numbers.
    fn input() -> impl Strategy<Value = Object> {
        let key = prop::sample::select(vec![
            "command",
            "cmd",
            "path",
            "file_path",
            "filePath",
            "content",
            "contents",
            "old_string",
            "oldString",
            "new_string",
            "edits",
            "patch",
            "input",
            "code",
            "z",
            "run_in_background",
        ]);
        let value = prop_oneof![
            6 => "[ab]".prop_map(Value::String),
            1 => Just(json!(["bash", "-lc", "a"])),
            1 => Just(json!(["a", "b"])),
            1 => Just(json!(1)),
            1 => Just(json!(true)),
        ];
        prop::collection::vec((key, value), 0..6)
            .prop_map(|keys| keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    proptest! {
        #[test]
        fn what_a_rewrite_makes_runs_as_every_guard_sees_it(
            name in tool(), asked in input(), rewrite in input(), author in prop::sample::select(Name::EVERY.to_vec()),
        ) {
            let Ok(event) = crate::event::Event::from_fields(
                object(json!({"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": asked})), None,
            ) else { return Ok(()) };
            let seen = View::of(event.tool.as_ref().unwrap(), author);
            let Ok(call) = seen.rewritten(&rewrite) else { return Ok(()) };
            // An agent that asked for this would be judged, and in the same way.
            let asked = json!({"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": call.input});
            let read = crate::event::Event::from_fields(object(asked), None).unwrap().tool.unwrap();
            prop_assert_eq!(read.kind, call.kind);
            let host = call.input.as_ref().unwrap();
            // Nothing that was written is lost on the way.
            for value in rewrite.values().filter(|value| **value != Value::Bool(true)) {
                let is_there = |at: &Value| at == value || at.as_array().is_some_and(|words| words.last() == Some(value));
                prop_assert!(host.values().any(is_there), "{value} of {rewrite:?} in {host:?}");
            }
            // Whatever key the host takes it from, every guard finds it under its own.
            for dialect in Name::EVERY {
                let Some(spelling) = spelling(dialect, call.kind) else { continue };
                let shown = View::of(&call, dialect).tool_input.unwrap();
                for (field, own) in spelling.keys {
                    for key in aliases(*field).iter().filter(|key| host.contains_key(**key) && judged(call.kind).contains(field)) {
                        let expected = match field {
                            Field::Command => command_text(&host[*key]).0,
                            _ => host[*key].clone(),
                        };
                        prop_assert_eq!(&shown[*own], &expected, "{} in {:?}", key, host);
                    }
                }
            }
        }

        #[test]
        fn an_untouched_view_gives_back_the_same_bytes(
            name in tool(), input in input(), dialect in prop::sample::select(Name::EVERY.to_vec()),
        ) {
            let seen = view(name, Value::Object(input.clone()), dialect);
            let back = host_input(&seen, seen.tool_input.as_ref().unwrap()).unwrap();
            prop_assert_eq!(serde_json::to_string(&back).unwrap(), serde_json::to_string(&input).unwrap());
        }
    }
}
