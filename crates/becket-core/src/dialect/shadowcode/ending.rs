//! How a tool call ended, told from what each host reports.

use serde_json::Value;

use crate::event::{Event, EventName};
use crate::json::Object;

/// How a call ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) failed: bool,
    pub(super) exit_code: Option<i64>,
    /// What the host says of the failure.
    pub(super) error: String,
}

/// Reads the end of the call that `event` tells of.
pub(super) fn of(event: &Event) -> Ending {
    let response = event.fields.get("tool_response");
    let exit_code = response.and_then(exit_code).or_else(|| told_code(event));
    let flagged = response.is_some_and(is_flagged);
    let failed =
        event.name == EventName::PostToolUseFailure || flagged || exit_code.is_some_and(|code| code != 0);
    let error = if failed { error(event, response, exit_code) } else { String::new() };
    Ending { failed, exit_code, error }
}

/// Whether the response says of itself that it is one of failure.
fn is_flagged(response: &Value) -> bool {
    let Some(response) = response.as_object() else { return false };
    let is = |key: &str, truth: bool| response.get(key).and_then(Value::as_bool) == Some(truth);
    let error = match response.get("error") {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    };
    error || is("is_error", true) || is("isError", true) || is("success", false)
}

fn exit_code(response: &Value) -> Option<i64> {
    let response = response.as_object()?;
    let code = |object: &Object, keys: &[&str]| keys.iter().find_map(|key| object.get(*key)?.as_i64());
    let metadata = || response.get("metadata").and_then(Value::as_object);
    code(response, &["exit_code", "exitCode"])
        .or_else(|| code(metadata()?, &["exit", "exit_code", "exitCode"]))
        .or_else(|| written_code(&llm_text(response.get("llmContent")?)?))
}

/// The code with which the text of a reported failure begins: `Exit code 3`, then what the command wrote.
fn told_code(event: &Event) -> Option<i64> {
    let error =
        event.fields.get("error").filter(|_| event.name == EventName::PostToolUseFailure)?.as_str()?;
    error.lines().next()?.strip_prefix("Exit code ")?.trim().parse().ok()
}

fn llm_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            Some(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n"))
        }
        Value::Object(part) => part.get("text").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    }
}

/// The code in a report that ends in lines such as `Exit Code: 3`. Only those last lines count: the command's own
/// output, which comes before them, may look the same.
fn written_code(text: &str) -> Option<i64> {
    const LABELS: [&str; 5] = ["Error: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ", "</"];
    text.lines()
        .rev()
        .map(str::trim)
        .take_while(|line| {
            line.is_empty()
                || line.starts_with("Exit Code: ")
                || LABELS.iter().any(|label| line.starts_with(label))
        })
        .find_map(|line| line.strip_prefix("Exit Code: ")?.trim().parse().ok())
}

fn error(event: &Event, response: Option<&Value>, exit_code: Option<i64>) -> String {
    let of = |value: &Value| match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Object(object) => object
            .get("message")
            .and_then(Value::as_str)
            .map(str::to_owned)
            .or_else(|| Some(value.to_string())),
        _ => None,
    };
    let told = event.fields.get("error").and_then(of);
    let told = told.or_else(|| of(response?.as_object()?.get("error")?));
    told.or_else(|| exit_code.map(|code| format!("exit code {code}")))
        .unwrap_or_else(|| "the tool failed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "tests read better with literals")]
    fn end(name: &str, response: Value, more: Value) -> Ending {
        let mut fields = json!({"hook_event_name": name, "tool_name": "Bash", "tool_input": {"command": "x"}, "tool_response": response});
        fields.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        of(&Event::read(fields.to_string().as_bytes(), None).unwrap())
    }

    #[test]
    fn a_failure_is_seen_in_every_hosts_words() {
        let gemini = |code: &str| json!({"llmContent": format!("<untrusted_context>\nOutput: (empty)\nExit Code: {code}\nProcess Group PGID: 21133\n</untrusted_context>"), "returnDisplay": ""});
        for (response, failed, code) in [
            (json!(""), false, None),
            (json!("Exit Code: 3"), false, None),
            (json!({"exit_code": 0}), false, Some(0)),
            (json!({"exit_code": 3}), true, Some(3)),
            (json!({"exitCode": -1}), true, Some(-1)),
            (json!({"metadata": {"exit": 3}}), true, Some(3)),
            (json!({"metadata": {"exit": null}}), false, None),
            (gemini("3"), true, Some(3)),
            (gemini("0"), false, Some(0)),
            (gemini("(none)"), false, None),
            (json!({"llmContent": "Output: Exit Code: 3\nmore\n"}), false, None),
            (json!({"llmContent": [{"text": "Output: x"}, {"text": "Exit Code: 4"}]}), true, Some(4)),
            (json!({"is_error": true}), true, None),
            (json!({"isError": true}), true, None),
            (json!({"success": false}), true, None),
            (json!({"error": ""}), false, None),
            (json!({"error": {"message": "m"}}), true, None),
            (json!({"error": null, "stdout": "x"}), false, None),
        ] {
            let end = end("PostToolUse", response.clone(), json!({}));
            assert_eq!((end.failed, end.exit_code), (failed, code), "{response}");
        }
        let failure = end("PostToolUseFailure", json!(null), json!({"error": "no such file"}));
        assert_eq!((failure.failed, failure.error.as_str()), (true, "no such file"));
        let told =
            end("PostToolUseFailure", json!(null), json!({"error": "Exit code 101\nassertion failed"}));
        assert_eq!((told.failed, told.exit_code), (true, Some(101)));
        assert_eq!(end("PostToolUse", json!({"error": {"message": "m"}}), json!({})).error, "m");
        assert_eq!(end("PostToolUse", json!({"exit_code": 3}), json!({})).error, "exit code 3");
    }
}
