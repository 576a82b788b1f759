//! What all tests need: jobs, custodies, and looking at what is alive.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use becket_exec::{Batch, Cancel, Custody, Ended, Job, Keep, Keeper, Limits, Overflow, run};

pub(crate) const KEEP: Keep = Keep { head: 64 * 1024, tail: 0, overflow: Overflow::Drain };

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn limits() -> Limits {
    Limits {
        timeout: Duration::from_secs(20),
        grace: ms(200),
        linger: ms(300),
        stdout: KEEP,
        stderr: KEEP,
        end_everything: false,
    }
}

pub(crate) fn program(program: &str, args: &[&str]) -> Job {
    Job {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        dir: "/".into(),
        env: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or("/usr/bin:/bin".into()))],
        stdin: Arc::default(),
        enough: None,
        limits: limits(),
    }
}

pub(crate) fn sh(script: &str) -> Job {
    program("/bin/sh", &["-c", script])
}

pub(crate) trait With: Sized {
    fn timeout(self, timeout: Duration) -> Self;
    fn stdin(self, bytes: impl Into<Vec<u8>>) -> Self;
}

impl With for Job {
    fn timeout(mut self, timeout: Duration) -> Self {
        self.limits.timeout = timeout;
        self
    }

    fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Arc::new(bytes.into());
        self
    }
}

pub(crate) fn myself() -> PathBuf {
    std::env::current_exe().unwrap()
}

pub(crate) fn keeper() -> Custody {
    Custody::Keeper(Keeper::spawn(&myself(), &["role:keeper".into()]).unwrap())
}

/// Both custodies, for what both promise.
pub(crate) fn each_custody(test: impl Fn(&mut Custody)) {
    test(&mut Custody::Group);
    test(&mut keeper());
}

pub(crate) fn run_all(custody: &mut Custody, jobs: &[Job]) -> Vec<Ended> {
    run_with(custody, jobs, &Cancel::new().unwrap())
}

pub(crate) fn run_with(custody: &mut Custody, jobs: &[Job], cancel: &Cancel) -> Vec<Ended> {
    run(custody, jobs, &Batch { at_once: 16, deadline: None, cancel }, |_, _| {})
}

pub(crate) fn run_one(custody: &mut Custody, job: Job) -> Ended {
    run_all(custody, &[job]).pop().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A number of seconds to sleep that no other process sleeps, so that its sleepers can be told. What a failed test left of
/// them is ended.
pub(crate) struct Token(String);

pub(crate) fn token() -> Token {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    Token(format!("7{:07}.{:04}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
}

impl std::ops::Deref for Token {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(std::process::Command::new("pkill").args(["-KILL", "-f", &self.0]).status());
        }
    }
}

/// How many living processes have this in their arguments. (Those of a zombie are gone.)
pub(crate) fn alive(token: &str) -> usize {
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            let args = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            args.windows(token.len()).any(|part| part == token.as_bytes())
        })
        .count()
}

/// Waits for what is bound to come; fails after ten seconds.
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < end, "never happened: {what}");
        std::thread::sleep(ms(2));
    }
}

/// That all of them go: killed ones may take a moment to be gone.
pub(crate) fn assert_gone(token: &str) {
    until("all survivors gone", || alive(token) == 0);
}

/// Ends what a test left running on purpose.
pub(crate) fn kill_all(token: &str) {
    let _ = std::process::Command::new("pkill").args(["-KILL", "-f", token]).status();
    assert_gone(token);
}

pub(crate) fn lines(path: &Path) -> usize {
    fs::read_to_string(path).unwrap_or_default().lines().count()
}
