//! The becket program.
