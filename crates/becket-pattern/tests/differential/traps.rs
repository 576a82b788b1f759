//! The constructs one by one, with what Python 3.11 makes of them, and the patterns that it refuses.

use becket_pattern::{MatchError, Pattern};

use crate::worker::{Answer, Outcome, Worker};

/// Pattern, subject, whether it matches.
const MATCHES: &[(&str, &str, bool)] = &[
    // Search, not match: anywhere, and minding case.
    ("Bash", "BashOutput", true),
    ("Edit|Write", "MultiEdit", true),
    ("Bash", "bash", false),
    ("", "", true),
    ("mcp__.*__read", "mcp__files__read", true),
    ("startup", "", false),
    // Ends.
    ("^foo$", "foo\n", true),
    ("^foo$", "foo\n\n", false),
    (r"foo\Z", "foo\n", false),
    (r"foo\Z", "foo", true),
    ("(?m)^b$", "a\nb\nc", true),
    ("^b", "a\nb", false),
    (r"(?m)\Ab", "a\nb", false),
    ("$^", "", true),
    ("$.", "\n", false),
    ("(?s)$.", "\n", true),
    ("(?m)$\n", "a\nb", true),
    // Boundaries: nothing is one in an empty text, and nothing is none.
    (r"\b", "", false),
    (r"\B", "", false),
    (r"\B", " ", true),
    (r"\bé", "é", true),
    (r"(?a)\bé", "é", false),
    // Sets have no operations and no classes in them.
    ("[a&&b]", "&", true),
    ("[a||b]", "|", true),
    ("[a~~b]", "~", true),
    ("[[a]", "[", true),
    ("[[a]]", "a]", true),
    ("[[:alpha:]]", ":]", true),
    ("[[:alpha:]]", "b", false),
    ("[]a]", "]", true),
    ("[^]a]", "]", false),
    ("[^]a]", "b", true),
    ("[a-]", "-", true),
    ("[-a]", "-", true),
    (r"[\d-]", "-", true),
    (r"[\b]", "\u{8}", true),
    (r"[^\W\d]", "1", false),
    (r"[^\W\d]", "_", true),
    (r"[\]]", "]", true),
    ("[^a]", "\n", true),
    // Escapes.
    (r"\<a\>", "<a>", true),
    (r"\é\_\-", "é_-", true),
    (r"\0", "\0", true),
    (r"\07", "\u{7}", true),
    (r"\101", "A", true),
    (r"\018", "\u{1}8", true),
    (r"[\101]", "A", true),
    (r"[\1]", "\u{1}", true),
    (r"\x41\u0041\U00000041", "AAA", true),
    (r"\ud800", "\u{fffd}", false),
    (r"\N{DIGIT ONE}\N{em dash}\N{LF}", "1—\n", true),
    (r"\a\f\n\r\t\v", "\u{7}\u{c}\n\r\t\u{b}", true),
    // Categories.
    (r"\s", "\u{1c}", true),
    (r"(?a)\s", "\u{1c}", false),
    (r"\s", "\u{85}", true),
    (r"\s", "\u{200b}", false),
    (r"\d", "٣", true),
    (r"(?a)\d", "٣", false),
    (r"\d", "²", false),
    (r"\w", "²", true),
    (r"\w", "Ⓐ", false),
    (r"\w", "\u{301}", false),
    (r"\w", "é", true),
    (r"(?a)\w", "é", false),
    // Letters that are new in Unicode 15.
    (r"\w", "\u{31350}", false),
    // Case.
    ("(?i)i", "ı", true),
    ("(?i)i", "İ", true),
    ("(?i)s", "ſ", true),
    ("(?i)k", "\u{212a}", true),
    ("(?ai)k", "\u{212a}", false),
    ("(?i)ß", "ẞ", true),
    ("(?i)ß", "SS", false),
    ("(?i)σ", "ς", true),
    ("(?i)[^s]", "ſ", false),
    ("(?i)[a-z]", "\u{212a}", true),
    ("(?i)(s)\\1", "sſ", false),
    ("(?i)(s)\\1", "sS", true),
    ("(?i)\u{10400}", "\u{10428}", true),
    ("(?i)[\u{10400}x]", "\u{10400}", false),
    ("(?i)\u{10400}|x", "\u{10400}", false),
    ("(?i)[\u{10400}-\u{10427}]", "\u{10428}", true),
    ("(?i:a)b", "Ab", true),
    ("(?i:a)b", "AB", false),
    ("(?i)(?-i:a)", "A", false),
    // Flags.
    (".", "\n", false),
    ("(?s).", "\n", true),
    ("(?s:.).", "\n\n", false),
    ("(?x) a b # c", "ab", true),
    ("(?x)a\\ b", "a b", true),
    ("(?x)[ ]", " ", true),
    ("(?x)b#\\\nc", "b", true),
    ("(?x: a )b c", "ab c", true),
    ("(?x)a {2}", "aa", true),
    ("(?#a)(?i)b", "B", true),
    ("(?u)é", "é", true),
    (r"(?a)(?u:\w)", "é", false),
    (r"(?a)(?=)(?u:\w)", "é", true),
    ("(?t)a", "a", true),
    // Repetition.
    ("a{,3}b", "aab", true),
    ("a{", "a{", true),
    ("a{,", "a{,", true),
    ("a{1,b}", "a{1,b}", true),
    ("{}", "{}", true),
    ("x{a}", "x{a}", true),
    ("^a{2}$", "aaa", false),
    ("^a{0}$", "", true),
    ("^(?:ab){2,}?$", "ababab", true),
    ("a++a", "aaa", false),
    ("a?+a", "a", false),
    ("(?:a|ab)++c", "abc", false),
    ("(?>a|ab)c", "abc", false),
    ("(?>a*)b", "aab", true),
    ("(?:)*x", "x", true),
    ("(?:a?)*?$", "aa", true),
    ("(?:^)*a", "ba", true),
    ("(?=a)*b", "b", true),
    ("(a|b?)+c", "abc", true),
    // Groups and references.
    (r"(a)\1", "aa", true),
    (r"(a)|\1", "b", false),
    (r"(?:(a)|b)*\1", "aba", true),
    (r"(?P<n>a)(?P=n)", "aa", true),
    (r"(a?)\1$", "b", true),
    (r"(?:(a)|(b)|c)*\1\2", "abcab", true),
    (r"^(?:(a)|b\1)*$", "aba", true),
    (r"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\10", "abcdefghijj", true),
    ("(?P<é>a)(?(é)b|c)", "ab", true),
    // Conditionals.
    ("(a)?(?(1)b|c)$", "ab", true),
    ("^(a)?(?(1)b|c)$", "b", false),
    ("^(a)?(?(1)b|c)$", "c", true),
    ("(?(1)a|b)(c)", "bc", true),
    ("^(a)?(?(1)b)$", "", true),
    ("(?:(a)|b)*(?(1)c|d)", "bd", true),
    ("^(?:((?(1)a|b)))*$", "ba", true),
    ("^(?:((?(1)a|b)))*$", "bb", false),
    ("^(?:(a)|(a)|(?(2)b|c))*$", "ab", true),
    ("^(?:(a)|(a)|(?(2)b|c))*?$", "ab", true),
    ("^(?:x((?(1)a|b)))*$", "xbxb", true),
    ("^(?:x((?(1)a|b)))*$", "xbxa", false),
    ("()(?( 1 )a|b)", "a", true),
    // Looking around.
    ("^(?!Edit)", "Edit", false),
    ("(?<!Web)Fetch", "WebFetch", false),
    ("(?<!Web)Fetch", "Fetch", true),
    ("(?<=a|b)c", "bc", true),
    (r"(a)(?<=\1)b", "ab", true),
    ("(?=(a))(?:)\\1", "a", true),
    ("(?!(a))(?(1)x|b)", "b", true),
    ("(?<=^)a", "a", true),
    ("(?<=(?:)*)a", "a", true),
    ("(?<=(?:ab){2})c", "ababc", true),
    // Captures of possessive repetitions keep what failed attempts left.
    (r"^(?:([ab])y|[bz])*+\1", "aybza", true),
    (r"^(?:([ab])y|[bz])*+\1$", "aybza", false),
    // Such a match is shorter than the pattern's least width, and what the pattern begins with decides whether
    // so little is looked at.
    (r"Bash(?:(ab)|a)*+\1\1\1", "zzzzzzzBashaba", true),
    (r"x(?:(ab)|a)*+\1\1\1", "zzzzzzzzzxaba", true),
    (r"[xw](?:(ab)|a)*+\1\1\1", "zzzzzzzzzxaba", true),
    (r"(?:xa|wa)(?:(ab)|a)*+\1\1\1", "zzzzzzzzzxaaba", true),
    (r"(?:xa|[wv]a)(?:(ab)|a)*+\1\1\1", "zzzzzzzzzxaaba", false),
    (r"()x(?:(ab)|a)*+\2\2\2", "zzzzzzzzzxaba", true),
    (r"()[xw](?:(ab)|a)*+\2\2\2", "zzzzzzzzzxaba", false),
    (r"(?=x)x(?:(ab)|a)*+\1\1\1", "zzzzzzzzzxaba", false),
    (r"x{1}(?:(ab)|a)*+\1\1\1", "zzzzzzzzzxaba", false),
    (r"(?i:x)(?:(ab)|a)*+\1\1\1", "zzzzzzzzzxaba", false),
    (r"(?i)x(?:(ab)|a)*+\1\1\1", "zzzzzzzzzxaba", false),
    (r"(?i)1(?:(ab)|a)*+\1\1\1", "zzzzzzzzz1aba", true),
    (r"(?i)(?-i:x)(?:(ab)|a)*+\1\1\1", "zzzzzzzzzxaba", true),
    (r"(?i)(?:1a|2a)(?:(ab)|a)*+\1\1\1", "zzzzzzzzz1aaba", true),
    (r"(?i)(?:1a|xa)(?:(ab)|a)*+\1\1\1", "zzzzzzzzz1aaba", false),
];

