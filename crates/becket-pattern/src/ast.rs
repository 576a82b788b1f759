//! What a pattern says, before flags are applied.
//!
//! The shape follows how Python 3.11 reads a pattern and not only what was written, because that
//! reading shows: `(?i)𐐀|x` becomes one set there, and a set finds no letter beyond U+FFFF by its capital,
//! so it matches `𐐀` in neither case; `(?i)𐐀` alone matches both.

use std::ops::{BitOr, BitOrAssign};

/// Items matched one after the other.
pub(crate) type Sequence = Vec<Item>;

/// A repetition without an upper bound.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// Exactly one character.
    Unit(Unit),
    /// A place between characters.
    Anchor(Anchor),
    /// The first alternative that lets the rest match.
    Branch(Vec<Sequence>),
    /// A group, capturing if it has a number, with the flags it turns on and off.
    Group { number: Option<u32>, on: Flags, off: Flags, body: Sequence },
    /// `body` between `min` and `max` times.
    Repeat { min: u32, max: u32, greed: Greed, body: Sequence },
    /// `(?>...)`: the body's first way to match is its only one.
    Atomic(Sequence),
    /// A look around, which starts `back` characters before the current place.
    Look { back: u32, negative: bool, body: Sequence },
    /// The text of a group once more.
    BackReference(u32),
    /// `yes` if the group has matched, `no` otherwise.
    Conditional { group: u32, yes: Sequence, no: Sequence },
}

/// A test for one character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Literal(u32),
    NotLiteral(u32),
    /// The dot.
    Any,
    Set(Set),
}

/// Members of `[...]`, each once, in the order written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) negated: bool,
    pub(crate) members: Vec<Member>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Member {
    Literal(u32),
    /// Inclusive.
    Range(u32, u32),
    Category {
        kind: Category,
        negated: bool,
    },
}

/// `\d`, `\s` and `\w`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Category {
    Digit,
    Space,
    Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// `^`
    Caret,
    /// `$`
    Dollar,
    /// `\A`
    Start,
    /// `\Z`
    End,
    /// `\b`, or `\B` if negated.
    Boundary { negated: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greed {
    Greedy,
    Lazy,
    Possessive,
}

/// A set of inline flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u8);

impl Flags {
    pub(crate) const NONE: Flags = Flags(0);
    pub(crate) const IGNORE_CASE: Flags = Flags(1);
    pub(crate) const MULTILINE: Flags = Flags(2);
    pub(crate) const DOT_ALL: Flags = Flags(4);
    pub(crate) const VERBOSE: Flags = Flags(8);
    pub(crate) const ASCII: Flags = Flags(16);
    pub(crate) const UNICODE: Flags = Flags(32);
    /// `t`, which Python 3.11 still reads: it forbids repetition.
    pub(crate) const TEMPLATE: Flags = Flags(64);
    /// The flags that exclude each other.
    pub(crate) const TYPES: Flags = Flags(16 | 32);

    /// Whether any of `others` is in the set.
    pub(crate) fn any(self, others: Flags) -> bool {
        self.0 & others.0 != 0
    }

    pub(crate) fn and(self, others: Flags) -> Flags {
        Flags(self.0 & others.0)
    }

    pub(crate) fn without(self, others: Flags) -> Flags {
        Flags(self.0 & !others.0)
    }

    /// The flags inside a group that turns some on and some off.
    pub(crate) fn scoped(self, on: Flags, off: Flags) -> Flags {
        let outer = if on.any(Flags::TYPES) { self.without(Flags::TYPES) } else { self };
        (outer | on).without(off)
    }
}

impl BitOr for Flags {
    type Output = Flags;

    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

impl Item {
    /// The items that stand for this one: `(?:...)` leaves no trace once it is read.
    pub(crate) fn unwrapped(self) -> Sequence {
        match self {
            Item::Group { number: None, on: Flags::NONE, off: Flags::NONE, body } => body,
            item => vec![item],
        }
    }

    /// Whether Python takes the two for the same item when it looks for what alternatives begin with
    /// alike. It compares anything that has a body by identity, so those never are.
    pub(crate) fn is_same_simple(&self, other: &Item) -> bool {
        match (self, other) {
            (Item::Unit(a), Item::Unit(b)) => a == b,
            (Item::Anchor(a), Item::Anchor(b)) => a == b,
            (Item::BackReference(a), Item::BackReference(b)) => a == b,
            _ => false,
        }
    }
}
