//! Protocol v1: an exit code, and a command with templates that are filled in as quoted words.
//!
//! A word in single quotes is safe wherever the shell would read a word, and nowhere else: inside a longer quoted
//! string, a comment or backquotes the quotes mean something different and a value could run. So the command is
//! read as a shell reads it, and where a template does not stand as a word, the hook does not run at all. Where the
//! reading is not certain (shells differ, or the construct is rare), it is not taken for safe.

use std::fmt::Write as _;

/// What a template stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Workspace,
    Tool,
    Path,
    Command,
}

const SLOTS: [(Slot, &str, &str); 4] = [
    (Slot::Workspace, "{{workspace}}", "CELESTE_WORKSPACE"),
    (Slot::Tool, "{{tool}}", "CELESTE_TOOL_NAME"),
    (Slot::Path, "{{path}}", "CELESTE_TOOL_PATH"),
    (Slot::Command, "{{command}}", "CELESTE_TOOL_COMMAND"),
];

impl Slot {
    fn entry(self) -> &'static (Slot, &'static str, &'static str) {
        // Each variant has its row, in the order of the variants.
        &SLOTS[self as usize]
    }

    fn written(self) -> &'static str {
        self.entry().1
    }

    /// The variable with the same value, which a shell expands safely inside double quotes.
    fn variable(self) -> &'static str {
        self.entry().2
    }

    /// The template that `text` begins with.
    fn at(text: &str) -> Option<Self> {
        text.starts_with("{{")
            .then(|| SLOTS.iter().find(|(_, written, _)| text.starts_with(written)))?
            .map(|(slot, _, _)| *slot)
    }

    /// The first template in `text`.
    fn inside(text: &str) -> Option<Self> {
        let first = |(slot, written, _): &(Self, &str, &str)| text.find(written).map(|at| (at, *slot));
        SLOTS.iter().filter_map(first).min_by_key(|(at, _)| *at).map(|(_, slot)| slot)
    }
}

/// The command with its templates filled in, in one pass: what was filled in is not looked at again.
///
/// # Errors
/// A template stands where no word can: why, and how to write it.
pub(super) fn expand<'v>(command: &str, value: impl Fn(Slot) -> &'v str) -> Result<String, String> {
    let mut filled = String::with_capacity(command.len() + 64);
    for piece in pieces(command)? {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Value(slot) => push_word(value(slot), &mut filled),
        }
    }
    Ok(filled)
}

/// Why a command's templates cannot be filled in, if they cannot.
pub(super) fn hole(command: &str) -> Option<String> {
    pieces(command).err()
}

/// A POSIX word that a shell reads back as `value`.
fn push_word(value: &str, into: &mut String) {
    into.push('\'');
    for (index, part) in value.split('\'').enumerate() {
        if index > 0 {
            into.push_str("'\\''");
        }
        into.push_str(part);
    }
    into.push('\'');
}

enum Piece<'a> {
    Text(&'a str),
    Value(Slot),
}

fn pieces(command: &str) -> Result<Vec<Piece<'_>>, String> {
    // Most commands have no template: nothing has to be read.
    if Slot::inside(command).is_none() {
        return Ok(vec![Piece::Text(command)]);
    }
    let mut reader = Reader { command, at: 0, kept: 0, frames: vec![Frame::Plain(0)], pieces: vec![] };
    match reader.read() {
        Ok(()) => Ok(reader.pieces),
        Err(hole) => Err(hole.explain(command)),
    }
}

/// Where a template stands that cannot be filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hole {
    slot: Slot,
    place: Spot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spot {
    /// In a longer string in double quotes, its template at this offset.
    Double,
    /// In a longer string in single quotes.
    Single,
    /// In a substitution inside a string.
    Substitution,
    Backquotes,
    Comment,
    /// Directly after a `$` or a backslash.
    Escaped,
    /// After something that shells read differently.
    Unclear,
}

impl Hole {
    fn explain(self, command: &str) -> String {
        let template = self.slot.written();
        let place = match self.place {
            Spot::Double | Spot::Single => "inside a longer quoted string",
            Spot::Substitution => "in a substitution inside a quoted string",
            Spot::Backquotes => "inside backquotes",
            Spot::Comment => "in a comment",
            Spot::Escaped => "directly after `$` or a backslash",
            Spot::Unclear => "after or in an expression that shells do not all read alike",
        };
        let mut text = format!("{template} stands {place}, where its value could run as a command; ");
        // Writing to a string cannot fail.
        let _ = match respelled(command) {
            Some(safe) => write!(text, "write it as {}", crate::text::line(&safe)),
            None => write!(text, "use \"${}\" there, in double quotes", self.slot.variable()),
        };
        text
    }
}

