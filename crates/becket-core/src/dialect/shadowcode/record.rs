//! ShadowCode's own records of a run, `hook.started` and `hook.completed`, with one shape of payload.
//!
//! They hold everything as it is: the journal masks what it stores.
//! The core makes no fresh ids: `id` is null here, and whoever writes the journal puts the same fresh one into both.

use serde_json::{Value, json};

use super::load::Loaded;
use super::output;
use crate::dialect::{End, Finished, Job};

/// The record of a run before its start (`finished` is `None`) or after its end.
pub(super) fn of(loaded: &Loaded, job: &Job, finished: Option<&Finished>) -> Option<Value> {
    let source = loaded.sources.get(job.source)?;
    let hook = source.hooks.get(job.hook)?;
    let kind = if finished.is_some() { "hook.completed" } else { "hook.started" };
    let status = finished.map_or("running", |finished| status(&finished.end));
    let detail =
        finished.map_or_else(String::new, |finished| super::rules::detail(finished).unwrap_or_default());
    Some(json!({
        "type": kind,
        "payload": {
            "id": null,
            "name": hook.name,
            "event": job.moment,
            "command": hook.command,
            "path": loaded.paths.get(job.source)?,
            "hash": source.hash,
            "status": status,
            "success": matches!(status, "running" | "passed"),
            "detail": detail,
            "process": finished.and_then(process),
        },
    }))
}

fn status(end: &End) -> &'static str {
    match end {
        End::Exited(0) => "passed",
        End::Cancelled => "cancelled",
        _ => "failed",
    }
}

/// What is known of the process; `None` where none was started.
fn process(finished: &Finished) -> Option<Value> {
    let exit_code = match finished.end {
        End::Exited(code) => code,
        End::NotStarted(_) | End::NoRoom(_) | End::Replaced(_) | End::Refused(_) => return None,
        _ if finished.pid.is_none() => return None,
        _ => -1,
    };
    let (stdout, stderr) = output::fit(&finished.stdout, &finished.stderr);
    Some(json!({
        "ok": finished.end == End::Exited(0),
        "stdout": stdout,
        "stderr": stderr,
        "exit_code": exit_code,
        "timed_out": finished.end == End::TimedOut,
        "cancelled": finished.end == End::Cancelled,
        "truncated": is_truncated(finished),
        "duration_ms": u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
        "pid": finished.pid,
    }))
}

/// Whether output was left out, or could still have come.
pub(super) fn is_truncated(finished: &Finished) -> bool {
    let total = finished.stdout.total.saturating_add(finished.stderr.total);
    total > output::BUDGET as u64 || finished.held
}
