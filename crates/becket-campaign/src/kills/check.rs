//! What must hold after each kill.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use becket::core::dialect::{self, Name};
use becket::core::ledger::Ledger;
use becket::core::session::Facts;
use becket_e2e::Error;
use serde_json::json;

use super::deed::{Deed, Kind, What};
use super::scene::{FORBIDDEN, Source, Standing};
use super::{Campaign, Victim};
use crate::journal::{Journal, names};
use crate::process::Ran;

const LOST_APPROVALS: &str = "approvals lost";
const GIVEN: &str = "approvals that nobody gave";
const LOST_ANSWERS: &str = "other answers lost";
const HALF: &str = "answers under way that are neither one nor the other";
const REFUSED: &str = "answers refused";
const UNAPPROVED: &str = "unapproved hooks that ran";
const MISSED: &str = "approved hooks that the next event did not run";
const WRONG: &str = "next events that failed, or with a wrong verdict";
const LET_THROUGH: &str = "denied calls let through by a killed event";
const STUCK: &str = "programs that did not end in time";
const UNREADABLE: &str = "stores that could not be read";
const SETTINGS: &str = "agents' settings that are neither as before nor as after";
pub(super) const LEFT: &str = "processes left";
/// Nothing is promised where the program and its keeper are killed in one moment: nobody is there to end anything.
pub(super) const LEFT_BY_BOTH: &str = "processes left where program and keeper were killed at once";
const LOST_FACTS: &str = "facts of sessions lost";
const LOST_RECORDS: &str = "records of the journal lost or doubled";

/// What must never be counted.
pub(super) const FAULTS: &[&str] = &[
    LOST_APPROVALS,
    GIVEN,
    LOST_ANSWERS,
    HALF,
    REFUSED,
    UNAPPROVED,
    MISSED,
    WRONG,
    LET_THROUGH,
    STUCK,
    UNREADABLE,
    SETTINGS,
    LEFT,
    LOST_FACTS,
    LOST_RECORDS,
];

/// What the program has said to have done, and must have written down.
#[derive(Debug, Default)]
pub(super) struct Acknowledged {
    pub(super) sessions: BTreeMap<String, Remembered>,
    /// Events since the last look into the journal that said what came of them.
    events: Vec<u64>,
    /// Lines that a kill has torn.
    pub(super) torn: BTreeSet<String>,
}

/// Of one session.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    prompts: u64,
    /// Prompts whose event was killed: they count or not.
    open_prompts: u64,
    blocked: BTreeSet<String>,
}

/// What became of the deed itself: `Some` if that is known, by its exit code.
pub(super) fn answer(campaign: &mut Campaign, deed: &Deed, victim: Victim, ran: &Ran) -> Option<bool> {
    let round = campaign.round;
    let words = || format!("round {round}: {deed:?}, killed {victim:?}: {}", ran.words());
    if ran.cut {
        campaign.figures.count(STUCK, words);
        return None;
    }
    let What::Fire(fire) = &deed.what else {
        let code = ran.code?;
        if code != 0 {
            campaign.figures.count(REFUSED, words);
        }
        return Some(code == 0);
    };
    let remembered = campaign.acknowledged.sessions.entry(fire.session.clone()).or_default();
    remembered.open_prompts += u64::from(deed.kind == Kind::FirePrompt && ran.code.is_none());
    let code = ran.code?;
    // Without its keeper it may say that of a hook's end.
    if victim == Victim::Program && ran.complains() {
        campaign.figures.count(UNREADABLE, words);
    }
    let said = ran.json();
    let is_denied = if fire.as_codex {
        code == 2 || said["hookSpecificOutput"]["permissionDecision"] == "deny"
    } else {
        code == 2
    };
    if deed.must_be_denied() && !is_denied {
        campaign.figures.count(LET_THROUGH, words);
    }
    // With its keeper gone an event may be denied, never left without a verdict.
    let is_verdict = if fire.as_codex { said.is_object() } else { matches!(code, 0 | 2) };
    if !is_verdict || victim == Victim::Program && !deed.is_taken(Some(code)) {
        campaign.figures.count(WRONG, words);
    }
    remembered.prompts += u64::from(deed.kind == Kind::FirePrompt);
    if is_denied && deed.event() == "PreToolUse" {
        remembered.blocked.insert(fire.call.clone());
    }
    if names(&ran.stdout).contains(&fire.number) {
        campaign.acknowledged.events.push(fire.number);
    }
    Some(true)
}