/// The same command with each template as a word of its own, where closing the string around it is all it takes.
fn respelled(command: &str) -> Option<String> {
    let mut safe = command.to_owned();
    // Each round moves one template out of its string; there are never more rounds than templates.
    for _ in 0..=command.matches("{{").count() {
        let mut reader =
            Reader { command: &safe, at: 0, kept: 0, frames: vec![Frame::Plain(0)], pieces: vec![] };
        let Err(hole) = reader.read() else { return Some(safe) };
        let quote = match hole.place {
            Spot::Double => '"',
            Spot::Single => '\'',
            _ => return None,
        };
        let template = hole.slot.written();
        // The reader stands at the string's beginning for single quotes, at the template for double ones.
        let at = reader.at + safe[reader.at..].find(template)?;
        let (before, after) = (&safe[..at], &safe[at + template.len()..]);
        let opens_here = before.ends_with(quote) && !before.ends_with(&format!("\\{quote}"));
        let before = if opens_here { &before[..before.len() - 1] } else { before };
        let first = if opens_here { "" } else { &quote.to_string() };
        let (last, after) = match after.strip_prefix(quote) {
            Some(after) => ("", after),
            None => (&*quote.to_string(), after),
        };
        safe = format!("{before}{first}{template}{last}{after}");
    }
    None
}

/// What the reader is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// Words, with so many parentheses open.
    Plain(usize),
    /// A string in double quotes.
    Double,
}

