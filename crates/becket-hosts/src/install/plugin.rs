//! The plugin file for opencode.

use becket_core::hash;

use super::Line;
use crate::Host;
use crate::loss::PATIENCE;

const BODY: &str = include_str!("opencode.js");

/// How the file begins; the hash of all that follows the line comes behind it.
const MARK: &str = "// Written by `becket install opencode`; `becket uninstall opencode` removes it. sha256:";

/// The whole file.
pub(super) fn file(line: &Line) -> String {
    let argv = line.argv(Host::Opencode, None);
    let argv = serde_json::to_string(&argv).unwrap_or_default();
    let (head, code) = BODY.split_once("\n\n").unwrap_or(("", BODY));
    let rest = format!("{head}\n\nconst LINE = {argv}\nconst PATIENCE = {PATIENCE}\n\n{code}");
    format!("{MARK}{}\n{rest}", hash::of(rest.as_bytes()))
}

/// What a file is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// As Becket wrote it.
    Ours,
    /// Becket's, and changed since.
    Changed,
    /// Somebody else's.
    Other,
}

/// Tells whose a file is.
pub(super) fn whose(bytes: &[u8]) -> Whose {
    let Some(behind) = bytes.strip_prefix(MARK.as_bytes()) else { return Whose::Other };
    match behind.iter().position(|byte| *byte == b'\n') {
        Some(end) if hash::of(&behind[end + 1..]).as_bytes() == &behind[..end] => Whose::Ours,
        _ => Whose::Changed,
    }
}
