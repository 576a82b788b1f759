//! Safe text: what came from a file, a hook or a model, made fit to be shown to a person.
//!
//! Text can hide or move what stands around it: escape sequences, bidirectional controls, characters that are
//! blank. One module escapes it, and everything that shows untrusted text goes through here.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// `text` for one line: unchanged if every character shows as itself, else quoted with escapes, whole.
pub fn line(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_visible) { Cow::Borrowed(text) } else { Cow::Owned(quote(text)) }
}

/// `text` in double quotes; what does not show as itself is escaped as Go's `strconv.Quote` does it.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            shown if is_visible(shown) => quoted.push(shown),
            hidden => escape(hidden, &mut quoted),
        }
    }
    quoted.push('"');
    quoted
}

/// At most `limit` bytes of `text`, cut at a character, with a mark where something was left out.
pub fn bounded(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(limit)]))
}

/// Whether a character shows as itself: letters, marks, numbers, punctuation, symbols and the plain space, but
/// not those of them that are blank.
pub(crate) fn is_visible(character: char) -> bool {
    match character {
        ' '..='~' => true,
        // Hangul fillers and the Braille blank count as letters and symbols, and show nothing.
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' => false,
        _ => !matches!(
            get_general_category(character),
            Category::Control
                | Category::Format
                | Category::LineSeparator
                | Category::ParagraphSeparator
                | Category::SpaceSeparator
                | Category::PrivateUse
                | Category::Surrogate
                | Category::Unassigned
        ),
    }
}

pub(crate) fn escape(character: char, into: &mut String) {
    let code = u32::from(character);
    match character {
        '\u{7}' => into.push_str("\\a"),
        '\u{8}' => into.push_str("\\b"),
        '\u{c}' => into.push_str("\\f"),
        '\n' => into.push_str("\\n"),
        '\r' => into.push_str("\\r"),
        '\t' => into.push_str("\\t"),
        '\u{b}' => into.push_str("\\v"),
        // Writing to a string cannot fail.
        _ if code < 0x20 || code == 0x7f => drop(write!(into, "\\x{code:02x}")),
        _ if code < 0x1_0000 => drop(write!(into, "\\u{code:04x}")),
        _ => drop(write!(into, "\\U{code:08x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_left_alone() {
        for text in ["", "cargo test && echo \"ok\"", "日本語 é 🙂", "\u{fffd}"] {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn what_acts_or_hides_is_escaped() {
        assert_eq!(line("a\tb"), r#""a\tb""#);
        assert_eq!(line("\u{1b}[2J\u{202e}x\u{7f}\""), r#""\x1b[2J\u202ex\x7f\"""#);
        for hidden in
            ['\u{a0}', '\u{200b}', '\u{2066}', '\u{2028}', '\u{3164}', '\u{2800}', '\u{85}', '\u{e0001}']
        {
            assert!(!line(&hidden.to_string()).contains(hidden), "{hidden:?}");
        }
    }

    #[test]
    fn bounds_fall_on_characters() {
        assert_eq!(bounded("aéb", 2), "a…");
        assert_eq!(bounded("aéb", 4), "aéb");
    }
}
