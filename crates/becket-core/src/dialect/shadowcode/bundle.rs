//! Hook definitions that a plugin brings: what its bundle makes, what must be so before, and what may go with it.
//!
//! Nothing here touches a file: whoever does writes the [`Installed`] record first, takes back the registrations at
//! the bundle's paths, then writes the files, so that an interrupted change can be finished and a grant that an
//! earlier plugin left does not wake up.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::config_edit::{self, Change};
use super::definitions::{self, Definition};
use super::load::SHOWN;
use super::tree::{self, Mistake, Node};
use crate::hash;
use crate::text;

/// The form of a bundle.
const FORMAT: &str = "shadowcode-plugin-v1";

/// Largest bundle, in bytes.
const LIMIT: usize = 4_000_000;

/// Version of the form of an [`Installed`] record.
const VERSION: u32 = 1;

/// A plugin's hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The plugin.
    pub name: String,
    /// The files it makes, in the order of the bundle.
    pub files: Vec<BundleFile>,
    /// Other parts of it, which are not for Becket.
    pub ignored: Vec<String>,
}

/// One file that a bundle makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleFile {
    /// In the project.
    pub path: String,
    /// Its whole content.
    pub bytes: Vec<u8>,
}

impl Bundle {
    /// Reads a bundle, as JSON or YAML. One wrong hook refuses all of it.
    ///
    /// # Errors
    /// What is wrong, with line and column where it has a place.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > LIMIT {
            return Err(format!("the bundle has {} bytes, and {LIMIT} are the most", bytes.len()));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| "the bundle is not valid UTF-8".to_owned())?;
        read(text).map_err(|mistake| match mistake.place(text) {
            (Some(line), Some(column)) => format!("{} (line {line}, column {column})", mistake.message),
            _ => mistake.message,
        })
    }

    /// Whether it can be installed where these files stand already: `present` are the paths in the project of all
    /// files in both folders of definitions, whatever their endings.
    ///
    /// # Errors
    /// A path that is taken, or too many files.
    pub fn check(&self, present: &[String]) -> Result<(), String> {
        if let Some(taken) = self.files.iter().find(|file| present.contains(&file.path)) {
            return Err(format!("{} is there already: nothing was installed", text::line(&taken.path)));
        }
        if present.len() + self.files.len() > SHOWN {
            return Err(format!(
                "the project has {} files in its hook folders, and with {} more they were over {SHOWN}",
                present.len(),
                self.files.len()
            ));
        }
        Ok(())
    }

    /// The record of its installation.
    pub fn installed(&self, workspace: &str, state: State) -> Installed {
        let files = self.files.iter().map(|file| (file.path.clone(), hash::of(&file.bytes))).collect();
        Installed { v: VERSION, plugin: self.name.clone(), workspace: workspace.to_owned(), state, files }
    }
}

fn read(text: &str) -> Result<Bundle, Mistake> {
    let is_json = text.trim_start().starts_with('{');
    let root = if is_json { Some(tree::json(text)?) } else { tree::yaml(text)? };
    let root = root.ok_or_else(|| Mistake::whole("the bundle is empty"))?;
    if let Some(at) = root.first_dressed() {
        return Err(Mistake::new(at, "anchors, aliases and tags are not taken: write the value out"));
    }
    let entries = root
        .map()
        .ok_or_else(|| Mistake::new(root.at, format!("a bundle is a mapping, not {}", root.kind())))?;
    if root.get("format").and_then(Node::text) != Some(FORMAT) {
        return Err(Mistake::new(root.at, format!("`format` must be \"{FORMAT}\"")));
    }
    let name = component(&root, "a plugin's")?;
    let hooks = match root.get("hooks") {
        None => &[][..],
        Some(node) if node.is_none() => &[][..],
        Some(node) => node
            .list()
            .ok_or_else(|| Mistake::new(node.at, format!("`hooks` must be a list, not {}", node.kind())))?,
    };
    let mut files: Vec<BundleFile> = Vec::with_capacity(hooks.len());
    for hook in hooks {
        let own = component(hook, "a hook's")?;
        let mut definition = definitions::of_node(hook)?;
        definition.name = format!("{name}--{own}");
        let path = format!("{}/{}.json", definitions::FOLDERS[0], definition.name);
        if files.iter().any(|file| file.path == path) {
            return Err(Mistake::new(hook.at, format!("the bundle has two hooks `{own}`")));
        }
        files.push(BundleFile { path, bytes: file(&definition) });
    }
    let is_known = |key: &str| matches!(key, "format" | "name" | "hooks");
    let ignored = entries.iter().filter_map(|(key, _)| key.text()).filter(|key| !is_known(key));
    Ok(Bundle { name, files, ignored: ignored.map(str::to_owned).collect() })
}