/// No hook of the killed event may have run that nobody approved.
pub(super) fn marks(campaign: &mut Campaign, deed: &Deed) {
    let session = match &deed.what {
        What::Fire(fire) => fire.session.as_str(),
        _ => "",
    };
    let round = campaign.round;
    for name in campaign.scene.stage.marked() {
        let source = campaign.scene.sources.iter().find(|source| source.name == name);
        if source.is_none_or(|source| !campaign.scene.may_run(source, session)) {
            campaign.figures.count(UNAPPROVED, || format!("round {round}: {name} in the killed {deed:?}"));
        }
    }
}

/// Every source stands as it was left, and the one that was answered about as before or as after.
pub(super) fn list(campaign: &mut Campaign, deed: &Deed, taken: Option<bool>) -> Result<(), Error> {
    let round = campaign.round;
    let ran = campaign.scene.stage.run(&["list", "--json"], "")?;
    let list = ran.json();
    let listed = list["sources"].as_array();
    let has_problems = list["problems"] != campaign.scene.problems;
    let (Some(listed), Some(0), false) = (listed, ran.code, has_problems) else {
        campaign.figures.count(UNREADABLE, || {
            format!("round {round}: after {deed:?}: {} {}", list["problems"], ran.words())
        });
        return Ok(());
    };
    let is_trusted = is_project_trusted(campaign)?;
    let wanted = match (&deed.what, taken) {
        (What::Project(after), Some(true)) => *after,
        // Killed on the way: either, and `next_event` sees whether it holds.
        (What::Project(_), None) => is_trusted,
        _ => campaign.scene.is_project_trusted,
    };
    if is_trusted != wanted {
        let name = if is_trusted { GIVEN } else { LOST_APPROVALS };
        campaign
            .figures
            .count(name, || format!("round {round}: of the project, after {deed:?} (taken: {taken:?})"));
    }
    campaign.scene.is_project_trusted = is_trusted;
    for at in 0..campaign.scene.sources.len() {
        let source = &campaign.scene.sources[at];
        let found = listed.iter().find(|listed| listed["path"] == source.path.as_str());
        let Some(now) = found.and_then(|found| Standing::of(found["standing"].as_str()?)) else {
            campaign
                .figures
                .count(UNREADABLE, || format!("round {round}: {source:?} after {deed:?}: {found:?}"));
            continue;
        };
        // What is enabled in a project that is not trusted is listed as not trusted: it keeps its standing unseen.
        let is_hidden = source.asks_for_project && !is_trusted;
        let shown = |standing| {
            if is_hidden && standing == Standing::Trusted { Standing::Untrusted } else { standing }
        };
        let before = source.standing;
        let is_answered = matches!(deed.what, What::Answer(answered, _) if answered == at);
        let after = match &deed.what {
            What::Answer(_, answer) if is_answered => Standing::from(*answer),
            _ => before,
        };
        let words = || {
            format!(
                "round {round}: {} is {now:?} after {deed:?} (taken: {taken:?}), was {before:?}",
                source.name
            )
        };
        let is_right = match taken {
            Some(true) => now == shown(after),
            Some(false) => now == shown(before),
            None => now == shown(after) || now == shown(before),
        };
        if !is_right {
            let name = match (is_answered && taken.is_none(), before, now) {
                (true, _, _) => HALF,
                (_, _, Standing::Trusted) => GIVEN,
                (_, Standing::Trusted, _) => LOST_APPROVALS,
                _ if after == Standing::Trusted => LOST_APPROVALS,
                _ => LOST_ANSWERS,
            };
            campaign.figures.count(name, words);
        }
        let stands =
            if is_right && now != after && now == shown(after) && !is_answered { after } else { now };
        if is_right && taken.is_none() && is_answered && before != after {
            let name = if now == after {
                "answers under way that counted"
            } else {
                "answers under way that did not count"
            };
            campaign.figures.add(name, 1);
        }
        campaign.scene.sources[at].standing = stands;
    }
    Ok(())
}

