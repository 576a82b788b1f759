//! From what was found to sources with their standings.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::definitions::{self, Definition, Mistake};
use super::grimoire;
use super::kept::{Kept, KeptSource};
use super::sections::{self, Section};
use super::sites::{self, Expected, FOLDER, Kind, Site};
use super::store::{self, TrustStore};
use crate::dialect::{Known, Name, Notice, Problem, Source, Standing};
use crate::hash;
use crate::place::{Entry, File, Found, Refusal};
use crate::scope::Scope;
use crate::text;

/// Everything that was loaded.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) sources: Vec<Source>,
    /// Beside each source, what runs it.
    pub(super) armed: Vec<Armed>,
    pub(super) problems: Vec<Problem>,
    pub(super) notices: Vec<Notice>,
    /// Everything in force, where that is more than the session holds already.
    pub(super) keep: Option<Kept>,
}

/// What a source's hooks are and where they run.
#[derive(Debug, Default)]
pub(super) struct Armed {
    pub(super) root: Option<Utf8PathBuf>,
    pub(super) definitions: Vec<Definition>,
    /// What a person is told where they do not run.
    pub(super) skipped: Option<Notice>,
}

/// Reads what was found at [`sites::places`].
pub(super) fn load(scope: &Scope, found: &[Found], known: &Known<'_>) -> Loaded {
    let mut loading = Loading {
        scope,
        store: Ok(TrustStore::default()),
        kept: Kept::read(known.kept),
        in_force: Kept::default(),
        is_more: false,
        loaded: Loaded::default(),
        servers: BTreeMap::new(),
    };
    for ((expected, place), found) in sites::places(scope).iter().zip(found) {
        match expected {
            Expected::Store => loading.store = read_store(scope, &place.path, found),
            Expected::Hooks => loading.hooks(&place.path, found),
            Expected::Grimoires => loading.grimoires(&place.path, found),
            Expected::Config => loading.sandbox(&place.path, found),
            Expected::Mcp => loading.servers(&place.path, found),
        }
    }
    loading.finish()
}

fn read_store(scope: &Scope, path: &Utf8Path, found: &Found) -> Result<TrustStore, String> {
    let file = match found {
        Found::Missing => return Ok(TrustStore::default()),
        Found::File(file) => file,
        Found::Refused(refusal) => return Err(told(refusal)),
        Found::Folder { .. } => return Err(Refusal::NotRegular.to_string()),
    };
    match scope.distrust(path, file) {
        Some(why) => Err(why),
        None => TrustStore::parse(&file.bytes),
    }
}

/// A refusal in words; sizes as people write them.
fn told(refusal: &Refusal) -> String {
    match refusal {
        Refusal::TooLarge(limit) if limit % (1 << 20) == 0 => {
            format!("it is larger than {} MiB", limit >> 20)
        }
        other => other.to_string(),
    }
}

struct Loading<'a> {
    scope: &'a Scope,
    store: Result<TrustStore, String>,
    kept: Kept,
    in_force: Kept,
    /// Whether something is in force that the session does not hold yet.
    is_more: bool,
    loaded: Loaded,
    /// Of two files that name a server the later one counts.
    servers: BTreeMap<String, (Utf8PathBuf, Section)>,
}

/// What a file of hooks holds.
struct Content {
    definitions: Vec<Definition>,
    /// What a person reads before approving.
    shown: Arc<[u8]>,
    remarks: Vec<Mistake>,
    holes: Vec<Mistake>,
}

