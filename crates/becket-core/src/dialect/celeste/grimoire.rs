//! Grimoires: Markdown whose `## Hooks` section defines v1 hooks and whose `## Stream Rules` section is a source of
//! its own. A bad entry loses only itself.

use super::definitions::{Definition, Mistake, Mistakes, Written};
use crate::text;

/// What a grimoire holds.
#[derive(Debug, Default)]
pub(super) struct Grimoire<'a> {
    pub(super) definitions: Vec<Definition>,
    /// Entries that were skipped.
    pub(super) remarks: Vec<Mistake>,
    /// Entries that load and cannot run.
    pub(super) holes: Vec<Mistake>,
    /// The text of the section that the hooks stand in.
    pub(super) hooks: &'a [u8],
    /// The stream rules as they are hashed and shown; empty where there are none.
    pub(super) stream_rules: Vec<u8>,
}

/// Entries of a `## Hooks` section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEntry {
    /// The `### ` heading above it.
    pub phase: String,
    /// The tool's name; empty for all.
    pub tool: String,
    /// For `sh -c`.
    pub command: String,
}

/// Turns entries into v1 definitions. What cannot be one is told in the second answer, and left out: Celeste 1 had
/// phases that never ran.
pub fn from_grimoire(entries: Vec<HookEntry>) -> (Vec<Definition>, Vec<String>) {
    let mut definitions = Vec::with_capacity(entries.len());
    let mut skipped = Vec::new();
    for entry in entries {
        match definition(entry) {
            Ok(definition) => definitions.push(definition),
            Err(why) => skipped.push(why),
        }
    }
    (definitions, skipped)
}

fn definition(entry: HookEntry) -> Result<Definition, String> {
    let HookEntry { phase, tool, command } = entry;
    if !matches!(phase.as_str(), "PreToolUse" | "PostToolUse") {
        let (phase, tool) = (text::quote(&phase), text::quote(&tool));
        return Err(format!(
            "the phase {phase} of the entry for {tool} is neither PreToolUse nor PostToolUse: it is skipped"
        ));
    }
    let shown = text::quote(&tool);
    let written = Written { event: phase, matcher: tool, command, timeout: 0, protocol: "v1".to_owned() };
    written.normalised().map_err(|(_, why)| format!("the entry for {shown} is skipped: {why}"))
}

/// Reads a grimoire.
pub(super) fn parse(data: &[u8]) -> Grimoire<'_> {
    let mut grimoire = Grimoire::default();
    let Some(sections) = sections(data) else { return grimoire };
    if let Some(section) = sections.hooks {
        grimoire.hooks = &data[section.start..section.end];
        let mut remarks = Vec::new();
        let (mut named, mut holes) = (Mistakes::default(), Mistakes::default());
        for (line, entry) in entries(grimoire.hooks, section.line, &mut remarks) {
            let at = |message| Mistake { line, column: 1, message };
            match definition(entry) {
                Ok(definition) => {
                    if let Some(hole) = definition.hole() {
                        holes.add_with(|| at(format!("running this entry fails: {hole}")));
                    }
                    grimoire.definitions.push(definition);
                }
                Err(why) => remarks.push(at(why)),
            }
        }
        remarks.sort_by_key(|remark| remark.line);
        remarks.into_iter().for_each(|remark| named.add_with(|| remark));
        (grimoire.remarks, grimoire.holes) = (named.finish(), holes.finish());
    }
    if let Some(section) = sections.stream_rules {
        grimoire.stream_rules = stream_rules(&data[section.start..section.end]);
    }
    grimoire
}

/// A section's text in its file, without its heading.
#[derive(Debug, Clone, Copy)]
struct Section {
    start: usize,
    end: usize,
    /// The line of `start`, from 1.
    line: usize,
}

#[derive(Debug, Default)]
struct Sections {
    hooks: Option<Section>,
    stream_rules: Option<Section>,
}

