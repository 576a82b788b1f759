//! Which directory is the workspace.

use becket_core::dialect::Dialect;
use becket_core::scope::Scope;
use camino::{Utf8Path, Utf8PathBuf};

use crate::read;

/// The nearest directory at or above `start` that holds a dialect's files or `.git`; `start` where there is none.
pub(crate) fn find(start: &Utf8Path, scope: &Scope, dialects: &[&'static dyn Dialect]) -> Utf8PathBuf {
    let is_workspace = |directory: &&Utf8Path| {
        read::exists(&directory.join(".git"))
            || dialects
                .iter()
                .any(|dialect| dialect.marks(directory, scope).iter().any(|mark| read::exists(mark)))
    };
    start.ancestors().find(is_workspace).unwrap_or(start).to_owned()
}
