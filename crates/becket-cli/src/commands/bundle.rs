//! `becket bundle add` and `remove`: hook definitions that plugins bring.

use crate::exit::ExitCode;
use std::fmt::Write as _;

use becket::core::text;

use super::{Result, engine};
use crate::args::{Bundle, Common};
use crate::input;
use crate::output::{self, CommandError};

pub(crate) fn run(common: &Common, what: &Bundle) -> Result {
    let engine = engine(common, true)?;
    let workspace = engine.workspace(common.workspace.as_deref());
    let (verb, change) = match what {
        Bundle::Add { file } => ("added", engine.add_bundle(workspace, &input::file(file)?)),
        Bundle::Remove { name } => ("removed", engine.remove_bundle(workspace, name)),
    };
    let change = change.map_err(CommandError::new)?;
    if common.json {
        let json = serde_json::json!({
            "plugin": change.plugin, verb: change.changed, "retained": change.retained, "ignored": change.ignored,
        });
        output::json(&json, true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = String::new();
    for path in &change.changed {
        let _ = writeln!(page, "{verb} {}", text::line(path.as_str()));
    }
    for path in &change.retained {
        let _ = writeln!(page, "kept {}: somebody edited it", text::line(path.as_str()));
    }
    if !change.ignored.is_empty() {
        let parts: Vec<_> = change.ignored.iter().map(|part| text::line(part)).collect();
        let _ = writeln!(page, "parts that are not for Becket: {}", parts.join(", "));
    }
    if verb == "added" {
        page.push_str(
            "They are disabled. Read them with `becket list`, enable each with `becket approve PATH`.\n",
        );
    }
    output::print(&page)?;
    Ok(ExitCode::SUCCESS)
}
