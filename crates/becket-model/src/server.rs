//! The server.

use std::io::{self, Read as _};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tiny_http::{Header, Request, Response, Server};

use crate::api::{Api, Ask, Form};
use crate::{Script, Seen, Turn};

/// A request's body in bytes, at most; more is answered with status 413.
const LONGEST: u64 = 64 << 20;
/// Requests that are answered at once; an agent asks aside while its main request is open.
const WORKERS: usize = 4;
/// A turn's `wait_ms`, at most.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A running model. It ends when it is dropped.
#[derive(Debug)]
pub struct Model {
    shared: Arc<Shared>,
    port: u16,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    server: Server,
    script: Script,
    start: Instant,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: usize,
    seen: Vec<Seen>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("script", &self.script)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Model {
    /// Starts a model on a free port of the loopback interface.
    ///
    /// # Errors
    /// No port or no thread can be had.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_on(0, script)
    }

    /// Starts a model on one port; 0 for any.
    ///
    /// # Errors
    /// The port is taken, or no thread can be had.
    pub fn start_on(port: u16, script: Script) -> io::Result<Self> {
        let server = Server::http((Ipv4Addr::LOCALHOST, port)).map_err(io::Error::other)?;
        let port = server
            .server_addr()
            .to_ip()
            .map(|address| address.port())
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        let shared = Arc::new(Shared { server, script, start: Instant::now(), state: Mutex::default() });
        let mut model = Self { shared, port, workers: Vec::with_capacity(WORKERS) };
        for _ in 0..WORKERS {
            let shared = Arc::clone(&model.shared);
            model.workers.push(thread::Builder::new().name("model".into()).spawn(move || shared.work())?);
        }
        Ok(model)
    }

    /// Where it listens: `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Every request so far, in the order of arrival.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.state().seen.clone()
    }

    /// The requests that took a turn of the script: those that offered tools.
    pub fn turns(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| !seen.aside).collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        for _ in &self.workers {
            self.shared.server.unblock();
        }
        for worker in self.workers.drain(..) {
            // A worker that panicked has answered nothing, which its client has noticed.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers requests until the server is unblocked.
    fn work(&self) {
        while let Ok(mut request) = self.server.recv() {
            let response = self.answer(&mut request);
            // A client that has gone hears nothing.
            let _ = request.respond(response);
        }
    }

    fn answer(&self, request: &mut Request) -> Response<io::Cursor<Vec<u8>>> {
        let Some(ask) = Ask::of(request.url()) else {
            return refuse(404, "this model has no such address");
        };
        let mut bytes = Vec::new();
        if let Err(error) = request.as_reader().take(LONGEST + 1).read_to_end(&mut bytes) {
            return refuse(400, &error.to_string());
        }
        if bytes.len() as u64 > LONGEST {
            return refuse(413, "the request is too long");
        }
        let body: Value = match serde_json::from_slice(&bytes) {
            Ok(body) => body,
            Err(error) => return refuse(400, &error.to_string()),
        };
        if ask.form == Form::Count {
            return whole(&ask.api.count());
        }
        let streams = ask.streams(&body);
        let (number, turn) = self.take(ask.api, request.url(), body);
        thread::sleep(Duration::from_millis(turn.wait_ms).min(LONGEST_WAIT));
        match turn.status {
            Some(status) => refuse(status, turn.say.as_deref().unwrap_or_default()),
            None if streams => stream(&ask.api.events(&turn, number)),
            None => whole(&ask.api.whole(&turn, number)),
        }
    }

    /// Remembers a request and says what its answer is, with a number of its own.
    fn take(&self, api: Api, path: &str, body: Value) -> (usize, Turn) {
        let mut state = self.state();
        let number = state.seen.len();
        let at_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let seen = Seen { api, path: path.to_owned(), aside: !api.offers_tools(&body), at_ms, body };
        let turn = if seen.aside {
            Turn::say(if seen.wants_json() {
                r#"{"next_speaker":"user","reasoning":"scripted"}"#
            } else {
                "ok"
            })
        } else {
            state.next += 1;
            self.script.turn(state.next - 1)
        };
        state.seen.push(seen);
        (number, turn)
    }
}

fn refuse(status: u16, message: &str) -> Response<io::Cursor<Vec<u8>>> {
    typed(
        json!({"error": {"code": status, "message": message, "type": "scripted"}}).to_string(),
        "application/json",
    )
    .with_status_code(status)
}

fn whole(body: &Value) -> Response<io::Cursor<Vec<u8>>> {
    typed(body.to_string(), "application/json")
}

/// Server-sent events; an event of the name "" has none.
fn stream(events: &[(&'static str, Value)]) -> Response<io::Cursor<Vec<u8>>> {
    let mut text = String::new();
    for (name, data) in events {
        if !name.is_empty() {
            text.push_str(&format!("event: {name}\n"));
        }
        match data {
            Value::String(word) => text.push_str(&format!("data: {word}\n\n")),
            data => text.push_str(&format!("data: {data}\n\n")),
        }
    }
    typed(text, "text/event-stream")
}

fn typed(text: String, kind: &'static str) -> Response<io::Cursor<Vec<u8>>> {
    let response = Response::from_string(text);
    match Header::from_bytes(&b"Content-Type"[..], kind.as_bytes()) {
        Ok(header) => response.with_header(header),
        Err(()) => response,
    }
}