/// Whether the project is trusted now, by Becket's own ledger.
fn is_project_trusted(campaign: &Campaign) -> Result<bool, Error> {
    let ledger = fs::read(campaign.scene.stage.state().join("ledger.json"))?;
    let ledger = Ledger::parse(&ledger)?;
    let entry = ledger.entry(Name::Shadowcode, campaign.scene.stage.project().as_str());
    Ok(entry.is_some_and(|entry| entry.answer == dialect::Answer::Approve))
}

/// An agent's file is byte for byte as it was or as it should become.
pub(super) fn settings(campaign: &mut Campaign, deed: &Deed, taken: Option<bool>) {
    let round = campaign.round;
    for at in 0..campaign.scene.settings.len() {
        let settings = &campaign.scene.settings[at];
        let content = fs::read(&settings.path).ok();
        let is_plugged = content == settings.plugged;
        let is_changed = matches!(deed.what, What::Plug(host, _) if host == at);
        let wanted = match &deed.what {
            What::Plug(_, is_in) if is_changed => *is_in,
            _ => settings.is_plugged,
        };
        let is_right = (is_plugged || content == settings.original)
            && (is_plugged == wanted
                || is_changed && taken != Some(true) && is_plugged == settings.is_plugged);
        let copy = fs::read(format!("{}.before-becket", settings.path)).ok();
        if !is_right || copy.is_some() && copy != settings.original {
            let text = content.as_deref().map(String::from_utf8_lossy);
            campaign.figures.count(SETTINGS, || {
                format!("round {round}: {} after {deed:?}: {text:?}, copy {copy:?}", settings.path)
            });
        }
        campaign.scene.settings[at].is_plugged = is_plugged;
    }
}

/// The next event runs exactly what is approved, and a call that must be denied is denied.
pub(super) fn next_event(campaign: &mut Campaign) -> Result<(), Error> {
    let round = campaign.round;
    campaign.scene.stage.wipe_marks();
    let (ran, _) = fire(campaign, "fine")?;
    campaign.next.push(ran.took.as_secs_f64() * 1e3);
    let outcome = ran.json();
    let marked = campaign.scene.stage.marked();
    let mut is_right = ran.code == Some(0) && outcome["decision"] == "allow";
    let runs = outcome["runs"].as_array().cloned().unwrap_or_default();
    for source in &campaign.scene.sources {
        let should = campaign.scene.runs(source);
        let has = marked.iter().any(|name| name == source.name);
        let words = || format!("round {round}: {}: {}", source.name, ran.words());
        if has && !should {
            campaign.figures.count(UNAPPROVED, words);
        } else if should && !has {
            campaign.figures.count(MISSED, words);
        }
        let status = runs.iter().find(|run| run["source"] == source.path.as_str()).map(|run| &run["status"]);
        is_right &= status.is_some_and(|status| status == if should { "passed" } else { "skipped" });
    }
    if !is_right {
        campaign.figures.count(WRONG, || format!("round {round}: {}", ran.words()));
    }
    if ran.complains() {
        campaign.figures.count(UNREADABLE, || format!("round {round}: {}", ran.words()));
    }
    let (ran, number) = fire(campaign, FORBIDDEN)?;
    if ran.code != Some(2) || !names(&ran.stdout).contains(&number) {
        campaign.figures.count(WRONG, || format!("round {round}: must be denied: {}", ran.words()));
    }
    Ok(())
}

