//! Standard input: whole, ended, and never in the way.

use std::time::{Duration, Instant};

use becket_exec::{End, Enough};

use crate::support::*;
use crate::tests;

tests![
    every_size_arrives_whole,
    flooding_and_never_reading_ends_at_the_deadline,
    writing_first_and_reading_later_succeeds,
    never_reading_is_no_failure,
    closing_it_at_once_is_no_failure,
    ten_cats_at_once,
    each_gets_its_own_copy,
    what_answers_until_it_is_told_to_end_is_ended_once_it_said_enough,
];

fn payload(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at % 251) as u8).collect()
}

fn every_size_arrives_whole() {
    each_custody(|custody| {
        for size in [0, 1, 4096, 4097, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 10 << 20] {
            let mut job = program("cat", &[]).stdin(payload(size));
            job.limits.stdout.head = 16 << 20;
            let ended = run_one(custody, job);
            assert!(matches!(ended.end, End::Exited(0)));
            assert!(ended.stdout.head == payload(size), "{size} bytes, {} came back", ended.stdout.total);
        }
    });
}

fn flooding_and_never_reading_ends_at_the_deadline() {
    each_custody(|custody| {
        let job = sh("head -c 1048576 /dev/zero; sleep 60").stdin(payload(3 << 20)).timeout(ms(500));
        let ended = run_one(custody, job);
        assert!(matches!(ended.end, End::TimedOut));
        assert_eq!(ended.stdout.total, 1 << 20);
        assert!(ended.duration < Duration::from_secs(5));
    });
}

fn writing_first_and_reading_later_succeeds() {
    each_custody(|custody| {
        let ended = run_one(custody, sh("head -c 1048576 /dev/zero; wc -c >&2").stdin(payload(3 << 20)));
        assert!(matches!(ended.end, End::Exited(0)));
        assert_eq!(ended.stdout.total, 1 << 20);
        assert_eq!(text(&ended.stderr.head).trim(), (3 << 20).to_string());
    });
}

fn never_reading_is_no_failure() {
    each_custody(|custody| {
        let ended = run_one(custody, sh("echo '{}'").stdin(payload(3 << 20)));
        assert!(matches!(ended.end, End::Exited(0)));
        assert_eq!(text(&ended.stdout.head), "{}\n");
    });
}

fn closing_it_at_once_is_no_failure() {
    each_custody(|custody| {
        let ended = run_one(custody, sh("exec 0<&-; sleep 0.05; echo '{}'").stdin(payload(3 << 20)));
        assert!(matches!(ended.end, End::Exited(0)), "{:?}", ended.end);
        assert_eq!(text(&ended.stdout.head), "{}\n");
    });
}

fn ten_cats_at_once() {
    each_custody(|custody| {
        let job = sh("cat >/dev/null; echo '{}'").stdin(payload(100_000));
        let jobs = vec![job; 10];
        for _ in 0..30 {
            let begun = Instant::now();
            let ends = run_all(custody, &jobs);
            assert!(ends.iter().all(|ended| matches!(ended.end, End::Exited(0)) && ended.stdout.total == 3));
            assert!(begun.elapsed() < Duration::from_secs(5));
        }
    });
}

fn each_gets_its_own_copy() {
    each_custody(|custody| {
        let jobs = vec![program("md5sum", &[]).stdin(payload(2 << 20)); 4];
        let ends = run_all(custody, &jobs);
        assert!(ends.iter().all(|ended| ended.stdout == ends[0].stdout && ended.stdout.total > 30));
    });
}

fn what_answers_until_it_is_told_to_end_is_ended_once_it_said_enough() {
    let is_enough = Some(Enough(|output| output.ends_with(b"second\n")));
    each_custody(|custody| {
        let answers = "while read -r line; do sleep 0.1; echo \"$line\"; done; echo closed";
        let mut job = sh(answers).stdin(&b"first\nsecond\n"[..]);
        job.enough = is_enough;
        let ended = run_one(custody, job);
        // Its input is closed as it is ended, and it may still say so.
        assert!(ended.end == End::Sufficed && ended.stdout.head.starts_with(b"first\nsecond\n"), "{ended:?}");
        // What is never enough ends at its deadline, or by itself.
        let mut job = sh(answers).stdin(&b"first\n"[..]).timeout(ms(600));
        job.enough = is_enough;
        let ended = run_one(custody, job);
        assert!(ended.end == End::TimedOut && ended.stdout.head.starts_with(b"first\n"), "{ended:?}");
        let mut job = sh("echo first");
        job.enough = is_enough;
        assert_eq!(run_one(custody, job).end, End::Exited(0));
    });
}
