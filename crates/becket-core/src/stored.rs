//! What agents and hooks wrote, inside Becket's own records: it reads back as it was.
//!
//! `serde_json`'s own reader of values would take some of it for something else ([`crate::json`]). These stand beside the
//! fields that hold it, as `deserialize_with`.

use std::collections::BTreeMap;

use serde::de::{DeserializeSeed as _, Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dialect::Name;
use crate::json::{Object, Strict, kind_of};

/// Any value.
pub(crate) fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    Strict::OWN.deserialize(deserializer)
}

/// An object.
pub(crate) fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
    match value(deserializer)? {
        Value::Object(object) => Ok(object),
        other => Err(D::Error::custom(format_args!("expected an object, found {}", kind_of(&other)))),
    }
}

/// An object, or null for none.
pub(crate) fn perhaps_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Object>, D::Error> {
    match value(deserializer)? {
        Value::Null => Ok(None),
        Value::Object(object) => Ok(Some(object)),
        other => Err(D::Error::custom(format_args!("expected an object or null, found {}", kind_of(&other)))),
    }
}

/// A value of each dialect.
pub(crate) fn by_dialect<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Name, Value>, D::Error> {
    #[derive(Deserialize)]
    struct Held(#[serde(deserialize_with = "value")] Value);
    let held = BTreeMap::<Name, Held>::deserialize(deserializer)?;
    Ok(held.into_iter().map(|(dialect, Held(value))| (dialect, value)).collect())
}

/// A record as one line of JSON, its newline included; `None` if it would not read back as what it is.
///
/// A record that nobody can read is a loss that nobody notices. Whoever gets none says so instead.
pub(crate) fn line<T: Serialize + for<'de> Deserialize<'de> + PartialEq>(record: &T) -> Option<String> {
    let mut line = serde_json::to_string(record).ok()?;
    let read: T = serde_json::from_str(&line).ok()?;
    line.push('\n');
    (read == *record).then_some(line)
}
