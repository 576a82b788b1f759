//! Safe text: what came from a file, a hook or a model, made fit to be shown to a person.
//!
//! Text can hide or move what stands around it: escape sequences, bidirectional controls, characters that are
//! blank. One module escapes it, and everything that shows untrusted text goes through here.
//!
//! Three forms: [`line`] for one line (quoted whole or not at all), [`lines`] for text of several lines (escaped in
//! place), [`styled`] for the same with its colours.

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

/// [`line`] for bytes that may not be text: what is not UTF-8 is quoted as `\xNN`.
pub fn line_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => line(text),
        Err(_) => Cow::Owned(quote_of(bytes)),
    }
}

/// [`quote`] for bytes that may not be text.
pub fn quote_of(bytes: &[u8]) -> String {
    let mut quoted = String::with_capacity(bytes.len() + 2);
    quoted.push('"');
    for chunk in bytes.utf8_chunks() {
        let inner = quote(chunk.valid());
        quoted.push_str(&inner[1..inner.len() - 1]);
        escape_bytes(chunk.invalid(), &mut quoted);
    }
    quoted.push('"');
    quoted
}

/// Text of several lines: newlines and tabs stay, CR LF becomes LF, and whatever could act on a terminal, turn the
/// direction of writing or show as nothing stands as its escape. Joiners inside emoji and of scripts stay.
pub fn lines(bytes: impl AsRef<[u8]>) -> String {
    let mut shown = String::with_capacity(bytes.as_ref().len());
    for chunk in bytes.as_ref().utf8_chunks() {
        escape_lines(chunk.valid(), &mut shown);
        escape_bytes(chunk.invalid(), &mut shown);
    }
    shown
}

/// [`lines`], but colours and weights (`ESC [ … m`) stay as well. A sequence that conceals is left out.
pub fn styled(bytes: impl AsRef<[u8]>) -> String {
    let mut rest = bytes.as_ref();
    let mut shown = String::with_capacity(rest.len());
    while let Some(at) = rest.iter().position(|&byte| byte == ESC) {
        shown.push_str(&lines(&rest[..at]));
        rest = &rest[at..];
        match style(rest) {
            Some(sequence) => {
                if !conceals(sequence) {
                    shown.push_str(sequence);
                }
                rest = &rest[sequence.len()..];
            }
            None => {
                escape('\u{1b}', &mut shown);
                rest = &rest[1..];
            }
        }
    }
    shown.push_str(&lines(rest));
    shown
}

const ESC: u8 = 0x1b;

/// Longest sequence of style that is taken for one, in bytes.
const STYLE_LIMIT: usize = 63;

/// The whole `ESC [ … m` that `bytes` begin with.
fn style(bytes: &[u8]) -> Option<&str> {
    let inner = bytes.strip_prefix(b"\x1b[")?;
    let end = inner.iter().take(STYLE_LIMIT).position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
    let length = 2 + end + 1;
    (inner[end] == b'm' && length <= STYLE_LIMIT)
        .then(|| std::str::from_utf8(&bytes[..length]).unwrap_or_default())
}

/// Whether a sequence of style hides what follows: its 8 that is not part of a colour. Where a colour is not whole,
/// terminals differ in what they take for its parts, and every 8 counts.
fn conceals(sequence: &str) -> bool {
    let parameters: Vec<&str> = sequence[2..sequence.len() - 1].split(';').collect();
    let mut at = 0;
    while let Some(parameter) = parameters.get(at) {
        let code = number(parameter.split(':').next().unwrap_or_default());
        let is_colour = matches!(code, 38 | 48 | 58) && !parameter.contains(':');
        let operands = match parameters.get(at + 1).map(|kind| number(kind)) {
            Some(5) if is_colour => 2,
            Some(2) if is_colour => 4,
            _ => 0,
        };
        if code == 8 {
            return true;
        }
        at += 1 + if at + operands < parameters.len() { operands } else { 0 };
    }
    false
}

/// A parameter's number; an empty one is 0, one too large to mean anything the largest.
fn number(digits: &str) -> u32 {
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u32::MAX) }
}

fn escape_lines(text: &str, shown: &mut String) {
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => shown.push(character),
            '\r' if characters.peek() == Some(&'\n') => {}
            hidden if acts_or_hides(hidden) => escape(hidden, shown),
            kept => shown.push(kept),
        }
    }
}

/// Controls, bidirectional controls, separators and blank letters.
fn acts_or_hides(character: char) -> bool {
    matches!(character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || is_blank_letter(character)
        || character.is_control()
}

fn escape_bytes(bytes: &[u8], into: &mut String) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(into, "\\x{byte:02x}");
    }
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
        blank if is_blank_letter(blank) => false,
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

