//! One run of one case.

use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;
use std::{env, thread};

use becket_e2e::{Agents, Dialect, Error, Hook, Host, Ran, Sandbox, becket, left};
use becket_model::{Model, Seen};

use crate::cases::Case;
use crate::guard::Words;

/// The longest case should take 10 s, and a busy machine is slow.
const LONGEST: Duration = Duration::from_secs(45);
/// Something that has been killed needs a moment to be gone.
const MOMENT: Duration = Duration::from_millis(300);

/// Who runs the hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Own,
    Becket(Dialect),
}

pub(crate) struct Stage {
    sandbox: Sandbox,
    host: Host,
    side: Side,
}

/// What was seen.
pub(crate) struct Sight {
    /// What the tool wrote, if it ran.
    pub(crate) ran: Option<String>,
    /// The command that a sibling forbids ran.
    pub(crate) forbidden: bool,
    /// From the model's call to what it is told about it.
    pub(crate) seconds: Option<f64>,
    /// Processes of the hook that are left when the agent has ended.
    pub(crate) left: usize,
    /// How often the model was asked.
    pub(crate) asked: usize,
    pub(crate) agent: Ran,
}

impl Stage {
    pub(crate) fn new(agents: &Agents, host: Host, side: Side) -> Result<Self, Error> {
        let program = match side {
            Side::Own => Path::new("/nowhere"),
            Side::Becket(_) => becket()?,
        };
        let sandbox = Sandbox::new(agents, host, program)?;
        symlink("/bin/sleep", sandbox.root().join("bin/linger"))?;
        Ok(Self { sandbox, host, side })
    }

    pub(crate) fn host(&self) -> Host {
        self.host
    }

    /// A program that does nothing for so many seconds, and is known by its name.
    pub(crate) fn linger(&self, seconds: u32) -> String {
        format!("{} {seconds}", self.lingers())
    }

    fn lingers(&self) -> String {
        self.sandbox.root().join("bin/linger").display().to_string()
    }

    fn hooks(&self, case: &Case, words: Words) -> Result<Vec<Hook>, Error> {
        let script = |(number, text): (usize, String)| {
            let hook = Hook::script(&self.sandbox, case.event, &format!("{words:?}-{number}"), &text)?;
            Ok(hook.within(case.limit))
        };
        (case.hooks)(self, words).into_iter().enumerate().map(script).collect()
    }

    pub(crate) fn play(&self, case: &Case) -> Result<String, Error> {
        let model = Model::start((case.script)(self.host))?;
        self.host.configure(&self.sandbox, &model)?;
        match self.side {
            Side::Own => self.host.hook_natively(&self.sandbox, &self.hooks(case, self.host.into())?)?,
            Side::Becket(dialect) => {
                let mut hooks = self.hooks(case, dialect.into())?;
                if case.elsewhere {
                    let other = if dialect == Dialect::Albedo { Dialect::Celeste } else { Dialect::Albedo };
                    hooks.pop();
                    other.hook(&self.sandbox, &self.hooks(case, other.into())?.split_off(hooks.len()))?;
                }
                dialect.hook(&self.sandbox, &hooks)?;
                self.sandbox.becket(&["install", self.host.name()])?;
            }
        }
        let agent = self.host.ask(&self.sandbox, &model, "fix the bug", LONGEST)?;
        thread::sleep(MOMENT);
        let turns = model.turns();
        if env::var_os("SHOW").is_some() {
            self.show(&agent, &turns)?;
        }
        Ok((case.say)(&Sight {
            ran: self.sandbox.read("project/ran").map(|text| text.trim().to_owned()),
            forbidden: self.sandbox.read("project/forbidden").is_some(),
            seconds: seconds(&turns),
            left: left(&self.lingers()).len(),
            asked: turns.len(),
            agent,
        }))
    }
}

impl Stage {
    /// Everything there is to see, on stderr.
    fn show(&self, agent: &Ran, turns: &[Seen]) -> Result<(), Error> {
        let mut err = io::stderr();
        writeln!(err, "\n--- stdout\n{}\n--- stderr\n{}", agent.stdout, agent.stderr)?;
        for (number, seen) in turns.iter().enumerate() {
            writeln!(err, "--- request {number} at {} ms: {:?}", seen.at_ms, seen.results())?;
        }
        Ok(())
    }
}

#[allow(clippy::cast_precision_loss, reason = "milliseconds of a short session")]
fn seconds(turns: &[Seen]) -> Option<f64> {
    let [first, second, ..] = turns else { return None };
    Some((second.at_ms - first.at_ms) as f64 / 1000.0)
}
