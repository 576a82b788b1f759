//! `becket install` and `uninstall`: into agents and out of them.

use crate::exit::ExitCode;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use becket::core::text;
use becket::settings::Origin;
use becket::{Engine, others};
use becket_hosts::Host;
use becket_hosts::install::{self, HOME_VARIABLES, Line, Scope, edit};
use becket_hosts::switch::{self, Roots};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::{Result, elsewhere, engine};
use crate::args::{Common, Install as Options};
use crate::difference;
use crate::output::{self, CommandError};

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

/// What becomes of one agent's file.
struct Change {
    host: Host,
    /// As the agent names it.
    path: Utf8PathBuf,
    /// Links followed.
    target: Utf8PathBuf,
    before: Option<Vec<u8>>,
    after: Option<String>,
}

impl Change {
    fn is_nothing(&self) -> bool {
        self.before.as_deref() == self.after.as_deref().map(str::as_bytes)
    }
}

pub(crate) fn run(common: &Common, options: &Options, way: Way) -> Result {
    let hosts = named(&options.hosts)?;
    let places = Places::of(common, options.project)?;
    if way == Way::In {
        check_carried(common, &places.engine)?;
    }
    if !options.dry_run {
        // A hook must not unplug what guards it, nor put something else in its place.
        places.engine.check_person().map_err(CommandError::new)?;
    }
    // All are looked at before the first is changed.
    let mut changes = Vec::new();
    let mut failed = Vec::new();
    for host in hosts {
        match change(host, &places, way) {
            Ok(change) => changes.push(change),
            Err(error) => failed.push((host, error)),
        }
    }
    let mut results = Vec::new();
    let mut unheard = None;
    for change in changes {
        let title = change.host.title();
        let shown = text::line(change.path.as_str()).into_owned();
        let done = if options.dry_run && !change.is_nothing() {
            Ok((
                true,
                difference::of(&shown, change.before.as_deref(), change.after.as_deref().map(str::as_bytes)),
            ))
        } else {
            let applied = if options.dry_run { Ok(()) } else { apply(&places, &change, way) };
            applied.map(|()| {
                let word = match (way, change.is_nothing()) {
                    (Way::In, true) => "is plugged in already",
                    (Way::In, false) => "is plugged in",
                    (Way::Out, true) => "was not plugged in",
                    (Way::Out, false) => "is unplugged",
                };
                let kept =
                    if way == Way::Out && !options.dry_run { kept(&change.target) } else { String::new() };
                (!change.is_nothing(), format!("{title} {word}: {shown}\n{kept}"))
            })
        };
        match done {
            Ok((changed, page)) => {
                let warnings = match way {
                    Way::In => warnings(&change, &places),
                    Way::Out => left(&change, &places),
                };
                if !common.json {
                    let is_done = way == Way::In && changed && !options.dry_run;
                    let next = if is_done { next_steps(change.host, places.is_project) } else { "" };
                    // What cannot be told of one keeps no other from being done.
                    if let Err(error) = output::print(&format!("{page}{next}")) {
                        unheard.get_or_insert(error);
                    }
                }
                for warning in &warnings {
                    output::note(&format!("becket: {warning}"));
                }
                let mut result =
                    json!({ "host": change.host.as_str(), "path": change.path, "changed": changed });
                if !warnings.is_empty() {
                    result["warnings"] = warnings.into();
                }
                results.push(result);
            }
            Err(error) => failed.push((change.host, error)),
        }
    }
    for (host, error) in &failed {
        output::error(&CommandError::new(format!("{} was left alone: {error}", host.title())));
        results.push(json!({ "host": host.as_str(), "error": error.to_string() }));
    }
    if common.json {
        output::json(&json!({ "dry_run": options.dry_run, "hosts": Value::from(results) }), true)?;
    }
    if let Some(error) = unheard {
        return Err(error);
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Refuses what the line that `install` writes cannot say: it would not hold where an agent calls it.
fn check_carried(common: &Common, engine: &Engine) -> Result<()> {
    let refused = |option: &str, hint: &str| {
        let why = format!(
            "the line that `install` writes cannot say `{option}`, so it would not hold in the agent"
        );
        Err(CommandError::usage(why).hint(hint))
    };
    if common.config.is_some() {
        return refused("--config", "write it into becket/config.toml in the XDG configuration directory");
    }
    if !common.dialects.is_empty() {
        return refused("--dialect", "switch the others off in the settings: `becket config`");
    }
    for setting in &engine.settings().effective {
        let Origin::Variable(name) = setting.origin else { continue };
        let said = variable(name).unwrap_or_default();
        if !said.starts_with('/') {
            return Err(CommandError::new(format!(
                "the variable {name} is {} here, which is no absolute path, so it would be another home wherever an \
                 agent is started. Set it to an absolute path or unset it",
                text::quote(&said)
            )));
        }
    }
    Ok(())
}

/// What is said of copies that are not removed.
fn kept(target: &Utf8Path) -> String {
    let copies = others::backups(target).filter(|copy| copy.exists());
    let line = |copy: Utf8PathBuf| {
        format!(
            "  A copy from before differs from what is there now, and stays: {}\n",
            text::line(copy.as_str())
        )
    };
    copies.map(line).collect()
}

/// Where the agent is still plugged in, if there was nothing to be taken out here.
fn left(change: &Change, places: &Places) -> Vec<String> {
    if places.is_project || !change.is_nothing() {
        return Vec::new();
    }
    let recorded = places.engine.installs().unwrap_or_default();
    let elsewhere = elsewhere::files(change.host, places, &recorded);
    let told = |path: &Utf8PathBuf| {
        format!("{} is {}", change.host.title(), elsewhere::told(change.host, places, path))
    };
    elsewhere.iter().map(told).collect()
}

/// What a person must know of what was just installed.
fn warnings(change: &Change, places: &Places) -> Vec<String> {
    let host = change.host;
    let after = change.after.as_deref().unwrap_or_default();
    // What stands around the entries may keep the agent from reading them.
    let flaws = install::flaws(host, after.as_bytes(), &places.line);
    let flaws = flaws.into_iter().filter(|flaw| flaw.is_grave);
    let told = |flaw: install::Flaw| {
        let place = flaw.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{place}: {}. Mend that", text::line(change.path.as_str()), flaw.text)
    };
    let mut warnings: Vec<String> = flaws.map(told).collect();
    let other = if places.is_project { Some(places.own_file(host)) } else { places.project_file(host) };
    let elsewhere = other.as_ref().and_then(|other| others::read(other, edit::LIMIT).ok().flatten());
    if let (Some(other), Some(elsewhere)) = (other, elsewhere)
        && install::runs_twice(host, &elsewhere, after.as_bytes())
    {
        let option = if places.is_project { "" } else { " --project" };
        warnings.push(format!(
            "{} is plugged in by {} too: events other than tool calls run every hook twice. Take one of the two out, \
             that one with `becket uninstall{option} {host}`",
            host.title(),
            text::line(other.as_str())
        ));
    }
    warnings
}

/// The agents that were named, each once.
pub(super) fn named(names: &[String]) -> Result<Vec<Host>> {
    let mut hosts = Vec::new();
    for name in names {
        let host = Host::from_str(name).map_err(CommandError::usage)?;
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    Ok(hosts)
}

/// Where agents look, and what the line says.
pub(super) struct Places {
    engine: Engine,
    home: Utf8PathBuf,
    project: Utf8PathBuf,
    /// Where an agent would be started, and above it up to the repository's root, that first.
    levels: Vec<Utf8PathBuf>,
    codex_home: Option<Utf8PathBuf>,
    config: Option<Utf8PathBuf>,
    claude: Option<Utf8PathBuf>,
    gemini: Option<Utf8PathBuf>,
    is_project: bool,
    line: Line,
    /// The names under which this program is found, that of the line first.
    names: Vec<Utf8PathBuf>,
}

/// Of a home of Becket's own, by its variable: where it is, if that must be said in a line. What the settings file says
/// counts wherever the line is called, for it names that file's home.
fn own_home(engine: &Engine, variable: &str) -> Option<Option<String>> {
    let setting = engine.settings().effective.iter().find(|setting| setting.variable == Some(variable))?;
    let is_said = matches!(setting.origin, Origin::Variable(_) | Origin::Option(_));
    Some(is_said.then(|| setting.value.clone()))
}

/// A variable that is set to something.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Places {
    pub(super) fn of(common: &Common, is_project: bool) -> Result<Self> {
        let directory = |name: &str| variable(name).map(Utf8PathBuf::from).filter(|path| path.is_absolute());
        let home = directory("HOME")
            .ok_or_else(|| CommandError::new("HOME is not set to an absolute path").hint("set HOME"))?;
        let engine = engine(common, true)?;
        let set = HOME_VARIABLES.iter().filter_map(|name| {
            let value = match own_home(&engine, name) {
                Some(home) => home?,
                None => directory(name)?.into_string(),
            };
            Some(((*name).to_owned(), value))
        });
        let set = set.collect();
        let project = engine.workspace(common.workspace.as_deref());
        let names = names()?;
        let start = match &common.workspace {
            Some(_) => project.clone(),
            None => super::directory(&[])?,
        };
        Ok(Self {
            engine,
            line: Line { program: names[0].clone(), home: home.clone(), set },
            codex_home: directory("CODEX_HOME"),
            config: directory("XDG_CONFIG_HOME"),
            claude: directory("CLAUDE_CONFIG_DIR"),
            gemini: directory("GEMINI_CLI_HOME"),
            home,
            levels: levels(&start),
            project,
            is_project,
            names,
        })
    }

    /// The person's file, which an agent reads in every project.
    pub(super) fn own_file(&self, host: Host) -> Utf8PathBuf {
        let scope = Scope::User {
            home: &self.home,
            codex_home: self.codex_home.as_deref(),
            config: self.config.as_deref(),
            claude: self.claude.as_deref(),
            gemini: self.gemini.as_deref(),
        };
        install::file(host, scope)
    }

    /// The file that an agent reads in this project alone. There is none where its place is that of the person's own, by
    /// whichever links: what stands there is plugged in once.
    pub(super) fn project_file(&self, host: Host) -> Option<Utf8PathBuf> {
        let path = install::file(host, Scope::Project(&self.project));
        (!is_same_place(&path, &self.own_file(host))).then_some(path)
    }

    /// The file that is meant.
    fn file(&self, host: Host) -> Result<Utf8PathBuf> {
        if !self.is_project {
            let relative = switch::relative_home(host, self.roots());
            return relative.map_or_else(|| Ok(self.own_file(host)), |why| Err(CommandError::new(why)));
        }
        self.project_file(host).ok_or_else(|| CommandError::new(self.no_project_file(host)))
    }

    /// Why there is no file of the project's.
    pub(super) fn no_project_file(&self, host: Host) -> String {
        format!(
            "in {} there is no file of a project's: {} is your own, for every project. Leave --project out",
            text::line(self.project.as_str()),
            text::line(self.own_file(host).as_str())
        )
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Where agents keep what may switch their hooks off.
    pub(super) fn roots(&self) -> Roots<'_> {
        // What is set to nothing is set, too.
        Roots { home: &self.home, levels: &self.levels, variable: &|name| std::env::var(name).ok() }
    }

    /// What `install` would write now if it were called by the name that stands in a file, where that is one of this
    /// program's; a name that only the file knows is none.
    pub(super) fn line_of(&self, programs: &[Utf8PathBuf]) -> Line {
        let known = self.names.iter().find(|name| programs.contains(name));
        Line { program: known.unwrap_or(&self.line.program).clone(), ..self.line.clone() }
    }

    pub(super) fn home(&self) -> &Utf8Path {
        &self.home
    }

    pub(super) fn project(&self) -> &Utf8Path {
        &self.project
    }

    /// Where an agent would be started.
    pub(super) fn here(&self) -> &Utf8Path {
        self.levels.last().unwrap_or(&self.project)
    }

    pub(super) fn codex_config(&self) -> Utf8PathBuf {
        self.codex_home.clone().unwrap_or_else(|| self.home.join(".codex")).join("config.toml")
    }
}

/// Whether two paths lead to the same place, if anything is there or not.
pub(super) fn is_same_place(first: &Utf8Path, second: &Utf8Path) -> bool {
    let target = |path: &Utf8Path| others::target(path).unwrap_or_else(|_| path.to_owned());
    first == second || target(first) == target(second)
}

/// A directory and those above it up to the root of its repository, the uppermost first; without one, it alone.
fn levels(start: &Utf8Path) -> Vec<Utf8PathBuf> {
    let root = start.ancestors().position(|level| std::fs::symlink_metadata(level.join(".git")).is_ok());
    let mut levels: Vec<_> = start.ancestors().take(root.unwrap_or(0) + 1).map(Utf8Path::to_owned).collect();
    levels.reverse();
    levels
}

/// The program by the names under which it is found. The first is what a line says: so it stays the same when a new
/// version takes the program's place behind a link.
fn names() -> Result<Vec<Utf8PathBuf>> {
    let own = std::env::current_exe()
        .map_err(|error| CommandError::new(format!("cannot tell where this program is: {error}")))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut names: Vec<PathBuf> = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("becket"))
        .filter(|candidate| leads_to(candidate, &own))
        .collect();
    names.push(own);
    let name = |path| {
        Utf8PathBuf::from_path_buf(path).map_err(|path| {
            CommandError::new(format!("this program's path is not UTF-8: {}", path.display()))
        })
    };
    names.into_iter().map(name).collect()
}

/// Whether a path leads to a program for everybody, and not only for whoever follows it: `/proc/self/exe` is another
/// for each.
fn leads_to(path: &Path, own: &Path) -> bool {
    let mut at = path.to_owned();
    for _ in 0..40 {
        let (Some(folder), Some(name)) = (at.parent(), at.file_name()) else { return false };
        let Ok(folder) = folder.canonicalize() else { return false };
        if folder.starts_with("/proc") {
            return false;
        }
        at = folder.join(name);
        match std::fs::read_link(&at) {
            Ok(next) => at = folder.join(next),
            Err(_) => return own.canonicalize().is_ok_and(|own| own == at),
        }
    }
    false
}

fn change(host: Host, places: &Places, way: Way) -> Result<Change> {
    let path = places.file(host)?;
    let target = others::target(&path).map_err(CommandError::new)?;
    let before = others::read(&target, edit::LIMIT).map_err(CommandError::new)?;
    let refused =
        |error: install::InstallError| CommandError::new(format!("{}: {error}", text::line(path.as_str())));
    let after = match (way, &before) {
        (Way::In, before) => Some(install::plugged(host, before.as_deref(), &places.line).map_err(refused)?),
        (Way::Out, Some(before)) => install::unplugged(host, before).map_err(refused)?,
        (Way::Out, None) => None,
    };
    let change = Change { host, path, target, before, after };
    if !change.is_nothing() {
        others::check_writable(&change.target).map_err(CommandError::new)?;
    }
    Ok(change)
}

fn apply(places: &Places, change: &Change, way: Way) -> Result<()> {
    let Change { host, path, target, before, after } = change;
    others::sweep(target);
    if way == Way::In {
        // First the record, so that a kill leaves nothing that nobody knows of.
        record(places, change, Some(true), &others::missing_directories(target));
        if let Some(before) = before {
            // The copy is of the file without us: a second install does not write over it with less.
            let without = install::unplugged(*host, before).ok().flatten();
            if !change.is_nothing() && without.as_deref().map(str::as_bytes) == Some(before) {
                keep_copy(target, before)?;
            }
        }
    }
    match (after, before) {
        _ if change.is_nothing() => Ok(()),
        (Some(after), before) => others::replace(target, before.as_deref(), after.as_bytes()),
        (None, Some(before)) => others::remove(target, before),
        (None, None) => Ok(()),
    }
    .map_err(CommandError::new)?;
    if way == Way::Out {
        // A copy that says no more than the file itself has served.
        for backup in others::backups(target) {
            let copy = others::read(&backup, edit::LIMIT).ok().flatten();
            if copy.is_some() && copy.as_deref() == after.as_deref().map(str::as_bytes) {
                others::remove(&backup, &copy.unwrap_or_default()).map_err(CommandError::new)?;
            }
        }
        let installs = places.engine.installs();
        let is_unknown = installs.is_err();
        let installs = installs.unwrap_or_default();
        let known = installs.iter().find(|known| known.host == host.as_str() && known.path == *path);
        if let Some(known) = known {
            others::remove_empty(target, &known.made);
        }
        // A copy that stays says from now on nothing about what is plugged in.
        let copy = others::backups(target).any(|copy| copy.exists());
        if known.is_some() || copy || is_unknown {
            record(places, change, copy.then_some(false), &[]);
        }
    }
    Ok(())
}

/// Notes for `doctor` that the agent is plugged in, or no longer. What guards does not depend on it.
fn record(places: &Places, change: &Change, plugged_in: Option<bool>, made: &[Utf8PathBuf]) {
    let host = change.host.as_str();
    if let Err(error) = places.engine.record_install(host, &change.path, places.is_project, plugged_in, made)
    {
        output::note(&match plugged_in {
            Some(true) => {
                format!("becket: `becket doctor` will not notice if the entries of {host} get lost: {error}")
            }
            // The record still says that it is plugged in, if it says anything.
            _ => format!(
                "becket: `becket doctor` may go on missing the entries of {host}, though they were taken out on purpose: \
                 {error}"
            ),
        });
    }
}

/// Keeps a copy of the file as it was, beside copies that say something else: those are never written over.
fn keep_copy(target: &Utf8Path, before: &[u8]) -> Result<()> {
    for backup in others::backups(target) {
        match others::read(&backup, edit::LIMIT) {
            Ok(Some(copy)) if copy == before => return Ok(()),
            // One that only begins alike was torn when it was written.
            Ok(Some(copy)) if before.starts_with(&copy) => {
                return others::replace(&backup, Some(&copy), before).map_err(CommandError::new);
            }
            Ok(None) => return others::replace(&backup, None, before).map_err(CommandError::new),
            Ok(Some(_)) | Err(_) => {}
        }
    }
    Err(CommandError::new("there are too many copies of this file beside it").hint(format!(
        "look through {}.before-becket* and remove what you do not need",
        text::line(target.as_str())
    )))
}

/// What the agent itself still wants before it runs a hook.
pub(super) fn next_steps(host: Host, is_project: bool) -> &'static str {
    match (host, is_project) {
        (Host::Codex, false) => {
            "  Codex runs it only after you trusted it: start `codex` once and say yes when it asks, or use its /hooks page.\n"
        }
        (Host::Codex, true) => {
            "  Codex runs it only in a project you trust, and after you trusted it: start `codex` there once, or use its /hooks page.\n"
        }
        (Host::Claude, _) => {
            "  Claude Code runs it in folders you have accepted; a running session may need a restart.\n"
        }
        (Host::Gemini, _) => {
            "  Gemini CLI runs it in folders you trust; a running session needs a restart.\n"
        }
        (Host::Opencode, _) => "  opencode loads it when it starts; a running session needs a restart.\n",
    }
}

/// As a page for people.
pub(super) fn list(page: &mut String, mark: &str, what: &str) {
    let _ = writeln!(page, "  {mark} {what}");
}
