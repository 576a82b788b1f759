//! Finding and killing processes below another one, without ever signalling a recycled number.
//!
//! A number read from `/proc` may be somebody else's a moment later. So each process is pinned by a
//! pidfd first and *then* shown to be where it was said to be, while its parent, pinned before it, is
//! still there: if the number had changed hands before the pidfd was opened, the check sees the new
//! owner; if after, the pidfd still names the old one, and signalling that does nothing.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use crate::mark::{Mark, Track};
use crate::procfs::{self, Environment, Life, Stat};
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

/// Whether the process carries one of the marks in its environment; `None` while it has no environment to be looked at.
pub(crate) fn carries(pid: Pid, marks: &[Mark]) -> Option<bool> {
    if marks.is_empty() {
        return Some(false);
    }
    match procfs::environment(pid) {
        Environment::Whole(environ) => Some(names_one(&environ, marks)),
        Environment::Between => None,
        Environment::Gone | Environment::Closed => Some(false),
    }
}

fn names_one(environ: &[u8], marks: &[Mark]) -> bool {
    let assignments: Vec<String> = marks.iter().map(Mark::assignment).collect();
    environ
        .split(|byte| *byte == 0)
        .any(|var| assignments.iter().any(|assignment| assignment.as_bytes() == var))
}

/// What one look below a process found.
pub(crate) struct Found {
    /// What the visitor kept.
    pub(crate) nodes: Vec<Node>,
    /// Children of this process itself that have ended and were not reaped. Only this process can do that, so their
    /// numbers stay theirs until it does, and so do their groups'.
    pub(crate) ended: Vec<Pid>,
    /// Whether nothing kept it from seeing all there is (too many open files would).
    pub(crate) whole: bool,
}

/// Everything alive below `root`, pinned, parents before their children, and of these the youngest first: what forks and
/// ends is caught while it is there. Each is given to `visit` as soon as it is found; where that says no, it and what is
/// below it are left out. `fd` pins `root` where it is not this process.
pub(crate) fn below(root: Pid, fd: Option<BorrowedFd<'_>>, mut visit: impl FnMut(&Node) -> bool) -> Found {
    let mut found = Found { nodes: Vec::new(), ended: Vec::new(), whole: procfs::check().is_ok() };
    if !found.whole {
        return found;
    }
    let mut visited = HashSet::new();
    let mut next = 0;
    let (mut parent, mut parent_fd) = (root, fd.map(|fd| fd.as_fd().try_clone_to_owned()));
    loop {
        let children = procfs::children(parent);
        found.whole &= children.is_ok();
        for pid in children.unwrap_or_default().into_iter().rev() {
            if visited.contains(&pid.as_raw_nonzero()) {
                continue;
            }
            // There may be very many of these, and whoever goes on forking is not waiting.
            if parent_fd.is_none() && has_ended(pid) {
                found.ended.push(pid);
                continue;
            }
            let fd = match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(fd) => fd,
                Err(errno) => {
                    found.whole &= errno == Errno::SRCH;
                    continue;
                }
            };
            let is_theirs = match (&parent_fd, Stat::of(pid)) {
                (_, Some(stat)) if stat.life == Life::Dead => {
                    // It has ended since it was asked, and who was below it may have come to this process meanwhile.
                    if parent_fd.is_none() {
                        found.ended.push(pid);
                    }
                    false
                }
                // Only this process can reap its own children, so their numbers stay theirs, even where nothing is told
                // of them (`/proc` may hide what is not dumpable).
                (None, stat) => stat.is_none_or(|stat| stat.parent == parent.as_raw_nonzero().get()),
                (Some(Ok(fd)), Some(stat)) => {
                    stat.parent == parent.as_raw_nonzero().get() && sys::unreaped(fd.as_fd())
                }
                // What is hidden here comes to the reaper above once its parent is gone.
                (Some(Ok(_)), None) => false,
                (Some(Err(_)), _) => {
                    found.whole = false;
                    false
                }
            };
            let node = Node { pid, fd };
            if is_theirs && visit(&node) {
                visited.insert(pid.as_raw_nonzero());
                found.nodes.push(node);
            }
        }
        let Some(node) = found.nodes.get(next) else { return found };
        next += 1;
        (parent, parent_fd) = (node.pid, Some(node.fd.try_clone()));
    }
}

