//! The runs of one firing: who holds their processes, the mark they carry, the records they leave.

use std::time::Instant;

use becket_core::dialect::{self, End, Finished, Rules, Timestamp};
use becket_core::journal::{self, Record};
use becket_exec::{Custody, Keeper, KeeperError, Leased};
use serde_json::Value;

use crate::engine::{Custodian, Engine, Loaded, Request};
use crate::files::FileError;
use crate::home;
use crate::nested::{self, Mark};
use crate::run::{self, Bounds};

/// The runs of one firing. A custodian is taken only once something runs.
pub(crate) struct Runs<'a> {
    engine: &'a Engine,
    request: &'a Request<'a>,
    loaded: &'a Loaded,
    began: Instant,
    custody: Option<Held<'a>>,
    /// Why it is a weaker one than was asked for.
    weaker: Option<KeeperError>,
    /// `None` until something runs.
    mark: Option<Result<Mark, FileError>>,
    records: Vec<Record>,
}

/// What holds the processes of one firing.
enum Held<'a> {
    Own(Custody),
    Leased(Leased<'a>),
}

impl<'a> Runs<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        request: &'a Request<'a>,
        loaded: &'a Loaded,
        began: Instant,
    ) -> Self {
        Self { engine, request, loaded, began, custody: None, weaker: None, mark: None, records: Vec::new() }
    }

    pub(crate) fn run(&mut self, rules: &dyn Rules, batch: dialect::Batch) -> Vec<Finished> {
        let started: Vec<_> = batch.jobs.iter().map(|job| (home::now(), rules.record(job, None))).collect();
        let engine = self.engine;
        // Before the mark: a keeper gets ready while it is set.
        let weaker = &mut self.weaker;
        let custody = self.custody.get_or_insert_with(|| {
            engine.hold().unwrap_or_else(|error| {
                *weaker = Some(error);
                Held::Own(Custody::Group)
            })
        });
        if self.mark.is_none() {
            let is_program = matches!(self.engine.custodian(), Custodian::Fork);
            self.mark = self.loaded.home.as_ref().map(|home| Mark::set(home, is_program));
        }
        let bounds = Bounds {
            began: self.began,
            deadline: self.request.deadline,
            cancel: self.request.cancel,
            end_everything: self.loaded.scope.settings.end_everything,
            mark: self.mark.as_ref().and_then(|mark| Some((nested::VARIABLE, mark.as_ref().ok()?.value()))),
        };
        let custody = match custody {
            Held::Own(custody) => custody,
            Held::Leased(leased) => &mut *leased,
        };
        let finished = run::run(custody, batch, &bounds);
        for (finished, (at, started)) in finished.iter().zip(started) {
            let id = nested::fresh_id();
            // A start is recorded only where there was one.
            let began = !matches!(
                finished.end,
                End::Replaced(_) | End::Refused(_) | End::NotStarted(_) | End::NoRoom(_)
            );
            self.add_record(rules, at, &id, started.filter(|_| began));
            self.add_record(rules, home::now(), &id, rules.record(&finished.job, Some(finished)));
        }
        finished
    }

    /// Keeps a dialect's record. One whose payload has room for an id gets the run's.
    fn add_record(&mut self, rules: &dyn Rules, at: Timestamp, id: &str, record: Option<Value>) {
        let Some(mut record) = record else { return };
        if let Some(place @ Value::Null) = record.pointer_mut("/payload/id") {
            *place = id.into();
        }
        self.records.push(Record {
            v: journal::VERSION,
            at,
            what: journal::What::Hook {
                dialect: rules.dialect(),
                session: self.request.event.session_id.clone(),
                record,
            },
        });
    }

    /// The records, and what a person must be told.
    pub(crate) fn finish(self) -> (Vec<Record>, Vec<String>) {
        if let Some(Held::Own(Custody::Keeper(keeper))) = self.custody {
            // It cleans up after us: the answer need not wait for that.
            keeper.leave();
        }
        let weaker = self.weaker.map(|error| {
            format!(
                "becket: {error}: hooks ran without a keeper, so what they started may stay when they are cut short, and \
                 they go on when becket is killed"
            )
        });
        let unmarked = self.mark.and_then(Result::err).map(|error| {
            format!(
                "becket: {error}: hooks that run just now cannot be marked, so a hook that runs an agent would run hooks too"
            )
        });
        (self.records, weaker.into_iter().chain(unmarked).collect())
    }
}

impl Engine {
    /// A custodian for one firing.
    ///
    /// # Errors
    /// The one that was asked for cannot be had. The weaker one has to serve: hooks that do not run would be worse.
    fn hold(&self) -> Result<Held<'_>, KeeperError> {
        Ok(match self.custodian() {
            Custodian::Group => Held::Own(Custody::Group),
            Custodian::Fork => Held::Own(Custody::Keeper(Keeper::fork()?)),
            Custodian::Pool(pool) => Held::Leased(pool.lease()?),
        })
    }
}
