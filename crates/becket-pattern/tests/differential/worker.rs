//! A Python process that answers what `re.search` says.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// What Python says about one pattern.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Refused(String),
    /// For each subject.
    Searched(Vec<Outcome>),
}

/// How a search went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    NotFound,
    Found,
    TooLong,
    /// With `SystemError`.
    Failed,
}

pub(crate) struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Major, minor and micro.
    pub(crate) version: (u64, u64, u64),
    /// The version of its Unicode tables.
    pub(crate) unicode: String,
}

impl Worker {
    /// Starts `python3`, or what `BECKET_PYTHON` names. Without a CPython from 3.11 on there is nothing to
    /// compare with, which must not look like agreement: it panics.
    pub(crate) fn start() -> Worker {
        let python = std::env::var("BECKET_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/differential/worker.py");
        let mut child = Command::new(&python)
            .args(["-I", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("this test needs {python} (CPython 3.11 or later): {error}"));
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let hello: Value = serde_json::from_str(&line).expect("the worker tells its version");
        let part = |index: usize| hello[index].as_u64().unwrap();
        let version = (part(0), part(1), part(2));
        assert!(version >= (3, 11, 0), "this test needs CPython 3.11 or later, {python} is {version:?}");
        Worker { child, input, output, version, unicode: hello[3].as_str().unwrap().to_owned() }
    }

    pub(crate) fn ask(&mut self, batch: &[(String, Vec<String>)]) -> Vec<Answer> {
        writeln!(self.input, "{}", json!(batch)).unwrap();
        self.input.flush().unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answers: Vec<Value> = serde_json::from_str(&line).expect("the worker answers each line");
        assert_eq!(answers.len(), batch.len());
        answers.iter().map(read_answer).collect()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_answer(answer: &Value) -> Answer {
    match answer {
        Value::String(reason) => Answer::Refused(reason.clone()),
        Value::Array(results) => Answer::Searched(
            results
                .iter()
                .map(|result| match result.as_u64() {
                    Some(0) => Outcome::NotFound,
                    Some(1) => Outcome::Found,
                    Some(2) => Outcome::TooLong,
                    _ => Outcome::Failed,
                })
                .collect(),
        ),
        other => panic!("the worker answered {other}"),
    }
}
