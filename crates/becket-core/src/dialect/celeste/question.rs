//! The trust question: what a person must see before approving a source, and what the answer means. Text only; the
//! terminal is the caller's, who must have a real one on both ends.

use std::fmt::Write as _;

use camino::Utf8Path;

use super::definitions::{self, Protocol};
use super::sites::Kind;
use crate::dialect::{Answer, Source, Standing};
use crate::text;

/// What a "no" does, which the question says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnNo {
    /// It is recorded, and the source is not asked about again until it changes.
    Remembered,
    /// The stored decision stays as it is.
    NotRemembered,
}

/// A person's reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Approve it.
    Yes,
    /// Decline it.
    No,
    /// No answer: the source does not run and nothing is recorded.
    Later,
}

/// Reads a reply from what stood on the input up to the end of a line, the newline included, or up to the end of
/// the input. Half a line is no answer unless it is a yes: whoever was cut off did not say no.
pub fn read_reply(read: &[u8]) -> Reply {
    let is_whole = read.ends_with(b"\n");
    let said = String::from_utf8_lossy(read).trim().to_lowercase();
    match said.as_str() {
        "y" | "yes" => Reply::Yes,
        _ if is_whole => Reply::No,
        _ => Reply::Later,
    }
}

/// What comes of a source and, where somebody could be asked, of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it may run.
    pub runs: bool,
    /// Why not; empty where it may.
    pub why: &'static str,
    /// What is to be recorded.
    pub record: Option<Answer>,
}

/// Whether a source of this standing is asked about: an approved or declined one is not.
pub fn is_asked_about(standing: Standing) -> bool {
    !matches!(standing, Standing::Trusted | Standing::Declined)
}

/// The one trust step that every source passes. `reply` is `None` where nobody could be asked.
pub fn decide(standing: Standing, reply: Option<Reply>) -> Verdict {
    let reply = reply.filter(|_| is_asked_about(standing));
    match (standing, reply) {
        (Standing::Trusted, _) => Verdict { runs: true, why: "", record: None },
        (_, Some(Reply::Yes)) => Verdict { runs: true, why: "", record: Some(Answer::Approve) },
        (_, Some(Reply::No)) => Verdict { runs: false, why: "declined", record: Some(Answer::Decline) },
        (standing, _) => Verdict { runs: false, why: why_not(standing), record: None },
    }
}

/// Why a source of this standing does not run.
pub fn why_not(standing: Standing) -> &'static str {
    match standing {
        Standing::Trusted => "",
        Standing::Untrusted => "not trusted",
        Standing::Changed => "changed since you approved it",
        Standing::Declined => "declined",
        Standing::DeclinedChanged => "changed since you declined it",
    }
}

/// What a person is told of a yes that could not be stored.
pub fn unsaved(error: &str) -> String {
    format!("the approval could not be saved ({}): approved for this session only", text::line(error))
}

/// Whether the section or file with this key may be used: the one answer for hooks, stream rules, sandbox settings
/// and MCP servers.
///
/// # Errors
/// Why it may not. What is not among the sources was not read, or needs no approval because it loosens nothing.
pub fn may_use(sources: &[Source], path: &str) -> Result<(), &'static str> {
    let source = sources.iter().find(|source| source.path == path).ok_or("not among the sources")?;
    let verdict = decide(source.standing, None);
    if verdict.runs { Ok(()) } else { Err(verdict.why) }
}

/// The file that a source was read from: its path without the section's part.
pub fn source_file(source: &Source) -> &str {
    let path = source.path.as_str();
    let end = match Kind::named(source.kind) {
        Some(Kind::RepoStreamRules) => path.strip_suffix("#stream-rules").map(str::len),
        Some(Kind::RepoSandbox) => path.strip_suffix("#sandbox").map(str::len),
        Some(Kind::RepoMcp) => path.find(SERVER).map(|at| at + SERVER.len() - "#mcp:".len()),
        _ => None,
    };
    &path[..end.unwrap_or(path.len())]
}

