//! The files a tool call names, found in what each host sends: a path under one of several keys, in each of several
//! edits, in a patch, or in a patch inside a shell command.

use camino::Utf8Path;
use serde_json::Value;

use crate::json::Object;
use crate::patch;
use crate::spelling;
use crate::tool::{Kind, ToolCall};

/// Longest path that the system takes, in bytes, with the NUL at its end.
pub(crate) const LONGEST: usize = 4_096;

/// Keys under which one call names several changes.
const LISTS: [&str; 3] = ["edits", "replacements", "files"];

/// Keys under which a call names the directory it runs in.
const WORKDIRS: [&str; 2] = ["workdir", "working_directory"];

/// The files that a call reads or changes, as its host writes them, each once, in the order of the call. A shell
/// command names files only where it holds a patch.
pub fn of(call: &ToolCall) -> Vec<String> {
    let Some(input) = &call.input else { return Vec::new() };
    let mut paths = Vec::new();
    match call.kind {
        Kind::Shell | Kind::BackgroundShell => {
            paths = patch::files_of_command(&spelling::command(input).unwrap_or_default());
        }
        Kind::Patch => {
            paths.extend(patch_of(input).map(|patch| patch::files(&patch)).unwrap_or_default());
            if paths.is_empty() {
                named(input, &mut paths);
            }
        }
        Kind::Read | Kind::Write | Kind::Edit => named(input, &mut paths),
        Kind::Commit | Kind::Python | Kind::Mcp | Kind::Other => {}
    }
    // Where a call names the directory it runs in, its relative paths start there.
    if let Some(directory) = WORKDIRS.iter().find_map(|key| input.get(*key)?.as_str())
        && matches!(call.kind, Kind::Shell | Kind::BackgroundShell | Kind::Patch)
    {
        paths = paths.into_iter().map(|path| below(directory, &path)).collect();
    }
    paths.retain(|path| !path.is_empty());
    without_repeats(paths)
}

/// A path as seen from above `directory`, if that is one at all.
pub(crate) fn below(directory: &str, path: &str) -> String {
    // A model that writes a long one before many files would have all of it written out for each.
    let directory = if directory.len() < LONGEST { directory } else { "" };
    Utf8Path::new(directory).join(path).into_string()
}

/// The text of a patch, under whichever key the host sends it; a list of words counts by its last.
pub fn patch_of(input: &Object) -> Option<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => words.last().and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    spelling::patch_keys().iter().find_map(|key| text(input.get(*key)?))
}

/// The file or directory that a call names as its one argument of that sort, whatever its tool does.
pub fn argument(call: &ToolCall) -> Option<&str> {
    path_in(call.input.as_ref()?)
}

fn named(input: &Object, paths: &mut Vec<String>) {
    let path = |input: &Object| path_in(input).map(str::to_owned);
    paths.extend(path(input));
    for list in LISTS.iter().filter_map(|key| input.get(*key)?.as_array()) {
        paths.extend(list.iter().filter_map(Value::as_object).filter_map(path));
    }
}

fn path_in(input: &Object) -> Option<&str> {
    spelling::path_keys().iter().find_map(|key| input.get(*key)?.as_str())
}

pub(crate) fn without_repeats(paths: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::with_capacity(paths.len());
    let first: Vec<bool> = paths.iter().map(|path| seen.insert(path.as_str())).collect();
    paths.into_iter().zip(first).filter_map(|(path, is_first)| is_first.then_some(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn found(name: &str, input: &str) -> Vec<String> {
        let input: Option<Object> = serde_json::from_str(input).ok();
        of(&ToolCall { name: name.to_owned(), kind: Kind::of(name, input.as_ref()), input, call_id: None })
    }

    #[test]
    fn a_path_is_found_under_every_hosts_key() {
        assert_eq!(found("Write", r#"{"file_path":"/w/a.rs","content":""}"#), ["/w/a.rs"]);
        assert_eq!(found("edit", r#"{"filePath":"a.py","oldString":"x","newString":"y"}"#), ["a.py"]);
        assert_eq!(found("edit_file", r#"{"path":"$(touch x);'.txt"}"#), ["$(touch x);'.txt"]);
        assert_eq!(
            found("MultiEdit", r#"{"file_path":"a","edits":[{"old_string":"1"},{"path":"b"},{"path":"a"}]}"#),
            ["a", "b"]
        );
        assert!(found("WebFetch", r#"{"path":"a"}"#).is_empty());
        assert!(found("Write", "null").is_empty());
    }

    #[test]
    fn a_patch_names_each_file_once_under_every_key() {
        let patch = "*** Begin Patch\n*** Add File: n.md\n+*** Add File: not.md\n*** Update File: a b.rs\n*** Move to: c.rs\n@@\n-x\n*** Delete File: d.rs\r\n*** End Patch\n";
        let expected = ["n.md", "a b.rs", "c.rs", "d.rs"];
        for key in ["patch", "input", "command", "patchText"] {
            assert_eq!(found("apply_patch", &json!({ key: patch }).to_string()), expected, "{key}");
        }
        assert_eq!(found("apply_patch", &json!({"command": ["apply_patch", patch]}).to_string()), expected);
        let shell = format!("cd x && apply_patch <<'EOF'\n{patch}EOF");
        let there = expected.map(|path| format!("x/{path}"));
        assert_eq!(found("Bash", &json!({ "command": shell }).to_string()), there);
        assert_eq!(found("shell", &json!({"command": ["bash", "-lc", shell]}).to_string()), there);
        assert!(
            found("Bash", &json!({"command": format!("cat <<'EOF'\n{patch}EOF")}).to_string()).is_empty()
        );
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in any::<String>(), name in "Bash|apply_patch|Edit") {
            let input = json!({"command": text, "edits": text});
            let input = input.as_object().cloned();
            let call = ToolCall { kind: Kind::of(&name, input.as_ref()), name, input, call_id: None };
            of(&call);
        }
    }
}
