//! What in a text looks like a secret.
//!
//! Masking takes steps in proportion to a text's length, and masking again changes nothing. Both hold by how it is made: the
//! text is gone through in [`find`] and [`run_end`] only, and no loop goes back over what it passed; and what one kind
//! of secret takes away changes nothing about the kinds that are looked for before it ([`mask`]).

use std::borrow::Cow;
use std::ops::Range;

/// What stands where a secret stood.
pub(super) const MASK: &str = "[masked]";

/// Beginnings of keys that are known to be ones.
const PREFIXES: [&str; 22] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "AKIA",
    "ASIA",
    "AIza",
    "npm_",
    "hf_",
    "pypi-",
    "ya29.",
];

/// Least length of what follows such a beginning.
const AFTER_PREFIX: usize = 12;

/// Names after which a value is a secret.
const NAMES: [&str; 9] =
    ["password", "passwd", "secret", "token", "api_key", "apikey", "api-key", "access_key", "authorization"];

/// What may stand before the secret itself in such a value.
const SCHEMES: [&str; 4] = ["bearer ", "bearer\t", "basic ", "basic\t"];

/// Least length of a run of letters and digits that is judged by how random it looks.
const RANDOM: usize = 32;

/// Least entropy of such a run, in bits a character.
const ENTROPY: f64 = 3.5;

/// So many letters and digits of such a run must stand in pieces that are no words for it not to be a path of words.
const NO_WORDS: usize = 20;

/// `text` with everything masked that looks like a secret; `is_key` tells which long runs of letters and digits do.
pub(super) fn mask(text: &str, is_key: fn(&[u8]) -> bool) -> String {
    // What has ends of its own goes first, for it may hold what ends other things: blanks, slashes, commas.
    let text = without(text, [armoured_keys(text), passwords_in_urls(text)].concat());
    let found = [named_values(&text), prefixed_keys(&text), random_runs(&text, is_key)].concat();
    if found.is_empty() {
        return text.into_owned();
    }
    let text = without(&text, found);
    // A long run may look like words with a key in it, and what is left of it not.
    without(&text, random_runs(&text, is_key)).into_owned()
}

/// `text` with the mask in the place of what was found in it.
fn without(text: &str, mut found: Vec<Range<usize>>) -> Cow<'_, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_by_key(|range| (range.start, range.end));
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for range in found {
        if range.end <= from {
            continue;
        }
        if range.start >= from {
            masked.push_str(&text[from..range.start]);
            masked.push_str(MASK);
        }
        from = range.end;
    }
    masked.push_str(&text[from..]);
    Cow::Owned(masked)
}

fn armoured_keys(text: &str) -> Vec<Range<usize>> {
    const BEGINS: &str = "-----BEGIN ";
    const ENDS: &str = "PRIVATE KEY-----";
    let mut found = Vec::new();
    let (mut from, mut line_end) = (0, 0);
    while let Some(begin) = find(text, from, BEGINS) {
        if begin >= line_end {
            line_end = run_end(text.as_bytes(), begin, |byte| byte != b'\n');
        }
        if find(&text[..line_end], begin, ENDS).is_none() {
            // Nor does what begins later on this line.
            from = line_end;
            continue;
        }
        // A key whose end was cut off goes on to the end of the text.
        let end = find(text, begin + BEGINS.len(), "-----END ").and_then(|end| find(text, end, ENDS));
        from = end.map_or(text.len(), |end| end + ENDS.len());
        found.push(begin..from);
    }
    found
}

fn passwords_in_urls(text: &str) -> Vec<Range<usize>> {
    const BEGINS: &str = "://";
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = find(text, from, BEGINS) {
        from = at + BEGINS.len();
        // At the latest it ends at the slashes of the next.
        let end = run_end(bytes, from, |byte| !byte.is_ascii_whitespace() && !b"/@\"'".contains(&byte));
        let inside = &text[..end];
        // With a mask in it, it may have ended before: what the mask took away could be a slash.
        if bytes.get(end) == Some(&b'@')
            && let Some(colon) = find(inside, from, ":")
            && colon + 1 < end
            && find(inside, from, MASK).is_none()
        {
            found.push(colon + 1..end);
        }
    }
    found
}