/// The name of the server that a source of the kind `repo-mcp` is; names may hold anything.
pub fn mcp_server_name(source: &Source) -> Option<&str> {
    (Kind::named(source.kind) == Some(Kind::RepoMcp))
        .then(|| source.path.split_once(SERVER))?
        .map(|(_, name)| name)
}

/// Where the file's name ends and the server's begins.
const SERVER: &str = "mcp.json#mcp:";

/// What a source would do, as a person must see it before approving. Every string from its file is quoted.
pub fn describe(source: &Source) -> String {
    let mut shown = String::new();
    match Kind::named(source.kind) {
        Some(Kind::RepoStreamRules | Kind::RepoSandbox) => {
            for line in source.content.split(|&byte| byte == b'\n') {
                put(&mut shown, format_args!("    {}\n", text::quote_of(line)));
            }
        }
        Some(Kind::RepoMcp) => {
            for line in source.content.split(|&byte| byte == b'\n') {
                put(&mut shown, format_args!("    {}\n", text::line_of(line)));
            }
        }
        kind => describe_hooks(source, kind, &mut shown),
    }
    shown
}

fn describe_hooks(source: &Source, kind: Option<Kind>, shown: &mut String) {
    let protocols: Vec<Protocol> = match kind {
        Some(kind) if kind.is_grimoire() => vec![Protocol::V1; source.hooks.len()],
        _ => definitions::parse_file(&source.content)
            .map(|definitions| definitions.iter().map(|definition| definition.protocol).collect())
            .unwrap_or_default(),
    };
    for (index, hook) in source.hooks.iter().enumerate() {
        let protocol = protocols.get(index).map_or("v2", |protocol| protocol.as_str());
        let matcher = text::quote(hook.matcher.as_deref().unwrap_or("*"));
        put(
            shown,
            format_args!(
                "  {:<16} matcher={matcher} protocol={protocol} timeout={}s\n",
                hook.event, hook.timeout
            ),
        );
        put(shown, format_args!("    command: {}\n", text::quote(&hook.command)));
        if let Some(why) = &hook.invalid {
            put(shown, format_args!("    cannot run: {why}\n"));
        }
    }
}

/// The whole question about a source, up to where the answer is typed.
pub fn question(source: &Source, on_no: OnNo) -> String {
    let kind = Kind::named(source.kind);
    let is_one = kind == Some(Kind::RepoMcp);
    let what = match kind {
        Some(Kind::RepoStreamRules) => "Stream rules".to_owned(),
        Some(Kind::RepoSandbox) => "Sandbox settings".to_owned(),
        Some(Kind::RepoMcp) => {
            format!("MCP server {}", text::quote(mcp_server_name(source).unwrap_or_default()))
        }
        _ => format!("Hooks ({})", source.kind),
    };
    let (are, have, them, they) =
        if is_one { ("is", "has", "it", "it") } else { ("are", "have", "them", "they") };
    let status = match source.standing {
        Standing::Trusted => format!("{are} trusted"),
        Standing::Untrusted => format!("{are} not trusted yet"),
        Standing::Changed => format!("{have} changed since you approved {them}"),
        Standing::Declined => format!("{are} declined"),
        Standing::DeclinedChanged => format!("{have} changed since you declined {them}"),
    };
    let file = text::quote(source_file(source));
    let risk = match kind {
        Some(Kind::RepoStreamRules) => {
            "Such rules can stop replies, run turns again and add instructions for the model."
        }
        Some(Kind::RepoSandbox) => {
            "With these settings commands can write or connect where the sandbox would stop them."
        }
        Some(Kind::RepoMcp) => {
            "Starting the server runs this command, or connects to this address, with your rights."
        }
        _ => "These commands run on this machine, with your rights.",
    };
    let command = format!("becket approve {}", crate::spelling::shell_quote(&source.path));
    let command = text::line(&command);
    let no = match on_no {
        OnNo::Remembered => {
            let change = if is_one { "changes" } else { "change" };
            format!("A no is remembered until {they} {change}; `{command}` approves {them} later.")
        }
        OnNo::NotRemembered => "A no leaves the stored decision as it is.".to_owned(),
    };
    let description = describe(source);
    format!("\n{what} in {file} {status}:\n{description}{risk}\n{no}\nTrust {them}? [y/N]: ")
}

