//! Everything that begins with a parenthesis.

use super::flags::{Inline, begins_flags};
use super::{MAX_DEPTH, MOST_DIGITS, Parser, Piece, Width};
use crate::ast::{Category, Flags, Item};
use crate::chars::{digit_value, is_identifier, is_in};
use crate::error::PatternError;

/// How wide a look-behind may be. Python keeps it in 32 bits.
const MAX_LOOK_BEHIND: u64 = u32::MAX as u64;

/// The most groups there can be, hence the largest number a conditional may ask for.
const MAX_GROUPS: u32 = 1_073_741_823;

/// What a parenthesis turned out to hold.
pub(super) enum Read {
    Item(Item, Width),
    /// A comment.
    Nothing,
    /// Flags for all of the pattern.
    Flags,
}

impl<'p> Parser<'p> {
    /// Reads on after the parenthesis at `start`.
    pub(super) fn group(&mut self, start: usize, verbose: bool) -> Result<Read, PatternError> {
        if !self.tokens.take_if("?") {
            return self.capturing(start, verbose, None);
        }
        let unknown =
            |extension: String| PatternError::new(format!("there is no extension `({extension}`"), start + 1);
        let kind = self.token_or_end()?;
        match kind {
            "P" if self.tokens.take_if("<") => {
                let (name, name_at) = self.name(">")?;
                self.check_name(name, name_at)?;
                self.capturing(start, verbose, Some((name, name_at)))
            }
            "P" if self.tokens.take_if("=") => self.named_reference(),
            "P" => {
                let next = self.token_or_end()?;
                Err(unknown(format!("?P{next}")))
            }
            ":" => self.plain(start, verbose, Flags::NONE, Flags::NONE),
            "#" => self.comment(start),
            "=" | "!" => self.look(start, verbose, false, kind == "!"),
            "<" => match self.token_or_end()? {
                direction @ ("=" | "!") => self.look(start, verbose, true, direction == "!"),
                other => Err(unknown(format!("?<{other}"))),
            },
            "(" => self.conditional(start, verbose),
            ">" => {
                let body = self.body(start, verbose)?;
                Ok(Read::Item(Item::Atomic(body.items), body.width))
            }
            _ if begins_flags(kind) => match self.inline_flags(kind)? {
                Inline::Global => Ok(Read::Flags),
                Inline::Scoped { on, off } => self.plain(start, verbose, on, off),
            },
            _ => Err(unknown(format!("?{kind}"))),
        }
    }

