//! JSON texts with comments and blanks: where they stand, and how pieces are cut out and put in.

use std::ops::Range;

/// Puts texts in place of ranges that do not overlap, in their order.
pub(super) fn spliced(text: &str, changes: impl IntoIterator<Item = (Range<usize>, String)>) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in changes {
        whole.push_str(&text[at..range.start]);
        whole.push_str(&new);
        at = range.end;
    }
    whole.push_str(&text[at..]);
    whole
}

/// The comma behind an item, past blanks and comments.
pub(super) fn comma_after(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        match comment_end(text, at) {
            Some(end) => at = end,
            None => return text[at..].starts_with(',').then_some(at),
        }
    }
}

/// The end of what stands behind an item on its line: its comments, without the blanks after them. And whether the
/// last of them runs to the end of the line.
pub(super) fn end_of_line_trivia(text: &str, from: usize) -> (usize, bool) {
    let mut end = from;
    loop {
        let rest = &text[end..];
        let at = end + rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let Some(comment) = comment_end(text, at) else { return (end, false) };
        if text[at..].starts_with("//") {
            return (comment, true);
        }
        if text[at..comment].contains('\n') {
            return (end, false);
        }
        end = comment;
    }
}

/// The end of a comment that begins here.
fn comment_end(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    if rest.starts_with("//") {
        let line = rest.find('\n').map_or(rest, |end| &rest[..end]);
        return Some(at + line.strip_suffix('\r').unwrap_or(line).len());
    }
    rest.strip_prefix("/*").map(|inside| at + 2 + inside.find("*/").map_or(inside.len(), |end| end + 2))
}

/// Where the first comment begins in a piece of a text that can be read.
pub(super) fn comment_in(text: &str) -> Option<usize> {
    let mut is_string = false;
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b'/' if !is_string => return Some(at),
            _ => {}
        }
    }
    None
}

/// Whether there is nothing but blanks of one line.
pub(super) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// Whether a line ends here, past blanks.
pub(super) fn is_line_end(text: &str) -> bool {
    let rest = text.trim_start_matches([' ', '\t']);
    rest.starts_with('\n') || rest.starts_with("\r\n")
}

/// The line of a place in a text.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Where the gap before an item begins that comes behind what ended at `from`: its line's end, or one blank. The end of
/// a line with a comment stays if more than blanks follows the item on its line: the comment would swallow that.
pub(super) fn gap_before(text: &str, from: usize, start: usize, ends_line: bool) -> usize {
    let before = text[..start].trim_end_matches([' ', '\t']);
    if let Some(line) = before.strip_suffix('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line).len();
        return if !ends_line && ends_in_line_comment(text, from, line) { before.len() } else { line };
    }
    if before.len() < start { start - 1 } else { start }
}

/// Whether what stands between two items ends in a comment that runs to the end of its line.
fn ends_in_line_comment(text: &str, from: usize, to: usize) -> bool {
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        at += rest.len() - rest.trim_start_matches(|next: char| next.is_whitespace() || next == ',').len();
        let Some(end) = comment_end(text, at) else { return false };
        if text[at..].starts_with("//") && end >= to {
            return true;
        }
        at = end;
    }
    false
}
