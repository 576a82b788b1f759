//! A home with hooks in it, for measuring.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use becket::core::dialect::Name;
use becket::{Custodian, Engine, Options};
use camino::Utf8PathBuf;
use tempfile::TempDir;

/// A temporary home and workspace.
pub(crate) struct Setting {
    _directory: TempDir,
    pub(crate) home: Utf8PathBuf,
    pub(crate) workspace: Utf8PathBuf,
}

impl Setting {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(directory.path().to_owned()).unwrap();
        let setting = Self { home: root.join("home"), workspace: root.join("work"), _directory: directory };
        fs::create_dir_all(setting.home.join(".albedo")).unwrap();
        fs::create_dir_all(setting.workspace.join(".git")).unwrap();
        setting
    }

    /// albedo's global file with these hooks: event, matcher, command.
    pub(crate) fn hooks(self, hooks: &[(&str, &str, &str)]) -> Self {
        let entries: Vec<String> = hooks
            .iter()
            .map(|(event, matcher, command)| {
                format!(r#""{event}":[{{"matcher":"{matcher}","hooks":[{{"type":"command","command":"{command}"}}]}}]"#)
            })
            .collect();
        // Repeated events are written into one list.
        let mut by_event: Vec<(String, Vec<String>)> = Vec::new();
        for ((event, ..), entry) in hooks.iter().zip(entries) {
            let group = entry.split_once(":[").unwrap().1.strip_suffix(']').unwrap().to_owned();
            match by_event.iter_mut().find(|(name, _)| name == event) {
                Some((_, groups)) => groups.push(group),
                None => by_event.push(((*event).to_owned(), vec![group])),
            }
        }
        let events: Vec<String> =
            by_event.iter().map(|(event, groups)| format!(r#""{event}":[{}]"#, groups.join(","))).collect();
        fs::write(self.home.join(".albedo/hooks.json"), format!(r#"{{"hooks":{{{}}}}}"#, events.join(",")))
            .unwrap();
        self
    }

    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("HOME".into(), self.home.as_str().into())]
    }

    pub(crate) fn engine(&self, custodian: Custodian) -> Engine {
        self.engine_of(Vec::new(), custodian)
    }

    /// One that knows only some dialects.
    pub(crate) fn engine_of(&self, dialects: Vec<Name>, custodian: Custodian) -> Engine {
        Engine::open(Options {
            dialects,
            environment: self.environment(),
            directory: self.workspace.clone(),
            custodian,
            forgetful: true,
            ..Options::default()
        })
        .unwrap()
    }

    /// An engine that remembers and records.
    pub(crate) fn lasting_engine(&self) -> Engine {
        Engine::open(Options {
            environment: self.environment(),
            directory: self.workspace.clone(),
            ..Options::default()
        })
        .unwrap()
    }

    /// An envelope in a file, to be given as stdin.
    pub(crate) fn envelope(&self, text: &str) -> Utf8PathBuf {
        let path = self.home.join("envelope.json");
        File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        path
    }

    /// The line that is installed in Codex, from its start to its end. It takes its homes from itself, and the workspace
    /// from where this process stands: a directory or an environment of its own would make the standard library start it
    /// the slower of two ways.
    pub(crate) fn hook(&self, envelope: &Utf8PathBuf) {
        let mut command = Command::new(program());
        let home = self.home.as_str();
        command.args(["hook", "codex", "--home", home, "--deadline", "630", "--event", "PreToolUse"]);
        command.stdin(File::open(envelope).unwrap()).stdout(Stdio::null());
        assert!(command.status().unwrap().success());
    }

    /// Makes the workspace the directory in which this process stands.
    pub(crate) fn enter(&self) {
        std::env::set_current_dir(&self.workspace).unwrap();
    }
}

/// The program as an installation leaves it: copied. The linker writes its file piece by piece, and the system then needs
/// twice as many steps to bring it into memory.
fn program() -> &'static Utf8PathBuf {
    static PROGRAM: OnceLock<(TempDir, Utf8PathBuf)> = OnceLock::new();
    let (_, path) = PROGRAM.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(directory.path().join("becket")).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_becket"), &path).unwrap();
        (directory, path)
    });
    path
}

/// Begins anew without the variable by which `cargo` makes every dynamic program, and so the floors, slower.
pub(crate) fn leave_library_path() {
    const VARIABLE: &str = "LD_LIBRARY_PATH";
    if std::env::var_os(VARIABLE).is_some() {
        let mut anew = Command::new(std::env::current_exe().unwrap());
        let error = anew.args(std::env::args_os().skip(1)).env_remove(VARIABLE).exec();
        panic!("cannot begin anew: {error}");
    }
}

/// The floor: a process started and waited for.
pub(crate) fn bare(program: impl AsRef<Path>, arguments: &[&str]) {
    let mut command = Command::new(program.as_ref());
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().unwrap().success());
}

/// A tool call as an agent sends it.
pub(crate) const CALL: &str = r#"{"hook_event_name":"PreToolUse","session_id":"bench","tool_name":"Bash","tool_input":{"command":"cargo test"}}"#;
