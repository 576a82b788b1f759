//! The program is killed at random moments of its life, and everything that must hold then is looked at.

mod check;
mod deed;
mod scene;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use becket_e2e::Error;
use fastrand::Rng;

use crate::census;
use crate::figures::{Figures, spread};
use crate::process::Process;
use crate::{say, stage::LONGEST};
use check::Acknowledged;
use deed::{Deed, Kind};
use scene::Scene;

/// Runs of each kind of deed from which its usual time is told.
const CALIBRATE: usize = 9;
/// Kills land all over a deed's usual time and a bit beyond it.
const BEYOND: f64 = 1.15;
/// What was killed, or left by what was killed, is gone within this time.
const GONE: Duration = Duration::from_secs(10);
/// Sessions that kills hit at a time; each is used until it is replaced.
const SESSIONS: usize = 24;
/// After so many rounds a session is given up for a new one, and the journal is read.
const REVIEW: u32 = 250;
/// One in so many times an approved file is changed.
const CHANGE: u32 = 8;
/// At a temporary file for each folder that is written to nothing has piled up.
const MOST_TEMPORARY: u64 = 16;

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Program,
    Keeper,
    Both,
}

/// The campaign, as it stands.
struct Campaign {
    scene: Scene,
    figures: Figures,
    acknowledged: Acknowledged,
    rng: Rng,
    usual: BTreeMap<Kind, Duration>,
    sessions: Vec<String>,
    round: u32,
    /// Events so far: each has a number of its own.
    events: u64,
    /// Milliseconds of the events after kills.
    next: Vec<f64>,
    /// Kills of living programs, by the tenth of the usual time in which they came.
    tenths: [u64; 12],
    temporary: u64,
}

pub(crate) fn run(count: u32, seed: u64) -> Result<Figures, Error> {
    census::adopt_orphans()?;
    let mut figures = Figures::new("kills");
    figures.must_be_zero(check::FAULTS);
    let mut campaign = Campaign {
        scene: Scene::new()?,
        figures,
        acknowledged: Acknowledged::default(),
        rng: Rng::with_seed(seed),
        usual: BTreeMap::new(),
        sessions: (0..SESSIONS).map(|number| format!("session-0-{number}")).collect(),
        round: 0,
        events: 0,
        next: Vec::new(),
        tenths: [0; 12],
        temporary: 0,
    };
    campaign.calibrate()?;
    let start = Instant::now();
    for round in 1..=count {
        campaign.round = round;
        campaign.kill_once()?;
        if round % REVIEW == 0 {
            campaign.review()?;
            say(&format!("{round} kills, {} s", start.elapsed().as_secs()));
        }
    }
    campaign.end(count)
}

impl Campaign {
    /// How long each kind of deed usually takes.
    fn calibrate(&mut self) -> Result<(), Error> {
        for kind in Kind::ALL {
            let mut times = Vec::new();
            for _ in 0..CALIBRATE {
                self.events += 1;
                let deed = Deed::of(kind, &self.scene, &mut self.rng, "calibration", self.events);
                let ran = deed.start(&self.scene)?.finish(LONGEST)?;
                if !deed.is_taken(ran.code) {
                    return Err(format!("{deed:?} without any kill: {}", ran.words()).into());
                }
                self.scene.done(&deed);
                times.push(ran.took);
            }
            times.sort();
            self.usual.insert(kind, times[CALIBRATE / 2]);
            self.figures.tell(
                &format!("usual time of {kind:?}, ms"),
                format!("{:.1}", times[CALIBRATE / 2].as_secs_f64() * 1e3),
            );
        }
        let left = census::left(&[], GONE);
        if left.is_empty() { Ok(()) } else { Err(format!("left before any kill: {left:?}").into()) }
    }

