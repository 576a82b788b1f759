//! Plugging in: which file of the agent's changes, and how.

pub mod edit;
mod entries;
mod flaws;
mod plugin;
mod shape;
mod texts;

use std::collections::HashSet;

use becket_core::event::EventName;
use becket_core::spelling::shell_quote;
use camino::{Utf8Path, Utf8PathBuf};

pub use edit::EditError;
use edit::Entry;
pub(crate) use entries::{OurEntry, our_entries};
pub use flaws::{Flaw, flaws, is_as_written};
pub(crate) use texts::line_of;

use crate::Host;
use crate::loss::Row;

/// The installed command line. It says the same in every version of Becket: some agents approve it by its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The program, by absolute path.
    pub program: Utf8PathBuf,
    /// The user's home directory, by absolute path.
    pub home: Utf8PathBuf,
    /// Homes that were set otherwise when it was installed, by the variable that set them.
    pub set: Vec<(String, String)>,
}

/// Variables that move homes: an installed line carries those that are set.
pub const HOME_VARIABLES: [&str; 8] = [
    "ALBEDO_HOME",
    "BECKET_HOME",
    "CODEX_HOME",
    "SHADOWCODE_PROFILE",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

impl Line {
    /// Program and arguments, for an event or for all.
    pub fn argv(&self, host: Host, row: Option<&Row>) -> Vec<String> {
        let mut argv = vec![self.program.to_string(), "hook".to_owned(), host.to_string()];
        argv.extend(["--home".to_owned(), self.home.to_string()]);
        for (name, value) in &self.set {
            argv.extend(["--set".to_owned(), format!("{name}={value}")]);
        }
        let longest = host.rows().iter().max_by_key(|row| row.patience);
        if let Some(deadline) = row.or(longest).map(Row::deadline) {
            argv.extend(["--deadline".to_owned(), deadline.to_string()]);
        }
        if let Some(row) = row {
            argv.extend(["--event".to_owned(), row.event.to_string()]);
        }
        argv
    }

    /// The line for a shell.
    pub fn command(&self, host: Host, row: &Row) -> String {
        let words: Vec<String> = self.argv(host, Some(row)).iter().map(|word| shell_quote(word)).collect();
        words.join(" ")
    }
}

/// The words of a line that [`shell_quote`] made; `None` for any other, which a shell might take for more than words.
fn shell_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (word, left) = shell_word(rest)?;
        words.push(word);
        rest = match left.strip_prefix(' ') {
            Some(left) if !left.is_empty() => left,
            None if left.is_empty() => left,
            _ => return None,
        };
    }
    // Only what is written just as it would be written is one of them.
    let again: Vec<String> = words.iter().map(|word| shell_quote(word)).collect();
    (again.join(" ") == line).then_some(words)
}

/// The first word of a line, without its quotes, and what is left.
fn shell_word(line: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut rest = line;
    loop {
        if let Some(quoted) = rest.strip_prefix('\'') {
            let (inside, left) = quoted.split_once('\'')?;
            word.push_str(inside);
            rest = left;
        } else if let Some(left) = rest.strip_prefix("\\'") {
            word.push('\'');
            rest = left;
        } else {
            match rest.chars().next() {
                None | Some(' ') => return Some((word, rest)),
                Some(character) => {
                    word.push(character);
                    rest = &rest[character.len_utf8()..];
                }
            }
        }
    }
}

/// Whether a command line is one that Becket installed for this host.
pub fn is_installed_line(host: Host, command: &str) -> bool {
    let Some(words) = shell_words(command) else { return false };
    let [program, verb, named, options @ ..] = words.as_slice() else { return false };
    let is_becket = Utf8Path::new(program).is_absolute() && verb == "hook" && named == host.as_str();
    // Pairs of an option and its value, as `install` writes them, and nothing else.
    let is_pair = |pair: &[String]| {
        pair.len() == 2 && matches!(pair[0].as_str(), "--home" | "--set" | "--deadline" | "--event")
    };
    is_becket && options.first().is_some_and(|first| first == "--home") && options.chunks(2).all(is_pair)
}

