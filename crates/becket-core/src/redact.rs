//! Secrets masked in output that is stored. What a gate said is judged raw; what is kept of it is not.

use std::ops::Range;

/// What stands where a secret stood.
const MASK: &str = "[masked]";

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

/// Least length of a run of letters and digits that is judged by how random it looks.
const RANDOM: usize = 32;

/// Least entropy of such a run, in bits a character.
const ENTROPY: f64 = 3.5;

/// `text` with everything masked that looks like a secret.
pub fn mask(text: &str) -> String {
    let mut found = armoured_keys(text);
    found.extend(prefixed_keys(text));
    found.extend(named_values(text));
    found.extend(passwords_in_urls(text));
    found.extend(random_runs(text));
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
    masked
}

fn armoured_keys(text: &str) -> Vec<Range<usize>> {
    const ENDS: &str = "PRIVATE KEY-----";
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(begin) = text[from..].find("-----BEGIN ").map(|at| from + at) {
        let line = text[begin..].lines().next().unwrap_or_default();
        from = begin + "-----BEGIN ".len();
        if !line.contains(ENDS) {
            continue;
        }
        // A key whose end was cut off goes on to the end of the text.
        let end = text[from..].find("-----END ").map(|at| from + at);
        let end = end.and_then(|end| text[end..].find(ENDS).map(|at| end + at + ENDS.len()));
        from = end.unwrap_or(text.len());
        found.push(begin..from);
    }
    found
}

fn prefixed_keys(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for prefix in PREFIXES {
        for (at, _) in text.match_indices(prefix) {
            let begins_word = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
            let end = run_end(bytes, at + prefix.len(), |byte| {
                byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
            });
            if begins_word && end - at - prefix.len() >= AFTER_PREFIX {
                found.push(at..end);
            }
        }
    }
    found
}

fn named_values(text: &str) -> Vec<Range<usize>> {
    // ASCII only, so that every place is the same in both.
    let lower = text.to_ascii_lowercase();
    let bytes = lower.as_bytes();
    let mut found = Vec::new();
    for name in NAMES {
        for (at, _) in lower.match_indices(name) {
            let mut next = at + name.len();
            next = run_end(bytes, next, |byte| b"\"' ".contains(&byte));
            if !matches!(bytes.get(next), Some(b'=' | b':')) {
                continue;
            }
            next = run_end(bytes, next + 1, |byte| b"\"' ".contains(&byte));
            for scheme in ["bearer ", "basic "] {
                if lower[next..].starts_with(scheme) {
                    next += scheme.len();
                }
            }
            let end = run_end(bytes, next, |byte| !byte.is_ascii_whitespace() && !b"\"',;&".contains(&byte));
            found.push(next..end);
        }
    }
    found.retain(|range| !range.is_empty());
    found
}

fn passwords_in_urls(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for (at, _) in text.match_indices("://") {
        let from = at + 3;
        let end = run_end(bytes, from, |byte| !byte.is_ascii_whitespace() && !b"/@\"'".contains(&byte));
        if bytes.get(end) == Some(&b'@')
            && let Some(colon) = text[from..end].find(':')
            && from + colon + 1 < end
        {
            found.push(from + colon + 1..end);
        }
    }
    found
}

fn random_runs(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_=-".contains(&byte);
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = run_end(bytes, at, is_part);
        if end - at >= RANDOM && looks_random(&bytes[at..end]) {
            found.push(at..end);
        }
        at = end.max(at + 1);
    }
    found
}

fn looks_random(run: &[u8]) -> bool {
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

fn run_end(bytes: &[u8], from: usize, is_part: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| !is_part(*byte)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        for (text, masked) in [
            ("key ghp_0123456789abcdefghij.", "key [masked]."),
            ("OPENAI=sk-abcdefghijklmnop", "OPENAI=[masked]"),
            ("password: hunter2, x", "password: [masked], x"),
            ("\"api_key\": \"abc\"", "\"api_key\": \"[masked]\""),
            ("Authorization: Bearer abc.def", "Authorization: Bearer [masked]"),
            ("https://me:pw@host/x", "https://me:[masked]@host/x"),
            ("a\n-----BEGIN RSA PRIVATE KEY-----\nAA\n-----END RSA PRIVATE KEY-----\nb", "a\n[masked]\nb"),
            ("-----BEGIN PRIVATE KEY-----\nAA", "[masked]"),
            ("x Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRkdISUpLTE1OT1A= y", "x [masked] y"),
        ] {
            assert_eq!(mask(text), masked, "{text}");
        }
    }

    #[test]
    fn plain_output_is_left_alone() {
        for text in [
            "",
            "test result: ok. 3 passed; 0 failed",
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "-----BEGIN CERTIFICATE-----",
            "task-list sk-1 tokens are fine",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "http://host:80/x é 🙂",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in any::<String>(), keys in "(password|token)?[=: ]{0,2}(sk-[a-z0-9]{0,20})?(://é?:[a@/]{0,4})?-----BEGIN (PRIVATE KEY-----)?é?") {
            mask(&text);
            mask(&keys);
        }
    }
}
