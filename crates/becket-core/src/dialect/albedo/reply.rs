//! What a command's end says.

use serde_json::Value;

use crate::dialect::{Captured, End, Finished};
use crate::event::EventName;
use crate::json::{self, Object, Repeated};
use crate::outcome::{Status, signal_name};
use crate::text;

/// Longest context that is taken from one hook, in characters.
const CONTEXT_LIMIT: usize = 10_000;

/// Longest piece of a hook's output that is shown in a message, in bytes.
const SHOWN: usize = 300;

/// What one run came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) status: Status,
    /// Why, in one line; also the message that a person sees of a failure.
    pub(super) detail: String,
    pub(super) block: Option<String>,
    /// The reason may be missing.
    pub(super) halt: Option<Option<String>>,
    /// In albedo's keys.
    pub(super) rewrite: Option<Object>,
    pub(super) context: Option<String>,
    /// The hook's own note for the person.
    pub(super) note: Option<String>,
    /// What is to be said of the answer itself; whoever shows it says whose it was.
    pub(super) remarks: Vec<String>,
}

impl Reply {
    fn of(status: Status, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            block: None,
            halt: None,
            rewrite: None,
            context: None,
            note: None,
            remarks: Vec::new(),
        }
    }
}

/// Reads the end of a command at `moment`.
pub(super) fn read(moment: EventName, finished: &Finished) -> Reply {
    match &finished.end {
        End::Exited(0) => success(moment, &finished.stdout),
        End::Exited(2) => {
            let reason = String::from_utf8_lossy(&finished.stderr.head).trim().to_owned();
            let detail = if reason.is_empty() { "exit code 2" } else { "" };
            block(moment, Reply::of(Status::Blocked, detail), reason)
        }
        End::Exited(code) => {
            let said = first_line(&finished.stderr);
            Reply::of(Status::Failed, format!("exit code {code}{said}"))
        }
        End::Signalled(signal) => Reply::of(Status::Failed, format!("ended by {}", signal_name(*signal))),
        End::TimedOut => {
            // The event's own time may have run out first.
            let own = finished.job.command.timeout;
            let ran = (finished.duration.as_secs_f64() * 10.0).round() / 10.0;
            let seconds = if finished.duration < own { ran } else { own.as_secs_f64() };
            Reply::of(Status::TimedOut, format!("did not finish within {seconds} s and was ended"))
        }
        End::Overflowed(stream) => {
            Reply::of(Status::Failed, format!("wrote more than 1 MiB on {stream} and was ended"))
        }
        End::NotStarted(why) => Reply::of(Status::Failed, format!("could not be started: {why}")),
        End::Replaced(why) | End::Refused(why) => Reply::of(Status::Failed, why.clone()),
        End::Cancelled => Reply::of(Status::Cancelled, "the event was cancelled"),
        End::NoRoom(why) => Reply::of(Status::Lost, format!("it could not be started: {why}")),
        End::NoTime => Reply::of(Status::Lost, "no time was left to run it to its end"),
        End::Lost => Reply::of(Status::Lost, "how it ended could not be learnt"),
    }
}

fn success(moment: EventName, stdout: &Captured) -> Reply {
    let Ok(output) = std::str::from_utf8(&stdout.head) else {
        return invalid("its output is not valid UTF-8");
    };
    let trimmed = output.trim();
    if trimmed.is_empty() {
        return Reply::of(Status::Passed, "");
    }
    let takes_text = matches!(moment, EventName::UserPromptSubmit | EventName::SessionStart);
    if !trimmed.trim_start_matches('\u{feff}').starts_with('{') {
        if takes_text {
            let mut reply = Reply::of(Status::Passed, "");
            reply.context = Some(bounded_context(output.trim_end()));
            return reply;
        }
        let shown = text::quote(&text::bounded(trimmed, SHOWN));
        return invalid(&format!("its output is not a JSON object: {shown}"));
    }
    match json::parse(trimmed.as_bytes(), Repeated::LastWins) {
        Ok(Value::Object(object)) => {
            let mut reply = answer(moment, &object);
            // As in albedo the last of repeated keys counts; that another was lost is not kept quiet.
            if let Err(repeated) = json::parse(trimmed.as_bytes(), Repeated::Refuse) {
                reply.remarks.push(format!("in its answer {}: the last one counts", repeated.message));
            }
            reply
        }
        Ok(other) => invalid(&format!("its output is {}, not an object", json::kind_of(&other))),
        Err(error) => invalid(&format!("its output is not one JSON object: {error}")),
    }
}