/// What the agent itself would replace in a text of its settings: a variable, as Gemini CLI looks for them.
fn expanded(host: Host, text: &str) -> Option<&str> {
    if host != Host::Gemini {
        return None;
    }
    text.match_indices('$').find_map(|(at, _)| {
        let rest = &text[at..];
        if let Some(inside) = rest.strip_prefix("${") {
            return inside.find('}').filter(|end| *end > 0).map(|end| &rest[..end + 3]);
        }
        let name = rest[1..].find(|next: char| !next.is_ascii_alphanumeric() && next != '_');
        let end = name.map_or(rest.len(), |end| end + 1);
        (end > 1).then(|| &rest[..end])
    })
}

/// Where the agent looks, for a person or for a project.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'a> {
    /// Every session of the person.
    User {
        /// The home directory.
        home: &'a Utf8Path,
        /// `CODEX_HOME`, if it is set.
        codex_home: Option<&'a Utf8Path>,
        /// `XDG_CONFIG_HOME`, if it is set.
        config: Option<&'a Utf8Path>,
        /// `CLAUDE_CONFIG_DIR`, if it is set.
        claude: Option<&'a Utf8Path>,
        /// `GEMINI_CLI_HOME`, if it is set.
        gemini: Option<&'a Utf8Path>,
    },
    /// Sessions in one project.
    Project(&'a Utf8Path),
}

/// The file that is changed.
pub fn file(host: Host, scope: Scope<'_>) -> Utf8PathBuf {
    match (host, scope) {
        (Host::Claude, Scope::User { home, claude, .. }) => {
            claude.map_or_else(|| home.join(".claude"), Utf8Path::to_owned).join("settings.json")
        }
        (Host::Claude, Scope::Project(root)) => root.join(".claude/settings.json"),
        (Host::Codex, Scope::User { home, codex_home, .. }) => {
            codex_home.map_or_else(|| home.join(".codex"), Utf8Path::to_owned).join("hooks.json")
        }
        (Host::Codex, Scope::Project(root)) => root.join(".codex/hooks.json"),
        (Host::Gemini, Scope::User { home, gemini, .. }) => {
            gemini.unwrap_or(home).join(".gemini/settings.json")
        }
        (Host::Gemini, Scope::Project(root)) => root.join(".gemini/settings.json"),
        (Host::Opencode, Scope::User { home, config, .. }) => {
            config.map_or_else(|| home.join(".config"), Utf8Path::to_owned).join("opencode/plugin/becket.js")
        }
        (Host::Opencode, Scope::Project(root)) => root.join(".opencode/plugin/becket.js"),
    }
}

/// The variable that says where the person's file is.
pub fn home_variable(host: Host) -> &'static str {
    match host {
        Host::Claude => "CLAUDE_CONFIG_DIR",
        Host::Codex => "CODEX_HOME",
        Host::Gemini => "GEMINI_CLI_HOME",
        Host::Opencode => "XDG_CONFIG_HOME",
    }
}

/// What that variable says where the person's file is this one.
pub fn home_of(host: Host, file: &Utf8Path) -> Option<&Utf8Path> {
    let above = match host {
        Host::Claude | Host::Codex => 1,
        Host::Gemini => 2,
        Host::Opencode => 3,
    };
    file.ancestors().nth(above)
}

/// The entries of a host's settings file. Each matches everything: what a hook is for, its own definition says.
fn entries(host: Host, line: &Line) -> Vec<Entry> {
    let entry = |row: &Row| {
        let command = serde_json::to_string(&line.command(host, row)).unwrap_or_default();
        let patience = row.patience;
        let handler = match host {
            // Milliseconds, and a name by which it can be switched off.
            Host::Gemini => format!(
                "{{\"name\": \"becket\", \"type\": \"command\", \"command\": {command}, \"timeout\": {patience}000}}"
            ),
            _ => format!("{{\"type\": \"command\", \"command\": {command}, \"timeout\": {patience}}}"),
        };
        Entry { event: row.native, group: format!("{{\"hooks\": [{handler}]}}") }
    };
    host.rows().iter().map(entry).collect()
}

