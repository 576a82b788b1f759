//! Questions about one character, answered as CPython 3.11 answers them.

use crate::ast::Category;
use crate::tables::{DIGIT, EXTRA_CASES, LOWER, NAME_CONTINUE, NAME_START, Ranges, Runs, SPACE, UPPER, WORD};

/// How letters are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// As they are.
    Exact,
    /// By lower case of ASCII letters only.
    Ascii,
    /// By Python's one-character lower case.
    Unicode,
}

impl Fold {
    pub(crate) fn lower(self, c: u32) -> u32 {
        match self {
            Fold::Ascii if (0x41..=0x5a).contains(&c) => c + 0x20,
            Fold::Exact | Fold::Ascii => c,
            Fold::Unicode => lower(c),
        }
    }

    /// Whether the character has another case.
    pub(crate) fn is_cased(self, c: u32) -> bool {
        match self {
            Fold::Exact => false,
            Fold::Ascii => c < 0x80 && (c as u8).is_ascii_alphabetic(),
            Fold::Unicode => lower(c) != c || upper(c) != c,
        }
    }

    /// Whether any character of the inclusive range has another case.
    pub(crate) fn any_cased(self, first: u32, last: u32) -> bool {
        match self {
            Fold::Exact => false,
            Fold::Ascii => (first..=last.min(0x7f)).any(|c| self.is_cased(c)),
            Fold::Unicode => {
                moved_in(LOWER, first, last).next().is_some() || moved_in(UPPER, first, last).next().is_some()
            }
        }
    }
}

/// The first character of the upper case.
pub(crate) fn upper(c: u32) -> u32 {
    if c < 0x80 {
        return u32::from((c as u8).to_ascii_uppercase());
    }
    moved(UPPER, c)
}

fn lower(c: u32) -> u32 {
    if c < 0x80 {
        return u32::from((c as u8).to_ascii_lowercase());
    }
    moved(LOWER, c)
}

/// Other lower case characters that match `c` without regard to case, if it is a lower case one:
/// `ſ` for `s`, say.
pub(crate) fn extra_cases(c: u32) -> impl Iterator<Item = u32> {
    let start = EXTRA_CASES.partition_point(|&(from, _)| from < c);
    EXTRA_CASES[start..].iter().take_while(move |&&(from, _)| from == c).map(|&(_, to)| to)
}

/// The pairs of [`extra_cases`] whose first lies in the inclusive range.
pub(crate) fn extra_cases_in(first: u32, last: u32) -> impl Iterator<Item = (u32, u32)> {
    let start = EXTRA_CASES.partition_point(|&(from, _)| from < first);
    EXTRA_CASES[start..].iter().copied().take_while(move |&(from, _)| from <= last)
}

/// The characters of the inclusive range whose lower case is another, with that.
pub(crate) fn lowered_in(first: u32, last: u32) -> impl Iterator<Item = (u32, u32)> {
    moved_in(LOWER, first, last)
}

/// Whether the character is in the category, for all of Unicode or for ASCII alone.
pub(crate) fn is_in(category: Category, unicode: bool, c: u32) -> bool {
    if c >= 0x80 {
        return unicode
            && match category {
                Category::Digit => contains(DIGIT, c),
                Category::Space => contains(SPACE, c),
                Category::Word => contains(WORD, c),
            };
    }
    let byte = c as u8;
    match category {
        Category::Digit => byte.is_ascii_digit(),
        Category::Word => byte.is_ascii_alphanumeric() || byte == b'_',
        // The separators U+001C to U+001F are space for `str`, but not for the ASCII rules.
        Category::Space => matches!(byte, b'\t'..=b'\r' | b' ') || (unicode && matches!(byte, 0x1c..=0x1f)),
    }
}

/// `str.isidentifier()`.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| contains(NAME_START, c.into()))
        && chars.all(|c| contains(NAME_CONTINUE, c.into()))
}

/// The value of a decimal digit of any script.
pub(crate) fn digit_value(c: char) -> Option<u32> {
    let code = u32::from(c);
    let after = DIGIT.partition_point(|&(_, last)| last < code);
    let &(first, _) = DIGIT.get(after).filter(|&&(first, _)| first <= code)?;
    // Every script's digits are ten code points in a row, and neighbouring scripts may touch.
    Some((code - first) % 10)
}

pub(crate) fn contains(ranges: Ranges, c: u32) -> bool {
    let after = ranges.partition_point(|&(_, last)| last < c);
    ranges.get(after).is_some_and(|&(first, _)| first <= c)
}

fn moved(runs: Runs, c: u32) -> u32 {
    let after = runs.partition_point(|&(_, last, _, _)| last < c);
    match runs.get(after) {
        Some(&(first, _, step, delta)) if first <= c && (c - first).is_multiple_of(step) => {
            c.wrapping_add_signed(delta)
        }
        _ => c,
    }
}

