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
    host_input: Option<Object>,
    renamed: Vec<Renamed>,
    fixed: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq)]
struct Renamed {
    host: String,
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
        let found: Vec<(&str, &'static str)> =
            spelling.keys.iter().filter_map(|(field, key)| Some((present(input, *field)?, *key))).collect();
        for (key, value) in input {
            match found.iter().find(|(host, _)| host == key) {
                Some((_, name)) => {
                    let (value, form) = match *name {
                        "command" if call.kind != Kind::Patch => command_text(value),
                        _ => (value.clone(), Form::Same),
                    };
                    if name != key || form != Form::Same {
                        renamed.push(Renamed { host: key.clone(), dialect: name, form });
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
            host_input: Some(input.clone()),
            renamed,
            fixed: marks_background.then_some(BACKGROUND),
        }
    }

    fn plain(call: &ToolCall) -> Self {
        Self {
            tool_name: call.name.clone(),
            tool_input: call.input.clone(),
            host_input: call.input.clone(),
            renamed: Vec::new(),
            fixed: None,
        }
    }

    /// A rewritten view in the host's own keys. The untouched view gives back the host's own input.
    ///
    /// # Errors
    /// Why the host has no input that means what was written.
    pub fn host_input(&self, rewritten: &Object) -> Result<Object, String> {
        if let (Some(host), Some(view)) = (&self.host_input, &self.tool_input)
            && rewritten == view
        {
            return Ok(host.clone());
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
        }
        let mut host = Object::with_capacity(rewritten.len());
        for (key, value) in rewritten {
            match self.renamed.iter().find(|renamed| renamed.dialect == key) {
                Some(Renamed { host: name, form: Form::Script(before), .. }) => {
                    let mut words = before.clone();
                    words.push(value);
                    host.insert(name.clone(), Value::Array(words));
                }
                Some(renamed) => {
                    host.insert(renamed.host.clone(), value);
                }
                None => {
                    host.insert(key, value);
                }
            }
        }
        if json::is_too_deep(&host) {
            return Err(format!("it is nested over {} levels deep", json::MOST_SENT));
        }
        Ok(host)
    }
}

const BACKGROUND: &str = "run_in_background";

/// Two keys of one input that name the same thing and differ: which one counts only the host knows.
pub fn ambiguity(kind: Kind, input: &Object) -> Option<(&'static str, &'static str)> {
    let fields: &[Field] = match kind {
        Kind::Shell | Kind::BackgroundShell => &[Field::Command],
        Kind::Read => &[Field::Path],
        Kind::Write => &[Field::Path, Field::Content],
        Kind::Edit => &[Field::Path, Field::Old, Field::New],
        _ => &[],
    };
    fields.iter().find_map(|field| {
        let mut present = aliases(*field).iter().copied().filter(|key| input.contains_key(*key));
        let first = present.next()?;
        let other = present.find(|key| input[*key] != input[first])?;
        Some((first, other))
    })
}

/// A key under which a call's command, path or code must stand, and under which there is no text. A command may be a list
/// of words.
pub fn unreadable(kind: Kind, input: &Object) -> Option<&'static str> {
    let fields: &[Field] = match kind {
        Kind::Shell | Kind::BackgroundShell => &[Field::Command],
        Kind::Read => &[Field::Path],
        Kind::Write => &[Field::Path, Field::Content],
        Kind::Edit => &[Field::Path, Field::Old, Field::New],
        Kind::Python => &[Field::Code],
        _ => &[],
    };
    fields.iter().find_map(|field| {
        let key = present(input, *field)?;
        let is_text = match &input[key] {
            Value::String(_) => true,
            Value::Array(words) if *field == Field::Command => {
                !words.is_empty() && words.iter().all(Value::is_string)
            }
            _ => false,
        };
        (!is_text).then_some(key)
    })
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
    let Some(edits) = input.get("edits").and_then(Value::as_array) else {
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
            renamed.push(Renamed { host: "edits".to_owned(), dialect: name, form });
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
            seen.host_input(&rewritten).unwrap(),
            object(json!({"filePath": "a", "oldString": "x", "newString": "z", "extra": 1}))
        );
        let shell = view("shell", json!({"command": ["bash", "-lc", "ls"]}), Name::Codex);
        assert_eq!(shell.tool_input, Some(object(json!({"command": "ls"}))));
        assert_eq!(
            shell.host_input(&object(json!({"command": "pwd"}))).unwrap(),
            object(json!({"command": ["bash", "-lc", "pwd"]}))
        );
    }

    #[test]
    fn what_cannot_be_said_back_is_refused() {
        let words = view("shell", json!({"command": ["ls", "a b"]}), Name::Albedo);
        assert_eq!(words.tool_input, Some(object(json!({"command": "ls 'a b'"}))));
        assert!(words.host_input(&object(json!({"command": "ls"}))).is_err());
        let edits = json!({"file_path": "a", "edits": [{"old_string": "1", "new_string": "2"}, {"old_string": "3", "new_string": "4"}]});
        let several = view("MultiEdit", edits.clone(), Name::Albedo);
        assert_eq!(several.tool_input.as_ref().unwrap()["new_string"], "2\n4");
        assert!(several.host_input(&object(json!({"file_path": "b"}))).is_err());
        let other = view("WebFetch", json!({"url": "x"}), Name::Shadowcode);
        let nested = |levels| (1..levels).fold(json!(1), |value, _| json!([value]));
        assert!(other.host_input(&object(json!({ "x": nested(json::MOST_SENT) }))).is_ok());
        assert!(other.host_input(&object(json!({ "x": nested(json::MOST_SENT + 1) }))).is_err());
        assert_eq!(several.host_input(several.tool_input.as_ref().unwrap()).unwrap(), object(edits));
        let started = view("background_start", json!({"command": "x"}), Name::Albedo);
        assert!(started.host_input(&object(json!({"command": "y", "run_in_background": false}))).is_err());
        assert_eq!(
            started.host_input(&object(json!({"command": "y"}))).unwrap(),
            object(json!({"command": "y"}))
        );
    }

    #[test]
    fn two_names_for_one_thing_are_noticed() {
        let input = object(json!({"path": "a", "file_path": "b"}));
        assert_eq!(ambiguity(Kind::Write, &input), Some(("file_path", "path")));
        assert_eq!(ambiguity(Kind::Write, &object(json!({"path": "a", "file_path": "a"}))), None);
        assert_eq!(ambiguity(Kind::Other, &input), None);
    }

    proptest! {
        #[test]
        fn an_untouched_view_gives_back_the_same_bytes(
            name in prop::sample::select(vec!["Bash", "exec_command", "write", "edit", "MultiEdit", "apply_patch", "patch_file", "python", "git_commit", "X"]),
            keys in prop::collection::vec((prop::sample::select(vec!["command", "cmd", "path", "file_path", "filePath", "content", "edits", "patch", "input", "code", "z", "run_in_background"]), "[a-z]{0,3}"), 0..6),
            dialect in prop::sample::select(vec![Name::Albedo, Name::Celeste, Name::Claude, Name::Codex, Name::Shadowcode]),
        ) {
            let input: Object = keys.into_iter().map(|(key, value)| (key.to_owned(), Value::String(value))).collect();
            let seen = view(name, Value::Object(input.clone()), dialect);
            let back = seen.host_input(seen.tool_input.as_ref().unwrap()).unwrap();
            prop_assert_eq!(serde_json::to_string(&back).unwrap(), serde_json::to_string(&input).unwrap());
        }
    }
}
