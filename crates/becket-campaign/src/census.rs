//! Who is there: processes by their ancestors and by the words they carry, and what a process holds.

use std::fs;
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(2);

/// A process, as `/proc` tells of it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) pid: Pid,
    parent: i32,
    /// All of it has ended, and nobody has asked how.
    pub(crate) is_zombie: bool,
}

impl Seen {
    fn of(pid: Pid) -> Option<Self> {
        let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        // The name in parentheses may hold anything.
        let stat = String::from_utf8_lossy(&stat);
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        // One whose first thread alone has ended looks like a zombie, too.
        let is_zombie = matches!(*fields.first()?, "Z" | "X") && matches!(*fields.get(17)?, "0" | "1");
        Some(Self { pid, parent: fields.get(1)?.parse().ok()?, is_zombie })
    }

    pub(crate) fn is_child_of(&self, parent: Pid) -> bool {
        self.parent == parent.as_raw_nonzero().get()
    }

    /// Its command line, for a person who looks into a fault.
    pub(crate) fn words(&self) -> String {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid.as_raw_nonzero())).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        format!("{} (parent {}) {}", self.pid.as_raw_nonzero(), self.parent, line.trim_end())
    }
}

fn everybody() -> Vec<Seen> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).filter_map(Seen::of).collect()
}

/// Everything whose ancestor this process is, alive or not yet asked about. Orphans come to the nearest ancestor that
/// reaps for those below it, so a process that does finds them too, whatever they did to their names and environment.
pub(crate) fn below(root: Pid) -> Vec<Seen> {
    let all = everybody();
    let mut found: Vec<Seen> = Vec::new();
    let mut parents = vec![root.as_raw_nonzero().get()];
    while let Some(parent) = parents.pop() {
        for seen in all.iter().filter(|seen| seen.parent == parent) {
            if found.iter().all(|known| known.pid != seen.pid) {
                parents.push(seen.pid.as_raw_nonzero().get());
                found.push(seen.clone());
            }
        }
    }
    found
}

/// Children of a process.
pub(crate) fn children(parent: Pid) -> Vec<Pid> {
    let number = parent.as_raw_nonzero();
    let list = fs::read_to_string(format!("/proc/{number}/task/{number}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// Everything alive whose command line or environment holds these words, save this process.
pub(crate) fn carrying(words: &str) -> Vec<Seen> {
    let holds = |seen: &Seen| {
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = fs::read(format!("/proc/{}/{file}", seen.pid.as_raw_nonzero())).unwrap_or_default();
            bytes.windows(words.len()).any(|window| window == words.as_bytes())
        })
    };
    everybody().into_iter().filter(|seen| seen.pid != getpid() && !seen.is_zombie && holds(seen)).collect()
}

/// Makes this process the one that orphans below it come to.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(getpid()))?)
}

/// Asks about orphans that have ended, as the system's first process would. `own` are asked about elsewhere.
pub(crate) fn bury_orphans(own: &[Pid]) {
    for child in children(getpid()) {
        if !own.contains(&child) && Seen::of(child).is_some_and(|seen| seen.is_zombie) {
            let _ = waitid(WaitId::Pid(child), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
}

/// What is left below this process, save `own` and what is below those, once it had so long to go.
pub(crate) fn left(own: &[Pid], longest: Duration) -> Vec<Seen> {
    let until = Instant::now() + longest;
    loop {
        bury_orphans(own);
        let mut left = below(getpid());
        let spared: Vec<Pid> = own.iter().flat_map(|pid| below(*pid)).map(|seen| seen.pid).collect();
        left.retain(|seen| !own.contains(&seen.pid) && !spared.contains(&seen.pid));
        if left.is_empty() || Instant::now() > until {
            return left;
        }
        thread::sleep(LOOK);
    }
}

/// Ends processes that were left. They are all below this process, which keeps their numbers theirs.
pub(crate) fn end(left: &[Seen], own: &[Pid]) {
    for seen in left {
        let _ = kill_process(seen.pid, Signal::KILL);
    }
    let until = Instant::now() + Duration::from_secs(5);
    let is_there = |seen: &Seen| Seen::of(seen.pid).is_some_and(|now| now.parent == seen.parent);
    while left.iter().any(is_there) && Instant::now() < until {
        bury_orphans(own);
        thread::sleep(LOOK);
    }
}

/// What a process holds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Holdings {
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
    /// Resident memory.
    pub(crate) kib: u64,
}

impl Holdings {
    pub(crate) fn of(pid: Pid) -> Self {
        let number = pid.as_raw_nonzero();
        let status = fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().trim_end_matches(" kB").parse().ok()
        };
        let count =
            |folder: &str| fs::read_dir(format!("/proc/{number}/{folder}")).map_or(0, |dir| dir.count());
        Self {
            descriptors: count("fd") as u64,
            threads: count("task") as u64,
            kib: field("VmRSS:").unwrap_or(0),
        }
    }
}
