//! Hooks of all three dialects, and what is known of each source: may it run?

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use becket_e2e::Error;
use camino::Utf8PathBuf;
use serde_json::json;

use super::deed::{Answer, Deed, What};
use crate::stage::Stage;

/// The word that one's own guard denies.
pub(super) const FORBIDDEN: &str = "forbidden";

/// How a source stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Untrusted,
    Trusted,
    Declined,
}

impl Standing {
    pub(super) fn of(word: &str) -> Option<Self> {
        match word {
            "untrusted" => Some(Self::Untrusted),
            "trusted" => Some(Self::Trusted),
            "declined" => Some(Self::Declined),
            _ => None,
        }
    }
}

impl From<Answer> for Standing {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Approve => Self::Trusted,
            Answer::Decline => Self::Declined,
            Answer::Forget => Self::Untrusted,
        }
    }
}

/// One source of hooks, whose hook leaves a mark of this name.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: &'static str,
    pub(super) path: Utf8PathBuf,
    pub(super) hash: String,
    pub(super) standing: Standing,
    /// ShadowCode asks for a trusted project besides.
    pub(super) asks_for_project: bool,
    /// Nobody ever answers for it, and its hook must never run.
    pub(super) is_never_answered: bool,
    /// Its dialect lets a session go on with what it began with.
    stays: bool,
}

/// An agent's settings file.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) host: &'static str,
    pub(super) path: Utf8PathBuf,
    pub(super) original: Option<Vec<u8>>,
    pub(super) plugged: Option<Vec<u8>>,
    pub(super) is_plugged: bool,
}

/// The stage with what stands on it.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) stage: Stage,
    pub(super) sources: Vec<Source>,
    pub(super) is_project_trusted: bool,
    pub(super) settings: Vec<Settings>,
    /// What `becket list` has to say of these files in the beginning: that a grimoire's form is an old one.
    pub(super) problems: serde_json::Value,
    /// Sources that a session may go on with, since it met them when they were trusted.
    sessions: BTreeMap<String, BTreeSet<&'static str>>,
}

impl Scene {
    pub(super) fn new() -> Result<Self, Error> {
        let stage = Stage::new()?;
        let mut paths = vec![
            ("albedo", albedo(&stage)?, false),
            ("celeste", celeste(&stage)?, false),
            ("grimoire", grimoire(&stage, ".grimoire", "grimoire")?, false),
            ("celeste-never", grimoire(&stage, ".celeste/grimoire/never.md", "celeste-never")?, true),
        ];
        for name in ["shadow-one", "shadow-two", "shadow-never"] {
            paths.push((name, shadowcode(&stage, name)?, name == "shadow-never"));
        }
        let listed = stage.sources()?;
        let mut sources = Vec::new();
        for (name, path, is_never_answered) in paths {
            let found = listed.iter().find(|(listed, _, _)| *listed == path);
            let (_, standing, hash) = found.ok_or_else(|| format!("{path} is not listed: {listed:?}"))?;
            if standing != "untrusted" {
                return Err(format!("{path} is {standing} before any answer").into());
            }
            sources.push(Source {
                name,
                path,
                hash: hash.clone(),
                standing: Standing::Untrusted,
                asks_for_project: name.starts_with("shadow"),
                is_never_answered,
                stays: name != "albedo",
            });
        }
        let settings = settings(&stage)?;
        let problems = stage.must(&["list", "--json"])?.json()["problems"].clone();
        Ok(Self { stage, sources, is_project_trusted: false, settings, problems, sessions: BTreeMap::new() })
    }

    /// Whether a source's hook runs in an event of no session.
    pub(super) fn runs(&self, source: &Source) -> bool {
        source.standing == Standing::Trusted && (self.is_project_trusted || !source.asks_for_project)
    }

    /// A session's event is about to meet the sources as they stand.
    pub(super) fn enter(&mut self, deed: &Deed) {
        let What::Fire(fire) = &deed.what else { return };
        let runs: Vec<&str> =
            self.sources.iter().filter(|source| self.runs(source)).map(|source| source.name).collect();
        self.sessions.entry(fire.session.clone()).or_default().extend(runs);
    }

    /// Whether a source's hook may run in an event of this session.
    pub(super) fn may_run(&self, source: &Source, session: &str) -> bool {
        let stays = || self.sessions.get(session).is_some_and(|names| names.contains(source.name));
        self.runs(source) || source.stays && stays()
    }

