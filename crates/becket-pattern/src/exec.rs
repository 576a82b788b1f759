//! The matcher: backtracking in the order that CPython's engine tries things, on a stack of its own.
//!
//! What a group captured can depend on attempts that failed, because CPython gives captures back only
//! where that is cheap: it keeps the number of the highest mark, and copies the marks themselves only
//! inside a repetition. Conditionals and back references make that visible, so the same bookkeeping is
//! done here, at the same points.

mod frame;

use frame::{Frame, Saved};

use crate::ast::{Category, Greed, UNBOUNDED};
use crate::chars::{Fold, is_in};
use crate::class::Test;
use crate::error::MatchError;
use crate::program::{Count, Instruction, Label, Place, Program};

/// How many steps a search may take before it is given up. A step is about one instruction; a million
/// take some milliseconds, and some tens of them where every character is folded.
pub(crate) const STEP_LIMIT: u64 = 1_000_000;

/// No place in the subject, or no repetition.
const NONE: u32 = u32::MAX;

/// Whether the program matches anywhere in the subject.
pub(crate) fn search(program: &Program, subject: &str) -> Result<bool, MatchError> {
    let text: Vec<u32> = subject.chars().map(u32::from).collect();
    let length = text.len() as u64;
    if length < program.min_width {
        return Ok(false);
    }
    // Places are kept in 32 bits. Nothing so long could be searched within the limit.
    if length >= u64::from(NONE) {
        return Err(MatchError::StepLimit { limit: STEP_LIMIT });
    }
    let mut last_start = length - program.min_width.saturating_sub(1);
    if let Some(Instruction::At(Place::Start)) = program.code.first() {
        last_start = 0;
    }
    let mut matcher = Matcher::new(program, &text);
    if let Some(first) = &program.first {
        for (start, &c) in text.iter().enumerate() {
            matcher.spend(1)?;
            if first.fits(c) && matcher.matches_at(start as u32)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    for start in 0..=last_start as u32 {
        if matcher.matches_at(start)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A repetition under way.
#[derive(Clone, Copy, Debug)]
struct Repetition {
    /// How often the body has been begun.
    done: u32,
    /// Where the body last began, to stop when it matches nothing.
    last_start: u32,
    /// The repetition around this one.
    outer: u32,
}

struct Matcher<'a> {
    code: &'a [Instruction],
    text: &'a [u32],
    /// Where groups start and end. Only the first `marked` count.
    marks: Vec<u32>,
    /// The number of marks that count.
    marked: usize,
    /// Copies of marks that frames put back.
    copies: Vec<u32>,
    frames: Vec<Frame>,
    repetitions: Vec<Repetition>,
    /// The innermost repetition.
    current: u32,
    steps_left: u64,
}

/// What to do next.
enum Next {
    /// Carry on at an instruction, at a place in the subject.
    Go(Label, u32),
    /// This way does not match.
    Fail,
}

use Next::{Fail, Go};

impl<'a> Matcher<'a> {
    fn new(program: &'a Program, text: &'a [u32]) -> Matcher<'a> {
        Matcher {
            code: &program.code,
            text,
            marks: vec![NONE; 2 * program.groups],
            marked: 0,
            copies: Vec::new(),
            frames: Vec::new(),
            repetitions: Vec::new(),
            current: NONE,
            steps_left: STEP_LIMIT,
        }
    }

    fn matches_at(&mut self, start: u32) -> Result<bool, MatchError> {
        self.marked = 0;
        self.copies.clear();
        self.frames.clear();
        self.repetitions.clear();
        self.current = NONE;

        let (mut label, mut at) = (0, start);
        loop {
            self.spend(1)?;
            let mut next = match &self.code[label] {
                Instruction::Accept => match self.accept(at)? {
                    Some(next) => next,
                    None => return self.check_captures().map(|()| true),
                },
                instruction => self.step(instruction, label, at)?,
            };
            loop {
                match next {
                    Go(to, place) => {
                        (label, at) = (to, place);
                        break;
                    }
                    Fail => {
                        self.spend(1)?;
                        let Some(frame) = self.frames.pop() else { return Ok(false) };
                        next = self.resume(frame)?;
                    }
                }
            }
        }
    }

    /// Fails where CPython cannot say what a group of this match captured.
    fn check_captures(&self) -> Result<(), MatchError> {
        let (pairs, _) = self.marks[..self.marked].as_chunks::<2>();
        if pairs.iter().any(|&[from, to]| from != NONE && to != NONE && from > to) {
            return Err(MatchError::BadCapture);
        }
        Ok(())
    }

    fn spend(&mut self, steps: usize) -> Result<(), MatchError> {
        match self.steps_left.checked_sub(steps as u64) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => Err(MatchError::StepLimit { limit: STEP_LIMIT }),
        }
    }

    /// Does one instruction other than `Accept`.
    fn step(&mut self, instruction: &'a Instruction, label: Label, at: u32) -> Result<Next, MatchError> {
        let next = label + 1;
        Ok(match instruction {
            Instruction::Unit(test) => match self.char_at(at) {
                Some(c) if test.fits(c) => Go(next, at + 1),
                _ => Fail,
            },
            Instruction::At(place) => {
                if self.is_at(*place, at) {
                    Go(next, at)
                } else {
                    Fail
                }
            }
            Instruction::Mark(index) => {
                self.mark(*index, at)?;
                Go(next, at)
            }
            Instruction::BackReference { group, fold } => match self.group(*group) {
                Some((from, to)) => self.same_text(from, to, at, *fold, next)?,
                None => Fail,
            },
            Instruction::Jump(to) => Go(*to, at),
            Instruction::Branch(_) => {
                let saved = self.save_in_repetition()?;
                self.alternative(label, 0, at, saved)
            }
            Instruction::Conditional { group, otherwise } => {
                Go(if self.group(*group).is_some() { next } else { *otherwise }, at)
            }
            Instruction::RepeatUnit { test, count, greed } => {
                let limit = if *greed == Greed::Lazy { count.min } else { count.max };
                let found = self.count_units(test, at, limit)?;
                if found < count.min {
                    return Ok(Fail);
                }
                let end = at + found;
                match greed {
                    Greed::Possessive => {}
                    Greed::Greedy => {
                        let saved = self.save_in_repetition()?;
                        self.frames.push(Frame::Greedy { next, at: end, spare: found - count.min, saved });
                    }
                    Greed::Lazy => {
                        let saved = self.save_in_repetition()?;
                        self.frames.push(Frame::Lazy { label, at: end, count: found, saved });
                    }
                }
                Go(next, end)
            }
            Instruction::Repeat { again } => {
                let outer = self.current;
                self.current = self.repetitions.len() as u32;
                self.repetitions.push(Repetition { done: 0, last_start: NONE, outer });
                self.frames.push(Frame::Repeat);
                Go(*again, at)
            }
            Instruction::Again { body, count, lazy } => self.again(label, *body, *count, *lazy, at)?,
            Instruction::Possessive { .. } => self.possess(label, 0, at, NONE)?,
            Instruction::Atomic { after } => {
                self.frames.push(Frame::Atomic { after: *after, barrier: self.barrier() });
                Go(next, at)
            }
            Instruction::Look { back, negative, after } => {
                let Some(start) = at.checked_sub(*back) else {
                    return Ok(if *negative { Go(*after, at) } else { Fail });
                };
                let barrier = self.barrier();
                let frame = if *negative {
                    let saved = self.save_in_repetition()?;
                    Frame::LookNot { after: *after, at, saved, barrier }
                } else {
                    Frame::Look { after: *after, at, barrier }
                };
                self.frames.push(frame);
                Go(next, start)
            }
            // The loop around takes care of this one.
            Instruction::Accept => Fail,
        })
    }

    fn char_at(&self, at: u32) -> Option<u32> {
        self.text.get(at as usize).copied()
    }

    fn is_at(&self, place: Place, at: u32) -> bool {
        let newline = u32::from('\n');
        let end = self.text.len() as u32;
        let before = at.checked_sub(1).and_then(|at| self.char_at(at));
        let after = self.char_at(at);
        match place {
            Place::Start => at == 0,
            Place::LineStart => before.is_none_or(|c| c == newline),
            Place::DollarEnd => at == end || (at + 1 == end && after == Some(newline)),
            Place::LineEnd => after.is_none_or(|c| c == newline),
            Place::End => at == end,
            // Python 3.11 finds neither a boundary nor a place that is none in an empty text.
            Place::Boundary { .. } if end == 0 => false,
            Place::Boundary { unicode, negated } => {
                let is_word = |c: Option<u32>| c.is_some_and(|c| is_in(Category::Word, unicode, c));
                (is_word(before) != is_word(after)) != negated
            }
        }
    }

    fn mark(&mut self, index: usize, at: u32) -> Result<(), MatchError> {
        if index >= self.marked {
            self.spend((index - self.marked) / 8)?;
            self.marks[self.marked..index].fill(NONE);
            self.marked = index + 1;
        }
        self.marks[index] = at;
        Ok(())
    }

    /// Where a group matched, if it did.
    fn group(&self, group: usize) -> Option<(u32, u32)> {
        let (from, to) = (2 * group, 2 * group + 1);
        if to >= self.marked {
            return None;
        }
        let (from, to) = (self.marks[from], self.marks[to]);
        (from != NONE && to != NONE && from <= to).then_some((from, to))
    }

    fn same_text(
        &mut self,
        from: u32,
        to: u32,
        at: u32,
        fold: Fold,
        next: Label,
    ) -> Result<Next, MatchError> {
        let length = (to - from) as usize;
        self.spend(if fold == Fold::Exact { length / 8 } else { length })?;
        let end = at as usize + (to - from) as usize;
        let wanted = &self.text[from as usize..to as usize];
        Ok(match self.text.get(at as usize..end) {
            Some(found) if wanted.iter().zip(found).all(|(a, b)| fold.lower(*a) == fold.lower(*b)) => {
                Go(next, end as u32)
            }
            _ => Fail,
        })
    }

    fn count_units(&mut self, test: &Test, at: u32, limit: u32) -> Result<u32, MatchError> {
        let rest = &self.text[at as usize..];
        let rest = &rest[..rest.len().min(limit as usize)];
        let found = rest.iter().position(|&c| !test.fits(c)).unwrap_or(rest.len());
        self.spend(found / 4)?;
        Ok(found as u32)
    }

    /// Tries the alternative with this number, if there is one.
    fn alternative(&mut self, label: Label, index: u32, at: u32, saved: Saved) -> Next {
        let start = match &self.code[label] {
            Instruction::Branch(starts) => starts.get(index as usize),
            _ => None,
        };
        let Some(&start) = start else {
            self.forget(saved);
            return Fail;
        };
        self.frames.push(Frame::Branch { label, next: index + 1, at, saved });
        Go(start, at)
    }

    /// At the end of a repetition's body, or before its first.
    fn again(
        &mut self,
        label: Label,
        body: Label,
        limits: Count,
        lazy: bool,
        at: u32,
    ) -> Result<Next, MatchError> {
        let index = self.current;
        let Repetition { done: count, last_start, outer } = self.repetitions[index as usize];
        if count < limits.min {
            self.repetitions[index as usize].done = count + 1;
            self.frames.push(Frame::AtLeast { repetition: index, count });
            return Ok(Go(body, at));
        }
        if lazy {
            self.current = outer;
            let saved = self.save_in_repetition()?;
            self.frames.push(Frame::LazyAfter { label, repetition: index, count, at, saved });
            return Ok(Go(label + 1, at));
        }
        // A body that began here before and matched nothing would do so for ever.
        if (limits.max == UNBOUNDED || count < limits.max) && at != last_start {
            let saved = self.save()?;
            self.frames.push(Frame::GreedyBody { label, repetition: index, count, at, last_start, saved });
            self.repetitions[index as usize] = Repetition { done: count + 1, last_start: at, outer };
            return Ok(Go(body, at));
        }
        Ok(self.leave(label, index, at))
    }

    /// Goes on behind a repetition.
    fn leave(&mut self, label: Label, repetition: u32, at: u32) -> Next {
        self.current = self.repetitions[repetition as usize].outer;
        self.frames.push(Frame::After { repetition });
        Go(label + 1, at)
    }

    /// Tries the body of a lazy repetition, since what comes behind it did not match.
    fn lazy_body(&mut self, label: Label, repetition: u32, count: u32, at: u32) -> Next {
        let Instruction::Again { body, count: limits, .. } = self.code[label] else { return Fail };
        let state = &mut self.repetitions[repetition as usize];
        let last_start = state.last_start;
        if (limits.max != UNBOUNDED && count >= limits.max) || at == last_start {
            return Fail;
        }
        state.done = count + 1;
        state.last_start = at;
        self.frames.push(Frame::LazyBody { repetition, count, last_start });
        Go(body, at)
    }

    /// Tries the body of a possessive repetition that has matched `done` times, last from `last_start`.
    fn possess(&mut self, label: Label, done: u32, at: u32, last_start: u32) -> Result<Next, MatchError> {
        let Instruction::Possessive { count, after } = self.code[label] else { return Ok(Fail) };
        let barrier = self.barrier();
        if done < count.min {
            self.frames.push(Frame::PossessiveAtLeast { label, done, barrier });
        } else if (count.max == UNBOUNDED || done < count.max) && at != last_start {
            let saved = self.save()?;
            self.frames.push(Frame::Possessive { label, done, at, saved, barrier });
        } else {
            return Ok(Go(after, at));
        }
        Ok(Go(label + 1, at))
    }
}
