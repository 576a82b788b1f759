//! The files that a unified diff changes, as `diff`, `git diff` and models write them.

/// The files in the order of the diff: of each the new name, the old one where it was deleted, both where it was moved or
/// copied.
pub(crate) fn files(diff: &str) -> Vec<String> {
    let indent = indent_of(diff);
    let lines: Vec<&str> = diff.lines().map(|line| line.strip_prefix(indent).unwrap_or(line)).collect();
    let mut found = Vec::new();
    // The name that git's own first line gives, until other lines name the file: of a binary or an empty one none do.
    let mut first_line: Option<String> = None;
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        if let Some(names) = line.strip_prefix("diff --git ") {
            found.extend(first_line.take());
            first_line = same_name(names);
        } else if let Some(hunk) = line.strip_prefix("@@ -") {
            at += length_of(hunk, &lines[at..]);
        } else if let Some(name) = moved(line) {
            first_line = None;
            found.push(unquoted(name));
        } else if let Some((old, new)) = pair(&lines[at - 1..]) {
            first_line = None;
            let new = without_side(new);
            found.push(if new == "/dev/null" { without_side(old) } else { new });
            at += 1;
        }
    }
    found.extend(first_line);
    found
}

/// The blanks before a diff that is indented as a whole, which `patch` takes away.
fn indent_of(diff: &str) -> &str {
    let begins = |line: &&str| {
        ["--- ", "diff --git "].iter().any(|mark| line.trim_start_matches([' ', '\t']).starts_with(mark))
    };
    let first = diff.lines().find(begins).unwrap_or_default();
    &first[..first.len() - first.trim_start_matches([' ', '\t']).len()]
}

/// What two lines say that name a file's old and new side.
fn pair<'a>(lines: &[&'a str]) -> Option<(&'a str, &'a str)> {
    Some((lines.first()?.strip_prefix("--- ")?, lines.get(1)?.strip_prefix("+++ ")?))
}

/// How many lines a hunk has, of which any may look like a name's: `5,2 +5,3 @@`. Where it claims more than is there, it
/// ends before what begins another file: better a file too many than one too few.
fn length_of(hunk: &str, lines: &[&str]) -> usize {
    let mut counts = hunk.split(' ').map(|range| {
        let count = range.trim_start_matches('+').split_once(',').map_or("1", |(_, count)| count);
        count.parse::<usize>().unwrap_or(0)
    });
    let (mut old, mut new) = (counts.next().unwrap_or(0), counts.next().unwrap_or(0));
    let mut length = 0;
    while (old > 0 || new > 0) && length < lines.len() {
        let rest = &lines[length..];
        // An empty line is one of both sides whose blank somebody trimmed.
        let (is_old, is_new) = match rest[0].as_bytes().first() {
            None | Some(b' ') => (true, true),
            Some(b'-') => (true, false),
            Some(b'+') => (false, true),
            Some(b'\\') => (false, false),
            _ => break,
        };
        let begins_another = pair(rest).is_some() && rest.get(2).is_some_and(|line| line.starts_with("@@ -"));
        if begins_another || (is_old && old == 0) || (is_new && new == 0) {
            break;
        }
        old -= usize::from(is_old);
        new -= usize::from(is_new);
        length += 1;
    }
    length
}

fn moved(line: &str) -> Option<&str> {
    ["rename from ", "rename to ", "copy from ", "copy to "].iter().find_map(|mark| line.strip_prefix(mark))
}

/// The name in git's first line, `a/x b/x`, if both sides are the same: blanks may be part of it.
fn same_name(names: &str) -> Option<String> {
    let names = names.trim_end();
    if let Some((first, _)) = quoted(names) {
        return Some(strip_side(&first).to_owned());
    }
    names.match_indices(' ').find_map(|(at, _)| {
        let (first, second) = (strip_side(&names[..at]), strip_side(&names[at + 1..]));
        (first == second).then(|| first.to_owned())
    })
}

/// A name after `--- ` or `+++ `: perhaps quoted, perhaps followed by a time.
fn without_side(written: &str) -> String {
    match quoted(written) {
        Some((name, _)) => strip_side(&name).to_owned(),
        None => strip_side(written.split('\t').next().unwrap_or_default().trim()).to_owned(),
    }
}

