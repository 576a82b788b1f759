//! `becket trust` and `untrust`: a whole project's standing.

use crate::exit::ExitCode;

use becket::core::dialect::Answer;
use becket::core::text;

use super::{Result, engine};
use crate::args::{Common, Project};
use crate::output::{self, CommandError};

pub(crate) fn run(common: &Common, project: &Project, given: Answer) -> Result {
    let engine = engine(common, true)?;
    let named = project.directory.as_deref().or(common.workspace.as_deref());
    let workspace = engine.workspace(named);
    let shown = text::line(workspace.as_str()).into_owned();
    engine.trust_project(workspace, given).map_err(CommandError::new)?;
    let trusted = given == Answer::Approve;
    if common.json {
        output::json(&serde_json::json!({ "workspace": shown, "trusted": trusted }), true)?;
    } else {
        output::print(&if trusted {
            format!(
                "{shown} is now trusted: the ShadowCode hooks that you approve in it run on this machine with your rights, \
                 and its own settings may change how long they run and how often a task is sent back.\n"
            )
        } else {
            format!("{shown} is no longer trusted: no ShadowCode hook runs in it.\n")
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
