//! `becket doctor`: whether agents obey. Nothing is changed.

mod codex;
mod run;
mod switches;

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use becket::core::text;
use becket::{Install, others};
use becket_hosts::Host;
use becket_hosts::answer::{Words, is_denial};
use becket_hosts::install::{self, Line, edit};
use becket_hosts::switch;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::hook::{CANARY, CANARY_REASON};
use super::install::{Places, list, named, next_steps};
use super::{Result, elsewhere};
use crate::args::Common;
use crate::exit::ExitCode;
use crate::output::{self, CommandError};
use run::{Runner, Start};
use switches::Settings;

/// How long an agent may take to say its version.
const VERSION_TIME: Duration = Duration::from_secs(20);

/// How long the canary may take.
const CANARY_TIME: Duration = Duration::from_secs(60);

/// A command that does nothing.
const HARMLESS: &str = "true";

/// How many problems of definitions are told.
const MOST_PROBLEMS: usize = 5;

/// How many programs are named that cannot be started; the others are counted, for a file may name any number.
const MOST_PROGRAMS: usize = 100;

/// What was found about one thing.
struct Check {
    what: &'static str,
    finding: Finding,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Finding {
    Good,
    /// To be known, or to be done by the person.
    Note,
    Bad,
}

impl Finding {
    fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Bad => "bad",
        }
    }
}

