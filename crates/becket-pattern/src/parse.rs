//! Reads a pattern by Python 3.11's grammar and refuses what Python refuses.

mod escape;
mod flags;
mod group;
mod set;
mod width;

use std::collections::{HashMap, HashSet};

use crate::ast::{Anchor, Flags, Greed, Item, Member, Sequence, Set, UNBOUNDED, Unit};
use crate::error::PatternError;
use crate::tokens::{Tokens, single};
pub(crate) use width::Width;

/// How deep groups may nest. Python's own limit is near 490 and depends on its caller's stack; this one
/// keeps a thread with a small stack safe.
const MAX_DEPTH: u32 = 200;

/// Python's `int()` reads numbers of no more digits, zeros that lead among them.
const MOST_DIGITS: usize = 4_300;

/// A pattern that Python accepts.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) body: Sequence,
    /// The flags that hold for all of it.
    pub(crate) flags: Flags,
    /// How many characters a match has at least, by Python's reckoning.
    pub(crate) min_width: u64,
    /// The number of capturing groups.
    pub(crate) groups: u32,
}

pub(crate) fn parse(text: &str) -> Result<Parsed, PatternError> {
    let trailing = text.len() - text.trim_end_matches('\\').len();
    if trailing % 2 == 1 {
        return Err(PatternError::new("the pattern ends in a lone backslash", text.len() - 1));
    }
    Parser::new(text).parse()
}

/// A sequence, and how many characters it matches.
#[derive(Default)]
struct Piece {
    items: Sequence,
    width: Width,
}

struct Parser<'p> {
    tokens: Tokens<'p>,
    /// Flags set for the whole pattern so far.
    flags: Flags,
    /// What each capturing group can match, `None` while it is open. Group 1 comes first.
    groups: Vec<Option<Width>>,
    names: HashMap<&'p str, u32>,
    /// Within a look-behind: the number of groups that were there before the outermost one.
    groups_before_look_behind: Option<usize>,
    /// Groups that conditionals name by number, which may come later, and where.
    awaited: Vec<(u32, usize)>,
    /// For the error if repetition meets the flag `t`.
    first_repeat: Option<usize>,
    depth: u32,
}

