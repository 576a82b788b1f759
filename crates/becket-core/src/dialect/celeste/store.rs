//! `trusted.json`: approvals and declines, in Celeste's own file and form, so that they count on both sides.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::go;
use super::sites::FOLDER;
use crate::dialect::{Answer, Source, Standing, StoreChange, Timestamp};
use crate::json::{self, Repeated};

/// Largest store that is read, in bytes.
pub(super) const LIMIT: u64 = 1 << 20;

/// The form that is written. A store of a newer one is read as far as it is understood, and not written over.
const VERSION: i64 = 1;

/// Where approvals are stored.
pub fn path(home: &Utf8Path) -> Utf8PathBuf {
    home.join(FOLDER).join("trusted.json")
}

/// The file that every writer locks, and nobody removes.
pub(super) fn lock(home: &Utf8Path) -> Utf8PathBuf {
    home.join(FOLDER).join("trusted.json.lock")
}

/// Approved and declined sources, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustStore {
    version: i64,
    approved: BTreeMap<String, Entry>,
    /// Apart from the approvals, for an older Celeste takes everything it finds there for an approval.
    declined: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Entry {
    sha256: String,
    /// As it was read: what somebody else wrote stays byte for byte.
    at: String,
}

impl TrustStore {
    /// Reads a store.
    ///
    /// # Errors
    /// It is no store, or too large: nothing in it counts, and it must not be written over.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() as u64 > LIMIT {
            return Err("it is larger than 1 MiB".to_owned());
        }
        let corrupt = |why: &str| format!("it is corrupt: {why}");
        let document = json::parse(bytes, Repeated::LastWins).map_err(|error| corrupt(&error.to_string()))?;
        let Some(fields) = object(&document) else { return Err(corrupt("it is not an object")) };
        let mut store = Self { version: VERSION, ..Self::default() };
        for (name, value) in fields {
            // Celeste's reader does not tell names apart by case, and a decline must not be lost by that.
            match name.to_ascii_lowercase().as_str() {
                "version" if value.is_null() => {}
                "version" => {
                    store.version = value.as_i64().ok_or_else(|| corrupt("`version` is no whole number"))?;
                }
                "hooks" => {
                    store.approved.extend(entries(value, "approved_at").map_err(|why| corrupt(&why))?);
                }
                "declined" => {
                    store.declined.extend(entries(value, "declined_at").map_err(|why| corrupt(&why))?);
                }
                _ => {}
            }
        }
        Ok(store)
    }

    /// Whether a source that needs approval may run. A decline of this very content wins over any approval.
    pub fn status(&self, path: &str, hash: &str) -> Standing {
        let (approved, declined) = (self.approved.get(path), self.declined.get(path));
        let is_this = |entry: &Entry| entry.sha256 == hash;
        if declined.is_some_and(is_this) {
            Standing::Declined
        } else if approved.is_some_and(is_this) {
            Standing::Trusted
        } else if approved.is_some() {
            Standing::Changed
        } else if declined.is_some() {
            Standing::DeclinedChanged
        } else {
            Standing::Untrusted
        }
    }

    /// The paths of all sources that were answered about.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.approved.keys().chain(self.declined.keys()).map(String::as_str)
    }

    /// Records an answer. Answers whether anything is to be written.
    pub fn record(&mut self, path: &str, answer: Answer, hash: &str, now: Timestamp) -> bool {
        let approved = self.approved.remove(path);
        let declined = self.declined.remove(path);
        let entry = || Entry { sha256: hash.to_owned(), at: rfc3339(now) };
        match answer {
            Answer::Approve => drop(self.approved.insert(path.to_owned(), entry())),
            Answer::Decline => drop(self.declined.insert(path.to_owned(), entry())),
            Answer::Forget => return approved.is_some() || declined.is_some(),
        }
        true
    }

    /// The file's bytes, as Celeste itself writes them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = String::from("{\n  \"version\": 1,\n  \"hooks\": ");
        write_entries(&self.approved, "approved_at", &mut text);
        if !self.declined.is_empty() {
            text.push_str(",\n  \"declined\": ");
            write_entries(&self.declined, "declined_at", &mut text);
        }
        text.push_str("\n}\n");
        text.into_bytes()
    }
}

/// The store after an answer about a source.
///
/// # Errors
/// The store must not be touched, with the reason.
pub(super) fn decide(
    source: &Source,
    answer: Answer,
    before: Option<&[u8]>,
    now: Timestamp,
) -> Result<StoreChange, String> {
    if !source.needs_approval {
        return Ok(StoreChange::Keep);
    }
    let doing = match answer {
        Answer::Approve => "saving the approval",
        Answer::Decline => "saving the decline",
        Answer::Forget => "saving the change",
    };
    let mut store = match before {
        Some(bytes) => {
            TrustStore::parse(bytes).map_err(|why| format!("{doing}: {why}; it is left as it is"))?
        }
        None => TrustStore::default(),
    };
    if store.version > VERSION {
        let version = store.version;
        return Err(format!(
            "{doing}: it was written by a newer Celeste (version {version}); it is left as it is"
        ));
    }
    let hash = match (&source.hash, answer) {
        (Some(hash), _) => hash.as_str(),
        (None, Answer::Forget) => "",
        (None, _) => return Err(format!("{doing}: the source has no content that could be answered about")),
    };
    if !store.record(&source.path, answer, hash, now) {
        return Ok(StoreChange::Keep);
    }
    let bytes = store.to_bytes();
    if bytes.len() as u64 > LIMIT {
        return Err(format!("{doing}: the store would be larger than 1 MiB, which nobody reads"));
    }
    Ok(StoreChange::Write(bytes))
}