pub(crate) fn run(common: &Common, hosts: &[String], project: bool) -> Result {
    let places = Places::of(common, project)?;
    let wanted = named(hosts)?;
    // Without the record it cannot be told what is missing.
    let (recorded, mut is_bad) = match places.engine().installs() {
        Ok(recorded) => (recorded, false),
        Err(error) => {
            output::error(&CommandError::new(format!("what was installed cannot be told: {error}")));
            (Vec::new(), true)
        }
    };
    let mut runner =
        Runner::new().map_err(|error| CommandError::new(format!("no program can be started: {error}")))?;
    let mut reports = Vec::new();
    for host in Host::ALL {
        let files = Files::read(host, &places, &recorded);
        let is_wanted = if wanted.is_empty() {
            !files.elsewhere.is_empty() || files.all().any(|file| file.was_plugged_in(host))
        } else {
            wanted.contains(&host)
        };
        if is_wanted {
            reports.push((host, examine(host, &places, &mut runner, &files, project)));
        }
    }
    is_bad |= reports.iter().any(|(_, checks)| checks.iter().any(|check| check.finding == Finding::Bad));
    let (guards, left) = if reports.is_empty() { (Vec::new(), 0) } else { guards(&places) };
    // Nothing guards, and whoever asks wants to know.
    is_bad |= reports.is_empty();
    if common.json {
        let hosts: Vec<Value> = reports.iter().map(report_json).collect();
        let page =
            json!({ "directory": places.here(), "hosts": hosts, "guards": guards, "more_guards": left });
        output::json(&page, true)?;
    } else {
        let mut page = page(&places, &reports);
        if !guards.is_empty() {
            page.push_str("Your hooks\n");
        }
        for problem in &guards {
            list(&mut page, "note ", problem);
        }
        if left > 0 {
            list(&mut page, "note ", &format!("and {left} more: `becket list`"));
        }
        output::print(&page)?;
    }
    Ok(if is_bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn report_json((host, checks): &(Host, Vec<Check>)) -> Value {
    let checks: Vec<Value> = checks
        .iter()
        .map(|check| json!({ "check": check.what, "finding": check.finding.as_str(), "text": check.text }))
        .collect();
    json!({ "host": host.as_str(), "checks": checks })
}

/// What keeps hooks from guarding in whichever agent, a few of it, each on a line; and how much more there is.
fn guards(places: &Places) -> (Vec<String>, usize) {
    let engine = places.engine();
    let loaded = engine.load(places.project().to_owned());
    let off = engine.settings().settings.off.iter();
    let mut found: Vec<String> = off
        .map(|name| format!("the hooks of {name} are switched off in the settings: `becket config`"))
        .collect();
    let problems = loaded.problems.iter().chain(loaded.rules.iter().flat_map(|rules| rules.problems()));
    found.extend(
        problems.map(|problem| text::line(text::bounded(&problem.to_string(), 300).trim_end()).into_owned()),
    );
    let left = found.len().saturating_sub(MOST_PROBLEMS);
    found.truncate(MOST_PROBLEMS);
    (found, left)
}

fn page(places: &Places, reports: &[(Host, Vec<Check>)]) -> String {
    let mut page = String::new();
    if reports.is_empty() {
        page.push_str(
            "becket is plugged into no agent, so none of your hooks guards any. Try `becket install codex`.\n",
        );
    } else {
        page.push_str(&format!("For agents that are started in {}\n", line(places.here())));
    }
    for (host, checks) in reports {
        page.push_str(host.title());
        page.push('\n');
        for check in checks {
            let mark = match check.finding {
                Finding::Good => "ok   ",
                Finding::Note => "note ",
                Finding::Bad => "BAD  ",
            };
            list(&mut page, mark, &format!("{}: {}", check.what, check.text));
        }
    }
    page
}

/// An agent's file, the person's or the project's, and what speaks for its having been plugged into.
struct File {
    path: Utf8PathBuf,
    is_project: bool,
    /// What stands in it, or why that cannot be told.
    bytes: std::result::Result<Option<Vec<u8>>, String>,
    /// What the record says of it.
    recorded: Option<bool>,
    /// A copy of it from before it was plugged into.
    copy: Option<Utf8PathBuf>,
}

impl File {
    fn read(host: Host, path: Utf8PathBuf, is_project: bool, recorded: &[Install]) -> Self {
        let recorded = recorded.iter().find(|install| install.host == host.as_str() && install.path == path);
        // The copy stands beside what a link leads to, if that can be told.
        let target = others::target(&path).unwrap_or_else(|_| path.clone());
        Self {
            bytes: others::read(&path, edit::LIMIT).map_err(|error| error.to_string()),
            recorded: recorded.map(|install| install.plugged_in),
            copy: others::backups(&target).find(|copy| std::fs::symlink_metadata(copy).is_ok()),
            path,
            is_project,
        }
    }

    fn has_traces(&self, host: Host) -> bool {
        self.bytes
            .as_ref()
            .is_ok_and(|bytes| bytes.as_ref().is_some_and(|bytes| install::has_traces(host, bytes)))
    }

    /// Whether anything says that it was plugged into: what stands in it, the record, or, of a time before there was
    /// one, a copy.
    fn was_plugged_in(&self, host: Host) -> bool {
        self.has_traces(host) || self.recorded.unwrap_or_else(|| self.copy.is_some())
    }

    /// How to mend a file in which the entries should stand; `by_hand`: a new install would leave it alone as it is.
    fn remedy(&self, host: Host, by_hand: bool) -> String {
        let option = if self.is_project { " --project" } else { "" };
        let copy =
            self.copy.as_ref().map(|copy| format!(" How it was before becket stands in {}.", line(copy)));
        let copy = copy.unwrap_or_default();
        if by_hand {
            return format!("Mend it or move it away, then run `becket install{option} {host}`.{copy}");
        }
        format!(
            "`becket install{option} {host}` plugs in again, `becket uninstall{option} {host}` ends it.{copy}"
        )
    }
}

/// The files of an agent's that may hold entries.
struct Files {
    own: File,
    /// None where the project's is the person's own.
    of_project: Option<File>,
    /// Those of the person's that were plugged into and that it does not read here.
    elsewhere: Vec<Utf8PathBuf>,
}

impl Files {
    fn read(host: Host, places: &Places, recorded: &[Install]) -> Self {
        let of_project = places.project_file(host);
        Self {
            own: File::read(host, places.own_file(host), false, recorded),
            of_project: of_project.map(|path| File::read(host, path, true, recorded)),
            elsewhere: elsewhere::files(host, places, recorded),
        }
    }

    fn all(&self) -> impl Iterator<Item = &File> {
        [&self.own].into_iter().chain(&self.of_project)
    }
}

fn line(path: &Utf8Path) -> String {
    text::line(path.as_str()).into_owned()
}

fn examine(host: Host, places: &Places, runner: &mut Runner, files: &Files, project: bool) -> Vec<Check> {
    let mut checks = vec![version(host, runner)];
    let Files { own, of_project, elsewhere } = files;
    let is_own = own.was_plugged_in(host);
    let plugged_in = of_project.as_ref().filter(|file| file.was_plugged_in(host));
    let say = |finding, text: String| Check { what: "entry", finding, text };
    let relative = switch::relative_places(host, places.roots());
    checks.extend(relative.into_iter().map(|why| say(Finding::Bad, why)));
    if is_own {
        checks.extend(examine_file(host, places, runner, own));
    } else {
        // Where the project is plugged into, it guards here.
        let finding = if plugged_in.is_some() { Finding::Note } else { Finding::Bad };
        checks.extend(elsewhere.iter().map(|path| say(finding, elsewhere::told(host, places, path))));
    }
    // Where only the project is plugged into, that is what was meant.
    if let Some(file) = plugged_in
        && (project || !is_own)
    {
        checks.extend(examine_file(host, places, runner, file));
    }
    if project && of_project.is_none() {
        checks.push(say(Finding::Bad, places.no_project_file(host)));
    }
    if let (Ok(Some(first)), Some(File { bytes: Ok(Some(second)), path, .. })) = (&own.bytes, of_project)
        && install::runs_twice(host, first, second)
    {
        let text = format!(
            "plugged in for you and for this project ({}): events other than tool calls run every hook twice. Take one \
             of the two out, that one with `becket uninstall --project {host}`",
            line(path)
        );
        checks.push(say(Finding::Bad, text));
    }
    if !is_own && plugged_in.is_none() && elsewhere.is_empty() {
        let text = match &own.bytes {
            Err(error) => format!("{error}, so nothing can be plugged in there"),
            Ok(_) => format!("not plugged in; `becket install {host}` does it"),
        };
        checks.push(say(Finding::Bad, text));
    }
    checks
}

fn examine_file(host: Host, places: &Places, runner: &mut Runner, file: &File) -> Vec<Check> {
    let shown = line(&file.path);
    let say = |what, finding, text| Check { what, finding, text };
    let bad = |text: String, by_hand| {
        vec![say("entry", Finding::Bad, format!("{text} {}", file.remedy(host, by_hand)))]
    };
    let bytes = match &file.bytes {
        Err(error) => return bad(format!("{error}, so {} gets no entry from it.", host.title()), true),
        Ok(None) => {
            let text = format!("{shown} is gone, and the entries with it: nothing of becket guards there.");
            return bad(text, false);
        }
        Ok(Some(bytes)) => bytes,
    };
    let programs = install::programs(host, bytes);
    let wanted = places.line_of(&programs);
    let flaws = install::flaws(host, bytes, &wanted);
    let mut checks: Vec<Check> = flaws
        .into_iter()
        .map(|flaw| {
            let (finding, remedy) = if flaw.is_grave {
                (Finding::Bad, format!(". {}", file.remedy(host, flaw.by_hand)))
            } else {
                (Finding::Note, String::new())
            };
            let place = flaw.line.map(|line| format!(":{line}")).unwrap_or_default();
            say("entry", finding, format!("{shown}{place}: {}{remedy}", flaw.text))
        })
        .collect();
    if !install::has_traces(host, bytes) {
        let text = format!("{shown} has no entry of becket's any more: nothing of becket guards there.");
        let by_hand = checks.iter().any(|check| check.finding == Finding::Bad);
        checks.extend(bad(text, by_hand));
    }
    let lines = install::installed(host, bytes);
    if lines.is_empty() {
        return checks;
    }
    if checks.is_empty() {
        checks.push(say("entry", Finding::Good, format!("in {shown}, for every event")));
    }
    let mut broken = programs.iter().filter_map(|program| Some((program, not_runnable(program)?)));
    for (program, why) in broken.by_ref().take(MOST_PROGRAMS) {
        let program = text::line(text::bounded(program.as_str(), 300).as_ref()).into_owned();
        let text = format!("{shown} runs {program}, but {why}. {}", file.remedy(host, false));
        checks.push(say("program", Finding::Bad, text));
    }
    let more = broken.count();
    if more > 0 {
        let text = format!("{shown} runs {more} more that cannot be started; they are not named one by one");
        checks.push(say("program", Finding::Bad, text));
    }
    if host == Host::Gemini && file.is_project && places.here() != places.project() {
        let text = format!(
            "Gemini CLI takes {shown} only where it is started in {}; in {} nothing of becket guards by it",
            line(places.project()),
            line(places.here())
        );
        checks.push(say("entry", Finding::Bad, text));
    }
    let settings = Settings::read(host, places);
    let off = settings.off(host, places, (&file.path, bytes), file.is_project);
    match host {
        Host::Codex => checks.extend(codex::checks(places, runner, (&file.path, bytes), lines.len(), off)),
        Host::Gemini => {
            checks.extend(switches::checks(off));
            checks.push(settings.folder_trust(places));
        }
        Host::Claude | Host::Opencode => {
            checks.extend(switches::checks(off));
            let next = next_steps(host, file.is_project).trim().to_owned();
            checks.push(say("trust", Finding::Note, next));
        }
    }
    // A project's file can say anything: it is only compared, and nothing that stands in it is ever run.
    if install::is_as_written(host, bytes, &wanted) {
        checks.extend(canary(host, places, runner, &wanted));
    } else {
        let text = "not tried: what stands in the file is not what `install` would write, and the doctor runs nothing else";
        checks.push(say("denial", Finding::Bad, text.to_owned()));
    }
    checks
}

/// Why a program cannot be started.
fn not_runnable(program: &Utf8Path) -> Option<String> {
    match std::fs::metadata(program) {
        Err(error) => Some(error.to_string()),
        Ok(data) if !data.is_file() => Some("that is no file".to_owned()),
        Ok(data) if data.permissions().mode() & 0o111 == 0 => Some("that is not executable".to_owned()),
        Ok(_) => None,
    }
}

fn version(host: Host, runner: &mut Runner) -> Check {
    let verified = host.verified();
    let say = |finding, text| Check { what: "version", finding, text };
    let Some(program) = runner.locate(host.as_str()) else {
        return say(Finding::Note, format!("no program `{host}` was found"));
    };
    let ended = runner.run(Start {
        program: &program,
        arguments: vec!["--version".into()],
        // Not where others may have put what it reads.
        directory: Path::new("/"),
        stdin: Vec::new(),
        most: VERSION_TIME,
        enough: None,
    });
    let ran = match run::words(ended) {
        Ok(ran) => ran,
        Err(why) => return say(Finding::Note, format!("`{host} --version` did not say it: {why}")),
    };
    let said = ran.stdout + &ran.stderr;
    let number = said
        .split(|character: char| character.is_whitespace() || character == 'v')
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.'));
    match number {
        Some(number) if number == verified.version => {
            say(Finding::Good, format!("{number}, which becket was checked against"))
        }
        Some(number) => say(
            Finding::Note,
            format!(
                "{}; becket was checked against {} on {}: the call below that must be denied is the proof",
                text::line(number),
                verified.version,
                verified.date
            ),
        ),
        None => say(Finding::Note, format!("`{host} --version` names none")),
    }
}

/// Runs what `install` would write, which is what the file was found to say, with a call that must be denied and with one
/// that nobody minds.
fn canary(host: Host, places: &Places, runner: &mut Runner, wanted: &Line) -> Vec<Check> {
    let say = |finding, text: String| vec![Check { what: "denial", finding, text }];
    let bounded = |text: &str| text::line(text::bounded(text.trim(), 400).as_ref()).into_owned();
    let mut call = |command| call(host, places, runner, wanted, command);
    let mut checks = match call(CANARY) {
        Err(error) => return say(Finding::Bad, format!("the installed command cannot be run: {error}")),
        Ok((words, time)) if is_denial(host, &words) && words.stdout.contains(CANARY_REASON) => {
            let time = time.as_secs_f64() * 1000.0;
            let text = format!("a call that must be denied was, by the installed command, in {time:.0} ms");
            say(Finding::Good, text)
        }
        Ok((words, _)) if is_denial(host, &words) => {
            let said = bounded(if words.stderr.is_empty() { &words.stdout } else { &words.stderr });
            return say(
                Finding::Bad,
                format!("the installed command denies every call, judging none: {said}"),
            );
        }
        Ok((words, _)) => {
            return say(
                Finding::Bad,
                format!(
                    "the installed command did not deny a call that must be denied (exit code {}): {}",
                    words.exit,
                    bounded(&words.stderr)
                ),
            );
        }
    };
    match call(HARMLESS) {
        Ok((words, _)) if is_denial(host, &words) => {
            let text =
                format!("your hooks deny a harmless call (`{HARMLESS}`) as well: {}", bounded(&words.stdout));
            checks.extend(say(Finding::Note, text));
        }
        Ok((words, _)) if words.exit == 0 => {}
        Ok((words, _)) => {
            let text = format!(
                "a harmless call (`{HARMLESS}`) met exit code {}: {}",
                words.exit,
                bounded(&words.stderr)
            );
            checks.extend(say(Finding::Bad, text));
        }
        Err(error) => {
            checks.extend(say(
                Finding::Bad,
                format!("a harmless call (`{HARMLESS}`) was not answered: {error}"),
            ));
        }
    }
    checks
}

/// One shell call, reported to this program as the installed line would, with the words of `install` and no others.
fn call(
    host: Host,
    places: &Places,
    runner: &mut Runner,
    wanted: &Line,
    command: &str,
) -> std::result::Result<(Words, Duration), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    // opencode has one line for all events.
    let row = host.row(becket::EventName::PreToolUse).filter(|_| host != Host::Opencode);
    let ended = runner.run(Start {
        program: &own,
        arguments: wanted.argv(host, row).into_iter().skip(1).map(OsString::from).collect(),
        directory: places.project().as_std_path(),
        stdin: payload(host, places.project(), command).to_string().into_bytes(),
        most: CANARY_TIME,
        enough: None,
    });
    let time = ended.duration;
    Ok((run::words(ended)?, time))
}

/// A shell call as the agent reports it.
fn payload(host: Host, directory: &Utf8Path, command: &str) -> Value {
    let input = json!({ "command": command });
    match host {
        Host::Opencode => json!({
            "becket": 1, "hook": "tool.execute.before", "directory": directory,
            "input": { "tool": "bash", "sessionID": "", "callID": "canary" }, "output": { "args": input },
        }),
        Host::Gemini => json!({
            "cwd": directory, "hook_event_name": "BeforeTool", "tool_name": "run_shell_command",
            "tool_input": input,
        }),
        Host::Claude | Host::Codex => json!({
            "cwd": directory, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input,
        }),
    }
}