impl<'p> Parser<'p> {
    fn new(text: &'p str) -> Parser<'p> {
        Parser {
            tokens: Tokens::new(text),
            flags: Flags::NONE,
            groups: Vec::new(),
            names: HashMap::new(),
            groups_before_look_behind: None,
            awaited: Vec::new(),
            first_repeat: None,
            depth: 0,
        }
    }

    fn parse(mut self) -> Result<Parsed, PatternError> {
        let body = self.alternatives(false)?;
        if self.flags.and(Flags::TYPES) == Flags::TYPES {
            return Err(PatternError::new("the flags a and u exclude each other", 0));
        }
        if !self.flags.any(Flags::ASCII) {
            self.flags |= Flags::UNICODE;
        }
        if self.tokens.peek().is_some() {
            return Err(self.error("there is no group for this parenthesis to close"));
        }
        for &(group, offset) in &self.awaited {
            if group as usize > self.groups.len() {
                return Err(PatternError::new(format!("there is no group {group}"), offset));
            }
        }
        if let Some(offset) = self.first_repeat.filter(|_| self.flags.any(Flags::TEMPLATE)) {
            return Err(PatternError::new("the flag t forbids repetition", offset));
        }
        Ok(Parsed {
            body: body.items,
            flags: self.flags,
            min_width: body.width.min,
            groups: self.groups.len() as u32,
        })
    }

    /// An error at the next token.
    fn error(&self, message: impl Into<String>) -> PatternError {
        PatternError::new(message, self.tokens.offset())
    }

    /// Alternatives up to a closing parenthesis or the end.
    fn alternatives(&mut self, mut verbose: bool) -> Result<Piece, PatternError> {
        let outermost = self.depth == 0;
        let mut alternatives = Vec::new();
        loop {
            alternatives.push(self.sequence(verbose, outermost && alternatives.is_empty())?);
            if !self.tokens.take_if("|") {
                break;
            }
            if outermost {
                verbose = self.flags.any(Flags::VERBOSE);
            }
        }
        Ok(join(alternatives))
    }

    /// Items up to `|`, a closing parenthesis or the end. Flags for all of the pattern may stand only
    /// where `first` holds and no item came before.
    fn sequence(&mut self, mut verbose: bool, first: bool) -> Result<Piece, PatternError> {
        let mut items: Vec<(Item, Width)> = Vec::new();
        while let Some(token) = self.tokens.peek() {
            if token == "|" || token == ")" {
                break;
            }
            let start = self.tokens.offset();
            self.tokens.take();
            if verbose && matches!(token, " " | "\t" | "\n" | "\r" | "\u{b}" | "\u{c}") {
                continue;
            }
            if verbose && token == "#" {
                while self.tokens.take().is_some_and(|token| token != "\n") {}
                continue;
            }
            match token {
                "[" => items.push((Item::Unit(self.set(start)?), Width::ONE)),
                "*" | "+" | "?" | "{" => self.quantifier(start, token, &mut items)?,
                "." => items.push((Item::Unit(Unit::Any), Width::ONE)),
                "^" => items.push((Item::Anchor(Anchor::Caret), Width::ZERO)),
                "$" => items.push((Item::Anchor(Anchor::Dollar), Width::ZERO)),
                "(" => match self.group(start, verbose)? {
                    group::Read::Item(item, width) => items.push((item, width)),
                    group::Read::Nothing => {}
                    group::Read::Flags => {
                        if !first || !items.is_empty() {
                            let message = "flags for all of the pattern must stand at its start";
                            return Err(PatternError::new(message, start));
                        }
                        verbose = self.flags.any(Flags::VERBOSE);
                    }
                },
                _ => match single(token) {
                    Some(c) => items.push(literal(c)),
                    None => items.push(self.escape(start, token)?),
                },
            }
        }
        let width = items.iter().fold(Width::ZERO, |sum, (_, width)| sum.then(*width));
        let items = items.into_iter().flat_map(|(item, _)| item.unwrapped());
        Ok(Piece { items: items.collect(), width })
    }

    /// Applies the quantifier that `token` begins to the last item.
    fn quantifier(
        &mut self,
        start: usize,
        token: &str,
        items: &mut Vec<(Item, Width)>,
    ) -> Result<(), PatternError> {
        let (min, max) = match token {
            "?" => (0, 1),
            "*" => (0, UNBOUNDED),
            "+" => (1, UNBOUNDED),
            _ => match self.counts(start)? {
                Some(counts) => counts,
                None => {
                    items.push(literal('{'));
                    return Ok(());
                }
            },
        };
        match items.last() {
            None | Some((Item::Anchor(_), _)) => {
                return Err(PatternError::new("there is nothing to repeat", start));
            }
            Some((Item::Repeat { .. }, _)) => {
                return Err(PatternError::new("a repetition cannot be repeated", start));
            }
            Some(_) => {}
        }
        let greed = if self.tokens.take_if("?") {
            Greed::Lazy
        } else if self.tokens.take_if("+") {
            Greed::Possessive
        } else {
            Greed::Greedy
        };
        self.first_repeat.get_or_insert(start);
        if let Some((item, width)) = items.pop() {
            let body = item.unwrapped();
            items.push((Item::Repeat { min, max, greed, body }, width.times(min, max)));
        }
        Ok(())
    }

    /// The counts in `{...}`, or `None` if the brace is a plain character.
    fn counts(&mut self, start: usize) -> Result<Option<(u32, u32)>, PatternError> {
        if self.tokens.peek() == Some("}") {
            return Ok(None);
        }
        let after_brace = self.tokens.offset();
        let low = self.tokens.take_while(usize::MAX, |c| c.is_ascii_digit());
        let high = if self.tokens.take_if(",") {
            self.tokens.take_while(usize::MAX, |c| c.is_ascii_digit())
        } else {
            low
        };
        if !self.tokens.take_if("}") {
            self.tokens.seek(after_brace);
            return Ok(None);
        }
        let count = |digits: &str, absent: u32| match digits {
            "" => Ok(absent),
            _ if digits.len() > MOST_DIGITS => Err(PatternError::new("a number has too many digits", start)),
            _ => digits
                .parse()
                .ok()
                .filter(|&count| count < UNBOUNDED)
                .ok_or_else(|| PatternError::new("the number of repetitions is too large", start)),
        };
        let (min, max) = (count(low, 0)?, count(high, UNBOUNDED)?);
        if max < min {
            return Err(PatternError::new("the least number of repetitions exceeds the most", after_brace));
        }
        Ok(Some((min, max)))
    }

    /// Refuses a reference that a look-behind cannot have: its width would not be known.
    fn check_in_look_behind(&self, group: u32) -> Result<(), PatternError> {
        let Some(before) = self.groups_before_look_behind else { return Ok(()) };
        if self.closed_width(group).is_none() {
            return Err(self.error("a look-behind cannot refer to an open group"));
        }
        if group as usize > before {
            return Err(self.error("a look-behind cannot refer to a group of its own"));
        }
        Ok(())
    }

    /// The width of a group that has been closed.
    fn closed_width(&self, group: u32) -> Option<Width> {
        let index = usize::try_from(group).ok()?.checked_sub(1)?;
        self.groups.get(index).copied().flatten()
    }
}

fn literal(c: char) -> (Item, Width) {
    (Item::Unit(Unit::Literal(c.into())), Width::ONE)
}

/// Makes one sequence of alternatives: what all begin with alike comes out in front, and alternatives of
/// one character each become a set.
fn join(mut alternatives: Vec<Piece>) -> Piece {
    if alternatives.len() == 1 {
        return alternatives.pop().unwrap_or_default();
    }
    let width = alternatives.iter().map(|piece| piece.width).reduce(Width::or).unwrap_or_default();
    let mut rest: Vec<Sequence> = alternatives.into_iter().map(|piece| piece.items).collect();

    let alike = (0..)
        .take_while(|&index| {
            let mut column = rest.iter().map(|items| items.get(index));
            match column.next().flatten() {
                Some(first) => column.all(|item| item.is_some_and(|item| item.is_same_simple(first))),
                None => false,
            }
        })
        .count();
    let mut items: Sequence = rest[0].drain(..alike).collect();
    for other in &mut rest[1..] {
        other.drain(..alike);
    }

    items.push(match set_of(&rest) {
        Some(members) => Item::Unit(Unit::Set(Set { negated: false, members })),
        None => Item::Branch(rest),
    });
    Piece { items, width }
}

/// The members of the set that the alternatives amount to.
fn set_of(alternatives: &[Sequence]) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    for items in alternatives {
        match items.as_slice() {
            [Item::Unit(Unit::Literal(c))] => members.push(Member::Literal(*c)),
            [Item::Unit(Unit::Set(set))] if !set.negated => members.extend_from_slice(&set.members),
            _ => return None,
        }
    }
    Some(unique(members))
}

/// Drops members that came before.
fn unique(mut members: Vec<Member>) -> Vec<Member> {
    let mut seen = HashSet::new();
    members.retain(|member| seen.insert(*member));
    members
}
