//! Patterns without any operator but `|` and outer anchors, answered by searching for text.

use crate::many;

/// Alternatives such as `Bash|Write` or `^Bash$`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Literals {
    /// Those that may stand anywhere. None ends with another, which would be found wherever it is.
    anywhere: Vec<String>,
    /// How many bytes those have together.
    bytes: usize,
    anchored: Vec<Anchored>,
}

/// A literal at the start, at the end, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Anchored {
    text: String,
    at_start: bool,
    at_end: bool,
}

impl Literals {
    /// Reads `pattern`, or says `None` if it needs the real grammar.
    pub(crate) fn read(pattern: &str) -> Option<Literals> {
        let mut anywhere = Vec::new();
        let mut anchored = Vec::new();
        for alternative in pattern.split('|') {
            let (at_start, rest) = match alternative.strip_prefix('^') {
                Some(rest) => (true, rest),
                None => (false, alternative),
            };
            let (at_end, text) = match rest.strip_suffix('$') {
                Some(text) => (true, text),
                None => (false, rest),
            };
            // Every character that the grammar gives a meaning outside sets. `]` and `}` stand for
            // themselves unless something opened them.
            if text.contains(['.', '\\', '[', '{', '(', ')', '*', '+', '?', '^', '$', '|']) {
                return None;
            }
            if at_start || at_end {
                anchored.push(Anchored { text: text.to_owned(), at_start, at_end });
            } else {
                anywhere.push(text);
            }
        }
        drop_redundant(&mut anywhere);
        Some(Literals {
            bytes: anywhere.iter().map(|text| text.len()).sum(),
            anywhere: anywhere.into_iter().map(str::to_owned).collect(),
            anchored,
        })
    }

    pub(crate) fn is_match(&self, subject: &str) -> bool {
        let anywhere = if many::is_worth_a_pass(self.anywhere.len(), self.bytes, subject) {
            many::any_in_passes(&self.anywhere, subject)
        } else {
            self.anywhere.iter().any(|text| subject.contains(text))
        };
        anywhere || self.anchored.iter().any(|literal| literal.is_match(subject))
    }
}

/// Drops each literal that ends with another one, so also what is there twice. Read backwards, such literals
/// come right after that one in alphabetical order.
fn drop_redundant(literals: &mut Vec<&str>) {
    literals.sort_unstable_by(|a, b| a.bytes().rev().cmp(b.bytes().rev()));
    literals.dedup_by(|later, kept| later.ends_with(*kept));
}

impl Anchored {
    fn is_match(&self, subject: &str) -> bool {
        let text = self.text.as_str();
        // `$` holds at the very end and also before a newline that ends the subject.
        let before_newline = subject.strip_suffix('\n');
        match (self.at_start, self.at_end) {
            (_, false) => subject.starts_with(text),
            (false, true) => {
                subject.ends_with(text) || before_newline.is_some_and(|rest| rest.ends_with(text))
            }
            (true, true) => subject == text || before_newline == Some(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Literals;

    fn matches(pattern: &str, subject: &str) -> bool {
        Literals::read(pattern).unwrap().is_match(subject)
    }

    #[test]
    fn alternatives_are_searched_for_anywhere() {
        assert!(matches("Bash|Write", "BashOutput"));
        assert!(matches("Bash|Write", "MultiWrite"));
        assert!(!matches("Bash|Write", "bash"));
        assert!(matches("", "anything"));
        assert!(matches("Bash|", ""));
    }

    #[test]
    fn anchors_have_pythons_meaning() {
        assert!(matches("^Bash$", "Bash"));
        assert!(matches("^Bash$", "Bash\n"));
        assert!(!matches("^Bash$", "Bash\n\n"));
        assert!(!matches("^Bash$", "BashOutput"));
        assert!(matches("^$", ""));
        assert!(matches("^$", "\n"));
        assert!(!matches("^$", "x"));
        assert!(matches("a$|^b", "ba"));
        assert!(matches("\n$", "\n\n"));
    }

    #[test]
    fn what_another_literal_finds_too_is_dropped() {
        let literals = Literals::read("Bash|Edit|MultiEdit|Bash|^Edit$|éit|it").unwrap();
        assert_eq!(literals.anywhere, ["Bash", "it"]);
        assert_eq!(literals.anchored.len(), 1);
        assert_eq!(Literals::read("a||b").unwrap().anywhere, [""]);
    }

    #[test]
    fn many_literals_are_found_in_a_long_text() {
        let pattern = (0..200).map(|n| format!("{n}b")).collect::<Vec<_>>().join("|") + "|^c|d$";
        let long = "a".repeat(10_000);
        for (end, expected) in [("", false), ("199b", true), ("19", false), ("d\n", true), ("c", false)] {
            assert_eq!(matches(&pattern, &format!("{long}{end}")), expected, "{end}");
        }
        assert!(matches(&pattern, &format!("c{long}")));
    }

    #[test]
    fn operators_are_left_to_the_grammar() {
        for pattern in ["a.b", "a*", "(a)", "[a]", "a{2}", r"\a", "a^", "$a", "^^a", "a$$", "a)"] {
            assert_eq!(Literals::read(pattern), None, "{pattern}");
        }
    }
}
