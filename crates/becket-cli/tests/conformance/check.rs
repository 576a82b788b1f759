//! Whether what came is what was expected, told so that a person sees the difference at once.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::case::{Expect, FileExpect, Tally};
use crate::matching::differences;
use crate::place::{Place, text};
use crate::process::{self, Came};

/// Longest stream that a report shows, in bytes.
const SHOWN: usize = 20_000;

/// Processes that a case left alive on purpose. They end with it.
#[derive(Default)]
pub(crate) struct Guests(Vec<u32>);

impl Drop for Guests {
    fn drop(&mut self) {
        for process in &self.0 {
            drop(process::send("KILL", *process));
        }
    }
}

/// One run against what is expected of it. What holds for every run holds without being said.
pub(crate) fn came(place: &Place, expect: Option<&Expect>, came: &Came, fires: bool) -> Result<(), String> {
    let mut found = Vec::new();
    let stderr = String::from_utf8_lossy(&came.stderr);
    if stderr.contains("panicked at") {
        found.push("the program panicked".to_owned());
    }
    if fires && came.exit == Some(1) && !came.stdout.is_empty() {
        found.push("nothing was judged, and yet something stands on stdout".to_owned());
    }
    if let Some(expect) = expect {
        found.extend(unlike(place, expect, came)?);
    }
    if found.is_empty() { Ok(()) } else { Err(report(&found, came)) }
}

fn unlike(place: &Place, expect: &Expect, came: &Came) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let exit = match &expect.exit {
        None => Some(0),
        Some(Value::String(written)) => place.fill(written)?.parse().ok(),
        Some(number) => number.as_i64(),
    };
    let exit = exit.ok_or("`exit` is no number")?;
    match (expect.killed, came.signal) {
        (true, None) => found.push(format!("expected an end by a signal, found exit {:?}", came.exit)),
        (false, Some(signal)) => found.push(format!("it was ended by signal {signal}")),
        (false, None) if came.exit.map(i64::from) != Some(exit) => {
            found.push(format!("expected exit {exit}, found exit {}", came.exit.unwrap_or(-1)));
        }
        _ => {}
    }
    let mut compare = |wanted: &Option<Value>, actual: &Value, name: &str| -> Result<(), String> {
        if let Some(wanted) = wanted {
            found.extend(differences(&place.fill_value(wanted)?, Some(actual), name));
        }
        Ok(())
    };
    let stdout = String::from_utf8_lossy(&came.stdout);
    let stderr = String::from_utf8_lossy(&came.stderr);
    compare(&expect.stdout, &Value::String(stdout.to_string()), "stdout")?;
    compare(&expect.stderr, &Value::String(stderr.to_string()), "stderr")?;
    if expect.lines.is_some() {
        compare(&expect.lines, &lines(&stdout), "lines")?;
    }
    if expect.json.is_some() {
        match serde_json::from_slice(&came.stdout) {
            Ok(value) => compare(&expect.json, &value, "json")?,
            Err(error) => found.push(format!("stdout is not JSON: {error}")),
        }
    }
    if let Some(bound) = expect.within
        && came.took.as_secs_f64() > bound
    {
        found.push(format!("it took {:.2} s, more than {bound} s", came.took.as_secs_f64()));
    }
    Ok(found)
}

/// Each line as JSON; one that is none as text.
fn lines(text: &str) -> Value {
    let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| Value::String(line.to_owned()));
    Value::Array(text.lines().map(line).collect())
}

fn report(found: &[String], came: &Came) -> String {
    let mut report = String::from("\n");
    for difference in found {
        let _ = writeln!(report, "  - {difference}");
    }
    let _ = writeln!(
        report,
        "\nexit {:?}, signal {:?}, {:.3} s",
        came.exit,
        came.signal,
        came.took.as_secs_f64()
    );
    for (name, bytes) in [("stdout", &came.stdout), ("stderr", &came.stderr)] {
        let pretty =
            serde_json::from_slice::<Value>(bytes).and_then(|value| serde_json::to_string_pretty(&value));
        let whole = pretty.unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned());
        let shown = &whole[..whole.floor_char_boundary(SHOWN)];
        let cut = if shown.len() < whole.len() { "\n[cut]" } else { "" };
        let _ = writeln!(report, "--- {name}, {} bytes\n{shown}{cut}", bytes.len());
    }
    report
}

/// How many runs came out in one way.
pub(crate) fn tally<'c>(
    place: &Place,
    tally: &Tally,
    came: impl Iterator<Item = &'c Came>,
) -> Result<(), String> {
    let mut count = 0;
    let mut others = String::new();
    for one in came {
        let found = unlike(place, &tally.expect, one)?;
        if found.is_empty() {
            count += 1;
        } else {
            others.push_str(&report(&found, one));
        }
    }
    if count == tally.count {
        return Ok(());
    }
    Err(format!("{count} runs came out as expected, not {}; the others:\n{others}", tally.count))
}

/// What must be so outside the program afterwards.
pub(crate) fn world(place: &Place, expect: &Expect, guests: &mut Guests) -> Result<(), String> {
    for path in &expect.gone {
        for process in ids(place, path)? {
            if !process::eventually(|| !process::is_alive(process)) {
                drop(process::send("KILL", process));
                return Err(format!("process {process} of {path} is still alive"));
            }
        }
    }
    for path in &expect.alive {
        for process in ids(place, path)? {
            if !process::is_alive(process) {
                return Err(format!("process {process} of {path} is gone"));
            }
            guests.0.push(process);
        }
    }
    for expect in &expect.file {
        file(place, expect)?;
    }
    Ok(())
}

fn ids(place: &Place, path: &str) -> Result<Vec<u32>, String> {
    let path = place.path(path)?;
    let written = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let ids: Vec<u32> = written.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    if ids.is_empty() { Err(format!("{} holds no process id", path.display())) } else { Ok(ids) }
}

fn file(place: &Place, expect: &FileExpect) -> Result<(), String> {
    let path = place.path(&expect.path)?;
    let shown = path.display();
    if expect.absent {
        return if path.exists() { Err(format!("{shown} must not exist")) } else { Ok(()) };
    }
    let data = fs::metadata(&path).map_err(|error| format!("{shown}: {error}"))?;
    if let Some(mode) = expect.mode {
        let found = data.permissions().mode() & 0o7777;
        if found != mode {
            return Err(format!("{shown}: expected mode {mode:o}, found {found:o}"));
        }
    }
    if expect.text.is_none() && expect.json.is_none() && expect.lines.is_none() {
        return Ok(());
    }
    let bytes = fs::read(&path).map_err(|error| format!("{shown}: {error}"))?;
    let content = String::from_utf8_lossy(&bytes);
    let mut found = Vec::new();
    for (wanted, actual) in [
        (&expect.text, Some(Value::String(content.to_string()))),
        (&expect.lines, Some(lines(&content))),
        (&expect.json, serde_json::from_slice(&bytes).ok()),
    ] {
        if let Some(wanted) = wanted {
            found.extend(differences(
                &place.fill_value(wanted).map_err(text)?,
                actual.as_ref(),
                &expect.path,
            ));
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n--- {shown}\n{}", found.join("\n"), crate::matching::short(&content)))
}