fn invalid(why: &str) -> Reply {
    Reply::of(Status::Failed, why)
}

/// The fields of an answer, each of the right type; null counts as absent.
struct Fields<'a> {
    object: &'a Object,
    path: &'static str,
}

impl<'a> Fields<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key).filter(|value| !value.is_null())
    }

    fn wrong<T>(&self, key: &str, expected: &str, value: &Value) -> Result<T, String> {
        let path = self.path;
        Err(format!("`{path}{key}` in its output must be {expected}, not {}", json::kind_of(value)))
    }

    fn string(&self, key: &str) -> Result<Option<&'a str>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => self.wrong(key, "a string", other),
        }
    }

    fn boolean(&self, key: &str) -> Result<Option<bool>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => self.wrong(key, "true or false", other),
        }
    }

    fn object(&self, key: &str) -> Result<Option<&'a Object>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => self.wrong(key, "an object", other),
        }
    }
}

fn answer(moment: EventName, object: &Object) -> Reply {
    checked_answer(moment, object).unwrap_or_else(|why| invalid(&why))
}

fn checked_answer(moment: EventName, object: &Object) -> Result<Reply, String> {
    let top = Fields { object, path: "" };
    let go_on = top.boolean("continue")?;
    let stop_reason = top.string("stopReason")?;
    let note = top.string("systemMessage")?;
    let decision = top.string("decision")?;
    let reason = top.string("reason")?;
    let empty = Object::new();
    let specific = top.object("hookSpecificOutput")?.unwrap_or(&empty);
    let specific = Fields { object: specific, path: "hookSpecificOutput." };
    let permission = specific.string("permissionDecision")?;
    let permission_reason = specific.string("permissionDecisionReason")?;
    let rewrite = specific.object("updatedInput")?;
    let context = specific.string("additionalContext")?;

    let mut reply = Reply::of(Status::Passed, "");
    reply.note = note.map(str::to_owned);
    if go_on == Some(false) {
        reply.status = Status::Blocked;
        reply.halt = Some(stop_reason.map(str::to_owned));
    }
    match permission {
        Some("deny") if moment == EventName::PreToolUse => {
            reply.status = Status::Blocked;
            let why = permission_reason.or(reason).unwrap_or_default();
            reply = block(moment, reply, why.trim().to_owned());
        }
        Some("deny") => reply.remarks.push(format!(
            "it answered `permissionDecision: deny`, which only PreToolUse takes; {moment} was not blocked"
        )),
        Some("ask") => reply.remarks.push(
            "it answered `permissionDecision: ask`, but albedo asks nobody: the answer was ignored"
                .to_owned(),
        ),
        Some("allow") | None => {}
        Some(other) => {
            let shown = text::quote(&text::bounded(other, SHOWN));
            reply
                .remarks
                .push(format!("it answered `permissionDecision: {shown}`, which albedo does not know"));
        }
    }
    for key in ["permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"] {
        if object.contains_key(key) {
            reply
                .remarks
                .push(format!("`{key}` in its answer belongs into `hookSpecificOutput`: it was ignored"));
        }
    }
    match decision {
        Some("block") if reply.block.is_none() => {
            reply.status = Status::Blocked;
            reply = block(moment, reply, reason.unwrap_or_default().trim().to_owned());
        }
        Some("block" | "approve" | "allow") | None => {}
        Some(other) => {
            let shown = text::quote(&text::bounded(other, SHOWN));
            reply.remarks.push(format!("it answered `decision: {shown}`, which albedo does not know"));
        }
    }
    if moment == EventName::PreToolUse {
        reply.rewrite = rewrite.cloned();
    }
    reply.context = context.filter(|context| !context.is_empty()).map(bounded_context);
    Ok(reply)
}

/// A block where the event can be blocked; a message where it cannot.
fn block(moment: EventName, mut reply: Reply, reason: String) -> Reply {
    if matches!(moment, EventName::SessionStart | EventName::SessionEnd) {
        let why = if reason.is_empty() { String::new() } else { format!(": {}", text::line(&reason)) };
        reply.remarks.push(format!("it wanted to block, which {moment} cannot be{why}"));
    } else {
        reply.block = Some(reason);
    }
    reply
}

