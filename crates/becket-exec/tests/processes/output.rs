//! Captures: bounded, drained, and cut where asked.

use std::fs;

use becket_exec::{Custody, End, Keep, Overflow, Stream};

use crate::support::*;
use crate::tests;

tests![
    exactly_the_cap_and_one_more,
    the_surplus_is_found_after_the_exit_too,
    an_endless_flood_is_cut,
    draining_keeps_both_ends,
    a_gibibyte_needs_no_memory,
    what_is_written_last_is_there,
];

fn exactly_the_cap_and_one_more() {
    each_custody(|custody| {
        for overflow in [Overflow::Drain, Overflow::End] {
            for size in [100_000, 100_001] {
                let mut job = sh(&format!("head -c {size} /dev/zero >&2"));
                job.limits.stderr = Keep { head: 60_000, tail: 40_000, overflow };
                let ended = run_one(custody, job);
                let cut = overflow == Overflow::End && size > 100_000;
                match ended.end {
                    End::Exited(0) => assert!(!cut),
                    End::Overflowed(Stream::Stderr) => assert!(cut),
                    other => panic!("{size} {overflow:?}: {other:?}"),
                }
                assert_eq!(ended.stderr.head.len() + ended.stderr.tail.len(), 100_000);
                assert_eq!(ended.stderr.total, size);
            }
        }
    });
}

fn the_surplus_is_found_after_the_exit_too() {
    each_custody(|custody| {
        let mut job = sh("echo four");
        job.limits.stdout = Keep { head: 4, tail: 0, overflow: Overflow::End };
        for _ in 0..20 {
            let ended = run_one(custody, job.clone());
            assert!(matches!(ended.end, End::Overflowed(Stream::Stdout)), "{:?}", ended.end);
            assert_eq!(text(&ended.stdout.head), "four");
        }
    });
}

fn an_endless_flood_is_cut() {
    each_custody(|custody| {
        let token = token();
        let mut job = sh(&format!("trap '' TERM PIPE; : {token}; while :; do cat /dev/zero; done"));
        job.limits.stdout = Keep { head: 1000, tail: 0, overflow: Overflow::End };
        let ended = run_one(custody, job);
        assert!(matches!(ended.end, End::Overflowed(Stream::Stdout)));
        assert_eq!(ended.stdout.head.len(), 1000);
        assert_gone(&token);
        let ended = run_one(custody, sh("cat /dev/zero").timeout(ms(300)));
        assert!(matches!(ended.end, End::TimedOut), "drained for ever, until its time is up");
    });
}

fn draining_keeps_both_ends() {
    each_custody(|custody| {
        let mut job = sh("printf first; head -c 5000000 /dev/zero; printf last; echo err >&2");
        job.limits.stdout = Keep { head: 5, tail: 4, overflow: Overflow::Drain };
        let ended = run_one(custody, job);
        assert_eq!((text(&ended.stdout.head), text(&ended.stdout.tail)), ("first".into(), "last".into()));
        assert_eq!((ended.stdout.total, ended.stdout.dropped()), (5_000_009, 5_000_000));
        assert_eq!(text(&ended.stderr.into_bytes()), "err\n");
    });
}

fn a_gibibyte_needs_no_memory() {
    let out = std::process::Command::new(myself()).arg("role:gibibyte").output().unwrap();
    assert_eq!(text(&out.stdout), "ok\n", "{}", text(&out.stderr));
}

/// The most memory this process has ever had resident, in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

pub(crate) fn play_gibibyte() {
    let before = peak();
    let mut job = sh("head -c 1073741824 /dev/zero; printf end").timeout(std::time::Duration::from_secs(60));
    job.limits.stdout = Keep { head: 1 << 20, tail: 1 << 20, overflow: Overflow::Drain };
    let ended = run_one(&mut Custody::Group, job);
    assert_eq!(ended.stdout.total, (1 << 30) + 3);
    assert!(ended.stdout.tail.ends_with(b"end"));
    let grown = peak() - before;
    assert!(grown < 10 * 1024, "{grown} KiB more for 2 MiB kept");
    println!("ok");
}

fn what_is_written_last_is_there() {
    each_custody(|custody| {
        for _ in 0..50 {
            let ended = run_one(custody, sh("head -c 60000 /dev/zero; echo end; echo end >&2; exit 7"));
            assert!(matches!(ended.end, End::Exited(7)));
            assert!(ended.stdout.head.ends_with(b"end\n") && ended.stderr.total == 4);
        }
    });
}