const REFUSED: &[&str] = &[
    "*",
    "+a",
    "?",
    "{1}",
    "|*",
    "(*a)",
    "(?:*)",
    "^*",
    "$+",
    r"\b?",
    r"\A{2}",
    "(?#x)*",
    "a**",
    "a+*",
    "a{2}{3}",
    "a???",
    "a*?+",
    "a{3,2}",
    "a{4294967295}",
    "a{0,99999999999}",
    "(",
    ")",
    "a)",
    "(a",
    "(?",
    "(?)",
    "(?P",
    "(?Pa)",
    "(?P<n",
    "(?P<>a)",
    "(?P<1>a)",
    "(?P<a-b>a)",
    "(?P<n>a)(?P<n>b)",
    "(?P=n)",
    "(?P=n)(?P<n>a)",
    "(?P<n>(?P=n))",
    "(?P>n)",
    "(?<n>a)",
    "(?'n'a)",
    "(?R)",
    "(?1)",
    "(?&n)",
    "(?|a)",
    "(?#",
    r"(?#\)",
    "(?<",
    "(?<a)",
    "[",
    "[a",
    "[]",
    "[^]",
    "[a-",
    "[b-a]",
    r"[\d-a]",
    r"[a-\d]",
    "[a--b]",
    r"[\B]",
    r"[\A]",
    r"[\8]",
    r"[\400]",
    r"[\z]",
    "\\",
    "a\\",
    r"\z",
    r"\h",
    r"\G",
    r"\K",
    r"\R",
    r"\e",
    r"\c",
    r"\Q",
    r"\p{L}",
    r"\400",
    r"\x",
    r"\x4",
    r"\x{41}",
    r"\u41",
    r"\u{41}",
    r"\U0041",
    r"\U00110000",
    r"\N",
    r"\N{}",
    r"\N{NO SUCH}",
    r"\N{KEYCAP DIGIT ONE}",
    r"\N{KHANDA}",
    r"\1",
    r"\1(a)",
    r"(\1)",
    r"(a)\2",
    r"(a)\8",
    "(?(1)a)",
    "(?(0)a)",
    "(?(-1)a)",
    "(?(n)a)",
    "(?()a)",
    "(?(a b)a)",
    "(a)(?(1)b|c|d)",
    "(a)(?(1)b",
    "(?<=a*)b",
    "(?<=a|bc)d",
    "(?<!a?)",
    r"(?<=(a)\1)",
    r"((?<=\1)a)",
    "(?<=((?(1)a|b)))",
    "a(?i)",
    "(a(?i)b)",
    "(?:(?i)a)",
    "a|(?i)b",
    "(?i",
    "(?i-",
    "(?-i)",
    "(?i-:a)",
    "(?-:a)",
    "(?L)",
    "(?L:a)",
    "(?au)",
    "(?a)(?u)",
    "(?i-i:a)",
    "(?a-u:a)",
    "(?q)",
    "(?iq)",
    "(?t)a*",
    "(?t:a)",
    "(?-t:a)",
];

