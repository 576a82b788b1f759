//! The engine for the lifecycle hooks of coding agents.
//!
//! An agent's author opens an [`Engine`] once and hands it [`Request`]s; the [`Outcome`] says what the agent must do.
//! Around the pure core this crate reads files, runs commands, remembers sessions and records decisions. It has no
//! terminal and no command line of its own.

mod answer;
mod bundle;
mod caller;
mod calls;
mod engine;
mod files;
mod home;
mod installs;
mod marks;
mod nested;
pub mod others;
mod read;
mod run;
mod runs;
mod session;
pub mod settings;
mod workspace;

pub use answer::{AnswerError, Answered};
pub use becket_core as core;
pub use becket_core::event::{Event, EventError, EventName};
pub use becket_core::outcome::{Decision, Outcome};
pub use becket_exec::{Cancel, LastWords, begin_program, forget_last_words, set_last_words};
pub use bundle::BundleChange;
pub use caller::Caller;
pub use engine::{Custodian, Engine, Loaded, Options, Request};
pub use files::FileError;
pub use home::now;
pub use installs::Install;
pub use nested::is_below_itself;
pub use read::absolute;