impl Loading<'_> {
    fn hooks(&mut self, path: &Utf8Path, found: &Found) {
        // Mostly nothing is there, and nothing has to be known of it.
        if matches!(found, Found::Missing) && !self.kept.0.contains_key(path.as_str()) {
            return;
        }
        let Some(site) = Site::at(path, &self.scope.homes.home) else { return };
        if let Some(kept) = self.kept.0.remove(path.as_str()) {
            self.keep_on(&site, path, kept, found);
        } else {
            match found {
                Found::Missing => {}
                Found::File(file) => self.file(&site, path, file),
                Found::Refused(refusal) => self.refused(path, refusal),
                Found::Folder { .. } => self.refused(path, &Refusal::NotRegular),
            }
        }
        if let (Kind::RepoGrimoire, Found::File(file)) = (site.kind, found) {
            self.stream_rules(&site, path, &grimoire::parse(&file.bytes).stream_rules);
        }
    }

    fn grimoires(&mut self, folder: &Utf8Path, found: &Found) {
        let mut files: BTreeMap<String, &Found> = BTreeMap::new();
        match found {
            Found::Folder { entries, more } => {
                if *more {
                    self.problem(folder, None, "it holds too many files: not all grimoires in it are read");
                }
                for Entry { name, found } in entries {
                    match found {
                        // Beside the others: another file may bear what is shown of this one's name.
                        Some(Found::Refused(why @ Refusal::Name)) => self.refused(&folder.join(name), why),
                        Some(found) => drop(files.insert(name.clone(), found)),
                        None => {}
                    }
                }
            }
            // One link on the way is one thing to tell of, and the user's own folder may be one.
            Found::Refused(Refusal::Link) if self.has_told_of(folder) => {}
            Found::Refused(refusal) => self.refused(folder, refusal),
            Found::Missing | Found::File(_) => {}
        }
        for path in self.kept.0.keys() {
            let path = Utf8Path::new(path);
            if let (true, Some(name)) = (path.parent() == Some(folder), path.file_name()) {
                files.entry(name.to_owned()).or_insert(&Found::Missing);
            }
        }
        for (name, found) in files {
            self.hooks(&folder.join(name), found);
        }
    }

    /// Whether the `.celeste` above `path` is known to be a link already.
    fn has_told_of(&self, path: &Utf8Path) -> bool {
        let Some(folder) = path.ancestors().find(|above| above.file_name() == Some(FOLDER)) else {
            return false;
        };
        folder == self.scope.homes.home.join(FOLDER)
            || self.loaded.problems.iter().any(|problem| {
                problem.path == folder.join("hooks.json").as_str()
                    && problem.message.contains(&Refusal::Link.to_string())
            })
    }

    /// A file that the session does not hold yet.
    fn file(&mut self, site: &Site, path: &Utf8Path, file: &File) {
        let Some(content) = self.content(site, path, file) else { return };
        if content.definitions.is_empty() {
            return;
        }
        let hash = definitions::hash_of(&content.definitions);
        let standing = self.standing(site, path, file, &hash);
        if standing == Standing::Trusted {
            self.is_more = true;
            let kept = KeptSource {
                file: hash::of(&file.bytes),
                hash: hash.clone(),
                definitions: content.definitions.clone(),
            };
            self.in_force.0.insert(path.as_str().to_owned(), kept);
        }
        self.push(site, path, standing, hash, content.shown, content.definitions);
    }

    /// A source that the session holds: it stays as it was, whatever became of its file.
    fn keep_on(&mut self, site: &Site, path: &Utf8Path, kept: KeptSource, found: &Found) {
        let mut shown: Option<Arc<[u8]>> = None;
        let became = match found {
            Found::File(file) if hash::of(&file.bytes) == kept.file => {
                shown = Some(shown_of(site, file));
                self.lost(site, path, file, &kept.hash)
            }
            Found::File(file) => match self.content(site, path, file) {
                Some(content) => {
                    let hash = definitions::hash_of(&content.definitions);
                    let standing = self.standing(site, path, file, &hash);
                    if hash == kept.hash {
                        shown = Some(content.shown);
                        self.lost(site, path, file, &hash)
                    } else if content.definitions.is_empty() {
                        Some(("was edited", "its hooks are gone in the next session", hash))
                    } else if standing == Standing::Trusted {
                        Some(("was edited", "what stands there now counts from the next session on", hash))
                    } else {
                        Some(("was edited", "what stands there now needs approval in the next session", hash))
                    }
                }
                None => Some((
                    "was edited and can no longer be read",
                    "its hooks are gone in the next session",
                    hash::of(&file.bytes),
                )),
            },
            Found::Missing => Some(("was removed", "its hooks are gone in the next session", String::new())),
            Found::Refused(refusal) => {
                Some(("can no longer be read", "its hooks are gone in the next session", refusal.to_string()))
            }
            Found::Folder { .. } => {
                Some(("is a folder now", "its hooks are gone in the next session", String::new()))
            }
        };
        if let Some((what, then, state)) = became {
            self.loaded.notices.push(Notice {
                key: format!("celeste edited {path} {state}"),
                text: format!(
                    "celeste: {} {what} since this session began: the hooks that were loaded then stay on until it ends; {then}",
                    text::line(path.as_str())
                ),
            });
        }
        let shown = shown.unwrap_or_else(|| {
            format!("{{\"hooks\":{}}}", definitions::canonical(&kept.definitions)).into_bytes().into()
        });
        self.push(site, path, Standing::Trusted, kept.hash.clone(), shown, kept.definitions.clone());
        self.in_force.0.insert(path.as_str().to_owned(), kept);
    }

    /// What became of the trust in a file whose content is still what the session holds.
    fn lost(
        &self,
        site: &Site,
        path: &Utf8Path,
        file: &File,
        hash: &str,
    ) -> Option<(&'static str, &'static str, String)> {
        if site.kind.is_global() {
            let why = self.scope.distrust(path, file)?;
            return Some(("can no longer be believed", "they do not run in the next session", why));
        }
        // Of a store that cannot be used a person is told anyway.
        let standing = self.store.as_ref().ok()?.status(path.as_str(), hash);
        let state = standing.as_str().to_owned();
        match standing {
            Standing::Trusted => None,
            Standing::Declined => Some(("was declined", "they do not run in the next session", state)),
            _ => Some(("lost its approval", "the next session asks again", state)),
        }
    }

    /// What a file defines; nothing where it is rejected whole, which is told of.
    fn content(&mut self, site: &Site, path: &Utf8Path, file: &File) -> Option<Content> {
        let content = read(site, &file.bytes);
        match content {
            Ok(content) => {
                for remark in &content.remarks {
                    self.remark(path, remark, &remark.message);
                }
                // The run that fails says so; until then lists show it.
                for hole in &content.holes {
                    self.problem(path, Some(hole), &hole.message);
                }
                Some(content)
            }
            Err(mistakes) => {
                for mistake in mistakes {
                    self.remark(path, &mistake, &format!("{}: no hook of this file runs", mistake.message));
                }
                None
            }
        }
    }

    fn standing(&mut self, site: &Site, path: &Utf8Path, file: &File, hash: &str) -> Standing {
        if site.kind.is_global() {
            let Some(why) = self.scope.distrust(path, file) else { return Standing::Trusted };
            let why = format!("{why}: its hooks do not run");
            self.problem(path, None, &why);
            self.notice_problem(path, &why);
            return Standing::Untrusted;
        }
        match &self.store {
            Ok(store) => store.status(path.as_str(), hash),
            Err(_) => Standing::Untrusted,
        }
    }

    fn push(
        &mut self,
        site: &Site,
        path: &Utf8Path,
        standing: Standing,
        hash: String,
        content: Arc<[u8]>,
        definitions: Vec<Definition>,
    ) {
        let hooks: Vec<_> =
            definitions.iter().enumerate().map(|(index, definition)| definition.hook(index)).collect();
        if site.kind.is_grimoire() {
            self.problem(
                path,
                None,
                "its hooks are of protocol v1, which knows exit codes only; `.celeste/hooks.json` has protocol v2",
            );
        }
        let skipped = (!site.kind.is_global() && standing != Standing::Trusted)
            .then(|| skipped(path, standing, &hash, hooks.len()));
        self.loaded.sources.push(Source {
            dialect: Name::Celeste,
            kind: site.kind.as_str(),
            path: path.as_str().to_owned(),
            standing,
            hash: Some(hash),
            content,
            hooks,
            needs_approval: !site.kind.is_global(),
        });
        self.loaded.armed.push(Armed { root: site.root.clone(), definitions, skipped });
    }

    fn stream_rules(&mut self, site: &Site, path: &Utf8Path, rules: &[u8]) {
        if !rules.is_empty() {
            let section = format!("{path}#stream-rules");
            self.section(Kind::RepoStreamRules, section, site.root.clone(), &hash::of(rules), rules.into());
        }
    }

    fn sandbox(&mut self, path: &Utf8Path, found: &Found) {
        let Some(file) = self.section_file(path, found) else { return };
        match sections::sandbox(&file.bytes) {
            Ok(Some(Section { hash, shown })) => {
                let root = Some(self.scope.workspace.clone());
                self.section(
                    Kind::RepoSandbox,
                    format!("{path}#sandbox"),
                    root,
                    &hash,
                    shown.into_bytes().into(),
                );
            }
            Ok(None) => {}
            Err(mistake) => self.remark_quietly(path, &mistake, "no part of it is used"),
        }
    }

    fn servers(&mut self, path: &Utf8Path, found: &Found) {
        let Some(file) = self.section_file(path, found) else { return };
        match sections::servers(&file.bytes) {
            Ok(servers) => self
                .servers
                .extend(servers.into_iter().map(|(name, section)| (name, (path.to_owned(), section)))),
            Err(mistake) => self.remark_quietly(path, &mistake, "no server in it may be started"),
        }
    }

    fn section_file<'f>(&mut self, path: &Utf8Path, found: &'f Found) -> Option<&'f File> {
        match found {
            Found::File(file) => return Some(file),
            Found::Refused(Refusal::Link) if self.has_told_of(path) => {}
            Found::Refused(refusal) => {
                self.problem(path, None, &format!("{}: no part of it is used", told(refusal)));
            }
            Found::Missing | Found::Folder { .. } => {}
        }
        None
    }

    fn section(&mut self, kind: Kind, path: String, root: Option<Utf8PathBuf>, hash: &str, shown: Arc<[u8]>) {
        let standing = match &self.store {
            Ok(store) => store.status(&path, hash),
            Err(_) => Standing::Untrusted,
        };
        self.loaded.sources.push(Source {
            dialect: Name::Celeste,
            kind: kind.as_str(),
            path,
            standing,
            hash: Some(hash.to_owned()),
            content: shown,
            hooks: vec![],
            needs_approval: true,
        });
        self.loaded.armed.push(Armed { root, ..Armed::default() });
    }

    fn refused(&mut self, path: &Utf8Path, refusal: &Refusal) {
        let why = format!("{}: no hook in it runs", told(refusal));
        self.problem(path, None, &why);
        self.notice_problem(path, &why);
    }

    fn problem(&mut self, path: &Utf8Path, at: Option<&Mistake>, message: &str) {
        self.loaded.problems.push(Problem {
            path: path.as_str().to_owned(),
            line: at.map(|mistake| mistake.line),
            column: at.map(|mistake| mistake.column),
            message: message.to_owned(),
        });
    }

    /// A problem that a person is told of when hooks run.
    fn remark(&mut self, path: &Utf8Path, mistake: &Mistake, message: &str) {
        self.problem(path, Some(mistake), message);
        let place = format!("line {}, column {}: {message}", mistake.line, mistake.column);
        self.notice_problem(path, &place);
    }

    /// A problem that concerns no hook: only lists show it.
    fn remark_quietly(&mut self, path: &Utf8Path, mistake: &Mistake, then: &str) {
        self.problem(path, Some(mistake), &format!("{}: {then}", mistake.message));
    }

    fn notice_problem(&mut self, path: &Utf8Path, why: &str) {
        self.loaded.notices.push(Notice {
            key: format!("celeste problem {path} {why}"),
            text: format!("celeste: {}: {why}", text::quote(path.as_str())),
        });
    }

    /// Answers about what no longer stands in this workspace: they stay visible, so that they can be forgotten.
    fn remnants(&mut self) {
        let Ok(store) = &self.store else { return };
        let mut left: Vec<(&str, Kind)> = Vec::new();
        for path in store.paths() {
            let Some((kind, file)) = sites::kind_of_key(path, &self.scope.homes.home) else { continue };
            let is_here = || sites::root_of(file).is_some_and(|root| self.scope.workspace.starts_with(root));
            if is_here() && !self.loaded.sources.iter().any(|source| source.path == path) {
                left.push((path, kind));
            }
        }
        for (path, kind) in left {
            let standing = store.status(path, "");
            // Of sections nobody misses a hook.
            if standing == Standing::Changed && matches!(kind, Kind::Repo | Kind::RepoGrimoire) {
                self.loaded.notices.push(Notice {
                    key: format!("celeste gone {path}"),
                    text: format!(
                        "celeste: {}: hooks were approved there, and now there are none that could run; take the \
                         approval back with `becket forget {}`",
                        text::line(path),
                        text::line(&crate::spelling::shell_quote(path))
                    ),
                });
            }
            self.loaded.sources.push(Source {
                dialect: Name::Celeste,
                kind: kind.as_str(),
                path: path.to_owned(),
                standing,
                hash: None,
                content: Arc::from([]),
                hooks: vec![],
                needs_approval: true,
            });
            self.loaded.armed.push(Armed::default());
        }
    }

    fn finish(mut self) -> Loaded {
        let root = self.scope.workspace.clone();
        for (name, (path, Section { hash, shown })) in std::mem::take(&mut self.servers) {
            let shown = shown.into_bytes().into();
            self.section(Kind::RepoMcp, format!("{path}#mcp:{name}"), Some(root.clone()), &hash, shown);
        }
        self.remnants();
        let needs_store = self.loaded.sources.iter().any(|source| source.needs_approval);
        if let (Err(why), true) = (self.store.clone(), needs_store) {
            let path = store::path(&self.scope.homes.home);
            let why = format!("{why}: repo hooks stay untrusted until it is put right");
            self.problem(&path, None, &why);
            self.loaded.notices.push(Notice {
                key: format!("celeste store {why}"),
                text: format!("celeste: {}: {why}", text::line(path.as_str())),
            });
        }
        if self.is_more {
            // What was held for another workspace stays held.
            self.in_force.0.append(&mut self.kept.0);
            self.loaded.keep = Some(self.in_force);
        }
        self.loaded
    }
}

