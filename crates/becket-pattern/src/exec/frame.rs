//! What is left to try, and what becomes of a part that matches on its own.

use super::{Fail, Go, Matcher, NONE, Next};
use crate::ast::UNBOUNDED;
use crate::error::MatchError;
use crate::program::{Instruction, Label};

/// Captures as they were.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved {
    /// How many marks counted.
    marked: u32,
    /// Where the copies of the marks start.
    base: u32,
    /// Whether there are copies. If not, only the number of marks is kept.
    copied: bool,
}

/// How much was there before a part that matches on its own. What it left is dropped once it has matched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrier {
    copies: u32,
    repetitions: u32,
}

/// One thing to come back to: when what was begun after it fails, or, for those with a barrier, when
/// that matches.
#[derive(Clone, Copy, Debug)]
pub(super) enum Frame {
    /// The alternatives from `next` on are left.
    Branch {
        label: Label,
        next: u32,
        at: u32,
        saved: Saved,
    },
    /// A repeated character may match `spare` times less.
    Greedy {
        next: Label,
        at: u32,
        spare: u32,
        saved: Saved,
    },
    /// A repeated character may match once more.
    Lazy {
        label: Label,
        at: u32,
        count: u32,
        saved: Saved,
    },
    /// A repetition was begun.
    Repeat,
    /// The body had to match.
    AtLeast {
        repetition: u32,
        count: u32,
    },
    /// The body could match; what comes behind is left.
    GreedyBody {
        label: Label,
        repetition: u32,
        count: u32,
        at: u32,
        last_start: u32,
        saved: Saved,
    },
    /// What comes behind a repetition.
    After {
        repetition: u32,
    },
    /// What comes behind a lazy repetition; the body is left.
    LazyAfter {
        label: Label,
        repetition: u32,
        count: u32,
        at: u32,
        saved: Saved,
    },
    /// The body of a lazy repetition.
    LazyBody {
        repetition: u32,
        count: u32,
        last_start: u32,
    },
    Atomic {
        after: Label,
        barrier: Barrier,
    },
    Look {
        after: Label,
        at: u32,
        barrier: Barrier,
    },
    LookNot {
        after: Label,
        at: u32,
        saved: Saved,
        barrier: Barrier,
    },
    /// The body of a possessive repetition, which had to match.
    PossessiveAtLeast {
        label: Label,
        done: u32,
        barrier: Barrier,
    },
    /// The body of a possessive repetition, which could match.
    Possessive {
        label: Label,
        done: u32,
        at: u32,
        saved: Saved,
        barrier: Barrier,
    },
}

