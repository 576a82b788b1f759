//! `[...]`. Python has no set operations: `[a&&b]`, `[a--b]` and `[[a]` hold plain characters.

use super::{Parser, unique};
use crate::ast::{Member, Set, Unit};
use crate::error::PatternError;
use crate::tokens::single;

impl<'p> Parser<'p> {
    /// Reads on after the bracket at `start`.
    pub(super) fn set(&mut self, start: usize) -> Result<Unit, PatternError> {
        let negated = self.tokens.take_if("^");
        let mut members = Vec::new();
        loop {
            let at = self.tokens.offset();
            let token = self.set_token(start)?;
            if token == "]" && !members.is_empty() {
                break;
            }
            let low = self.member(at, token)?;
            if !self.tokens.take_if("-") {
                members.push(low);
                continue;
            }
            let high_at = self.tokens.offset();
            let token = self.set_token(start)?;
            if token == "]" {
                members.push(low);
                members.push(Member::Literal('-'.into()));
                break;
            }
            match (low, self.member(high_at, token)?) {
                (Member::Literal(low), Member::Literal(high)) if low <= high => {
                    members.push(Member::Range(low, high));
                }
                (Member::Literal(_), Member::Literal(_)) => {
                    return Err(PatternError::new("this range ends before it starts", at));
                }
                _ => return Err(PatternError::new("a range goes from character to character", at)),
            }
        }
        let members = unique(members);
        Ok(match (members.as_slice(), negated) {
            ([Member::Literal(c)], false) => Unit::Literal(*c),
            ([Member::Literal(c)], true) => Unit::NotLiteral(*c),
            _ => Unit::Set(Set { negated, members }),
        })
    }

    fn set_token(&mut self, start: usize) -> Result<&'p str, PatternError> {
        self.tokens.take().ok_or_else(|| PatternError::new("this set is not closed", start))
    }

    fn member(&mut self, at: usize, token: &str) -> Result<Member, PatternError> {
        match single(token) {
            Some(c) => Ok(Member::Literal(c.into())),
            None => self.set_escape(at, token),
        }
    }
}
