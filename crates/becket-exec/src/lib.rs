//! Commands under one deadline: start, feed, drain, bound, kill, reap.
//!
//! [`run`] takes a batch of [`Job`]s and gives back what became of each. It knows nothing of hooks, has
//! no configuration, starts no thread and needs no async runtime.
//!
//! ```
//! use std::time::Duration;
//! use becket_exec::{Batch, Cancel, Custody, End, Job, Keep, Limits, Overflow, run};
//!
//! let keep = Keep { head: 16_000, tail: 0, overflow: Overflow::Drain };
//! let job = Job {
//!     program: "/bin/sh".into(),
//!     args: vec!["-c".into(), "grep -q secret && exit 2".into()],
//!     dir: "/".into(),
//!     env: vec![("PATH".into(), "/usr/bin:/bin".into())],
//!     stdin: b"a secret".to_vec().into(),
//!     enough: None,
//!     limits: Limits {
//!         timeout: Duration::from_secs(5),
//!         grace: Duration::from_millis(500),
//!         linger: Duration::from_millis(500),
//!         stdout: keep,
//!         stderr: keep,
//!         end_everything: false,
//!     },
//! };
//! let cancel = Cancel::new()?;
//! let batch = Batch { at_once: 8, deadline: None, cancel: &cancel };
//! let ends = run(&mut Custody::Group, &[job], &batch, |_, _| {});
//! assert!(matches!(ends[0].end, End::Exited(2)));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # How it works
//!
//! One loop in the calling thread polls, for every running job, its three pipes and a pidfd, and
//! besides those the [`Cancel`] switch and the keeper's lifeline. All waiting is in that one `poll`, with
//! the nearest deadline as its timeout; so feeding, draining, exiting and running out of time are one
//! thing, and none can hold up another.
//!
//! *Starting.* A job gets a session of its own (no controlling terminal can stop it), every signal at
//! its default and none blocked, three pipes and no other descriptor, whatever the embedding program is
//! like. The process is made with shared memory, as `vfork` does it, so a large program starts it as
//! quickly as a small one, and with a pidfd, which no reuse of its number can make wrong.
//!
//! *Feeding.* As much of standard input as fits is in the pipe before the job exists; in the usual case
//! that is all, and the pipe is closed. The rest goes in as it is read. Not reading is no failure.
//!
//! *Draining.* Everything is read, at most [`Keep`] of it is kept.
//!
//! *Exit.* The exit of the process ends the job, not the end of its pipes: what it wrote is in them by
//! then and is read; if somebody it left behind still holds one, that is waited for only
//! [`Limits::linger`] long. Its status is then looked at without reaping it, its process group is
//! killed while it still holds the group's number, and then it is reaped.
//!
//! *Cutting short* (its deadline, too much output, [enough](Job::enough) of it, cancelling): `TERM` and `CONT` to its group,
//! [`Limits::grace`], `KILL`; and everything it started goes, as far as the [`Custody`] reaches.
//!
//! # What is left
//!
//! **Finished: its group goes. Cut short: everything goes.** A formatter that starts a build server on
//! purpose, in a session of its own, keeps it; a job that was cut short leaves nothing.
//!
//! [`Custody::Group`] makes jobs children of this process. When one is cut short it kills the group,
//! what hangs below the job at that moment, and what carries the job's [mark](MARK), looked for two seconds
//! at most. A descendant that left the group, whose parent has ended, and that cleaned its environment or
//! forks its successor and ends before it can be looked at, escapes; and if this process is killed, its jobs go on.
//!
//! [`Custody::Keeper`] makes them children of a [`Keeper`] process, which all orphans below it come to.
//! Once a batch is over of which something was cut short, it kills what it finds below itself, the youngest
//! first, and the groups of what has ended, which no fork escapes, round
//! after round, until the kernel says that it has no child left: nothing escapes, whatever it did, save
//! a process of another user (a `setuid` program) and one that the kernel itself holds, which are given
//! up after two seconds. What a finished job of the same custody left running is told by its mark and
//! spared, with everything below it; a server that *cleaned* its environment is not known as such, and
//! goes when a sibling is cut short. When the embedding program dies, by `KILL` too, the keeper ends
//! everything below it, finished jobs' servers included, since that is an event cut short. A keeper that
//! a job has stopped goes on: whoever asks it something tells it to, again and again, and from an event's
//! first job on so does a timer of the kernel's, four times a second, whoever is left. While jobs run it
//! reaps orphans that have ended.
//!
//! No number is ever signalled that may have become somebody else's. The one exception is a system
//! before Linux 6.9 whose keeper dies at the very moment it is asked to signal a group; there the leader
//! alone is signalled.
//!
//! # Difficult hosts
//!
//! A program that ignores SIGCHLD, or that reaps every child it sees, takes statuses away from whoever
//! wants them. Under a keeper that has no effect. With [`Custody::Group`] the status is asked from the
//! kernel's own note (Linux 6.15 and later); before, the job is [`End::Lost`], which must never be taken
//! for consent. Whoever traces a job (a debugger, `strace -D`) is told of its end first, and given a moment to pass
//! it on; one that does not, and carries the job's mark, is killed.
//!
//! # Systems
//!
//! Linux 5.9 or later (pidfds, `close_range`), with `/proc` mounted, and the GNU C library. Elsewhere
//! this does not compile, on purpose. FreeBSD could keep the same promises with `procctl`'s
//! `PROC_REAP_ACQUIRE` and `PROC_REAP_KILL` in the keeper's place, and `kqueue` in the pidfd's. macOS has
//! no reaper: sessions could be scanned and the lifeline works, but an orphan that left its session
//! would escape.

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
compile_error!(
    "becket-exec runs on Linux with the GNU C library: it needs pidfds, /proc and posix_spawn's file actions"
);

mod cancel;
mod capture;
mod custody;
mod drain;
mod ending;
mod feed;
mod image;
mod job;
mod keeper;
mod mark;
mod pipes;
mod procfs;
mod program;
mod run;
mod start;
mod sys;
mod tree;

pub use cancel::Cancel;
pub use capture::Captured;
pub use custody::Custody;
pub use ending::{End, Ended, Stream};
pub use job::{Enough, Job, Keep, Limits, Overflow};
pub use keeper::{Keeper, KeeperError, Leased, Pool, keeper_main};
pub use mark::MARK;
pub use procfs::{ancestors, is_own_proc, program_name};
pub use program::{LastWords, begin_program, forget_last_words, set_last_words};
pub use run::{Batch, run};
pub use start::StartError;
