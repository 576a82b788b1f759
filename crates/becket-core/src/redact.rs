//! Secrets masked in output that is stored. What a gate said is judged raw; what is kept of it is not.

use std::ops::Range;

use serde_json::Value;

use crate::json::Object;
use crate::outcome::{Outcome, Run, ToolResult};

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

/// So many letters and digits of such a run must stand in pieces that are no words for it not to be a path of words.
const NO_WORDS: usize = 20;

/// Masks everything that looks like a secret in an outcome that is stored. Where its hooks are defined, what they are
/// called, and which moment it was stays: by that a run is found again.
pub fn mask_outcome(outcome: &mut Outcome) {
    // Each field by its name, so that a new one is decided on.
    let Outcome {
        event: _,
        decision: _,
        reason,
        updated_input,
        result,
        additional_context,
        messages,
        continue_with,
        runs,
    } = outcome;
    let feedback = result.iter_mut().map(|ToolResult { failed: _, feedback, replaces: _ }| feedback);
    let texts = reason.iter_mut().chain(continue_with).chain(feedback).chain(additional_context);
    for text in texts.chain(messages) {
        mask_in_place(text);
    }
    if let Some(input) = updated_input {
        mask_object(input);
    }
    for run in runs {
        let Run {
            dialect: _,
            source: _,
            index: _,
            name: _,
            moment: _,
            command,
            look: _,
            status: _,
            detail,
            exit_code: _,
            duration_ms: _,
            truncated: _,
        } = run;
        mask_in_place(command);
        mask_in_place(detail);
    }
}

fn mask_in_place(text: &mut String) {
    *text = mask_where(text, |run| looks_random(run) && !is_of_words(run));
}

fn mask_object(object: &mut Object) {
    let entries = std::mem::take(object);
    object.extend(entries.into_iter().map(|(mut key, mut value)| {
        let lower = key.to_ascii_lowercase();
        match value {
            Value::String(_) | Value::Number(_) if NAMES.iter().any(|name| lower.ends_with(name)) => {
                value = MASK.into();
            }
            _ => mask_value(&mut value),
        }
        mask_in_place(&mut key);
        (key, value)
    }));
}

fn mask_value(value: &mut Value) {
    match value {
        Value::String(text) => mask_in_place(text),
        Value::Array(items) => items.iter_mut().for_each(mask_value),
        Value::Object(object) => mask_object(object),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `text` with everything masked that looks like a secret, as ShadowCode masks what it stores of a hook's output. Long
/// paths may look like one to it.
pub fn mask(text: &str) -> String {
    mask_where(text, looks_random)
}

fn mask_where(text: &str, is_key: impl Fn(&[u8]) -> bool) -> String {
    let mut found = armoured_keys(text);
    found.extend(prefixed_keys(text));
    found.extend(named_values(text));
    found.extend(passwords_in_urls(text));
    found.extend(random_runs(text, is_key));
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
        // A value that holds the name again is one value: looking at it from each would take as long as it is long.
        let mut over = 0;
        for (at, _) in lower.match_indices(name) {
            if at < over {
                continue;
            }
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
            over = end;
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

fn random_runs(text: &str, is_key: impl Fn(&[u8]) -> bool) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+/_=-".contains(&byte);
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = run_end(bytes, at, is_part);
        if end - at >= RANDOM && is_key(&bytes[at..end]) {
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

fn run_end(bytes: &[u8], from: usize, is_part: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| !is_part(*byte)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_value_that_holds_its_name_again_is_one_value() {
        let many = "token=".repeat(100_000);
        assert_eq!(mask(&many), "token=[masked]");
        assert_eq!(mask("token=a token=b"), "token=[masked] token=[masked]");
    }

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

    #[test]
    fn every_text_of_an_outcome_is_masked_but_by_what_a_run_is_found() {
        let secret = "password: hunter2";
        let text = || secret.to_owned();
        let input = r#"{"a":["password: hunter2",{"Db_Password":"hunter2","password":5,"x":1}],"password: hunter2":1}"#;
        let mut outcome = Outcome {
            reason: Some(text()),
            updated_input: crate::json::parse_object(input.as_bytes()).ok(),
            result: Some(ToolResult { failed: true, feedback: text(), replaces: true }),
            additional_context: vec![text()],
            messages: vec![text()],
            continue_with: Some(text()),
            runs: vec![Run {
                dialect: crate::dialect::Name::Albedo,
                source: text(),
                index: 0,
                name: Some(text()),
                moment: text(),
                command: text(),
                look: 1,
                status: crate::outcome::Status::Failed,
                detail: text(),
                exit_code: None,
                duration_ms: 0.0,
                truncated: false,
            }],
            ..Outcome::nothing(crate::event::EventName::PreToolUse)
        };
        mask_outcome(&mut outcome);
        let mut run = outcome.runs.remove(0);
        for kept in [&mut run.source, run.name.as_mut().unwrap(), &mut run.moment] {
            assert_eq!(std::mem::take(kept), secret);
        }
        outcome.runs.push(run);
        let stored = serde_json::to_string(&outcome).unwrap();
        assert!(!stored.contains("hunter2"), "{stored}");
        let masked = r#"{"a":["password: [masked]",{"Db_Password":"[masked]","password":"[masked]","x":1}],"password: [masked]":1}"#;
        assert!(stored.contains(masked), "{stored}");
    }

    #[test]
    fn keys_are_told_from_paths() {
        let kept = |text: &str| {
            let mut text = text.to_owned();
            mask_in_place(&mut text);
            text
        };
        for path in [
            "/home/dev/.albedo/workspaces/-home-Dev-shop2-t-a191-w/hooks.json were skipped",
            "src/main/java/com/example2/MyProjectServiceImpl2/HttpHandlerTest",
            "/tmp/becket-case-U0Tu02/home/local/state/becket/ledger",
            "x86_64-unknown-linux-gnu/release-2026-11-30/libSomething",
        ] {
            assert_eq!(kept(path), path);
        }
        let token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4ifQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c";
        assert_eq!(kept(token), "[masked].[masked].[masked]");
        // As random as keys are, and the same in each run of the test.
        let mut state = 7u64;
        let mut next = |alphabet: &[u8]| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(alphabet[usize::try_from(state >> 33).unwrap() % alphabet.len()])
        };
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        for more in [&b""[..], b"+/", b"-_"] {
            let alphabet = [&letters[..], more].concat();
            let whole = (0..2000).filter(|number| {
                let key: String = (0..40 + number % 40).map(|_| next(&alphabet)).collect();
                kept(&key) == key
            });
            assert!(whole.count() <= 2);
        }
    }

    proptest! {
        #[test]
        fn paths_of_words_stay(
            pieces in proptest::collection::vec("(shop|Hooks|README|workspaces|user-service|myProject|lib|v|x)[0-9]{0,4}|[0-9]{1,8}", 1..12),
            between in "[/_-]",
        ) {
            let path = pieces.join(&between);
            let mut kept = path.clone();
            mask_in_place(&mut kept);
            prop_assert_eq!(kept, path);
        }

        #[test]
        fn no_text_breaks_it(text in any::<String>(), keys in "(password|token)?[=: ]{0,2}(sk-[a-z0-9]{0,20})?(://é?:[a@/]{0,4})?-----BEGIN (PRIVATE KEY-----)?é?") {
            mask(&text);
            mask(&keys);
        }
    }
}
