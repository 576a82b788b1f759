//! Runs every case in `conformance/` against the built program: each file is a test of its own.

mod case;
mod check;
mod matching;
mod place;
mod process;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use libtest_mimic::{Arguments, Failed, Trial};

use case::{Case, Expect, Step};
use place::{Place, text};
use process::Came;

/// So many cases run at once: most of them wait for processes of their own.
const AT_ONCE: usize = 4;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance"));
    let mut files = Vec::new();
    if let Err(error) = collect(root, &mut files) {
        return failed(&format!("{}: {error}", root.display()));
    }
    files.sort();
    let trials = files.into_iter().map(|file| {
        let name = file.strip_prefix(root).unwrap_or(&file).with_extension("");
        Trial::test(name.to_string_lossy().into_owned(), move || try_case(&file).map_err(Failed::from))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

#[expect(clippy::print_stderr, reason = "a test program speaks to whoever runs it")]
fn failed(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    Ok(())
}

fn try_case(file: &Path) -> Result<(), String> {
    let written = fs::read_to_string(file).map_err(text)?;
    let case = Case::read(&written).map_err(|why| format!("this is not a case: {why}"))?;
    if case.rows.is_empty() {
        return try_row(&case, &BTreeMap::new());
    }
    let wrong: Vec<String> = case
        .rows
        .iter()
        .filter_map(|row| try_row(&case, row).err().map(|why| format!("with {row:?}: {why}")))
        .collect();
    match wrong.first() {
        None => Ok(()),
        Some(first) => Err(format!("{} of {} rows are wrong. {first}", wrong.len(), case.rows.len())),
    }
}

fn try_row(case: &Case, row: &BTreeMap<String, String>) -> Result<(), String> {
    let place = Place::new(case, row).map_err(|why| format!("cannot lay it out: {why}"))?;
    let mut guests = check::Guests::default();
    for (number, step) in case.step.iter().enumerate() {
        take(&place, step, &mut guests).map_err(|why| {
            format!("{}\nstep {} of {}: {why}", case.behaviour, number + 1, case.step.len())
        })?;
    }
    Ok(())
}

fn take(place: &Place, step: &Step, guests: &mut check::Guests) -> Result<(), String> {
    if let Some(layout) = &step.write {
        place.lay(layout)?;
    } else if let Some(path) = &step.remove {
        let path = place.path(path)?;
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let came: Vec<(&Step, u32, Came)> = match &step.parallel {
        Some(steps) => {
            let numbered: Vec<(&Step, u32)> = steps.iter().flat_map(copies).collect();
            at_once(place, &numbered)?
        }
        None if !step.starts() => Vec::new(),
        None if step.at_once.is_some() => at_once(place, &copies(step).collect::<Vec<_>>())?,
        None => {
            let mut came = Vec::new();
            for (step, number) in copies(step) {
                let one = process::run(place, step, number)?;
                // Of several in a row the first that is wrong is the one to be seen.
                check::came(place, expected(step).as_ref(), &one, is_fire(step))
                    .map_err(|why| format!("run {number}: {why}"))?;
                came.push((step, number, one));
            }
            came
        }
    };
    for (step, number, one) in &came {
        check::came(place, expected(step).as_ref(), one, is_fire(step))
            .map_err(|why| format!("run {number}: {why}"))?;
    }
    for tally in &step.tally {
        check::tally(place, tally, came.iter().map(|(_, _, one)| one))?;
    }
    for expect in [&step.expect].into_iter().chain(step.parallel.iter().flatten().map(|step| &step.expect)) {
        check::world(place, &expect.clone().unwrap_or_default(), guests)?;
    }
    Ok(())
}

/// What is expected of each run of a step; where a tally counts them nothing is, unless it is said.
fn expected(step: &Step) -> Option<Expect> {
    if step.tally.is_empty() { Some(step.expect.clone().unwrap_or_default()) } else { step.expect.clone() }
}

fn is_fire(step: &Step) -> bool {
    step.fire.is_some() || step.run.as_ref().and_then(|run| run.first()).is_some_and(|verb| verb == "fire")
}

fn copies(step: &Step) -> impl Iterator<Item = (&Step, u32)> {
    (1..=step.times.or(step.at_once).unwrap_or(1)).map(move |number| (step, number))
}

fn at_once<'s>(place: &Place, steps: &[(&'s Step, u32)]) -> Result<Vec<(&'s Step, u32, Came)>, String> {
    thread::scope(|scope| {
        let started: Vec<_> = steps
            .iter()
            .map(|&(step, number)| (step, number, scope.spawn(move || process::run(place, step, number))))
            .collect();
        started
            .into_iter()
            .map(|(step, number, run)| {
                let came = run.join().map_err(|_| "the harness broke".to_owned())??;
                Ok((step, number, came))
            })
            .collect()
    })
}
