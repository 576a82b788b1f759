//! What a hook reads on its standard input: one compact JSON object in Go's form, its keys sorted, no newline.

use std::borrow::Cow;

use camino::Utf8Path;
use serde_json::Value;

use super::definitions::Moment;
use super::environment::text_of;
use super::go;
use crate::dialect::Name;
use crate::event::{Event, EventName};
use crate::json::Object;
use crate::spelling::View;

/// Most of a tool's answer that is passed on, in bytes.
const CONTENT_LIMIT: usize = 256 << 10;

/// One event as Celeste's hooks hear of it.
pub(super) struct Call<'a> {
    pub(super) moment: Moment,
    pub(super) workspace: &'a Utf8Path,
    event: &'a Event,
    /// The tool call in Celeste's words, as the hooks before have left it.
    view: Option<View>,
    /// The input that they have written, in the host's own keys.
    rewritten: Option<Object>,
}

impl<'a> Call<'a> {
    pub(super) fn new(event: &'a Event, moment: Moment, workspace: &'a Utf8Path) -> Self {
        let tool = event.tool.as_ref().filter(|_| moment.is_tool());
        let view = tool.map(|tool| View::of(tool, Name::Celeste));
        Self { moment, workspace, event, view, rewritten: None }
    }

    pub(super) fn session_id(&self) -> &'a str {
        self.event.session_id.as_deref().unwrap_or_default()
    }

    pub(super) fn tool_name(&self) -> Option<&str> {
        self.view.as_ref().map(|view| view.tool_name.as_str())
    }

    /// The tool's input in Celeste's keys, as it stands now.
    pub(super) fn input(&self) -> Option<&Object> {
        self.view.as_ref()?.tool_input.as_ref()
    }

    pub(super) fn input_text(&self, key: &str) -> &str {
        text_of(self.input(), key)
    }

    /// From here on every hook sees this input, as it will run: under the keys by which the hooks know it, whatever keys
    /// were written.
    ///
    /// # Errors
    /// As of [`View::rewritten`].
    pub(super) fn rewrite(&mut self, input: &Object) -> Result<(), String> {
        if let Some(view) = &self.view {
            let call = view.rewritten(input)?;
            self.view = Some(View::of(&call, Name::Celeste));
            self.rewritten = call.input;
        }
        Ok(())
    }

    /// The input that all hooks together have written, in the host's own keys.
    pub(super) fn into_rewritten(self) -> Option<Object> {
        self.rewritten
    }

    /// What stands on a hook's standard input.
    pub(super) fn stdin(&self, directory: &Utf8Path) -> Vec<u8> {
        let mut fields: Vec<(&str, Field<'_>)> = vec![
            ("event", Field::text(self.moment.as_str())),
            ("session_id", Field::text(self.session_id())),
            ("workspace", Field::text(self.workspace.as_str())),
            ("project_dir", Field::text(directory.as_str())),
        ];
        let text = |field: &str| Field::text(self.event.text(field).unwrap_or_default());
        match self.moment {
            Moment::PreToolUse | Moment::PostToolUse => {
                fields.push(("tool_name", Field::text(self.tool_name().unwrap_or_default())));
                fields.push(("tool_input", Field::Input(self.input())));
                if self.moment == Moment::PostToolUse {
                    fields.push(("tool_response", Field::Response(Response::of(self.event))));
                }
            }
            Moment::SessionStart => fields.push(("source", Field::text(start(self.event.text("source"))))),
            Moment::UserPromptSubmit => fields.push(("prompt", text("prompt"))),
            Moment::PreCompact => {
                fields.push(("trigger", Field::text(trigger(self.event.text("trigger")))));
                fields.push(("custom_instructions", text("custom_instructions")));
            }
            Moment::PostCompact => {
                fields.push(("trigger", Field::text(trigger(self.event.text("trigger")))));
                // Claude Code has the summary under a name of its own.
                let summary = self.event.text("summary").or_else(|| self.event.text("compact_summary"));
                fields.push(("summary", Field::text(summary.unwrap_or_default())));
            }
            Moment::Stop => fields.push(("last_message", text("last_assistant_message"))),
            Moment::SubagentStop => {
                fields.push(("agent_id", text("agent_id")));
                fields.push(("last_message", text("last_assistant_message")));
            }
        }
        fields.sort_unstable_by_key(|(key, _)| *key);
        let mut json = String::with_capacity(256);
        json.push('{');
        for (index, (key, field)) in fields.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            go::write_string(key, &mut json);
            json.push(':');
            field.write(&mut json);
        }
        json.push('}');
        json.into_bytes()
    }
}