/// The name of a plugin or of one of its hooks.
fn component(node: &Node, whose: &str) -> Result<String, Mistake> {
    let name = node.get("name").and_then(Node::text).unwrap_or_default();
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !(1..=32).contains(&name.len()) || !name.bytes().all(is_part) {
        let message = format!("{whose} `name` must be 1 to 32 lower-case letters, digits or `-`");
        return Err(Mistake::new(node.get("name").map_or(node.at, |node| node.at), message));
    }
    Ok(name.to_owned())
}

fn file(definition: &Definition) -> Vec<u8> {
    let value = json!({
        "name": definition.name,
        "description": definition.description,
        "events": definition.events.iter().map(|moment| moment.as_str()).collect::<Vec<_>>(),
        "command": definition.command,
        "path_suffix": definition.path_suffix,
        "timeout_sec": definition.timeout,
    });
    // A value of texts and numbers always has a JSON.
    let mut bytes = serde_json::to_vec_pretty(&value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// How far an installation or removal has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its files are being written: some may be missing.
    Adding,
    /// All of them are there.
    Installed,
    /// They are being deleted: some may be gone.
    Removing,
}

/// The record of a bundle in a project, from before its first file is written until after its last one is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// Version of the form.
    v: u32,
    /// The plugin.
    pub plugin: String,
    /// The project, by its real path.
    pub workspace: String,
    /// How far it has come.
    pub state: State,
    /// Path in the project, and the SHA-256 of what was written there.
    pub files: Vec<(String, String)>,
}

/// What a removal does with a bundle's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removal {
    /// Nobody has changed them: they go.
    pub delete: Vec<String>,
    /// Somebody has edited them, or they cannot be read: they stay.
    pub retained: Vec<String>,
}

impl Installed {
    /// What to do with each file. `content` answers the SHA-256 of what stands at a path in the project now, `None`
    /// where nothing does, an error where it cannot be read.
    pub fn removal(&self, content: impl Fn(&str) -> Result<Option<String>, String>) -> Removal {
        let mut removal = Removal::default();
        for (path, written) in &self.files {
            match content(path) {
                Ok(None) => {}
                Ok(Some(now)) if now == *written => removal.delete.push(path.clone()),
                Ok(Some(_)) | Err(_) => removal.retained.push(path.clone()),
            }
        }
        removal
    }

    /// The profile's file without any registration at the bundle's paths, whatever hash it holds; `None` where there
    /// is none.
    ///
    /// # Errors
    /// The file cannot be read or changed: then no file of the bundle must be written or deleted.
    pub fn revoke(&self, config: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let mut after: Option<Vec<u8>> = None;
        for (path, _) in &self.files {
            let before = after.as_deref().unwrap_or(config);
            let wanted = Change::Disable { workspace: &self.workspace, path };
            if let Some(changed) = config_edit::change(before, wanted)? {
                after = Some(changed);
            }
        }
        Ok(after)
    }

