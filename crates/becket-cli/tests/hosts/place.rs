//! A home and a project of a test's own.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

pub(crate) const AGENTS: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

pub(crate) struct Place {
    root: tempfile::TempDir,
}

/// How a run ended.
pub(crate) struct Said {
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("{} {}", self.stdout, self.stderr))
    }

    /// The reason, if the agent takes this for a denial of a call.
    pub(crate) fn denial(&self, agent: &str) -> Option<String> {
        if self.exit == 2 && agent != "opencode" {
            return Some(self.stderr.clone());
        }
        let said = self.json();
        let specific = &said["hookSpecificOutput"];
        let (is_denied, reason) = match agent {
            "gemini" => (said["decision"] == "deny", &said["reason"]),
            "opencode" => (said["verdict"] == "deny", &said["reason"]),
            _ => (specific["permissionDecision"] == "deny", &specific["permissionDecisionReason"]),
        };
        is_denied.then(|| reason.as_str().unwrap().to_owned())
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.home()).unwrap();
        fs::create_dir_all(place.shop().join(".git")).unwrap();
        fs::create_dir_all(place.shop().join("sub")).unwrap();
        place
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap().join("home")
    }

    pub(crate) fn shop(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap().join("shop")
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.path().canonicalize().unwrap().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.root.path().join(path)).ok()
    }

    /// Hooks of the person's own, which need no approval: by event, with a command each.
    pub(crate) fn hooks(&self, hooks: &[(&str, &str)]) {
        let mut events = json!({});
        for (event, command) in hooks {
            events[*event] = json!([{"hooks": [{"type": "command", "command": command}]}]);
        }
        self.write("home/.albedo/hooks.json", json!({ "hooks": events }).to_string());
    }

    /// A command in the shop, with this home and nothing else.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home())
            .current_dir(self.shop())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn becket(&self, args: &[&str]) -> Said {
        let mut command = self.command(env!("CARGO_BIN_EXE_becket"));
        command.args(args);
        finish(command.spawn().unwrap(), "")
    }

    pub(crate) fn install(&self, agents: &[&str]) {
        let said = self.becket(&[&["install"], agents].concat());
        assert_eq!(said.exit, 0, "{}", said.stderr);
    }

    /// The installed command line under an event of the agent's.
    pub(crate) fn line(&self, agent: &str, event: &str) -> String {
        let path = match agent {
            "claude" => "home/.claude/settings.json",
            "codex" => "home/.codex/hooks.json",
            "gemini" => "home/.gemini/settings.json",
            _ => {
                let text = self.read("home/.config/opencode/plugin/becket.js").unwrap();
                let argv = text.lines().find_map(|line| line.strip_prefix("const LINE = ")).unwrap();
                let argv: Vec<String> = serde_json::from_str(argv).unwrap();
                return argv.join(" ");
            }
        };
        let settings: Value = serde_json::from_str(&self.read(path).unwrap()).unwrap();
        settings["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap().to_owned()
    }

    pub(crate) fn start(&self, line: &str) -> Child {
        let mut command = self.command("sh");
        // What a repository's settings could put there counts for nothing.
        command.args(["-c", line]).env("HOME", "/nonexistent").env("ALBEDO_HOME", "/nonexistent");
        command.spawn().unwrap()
    }

    /// The agent's event through the line that was installed for it.
    pub(crate) fn event(&self, agent: &str, event: &str, envelope: &Value) -> Said {
        finish(self.start(&self.line(agent, event)), &envelope.to_string())
    }

    /// A shell call as the agent reports it.
    pub(crate) fn call(&self, agent: &str, command: &str, id: &str) -> (&'static str, Value) {
        let (shop, input) = (self.shop(), json!({ "command": command }));
        match agent {
            "gemini" => (
                "BeforeTool",
                json!({"session_id": "s", "transcript_path": "/t", "cwd": shop, "hook_event_name": "BeforeTool",
                    "timestamp": "2026-11-30T12:04:58.381Z", "tool_name": "run_shell_command", "tool_input": input}),
            ),
            "opencode" => (
                "tool.execute.before",
                json!({"becket": 1, "hook": "tool.execute.before", "directory": shop,
                    "input": {"tool": "bash", "sessionID": "s", "callID": id}, "output": {"args": input}}),
            ),
            "codex" => (
                "PreToolUse",
                json!({"session_id": "s", "turn_id": "t", "transcript_path": "/t", "cwd": shop,
                    "hook_event_name": "PreToolUse", "model": "m", "permission_mode": "default",
                    "tool_name": "Bash", "tool_input": input, "tool_use_id": id}),
            ),
            _ => (
                "PreToolUse",
                json!({"session_id": "s", "transcript_path": "/t", "cwd": shop, "hook_event_name": "PreToolUse",
                    "permission_mode": "default", "tool_name": "Bash", "tool_input": input, "tool_use_id": id}),
            ),
        }
    }

    /// What became of a shell call.
    pub(crate) fn shell(&self, agent: &str, command: &str, id: &str) -> Said {
        let (event, envelope) = self.call(agent, command, id);
        self.event(agent, event, &envelope)
    }
}

pub(crate) fn finish(mut child: Child, stdin: &str) -> Said {
    let mut pipe = child.stdin.take().unwrap();
    // It may answer without reading all.
    let _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    Said {
        exit: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
