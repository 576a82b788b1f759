//! Ending everything below this process, a keeper.

use std::collections::HashSet;
use std::num::NonZeroI32;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpgid, getpgrp, getpid, kill_process_group, waitid,
};

use super::serve::has_no_child;
use crate::mark::Mark;
use crate::tree::{self, Found, Node};

/// How long a sweep may take before it gives up on what cannot be ended (a process of another user, or
/// one that the kernel holds).
const LONGEST: Duration = Duration::from_secs(2);
/// How many rounds follow each other without a pause.
const EAGER_ROUNDS: u32 = 32;
/// How many that have ended are reaped in one round: what is alive cannot wait for all of them.
const REAPED: usize = 1000;

/// Ends everything below this process except what carries a mark in `spared`, and what is below that.
/// Answers how many were still there when the time was up.
///
/// All orphans below come to this process, so "no child is left" proves that nothing is, wherever it
/// went: what is below something that is killed comes up to be found in the next round. No round waits for anything, and
/// the rounds go on until nothing new turns up.
pub(super) fn sweep(spared: &[Mark]) -> i32 {
    Sweep { spared, stopped: HashSet::new() }.run()
}

struct Sweep<'a> {
    spared: &'a [Mark],
    /// What nobody could tell yet from what is spared, by number.
    stopped: HashSet<NonZeroI32>,
}

/// What one round came to.
#[derive(Default)]
struct Round {
    /// How many were found that have to go.
    found: usize,
    /// Whether any of them could be signalled: what belongs to other users cannot.
    any: bool,
    /// Whether something was found that is spared, or may be.
    spares: bool,
}

impl Sweep<'_> {
    fn run(&mut self) -> i32 {
        let until = Instant::now() + LONGEST;
        for count in 0.. {
            if has_no_child() {
                return 0;
            }
            let is_late = Instant::now() > until;
            let mut round = Round::default();
            let below = tree::below(getpid(), None, |node| self.strike(node, is_late, &mut round));
            self.bury(&below, &round);
            // Only what is spared may be a reason for children to be left.
            if round.found == 0 && round.spares && below.ended.is_empty() && below.whole {
                return 0;
            }
            // Only what other users own is left, or what the kernel does not let go.
            if is_late || (round.found > 0 && !round.any) {
                return i32::try_from(round.found).unwrap_or(i32::MAX).max(1);
            }
            // Most are gone at once; one with much memory takes its time, and need not be watched closely.
            if count < EAGER_ROUNDS {
                std::thread::yield_now();
            } else {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        0
    }

    /// Kills one. Whether what is below it has to go, too.
    ///
    /// What is just executing a program cannot be told from what is spared until it has: it stays stopped until the next
    /// round, if there is one.
    fn strike(&mut self, node: &Node, is_last: bool, round: &mut Round) -> bool {
        let number = node.pid.as_raw_nonzero();
        match tree::carries(node.pid, self.spared) {
            Some(true) => {
                round.spares = true;
                if self.stopped.remove(&number) {
                    node.signal(Signal::CONT);
                }
                false
            }
            None if !is_last => {
                round.spares = true;
                round.found += 1;
                round.any |= node.signal(Signal::STOP);
                self.stopped.insert(number);
                false
            }
            Some(false) | None => {
                round.found += 1;
                round.any |= node.signal(Signal::KILL);
                true
            }
        }
    }

    /// Reaps what has ended, and kills what is left of its group first, which no fork escapes: whoever does nothing but
    /// fork and end is caught with its successor.
    ///
    /// What has ended and is not reaped holds its group's number, and nobody joins a group of another session: so such a
    /// group is one of jobs' processes only. It may be that of something that is spared, where there is such.
    fn bury(&mut self, below: &Found, round: &Round) {
        let kills = self.spared.is_empty() || (below.whole && !round.spares);
        let mut killed = HashSet::from([getpgrp(), Pid::INIT]);
        for pid in below.ended.iter().take(REAPED) {
            if kills
                && let Ok(group) = getpgid(Some(*pid))
                && killed.insert(group)
            {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = waitid(WaitId::Pid(*pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            self.stopped.remove(&pid.as_raw_nonzero());
        }
        // Where they could not be listed.
        if !below.whole {
            for _ in 0..REAPED {
                let any = waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
                if !matches!(any, Ok(Some(_))) {
                    break;
                }
            }
        }
    }
}
