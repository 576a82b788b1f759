//! The files a tool call names, found in what each host sends: a path under one of several keys, in each of several
//! edits, in a patch, or in a patch inside a shell command.

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::diff;
use crate::json::Object;
use crate::spelling;
use crate::tool::{Kind, ToolCall};

/// Keys under which one call names several changes.
const LISTS: [&str; 3] = ["edits", "replacements", "files"];

/// The line with which a patch in the form of `apply_patch` begins.
const PATCH_BEGINS: &str = "*** Begin Patch";

/// The line with which it ends.
const PATCH_ENDS: &str = "*** End Patch";

/// Keys under which a call names the directory it runs in.
const WORKDIRS: [&str; 2] = ["workdir", "working_directory"];

/// The files that a call reads or changes, as its host writes them, each once, in the order of the call. A shell
/// command names files only where it holds a patch.
pub fn of(call: &ToolCall) -> Vec<String> {
    let Some(input) = &call.input else { return Vec::new() };
    let mut paths = Vec::new();
    match call.kind {
        Kind::Shell | Kind::BackgroundShell => {
            paths = in_command(&spelling::command(input).unwrap_or_default());
        }
        Kind::Patch => {
            paths.extend(patch_of(input).map(|patch| in_patch(&patch)).unwrap_or_default());
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

/// A path as seen from above `directory`.
fn below(directory: &str, path: &str) -> String {
    Utf8Path::new(directory).join(path).into_string()
}

/// The files of every patch in a shell command, in its order. A `cd` before a patch is followed.
fn in_command(command: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut directory = Utf8PathBuf::new();
    let mut rest = command;
    while let Some((before, patch, after)) = next_patch(rest) {
        for step in before.split(['\n', ';', '&', '|']) {
            if let Some(to) = step.trim().strip_prefix("cd ") {
                directory.push(to.trim().trim_matches(['"', '\'']));
            }
        }
        paths.extend(in_patch(patch).iter().map(|path| below(directory.as_str(), path)));
        rest = after;
    }
    paths
}

/// What stands before the first patch of a command, the patch, and what comes after it.
fn next_patch(command: &str) -> Option<(&str, &str, &str)> {
    let (before, patch) = command.split_at(command.find(PATCH_BEGINS)?);
    let calls = |text: &str| {
        text.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_'))
            .any(|word| matches!(word, "apply_patch" | "applypatch"))
    };
    let (patch, after) =
        patch.split_at(patch.find(PATCH_ENDS).map_or(patch.len(), |end| end + PATCH_ENDS.len()));
    calls(before).then_some((before, patch, after))
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

/// The first patch inside a shell command that calls `apply_patch`, from its first line to its last.
pub fn patch_in_command(command: &str) -> Option<&str> {
    next_patch(command).map(|(_, patch, _)| patch.strip_suffix(PATCH_ENDS).unwrap_or(patch))
}

/// The files that a patch changes, in its order: in the form of `apply_patch` (added, updated, deleted, and both
/// names of a moved one) or as a unified diff.
pub fn in_patch(patch: &str) -> Vec<String> {
    const MARKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let mut paths: Vec<String> = patch
        .lines()
        .filter_map(|line| MARKS.iter().find_map(|mark| line.strip_prefix(mark)))
        .map(|path| path.trim().to_owned())
        .collect();
    if paths.is_empty() {
        paths = diff::files(patch);
    }
    paths.retain(|path| !path.is_empty());
    without_repeats(paths)
}

fn named(input: &Object, paths: &mut Vec<String>) {
    let path = |input: &Object| {
        spelling::path_keys().iter().find_map(|key| input.get(*key)?.as_str().map(str::to_owned))
    };
    paths.extend(path(input));
    for list in LISTS.iter().filter_map(|key| input.get(*key)?.as_array()) {
        paths.extend(list.iter().filter_map(Value::as_object).filter_map(path));
    }
}

fn without_repeats(paths: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    paths.into_iter().filter(|path| seen.insert(path.clone())).collect()
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
            in_patch(&text);
            patch_in_command(&text);
        }
    }
}
