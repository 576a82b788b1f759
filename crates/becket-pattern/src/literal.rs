//! Patterns without any operator but `|` and outer anchors, answered by plain substring search.

/// Alternatives such as `Bash|Write` or `^Bash$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Literals(Vec<Literal>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Literal {
    text: String,
    at_start: bool,
    at_end: bool,
}

impl Literals {
    /// Reads `pattern`, or says `None` if it needs the real grammar.
    pub(crate) fn read(pattern: &str) -> Option<Literals> {
        pattern.split('|').map(Literal::read).collect::<Option<_>>().map(Literals)
    }

    pub(crate) fn is_match(&self, subject: &str) -> bool {
        self.0.iter().any(|literal| literal.is_match(subject))
    }
}

impl Literal {
    fn read(alternative: &str) -> Option<Literal> {
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
        let plain = !text.contains(['.', '\\', '[', '{', '(', ')', '*', '+', '?', '^', '$', '|']);
        plain.then(|| Literal { text: text.to_owned(), at_start, at_end })
    }

    fn is_match(&self, subject: &str) -> bool {
        let text = self.text.as_str();
        // `$` holds at the very end and also before a newline that ends the subject.
        let before_newline = subject.strip_suffix('\n');
        match (self.at_start, self.at_end) {
            (false, false) => subject.contains(text),
            (true, false) => subject.starts_with(text),
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
    fn operators_are_left_to_the_grammar() {
        for pattern in ["a.b", "a*", "(a)", "[a]", "a{2}", r"\a", "a^", "$a", "^^a", "a$$", "a)"] {
            assert_eq!(Literals::read(pattern), None, "{pattern}");
        }
    }
}
