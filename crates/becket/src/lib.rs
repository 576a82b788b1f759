//! The engine for the lifecycle hooks of coding agents.
