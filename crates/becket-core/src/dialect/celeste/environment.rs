//! What a hook finds in its environment. A value that does not fit is left empty and flagged, never cut: half a
//! command could look harmless.

use std::ffi::OsString;

use camino::Utf8Path;
use serde_json::Value;

use super::go;
use super::payload::Call;

/// Longest value that is passed, in bytes: Linux takes 128 KiB for one variable, its name included.
const VALUE_LIMIT: usize = 120 << 10;

/// Celeste's own variables. An inherited one could be taken for this call's.
const PREFIX: &str = "CELESTE_";

/// The variables that tell of one call.
pub(super) struct Told {
    /// Name and value.
    variables: Vec<(&'static str, String)>,
    /// Whether a value was left empty because it did not fit.
    pub(super) has_omissions: bool,
}

impl Told {
    /// What is told of `call` to a hook that runs in `directory`.
    pub(super) fn of(call: &Call<'_>, directory: &Utf8Path) -> Self {
        let mut told = Self { variables: Vec::with_capacity(9), has_omissions: false };
        told.put("CELESTE_HOOK_EVENT", call.moment.as_str().to_owned());
        told.put("CELESTE_WORKSPACE", call.workspace.as_str().to_owned());
        told.put("CELESTE_PROJECT_DIR", directory.as_str().to_owned());
        told.put("CELESTE_SESSION_ID", call.session_id().to_owned());
        if let Some(tool) = call.tool_name() {
            told.put("CELESTE_TOOL_NAME", tool.to_owned());
            told.put("CELESTE_TOOL_INPUT", call.input().map_or("null".to_owned(), go::compact_object));
            told.put("CELESTE_TOOL_PATH", call.input_text("path").to_owned());
            told.put("CELESTE_TOOL_COMMAND", call.input_text("command").to_owned());
        }
        if told.has_omissions {
            told.variables.push(("CELESTE_TOOL_INPUT_TRUNCATED", "1".to_owned()));
        }
        told
    }

    fn put(&mut self, name: &'static str, value: String) {
        let fits = value.len() <= VALUE_LIMIT && !value.contains('\0');
        self.has_omissions |= !fits;
        self.variables.push((name, if fits { value } else { String::new() }));
    }

    /// The whole environment: `inherited` without anything of Celeste's, and what is told.
    pub(super) fn environment(self, inherited: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let foreign =
            |(name, _): &&(OsString, OsString)| !name.as_encoded_bytes().starts_with(PREFIX.as_bytes());
        let told = self.variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        inherited.iter().filter(foreign).cloned().chain(told).collect()
    }
}

/// A string field of a tool's input; empty where it is absent or not a string.
pub(super) fn text_of<'a>(input: Option<&'a crate::json::Object>, key: &str) -> &'a str {
    input.and_then(|input| input.get(key)).and_then(Value::as_str).unwrap_or_default()
}
