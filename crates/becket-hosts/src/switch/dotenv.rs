//! Files of variables as the npm package dotenv reads them, which some agents take into their environment.

use std::ops::Range;

/// One variable of such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: String,
    /// Where its name stands.
    pub(super) line: usize,
}

/// The variables of a file, in its order; of several with one name the last counts. It follows the pattern of dotenv 17
/// step by step, with what that does at line ends: a name, its sign and its value need not stand on one line.
pub(super) fn variables(bytes: &[u8]) -> Vec<Variable> {
    // As node does: what is no text becomes a sign of its own, and never a name or a word that counts.
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    let mut found = Vec::new();
    let mut at = 0;
    // Lines are counted along the way.
    let (mut counted, mut line) = (0, 1);
    while at <= text.len() {
        let next = match variable(&text, at) {
            Some((name, value, end)) => {
                line += text[counted..name.start].matches('\n').count();
                counted = name.start;
                found.push(Variable { name: text[name].to_owned(), value, line });
                end
            }
            // From each of several empty lines it would come to the same name.
            None => last_before(&text, past_space(&text, at)).max(at),
        };
        // The next one begins with a line.
        let Some(length) = text[next..].find(ends_line) else { break };
        let end = next + length;
        at = end + text[end..].chars().next().map_or(1, char::len_utf8);
    }
    found
}

/// The begin of the line before a place.
fn last_before(text: &str, at: usize) -> usize {
    text[..at].rfind(ends_line).unwrap_or(0)
}

/// Where the name of the variable at the begin of a line stands, its value, and where all of it ends.
fn variable(text: &str, at: usize) -> Option<(Range<usize>, String, usize)> {
    let start = past_space(text, at);
    let exported = text[start..].strip_prefix("export").map(|_| start + "export".len());
    let exported = exported.map(|end| (end, past_space(text, end))).filter(|(end, name)| name > end);
    let named = |start: usize| {
        let length = text[start..].find(|character: char| !is_in_name(character));
        let end = length.map_or(text.len(), |length| start + length);
        let value = (end > start).then(|| past_sign(text, end)).flatten();
        value.map(|value| (start, end, value))
    };
    // `export` may be a name, too.
    let (start, end, value) = exported.and_then(|(_, name)| named(name)).or_else(|| named(start))?;
    let (value, after) = quoted(text, value).unwrap_or_else(|| plain(text, value));
    Some((start..end, value, after))
}

/// Behind the sign between name and value.
fn past_sign(text: &str, at: usize) -> Option<usize> {
    let sign = past_space(text, at);
    if text[sign..].starts_with('=') {
        return Some(sign + 1);
    }
    let rest = text[at..].strip_prefix(':')?;
    rest.chars().next().filter(|character| is_space(*character)).map(|space| at + 1 + space.len_utf8())
}

/// A value in quotes, if nothing but a comment stands behind it.
fn quoted(text: &str, at: usize) -> Option<(String, usize)> {
    let open = past_space(text, at);
    let quote = text[open..].chars().next().filter(|character| is_quote(*character))?;
    let inside = open + 1;
    let mut escaped = Vec::new();
    let mut close = None;
    for (length, _) in text[inside..].match_indices(quote) {
        if text[inside..inside + length].ends_with('\\') {
            escaped.push(inside + length);
        } else {
            close = Some(inside + length);
            break;
        }
    }
    // Where the first one that is not escaped does not end it, one that is may.
    let ends = close.into_iter().chain(escaped.into_iter().rev());
    let (close, after) = ends.into_iter().find_map(|end| Some((end, past_rest(text, end + 1)?)))?;
    Some((unquoted(&text[open..=close]), after))
}

/// A value up to a comment or the line's end.
fn plain(text: &str, at: usize) -> (String, usize) {
    let end = text[at..].find(['#', '\n']).map_or(text.len(), |length| at + length);
    (unquoted(text[at..end].trim_matches(is_space)), past_rest(text, end).unwrap_or(end))
}

/// A value without the quotes around all of it, whatever stands inside.
fn unquoted(value: &str) -> String {
    let quote = value.chars().next().filter(|character| is_quote(*character));
    let inside = quote.and_then(|quote| value[1..].strip_suffix(quote)).unwrap_or(value);
    if quote == Some('"') { inside.replace("\\n", "\n").replace("\\r", "\r") } else { inside.to_owned() }
}

