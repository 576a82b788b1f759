//! A person's answers about sources: approve, decline, forget.

use std::sync::Arc;

use becket_core::dialect::{Answer, Dialect, Known, Name, Question, Source, Standing, Store, StoreChange};
use becket_core::hash;
use becket_core::journal::{self, Record};
use becket_core::place::{Found, Place};
use becket_core::scope::{Mode, Scope};
use becket_core::text;
use camino::{Utf8Path, Utf8PathBuf};

use crate::engine::{Engine, Loaded};
use crate::files::{self, FileError};
use crate::home;
use crate::nested::Nesting;
use crate::read::{self, Reader};

/// Why an answer was not taken. Nothing was changed, save by [`AnswerError::Unfinished`].
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// There is no such source.
    #[error("{path} is no source of hooks for the workspace {workspace}{known}")]
    NoSource {
        /// What was asked for.
        path: String,
        /// Where it was looked for.
        workspace: String,
        /// What there is.
        known: String,
    },
    /// The content is not the one that was shown.
    #[error("{path} has changed since it was shown: its hash is now {now}; read it again before you answer")]
    Changed {
        /// The source.
        path: String,
        /// Its hash now.
        now: String,
    },
    /// It always runs.
    #[error(
        "{path} is your own file: it needs no approval and cannot be declined; edit or remove it instead"
    )]
    NeedsNone {
        /// The source.
        path: String,
    },
    /// A hook must not answer for a person.
    #[error(
        "this is started from inside a hook, and hooks do not answer for people or change what guards them"
    )]
    InsideAHook,
    /// It was asked from where hooks cannot be told from what is outside them.
    #[error(
        "hooks run just now in another process namespace, perhaps a container's, and whether this is inside one of them \
         cannot be told; answer again when they have ended"
    )]
    HooksElsewhere,
    /// It was asked from where it cannot be told whether that is inside a hook.
    #[error("whether this is inside a hook cannot be told ({0}); answer from another terminal")]
    Hidden(&'static str),
    /// There is no content to approve.
    #[error("{path} has no content that could be approved")]
    Nothing {
        /// The source.
        path: String,
    },
    /// The dialect or its store refuses.
    #[error("{0}")]
    Refused(String),
    /// A decline counts, but the approval that stands in the dialect's own store could not be taken out of it.
    #[error(
        "{path} is declined from now on, but the approval in the store of {dialect} itself still stands ({why}); \
         mend that and decline it again"
    )]
    Unfinished {
        /// The source.
        path: String,
        /// The dialect.
        dialect: &'static str,
        /// What kept the store from being written.
        why: FileError,
    },
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
}

/// An answer that was taken.
#[derive(Debug)]
pub struct Answered {
    /// The source that was answered about.
    pub source: Source,
    /// How it stands now; `None` where nothing is left of it.
    pub standing: Option<Standing>,
}

impl Loaded {
    /// The source at a path, as it is listed.
    pub fn source(&self, path: &str) -> Option<&Source> {
        self.rules.iter().flat_map(|rules| rules.sources()).find(|source| source.path == path)
    }

    /// The content of a source that was approved last, if it is known.
    pub fn approved_content(&self, source: &Source) -> Option<Vec<u8>> {
        let entry = self.ledger.entry(source.dialect, &source.path)?;
        self.home.as_ref()?.content(entry.content.as_ref().unwrap_or(&entry.hash))
    }
}

impl Engine {
    /// The source that an argument names: an absolute path, or one relative to the workspace or to where the process
    /// stands.
    ///
    /// # Errors
    /// [`AnswerError::NoSource`].
    pub fn find_source(&self, loaded: &Loaded, named: &str) -> Result<Source, AnswerError> {
        let candidates = [
            read::absolute(Utf8Path::new(named), &self.directory),
            read::absolute(Utf8Path::new(named), &loaded.scope.workspace),
        ];
        let found =
            candidates.iter().find_map(|path| loaded.source(path.as_str())).or_else(|| loaded.source(named));
        found.cloned().ok_or_else(|| {
            let paths: Vec<_> = loaded
                .rules
                .iter()
                .flat_map(|rules| rules.sources())
                .filter(|source| source.needs_approval)
                .map(|source| format!("\n  {}", text::line(&source.path)))
                .collect();
            let known = if paths.is_empty() {
                "; it has none that needs an answer (is --workspace right?)".to_owned()
            } else {
                format!("; those that take an answer are:{}", paths.concat())
            };
            AnswerError::NoSource {
                path: text::line(named).into_owned(),
                workspace: text::line(loaded.scope.workspace.as_str()).into_owned(),
                known,
            }
        })
    }

