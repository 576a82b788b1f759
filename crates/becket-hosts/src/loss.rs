//! The loss table: what becomes of each answer, for every host and event. It is data; the encoder follows it, the
//! program prints it and `docs/hosts.md` is written from it.

use std::fmt::Write as _;
use std::time::Duration;

use becket_core::event::EventName;

use crate::Host;

/// Something that hooks may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Answer {
    /// No question is needed.
    Grant,
    /// A person must be asked.
    Ask,
    /// This must not happen; at a stop, go on.
    Deny,
    /// The turn ends.
    Halt,
    /// Another input runs instead.
    Rewrite,
    /// A text stands instead of the tool's result.
    Replace,
    /// An objection beside the tool's result.
    Feedback,
    /// Something for the model.
    Context,
    /// Something for the person.
    Message,
}

impl Answer {
    /// Every answer.
    pub const ALL: [Self; 9] = [
        Self::Grant,
        Self::Ask,
        Self::Deny,
        Self::Halt,
        Self::Rewrite,
        Self::Replace,
        Self::Feedback,
        Self::Context,
        Self::Message,
    ];

    /// The word in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Grant => "grant",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Halt => "halt",
            Self::Rewrite => "rewrite",
            Self::Replace => "replace result",
            Self::Feedback => "fail result",
            Self::Context => "context",
            Self::Message => "message",
        }
    }
}

/// What a host makes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It means nothing at this event, and no hook can answer it.
    Never,
    /// The host does what was meant.
    Honoured,
    /// Of a grant: the agent's own rules decide.
    OwnRules,
    /// Of a rewrite: a person confirms it, unless a hook granted the call or the agent asks nobody anyway.
    Confirmed,
    /// Of a rewrite: only together with a grant; without one it becomes a denial.
    WithGrant,
    /// It becomes a denial, with the reason.
    Denied,
    /// It becomes the end of the turn, with the reason.
    Ends,
    /// What can be denied here is, and so is everything else until the person's next prompt.
    Held,
    /// Told to the model as context, beside the result.
    Beside,
    /// Of a context: it reaches the model with the next thing that does.
    Later,
    /// Of a context: it is added to the reason where hooks object, and is shown to the person otherwise.
    WithReason,
    /// It is shown to the person.
    ToPerson,
    /// It stands on stderr, which the agent may or may not show.
    Stderr,
    /// The host cannot be kept from it; the person is told.
    Cannot,
}

impl Way {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Honoured => "honoured",
            Self::OwnRules => "own_rules",
            Self::Confirmed => "confirmed",
            Self::WithGrant => "with_grant",
            Self::Denied => "denied",
            Self::Ends => "ends",
            Self::Held => "held",
            Self::Beside => "beside",
            Self::Later => "later",
            Self::WithReason => "with_reason",
            Self::ToPerson => "to_person",
            Self::Stderr => "stderr",
            Self::Cannot => "cannot",
        }
    }

    /// What it means, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Never => "–",
            Self::Honoured => "yes",
            Self::OwnRules => "the agent's own rules decide",
            Self::Confirmed => "yes, but a person confirms it",
            Self::WithGrant => "with a grant, else **denied**",
            Self::Denied => "**denied**",
            Self::Ends => "**ends the turn**",
            Self::Held => "**denied until the next prompt**",
            Self::Beside => "beside the result",
            Self::Later => "with the next result or prompt",
            Self::WithReason => "in the reason, else to the person",
            Self::ToPerson => "to the person",
            Self::Stderr => "on stderr",
            Self::Cannot => "**cannot**; the person is told",
        }
    }
}

/// One event of one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// In the common vocabulary.
    pub event: EventName,
    /// As the host calls it.
    pub native: &'static str,
    /// How long the host waits for an installed entry, in seconds.
    pub patience: u32,
    pub(crate) ways: [Way; Answer::ALL.len()],
}

/// How long a host is told to wait for an entry where it lets us choose, in seconds: the longest time a dialect gives
/// a hook (600), and room for Becket to end it and to answer.
pub const PATIENCE: u32 = 660;

impl Row {
    pub(crate) const fn new(event: EventName, native: &'static str) -> Self {
        Self { event, native, patience: PATIENCE, ways: [Way::Never; Answer::ALL.len()] }
    }

    pub(crate) const fn waits(mut self, seconds: u32) -> Self {
        self.patience = seconds;
        self
    }

    pub(crate) const fn is(mut self, answer: Answer, way: Way) -> Self {
        self.ways[answer as usize] = way;
        self
    }

    /// An event at which nothing is about to happen: objections have nobody to obey them.
    pub(crate) const fn observed(self) -> Self {
        self.is(Answer::Ask, Way::ToPerson).is(Answer::Deny, Way::ToPerson)
    }

    /// What becomes of an answer.
    pub fn way(&self, answer: Answer) -> Way {
        self.ways[answer as usize]
    }

    /// When Becket must have answered, in seconds after it was started: before the host's patience ends.
    pub fn deadline(&self) -> u32 {
        match self.patience {
            0..=5 => self.patience.saturating_sub(1).max(1),
            6..=60 => self.patience - 3,
            _ => self.patience - 30,
        }
    }
}

/// When Becket must say something though it has come to no end, after it was started: between its deadline, in seconds,
/// and the end of the host's patience (see [`Row::deadline`]).
pub fn last_moment(deadline: u64) -> Duration {
    let more = match deadline {
        0..=4 => Duration::from_millis(500),
        5..=57 => Duration::from_millis(1500),
        _ => Duration::from_secs(15),
    };
    Duration::from_secs(deadline).saturating_add(more)
}

/// The table as `docs/hosts.md` shows it.
pub fn tables() -> String {
    let mut page = String::new();
    for host in Host::ALL {
        let verified = host.verified();
        let _ = writeln!(
            page,
            "### {}\n\nLast checked against {} on {}: {}.\n",
            host.title(),
            verified.version,
            verified.date,
            verified.how
        );
        let answers: Vec<&str> = Answer::ALL.iter().map(|answer| answer.as_str()).collect();
        let _ = writeln!(page, "| event | the agent's name | deadline | {} |", answers.join(" | "));
        let _ = writeln!(page, "|---|---|---|{}", "---|".repeat(answers.len()));
        for row in host.rows() {
            let ways: Vec<&str> = Answer::ALL.iter().map(|answer| row.way(*answer).meaning()).collect();
            let _ = writeln!(
                page,
                "| {} | `{}` | {} s | {} |",
                row.event,
                row.native,
                row.deadline(),
                ways.join(" | ")
            );
        }
        let absent: Vec<&str> = EventName::ALL
            .iter()
            .filter(|event| host.row(**event).is_none())
            .map(|event| event.as_str())
            .collect();
        if !absent.is_empty() {
            let _ = writeln!(page, "\nNot reported by this agent: {}.", absent.join(", "));
        }
        page.push('\n');
    }
    page
}
