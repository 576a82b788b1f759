//! A batch of a dialect's jobs, run by the process runner.

use std::time::{Duration, Instant};

use becket_core::dialect::{Batch, Captured, Command, End, Finished, Job, Keep, Recheck};
use becket_core::hash;
use becket_core::place::Found;
use becket_core::text;
use becket_exec::{Cancel, Custody, Overflow, StartError, Stream};

use crate::read;

/// What bounds all runs of one firing.
pub(crate) struct Bounds<'a> {
    /// When the firing began.
    pub(crate) began: Instant,
    /// When the host's patience ends.
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: &'a Cancel,
    pub(crate) end_everything: bool,
    /// Told to every run: fired from inside it, nothing fires.
    pub(crate) mark: Option<(&'static str, String)>,
}

/// Runs a batch; the ends come in the order of its jobs.
pub(crate) fn run(custody: &mut Custody, batch: Batch, bounds: &Bounds<'_>) -> Vec<Finished> {
    let within = batch.within.map(|within| bounds.began + within);
    let deadline = [within, bounds.deadline].into_iter().flatten().min();
    let checks: Vec<Option<End>> = batch.jobs.iter().map(refused).collect();
    let jobs: Vec<becket_exec::Job> = batch
        .jobs
        .iter()
        .zip(&checks)
        .filter(|(_, refused)| refused.is_none())
        .map(|(job, _)| started(&job.command, bounds))
        .collect();
    let how = becket_exec::Batch { at_once: batch.at_once, deadline, cancel: bounds.cancel };
    let mut ends = becket_exec::run(custody, &jobs, &how, |_, _| {}).into_iter();
    batch
        .jobs
        .into_iter()
        .zip(checks)
        .map(|(job, refused)| match refused {
            Some(end) => unstarted(job, end),
            None => match ends.next() {
                Some(ended) => finished(job, ended, bounds),
                None => unstarted(job, End::Lost),
            },
        })
        .collect()
}

/// Why a job is not started after all.
fn refused(job: &Job) -> Option<End> {
    let own = job.refused.clone().map(End::Refused);
    own.or_else(|| replaced(job.recheck.as_ref()).map(End::Replaced))
}

/// Why a job's file is no longer what was approved.
fn replaced(recheck: Option<&Recheck>) -> Option<String> {
    let recheck = recheck?;
    let path = text::line(recheck.place.path.as_str()).into_owned();
    match read::read(&recheck.place) {
        Found::File(file) if hash::of(&file.bytes) == recheck.hash => None,
        Found::File(_) => Some(format!("{path} changed since it was approved")),
        Found::Missing => Some(format!("{path} is gone")),
        Found::Refused(refusal) => Some(format!("{path} cannot be read: {refusal}")),
        Found::Folder { .. } => Some(format!("{path} is a folder")),
    }
}

fn started(command: &Command, bounds: &Bounds<'_>) -> becket_exec::Job {
    let mut argv = command.argv.iter().cloned();
    let keep = |keep: Keep| becket_exec::Keep {
        head: keep.head,
        tail: keep.tail,
        overflow: if keep.over_ends { Overflow::End } else { Overflow::Drain },
    };
    let mark = bounds.mark.iter().map(|(name, value)| ((*name).into(), value.into()));
    becket_exec::Job {
        program: argv.next().unwrap_or_default(),
        args: argv.collect(),
        dir: command.directory.clone().into(),
        env: command.environment.iter().cloned().chain(mark).collect(),
        stdin: command.stdin.clone(),
        enough: None,
        limits: becket_exec::Limits {
            timeout: command.timeout,
            grace: command.grace,
            linger: command.linger,
            stdout: keep(command.stdout),
            stderr: keep(command.stderr),
            end_everything: bounds.end_everything,
        },
    }
}

fn finished(job: Job, ended: becket_exec::Ended, bounds: &Bounds<'_>) -> Finished {
    let end = match ended.end {
        becket_exec::End::Exited(code) => End::Exited(code),
        becket_exec::End::Signalled(signal) => End::Signalled(signal),
        // Ended by the host's patience, not by its own time: nothing can be concluded from that.
        becket_exec::End::TimedOut if is_out_of_time(bounds) && ended.duration < job.command.timeout => {
            End::NoTime
        }
        becket_exec::End::TimedOut => End::TimedOut,
        becket_exec::End::Overflowed(Stream::Stdout) => End::Overflowed("stdout"),
        becket_exec::End::Overflowed(Stream::Stderr) => End::Overflowed("stderr"),
        becket_exec::End::Cancelled => End::Cancelled,
        becket_exec::End::NotStarted(why) if is_for_want_of_room(&why) => End::NoRoom(why.to_string()),
        becket_exec::End::NotStarted(why) => End::NotStarted(why.to_string()),
        becket_exec::End::NoTime => End::NoTime,
        _ => End::Lost,
    };
    let captured =
        |kept: becket_exec::Captured| Captured { head: kept.head, tail: kept.tail, total: kept.total };
    Finished {
        job,
        end,
        stdout: captured(ended.stdout),
        stderr: captured(ended.stderr),
        duration: ended.duration,
        held: ended.held,
        moved_to: ended.dir.map(|directory| directory.to_string_lossy().into_owned()),
        pid: ended.pid,
    }
}

fn is_for_want_of_room(why: &StartError) -> bool {
    matches!(
        why,
        StartError::NoMemory
            | StartError::TooManyProcesses
            | StartError::TooManyFiles
            | StartError::KeeperGone
    )
}

fn is_out_of_time(bounds: &Bounds<'_>) -> bool {
    bounds.deadline.is_some_and(|deadline| deadline <= Instant::now())
}

fn unstarted(job: Job, end: End) -> Finished {
    Finished {
        job,
        end,
        stdout: Captured::default(),
        stderr: Captured::default(),
        duration: Duration::ZERO,
        held: false,
        moved_to: None,
        pid: None,
    }
}
