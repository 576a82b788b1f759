//! The same patterns and subjects for this crate and for CPython: no answer may differ in silence.
//!
//! `BECKET_PATTERN_PAIRS` sets the number of pairs, `BECKET_PATTERN_SEED` the seed and `BECKET_PYTHON` the
//! Python. With one later than 3.11, what changed since is left out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what went wrong by panicking, and what it found by printing"
)]

mod exhaustive;
mod grammar;
mod letters;
mod prefix;
mod random;
mod subjects;
mod traps;
mod worker;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::str::FromStr;
use std::time::Instant;

use becket_pattern::{MatchError, Pattern};
use grammar::Dialect;
use random::Random;
use worker::{Answer, Outcome, Worker};

const SUBJECTS: usize = 8;
const BATCH: usize = 64;

/// What came out, in pairs.
#[derive(Debug, Default)]
struct Tally {
    pairs: usize,
    patterns: usize,
    /// Both refuse the pattern.
    refused_alike: usize,
    found: usize,
    not_found: usize,
    /// Both fail, for a capture that ends before it starts.
    failed_alike: usize,
    /// Python took too long.
    python_too_long: usize,
    /// We refuse, or give up, where Python has an answer; by reason.
    refusals: BTreeMap<String, usize>,
    differences: Vec<String>,
}

impl Tally {
    fn pattern(&mut self, text: &str, subjects: &[String], python: &Answer) {
        self.patterns += 1;
        let ours = Pattern::new(text);
        match (&ours, python) {
            (Err(_), Answer::Refused(_)) => {
                self.pairs += subjects.len();
                self.refused_alike += subjects.len();
            }
            (Err(error), Answer::Searched(_)) => {
                self.pairs += subjects.len();
                let reason = error.message.clone();
                *self.refusals.entry(format!("{reason} ({text:?})")).or_default() += subjects.len();
            }
            (Ok(_), Answer::Refused(reason)) => {
                self.pairs += subjects.len();
                self.differ(format!("{text:?}: Python refuses it: {reason}"));
            }
            (Ok(pattern), Answer::Searched(answers)) => {
                for (subject, answer) in subjects.iter().zip(answers) {
                    self.pair(pattern, subject, *answer);
                }
            }
        }
    }

    fn pair(&mut self, pattern: &Pattern, subject: &str, python: Outcome) {
        self.pairs += 1;
        match (pattern.is_match(subject), python) {
            (_, Outcome::TooLong) => self.python_too_long += 1,
            (Ok(true), Outcome::Found) => self.found += 1,
            (Ok(false), Outcome::NotFound) => self.not_found += 1,
            (Err(MatchError::BadCapture), Outcome::Failed) => self.failed_alike += 1,
            (Err(error @ MatchError::StepLimit { .. }), Outcome::Found | Outcome::NotFound) => {
                *self.refusals.entry(error.to_string()).or_default() += 1;
            }
            (ours, theirs) => {
                let text = pattern.as_str();
                self.differ(format!("{text:?} on {subject:?}: {ours:?} here, {theirs:?} in Python"));
            }
        }
    }

    fn differ(&mut self, difference: String) {
        if self.differences.len() < 40 {
            self.differences.push(difference);
        }
    }
}

fn setting<T: FromStr<Err: Debug>>(name: &str, default: T) -> T {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn no_answer_differs_from_pythons() {
    let wanted: usize = setting("BECKET_PATTERN_PAIRS", 40_000);
    let seed: u64 = setting("BECKET_PATTERN_SEED", 20_261_130);
    let mut worker = Worker::start();
    let dialect = Dialect::of(worker.version);
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    let start = Instant::now();
    while tally.pairs < wanted {
        let batch: Vec<(String, Vec<String>)> = (0..BATCH)
            .map(|_| {
                let (style, made) = grammar::make(&mut random, dialect);
                let subjects = subjects::make(&mut random, style, &made, SUBJECTS);
                (made.pattern, subjects)
            })
            .collect();
        for ((text, subjects), answer) in batch.iter().zip(worker.ask(&batch)) {
            tally.pattern(text, subjects, &answer);
        }
    }
    println!("CPython {:?}, seed {seed}, {:?}: {tally:#?}", worker.version, start.elapsed());
    assert!(tally.differences.is_empty(), "{} answers differ", tally.differences.len());
    let refused: usize = tally.refusals.values().sum();
    assert!(refused * 1000 <= tally.pairs, "{refused} refusals of what Python answers");
    // A grammar that no longer reaches matches, or only refusals, would compare nothing.
    assert!(tally.found * 5 > tally.pairs && tally.not_found * 5 > tally.pairs, "too lopsided");
    assert!(tally.refused_alike * 50 > tally.pairs, "too few patterns that Python refuses");
}
