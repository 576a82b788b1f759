//! What was read, judged: which definitions there are, which of them a person has enabled, and what stands in the way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::Utf8Path;
use serde::{Deserialize, Serialize};

use super::definitions::{self, Definition, FOLDERS, FileName, Moment};
use super::lexical;
use super::profile::{self, Agent, MOST_OF_PROJECT, Overlay, Policy, Profile};
use super::tree::Mistake;
use super::{OVERLAY, config_path};
use crate::dialect::{Answer, Hook, Known, Name, Notice, Problem, Source, Standing};
use crate::hash;
use crate::place::{Entry, File, Found};
use crate::scope::Scope;
use crate::text;

/// Most definitions and issues that the catalog shows.
pub(super) const SHOWN: usize = 64;

/// What became of a definition that is enabled and not there.
const GONE: &str = "it is gone";

/// Version of the form in which a session holds a task's settings.
const VERSION: u32 = 1;

/// All that a task goes by, as it stood when it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Snapshot {
    v: u32,
    pub(super) trusted: bool,
    /// This project's: path and hash.
    pub(super) registrations: BTreeMap<String, String>,
    /// When those of them run that stood as they were enabled: their events and path suffix, which nobody can read any
    /// more once the file has changed.
    #[serde(default)]
    pub(super) listening: BTreeMap<String, (Vec<Moment>, String)>,
    pub(super) policy: Policy,
    pub(super) agent: Agent,
}

/// A snapshot against what stands in the project now.
#[derive(Debug)]
pub(super) struct Force {
    pub(super) snapshot: Snapshot,
    /// Why nobody can know what is enabled.
    pub(super) broken: Option<String>,
    /// Enabled definitions that are no longer what was enabled: the source, and what became of it.
    pub(super) drifted: Vec<(usize, String)>,
}

impl Force {
    /// Whether nobody can know what is enabled, and it would count.
    pub(super) fn is_unknown(&self) -> bool {
        self.broken.is_some() && self.is_blocked()
    }

    /// What became of an enabled definition that is no longer what was enabled.
    pub(super) fn drift_of(&self, source: usize) -> Option<&str> {
        self.drifted.iter().find(|(drifted, _)| *drifted == source).map(|(_, why)| why.as_str())
    }

    /// Whether build work is blocked.
    pub(super) fn is_blocked(&self) -> bool {
        self.snapshot.trusted
            && !self.snapshot.policy.read_only
            && (self.broken.is_some() || !self.drifted.is_empty())
    }
}

/// Everything that was read.
#[derive(Debug)]
pub(super) struct Loaded {
    /// As stores name it.
    pub(super) workspace: String,
    /// In byte order of their paths.
    pub(super) sources: Vec<Source>,
    /// Beside each source: its path in the project.
    pub(super) paths: Vec<String>,
    /// Beside each source; `None` where it is gone or wrong.
    pub(super) definitions: Vec<Option<Definition>>,
    /// Sources that the catalog shows.
    pub(super) shown: BTreeSet<usize>,
    /// What the catalog says is wrong.
    pub(super) issues: Vec<String>,
    pub(super) problems: Vec<Problem>,
    pub(super) notices: Vec<Notice>,
    pub(super) live: Force,
    /// What the session's task goes by, where one is under way.
    pub(super) frozen: Option<Force>,
    /// Whether the session holds anything, readable or not.
    pub(super) is_kept: bool,
    /// The moments that any definition listens to.
    pub(super) listened: Vec<Moment>,
    pub(super) config: String,
}

/// One file in a folder of definitions.
struct Read {
    path: String,
    file: Option<File>,
    parsed: Result<Definition, Mistake>,
}

