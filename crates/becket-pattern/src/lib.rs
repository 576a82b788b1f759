//! Matchers with the meaning of Python's `re.search`.
//!
//! A hook's matcher is a regular expression that other hosts hand to Python 3.11's `re` module, so
//! the same text must mean the same here. No Rust crate has that dialect; this one reads Python's
//! own grammar, refuses what Python refuses, and answers one question: is there a match anywhere
//! in the subject?
//!
//! ```
//! use becket_pattern::Pattern;
//!
//! let pattern = Pattern::new("^(?!Multi)[A-Z]\\w*Edit$")?;
//! assert_eq!(pattern.is_match("NotebookEdit"), Ok(true));
//! assert_eq!(pattern.is_match("MultiEdit"), Ok(false));
//!
//! let error = Pattern::new("a{3,2}").unwrap_err();
//! assert_eq!(error.offset, 2);
//! # Ok::<(), becket_pattern::PatternError>(())
//! ```
//!
//! # How it works
//!
//! Literals, alternatives of them and outer anchors (`Bash|Write`, `^Bash$`) are searched for as plain
//! text: one after the other, or in one pass with an automaton where they are many and the subject is long.
//! Everything else is read into a tree in the way of CPython's own reader, turned into instructions, and
//! run by one backtracking matcher that tries things in CPython's order and keeps captures by CPython's
//! rules. There is no second engine for the regular part: the subjects are tool names, for which a linear
//! one gains nothing, and with one engine a pattern has one meaning. Translation into another dialect was
//! ruled out, since conditionals and back references show which captures survive a failed attempt, which
//! is CPython's alone.
//!
//! The matcher's stack is on the heap and its steps are counted ([`STEP_LIMIT`]), so no pattern and no
//! subject overflows the stack or runs on; groups nest up to 200 deep. What characters are, letters'
//! case included, comes from tables that a script takes out of CPython 3.11 (Unicode 14.0), and not
//! from Rust's newer ones.

mod ast;
mod chars;
mod class;
mod error;
mod exec;
mod first;
mod literal;
mod many;
mod names;
mod parse;
mod program;
mod tables;
mod tokens;

pub use error::{MatchError, PatternError};

use literal::Literals;
use program::Program;

/// How many steps a search may take; see [`MatchError::StepLimit`].
pub const STEP_LIMIT: u64 = exec::STEP_LIMIT;

/// A compiled matcher. Cheap to test, and shared freely between threads.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    engine: Engine,
}

#[derive(Clone, Debug)]
enum Engine {
    Literals(Literals),
    Program(Box<Program>),
}

impl Pattern {
    /// Reads `text` as Python 3.11's `re.compile` would, without flags.
    ///
    /// # Errors
    ///
    /// [`PatternError`] where Python refuses the pattern, with the reason and its place, and where groups
    /// nest deeper than 200.
    pub fn new(text: &str) -> Result<Pattern, PatternError> {
        let engine = match Literals::read(text) {
            Some(literals) => Engine::Literals(literals),
            None => Engine::Program(Box::new(Program::new(&parse::parse(text)?))),
        };
        Ok(Pattern { text: text.to_owned(), engine })
    }

    /// Whether the pattern matches anywhere in `subject`.
    ///
    /// # Errors
    ///
    /// [`MatchError::StepLimit`] when the search was given up because it takes too many steps, and
    /// [`MatchError::BadCapture`] where Python itself fails.
    pub fn is_match(&self, subject: &str) -> Result<bool, MatchError> {
        match &self.engine {
            Engine::Literals(literals) => Ok(literals.is_match(subject)),
            Engine::Program(program) => exec::search(program, subject),
        }
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// What fuzzing runs: reads and searches whatever comes, and holds what must always hold.
///
/// # Panics
///
/// If an error's place lies outside of the pattern.
#[doc(hidden)]
pub fn fuzz(pattern: &str, subject: &str) {
    match Pattern::new(pattern) {
        // Whether there is a match, none, or the search is given up: it ends.
        Ok(pattern) => drop(pattern.is_match(subject)),
        Err(error) => assert!(pattern.is_char_boundary(error.offset), "{error:?}"),
    }
}