    /// A deed was acknowledged.
    pub(super) fn done(&mut self, deed: &Deed) {
        match &deed.what {
            What::Fire(_) => {}
            What::Answer(source, answer) => self.sources[*source].standing = (*answer).into(),
            What::Project(is_trusted) => self.is_project_trusted = *is_trusted,
            What::Plug(host, is_in) => self.settings[*host].is_plugged = *is_in,
        }
    }
}

/// What every hook here does: it leaves its mark, takes its time, and has a child that is gone when it is.
fn script(stage: &Stage, name: &str, reads: &str) -> String {
    format!(
        "echo ran >>{}/{name}; {reads} {} & sleep 0.005; kill $!; exit 0",
        stage.marks(),
        stage.linger(60)
    )
}

/// One's own guard in `~/.albedo/hooks.json`, and a workspace's hooks that need an approval.
fn albedo(stage: &Stage) -> Result<Utf8PathBuf, Error> {
    let command =
        |command: String| json!([{"hooks": [{"type": "command", "command": command, "timeout": 20}]}]);
    let own = json!({"hooks": {
        "PreToolUse": command(Stage::guard("PreToolUse", FORBIDDEN)),
        "UserPromptSubmit": command(Stage::guard("UserPromptSubmit", FORBIDDEN)),
        "PostToolUse": command(Stage::guard("PostToolUse", FORBIDDEN)),
        "Stop": command("echo 'not done yet' >&2; exit 2".into()),
    }});
    stage.write("home/.albedo/hooks.json", &own.to_string())?;
    let all = command(script(stage, "albedo", "cat >/dev/null;"));
    let hooks = json!({"hooks": {"PreToolUse": all, "UserPromptSubmit": all, "PostToolUse": all}});
    let path = stage.albedo(&stage.project()).join("hooks.json");
    stage.write(path, &hooks.to_string())
}

fn celeste(stage: &Stage) -> Result<Utf8PathBuf, Error> {
    let hook = |event: &str| json!({"event": event, "command": script(stage, "celeste", "cat >/dev/null;"), "timeout": 20});
    let hooks = json!({"hooks": [hook("PreToolUse"), hook("PostToolUse"), hook("UserPromptSubmit")]});
    stage.write("project/.celeste/hooks.json", &hooks.to_string())
}

fn grimoire(stage: &Stage, file: &str, name: &str) -> Result<Utf8PathBuf, Error> {
    let command = script(stage, name, "");
    stage.write(format!("project/{file}"), &format!("## Hooks\n\n### PreToolUse\n- bash: {command}\n"))
}

fn shadowcode(stage: &Stage, name: &str) -> Result<Utf8PathBuf, Error> {
    let hook = json!({
        "name": name, "events": ["before_command", "after_edit"], "command": script(stage, name, ""), "timeout_sec": 20,
    });
    stage.write(
        "profile/config/config.yaml",
        "# A person's own settings.\nagent:\n  tool_timeout_sec: 60\n",
    )?;
    stage.write(format!("project/.shadowcode/hooks/{name}.json"), &hook.to_string())
}

/// The files of four agents, two of them a person's own already, as they are without Becket and with it.
fn settings(stage: &Stage) -> Result<Vec<Settings>, Error> {
    stage.write("home/.claude/settings.json", "{\n  \"model\": \"opus\",\n  \"hooks\": {}\n}\n")?;
    stage.write(
        "home/.gemini/settings.json",
        "// Mine.\n{\n  \"ui\": { \"theme\": \"dark\" } // at night\n}\n",
    )?;
    let files = [
        ("claude", "home/.claude/settings.json"),
        ("codex", "home/.codex/hooks.json"),
        ("gemini", "home/.gemini/settings.json"),
        ("opencode", "home/.config/opencode/plugin/becket.js"),
    ];
    let mut settings = Vec::new();
    for (host, file) in files {
        let path = stage.root().join(file);
        let original = fs::read(&path).ok();
        stage.must(&["install", host])?;
        let plugged = fs::read(&path).ok();
        stage.must(&["uninstall", host])?;
        if plugged.is_none() || plugged == original || fs::read(&path).ok() != original {
            return Err(format!("{path} does not change when {host} is plugged in and out").into());
        }
        settings.push(Settings { host, path, original, plugged, is_plugged: false });
    }
    Ok(settings)
}
