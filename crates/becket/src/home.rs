//! `BECKET_HOME`: where ledger, sessions and journal live. It is believed only if nobody else could have written it.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use becket_core::dialect::Timestamp;
use becket_core::hash;
use becket_core::journal::Record;
use becket_core::ledger::Ledger;
use becket_core::place::{self, Found, Links, Place, Refusal};
use becket_core::scope::Scope;
use becket_core::session::{self, Fact, Facts, Gaps};
use becket_core::text;
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::files::{self, FileError, Locked};
use crate::read;

/// Largest ledger that is read, in bytes.
const LEDGER_LIMIT: u64 = 8 << 20;

/// Largest content of a source that is kept, in bytes.
const CONTENT_LIMIT: u64 = 64 << 20;

/// A session's file is added up into one line once it is larger, in bytes.
const SESSION_COMPACT: u64 = 64 << 10;

/// Largest file of a session that is read, in bytes.
const SESSION_LIMIT: u64 = 16 << 20;

/// A session's file is removed this long after its last event.
const SESSION_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// So many files are looked at for their age when a session begins.
const AGED_AT_ONCE: usize = 64;

/// A journal is put aside once it is larger, in bytes.
const JOURNAL_LIMIT: u64 = 16 << 20;

/// So many journals that were put aside are kept.
const JOURNALS: usize = 4;

/// Why something below the home is refused; the home itself may be a link, and is judged by where it leads.
const LINK: &str = "it is reached through a symlink below Becket's home";

/// Becket's own directory, found safe.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    path: Utf8PathBuf,
    /// With links resolved.
    real: Utf8PathBuf,
}

