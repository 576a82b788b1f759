//! Becket in the real agents.

use std::fmt::Write as _;
use std::time::Duration;

use becket_e2e::{Agents, Host, NativeHook, Sandbox};
use becket_model::{Model, Script};

fn main() {
    let agents = Agents::fetch().unwrap();
    for host in [Host::Codex] {
        let sandbox = Sandbox::new(&agents, host, std::path::Path::new("/bin/true")).unwrap();
        let model = Model::start(Script::new([host.shell("echo hi >ran"), host.write("a.txt", "hello")])).unwrap();
        host.configure(&sandbox, &model).unwrap();
        let log = sandbox.root().join("log").display().to_string();
        let _ = host.hook_natively(&sandbox, &["SessionStart","UserPromptSubmit","PreToolUse","PostToolUse","Stop","SessionEnd"].map(|event| NativeHook{event, command: format!("cat >>{log}; echo >>{log}"), seconds: Some(5)}));
        let ran = host.ask(&sandbox, &model, "fix the bug").unwrap();
        println!("{} {:?} {:?}\n{}\n---\n{}", host.name(), ran.code, ran.took, ran.stdout, ran.stderr);
        println!("ran {:?} a {:?}", sandbox.read("project/ran"), sandbox.read("project/a.txt"));
        println!("{}", sandbox.read("log").unwrap_or_default());
        for seen in model.seen() {
            println!("{:?} aside {} {} tools {:?}", seen.api, seen.aside, seen.path, seen.body["tools"].as_array().map(|t| t.iter().map(|t| t.to_string().chars().take(90).collect::<String>()).collect::<Vec<_>>()));
            println!("  results {:?}", seen.results());
        }
    }
}
