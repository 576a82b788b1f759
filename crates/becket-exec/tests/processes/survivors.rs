//! What is left of a job, and what is not.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use becket_exec::{Cancel, Custody, End, Job};

use crate::support::*;
use crate::tests;

tests![
    a_timeout_leaves_nothing,
    a_cancel_leaves_nothing,
    an_overflow_leaves_nothing,
    a_keeper_finds_cleaned_orphans,
    a_keeper_outruns_a_chain,
    chains_that_do_nothing_else,
    a_keeper_reaps_while_jobs_run,
    a_build_server_stays,
    a_finished_siblings_server_is_spared,
    a_server_of_an_earlier_batch_is_spared,
    end_everything_ends_finished_jobs_too,
    end_everything_ends_what_is_just_starting,
    what_has_lost_its_first_thread_is_found,
    one_among_very_many_is_found,
    servers_that_execute_while_a_sibling_is_swept_go_on,
    a_keeper_kills_in_time_what_ignores_term,
    what_left_the_group_gets_its_grace_too,
];

/// Starts processes that leave in every way but one, and tells when all are running. `{t}` sleeps.
/// What is missing: an orphan that has cleaned its environment and left the session.
fn leavers(token: &str, ready: &Path, then: &str) -> Job {
    let script = format!(
        "sleep {token} &
         setsid sleep {token} &
         setsid sleep {token} </dev/null >/dev/null 2>&1 &
         (setsid sh -c 'sleep {token} & sleep {token} & wait' &)
         env -i setsid sleep {token} &
         setsid sh -c 'trap \"\" TERM HUP; while :; do sleep {token}; done' &
         nohup sleep {token} >/dev/null 2>&1 &
         while [ $(pgrep -fxc 'sleep {token}') -lt 8 ]; do sleep 0.01; done
         echo ready >{}; {then}",
        ready.display()
    );
    sh(&script)
}

fn a_timeout_leaves_nothing() {
    each_custody(|custody| {
        let dir = tempfile::tempdir().unwrap();
        let (token, ready) = (token(), dir.path().join("ready"));
        let ended = run_one(custody, leavers(&token, &ready, "sleep 60").timeout(Duration::from_secs(2)));
        assert!(matches!(ended.end, End::TimedOut));
        assert_eq!(lines(&ready), 1, "all were running");
        assert_gone(&token);
    });
}

fn a_cancel_leaves_nothing() {
    each_custody(|custody| {
        let dir = tempfile::tempdir().unwrap();
        let (token, ready) = (token(), dir.path().join("ready"));
        let mut job = leavers(&token, &ready, "sleep 60");
        job.limits.grace = Duration::ZERO;
        let cancel = Cancel::new().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                until("all are running", || lines(&ready) == 1);
                cancel.trigger();
            });
            let ends = run_with(custody, &[job], &cancel);
            assert!(matches!(ends[0].end, End::Cancelled));
        });
        assert_gone(&token);
    });
}

fn an_overflow_leaves_nothing() {
    each_custody(|custody| {
        let dir = tempfile::tempdir().unwrap();
        let (token, ready) = (token(), dir.path().join("ready"));
        let mut job = leavers(&token, &ready, "while :; do echo too much; done");
        job.limits.stdout.overflow = becket_exec::Overflow::End;
        let ended = run_one(custody, job);
        assert!(matches!(ended.end, End::Overflowed(_)));
        assert_gone(&token);
    });
}

fn a_keeper_finds_cleaned_orphans() {
    let token = token();
    let script = format!(
        "(env -i setsid sh -c 'exec <&- >&- 2>&-; sleep {token} & sleep {token}' &)
         while [ $(pgrep -fxc 'sleep {token}') -lt 2 ]; do sleep 0.01; done; echo ready; sleep 60"
    );
    let ended = run_one(&mut keeper(), sh(&script).timeout(Duration::from_secs(1)));
    assert_eq!(text(&ended.stdout.head), "ready\n");
    assert_eq!(alive(&token), 0, "gone when the batch is over, not only later");
}

fn a_keeper_outruns_a_chain() {
    let (token, dir) = (token(), tempfile::tempdir().unwrap());
    let (chain, count) = (dir.path().join("chain"), dir.path().join("count"));
    // Each link starts the next and ends: a new process number every time, never a parent to kill.
    fs::write(&chain, "echo >>$2; env -i setsid sh $0 $1 $2 & exit 0\n").unwrap();
    let script = format!("sh {} {token} {}; sleep 60", chain.display(), count.display());
    let ended = run_one(&mut keeper(), sh(&script).timeout(ms(500)));
    assert!(matches!(ended.end, End::TimedOut));
    assert!(lines(&count) > 10, "it was a chain");
    assert_eq!(alive(&token), 0);
    let links = lines(&count);
    std::thread::sleep(ms(100));
    assert_eq!(lines(&count), links, "and it is broken");
}

