//! Where CPython looks for a match: anywhere, or only at characters that can begin one.
//!
//! Two answers depend on it. What it skips by is built with the flags of all of the pattern and not with
//! those of the group that a set stands in: `(?a)(?u:\w)` finds no `é`, which `(?a)(?=)(?u:\w)` does. And where
//! it skips, it goes on to the end of the text, while otherwise it stops where less is left than the pattern's
//! least width. A possessive repetition can leave a capture behind that is shorter than that width reckons with:
//! `x(?:(ab)|a)*+\1\1\1` matches the end of `zzzzzxaba`, where `\1` is empty, and `(?=x)x(?:(ab)|a)*+\1\1\1` does
//! not.

use std::ops::ControlFlow::{self, Break, Continue};

use crate::ast::{Flags, Item, Member, Sequence, Set, Unit};
use crate::chars::Fold;
use crate::class::{Test, fold};

/// The test by which CPython skips places where no match can begin, if it has one.
pub(crate) fn first_test(body: &Sequence, flags: Flags) -> Option<Test> {
    match first_literal(body, flags) {
        Break(Some(literal)) => Some(Test::Is(literal)),
        Break(None) | Continue(()) => first_set(body, flags),
    }
}

/// The first character of CPython's literal prefix, or `None` if something else comes before. Groups in which
/// there is nothing are passed over.
fn first_literal(body: &Sequence, flags: Flags) -> ControlFlow<Option<u32>> {
    for item in body {
        match item {
            Item::Unit(Unit::Literal(c)) if !fold(flags).is_cased(*c) => return Break(Some(*c)),
            Item::Group { on, off, body, .. } => first_literal(body, flags.scoped(*on, *off))?,
            _ => return Break(None),
        }
    }
    Continue(())
}

/// The set that the pattern begins with, or that the first literals of its alternatives make up. Here an empty
/// group at the start is not passed over.
fn first_set(body: &Sequence, flags: Flags) -> Option<Test> {
    let (mut item, mut scoped) = (body.first()?, flags);
    while let Item::Group { on, off, body, .. } = item {
        scoped = scoped.scoped(*on, *off);
        item = body.first()?;
    }
    let fold = fold(scoped);
    let unit = match item {
        Item::Unit(unit @ Unit::Set(set)) => {
            if set.members.iter().any(|member| has_case(member, fold)) {
                return None;
            }
            unit
        }
        Item::Branch(alternatives) => &Unit::Set(Set {
            negated: false,
            members: alternatives.iter().map(|items| begin(items, fold)).collect::<Option<_>>()?,
        }),
        _ => return None,
    };
    Some(Test::new(unit, flags.without(Flags::IGNORE_CASE)))
}

fn has_case(member: &Member, fold: Fold) -> bool {
    match *member {
        _ if fold == Fold::Exact => false,
        Member::Literal(c) => fold.is_cased(c),
        // CPython does not look at these.
        Member::Range(_, last) if last > 0xffff => true,
        Member::Range(first, last) => fold.any_cased(first, last),
        Member::Category { .. } => false,
    }
}

/// The literal that an alternative begins with, if it has no other case.
fn begin(items: &Sequence, fold: Fold) -> Option<Member> {
    match items.first()? {
        Item::Unit(Unit::Literal(c)) if !fold.is_cased(*c) => Some(Member::Literal(*c)),
        _ => None,
    }
}
