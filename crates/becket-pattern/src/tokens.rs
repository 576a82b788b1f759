//! A pattern cut into characters and escapes of two characters.

/// Reads one token ahead. A token is a character, or a backslash with the character after it.
#[derive(Clone, Debug)]
pub(crate) struct Tokens<'p> {
    text: &'p str,
    /// Where `next` starts.
    at: usize,
    next: Option<&'p str>,
}

impl<'p> Tokens<'p> {
    /// `text` must not end in a lone backslash; if it does, that is a token of its own.
    pub(crate) fn new(text: &'p str) -> Tokens<'p> {
        let mut tokens = Tokens { text, at: 0, next: None };
        tokens.seek(0);
        tokens
    }

    pub(crate) fn peek(&self) -> Option<&'p str> {
        self.next
    }

    /// Where the next token starts, in bytes.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    pub(crate) fn seek(&mut self, offset: usize) {
        let rest = self.text.get(offset..).unwrap_or("");
        let mut chars = rest.chars();
        let first = chars.next();
        if first == Some('\\') {
            chars.next();
        }
        self.at = offset;
        self.next = first.map(|_| &rest[..rest.len() - chars.as_str().len()]);
    }

    /// Takes the next token.
    pub(crate) fn take(&mut self) -> Option<&'p str> {
        let taken = self.next;
        self.seek(self.at + taken.map_or(0, str::len));
        taken
    }

    /// Takes the next token if it is `wanted`.
    pub(crate) fn take_if(&mut self, wanted: &str) -> bool {
        let found = self.next == Some(wanted);
        if found {
            self.take();
        }
        found
    }

    /// Takes at most `most` tokens that are single characters with the property; gives their text.
    pub(crate) fn take_while(&mut self, most: usize, is: impl Fn(char) -> bool) -> &'p str {
        let start = self.at;
        for _ in 0..most {
            match self.next.and_then(single) {
                Some(c) if is(c) => self.take(),
                _ => break,
            };
        }
        &self.text[start..self.at]
    }

    /// Takes the tokens before `end`, and `end`; `None` if it never comes, with everything taken.
    pub(crate) fn take_until(&mut self, end: &str) -> (&'p str, bool) {
        let start = self.at;
        loop {
            let before = self.at;
            match self.take() {
                None => return (&self.text[start..], false),
                Some(token) if token == end => return (&self.text[start..before], true),
                Some(_) => {}
            }
        }
    }
}

/// The character of a token that is no escape.
pub(crate) fn single(token: &str) -> Option<char> {
    let mut chars = token.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Some(c),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_is_one_token() {
        let mut tokens = Tokens::new(r"a\]é\\b");
        let mut seen = Vec::new();
        while let Some(token) = tokens.take() {
            seen.push(token);
        }
        assert_eq!(seen, ["a", r"\]", "é", r"\\", "b"]);
    }

    #[test]
    fn an_escaped_end_does_not_end() {
        let mut tokens = Tokens::new(r"x\)y)z");
        assert_eq!(tokens.take_until(")"), (r"x\)y", true));
        assert_eq!(tokens.take_until(")"), ("z", false));
        assert_eq!(tokens.peek(), None);
    }

    #[test]
    fn taking_a_run_stops_at_the_limit() {
        let mut tokens = Tokens::new("1234");
        assert_eq!(tokens.take_while(2, |c| c.is_ascii_digit()), "12");
        assert_eq!(tokens.take_while(9, |c| c.is_ascii_digit()), "34");
        assert_eq!(tokens.offset(), 4);
    }
}
