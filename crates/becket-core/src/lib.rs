//! The pure part of Becket: events, dialects, the merge and the outcome.
//!
//! Nothing here reads a file, starts a process, sees a clock or asks the environment; lints refuse it. What was
//! read and what has ended comes in as data, what to read and what to run goes out as data.
//!
//! The way through, once: [`event::Event`] is read from an envelope; each [`dialect::Dialect`] names its
//! [`place::Place`]s and turns what was found into [`dialect::Rules`]; [`merge::hear`] asks them what comes next
//! until all has been said; [`session::settle`] applies the session's bounds; [`merge::outcome`] makes one
//! [`outcome::Outcome`] of it.

mod cd;
pub mod dialect;
mod diff;
pub mod event;
pub mod hash;
pub mod journal;
pub mod json;
pub mod ledger;
pub mod merge;
pub mod outcome;
pub mod patch;
pub mod paths;
pub mod place;
pub mod redact;
pub mod scope;
pub mod session;
pub mod spelling;
mod stored;
pub mod text;
pub mod tool;
