//! The agents, fetched once into the target directory.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, thread};

use crate::{Error, Host, bounded};

/// What is fetched: a directory's name, its manifest and its lock file.
const SETS: [(&str, &str, &str); 2] = [
    ("agents", include_str!("../npm/agents/package.json"), include_str!("../npm/agents/package-lock.json")),
    // opencode fetches this for itself, for every home that has a plugin, unless it is there.
    (
        "opencode-plugin",
        include_str!("../npm/opencode-plugin/package.json"),
        include_str!("../npm/opencode-plugin/package-lock.json"),
    ),
];
/// Written last: the lock file that was fetched.
const STAMP: &str = "fetched.json";
const TRIES: u32 = 4;
const EACH_TRY: Duration = Duration::from_secs(300);

/// The fetched agents.
#[derive(Debug)]
pub struct Agents {
    root: PathBuf,
}

/// Why an agent cannot be had.
#[derive(Debug, Clone)]
pub struct Unavailable(pub String);

impl Agents {
    /// Fetches what is not there yet: about 800 MB, once, under the target directory.
    ///
    /// # Errors
    /// npm is missing or reaches no registry.
    pub fn fetch() -> Result<Self, Unavailable> {
        let root = target_directory().join("agents");
        for (name, manifest, lock) in SETS {
            fetch_into(&root.join(name), manifest, lock)
                .map_err(|error| Unavailable(format!("the agents could not be fetched: {error}")))?;
        }
        Ok(Self { root })
    }

    /// The packages that an opencode plugin may import, with their manifest and lock file.
    pub(crate) fn plugin_packages(&self) -> PathBuf {
        self.root.join("opencode-plugin")
    }

    /// The program of one agent.
    ///
    /// # Errors
    /// Its package has none for this machine.
    pub fn program(&self, host: Host) -> Result<PathBuf, Unavailable> {
        if host == Host::Gemini {
            needs_node().map_err(|error| Unavailable(error.to_string()))?;
        }
        let paths = host.program_paths().iter().map(|path| self.root.join("agents/node_modules").join(path));
        paths
            .into_iter()
            .find(|path| path.is_file())
            .ok_or_else(|| Unavailable(format!("{} has no program for this machine", host.name())))
    }
}

/// Gemini CLI's own requirement.
const NODE: u32 = 20;

fn needs_node() -> Result<(), Error> {
    let asked = Command::new("node").arg("--version").output().map_err(|error| format!("node: {error}"))?;
    let version = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    let major: u32 =
        version.trim_start_matches('v').split('.').next().unwrap_or_default().parse().unwrap_or(0);
    if major >= NODE {
        Ok(())
    } else {
        Err(format!("it needs node {NODE} or later, and there is {version:?}").into())
    }
}

/// Where cargo puts what it builds.
pub(crate) fn target_directory() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => directory.into(),
        None => workspace_directory().join("target"),
    }
}

pub(crate) fn workspace_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fetch_into(root: &Path, manifest: &str, lock: &str) -> Result<(), Error> {
    fs::create_dir_all(root)?;
    let guard = File::create(root.join("lock"))?;
    guard.lock()?;
    if fs::read_to_string(root.join(STAMP)).is_ok_and(|fetched| fetched == lock) {
        return Ok(());
    }
    fs::write(root.join("package.json"), manifest)?;
    fs::write(root.join("package-lock.json"), lock)?;
    // It takes a while, and whoever waits should know for what.
    let _ = writeln!(io::stderr(), "fetching the pinned agents into {}, once", root.display());
    let tries = if must_be_had() { TRIES } else { 1 };
    let mut tried = 0;
    while let Err(error) = npm(root) {
        tried += 1;
        if tried == tries {
            return Err(error);
        }
        thread::sleep(Duration::from_secs(5 * u64::from(tried)));
    }
    Ok(fs::write(root.join(STAMP), lock)?)
}

fn first_lines(text: &str) -> String {
    text.lines().take(3).map(str::trim).collect::<Vec<_>>().join("; ")
}

/// Whether an agent that cannot be had is a failure: where `CI` is `true`.
pub fn must_be_had() -> bool {
    env::var("CI").is_ok_and(|value| value == "true")
}

/// Install scripts are not needed, and so are not run.
fn npm(root: &Path) -> Result<(), Error> {
    let mut command = Command::new("npm");
    command
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retry-mintimeout=2000"])
        .current_dir(root)
        .stdin(Stdio::null());
    let ran = bounded::run(&mut command, root, "npm", EACH_TRY).map_err(|error| format!("npm: {error}"))?;
    if ran.code == Some(0) { Ok(()) } else { Err(format!("npm ci: {}", first_lines(&ran.stderr)).into()) }
}
