//! One process, bounded in time.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;

/// The words with which Becket says that it could not do something: read, remember, record.
const COMPLAINS: [&str; 4] = ["could not be", "cannot be used", "nothing is remembered", "has held its lock"];

/// What fits into a pipe that nobody reads yet.
const PIPE: usize = 60_000;

/// A child whose output goes into a file without a name, so that nothing it leaves behind can hold us up.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    fd: OwnedFd,
    out: File,
    err: File,
    start: Instant,
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ran {
    /// `None` after a signal.
    pub(crate) code: Option<i32>,
    /// It did not end in time and was killed for that.
    pub(crate) cut: bool,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Process {
    /// Starts it with these bytes on its standard input, then the end.
    pub(crate) fn start(command: &mut Command, stdin: &[u8]) -> io::Result<Self> {
        let (process, _) = Self::waiting(command, stdin)?;
        Ok(process)
    }

    /// Starts it with these bytes on its standard input, which is still open for more.
    pub(crate) fn waiting(command: &mut Command, stdin: &[u8]) -> io::Result<(Self, Option<ChildStdin>)> {
        if stdin.len() > PIPE {
            return Err(io::Error::other("more than a pipe takes unread"));
        }
        let [out, err] = [tempfile::tempfile()?, tempfile::tempfile()?];
        let start = Instant::now();
        command.stdin(Stdio::piped()).stdout(out.try_clone()?).stderr(err.try_clone()?);
        let mut child = command.spawn()?;
        let fd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        let mut pipe = child.stdin.take();
        let written = pipe.as_mut().map_or(Ok(()), |pipe| pipe.write_all(stdin));
        // It may have ended without reading.
        written
            .or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })?;
        Ok((Self { child, fd, out, err, start }, pipe))
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Whether it ends within this time.
    pub(crate) fn ends_within(&self, time: Duration) -> io::Result<bool> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&left)) {
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Readable once it has ended.
    pub(crate) fn watched(&self) -> &OwnedFd {
        &self.fd
    }

    pub(crate) fn kill(&self) {
        let _ = pidfd_send_signal(&self.fd, Signal::KILL);
    }

    /// Waits for its end, so long at most from now.
    pub(crate) fn finish(mut self, longest: Duration) -> io::Result<Ran> {
        let ended = self.ends_within(longest)?;
        if !ended {
            self.kill();
        }
        let took = self.start.elapsed();
        let status = self.child.wait()?;
        let read = |file: &mut File| -> io::Result<String> {
            let mut bytes = Vec::new();
            file.rewind()?;
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Ran {
            code: status.code().filter(|_| status.signal().is_none()),
            cut: !ended,
            stdout: read(&mut self.out)?,
            stderr: read(&mut self.err)?,
            took,
        })
    }
}

impl Ran {
    /// Standard output as JSON; null where it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }

    /// Whether it says that it could not do something.
    pub(crate) fn complains(&self) -> bool {
        COMPLAINS.iter().any(|words| self.stdout.contains(words) || self.stderr.contains(words))
    }

    /// For a person who looks into a fault.
    pub(crate) fn words(&self) -> String {
        let cut = if self.cut { ", cut" } else { "" };
        let runs = self.json()["runs"].as_array().cloned().unwrap_or_default();
        let runs: Vec<String> =
            runs.iter().map(|run| format!("{} {} {}", run["source"], run["status"], run["detail"])).collect();
        let said = if runs.is_empty() { self.stdout.clone() } else { runs.join(", ") };
        let said: String = said.chars().take(1_000).collect();
        format!("{:?}{cut} after {:?}: {} {said}", self.code, self.took, self.stderr)
    }
}