struct Reader<'a> {
    command: &'a str,
    at: usize,
    /// Where the text begins that is not a piece yet.
    kept: usize,
    frames: Vec<Frame>,
    pieces: Vec<Piece<'a>>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.command[self.at..]
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.command.as_bytes().get(self.at + ahead).copied()
    }

    fn hole<T>(&self, slot: Slot, place: Spot) -> Result<T, Hole> {
        Err(Hole { slot, place })
    }

    /// Whatever stands from here on is not read as any one shell reads it.
    fn unclear(&mut self) -> Result<(), Hole> {
        match Slot::inside(self.rest()) {
            Some(slot) => self.hole(slot, Spot::Unclear),
            None => {
                self.at = self.command.len();
                Ok(())
            }
        }
    }

    fn value(&mut self, slot: Slot, length: usize) {
        self.pieces.push(Piece::Text(&self.command[self.kept..self.at]));
        self.pieces.push(Piece::Value(slot));
        self.at += length;
        self.kept = self.at;
    }

    fn read(&mut self) -> Result<(), Hole> {
        while self.at < self.command.len() {
            let is_quoted = self.frames.contains(&Frame::Double);
            match self.frames.last() {
                Some(Frame::Double) => self.double()?,
                _ => self.plain(is_quoted)?,
            }
        }
        self.pieces.push(Piece::Text(&self.command[self.kept..]));
        Ok(())
    }

    fn plain(&mut self, is_quoted: bool) -> Result<(), Hole> {
        if let Some(slot) = Slot::at(self.rest()) {
            if is_quoted {
                return self.hole(slot, Spot::Substitution);
            }
            self.value(slot, slot.written().len());
            return Ok(());
        }
        match self.byte(0) {
            Some(b'\\') => self.backslash(),
            Some(b'$') => self.dollar(),
            Some(b'`') => self.backquotes(),
            Some(b'\'') => self.single(is_quoted),
            Some(b'"') => {
                match exact(self.rest(), '"') {
                    Some(slot) if is_quoted => return self.hole(slot, Spot::Substitution),
                    Some(slot) => self.value(slot, slot.written().len() + 2),
                    None => {
                        self.frames.push(Frame::Double);
                        self.at += 1;
                    }
                }
                Ok(())
            }
            Some(b'#') if self.begins_word() => match Slot::inside(self.rest()) {
                Some(slot) => self.hole(slot, Spot::Comment),
                None => self.unclear(),
            },
            // Arithmetic; and lists, in which a mistake makes some shells go on with the value's next line.
            Some(b'(') if self.byte(1) == Some(b'(') || self.command[..self.at].ends_with('=') => {
                self.unclear()
            }
            Some(b'[') => self.bracket(),
            // A word follows, or the shell knows no such thing and runs nothing at all.
            Some(b'<') if self.rest().starts_with("<<<") => {
                self.at += 3;
                Ok(())
            }
            // What follows is read by rules of its own.
            Some(b'<') if self.rest().starts_with("<<") => self.unclear(),
            Some(b'c') if self.frames.len() > 1 && self.begins_word() && self.rest().starts_with("case") => {
                // A pattern's `)` would be taken for the end of the substitution.
                self.unclear()
            }
            byte => {
                self.parenthesis(byte);
                self.step();
                Ok(())
            }
        }
    }

    /// Two kinds of brackets are arithmetic to some shells, which runs substitutions even in quoted words: a
    /// subscript, and a test that compares numbers.
    fn bracket(&mut self) -> Result<(), Hole> {
        const NUMERIC: [&str; 8] = [" -eq ", " -ne ", " -lt ", " -le ", " -gt ", " -ge ", " -v ", " -R "];
        let is_test = self.rest().starts_with("[[") && self.begins_word();
        let follows_name = self.at > 0 && {
            let before = self.command.as_bytes()[self.at - 1];
            before.is_ascii_alphanumeric() || before == b'_'
        };
        let close = if is_test { "]]" } else { "]" };
        let inner = &self.rest()[..self.rest().find(close).unwrap_or(self.rest().len())];
        let is_arithmetic = follows_name || (is_test && NUMERIC.iter().any(|word| inner.contains(word)));
        match Slot::inside(inner) {
            Some(slot) if is_arithmetic => self.hole(slot, Spot::Unclear),
            _ => {
                self.at += 1;
                Ok(())
            }
        }
    }

    fn parenthesis(&mut self, byte: Option<u8>) {
        let nested = self.frames.len() > 1;
        match (byte, self.frames.last_mut()) {
            (Some(b'('), Some(Frame::Plain(open))) => *open += 1,
            (Some(b')'), Some(Frame::Plain(open))) if *open > 0 => *open -= 1,
            (Some(b')'), _) if nested => drop(self.frames.pop()),
            _ => {}
        }
    }

    /// Goes on by one character.
    fn step(&mut self) {
        self.at += self.rest().chars().next().map_or(1, char::len_utf8);
    }

    fn begins_word(&self) -> bool {
        match self.at.checked_sub(1).map(|before| self.command.as_bytes()[before]) {
            None => true,
            Some(before) => before.is_ascii_whitespace() || b";&|()<>`{}!".contains(&before),
        }
    }

    fn double(&mut self) -> Result<(), Hole> {
        if let Some(slot) = Slot::at(self.rest()) {
            let place = if self.frames.len() == 2 { Spot::Double } else { Spot::Substitution };
            return self.hole(slot, place);
        }
        match self.byte(0) {
            Some(b'"') => {
                self.frames.pop();
                self.at += 1;
                Ok(())
            }
            Some(b'\\') => self.backslash(),
            Some(b'$') => self.dollar(),
            Some(b'`') => self.backquotes(),
            _ => {
                self.step();
                Ok(())
            }
        }
    }

    fn backslash(&mut self) -> Result<(), Hole> {
        self.at += 1;
        if let Some(slot) = Slot::at(self.rest()) {
            return self.hole(slot, Spot::Escaped);
        }
        if self.at < self.command.len() {
            self.step();
        }
        Ok(())
    }

    fn dollar(&mut self) -> Result<(), Hole> {
        self.at += 1;
        let in_double = self.frames.last() == Some(&Frame::Double);
        if let Some(slot) = Slot::at(self.rest()) {
            return self.hole(slot, Spot::Escaped);
        }
        match self.byte(0) {
            Some(b'(') if self.byte(1) != Some(b'(') => {
                self.frames.push(Frame::Plain(0));
                self.at += 1;
                Ok(())
            }
            Some(b'{' | b'(') => match plain_expansion(self.rest()) {
                Some(length) => {
                    self.at += length;
                    Ok(())
                }
                None => self.unclear(),
            },
            // Arithmetic to some shells, plain words to others, which find comments in it.
            Some(b'[') => self.unclear(),
            // Some shells have strings of their own here, others a `$` and a plain string.
            Some(b'\'' | b'"') if !in_double => self.unclear(),
            _ => Ok(()),
        }
    }

    fn backquotes(&mut self) -> Result<(), Hole> {
        let bytes = self.command.as_bytes();
        let mut end = self.at + 1;
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'`' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        if end >= bytes.len() {
            return self.unclear();
        }
        if let Some(slot) = Slot::inside(&self.command[self.at..end]) {
            return self.hole(slot, Spot::Backquotes);
        }
        self.at = end + 1;
        Ok(())
    }

    fn single(&mut self, is_quoted: bool) -> Result<(), Hole> {
        if let Some(slot) = exact(self.rest(), '\'') {
            if is_quoted {
                return self.hole(slot, Spot::Substitution);
            }
            self.value(slot, slot.written().len() + 2);
            return Ok(());
        }
        let inner = &self.rest()[1..];
        let Some(end) = inner.find('\'') else { return self.unclear() };
        if let Some(slot) = Slot::inside(&inner[..end]) {
            let place = if is_quoted { Spot::Substitution } else { Spot::Single };
            return self.hole(slot, place);
        }
        self.at += end + 2;
        Ok(())
    }
}

