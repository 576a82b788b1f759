//! Resident keepers for an embedding program.

use std::ffi::OsString;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::{Keeper, KeeperError};
use crate::custody::Custody;

/// A few keepers that wait for the next event, so that none has to be started for it.
///
/// Each serves one event at a time. One that died, or below which something was left running on
/// purpose, is replaced; what was left running is let go.
#[derive(Debug)]
pub struct Pool {
    program: PathBuf,
    args: Vec<OsString>,
    most_idle: usize,
    idle: Mutex<Vec<Keeper>>,
}

impl Pool {
    /// A pool of keepers that are started as [`Keeper::spawn`] does, at most `most_idle` of which wait
    /// while they have nothing to do. None is started yet.
    #[must_use]
    pub fn new(program: PathBuf, args: Vec<OsString>, most_idle: usize) -> Self {
        Self { program, args, most_idle, idle: Mutex::new(Vec::new()) }
    }

    /// A keeper for one event. Dropping it gives it back.
    ///
    /// # Errors
    ///
    /// As [`Keeper::spawn`], where none was waiting.
    pub fn lease(&self) -> Result<Leased<'_>, KeeperError> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let keeper = match idle {
                Some(mut keeper) => {
                    if !keeper.rested() {
                        // Dead, or something still runs below it: told that all is done, it leaves.
                        continue;
                    }
                    keeper
                }
                None => Keeper::spawn(&self.program, &self.args)?,
            };
            return Ok(Leased { pool: self, custody: Custody::Keeper(keeper) });
        }
    }
}

/// A keeper of a [`Pool`], for one event.
#[derive(Debug)]
pub struct Leased<'a> {
    pool: &'a Pool,
    custody: Custody,
}

// A pool is shared between threads, and a lease may end in another than it began in.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Pool>();
    shared::<Leased<'_>>();
};

impl Deref for Leased<'_> {
    type Target = Custody;

    fn deref(&self) -> &Custody {
        &self.custody
    }
}

impl DerefMut for Leased<'_> {
    fn deref_mut(&mut self) -> &mut Custody {
        &mut self.custody
    }
}

impl Drop for Leased<'_> {
    fn drop(&mut self) {
        let Custody::Keeper(mut keeper) = std::mem::take(&mut self.custody) else { return };
        if keeper.busy || keeper.gone {
            return;
        }
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.pool.most_idle {
            keeper.rest();
            idle.push(keeper);
        }
    }
}
