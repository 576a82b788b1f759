//! Where Celeste's sources may stand.

use camino::{Utf8Path, Utf8PathBuf};

use crate::place::{Links, Place, What};
use crate::scope::Scope;

/// Celeste's folder, in a home as in a project.
pub(super) const FOLDER: &str = ".celeste";

/// Most grimoires of one folder that are looked at.
const MOST_GRIMOIRES: usize = 1_000;

/// Largest file that is taken, in bytes; a setting may ask for less.
const FILE_LIMIT: u64 = 1 << 20;

/// What sort of source a path is, which decides whether it needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `~/.celeste/hooks.json`.
    Global,
    /// `~/.celeste/grimoire.md`.
    GlobalGrimoire,
    /// `.celeste/hooks.json` of a project.
    Repo,
    /// Any other grimoire.
    RepoGrimoire,
    /// The `## Stream Rules` of a grimoire.
    RepoStreamRules,
    /// The `sandbox` of a `.celeste/config.json`.
    RepoSandbox,
    /// One server of an MCP configuration.
    RepoMcp,
}

impl Kind {
    /// The word in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::GlobalGrimoire => "global-grimoire",
            Self::Repo => "repo",
            Self::RepoGrimoire => "repo-grimoire",
            Self::RepoStreamRules => "repo-stream-rules",
            Self::RepoSandbox => "repo-sandbox",
            Self::RepoMcp => "repo-mcp",
        }
    }

    /// The kind of this word.
    pub fn named(word: &str) -> Option<Self> {
        [
            Self::Global,
            Self::GlobalGrimoire,
            Self::Repo,
            Self::RepoGrimoire,
            Self::RepoStreamRules,
            Self::RepoSandbox,
            Self::RepoMcp,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == word)
    }

    /// Whether it is the user's own and trusted without asking.
    pub fn is_global(self) -> bool {
        matches!(self, Self::Global | Self::GlobalGrimoire)
    }

    /// Whether its file is Markdown with sections.
    pub(super) fn is_grimoire(self) -> bool {
        matches!(self, Self::GlobalGrimoire | Self::RepoGrimoire)
    }
}

/// A path at which hooks may be defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// What sort of source it is.
    pub kind: Kind,
    /// Where its hooks run; `None` means the workspace.
    pub root: Option<Utf8PathBuf>,
}

impl Site {
    /// The site of a file, if Celeste would load hooks from there.
    pub fn at(path: &Utf8Path, home: &Utf8Path) -> Option<Self> {
        let global = home.join(FOLDER);
        if path == global.join("hooks.json") {
            return Some(Self { kind: Kind::Global, root: None });
        }
        if path == global.join("grimoire.md") {
            return Some(Self { kind: Kind::GlobalGrimoire, root: None });
        }
        let folder = path.parent()?;
        let root = match (folder.file_name(), path.file_name()?) {
            (Some(FOLDER), "hooks.json") => folder.parent(),
            (_, ".grimoire" | ".grimoire.local") => Some(folder),
            (Some("grimoire"), name) if name.ends_with(".md") => {
                folder.parent().filter(|folder| folder.file_name() == Some(FOLDER))?.parent()
            }
            _ => return None,
        };
        let kind = if path.file_name() == Some("hooks.json") { Kind::Repo } else { Kind::RepoGrimoire };
        Some(Self { kind, root: Some(root?.to_owned()) })
    }
}

/// What is expected at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// `trusted.json`.
    Store,
    /// A file that may define hooks.
    Hooks,
    /// A folder of grimoires.
    Grimoires,
    /// `.celeste/config.json`.
    Config,
    /// An MCP configuration; of two that name a server the later one counts.
    Mcp,
}

/// What kind of source a path in the trust store names, and the file it was read from.
pub(super) fn kind_of_key<'a>(key: &'a str, home: &Utf8Path) -> Option<(Kind, &'a Utf8Path)> {
    let section = |kind: Kind, end: usize| (kind, Utf8Path::new(&key[..end]));
    if let Some(file) = key.strip_suffix("#stream-rules") {
        return Some(section(Kind::RepoStreamRules, file.len()));
    }
    if let Some(file) = key.strip_suffix("#sandbox") {
        return Some(section(Kind::RepoSandbox, file.len()));
    }
    if let Some((file, _)) = key.split_once("#mcp:") {
        return Some(section(Kind::RepoMcp, file.len()));
    }
    let file = Utf8Path::new(key);
    Some((Site::at(file, home)?.kind, file))
}

/// The project that a file of Celeste's belongs to: above its `.celeste`, or where it stands.
pub(super) fn root_of(file: &Utf8Path) -> Option<&Utf8Path> {
    let folder = file.parent()?;
    let inside = folder.ancestors().find(|above| above.file_name() == Some(FOLDER));
    inside.map_or(Some(folder), Utf8Path::parent)
}

/// The path of something below a directory, made in one piece: there are many, at every event.
fn below(directory: &Utf8Path, names: &[&str]) -> Utf8PathBuf {
    let length: usize = names.iter().map(|name| name.len() + 1).sum();
    let mut path = Utf8PathBuf::with_capacity(directory.as_str().len() + length);
    path.push(directory);
    path.extend(names);
    path
}