enum Field<'a> {
    Text(&'a str),
    Input(Option<&'a Object>),
    Response(Response<'a>),
}

impl<'a> Field<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text(text)
    }

    fn write(&self, json: &mut String) {
        match self {
            Self::Text(text) => go::write_string(text, json),
            Self::Input(None) => json.push_str("null"),
            Self::Input(Some(input)) => go::write_object(input, json),
            Self::Response(response) => {
                let (content, truncated) = cut(&response.content, CONTENT_LIMIT);
                json.push_str("{\"content\":");
                go::write_string(content, json);
                json.push_str(if response.error { ",\"error\":true" } else { ",\"error\":false" });
                json.push_str(if truncated { ",\"truncated\":true}" } else { ",\"truncated\":false}" });
            }
        }
    }
}

/// At most `limit` bytes of `text`, cut at a character, and whether something was left out.
pub(super) fn cut(text: &str, limit: usize) -> (&str, bool) {
    if text.len() <= limit { (text, false) } else { (&text[..text.floor_char_boundary(limit)], true) }
}

/// Celeste starts anew or resumes. A session that goes on after its context was compacted has not begun.
fn start(source: Option<&str>) -> &'static str {
    match source {
        Some("resume" | "compact") => "resume",
        _ => "startup",
    }
}

/// A person asked for the compaction, or nobody did.
fn trigger(trigger: Option<&str>) -> &'static str {
    match trigger {
        Some("manual") => "manual",
        _ => "auto",
    }
}

/// A tool's answer, in whatever form the host has it.
struct Response<'a> {
    content: Cow<'a, str>,
    error: bool,
}

impl<'a> Response<'a> {
    fn of(event: &'a Event) -> Self {
        let response = event.fields.get("tool_response").filter(|value| !value.is_null());
        let failure = event.fields.get("error").filter(|value| !value.is_null());
        let error = event.name == EventName::PostToolUseFailure
            || response.and_then(Value::as_object).is_some_and(says_error)
            || says_error(&event.fields);
        let content = response.or(failure).map(content).unwrap_or_default();
        Self { content, error }
    }
}

/// Whether an object says of itself that it is an error: a flag, or a text under `error`.
fn says_error(object: &Object) -> bool {
    let flag = |key: &str| object.get(key).and_then(Value::as_bool).unwrap_or(false);
    let told = match object.get("error") {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(_)) => true,
        _ => false,
    };
    flag("is_error") || flag("isError") || flag("error") || told
}

/// Where hosts are known to keep the text of a tool's answer.
const CONTENT_KEYS: [&str; 6] = ["content", "llmContent", "output", "result", "text", "error"];

/// The text of an answer: itself, a part of it, or all of it as JSON where no part is known to be the text.
fn content(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(parts) if !parts.is_empty() && parts.iter().all(is_text_part) => {
            let texts: Vec<Cow<'_, str>> = parts.iter().map(content).collect();
            Cow::Owned(texts.join("\n"))
        }
        Value::Object(object) => {
            if let Some(output) = object.get("stdout").and_then(Value::as_str) {
                return match text_of(Some(object), "stderr") {
                    "" => Cow::Borrowed(output),
                    errors if output.is_empty() => Cow::Borrowed(errors),
                    errors => Cow::Owned(format!("{output}\n{errors}")),
                };
            }
            let part = CONTENT_KEYS.iter().find_map(|key| object.get(*key).filter(|value| is_content(value)));
            part.map_or_else(|| Cow::Owned(go::compact_object(object)), content)
        }
        other => Cow::Owned(go::compact(other)),
    }
}

fn is_content(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Array(parts) => parts.iter().all(is_text_part),
        _ => false,
    }
}

