//! What can go wrong: a pattern that Python refuses, and a search that would take too long.

/// Why a pattern was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at byte {offset} of the pattern)")]
#[non_exhaustive]
pub struct PatternError {
    /// The reason, without the place.
    pub message: String,
    /// Where in the pattern, in bytes from its start; at most the pattern's length.
    pub offset: usize,
}

impl PatternError {
    pub(crate) fn new(message: impl Into<String>, offset: usize) -> PatternError {
        PatternError { message: message.into(), offset }
    }
}

/// Why a search gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MatchError {
    /// The pattern backtracks so much on this subject that the search was given up.
    #[error("gave up after {limit} steps: the pattern tries too many ways to match this text")]
    StepLimit {
        /// The number of steps that were allowed.
        limit: u64,
    },
    /// There is a match, but one with which Python 3.11 fails (`SystemError`), by a bug of its own: possessive
    /// repetitions can leave a group whose end lies before its start.
    #[error("Python fails on this match: a group in a possessive repetition would end before it starts")]
    BadCapture,
}