    /// One deed, killed on the way, and a look at what it left.
    fn kill_once(&mut self) -> Result<(), Error> {
        let kind = Kind::any(&mut self.rng);
        let session = self.sessions[self.rng.usize(..self.sessions.len())].clone();
        self.events += 1;
        let deed = Deed::of(kind, &self.scene, &mut self.rng, &session, self.events);
        let victim = match self.rng.u32(..8) {
            0 if kind.fires() => Victim::Keeper,
            1 if kind.fires() => Victim::Both,
            _ => Victim::Program,
        };
        let usual = self.usual[&kind].as_secs_f64();
        let after = Duration::from_secs_f64(usual * BEYOND * self.rng.f64());
        self.scene.stage.wipe_marks();
        self.scene.enter(&deed);
        let process = deed.start(&self.scene)?;
        self.figures.add("kills", 1);
        let is_over = process.ends_within(after)?;
        let victim = if is_over { victim } else { self.strike(&process, victim) };
        if is_over {
            self.figures.add("… that came after its end", 1);
        } else {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a tenth")]
            let tenth = (after.as_secs_f64() / usual * 10.0) as usize;
            self.tenths[tenth.min(11)] += 1;
            self.figures.add(&format!("… of {}", kind.words()), 1);
        }
        let ran = process.finish(LONGEST)?;
        let taken = check::answer(self, &deed, victim, &ran);
        self.look_for_left(victim, &deed);
        check::marks(self, &deed);
        check::list(self, &deed, taken)?;
        check::settings(self, &deed, taken);
        check::next_event(self)?;
        if self.rng.u32(..CHANGE) == 0 {
            check::changed_bytes(self)?;
        }
        self.temporary = self.temporary.max(self.scene.stage.files_named(".becket-unfinished-").len() as u64);
        Ok(())
    }

    /// Kills; answers who was there to be killed.
    fn strike(&mut self, process: &Process, victim: Victim) -> Victim {
        let keeper = match victim {
            Victim::Program => None,
            Victim::Keeper | Victim::Both => census::children(process.pid()).first().copied(),
        };
        let Some(keeper) = keeper else {
            process.kill();
            return Victim::Program;
        };
        self.figures.add("… of the keeper, alone or with the program", 1);
        if victim == Victim::Both {
            process.kill();
        }
        // It is below this process, so its number stays its own until it is asked about here.
        let _ = rustix::process::kill_process(keeper, rustix::process::Signal::KILL);
        victim
    }

    /// Whether anything is left of the hooks.
    fn look_for_left(&mut self, victim: Victim, deed: &Deed) {
        let left = census::left(&[], GONE);
        if left.is_empty() {
            return;
        }
        let words = || {
            let words: Vec<String> = left.iter().map(census::Seen::words).collect();
            format!("round {}: {deed:?}, killed {victim:?}: {}", self.round, words.join("; "))
        };
        let name = if victim == Victim::Both { check::LEFT_BY_BOTH } else { check::LEFT };
        for _ in &left {
            self.figures.count(name, words);
        }
        census::end(&left, &[]);
    }

    /// What was acknowledged is held against what is written, and some sessions make room for new ones.
    fn review(&mut self) -> Result<(), Error> {
        check::records(self)?;
        for number in 0..SESSIONS / 3 {
            let at = self.rng.usize(..SESSIONS);
            let old = std::mem::replace(&mut self.sessions[at], format!("session-{}-{number}", self.round));
            check::session(self, &old)?;
        }
        Ok(())
    }

    fn end(mut self, count: u32) -> Result<Figures, Error> {
        check::records(&mut self)?;
        let sessions: BTreeSet<String> = self.acknowledged.sessions.keys().cloned().collect();
        for session in sessions {
            check::session(&mut self, &session)?;
        }
        check::unplugged(&mut self)?;
        let tenths: Vec<String> = self.tenths.iter().map(u64::to_string).collect();
        let figures = &mut self.figures;
        figures.tell("kills by tenths of the usual time", tenths.join(" "));
        figures.tell("next event, ms (median / p99 / longest)", spread(&mut self.next));
        figures.at_most("most temporary files at a time", self.temporary, MOST_TEMPORARY);
        let torn = self.acknowledged.torn.len() as u64;
        figures.at_most("lines of the journal torn by a kill", torn, count.into());
        Ok(self.figures)
    }
}
