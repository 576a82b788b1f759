//! Characters by name, as CPython 3.11's `unicodedata.lookup` finds them.
//!
//! The crate that holds the names is of a newer Unicode version and reads them loosely, so its answer
//! counts only if the character had a name in version 14.0 and the name is the very same, letters' case
//! aside. Names of several characters are none here, as in Python's `re`.

use crate::chars::contains;
use crate::tables::{ALIASES, NAMED};

const IDEOGRAPH: &str = "CJK UNIFIED IDEOGRAPH-";
const SYLLABLE: &str = "HANGUL SYLLABLE ";

pub(crate) fn character(name: &str) -> Option<u32> {
    // No name begins so, and the crate that holds them subtracts from its place there.
    if name.starts_with('-') {
        return None;
    }
    // Python makes these two kinds up from their parts, and minds case there.
    if let Some(digits) = name.strip_prefix(IDEOGRAPH) {
        return ideograph(digits);
    }
    let upper = name.to_ascii_uppercase();
    if upper.starts_with(IDEOGRAPH) || (upper.starts_with(SYLLABLE) && upper != name) {
        return None;
    }
    if let Ok(index) = ALIASES.binary_search_by(|&(alias, _)| alias.cmp(&upper)) {
        return Some(ALIASES[index].1);
    }
    let found = unicode_names2::character(&upper)?;
    is_named(found, &upper).then(|| found.into())
}

fn ideograph(digits: &str) -> Option<u32> {
    let are_digits = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
    if !are_digits || !matches!(digits.len(), 4 | 5) {
        return None;
    }
    let code = u32::from_str_radix(digits, 16).ok()?;
    // Python takes a leading zero, which the character's own name has not.
    is_named(char::from_u32(code)?, &format!("{IDEOGRAPH}{code:X}")).then_some(code)
}

fn is_named(c: char, name: &str) -> bool {
    contains(NAMED, c.into()) && unicode_names2::name(c).is_some_and(|own| own.to_string() == name)
}

#[cfg(test)]
mod tests {
    use super::character;

    #[test]
    fn names_are_found_as_python_finds_them() {
        for (name, expected) in [
            ("DIGIT ONE", Some(0x31)),
            ("digit one", Some(0x31)),
            ("DIGIT  ONE", None),
            ("DIGIT-ONE", None),
            ("DIGITONE", None),
            ("LINE FEED", Some(10)),
            ("lf", Some(10)),
            ("KEYCAP DIGIT ONE", None),
            ("HANGUL SYLLABLE GA", Some(0xac00)),
            ("hangul syllable ga", None),
            ("HANGUL SYLLABLE ", None),
            ("CJK UNIFIED IDEOGRAPH-4E00", Some(0x4e00)),
            ("CJK UNIFIED IDEOGRAPH-04E00", Some(0x4e00)),
            ("CJK UNIFIED IDEOGRAPH-4e00", None),
            ("cjk UNIFIED IDEOGRAPH-4E00", None),
            ("CJK COMPATIBILITY IDEOGRAPH-f900", Some(0xf900)),
            // New in 15.0.
            ("CJK UNIFIED IDEOGRAPH-31350", None),
            ("KHANDA", None),
            ("-", None),
            ("--DIGIT ONE", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(character(name), expected, "{name:?}");
        }
    }
}
