//! albedo: two files outside the checkout, Python's matchers, up to eight commands at once, and a broken hook lets
//! go with a message.

mod definitions;
mod protocol;
mod reply;
mod rules;
mod seal;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Dialect, Known, Name, Question, Rules, Source, Store, StoreChange};
use crate::place::{Found, Place};
use crate::scope::Scope;

/// albedo's hooks.
#[derive(Debug)]
pub struct Albedo;

impl Dialect for Albedo {
    fn name(&self) -> Name {
        Name::Albedo
    }

    fn marks(&self, directory: &Utf8Path, scope: &Scope) -> Vec<Utf8PathBuf> {
        vec![workspace_folder(scope, directory).join("hooks.json")]
    }

    fn places(&self, scope: &Scope) -> Vec<Place> {
        let folder = workspace_folder(scope, &scope.workspace);
        let limit = scope.settings.definition_bytes;
        vec![
            Place::file(folder.join("hooks.json"), limit),
            Place::file(folder.join(seal::FILE), seal::LIMIT),
            Place::file(scope.homes.albedo.join("hooks.json"), limit),
        ]
    }

    fn load(&self, scope: &Scope, found: &[Found], known: &Known<'_>) -> Box<dyn Rules> {
        Box::new(rules::load(scope, found, known))
    }

    fn store(&self, _: &Scope, source: &Source) -> Store {
        let path = Utf8Path::new(&source.path).with_file_name(seal::FILE);
        Store { path, lock: None, limit: seal::LIMIT }
    }

    fn decide(&self, ask: &Question<'_>, before: Option<&[u8]>) -> Result<StoreChange, String> {
        Ok(seal::decide(ask.source, ask.answer, before))
    }
}

/// The folder that albedo keeps for a workspace, beside its `memory.md`.
fn workspace_folder(scope: &Scope, workspace: &Utf8Path) -> Utf8PathBuf {
    scope.homes.albedo.join("workspaces").join(slug(workspace))
}

/// Each code point outside ASCII letters and digits becomes one dash. Two paths can have the same slug.
fn slug(workspace: &Utf8Path) -> String {
    workspace
        .as_str()
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_has_one_dash_a_code_point_and_keeps_case() {
        assert_eq!(slug("/Users/dawn/My proj".into()), "-Users-dawn-My-proj");
        assert_eq!(slug("/é/日.b".into()), "-----b");
    }
}