/// An object; null is as good as an empty one.
fn object(value: &Value) -> Option<Vec<(&String, &Value)>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Object(object) => Some(object.iter().collect()),
        _ => None,
    }
}

fn entries(value: &Value, at: &str) -> Result<BTreeMap<String, Entry>, String> {
    let named = object(value).ok_or("its entries are not an object")?;
    let read = |(path, value): (&String, &Value)| {
        let mut entry = Entry::default();
        for (name, value) in object(value).ok_or("an entry is not an object")? {
            let name = name.to_ascii_lowercase();
            let field = match name.as_str() {
                "sha256" => &mut entry.sha256,
                name if name == at => &mut entry.at,
                _ => continue,
            };
            match value {
                Value::String(text) => field.clone_from(text),
                Value::Null => {}
                _ => return Err(format!("`{name}` of an entry is not a string")),
            }
        }
        Ok((path.clone(), entry))
    };
    named.into_iter().map(read).collect()
}

fn write_entries(entries: &BTreeMap<String, Entry>, at: &str, text: &mut String) {
    if entries.is_empty() {
        text.push_str("{}");
        return;
    }
    text.push('{');
    for (index, (path, entry)) in entries.iter().enumerate() {
        text.push_str(if index > 0 { ",\n    " } else { "\n    " });
        go::write_string(path, text);
        text.push_str(": {\n      \"sha256\": ");
        go::write_string(&entry.sha256, text);
        text.push_str(",\n      \"");
        text.push_str(at);
        text.push_str("\": ");
        go::write_string(&entry.at, text);
        text.push_str("\n    }");
    }
    text.push_str("\n  }");
}

