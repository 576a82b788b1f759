//! What Becket itself has written, and text that is shown.

use becket_core::journal::Record;
use becket_core::ledger::Ledger;
use becket_core::session::{Fact, Facts, line};
use becket_core::tool::{Kind, ToolCall};
use becket_core::{patch, paths, redact, text as safe};

/// The lines of a session: their sum reads back, or there is none.
pub fn session(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (facts, _) = Facts::read(&text);
    if let Some(sum) = line(&Fact::Sum(Box::new(facts.clone()))) {
        assert_eq!(Facts::read(&sum).0, facts);
    }
}

/// A line of the journal, and the ledger.
pub fn journal(bytes: &[u8]) {
    if let Ok(ledger) = Ledger::parse(bytes) {
        assert_eq!(Ledger::parse(&ledger.to_bytes()).as_ref(), Ok(&ledger));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(record) = Record::parse(text) {
        reads_back(record);
    }
}

/// What is stored of a record is the record with its secrets masked, and has none left.
pub(crate) fn reads_back(record: Record) {
    let mut masked = record.clone();
    redact::mask_record(&mut masked.what);
    let line = record.line();
    assert_eq!(Record::parse(line.trim_end()).as_ref(), Ok(&masked));
    assert_eq!(masked.line(), line);
}

/// Text made fit to be shown or kept, and the files that a patch or a command names.
pub fn text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let one_line =
        [safe::line(&text), safe::line_of(bytes), safe::quote(&text).into(), safe::quote_of(bytes).into()];
    for shown in one_line {
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
    }
    for shown in [safe::lines(bytes), safe::styled(bytes)] {
        assert!(!shown.contains(['\r', '\u{7f}', '\u{9b}', '\u{202e}']), "{shown:?}");
    }
    assert!(!safe::lines(bytes).contains('\u{1b}'));
    for limit in [0, 10, 100] {
        drop(safe::bounded(&text, limit));
    }
    let masked = redact::mask(&text);
    assert_eq!(redact::mask(&masked), masked);
    let named = patch::files(&text);
    assert!(named.iter().all(|path| !path.is_empty()));
    for name in ["Bash", "apply_patch"] {
        let input = [("command".to_owned(), text.clone().into_owned().into())].into_iter().collect();
        drop(paths::of(&ToolCall {
            name: name.to_owned(),
            kind: Kind::of(name, None),
            input: Some(input),
            call_id: None,
        }));
    }
}
