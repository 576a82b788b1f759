//! What the program ends with.

/// An exit code. The standard library's own cannot be asked for its number, which the entry point must return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCode(u8);

impl ExitCode {
    /// All went well.
    pub const SUCCESS: Self = Self(0);
    /// It could not be done.
    pub const FAILURE: Self = Self(1);
    /// It could not be understood.
    pub const USAGE: Self = Self(2);
}

impl From<u8> for ExitCode {
    fn from(code: u8) -> Self {
        Self(code)
    }
}

impl From<ExitCode> for u8 {
    fn from(code: ExitCode) -> Self {
        code.0
    }
}
