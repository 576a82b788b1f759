//! A case as it is written. `conformance/README.md` explains it to people; this is its form.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Case {
    /// What a reader should take home, in one sentence.
    pub(crate) behaviour: String,
    /// Where the work is; `{home}/shop` if it is not said.
    pub(crate) workspace: Option<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// The case is tried once for each of these, in a directory of its own; the keys are placeholders.
    #[serde(default)]
    pub(crate) rows: Vec<BTreeMap<String, String>>,
    #[serde(default)]
    pub(crate) file: Vec<Layout>,
    pub(crate) step: Vec<Step>,
}

/// Something to be put on the disk.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Layout {
    pub(crate) path: String,
    pub(crate) text: Option<String>,
    pub(crate) json: Option<Value>,
    pub(crate) hex: Option<String>,
    pub(crate) sha256_of: Option<String>,
    pub(crate) link: Option<String>,
    pub(crate) kind: Option<Kind>,
    pub(crate) mode: Option<u32>,
    #[serde(default)]
    pub(crate) append: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Directory,
    Fifo,
}

/// One thing that is done, and what must come of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Step {
    // What is done: exactly one of these.
    pub(crate) fire: Option<Value>,
    pub(crate) run: Option<Vec<String>>,
    pub(crate) shell: Option<String>,
    pub(crate) write: Option<Layout>,
    pub(crate) remove: Option<String>,
    pub(crate) parallel: Option<Vec<Step>>,
    // How.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    pub(crate) stdin: Option<String>,
    pub(crate) stdin_hex: Option<String>,
    #[serde(default)]
    pub(crate) stdin_stays_open: bool,
    pub(crate) cwd: Option<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) times: Option<u32>,
    pub(crate) at_once: Option<u32>,
    pub(crate) when: Option<String>,
    pub(crate) signal: Option<Signal>,
    // What must come of it.
    pub(crate) expect: Option<Expect>,
    #[serde(default)]
    pub(crate) tally: Vec<Tally>,
}

/// A signal to the program while it runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Signal {
    pub(crate) name: String,
    /// It is sent once this file exists.
    pub(crate) when: String,
}

/// What must come of a step.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Expect {
    /// A number, or a string with a placeholder that gives one; 0 if it is not said.
    pub(crate) exit: Option<Value>,
    /// The program ends by a signal.
    #[serde(default)]
    pub(crate) killed: bool,
    /// The whole of stdout, read as JSON.
    pub(crate) json: Option<Value>,
    /// Stdout, each line read as JSON.
    pub(crate) lines: Option<Value>,
    pub(crate) stdout: Option<Value>,
    pub(crate) stderr: Option<Value>,
    /// Upper bound in seconds.
    pub(crate) within: Option<f64>,
    #[serde(default)]
    pub(crate) file: Vec<FileExpect>,
    /// Files that hold process ids, none of which may be alive.
    #[serde(default)]
    pub(crate) gone: Vec<String>,
    /// Files that hold process ids, all of which must be alive. They are ended when the case is over.
    #[serde(default)]
    pub(crate) alive: Vec<String>,
}

/// What must be on the disk afterwards.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct FileExpect {
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) absent: bool,
    pub(crate) text: Option<Value>,
    pub(crate) json: Option<Value>,
    pub(crate) lines: Option<Value>,
    pub(crate) mode: Option<u32>,
}

/// How many of the runs of one step, or of a parallel group, come out in a certain way.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Tally {
    pub(crate) count: usize,
    pub(crate) expect: Expect,
}

impl Case {
    /// Reads a case, and names what does not hang together in it.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let case: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if case.behaviour.trim().is_empty() {
            return Err("`behaviour` is empty".to_owned());
        }
        for layout in &case.file {
            layout.check()?;
        }
        for (number, step) in case.step.iter().enumerate() {
            step.check().map_err(|why| format!("step {}: {why}", number + 1))?;
        }
        Ok(case)
    }
}

impl Layout {
    fn check(&self) -> Result<(), String> {
        let contents = [
            self.text.is_some(),
            self.json.is_some(),
            self.hex.is_some(),
            self.sha256_of.is_some(),
            self.link.is_some(),
            self.kind.is_some(),
        ];
        match contents.iter().filter(|given| **given).count() {
            1 => Ok(()),
            _ => Err(format!("{}: give exactly one of text, json, hex, sha256-of, link, kind", self.path)),
        }
    }
}

impl Step {
    /// Whether it starts the program or a shell.
    pub(crate) fn starts(&self) -> bool {
        self.fire.is_some() || self.run.is_some() || self.shell.is_some()
    }

    fn check(&self) -> Result<(), String> {
        let actions = [
            self.fire.is_some(),
            self.run.is_some(),
            self.shell.is_some(),
            self.write.is_some(),
            self.remove.is_some(),
            self.parallel.is_some(),
        ];
        if actions.iter().filter(|given| **given).count() != 1 {
            return Err("give exactly one of fire, run, shell, write, remove, parallel".to_owned());
        }
        if self.fire.is_some() && (self.stdin.is_some() || self.stdin_hex.is_some()) {
            return Err("fire says what stands on stdin; use run = [\"fire\"] with stdin".to_owned());
        }
        if !self.tally.is_empty() && self.at_once.is_none() && self.times.is_none() && self.parallel.is_none()
        {
            return Err("tally needs times, at-once or parallel".to_owned());
        }
        if self.times.is_some() && self.at_once.is_some() {
            return Err("give times or at-once, not both".to_owned());
        }
        if let Some(layout) = &self.write {
            layout.check()?;
        }
        for (number, step) in self.parallel.iter().flatten().enumerate() {
            step.check().map_err(|why| format!("parallel {}: {why}", number + 1))?;
            if !step.starts() {
                return Err(format!("parallel {}: only fire, run and shell can stand there", number + 1));
            }
        }
        Ok(())
    }
}
