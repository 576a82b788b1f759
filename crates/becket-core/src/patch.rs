//! The files that a patch changes, in the form of `apply_patch` or as a unified diff, by itself or in a shell command.
//!
//! Agents' own readers of that form forgive different things. Whatever one of them forgives is forgiven here: a file too
//! many does less harm than one that no guard hears of.

use crate::cd::Cd;
use crate::{diff, paths};

/// The line with which a patch begins.
const BEGIN: &str = "*** Begin Patch";

/// The words of the lines that name a file.
const NAMING: [&str; 4] = ["Add File", "Update File", "Delete File", "Move to"];

/// The words of the line with which a patch ends.
const END: &str = "End Patch";

/// The files that a patch changes, in its order, each once: added, updated, deleted, and both names of a moved one.
pub fn files(patch: &str) -> Vec<String> {
    let mut reader = Reader::default();
    let mut found: Vec<String> = patch
        .lines()
        .filter_map(|line| match reader.line(line) {
            Some(Mark::File(path)) => Some(path.to_owned()),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        found = diff::files(patch);
    }
    found.retain(|path| !path.is_empty());
    paths::without_repeats(found)
}

/// The files of every patch in a shell command, in its order. A `cd` before a patch is followed, as [`Cd`] knows it.
pub(crate) fn files_of_command(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut cd = Cd::default();
    let mut rest = command;
    while let Some((before, patch, after)) = next_in_command(rest) {
        cd.follow(before);
        found.extend(files(patch).iter().map(|path| paths::below(cd.directory(), path)));
        rest = after;
    }
    found
}

/// Whether a shell command calls `apply_patch` with a patch that stands in it.
pub fn is_in_command(command: &str) -> bool {
    next_in_command(command).is_some()
}

/// What stands before the first patch of a command, the patch, and what comes after it.
fn next_in_command(command: &str) -> Option<(&str, &str, &str)> {
    if !command.contains(BEGIN) {
        return None;
    }
    let called = end_of_call(command)?;
    let begin = called + command[called..].find(BEGIN)?;
    let (before, patch) = command.split_at(begin);
    let mut reader = Reader::default();
    let mut length = 0;
    for line in patch.split_inclusive('\n') {
        length += line.len();
        if let Some(Mark::End { after }) = reader.line(line) {
            length -= after.len();
            break;
        }
    }
    let (patch, after) = patch.split_at(length);
    Some((before, patch, after))
}

/// Where the first word of a command ends that calls `apply_patch`.
fn end_of_call(command: &str) -> Option<usize> {
    let is_between = |character: char| !(character.is_ascii_alphanumeric() || character == '_');
    let mut end = 0;
    command.split_inclusive(is_between).find_map(|word| {
        end += word.len();
        matches!(word.trim_end_matches(is_between), "apply_patch" | "applypatch").then_some(end)
    })
}

/// What a line says that is none of a file's content.
enum Mark<'a> {
    File(&'a str),
    End { after: &'a str },
}

/// Goes through a patch, line by line.
#[derive(Default)]
struct Reader {
    /// The file that was named last is updated, not made or deleted.
    updates: bool,
    /// Lines of an update have begun: one that begins with a blank is the file's own.
    in_update: bool,
}

impl Reader {
    fn line<'a>(&mut self, line: &'a str) -> Option<Mark<'a>> {
        let mark = if self.in_update && line.starts_with(' ') { None } else { mark(line.trim_start()) };
        match &mark {
            Some((words, _)) => {
                self.updates = matches!(*words, "Update File" | "Move to");
                self.in_update = false;
            }
            None => self.in_update = self.updates,
        }
        Some(mark?.1)
    }
}

/// The words of a line that marks something, and what it says.
fn mark(line: &str) -> Option<(&'static str, Mark<'_>)> {
    let line = line.strip_prefix("***")?.trim_start();
    if let Some(after) = without(line, END) {
        return Some((END, Mark::End { after }));
    }
    let (words, rest) = NAMING.iter().find_map(|words| Some((*words, without(line, words)?)))?;
    Some((words, Mark::File(rest.trim_start().strip_prefix(':')?.trim())))
}