/// Chains, each link of which forks the next and ends at once, in a session for each chain or for each link. As many as
/// the machine can do would take every number of a process that it has, from the other tests too: that is a campaign's.
fn chains_that_do_nothing_else() {
    let chains = |count: u32, sessions: &str, pause: u32, token: &str| {
        let role = format!("role:respawn {count} {sessions} {pause} {token}");
        sh(&format!("exec {} {role}", myself().display())).timeout(ms(300))
    };
    for sessions in ["one", "sessions"] {
        let (chain, kept, begun) = (token(), token(), Instant::now());
        let ended = run_one(&mut keeper(), chains(8, sessions, 500, &chain));
        assert!(matches!(ended.end, End::TimedOut), "{ended:?}");
        assert_eq!(alive(&chain), 0, "{sessions}");
        // Beside something that is spared no group is killed.
        let mut custody = keeper();
        assert!(matches!(run_one(&mut custody, sh(&server(&kept))).end, End::Exited(0)));
        let ended = run_one(&mut custody, chains(8, sessions, 500, &chain));
        assert!(matches!(ended.end, End::TimedOut), "{ended:?}");
        assert_eq!(alive(&chain), 0, "{sessions}");
        assert_eq!(alive(&format!("sleep\0{kept}")), 1);
        kill_all(&kept);
        assert!(begun.elapsed() < Duration::from_secs(30), "{sessions}: {:?}", begun.elapsed());
        // A group does not promise to end them, only to come to an end itself. (Nor does who reaps them then hurry.)
        let begun = Instant::now();
        let ended = run_one(&mut Custody::Group, chains(2, sessions, 500, &chain));
        assert!(matches!(ended.end, End::TimedOut), "{ended:?}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{sessions}: {:?}", begun.elapsed());
        assert_gone(&chain);
    }
}

/// Orphans that have ended count among the processes that a user may have.
fn a_keeper_reaps_while_jobs_run() {
    let script = "i=0; while [ $i -lt 300 ]; do (/bin/true &); i=$((i + 1)); done
        while [ $(wc -w </proc/$PPID/task/$PPID/children) -gt 1 ]; do sleep 0.01; done; exit 3";
    let held = sh("sleep 60 & exit 4");
    // One that has ended and is waited for because of its pipes is asked about later.
    let ends = run_all(&mut keeper(), &[sh(script), held]);
    assert!(matches!(ends[0].end, End::Exited(3)) && matches!(ends[1].end, End::Exited(4)), "{ends:?}");
}

/// A server that a job starts on purpose and leaves running.
fn server(token: &str) -> String {
    format!(
        "setsid sh -c 'sleep {token} & wait' </dev/null >/dev/null 2>&1 &
         while ! pgrep -fx 'sleep {token}' >/dev/null; do sleep 0.01; done"
    )
}

fn a_build_server_stays() {
    let token = token();
    each_custody(|custody| {
        let ended = run_one(custody, sh(&server(&token)));
        assert!(matches!(ended.end, End::Exited(0)) && !ended.held);
        assert_eq!(alive(&format!("sleep\0{token}")), 1);
        // Also when the custody is given up.
        drop(std::mem::take(custody));
        std::thread::sleep(ms(100));
        assert_eq!(alive(&format!("sleep\0{token}")), 1);
        kill_all(&token);
    });
}

fn a_finished_siblings_server_is_spared() {
    let (kept, gone) = (token(), token());
    each_custody(|custody| {
        // The server's child has cleaned its environment: it is spared for being below the server.
        let finishing = sh(&format!(
            "setsid sh -c 'env -i sleep {kept} & wait' </dev/null >/dev/null 2>&1 &
             while ! pgrep -fx 'sleep {kept}' >/dev/null; do sleep 0.01; done"
        ));
        let hanging = sh(&format!("{}; sleep 60", server(&gone))).timeout(Duration::from_secs(1));
        let ends = run_all(custody, &[finishing, hanging]);
        assert!(matches!(ends[0].end, End::Exited(0)) && matches!(ends[1].end, End::TimedOut));
        assert_gone(&gone);
        assert_eq!(alive(&format!("sleep\0{kept}")), 1);
        kill_all(&kept);
    });
}

fn a_server_of_an_earlier_batch_is_spared() {
    let kept = token();
    each_custody(|custody| {
        run_one(custody, sh(&server(&kept)));
        let ended = run_one(custody, sh("sleep 60").timeout(ms(200)));
        assert!(matches!(ended.end, End::TimedOut));
        assert_eq!(alive(&format!("sleep\0{kept}")), 1);
        kill_all(&kept);
    });
}

fn end_everything_ends_finished_jobs_too() {
    each_custody(|custody| {
        let token = token();
        let mut job = sh(&server(&token));
        job.limits.end_everything = true;
        let ended = run_one(custody, job);
        assert!(matches!(ended.end, End::Exited(0)));
        assert_gone(&token);
    });
}

