//! Where a case lives: a fresh directory, the names that stand for places in it, and what is laid out there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::case::{Case, Kind, Layout};

/// A case's own directory, removed when it is dropped.
pub(crate) struct Place {
    row: BTreeMap<String, String>,
    names: BTreeMap<&'static str, String>,
    pub(crate) environment: BTreeMap<String, String>,
    _root: tempfile::TempDir,
}

impl Place {
    /// Lays a case out, with one of its rows.
    pub(crate) fn new(case: &Case, row: &BTreeMap<String, String>) -> Result<Self, String> {
        let root = tempfile::Builder::new().prefix("becket-case-").tempdir().map_err(text)?;
        let path = fs::canonicalize(root.path()).map_err(text)?;
        let path = path.to_str().ok_or("the temporary directory's path is not UTF-8")?.to_owned();
        let mut place =
            Self { row: row.clone(), names: BTreeMap::new(), environment: BTreeMap::new(), _root: root };
        place.names.insert("case", path.clone());
        place.names.insert("becket", env!("CARGO_BIN_EXE_becket").to_owned());
        place.names.insert("examples", concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples").to_owned());
        place.set("HOME", "home", case, "{case}/home");
        place.set("ALBEDO_HOME", "albedo", case, "{home}/.albedo");
        place.set("BECKET_HOME", "state", case, "{home}/.local/state/becket");
        place.set("SHADOWCODE_PROFILE", "profile", case, "{case}/profile");
        let workspace = case.workspace.as_deref().unwrap_or("{home}/shop");
        let workspace = place.fill(workspace)?;
        let slug: String =
            workspace.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        place.names.insert("workspace", workspace.clone());
        place.names.insert("albedo-workspace", place.fill(&format!("{{albedo}}/workspaces/{slug}"))?);
        let tmp = format!("{path}/tmp");
        for directory in [&place.names["home"], &format!("{workspace}/.git"), &tmp] {
            fs::create_dir_all(directory).map_err(|error| format!("{directory}: {error}"))?;
        }
        let path = std::env::var("PATH").unwrap_or_default();
        place.environment.insert("HOME".to_owned(), place.names["home"].clone());
        place.environment.insert("PATH".to_owned(), path);
        place.environment.insert("TMPDIR".to_owned(), tmp);
        place.environment.insert("SHADOWCODE_PROFILE".to_owned(), place.names["profile"].clone());
        for (name, value) in &case.env {
            place.environment.insert(name.clone(), place.fill(value)?);
        }
        if let Some(taken) = row.keys().find(|key| place.names.contains_key(key.as_str())) {
            return Err(format!("a row cannot give {taken} another meaning"));
        }
        for layout in &case.file {
            place.lay(layout)?;
        }
        Ok(place)
    }

    /// A place that a variable can move.
    fn set(&mut self, variable: &str, name: &'static str, case: &Case, default: &str) {
        let moved = case.env.get(variable).filter(|value| !value.is_empty());
        let value = self.fill(moved.map_or(default, String::as_str));
        self.names.insert(name, value.unwrap_or_default());
    }

    /// The workspace: where programs are started if nothing else is said.
    pub(crate) fn workspace(&self) -> &str {
        &self.names["workspace"]
    }

    /// Text with its placeholders filled in.
    pub(crate) fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = text.to_owned();
        for (name, value) in &self.row {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        for (name, value) in &self.names {
            filled = filled.replace(&format!("{{{name}}}"), value);
        }
        filled = each(&filled, "{sha256:", &|path| {
            let bytes = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
            Ok(sha256(&bytes))
        })?;
        each(&filled, "{repeat:", &|inside| {
            let (text, count) = inside.rsplit_once(':').ok_or("write {repeat:TEXT:COUNT}")?;
            Ok(text.repeat(count.parse().map_err(|_| format!("{count} is no count"))?))
        })
    }

    /// A value with the placeholders in all its strings filled in.
    pub(crate) fn fill_value(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => Value::String(self.fill(text)?),
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.fill_value(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| Ok((self.fill(key)?, self.fill_value(value)?)))
                    .collect::<Result<_, String>>()?,
            ),
            other => other.clone(),
        })
    }

    pub(crate) fn path(&self, written: &str) -> Result<PathBuf, String> {
        Ok(Path::new(self.workspace()).join(self.fill(written)?))
    }

    pub(crate) fn lay(&self, layout: &Layout) -> Result<(), String> {
        let path = self.path(&layout.path)?;
        self.lay_at(layout, &path).map_err(|why| format!("{}: {why}", path.display()))
    }

    fn lay_at(&self, layout: &Layout, path: &Path) -> Result<(), String> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(text)?;
        }
        if let Some(target) = &layout.link {
            symlink(self.fill(target)?, path).map_err(text)?;
            return Ok(());
        }
        match layout.kind {
            Some(Kind::Directory) => fs::create_dir_all(path).map_err(text)?,
            Some(Kind::Fifo) => {
                let made = Command::new("mkfifo").arg(path).status().map_err(text)?;
                if !made.success() {
                    return Err("mkfifo failed".to_owned());
                }
            }
            None => {
                let mut bytes = self.content(layout)?;
                if layout.append {
                    bytes.splice(0..0, fs::read(path).unwrap_or_default());
                }
                fs::write(path, bytes).map_err(text)?;
            }
        }
        if let Some(mode) = layout.mode {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(text)?;
        }
        Ok(())
    }

    fn content(&self, layout: &Layout) -> Result<Vec<u8>, String> {
        if let Some(hex) = &layout.hex {
            return self::hex(hex);
        }
        if let Some(of) = &layout.sha256_of {
            let of = self.path(of)?;
            let bytes = fs::read(&of).map_err(|error| format!("{}: {error}", of.display()))?;
            return Ok(format!("{}\n", sha256(&bytes)).into_bytes());
        }
        if let Some(json) = &layout.json {
            return serde_json::to_vec_pretty(&self.fill_value(json)?).map_err(text);
        }
        Ok(self.fill(layout.text.as_deref().unwrap_or_default())?.into_bytes())
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from hexadecimal digits, white space between them as it pleases.
pub(crate) fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = digits.chars().filter(|c| !c.is_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| {
            let pair: String = pair.iter().collect();
            u8::from_str_radix(&pair, 16).map_err(|_| format!("{pair} are no two hexadecimal digits"))
        })
        .collect()
}

/// Replaces each `{opening…}` by what `with` makes of its inside.
fn each(text: &str, opening: &str, with: &dyn Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(opening) {
        let (inside, after) = after.split_once('}').ok_or_else(|| format!("{opening} has no end"))?;
        result.push_str(before);
        result.push_str(&with(inside)?);
        rest = after;
    }
    result.push_str(rest);
    Ok(result)
}

pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
