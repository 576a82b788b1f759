//! `becket catalog`: ShadowCode's own listing, exactly.

use crate::exit::ExitCode;

use super::{Result, engine};
use crate::args::Common;
use crate::output::{self, CommandError};

pub(crate) fn run(common: &Common) -> Result {
    let engine = engine(common, true)?;
    let loaded = engine.load(engine.workspace(common.workspace.as_deref()));
    let catalog = loaded.rules.iter().find_map(|rules| rules.catalog());
    let catalog = catalog.ok_or_else(|| {
        CommandError::new("ShadowCode's hooks are switched off")
            .hint("see `becket config`: dialects.shadowcode")
    })?;
    output::json(&catalog, true)?;
    Ok(ExitCode::SUCCESS)
}
