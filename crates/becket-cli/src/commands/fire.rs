//! `becket fire`: one envelope in, one outcome out.

use crate::exit::ExitCode;
use std::str::FromStr as _;

use becket::core::outcome::ExitCode as Verdict;
use becket::{Cancel, Event, EventName, Request};

use super::{Result, engine};
use crate::args::{Common, Fire};
use crate::input;
use crate::output::{self, CommandError};

pub(crate) fn run(common: &Common, options: &Fire) -> Result {
    let asked = options.event.as_deref().map(EventName::from_str).transpose().map_err(CommandError::new)?;
    let mut event = Event::read(&input::envelope()?, asked).map_err(CommandError::new)?;
    if options.session.is_some() {
        event.session_id.clone_from(&options.session);
    }
    let engine = engine(common, false)?;
    let cancel = Cancel::new().map_err(CommandError::new)?;
    let outcome = engine.fire(&Request {
        event: &event,
        workspace: common.workspace.as_deref(),
        mode: options.mode.map(Into::into),
        deadline: None,
        cancel: &cancel,
    });
    let verdict = ExitCode::from(Verdict::from(outcome.decision) as u8);
    match output::json(&outcome, false) {
        Ok(()) => Ok(verdict),
        // The words are lost, but a denial still stands in the exit code.
        Err(error) if Verdict::from(outcome.decision) != Verdict::GoOn => {
            output::error(&error);
            Ok(verdict)
        }
        Err(error) => Err(error),
    }
}