    /// Reads a record.
    ///
    /// # Errors
    /// Not a record, one of a newer form, or one that names a file that is no definition: it could otherwise have any
    /// file deleted.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let record: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if record.v > VERSION {
            return Err(format!("it was written by a newer Becket (form {})", record.v));
        }
        match record.files.iter().find(|(path, _)| definitions::normal_path(path).as_ref() != Some(path)) {
            Some((path, _)) => Err(format!("{} is no path of a definition", text::quote(path))),
            None => Ok(record),
        }
    }

    /// The record's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = r#"{"format":"shadowcode-plugin-v1","name":"py","skills":[],"hooks":[
        {"name":"fmt","events":["after_edit"],"path_suffix":".py","command":"black ."},
        {"name":"lint","events":["before_commit"],"command":"ruff","timeout_sec":60}]}"#;

    #[test]
    fn a_bundle_makes_one_definition_for_each_hook() {
        let bundle = Bundle::parse(GOOD.as_bytes()).unwrap();
        let paths: Vec<&str> = bundle.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".shadowcode/hooks/py--fmt.json", ".shadowcode/hooks/py--lint.json"]);
        assert_eq!(bundle.ignored, ["skills"]);
        let read = definitions::parse("py--fmt.json", &bundle.files[0].bytes).unwrap();
        assert_eq!((read.name.as_str(), read.timeout, read.path_suffix.as_str()), ("py--fmt", 30, ".py"));
        assert_eq!(
            String::from_utf8(bundle.files[1].bytes.clone()).unwrap(),
            "{\n  \"name\": \"py--lint\",\n  \"description\": \"\",\n  \"events\": [\n    \"before_commit\"\n  ],\n  \"command\": \"ruff\",\n  \"path_suffix\": \"\",\n  \"timeout_sec\": 60\n}\n"
        );
        let yaml =
            "format: shadowcode-plugin-v1\nname: py\nhooks:\n- {name: x, events: [on_error], command: c}\n";
        assert_eq!(Bundle::parse(yaml.as_bytes()).unwrap().files.len(), 1);
    }

    #[test]
    fn one_wrong_hook_refuses_the_bundle() {
        for (find, put, says) in [
            ("plugin-v1", "plugin-v2", "`format` must be"),
            ("after_edit", "after_edits", "unknown event \"after_edits\""),
            ("\"lint\"", "\"fmt\"", "two hooks `fmt`"),
            ("\"py\"", "\"Py\"", "a plugin's `name`"),
            ("\"fmt\"", "\"a_b\"", "a hook's `name`"),
            ("\"hooks\":[", "\"hooks\":[7,", "a hook's `name`"),
            ("\"timeout_sec\":60", "\"timeout_sec\":600", "1 to 120"),
            ("\"command\":\"ruff\"", "\"run\":\"ruff\"", "did you mean `command`?"),
        ] {
            let text = GOOD.replacen(find, put, 1);
            let why = Bundle::parse(text.as_bytes()).unwrap_err();
            assert!(why.contains(says), "{put}: {why}");
        }
    }

    #[test]
    fn what_stands_in_the_way_refuses_it_whole() {
        let bundle = Bundle::parse(GOOD.as_bytes()).unwrap();
        let present =
            |count: usize| (0..count).map(|n| format!(".shadow/hooks/x{n}.txt")).collect::<Vec<_>>();
        assert!(bundle.check(&present(62)).is_ok());
        assert!(bundle.check(&present(63)).unwrap_err().contains("over 64"));
        let taken = vec![".shadowcode/hooks/py--lint.json".to_owned()];
        assert!(bundle.check(&taken).unwrap_err().contains("is there already"));
    }

    #[test]
    fn a_stale_grant_is_revoked_and_edited_files_stay() {
        let bundle = Bundle::parse(GOOD.as_bytes()).unwrap();
        let record = bundle.installed("/w", State::Adding);
        assert_eq!(Installed::parse(&record.to_bytes()).unwrap(), record);
        let (path, hash) = &record.files[0];
        let config = config_edit::change(b"z: 1 # c\n", Change::Enable { workspace: "/w", path, hash })
            .unwrap()
            .unwrap();
        let after = String::from_utf8(record.revoke(&config).unwrap().unwrap()).unwrap();
        assert_eq!(after, "z: 1 # c\nhooks:\n  approved: []\n");
        assert_eq!(record.revoke(after.as_bytes()).unwrap(), None);
        assert!(record.revoke(b"hooks: [").is_err());
        let removal =
            record.removal(|at| Ok(Some(if at == path { hash.clone() } else { "other".to_owned() })));
        assert_eq!((removal.delete, removal.retained), (vec![path.clone()], vec![record.files[1].0.clone()]));
        assert_eq!(record.removal(|_| Ok(None)), Removal::default());
        let forged = String::from_utf8(record.to_bytes()).unwrap().replace(path.as_str(), "../../etc/passwd");
        assert!(Installed::parse(forged.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Bundle::parse(&bytes);
            let _ = Installed::parse(&bytes);
        }
    }
}
