//! What is printed. The one place that writes to stdout and stderr.

use std::io::{self, Write as _};

use crate::exit::ExitCode;

/// An error of the outside world, with the way out.
#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    hints: Vec<String>,
    is_usage: bool,
}

impl CommandError {
    #[expect(clippy::needless_pass_by_value, reason = "errors are made on the spot and given away")]
    pub(crate) fn new(message: impl ToString) -> Self {
        Self { message: message.to_string(), hints: Vec::new(), is_usage: false }
    }

    /// What was asked for makes no sense, whatever the outside world is like.
    pub(crate) fn usage(message: impl ToString) -> Self {
        Self { is_usage: true, ..Self::new(message) }
    }

    pub(crate) fn exit(&self) -> ExitCode {
        if self.is_usage { ExitCode::USAGE } else { ExitCode::FAILURE }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

/// Prints an error and its hints on stderr.
pub(crate) fn error(error: &CommandError) {
    note(&format!("becket: {}", error.message));
    for hint in &error.hints {
        note(&format!("  hint: {hint}"));
    }
}

/// One line on stderr. If nobody reads it there is nobody to tell.
pub(crate) fn note(line: &str) {
    drop(writeln!(io::stderr().lock(), "{line}"));
}

/// Text on stdout. A reader that has gone is no error.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandError::new(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// A value as JSON on stdout, on one line or, for people, on several.
pub(crate) fn json(value: &impl serde::Serialize, pretty: bool) -> Result<(), CommandError> {
    let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    let mut text = becket::core::json::visible(&text.map_err(CommandError::new)?).into_owned();
    text.push('\n');
    print(&text)
}

/// Text on stdout; whether all of it was taken.
pub(crate) fn say(text: &str) -> bool {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_ok()
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