    /// Records a person's answer about the source at `path`, if its content still has the hash that was shown.
    ///
    /// The ledger and the dialect's store are two files, and a kill may come between them: whichever is written first, the
    /// source stands as before or as answered until the other is. The content is kept before both.
    ///
    /// # Errors
    /// Nothing was changed, with the reason; or a decline counts, and could not be written everywhere.
    pub fn answer(
        &self,
        workspace: Utf8PathBuf,
        path: &str,
        answer: Answer,
        shown: Option<&str>,
    ) -> Result<Answered, AnswerError> {
        let scope = self.scope(workspace.clone(), Mode::Build);
        self.check_person()?;
        let home = self.home(&scope)?;
        let _one_at_a_time = home.lock_answers()?;
        let loaded = self.load(workspace.clone());
        let source = self.find_source(&loaded, path)?;
        check(&source, answer, shown)?;
        let dialect = self.dialect(&source)?;
        let mut ledger = home.ledger()?;
        let was_declined = matches!(source.standing, Standing::Declined | Standing::DeclinedChanged);
        let hash = source.hash.clone().unwrap_or_default();
        if answer == Answer::Approve {
            home.keep_content(&source.content)?;
        }
        ledger.record(source.dialect, &source.path, answer, &hash, home::now());
        if answer == Answer::Approve {
            ledger.note_content(source.dialect, &source.path, hash::of(&source.content));
        }
        let store = OpenStore::open(dialect, &loaded.scope, &source)?;
        let question = Question {
            scope: &loaded.scope,
            known: Known::outside(&loaded.ledger),
            source: &source,
            answer,
            now: home::now(),
        };
        let change = dialect.decide(&question, store.before.as_deref()).map_err(AnswerError::Refused)?;
        match answer {
            Answer::Decline if change != StoreChange::Keep => {
                // The decline counts from here on, whatever becomes of the approval in the store.
                ledger.note_unfinished(source.dialect, &source.path, true);
                home.write_ledger(&ledger)?;
                store.write(change).map_err(|why| AnswerError::Unfinished {
                    path: text::line(&source.path).into_owned(),
                    dialect: source.dialect.title(),
                    why,
                })?;
                ledger.note_unfinished(source.dialect, &source.path, false);
                home.write_ledger(&ledger)?;
            }
            // As long as the ledger holds a decline that stands, it does, unless the store holds a newer approval.
            Answer::Approve | Answer::Forget if was_declined => {
                store.write(change)?;
                home.write_ledger(&ledger)?;
            }
            // The ledger grants nothing: the store is what counts.
            _ => {
                home.write_ledger(&ledger)?;
                store.write(change)?;
            }
        }
        drop(store);
        let what = journal::What::Answered {
            dialect: source.dialect,
            path: source.path.clone(),
            answer,
            hash: source.hash.clone(),
        };
        drop(home.journal(vec![Record { v: journal::VERSION, at: home::now(), what }]));
        let after = self.load(workspace);
        let standing = after.source(&source.path).map(|source| source.standing);
        Ok(Answered { source, standing })
    }

    /// Records whether a whole project is trusted, where its dialect asks for that: ShadowCode. It is kept in Becket's
    /// ledger, for no document says where ShadowCode keeps it.
    ///
    /// # Errors
    /// Nothing was changed, with the reason.
    pub fn trust_project(&self, workspace: Utf8PathBuf, answer: Answer) -> Result<Utf8PathBuf, AnswerError> {
        let scope = self.scope(workspace, Mode::Build);
        if !std::fs::metadata(&scope.workspace).is_ok_and(|data| data.is_dir()) {
            return Err(FileError::new(&scope.workspace, "it is not a directory").into());
        }
        self.check_person()?;
        let home = self.home(&scope)?;
        let _one_at_a_time = home.lock_answers()?;
        let mut ledger = home.ledger()?;
        // By its real path: trust given or taken back under one name counts under every other.
        ledger.record(Name::Shadowcode, scope.real_workspace.as_str(), answer, "", home::now());
        home.write_ledger(&ledger)?;
        let path = scope.workspace.to_string();
        let what = journal::What::Answered { dialect: Name::Shadowcode, path, answer, hash: None };
        drop(home.journal(vec![Record { v: journal::VERSION, at: home::now(), what }]));
        Ok(scope.workspace)
    }