impl Home {
    /// The home at a path, created where it is missing. Whether it may be believed also depends on the workspace:
    /// [`Home::believed`].
    ///
    /// # Errors
    /// It cannot be created, or somebody else could write it.
    pub(crate) fn open(path: &Utf8Path) -> Result<Self, FileError> {
        if !path.is_absolute() {
            return Err(FileError::new(path, "it is not an absolute path; set HOME or BECKET_HOME to one"));
        }
        let look = || rustix::fs::stat(path.as_std_path());
        let stat = match look() {
            Err(Errno::NOENT) => {
                files::create_directory(path)?;
                look()
            }
            looked => looked,
        };
        let stat = stat.map_err(|errno| FileError::new(path, errno))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Err(FileError::new(path, "it is not a directory"));
        }
        if let Some(why) = read::distrust(&stat) {
            return Err(unbelieved(path, why));
        }
        Ok(Self { path: path.to_owned(), real: read::resolved(path) })
    }

    /// The same home, unless whoever writes the workspace could have planted it.
    ///
    /// # Errors
    /// It lies in the workspace, or links lead there.
    pub(crate) fn believed(&self, scope: &Scope) -> Result<Self, FileError> {
        if scope.is_planted(&self.path) || scope.is_planted(&self.real) {
            return Err(unbelieved(&self.path, "it lies inside the workspace, or leads there"));
        }
        Ok(self.clone())
    }

    /// Where a file of the home is. Nothing below the home is read, written or created through a link: where one led to
    /// would be judged by nobody, and every workspace shares the home. It may be a link itself.
    pub(crate) fn file(&self, name: &str) -> Utf8PathBuf {
        self.path.join(name)
    }

    /// A folder of the home, created where it is missing.
    pub(crate) fn folder(&self, name: &str) -> Result<Utf8PathBuf, FileError> {
        let folder = self.path.join(name);
        match rustix::fs::lstat(folder.as_std_path()) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {}
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                return Err(unbelieved(&folder, LINK));
            }
            Ok(_) => return Err(FileError::new(&folder, "it is not a directory")),
            Err(Errno::NOENT) => files::create_directory(&folder)?,
            Err(errno) => return Err(FileError::new(&folder, errno)),
        }
        Ok(folder)
    }

    /// What is at a path in the home. The one way in which its files are read: one that somebody else could have written
    /// is refused.
    pub(crate) fn read(&self, path: &Utf8Path, limit: u64) -> Result<Option<place::File>, Unread> {
        let links = Links::Refuse { below: self.path.clone() };
        match read::read(&Place { links, ..Place::file(path, limit) }) {
            Found::Missing => Ok(None),
            Found::File(place::File { unsafe_store: Some(why), .. }) => {
                Err(Unread::Other(unbelieved(path, &why)))
            }
            Found::File(file) => Ok(Some(file)),
            Found::Refused(Refusal::Changing) => Err(Unread::Changing),
            Found::Refused(Refusal::Link) => Err(Unread::Other(unbelieved(path, LINK))),
            Found::Refused(refusal) => Err(Unread::Other(FileError::new(path, refusal))),
            Found::Folder { .. } => Err(Unread::Other(FileError::new(path, "it is a folder"))),
        }
    }

    /// A file of the home that is read and appended to, created where it is missing.
    pub(crate) fn open_file(&self, path: &Utf8Path) -> Result<fs::File, FileError> {
        let inside = path.strip_prefix(&self.path).unwrap_or(path);
        read::open_own(&self.path, inside).map_err(|refusal| match refusal {
            Refusal::Link => unbelieved(path, LINK),
            refusal => FileError::new(path, refusal),
        })
    }

    /// A file that is appended to under its own lock, and still stands under its name.
    fn open_appended(&self, path: &Utf8Path) -> Result<fs::File, FileError> {
        loop {
            let file = self.open_file(path)?;
            files::lock(&file, path)?;
            // Whoever held the lock may have put another file in its place.
            if files::is_under_its_name(&file, path).map_err(|error| FileError::new(path, error))? {
                return Ok(file);
            }
        }
    }

    /// The ledger as it stands. A missing one is empty.
    pub(crate) fn ledger(&self) -> Result<Ledger, FileError> {
        let path = self.path.join("ledger.json");
        match self.read(&path, LEDGER_LIMIT).map_err(|unread| unread.of(&path))? {
            None => Ok(Ledger::default()),
            Some(file) => Ledger::parse(&file.bytes).map_err(|why| FileError::new(&path, why)),
        }
    }

    /// The lock under which answers are given: one at a time.
    pub(crate) fn lock_answers(&self) -> Result<Locked, FileError> {
        let path = self.path.join("ledger.lock");
        Locked::take(self.open_file(&path)?, &path)
    }

    pub(crate) fn write_ledger(&self, ledger: &Ledger) -> Result<(), FileError> {
        files::replace(&self.path.join("ledger.json"), &ledger.to_bytes())
    }

    /// Keeps approved content under its hash, so that a later change can be shown as one.
    pub(crate) fn keep_content(&self, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.folder("contents")?.join(hash::of(bytes));
        if self.content(&hash::of(bytes)).is_some() { Ok(()) } else { files::replace(&path, bytes) }
    }

    /// Content that was approved once.
    pub(crate) fn content(&self, content_hash: &str) -> Option<Vec<u8>> {
        if !hash::is_hash(content_hash) {
            return None;
        }
        let file = self.read(&self.path.join("contents").join(content_hash), CONTENT_LIMIT).ok()??;
        (hash::of(&file.bytes) == content_hash).then(|| file.bytes.to_vec())
    }

    /// Where a session's facts are.
    pub(crate) fn session_file(&self, key: &str) -> Utf8PathBuf {
        self.path.join("sessions").join(format!("{}.jsonl", hash::of(key.as_bytes())))
    }

    /// What is known of a session, and what of it could not be read.
    pub(crate) fn session(&self, key: &str) -> Result<(Facts, Gaps), FileError> {
        let path = self.session_file(key);
        match self.read(&path, SESSION_LIMIT) {
            Ok(None) => Ok((Facts { remembered: true, ..Facts::default() }, Gaps::default())),
            Ok(Some(file)) => Ok(Facts::read(&String::from_utf8_lossy(&file.bytes))),
            // Others append to it all the time; under the lock it stands still.
            Err(Unread::Changing) => {
                let (_, text) = self.open_session(&path)?;
                Ok(Facts::read(&text))
            }
            Err(Unread::Other(error)) => Err(error),
        }
    }

    /// Adds facts to a session. `decide` sees the facts as they stand, and nobody changes them until what it answers
    /// is stored. No hook runs meanwhile.
    pub(crate) fn add_facts(
        &self,
        key: &str,
        decide: impl FnOnce(&Facts) -> Vec<Fact>,
    ) -> Result<(), FileError> {
        self.folder("sessions")?;
        let path = self.session_file(key);
        let io = |error: std::io::Error| FileError::new(&path, error);
        let (mut file, text) = self.open_session(&path)?;
        let (mut facts, gaps) = Facts::read(&text);
        let is_new = text.is_empty();
        let new = decide(&facts);
        if new.is_empty() {
            return Ok(());
        }
        let mut lines = String::new();
        if !text.is_empty() && !text.ends_with('\n') {
            // A kill tore the last line: it is closed, and stays unread.
            lines.push('\n');
        }
        for fact in new {
            let line = session::line(&fact);
            lines.push_str(&line.ok_or_else(|| FileError::new(&path, "it would not read back as it is"))?);
            facts.add(fact);
        }
        let size = (text.len() + lines.len()) as u64;
        // What cannot be read stays where it is: added up without it, its loss could no longer be told.
        if size > SESSION_COMPACT
            && gaps.is_none()
            && let Some(sum) = session::line(&Fact::Sum(Box::new(facts)))
            && (sum.len() < text.len() || size > SESSION_LIMIT && sum.len() as u64 <= SESSION_LIMIT)
        {
            return files::replace(&path, sum.as_bytes());
        }
        if size > SESSION_LIMIT {
            return Err(too_large(&path));
        }
        file.seek(SeekFrom::End(0)).map_err(io)?;
        file.write_all(lines.as_bytes()).map_err(io)?;
        if is_new {
            self.forget("sessions", SESSION_AGE);
        }
        Ok(())
    }

    /// Removes some files that were not written for long. What cannot be removed is left.
    fn forget(&self, folder: &str, most: Duration) {
        let Ok(entries) = fs::read_dir(self.path.join(folder)) else { return };
        // A large folder is gone through in parts, by the last character of the names, whose turn changes with time.
        let turn = now().0.unsigned_abs() % 16;
        let is_its_turn = |name: &str| {
            let stem = name.split('.').next().unwrap_or_default();
            stem.chars()
                .next_back()
                .and_then(|last| last.to_digit(16))
                .is_none_or(|last| u64::from(last) == turn)
        };
        for (number, entry) in entries.flatten().enumerate() {
            if number >= AGED_AT_ONCE && !entry.file_name().to_str().is_some_and(is_its_turn) {
                continue;
            }
            let age =
                entry.metadata().and_then(|data| data.modified()).map(|at| at.elapsed().unwrap_or_default());
            if age.is_ok_and(|age| age > most) {
                drop(fs::remove_file(entry.path()));
            }
        }
    }

    /// Adds records to the journal, in one piece.
    pub(crate) fn journal(&self, records: Vec<Record>) -> Result<(), FileError> {
        if records.is_empty() {
            return Ok(());
        }
        let mut lines: String = records.into_iter().map(Record::line).collect();
        let path = self.path.join("journal.jsonl");
        let mut file = self.open_appended(&path)?;
        let size_of = |file: &fs::File| {
            file.metadata().map(|data| data.len()).map_err(|error| FileError::new(&path, error))
        };
        let mut size = size_of(&file)?;
        if size > JOURNAL_LIMIT {
            self.put_journal_aside(&path)?;
            file = self.open_appended(&path)?;
            size = size_of(&file)?;
        }
        if size > 0 && !ends_a_line(&file, size) {
            lines.insert(0, '\n');
        }
        file.write_all(lines.as_bytes()).map_err(|error| FileError::new(&path, error))
    }

    fn put_journal_aside(&self, path: &Utf8Path) -> Result<(), FileError> {
        let numbered = |number: usize| self.path.join(format!("journal.{number}.jsonl"));
        for number in (1..JOURNALS).rev() {
            drop(fs::rename(numbered(number), numbered(number + 1)));
        }
        fs::rename(path, numbered(1)).map_err(|error| FileError::new(path, error))
    }

    /// A session's file, locked, and what stands in it.
    fn open_session(&self, path: &Utf8Path) -> Result<(fs::File, String), FileError> {
        let mut file = self.open_appended(path)?;
        let mut bytes = Vec::new();
        let read = (&mut file).take(SESSION_LIMIT + 1).read_to_end(&mut bytes);
        if read.map_err(|error| FileError::new(path, error))? as u64 > SESSION_LIMIT {
            return Err(too_large(path));
        }
        Ok((file, String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// Why a file of the home was not read.
pub(crate) enum Unread {
    /// It changed while it was read, several times over.
    Changing,
    Other(FileError),
}

impl Unread {
    pub(crate) fn of(self, path: &Utf8Path) -> FileError {
        match self {
            Self::Changing => FileError::new(path, Refusal::Changing),
            Self::Other(error) => error,
        }
    }
}

/// Something of the home that somebody else could have written.
fn unbelieved(path: &Utf8Path, why: impl std::fmt::Display) -> FileError {
    FileError::new(path, format!("{why}, so nothing in it is believed"))
}

/// Of a file that is not read whole nobody knows what it says, so it never becomes one.
fn too_large(path: &Utf8Path) -> FileError {
    FileError::new(path, format!("a session's file holds at most {} MiB", SESSION_LIMIT >> 20))
}

fn ends_a_line(file: &fs::File, size: u64) -> bool {
    let mut last = [0];
    file.read_exact_at(&mut last, size - 1).is_ok() && last == *b"\n"
}

/// Now, in milliseconds since 1970, by the clock that file systems stamp files with.
///
/// That clock moves a tick at a time (some 4 ms). An answer's time is held against the time at which an agent's own
/// store was written: by the finer clock, what was written right after an answer could seem older than it.
pub fn now() -> Timestamp {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    Timestamp(now.tv_sec.saturating_mul(1000).saturating_add(now.tv_nsec / 1_000_000))
}

/// What a person is told when the home cannot be used.
pub(crate) fn unusable(error: &FileError) -> String {
    format!(
        "becket: nothing is remembered, and no approval kept by Becket counts: {}",
        text::line(&error.to_string())
    )
}
