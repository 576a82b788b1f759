//! One session, and what came of it.

use std::time::Duration;

use becket_e2e::{Agents, Error, Host, Ran, Sandbox, becket};
use becket_model::{Model, Script, Seen, Turn};

/// What every test needs.
pub(crate) struct Context(pub(crate) Agents);

/// A behaviour with one agent.
pub(crate) type Check = fn(&Context, Host) -> Result<(), Error>;

/// What is tested, and with which agents.
#[derive(Clone, Copy)]
pub(crate) struct Behaviour {
    pub(crate) name: &'static str,
    pub(crate) hosts: &'static [Host],
    pub(crate) check: Check,
}

impl Behaviour {
    pub(crate) fn all(name: &'static str, check: Check) -> Self {
        Self { name, hosts: &Host::ALL, check }
    }

    /// One that only one agent has.
    pub(crate) fn of(host: Host, name: &'static str, check: Check) -> Self {
        let hosts = match host {
            Host::Codex => &[Host::Codex],
            Host::Gemini => &[Host::Gemini],
            Host::Opencode => &[Host::Opencode],
        };
        Self { name, hosts, check }
    }
}

/// Many times what a session takes.
const LONGEST: Duration = Duration::from_secs(120);

/// A session that has ended.
pub(crate) struct Played {
    pub(crate) sandbox: Sandbox,
    pub(crate) ran: Ran,
    pub(crate) model: Model,
}

impl Context {
    /// A sandbox of one agent, without hooks.
    pub(crate) fn sandbox(&self, host: Host) -> Result<Sandbox, Error> {
        Sandbox::new(&self.0, host, becket()?)
    }
}

/// Plugs Becket into the agent and lets it play these turns.
pub(crate) fn play(
    sandbox: Sandbox,
    host: Host,
    turns: impl IntoIterator<Item = Turn>,
) -> Result<Played, Error> {
    let model = Model::start(Script::new(turns))?;
    host.configure(&sandbox, &model)?;
    sandbox.becket(&["install", host.name()])?;
    go(sandbox, host, model)
}

/// The same in a session that lasts beyond its first stop, until the model has been asked so often.
pub(crate) fn play_on(
    sandbox: Sandbox,
    host: Host,
    turns: impl IntoIterator<Item = Turn>,
    asked: usize,
) -> Result<Played, Error> {
    let model = Model::start(Script::new(turns))?;
    host.configure(&sandbox, &model)?;
    sandbox.becket(&["install", host.name()])?;
    let ran = host.ask_on(&sandbox, &model, "fix the bug", &|| model.turns().len() >= asked, LONGEST)?;
    let played = Played { sandbox, ran, model };
    played.expect(!played.ran.cut, "the agent ended by itself")?;
    Ok(played)
}

/// The same, and what the agent tells the person is in what it writes.
pub(crate) fn play_aloud(
    sandbox: Sandbox,
    host: Host,
    turns: impl IntoIterator<Item = Turn>,
) -> Result<Played, Error> {
    let model = Model::start(Script::new(turns))?;
    host.configure(&sandbox, &model)?;
    sandbox.becket(&["install", host.name()])?;
    host.trust(&sandbox, LONGEST)?;
    let ran = host.ask_aloud(&sandbox, &model, "fix the bug", LONGEST)?;
    Ok(Played { sandbox, ran, model })
}

/// Lets an agent play that has been configured.
pub(crate) fn go(sandbox: Sandbox, host: Host, model: Model) -> Result<Played, Error> {
    let ran = host.ask(&sandbox, &model, "fix the bug", LONGEST)?;
    let played = Played { sandbox, ran, model };
    played.expect(!played.ran.cut, "the agent ended by itself")?;
    Ok(played)
}

impl Played {
    /// Whether a file is in the project.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.sandbox.read(&format!("project/{file}")).is_some()
    }

    /// The requests that took a turn.
    pub(crate) fn turns(&self) -> Vec<Seen> {
        self.model.turns()
    }

    /// What the model was told of its last call, at one request.
    pub(crate) fn told(&self, request: usize) -> String {
        let turns = self.turns();
        turns
            .get(request)
            .and_then(|seen| seen.results().pop())
            .map_or_else(String::new, |result| result.text)
    }

    /// Whether the model could read this at one request.
    pub(crate) fn heard(&self, request: usize, text: &str) -> bool {
        self.turns().get(request).is_some_and(|seen| seen.hears(text))
    }

    /// An error that shows everything, unless something is true.
    pub(crate) fn expect(&self, is_so: bool, what: &str) -> Result<(), Error> {
        if is_so {
            return Ok(());
        }
        let told: Vec<_> = self.turns().iter().map(|seen| format!("{:?}", seen.results())).collect();
        let Ran { code, took, stdout, stderr, .. } = &self.ran;
        Err(format!(
            "expected: {what}\nthe agent ended with {code:?} after {took:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n\
             --- what the model was told at each request\n{}",
            told.join("\n")
        )
        .into())
    }
}
