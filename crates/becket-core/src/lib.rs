//! The pure part of Becket: events, dialects, the merge and the outcome.
