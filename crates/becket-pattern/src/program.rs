//! A pattern as instructions for the matcher, with flags applied.

use crate::ast::{Anchor, Flags, Greed, Item, Sequence};
use crate::chars::Fold;
use crate::class::{Test, fold};
use crate::first::first_test;
use crate::parse::Parsed;

/// The place of an instruction.
pub(crate) type Label = usize;

/// Instructions; the first is where a match begins, and each goes on to the next unless it says so.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) code: Vec<Instruction>,
    /// A match has at least as many characters, by Python's reckoning.
    pub(crate) min_width: u64,
    pub(crate) groups: usize,
    /// If there is one, a match is looked for only where this fits the first character, but then up to the very
    /// end of the text.
    pub(crate) first: Option<Test>,
}

#[derive(Clone, Debug)]
pub(crate) enum Instruction {
    /// One character.
    Unit(Test),
    At(Place),
    /// Notes the current place: mark `2n` is where group `n` (from 0) starts, `2n + 1` where it ends.
    Mark(usize),
    /// The text of a group (from 0).
    BackReference {
        group: usize,
        fold: Fold,
    },
    Jump(Label),
    /// The first of these that lets the rest match.
    Branch(Vec<Label>),
    /// Jumps unless the group (from 0) has matched.
    Conditional {
        group: usize,
        otherwise: Label,
    },
    /// A repeated character.
    RepeatUnit {
        test: Test,
        count: Count,
        greed: Greed,
    },
    /// Begins a repetition whose body comes next and ends at the `Again` at `again`.
    Repeat {
        again: Label,
    },
    /// Ends the body of a repetition: does it once more, or goes on.
    Again {
        body: Label,
        count: Count,
        lazy: bool,
    },
    /// A possessive repetition of what comes next, up to an `Accept` before `after`.
    Possessive {
        count: Count,
        after: Label,
    },
    /// Matches what comes next, up to an `Accept` before `after`, in one way only.
    Atomic {
        after: Label,
    },
    /// Looks whether what comes next, up to an `Accept` before `after`, matches `back` characters ago.
    Look {
        back: u32,
        negative: bool,
        after: Label,
    },
    /// The end of the pattern, or of a part that matches on its own.
    Accept,
}

/// How often something may be repeated; `u32::MAX` at most is no limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    pub(crate) min: u32,
    pub(crate) max: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Start,
    LineStart,
    /// The end, or before a newline at the end.
    DollarEnd,
    LineEnd,
    End,
    Boundary {
        unicode: bool,
        negated: bool,
    },
}

impl Program {
    pub(crate) fn new(parsed: &Parsed) -> Program {
        let mut builder = Builder { code: Vec::new() };
        builder.sequence(&parsed.body, parsed.flags);
        builder.push(Instruction::Accept);
        Program {
            code: builder.code,
            min_width: parsed.min_width,
            groups: parsed.groups as usize,
            first: first_test(&parsed.body, parsed.flags).filter(|_| parsed.min_width > 0),
        }
    }
}

struct Builder {
    code: Vec<Instruction>,
}

impl Builder {
    fn push(&mut self, instruction: Instruction) -> Label {
        self.code.push(instruction);
        self.code.len() - 1
    }

    /// Where the next instruction will be.
    fn here(&self) -> Label {
        self.code.len()
    }

    fn sequence(&mut self, items: &Sequence, flags: Flags) {
        for item in items {
            self.item(item, flags);
        }
    }

