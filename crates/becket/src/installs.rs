//! Into which files of agents Becket was written. By this it is noticed when an entry, or its whole file, is gone; and
//! what was created for it can go with it.

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use becket_core::dialect::Timestamp;

use crate::engine::Engine;
use crate::files::{self, FileError};
use crate::home::{self, Home};
use crate::read;

/// The record in `BECKET_HOME`.
const FILE: &str = "installed.json";

/// Version of the record's form. A newer one is not written over.
const VERSION: u32 = 1;

/// Largest record that is read, in bytes.
const LIMIT: u64 = 4 << 20;

/// What is known of one file of an agent's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Install {
    /// The agent.
    pub host: String,
    /// The file, as the agent names it.
    pub path: Utf8PathBuf,
    /// Whether Becket is plugged in there; after `uninstall` it is not, and a copy that stays says nothing.
    pub plugged_in: bool,
    /// Whether it is a project's file; older records do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_project: Option<bool>,
    /// When that was last said.
    pub at: Timestamp,
    /// Directories that were made for the file, the uppermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<Utf8PathBuf>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    version: u32,
    installs: Vec<Install>,
}

impl Engine {
    /// Every file of an agent's that Becket was ever written into.
    ///
    /// # Errors
    /// The record cannot be read or believed.
    pub fn installs(&self) -> Result<Vec<Install>, FileError> {
        // Asking creates nothing.
        if !read::exists(&self.settings().homes.becket) {
            return Ok(Vec::new());
        }
        Ok(read_record(self.open_home()?).map_err(FileError::from)?.installs)
    }

    /// Records whether Becket is now plugged in, with the directories that were made for it; `None` forgets the file.
    /// Directories that were recorded before stay recorded as long as it is plugged in.
    ///
    /// # Errors
    /// The record cannot be read, believed or written; it is as it was.
    pub fn record_install(
        &self,
        host: &str,
        path: &Utf8Path,
        for_project: bool,
        plugged_in: Option<bool>,
        made: &[Utf8PathBuf],
    ) -> Result<(), FileError> {
        let home = self.open_home()?;
        let _one_at_a_time = home.lock_answers()?;
        let mut record = match read_record(home) {
            // What is plugged in from now on must be known; what stood there stays, for whoever can read it.
            Err(Unreadable::Torn(_)) if plugged_in == Some(true) => {
                put_aside(home)?;
                Record::default()
            }
            read => read.map_err(FileError::from)?,
        };
        let at = record.installs.iter().position(|install| install.host == host && install.path == path);
        let before = at.map(|at| record.installs.remove(at));
        if let Some(plugged_in) = plugged_in {
            let kept = before.filter(|_| plugged_in).map(|before| before.made).unwrap_or_default();
            let mut made: Vec<Utf8PathBuf> = kept.into_iter().chain(made.iter().cloned()).collect();
            made.sort();
            made.dedup();
            let (host, path, at) = (host.to_owned(), path.to_owned(), home::now());
            let for_project = Some(for_project);
            record.installs.push(Install { host, path, plugged_in, for_project, at, made });
        }
        record.version = VERSION;
        let mut bytes = serde_json::to_vec_pretty(&record).unwrap_or_default();
        bytes.push(b'\n');
        files::replace(&home.file(FILE), &bytes)
    }
}

/// Why there is no record to be had.
enum Unreadable {
    /// It is none, whatever it was.
    Torn(FileError),
    Other(FileError),
}

impl From<Unreadable> for FileError {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Torn(error) | Unreadable::Other(error) => error,
        }
    }
}

/// Renames what stands in the record's place, beside what was put there before.
fn put_aside(home: &Home) -> Result<(), FileError> {
    let path = home.file(FILE);
    let free =
        (1..100).map(|number| home.file(&format!("{FILE}.torn-{number}"))).find(|aside| !read::exists(aside));
    let aside = free.ok_or_else(|| FileError::new(&path, "too many torn ones are kept beside it"))?;
    std::fs::rename(&path, aside).map_err(|error| FileError::new(&path, error))
}

fn read_record(home: &Home) -> Result<Record, Unreadable> {
    let path = home.file(FILE);
    let fail = |why: String| Unreadable::Other(FileError::new(&path, why));
    let read = home.read(&path, LIMIT).map_err(|unread| Unreadable::Other(unread.of(&path)))?;
    let Some(file) = read else { return Ok(Record::default()) };
    let record: Record = match serde_json::from_slice(&file.bytes) {
        Ok(record) => record,
        Err(_) if is_newer(&file.bytes) => return Err(fail("it was written by a newer Becket".to_owned())),
        Err(error) => {
            let why = format!("{error}; the next `becket install` keeps it aside and writes another");
            return Err(Unreadable::Torn(FileError::new(&path, why)));
        }
    };
    if record.version > VERSION {
        return Err(fail(format!("it was written by a newer Becket (form {})", record.version)));
    }
    Ok(record)
}

/// Whether a record of another form says that it is a newer one.
fn is_newer(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Form {
        version: u64,
    }
    serde_json::from_slice::<Form>(bytes).is_ok_and(|form| form.version > VERSION.into())
}
