//! The test for one character, with flags applied.

use crate::ast::{Category, Flags, Member, Set, Unit};
use crate::chars::{Fold, extra_cases, extra_cases_in, is_in, lowered_in, upper};

/// Whether one character fits.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Any,
    NotNewline,
    Is(u32),
    IsNot(u32),
    /// The character's lower case is this one.
    LowerIs(Fold, u32),
    LowerIsNot(Fold, u32),
    Class(Box<Class>),
}

/// Members of a set, ready to be searched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Class {
    negated: bool,
    /// How the character is changed before the search.
    fold: Option<Fold>,
    /// Inclusive, in order, apart from each other.
    ranges: Vec<(u32, u32)>,
    /// Inclusive ranges in which the upper case may lie as well.
    upper_ranges: Vec<(u32, u32)>,
    categories: Vec<(Category, bool)>,
    unicode: bool,
}

/// How letters are compared under these flags.
pub(crate) fn fold(flags: Flags) -> Fold {
    match flags {
        _ if !flags.any(Flags::IGNORE_CASE) => Fold::Exact,
        _ if flags.any(Flags::UNICODE) => Fold::Unicode,
        _ => Fold::Ascii,
    }
}

impl Test {
    pub(crate) fn new(unit: &Unit, flags: Flags) -> Test {
        match unit {
            Unit::Any if flags.any(Flags::DOT_ALL) => Test::Any,
            Unit::Any => Test::NotNewline,
            Unit::Literal(c) => Test::literal(*c, flags, false),
            Unit::NotLiteral(c) => Test::literal(*c, flags, true),
            Unit::Set(set) => Test::Class(Box::new(Class::new(set, flags))),
        }
    }

    fn literal(c: u32, flags: Flags, negated: bool) -> Test {
        let fold = fold(flags);
        if !fold.is_cased(c) {
            return if negated { Test::IsNot(c) } else { Test::Is(c) };
        }
        let lower = fold.lower(c);
        let extra: Vec<u32> = match fold {
            Fold::Unicode => extra_cases(lower).collect(),
            _ => Vec::new(),
        };
        if extra.is_empty() {
            return if negated { Test::LowerIsNot(fold, lower) } else { Test::LowerIs(fold, lower) };
        }
        let all = extra.into_iter().chain([lower]).map(|c| (c, c)).collect();
        Test::Class(Box::new(Class { negated, fold: Some(fold), ranges: merged(all), ..Class::default() }))
    }

    pub(crate) fn fits(&self, c: u32) -> bool {
        match self {
            Test::Any => true,
            Test::NotNewline => c != u32::from('\n'),
            Test::Is(wanted) => c == *wanted,
            Test::IsNot(unwanted) => c != *unwanted,
            Test::LowerIs(fold, wanted) => fold.lower(c) == *wanted,
            Test::LowerIsNot(fold, unwanted) => fold.lower(c) != *unwanted,
            Test::Class(class) => class.fits(c),
        }
    }
}

/// The last character for which Python works out the other cases of a set's members beforehand.
const LAST_FOLDED: u32 = 0xffff;

impl Class {
    fn new(set: &Set, flags: Flags) -> Class {
        let mut class =
            Class { negated: set.negated, unicode: flags.any(Flags::UNICODE), ..Class::default() };
        let mut ranges = Vec::new();
        for member in &set.members {
            match *member {
                Member::Category { kind, negated } => class.categories.push((kind, negated)),
                Member::Literal(c) => ranges.push((c, c)),
                Member::Range(first, last) => {
                    ranges.push((first, last));
                    if last > LAST_FOLDED {
                        class.upper_ranges.push((first, last));
                    }
                }
            }
        }
        class.ranges = merged(ranges);
        let fold = fold(flags);
        // A set that has no case is searched for the character as it is.
        let beyond = class.ranges.last().is_some_and(|&(_, last)| last > LAST_FOLDED);
        if fold != Fold::Exact && (beyond || class.has_case(fold)) {
            class.fold = Some(fold);
            class.add_other_cases(fold);
            class.upper_ranges = merged(class.upper_ranges);
        } else {
            class.upper_ranges.clear();
        }
        class
    }

    /// The ranges up to U+FFFF.
    fn folded_ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        let low = self.ranges.iter().take_while(|&&(first, _)| first <= LAST_FOLDED);
        low.map(|&(first, last)| (first, last.min(LAST_FOLDED)))
    }

    fn has_case(&self, fold: Fold) -> bool {
        self.folded_ranges().any(|(first, last)| fold.any_cased(first, last))
    }

    /// Adds lower case to what is searched, since the character will be in lower case.
    ///
    /// The capitals stay in, which makes no difference: no lower case is a capital. Python 3.11 leaves single
    /// members beyond U+FFFF as they are, so that `(?i)[\U00010400x]` finds U+10400 in neither case.
    fn add_other_cases(&mut self, fold: Fold) {
        let mut found = Vec::new();
        for (first, last) in self.folded_ranges() {
            if fold == Fold::Unicode {
                let lowered = lowered_in(first, last).map(|(_, lower)| lower);
                found.extend(lowered.flat_map(|lower| extra_cases(lower).chain([lower])));
                found.extend(extra_cases_in(first, last).map(|(_, other)| other));
            } else {
                found.extend((first..=last.min(0x7f)).map(|c| fold.lower(c)));
            }
        }
        found.retain(|&c| !within(&self.ranges, c));
        if !found.is_empty() {
            let mut ranges = std::mem::take(&mut self.ranges);
            ranges.extend(found.into_iter().map(|c| (c, c)));
            self.ranges = merged(ranges);
        }
    }

    fn fits(&self, c: u32) -> bool {
        let c = self.fold.map_or(c, |fold| fold.lower(c));
        let found = within(&self.ranges, c)
            || self.categories.iter().any(|&(kind, negated)| is_in(kind, self.unicode, c) != negated)
            || (!self.upper_ranges.is_empty() && within(&self.upper_ranges, upper(c)));
        found != self.negated
    }
}

fn within(ranges: &[(u32, u32)], c: u32) -> bool {
    let after = ranges.partition_point(|&(_, last)| last < c);
    ranges.get(after).is_some_and(|&(first, _)| first <= c)
}

/// Sorts ranges and joins those that touch.
fn merged(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let mut result: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match result.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => result.push((first, last)),
        }
    }
    result
}
