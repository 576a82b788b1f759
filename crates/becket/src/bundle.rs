//! Hook definitions that plugins bring: installed disabled, removed without losing what somebody edited.
//!
//! A record in `BECKET_HOME` is written before the first file and goes after the last, so that an interrupted change
//! can be finished. Grants at a bundle's paths are revoked before any file is written: an old one must not wake up.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use becket_core::dialect::shadowcode::{Bundle, Installed, Shadowcode, State};
use becket_core::dialect::{Dialect as _, Source, Standing, Store};
use becket_core::hash;
use becket_core::place::{Found, Links, Place, What};
use becket_core::scope::{Mode, Scope};
use becket_core::text;
use camino::{Utf8Path, Utf8PathBuf};

use crate::answer::AnswerError;
use crate::engine::Engine;
use crate::files::{self, FileError};
use crate::home::Home;
use crate::read;

/// The folders whose files count against the limit of a project.
const FOLDERS: [&str; 2] = [".shadowcode/hooks", ".shadow/hooks"];

/// Most entries of one folder that are counted.
const MOST_ENTRIES: usize = 10_000;

/// Largest file of a bundle, and largest record, in bytes.
const LIMIT: u64 = 4_000_000;

/// What became of a bundle's files.
#[derive(Debug, Default)]
pub struct BundleChange {
    /// The plugin.
    pub plugin: String,
    /// Files that were written, or deleted.
    pub changed: Vec<Utf8PathBuf>,
    /// Files that somebody edited, which were left.
    pub retained: Vec<Utf8PathBuf>,
    /// Parts of the bundle that are not for Becket.
    pub ignored: Vec<String>,
}

impl Engine {
    /// Installs a bundle's hook definitions into a project, disabled.
    ///
    /// # Errors
    /// The bundle is refused whole, with the reason; nothing was written.
    pub fn add_bundle(&self, workspace: Utf8PathBuf, bytes: &[u8]) -> Result<BundleChange, AnswerError> {
        let bundle = Bundle::parse(bytes).map_err(AnswerError::Refused)?;
        let scope = self.scope(workspace, Mode::Build);
        self.check_person()?;
        let home = self.home(&scope)?;
        let _one_at_a_time = home.lock_answers()?;
        let record = RecordFile::of(&home, &scope, &bundle.name)?;
        if let Some(before) = record.read()? {
            let plugin = text::line(&before.plugin);
            let hint = match before.state {
                State::Installed => "remove it first",
                State::Adding | State::Removing => {
                    "an earlier change was interrupted: finish it with `becket bundle remove`"
                }
            };
            return Err(AnswerError::Refused(format!("{plugin} is in this project already: {hint}")));
        }
        bundle.check(&present(&scope)).map_err(AnswerError::Refused)?;
        for file in &bundle.files {
            check_path(&scope, &file.path)?;
        }
        let adding = bundle.installed(scope.real_workspace.as_str(), State::Adding);
        record.write(&adding)?;
        let written = revoke(&scope, &adding).and_then(|()| write_files(&scope, &bundle));
        let written = match written {
            Ok(written) => written,
            Err(error) => {
                // Nothing may be left of a bundle that was refused.
                delete(&scope, &adding);
                record.remove()?;
                return Err(error);
            }
        };
        record.write(&bundle.installed(scope.real_workspace.as_str(), State::Installed))?;
        Ok(BundleChange {
            plugin: bundle.name,
            changed: written,
            ignored: bundle.ignored,
            ..BundleChange::default()
        })
    }

    /// Removes a bundle: its grants first, then its files that nobody edited. Finishes an interrupted change too.
    ///
    /// # Errors
    /// There is no such bundle, or its grants cannot be revoked; no file was deleted.
    pub fn remove_bundle(&self, workspace: Utf8PathBuf, plugin: &str) -> Result<BundleChange, AnswerError> {
        let scope = self.scope(workspace, Mode::Build);
        self.check_person()?;
        let home = self.home(&scope)?;
        let _one_at_a_time = home.lock_answers()?;
        let record = RecordFile::of(&home, &scope, plugin)?;
        let Some(mut installed) = record.read()? else {
            let (plugin, workspace) = (text::line(plugin), text::line(scope.workspace.as_str()));
            return Err(AnswerError::Refused(format!("no plugin {plugin} is installed in {workspace}")));
        };
        installed.state = State::Removing;
        record.write(&installed)?;
        revoke(&scope, &installed)?;
        let (changed, retained) = delete(&scope, &installed);
        record.remove()?;
        Ok(BundleChange { plugin: installed.plugin, changed, retained, ..BundleChange::default() })
    }
}

/// The record of one plugin in one project.
struct RecordFile<'a> {
    home: &'a Home,
    path: Utf8PathBuf,
}

impl<'a> RecordFile<'a> {
    fn of(home: &'a Home, scope: &Scope, plugin: &str) -> Result<Self, FileError> {
        let name = hash::of(format!("{} {plugin}", scope.real_workspace).as_bytes());
        Ok(Self { home, path: home.folder("bundles")?.join(format!("{name}.json")) })
    }

