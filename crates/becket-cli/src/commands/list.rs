//! `becket list`: every source and hook with its standing.

use crate::exit::ExitCode;
use std::fmt::Write as _;

use becket::core::dialect::{Problem, Source, Standing};
use becket::core::text;
use serde_json::{Value, json};

use super::{Result, engine};
use crate::args::Common;
use crate::output;

pub(crate) fn run(common: &Common) -> Result {
    let engine = engine(common, true)?;
    let loaded = engine.load(engine.workspace(common.workspace.as_deref()));
    if !loaded.scope.workspace.is_dir() {
        let workspace = text::line(loaded.scope.workspace.as_str());
        output::note(&format!("becket: the workspace {workspace} is no directory"));
    }
    let sources: Vec<&Source> = loaded.rules.iter().flat_map(|rules| rules.sources()).collect();
    let problems: Vec<&Problem> =
        loaded.problems.iter().chain(loaded.rules.iter().flat_map(|rules| rules.problems())).collect();
    if common.json {
        let sources: Vec<Value> = sources.into_iter().map(source_json).collect();
        let mut list = json!({ "sources": sources, "problems": problems });
        if let Some(catalog) = loaded.rules.iter().find_map(|rules| rules.catalog()) {
            list["catalog"] = catalog;
        }
        output::json(&list, true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = String::new();
    for source in &sources {
        describe(&mut page, source);
    }
    if sources.is_empty() {
        let workspace = text::line(loaded.scope.workspace.as_str());
        let _ = writeln!(page, "No hooks are defined for {workspace}.");
    }
    for problem in problems {
        let _ = writeln!(page, "problem: {problem}");
    }
    output::print(&page)?;
    Ok(ExitCode::SUCCESS)
}

fn source_json(source: &Source) -> Value {
    let hooks: Vec<Value> = source
        .hooks
        .iter()
        .map(|hook| {
            json!({
                "index": hook.index,
                "name": hook.name,
                "event": hook.event,
                "matcher": hook.matcher,
                "command": hook.command,
                "timeout": hook.timeout,
            })
        })
        .collect();
    json!({
        "dialect": source.dialect,
        "kind": source.kind,
        "path": source.path,
        "standing": source.standing,
        "hash": source.hash,
        "hooks": hooks,
    })
}

/// A source as a person reads it before answering. Everything that comes from the file is escaped.
pub(super) fn describe(page: &mut String, source: &Source) {
    let path = text::line(&source.path);
    let standing = match (source.needs_approval, source.standing) {
        (true, standing) => standing.as_str(),
        (false, Standing::Trusted) => "trusted, your own",
        (false, _) => "your own, but not believed",
    };
    let _ = writeln!(page, "{path}  [{} {}: {standing}]", source.dialect, source.kind);
    match &source.hash {
        Some(hash) => drop(writeln!(page, "  hash {hash}")),
        None => {
            let quoted = becket::core::spelling::shell_quote(&source.path);
            let _ = writeln!(
                page,
                "  it is gone or cannot be read; take the approval back with `becket forget {}`",
                text::line(&quoted)
            );
        }
    }
    if source.hooks.is_empty() && !source.content.is_empty() {
        // A section that defines no hooks is approved for what it says.
        for line in source.content.split(|&byte| byte == b'\n') {
            let _ = writeln!(page, "     {}", text::line_of(line));
        }
    }
    for hook in &source.hooks {
        let name = hook.name.as_deref().map(|name| format!(" {}", text::line(name))).unwrap_or_default();
        let matcher = hook.matcher.as_deref().map(|matcher| format!(" matcher {}", text::quote(matcher)));
        let _ = writeln!(
            page,
            "  {}.{name} {}{}, {} s",
            hook.index,
            text::line(&hook.event),
            matcher.unwrap_or_default(),
            hook.timeout
        );
        let _ = writeln!(page, "     {}", text::line(&hook.command));
        if let Some(why) = &hook.invalid {
            let _ = writeln!(page, "     does not run: {why}");
        }
    }
}
