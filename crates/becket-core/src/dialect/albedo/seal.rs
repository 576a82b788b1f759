//! The seal: the SHA-256 of the workspace's `hooks.json`, in a file beside it.

use crate::dialect::{Answer, Known, Name, Source, Standing, StoreChange};
use crate::hash;
use crate::place::{File, Found};

/// The seal's file name.
pub(super) const FILE: &str = "hooks.sha256";

/// Largest seal that is read, in bytes: `sha256sum` writes the file's name after the digest.
pub(super) const LIMIT: u64 = 8 << 10;

/// The standing of a workspace file, and what is wrong with its seal.
///
/// A decline is kept in the ledger, for the seal has no room for one; an approval given in albedo after it counts.
pub(super) fn standing(
    path: &str,
    content: &str,
    seal: &Found,
    known: &Known<'_>,
) -> (Standing, Option<String>) {
    let declined = known.ledger.entry(Name::Albedo, path).filter(|entry| entry.answer == Answer::Decline);
    let (sealed, problem) = match seal {
        Found::File(file) => match sealed_hash(file) {
            Ok(sealed) => (Some((sealed, file.modified_ms)), None),
            Err(problem) => (None, Some(problem)),
        },
        Found::Missing => (None, None),
        Found::Refused(refusal) => (None, Some(refusal.to_string())),
        Found::Folder { .. } => (None, Some("it is not a regular file".to_owned())),
    };
    let standing = match (sealed, declined) {
        (Some((sealed, at)), Some(decline)) if at >= decline.at.0 => approved_with(&sealed, content),
        (_, Some(decline)) if decline.hash == content => Standing::Declined,
        (_, Some(_)) => Standing::DeclinedChanged,
        (Some((sealed, _)), None) => approved_with(&sealed, content),
        (None, None) => Standing::Untrusted,
    };
    (standing, problem)
}

fn approved_with(sealed: &str, content: &str) -> Standing {
    if sealed == content { Standing::Trusted } else { Standing::Changed }
}

/// The digest that a seal's file holds: its first word, of either case.
fn sealed_hash(file: &File) -> Result<String, String> {
    if let Some(why) = &file.unsafe_store {
        return Err(why.clone());
    }
    let text = std::str::from_utf8(&file.bytes).unwrap_or_default();
    match text.split_whitespace().next() {
        Some(word) if hash::is_hash(word) => Ok(word.to_ascii_lowercase()),
        _ => Err("it does not hold the SHA-256 of a file".to_owned()),
    }
}

/// The seal after an answer. Declining takes albedo's own approval back too.
pub(super) fn decide(source: &Source, answer: Answer, before: Option<&[u8]>) -> StoreChange {
    match (answer, &source.hash) {
        (Answer::Approve, Some(hash)) => StoreChange::Write(format!("{hash}\n").into_bytes()),
        (Answer::Decline | Answer::Forget, _) if before.is_some() => StoreChange::Remove,
        _ => StoreChange::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Timestamp;
    use crate::ledger::Ledger;
    use crate::place::Refusal;

    fn seal(text: &str, modified_ms: i64) -> Found {
        Found::File(File { bytes: text.as_bytes().into(), modified_ms, unsafe_store: None })
    }

    #[test]
    fn every_standing_can_be_reached() {
        let (now, other) = (hash::of(b"now"), hash::of(b"other"));
        let of = |found: &Found, declined: Option<(&str, i64)>| {
            let mut ledger = Ledger::default();
            if let Some((content, at)) = declined {
                ledger.record(Name::Albedo, "/f", Answer::Decline, content, Timestamp(at));
            }
            standing("/f", &now, found, &Known::outside(&ledger)).0
        };
        let sealed = seal(&now, 5);
        assert_eq!(of(&Found::Missing, None), Standing::Untrusted);
        assert_eq!(of(&sealed, None), Standing::Trusted);
        assert_eq!(of(&seal(&format!("{}  hooks.json\n", now.to_uppercase()), 5), None), Standing::Trusted);
        assert_eq!(of(&seal("rubbish", 5), None), Standing::Untrusted);
        assert_eq!(of(&seal(&other, 5), None), Standing::Changed);
        assert_eq!(of(&Found::Missing, Some((&now, 1))), Standing::Declined);
        assert_eq!(of(&Found::Missing, Some((&other, 1))), Standing::DeclinedChanged);
        // Of an approval in albedo and a decline in Becket the later one counts.
        assert_eq!(of(&sealed, Some((&now, 4))), Standing::Trusted);
        assert_eq!(of(&sealed, Some((&now, 6))), Standing::Declined);
        assert_eq!(of(&sealed, Some((&other, 6))), Standing::DeclinedChanged);
        assert_eq!(of(&Found::Refused(Refusal::NotRegular), None), Standing::Untrusted);
    }

    #[test]
    fn a_seal_that_others_can_write_is_not_believed() {
        let now = hash::of(b"now");
        let file = File {
            bytes: now.as_bytes().into(),
            modified_ms: 0,
            unsafe_store: Some("others may write it".to_owned()),
        };
        let ledger = Ledger::default();
        let (standing, problem) = standing("/f", &now, &Found::File(file), &Known::outside(&ledger));
        assert_eq!((standing, problem.as_deref()), (Standing::Untrusted, Some("others may write it")));
    }
}
