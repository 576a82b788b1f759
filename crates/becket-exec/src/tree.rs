//! Finding and killing processes below another one, without ever signalling a recycled number.
//!
//! A number read from `/proc` may be somebody else's a moment later. So each process is pinned by a
//! pidfd first and *then* shown to be where it was said to be, while its parent, pinned before it, is
//! still there: if the number had changed hands before the pidfd was opened, the check sees the new
//! owner; if after, the pidfd still names the old one, and signalling that does nothing.

use std::collections::HashSet;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::mark::Mark;
use crate::sys;

/// One process, pinned.
pub(crate) struct Node {
    pub(crate) pid: Pid,
    pub(crate) fd: OwnedFd,
}

impl Node {
    /// Whether it may be signalled at all; that it is gone already is no refusal.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        pidfd_send_signal(&self.fd, signal) != Err(Errno::PERM)
    }
}

/// What `/proc/PID/stat` says of a process.
struct Stat {
    zombie: bool,
    parent: i32,
}

fn stat(pid: Pid) -> Option<Stat> {
    let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name stands in parentheses and may itself hold any of these.
    let after = text.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = text.get(after..)?.split(|byte| *byte == b' ').skip(1);
    let zombie = matches!(fields.next()?, b"Z" | b"X");
    Some(Stat { zombie, parent: number(fields.next()?)? })
}

fn number(text: &[u8]) -> Option<i32> {
    str::from_utf8(text).ok()?.trim().parse().ok()
}

/// The numbers that are said to be children of `parent`.
fn children(parent: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let tasks = fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero()));
    for task in tasks.into_iter().flatten().flatten() {
        match fs::read(task.path().join("children")) {
            Ok(text) => found.extend(text.split(|byte| *byte == b' ').filter_map(number)),
            // A kernel without these lists: every process says who its parent is.
            Err(_) if !fs::exists("/proc/thread-self/children").unwrap_or(true) => {
                return everybody()
                    .filter(|pid| stat(*pid).is_some_and(|s| s.parent == parent.as_raw_nonzero().get()))
                    .collect();
            }
            Err(_) => {}
        }
    }
    found.into_iter().filter_map(Pid::from_raw).collect()
}

fn everybody() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(Pid::from_raw)
}

/// Whether the process carries one of the marks in its environment.
pub(crate) fn carries(pid: Pid, marks: &[Mark]) -> bool {
    if marks.is_empty() {
        return false;
    }
    let Ok(environ) = fs::read(file_of(pid, "environ")) else { return false };
    names_one(&environ, marks)
}

fn names_one(environ: &[u8], marks: &[Mark]) -> bool {
    let assignments: Vec<String> = marks.iter().map(Mark::assignment).collect();
    environ
        .split(|byte| *byte == 0)
        .any(|var| assignments.iter().any(|assignment| assignment.as_bytes() == var))
}

/// Everything alive below `root`, pinned, those with a mark in `spared` and what is below them left
/// out. Each is given to `seen` as soon as it is found. `fd` pins `root` where it is not this process.
pub(crate) fn below(
    root: Pid,
    fd: Option<BorrowedFd<'_>>,
    spared: &[Mark],
    mut seen: impl FnMut(&Node),
) -> Vec<Node> {
    let mut found: Vec<Node> = Vec::new();
    let mut visited = HashSet::new();
    let mut next = 0;
    let (mut parent, mut parent_fd) = (root, fd.map(|fd| fd.as_fd().try_clone_to_owned()));
    loop {
        for pid in children(parent) {
            if visited.contains(&pid.as_raw_nonzero()) {
                continue;
            }
            let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            let Some(stat) = stat(pid) else { continue };
            let theirs = stat.parent == parent.as_raw_nonzero().get()
                && match &parent_fd {
                    Some(Ok(fd)) => sys::unreaped(fd.as_fd()),
                    Some(Err(_)) => false,
                    None => true,
                };
            if !theirs || stat.zombie || carries(pid, spared) {
                continue;
            }
            visited.insert(pid.as_raw_nonzero());
            let node = Node { pid, fd };
            seen(&node);
            found.push(node);
        }
        let Some(node) = found.get(next) else { return found };
        next += 1;
        (parent, parent_fd) = (node.pid, Some(node.fd.try_clone()));
    }
}

/// What one look at all processes found of a mark.
pub(crate) struct Look {
    /// What carries it.
    pub(crate) marked: Vec<Node>,
    /// Whether there is reason to look again: something carried it and may have forked, or something new had no environment
    /// to be seen, for it was just executing a program or had ended, perhaps after it had forked.
    pub(crate) again: bool,
}

/// Everything alive, anywhere, that carries the mark and is not among the `known`, to whom all that were looked at are added.
/// Finds only what did not clean its environment, and not what is forked while it looks.
pub(crate) fn marked(mark: &Mark, known: &mut HashSet<Pid>) -> Look {
    let marks = [*mark];
    let mut look = Look { marked: Vec::new(), again: false };
    // All of them are listed first: whatever is forked from here on is new at the next look.
    let everybody: Vec<Pid> = everybody().collect();
    for pid in everybody {
        if known.contains(&pid) {
            continue;
        }
        let environment = || fs::read(file_of(pid, "environ")).unwrap_or_default();
        let mut environ = environment();
        if environ.is_empty() {
            look.again = true;
            if is_executing(pid) {
                continue;
            }
            // It may just have been.
            environ = environment();
        }
        if !names_one(&environ, &marks) {
            known.insert(pid);
            continue;
        }
        look.again = true;
        let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        // Asked again now that it is pinned, and still there after the answer. One that has begun to execute a program in
        // between is looked at again.
        if carries(pid, &marks) && sys::unreaped(fd.as_fd()) {
            known.insert(pid);
            look.marked.push(Node { pid, fd });
        }
    }
    look
}

/// Whether a process whose environment is empty is between two programs: it has no arguments yet either. (Threads of the kernel
/// and zombies have no program.)
fn is_executing(pid: Pid) -> bool {
    fs::read(file_of(pid, "cmdline")).is_ok_and(|arguments| arguments.is_empty())
        && fs::read_link(file_of(pid, "exe")).is_ok()
}

fn file_of(pid: Pid, name: &str) -> String {
    format!("/proc/{}/{name}", pid.as_raw_nonzero())
}

/// Whether `root` has children that have ended and wait to be reaped.
pub(crate) fn has_zombies_below(root: Pid) -> bool {
    children(root).into_iter().any(|pid| stat(pid).is_some_and(|stat| stat.zombie))
}
