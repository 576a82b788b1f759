//! Inline flags: `(?ims)`, `(?i-s:...)`.

use super::Parser;
use crate::ast::Flags;
use crate::error::PatternError;

/// What followed `(?` and a flag or a minus.
pub(super) enum Inline {
    /// `(?i)`, which the parser has taken note of.
    Global,
    /// `(?i-s:`, before the body.
    Scoped { on: Flags, off: Flags },
}

/// What one letter stands for; `L` is for bytes, which no matcher is.
enum Letter {
    Flag(Flags),
    Locale,
}

fn letter(token: &str) -> Option<Letter> {
    Some(Letter::Flag(match token {
        "i" => Flags::IGNORE_CASE,
        "m" => Flags::MULTILINE,
        "s" => Flags::DOT_ALL,
        "x" => Flags::VERBOSE,
        "a" => Flags::ASCII,
        "u" => Flags::UNICODE,
        "t" => Flags::TEMPLATE,
        "L" => return Some(Letter::Locale),
        _ => return None,
    }))
}

/// Whether a token after `(?` begins flags.
pub(super) fn begins_flags(token: &str) -> bool {
    token == "-" || letter(token).is_some()
}

impl Parser<'_> {
    /// Reads flags from `token`, which was taken, to the `)` or `:` after them.
    pub(super) fn inline_flags(&mut self, token: &str) -> Result<Inline, PatternError> {
        let mut on = Flags::NONE;
        let mut next = token;
        while next != "-" {
            match letter(next) {
                Some(Letter::Flag(flag)) => on |= flag,
                Some(Letter::Locale) => return Err(self.error("the flag L is for bytes only")),
                None => return Err(self.unknown_flag(next, "`-`, `:` or `)`")),
            }
            if on.and(Flags::TYPES) == Flags::TYPES {
                return Err(self.error("the flags a and u exclude each other"));
            }
            next = self.tokens.take().ok_or_else(|| self.error("`-`, `:` or `)` is missing"))?;
            match next {
                ")" => {
                    self.flags |= on;
                    return Ok(Inline::Global);
                }
                ":" => break,
                _ => {}
            }
        }
        let off = if next == "-" { self.flags_off()? } else { Flags::NONE };
        let colon = self.tokens.offset() - 1;
        if (on | off).any(Flags::TEMPLATE) {
            let message = "the flag t holds for all of the pattern or not at all";
            return Err(PatternError::new(message, colon));
        }
        if on.any(off) {
            return Err(PatternError::new("a flag is turned on and off", colon));
        }
        Ok(Inline::Scoped { on, off })
    }

    /// The flags between `-` and `:`.
    fn flags_off(&mut self) -> Result<Flags, PatternError> {
        let mut off = Flags::NONE;
        let mut missing = "a flag";
        loop {
            let next = self.tokens.take().ok_or_else(|| self.error(format!("{missing} is missing")))?;
            match letter(next) {
                _ if next == ":" && off != Flags::NONE => return Ok(off),
                Some(Letter::Flag(flag)) if !flag.any(Flags::TYPES) => off |= flag,
                Some(_) => return Err(self.error("the flags a, u and L cannot be turned off")),
                None => return Err(self.unknown_flag(next, missing)),
            }
            missing = "`:`";
        }
    }

    /// The error for a token that was taken where a flag, or `wanted`, should be.
    fn unknown_flag(&self, token: &str, wanted: &str) -> PatternError {
        let offset = self.tokens.offset() - token.len();
        if token.chars().all(char::is_alphabetic) {
            PatternError::new(format!("there is no flag {token}"), offset)
        } else {
            PatternError::new(format!("{wanted} is missing"), offset)
        }
    }
}