/// What follows `words`, in whatever case they are written.
fn without<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    let (begin, rest) = line.split_at_checked(words.len())?;
    begin.eq_ignore_ascii_case(words).then_some(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_any_reader_forgives_hides_no_file() {
        let patch = "*** Begin Patch\n*** Add File: n.md\n+*** Add File: not.md\n*** Update File: a b.rs\n*** Move to: c.rs\n@@\n-x\n+y\n*** Delete File: d.rs\n*** End Patch\n";
        let expected = ["n.md", "a b.rs", "c.rs", "d.rs"];
        let each = |change: &dyn Fn(&str) -> String| patch.lines().map(change).collect::<String>();
        let marks = |change: &dyn Fn(&str) -> String| {
            each(&|line| if line.starts_with("***") { change(line) } else { format!("{line}\n") })
        };
        for (what, patch) in [
            ("as it is written", patch.to_owned()),
            ("CRLF", each(&|line| format!("{line}\r\n"))),
            ("padded", each(&|line| format!("{line} \t\n"))),
            ("tabs taken away by the shell", each(&|line| format!("\t{line}\n"))),
            ("no space after the colon", marks(&|line| format!("{}\n", line.replace(": ", ":")))),
            (
                "more spaces",
                marks(&|line| format!("{}\n", line.replace("*** ", "***  ").replace(": ", " :  "))),
            ),
            ("lower case", marks(&|line| format!("{}\n", line.to_ascii_lowercase()))),
            ("no end", patch.replace("*** End Patch\n", "")),
            ("no beginning", patch.replace("*** Begin Patch\n", "")),
            ("in a heredoc", format!("<<'EOF'\n{patch}EOF\n")),
        ] {
            assert_eq!(files(&patch), expected, "{what}");
        }
        // What stands at the beginning, after a new file or after a deleted one can be indented.
        assert_eq!(
            files(
                "*** Begin Patch\n  *** Add File: a\n+x\n \t*** Delete File: b\n  *** Update File: c\n  *** Move to: d\n@@\n-x\n*** Add File: e\n"
            ),
            ["a", "b", "c", "d", "e"]
        );
    }

    #[test]
    fn lines_of_a_file_name_nothing() {
        let patch = "*** Begin Patch\n*** Update File: format.md\n@@\n *** Add File: no.rs\n *** End Patch\n-*** Delete File: no.rs\n+*** Move to: no.rs\n\n *** Update File: no.rs\n*** End of File\n*** Delete File: gone.rs\n*** End Patch\n";
        assert_eq!(files(patch), ["format.md", "gone.rs"]);
        // Nor do they end a patch, or begin one.
        let command = format!(
            "echo '*** Begin Patch'; apply_patch <<'EOF'\n{}EOF\n",
            patch.replace("+*** M", "+*** End Patch\n+*** Begin Patch\n+*** M")
        );
        assert_eq!(files_of_command(&command), ["format.md", "gone.rs"]);
    }

    #[test]
    fn every_patch_of_a_command_is_read() {
        let patch = |file: &str| format!("*** Begin Patch\n*** Add File: {file}\n+x\n*** End Patch");
        let one = patch("a");
        assert_eq!(files_of_command(&format!("cd x && apply_patch <<'EOF'\n{one}\nEOF")), ["x/a"]);
        assert_eq!(
            files_of_command(&format!("apply_patch '{one}' && cd y; applypatch '{}'", patch("b"))),
            ["a", "y/b"]
        );
        assert_eq!(
            files_of_command(&format!("apply_patch <<-EOF\n\t{}\n\tEOF", one.replace('\n', "\n\t"))),
            ["a"]
        );
        for none in
            [format!("cat <<'EOF'\n{one}\nEOF"), "apply_patch < x".to_owned(), "not_apply_patch".to_owned()]
        {
            assert!(!is_in_command(&none) && files_of_command(&none).is_empty(), "{none}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in any::<String>(), marked in "(apply_patch|[*]{3}|End Patch|Begin Patch|Add File|[ :\n+é]){0,40}") {
            for text in [&text, &marked] {
                files(text);
                files_of_command(text);
            }
        }
    }
}
