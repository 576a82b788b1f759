//! Where a shell command has gone with its `cd`s, as far as that can be told without being a shell.
//!
//! Words, quotes and what parts commands are known, and no grammar. No quote reaches over the end of a line: an apostrophe
//! in a comment or in a here-document would hide all that follows. A directory that is not written out (`$X`, `$(x)`,
//! `cd -`) is taken as it is written.

use std::rc::Rc;

use camino::Utf8PathBuf;

use crate::paths::LONGEST;

/// Words after which a command begins.
const BEFORE: [&str; 14] = [
    "{", "}", "!", "if", "then", "elif", "else", "while", "until", "do", "time", "command", "builtin", "exec",
];

/// What quotes.
const QUOTES: [char; 3] = ['\'', '"', '`'];

/// Most directories that are remembered to go back to.
const MOST_KEPT: usize = 64;

/// What goes through a command, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Cd {
    directory: Rc<Utf8PathBuf>,
    /// Where the command goes whose patch is next, and no other: `env -C`.
    once: Option<Rc<Utf8PathBuf>>,
    /// Where the shells are that subshells were started from.
    outside: Vec<Rc<Utf8PathBuf>>,
    /// What `popd` goes back to.
    pushed: Vec<Rc<Utf8PathBuf>>,
    at: At,
    /// The quote that the last piece ended in.
    open: Option<char>,
}

/// Which word of a command comes next.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum At {
    #[default]
    Name,
    /// An option or the directory.
    Cd,
    Pushd,
    Env,
    /// The directory of `env`.
    EnvDirectory,
    Rest,
}

impl Cd {
    /// The directory, from where the command runs; empty where that is where it is.
    pub(crate) fn directory(&self) -> &str {
        self.once.as_ref().unwrap_or(&self.directory).as_str()
    }

    /// Goes on through a piece of the command. Between this one and the last stands a patch.
    pub(crate) fn follow(&mut self, piece: &str) {
        let mut piece = piece;
        if let Some(quote) = self.open.take() {
            let line = piece.split('\n').next().unwrap_or_default();
            piece = line.find(quote).map_or(piece, |end| &piece[end + quote.len_utf8()..]);
        }
        for line in piece.split_inclusive('\n') {
            self.open = None;
            let mut words = Words { rest: line, unclosed: String::new() };
            while let Some(token) = words.next() {
                match token {
                    Token::Word(word) => self.word(&word),
                    Token::End => self.at = At::Name,
                    Token::Open => {
                        keep(&mut self.outside, &self.directory);
                        self.at = At::Name;
                    }
                    Token::Close => {
                        self.directory = self.outside.pop().unwrap_or_else(|| Rc::clone(&self.directory));
                        self.at = At::Name;
                    }
                }
            }
            self.open = words.unclosed.chars().rfind(|opened| QUOTES.contains(opened));
        }
    }

    fn word(&mut self, word: &str) {
        if self.at == At::Name {
            self.once = None;
        }
        self.at = match (self.at, word) {
            (At::Name, "cd") => At::Cd,
            (At::Name, "pushd") | (At::Pushd, "--") => At::Pushd,
            (At::Name, "env") => At::Env,
            (At::Name, "popd") => {
                self.directory = self.pushed.pop().unwrap_or_else(|| Rc::clone(&self.directory));
                At::Rest
            }
            (At::Name, word) if BEFORE.contains(&word) || is_assignment(word) => At::Name,
            (At::Cd, word) if is_option(word) => At::Cd,
            // These change or turn the list of directories alone, or go to one that is not written out.
            (At::Pushd, word) if word.starts_with(['-', '+']) => At::Rest,
            (At::Cd | At::Pushd, to) => {
                if self.at == At::Pushd {
                    keep(&mut self.pushed, &self.directory);
                }
                go(&mut self.directory, to);
                At::Rest
            }
            (At::Env, "-C" | "--chdir") => At::EnvDirectory,
            (At::Env, word) => match word.strip_prefix("--chdir=").or_else(|| word.strip_prefix("-C")) {
                Some(to) => self.env(to),
                None if word.starts_with('-') || is_assignment(word) => At::Env,
                None => At::Rest,
            },
            (At::EnvDirectory, to) => self.env(to),
            (At::Name | At::Rest, _) => At::Rest,
        };
    }

    fn env(&mut self, to: &str) -> At {
        let mut directory = Rc::clone(&self.directory);
        go(&mut directory, to);
        self.once = Some(directory);
        At::Env
    }
}

/// Goes to where no path would be too long for the system.
fn go(directory: &mut Rc<Utf8PathBuf>, to: &str) {
    let begin = if to.starts_with('/') { 0 } else { directory.as_str().len() + 1 };
    if begin + to.len() < LONGEST {
        Rc::make_mut(directory).push(to);
    }
}

