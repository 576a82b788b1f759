use crate::figures::Figures;
use becket_e2e::Error;
pub(crate) fn run(_: u32, _: u32, _: u64) -> Result<Figures, Error> { Ok(Figures::new("x")) }
