//! Codex as its own windows drive it: a server on stdin and stdout, one JSON value a line.
//!
//! `codex exec` shows nothing of what a hook tells the person; this interface does, and it knows which hooks a person has
//! reviewed.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{Error, Ran, Sandbox};

struct Server {
    child: Child,
    input: ChildStdin,
    output: Receiver<Value>,
    until: Instant,
    next: u64,
    /// Every notification so far.
    heard: Vec<Value>,
}

/// Approves every hook that Codex finds, as its own page does: by the hash it shows.
///
/// # Errors
/// The server does not answer.
pub(super) fn trust(sandbox: &Sandbox, longest: Duration) -> Result<usize, Error> {
    let hooks = list(sandbox, longest)?;
    let mut state = String::new();
    for hook in &hooks {
        writeln!(state, "\n[hooks.state.{}]\ntrusted_hash = {}", hook["key"], hook["currentHash"])?;
    }
    let path = sandbox.home().join(".codex/config.toml");
    let config = fs::read_to_string(&path)?;
    fs::write(&path, config + &state)?;
    let trusted = list(sandbox, longest)?.iter().filter(|hook| hook["trustStatus"] == "trusted").count();
    Ok(trusted)
}

/// The hooks that Codex finds.
fn list(sandbox: &Sandbox, longest: Duration) -> Result<Vec<Value>, Error> {
    let mut server = Server::start(sandbox, longest)?;
    let answer = server.call("hooks/list", &json!({"cwds": [sandbox.project()]}))?;
    Ok(answer.pointer("/data/0/hooks").and_then(Value::as_array).cloned().unwrap_or_default())
}

/// One turn. What the hooks told the person stands in `stdout`, one entry a line.
pub(super) fn ask(sandbox: &Sandbox, prompt: &str, longest: Duration) -> Result<Ran, Error> {
    let start = Instant::now();
    let mut server = Server::start(sandbox, longest)?;
    let thread = server.call("thread/start", &json!({"cwd": sandbox.project()}))?;
    let thread = thread.pointer("/thread/id").ok_or("no thread")?.clone();
    server.call("turn/start", &json!({"threadId": thread, "input": [{"type": "text", "text": prompt}]}))?;
    server.wait(|message| message["method"] == "turn/completed")?;
    let entries = server.heard.iter().filter(|message| message["method"] == "hook/completed");
    let texts = entries.flat_map(|message| message.pointer("/params/run/entries").and_then(Value::as_array));
    let lines: Vec<_> = texts.flatten().filter_map(|entry| entry["text"].as_str()).collect();
    Ok(Ran {
        code: Some(0),
        cut: false,
        stdout: lines.join("\n"),
        stderr: fs::read_to_string(sandbox.root().join("server.log")).unwrap_or_default(),
        took: start.elapsed(),
        peak_mib: 0,
    })
}

impl Server {
    fn start(sandbox: &Sandbox, longest: Duration) -> Result<Self, Error> {
        let mut command: Command = sandbox.command("codex");
        command.env("CODEX_HOME", sandbox.home().join(".codex")).arg("app-server");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(fs::File::create(sandbox.root().join("server.log"))?);
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".into());
        };
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            for value in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let until = Instant::now() + longest;
        let mut server = Self { child, input, output: receiver, until, next: 0, heard: Vec::new() };
        server.call("initialize", &json!({"clientInfo": {"name": "becket-e2e", "version": "0"}}))?;
        server.send(&json!({"method": "initialized"}))?;
        Ok(server)
    }

    fn send(&mut self, message: &Value) -> Result<(), Error> {
        writeln!(self.input, "{message}")?;
        Ok(self.input.flush()?)
    }

    fn call(&mut self, method: &str, params: &Value) -> Result<Value, Error> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"id": id, "method": method, "params": params}))?;
        let answer = self.wait(|message| message["id"] == id && message.get("method").is_none())?;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(format!("{method}: {answer}").into()),
        }
    }

    /// The next message of one kind; all are remembered.
    fn wait(&mut self, is_it: impl Fn(&Value) -> bool) -> Result<Value, Error> {
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            let message = self.output.recv_timeout(left).map_err(|_| "Codex's server said nothing more")?;
            self.heard.push(message.clone());
            if is_it(&message) {
                return Ok(message);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
