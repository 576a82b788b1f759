//! Tool calls, and the kind that lets a hook written for one agent's `exec` guard another agent's `Bash`.

use std::str::FromStr;

use serde_json::Value;

use crate::json::Object;

/// What a tool does, whatever its agent calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Runs a command and waits for it.
    Shell,
    /// Starts a command and does not wait.
    BackgroundShell,
    /// Reads a file.
    Read,
    /// Writes a whole file.
    Write,
    /// Replaces text in a file.
    Edit,
    /// Applies a patch, to several files perhaps.
    Patch,
    /// Makes a commit.
    Commit,
    /// Runs Python code.
    Python,
    /// A tool of an MCP server.
    Mcp,
    /// Anything else.
    Other,
}

/// Words of the kinds, as `tool_kind` names them.
const KINDS: [(&str, Kind); 10] = [
    ("shell", Kind::Shell),
    ("background_shell", Kind::BackgroundShell),
    ("read", Kind::Read),
    ("write", Kind::Write),
    ("edit", Kind::Edit),
    ("patch", Kind::Patch),
    ("commit", Kind::Commit),
    ("python", Kind::Python),
    ("mcp", Kind::Mcp),
    ("other", Kind::Other),
];

/// Names under which agents are known to offer their tools. `patch_file` and calls in the background depend on
/// their input as well: see [`Kind::of`].
const NAMES: [(&str, Kind); 40] = [
    ("Bash", Kind::Shell),
    ("bash", Kind::Shell),
    ("exec", Kind::Shell),
    ("exec_command", Kind::Shell),
    ("local_shell", Kind::Shell),
    ("local_shell_call", Kind::Shell),
    ("run_command", Kind::Shell),
    ("run_shell_command", Kind::Shell),
    ("run_terminal_cmd", Kind::Shell),
    ("shell", Kind::Shell),
    ("shell_command", Kind::Shell),
    ("Shell", Kind::Shell),
    ("Execute", Kind::Shell),
    ("execute", Kind::Shell),
    ("background_start", Kind::BackgroundShell),
    ("Read", Kind::Read),
    ("read", Kind::Read),
    ("read_file", Kind::Read),
    ("view", Kind::Read),
    ("Write", Kind::Write),
    ("write", Kind::Write),
    ("write_file", Kind::Write),
    ("create", Kind::Write),
    ("Create", Kind::Write),
    ("create_file", Kind::Write),
    ("Edit", Kind::Edit),
    ("edit", Kind::Edit),
    ("edit_file", Kind::Edit),
    ("MultiEdit", Kind::Edit),
    ("multiedit", Kind::Edit),
    ("NotebookEdit", Kind::Edit),
    ("patch_file", Kind::Edit),
    ("replace", Kind::Edit),
    ("str_replace", Kind::Edit),
    ("search_replace", Kind::Edit),
    ("apply_patch", Kind::Patch),
    ("ApplyPatch", Kind::Patch),
    ("patch", Kind::Patch),
    ("git_commit", Kind::Commit),
    ("python", Kind::Python),
];

impl Kind {
    /// The kind of a tool, told from its name and, where one name covers two kinds, from its input.
    pub fn of(name: &str, input: Option<&Object>) -> Self {
        let has = |key: &str| input.is_some_and(|input| input.contains_key(key));
        match NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind) {
            Some(Kind::Shell) if in_background(input) => Self::BackgroundShell,
            Some(Kind::Edit) if name == "patch_file" && has("patch") => Self::Patch,
            Some(kind) => kind,
            None if name.starts_with("mcp__") => Self::Mcp,
            None => Self::Other,
        }
    }

    /// The kind's word.
    pub fn as_str(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("other", |(word, _)| word)
    }
}

fn in_background(input: Option<&Object>) -> bool {
    let flag = |key: &str| input.and_then(|input| input.get(key)).and_then(Value::as_bool).unwrap_or(false);
    flag("run_in_background") || flag("is_background")
}

impl FromStr for Kind {
    type Err = ();
    fn from_str(word: &str) -> Result<Self, ()> {
        KINDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind).ok_or(())
    }
}

/// One call of a tool, as its host reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The host's name for the tool.
    pub name: String,
    /// What the tool does.
    pub kind: Kind,
    /// The arguments, in the host's keys; `None` where the host sent none.
    pub input: Option<Object>,
    /// The host's name for this one call.
    pub call_id: Option<String>,
}

impl ToolCall {
    /// The same call with another input. A kind that was told from the input is told anew.
    #[must_use]
    pub fn with_input(&self, input: Object) -> Self {
        let was_told = self.kind == Kind::of(&self.name, self.input.as_ref());
        let kind = if was_told { Kind::of(&self.name, Some(&input)) } else { self.kind };
        Self { name: self.name.clone(), kind, input: Some(input), call_id: self.call_id.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_from_names_and_inputs() {
        let of = |name: &str, input: &str| Kind::of(name, serde_json::from_str(input).ok().as_ref());
        assert_eq!(of("Bash", r#"{"command":"x"}"#), Kind::Shell);
        assert_eq!(of("Bash", r#"{"command":"x","run_in_background":true}"#), Kind::BackgroundShell);
        assert_eq!(of("patch_file", r#"{"path":"a"}"#), Kind::Edit);
        assert_eq!(of("patch_file", r#"{"patch":"a"}"#), Kind::Patch);
        assert_eq!(of("mcp__memory__create", "{}"), Kind::Mcp);
        assert_eq!(of("WebFetch", "{}"), Kind::Other);
        for (word, kind) in KINDS {
            assert_eq!((kind.as_str(), word.parse()), (word, Ok(kind)));
        }
    }
}
