use clap::Args;
use becket_e2e::Error;
/// x
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {}
pub(crate) fn run(_: &Options, _: u64) -> Result<(), Error> { Ok(()) }