fn put(into: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = into.write_fmt(arguments);
}

/// Whether a path is a file that a person could be asked about: one that hooks are loaded from, a workspace's
/// configuration or its MCP servers.
pub fn is_source_file(path: &Utf8Path, home: &Utf8Path) -> bool {
    let is_config = path.ends_with(".celeste/config.json") || path.ends_with(".celeste/mcp.json");
    let is_own = path.starts_with(home.join(super::sites::FOLDER));
    super::sites::Site::at(path, home).is_some()
        || path.file_name() == Some(".mcp.json")
        || (is_config && !is_own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Name;
    use proptest::prelude::*;

    fn source(kind: Kind, path: &str, content: &[u8]) -> Source {
        let parsed = definitions::parse_file(content).unwrap_or_default();
        Source {
            dialect: Name::Celeste,
            kind: kind.as_str(),
            path: path.to_owned(),
            standing: Standing::Untrusted,
            hash: None,
            content: content.into(),
            hooks: parsed.iter().enumerate().map(|(index, definition)| definition.hook(index)).collect(),
            needs_approval: !kind.is_global(),
        }
    }

    const HOOKS: &[u8] = br#"{"hooks":[{"event":"PreToolUse","matcher":"bash","command":"echo \"\u00a0\"","timeout":5},{"event":"PostToolUse","command":"x '{{path}} y'","protocol":"v1"}]}"#;

    #[test]
    fn replies_are_read_as_whole_lines() {
        for (read, reply) in [
            ("y\n", Reply::Yes),
            (" YES \r\n", Reply::Yes),
            ("y", Reply::Yes),
            ("yes", Reply::Yes),
            ("n\n", Reply::No),
            ("\n", Reply::No),
            ("yess\n", Reply::No),
            ("", Reply::Later),
            ("n", Reply::Later),
            ("no", Reply::Later),
            ("x", Reply::Later),
            ("  ", Reply::Later),
        ] {
            assert_eq!(read_reply(read.as_bytes()), reply, "{read:?}");
        }
    }

    #[test]
    fn the_trust_step_is_the_same_for_all() {
        let yes = decide(Standing::Changed, Some(Reply::Yes));
        assert_eq!((yes.runs, yes.record), (true, Some(Answer::Approve)));
        let no = decide(Standing::DeclinedChanged, Some(Reply::No));
        assert_eq!((no.runs, no.why, no.record), (false, "declined", Some(Answer::Decline)));
        let later = decide(Standing::Changed, Some(Reply::Later));
        assert_eq!((later.runs, later.why, later.record), (false, "changed since you approved it", None));
        assert_eq!(decide(Standing::Untrusted, None).why, "not trusted");
        assert_eq!(decide(Standing::DeclinedChanged, None).why, "changed since you declined it");
        // Neither is asked about, so no reply of a caller's counts.
        assert!(decide(Standing::Trusted, Some(Reply::No)).runs);
        assert!(!decide(Standing::Declined, Some(Reply::Yes)).runs);
        assert!(unsaved("read-only\u{1b}").contains("approved for this session only"));
    }

    #[test]
    fn a_source_says_what_it_is_of() {
        let rules = source(Kind::RepoStreamRules, "/p/.grimoire#stream-rules", b"r");
        let sandbox = source(Kind::RepoSandbox, "/w/.celeste/config.json#sandbox", b"{}");
        let server = source(Kind::RepoMcp, "/w/.mcp.json#mcp:a.mcp.json#mcp:b", b"s");
        let hooks = source(Kind::Repo, "/p#sandbox/.celeste/hooks.json", b"{}");
        assert_eq!(source_file(&rules), "/p/.grimoire");
        assert_eq!(source_file(&sandbox), "/w/.celeste/config.json");
        assert_eq!(source_file(&server), "/w/.mcp.json");
        assert_eq!(source_file(&hooks), "/p#sandbox/.celeste/hooks.json");
        assert_eq!(mcp_server_name(&server), Some("a.mcp.json#mcp:b"));
        assert_eq!(mcp_server_name(&hooks), None);
        assert_eq!(may_use(std::slice::from_ref(&rules), &rules.path), Err("not trusted"));
        assert!(may_use(&[Source { standing: Standing::Trusted, ..sandbox.clone() }], &sandbox.path).is_ok());
        assert!(may_use(&[], "/x#sandbox").is_err());
        for (path, is_source) in [
            ("/w/.mcp.json", true),
            ("/w/.celeste/mcp.json", true),
            ("/w/.celeste/config.json", true),
            ("/h/.celeste/config.json", false),
            ("/w/.grimoire", true),
            ("/w/notes.md", false),
        ] {
            assert_eq!(is_source_file(path.into(), "/h".into()), is_source, "{path}");
        }
    }

    #[test]
    fn a_person_sees_everything_that_would_run() {
        let hooks = source(Kind::Repo, "/p/.celeste/hooks.json", HOOKS);
        let shown = describe(&hooks);
        assert!(
            shown.starts_with(
                "  PreToolUse       matcher=\"bash\" protocol=v2 timeout=5s\n    command: \"echo \\\"\\u00a0\\\"\"\n  PostToolUse      matcher=\"*\" protocol=v1 timeout=30s\n    command: \"x '{{path}} y'\"\n    cannot run: "
            ),
            "{shown}"
        );
        let asked = question(&hooks, OnNo::Remembered);
        assert!(asked.contains("Hooks (repo) in \"/p/.celeste/hooks.json\" are not trusted yet"), "{asked}");
        assert!(
            asked.contains("A no is remembered") && asked.contains("`becket approve /p/.celeste/hooks.json`")
        );
        assert!(asked.ends_with("\nTrust them? [y/N]: "));
        let other = question(&hooks, OnNo::NotRemembered);
        assert!(other.contains("leaves the stored decision") && !other.contains("remembered"));
        let server = Source {
            standing: Standing::DeclinedChanged,
            ..source(Kind::RepoMcp, "/w/.mcp.json#mcp:r\u{1b}", b"command: \"r\"\nargs: \"\xff\"")
        };
        let asked = question(&server, OnNo::Remembered);
        assert!(
            asked.contains("MCP server \"r\\x1b\" in \"/w/.mcp.json\" has changed since you declined it"),
            "{asked}"
        );
        assert!(asked.contains("\n    command: \"r\"\n    \"args: \\\"\\xff\\\"\"\n"), "{asked}");
        assert!(asked.ends_with("\nTrust it? [y/N]: "));
        let rules = source(Kind::RepoStreamRules, "/p/.grimoire#stream-rules", "a\nb\u{202e}".as_bytes());
        assert_eq!(describe(&rules), "    \"a\"\n    \"b\\u202e\"\n");
    }

    proptest! {
        #[test]
        fn nothing_in_a_source_acts_on_the_terminal(
            path in any::<String>(), matcher in any::<String>(), command in any::<String>(), content in prop::collection::vec(any::<u8>(), 0..60),
            kind in prop::sample::select(vec![Kind::Repo, Kind::RepoMcp, Kind::RepoSandbox, Kind::RepoStreamRules, Kind::RepoGrimoire]),
        ) {
            let mut asked = source(kind, &path, &content);
            asked.hooks = vec![crate::dialect::Hook {
                index: 0, name: None, event: "Stop".to_owned(), matcher: Some(matcher), command, timeout: 1.0, invalid: None,
            }];
            let shown = question(&asked, OnNo::Remembered);
            prop_assert!(shown.chars().all(|character| character == '\n' || text::is_visible(character)));
            prop_assert_eq!(shown.matches("\nTrust ").count(), 1);
        }
    }
}
