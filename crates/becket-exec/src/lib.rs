//! One command under one deadline: start, feed, drain, bound, kill, reap.

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
mod run;
mod start;
mod sys;
mod tree;

pub use cancel::Cancel;
pub use capture::Captured;
pub use custody::Custody;
pub use ending::{End, Ended, Stream};
pub use job::{Job, Keep, Limits, Overflow};
pub use keeper::{Keeper, KeeperError, Leased, Pool, keeper_main};
pub use mark::MARK;
pub use run::{Batch, run};
pub use start::StartError;
