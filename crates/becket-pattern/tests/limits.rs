//! Whatever comes in, reading and searching end, soon and without a panic.

use std::time::{Duration, Instant};

use becket_pattern::{MatchError, Pattern, STEP_LIMIT};
use proptest::prelude::*;

/// Pieces that mean something, so that random ones often make a pattern.
const PIECES: &[&str] = &[
    "a",
    "b",
    "ß",
    "😀",
    " ",
    "\n",
    "#",
    ".",
    "^",
    "$",
    "|",
    "*",
    "+",
    "?",
    "{",
    "}",
    "{2}",
    "{,3}",
    "{1,}",
    "{0,9}",
    "{99999}",
    "{4294967294}",
    "{4294967295}",
    "(",
    ")",
    "(?:",
    "(?=",
    "(?!",
    "(?<=",
    "(?<!",
    "(?>",
    "(?i)",
    "(?x)",
    "(?i:",
    "(?-i:",
    "(?a:",
    "(?P<n>",
    "(?P=n)",
    "(?(1)",
    "(?(n)",
    "(?#",
    "[",
    "]",
    "[^",
    "-",
    "[a-z]",
    "[\\w]",
    r"\",
    r"\d",
    r"\W",
    r"\b",
    r"\B",
    r"\A",
    r"\Z",
    r"\1",
    r"\2",
    r"\10",
    r"\0",
    r"\x41",
    r"\u00e9",
    r"\U0010ffff",
    r"\N{SPACE}",
    r"\z",
    "&&",
    "--",
];

/// Under a busy machine; a debug build takes a tenth of it.
const SOON: Duration = Duration::from_secs(5);

fn check(pattern: &str, subject: &str) {
    let start = Instant::now();
    becket_pattern::fuzz(pattern, subject);
    let begin: String = pattern.chars().take(200).collect();
    assert!(start.elapsed() < SOON, "{:?} for {begin:?} on {subject:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_and_searched(pattern in any::<String>(), subject in any::<String>()) {
        check(&pattern, &subject);
    }

    #[test]
    fn any_pieces_are_read_and_searched(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24),
        subject in "[ab1 \n]{0,24}",
    ) {
        check(&pieces.concat(), &subject);
    }
}

#[test]
fn explosive_patterns_end_at_the_limit() {
    let text = "a".repeat(40) + "!";
    for pattern in
        ["(a+)+$", "(?:a|a)*$", "(a*)*b", "(?:a?){40}b", r"(a|aa)+\b$", "(?:(?:a*)*)*b", "(?:a*?)*?b"]
    {
        let start = Instant::now();
        let result = Pattern::new(pattern).unwrap().is_match(&text);
        assert_eq!(result, Err(MatchError::StepLimit { limit: STEP_LIMIT }), "{pattern}");
        assert!(start.elapsed() < SOON, "{pattern}");
    }
    let pattern = Pattern::new("(?:){4294967294}").unwrap();
    assert!(pattern.is_match("").is_err());
}

#[test]
fn depth_is_refused_before_it_hurts() {
    for (open, close) in
        [("(", ")"), ("(?:", ")*"), ("(?=", ")"), ("(?>", ")"), ("(?i:", ")"), ("()(?(1)", ")")]
    {
        let nested = |depth: usize| open.repeat(depth) + "a" + &close.repeat(depth);
        assert!(Pattern::new(&nested(190)).unwrap().is_match("a").is_ok(), "{open}");
        let error = Pattern::new(&nested(100_000)).unwrap_err();
        assert!(error.message.contains("nest"), "{error}");
    }
}

#[test]
fn long_patterns_take_time_in_proportion() {
    for piece in [
        "a|",
        "(a)",
        "[a-z]",
        "(?i:[\\x00-\\uffff])",
        "a*",
        "(?P<n>)",
        "{1",
        "(?#)",
        "\\N{SPACE}",
        "(?=a)",
        "|",
    ] {
        check(&piece.repeat(40_000 / piece.len()), &"a".repeat(1000));
    }
    let set: String = (0x100..0xd000).filter_map(char::from_u32).flat_map(|c| [c, '-', '\u{d000}']).collect();
    check(&format!("(?i)[{set}]"), "a");
}

#[test]
fn plain_text_takes_time_in_proportion_to_the_subject() {
    let subject = "a".repeat(1_000_000);
    check("b|".repeat(200_000).trim_end_matches('|'), &subject);
    let long: Vec<String> = (0..10_000).map(|number| format!("aaaaaaaaaaaa{number}b")).collect();
    check(&long.join("|"), &subject);
}

#[test]
fn patterns_are_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    shared(&Pattern::new("(a)").unwrap());
}
