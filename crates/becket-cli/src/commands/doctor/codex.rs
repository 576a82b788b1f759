//! Whether Codex runs the entries and trusts them: it is asked itself, through its own server on stdin and stdout.

use std::path::Path;

use becket::core::json::{self, Repeated};
use becket::core::text;
use becket::others;
use becket_hosts::Host;
use becket_hosts::install::{edit, is_installed_line};
use becket_hosts::switch::{self, Applies, Off};
use camino::Utf8Path;
use serde_json::{Value, json};

use super::run::{Runner, Start};
use super::switches;
use super::{Check, Finding, VERSION_TIME};
use crate::commands::install::{Places, next_steps};

/// What Codex says of the entries in a file; where it cannot be asked, what its settings say. `off`: what its files say
/// of switches.
pub(super) fn checks(
    places: &Places,
    runner: &mut Runner,
    (path, bytes): (&Utf8Path, &[u8]),
    entries: usize,
    mut off: Vec<Off>,
) -> Vec<Check> {
    let say = |what, finding, text: String| Check { what, finding, text };
    let asked = ask(places, runner, path);
    let mut checks = Vec::new();
    if let Ok(asked) = &asked {
        for why in &asked.complaints {
            let said = text::line(text::bounded(why, 400).trim_end()).into_owned();
            // Whatever it is, it has not kept the entries out.
            if asked.listed >= entries {
                checks.push(say("settings", Finding::Note, format!("Codex itself says: {said}")));
            } else {
                checks.push(say("settings", Finding::Bad, format!("Codex itself says: {said}. Mend it")));
            }
            // It has said the same of that file, and where.
            off.retain(|off| off.applies != Applies::Unknown || !is_about(why, off));
        }
        let applies_here = |off: &Off| matches!(off.applies, Applies::Always | Applies::Here);
        match &asked.off {
            Some(why) if !off.iter().any(applies_here) => {
                checks.push(say("switch", Finding::Bad, why.clone()));
            }
            Some(_) => {}
            // Which of a project's settings count, it knows best.
            None => off.retain(|off| off.applies != Applies::Here),
        }
    }
    let is_off = asked
        .as_ref()
        .is_ok_and(|asked| asked.off.is_some() || (!asked.complaints.is_empty() && asked.listed < entries))
        || off.iter().any(|off| matches!(off.applies, Applies::Always | Applies::Here));
    checks.extend(switches::checks(off));
    let config = places.codex_config();
    let remembered = others::read(&config, edit::LIMIT).ok().flatten().unwrap_or_default();
    // It may know the file by where links lead.
    let real = path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
    let remembered = switch::remembered(&remembered, &[path, &real], bytes);
    let line = |entry: &str| remembered.disabled.iter().find(|known| known.0 == entry).map(|known| known.1);
    let disabled = match &asked {
        Ok(asked) => asked.disabled.clone(),
        Err(_) => remembered.disabled.iter().map(|known| known.0.clone()).collect(),
    };
    for entry in disabled {
        let place = line(&entry).map_or_else(
            || "Codex itself says".to_owned(),
            |at| format!("{}:{at}", text::line(config.as_str())),
        );
        let text = format!(
            "{place}: the entry {} is switched off, so Codex skips it. Switch it on on its /hooks page",
            text::quote(&entry)
        );
        checks.push(say("switch", Finding::Bad, text));
    }
    let (trusted, listed, from) = match &asked {
        Ok(asked) => (asked.trusted, asked.listed, "Codex itself says so".to_owned()),
        Err(why) => {
            let from = format!("by the hashes in {}, for {why}", text::line(config.as_str()));
            (remembered.trusted, entries, from)
        }
    };
    checks.push(if trusted >= entries {
        say("trust", Finding::Good, format!("all {entries} entries are trusted ({from})"))
    } else if is_off && listed == 0 {
        let text = "Codex shows no entries as long as that is so, and nobody can tell whether it trusts them";
        say("trust", Finding::Note, text.to_owned())
    } else if listed == 0 {
        let text = "Codex itself says that it has none of the entries: something of its own keeps them out; see its \
                    /hooks page and `codex features list`";
        say("trust", Finding::Bad, text.to_owned())
    } else {
        let changed = match remembered.changed {
            0 => String::new(),
            changed => format!(", {changed} were trusted as they stood before"),
        };
        let text = format!(
            "{trusted} of {entries} entries are trusted{changed} ({from}); it skips the others without a word.\n{}",
            next_steps(Host::Codex, false).trim_end()
        );
        say("trust", Finding::Bad, text)
    });
    checks
}

/// Whether a complaint names the file that something else was found in.
fn is_about(complaint: &str, off: &Off) -> bool {
    off.file.as_ref().is_some_and(|file| complaint.contains(file.as_str()))
}

/// What Codex says itself.
struct Asked {
    /// How many of our entries it knows.
    listed: usize,
    /// How many of them it trusts as they are.
    trusted: usize,
    /// Which of them a person switched off, by where in the file they stand.
    disabled: Vec<String>,
    /// What it could not read.
    complaints: Vec<String>,
    /// What switches its hooks off.
    off: Option<String>,
}

