//! Celeste: files from the filesystem's root down to the workspace, exact matchers, one hook at a time, and a gate
//! that holds when a hook breaks.

mod chain;
mod definitions;
mod environment;
mod go;
mod grimoire;
mod kept;
mod payload;
mod question;
mod rules;
mod sections;
mod sites;
mod sources;
mod stop;
mod store;
#[cfg(test)]
mod tests;
mod v1;
mod v2;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Dialect, Known, Name, Question, Rules, Source, Store, StoreChange};
use crate::place::{Found, Place};
use crate::scope::Scope;

pub use definitions::{
    DEFAULT_TIMEOUT, Definition, MAX_TIMEOUT, Mistake, Moment, Protocol, hash_of, parse_file,
};
pub use grimoire::{HookEntry, from_grimoire};
pub use question::{
    OnNo, Reply, Verdict, decide, describe, is_asked_about, is_source_file, may_use, mcp_server_name,
    question, read_reply, source_file, unsaved, why_not,
};
pub use sites::{Kind, Site};
pub use stop::{Continuation, StopScope, stop_continuation};
pub use store::{TrustStore, path as trust_path};

/// Celeste's hooks.
#[derive(Debug)]
pub struct Celeste;

impl Dialect for Celeste {
    fn name(&self) -> Name {
        Name::Celeste
    }

    fn marks(&self, directory: &Utf8Path, scope: &Scope) -> Vec<Utf8PathBuf> {
        sites::marks(directory, scope)
    }

    fn places(&self, scope: &Scope) -> Vec<Place> {
        if load_error(scope).is_some() {
            return Vec::new();
        }
        sites::places(scope).into_iter().map(|(_, place)| place).collect()
    }

    fn load(&self, scope: &Scope, found: &[Found], known: &Known<'_>) -> Box<dyn Rules> {
        Box::new(match load_error(scope) {
            Some(why) => rules::Celeste::disabled(scope.homes.home.as_str(), &why),
            None => rules::Celeste::new(sources::load(scope, found, known)),
        })
    }

    fn question(&self, source: &Source) -> Option<String> {
        Some(question(source, OnNo::NotRemembered))
    }

    fn store(&self, scope: &Scope, _: &Source) -> Store {
        let home = &scope.homes.home;
        Store { path: store::path(home), lock: Some(store::lock(home)), limit: store::LIMIT }
    }

    fn decide(&self, ask: &Question<'_>, before: Option<&[u8]>) -> Result<StoreChange, String> {
        store::decide(ask.source, ask.answer, before, ask.now)
    }
}

/// Why no hook can be loaded at all.
fn load_error(scope: &Scope) -> Option<String> {
    let absolute = |what: &str, path: &Utf8Path| {
        (!path.is_absolute())
            .then(|| format!("the {what} {} is not an absolute path", crate::text::quote(path.as_str())))
    };
    absolute("home directory", &scope.homes.home).or_else(|| absolute("workspace", &scope.workspace))
}

/// The one warning of a load that failed: nothing stands guard then, the user's own hooks included. Empty where
/// there was no error.
pub fn disabled_warning(error: Option<&str>) -> String {
    match error {
        None => String::new(),
        Some(error) => {
            let error = crate::text::line(error);
            format!("hooks disabled: {error} (none runs in this session, including global guards)")
        }
    }
}
