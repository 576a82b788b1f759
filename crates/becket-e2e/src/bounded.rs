//! Processes that end.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

const LOOK: Duration = Duration::from_millis(5);
const LOOK_AT_MEMORY: Duration = Duration::from_millis(100);

/// What a process did.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Its exit code; `None` after a signal.
    pub code: Option<i32>,
    /// The time was up, and it was ended.
    pub cut: bool,
    /// What it wrote.
    pub stdout: String,
    /// What it wrote.
    pub stderr: String,
    /// From start to end.
    pub took: Duration,
    /// The most memory it held, in MiB, without its children; looked at ten times a second.
    pub peak_mib: u64,
}

/// Runs a command in a process group of its own, for so long at most. Its output goes into files in `directory`, so that
/// a child that holds on to it is not waited for.
///
/// # Errors
/// It cannot be started.
pub fn run(command: &mut Command, directory: &Path, name: &str, longest: Duration) -> io::Result<Ran> {
    let [out, err] = ["stdout", "stderr"].map(|stream| directory.join(format!("{name}.{stream}")));
    command.stdout(File::create(&out)?).stderr(File::create(&err)?).process_group(0);
    let start = Instant::now();
    let mut child = command.spawn()?;
    let mut peak = 0;
    let ended = wait(&mut child, start + longest, &mut peak)?;
    let took = start.elapsed();
    // What is left of its group goes with it, before its number can be another's.
    if let Some(group) = Pid::from_raw(child.id().cast_signed())
        && ended.is_none()
    {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = match ended {
        Some(status) => status,
        None => child.wait()?,
    };
    let read = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ran {
        code: status.code(),
        cut: ended.is_none(),
        stdout: read(&out)?,
        stderr: read(&err)?,
        took,
        peak_mib: peak / 1024,
    })
}

/// A process that runs until this is dropped; then its whole group is ended.
#[derive(Debug)]
pub struct Served {
    child: Child,
}

/// Starts a command in a process group of its own, with its output in a file.
///
/// # Errors
/// It cannot be started.
pub fn serve(command: &mut Command, output: &Path) -> io::Result<Served> {
    let file = File::create(output)?;
    command.stderr(file.try_clone()?).stdout(file).process_group(0);
    Ok(Served { child: command.spawn()? })
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Looks until something is so, or for so long; whether it was.
pub fn until(longest: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + longest;
    while !is_so() {
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

fn wait(child: &mut Child, until: Instant, peak: &mut u64) -> io::Result<Option<ExitStatus>> {
    let mut next = Instant::now();
    loop {
        if Instant::now() >= next {
            *peak = high_water(child.id()).max(*peak);
            next += LOOK_AT_MEMORY;
        }
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// In KiB; 0 when it is not known.
fn high_water(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    value.and_then(|value| value.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// The processes whose command line or environment holds these words; without this one.
pub fn left(words: &str) -> Vec<Pid> {
    let own = rustix::process::getpid();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let holds = |pid: &Pid| {
        let number = pid.as_raw_nonzero();
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = fs::read(format!("/proc/{number}/{file}")).unwrap_or_default();
            bytes.windows(words.len()).any(|window| window == words.as_bytes())
        })
    };
    numbers.filter_map(Pid::from_raw).filter(|pid| *pid != own).filter(holds).collect()
}

/// Ends them all.
pub(crate) fn end(words: &str) {
    for _ in 0..3 {
        let pids = left(words);
        if pids.is_empty() {
            return;
        }
        for pid in pids {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(LOOK);
    }
}
