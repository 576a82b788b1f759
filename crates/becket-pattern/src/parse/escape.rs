//! Escapes, inside sets and outside.

use super::{Parser, Width};
use crate::ast::{Anchor, Category, Item, Member, Set, Unit};
use crate::error::PatternError;
use crate::names;
use crate::tokens::single;

impl Parser<'_> {
    /// The escape `token`, which was taken at `start`, outside of a set.
    pub(super) fn escape(&mut self, start: usize, token: &str) -> Result<(Item, Width), PatternError> {
        let anchor = |anchor| Ok((Item::Anchor(anchor), Width::ZERO));
        match escaped(token) {
            'A' => return anchor(Anchor::Start),
            'Z' => return anchor(Anchor::End),
            'b' => return anchor(Anchor::Boundary { negated: false }),
            'B' => return anchor(Anchor::Boundary { negated: true }),
            '1'..='9' => return self.number(start, token),
            '0' => {
                let digits = self.tokens.take_while(2, is_octal);
                return Ok(unit(Unit::Literal(octal(digits))));
            }
            _ => {}
        }
        Ok(unit(match self.member_escape(start, token)? {
            Member::Literal(c) => Unit::Literal(c),
            member => Unit::Set(Set { negated: false, members: vec![member] }),
        }))
    }

    /// The escape `token`, which was taken at `start`, as a member of a set.
    pub(super) fn set_escape(&mut self, start: usize, token: &str) -> Result<Member, PatternError> {
        match escaped(token) {
            'b' => Ok(Member::Literal(8)),
            first @ '0'..='7' => {
                let more = self.tokens.take_while(2, is_octal);
                byte_octal(start, octal(&format!("{first}{more}")))
            }
            _ => self.member_escape(start, token),
        }
    }

    /// What means the same inside a set and outside.
    fn member_escape(&mut self, start: usize, token: &str) -> Result<Member, PatternError> {
        let category = |kind, negated| Ok(Member::Category { kind, negated });
        let c = escaped(token);
        let code = match c {
            'd' => return category(Category::Digit, false),
            'D' => return category(Category::Digit, true),
            's' => return category(Category::Space, false),
            'S' => return category(Category::Space, true),
            'w' => return category(Category::Word, false),
            'W' => return category(Category::Word, true),
            'a' => 7,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            'x' => self.hexadecimal(start, 2)?,
            'u' => self.hexadecimal(start, 4)?,
            'U' => self.hexadecimal(start, 8)?,
            'N' => self.named_character(start)?,
            _ if c.is_ascii_alphanumeric() => {
                return Err(PatternError::new(format!("there is no escape `{token}`"), start));
            }
            _ => c.into(),
        };
        Ok(Member::Literal(code))
    }

    fn hexadecimal(&mut self, start: usize, digits: usize) -> Result<u32, PatternError> {
        let text = self.tokens.take_while(digits, |c| c.is_ascii_hexdigit());
        if text.len() < digits {
            let message = format!("this escape needs {digits} hexadecimal digits");
            return Err(PatternError::new(message, start));
        }
        // Surrogates are characters to Python, if none that a subject here could have.
        u32::from_str_radix(text, 16)
            .ok()
            .filter(|&code| code <= 0x10_ffff)
            .ok_or_else(|| PatternError::new("there is no character with this number", start))
    }

    /// `\N{...}`, from the brace on.
    fn named_character(&mut self, start: usize) -> Result<u32, PatternError> {
        if !self.tokens.take_if("{") {
            return Err(self.error("`{` is missing"));
        }
        let (name, closed) = self.tokens.take_until("}");
        if name.is_empty() {
            return Err(PatternError::new("a character's name is missing", start));
        }
        if !closed {
            return Err(PatternError::new("`}` is missing after this name", start));
        }
        names::character(name)
            .ok_or_else(|| PatternError::new(format!("there is no character named `{name}`"), start))
    }

    /// An escape that begins with a digit but zero: three octal digits, or a group's number.
    fn number(&mut self, start: usize, token: &str) -> Result<(Item, Width), PatternError> {
        let mut digits = token[1..].to_owned();
        if let Some(second) = self.tokens.peek().and_then(single).filter(char::is_ascii_digit) {
            self.tokens.take();
            digits.push(second);
            let third = self.tokens.peek().and_then(single).filter(|&c| is_octal(c));
            if let Some(third) = third.filter(|_| digits.chars().all(is_octal)) {
                self.tokens.take();
                digits.push(third);
                return match byte_octal(start, octal(&digits))? {
                    Member::Literal(c) => Ok(unit(Unit::Literal(c))),
                    _ => Err(PatternError::new(format!("there is no escape `{token}`"), start)),
                };
            }
        }
        let group: u32 = digits.parse().unwrap_or(u32::MAX);
        if group as usize > self.groups.len() {
            return Err(PatternError::new(format!("there is no group {group}"), start + 1));
        }
        let Some(width) = self.closed_width(group) else {
            return Err(PatternError::new("a group cannot refer to itself", start));
        };
        self.check_in_look_behind(group)?;
        Ok((Item::BackReference(group), width))
    }
}

/// The character after the backslash. A lone backslash was refused before anything was read.
fn escaped(token: &str) -> char {
    token.chars().nth(1).unwrap_or('\\')
}

fn unit(unit: Unit) -> (Item, Width) {
    (Item::Unit(unit), Width::ONE)
}

fn is_octal(c: char) -> bool {
    matches!(c, '0'..='7')
}

/// The value of at most three octal digits; none are zero.
fn octal(digits: &str) -> u32 {
    digits.bytes().fold(0, |value, digit| value * 8 + u32::from(digit - b'0'))
}

fn byte_octal(start: usize, code: u32) -> Result<Member, PatternError> {
    if code > 0xff {
        return Err(PatternError::new("an octal escape goes up to 377", start));
    }
    Ok(Member::Literal(code))
}
