//! Registrations put into and taken out of the profile's `config.yaml`, as a change of its text.
//!
//! Everything else in the file stays byte for byte: comments, order, line ends. The changed text is read back, and
//! only one that says exactly what was wanted is given out.

use super::profile::{self, MOST, MOST_OF_PROJECT, Profile, Registration};
use super::tree::{Mistake, Node};

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change<'a> {
    Enable { workspace: &'a str, path: &'a str, hash: &'a str },
    Disable { workspace: &'a str, path: &'a str },
}

impl Change<'_> {
    fn is_about(&self, registration: &Registration) -> bool {
        let (Self::Enable { workspace, path, .. } | Self::Disable { workspace, path }) = *self;
        registration.workspace == workspace && registration.path == path
    }

    /// What must be registered afterwards.
    fn applied(&self, mut registrations: Vec<Registration>) -> Vec<Registration> {
        match *self {
            Self::Enable { workspace, path, hash } => {
                match registrations.iter_mut().find(|registration| self.is_about(registration)) {
                    Some(registration) => registration.hash = hash.to_owned(),
                    None => registrations.push(Registration {
                        workspace: workspace.to_owned(),
                        path: path.to_owned(),
                        hash: hash.to_owned(),
                    }),
                }
            }
            Self::Disable { .. } => registrations.retain(|registration| !self.is_about(registration)),
        }
        registrations
    }
}

/// The file's new bytes; `None` where it says already what is wanted.
///
/// # Errors
/// The file cannot be read, is full, or is written in a way that cannot be changed with everything else kept.
pub(super) fn change(before: &[u8], wanted: Change<'_>) -> Result<Option<Vec<u8>>, String> {
    let text = profile::text_of(before).map_err(|mistake| told(&mistake, ""))?;
    let root = profile::root_of(text).map_err(|mistake| told(&mistake, text))?;
    let profile = match &root {
        Some(root) => profile::of_root(root).map_err(|mistake| told(&mistake, text))?,
        None => Profile::default(),
    };
    let expected = wanted.applied(profile.registrations.clone());
    if expected == profile.registrations {
        return Ok(None);
    }
    if let Change::Enable { workspace, .. } = wanted {
        check_room(&expected, workspace)?;
    }
    let at = profile.registrations.iter().position(|registration| wanted.is_about(registration));
    let edits = match (wanted, at) {
        (Change::Disable { .. }, Some(at)) => remove(text, root.as_ref(), at),
        (Change::Enable { path, hash, .. }, Some(at)) => replace(root.as_ref(), at, path, hash),
        (Change::Enable { workspace, path, hash }, None) => {
            add(text, root.as_ref(), &Entry { workspace, path, hash })
        }
        (Change::Disable { .. }, None) => Some(Vec::new()),
    };
    let after = apply(text, edits.ok_or_else(by_hand)?);
    if after.len() > profile::LIMIT {
        return Err(format!("it would grow over {} bytes", profile::LIMIT));
    }
    let says_it = profile::root_of(&after).is_ok_and(|after| {
        let read = after.as_ref().map(profile::of_root).transpose();
        read.is_ok_and(|read| {
            let read = read.unwrap_or_default();
            read.registrations == expected && read.policy == profile.policy && read.agent == profile.agent
        }) && rest_is_the_same(root.as_ref(), after.as_ref())
    });
    if says_it { Ok(Some(after.into_bytes())) } else { Err(by_hand()) }
}

fn told(mistake: &Mistake, text: &str) -> String {
    match mistake.place(text) {
        (Some(line), Some(column)) => format!("{} (line {line}, column {column})", mistake.message),
        _ => mistake.message.clone(),
    }
}

fn by_hand() -> String {
    "its `hooks` are written in a way that cannot be changed with everything else kept as it is: change \
     `hooks.approved` by hand"
        .to_owned()
}

fn check_room(expected: &[Registration], workspace: &str) -> Result<(), String> {
    if expected.len() > MOST {
        return Err(format!("the profile has {MOST} enabled hooks already, and more are not taken"));
    }
    let here = expected.iter().filter(|registration| registration.workspace == workspace).count();
    if here > MOST_OF_PROJECT {
        return Err(format!("this project has {MOST_OF_PROJECT} enabled hooks already: disable one first"));
    }
    Ok(())
}

