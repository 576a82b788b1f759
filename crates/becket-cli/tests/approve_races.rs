//! Two programs that approve at once lose nothing: what one stores is never written over by what the other read before.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// So many rounds of two approvals at once.
const ROUNDS: usize = 200;

fn becket(home: &Path, directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_becket"));
    command.args(arguments).env_clear().env("HOME", home).current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn hash(home: &Path, project: &Path) -> String {
    let output = becket(home, project, &["list", "--json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    list["sources"][0]["hash"].as_str().unwrap().to_owned()
}

fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn two_approvals_at_once_are_both_stored() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home");
    fs::create_dir(&home).unwrap();
    let projects = ["one", "two"].map(|name| {
        let project = root.path().join(name);
        fs::create_dir_all(project.join(".celeste")).unwrap();
        fs::write(project.join(".celeste/hooks.json"), r#"{"hooks":[{"event":"Stop","command":"true"}]}"#)
            .unwrap();
        project
    });
    let hash = hash(&home, &projects[0]);
    let store = home.join(".celeste/trusted.json");
    for round in 0..ROUNDS {
        drop(fs::remove_file(&store));
        let children = projects.clone().map(|project| {
            becket(&home, &project, &["approve", ".celeste/hooks.json", "--hash", &hash]).spawn().unwrap()
        });
        children.into_iter().for_each(finish);
        let stored = fs::read_to_string(&store).unwrap();
        for project in &projects {
            let key = project.join(".celeste/hooks.json");
            assert!(stored.contains(key.to_str().unwrap()), "round {round}: {stored}");
        }
    }
}