/// Other bytes than those that were approved do not run; once the old ones are back, they do: `list` sees that next time.
pub(super) fn changed_bytes(campaign: &mut Campaign) -> Result<(), Error> {
    let sources = &campaign.scene.sources;
    let is_asked = |source: &&Source| source.standing == Standing::Trusted && !source.asks_for_project;
    let trusted: Vec<&Source> = sources.iter().filter(is_asked).collect();
    if trusted.is_empty() {
        return Ok(());
    }
    let source = trusted[campaign.rng.usize(..trusted.len())];
    let (name, path) = (source.name, source.path.clone());
    let content = fs::read_to_string(&path)?;
    fs::write(&path, content.replace("exit 0", "exit 00"))?;
    campaign.scene.stage.wipe_marks();
    let (ran, _) = fire(campaign, "fine")?;
    let round = campaign.round;
    let words = || format!("round {round}: {name}, changed: {}", ran.words());
    if campaign.scene.stage.marked().iter().any(|marked| marked == name) {
        campaign.figures.count(UNAPPROVED, words);
    }
    if ran.code != Some(0) {
        campaign.figures.count(WRONG, words);
    }
    campaign.figures.add("approved sources that were changed and put back", 1);
    Ok(fs::write(&path, content)?)
}

/// Fires a call of no session with this word in it, and remembers that it was told what comes of it.
fn fire(campaign: &mut Campaign, word: &str) -> Result<(Ran, u64), Error> {
    campaign.events += 1;
    let number = campaign.events;
    let envelope = json!({
        "hook_event_name": "PreToolUse", "cwd": campaign.scene.stage.project(), "tool_name": "Bash",
        "tool_input": {"command": format!("echo {word} event-{number}")},
    });
    let ran = campaign.scene.stage.run(&["fire"], &envelope.to_string())?;
    campaign.acknowledged.events.push(number);
    Ok((ran, number))
}

/// What was answered since the last time stands in the journal, each once.
pub(super) fn records(campaign: &mut Campaign) -> Result<(), Error> {
    let journal = Journal::read(&campaign.scene.stage)?;
    let round = campaign.round;
    for event in std::mem::take(&mut campaign.acknowledged.events) {
        match journal.count(event) {
            1 => campaign.figures.add("records found in the journal", 1),
            count => {
                campaign.figures.count(LOST_RECORDS, || format!("round {round}: {count} of event-{event}"));
            }
        }
    }
    campaign.acknowledged.torn.extend(journal.torn);
    Ok(())
}

/// What a session's events have said to have done is among its facts.
pub(super) fn session(campaign: &mut Campaign, session: &str) -> Result<(), Error> {
    let Some(remembered) = campaign.acknowledged.sessions.remove(session) else { return Ok(()) };
    let key = becket::core::hash::of(format!("session {session}").as_bytes());
    let path = campaign.scene.stage.state().join(format!("sessions/{key}.jsonl"));
    let text =
        if path.exists() { String::from_utf8_lossy(&fs::read(&path)?).into_owned() } else { String::new() };
    let (facts, gaps) = Facts::read(&text);
    let most = remembered.prompts + remembered.open_prompts;
    let lost = remembered.prompts.saturating_sub(facts.prompts) + facts.prompts.saturating_sub(most);
    let lost_calls: Vec<&String> =
        remembered.blocked.iter().filter(|call| !facts.blocked.contains(*call)).collect();
    for _ in 0..lost + (gaps.newer + gaps.unreadable) as u64 + lost_calls.len() as u64 {
        campaign.figures.count(LOST_FACTS, || {
            format!(
                "{session}: {} to {most} prompts, {} remembered; {} calls lost",
                remembered.prompts,
                facts.prompts,
                lost_calls.len()
            )
        });
    }
    campaign.figures.add("facts of sessions found", facts.prompts + remembered.blocked.len() as u64);
    Ok(())
}

/// In the end everything is unplugged, and the agents' files are what they were.
pub(super) fn unplugged(campaign: &mut Campaign) -> Result<(), Error> {
    for at in 0..campaign.scene.settings.len() {
        let settings = &campaign.scene.settings[at];
        let ran = campaign.scene.stage.run(&["uninstall", settings.host], "")?;
        let content = fs::read(&settings.path).ok();
        if ran.code != Some(0) || content != settings.original {
            campaign.figures.count(SETTINGS, || format!("in the end: {}: {}", settings.path, ran.words()));
        }
    }
    Ok(())
}