/// Whether all but `hooks` says what it said, in the same order.
fn rest_is_the_same(before: Option<&Node>, after: Option<&Node>) -> bool {
    let rest = |root: Option<&Node>| -> Vec<(Node, Node)> {
        let entries = root.and_then(Node::map).unwrap_or_default();
        entries.iter().filter(|(key, _)| key.text() != Some("hooks")).cloned().collect()
    };
    let (before, after) = (rest(before), rest(after));
    before.len() == after.len()
        && before.iter().zip(&after).all(|(a, b)| a.0.says_the_same(&b.0) && a.1.says_the_same(&b.1))
}

/// A piece of the text that is replaced.
struct Edit {
    at: usize,
    end: usize,
    with: String,
}

impl Edit {
    fn insert(at: usize, with: impl Into<String>) -> Self {
        Self { at, end: at, with: with.into() }
    }

    fn remove(at: usize, end: usize) -> Self {
        Self { at, end, with: String::new() }
    }
}

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.at);
    let mut after = String::with_capacity(text.len() + 512);
    let mut from = 0;
    for edit in edits {
        after.push_str(text.get(from..edit.at).unwrap_or_default());
        after.push_str(&edit.with);
        from = edit.end;
    }
    after.push_str(text.get(from..).unwrap_or_default());
    after
}

struct Entry<'a> {
    workspace: &'a str,
    path: &'a str,
    hash: &'a str,
}

impl Entry<'_> {
    fn lines(&self, indent: usize, newline: &str) -> String {
        let pad = " ".repeat(indent);
        format!(
            "{pad}- workspace: {}{newline}{pad}  path: {}{newline}{pad}  hash: {}{newline}",
            scalar(self.workspace),
            scalar(self.path),
            scalar(self.hash)
        )
    }

    fn flow(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        format!(
            "{{workspace: {}, path: {}, hash: {}}}",
            quoted(self.workspace),
            quoted(self.path),
            quoted(self.hash)
        )
    }
}