/// The events of a host under which an entry is installed, by the agent's names.
pub fn events(host: Host) -> Vec<(EventName, &'static str)> {
    host.rows().iter().map(|row| (row.event, row.native)).collect()
}

/// Why a file is left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// The settings file.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The plugin file.
    #[error("it is a plugin of somebody else's")]
    Foreign,
    /// The plugin file.
    #[error("it was changed since becket wrote it; move it away if that was not you")]
    Changed,
    /// The line.
    #[error(
        "{0} would put something else in the place of `{1}`, which is part of a path in the line; use paths without it"
    )]
    Expanded(&'static str, String),
}

/// The file's text with Becket plugged in. `before` is `None` for a file that is not there.
///
/// # Errors
/// Why the file must be left alone.
pub fn plugged(host: Host, before: Option<&[u8]>, line: &Line) -> Result<String, InstallError> {
    if let Some(variable) = line.argv(host, None).iter().find_map(|word| expanded(host, word)) {
        return Err(InstallError::Expanded(host.title(), variable.to_owned()));
    }
    if host != Host::Opencode {
        return Ok(edit::add(before, &entries(host, line), &|command| is_installed_line(host, command))?);
    }
    match before.map(plugin::whose) {
        None | Some(plugin::Whose::Ours) => Ok(plugin::file(line)),
        Some(plugin::Whose::Changed) => Err(InstallError::Changed),
        Some(plugin::Whose::Other) => Err(InstallError::Foreign),
    }
}

/// The file's text without Becket; `None` where nothing is left of it.
///
/// # Errors
/// Why the file must be left alone.
pub fn unplugged(host: Host, before: &[u8]) -> Result<Option<String>, InstallError> {
    if host != Host::Opencode {
        return Ok(edit::remove(before, &|command| is_installed_line(host, command))?);
    }
    match plugin::whose(before) {
        plugin::Whose::Ours => Ok(None),
        plugin::Whose::Changed => Err(InstallError::Changed),
        plugin::Whose::Other => Ok(Some(String::from_utf8_lossy(before).into_owned())),
    }
}

/// The programs that the installed lines of a file run, each once.
pub fn programs(host: Host, bytes: &[u8]) -> Vec<Utf8PathBuf> {
    let mut programs: Vec<Utf8PathBuf> =
        our_entries(host, bytes).into_iter().filter_map(|entry| Some(entry.argv.first()?.into())).collect();
    programs.sort();
    programs.dedup();
    programs
}

/// Whether an agent that is plugged in by a person's file and by a project's runs hooks twice at events without a call's
/// id. opencode's two plugins know of each other, and Gemini CLI drops the second of two equal lines.
pub fn runs_twice(host: Host, first: &[u8], second: &[u8]) -> bool {
    if host == Host::Opencode {
        return false;
    }
    let (first, second) = (installed(host, first), installed(host, second));
    let first: HashSet<_> = first.into_iter().collect();
    match host {
        _ if first.is_empty() || second.is_empty() => false,
        Host::Opencode => false,
        Host::Gemini => second.iter().any(|line| !first.contains(line)),
        Host::Claude | Host::Codex => true,
    }
}

/// Whether anything in a file, however broken it is, says that Becket was plugged in.
pub fn has_traces(host: Host, bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    match host {
        Host::Opencode => {
            plugin::whose(bytes) != plugin::Whose::Other || text.contains("`becket install opencode`")
        }
        _ => text.contains(&entries::mark(host)) || !our_entries(host, bytes).is_empty(),
    }
}

/// The installed commands of a file that really guard, each with the event it stands under; as a shell would be given
/// them. One that somebody bound to some tools or made asynchronous is none of them.
pub fn installed(host: Host, text: &[u8]) -> Vec<(String, String)> {
    let entries = our_entries(host, text).into_iter().filter(|entry| entry.guards);
    let command = |argv: &[String]| argv.iter().map(|word| shell_quote(word)).collect::<Vec<_>>().join(" ");
    entries.map(|entry| (entry.event, command(&entry.argv))).collect()
}
