//! What Becket adds, each time beside its floor.
//!
//! `cargo bench -p becket-cli --bench speed`

#![allow(
    missing_docs,
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that a person runs"
)]

mod setting;

use std::fs;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use becket::core::dialect::Name;
use becket::core::merge;
use becket::core::session::Facts;
use becket::{Cancel, Custodian, Engine, Event, Request};
use criterion::{Criterion, criterion_group};
use setting::{CALL, Setting, bare};

fn fire(engine: &Engine, event: &Event, cancel: &Cancel) {
    let request = Request { event, workspace: None, mode: None, deadline: None, cancel };
    black_box(engine.fire(&request));
}

/// Nothing matches: with everything loaded, and with albedo's files read again as they must be.
fn no_match(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("no hook matches");
    let event = Event::read(CALL.as_bytes(), None).unwrap();
    let filler = "x".repeat(1700);
    let setting = Setting::new().hooks(&[("PostToolUse", "Write", &filler)]);
    let slug: String =
        setting.workspace.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = setting.home.join(".albedo/workspaces").join(slug);
    fs::create_dir_all(&folder).unwrap();
    fs::copy(setting.home.join(".albedo/hooks.json"), folder.join("hooks.json")).unwrap();
    let engine = setting.engine(Custodian::Group);
    let albedo = setting.engine_of(vec![Name::Albedo], Custodian::Group);
    let loaded = engine.load(setting.workspace);
    let facts = Facts::default();
    group.bench_function("loaded", |bench| {
        bench.iter(|| {
            let rules: Vec<_> = loaded
                .rules
                .iter()
                .map(AsRef::as_ref)
                .filter(|rules| rules.listens(black_box(&event)))
                .collect();
            let voices = merge::hear(&event, &rules, &loaded.scope, &facts, &mut |_, _| Vec::new());
            black_box(merge::outcome(event.name, voices))
        });
    });
    let cancel = Cancel::new().unwrap();
    group.bench_function("albedo's two files of 2 KiB read again", |bench| {
        bench.iter(|| fire(&albedo, &event, &cancel));
    });
    group.bench_function("the same, and everything that the other dialects look for", |bench| {
        bench.iter(|| fire(&engine, &event, &cancel));
    });
    group.finish();
}

/// One command, and eight at once, in this process.
fn commands(criterion: &mut Criterion) {
    let event = Event::read(CALL.as_bytes(), None).unwrap();
    let cancel = Cancel::new().unwrap();
    let mut group = criterion.benchmark_group("one command hook");
    let setting = Setting::new().hooks(&[("PreToolUse", "Bash", "true")]);
    let engine = setting.engine(Custodian::Group);
    group.bench_function("floor: sh -c true", |bench| bench.iter(|| bare("/bin/sh", &["-c", "true"])));
    group.bench_function("becket, process group", |bench| bench.iter(|| fire(&engine, &event, &cancel)));
    let lasting = Setting::new().hooks(&[("PreToolUse", "Bash", "true")]);
    let journal = lasting.lasting_engine();
    group.bench_function("becket, process group, with session and journal", |bench| {
        bench.iter(|| fire(&journal, &event, &cancel));
    });
    group.finish();

    let mut group = criterion.benchmark_group("eight hooks of 50 ms at once");
    group.sample_size(20).measurement_time(Duration::from_secs(4));
    let setting = Setting::new().hooks(&[("PreToolUse", "Bash", "sleep 0.05"); 8]);
    let engine = setting.engine(Custodian::Group);
    group.bench_function("floor: eight bare ones", |bench| {
        bench.iter(|| {
            let start =
                || Command::new("/bin/sh").args(["-c", "sleep 0.05"]).stdin(Stdio::null()).spawn().unwrap();
            let mut children: Vec<_> = (0..8).map(|_| start()).collect();
            for child in &mut children {
                child.wait().unwrap();
            }
        });
    });
    group.bench_function("becket", |bench| bench.iter(|| fire(&engine, &event, &cancel)));
    group.finish();
}

/// 10 MB of a tool's response through three hooks that read it.
fn large_response(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("10 MB through three hooks");
    group.sample_size(20).measurement_time(Duration::from_secs(4));
    let payload = vec![b'x'; 10_000_000];
    group.bench_function("floor: three bare cat", |bench| {
        bench.iter(|| {
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        let mut cat = Command::new("/bin/cat")
                            .stdin(Stdio::piped())
                            .stdout(Stdio::piped())
                            .spawn()
                            .unwrap();
                        let mut stdin = cat.stdin.take().unwrap();
                        let mut stdout = cat.stdout.take().unwrap();
                        let payload = &payload;
                        scope.spawn(move || stdin.write_all(payload).unwrap());
                        let mut buffer = vec![0; 64 << 10];
                        while stdout.read(&mut buffer).unwrap() > 0 {}
                        cat.wait().unwrap();
                    });
                }
            });
        });
    });
    let text = format!(
        r#"{{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{{"command":"x"}},"tool_response":"{}"}}"#,
        "x".repeat(10_000_000)
    );
    let setting = Setting::new().hooks(&[("PostToolUse", "Bash", "cat >/dev/null"); 3]);
    let engine = setting.engine(Custodian::Group);
    let cancel = Cancel::new().unwrap();
    group.bench_function("becket, with the reading of the envelope", |bench| {
        bench.iter(|| fire(&engine, &Event::read(text.as_bytes(), None).unwrap(), &cancel));
    });
    group.finish();
}

criterion_group!(benches, no_match, commands, large_response);

fn main() {
    setting::leave_library_path();
    benches();
    Criterion::default().configure_from_args().final_summary();
}
