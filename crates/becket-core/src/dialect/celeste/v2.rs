//! Protocol v2: one JSON object on stdout. Whatever else stands there is a failure, so that a guard with a typo in
//! its answer is noticed.

use serde_json::Value;

use crate::json::{Node, Object};

/// A hook's verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    #[default]
    Allow,
    Ask,
    Deny,
}

/// What a hook answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) verdict: Verdict,
    pub(super) reason: String,
    pub(super) context: String,
    pub(super) rewrite: Option<Object>,
}

/// Reads what a hook wrote before it ended with exit code 0.
///
/// # Errors
/// It is not an answer: why.
pub(super) fn read(stdout: &[u8]) -> Result<Answer, String> {
    // What is not UTF-8 is replaced, as Celeste's reader does: it can only stand inside a string.
    let output = String::from_utf8_lossy(stdout);
    if output.trim().is_empty() {
        return Ok(Answer::default());
    }
    let document =
        Node::document(&output).map_err(|error| format!("its output is not one JSON object: {error}"))?;
    let entries = document
        .object()
        .ok_or_else(|| format!("its output must be a JSON object, not {}", document.kind()))?;
    let mut fields: [Option<Node<'_>>; 4] = [None; 4];
    for (key, value) in entries {
        match KEYS.iter().position(|known| *known == key) {
            None => return Err(format!("its output has the unknown key {}", crate::text::quote(&key))),
            Some(at) if fields[at].is_some() => return Err(format!("its output has `{key}` twice")),
            Some(at) => fields[at] = Some(value),
        }
    }
    let [reason, context, decision, rewrite] = fields;
    Ok(Answer {
        reason: text(reason, "reason")?,
        context: text(context, "additionalContext")?,
        verdict: verdict(decision)?,
        rewrite: object(rewrite)?,
    })
}

/// In the order in which they are checked.
const KEYS: [&str; 4] = ["reason", "additionalContext", "decision", "updatedInput"];

fn text(node: Option<Node<'_>>, key: &str) -> Result<String, String> {
    match node {
        Some(node) if node.raw() != "null" => node
            .string()
            .ok_or_else(|| format!("`{key}` in its output must be a string, not {}", node.kind())),
        _ => Ok(String::new()),
    }
}

fn verdict(node: Option<Node<'_>>) -> Result<Verdict, String> {
    let Some(node) = node else { return Ok(Verdict::Allow) };
    match node.string().as_deref() {
        Some("allow") => Ok(Verdict::Allow),
        Some("ask") => Ok(Verdict::Ask),
        Some("deny") => Ok(Verdict::Deny),
        Some(other) => Err(format!(
            "`decision` in its output must be \"allow\", \"deny\" or \"ask\", not {}",
            crate::text::quote(&crate::text::bounded(other, 100))
        )),
        None => Err(format!("`decision` in its output must be a string, not {}", node.kind())),
    }
}

fn object(node: Option<Node<'_>>) -> Result<Option<Object>, String> {
    match node.map(|node| node.value()) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(other) => Err(format!(
            "`updatedInput` in its output must be an object, not {}",
            crate::json::kind_of(&other)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(output: &str) -> Answer {
        read(output.as_bytes()).unwrap()
    }

    #[test]
    fn every_key_has_its_effect() {
        assert_eq!(of(""), Answer::default());
        assert_eq!(of(" \n\u{a0}"), Answer::default());
        assert_eq!(of("{}"), Answer::default());
        assert_eq!(
            of(r#"{"decision":"allow","reason":null,"additionalContext":null,"updatedInput":null}"#),
            Answer::default()
        );
        let denied = of("\n{\"decision\":\"deny\",\"reason\":\" r \"}\n");
        assert_eq!((denied.verdict, denied.reason.as_str()), (Verdict::Deny, " r "));
        assert_eq!(of(r#"{"decision":"ask"}"#).verdict, Verdict::Ask);
        assert_eq!(of(r#"{"additionalContext":"c"}"#).context, "c");
        assert_eq!(of(r#"{"updatedInput":{}}"#).rewrite, Some(Object::new()));
        let exact = r#"{"n":9007199254740993,"x":1e+999,"y":1.10}"#;
        let rewrite = of(&format!("{{\"updatedInput\":{exact}}}")).rewrite;
        assert_eq!(serde_json::to_string(&rewrite).unwrap(), exact);
        assert_eq!(read(b"{\"reason\":\"a\xffb\"}").unwrap().reason, "a\u{fffd}b");
    }

    #[test]
    fn anything_else_is_a_failure() {
        for (output, says) in [
            ("allow", "not one JSON object"),
            ("[]", "must be a JSON object, not an array"),
            ("null", "must be a JSON object, not null"),
            (r#"{} {}"#, "trailing"),
            (r#"{"Decision":"deny"}"#, "unknown key \"Decision\""),
            (r#"{"decision":"deny","ok":true}"#, "unknown key \"ok\""),
            (r#"{"decision":"allow","decision":"deny"}"#, "`decision` twice"),
            (r#"{"decision":"maybe"}"#, "not \"maybe\""),
            (r#"{"decision":"approve"}"#, "not \"approve\""),
            (r#"{"decision":""}"#, "not \"\""),
            (r#"{"decision":null}"#, "must be a string, not null"),
            (r#"{"decision":true}"#, "must be a string, not a boolean"),
            (r#"{"decision":1}"#, "must be a string, not a number"),
            (r#"{"reason":5}"#, "`reason`"),
            (r#"{"additionalContext":{}}"#, "`additionalContext`"),
            (r#"{"updatedInput":"x"}"#, "`updatedInput`"),
            (r#"{"updatedInput":[]}"#, "must be an object, not an array"),
            // Of several mistakes the first in this order is told.
            (r#"{"updatedInput":1,"decision":1,"additionalContext":1,"reason":1}"#, "`reason`"),
            (r#"{"updatedInput":1,"decision":1,"additionalContext":1}"#, "`additionalContext`"),
            (r#"{"updatedInput":1,"decision":1}"#, "`decision`"),
        ] {
            let why = read(output.as_bytes()).unwrap_err();
            assert!(why.contains(says), "{output}: {why}");
        }
    }

    proptest! {
        #[test]
        fn no_output_panics(output in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&output);
        }
    }
}