fn moved_in(runs: Runs, first: u32, last: u32) -> impl Iterator<Item = (u32, u32)> {
    let start = runs.partition_point(|&(_, end, _, _)| end < first);
    runs[start..].iter().take_while(move |&&(begin, ..)| begin <= last).flat_map(
        move |&(begin, end, step, delta)| {
            (begin..=end)
                .step_by(step as usize)
                .filter(move |&c| (first..=last).contains(&c))
                .map(move |c| (c, c.wrapping_add_signed(delta)))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{ALIASES, NAMED};

    /// FNV-1a over 32-bit numbers, as scripts/tables.py has it.
    fn digest(numbers: impl Iterator<Item = u32>) -> u64 {
        numbers.flat_map(u32::to_le_bytes).fold(0xcbf2_9ce4_8422_2325, |value, byte| {
            (value ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    fn digest_of_set(is_member: impl Fn(u32) -> bool) -> u64 {
        digest((0..=0x10_ffff).filter(|&c| is_member(c)))
    }

    fn digest_of_case(map: impl Fn(u32) -> u32) -> u64 {
        digest((0..=0x10_ffff).filter(|&c| map(c) != c).flat_map(|c| [c, map(c)]))
    }

    /// What each question answers for every code point, by the name that scripts/tables.py gives it.
    fn digests() -> Vec<(&'static str, u64)> {
        vec![
            ("WORD", digest_of_set(|c| is_in(Category::Word, true, c))),
            ("DIGIT", digest_of_set(|c| is_in(Category::Digit, true, c))),
            ("SPACE", digest_of_set(|c| is_in(Category::Space, true, c))),
            ("NAME_START", digest_of_set(|c| contains(NAME_START, c))),
            ("NAME_CONTINUE", digest_of_set(|c| contains(NAME_CONTINUE, c))),
            ("NAMED", digest_of_set(|c| contains(NAMED, c))),
            ("LOWER", digest_of_case(lower)),
            ("UPPER", digest_of_case(upper)),
            ("EXTRA_CASES", digest(extra_cases_in(0, u32::MAX).flat_map(|(a, b)| [a, b]))),
        ]
    }

    /// What `scripts/tables.py --check` printed with CPython 3.11.7, for where the Python at hand is of another
    /// version.
    #[test]
    fn every_code_point_is_as_in_python_3_11() {
        let expected = [
            ("WORD", 6370146430388844498),
            ("DIGIT", 10317704459761767549),
            ("SPACE", 16146675425720271061),
            ("NAME_START", 656127657808104463),
            ("NAME_CONTINUE", 15643293977375799431),
            ("NAMED", 1140884095495902949),
            ("LOWER", 9010650205831216074),
            ("UPPER", 11681440005105160214),
            ("EXTRA_CASES", 8186858577445827433),
        ];
        assert_eq!(digests(), expected);
    }

    /// The Python at hand, or the one that `BECKET_PYTHON` names, says so too. Without any this must fail.
    #[test]
    fn the_python_at_hand_agrees() {
        let python = std::env::var("BECKET_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let ask = |arguments: &[&str]| {
            let output = std::process::Command::new(&python).args(arguments).output();
            let output = output.unwrap_or_else(|error| panic!("this test needs {python}: {error}"));
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let version = ask(&["-c", "import unicodedata; print(unicodedata.unidata_version)"]);
        if version.trim() != "14.0.0" {
            println!("skipped: {python} has Unicode {version}");
            return;
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/tables.py");
        let ours: String = digests().iter().map(|(name, digest)| format!("{name} {digest}\n")).collect();
        assert_eq!(ask(&[script, "--check"]), ours);

        let lookup =
            "import sys, unicodedata\nfor name in sys.argv[1:]: print(ord(unicodedata.lookup(name)))";
        let (names, codes): (Vec<&str>, Vec<u32>) = ALIASES.iter().copied().unzip();
        let found = ask(&[&["-c", lookup], names.as_slice()].concat());
        assert!(found.lines().map(|line| line.parse::<u32>().unwrap()).eq(codes));
    }

    /// The compiler of sets leans on these.
    #[test]
    fn lower_case_is_final_and_stays_in_its_plane() {
        for c in 0..=0x10_ffff {
            assert_eq!(lower(lower(c)), lower(c), "{c:#x}");
            assert_eq!(lower(c) > 0xffff, c > 0xffff, "{c:#x}");
        }
        for (from, _) in extra_cases_in(0, u32::MAX) {
            assert_eq!(lower(from), from);
        }
    }

    #[test]
    fn digits_have_their_value() {
        assert_eq!(digit_value('7'), Some(7));
        assert_eq!(digit_value('\u{0663}'), Some(3));
        assert_eq!(digit_value('\u{1d7ce}'), Some(0));
        assert_eq!(digit_value('\u{1d7d9}'), Some(1));
        assert_eq!(digit_value('²'), None);
    }
}
