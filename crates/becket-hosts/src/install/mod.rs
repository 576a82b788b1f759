//! Plugging in: which file of the agent's changes, and how.

pub mod edit;
mod plugin;

use becket_core::event::EventName;
use becket_core::spelling::shell_quote;
use camino::{Utf8Path, Utf8PathBuf};

pub use edit::EditError;
use edit::Entry;

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
}

/// The file's text with Becket plugged in. `before` is `None` for a file that is not there.
///
/// # Errors
/// Why the file must be left alone.
pub fn plugged(host: Host, before: Option<&[u8]>, line: &Line) -> Result<String, InstallError> {
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

/// Something that is wrong with a file that should hold Becket's entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Whether something goes unguarded by it; else it is only to be known.
    pub is_grave: bool,
    /// Whether a person must mend the file first; else a new install mends it.
    pub by_hand: bool,
    /// What; for people.
    pub text: String,
}

/// What is wrong with the entries in an agent's file, or with the file around them. `line` is what would be installed
/// now; `is_same` tells whether a program is that one under another name.
pub fn flaws(host: Host, bytes: &[u8], line: &Line, is_same: &dyn Fn(&Utf8Path) -> bool) -> Vec<Flaw> {
    if let Some(text) = unreadable(host, bytes) {
        return vec![Flaw { is_grave: true, by_hand: true, text }];
    }
    let mut flaws: Vec<Flaw> = other_in_file(host, bytes).into_iter().collect();
    if has_traces(host, bytes) {
        let differences = differences(host, bytes, line, is_same);
        flaws.extend(differences.into_iter().map(|text| Flaw { is_grave: true, by_hand: false, text }));
        let is_whole = plugged(host, Some(bytes), line).is_ok_and(|text| text.as_bytes() == bytes);
        if !is_whole && flaws.is_empty() {
            let text = format!(
                "its entries are others than this becket would write; `becket install {host}` renews them"
            );
            flaws.push(Flaw { is_grave: false, by_hand: false, text });
        }
    }
    flaws
}

/// Why nobody can read the file, and what the agent makes of that.
fn unreadable(host: Host, bytes: &[u8]) -> Option<String> {
    if host == Host::Opencode {
        let is_changed = match plugin::whose(bytes) {
            plugin::Whose::Ours => false,
            plugin::Whose::Changed => true,
            // Somebody put something before the line by which it is known.
            plugin::Whose::Other => has_traces(host, bytes),
        };
        return is_changed
            .then(|| "it was changed since becket wrote it, so nobody can tell what it does".to_owned());
    }
    let title = host.title();
    let effect = match host {
        Host::Gemini => "does not start with it",
        _ => "reads none of it, so nothing of becket guards there",
    };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Some(format!("it is not valid UTF-8: {title} {effect}"));
    };
    if let Err(error) = edit::check(text) {
        let error = error.to_string();
        return Some(format!("{}: {title} {effect}", becket_core::text::line(&error)));
    }
    match edit::plainness(text) {
        edit::Plainness::Marked if host != Host::Claude => {
            Some(format!("it begins with a byte order mark: {title} {effect}"))
        }
        edit::Plainness::Commas if host != Host::Claude => {
            Some(format!("it has a comma behind a last item: {title} {effect}"))
        }
        edit::Plainness::Comments if host == Host::Codex => {
            Some(format!("{title} reads only plain JSON, without comments: it {effect}"))
        }
        _ => None,
    }
}

/// What else in the same file keeps the agent from reading the entries, or might.
fn other_in_file(host: Host, bytes: &[u8]) -> Option<Flaw> {
    let text = std::str::from_utf8(bytes).ok()?;
    match host {
        Host::Codex => {
            let root = edit::value(text)?;
            let other =
                root.as_object()?.keys().find(|key| !matches!(key.as_str(), "hooks" | "description"))?;
            let text = format!(
                "Codex skips the whole file for the key {}: it takes only `hooks` and `description`",
                becket_core::text::quote(other)
            );
            Some(Flaw { is_grave: true, by_hand: true, text })
        }
        Host::Claude if edit::plainness(text) != edit::Plainness::Plain => Some(Flaw {
            is_grave: false,
            by_hand: true,
            text: "it is more than plain JSON, which is all that Claude Code's reference promises to read; its /hooks \
                   page shows whether it did"
                .to_owned(),
        }),
        _ => None,
    }
}

/// What an installed line says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Words {
    program: Utf8PathBuf,
    home: Option<String>,
    set: Vec<(String, String)>,
    deadline: Option<u64>,
    event: Option<String>,
}

impl Words {
    fn of(argv: &[String]) -> Option<Self> {
        let [program, _, _, options @ ..] = argv else { return None };
        let mut words = Self { program: program.into(), ..Self::default() };
        for pair in options.chunks(2) {
            let [option, value] = pair else { return None };
            match option.as_str() {
                "--home" => words.home = Some(value.clone()),
                "--deadline" => words.deadline = Some(value.parse().ok()?),
                "--event" => words.event = Some(value.clone()),
                _ => words.set.extend(value.split_once('=').map(|(name, value)| (name.into(), value.into()))),
            }
        }
        Some(words)
    }
}

/// The homes that are truly moved, in an order of their own: a variable that says where a home is anyway moves none.
fn moved(set: &[(String, String)], home: &Utf8Path) -> Vec<String> {
    let usual = |name: &str| match name {
        "ALBEDO_HOME" => Some(".albedo"),
        "CODEX_HOME" => Some(".codex"),
        "XDG_CACHE_HOME" => Some(".cache"),
        "XDG_CONFIG_HOME" => Some(".config"),
        "XDG_DATA_HOME" => Some(".local/share"),
        "XDG_STATE_HOME" => Some(".local/state"),
        _ => None,
    };
    let is_moved = |(name, value): &&(String, String)| {
        usual(name).is_none_or(|usual| home.join(usual) != Utf8Path::new(value))
    };
    let mut moved: Vec<String> =
        set.iter().filter(is_moved).map(|(name, value)| format!("{name}={value}")).collect();
    moved.sort();
    moved
}