impl Matcher<'_> {
    /// Copies the marks that count.
    pub(super) fn save(&mut self) -> Result<Saved, MatchError> {
        self.spend(self.marked / 8)?;
        let base = self.copies.len() as u32;
        self.copies.extend_from_slice(&self.marks[..self.marked]);
        Ok(Saved { marked: self.marked as u32, base, copied: true })
    }

    /// Copies the marks inside a repetition. Outside only their number is kept.
    pub(super) fn save_in_repetition(&mut self) -> Result<Saved, MatchError> {
        if self.current != NONE {
            return self.save();
        }
        Ok(Saved { marked: self.marked as u32, base: self.copies.len() as u32, copied: false })
    }

    /// Puts the captures back. The copies stay for another time.
    fn restore(&mut self, saved: Saved) -> Result<(), MatchError> {
        let (base, marked) = (saved.base as usize, saved.marked as usize);
        self.marked = marked;
        if saved.copied {
            self.spend(marked / 8)?;
            self.copies.truncate(base + marked);
            self.marks[..marked].copy_from_slice(&self.copies[base..]);
        }
        Ok(())
    }

    pub(super) fn forget(&mut self, saved: Saved) {
        self.copies.truncate(saved.base as usize);
    }

    /// Puts the captures back for the last time.
    fn restore_last(&mut self, saved: Saved) -> Result<(), MatchError> {
        self.restore(saved)?;
        self.forget(saved);
        Ok(())
    }

    pub(super) fn barrier(&self) -> Barrier {
        Barrier { copies: self.copies.len() as u32, repetitions: self.repetitions.len() as u32 }
    }

    /// Forgets what was left to try within a part that has matched. Every repetition in it is over, so the
    /// innermost one is that around it again.
    fn settle(&mut self, barrier: Barrier) {
        self.copies.truncate(barrier.copies as usize);
        self.repetitions.truncate(barrier.repetitions as usize);
    }

    /// At the end of a part that matches on its own; `None` at the end of the pattern.
    pub(super) fn accept(&mut self, at: u32) -> Result<Option<Next>, MatchError> {
        while let Some(frame) = self.frames.pop() {
            let next = match frame {
                Frame::Atomic { after, barrier } => {
                    self.settle(barrier);
                    Go(after, at)
                }
                Frame::Look { after, at, barrier } => {
                    self.settle(barrier);
                    Go(after, at)
                }
                Frame::LookNot { saved, barrier, .. } => {
                    self.settle(barrier);
                    self.forget(saved);
                    Fail
                }
                Frame::PossessiveAtLeast { label, done, barrier } => {
                    self.settle(barrier);
                    self.possess(label, done + 1, at, NONE)?
                }
                Frame::Possessive { label, done, at: start, saved, barrier } => {
                    self.settle(barrier);
                    self.forget(saved);
                    self.possess(label, done + 1, at, start)?
                }
                _ => continue,
            };
            return Ok(Some(next));
        }
        Ok(None)
    }

    /// Tries what is left after a failure.
    pub(super) fn resume(&mut self, frame: Frame) -> Result<Next, MatchError> {
        Ok(match frame {
            Frame::Branch { label, next, at, saved } => {
                self.restore(saved)?;
                self.alternative(label, next, at, saved)
            }
            Frame::Greedy { spare: 0, saved, .. } => {
                self.restore_last(saved)?;
                Fail
            }
            Frame::Greedy { next, at, spare, saved } => {
                self.restore(saved)?;
                self.frames.push(Frame::Greedy { next, at: at - 1, spare: spare - 1, saved });
                Go(next, at - 1)
            }
            Frame::Lazy { label, at, count, saved } => {
                self.restore(saved)?;
                let fits = match (&self.code[label], self.char_at(at)) {
                    (Instruction::RepeatUnit { test, count: limits, .. }, Some(c)) => {
                        (limits.max == UNBOUNDED || count < limits.max) && test.fits(c)
                    }
                    _ => false,
                };
                if !fits {
                    self.forget(saved);
                    return Ok(Fail);
                }
                self.frames.push(Frame::Lazy { label, at: at + 1, count: count + 1, saved });
                Go(label + 1, at + 1)
            }
            Frame::Repeat => {
                if let Some(repetition) = self.repetitions.pop() {
                    self.current = repetition.outer;
                }
                Fail
            }
            Frame::AtLeast { repetition, count } => {
                self.repetitions[repetition as usize].done = count;
                Fail
            }
            Frame::GreedyBody { label, repetition, count, at, last_start, saved } => {
                self.restore_last(saved)?;
                let state = &mut self.repetitions[repetition as usize];
                state.done = count;
                state.last_start = last_start;
                self.leave(label, repetition, at)
            }
            Frame::After { repetition } => {
                self.current = repetition;
                Fail
            }
            Frame::LazyAfter { label, repetition, count, at, saved } => {
                self.current = repetition;
                self.restore_last(saved)?;
                self.lazy_body(label, repetition, count, at)
            }
            Frame::LazyBody { repetition, count, last_start } => {
                let state = &mut self.repetitions[repetition as usize];
                state.done = count;
                state.last_start = last_start;
                Fail
            }
            Frame::Atomic { .. } | Frame::Look { .. } | Frame::PossessiveAtLeast { .. } => Fail,
            Frame::LookNot { after, at, saved, .. } => {
                self.restore_last(saved)?;
                Go(after, at)
            }
            Frame::Possessive { label, at, saved, .. } => {
                self.restore_last(saved)?;
                match self.code[label] {
                    Instruction::Possessive { after, .. } => Go(after, at),
                    _ => Fail,
                }
            }
        })
    }
}