/// Whether a child of this process has ended and was not reaped.
fn has_ended(child: Pid) -> bool {
    let peek = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    matches!(waitid(WaitId::Pid(child), peek), Ok(Some(_)))
}

/// What one look at all processes came to.
#[derive(Default)]
pub(crate) struct Look {
    /// Whether something carried a mark.
    pub(crate) any: bool,
    /// Whether there is reason to look again: something carried a mark and may have forked, or something had no
    /// environment to be seen, or had ended, perhaps after it had forked, or not all could be listed.
    pub(crate) again: bool,
}

/// Gives everything alive, anywhere, that carries the mark of one of the jobs to `visit`, the youngest first, save what is
/// among the `known`, to whom all that need not be looked at again are added. Finds only what did not clean its
/// environment, and not what is forked while it looks. Nobody is asked for an environment who is older than the jobs: a
/// process can keep whoever asks waiting for ever. Looks no longer than `until`.
pub(crate) fn marked(
    jobs: &[Track],
    until: Instant,
    known: &mut HashSet<Pid>,
    mut visit: impl FnMut(&Node),
) -> Look {
    let mut look = Look::default();
    let marks: Vec<Mark> = jobs.iter().map(|job| job.mark).collect();
    let since = jobs.iter().map(|job| job.since).min();
    // All of them are listed first: whatever is forked from here on is new at the next look.
    let everybody = procfs::everybody();
    look.again |= everybody.is_err();
    for pid in everybody.unwrap_or_default().into_iter().rev() {
        if known.contains(&pid) {
            continue;
        }
        if Instant::now() > until {
            look.again = true;
            break;
        }
        if Stat::of(pid).is_some_and(|stat| Some(stat.began) < since) {
            known.insert(pid);
            continue;
        }
        let is_known = match procfs::environment(pid) {
            Environment::Closed => true,
            Environment::Whole(environ) if !names_one(&environ, &marks) => true,
            Environment::Whole(_) => {
                (look.any, look.again) = (true, true);
                match pidfd_open(pid, PidfdFlags::empty()) {
                    // Asked again now that it is pinned, and still there after the answer.
                    Ok(fd) if carries(pid, &marks) == Some(true) && sys::unreaped(fd.as_fd()) => {
                        visit(&Node { pid, fd });
                        true
                    }
                    Ok(_) | Err(_) => false,
                }
            }
            Environment::Gone => {
                look.again = true;
                true
            }
            Environment::Between => {
                look.again = true;
                false
            }
        };
        if is_known {
            known.insert(pid);
        }
    }
    look
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A process that does nothing but execute programs, one after the other.
    #[test]
    fn a_mark_is_never_overlooked_while_a_program_is_executed() {
        let mark = Mark::random();
        let (name, value) =
            mark.assignment().split_once('=').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("it is one");
        let mut executes = Command::new("/bin/sh");
        executes.args(["-c", "exec /bin/sh -c \"$AGAIN\""]).env_clear();
        executes.env("AGAIN", "exec /bin/sh -c \"$AGAIN\"").env(name, value);
        executes.envs((0..50).map(|number| (format!("X{number}"), "x".repeat(100))));
        let mut child = executes.spawn().expect("there is a shell");
        let pid = Pid::from_child(&child);
        let (mut seen, mut between) = (0, 0);
        while seen < 5_000 {
            match carries(pid, &[mark]) {
                Some(true) => seen += 1,
                Some(false) => break,
                None => between += 1,
            }
        }
        child.kill().and_then(|()| child.wait()).expect("it is still there");
        assert_eq!(seen, 5_000, "after {between} looks between two programs");
    }
}