    fn read(&self) -> Result<Option<Installed>, FileError> {
        let file = self.home.read(&self.path, LIMIT).map_err(|unread| unread.of(&self.path))?;
        let installed = file.map(|file| Installed::parse(&file.bytes)).transpose();
        installed.map_err(|why| FileError::new(&self.path, why))
    }

    fn write(&self, installed: &Installed) -> Result<(), FileError> {
        files::replace(&self.path, &installed.to_bytes())
    }

    fn remove(&self) -> Result<(), FileError> {
        files::remove(&self.path)
    }
}

/// Every file in both folders, by its path in the project.
fn present(scope: &Scope) -> Vec<String> {
    let names = |folder: &&str| {
        let what = What::Folder { endings: &[], most: MOST_ENTRIES };
        let links = Links::Beneath { root: scope.workspace.clone() };
        let place = Place { path: scope.workspace.join(folder), what, links, limit: LIMIT };
        let folder = (*folder).to_owned();
        match read::read(&place) {
            Found::Folder { entries, .. } => {
                entries.into_iter().map(|entry| format!("{folder}/{}", entry.name)).collect()
            }
            _ => Vec::new(),
        }
    };
    FOLDERS.iter().flat_map(names).collect()
}

fn in_project(scope: &Scope, path: &str) -> Found {
    let links = Links::Refuse { below: scope.workspace.clone() };
    read::read(&Place { links, ..Place::file(scope.workspace.join(path), LIMIT) })
}

/// A file is only written where nothing is, through folders that are no links.
fn check_path(scope: &Scope, path: &str) -> Result<(), AnswerError> {
    match in_project(scope, path) {
        Found::Missing => Ok(()),
        Found::Refused(refusal) => Err(FileError::new(&scope.workspace.join(path), refusal).into()),
        Found::File(_) | Found::Folder { .. } => {
            Err(AnswerError::Refused(format!("{} is there already: nothing was installed", text::line(path))))
        }
    }
}

fn write_files(scope: &Scope, bundle: &Bundle) -> Result<Vec<Utf8PathBuf>, AnswerError> {
    let mut written = Vec::with_capacity(bundle.files.len());
    for file in &bundle.files {
        let path = scope.workspace.join(&file.path);
        let folder = path.parent().unwrap_or(Utf8Path::new("/"));
        std::fs::create_dir_all(folder).map_err(|error| FileError::new(folder, error))?;
        let mut options = std::fs::OpenOptions::new();
        // A file of somebody else is never written over, whoever put it there meanwhile.
        let options = options.write(true).create_new(true).mode(0o644);
        let write = || -> std::io::Result<()> {
            let mut created = options.open(&path)?;
            created.write_all(&file.bytes)?;
            created.sync_all()
        };
        write().map_err(|error| FileError::new(&path, error))?;
        written.push(path);
    }
    Ok(written)
}

/// Deletes a bundle's files that nobody edited; answers them and those that were kept.
fn delete(scope: &Scope, installed: &Installed) -> (Vec<Utf8PathBuf>, Vec<Utf8PathBuf>) {
    let removal = installed.removal(|path| match in_project(scope, path) {
        Found::Missing => Ok(None),
        Found::File(file) => Ok(Some(hash::of(&file.bytes))),
        Found::Refused(refusal) => Err(refusal.to_string()),
        Found::Folder { .. } => Err("it is a folder".to_owned()),
    });
    let whole = |path: &String| scope.workspace.join(path);
    let mut retained: Vec<Utf8PathBuf> = removal.retained.iter().map(whole).collect();
    let mut deleted = Vec::new();
    for path in removal.delete.iter().map(whole) {
        if files::remove(&path).is_ok() { deleted.push(path) } else { retained.push(path) }
    }
    (deleted, retained)
}

/// Takes every grant at the bundle's paths out of the profile.
fn revoke(scope: &Scope, installed: &Installed) -> Result<(), AnswerError> {
    let Store { path, lock, limit } = Shadowcode.store(scope, &placeholder(scope));
    if !read::exists(&path) {
        return Ok(());
    }
    let _locked = lock.as_deref().map(files::locked).transpose()?;
    match read::read(&Place::file(path.clone(), limit)) {
        Found::Missing => Ok(()),
        Found::File(file) => match installed.revoke(&file.bytes) {
            Ok(None) => Ok(()),
            Ok(Some(bytes)) => Ok(files::replace(&path, &bytes)?),
            Err(why) => Err(FileError::new(&path, why).into()),
        },
        Found::Refused(refusal) => Err(FileError::new(&path, refusal).into()),
        Found::Folder { .. } => Err(FileError::new(&path, "it is a folder").into()),
    }
}

/// ShadowCode keeps all standings in one file, so any source names it.
fn placeholder(scope: &Scope) -> Source {
    Source {
        dialect: becket_core::dialect::Name::Shadowcode,
        kind: "definition",
        path: scope.workspace.to_string(),
        standing: Standing::Untrusted,
        hash: None,
        content: std::sync::Arc::from([]),
        hooks: Vec::new(),
        needs_approval: true,
    }
}