/// A text as YAML: plain where nothing in it means something else, else in double quotes as in JSON.
fn scalar(text: &str) -> String {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
    // Digits around one `e` would be a number to some readers.
    let is_word = text.bytes().any(|byte| byte.is_ascii_alphabetic() && byte != b'e');
    if plain && is_word && !text.starts_with('-') {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

fn newline_of(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Where the line of `at` begins.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Behind the newline that ends the line of `at`, or the end of the text.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// Lines put in at the beginning of a line; a last line without an end gets one.
fn insert_lines(text: &str, at: usize, lines: &str) -> Edit {
    if at == text.len() && !text.is_empty() && !text.ends_with('\n') {
        return Edit::insert(at, format!("{}{lines}", newline_of(text)));
    }
    Edit::insert(at, lines)
}

/// Where the dash before an item stands; `None` where something else stands between.
fn dash_of(text: &str, item: &Node) -> Option<usize> {
    let before = text.get(..item.at)?.trim_end();
    before.ends_with('-').then(|| before.len() - 1)
}

fn add(text: &str, root: Option<&Node>, entry: &Entry<'_>) -> Option<Vec<Edit>> {
    let newline = newline_of(text);
    let whole = || format!("hooks:{newline}  approved:{newline}{}", entry.lines(4, newline));
    let Some(root) = root else { return Some(vec![insert_lines(text, text.len(), &whole())]) };
    let entries = root.map()?;
    if entries.is_empty() {
        // `{}`: an empty file as some programs write it.
        return Some(vec![Edit { at: root.at, end: root.end, with: whole() }]);
    }
    let Some((key, hooks)) = entries.iter().find(|(key, _)| key.text() == Some("hooks")) else {
        if root.flow {
            let with = format!("hooks: {{approved: [{}]}}", entry.flow());
            return Some(vec![into_flow(text, root, &with)]);
        }
        return Some(vec![insert_lines(text, text.len(), &whole())]);
    };
    let approved = hooks.get("approved");
    match approved.and_then(Node::list) {
        Some([.., last]) if !approved?.flow => {
            let dash = dash_of(text, last)?;
            let indent = dash - line_start(text, dash);
            Some(vec![insert_lines(text, line_end(text, last.end), &entry.lines(indent, newline))])
        }
        Some([_, ..]) => Some(vec![into_flow(text, approved?, &entry.flow())]),
        // An empty list between braces stays there.
        _ if hooks.flow && approved.is_some() => {
            let approved = approved?;
            let with = format!("[{}]", entry.flow());
            if approved.flow {
                return Some(vec![Edit { at: approved.at, end: approved.end, with }]);
            }
            None
        }
        _ if root.flow => None,
        _ => {
            let (key, value, before) = match hooks.map().and_then(<[_]>::first) {
                Some((key, value)) => (key, value, String::new()),
                None => (key, hooks, format!("  approved:{newline}")),
            };
            let indent = key.at - line_start(text, key.at);
            let colon = key.end + text.get(key.end..)?.find(':')? + 1;
            let pad = " ".repeat(indent);
            let (before, below) =
                if before.is_empty() { (before, indent + 2) } else { (format!("{pad}{before}"), indent + 4) };
            let lines = format!("{before}{}", entry.lines(below, newline));
            let mut edits = vec![insert_lines(text, line_end(text, colon), &lines)];
            if value.end > value.at {
                edits.push(Edit::remove(colon, value.end));
            }
            Some(edits)
        }
    }
}

/// One more item at the end of a list or mapping between brackets.
fn into_flow(text: &str, node: &Node, item: &str) -> Edit {
    let close = node.end.saturating_sub(1);
    let inside = text.get(node.at + 1..close).unwrap_or_default().trim_end();
    let comma = if inside.is_empty() || inside.ends_with(',') { "" } else { ", " };
    Edit::insert(close, format!("{comma}{item}"))
}

fn replace(root: Option<&Node>, at: usize, path: &str, hash: &str) -> Option<Vec<Edit>> {
    let entry = profile::approved(root?).ok()??.list()?.get(at)?;
    let with = |key: &str, text: &str| {
        let node = entry.get(key)?;
        (node.text() != Some(text)).then(|| Edit { at: node.at, end: node.end, with: scalar(text) })
    };
    Some([with("path", path), with("hash", hash)].into_iter().flatten().collect())
}

fn remove(text: &str, root: Option<&Node>, at: usize) -> Option<Vec<Edit>> {
    let root = root?;
    let approved = profile::approved(root).ok()??;
    let items = approved.list()?;
    let item = items.get(at)?;
    if approved.flow {
        let mut edits = vec![Edit::remove(item.at, item.end)];
        let next = items.get(at + 1).map_or(approved.end - 1, |next| next.at);
        let comma = comma_between(text, item.end, next);
        let before =
            || items.get(at.checked_sub(1)?).and_then(|before| comma_between(text, before.end, item.at));
        edits.extend(comma.or_else(before).map(|comma| Edit::remove(comma, comma + 1)));
        return Some(edits);
    }
    let from = line_start(text, dash_of(text, item)?);
    let mut edits = vec![Edit::remove(from, line_end(text, item.end.max(item.at)))];
    if items.len() == 1 {
        // A list without items must be written as one: nothing at all is no list to ShadowCode.
        let (key, _) = root.get("hooks")?.map()?.first()?;
        let colon = key.end + text.get(key.end..)?.find(':')? + 1;
        edits.push(Edit::insert(colon, " []"));
    }
    Some(edits)
}

/// The comma between two items, not one in a comment.
fn comma_between(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut in_comment = false;
    text.get(from..to)?.char_indices().find_map(|(at, character)| {
        match character {
            '#' => in_comment = true,
            '\n' => in_comment = false,
            ',' if !in_comment => return Some(from + at),
            _ => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const P: &str = ".shadowcode/hooks/x.yaml";

    fn hash(digit: char) -> String {
        digit.to_string().repeat(64)
    }

    fn enable(text: &str, path: &str, digit: char) -> Result<String, String> {
        let wanted = Change::Enable { workspace: "/w", path, hash: &hash(digit) };
        let after = change(text.as_bytes(), wanted)?;
        Ok(after.map_or_else(|| text.to_owned(), |after| String::from_utf8(after).unwrap()))
    }

    fn disable(text: &str, path: &str) -> Result<String, String> {
        let after = change(text.as_bytes(), Change::Disable { workspace: "/w", path })?;
        Ok(after.map_or_else(|| text.to_owned(), |after| String::from_utf8(after).unwrap()))
    }

    fn count(text: &str) -> usize {
        profile::parse(text.as_bytes()).unwrap().registrations.len()
    }

    #[test]
    fn a_registration_is_added_in_shadowcodes_own_shape() {
        let entry = format!("    - workspace: /w\n      path: {P}\n      hash: {}\n", hash('a'));
        assert_eq!(enable("", P, 'a').unwrap(), format!("hooks:\n  approved:\n{entry}"));
        assert_eq!(
            enable("# mine\nmodel: x # here", P, 'a').unwrap(),
            format!("# mine\nmodel: x # here\nhooks:\n  approved:\n{entry}")
        );
        assert_eq!(
            enable("{}\n", P, 'a').unwrap().trim_end(),
            format!("hooks:\n  approved:\n{entry}").trim_end()
        );
        assert_eq!(
            enable("hooks: # c\n\nz: 1\n", P, 'a').unwrap(),
            format!("hooks: # c\n  approved:\n{entry}\nz: 1\n")
        );
        assert_eq!(
            enable("hooks:\n  approved: [] # c\nz: 1\n", P, 'a').unwrap(),
            format!("hooks:\n  approved: # c\n{entry}z: 1\n")
        );
    }

    #[test]
    fn every_way_to_write_the_list_can_be_changed_and_the_rest_stays() {
        let h = hash('a');
        let other = ".shadow/hooks/o.json";
        for text in [
            format!(
                "hooks:\n  approved:\n  - workspace: /v\n    path: {P}\n    hash: {h} # mine\n# end\nz: [1]\n"
            ),
            format!(
                "hooks:\r\n    approved:\r\n        -   hash: '{h}'\r\n            path: {P}\r\n            workspace: /v\r\n\r\nz: 1\r\n"
            ),
            format!("z: {{a: 1}}\nhooks:\n  approved: [{{workspace: /v, path: {P}, hash: {h}}},] # c\n"),
            format!(
                "hooks: {{approved: [\n  {{workspace: /v, path: {P}, hash: {h}}} # one, two\n]}}\nz: |\n  hooks:\n    x\n"
            ),
            format!("{{z: 1, hooks: {{approved: [{{workspace: /v, path: {P}, hash: {h}}}]}}}}"),
            "{z: 1, hooks: {approved: []}}".to_owned(),
            "{z: 1}".to_owned(),
            "z: 1".to_owned(),
            "hooks:\n  approved:\n    # none yet\nz: &a [1]\ny: *a\n".to_owned(),
            "hooks:\n# none\n\nz: 1\n".to_owned(),
            "hooks: ~\nz: 1".to_owned(),
        ] {
            let n = count(&text);
            let one = enable(&text, P, 'b').unwrap_or_else(|why| panic!("{text}: {why}"));
            let two = enable(&one, other, 'c').unwrap();
            assert_eq!((count(&one), count(&two)), (n + 1, n + 2), "{two}");
            assert_eq!(enable(&two, P, 'b').unwrap(), two);
            let again = enable(&two, P, 'd').unwrap();
            assert_eq!((again.lines().count(), count(&again)), (two.lines().count(), n + 2));
            for gone in [
                disable(&disable(&two, P).unwrap(), other).unwrap(),
                disable(&disable(&two, other).unwrap(), P).unwrap(),
            ] {
                assert_eq!(count(&gone), n, "{gone}");
                for comment in ["# mine", "# end", "# c", "# one, two", "# none yet", "# none"] {
                    assert_eq!(gone.matches(comment).count(), text.matches(comment).count(), "{gone}");
                }
                assert_eq!(gone.contains("\r\n"), text.contains("\r\n"));
                assert_eq!(
                    gone.replace("\r\n", "").contains('\n'),
                    text.replace("\r\n", "").contains('\n') || !text.contains('\n') && gone.contains('\n')
                );
            }
        }
    }

    #[test]
    fn an_emptied_list_stays_a_list() {
        let one = enable("", P, 'a').unwrap();
        assert_eq!(disable(&one, P).unwrap(), "hooks:\n  approved: []\n");
        assert_eq!(disable("z: 1\n", P).unwrap(), "z: 1\n");
    }

    #[test]
    fn odd_names_are_quoted_and_odd_paths_brought_to_one_form() {
        let wanted = Change::Enable { workspace: "/w: \"#é\n", path: P, hash: &"1".repeat(64) };
        let after = change(b"", wanted).unwrap().unwrap();
        let read = profile::parse(&after).unwrap().registrations;
        assert_eq!((read[0].workspace.as_str(), read[0].hash.len()), ("/w: \"#é\n", 64));
        let raw = format!(
            "hooks:\n  approved:\n  - workspace: /w\n    path: .shadowcode//hooks/x.yaml\n    hash: {}\n",
            hash('a')
        );
        assert!(enable(&raw, P, 'b').unwrap().contains(&format!("path: {P}\n    hash: {}", hash('b'))));
        assert_eq!(count(&disable(&raw, P).unwrap()), 0);
    }

    #[test]
    fn a_file_that_cannot_be_read_or_changed_is_left_alone() {
        for text in [
            "hooks: [",
            "a: 1\na: 2\n",
            "hooks: {approved: [5]}",
            "z: 1\n...\n",
            "hooks: &a {approved: []}\n",
            "- 1\n",
        ] {
            assert!(enable(text, P, 'a').is_err(), "{text}");
        }
        assert!(enable("hooks: [", P, 'a').unwrap_err().contains("line 1"));
    }

    #[test]
    fn sixteen_a_project_and_256_a_profile() {
        let mut text = String::new();
        for n in 0..16 {
            text = enable(&text, &format!(".shadow/hooks/h{n}.yaml"), 'a').unwrap();
        }
        assert!(enable(&text, P, 'a').unwrap_err().contains("16 enabled hooks"));
        // One that is there already takes no other place.
        assert!(enable(&text, ".shadow/hooks/h3.yaml", 'b').is_ok());
        let mut text = String::from("hooks:\n  approved:\n");
        for n in 0..256 {
            text.push_str(&Entry { workspace: &format!("/p{n}"), path: P, hash: &hash('a') }.lines(4, "\n"));
        }
        assert!(enable(&text, P, 'a').unwrap_err().contains("256 enabled hooks"));
    }

    fn config() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("model: \"x: #y\"\n".to_owned()),
            Just("# a comment\n\n".to_owned()),
            Just("list:\n- 1\n-  {a: b} # c\n".to_owned()),
            Just("text: |\n  hooks:\n    approved: []\n\n".to_owned()),
            Just("deep: {a: [1, 2], b: 'c''d'}\n".to_owned()),
            Just("\u{e9}: \u{1f642}\n".to_owned()),
        ];
        let hooks = prop_oneof![
            Just(String::new()),
            Just("hooks:\n".to_owned()),
            Just("hooks: {}   # none\n".to_owned()),
            Just("hooks:\n   approved: []\n".to_owned()),
            Just(format!(
                "hooks:\n  approved:\n  # first\n  - workspace: /a\n    path: {P}\n    hash: {}\n\n  -   workspace: '/b'\n      path: \"{P}\"\n      hash: {}   # why\n",
                "a".repeat(64),
                "B".repeat(64)
            )),
            Just(format!(
                "hooks:\n  approved: [{{workspace: /a, path: {P}, hash: {}}},\n    ]\n",
                "a".repeat(64)
            )),
        ];
        (
            prop::collection::vec(piece, 0..4),
            hooks,
            prop::collection::vec(Just("other: [1,\n 2]\n".to_owned()), 0..2),
            any::<bool>(),
            any::<bool>(),
        )
            .prop_map(|(before, hooks, after, crlf, cut)| {
                let mut before = before;
                before.sort();
                before.dedup();
                let mut text = [before.concat(), hooks, after.concat()].concat();
                if crlf {
                    text = text.replace('\n', "\r\n");
                }
                if cut {
                    text.truncate(text.trim_end().len());
                }
                text
            })
    }

    /// `short` is `long` with one piece taken out.
    fn is_one_piece_less(long: &str, short: &str) -> bool {
        let head = long.bytes().zip(short.bytes()).take_while(|(a, b)| a == b).count();
        let tail = long.bytes().rev().zip(short.bytes().rev()).take_while(|(a, b)| a == b).count();
        head + tail >= short.len()
    }

    proptest! {
        #[test]
        fn all_other_bytes_stay(text in config()) {
            let n = count(&text);
            let one = enable(&text, P, 'c').unwrap();
            prop_assert_eq!(count(&one), n + 1);
            if n > 0 || !text.contains("hooks:") {
                prop_assert!(is_one_piece_less(&one, &text), "{} -> {}", text, one);
            }
            let back = disable(&one, P).unwrap();
            prop_assert_eq!(count(&back), n);
            // A comma behind a last item goes with the item that was put behind it.
            if n > 0 && text.ends_with('\n') && !text.contains("},") {
                prop_assert_eq!(back, text);
            }
        }

        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..80), text in "[hoksaprved:\\-\\[\\]{}&*|'\", \n#]{0,60}") {
            for before in [bytes.as_slice(), text.as_bytes()] {
                let wanted = Change::Enable { workspace: "/w", path: P, hash: &hash('a') };
                if let Ok(Some(after)) = change(before, wanted) {
                    prop_assert_eq!(profile::parse(&after).unwrap().registrations.len(), profile::parse(before).unwrap().registrations.len() + 1);
                }
                let _ = change(before, Change::Disable { workspace: "/w", path: P });
            }
        }
    }
}