/// Judges what was found at the dialect's places.
pub(super) fn load(scope: &Scope, found: &[Found], known: &Known<'_>) -> Loaded {
    let missing = Found::Missing;
    let at = |index: usize| found.get(index).unwrap_or(&missing);
    let mut loading = Loading::new(scope);
    let trusted = is_trusted(scope, known);
    let (profile, broken) = loading.profile(at(2), trusted);
    let overlay = if trusted { loading.overlay(at(3)) } else { Overlay::default() };
    let workspace = scope.real_workspace.to_string();
    let written_at = at(2).file().map_or(0, |file| file.modified_ms);
    // A decline that came after the profile was last written counts more than what stands there: it could not be
    // carried out. One that is known not to have been does so whatever else was written into the profile since.
    let is_declined = |path: &str| {
        let entry = known.ledger.entry(Name::Shadowcode, scope.workspace.join(path).as_str());
        entry.is_some_and(|entry| {
            entry.answer == Answer::Decline && (entry.unfinished || entry.at.0 > written_at)
        })
    };
    let registrations: BTreeMap<String, String> = profile
        .registrations
        .iter()
        .filter(|registration| registration.workspace == workspace && !is_declined(&registration.path))
        .map(|registration| (registration.path.clone(), registration.hash.clone()))
        .collect();
    let broken = broken.or_else(|| {
        (registrations.len() > MOST_OF_PROJECT).then(|| {
            format!("ShadowCode's config.yaml enables more than {MOST_OF_PROJECT} hooks of this project: disable some")
        })
    });
    // Whether the project is trusted is not known: gates that cannot be known have not passed.
    let unknown = known.ledger.unreadable.as_ref().filter(|_| !registrations.is_empty());
    let broken = broken.or_else(|| {
        unknown.map(|why| format!("whether this project is trusted is not known: {why}; mend that first"))
    });
    let trusted = trusted || unknown.is_some();
    let snapshot = Snapshot {
        v: VERSION,
        trusted,
        registrations,
        listening: BTreeMap::new(),
        policy: profile.policy,
        agent: overlay.apply(profile.agent),
    };
    let frozen: Option<Snapshot> =
        known.kept.and_then(|kept| Snapshot::deserialize(kept).ok()).filter(|snapshot| snapshot.v == VERSION);

    let mut files = loading.folders(at(0), at(1));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let known_paths = |files: &[Read]| files.iter().map(|read| read.path.clone()).collect::<BTreeSet<_>>();
    let present = known_paths(&files);
    let wanted =
        snapshot.registrations.keys().chain(frozen.iter().flat_map(|frozen| frozen.registrations.keys()));
    for path in wanted.collect::<BTreeSet<_>>().difference(&present.iter().collect()) {
        let parsed = Err(Mistake::whole(GONE));
        files.push(Read { path: (*path).clone(), file: None, parsed });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));

    let mut loaded = Loaded {
        workspace,
        sources: Vec::new(),
        paths: Vec::new(),
        definitions: Vec::new(),
        shown: BTreeSet::new(),
        issues: loading.issues,
        problems: loading.problems,
        notices: loading.notices,
        live: Force { snapshot, broken, drifted: Vec::new() },
        frozen: frozen.map(|snapshot| Force { snapshot, broken: None, drifted: Vec::new() }),
        is_kept: known.kept.is_some(),
        listened: Vec::new(),
        config: config_path(scope).into_string(),
    };
    for read in files {
        let is_shown = loading.shown.contains(&read.path);
        loaded.add(read, is_shown, &overlay, scope, known);
    }
    loaded
}

/// Whether a person has trusted the whole project, by its real path.
pub(super) fn is_trusted(scope: &Scope, known: &Known<'_>) -> bool {
    let entry = known.ledger.entry(Name::Shadowcode, scope.real_workspace.as_str());
    entry.is_some_and(|entry| entry.answer == Answer::Approve)
}

impl Loaded {
    fn add(&mut self, read: Read, is_shown: bool, overlay: &Overlay, scope: &Scope, known: &Known<'_>) {
        let index = self.sources.len();
        let content = read.file.as_ref().map(|file| hash::of(&file.bytes));
        let drift = |registered: &String| match (&read.parsed, &content) {
            (Ok(_), Some(content)) if content == registered => None,
            (Ok(_), _) => Some("it changed since it was enabled".to_owned()),
            (Err(mistake), _) if mistake.message == GONE => Some(GONE.to_owned()),
            (Err(mistake), _) => Some(format!("it cannot be read: {}", mistake.message)),
        };
        let mut is_registered = false;
        for force in [Some(&mut self.live), self.frozen.as_mut()].into_iter().flatten() {
            if let Some(registered) = force.snapshot.registrations.get(&read.path) {
                is_registered = true;
                force.drifted.extend(drift(registered).map(|why| (index, why)));
            }
        }
        // A wrong file that nobody enabled is a problem and no source: there is nothing to approve.
        if read.parsed.is_err() && !is_registered {
            return;
        }
        if let Ok(definition) = &read.parsed
            && content.as_ref() == self.live.snapshot.registrations.get(&read.path)
        {
            let when = (definition.events.clone(), definition.path_suffix.clone());
            self.live.snapshot.listening.insert(read.path.clone(), when);
        }
        let path = scope.workspace.join(&read.path).into_string();
        let standing = self.standing(&path, &read, content.as_deref(), known);
        let definition = read.parsed.ok();
        let hooks = definition.iter().map(|definition| self.hook(definition, standing, overlay)).collect();
        if is_shown && definition.is_some() {
            self.shown.insert(index);
        }
        for moment in definition.iter().flat_map(|definition| &definition.events) {
            if !self.listened.contains(moment) {
                self.listened.push(*moment);
            }
        }
        self.sources.push(Source {
            dialect: Name::Shadowcode,
            kind: if read.file.is_some() { "definition" } else { "registration" },
            path,
            standing,
            hash: content,
            content: read.file.map_or_else(|| Arc::from([]), |file| file.bytes),
            hooks,
            needs_approval: true,
        });
        self.paths.push(read.path);
        self.definitions.push(definition);
    }

