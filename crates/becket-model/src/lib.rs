//! A model that says what a script tells it to, on loopback, for tests of agents.
//!
//! It speaks the four model interfaces that coding agents use ([`Api`]), streamed and whole, takes the turns of a
//! [`Script`] one after the other, and remembers every request ([`Seen`]), so that a test can ask what the model got to
//! see. It checks no key and counts no tokens.
//!
//! ```
//! use becket_model::{Model, Script, Turn};
//!
//! let model = Model::start(Script::new([Turn::call("shell", serde_json::json!({"command": "ls"}))]))?;
//! // Point an agent at `model.url()`, then ask:
//! assert!(model.seen().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod api;
mod script;
mod seen;
mod server;

pub use api::Api;
pub use script::{Call, Script, Turn};
pub use seen::{Answered, Seen};
pub use server::Model;