/// Remembers a directory. Of too many the first goes.
fn keep(kept: &mut Vec<Rc<Utf8PathBuf>>, directory: &Rc<Utf8PathBuf>) {
    if kept.len() == MOST_KEPT {
        kept.remove(0);
    }
    kept.push(Rc::clone(directory));
}

/// Whether a word after `cd` is none of a directory.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word.chars().all(|character| "-LPe@".contains(character))
}

fn is_assignment(word: &str) -> bool {
    let is_of_a_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_of_a_name))
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// Of a command.
    End,
    /// Of a subshell: its beginning.
    Open,
    /// … and its end.
    Close,
}

/// The words of one line.
struct Words<'a> {
    rest: &'a str,
    /// What was opened and is not closed on this line. Each is looked for once: the line can be long.
    unclosed: String,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<Token> {
        // What is read or written where the command goes is no directory it goes to.
        let is_blank =
            |character: char| character.is_whitespace() && character != '\n' || "<>".contains(character);
        self.rest = self.rest.trim_start_matches(is_blank);
        if self.rest == "\\\n" {
            // The command goes on in the next line.
            return None;
        }
        let first = self.rest.chars().next()?;
        let token = match first {
            '\n' | ';' | '&' | '|' => Token::End,
            '(' => Token::Open,
            ')' => Token::Close,
            '#' => {
                self.rest = "";
                return Some(Token::End);
            }
            _ => return Some(self.word()),
        };
        self.rest = &self.rest[1..];
        Some(token)
    }

    /// A word without its quotes. A quote that is not closed parts commands: a script may begin there, or end.
    fn word(&mut self) -> Token {
        let mut word = String::new();
        while let Some(character) = self.rest.chars().next() {
            let (this, after) = self.rest.split_at(character.len_utf8());
            match character {
                '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                _ if character.is_whitespace() => break,
                '\\' => match after.chars().next() {
                    Some('\n') | None => self.rest = "",
                    Some(escaped) => {
                        word.push(escaped);
                        self.rest = &after[escaped.len_utf8()..];
                    }
                },
                '\'' | '"' | '`' => match self.quoted(character, after) {
                    Some((text, rest)) => {
                        word.push_str(&text);
                        self.rest = rest;
                    }
                    None if word.is_empty() => {
                        self.rest = after;
                        return Token::End;
                    }
                    None => break,
                },
                _ => {
                    let (text, rest) = self.substitution(self.rest).unwrap_or((this, after));
                    word.push_str(text);
                    self.rest = rest;
                }
            }
        }
        Token::Word(word)
    }

    /// What a quote holds, and what comes after it; `None` where it is not closed.
    fn quoted(&mut self, quote: char, after: &'a str) -> Option<(String, &'a str)> {
        if self.unclosed.contains(quote) {
            return None;
        }
        let mut found = match quote {
            '"' => self.in_double(after),
            _ => after.split_once(quote).map(|(text, rest)| (text.to_owned(), rest)),
        };
        match &mut found {
            None => self.unclosed.push(quote),
            Some((text, _)) if quote == '`' => *text = format!("`{text}`"),
            Some(_) => {}
        }
        found
    }

    fn in_double(&mut self, after: &'a str) -> Option<(String, &'a str)> {
        let mut text = String::new();
        let mut rest = after;
        loop {
            let character = rest.chars().next()?;
            let (this, next) = rest.split_at(character.len_utf8());
            match character {
                '"' => return Some((text, next)),
                '\\' => {
                    let escaped = next.chars().next()?;
                    if !"$`\"\\".contains(escaped) {
                        text.push(character);
                    }
                    text.push(escaped);
                    rest = &next[escaped.len_utf8()..];
                }
                _ => {
                    let (this, next) = self.substitution(rest).unwrap_or((this, next));
                    text.push_str(this);
                    rest = next;
                }
            }
        }
    }

    /// A substitution with which `text` begins, as it is written, and what comes after it.
    fn substitution(&mut self, text: &'a str) -> Option<(&'a str, &'a str)> {
        if !text.starts_with("$(") || self.unclosed.contains('$') {
            return None;
        }
        let mut depth = 0_usize;
        for (at, byte) in text.bytes().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' if depth == 1 => return Some(text.split_at(at + 1)),
                b')' => depth -= 1,
                _ => {}
            }
        }
        self.unclosed.push('$');
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(pieces: &[&str]) -> String {
        let mut cd = Cd::default();
        for piece in pieces {
            cd.follow(piece);
        }
        cd.directory().to_owned()
    }

    #[test]
    fn a_directory_that_is_written_out_is_followed() {
        for command in [
            "cd sub && ",
            "cd\tsub;",
            "  cd   sub\n",
            "(cd sub && ",
            "((cd sub && ",
            "{ cd sub; ",
            "if true; then cd sub; ",
            "if cd sub; then ",
            "while ! cd sub; do ",
            "for x in 1; do cd sub; ",
            "pushd sub; ",
            "pushd -- sub > /dev/null && ",
            "cd -- sub && ",
            "cd -P sub && ",
            "cd -LP -- sub && ",
            "command cd sub || exit\n",
            "X=1 cd sub\n",
            "cd sub 2>&1 >/dev/null; ",
            "cd sub>/dev/null 2>&1; ",
            "cd sub # there; cd no\n",
            "cd su\"b\" && ",
            "cd 'sub' && ",
            "cd \"sub\" && ",
            "cd \\\n  sub && ",
            "true&&cd sub&&",
            "x=$(cd sub && ",
            "x=\"$(cd sub && ",
            "bash -lc \"cd sub && ",
            "sh -c 'cd sub; ",
            "cd sub\r\n",
            "# don't\ncd sub\n",
            "cat <<X\nit's (not\nX\ncd sub\n",
            "echo 'cd a; cd b'; cd sub; echo \"; cd c\"\n",
            "cd other; cd ../sub; cd /sub; cd sub/../../sub\n",
        ] {
            let found = after(&[command]);
            let written = ["sub", "/sub/sub/../../sub"];
            assert!(written.contains(&found.as_str()), "{command}: {found}");
        }
        for (command, directory) in [
            ("cd 'a;b' && ", "a;b"),
            ("cd \"a & (b)\" && ", "a & (b)"),
            ("cd a\\ b && ", "a b"),
            ("cd 'it'\\''s' && ", "it's"),
            ("cd \"a \\\"b\\\" \\c\" && ", "a \"b\" \\c"),
            ("cd a; cd b\n", "a/b"),
            ("echo cd a; echo; time cd b | cat", "b"),
            ("cd; make", ""),
            ("mycd a; acd b; cdx c", ""),
        ] {
            assert_eq!(after(&[command]), directory, "{command}");
        }
    }

    #[test]
    fn what_is_not_written_out_stays_as_it_is_written() {
        for directory in ["$X", "${X:-a b}/y", "$(git rev-parse --show-toplevel)", "`pwd`", "~/x", "-"] {
            let expected = directory.split(' ').next().unwrap_or_default();
            let expected = if directory.starts_with("${") { expected } else { directory };
            assert_eq!(after(&[&format!("cd {directory} && ")]), expected);
            assert_eq!(after(&[&format!("cd \"{directory}\" && ")]), directory);
        }
        assert_eq!(after(&["cd \"$(dirname \"$0\")\" && "]), "$(dirname \"$0\")");
        for unknown in ["pushd; ", "pushd +1; ", "pushd -n x; ", "popd; ", "eval cd x; "] {
            assert_eq!(after(&[unknown]), "", "{unknown}");
        }
    }

    #[test]
    fn what_ends_is_left_again() {
        for (pieces, directory) in [
            (&["(cd a && make); "] as &[&str], ""),
            (&["cd a; (cd b; pwd) | cat; "], "a"),
            (&["(cd a; apply_patch <<X\n", "\nX\n)\n"], ""),
            (&["pushd a; make; popd; "], ""),
            (&["pushd a; pushd b; popd; "], "a"),
            (&["f() { make; }; cd a; "], "a"),
            (&["env -C a apply_patch <<X\n"], "a"),
            (&["cd b; env X=1 --chdir=a apply_patch '"], "b/a"),
            (&["env -Ca apply_patch '", "' && apply_patch '"], ""),
            (&["env -i --chdir a make; apply_patch <<X\n"], ""),
            // The quote around a patch ends after it.
            (&["apply_patch '", "' && cd y; applypatch '"], "y"),
            (&["bash -c \"apply_patch <<'X'\n", "\nX\ncd y\napply_patch <<'X'\n"], "y"),
        ] {
            assert_eq!(after(pieces), directory, "{pieces:?}");
        }
    }

    #[test]
    fn a_long_way_stays_possible() {
        let long = after(&[&"cd a;".repeat(100_000)]);
        assert!(long.len() < LONGEST && long.starts_with("a/a/"));
        let is_there = |pieces: &[&str], there: &str| assert!(after(pieces) == there, "{there}");
        is_there(&[&format!("cd a; cd {}; ", "b".repeat(LONGEST))], "a");
        // One that goes to a beginning again is followed from there.
        is_there(&[&format!("{} cd /b; cd c;", "cd a;".repeat(100_000))], "/b/c");
        is_there(&[&format!("{}cd a{}", "(".repeat(1_000), ")".repeat(1_000))], "");
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(
            pieces in prop::collection::vec(any::<String>(), 0..3),
            marked in prop::collection::vec("(cd|pushd|popd|env|-C|[$(){};&|#'\"`\\\\ \n]|é){0,40}", 0..3),
        ) {
            for pieces in [&pieces, &marked] {
                let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
                prop_assert!(after(&pieces).len() < LONGEST);
            }
        }
    }
}