/// How long the `{…}` or `((…))` of an expansion is that `text` begins with, where every shell finds the same end of it: it
/// holds plain characters, variables and expansions of the same kind, nothing that quotes, escapes, opens or closes.
fn plain_expansion(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut closers: Vec<&str> = Vec::new();
    let mut follows_dollar = true;
    loop {
        let rest = &text[at..];
        let next = rest.chars().next()?;
        if std::mem::take(&mut follows_dollar) {
            match next {
                '{' => closers.push("}"),
                '(' if rest.starts_with("((") => {
                    closers.push("))");
                    at += 1;
                }
                '_' | '0'..='9' | 'a'..='z' | 'A'..='Z' => {}
                _ => return None,
            }
            at += 1;
        } else if let Some(close) = closers.pop_if(|close| rest.starts_with(*close)) {
            at += close.len();
            if closers.is_empty() {
                return Some(at);
            }
        } else if "\"'\\`()[]{}".contains(next) {
            return None;
        } else {
            follows_dollar = next == '$';
            at += next.len_utf8();
        }
    }
}

/// The template that stands in quotes of its own at the beginning of `text`.
fn exact(text: &str, quote: char) -> Option<Slot> {
    let slot = Slot::at(text.strip_prefix(quote)?)?;
    text[1 + slot.written().len()..].starts_with(quote).then_some(slot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(command: &str, value: &str) -> Result<String, String> {
        expand(command, |slot| match slot {
            Slot::Workspace => "/w",
            Slot::Tool => "bash",
            Slot::Path => value,
            Slot::Command => "c",
        })
    }

    #[test]
    fn templates_become_words() {
        for (command, expected) in [
            ("check {{path}}", "check 'v'"),
            ("check \"{{path}}\"", "check 'v'"),
            ("check '{{path}}'", "check 'v'"),
            ("a --file={{path}} --tool={{tool}}", "a --file='v' --tool='bash'"),
            ("cd {{workspace}} && {{command}}", "cd '/w' && 'c'"),
            ("echo \"a\"{{path}}'b'", "echo \"a\"'v''b'"),
            ("echo \"a \"{{path}}\" b\"", "echo \"a \"'v'\" b\""),
            ("x=$(cat {{path}}); echo \"$x\"", "x=$(cat 'v'); echo \"$x\""),
            ("x=\"$(pwd)\"; echo {{path}}", "x=\"$(pwd)\"; echo 'v'"),
            ("echo \"${x##*/}\" {{path}}", "echo \"${x##*/}\" 'v'"),
            ("echo $((1 + 2)) {{path}}", "echo $((1 + 2)) 'v'"),
            ("d=${TMPDIR:-$HOME}; test {{path}} = x", "d=${TMPDIR:-$HOME}; test 'v' = x"),
            ("n=$((${N:-0}+1)); test {{path}} = $n", "n=$((${N:-0}+1)); test 'v' = $n"),
            ("echo \"${a:-${b:-$((c << 2))}}\" {{path}}", "echo \"${a:-${b:-$((c << 2))}}\" 'v'"),
            ("cat <<< {{path}} && cat 3<<<\"$x\" {{path}}", "cat <<< 'v' && cat 3<<<\"$x\" 'v'"),
            ("(cd /; ls {{path}})", "(cd /; ls 'v')"),
            ("[ {{path}} = v ] && ls a[0-9] {{path}}", "[ 'v' = v ] && ls a[0-9] 'v'"),
            ("[[ {{tool}} == bash ]] && ls {{path}}", "[[ 'bash' == bash ]] && ls 'v'"),
            ("echo \\\"{{path}}\\\"", "echo \\\"'v'\\\""),
            ("echo `date` {{path}}", "echo `date` 'v'"),
            ("case {{tool}} in bash) ls {{path}};; esac", "case 'bash' in bash) ls 'v';; esac"),
            ("echo a#b {{path}} $# {{other}} {{ path }}", "echo a#b 'v' $# {{other}} {{ path }}"),
            ("no template \"$(here)\" # at all", "no template \"$(here)\" # at all"),
        ] {
            assert_eq!(filled(command, "v").as_deref(), Ok(expected), "{command}");
        }
    }

    #[test]
    fn values_cannot_leave_their_word() {
        for (value, word) in [
            ("", "''"),
            ("a b", "'a b'"),
            ("'; touch x; '", "''\\''; touch x; '\\'''"),
            ("$(touch x)", "'$(touch x)'"),
            ("`touch x`", "'`touch x`'"),
            ("\"; touch x; \"", "'\"; touch x; \"'"),
            ("{{command}}", "'{{command}}'"),
            ("\\", "'\\'"),
        ] {
            for form in ["t {{path}}", "t \"{{path}}\"", "t '{{path}}'"] {
                assert_eq!(filled(form, value).unwrap(), format!("t {word}"), "{form} {value}");
            }
        }
    }

    #[test]
    fn a_template_that_is_no_word_is_refused_with_a_way_out() {
        for (command, says) in [
            ("echo \"file: {{path}}\"", "write it as echo \"file: \"{{path}}"),
            ("echo 'file: {{path}}'", "write it as echo 'file: '{{path}}"),
            ("echo \"{{path}} is {{tool}}!\"", "write it as echo {{path}}\" is \"{{tool}}\"!\""),
            ("echo \"'{{path}}'\"", "write it as echo \"'\"{{path}}\"'\""),
            ("echo \"$(cat {{path}})\"", "use \"$CELESTE_TOOL_PATH\" there"),
            ("echo \"$(cat \"{{path}}\")\"", "in a substitution inside a quoted string"),
            ("echo \"$(cat '{{path}}')\"", "in a substitution inside a quoted string"),
            ("echo `cat {{path}}`", "inside backquotes"),
            ("echo \"`cat {{path}}`\"", "inside backquotes"),
            ("true # {{path}}", "in a comment"),
            ("echo ${{path}}", "directly after `$`"),
            ("echo $\"{{path}}\"", "do not all read alike"),
            ("echo $'{{path}}'", "do not all read alike"),
            ("echo \\{{path}}", "a backslash"),
            ("echo ${x:-{{path}}}", "do not all read alike"),
            ("echo $(({{path}}))", "do not all read alike"),
            ("(({{path}}))", "do not all read alike"),
            ("[[ {{path}} -eq 0 ]]", "do not all read alike"),
            ("a[{{path}}]=1", "do not all read alike"),
            ("a+=({{path}})", "do not all read alike"),
            ("a=(b); echo {{path}}", "do not all read alike"),
            ("echo $'a' {{path}}", "do not all read alike"),
            ("echo $[1 #2] {{path}}", "do not all read alike"),
            ("echo ${x:-\"a\"} {{path}}", "do not all read alike"),
            ("echo ${x:-$(a)} {{path}}", "do not all read alike"),
            ("echo ${x:-$'a'} {{path}}", "do not all read alike"),
            ("echo ${x:-a\\}} {{path}}", "do not all read alike"),
            ("echo $((x[0])) {{path}}", "do not all read alike"),
            ("echo $((1) ) {{path}}", "do not all read alike"),
            ("cat << {{path}}", "do not all read alike"),
            ("echo ' {{path}}", "do not all read alike"),
            ("x=$(case a in a) echo \"b {{path}}\";; esac)", "do not all read alike"),
            ("echo \"$(case a in a) echo \"b {{path}}\";; esac)\"", "do not all read alike"),
        ] {
            let why = filled(command, "v").unwrap_err();
            assert!(why.contains(says), "{command}: {why}");
        }
    }

    proptest! {
        #[test]
        fn no_command_panics_and_ways_out_are_ways_out(
            parts in prop::collection::vec(prop::sample::select(vec![
                "{{path}}", "{{tool}}", "\"", "'", "`", "$", "$(", ")", "(", "((", "{", "}", "${", "\\", "#", " ", "a",
                "é", "case ", "esac", "<<", "\"{{path}}\"", "'{{path}}'", "{{", ";", "))", "$x", "<", "[", "]", ":-",
            ]), 0..14),
        ) {
            let command = parts.concat();
            match filled(&command, "v'v") {
                Ok(_) => prop_assert_eq!(hole(&command), None),
                Err(_) => {
                    if let Some(safe) = respelled(&command) {
                        prop_assert_eq!(hole(&safe), None);
                        prop_assert_eq!(
                            safe.replace(['"', '\''], ""),
                            command.replace(['"', '\''], "")
                        );
                    }
                }
            }
        }
    }
}
