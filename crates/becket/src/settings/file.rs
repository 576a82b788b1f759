//! What a file of settings sets, of bytes that were read.

use std::collections::BTreeMap;

use becket_core::dialect::Problem;
use becket_core::{json, text};
use camino::Utf8Path;
use toml::de::{DeTable, DeValue};

use super::{Kind, TABLE};

/// So many problems are named, and the others counted: a person reads no more, and finding the place of each in a large
/// file takes time.
const MOST_PROBLEMS: usize = 100;

/// What a file of settings sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The value as text, and the line it stands in, from 1, by key.
    pub values: BTreeMap<&'static str, (String, usize)>,
    /// What of it cannot be taken; nothing else is lost by that.
    pub problems: Vec<Problem>,
}

/// What a file of settings sets. `path` is for messages.
///
/// # Errors
/// Nothing of it can be taken.
pub fn parse(path: &Utf8Path, bytes: &[u8]) -> Result<Written, Problem> {
    let whole = |message: &str, place: Option<(usize, usize)>| {
        let (line, column) = place.unzip();
        Problem { path: path.to_string(), line, column, message: message.to_owned() }
    };
    let document = std::str::from_utf8(bytes).map_err(|_| whole("it is not valid UTF-8", None))?;
    let table = DeTable::parse(document).map_err(|error| {
        whole(error.message(), Some(json::place(document, error.span().map_or(0, |span| span.start))))
    })?;
    let mut written = Written::default();
    let mut unnamed = 0;
    for (section, content) in table.get_ref() {
        let name = section.get_ref().as_ref();
        let mut problem = |at: usize, message: String| {
            if written.problems.len() < MOST_PROBLEMS {
                written.problems.push(whole(&message, Some(json::place(document, at))));
            } else {
                unnamed += 1;
            }
        };
        let DeValue::Table(entries) = content.get_ref() else {
            let is_section = TABLE.iter().any(|setting| setting.key.split('.').next() == Some(name));
            let message = if is_section {
                format!("`{name}` must be a table, `[{name}]`: it is ignored")
            } else {
                format!("unknown key {}: it is ignored", text::quote(name))
            };
            problem(section.span().start, message);
            continue;
        };
        for (key, value) in entries {
            let whole_key = format!("{name}.{}", key.get_ref());
            let at = key.span().start;
            let Some(setting) = TABLE.iter().find(|setting| setting.key == whole_key) else {
                let quoted = text::quote(&whole_key);
                problem(at, format!("unknown key {quoted}{}: it is ignored", near(&whole_key)));
                continue;
            };
            match taken(setting.kind, value.get_ref()) {
                Ok(taken) => {
                    written.values.insert(setting.key, (taken, json::place(document, at).0));
                }
                Err(expected) => {
                    let message = format!("`{whole_key}` must be {expected}: the default stands");
                    problem(value.span().start, message);
                }
            }
        }
    }
    if unnamed > 0 {
        written.problems.push(whole(&format!("{unnamed} more problems are not named one by one"), None));
    }
    Ok(written)
}

/// The setting that was probably meant: the same last word, or the same section.
fn near(key: &str) -> String {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_ascii_lowercase().replace('-', "_");
    let found = TABLE.iter().find(|setting| last(setting.key) == last(key));
    found.map(|setting| format!(" (did you mean `{}`?)", setting.key)).unwrap_or_default()
}

/// A value as text, or what it should have been.
fn taken(kind: Kind, value: &DeValue<'_>) -> Result<String, String> {
    match (kind, value) {
        (Kind::Switch, DeValue::Boolean(on)) => Ok(on.to_string()),
        (Kind::Switch, _) => Err("true or false".to_owned()),
        (Kind::Path, DeValue::String(path)) if Utf8Path::new(path.as_ref()).is_absolute() => {
            Ok(path.to_string())
        }
        (Kind::Path, _) => Err("an absolute path".to_owned()),
        (Kind::Count { least, most }, DeValue::Integer(number)) => {
            let parsed = u64::from_str_radix(number.as_str(), number.radix()).ok();
            match parsed.filter(|number| (least..=most).contains(number)) {
                Some(number) => Ok(number.to_string()),
                None => Err(format!("a number from {least} to {most}")),
            }
        }
        (Kind::Count { least, most }, _) => Err(format!("a number from {least} to {most}")),
        (Kind::Word(words), DeValue::String(word)) if words.contains(&word.as_ref()) => Ok(word.to_string()),
        (Kind::Word(words), _) => Err(format!("one of {}", words.join(", "))),
    }
}