    fn capturing(
        &mut self,
        start: usize,
        verbose: bool,
        name: Option<(&'p str, usize)>,
    ) -> Result<Read, PatternError> {
        self.groups.push(None);
        let index = self.groups.len() - 1;
        let number = self.groups.len() as u32;
        if let Some((name, name_at)) = name
            && let Some(earlier) = self.names.insert(name, number)
        {
            return Err(PatternError::new(format!("group {earlier} has the name `{name}` too"), name_at));
        }
        let body = self.body(start, verbose)?;
        self.groups[index] = Some(body.width);
        let item = Item::Group { number: Some(number), on: Flags::NONE, off: Flags::NONE, body: body.items };
        Ok(Read::Item(item, body.width))
    }

    fn plain(&mut self, start: usize, verbose: bool, on: Flags, off: Flags) -> Result<Read, PatternError> {
        let verbose = (verbose || on.any(Flags::VERBOSE)) && !off.any(Flags::VERBOSE);
        let body = self.body(start, verbose)?;
        Ok(Read::Item(Item::Group { number: None, on, off, body: body.items }, body.width))
    }

    fn comment(&mut self, start: usize) -> Result<Read, PatternError> {
        match self.tokens.take_until(")") {
            (_, true) => Ok(Read::Nothing),
            (_, false) => Err(PatternError::new("this comment is not closed", start)),
        }
    }

    fn look(
        &mut self,
        start: usize,
        verbose: bool,
        behind: bool,
        negative: bool,
    ) -> Result<Read, PatternError> {
        let outer = self.groups_before_look_behind;
        if behind && outer.is_none() {
            self.groups_before_look_behind = Some(self.groups.len());
        }
        let body = self.body(start, verbose)?;
        self.groups_before_look_behind = outer;
        let back = match behind {
            false => 0,
            true if body.width.min > MAX_LOOK_BEHIND => {
                return Err(PatternError::new("this look-behind looks too far back", start));
            }
            true if body.width.min != body.width.max => {
                return Err(PatternError::new("a look-behind must have one width", start));
            }
            true => body.width.min as u32,
        };
        Ok(Read::Item(Item::Look { back, negative, body: body.items }, Width::ZERO))
    }

    /// `(?P=name)`, from the name on.
    fn named_reference(&mut self) -> Result<Read, PatternError> {
        let (name, name_at) = self.name(")")?;
        self.check_name(name, name_at)?;
        let Some(&group) = self.names.get(name) else {
            return Err(PatternError::new(format!("there is no group named `{name}`"), name_at));
        };
        let Some(width) = self.closed_width(group) else {
            return Err(PatternError::new("a group cannot refer to itself", name_at));
        };
        self.check_in_look_behind(group)?;
        Ok(Read::Item(Item::BackReference(group), width))
    }

    /// `(?(group)yes|no)`, from the group on.
    fn conditional(&mut self, start: usize, verbose: bool) -> Result<Read, PatternError> {
        let (name, name_at) = self.name(")")?;
        let error = |message: String| PatternError::new(message, name_at);
        let group = if is_identifier(name) {
            *self.names.get(name).ok_or_else(|| error(format!("there is no group named `{name}`")))?
        } else {
            let number = python_int(name).ok_or_else(|| error(format!("`{name}` names no group")))?;
            if number == 0 {
                return Err(error("groups are counted from 1".to_owned()));
            }
            if number >= MAX_GROUPS {
                return Err(error(format!("there is no group {name}")));
            }
            self.awaited.push((number, name_at));
            number
        };
        self.check_in_look_behind(group)?;

        self.deeper(start)?;
        let yes = self.sequence(verbose, false)?;
        let (no, width) = if self.tokens.take_if("|") {
            let no = self.sequence(verbose, false)?;
            if self.tokens.peek() == Some("|") {
                return Err(self.error("a conditional has two branches at most"));
            }
            let width = yes.width.or(no.width);
            (no.items, width)
        } else {
            (Vec::new(), Width { min: 0, max: yes.width.max })
        };
        self.close(start)?;
        Ok(Read::Item(Item::Conditional { group, yes: yes.items, no }, width))
    }

    /// Alternatives and the parenthesis that closes them.
    fn body(&mut self, start: usize, verbose: bool) -> Result<Piece, PatternError> {
        self.deeper(start)?;
        let body = self.alternatives(verbose)?;
        self.close(start)?;
        Ok(body)
    }

    fn deeper(&mut self, start: usize) -> Result<(), PatternError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(PatternError::new(format!("groups nest deeper than {MAX_DEPTH}"), start));
        }
        Ok(())
    }

    fn close(&mut self, start: usize) -> Result<(), PatternError> {
        self.depth -= 1;
        if self.tokens.take_if(")") {
            return Ok(());
        }
        Err(PatternError::new("this parenthesis is not closed", start))
    }

    fn token_or_end(&mut self) -> Result<&'p str, PatternError> {
        self.tokens.take().ok_or_else(|| self.error("the pattern ends within an extension"))
    }

    /// A name up to `end`, and where it starts.
    fn name(&mut self, end: &str) -> Result<(&'p str, usize), PatternError> {
        let start = self.tokens.offset();
        match self.tokens.take_until(end) {
            ("", _) => Err(PatternError::new("a group's name is missing", start)),
            (_, false) => Err(PatternError::new(format!("`{end}` is missing after this name"), start)),
            (name, true) => Ok((name, start)),
        }
    }

    fn check_name(&self, name: &str, name_at: usize) -> Result<(), PatternError> {
        if is_identifier(name) {
            return Ok(());
        }
        Err(PatternError::new(format!("`{name}` cannot name a group"), name_at))
    }
}

/// A number as Python's `int()` reads it, if it is not negative: with space around it, a sign, single
/// underscores between digits, and digits of any script. A large number stays at the largest.
fn python_int(text: &str) -> Option<u32> {
    let is_space = |c: char| match c {
        // `int()` does not count U+001C to U+001F, which `str.isspace()` does.
        '\t'..='\r' | ' ' => true,
        _ => !c.is_ascii() && is_in(Category::Space, true, c.into()),
    };
    let text = text.trim_matches(is_space);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.chars().filter(|c| *c != '_').count() > MOST_DIGITS {
        return None;
    }
    let mut value: u32 = 0;
    for part in digits.split('_') {
        if part.is_empty() {
            return None;
        }
        for c in part.chars() {
            value = value.saturating_mul(10).saturating_add(digit_value(c)?);
        }
    }
    (value == 0 || !negative).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::python_int;

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        for (text, expected) in [
            ("1", Some(1)),
            ("007", Some(7)),
            (" 1\n", Some(1)),
            ("+1", Some(1)),
            ("-0", Some(0)),
            ("-1", None),
            ("+ 1", None),
            ("1_0", Some(10)),
            ("1__0", None),
            ("_1", None),
            ("1_", None),
            ("", None),
            ("\u{1c}1", None),
            ("\u{a0}\u{0661}\u{3000}", Some(1)),
            ("99999999999999999999", Some(u32::MAX)),
            ("1a", None),
            ("²", None),
        ] {
            assert_eq!(python_int(text), expected, "{text:?}");
        }
    }
}