/// Hangul fillers and the Braille blank count as letters and symbols, and show nothing.
fn is_blank_letter(character: char) -> bool {
    matches!(character, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}')
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
    use proptest::prelude::*;

    #[test]
    fn plain_text_is_left_alone() {
        for text in ["", "cargo test && echo \"ok\"", "日本語 é 🙂", "\u{fffd}"] {
            assert_eq!(line(text), text);
            assert_eq!(lines(text), text);
            assert_eq!(styled(text), text);
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
        assert_eq!(line_of(b"a\xff\xfeb\x1b"), r#""a\xff\xfeb\x1b""#);
        assert_eq!(line_of("né".as_bytes()), "né");
    }

    #[test]
    fn bounds_fall_on_characters() {
        assert_eq!(bounded("aéb", 2), "a…");
        assert_eq!(bounded("aéb", 4), "aéb");
    }

    #[test]
    fn lines_keep_their_shape_and_show_the_rest() {
        assert_eq!(lines("a\tb\r\nc\rd"), "a\tb\nc\\rd");
        assert_eq!(lines("\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}1m\u{7f}"), "\\x1b]0;x\\a\\x1b[2J\\u009b1m\\x7f");
        assert_eq!(lines("\u{202e}\u{2028}\u{200f}"), "\\u202e\\u2028\\u200f");
        assert_eq!(lines(b"a\xffb"), "a\\xffb");
        assert_eq!(lines("👩\u{200d}💻"), "👩\u{200d}💻");
        assert_eq!(lines("a\u{3164}b"), "a\\u3164b");
    }

    #[test]
    fn styles_stay_and_nothing_else_does() {
        assert_eq!(styled("\u{1b}[1;31mred\u{1b}[0m"), "\u{1b}[1;31mred\u{1b}[0m");
        assert_eq!(styled("\u{1b}]52;c;eA==\u{7}"), "\\x1b]52;c;eA==\\a");
        assert_eq!(styled("\u{1b}[2A\u{1b}[m"), "\\x1b[2A\u{1b}[m");
        let long = format!("\u{1b}[{}m", "1;".repeat(40));
        assert!(styled(&long).starts_with("\\x1b["));
        let longest = format!("\u{1b}[{}m", "1".repeat(60));
        assert_eq!(styled(&longest), longest);
    }

    #[test]
    fn what_conceals_is_left_out_and_colours_are_not_taken_for_it() {
        for hides in ["8", "08", "1;8", "8:1", "38;8", "38;2;8", "38;5;1;8", "38:5:1;8", "48;2;1;2;3;8"] {
            assert_eq!(styled(format!("a\u{1b}[{hides}mb")), "ab", "{hides}");
        }
        for colour in ["38;5;8", "48;5;8;1", "38;2;8;8;8", "58;5;8", "38:5:8", "38:2::8:8:8", "18", "80"] {
            let text = format!("a\u{1b}[{colour}mb");
            assert_eq!(styled(&text), text, "{colour}");
        }
    }

    /// Whether nothing in `text` acts or hides; newlines and tabs only where they may stand.
    fn is_harmless(text: &str, breaks: bool) -> bool {
        text.chars().all(|character| match character {
            '\n' | '\t' => breaks,
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{3164}'
            | '\u{ffa0}'
            | '\u{2800}' => false,
            other => !other.is_control(),
        })
    }

    fn nasty() -> impl Strategy<Value = Vec<u8>> {
        let bit = prop_oneof![
            any::<char>().prop_map(|character| character.to_string().into_bytes()),
            prop::collection::vec(any::<u8>(), 0..4),
            "\\x1b\\[[0-9;:]{0,8}[mAJ]".prop_map(String::into_bytes),
            prop::sample::select(vec!["\r\n", "\r", "\u{202e}", "\u{9b}", "\u{3164}", "\u{2067}", "\u{7f}"])
                .prop_map(|text| text.as_bytes().to_vec()),
        ];
        prop::collection::vec(bit, 0..12).prop_map(|bits| bits.concat())
    }

    proptest! {
        #[test]
        fn nothing_that_acts_or_hides_survives(bytes in nasty()) {
            prop_assert!(is_harmless(&line_of(&bytes), false));
            prop_assert!(is_harmless(&line(&String::from_utf8_lossy(&bytes)), false));
            prop_assert!(is_harmless(&quote_of(&bytes), false));
            prop_assert!(is_harmless(&lines(&bytes), true));
            let shown = styled(&bytes);
            let mut rest = shown.split('\u{1b}');
            prop_assert!(is_harmless(rest.next().unwrap_or_default(), true));
            for styled in rest {
                let end = styled.find('m').unwrap();
                prop_assert!(styled[1..end].bytes().all(|byte| b"0123456789;:".contains(&byte)));
                prop_assert!(styled.starts_with('[') && is_harmless(&styled[end..], true));
            }
        }

        #[test]
        fn what_is_plain_stays(text in "[ -~é日🙂]{0,40}") {
            prop_assert_eq!(&line(&text), &text);
            prop_assert_eq!(&styled(&text), &text);
        }
    }
}