/// How the entries differ from what would be installed, where that changes what is guarded.
fn differences(host: Host, bytes: &[u8], line: &Line, is_same: &dyn Fn(&Utf8Path) -> bool) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut say = |what: String| {
        if !found.contains(&what) {
            found.push(what);
        }
    };
    let shown = |text: &str| becket_core::text::line(text).into_owned();
    let entries = our_entries(host, bytes);
    let (mut misplaced, mut hurried) = (Vec::new(), Vec::new());
    let unguarded: Vec<&str> = host
        .rows()
        .iter()
        .filter(|row| host != Host::Opencode || row.event == EventName::PreToolUse)
        .filter(|row| !entries.iter().any(|entry| entry.event == row.native && entry.guards))
        .map(|row| row.native)
        .collect();
    if !unguarded.is_empty() {
        say(format!(
            "no entry guards at {}: it is missing, bound to some tools, or not waited for",
            unguarded.join(", ")
        ));
    }
    for entry in &entries {
        let Some(words) = Words::of(&entry.argv) else {
            say("a line in it cannot be read".to_owned());
            continue;
        };
        if words.program != line.program && !is_same(&words.program) {
            say(format!(
                "it runs {}, which is another program than this one, {}",
                shown(words.program.as_str()),
                shown(line.program.as_str())
            ));
        }
        if words.home.as_deref() != Some(line.home.as_str()) {
            let home = words.home.as_deref().unwrap_or_default();
            say(format!(
                "it guards with the hooks of the home {}, not {}",
                shown(home),
                shown(line.home.as_str())
            ));
        }
        let (said, wanted) = (moved(&words.set, &line.home), moved(&line.set, &line.home));
        if said != wanted {
            let names =
                |set: &[String]| if set.is_empty() { "none".to_owned() } else { shown(&set.join(" ")) };
            say(format!(
                "it moves other homes ({}) than the variables here do ({})",
                names(&said),
                names(&wanted)
            ));
        }
        if host == Host::Opencode {
            continue;
        }
        let Some(row) = host.rows().iter().find(|row| row.native == entry.event) else { continue };
        if words.event.as_deref() != Some(row.event.as_str()) {
            misplaced.push(row.native);
        }
        let unit = if host == Host::Gemini { 1000 } else { 1 };
        let is_short = entry.timeout.is_none_or(|timeout| timeout < u64::from(row.patience) * unit);
        if is_short || words.deadline.is_none_or(|deadline| deadline > u64::from(row.deadline())) {
            hurried.push(row.native);
        }
    }
    if !misplaced.is_empty() {
        say(format!("a line stands under another event than it says: {}", misplaced.join(", ")));
    }
    if !hurried.is_empty() {
        say(format!("{} does not wait for the answer at {}", host.title(), hurried.join(", ")));
    }
    found
}

/// One line of Becket's in a file, whether or not it guards.
struct OurEntry {
    event: String,
    guards: bool,
    argv: Vec<String>,
    timeout: Option<u64>,
}

fn our_entries(host: Host, bytes: &[u8]) -> Vec<OurEntry> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Vec::new() };
    if host == Host::Opencode {
        let argv = text.lines().find_map(|line| line.strip_prefix("const LINE = "));
        let argv: Option<Vec<String>> = argv.and_then(|argv| serde_json::from_str(argv).ok());
        let event = "tool.execute.before".to_owned();
        return argv.map(|argv| OurEntry { event, guards: true, argv, timeout: None }).into_iter().collect();
    }
    let root = edit::value(text).unwrap_or_default();
    let events = root.get("hooks").and_then(|hooks| hooks.as_object()).into_iter().flatten();
    let mut entries = Vec::new();
    for (event, groups) in events {
        for group in groups.as_array().into_iter().flatten() {
            for handler in group.get("hooks").and_then(|hooks| hooks.as_array()).into_iter().flatten() {
                let Some(command) = handler.get("command").and_then(|command| command.as_str()) else {
                    continue;
                };
                if !is_installed_line(host, command) {
                    continue;
                }
                entries.push(OurEntry {
                    event: event.clone(),
                    guards: is_for_all(group) && is_waited_for(handler),
                    argv: shell_words(command).unwrap_or_default(),
                    timeout: handler.get("timeout").and_then(serde_json::Value::as_u64),
                });
            }
        }
    }
    entries
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
    let (first, second) = (installed(host, first), installed(host, second));
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
        _ => !our_entries(host, bytes).is_empty() || text.contains(&format!(" hook {host} --home ")),
    }
}

/// Whether a group of entries is for every tool, as `install` writes it.
fn is_for_all(group: &serde_json::Value) -> bool {
    group.get("matcher").is_none_or(|matcher| matches!(matcher.as_str(), Some("" | "*" | ".*")))
}

/// Whether the agent waits for an entry's answer.
fn is_waited_for(handler: &serde_json::Value) -> bool {
    handler.get("async") != Some(&true.into())
}

/// The installed commands of a file that really guard, each with the event it stands under; as a shell would be given
/// them. One that somebody bound to some tools or made asynchronous is none of them.
pub fn installed(host: Host, text: &[u8]) -> Vec<(String, String)> {
    let entries = our_entries(host, text).into_iter().filter(|entry| entry.guards);
    let command = |argv: &[String]| argv.iter().map(|word| shell_quote(word)).collect::<Vec<_>>().join(" ");
    entries.map(|entry| (entry.event, command(&entry.argv))).collect()
}