fn read(site: &Site, bytes: &Arc<[u8]>) -> Result<Content, Vec<Mistake>> {
    if site.kind.is_grimoire() {
        let read = grimoire::parse(bytes);
        return Ok(Content {
            shown: read.hooks.into(),
            definitions: read.definitions,
            remarks: read.remarks,
            holes: read.holes,
        });
    }
    let parsed = definitions::parse(bytes)?;
    Ok(Content {
        definitions: parsed.definitions,
        shown: Arc::clone(bytes),
        remarks: vec![],
        holes: parsed.holes,
    })
}

/// What a person reads of a file whose hooks are known already.
fn shown_of(site: &Site, file: &File) -> Arc<[u8]> {
    if site.kind.is_grimoire() { grimoire::parse(&file.bytes).hooks.into() } else { Arc::clone(&file.bytes) }
}

fn skipped(path: &Utf8Path, standing: Standing, hash: &str, hooks: usize) -> Notice {
    let path = path.as_str();
    let what = if hooks == 1 { "1 hook".to_owned() } else { format!("{hooks} hooks") };
    let was = if hooks == 1 { "was" } else { "were" };
    let quoted = text::line(path);
    let why = super::question::why_not(standing);
    let argument = crate::spelling::shell_quote(path);
    Notice {
        key: format!("celeste {} {path} {hash}", standing.as_str()),
        text: format!(
            "celeste: {what} in {quoted} {was} skipped: {why}; read with `becket list`, approve with `becket approve {}`",
            text::line(&argument)
        ),
    }
}
