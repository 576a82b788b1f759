//! Other programs, run for so long at most.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use becket_hosts::answer::Words;

/// Runs a command to its end, for so long at most.
pub(super) fn to_its_end(mut command: Command, stdin: &[u8], most: Duration) -> std::io::Result<Words> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // One that ends without reading has its reasons.
        drop(pipe.write_all(stdin));
    }
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let reader = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(pipe) = pipe {
                drop(pipe.take(1 << 20).read_to_end(&mut bytes));
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = reader(stdout.map(|pipe| Box::new(pipe) as _));
    let stderr = reader(stderr.map(|pipe| Box::new(pipe) as _));
    let until = Instant::now() + most;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > until {
            drop(child.kill());
            drop(child.wait());
            return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "it did not end in time"));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let exit = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255);
    Ok(Words { stdout: stdout.join().unwrap_or_default(), stderr: stderr.join().unwrap_or_default(), exit })
}

/// Says something to a program that stays, and reads its lines until the last that is wanted.
pub(super) fn until_the_last_line(
    mut command: Command,
    said: &str,
    most: Duration,
    mut is_last: impl FnMut(&str) -> bool,
) -> Option<Vec<String>> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    drop(stdin.write_all(said.as_bytes()));
    let stdout = child.stdout.take()?;
    let (send, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    let until = Instant::now() + most;
    let mut all = Vec::new();
    let mut is_whole = false;
    while let Ok(line) = lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
        is_whole = is_last(&line);
        all.push(line);
        if is_whole {
            break;
        }
    }
    drop(child.kill());
    drop(child.wait());
    is_whole.then_some(all)
}
