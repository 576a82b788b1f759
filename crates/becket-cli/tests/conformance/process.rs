//! Starting the program, feeding it, hearing all it says, and never waiting for ever.

use std::io::{Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::case::Step;
use crate::place::{self, Place, text};

/// A program that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whoever holds the program's output after its end has so long to let go.
const LET_GO: Duration = Duration::from_secs(10);

/// Between two looks at something that happens outside.
pub(crate) const PAUSE: Duration = Duration::from_millis(2);

/// All that came out of one run.
#[derive(Debug, Clone)]
pub(crate) struct Came {
    pub(crate) exit: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) took: Duration,
}

/// Runs what a step says. `number` tells the copies of one step apart.
pub(crate) fn run(place: &Place, step: &Step, number: u32) -> Result<Came, String> {
    if let Some(path) = &step.when {
        wait_for(place, path)?;
    }
    let fill = |text: &str| place.fill(&text.replace("{n}", &number.to_string()));
    let mut command = match &step.shell {
        Some(script) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(fill(script)?);
            command
        }
        // Who starts the tests in the background may have them ignore an interrupt, which would be inherited.
        None if step.signal.is_some() => {
            let mut command = Command::new("/usr/bin/env");
            command.arg("--default-signal").arg(place.fill("{becket}")?);
            command
        }
        None => Command::new(place.fill("{becket}")?),
    };
    if step.fire.is_some() {
        command.arg("fire");
    }
    for argument in step.run.iter().flatten().chain(&step.args) {
        command.arg(fill(argument)?);
    }
    command.env_clear().envs(&place.environment);
    for (name, value) in &step.env {
        command.env(name, fill(value)?);
    }
    command.current_dir(place.path(step.cwd.as_deref().unwrap_or(""))?);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let stdin = stdin(place, step, &fill)?;
    let began = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("cannot start the program: {error}"))?;
    let mut input = child.stdin.take().ok_or("no stdin")?;
    let keeps_open = step.stdin_stays_open;
    let (held, holder) = mpsc::channel();
    thread::spawn(move || {
        // Whoever does not read all of it may have good reasons.
        drop(input.write_all(&stdin));
        if keeps_open {
            drop(held.send(input));
        }
    });
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let signal = step.signal.as_ref().map(|signal| {
        wait_for(place, &signal.when)?;
        send(&place.fill(&signal.name)?, child.id())
    });
    let ended = wait(&mut child);
    let took = began.elapsed();
    drop(holder);
    if ended.is_err() {
        drop(send("KILL", child.id()));
        drop(child.wait());
    }
    let hear = |from: mpsc::Receiver<Vec<u8>>, name: &str| {
        from.recv_timeout(LET_GO).map_err(|_| format!("{name} is still held open after the program's end"))
    };
    let (stdout, stderr) = (hear(stdout, "stdout")?, hear(stderr, "stderr")?);
    signal.transpose()?;
    let status = ended.map_err(|why| {
        format!(
            "{why}\nstdout: {}\nstderr: {}",
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr)
        )
    })?;
    Ok(Came { exit: status.code(), signal: status.signal(), stdout, stderr, took })
}

fn stdin(
    place: &Place,
    step: &Step,
    fill: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<u8>, String> {
    match (&step.fire, &step.stdin, &step.stdin_hex) {
        (Some(envelope), ..) => {
            let written = serde_json::to_string(&place.fill_value(envelope)?).map_err(text)?;
            // A copy's number stands inside strings only, so it can be filled in afterwards.
            Ok(written.replace("{n}", &fill("{n}")?).into_bytes())
        }
        (None, Some(written), _) => Ok(fill(written)?.into_bytes()),
        (None, None, Some(digits)) => place::hex(&fill(digits)?),
        (None, None, None) => Ok(Vec::new()),
    }
}

fn drain(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (tell, heard) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            drop(stream.read_to_end(&mut bytes));
        }
        drop(tell.send(bytes));
    });
    heard
}

fn wait(child: &mut Child) -> Result<std::process::ExitStatus, String> {
    let until = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() < until => thread::sleep(PAUSE),
            Ok(None) => return Err(format!("it hangs: no end after {} s", PATIENCE.as_secs())),
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn wait_for(place: &Place, path: &str) -> Result<(), String> {
    let path = place.path(path)?;
    match eventually(|| path.exists()) {
        true => Ok(()),
        false => Err(format!("{} never came to be", path.display())),
    }
}

/// Whether something comes to hold in good time.
pub(crate) fn eventually(holds: impl Fn() -> bool) -> bool {
    let until = Instant::now() + LET_GO;
    while !holds() {
        if Instant::now() > until {
            return false;
        }
        thread::sleep(PAUSE);
    }
    true
}

/// Sends a signal to one process.
pub(crate) fn send(signal: &str, process: u32) -> Result<(), String> {
    let sent = Command::new("kill").arg(format!("-{signal}")).arg(process.to_string()).status();
    match sent {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("no process {process} to send {signal} to")),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether a process runs; one that has ended and was not waited for does not.
pub(crate) fn is_alive(process: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, Some('Z' | 'X') | None)
}
