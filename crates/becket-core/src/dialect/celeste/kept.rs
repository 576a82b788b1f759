//! What a session holds fast: the definitions of every source as they were when it was first loaded. A guard that
//! was approved stays on until the session ends, even if the agent edits its file.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::definitions::{Definition, Moment, Protocol};
use crate::session::FIRST;

/// Version of the form. Another one is not read; the files are then loaded anew.
const VERSION: u64 = 1;

/// Sources in force, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kept(pub(super) BTreeMap<String, KeptSource>);

/// One source as it was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeptSource {
    /// SHA-256 of its file's bytes: as long as it is the same, nothing has to be parsed.
    pub(super) file: String,
    /// What was approved.
    pub(super) hash: String,
    pub(super) definitions: Vec<Definition>,
}

impl Kept {
    pub(super) fn read(value: Option<&Value>) -> Self {
        value.and_then(read).unwrap_or_default()
    }

    pub(super) fn to_value(&self) -> Value {
        let source = |kept: &KeptSource| {
            let hooks: Vec<Value> = kept
                .definitions
                .iter()
                .map(|hook| {
                    json!([
                        hook.moment.as_str(),
                        hook.matcher,
                        hook.command,
                        hook.timeout,
                        hook.protocol.as_str()
                    ])
                })
                .collect();
            json!({"file": kept.file, "hash": kept.hash, "hooks": hooks})
        };
        let sources: serde_json::Map<String, Value> =
            self.0.iter().map(|(path, kept)| (path.clone(), source(kept))).collect();
        json!({"v": VERSION, FIRST: sources})
    }
}

fn read(value: &Value) -> Option<Kept> {
    if value.get("v")?.as_u64()? != VERSION {
        return None;
    }
    let source = |value: &Value| {
        let definitions = value.get("hooks")?.as_array()?.iter().map(definition).collect::<Option<_>>()?;
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        Some(KeptSource { file: text("file")?, hash: text("hash")?, definitions })
    };
    let sources = value.get(FIRST)?.as_object()?;
    sources.iter().map(|(path, value)| Some((path.clone(), source(value)?))).collect::<Option<_>>().map(Kept)
}

fn definition(value: &Value) -> Option<Definition> {
    let [moment, matcher, command, timeout, protocol] = value.as_array()?.as_slice() else { return None };
    Some(Definition {
        moment: Moment::named(moment.as_str()?)?,
        matcher: matcher.as_str()?.to_owned(),
        command: command.as_str()?.to_owned(),
        timeout: u32::try_from(timeout.as_u64()?).ok()?,
        protocol: Protocol::named(protocol.as_str()?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::definitions::parse_file;
    use super::*;

    #[test]
    fn what_is_kept_reads_back() {
        let definitions = parse_file(
            br#"{"hooks":[{"event":"PreToolUse","matcher":"bash","command":"a {{path}}","timeout":7,"protocol":"v1"},{"event":"Stop","command":"b"}]}"#,
        )
        .unwrap();
        let source = KeptSource { file: "f".to_owned(), hash: "h".to_owned(), definitions };
        let kept = Kept([("/p".to_owned(), source)].into());
        assert_eq!(Kept::read(Some(&kept.to_value())), kept);
    }

    #[test]
    fn what_is_not_understood_is_as_good_as_nothing() {
        for value in
            [json!(null), json!({"v": 2, "first": {}}), json!({"v": 1, "first": {"/p": {}}}), json!([])]
        {
            assert_eq!(Kept::read(Some(&value)), Kept::default());
        }
        assert_eq!(Kept::read(None), Kept::default());
    }
}