/// The sections that count, if the file has any heading. Of a heading that stands twice the last one counts.
fn sections(data: &[u8]) -> Option<Sections> {
    let mut sections = Sections::default();
    let mut open: Option<(Vec<u8>, Section)> = None;
    let mut at = 0;
    for (number, line) in data.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let next = at + line.len();
        if let Some(name) = line.strip_prefix(b"## ") {
            sections.close(open.take(), at);
            let name = String::from_utf8_lossy(name).trim().as_bytes().to_vec();
            open = Some((name, Section { start: next, end: next, line: number + 2 }));
        }
        at = next;
    }
    open.as_ref()?;
    sections.close(open, at);
    Some(sections)
}

impl Sections {
    fn close(&mut self, open: Option<(Vec<u8>, Section)>, end: usize) {
        let Some((name, section)) = open else { return };
        let section = Some(Section { end, ..section });
        match name.as_slice() {
            b"Hooks" => self.hooks = section,
            b"Stream Rules" => self.stream_rules = section,
            _ => {}
        }
    }
}

/// The entries of a `## Hooks` section with their lines. Lines that look like entries and are none are remarked.
fn entries(section: &[u8], first: usize, remarks: &mut Vec<Mistake>) -> Vec<(usize, HookEntry)> {
    let mut entries = Vec::new();
    let mut phase: Option<String> = None;
    for (index, line) in section.split(|&byte| byte == b'\n').enumerate() {
        let number = first + index;
        let mut remark = |why: &str| {
            remarks.push(Mistake {
                line: number,
                column: 1,
                message: format!("this entry is skipped: {why}"),
            });
        };
        let Ok(line) = std::str::from_utf8(line) else {
            if line.trim_ascii_start().starts_with(b"- ") {
                remark("it is not valid UTF-8");
            } else if line.trim_ascii_start().starts_with(b"### ") {
                // What follows must not run under the phase before.
                phase = Some(String::from_utf8_lossy(line).trim().trim_start_matches('#').trim().to_owned());
            }
            continue;
        };
        let line = line.trim();
        if let Some(name) = line.strip_prefix("### ") {
            phase = Some(name.trim().to_owned());
        } else if let Some(entry) = line.strip_prefix("- ") {
            match (&phase, entry.split_once(':')) {
                (None, _) => remark("no `### PreToolUse` or `### PostToolUse` stands above it"),
                (Some(_), None | Some(("", _))) => remark("it is not of the form `- tool: command`"),
                (Some(phase), Some((tool, command))) => entries.push((
                    number,
                    HookEntry {
                        phase: phase.clone(),
                        tool: tool.trim().to_owned(),
                        command: command.trim().to_owned(),
                    },
                )),
            }
        }
    }
    entries
}

