//! How jobs end: by themselves, at a deadline, by cancel; and how long that takes.

use std::time::{Duration, Instant};

use becket_exec::{Batch, Cancel, Custody, End, run};

use crate::support::*;
use crate::tests;

tests![
    exit_codes_and_signals,
    exit_ends_the_job_though_a_stranger_holds_the_pipe,
    a_late_writer_is_waited_for_a_moment,
    a_timeout_keeps_what_was_written,
    ignored_term_is_followed_by_kill,
    term_lets_a_job_clean_up,
    a_stopped_job_dies_at_its_deadline,
    cancel_ends_what_runs_and_starts_nothing_more,
    a_batch_has_a_deadline,
    at_once_bounds_how_many_run,
    no_controlling_terminal,
    nothing_is_left_after_many_runs,
    a_panic_of_the_caller_leaves_nothing,
    one_that_is_traced,
];

fn exit_codes_and_signals() {
    each_custody(|custody| {
        for code in [0, 1, 2, 126, 255] {
            let ended = run_one(custody, sh(&format!("exit {code}")));
            assert!(matches!(ended.end, End::Exited(got) if got == code), "{:?}", ended.end);
        }
        let ended = run_one(custody, sh("kill -KILL $$"));
        assert!(matches!(ended.end, End::Signalled(9)), "{:?}", ended.end);
        assert!(ended.pid.is_some() && ended.dir.is_none() && !ended.held);
    });
}

fn exit_ends_the_job_though_a_stranger_holds_the_pipe() {
    each_custody(|custody| {
        let token = token();
        let begun = Instant::now();
        let ended = run_one(custody, sh(&format!("sleep {token} & echo '{{}}'")));
        assert!(matches!(ended.end, End::Exited(0)), "{:?}", ended.end);
        assert_eq!(text(&ended.stdout.head), "{}\n");
        assert!(ended.held);
        assert!(begun.elapsed() < Duration::from_secs(4));
        // In its group: gone with it.
        assert_gone(&token);
    });
}

fn a_late_writer_is_waited_for_a_moment() {
    each_custody(|custody| {
        let mut job = sh("(sleep 0.1; echo late) & echo early");
        job.limits.linger = Duration::from_secs(10);
        let ended = run_one(custody, job);
        assert_eq!(text(&ended.stdout.head), "early\nlate\n");
        assert!(!ended.held);
    });
}

fn a_timeout_keeps_what_was_written() {
    each_custody(|custody| {
        let token = token();
        let job = sh(&format!("echo begun; echo why >&2; sh -c 'sleep {token} & sleep {token}; wait'"));
        let begun = Instant::now();
        let ended = run_one(custody, job.timeout(ms(300)));
        assert!(matches!(ended.end, End::TimedOut), "{:?}", ended.end);
        assert_eq!((text(&ended.stdout.head), text(&ended.stderr.head)), ("begun\n".into(), "why\n".into()));
        assert!(ended.duration >= ms(300) && begun.elapsed() < Duration::from_secs(3));
        assert_gone(&token);
    });
}

fn ignored_term_is_followed_by_kill() {
    each_custody(|custody| {
        let token = token();
        let job = sh(&format!("trap '' TERM; : {token}; while :; do sleep 0.01; done"));
        let ended = run_one(custody, job.timeout(ms(200)));
        assert!(matches!(ended.end, End::TimedOut));
        assert!(ended.duration >= ms(400) && ended.duration < Duration::from_secs(4));
        assert_gone(&token);
    });
}

fn term_lets_a_job_clean_up() {
    each_custody(|custody| {
        let mut job = sh("trap 'echo cleaned; exit 3' TERM; while :; do sleep 0.01; done").timeout(ms(200));
        job.limits.grace = Duration::from_secs(10);
        let ended = run_one(custody, job.clone());
        assert!(matches!(ended.end, End::TimedOut));
        assert_eq!(text(&ended.stdout.head), "cleaned\n");
        assert!(ended.duration < Duration::from_secs(5), "the rest of the grace is not waited for");
        job.limits.grace = Duration::ZERO;
        let ended = run_one(custody, job);
        assert_eq!(text(&ended.stdout.head), "", "no grace, no TERM");
    });
}

