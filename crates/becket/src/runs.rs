//! The runs of one firing: who holds their processes, the mark they carry, the records they leave.

use std::time::Instant;

use becket_core::dialect::{self, Finished, Rules};
use becket_core::journal::{self, Record};
use becket_exec::{Custody, Keeper, Leased};

use crate::engine::{Custodian, Engine, Loaded, Request};
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
    mark: Option<Mark>,
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
        Self { engine, request, loaded, began, custody: None, mark: None, records: Vec::new() }
    }

    pub(crate) fn run(&mut self, rules: &dyn Rules, batch: dialect::Batch) -> Vec<Finished> {
        for job in &batch.jobs {
            self.add_record(rules, rules.record(job, None));
        }
        if self.mark.is_none() {
            self.mark = self.loaded.home.as_ref().and_then(|home| Mark::set(home).ok());
        }
        let bounds = Bounds {
            began: self.began,
            deadline: self.request.deadline,
            cancel: self.request.cancel,
            end_everything: self.loaded.scope.settings.end_everything,
            mark: self.mark.as_ref().map(|mark| (nested::VARIABLE, mark.value())),
        };
        let engine = self.engine;
        let custody = match self.custody.get_or_insert_with(|| engine.hold()) {
            Held::Own(custody) => custody,
            Held::Leased(leased) => &mut *leased,
        };
        let finished = run::run(custody, batch, &bounds);
        for finished in &finished {
            self.add_record(rules, rules.record(&finished.job, Some(finished)));
        }
        finished
    }

    fn add_record(&mut self, rules: &dyn Rules, record: Option<serde_json::Value>) {
        let Some(record) = record else { return };
        self.records.push(Record {
            v: journal::VERSION,
            at: home::now(),
            what: journal::What::Hook {
                dialect: rules.dialect(),
                session: self.request.event.session_id.clone(),
                record,
            },
        });
    }

    pub(crate) fn finish(self) -> Vec<Record> {
        if let Some(Held::Own(Custody::Keeper(keeper))) = self.custody {
            // It cleans up after us: the answer need not wait for that.
            keeper.leave();
        }
        self.records
    }
}

impl Engine {
    /// A custodian for one firing. Where the one asked for cannot be had the weaker one serves: hooks that do not run
    /// would be worse.
    fn hold(&self) -> Held<'_> {
        match self.custodian() {
            Custodian::Group => Held::Own(Custody::Group),
            Custodian::Fork => Held::Own(Keeper::fork().map_or(Custody::Group, Custody::Keeper)),
            Custodian::Pool(pool) => pool.lease().map_or(Held::Own(Custody::Group), Held::Leased),
        }
    }
}
