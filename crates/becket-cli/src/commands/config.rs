//! `becket config`: every setting in force, and what set it.

use crate::exit::ExitCode;
use std::fmt::Write as _;

use becket::core::text;
use becket::settings::Origin;
use serde_json::json;

use super::{Result, engine};
use crate::args::Common;
use crate::output;

pub(crate) fn run(common: &Common) -> Result {
    let engine = engine(common, true)?;
    let settings = engine.settings();
    if common.json {
        output::json(&json!({ "settings": settings.effective, "problems": settings.problems }), true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = String::new();
    for setting in &settings.effective {
        let value = if setting.value.is_empty() { "(unset)".into() } else { text::line(&setting.value) };
        let origin = match &setting.origin {
            Origin::Default => "default".to_owned(),
            Origin::File { path, line } => format!("{}:{line}", text::line(path.as_str())),
            Origin::Variable(name) => format!("${name}"),
            Origin::Option(name) => (*name).to_owned(),
        };
        let _ = writeln!(page, "{} = {value}  ({origin})\n    {}", setting.key, setting.help);
    }
    for problem in &settings.problems {
        let _ = writeln!(page, "problem: {problem}");
    }
    output::print(&page)?;
    Ok(ExitCode::SUCCESS)
}