fn a_stopped_job_dies_at_its_deadline() {
    each_custody(|custody| {
        let token = token();
        let ended = run_one(custody, sh(&format!(": {token}; kill -STOP $$; sleep 60")).timeout(ms(200)));
        assert!(matches!(ended.end, End::TimedOut));
        assert!(ended.duration < Duration::from_secs(3));
        assert_gone(&token);
    });
}

fn cancel_ends_what_runs_and_starts_nothing_more() {
    each_custody(|custody| {
        let cancel = Cancel::new().unwrap();
        let token = token();
        let jobs = vec![sh(&format!("echo begun; exec sleep {token}")); 3];
        let batch = Batch { at_once: 2, deadline: None, cancel: &cancel };
        let begun = Instant::now();
        let ends = std::thread::scope(|scope| {
            let canceller = scope.spawn(|| {
                until("two are running", || alive(&format!("sleep\0{token}")) == 2);
                cancel.trigger();
            });
            let ends = run(custody, &jobs, &batch, |_, _| {});
            canceller.join().unwrap();
            ends
        });
        assert!(begun.elapsed() < Duration::from_secs(10) && cancel.is_triggered());
        assert!(ends.iter().all(|ended| matches!(ended.end, End::Cancelled)));
        assert_eq!(ends.iter().filter(|ended| ended.pid.is_some()).count(), 2);
        assert_eq!(text(&ends[0].stdout.head), "begun\n");
        assert_gone(&token);
    });
}

fn a_batch_has_a_deadline() {
    each_custody(|custody| {
        let cancel = Cancel::new().unwrap();
        let jobs = vec![sh("exit 2"), sh("sleep 60"), sh("exit 0")];
        let batch = Batch { at_once: 1, deadline: Some(Instant::now() + ms(500)), cancel: &cancel };
        let mut order = Vec::new();
        let ends = run(custody, &jobs, &batch, |index, _| order.push(index));
        assert!(matches!(ends[0].end, End::Exited(2)), "{:?}", ends[0].end);
        assert!(matches!(ends[1].end, End::TimedOut), "{:?}", ends[1].end);
        assert!(matches!(ends[2].end, End::NoTime), "{:?}", ends[2].end);
        assert_eq!(order, [0, 1, 2]);
    });
}

fn at_once_bounds_how_many_run() {
    let cancel = Cancel::new().unwrap();
    let jobs = vec![sh("sleep 0.1"); 6];
    let time = |at_once| {
        let begun = Instant::now();
        run(&mut Custody::Group, &jobs, &Batch { at_once, deadline: None, cancel: &cancel }, |_, _| {});
        begun.elapsed()
    };
    assert!(time(2) >= ms(300));
    assert!(time(0) >= ms(600), "zero is one");
}

fn no_controlling_terminal() {
    each_custody(|custody| {
        let ended = run_one(custody, sh("(: </dev/tty) 2>/dev/null && echo tty; ps -o sid= -p $$; echo $$"));
        let said = text(&ended.stdout.head);
        let numbers: Vec<&str> = said.split_whitespace().collect();
        assert_eq!(numbers.len(), 2, "{said}");
        assert_eq!(numbers[0], numbers[1], "leads its own session");
    });
}

fn nothing_is_left_after_many_runs() {
    // In a process of its own: other tests run beside this one.
    let out = std::process::Command::new(myself()).arg("role:many").output().unwrap();
    assert_eq!(text(&out.stdout), "ok\n", "{}", text(&out.stderr));
}

fn a_panic_of_the_caller_leaves_nothing() {
    each_custody(|custody| {
        let (token, cancel) = (token(), Cancel::new().unwrap());
        let jobs = [sh(&format!("exec sleep {token}")), sh("exit 0")];
        let batch = Batch { at_once: 2, deadline: None, cancel: &cancel };
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run(custody, &jobs, &batch, |_, _| std::panic::resume_unwind(Box::new("the caller's")))
        }));
        assert!(panic.is_err());
        assert_gone(&token);
    });
}

/// Whoever traces it is told of its end first, and need not pass it on.
fn one_that_is_traced() {
    each_custody(|custody| {
        let token = token();
        for asks in ["asks", "never"] {
            let traced = sh(&format!("exec {} role:traced {asks} {token}", myself().display()));
            let ended = run_one(custody, traced);
            assert!(matches!(ended.end, End::Exited(2)), "{asks}: {ended:?}");
        }
        assert_gone(&token);
    });
}