/// Everything that must be read, in the order in which hooks run.
pub(super) fn places(scope: &Scope) -> Vec<(Expected, Place)> {
    let home = &scope.homes.home;
    let limit = scope.settings.definition_bytes.min(FILE_LIMIT);
    let global = home.join(FOLDER);
    let mut places = vec![
        (Expected::Store, Place::file(super::store::path(home), super::store::LIMIT)),
        (Expected::Hooks, Place::file(global.join("hooks.json"), limit)),
        (Expected::Hooks, Place::file(global.join("grimoire.md"), limit)),
    ];
    let repo = |root: &Utf8Path, path: Utf8PathBuf, what: What| Place {
        path,
        what,
        links: Links::Refuse { below: root.to_owned() },
        limit,
    };
    let mut roots: Vec<&Utf8Path> = scope.workspace.ancestors().collect();
    roots.reverse();
    for root in &roots {
        // Seen from the home directory or below, the global file is no project's.
        if *root != home {
            places.push((Expected::Hooks, repo(root, below(root, &[FOLDER, "hooks.json"]), What::File)));
        }
    }
    for root in &roots {
        let folder = below(root, &[FOLDER, "grimoire"]);
        let markdown = What::Folder { endings: &[".md"], most: MOST_GRIMOIRES };
        places.push((Expected::Hooks, repo(root, below(root, &[".grimoire"]), What::File)));
        places.push((Expected::Grimoires, repo(root, folder, markdown)));
        places.push((Expected::Hooks, repo(root, below(root, &[".grimoire.local"]), What::File)));
    }
    let workspace = &scope.workspace;
    for (expected, path) in [
        (Expected::Config, below(workspace, &[FOLDER, "config.json"])),
        (Expected::Mcp, below(workspace, &[".mcp.json"])),
        (Expected::Mcp, below(workspace, &[FOLDER, "mcp.json"])),
    ] {
        // What stands in the user's own folder is the user's own.
        if !path.starts_with(&global) {
            places.push((expected, repo(workspace, path, What::File)));
        }
    }
    places
}

/// Paths by which a directory is known to be a project with Celeste's files. They are looked for at every event and
/// in every directory above, so there are few.
pub(super) fn marks(directory: &Utf8Path, scope: &Scope) -> Vec<Utf8PathBuf> {
    let mut marks = vec![below(directory, &[".grimoire"]), below(directory, &[".grimoire.local"])];
    // The folder in the home directory holds the user's own files.
    if directory != scope.homes.home {
        marks.push(directory.join(FOLDER));
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::tests::scope;

    fn site(path: &str) -> Option<(Kind, Option<String>)> {
        let site = Site::at(path.into(), "/h".into())?;
        Some((site.kind, site.root.map(Utf8PathBuf::into_string)))
    }

    #[test]
    fn only_paths_that_would_be_loaded_are_sites() {
        let root = |kind, root: &str| Some((kind, Some(root.to_owned())));
        assert_eq!(site("/h/.celeste/hooks.json"), Some((Kind::Global, None)));
        assert_eq!(site("/h/.celeste/grimoire.md"), Some((Kind::GlobalGrimoire, None)));
        assert_eq!(site("/p/.celeste/hooks.json"), root(Kind::Repo, "/p"));
        assert_eq!(site("/.celeste/hooks.json"), root(Kind::Repo, "/"));
        assert_eq!(site("/p/.grimoire"), root(Kind::RepoGrimoire, "/p"));
        assert_eq!(site("/p/.grimoire.local"), root(Kind::RepoGrimoire, "/p"));
        assert_eq!(site("/p/.celeste/grimoire/x.md"), root(Kind::RepoGrimoire, "/p"));
        for none in [
            "/p/notes.md",
            "/p/random/hooks.json",
            "/p/hooks.json",
            "/p/.celeste/grimoire.md",
            "/p/grimoire/x.md",
            "/p/.celeste/grimoire/x.txt",
            "/p/.celeste/grimoire/deep/x.md",
            "/",
        ] {
            assert_eq!(site(none), None, "{none}");
        }
    }

    fn paths(workspace: &str) -> Vec<String> {
        let scope = Scope { workspace: workspace.into(), ..scope() };
        places(&scope).into_iter().map(|(_, place)| place.path.into_string()).collect()
    }

    #[test]
    fn places_stand_in_the_order_in_which_hooks_run() {
        assert_eq!(
            paths("/w"),
            [
                "/h/.celeste/trusted.json",
                "/h/.celeste/hooks.json",
                "/h/.celeste/grimoire.md",
                "/.celeste/hooks.json",
                "/w/.celeste/hooks.json",
                "/.grimoire",
                "/.celeste/grimoire",
                "/.grimoire.local",
                "/w/.grimoire",
                "/w/.celeste/grimoire",
                "/w/.grimoire.local",
                "/w/.celeste/config.json",
                "/w/.mcp.json",
                "/w/.celeste/mcp.json",
            ]
        );
    }

    #[test]
    fn the_users_own_files_are_no_projects() {
        for workspace in ["/h", "/h/p", "/h/"] {
            let paths = paths(workspace);
            let count = |path: &str| paths.iter().filter(|found| *found == path).count();
            assert_eq!(count("/h/.celeste/hooks.json"), 1, "{workspace}");
            assert_eq!(count("/h/.celeste/config.json"), 0, "{workspace}");
            assert_eq!(count("/h/.celeste/mcp.json"), 0, "{workspace}");
        }
    }
}
