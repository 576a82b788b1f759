use std::cell::Cell;

use proptest::prelude::*;

use super::*;

thread_local! {
    /// Steps along texts that this thread has taken.
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn count(steps: usize) {
    STEPS.set(STEPS.get() + steps);
}

fn masked(text: &str) -> String {
    mask(text, looks_random)
}

/// What texts are put together from: all that any kind of secret begins, goes on or ends with, whole and without its end.
fn pieces() -> Vec<String> {
    let armour = [
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "PRIVATE KEY-----",
        "-----END ",
        "-----END PRIVATE KEY-----",
    ];
    let urls = ["://", "://a:", "://a:b@", "@"];
    let runs = ["Aa0/", "Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRkdISUpLTE1OT1A=", "abcdefghijklmnop", MASK];
    let between = ["=", ": ", "\"", "'", " ", "\t", "\n", ",", ".", "\\", ">", "é"];
    let whole =
        armour.into_iter().chain(urls).chain(runs).chain(between).chain(SCHEMES).chain(NAMES).chain(PREFIXES);
    let values =
        NAMES.iter().flat_map(|name| [format!("{name}="), format!("{name} \""), format!("{name}: bearer ")]);
    let keys = PREFIXES.iter().map(|prefix| format!("{prefix}abcdefghijkl "));
    whole.map(str::to_owned).chain(values).chain(keys).collect()
}

#[test]
fn masking_takes_steps_in_proportion_to_the_length() {
    let steps = |text: String| {
        STEPS.set(0);
        masked(&text);
        STEPS.get()
    };
    let pieces = pieces();
    let alone = pieces.iter().map(|piece| (piece.clone(), 2000));
    let pairs =
        pieces.iter().flat_map(|first| pieces.iter().map(move |second| (format!("{first}{second}"), 30)));
    for (piece, times) in alone.chain(pairs) {
        let (once, fourfold) = (steps(piece.repeat(times)), steps(piece.repeat(4 * times)));
        // What is long enough to be a key only in the longer text is gone through once more.
        assert!(
            fourfold <= 6 * once,
            "{piece:?}, {times} times: {once} steps, four times as long: {fourfold}"
        );
    }
}

#[test]
fn a_value_that_holds_its_name_again_is_one_value() {
    let many = "token=".repeat(1000);
    assert_eq!(masked(&many), "token=[masked]");
    assert_eq!(masked("token=a token=b"), "token=[masked] token=[masked]");
}

#[test]
fn what_looks_like_a_secret_is_masked() {
    for (text, expected) in [
        ("key ghp_0123456789abcdefghij.", "key [masked]."),
        ("OPENAI=sk-abcdefghijklmnop", "OPENAI=[masked]"),
        ("npm_0123456789ab, sk-npm_0123456789ab", "[masked], [masked]"),
        ("\\\"password\\\": \\\"hunter2", "\\\"password\\\": \\\"[masked]"),
        (
            "password := a; secret => b; token\t==\tc",
            "password := [masked]; secret => [masked]; token\t==\t[masked]",
        ),
        ("missing token: access_token: abcd1234", "missing token: [masked] [masked]"),
        ("bad secret: client_secret = hunter22", "bad secret: [masked] = [masked]"),
        ("Authorization: authorization: Bearer abcdefg", "Authorization: [masked] Bearer [masked]"),
        ("Authorization: Basic \"abc\"", "Authorization: Basic \"[masked]\""),
        ("a://b://me:pw@host", "a://b://me:[masked]@host"),
        ("password: hunter2, x", "password: [masked], x"),
        ("\"api_key\": \"abc\"", "\"api_key\": \"[masked]\""),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [masked]"),
        ("https://me:pw@host/x", "https://me:[masked]@host/x"),
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nAA\n-----END RSA PRIVATE KEY-----\nb", "a\n[masked]\nb"),
        ("-----BEGIN PRIVATE KEY-----\nAA", "[masked]"),
        ("-----BEGIN x\n-----BEGIN -----BEGIN EC PRIVATE KEY-----\nAA", "-----BEGIN x\n[masked]"),
        ("x Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRkdISUpLTE1OT1A= y", "x [masked] y"),
    ] {
        assert_eq!(masked(text), expected, "{text}");
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
        assert_eq!(masked(text), text);
    }
}

#[test]
fn keys_are_told_from_paths() {
    let kept = |text: &str| mask(text, looks_random_and_no_path);
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
        prop_assert_eq!(mask(&path, looks_random_and_no_path), path);
    }

    #[test]
    fn masking_again_changes_nothing(
        text in any::<String>(),
        mixed in proptest::collection::vec(prop_oneof![proptest::sample::select(pieces()), "[A-Za-z0-9/+=_:@,;&.-]{0,40}"], 0..14),
    ) {
        for text in [text, mixed.concat()] {
            for is_key in [looks_random, looks_random_and_no_path] {
                let once = mask(&text, is_key);
                prop_assert_eq!(mask(&once, is_key), once);
            }
        }
    }

    #[test]
    fn what_stands_behind_a_name_is_masked_however_names_are_chained(
        chain in proptest::collection::vec(
            (
                "[a-z]{0,3}[ _.-]?",
                proptest::sample::select(&NAMES[..]),
                "[\"']?[ \t]?(=|:|: |:=| => |==|=\")",
                "((Bearer|basic)[ \t])?",
                "(hunter[0-9]{1,4}[a-zA-Z/+é]{0,3})?",
                "[ ,;&\n\"']?",
            ),
            1..6,
        ),
    ) {
        let mut text = String::new();
        for (before, name, between, scheme, value, after) in chain {
            // An end without a value before it would be a name's without a value.
            let after = if value.is_empty() { "" } else { &after };
            text.extend([&before, name, &between, &scheme, &value, after]);
        }
        let masked = masked(&text);
        prop_assert!(!masked.contains("hunter"), "{:?} -> {:?}", text, masked);
    }
}