/// RFC 3339 in UTC, fractions without trailing zeros, as Go writes a time. One format of one instant is not worth
/// a library of calendars: the date comes from the days since 1970 by the usual cycle of 400 years.
fn rfc3339(at: Timestamp) -> String {
    const DAY: i64 = 86_400_000;
    let (days, in_day) = (at.0.div_euclid(DAY), at.0.rem_euclid(DAY));
    // Years begin in March here, so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let seconds = in_day / 1_000;
    let fraction = match in_day % 1_000 {
        0 => String::new(),
        millis => format!(".{millis:03}").trim_end_matches('0').to_owned(),
    };
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dialect::Name;
    use proptest::prelude::*;

    fn source(path: &str, hash: &str, needs_approval: bool) -> Source {
        Source {
            dialect: Name::Celeste,
            kind: "repo",
            path: path.to_owned(),
            standing: Standing::Untrusted,
            hash: Some(hash.to_owned()),
            content: Arc::from([]),
            hooks: vec![],
            needs_approval,
        }
    }

    fn write(path: &str, hash: &str, answer: Answer, before: Option<&[u8]>) -> Vec<u8> {
        match decide(&source(path, hash, true), answer, before, Timestamp(1_796_045_466_120)).unwrap() {
            StoreChange::Write(bytes) => bytes,
            other => panic!("{other:?}"),
        }
    }

    const STORE: &str = "{\n  \"version\": 1,\n  \"hooks\": {\n    \"/a\\u0026b/.celeste/hooks.json\": {\n      \"sha256\": \"11\",\n      \"approved_at\": \"2026-11-30T13:31:06.12Z\"\n    },\n    \"/z\": {\n      \"sha256\": \"22\",\n      \"approved_at\": \"2026-11-30T13:31:06.12Z\"\n    }\n  },\n  \"declined\": {\n    \"/d\": {\n      \"sha256\": \"33\",\n      \"declined_at\": \"2026-11-30T13:31:06.12Z\"\n    }\n  }\n}\n";

    #[test]
    fn the_bytes_are_celestes() {
        let first = write("/z", "22", Answer::Approve, None);
        let second = write("/d", "33", Answer::Decline, Some(&first));
        let third = write("/a&b/.celeste/hooks.json", "11", Answer::Approve, Some(&second));
        assert_eq!(String::from_utf8(third).unwrap(), STORE);
        let only = write("/d", "33", Answer::Decline, None);
        assert!(
            String::from_utf8(only)
                .unwrap()
                .starts_with("{\n  \"version\": 1,\n  \"hooks\": {},\n  \"declined\": {\n")
        );
    }

    #[test]
    fn what_others_wrote_stays_and_unknown_fields_go() {
        let before = br#"{"x":1,"version":1,"hooks":{"/o":{"sha256":"aa","approved_at":"2026-01-02T03:04:05.123456789Z","by":"me"}}}"#;
        let after = String::from_utf8(write("/z", "22", Answer::Approve, Some(before))).unwrap();
        assert!(after.contains("\"approved_at\": \"2026-01-02T03:04:05.123456789Z\""), "{after}");
        assert!(!after.contains("by") && !after.contains("\"x\""), "{after}");
    }

    #[test]
    fn every_standing_can_be_reached() {
        let store = TrustStore::parse(STORE.as_bytes()).unwrap();
        assert_eq!(store.status("/z", "22"), Standing::Trusted);
        assert_eq!(store.status("/z", "xx"), Standing::Changed);
        assert_eq!(store.status("/d", "33"), Standing::Declined);
        assert_eq!(store.status("/d", "xx"), Standing::DeclinedChanged);
        assert_eq!(store.status("/n", "33"), Standing::Untrusted);
        let both = br#"{"hooks":{"/b":{"sha256":"1"}},"declined":{"/b":{"sha256":"2"}}}"#;
        let both = TrustStore::parse(both).unwrap();
        let of = |hash| both.status("/b", hash);
        assert_eq!((of("1"), of("2"), of("3")), (Standing::Trusted, Standing::Declined, Standing::Changed));
    }

    #[test]
    fn answers_replace_each_other() {
        let approved = write("/p", "1", Answer::Approve, None);
        let declined = write("/p", "1", Answer::Decline, Some(&approved));
        let store = TrustStore::parse(&declined).unwrap();
        assert_eq!((store.approved.len(), store.status("/p", "1")), (0, Standing::Declined));
        let again = write("/p", "2", Answer::Approve, Some(&declined));
        let store = TrustStore::parse(&again).unwrap();
        assert_eq!((store.declined.len(), store.status("/p", "2")), (0, Standing::Trusted));
        let forgotten = write("/p", "2", Answer::Forget, Some(&again));
        assert_eq!(forgotten, b"{\n  \"version\": 1,\n  \"hooks\": {}\n}\n");
        let once_more = decide(&source("/p", "2", true), Answer::Forget, Some(&forgotten), Timestamp(0));
        assert_eq!(once_more, Ok(StoreChange::Keep));
    }

    #[test]
    fn a_global_source_writes_nothing() {
        for answer in [Answer::Approve, Answer::Decline, Answer::Forget] {
            let change =
                decide(&source("/h/.celeste/hooks.json", "1", false), answer, Some(b"rubbish"), Timestamp(0));
            assert_eq!(change, Ok(StoreChange::Keep));
        }
    }

    #[test]
    fn a_store_that_is_not_understood_is_never_written() {
        let large = format!("{{\"hooks\":{{}}}}{}", " ".repeat(1 << 20));
        let newer = br#"{"version":2,"hooks":{}}"#;
        for before in [
            &b"{not json"[..],
            b"",
            b"[]",
            br#"{"hooks":7}"#,
            br#"{"hooks":{"/a":7}}"#,
            br#"{"hooks":{"/a":{"sha256":7}}}"#,
            large.as_bytes(),
            newer,
        ] {
            for answer in [Answer::Approve, Answer::Decline, Answer::Forget] {
                assert!(decide(&source("/p", "1", true), answer, Some(before), Timestamp(0)).is_err());
            }
        }
        assert!(TrustStore::parse(b"{not json").unwrap_err().contains("corrupt"));
        assert!(TrustStore::parse(b"null").is_ok() && TrustStore::parse(newer).is_ok());
        // A name in another case is the same to Celeste: its decline must not get lost.
        let odd = TrustStore::parse(br#"{"Declined":{"/a":{"SHA256":"1"}}}"#).unwrap();
        assert_eq!(odd.status("/a", "1"), Standing::Declined);
    }

    #[test]
    fn a_store_that_nobody_could_read_again_is_not_written() {
        let path = "/x".repeat(600_000);
        assert!(decide(&source(&path, "1", true), Answer::Approve, None, Timestamp(0)).is_err());
    }

    #[test]
    fn times_are_as_go_writes_them() {
        for (at, written) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_796_045_466_123, "2026-11-30T13:31:06.123Z"),
            (1_796_045_466_100, "2026-11-30T13:31:06.1Z"),
            (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(Timestamp(at)), written);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = TrustStore::parse(&bytes);
        }

        #[test]
        fn what_is_written_reads_back(paths in prop::collection::btree_map(any::<String>(), "[0-9a-f]{4}", 0..5)) {
            let mut store = TrustStore { version: 1, ..TrustStore::default() };
            for (index, (path, hash)) in paths.iter().enumerate() {
                let answer = if index % 2 == 0 { Answer::Approve } else { Answer::Decline };
                store.record(path, answer, hash, Timestamp(index as i64));
            }
            prop_assert_eq!(TrustStore::parse(&store.to_bytes()).unwrap(), store);
        }
    }
}
