//! The verbs, one file each.

mod answer;
mod bundle;
mod catalog;
mod config;
mod doctor;
mod elsewhere;
mod fire;
mod hook;
mod hosts;
mod install;
mod list;
mod replay;
mod trust;

use crate::exit::ExitCode;
use std::ffi::OsString;
use std::path::PathBuf;

use becket::core::dialect;
use becket::{AnswerError, Custodian, Engine, Options};
use camino::Utf8PathBuf;

use crate::args::{Cli, Common, Verb};
use crate::output::CommandError;

pub(crate) use hook::tells as hook_tells;

/// What a verb comes to.
pub(crate) type Result<T = ExitCode> = std::result::Result<T, CommandError>;

/// Runs the verb that was asked for.
pub(crate) fn run(cli: &Cli) -> Result {
    let common = &cli.common;
    if is_for_people(&cli.verb) && becket::is_below_itself() {
        return Err(inside_a_hook());
    }
    match &cli.verb {
        Verb::Fire(options) => fire::run(common, options),
        Verb::Replay { file } => replay::run(common, file),
        Verb::List => list::run(common),
        Verb::Approve(options) => answer::run(common, options, dialect::Answer::Approve),
        Verb::Decline(options) => answer::run(common, options, dialect::Answer::Decline),
        Verb::Forget(options) => answer::run(common, options, dialect::Answer::Forget),
        Verb::Install(options) => install::run(common, options, install::Way::In),
        Verb::Uninstall(options) => install::run(common, options, install::Way::Out),
        Verb::Hosts => hosts::run(common),
        Verb::Doctor { hosts, project } => doctor::run(common, hosts, *project),
        Verb::Hook(options) => hook::run(common, options),
        Verb::Trust(project) => trust::run(common, project, dialect::Answer::Approve),
        Verb::Untrust(project) => trust::run(common, project, dialect::Answer::Forget),
        Verb::Catalog => catalog::run(common),
        Verb::Bundle(what) => bundle::run(common, what),
        Verb::Config => config::run(common),
    }
}

/// Whether a verb answers for a person or changes what guards, which no hook may do.
fn is_for_people(verb: &Verb) -> bool {
    match verb {
        Verb::Approve(_)
        | Verb::Decline(_)
        | Verb::Forget(_)
        | Verb::Trust(_)
        | Verb::Untrust(_)
        | Verb::Bundle(_) => true,
        Verb::Install(options) | Verb::Uninstall(options) => !options.dry_run,
        Verb::Fire(_)
        | Verb::Replay { .. }
        | Verb::List
        | Verb::Hosts
        | Verb::Doctor { .. }
        | Verb::Hook(_)
        | Verb::Catalog
        | Verb::Config => false,
    }
}

/// What a hook is told that tries.
fn inside_a_hook() -> CommandError {
    CommandError::new(AnswerError::InsideAHook)
        .hint("nothing was changed; whoever wants it runs it outside of the agent")
}

/// An engine as the options of every verb describe it.
fn engine(common: &Common, forgetful: bool) -> Result<Engine> {
    engine_in(common, std::env::vars_os().collect(), forgetful)
}

/// An engine in an environment of one's own.
fn engine_in(common: &Common, environment: Vec<(OsString, OsString)>, forgetful: bool) -> Result<Engine> {
    Engine::open(Options {
        config: common.config.clone(),
        dialects: common.dialects.iter().map(|dialect| (*dialect).into()).collect(),
        profile: common.profile.clone(),
        directory: directory(&environment)?,
        environment,
        custodian: Custodian::Fork,
        forgetful,
    })
    .map_err(CommandError::new)
}

/// Where the process stands; if that is gone, where it stood.
fn directory(environment: &[(OsString, OsString)]) -> Result<Utf8PathBuf> {
    let said = || environment.iter().find(|(name, _)| name == "PWD").map(|(_, value)| value.clone().into());
    let directory = std::env::current_dir().ok().or_else(deleted_directory).or_else(said);
    let directory = directory.ok_or_else(|| CommandError::new("the current directory is gone"))?;
    Utf8PathBuf::from_path_buf(directory).map_err(|path| {
        CommandError::new(format!("the path of the current directory is not UTF-8: {}", path.display()))
    })
}

/// The kernel still knows a deleted directory's path, and marks it as deleted.
fn deleted_directory() -> Option<PathBuf> {
    let told = std::fs::read_link("/proc/self/cwd").ok()?;
    told.to_str()?.strip_suffix(" (deleted)").map(PathBuf::from)
}
