//! Celeste's rules: which hooks an event is for, and the walk through them.

use std::collections::HashMap;

use super::chain::Chain;
use super::definitions::{Definition, Moment};
use super::sources::{Armed, Loaded};
use crate::dialect::{
    self, Batch, Finished, Firing, Job, Name, Notice, Problem, Rules, Said, Source, Standing, Step, Way,
};
use crate::event::{Event, EventName};
use crate::spelling;

/// Everything that was loaded, with an index over its hooks.
#[derive(Debug, Default)]
pub(super) struct Celeste {
    loaded: Loaded,
    index: Index,
}

impl Celeste {
    pub(super) fn new(loaded: Loaded) -> Self {
        let index = Index::of(&loaded.armed);
        Self { loaded, index }
    }

    /// Rules that run nothing and say why.
    pub(super) fn disabled(path: &str, why: &str) -> Self {
        let text = super::disabled_warning(Some(why));
        let notice = Notice { key: format!("celeste disabled {why}"), text: format!("celeste: {text}") };
        let path = if path.is_empty() { "HOME" } else { path };
        let problem = Problem { path: path.to_owned(), line: None, column: None, message: text };
        let loaded = Loaded { notices: vec![notice], problems: vec![problem], ..Loaded::default() };
        Self { loaded, index: Index::default() }
    }

    /// The hooks that an event is for, in the order in which they run.
    fn due(&self, event: &Event, moment: Moment) -> Due<'_> {
        let tool = event.tool.as_ref().filter(|_| moment.is_tool());
        self.index.due(moment, tool.map_or("", |tool| spelling::tool_name(tool, Name::Celeste)))
    }

    fn definition(&self, at: At) -> &Definition {
        &self.loaded.armed[at.source].definitions[at.hook]
    }

    /// What a person is told of sources that do not run.
    fn skipped(&self) -> impl Iterator<Item = &Notice> {
        self.loaded.armed.iter().filter_map(|armed| armed.skipped.as_ref())
    }

    /// Whether the session is to hold fast what is in force. An ending one needs nothing any more.
    fn is_to_keep(&self, event: &Event) -> bool {
        self.loaded.keep.is_some() && event.name != EventName::SessionEnd
    }
}

impl Rules for Celeste {
    fn dialect(&self) -> Name {
        Name::Celeste
    }

    fn sources(&self) -> &[Source] {
        &self.loaded.sources
    }

    fn problems(&self) -> &[Problem] {
        &self.loaded.problems
    }

    fn listens(&self, event: &Event) -> bool {
        let is_first = || self.is_to_keep(event) || self.skipped().next().is_some();
        !self.loaded.notices.is_empty()
            || (event.session_id.is_some() && is_first())
            || Moment::of(event).is_some_and(|moment| self.due(event, moment).next().is_some())
    }

    fn way<'a>(&'a self, firing: &'a Firing<'a>) -> Way<'a> {
        dialect::from_the_beginning(|past| self.next(firing, past))
    }
}

impl Celeste {
    fn next(&self, firing: &Firing<'_>, past: &[Finished]) -> Step {
        let mut said = Said { notices: self.loaded.notices.clone(), ..Said::default() };
        if firing.session.remembered && self.is_to_keep(firing.event) {
            said.keep = self.loaded.keep.as_ref().map(super::kept::Kept::to_value);
        }
        if firing.session.remembered {
            // Once a session: no need to wait until one of their hooks is due.
            said.notices.extend(self.skipped().cloned());
        }
        let Some(moment) = Moment::of(firing.event) else { return Step::Done(Box::new(said)) };
        let mut due = self.due(firing.event, moment).peekable();
        if due.peek().is_none() {
            return Step::Done(Box::new(said));
        }
        let mut chain = Chain::new(firing, moment);
        let mut past = past.iter();
        for at in due {
            let (source, definition) = (&self.loaded.sources[at.source], self.definition(at));
            if source.standing != Standing::Trusted {
                said.notices.extend(self.loaded.armed[at.source].skipped.clone());
                chain.skip(source, at.hook, source.standing.as_str());
                continue;
            }
            let root = self.loaded.armed[at.source].root.as_deref();
            let directory = root.unwrap_or(&firing.scope.workspace);
            if let Err(why) = chain.check(definition, directory) {
                chain.fail(source, at.hook, &why);
            } else if let Some(finished) = past.next() {
                chain.take(source, definition, finished);
            } else {
                match chain.command(definition, directory) {
                    Ok(command) => {
                        let moment = moment.as_str().to_owned();
                        let job = Job {
                            source: at.source,
                            hook: at.hook,
                            moment,
                            command,
                            recheck: None,
                            refused: None,
                        };
                        return Step::Run(Batch { jobs: vec![job], at_once: 1, within: None });
                    }
                    Err(why) => chain.fail(source, at.hook, &why),
                }
            }
            if chain.is_over() {
                break;
            }
        }
        chain.conclude(&mut said);
        Step::Done(Box::new(said))
    }
}

/// A hook's place: its source, and its place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    source: usize,
    hook: usize,
}

/// The hooks of each moment: those for every tool, and those for one. An event looks at no others.
#[derive(Debug, Default)]
struct Index {
    every: [Vec<At>; Moment::ALL.len()],
    named: [HashMap<String, Vec<At>>; Moment::ALL.len()],
}

impl Index {
    fn of(armed: &[Armed]) -> Self {
        let mut index = Self::default();
        for (source, armed) in armed.iter().enumerate() {
            for (hook, definition) in armed.definitions.iter().enumerate() {
                let at = At { source, hook };
                let moment = definition.moment as usize;
                if definition.matcher == "*" {
                    index.every[moment].push(at);
                } else {
                    index.named[moment].entry(definition.matcher.clone()).or_default().push(at);
                }
            }
        }
        index
    }

    fn due(&self, moment: Moment, tool: &str) -> Due<'_> {
        let named = self.named[moment as usize].get(tool).map_or(&[][..], Vec::as_slice);
        Due { every: &self.every[moment as usize], named }
    }
}

/// Two lists, each in order, as one in order.
struct Due<'a> {
    every: &'a [At],
    named: &'a [At],
}

impl Iterator for Due<'_> {
    type Item = At;

    fn next(&mut self) -> Option<At> {
        let list = match (self.every.first(), self.named.first()) {
            (Some(every), Some(named)) if named < every => &mut self.named,
            (None, Some(_)) => &mut self.named,
            _ => &mut self.every,
        };
        let (first, rest) = list.split_first()?;
        *list = rest;
        Some(*first)
    }
}
