//! Becket with the real agents.
//!
//! [`Agents`] fetches pinned versions from the npm registry, [`Sandbox`] is a home and a project of one session's own,
//! and [`Host`] knows how each agent is configured and asked, against the scripted model of `becket-model`. The tests
//! (`tests/agents`) install Becket and look at what the agents do; the program `why` compares them with and without.

mod agents;
mod bounded;
mod dialect;
mod host;
mod program;
mod sandbox;

pub use agents::{Agents, Unavailable, must_be_had};
pub use bounded::{Ran, Served, left, run, serve, until};
pub use dialect::{Dialect, Hook};
pub use host::Host;
pub use program::becket;
pub use sandbox::Sandbox;

/// What may go wrong around a test.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
