//! `becket-model SCRIPT [PORT]`: a model that says what a script tells it to.
//!
//! Its address is the first line on stdout; every request follows as one line of JSON. It ends when stdin ends, and
//! after an hour.

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use becket_model::{Model, Script};

const LONGEST: Duration = Duration::from_secs(3600);
const LOOK: Duration = Duration::from_millis(50);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // There is nobody else to tell.
            let _ = writeln!(io::stderr(), "becket-model: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (path, port) = match arguments.as_slice() {
        [path] => (path, 0),
        [path, port] => (path, port.parse()?),
        _ => {
            return Err(
                "usage: becket-model SCRIPT [PORT] (a script: {\"turns\": [{\"say\": \"hello\"}]})".into()
            );
        }
    };
    let script: Script = serde_json::from_str(&fs::read_to_string(path)?)?;
    let model = Model::start_on(port, script)?;
    let mut out = io::stdout();
    writeln!(out, "{}", model.url())?;
    out.flush()?;
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || {
        // An error on stdin is its end too.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        sender.send(())
    });
    let (start, mut told) = (Instant::now(), 0);
    loop {
        let waited = ended.recv_timeout(LOOK);
        for seen in model.seen().iter().skip(told) {
            writeln!(out, "{}", serde_json::to_string(seen)?)?;
            told += 1;
        }
        out.flush()?;
        if waited != Err(RecvTimeoutError::Timeout) || start.elapsed() > LONGEST {
            return Ok(());
        }
    }
}