fn bounded_context(context: &str) -> String {
    match context.char_indices().nth(CONTEXT_LIMIT) {
        None => context.to_owned(),
        Some((end, _)) => {
            let all = CONTEXT_LIMIT + context[end..].chars().count();
            format!("{}\n[cut: the first {CONTEXT_LIMIT} of {all} characters]", &context[..end])
        }
    }
}

/// ": " and the first line that a failed command wrote on stderr, escaped and bounded; else nothing.
fn first_line(stderr: &Captured) -> String {
    let text = String::from_utf8_lossy(&stderr.head);
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!(": {}", text::line(&text::bounded(line, SHOWN))),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(moment: EventName, output: &str) -> Reply {
        success(
            moment,
            &Captured { head: output.as_bytes().to_vec(), tail: vec![], total: output.len() as u64 },
        )
    }

    use EventName::{PostToolUse, PreToolUse, SessionStart, Stop, UserPromptSubmit};

    #[test]
    fn every_field_has_its_effect() {
        let reply =
            said(PreToolUse, r#"{"continue":false,"stopReason":"s","systemMessage":"m","unknown":{}}"#);
        assert_eq!((reply.halt, reply.note), (Some(Some("s".to_owned())), Some("m".to_owned())));
        assert_eq!(said(Stop, r#"{"decision":"block","reason":" r "}"#).block.as_deref(), Some("r"));
        let denied = said(
            PreToolUse,
            r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"d"}}"#,
        );
        assert_eq!((denied.block.as_deref(), denied.status), (Some("d"), Status::Blocked));
        let changed = said(
            PreToolUse,
            r#"{"hookSpecificOutput":{"updatedInput":{"n":12345678901234567890},"additionalContext":"c"}}"#,
        );
        assert_eq!(serde_json::to_string(&changed.rewrite).unwrap(), r#"{"n":12345678901234567890}"#);
        assert_eq!(changed.context.as_deref(), Some("c"));
        assert_eq!(said(PostToolUse, r#"{"hookSpecificOutput":{"updatedInput":{}}}"#).rewrite, None);
        assert_eq!(said(SessionStart, r#"{"decision":"block","reason":"r"}"#).block, None);
    }

    #[test]
    fn a_known_key_of_the_wrong_type_or_broken_json_lets_go_with_a_reason() {
        for (output, says) in [
            (r#"{"continue":"no"}"#, "`continue` in its output must be true or false, not a string"),
            (r#"{"hookSpecificOutput":{"updatedInput":[]}}"#, "`hookSpecificOutput.updatedInput`"),
            (r#"{"decision":1}"#, "`decision`"),
            (r#"{"a":NaN}"#, "not one JSON object"),
            (r#"{"a":"\ud800"}"#, "surrogate"),
            (r#"{} {"decision":"block"}"#, "trailing"),
            ("[1]", "not a JSON object"),
            ("noise\n{\"decision\":\"block\"}", "not a JSON object"),
            ("\u{feff}{}", "byte order mark"),
        ] {
            let reply = said(PreToolUse, output);
            assert_eq!((reply.status, reply.block), (Status::Failed, None), "{output}");
            assert!(reply.detail.contains(says), "{output}: {}", reply.detail);
        }
        assert_eq!(said(PreToolUse, "{\r\n \"decision\": \"block\"\r\n}\r\n").status, Status::Blocked);
        assert_eq!(said(PreToolUse, " \n").status, Status::Passed);
        let twice = said(PreToolUse, r#"{"decision":"allow","decision":"block"}"#);
        assert_eq!(twice.status, Status::Blocked);
    }

    #[test]
    fn plain_text_is_context_where_a_turn_begins() {
        assert_eq!(said(UserPromptSubmit, "hello\n").context.as_deref(), Some("hello"));
        assert_eq!(said(SessionStart, "[1, 2]").context.as_deref(), Some("[1, 2]"));
        assert_eq!(said(UserPromptSubmit, "{ not json").status, Status::Failed);
        assert_eq!(said(Stop, "hello").status, Status::Failed);
    }

    #[test]
    fn context_is_bounded_in_characters() {
        let whole = "é".repeat(CONTEXT_LIMIT);
        assert_eq!(said(UserPromptSubmit, &whole).context, Some(whole.clone()));
        let cut = said(UserPromptSubmit, &format!("{whole}x")).context.unwrap();
        assert!(cut.starts_with(&whole) && cut.ends_with("\n[cut: the first 10000 of 10001 characters]"));
    }
}
