//! The command line.

mod installed;

use camino::Utf8PathBuf;
use clap::{Args, Parser, Subcommand, ValueEnum};

use becket::core::dialect::Name;
use becket::core::scope::Mode;

/// One engine for the lifecycle hooks of coding agents.
#[derive(Debug, Parser)]
#[cfg_attr(test, derive(PartialEq))]
#[command(name = "becket", version, about, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,

    /// Where and with what to do it.
    #[command(flatten)]
    pub(crate) common: Common,
}

impl Cli {
    /// The process's own arguments.
    ///
    /// # Errors
    /// They are none of Becket's, or they ask for help.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        installed::read(std::env::args_os().skip(1)).map_or_else(Self::try_parse, Ok)
    }
}

/// A path that is named: an empty one, as a script's unset variable gives it, names nothing.
fn path(text: &str) -> Result<Utf8PathBuf, String> {
    if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(text.into()) }
}

/// Options of every verb.
#[derive(Debug, Default, Args)]
#[cfg_attr(test, derive(PartialEq))]
#[command(next_help_heading = "Options of every verb")]
pub(crate) struct Common {
    /// The workspace [default: the session's, else the nearest directory above with hooks or .git]
    #[arg(long, global = true, value_name = "DIR", value_parser = path)]
    pub(crate) workspace: Option<Utf8PathBuf>,

    /// Only this dialect; may be given several times
    #[arg(long = "dialect", global = true, value_name = "NAME")]
    pub(crate) dialects: Vec<Dialect>,

    /// ShadowCode's profile directory
    #[arg(long, global = true, value_name = "DIR", value_parser = path)]
    pub(crate) profile: Option<Utf8PathBuf>,

    /// The settings file [default: becket/config.toml in the XDG configuration directory]
    #[arg(long, global = true, value_name = "FILE", value_parser = path)]
    pub(crate) config: Option<Utf8PathBuf>,

    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) enum Verb {
    /// Fire one event: read its envelope on stdin, run the hooks, print the outcome as JSON
    #[command(
        after_help = "Exit codes: 0 go on, 2 blocked, 3 a person must be asked, 1 nothing could be judged.\n\n\
        Example:\n  echo '{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"git push\"}}' | becket fire"
    )]
    Fire(Fire),

    /// Fire recorded events, one envelope a line, and print what each met
    #[command(after_help = "Hooks really run. Nothing is remembered or recorded.\n\n\
        Example:\n  becket replay session.jsonl --workspace ~/shop")]
    Replay {
        /// The recorded events; - for stdin
        file: Utf8PathBuf,
    },

    /// List every source of hooks with its standing, and every hook
    #[command(after_help = "Example:\n  becket list --json")]
    List,

    /// Let a source of hooks run, with exactly the content it has now
    #[command(after_help = "Example:\n  becket approve ~/.albedo/workspaces/-home-dev-shop/hooks.json")]
    Approve(Answer),

    /// Keep a source of hooks from running, and do not ask again until it changes
    #[command(after_help = "Example:\n  becket decline .celeste/hooks.json")]
    Decline(Answer),

    /// Take earlier answers about a source back
    #[command(after_help = "Example:\n  becket forget .celeste/hooks.json")]
    Forget(Answer),

    /// Plug becket into agents, so that every hook guards them
    #[command(
        after_help = "The agent's own file is changed as little as can be: comments and order stay, a copy of it \
        is kept beside it until `uninstall`.\n\nExample:\n  becket install codex gemini opencode claude --dry-run"
    )]
    Install(Install),

    /// Take out of agents what `install` put in, and nothing else
    #[command(after_help = "Example:\n  becket uninstall codex")]
    Uninstall(Install),

    /// What becomes of each answer in each agent
    #[command(after_help = "Example:\n  becket hosts --json")]
    Hosts,

    /// Prove that agents obey: version, entries, trust, and a call that must be denied
    #[command(after_help = "Exit code 1 if anything is wrong.\n\nExample:\n  becket doctor codex")]
    Doctor {
        /// Only these agents [default: all that are installed]
        hosts: Vec<String>,

        /// Look at the project's files too
        #[arg(long)]
        project: bool,
    },

    /// Answer an agent's event; called by the line that `install` writes
    #[command(after_help = "Example:\n  becket hook codex --home /home/dev --deadline 630 < event.json")]
    Hook(Hook),

    /// Trust a whole project, where a dialect asks for that: ShadowCode
    #[command(
        after_help = "ShadowCode's hooks need both: a trusted project, and each definition approved.\n\n\
        Example:\n  becket trust ~/shop"
    )]
    Trust(Project),

    /// Take the trust in a project back
    #[command(after_help = "Example:\n  becket untrust ~/shop")]
    Untrust(Project),

    /// Print ShadowCode's catalog of the workspace's hooks, as ShadowCode prints it
    #[command(after_help = "Example:\n  becket catalog --workspace ~/shop")]
    Catalog,

    /// Hook definitions that ShadowCode's plugins bring
    #[command(
        subcommand,
        after_help = "Example:\n  becket bundle add python-expert.json\n  becket bundle remove python-expert"
    )]
    Bundle(Bundle),

    /// Print every setting in force, and what set it
    #[command(after_help = "Example:\n  becket config --json")]
    Config,
}