/// A job that is done while what it leaves is being forked and executed.
fn end_everything_ends_what_is_just_starting() {
    each_custody(|custody| {
        let token = token();
        let daemon = format!(
            "(setsid sh -c 'sh -c \"exec sleep {token}\" & exec sleep {token}' >/dev/null 2>&1 </dev/null &)"
        );
        for number in 0..60 {
            let mut job =
                sh(&format!("{daemon}; i=0; while [ $i -lt {} ]; do i=$((i + 1)); done", number * 20));
            job.limits.end_everything = true;
            let ended = run_one(custody, job);
            assert!(matches!(ended.end, End::Exited(0)), "{ended:?}");
            assert_gone(&token);
        }
    });
}

/// Its first thread has ended: the kernel calls it a zombie, and shows no arguments and no environment of it.
fn what_has_lost_its_first_thread_is_found() {
    each_custody(|custody| {
        for ends_by_itself in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("pid").display().to_string();
            let leaves = format!(
                "(setsid {} role:headless {file} >/dev/null 2>&1 </dev/null &); until [ -s {file} ]; do sleep 0.01; done",
                myself().display()
            );
            let job = if ends_by_itself {
                let mut job = sh(&leaves);
                job.limits.end_everything = true;
                job
            } else {
                sh(&format!("{leaves}; exec sleep 60")).timeout(ms(500))
            };
            let ended = run_one(custody, job);
            assert_eq!(matches!(ended.end, End::Exited(0)), ends_by_itself, "{ended:?}");
            let pid = fs::read_to_string(&file).unwrap();
            until("it is gone", || {
                fs::read_dir(format!("/proc/{}/task", pid.trim())).map_or(0, Iterator::count) <= 1
            });
        }
    });
}

/// More children than the kernel lists in one piece, all but one left on purpose.
fn one_among_very_many_is_found() {
    let mut custody = keeper();
    let (stays, goes) = (token(), token());
    // What has not left the group yet would go with it.
    let many = format!(
        "i=0; while [ $i -lt 900 ]; do setsid sleep {stays} >/dev/null 2>&1 & i=$((i + 1)); done; \
         until [ $(pgrep -fc '^sleep {stays}') = 900 ]; do sleep 0.05; done"
    );
    let ended = run_one(&mut custody, sh(&many));
    assert!(matches!(ended.end, End::Exited(0)), "{ended:?}");
    let one = format!("(env -i setsid sleep {goes} >/dev/null 2>&1 &); exec sleep {goes}");
    let ended = run_one(&mut custody, sh(&one).timeout(ms(300)));
    assert!(matches!(ended.end, End::TimedOut), "{ended:?}");
    assert_gone(&goes);
    assert_eq!(alive(&format!("sleep\0{stays}")), 900);
    kill_all(&stays);
}

/// They cannot be told from what must go while they execute a program, and are stopped meanwhile.
fn servers_that_execute_while_a_sibling_is_swept_go_on() {
    let mut custody = keeper();
    let token = token();
    let servers = format!(
        "export AGAIN='exec sh -c \"$AGAIN\" {token}'; for i in 1 2 3 4; do setsid sh -c \"$AGAIN\" {token} >/dev/null 2>&1 & done; \
         until [ $(pgrep -fc '^sh -c exec .*{token}') = 4 ]; do sleep 0.05; done"
    );
    assert!(matches!(run_one(&mut custody, sh(&servers)).end, End::Exited(0)));
    for _ in 0..20 {
        let ended = run_one(&mut custody, sh("(setsid sleep 60 &); exec sleep 60").timeout(ms(20)));
        assert!(matches!(ended.end, End::TimedOut), "{ended:?}");
    }
    let is_stopped = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    // One that executes a program at that moment has no arguments to be found by.
    let all = || text(&std::process::Command::new("pgrep").args(["-f", &token]).output().unwrap().stdout);
    until("all of them are there and go on", || all().lines().count() == 4 && !all().lines().any(is_stopped));
    kill_all(&token);
}

fn a_keeper_kills_in_time_what_ignores_term() {
    let token = token();
    let script = format!(
        "(env -i setsid sh -c 'trap \"\" TERM INT HUP; : {token}; while :; do sleep 0.01; done' &) ; sleep 60"
    );
    let mut custody: Custody = keeper();
    let ended = run_one(&mut custody, sh(&script).timeout(ms(500)));
    assert!(matches!(ended.end, End::TimedOut) && ended.duration < Duration::from_secs(5));
    assert_eq!(alive(&token), 0);
}

fn what_left_the_group_gets_its_grace_too() {
    each_custody(|custody| {
        let dir = tempfile::tempdir().unwrap();
        let (begun, cleaned) = (dir.path().join("begun"), dir.path().join("cleaned"));
        let script = format!(
            "setsid sh -c 'trap \"echo >{}; exit\" TERM; echo >{}; while :; do sleep 0.01; done' & sleep 60",
            cleaned.display(),
            begun.display()
        );
        let mut job = sh(&script).timeout(Duration::from_secs(1));
        job.limits.grace = Duration::from_secs(5);
        let ended = run_one(custody, job);
        assert!(matches!(ended.end, End::TimedOut) && ended.duration < Duration::from_secs(5));
        assert_eq!((lines(&begun), lines(&cleaned)), (1, 1));
    });
}