#[test]
fn every_construct_means_what_the_table_says() {
    for &(text, subject, expected) in MATCHES {
        let pattern = Pattern::new(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(pattern.is_match(subject), Ok(expected), "{text:?} on {subject:?}");
    }
}

#[test]
fn what_python_refuses_is_refused_with_a_place() {
    for text in REFUSED {
        let error = Pattern::new(text).expect_err(text);
        assert!(text.is_char_boundary(error.offset), "{text:?}: {error:?}");
        assert!(!error.message.is_empty());
    }
}

#[test]
fn errors_tell_the_place_that_python_tells() {
    for (text, offset) in [
        ("é**", 3),
        ("é(?<n>a)", 3),
        ("é(", 2),
        ("é[a", 2),
        ("éa{3,2}", 4),
        (r"é\z", 2),
        (r"é\1", 3),
        ("é)", 2),
        ("é(?P<n>a)(?P<n>b)", 14),
        ("(?i-i:a)", 5),
        ("é(?i)", 2),
        ("é\\", 2),
    ] {
        assert_eq!(Pattern::new(text).unwrap_err().offset, offset, "{text}");
    }
}

#[test]
fn a_match_that_python_fails_on_is_an_error() {
    // The second repetition begins group 2 anew and goes on without it.
    let (text, subject) = ("((b)ab*|){2}+", "babbb");
    assert_eq!(Pattern::new(text).unwrap().is_match(subject), Err(MatchError::BadCapture));
}

/// Python reads no number of more than 4300 digits, however small it is.
#[test]
fn numbers_of_many_digits_are_read_or_refused_as_in_python() {
    let mut worker = Worker::start();
    let mut questions = Vec::new();
    for zeros in [4_298, 4_299, 4_300] {
        for zero in ["0", "0_", "\u{660}"] {
            let number = zero.repeat(zeros) + "1";
            let forms =
                ["a{N}", "a{1,N}", "a{,N}", "a{N,}", "a{N", "()(?(N)a|b)", "(a)(?:b|(?(N)))", r"(a)\N"];
            questions.extend(
                forms.map(|form| (form.replace('N', &number), vec!["a".to_owned(), "aa".to_owned()])),
            );
        }
    }
    for ((text, subjects), answer) in questions.iter().zip(worker.ask(&questions)) {
        let shown = format!("{}… of {} bytes", text.chars().take(12).collect::<String>(), text.len());
        match (Pattern::new(text), answer) {
            (Err(_), Answer::Refused(_)) => {}
            (Ok(pattern), Answer::Searched(outcomes)) => {
                let found = subjects.iter().map(|subject| pattern.is_match(subject) == Ok(true));
                let python = outcomes.iter().map(|outcome| *outcome == Outcome::Found);
                assert!(found.eq(python), "{shown}");
            }
            (ours, python) => panic!("{shown}: {:?}, and Python {python:?}", ours.map(drop)),
        }
    }
}

#[test]
fn the_tables_are_pythons() {
    let mut worker = Worker::start();
    if worker.version >= (3, 12, 0) {
        println!("skipped: the tables are of 3.11, this is {:?}", worker.version);
        return;
    }
    let questions: Vec<_> =
        MATCHES.iter().map(|(text, subject, _)| (text.to_string(), vec![subject.to_string()])).collect();
    for (&(text, subject, expected), answer) in MATCHES.iter().zip(worker.ask(&questions)) {
        let wanted = if expected { Outcome::Found } else { Outcome::NotFound };
        match answer {
            Answer::Searched(outcomes) => assert_eq!(outcomes, [wanted], "{text:?} on {subject:?}"),
            Answer::Refused(reason) => panic!("{text:?}: {reason}"),
        }
    }
    let questions: Vec<_> = REFUSED.iter().map(|text| (text.to_string(), vec![String::new()])).collect();
    let failing = ("((b)ab*|){2}+".to_owned(), vec!["babbb".to_owned()]);
    assert!(
        matches!(&worker.ask(&[failing])[..], [Answer::Searched(outcomes)] if outcomes[..] == [Outcome::Failed])
    );
    for (text, answer) in REFUSED.iter().zip(worker.ask(&questions)) {
        assert!(matches!(answer, Answer::Refused(_)), "{text:?}: {answer:?}");
    }
}
