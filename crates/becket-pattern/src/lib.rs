//! Matchers with the meaning of Python's `re.search`.
//!
//! A hook's matcher is a regular expression that other hosts hand to Python 3.11's `re` module, so
//! the same text must mean the same here. No Rust crate has that dialect; this one reads Python's
//! own grammar, refuses what Python refuses, and answers one question: is there a match anywhere
//! in the subject?

mod error;
mod literal;

pub use error::{MatchError, PatternError};

use literal::Literals;

/// A compiled matcher. Cheap to test, and shared freely between threads.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    engine: Engine,
}

#[derive(Clone, Debug)]
enum Engine {
    Literals(Literals),
}

impl Pattern {
    /// Reads `text` as Python 3.11's `re.compile` would, without flags.
    ///
    /// # Errors
    ///
    /// [`PatternError`] where Python refuses the pattern, with Python's reason and its place.
    pub fn new(text: &str) -> Result<Pattern, PatternError> {
        let engine = match Literals::read(text) {
            Some(literals) => Engine::Literals(literals),
            None => return Err(PatternError::new("not supported yet", 0)),
        };
        Ok(Pattern { text: text.to_owned(), engine })
    }

    /// Whether the pattern matches anywhere in `subject`.
    ///
    /// # Errors
    ///
    /// [`MatchError`] when the search was given up because it takes too many steps.
    pub fn is_match(&self, subject: &str) -> Result<bool, MatchError> {
        match &self.engine {
            Engine::Literals(literals) => Ok(literals.is_match(subject)),
        }
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}