/// Asks it, or says why it cannot be asked: for its hooks (`hooks/list`) and for its settings (`config/read`).
fn ask(places: &Places, runner: &mut Runner, path: &Utf8Path) -> Result<Asked, &'static str> {
    let client = json!({ "name": "becket", "title": "becket doctor", "version": env!("CARGO_PKG_VERSION") });
    let here = places.here();
    let said = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "clientInfo": client } }),
        json!({ "jsonrpc": "2.0", "method": "initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "hooks/list", "params": { "cwds": [here] } }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "config/read", "params": { "cwd": here } }),
    ];
    let said: String = said.iter().map(|line| format!("{line}\n")).collect();
    let program = runner.locate(Host::Codex.as_str()).ok_or("no program `codex` was found to be asked")?;
    let ended = runner.run(Start {
        program: &program,
        arguments: vec!["app-server".into()],
        directory: Path::new("/"),
        stdin: said.into_bytes(),
        most: VERSION_TIME,
        enough: Some(|output| {
            [1, 2].iter().all(|id| answers(output).iter().any(|answer| answer["id"] == *id))
        }),
    });
    let answers = answers(&ended.stdout.into_bytes());
    let answer = |id: u64| answers.iter().find(|answer| answer.get("id") == Some(&json!(id)));
    let listed = answer(1).and_then(|answer| answer.get("result")?.get("data")?.as_array());
    let directories = listed.ok_or("Codex itself did not answer in time")?;
    let (listed, trusted, disabled) = entries(directories, path);
    let settings = answer(2).and_then(|answer| answer.get("result"));
    Ok(Asked {
        listed,
        trusted,
        disabled,
        complaints: complaints(directories, path),
        // What it lists it has not switched off, whatever a file says: an organisation may have said otherwise.
        off: settings.filter(|_| listed == 0).and_then(|settings| switched_off(settings, here)),
    })
}

/// The objects of its output, one a line; what is not whole yet is none.
fn answers(output: &[u8]) -> Vec<Value> {
    let lines = output.split(|byte| *byte == b'\n');
    lines.filter_map(|line| json::parse(line, Repeated::LastWins).ok()).collect()
}

/// How many of our entries it knows, how many of them it trusts, and which are switched off.
fn entries(directories: &[Value], path: &Utf8Path) -> (usize, usize, Vec<String>) {
    let hooks = directories.iter().filter_map(|directory| directory.get("hooks")?.as_array()).flatten();
    let text = |hook: &Value, key: &str| hook.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let ours: Vec<&Value> = hooks
        .filter(|hook| {
            is_same_file(&text(hook, "sourcePath"), path)
                && is_installed_line(Host::Codex, &text(hook, "command"))
        })
        .collect();
    let is_trusted = |hook: &Value| matches!(text(hook, "trustStatus").as_str(), "trusted" | "managed");
    let trusted = ours.iter().filter(|hook| is_trusted(hook)).count();
    let disabled = ours.iter().filter(|hook| hook.get("enabled") == Some(&json!(false)));
    let disabled = disabled.map(|hook| {
        let (key, source) = (text(hook, "key"), text(hook, "sourcePath"));
        key.strip_prefix(&source).unwrap_or(&key).trim_start_matches(':').to_owned()
    });
    let disabled = disabled.collect();
    (ours.len(), trusted, disabled)
}

/// Whether a path leads to the same file, by whatever links.
fn is_same_file(said: &str, path: &Utf8Path) -> bool {
    let real = |path: &Utf8Path| path.canonicalize_utf8().ok();
    path == said || real(path).is_some_and(|path| real(Utf8Path::new(said)) == Some(path))
}

/// What it could not read: settings, which are no settings then, and our file.
fn complaints(directories: &[Value], path: &Utf8Path) -> Vec<String> {
    let list = |directory: &Value, key: &str| {
        directory.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let errors = directories.iter().flat_map(|directory| list(directory, "errors"));
    let errors = errors.filter_map(|error| Some(error.get("message")?.as_str()?.to_owned()));
    let warnings = directories.iter().flat_map(|directory| list(directory, "warnings"));
    let warnings = warnings.filter_map(|warning| Some(warning.as_str()?.to_owned()));
    let real = path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
    let is_ours = |warning: &String| warning.contains(path.as_str()) || warning.contains(real.as_str());
    let mut complaints: Vec<String> = Vec::new();
    for complaint in errors.chain(warnings.filter(is_ours)) {
        if !complaints.contains(&complaint) {
            complaints.push(complaint);
        }
    }
    complaints
}

/// What its settings, as they count in the project, say of its hooks.
fn switched_off(settings: &Value, here: &Utf8Path) -> Option<String> {
    let features = settings.get("config")?.get("features")?;
    let key =
        ["hooks", "codex_hooks"].into_iter().find(|key| features.get(key).is_some_and(Value::is_boolean))?;
    if features.get(key) != Some(&json!(false)) {
        return None;
    }
    let origin = settings.get("origins").and_then(|origins| origins.get(format!("features.{key}")));
    let name = origin.and_then(|origin| origin.get("name"));
    let place = name.and_then(|name| name.get("file").or_else(|| name.get("dotCodexFolder"))?.as_str());
    let place =
        place.map_or_else(|| "a setting of its own".to_owned(), |place| text::line(place).into_owned());
    Some(format!(
        "Codex itself says that `features.{key}` is false by {place}, so it runs no hook where it is started in {}. Take that out",
        text::line(here.as_str())
    ))
}
