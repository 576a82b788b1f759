//! Reading an envelope from stdin: bounded in size and time, and without waiting for an end that a host forgets.

use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use becket::core::event::MAX_ENVELOPE;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::output::CommandError;

/// How long the envelope may take to come.
const PATIENCE: Duration = Duration::from_secs(10);

/// So much is read at once where it is there, in bytes: what a pipe holds.
const PIECE: usize = 64 * 1024;

/// A pause after which an envelope that is complete counts as all there is.
const PAUSE: Duration = Duration::from_millis(50);

/// All of stdin, or, from a host that does not close it, one complete JSON object.
pub(crate) fn envelope() -> Result<Vec<u8>, CommandError> {
    envelope_within(PATIENCE)
}

/// As [`envelope`], within a host's own time where that is shorter.
pub(crate) fn envelope_within(most: Duration) -> Result<Vec<u8>, CommandError> {
    let stdin = std::io::stdin();
    let patience = most.min(PATIENCE);
    let until = Instant::now() + patience;
    let mut bytes = Vec::with_capacity(PIECE);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let seconds = patience.as_secs();
            return Err(CommandError::new(format!(
                "the envelope on stdin was not complete after {seconds} s"
            ))
            .hint("write one JSON object and close the pipe"));
        }
        if !is_ready(left.min(PAUSE))? {
            if is_complete(&bytes) {
                return Ok(bytes);
            }
            continue;
        }
        if bytes.len() == bytes.capacity() {
            bytes.reserve(bytes.len().max(PIECE));
        }
        // Not through a buffer of std's own: what it held back poll could not see.
        match rustix::io::read(stdin.as_fd(), spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(bytes),
            Ok(_) | Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(errno) => return Err(CommandError::new(format!("cannot read stdin: {errno}"))),
        }
        if bytes.len() > MAX_ENVELOPE {
            // One byte more than is taken: the event says so.
            return Ok(bytes);
        }
    }
}

fn is_ready(timeout: Duration) -> Result<bool, CommandError> {
    let stdin = std::io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout =
        Timespec { tv_sec: timeout.as_secs().cast_signed(), tv_nsec: timeout.subsec_nanos().into() };
    match poll(&mut fds, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(errno) => Err(CommandError::new(format!("cannot wait for stdin: {errno}"))),
    }
}

/// Whether the text is one JSON object to its closing brace, with nothing but white space after it. Whether it is a
/// right one the parser says.
fn is_complete(text: &[u8]) -> bool {
    let mut depth = 0usize;
    let mut in_string = false;
    let mut escaped = false;
    let mut closed = false;
    for &byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                closed = depth == 0;
            }
            _ => {}
        }
    }
    closed && depth == 0 && !in_string && text.trim_ascii_end().ends_with(b"}")
}

/// Largest file that is read whole, in bytes.
const MAX_FILE: u64 = 1 << 30;

/// A whole file, or stdin for `-`.
pub(crate) fn file(path: &camino::Utf8Path) -> Result<Vec<u8>, CommandError> {
    let name = if path == "-" { "stdin".into() } else { becket::core::text::line(path.as_str()) };
    let failed = |why: &dyn std::fmt::Display| CommandError::new(format!("cannot read {name}: {why}"));
    let input: Box<dyn std::io::Read> = if path == "-" {
        Box::new(std::io::stdin())
    } else {
        // Without NONBLOCK opening a FIFO would wait for a writer, perhaps for ever.
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
        let file = rustix::fs::open(path.as_std_path(), flags, rustix::fs::Mode::empty());
        let file = std::fs::File::from(file.map_err(|errno| failed(&errno))?);
        if !file.metadata().map_err(|error| failed(&error))?.is_file() {
            return Err(failed(&"it is not a regular file").hint("use - to read from stdin"));
        }
        Box::new(file)
    };
    let mut bytes = Vec::new();
    input.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(failed(&"it is larger than 1 GiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn an_object_is_complete_at_its_closing_brace() {
        for whole in ["{}", " {\"a\":[{}]} \n", r#"{"a":"}\"{"}"#] {
            assert!(is_complete(whole.as_bytes()), "{whole}");
        }
        for part in ["", "{", "{}{", r#"{"a":"}"#, "{\"a\":[}", "[]", "{} x"] {
            assert!(!is_complete(part.as_bytes()), "{part}");
        }
    }
}
