//! What a campaign counted, and what it had to be.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::say;

/// So many faults of one kind are told in full.
const MOST_TOLD: u64 = 10;

#[derive(Debug)]
enum Must {
    /// Only told: nothing is promised about it, or it says what was done.
    Nothing,
    AtMost(u64),
}

#[derive(Debug)]
struct Figure {
    name: String,
    value: Value,
    must: Must,
}

/// The figures of one campaign, in the order in which they were first named.
#[derive(Debug)]
pub(crate) struct Figures {
    campaign: &'static str,
    list: Vec<Figure>,
}

impl Figures {
    pub(crate) fn new(campaign: &'static str) -> Self {
        Self { campaign, list: Vec::new() }
    }

    fn set(&mut self, name: &str, value: Value, must: Must) {
        match self.list.iter_mut().find(|figure| figure.name == name) {
            Some(figure) => (figure.value, figure.must) = (value, must),
            None => self.list.push(Figure { name: name.to_owned(), value, must }),
        }
    }

    /// Something to know, of which nothing is asked.
    pub(crate) fn tell(&mut self, name: &str, value: impl Into<Value>) {
        self.set(name, value.into(), Must::Nothing);
    }

    /// A count that must not be larger than this.
    pub(crate) fn at_most(&mut self, name: &str, value: u64, most: u64) {
        self.set(name, value.into(), Must::AtMost(most));
    }

    /// Names counts of faults, so that those that never happened stand in the table too.
    pub(crate) fn must_be_zero(&mut self, names: &[&str]) {
        for name in names {
            self.at_most(name, 0, 0);
        }
    }

    /// One more of something. A fault is told on the way, with what is needed to find it again.
    pub(crate) fn count(&mut self, name: &str, told: impl FnOnce() -> String) {
        let Some(figure) = self.list.iter_mut().find(|figure| figure.name == name) else {
            self.tell(name, 1);
            return;
        };
        let count = figure.value.as_u64().unwrap_or(0) + 1;
        figure.value = count.into();
        if matches!(figure.must, Must::AtMost(_)) && count <= MOST_TOLD {
            say(&format!("FAULT {name}: {}", told()));
        }
    }

    /// So many more of something of which nothing is asked.
    pub(crate) fn add(&mut self, name: &str, more: u64) {
        let now =
            self.list.iter().find(|figure| figure.name == name).and_then(|figure| figure.value.as_u64());
        match self.list.iter_mut().find(|figure| figure.name == name) {
            Some(figure) => figure.value = (now.unwrap_or(0) + more).into(),
            None => self.tell(name, more),
        }
    }

    /// Whether all figures are what they must be.
    pub(crate) fn are_fine(&self) -> bool {
        self.list.iter().all(|figure| figure.is_fine())
    }

    pub(crate) fn json(&self) -> Value {
        let figures: Map<String, Value> =
            self.list.iter().map(|figure| (figure.name.clone(), figure.value.clone())).collect();
        json!({ "campaign": self.campaign, "fine": self.are_fine(), "figures": figures })
    }

    /// As a table in Markdown, so that it can stand in the documentation.
    pub(crate) fn table(&self) -> String {
        let mut table = format!("\n| {} | figure | must be |\n|---|---|---|\n", self.campaign);
        for figure in &self.list {
            let value = match &figure.value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let value = if figure.is_fine() { value } else { format!("**{value}**") };
            let must = match figure.must {
                Must::Nothing => String::new(),
                Must::AtMost(0) => "0".to_owned(),
                Must::AtMost(most) => format!("at most {most}"),
            };
            let _ = writeln!(table, "| {} | {value} | {must} |", figure.name);
        }
        table.push('\n');
        table
    }
}

impl Figure {
    fn is_fine(&self) -> bool {
        match self.must {
            Must::Nothing => true,
            Must::AtMost(most) => self.value.as_u64().is_some_and(|value| value <= most),
        }
    }
}

/// The middle, the last but one in a hundred and the largest of some times, in milliseconds.
pub(crate) fn spread(times: &mut [f64]) -> String {
    times.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let last = times.len().saturating_sub(1);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
        let index = (last as f64 * part).round() as usize;
        times.get(index).copied().unwrap_or(0.0)
    };
    format!("{:.1} / {:.1} / {:.1}", at(0.5), at(0.99), at(1.0))
}
