//! ShadowCode: one definition a file in the project, enabled by path and hash in a profile; commands one after the
//! other, of which only the exit status counts; gates that hold, and checks that a task must pass before it is done.

mod bundle;
mod catalog;
mod config_edit;
mod context;
mod definitions;
mod ending;
mod lexical;
mod load;
mod moments;
mod output;
mod profile;
mod record;
mod repair;
mod rules;
mod tree;

#[cfg(test)]
mod tests;

use camino::{Utf8Path, Utf8PathBuf};

pub use self::bundle::{Bundle, BundleFile, Installed, Removal, State};
use self::config_edit::Change;
use self::definitions::{FILE_LIMIT, FOLDERS};
use super::{Answer, Dialect, Known, Name, Question, Rules, Source, Store, StoreChange};
use crate::place::{Found, Links, Place, What};
use crate::scope::Scope;

/// Most entries of one folder that are looked at.
const MOST_ENTRIES: usize = 10_000;

/// The endings of files that are read there.
const ENDINGS: &[&str] = &[".yaml", ".yml", ".json"];

/// Where a project may change some of the agent's settings.
const OVERLAY: &str = ".shadow/config/config.yaml";

/// ShadowCode's native hooks.
#[derive(Debug)]
pub struct Shadowcode;

impl Dialect for Shadowcode {
    fn name(&self) -> Name {
        Name::Shadowcode
    }

    fn marks(&self, directory: &Utf8Path, _: &Scope) -> Vec<Utf8PathBuf> {
        FOLDERS.iter().map(|folder| directory.join(folder)).collect()
    }

    fn places(&self, scope: &Scope) -> Vec<Place> {
        let beneath = Links::Beneath { root: scope.workspace.clone() };
        let folder = |folder: &str| Place {
            path: scope.workspace.join(folder),
            what: What::Folder { endings: ENDINGS, most: MOST_ENTRIES },
            links: beneath.clone(),
            limit: FILE_LIMIT,
        };
        let limit = profile::LIMIT as u64;
        let overlay =
            Place { path: scope.workspace.join(OVERLAY), what: What::File, links: beneath.clone(), limit };
        vec![folder(FOLDERS[0]), folder(FOLDERS[1]), Place::file(config_path(scope), limit), overlay]
    }

    fn load(&self, scope: &Scope, found: &[Found], known: &Known<'_>) -> Box<dyn Rules> {
        Box::new(load::load(scope, found, known))
    }

    fn store(&self, scope: &Scope, _: &Source) -> Store {
        let path = config_path(scope);
        let lock = Some(Utf8PathBuf::from(format!("{path}.lock")));
        Store { path, lock, limit: profile::LIMIT as u64 }
    }

    fn forgets_unseen(&self) -> bool {
        true
    }

    fn decide(&self, ask: &Question<'_>, before: Option<&[u8]>) -> Result<StoreChange, String> {
        let config = config_path(ask.scope);
        if ask.scope.is_planted(&config) || !config.is_absolute() {
            return Err(format!("{config} lies inside the workspace: whoever writes there could change it"));
        }
        let below = Utf8Path::new(&ask.source.path).strip_prefix(&ask.scope.workspace);
        let path = below.ok().and_then(|path| definitions::normal_path(path.as_str()));
        let path = path.ok_or("it is no definition of this project")?;
        let before = before.unwrap_or_default();
        let workspace = ask.scope.real_workspace.as_str();
        let change = match ask.answer {
            Answer::Approve => {
                let hash = may_enable(ask, before)?;
                Change::Enable { workspace, path: &path, hash }
            }
            Answer::Decline | Answer::Forget => Change::Disable { workspace, path: &path },
        };
        let after = config_edit::change(before, change).map_err(|why| format!("{config}: {why}"))?;
        Ok(after.map_or(StoreChange::Keep, StoreChange::Write))
    }
}

/// The hash under which a hook may be enabled: in a trusted project, with a definition that stands, by a profile that
/// lets its command run.
fn may_enable<'a>(ask: &Question<'a>, before: &[u8]) -> Result<&'a str, String> {
    if !load::is_trusted(ask.scope, &ask.known) {
        return Err("its project is not trusted: trust it first, with `becket trust`".to_owned());
    }
    let (Some(hook), Some(hash)) = (ask.source.hooks.first(), ask.source.hash.as_deref()) else {
        return Err("there is no valid definition to enable".to_owned());
    };
    // The store may have changed since the source was read: what it says now counts too.
    let now = profile::parse(before).ok().and_then(|profile| {
        if profile.policy.read_only {
            return Some("the permission level is read-only".to_owned());
        }
        lexical::denial(&hook.command, &profile.policy)
    });
    match now.or_else(|| hook.invalid.clone()) {
        Some(why) => Err(format!("it cannot be enabled: {why}")),
        None => Ok(hash),
    }
}

/// The profile's file.
fn config_path(scope: &Scope) -> Utf8PathBuf {
    match &scope.homes.shadowcode_profile {
        Some(profile) => profile.join("config/config.yaml"),
        None => scope.homes.config.join("shadowcode/config.yaml"),
    }
}
