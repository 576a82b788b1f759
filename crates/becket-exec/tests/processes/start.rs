//! Jobs that cannot be started, and what they are started with.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use becket_exec::{End, MARK, StartError};

use crate::support::*;
use crate::tests;

tests![
    a_nul_anywhere,
    too_long_and_just_short_enough,
    missing_and_broken_programs,
    a_file_being_written,
    a_deleted_directory,
    the_path_is_the_jobs_own,
    only_three_descriptors_and_the_given_environment,
    others_go_on_when_one_cannot_start,
];

fn refused(ended: &becket_exec::Ended) -> &StartError {
    assert!(ended.pid.is_none() && ended.duration == Duration::ZERO);
    match &ended.end {
        End::NotStarted(error) => error,
        other => panic!("started: {other:?}"),
    }
}

fn a_nul_anywhere() {
    each_custody(|custody| {
        let mut in_env = sh("true");
        in_env.env.push(("A".into(), "b\0c".into()));
        let mut in_dir = sh("true");
        in_dir.dir = "/tmp/a\0b".into();
        let jobs = [program("/bin/tr\0ue", &[]), program("/bin/true", &["a", "b\0c"]), in_env, in_dir];
        let ends = run_all(custody, &jobs);
        let said: Vec<String> = ends.iter().map(|ended| refused(ended).to_string()).collect();
        assert!(said.iter().all(|said| said.contains("contains a NUL byte")), "{said:?}");
        assert!(said[1].starts_with("argument 2"), "{said:?}");
    });
}

fn too_long_and_just_short_enough() {
    each_custody(|custody| {
        let long = "x".repeat(131_072);
        let ended = run_one(custody, program("/bin/true", &[&long]));
        assert_eq!(refused(&ended), &StartError::TooLong);
        let many: Vec<&str> = std::iter::repeat_n(&long[1..], 40).collect();
        assert_eq!(refused(&run_one(custody, program("/bin/true", &many))), &StartError::TooLong);
        // Over a mebibyte is still fine, and has to come over a keeper's socket whole.
        let ended = run_one(custody, program("sh", &[&["-c", "echo $#", "sh"], &many[..10]].concat()));
        assert_eq!(text(&ended.stdout.head), "10\n", "{:?}", ended.end);
    });
}

fn missing_and_broken_programs() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str, mode| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let missing = "/no/such/shell".to_owned();
    let plain = file("plain", "echo", 0o644);
    let no_line = file("no-line", "echo hello\n", 0o755);
    let no_interpreter = file("no-interpreter", "#!/no/such/interpreter\n", 0o755);
    each_custody(|custody| {
        let mut end = |path: &str| refused(&run_one(custody, program(path, &[]))).clone();
        assert_eq!(end(&missing), StartError::NotFound(missing.clone().into()));
        assert_eq!(end("no-such-name"), StartError::NotOnPath("no-such-name".into()));
        assert_eq!(end(""), StartError::NotFound("".into()));
        assert_eq!(end(&plain), StartError::Denied(plain.clone().into()));
        assert_eq!(end(&no_line), StartError::BadFormat(no_line.clone().into()));
        assert_eq!(end(&no_interpreter), StartError::NoInterpreter(no_interpreter.clone().into()));
        assert_eq!(end("/tmp"), StartError::Denied("/tmp".into()));
    });
}

fn a_file_being_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("busy");
    fs::copy("/bin/true", &path).unwrap();
    let writer = fs::OpenOptions::new().append(true).open(&path).unwrap();
    each_custody(|custody| {
        let ended = run_one(custody, program(path.to_str().unwrap(), &[]));
        assert_eq!(refused(&ended), &StartError::Busy(path.clone()));
    });
    drop(writer);
}

fn a_deleted_directory() {
    each_custody(|custody| {
        let dir = tempfile::tempdir().unwrap();
        let wanted = dir.path().join("gone/deeper");
        let mut job = sh("pwd; exit 2");
        job.dir.clone_from(&wanted);
        let ended = run_one(custody, job);
        assert!(matches!(ended.end, End::Exited(2)), "a guard still guards: {:?}", ended.end);
        assert_eq!(ended.dir.as_deref(), Some(dir.path()));
        assert_eq!(text(&ended.stdout.head).trim(), dir.path().to_str().unwrap());
    });
}

fn the_path_is_the_jobs_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("becket-test-tool");
    fs::write(&path, "#!/bin/sh\necho found\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    // Another thread's fork may hold the file open for writing for a moment.
    let found = |ended: &becket_exec::Ended| match &ended.end {
        End::NotStarted(StartError::Busy(_)) => false,
        End::Exited(0) => text(&ended.stdout.head) == "found\n",
        other => panic!("{other:?}"),
    };
    each_custody(|custody| {
        let with_path = |path: &str| {
            let mut job = program("becket-test-tool", &[]);
            job.env = vec![("PATH".into(), path.into())];
            job.dir = dir.path().into();
            job
        };
        let own = dir.path().to_str().unwrap();
        for path in [own.to_owned(), format!("/nowhere::.:{own}")] {
            assert!((0..100).any(|_| found(&run_one(custody, with_path(&path)))));
        }
        // What lies in the working directory is found by no entry that depends on it.
        let below = dir.path().file_name().unwrap().to_str().unwrap();
        for path in ["", ".", ":/bin", "/bin:", "/bin::/usr/bin", "./", &format!("../{below}"), "..", "\0"] {
            let ended = run_one(custody, with_path(path));
            assert!(matches!(ended.end, End::NotStarted(_)), "{path:?}: {:?}", ended.end);
        }
        let ended = run_one(custody, with_path(".:/bin"));
        assert_eq!(refused(&ended).to_string(), "no program becket-test-tool in any absolute entry of PATH");
        let mut job = program("true", &[]);
        job.env.clear();
        assert!(matches!(run_one(custody, job).end, End::Exited(0)), "a default where there is none");
    });
}

fn only_three_descriptors_and_the_given_environment() {
    each_custody(|custody| {
        let mut job = sh("/bin/ls /proc/$$/fd; /usr/bin/env");
        job.env = vec![("A".into(), "1".into()), (MARK.into(), "mine".into())];
        let ended = run_one(custody, job);
        let said = text(&ended.stdout.head);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines[..3], ["0", "1", "2"], "{said}");
        let mut names: Vec<&str> = lines[3..].iter().filter_map(|line| line.split('=').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["A", MARK, "PWD"], "{said}");
        assert!(!said.contains("mine"));
    });
}

fn others_go_on_when_one_cannot_start() {
    each_custody(|custody| {
        let ends = run_all(custody, &[sh("exit 1"), program("/no/such", &[]), sh("exit 3")]);
        assert!(matches!(ends[0].end, End::Exited(1)) && matches!(ends[2].end, End::Exited(3)));
        refused(&ends[1]);
    });
}