fn named_values(text: &str) -> Vec<Range<usize>> {
    let is_between = |byte: u8| b"\"'\\ \t=:>".contains(&byte);
    // ASCII only, so that every place is the same in both.
    let lower = text.to_ascii_lowercase();
    let bytes = lower.as_bytes();
    let mut found = Vec::new();
    for name in NAMES {
        let mut from = 0;
        // The end of the last value. A name inside of it may have a value that goes on behind it, or one that ends with it.
        let mut end = 0;
        while let Some(at) = find(&lower, from, name) {
            from = at + name.len();
            let mut value = run_end(bytes, from, is_between);
            if !bytes[from..value].iter().any(|byte| b"=:".contains(byte)) {
                continue;
            }
            while let Some(scheme) = SCHEMES.iter().find(|scheme| lower[value..].starts_with(**scheme)) {
                value = run_end(bytes, value + scheme.len(), is_between);
            }
            if value >= end {
                end = run_end(bytes, value, |byte| !byte.is_ascii_whitespace() && !b"\"',;&".contains(&byte));
                found.push(value..end);
            }
        }
    }
    found.retain(|range| !range.is_empty());
    found
}

fn prefixed_keys(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let mut found = Vec::new();
    for prefix in PREFIXES {
        let mut from = 0;
        while let Some(at) = find(text, from, prefix) {
            from = at + prefix.len();
            let begins_word = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
            let least = from + AFTER_PREFIX;
            // Only a key is gone through to its end, for only behind a key the search goes on there.
            if begins_word && bytes.get(..least).is_some_and(|text| run_end(text, from, is_part) == least) {
                from = run_end(bytes, least, is_part);
                found.push(at..from);
            }
        }
    }
    found
}

fn random_runs(text: &str, is_key: fn(&[u8]) -> bool) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_=-".contains(&byte);
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = run_end(bytes, at, is_part);
        if end - at >= RANDOM && is_key(&bytes[at..end]) {
            found.push(at..end);
        }
        at = run_end(bytes, end, |byte| !is_part(byte));
    }
    found
}

/// Whether a long run is as random as keys are, as ShadowCode judges it. Long paths may be as well.
pub(super) fn looks_random(run: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| usize::from(run.iter().any(is));
    let kinds = has(u8::is_ascii_lowercase)
        + has(u8::is_ascii_uppercase)
        + has(u8::is_ascii_digit)
        + has(|byte| !byte.is_ascii_alphanumeric());
    let mut counts = [0u32; 256];
    for byte in run {
        counts[usize::from(*byte)] += 1;
    }
    let length = f64::from(u32::try_from(run.len()).unwrap_or(u32::MAX));
    let entropy: f64 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum();
    kinds >= 3 && entropy >= ENTROPY
}

/// Whether a long run is as random as keys are, and is not mostly words.
pub(super) fn looks_random_and_no_path(run: &[u8]) -> bool {
    looks_random(run) && !is_of_words(run)
}

/// Whether a run is mostly words and numbers, as a path is or a name of several words.
fn is_of_words(run: &[u8]) -> bool {
    let pieces = run.split(|byte| !byte.is_ascii_alphanumeric());
    pieces.filter(|piece| !is_word(piece)).map(<[u8]>::len).sum::<usize>() < NO_WORDS
}

/// Whether letters and digits are put as in a word with a number behind it: `shop`, `Shop`, `SHOP`, `ShopFront`, `shop2`, `2026`.
fn is_word(piece: &[u8]) -> bool {
    let (letters, number) = piece.split_at(run_end(piece, 0, |byte| byte.is_ascii_alphabetic()));
    let is_lower = |byte: u8| byte.is_ascii_lowercase();
    let humps = letters.windows(2).filter(|pair| is_lower(pair[0]) && !is_lower(pair[1])).count();
    let is_shouted = letters.windows(2).any(|pair| !is_lower(pair[0]) && !is_lower(pair[1]));
    number.iter().all(u8::is_ascii_digit)
        && (!letters.iter().copied().any(is_lower) || !is_shouted && letters.len() >= 4 * humps)
}

/// Whether what stands under this key is a secret.
pub(super) fn is_name(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    NAMES.iter().any(|name| lower.ends_with(name))
}

/// Where `what` stands in the text, at or behind `from`.
fn find(text: &str, from: usize, what: &str) -> Option<usize> {
    let at = text[from..].find(what).map(|at| from + at);
    count(at.unwrap_or(text.len()) - from + what.len());
    at
}

/// Where what begins at `from` ends.
fn run_end(bytes: &[u8], from: usize, is_part: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let length = rest.iter().position(|byte| !is_part(*byte)).unwrap_or(rest.len());
    count(length + 1);
    from + length
}

#[cfg(not(test))]
fn count(_: usize) {}

#[cfg(test)]
use tests::count;

#[cfg(test)]
mod tests;