    fn standing(&self, path: &str, read: &Read, content: Option<&str>, known: &Known<'_>) -> Standing {
        let registered = self.live.snapshot.registrations.get(&read.path);
        let declined = known.ledger.entry(Name::Shadowcode, path);
        match (registered, content, declined) {
            (Some(hash), Some(content), _) if hash == content && read.parsed.is_ok() => {
                if self.live.snapshot.trusted { Standing::Trusted } else { Standing::Untrusted }
            }
            (Some(_), ..) | (None, None, _) => Standing::Changed,
            (None, Some(content), Some(entry)) if entry.answer == Answer::Decline => {
                if entry.hash == content { Standing::Declined } else { Standing::DeclinedChanged }
            }
            (None, ..) => Standing::Untrusted,
        }
    }

    fn hook(&self, definition: &Definition, standing: Standing, overlay: &Overlay) -> Hook {
        let policy = &self.live.snapshot.policy;
        let level = if policy.read_only {
            Some("the permission level is read-only, at which no hook runs or can be enabled".to_owned())
        } else if overlay.read_only && standing != Standing::Trusted {
            // A project's file switches no hook off that is enabled.
            Some(
                "the project's own permission level is read-only, at which no hook can be enabled".to_owned(),
            )
        } else {
            None
        };
        Hook {
            index: 0,
            name: Some(definition.name.clone()),
            event: definition.events.iter().map(|moment| moment.as_str()).collect::<Vec<_>>().join(","),
            matcher: (!definition.path_suffix.is_empty()).then(|| definition.path_suffix.clone()),
            command: definition.command.clone(),
            timeout: f64::from(u32::try_from(definition.timeout).unwrap_or(u32::MAX)),
            invalid: level.or_else(|| lexical::denial(&definition.command, policy)),
        }
    }
}

struct Loading<'s> {
    scope: &'s Scope,
    issues: Vec<String>,
    problems: Vec<Problem>,
    notices: Vec<Notice>,
    shown: BTreeSet<String>,
    left_out: usize,
}

impl<'s> Loading<'s> {
    fn new(scope: &'s Scope) -> Self {
        Self {
            scope,
            issues: Vec::new(),
            problems: Vec::new(),
            notices: Vec::new(),
            shown: BTreeSet::new(),
            left_out: 0,
        }
    }

    fn problem(
        &mut self,
        path: &Utf8Path,
        place: (Option<usize>, Option<usize>),
        message: String,
    ) -> Problem {
        let problem = Problem { path: path.to_string(), line: place.0, column: place.1, message };
        self.problems.push(problem.clone());
        problem
    }

    fn tell(&mut self, key: &str, text: &str) {
        self.notices
            .push(Notice { key: format!("shadowcode {key} {text}"), text: format!("shadowcode: {text}") });
    }

    /// The profile, and why it cannot be known.
    fn profile(&mut self, found: &Found, trusted: bool) -> (Profile, Option<String>) {
        let path = config_path(self.scope);
        let wrong = match found {
            Found::Missing => return (Profile::default(), None),
            // Without a home its path is relative, and so leads into whatever directory this runs in.
            _ if self.scope.is_planted(&path) || !path.is_absolute() => (
                "it lies inside the workspace, so whoever writes there could have planted it".to_owned(),
                (None, None),
            ),
            Found::File(File { unsafe_store: Some(why), .. }) => (why.clone(), (None, None)),
            Found::File(file) => match profile::parse(&file.bytes) {
                Ok(profile) => return (profile, None),
                Err(mistake) => {
                    let text = std::str::from_utf8(&file.bytes).unwrap_or_default();
                    (mistake.message.clone(), mistake.place(text))
                }
            },
            Found::Refused(refusal) => (refusal.to_string(), (None, None)),
            Found::Folder { .. } => ("it is not a regular file".to_owned(), (None, None)),
        };
        let message = format!("{}: no hook of ShadowCode can run or be enabled until it is mended", wrong.0);
        let problem = self.problem(&path, wrong.1, message);
        if trusted {
            self.tell("profile", &problem.to_string());
        }
        (Profile::default(), Some(format!("it is not known which hooks are enabled: {problem}")))
    }

