//! Patterns that show where CPython's search ends: it goes on to the end of the text if the pattern begins with
//! a literal or with a set, and what a possessive repetition captured makes a match shorter than it should be.

use crate::grammar::Made;
use crate::random::Random;

/// A beginning, a text that fits it, and how many groups it has.
const BEGINNINGS: &[(&str, &str, usize)] = &[
    // Literals.
    ("x", "x", 0),
    ("1", "1", 0),
    ("xy", "xy", 0),
    ("1x", "1x", 0),
    (r"\x78", "x", 0),
    ("[x]", "x", 0),
    ("x(?#c)", "x", 0),
    // Sets.
    ("[xw]", "w", 0),
    ("[1-3]", "2", 0),
    ("[^ab]", "q", 0),
    ("[é1]", "é", 0),
    ("[\\U00010400-\\U00010427]", "\u{10400}", 0),
    (r"\w", "é", 0),
    (r"(?u:\w)", "é", 0),
    (r"(?a:[\W1])", "é", 0),
    ("(?:x|w)", "w", 0),
    ("(?i:[xw])", "X", 0),
    ("(?i:[12])", "2", 0),
    ("(?-i:[xw])", "x", 0),
    // Branches.
    ("(?:xy|wz)", "wz", 0),
    ("(?:xy|x)", "xy", 0),
    ("(?:xy|wz|)", "wz", 0),
    ("(?:1y|23)", "23", 0),
    ("(?:xy|[w]z)", "wz", 0),
    ("(?:xy|(w)z)", "wz", 1),
    ("(?:xy|[wv]z)", "wz", 0),
    ("(?i:xy|wz)", "wZ", 0),
    ("(?i:1y|23)", "1Y", 0),
    ("(xy|wz)", "wz", 1),
    // Groups.
    ("()", "", 1),
    ("(?i:)", "", 0),
    ("(?:)", "", 0),
    ("(x)", "x", 1),
    ("(?P<n>1)", "1", 1),
    ("((x)y)", "xy", 2),
    ("(()x)", "x", 2),
    ("(?i:x)", "X", 0),
    ("(?i:1)", "1", 0),
    ("(?ai:é)", "é", 0),
    ("(?i:é)", "É", 0),
    ("(?-i:x)", "x", 0),
    // What is neither.
    (".", "q", 0),
    ("[^x]", "q", 0),
    ("x?", "x", 0),
    ("x*", "", 0),
    ("x{1}", "x", 0),
    ("x+", "xx", 0),
    ("(?>x)", "x", 0),
    ("(?=x)", "", 0),
    ("(?<!y)", "", 0),
    (r"\b", "", 0),
    ("^", "", 0),
];

/// Makes one pattern; its sample is only what its beginning matches.
pub(crate) fn make(random: &mut Random) -> Made {
    let flags = random.pick(&["", "", "", "", "(?i)", "(?i)", "(?a)", "(?ai)", "(?x) "]);
    let (mut begin, mut sample, mut groups) = (String::new(), String::new(), 0);
    for _ in 0..1 + random.below(2) {
        let (pattern, text, count) = BEGINNINGS[random.below(BEGINNINGS.len())];
        // A name may be given once.
        if !(pattern.contains("?P<") && begin.contains("?P<")) {
            begin.push_str(pattern);
            sample.push_str(text);
            groups += count;
        }
    }
    match random.below(8) {
        0 => {
            begin = format!("({begin})");
            groups += 1;
        }
        1 => begin = format!("(?:{begin})"),
        2 => begin = format!("(?i:{begin})"),
        _ => {}
    }

    // An attempt at the first alternative that fails late leaves the start of its capture, and the second
    // matches what it began with.
    let (one, two) = (unit(random), unit(random));
    let mut alternatives = vec![match random.below(4) {
        0 => format!("({one}){two}"),
        1 => format!("({one}{two}){}", unit(random)),
        _ => format!("({one}{two})"),
    }];
    alternatives.push(match random.below(4) {
        0 => unit(random).to_owned(),
        1 => format!("({})", unit(random)),
        _ => one.to_owned(),
    });
    if random.one_in(4) {
        alternatives.push(format!("({}){}", unit(random), unit(random)));
    }
    let captures = alternatives.iter().filter(|text| text.contains('(')).count();
    let body = format!("(?:{})", alternatives.join("|"));
    let body = match random.below(8) {
        0 => format!("(?>{body}*)"),
        1 => format!("(?>{body}*+)"),
        2 => format!("{body}++"),
        3 => format!("{body}{}", random.pick(&["{1,3}+", "{2}+", "{2,}+", "?+"])),
        _ => format!("{body}*+"),
    };
    let group = groups + 1 + if random.one_in(4) { random.below(captures) } else { 0 };
    let reference = format!("\\{group}").repeat(2 + random.below(3));
    let ends = ["$", "b?", "(?!z)", r"\Z", "|xq", "|wq", "|1q", "|[xw]q", "|(x)q", "|"];
    let end = if random.one_in(3) { random.pick(&ends) } else { "" };
    Made { pattern: format!("{flags}{begin}{body}{reference}{end}"), sample }
}

fn unit(random: &mut Random) -> &'static str {
    random.pick(&["a", "a", "b", "b", "[ab]"])
}

/// A text with a match at its very end, if there is one.
pub(crate) fn subject(random: &mut Random, sample: &str) -> String {
    let before = random.pick(&["", "z", "zzzz", "zzzzzzzzzz", "zzzzzzzzzz", "zzzzzzzzzz"]);
    let after = random.pick(&["", "", "", "", "z", "zzzz"]);
    let middle: String = (0..2 + random.below(3)).map(|_| random.pick_char(&['a', 'b'])).collect();
    format!("{before}{sample}{middle}{after}")
}
