//! What continuations are counted by, and how often each agent was continued.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};

use crate::dialect::{Bound, Name};

/// Most counters that are remembered beside those of the session's own turn. The one that was counted with longest ago
/// goes first.
pub(super) const MOST: usize = 1_000;

/// Before a subagent's name, in a counter's text.
const SUBAGENT: &str = "subagent ";

/// What continuations are counted by: whose they are, and which bound they count for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(into = "String", from = "String")]
pub struct Counter {
    /// The subagent; `None` for the session's own agent.
    pub agent: Option<String>,
    /// Whose own bound; `None` for the bound of the whole.
    pub dialect: Option<Name>,
    /// The unit, as the host names it; `None` for the agent's turn.
    pub unit: Option<String>,
}

impl Counter {
    /// All continuations of one agent's turn.
    pub fn turn(agent: Option<&str>) -> Self {
        Self { agent: agent.map(str::to_owned), dialect: None, unit: None }
    }

    /// Those of the same agent that count for one dialect's own bound.
    pub(super) fn of(&self, dialect: Name, bound: &Bound) -> Self {
        Self { agent: self.agent.clone(), dialect: Some(dialect), unit: bound.unit.clone() }
    }

    fn is_of_turn(&self, agent: Option<&str>) -> bool {
        self.agent.as_deref() == agent && self.unit.is_none()
    }
}

/// `WHO/DIALECT/UNIT`. Names may hold anything, so what separates is escaped in them.
impl fmt::Display for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = |name: &str| name.replace('%', "%25").replace('/', "%2F");
        match &self.agent {
            Some(agent) => write!(f, "{SUBAGENT}{}", escaped(agent))?,
            None => f.write_str("turn")?,
        }
        match (self.dialect, &self.unit) {
            (Some(dialect), Some(unit)) => write!(f, "/{dialect}/{}", escaped(unit)),
            (Some(dialect), None) => write!(f, "/{dialect}"),
            (None, _) => Ok(()),
        }
    }
}

impl From<Counter> for String {
    fn from(counter: Counter) -> Self {
        counter.to_string()
    }
}

/// Takes what was written before names were escaped too, as far as it can be told apart.
impl From<String> for Counter {
    fn from(text: String) -> Self {
        let plain = |name: &str| name.replace("%2F", "/").replace("%25", "%");
        let agent = |who: &str| who.strip_prefix(SUBAGENT).map(plain);
        let mut parts = text.splitn(3, '/');
        let who = parts.next().unwrap_or_default();
        let Some(dialect) = parts.next() else {
            return Self { agent: agent(who), dialect: None, unit: None };
        };
        match Name::named(dialect) {
            Some(dialect) => {
                Self { agent: agent(who), dialect: Some(dialect), unit: parts.next().map(plain) }
            }
            // A name with a `/` in it, as it stood once.
            None => Self { agent: agent(&text), dialect: None, unit: None },
        }
    }
}

/// How often stops were denied, by counter; what was counted last stands last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(Vec<(Counter, u32)>);

impl Counts {
    /// How often it was counted with.
    pub fn get(&self, counter: &Counter) -> u32 {
        self.0.iter().find(|(known, _)| known == counter).map_or(0, |(_, times)| *times)
    }

    /// Whether anything is counted at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether anything is counted for this agent's turn.
    pub(super) fn has_turn(&self, agent: Option<&str>) -> bool {
        self.0.iter().any(|(counter, _)| counter.is_of_turn(agent))
    }

    pub(super) fn count(&mut self, counter: Counter) {
        let times = self.get(&counter).saturating_add(1);
        self.set(counter, times);
    }

    /// This agent's next turn is counted anew. Units that the host names are not turns: they last.
    pub(super) fn start_turn(&mut self, agent: Option<&str>) {
        self.0.retain(|(counter, _)| !counter.is_of_turn(agent));
    }