/// A `## Stream Rules` section as it is hashed: line ends as LF, trimmed.
pub(super) fn stream_rules(section: &[u8]) -> Vec<u8> {
    let mut unix = Vec::with_capacity(section.len());
    for (index, &byte) in section.iter().enumerate() {
        if byte != b'\r' || section.get(index + 1) != Some(&b'\n') {
            unix.push(byte);
        }
    }
    match std::str::from_utf8(&unix) {
        Ok(text) => text.trim().as_bytes().to_vec(),
        Err(_) => unix.trim_ascii().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::definitions::{Moment, Protocol, hash_of};
    use super::*;
    use crate::hash;
    use proptest::prelude::*;

    fn of(text: &str) -> (Vec<(Moment, String, String)>, Vec<String>) {
        let read = parse(text.as_bytes());
        for definition in &read.definitions {
            assert_eq!((definition.protocol, definition.timeout), (Protocol::V1, 30));
        }
        let hooks =
            read.definitions.into_iter().map(|hook| (hook.moment, hook.matcher, hook.command)).collect();
        (hooks, read.remarks.iter().map(ToString::to_string).collect())
    }

    fn hook(moment: Moment, matcher: &str, command: &str) -> (Moment, String, String) {
        (moment, matcher.to_owned(), command.to_owned())
    }

    #[test]
    fn entries_become_v1_hooks() {
        let (hooks, remarks) = of(
            "- bash: early\n# Title\n## Hooks\n\n### PreToolUse\n- bash: echo a: b\r\n  -  spaced : x  \n- *: all\n* no\n### PostToolUse\n- write_file: fmt {{path}}\n## Other\n- bash: no\n",
        );
        assert_eq!(
            hooks,
            [
                hook(Moment::PreToolUse, "bash", "echo a: b"),
                hook(Moment::PreToolUse, "spaced", "x"),
                hook(Moment::PreToolUse, "*", "all"),
                hook(Moment::PostToolUse, "write_file", "fmt {{path}}"),
            ]
        );
        assert_eq!(remarks, [""; 0]);
        assert_eq!(
            hash_of(&parse(b"## Hooks\n### PreToolUse\n- bash: echo pre\n").definitions),
            "68e6d19139772c7cefb301880b978afe0bec9e79b1d74ff79678b5a5ff3c9b87"
        );
    }

    #[test]
    fn a_bad_entry_loses_only_itself() {
        let (hooks, remarks) = of(
            "## Hooks\n- bash: early\n### PreCommit\n- bash: never\n### PreToolUse\n- bash:  \n- none\n- : x\n- bash: a\tb\n- bash: good\n",
        );
        assert_eq!(hooks, [hook(Moment::PreToolUse, "bash", "good")]);
        for (remark, says) in remarks.iter().zip([
            "no `### PreToolUse`",
            "the phase \"PreCommit\" of the entry for \"bash\"",
            "`command` is empty",
            "not of the form",
            "not of the form",
            "U+0009",
        ]) {
            assert!(remark.contains(says), "{remark}");
        }
        assert_eq!(remarks.len(), 6);
        assert!(remarks[1].ends_with("(line 4, column 1)"), "{}", remarks[1]);
        let bytes = parse(b"## Hooks\n### PreToolUse\n- a: b\xff\n### Post\xff\n- a: c\n");
        assert!(bytes.definitions.is_empty());
        assert_eq!(bytes.remarks.len(), 2);
    }

    #[test]
    fn of_two_sections_the_last_counts_and_headings_are_exact() {
        let (hooks, _) =
            of("## Hooks\n### PreToolUse\n- bash: first\n## Hooks \n### PreToolUse\n- bash: last\n");
        assert_eq!(hooks, [hook(Moment::PreToolUse, "bash", "last")]);
        for none in
            [" ## Hooks\n### PreToolUse\n- a: b", "## hooks\n### PreToolUse\n- a: b", "##Hooks\n- a: b", ""]
        {
            assert_eq!(of(none).0, [], "{none}");
        }
        let read = parse(b"x\n## Hooks\nbody\n## B\n");
        assert_eq!(read.hooks, b"body\n");
    }

    #[test]
    fn stream_rules_are_hashed_with_plain_line_ends() {
        let read = parse(
            b"## Stream Rules\r\n\r\n### no-baz\r\n---\r\ncondition: baz\r\n---\r\nNo baz.\r\n\r\n## X\n",
        );
        assert_eq!(
            hash::of(&read.stream_rules),
            "349b19806cbf41682673784bab11244b743aa8fbfd769b3e4c516f3bd32eb1d1"
        );
        assert!(parse(b"## Stream Rules\n \n").stream_rules.is_empty());
    }

    #[test]
    fn what_surrounds_the_section_does_not_count() {
        let hooks = "## Hooks\n### PreToolUse\n- bash: x\n";
        let other = format!("---\ntitle: t\n---\n## A\ntext\n{hooks}\n## B\nmore\n");
        assert_eq!(
            hash_of(&parse(hooks.as_bytes()).definitions),
            hash_of(&parse(other.as_bytes()).definitions)
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            parts in prop::collection::vec(prop::sample::select(vec![
                &b"## Hooks\n"[..], b"### PreToolUse\n", b"- a: b\n", b"- :\n", b"\xff", b"\r\n", b"## Stream Rules\n",
                b"- ", b"##", b" ", b":", "é".as_bytes(), b"{{path}}", b"\"",
            ]), 0..16),
        ) {
            let data = parts.concat();
            let read = parse(&data);
            prop_assert!(read.hooks.len() <= data.len());
        }
    }
}
