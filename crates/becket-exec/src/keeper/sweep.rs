//! Ending everything below this process, a keeper.

use std::collections::HashMap;
use std::num::NonZeroI32;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, pidfd_send_signal};

use super::serve::{Below, reap};
use crate::mark::Mark;
use crate::tree;

/// How long a sweep may take before it gives up on what cannot be ended (a process of another user, or
/// one that the kernel holds).
const LONGEST: Duration = Duration::from_secs(2);
/// How many rounds follow each other without a pause.
const EAGER_ROUNDS: u32 = 32;

/// Ends everything below this process except what carries a mark in `spared`, and what is below that.
/// Answers how many were still there when the time was up.
///
/// All orphans below come to this process, so "no child is left" proves that nothing is, wherever it
/// went. What still forks is stopped first, and the rounds go on until nothing new turns up.
pub(super) fn sweep(spared: &[Mark]) -> i32 {
    Sweep { spared, until: Instant::now() + LONGEST, stopped: HashMap::new() }.run()
}

struct Sweep<'a> {
    spared: &'a [Mark],
    until: Instant,
    /// What was stopped and not killed yet, by number. (Too many open files leave one without a descriptor.)
    stopped: HashMap<NonZeroI32, Option<OwnedFd>>,
}

impl Sweep<'_> {
    fn run(&mut self) -> i32 {
        for round in 0.. {
            if matches!(reap(), Below::Nothing) {
                return 0;
            }
            let found = self.stop_all();
            let is_late = Instant::now() > self.until;
            if found.nodes.is_empty() {
                // Children are left. Killed ones may be dying still; if those are all, the next round reaps them.
                if found.whole && !self.spared.is_empty() && !tree::has_zombies_below(getpid()) {
                    return 0;
                }
                if is_late {
                    return 1;
                }
            } else if !self.kill(&found.nodes, is_late) || is_late {
                // Only what other users own is left, or what the kernel does not let go.
                return i32::try_from(found.nodes.len()).unwrap_or(i32::MAX);
            }
            // Most are gone at once; one with much memory takes its time, and need not be watched closely.
            if round < EAGER_ROUNDS {
                std::thread::yield_now();
            } else {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        0
    }

    /// Stops what is below and not spared, until nothing new turns up or the time is up.
    fn stop_all(&mut self) -> tree::Found {
        loop {
            let mut is_new = false;
            let found = tree::below(getpid(), None, self.spared, |node| {
                self.stopped.entry(node.pid.as_raw_nonzero()).or_insert_with(|| {
                    node.signal(Signal::STOP);
                    is_new = true;
                    node.fd.try_clone().ok()
                });
            });
            if !is_new || Instant::now() > self.until {
                return found;
            }
        }
    }

    /// Whether any could be signalled: what belongs to other users cannot. What is just executing a program cannot be
    /// told from what is spared until it has: it stays stopped until the next round, if there is one.
    fn kill(&mut self, found: &[tree::Node], is_last: bool) -> bool {
        let mut any = false;
        for node in found {
            match tree::carries(node.pid, self.spared) {
                Some(true) => {}
                None if !is_last => any = true,
                Some(false) | None => {
                    any |= node.signal(Signal::KILL);
                    self.stopped.remove(&node.pid.as_raw_nonzero());
                }
            }
        }
        any
    }
}

/// What was stopped and turned out to be spared goes on.
impl Drop for Sweep<'_> {
    fn drop(&mut self) {
        for fd in self.stopped.values().flatten() {
            let _ = pidfd_send_signal(fd, Signal::CONT);
        }
    }
}