/// Behind white space and a comment, if the line ends with them.
fn past_rest(text: &str, at: usize) -> Option<usize> {
    let end = past_space(text, at);
    if text[end..].starts_with('#') {
        return Some(text[end..].find(ends_line).map_or(text.len(), |length| end + length));
    }
    if end == text.len() {
        return Some(end);
    }
    text[at..end].rfind(ends_line).map(|length| at + length)
}

fn past_space(text: &str, at: usize) -> usize {
    text[at..].find(|character: char| !is_space(character)).map_or(text.len(), |length| at + length)
}

fn is_quote(character: char) -> bool {
    matches!(character, '\'' | '"' | '`')
}

fn is_in_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
}

/// What JavaScript takes for white space.
fn is_space(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

/// What JavaScript takes for the end of a line.
fn ends_line(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository can bring such a file: each line is looked at a few times, not once for each line before it.
    #[test]
    fn a_file_of_very_many_lines_is_read_once_through() {
        let empty = format!("{}A=1", "\n".repeat(700_000));
        let found = variables(empty.as_bytes());
        assert_eq!(found, [Variable { name: "A".to_owned(), value: "1".to_owned(), line: 700_001 }]);
        let many: String = (0..100_000).map(|number| format!("A{number}=x\n")).collect();
        let found = variables(many.as_bytes());
        assert_eq!((found.len(), found.last().map(|last| last.line)), (100_000, Some(100_000)));
    }

    /// Told by dotenv 17.1 itself.
    #[test]
    fn variables_are_read_as_dotenv_reads_them() {
        let all: &[(&str, &[(&str, &str)])] = &[
            ("A=false", &[("A", "false")]),
            ("export A=false\n", &[("A", "false")]),
            ("  A = false # no", &[("A", "false")]),
            ("A:false", &[]),
            ("A: false", &[("A", "false")]),
            ("A=\"false\"", &[("A", "false")]),
            ("A='false'", &[("A", "false")]),
            ("A=`false`", &[("A", "false")]),
            ("A=\"a\\nb\"", &[("A", "a\nb")]),
            ("A='a\\nb'", &[("A", "a\\nb")]),
            ("#A=false", &[]),
            ("# x\n\nA=false", &[("A", "false")]),
            ("A=#false", &[("A", "")]),
            ("A=fal#se", &[("A", "fal")]),
            ("A=\"fal#se\"", &[("A", "fal#se")]),
            ("A=\n\"false\"", &[("A", "false")]),
            ("A=\nfalse", &[("A", "")]),
            ("A='a' b\nB=1", &[("A", "'a' b"), ("B", "1")]),
            ("A='x\nB=1\n' \nC=2", &[("A", "x\nB=1\n"), ("C", "2")]),
            ("A=\"\\\"\"", &[("A", "\\\"")]),
            ("A='\\' b", &[("A", "'\\' b")]),
            ("export=1", &[("export", "1")]),
            ("export\nA=1", &[("A", "1")]),
            ("export A", &[]),
            ("A", &[]),
            ("A==", &[("A", "=")]),
            ("A=1\r\nB=2\rC=3", &[("A", "1"), ("B", "2"), ("C", "3")]),
            ("\u{feff}A=1", &[("A", "1")]),
            ("-.A-1=x", &[("-.A-1", "x")]),
            ("A=1 B=2", &[("A", "1 B=2")]),
            ("=1\nA=2", &[("A", "2")]),
            ("A=1\nA=2", &[("A", "1"), ("A", "2")]),
            ("A=  \n\n# c\nB=1", &[("A", ""), ("B", "1")]),
            ("A='b'c'", &[("A", "b'c")]),
            ("\u{a0}A\u{a0}=\u{a0}x\u{a0}", &[("A", "x")]),
        ];
        for (text, wanted) in all {
            let found = variables(text.as_bytes());
            let found: Vec<_> =
                found.iter().map(|found| (found.name.as_str(), found.value.as_str())).collect();
            assert_eq!(&found, wanted, "{text:?}");
        }
    }

    #[test]
    fn each_has_its_line() {
        let lines = |text: &str| -> Vec<usize> {
            variables(text.as_bytes()).into_iter().map(|variable| variable.line).collect()
        };
        assert_eq!(lines("A=1\r\n# c\r\nB=2\n\n  export C=3"), [1, 3, 5]);
        assert_eq!(lines("A='\n\n'\nexport\nB=2"), [1, 5]);
    }
}
