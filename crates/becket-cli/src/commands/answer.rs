//! `becket approve`, `decline` and `forget`: a person's answers.

use crate::exit::ExitCode;
use std::fmt::Write as _;
use std::io::IsTerminal as _;

use becket::Engine;
use becket::core::dialect::{self, Answer, Source};
use becket::core::text;
use camino::Utf8PathBuf;

use super::{Result, engine, list};
use crate::args::{Answer as Options, Common};
use crate::difference;
use crate::output::{self, CommandError};

/// So much of a difference is shown, in bytes.
const MOST_OF_A_DIFFERENCE: usize = 16 << 10;

pub(crate) fn run(common: &Common, options: &Options, answer: Answer) -> Result {
    let engine = engine(common, true)?;
    let workspace = engine.workspace(common.workspace.as_deref());
    let loaded = engine.load(workspace.clone());
    let source = engine.find_source(&loaded, &options.path).map_err(CommandError::new)?;
    let before = engine.approved_content(&loaded, &source);
    let shown = match &options.hash {
        Some(hash) => Some(hash.clone()),
        // Of what is gone there is nothing to show.
        None if answer == Answer::Forget
            && engine.forgets_unseen(&source)
            && (source.hash.is_none() || !is_terminal()) =>
        {
            None
        }
        None if ask(&source, answer, before.as_deref())? => source.hash.clone(),
        None => {
            output::note("Nothing was changed.");
            return Ok(ExitCode::FAILURE);
        }
    };
    give(common, &engine, workspace, &source, answer, shown.as_deref())
}

fn give(
    common: &Common,
    engine: &Engine,
    workspace: Utf8PathBuf,
    source: &Source,
    answer: Answer,
    shown: Option<&str>,
) -> Result {
    let answered = engine.answer(workspace, &source.path, answer, shown).map_err(CommandError::new)?;
    let (source, standing) = (answered.source, answered.standing);
    if common.json {
        output::json(
            &serde_json::json!({ "path": source.path, "standing": standing, "hash": source.hash }),
            true,
        )?;
    } else {
        let path = text::line(&source.path);
        output::print(&match standing {
            Some(standing) => format!("{path} is now {}.\n", standing.as_str()),
            None => format!("{path} is gone, and nothing remembers it any more.\n"),
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a person is at both ends.
fn is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks a question on the terminal; only y or yes agrees.
fn agrees(question: &str) -> Result<bool> {
    output::print(question)?;
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.map_err(|error| CommandError::new(format!("cannot read the answer: {error}")))?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Shows the source, and what of it has changed since it was approved, and asks on the terminal.
fn ask(source: &Source, answer: Answer, before: Option<&[u8]>) -> Result<bool> {
    if !is_terminal() {
        let hash = source.hash.as_deref().unwrap_or("HASH");
        return Err(CommandError::new("this is not a terminal, so nobody can be asked")
            .hint(format!("read the hooks with `becket list`, then add `--hash {hash}`")));
    }
    let own = dialect::ALL.iter().find(|dialect| dialect.name() == source.dialect);
    let own = own.and_then(|dialect| dialect.question(source)).filter(|_| answer == Answer::Approve);
    let mut page = String::new();
    if own.is_none() {
        // A dialect's own question shows all that is to be seen.
        list::describe(&mut page, source);
    }
    let changed_from = before.filter(|before| source.hash.is_some() && *before != &*source.content);
    if let (Answer::Approve, Some(before)) = (answer, changed_from) {
        // All that is to be approved is shown besides, so this may end early.
        let changed = difference::of(&text::line(&source.path), Some(before), Some(&source.content));
        let changed = text::bounded(&changed, MOST_OF_A_DIFFERENCE);
        let _ = write!(page, "\nSince you approved it:\n{}\n", changed.trim_end());
    }
    if own.is_some() {
        let title = dialect::Name::title(source.dialect);
        let _ = write!(page, "\nAn answer counts here and in {title} itself.\n");
    }
    let question = match answer {
        _ if let Some(question) = own => question,
        Answer::Approve => format!(
            "\nThese commands will run on this machine with your rights, here and in {} itself.\nApprove exactly \
             this content? [y/N] ",
            dialect::Name::title(source.dialect)
        ),
        Answer::Decline => "\nKeep these hooks from running until they change? [y/N] ".to_owned(),
        Answer::Forget => "\nTake back what was answered about these hooks? [y/N] ".to_owned(),
    };
    agrees(&format!("{page}{question}"))
}