    /// What the project's own file changes. It is told of: whoever writes the project wrote it.
    fn overlay(&mut self, found: &Found) -> Overlay {
        let path = self.scope.workspace.join(OVERLAY);
        let (message, place) = match found {
            Found::Missing => return Overlay::default(),
            Found::File(file) => match Overlay::parse(&file.bytes) {
                Ok(overlay) => {
                    self.tell_overlay(&path, &overlay);
                    return overlay;
                }
                Err(mistake) => {
                    let text = std::str::from_utf8(&file.bytes).unwrap_or_default();
                    (mistake.message.clone(), mistake.place(text))
                }
            },
            Found::Refused(refusal) => (refusal.to_string(), (None, None)),
            Found::Folder { .. } => ("it is not a regular file".to_owned(), (None, None)),
        };
        let problem = self.problem(&path, place, format!("{message}: nothing of it is taken"));
        self.tell("overlay", &problem.to_string());
        Overlay::default()
    }

    fn tell_overlay(&mut self, path: &Utf8Path, overlay: &Overlay) {
        let mut sets = Vec::new();
        sets.extend(overlay.max_fix_retries.map(|retries| format!("agent.max_fix_retries to {retries}")));
        sets.extend(overlay.tool_timeout.map(|seconds| format!("agent.tool_timeout_sec to {seconds}")));
        sets.extend(
            overlay.read_only.then(|| "permissions.level to read-only (no hook can be enabled)".to_owned()),
        );
        if !sets.is_empty() {
            let text = format!("the project's own {} sets {}", text::line(path.as_str()), sets.join(", "));
            self.tell("overlay", &text);
        }
    }

    fn folders(&mut self, first: &Found, second: &Found) -> Vec<Read> {
        let mut files = Vec::new();
        for (folder, found) in FOLDERS.into_iter().zip([first, second]) {
            match found {
                Found::Missing => {}
                Found::Folder { entries, more } => {
                    // What is beyond the window hangs on the order, and ShadowCode lists without regard to case.
                    let mut entries: Vec<&Entry> = entries.iter().collect();
                    entries.sort_by_cached_key(|entry| entry.name.to_lowercase());
                    for entry in entries {
                        self.entry(folder, entry, &mut files);
                    }
                    if *more {
                        let message = format!(
                            "it has more than {} entries: those further on are not looked at",
                            super::MOST_ENTRIES
                        );
                        self.issue(folder, (None, None), message);
                    }
                }
                Found::File(_) => self.issue(folder, (None, None), "it is not a folder".to_owned()),
                Found::Refused(refusal) => self.issue(folder, (None, None), refusal.to_string()),
            }
        }
        if self.left_out > 0 {
            // The one issue beyond the window: without it nobody would know.
            self.issues.push(format!(
                "{} more definitions or issues were left out: {SHOWN} are shown",
                self.left_out
            ));
        }
        files
    }

    fn entry(&mut self, folder: &str, entry: &Entry, files: &mut Vec<Read>) {
        let path = format!("{folder}/{}", entry.name);
        match definitions::file_name(&entry.name) {
            FileName::Other => {}
            FileName::Python => self.issue(
                &path,
                (None, None),
                "callbacks in Python are not run: write its command as a definition in YAML".to_owned(),
            ),
            FileName::BadStem => self.issue(
                &path,
                (None, None),
                "the name before the ending must be 1 to 80 letters, digits, `_` or `-`".to_owned(),
            ),
            FileName::Definition => {
                let (file, parsed) = match &entry.found {
                    Some(Found::File(file)) => {
                        (Some(file.clone()), definitions::parse(&entry.name, &file.bytes))
                    }
                    Some(Found::Refused(refusal)) => (None, Err(Mistake::whole(refusal.to_string()))),
                    Some(Found::Folder { .. }) => (None, Err(Mistake::whole("it is not a regular file"))),
                    Some(Found::Missing) | None => (None, Err(Mistake::whole("nothing can be read there"))),
                };
                match &parsed {
                    Ok(_) if self.shown.len() + self.issues.len() < SHOWN => {
                        self.shown.insert(path.clone());
                    }
                    Ok(_) => self.left_out += 1,
                    Err(mistake) => {
                        let bytes = file.as_ref().map_or(&[][..], |file| &file.bytes);
                        let text = std::str::from_utf8(bytes).unwrap_or_else(|error| {
                            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
                        });
                        self.issue(&path, mistake.place(text), mistake.message.clone());
                    }
                }
                files.push(Read { path, file, parsed });
            }
        }
    }

    fn issue(&mut self, path: &str, place: (Option<usize>, Option<usize>), message: String) {
        if self.shown.len() + self.issues.len() < SHOWN {
            // ShadowCode's own form, without a place in the file.
            self.issues.push(format!("{}: {message}", text::line(path)));
        } else {
            self.left_out += 1;
        }
        let path = self.scope.workspace.join(path);
        self.problem(&path, place, message);
    }
}