fn is_text_part(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Object(part) => part.get("text").is_some_and(Value::is_string),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::environment::Told;
    use super::*;

    fn event(text: &str) -> Event {
        Event::read(format!("{{\"session_id\":\"s\",{text}}}").as_bytes(), None).unwrap()
    }

    fn sent(text: &str) -> String {
        let event = event(text);
        let call = Call::new(&event, Moment::of(&event).unwrap(), "/w".into());
        String::from_utf8(call.stdin("/p".into())).unwrap()
    }

    #[test]
    fn each_event_has_its_exact_payload() {
        for (given, expected) in [
            (
                r#""hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"a && b","a":{"z":1.10,"b":null}}"#,
                r#"{"event":"PreToolUse","project_dir":"/p","session_id":"s","tool_input":{"a":{"b":null,"z":1.10},"command":"a \u0026\u0026 b"},"tool_name":"bash","workspace":"/w"}"#,
            ),
            (
                r#""hook_event_name":"PreToolUse","tool_name":"WebFetch""#,
                r#"{"event":"PreToolUse","project_dir":"/p","session_id":"s","tool_input":null,"tool_name":"WebFetch","workspace":"/w"}"#,
            ),
            (
                r#""hook_event_name":"PostToolUse","tool_name":"Write","tool_input":{"file_path":"a","content":"b"},"tool_response":"done""#,
                r#"{"event":"PostToolUse","project_dir":"/p","session_id":"s","tool_input":{"content":"b","path":"a"},"tool_name":"write_file","tool_response":{"content":"done","error":false,"truncated":false},"workspace":"/w"}"#,
            ),
            (
                r#""hook_event_name":"SessionStart","source":"clear""#,
                r#"{"event":"SessionStart","project_dir":"/p","session_id":"s","source":"startup","workspace":"/w"}"#,
            ),
            (
                r#""hook_event_name":"SessionStart","source":"resume""#,
                r#"{"event":"SessionStart","project_dir":"/p","session_id":"s","source":"resume","workspace":"/w"}"#,
            ),
            (
                r#""hook_event_name":"UserPromptSubmit","prompt":"<p>""#,
                r#"{"event":"UserPromptSubmit","project_dir":"/p","prompt":"\u003cp\u003e","session_id":"s","workspace":"/w"}"#,
            ),
            (
                r#""hook_event_name":"PreCompact","trigger":"manual","custom_instructions":"i""#,
                r#"{"custom_instructions":"i","event":"PreCompact","project_dir":"/p","session_id":"s","trigger":"manual","workspace":"/w"}"#,
            ),
            (
                r#""hook_event_name":"PostCompact","summary":"m""#,
                r#"{"event":"PostCompact","project_dir":"/p","session_id":"s","summary":"m","trigger":"auto","workspace":"/w"}"#,
            ),
            (
                r#""hook_event_name":"Stop","last_assistant_message":"m","stop_hook_active":true"#,
                r#"{"event":"Stop","last_message":"m","project_dir":"/p","session_id":"s","workspace":"/w"}"#,
            ),
            (
                r#""hook_event_name":"SubagentStop","agent_id":"a","last_assistant_message":"m""#,
                r#"{"agent_id":"a","event":"SubagentStop","last_message":"m","project_dir":"/p","session_id":"s","workspace":"/w"}"#,
            ),
        ] {
            assert_eq!(sent(given), expected);
        }
    }

    fn response(given: &str) -> (String, bool) {
        let event = event(&format!(r#""hook_event_name":"PostToolUse","tool_name":"X",{given}"#));
        let response = Response::of(&event);
        (response.content.into_owned(), response.error)
    }

    #[test]
    fn a_tools_answer_is_found_in_whatever_form_it_comes() {
        for (given, content, error) in [
            (r#""tool_response":"t""#, "t", false),
            (r#""tool_response":{"content":"t","error":true}"#, "t", true),
            (
                r#""tool_response":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"isError":true}"#,
                "a\nb",
                true,
            ),
            (r#""tool_response":[{"type":"text","text":"a"}]"#, "a", false),
            (r#""tool_response":{"stdout":"o","stderr":"e","interrupted":false}"#, "o\ne", false),
            (r#""tool_response":{"stdout":"","stderr":"e"}"#, "e", false),
            (r#""tool_response":{"llmContent":"t","returnDisplay":"d","error":null}"#, "t", false),
            (r#""tool_response":{"output":"t","error":"bad"}"#, "t", true),
            (r#""tool_response":{"filePath":"a<b","n":1.0}"#, r#"{"filePath":"a\u003cb","n":1.0}"#, false),
            (r#""tool_response":{"content":{"deep":1}}"#, r#"{"content":{"deep":1}}"#, false),
            (r#""tool_response":7"#, "7", false),
            (r#""tool_response":null"#, "", false),
            (r#""tool_response":"t","is_error":true"#, "t", true),
            (r#""error":"e""#, "e", true),
        ] {
            assert_eq!(response(given), (content.to_owned(), error), "{given}");
        }
        let failed = event(r#""hook_event_name":"PostToolUseFailure","tool_name":"X","error":"e""#);
        let failed = Response::of(&failed);
        assert_eq!((&*failed.content, failed.error), ("e", true));
    }

    #[test]
    fn long_answers_are_cut_at_a_character() {
        let long = format!("{}é", "x".repeat(CONTENT_LIMIT - 1));
        let sent =
            sent(&format!(r#""hook_event_name":"PostToolUse","tool_name":"X","tool_response":"{long}""#));
        assert!(sent.contains(r#"x","error":false,"truncated":true}"#) && !sent.contains('é'));
        let whole = "x".repeat(CONTENT_LIMIT);
        assert_eq!(cut(&whole, CONTENT_LIMIT), (whole.as_str(), false));
    }

    fn environment(text: &str) -> (Vec<(String, String)>, bool) {
        let event = event(text);
        let call = Call::new(&event, Moment::of(&event).unwrap(), "/w".into());
        let told = Told::of(&call, "/p".into());
        let omits = told.has_omissions;
        let inherited = [
            ("PATH".into(), "/bin".into()),
            ("CELESTE_TOOL_COMMAND".into(), "stale".into()),
            ("CELESTE_X".into(), "stale".into()),
        ];
        let text = |text: std::ffi::OsString| text.into_string().unwrap();
        (
            told.environment(&inherited).into_iter().map(|(name, value)| (text(name), text(value))).collect(),
            omits,
        )
    }

    #[test]
    fn the_environment_tells_of_this_call_only() {
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let stop = environment(r#""hook_event_name":"Stop""#);
        assert_eq!(
            stop,
            (
                pairs(&[
                    ("PATH", "/bin"),
                    ("CELESTE_HOOK_EVENT", "Stop"),
                    ("CELESTE_WORKSPACE", "/w"),
                    ("CELESTE_PROJECT_DIR", "/p"),
                    ("CELESTE_SESSION_ID", "s"),
                ]),
                false
            )
        );
        let tool = environment(
            r#""hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"a","command":5}"#,
        );
        assert_eq!(
            tool.0[5..],
            pairs(&[
                ("CELESTE_TOOL_NAME", "patch_file"),
                ("CELESTE_TOOL_INPUT", r#"{"command":5,"path":"a"}"#),
                ("CELESTE_TOOL_PATH", "a"),
                ("CELESTE_TOOL_COMMAND", ""),
            ])
        );
        let none = environment(r#""hook_event_name":"PreToolUse","tool_name":"X""#);
        assert_eq!(none.0[6], ("CELESTE_TOOL_INPUT".to_owned(), "null".to_owned()));
    }

    #[test]
    fn what_does_not_fit_is_empty_and_flagged() {
        let with = |command: &str| {
            environment(&format!(
                r#""hook_event_name":"PreToolUse","tool_name":"bash","tool_input":{{"command":"{command}"}}"#
            ))
        };
        let value = |(variables, _): &(Vec<(String, String)>, bool), name: &str| {
            variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.len())
        };
        let fits = with(&"x".repeat(64 << 10));
        assert_eq!((value(&fits, "CELESTE_TOOL_COMMAND"), fits.1), (Some(64 << 10), false));
        assert_eq!(value(&fits, "CELESTE_TOOL_INPUT_TRUNCATED"), None);
        for command in ["x".repeat(200 << 10), "a\\u0000b".to_owned()] {
            let omitted = with(&command);
            assert_eq!((value(&omitted, "CELESTE_TOOL_COMMAND"), omitted.1), (Some(0), true));
            assert_eq!(value(&omitted, "CELESTE_TOOL_INPUT_TRUNCATED"), Some(1));
        }
        // As JSON the NUL is an escape, and fits.
        assert_eq!(value(&with("a\\u0000b"), "CELESTE_TOOL_INPUT"), Some(r#"{"command":"a\u0000b"}"#.len()));
        assert_eq!(value(&with(&"x".repeat(VALUE)), "CELESTE_TOOL_COMMAND"), Some(VALUE));
        assert_eq!(value(&with(&"x".repeat(VALUE + 1)), "CELESTE_TOOL_COMMAND"), Some(0));
        const VALUE: usize = 122_880;
    }
}