    /// As [`Counts::start_turn`], for every agent.
    pub(super) fn start_turns(&mut self) {
        self.0.retain(|(counter, _)| counter.unit.is_some());
    }

    fn set(&mut self, counter: Counter, times: u32) {
        self.0.retain(|(known, _)| *known != counter);
        self.0.push((counter, times));
        let is_passing = |(counter, _): &(Counter, u32)| !counter.is_of_turn(None);
        if self.0.iter().filter(|entry| is_passing(entry)).count() > MOST
            && let Some(oldest) = self.0.iter().position(is_passing)
        {
            self.0.remove(oldest);
        }
    }
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(counter, times)| (counter, times)))
    }
}

impl<'de> Deserialize<'de> for Counts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;

        impl<'de> Visitor<'de> for Map {
            type Value = Counts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("counters with how often each was counted with")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Counts, A::Error> {
                let mut counts = Counts::default();
                while let Some((counter, times)) = map.next_entry::<Counter, u32>()? {
                    // Two that were told apart once may be one now: the larger counts.
                    let times = times.max(counts.get(&counter));
                    counts.set(counter, times);
                }
                Ok(counts)
            }
        }

        deserializer.deserialize_map(Map)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counter() -> impl Strategy<Value = Counter> {
        let name = prop_oneof!["[a/%2F5]{0,6}", "(subagent )?(turn|1|a)(/(celeste|2))*", any::<String>()];
        let dialect = prop::sample::select(vec![Name::Albedo, Name::Celeste, Name::Shadowcode]);
        (prop::option::of(name.clone()), prop::option::of((dialect, prop::option::of(name)))).prop_map(
            |(agent, own)| {
                let (dialect, unit) = own.map_or((None, None), |(dialect, unit)| (Some(dialect), unit));
                Counter { agent, dialect, unit }
            },
        )
    }

    proptest! {
        #[test]
        fn no_two_counters_share_a_text(one in counter(), other in counter()) {
            prop_assert_eq!(&Counter::from(one.to_string()), &one);
            prop_assert_eq!(one == other, one.to_string() == other.to_string());
        }

        #[test]
        fn counts_read_back_in_their_order(counters in prop::collection::vec(counter(), 0..20)) {
            let mut counts = Counts::default();
            for counter in counters {
                counts.count(counter);
            }
            let text = serde_json::to_string(&counts).unwrap();
            prop_assert_eq!(serde_json::from_str::<Counts>(&text).unwrap(), counts);
        }
    }

    #[test]
    fn what_was_written_before_names_were_escaped_still_counts() {
        let text =
            r#"{"turn":3,"turn/celeste/a/b":1,"subagent a/b":2,"subagent a/albedo":4,"subagent %25":5}"#;
        let counts: Counts = serde_json::from_str(text).unwrap();
        let of = |agent: Option<&str>, dialect, unit: Option<&str>| {
            let agent = agent.map(str::to_owned);
            counts.get(&Counter { agent, dialect, unit: unit.map(str::to_owned) })
        };
        assert_eq!(of(None, None, None), 3);
        assert_eq!(of(None, Some(Name::Celeste), Some("a/b")), 1);
        assert_eq!(of(Some("a/b"), None, None), 2);
        assert_eq!(of(Some("a"), Some(Name::Albedo), None), 4);
        assert_eq!(of(Some("%"), None, None), 5);
    }

    #[test]
    fn the_oldest_is_forgotten_and_never_the_turn() {
        let mut counts = Counts::default();
        counts.count(Counter::turn(None));
        for agent in 0..MOST + 2 {
            counts.count(Counter::turn(Some("in use")));
            counts.count(Counter::turn(Some(&agent.to_string())));
        }
        assert_eq!(counts.0.len(), MOST + 1);
        let of = |agent: Option<&str>| counts.get(&Counter::turn(agent)) as usize;
        assert_eq!((of(None), of(Some("in use")), of(Some("0")), of(Some("9"))), (1, MOST + 2, 0, 1));
    }
}