    fn item(&mut self, item: &Item, flags: Flags) {
        match item {
            Item::Unit(unit) => {
                self.push(Instruction::Unit(Test::new(unit, flags)));
            }
            Item::Anchor(anchor) => {
                self.push(Instruction::At(place(*anchor, flags)));
            }
            Item::Branch(alternatives) => self.branch(alternatives, flags),
            Item::Group { number, on, off, body } => {
                let flags = flags.scoped(*on, *off);
                let first_mark = number.map(|number| 2 * (number as usize - 1));
                if let Some(mark) = first_mark {
                    self.push(Instruction::Mark(mark));
                }
                self.sequence(body, flags);
                if let Some(mark) = first_mark {
                    self.push(Instruction::Mark(mark + 1));
                }
            }
            Item::Repeat { min, max, greed, body } => {
                self.repeat(Count { min: *min, max: *max }, *greed, body, flags);
            }
            Item::Atomic(body) => {
                self.apart(body, flags, |after| Instruction::Atomic { after });
            }
            Item::Look { back, negative, body } => {
                let (back, negative) = (*back, *negative);
                self.apart(body, flags, |after| Instruction::Look { back, negative, after });
            }
            Item::BackReference(group) => {
                let group = *group as usize - 1;
                self.push(Instruction::BackReference { group, fold: fold(flags) });
            }
            Item::Conditional { group, yes, no } => {
                let group = *group as usize - 1;
                let test = self.push(Instruction::Conditional { group, otherwise: 0 });
                self.sequence(yes, flags);
                if !no.is_empty() {
                    let end = self.push(Instruction::Jump(0));
                    self.code[test] = Instruction::Conditional { group, otherwise: self.here() };
                    self.sequence(no, flags);
                    self.code[end] = Instruction::Jump(self.here());
                } else {
                    self.code[test] = Instruction::Conditional { group, otherwise: self.here() };
                }
            }
        }
    }

    fn branch(&mut self, alternatives: &[Sequence], flags: Flags) {
        let branch = self.push(Instruction::Branch(Vec::new()));
        let mut starts = Vec::with_capacity(alternatives.len());
        let mut ends = Vec::with_capacity(alternatives.len());
        for alternative in alternatives {
            starts.push(self.here());
            self.sequence(alternative, flags);
            ends.push(self.push(Instruction::Jump(0)));
        }
        for end in ends {
            self.code[end] = Instruction::Jump(self.here());
        }
        self.code[branch] = Instruction::Branch(starts);
    }

    fn repeat(&mut self, count: Count, greed: Greed, body: &Sequence, flags: Flags) {
        if let Some(test) = single_unit(body, flags) {
            self.push(Instruction::RepeatUnit { test, count, greed });
            return;
        }
        if greed == Greed::Possessive {
            self.apart(body, flags, |after| Instruction::Possessive { count, after });
            return;
        }
        let repeat = self.push(Instruction::Repeat { again: 0 });
        self.sequence(body, flags);
        let lazy = greed == Greed::Lazy;
        let again = self.push(Instruction::Again { body: repeat + 1, count, lazy });
        self.code[repeat] = Instruction::Repeat { again };
    }

    /// A part that matches on its own, behind the instruction that says what becomes of it.
    fn apart(&mut self, body: &Sequence, flags: Flags, instruction: impl Fn(Label) -> Instruction) {
        let start = self.push(instruction(0));
        self.sequence(body, flags);
        self.push(Instruction::Accept);
        self.code[start] = instruction(self.here());
    }
}

/// The test that a body amounts to if it is one character and nothing else.
fn single_unit(body: &Sequence, flags: Flags) -> Option<Test> {
    match body.as_slice() {
        [Item::Unit(unit)] => Some(Test::new(unit, flags)),
        [Item::Group { number: None, on, off, body }] => single_unit(body, flags.scoped(*on, *off)),
        _ => None,
    }
}

fn place(anchor: Anchor, flags: Flags) -> Place {
    let multiline = flags.any(Flags::MULTILINE);
    match anchor {
        Anchor::Caret if multiline => Place::LineStart,
        Anchor::Dollar if multiline => Place::LineEnd,
        Anchor::Caret | Anchor::Start => Place::Start,
        Anchor::Dollar => Place::DollarEnd,
        Anchor::End => Place::End,
        Anchor::Boundary { negated } => Place::Boundary { unicode: flags.any(Flags::UNICODE), negated },
    }
}