fn unquoted(written: &str) -> String {
    quoted(written).map_or_else(|| written.trim().to_owned(), |(name, _)| name)
}

fn strip_side(name: &str) -> &str {
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name)
}

/// A name as git writes one that holds anything unusual, in double quotes with C's escapes, and what follows it.
fn quoted(written: &str) -> Option<(String, &str)> {
    let inside = written.trim_start().strip_prefix('"')?;
    let mut name = Vec::new();
    let mut bytes = inside.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some((String::from_utf8_lossy(&name).into_owned(), &inside[at + 1..])),
            b'\\' => {
                let (at, escape) = bytes.next()?;
                name.push(match escape {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    b'r' => b'\r',
                    b'0'..=b'3' => {
                        let byte = u8::from_str_radix(inside.get(at..at + 3)?, 8).ok()?;
                        bytes.nth(1);
                        byte
                    }
                    other => other,
                });
            }
            byte => name.push(byte),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_pair_of_names_is_a_file() {
        let diff = "diff --git a/x.rs b/x.rs\n--- a/x.rs\t2026\n+++ b/x.rs\n@@ -1,2 +1 @@\n--- not a file\n-- \n+y\n--- a/gone\n+++ /dev/null\n--- /dev/null\n+++ b/new\n";
        assert_eq!(files(diff), ["x.rs", "gone", "new"]);
    }

    #[test]
    fn lines_of_a_hunk_name_nothing() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n--- a/no\n+++ b/no\n same\n--- no\n+++ no\n\\ No newline at end of file\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(files(diff), ["x", "y"]);
        // A hunk that claims more than it holds hides no file.
        assert_eq!(
            files("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"),
            ["x", "y"]
        );
        assert_eq!(
            files("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n"),
            ["x", "y"]
        );
    }

    #[test]
    fn a_diff_can_be_indented_and_have_other_line_ends() {
        let diff =
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n- --- a/no\n+ +++ b/no\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
        for (before, after) in [("  ", "\n"), ("\t", "\n"), ("", "\r\n"), (" ", "\r\n")] {
            let changed: String = diff.lines().map(|line| format!("{before}{line}{after}")).collect();
            assert_eq!(files(&changed), ["x", "y"], "{before:?} {after:?}");
        }
    }

    #[test]
    fn names_are_read_as_git_writes_them() {
        let quoted = r#""b/f\303\251\t\"q\".txt""#;
        assert_eq!(files(&format!("--- /dev/null\n+++ {quoted}\n@@ -0,0 +1 @@\n+x\n")), ["fé\t\"q\".txt"]);
        assert_eq!(files("diff --git a/a b.png b/a b.png\nBinary files differ\n"), ["a b.png"]);
        assert_eq!(files("diff --git \"a/\\303\\251\" \"b/\\303\\251\"\nnew file mode 100644\n"), ["é"]);
        assert_eq!(
            files("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"),
            ["x", "y"]
        );
        assert_eq!(
            files("diff --git a/x b/x\ndeleted file mode 100644\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n"),
            ["x", "y"]
        );
    }

    fn quote(name: &[u8]) -> String {
        let escape = |byte: &u8| match byte {
            b'"' => "\\\"".to_owned(),
            b'\\' => "\\\\".to_owned(),
            b'\t' => "\\t".to_owned(),
            b' '..=b'~' => char::from(*byte).to_string(),
            other => format!("\\{other:03o}"),
        };
        format!("\"{}\"", name.iter().map(escape).collect::<String>())
    }

    proptest! {
        #[test]
        fn what_is_quoted_is_read_back(name in any::<String>(), rest in "[ \ta-z]{0,4}") {
            let written = format!("{}{rest}", quote(name.as_bytes()));
            prop_assert_eq!(quoted(&written), Some((name, rest.as_str())));
        }

        #[test]
        fn no_text_breaks_it(text in any::<String>(), lines in "([-+@ \"a-f0-9,\\\\\n]{0,9}\n){0,9}") {
            files(&text);
            files(&format!("--- a/x\n+++ b/x\n@@ -{lines}"));
            files(&format!("diff --git \"{text}\n--- \"{lines}"));
        }
    }
}