    /// What a person approved of this source last, where that is kept, so that a change can be shown as one.
    pub fn approved_content(&self, loaded: &Loaded, source: &Source) -> Option<Vec<u8>> {
        let entry = loaded.ledger.entry(source.dialect, &source.path);
        let entry = entry.filter(|entry| entry.answer == Answer::Approve)?;
        loaded.home.as_ref()?.content(entry.content.as_ref().unwrap_or(&entry.hash))
    }

    /// Whether a person's approval of this source can be taken back without the hash of its content.
    pub fn forgets_unseen(&self, source: &Source) -> bool {
        source.hash.is_none() || self.dialect(source).is_ok_and(Dialect::forgets_unseen)
    }

    /// Refuses whoever answers from inside a hook, or changes there what guards.
    ///
    /// # Errors
    /// This process runs inside a hook, or nobody can tell.
    pub fn check_person(&self) -> Result<(), AnswerError> {
        match self.nesting() {
            Nesting::Outside => {}
            Nesting::InsideAHook => return Err(AnswerError::InsideAHook),
            Nesting::Hidden(why) => return Err(AnswerError::Hidden(why)),
        }
        if self.are_hooks_elsewhere() { Err(AnswerError::HooksElsewhere) } else { Ok(()) }
    }

    fn dialect(&self, source: &Source) -> Result<&'static dyn Dialect, AnswerError> {
        let found = self.dialects.iter().copied().find(|dialect| dialect.name() == source.dialect);
        found.ok_or_else(|| AnswerError::Refused(format!("the dialect {} is switched off", source.dialect)))
    }
}

fn check(source: &Source, answer: Answer, shown: Option<&str>) -> Result<(), AnswerError> {
    let path = text::line(&source.path).into_owned();
    if !source.needs_approval {
        return Err(AnswerError::NeedsNone { path });
    }
    match (&source.hash, shown) {
        (None, _) if answer == Answer::Approve => return Err(AnswerError::Nothing { path }),
        (Some(now), Some(shown)) if !now.eq_ignore_ascii_case(shown) => {
            return Err(AnswerError::Changed { path, now: now.clone() });
        }
        (None, Some(_)) if answer != Answer::Forget => {
            return Err(AnswerError::Changed { path, now: "that of no file".to_owned() });
        }
        _ => {}
    }
    Ok(())
}

/// A dialect's store, locked, with the content it has meanwhile.
struct OpenStore {
    path: Utf8PathBuf,
    before: Option<Arc<[u8]>>,
    _locked: Option<files::Locked>,
}

impl OpenStore {
    fn write(&self, change: StoreChange) -> Result<(), FileError> {
        match change {
            StoreChange::Keep => Ok(()),
            StoreChange::Write(bytes) => files::replace(&self.path, &bytes),
            StoreChange::Remove => files::remove(&self.path),
        }
    }

    fn open(dialect: &dyn Dialect, scope: &Scope, source: &Source) -> Result<Self, FileError> {
        let Store { path, lock, limit } = dialect.store(scope, source);
        if scope.is_planted(&path) {
            let why = "it lies inside the workspace, so no approval in it would be believed";
            return Err(FileError::new(&path, why));
        }
        if let Some(folder) = path.parent()
            && !read::exists(folder)
        {
            files::create_directory(folder)?;
        }
        let locked = lock.as_deref().map(files::locked).transpose()?;
        let before = match Reader::within(scope).read(&Place::file(path.clone(), limit)) {
            Found::Missing => None,
            Found::File(file) => match file.unsafe_store {
                Some(why) => return Err(FileError::new(&path, format!("{why}: it is left as it is"))),
                None => Some(file.bytes),
            },
            Found::Refused(refusal) => return Err(FileError::new(&path, refusal)),
            Found::Folder { .. } => return Err(FileError::new(&path, "it is a folder")),
        };
        Ok(Self { path, before, _locked: locked })
    }
}
