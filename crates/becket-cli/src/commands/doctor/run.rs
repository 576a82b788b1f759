//! Other programs: found without the help of where one stands, started without a shell, and ended in time with all that
//! they started.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use becket_exec::{Batch, Cancel, Custody, End, Ended, Enough, Job, Keep, Keeper, Limits, Overflow};
use becket_hosts::answer::Words;

/// Largest output that is read, in bytes.
const LARGEST: usize = 4 << 20;

/// How long a program may take over its end once it is asked to.
const GRACE: Duration = Duration::from_millis(300);

/// How long a pipe is read that a program left to others.
const LINGER: Duration = Duration::from_millis(300);

/// What starts programs.
pub(super) struct Runner {
    custody: Custody,
    cancel: Cancel,
    path: Vec<PathBuf>,
    environment: Vec<(OsString, OsString)>,
}

/// One program to start.
pub(super) struct Start<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: Vec<OsString>,
    pub(super) directory: &'a Path,
    pub(super) stdin: Vec<u8>,
    pub(super) most: Duration,
    /// When enough is said by one that would go on.
    pub(super) enough: Option<fn(&[u8]) -> bool>,
}

impl Runner {
    pub(super) fn new() -> std::io::Result<Self> {
        // A relative entry would be looked up where the doctor was started, in a directory that others filled.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
        let mut environment: Vec<(OsString, OsString)> = std::env::vars_os()
            .filter(|(name, _)| name != "PATH" && name != "PWD" && name != "OLDPWD")
            .collect();
        let joined = std::env::join_paths(&path).unwrap_or_default();
        // Without one, a program would look where it stands.
        environment.push(("PATH".into(), if joined.is_empty() { "/usr/bin:/bin".into() } else { joined }));
        // Forked before anything starts a thread; groups alone miss what leaves them.
        let custody = Keeper::fork().map_or(Custody::Group, Custody::Keeper);
        Ok(Self { custody, cancel: Cancel::new()?, path, environment })
    }

    /// The program that a name stands for.
    pub(super) fn locate(&self, name: &str) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| {
            std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        };
        self.path.iter().map(|folder| folder.join(name)).find(is_program)
    }

    /// Runs one to its end, for so long at most. Nothing of it is left.
    pub(super) fn run(&mut self, start: Start<'_>) -> Ended {
        let keep = Keep { head: LARGEST, tail: 0, overflow: Overflow::Drain };
        let job = Job {
            program: start.program.into(),
            args: start.arguments,
            dir: start.directory.into(),
            env: self.environment.clone(),
            stdin: start.stdin.into(),
            enough: start.enough.map(Enough),
            limits: Limits {
                timeout: start.most,
                grace: GRACE,
                linger: LINGER,
                stdout: keep,
                stderr: keep,
                end_everything: true,
            },
        };
        let deadline = Instant::now().checked_add(start.most);
        let batch = Batch { at_once: 1, deadline, cancel: &self.cancel };
        let mut ends = becket_exec::run(&mut self.custody, &[job], &batch, |_, _| {});
        ends.remove(0)
    }
}

/// What a program said that ended by itself.
pub(super) fn words(ended: Ended) -> Result<Words, String> {
    let exit = match ended.end {
        End::Exited(code) => u8::try_from(code).unwrap_or(u8::MAX),
        End::Signalled(signal) => return Err(format!("it was ended by signal {signal}")),
        End::TimedOut | End::NoTime => return Err("it did not end in time".to_owned()),
        End::NotStarted(why) => return Err(why.to_string()),
        _ => return Err("how it ended cannot be told".to_owned()),
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Words {
        stdout: text(ended.stdout.into_bytes()),
        stderr: text(ended.stderr.into_bytes()),
        exit,
        exit_unheard: exit,
    })
}