/// Options of `fire`.
#[derive(Debug, Args)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) struct Fire {
    /// The event [default: the envelope's `hook_event_name`]
    pub(crate) event: Option<String>,

    /// The session [default: the envelope's `session_id`]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,

    /// Which work the agent is at [default: from the envelope's `permission_mode`]
    #[arg(long)]
    pub(crate) mode: Option<WorkMode>,
}

/// Options of `install` and `uninstall`.
#[derive(Debug, Args)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) struct Install {
    /// claude, codex, gemini or opencode
    #[arg(required = true)]
    pub(crate) hosts: Vec<String>,

    /// For this project only, not for all of yours
    #[arg(long)]
    pub(crate) project: bool,

    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `hook`: what the installed line says.
#[derive(Debug, Args)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) struct Hook {
    /// The agent
    pub(crate) host: String,

    /// Your home directory; never taken from the environment, which a repository's settings can fill
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<Utf8PathBuf>,

    /// A home that is elsewhere, as the variable that moves it
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,

    /// Seconds within which the agent must have its answer
    #[arg(long, value_name = "SECONDS")]
    pub(crate) deadline: Option<u64>,

    /// The event this line stands under
    #[arg(long, value_name = "EVENT")]
    pub(crate) event: Option<String>,
}

/// Options of the verbs that answer.
#[derive(Debug, Args)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) struct Answer {
    /// The source, as `becket list` shows it
    pub(crate) path: String,

    /// The hash that `becket list` shows; refused if the content is no longer that
    #[arg(long, value_name = "HASH")]
    pub(crate) hash: Option<String>,
}

/// A project.
#[derive(Debug, Args)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) struct Project {
    /// Its directory [default: the workspace]
    #[arg(value_parser = path)]
    pub(crate) directory: Option<Utf8PathBuf>,
}

/// What can be done with bundles.
#[derive(Debug, Subcommand)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) enum Bundle {
    /// Install a bundle's hook definitions into the project, disabled
    #[command(after_help = "Example:\n  becket bundle add python-expert.json")]
    Add {
        /// The bundle (shadowcode-plugin-v1)
        file: Utf8PathBuf,
    },
    /// Remove a plugin's hook definitions, except those that somebody edited
    #[command(after_help = "Example:\n  becket bundle remove python-expert")]
    Remove {
        /// The plugin
        name: String,
    },
}

/// A dialect on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) enum Dialect {
    Albedo,
    Celeste,
    Shadowcode,
}

impl From<Dialect> for Name {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Albedo => Self::Albedo,
            Dialect::Celeste => Self::Celeste,
            Dialect::Shadowcode => Self::Shadowcode,
        }
    }
}

/// A mode on the command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) enum WorkMode {
    Build,
    Plan,
    Review,
}

impl From<WorkMode> for Mode {
    fn from(mode: WorkMode) -> Self {
        match mode {
            WorkMode::Build => Self::Build,
            WorkMode::Plan => Self::Plan,
            WorkMode::Review => Self::Review,
        }
    }
}
