//! Agents that were plugged into at another place of the person's than the one they read here: a variable that names
//! their home was set, or is no longer.

use becket::Install;
use becket::core::text;
use becket_hosts::Host;
use becket_hosts::install::{self, Scope};
use camino::{Utf8Path, Utf8PathBuf};

use super::install::{Places, is_same_place, variable};

/// The person's files that the agent was plugged into and does not read here, by the record.
pub(super) fn files(host: Host, places: &Places, recorded: &[Install]) -> Vec<Utf8PathBuf> {
    let read = [Some(places.own_file(host)), places.project_file(host)];
    let is_read = |path: &Utf8Path| read.iter().flatten().any(|read| is_same_place(path, read));
    // A record of a time before it said so: what looks like a project's is one, but for the person's usual place.
    let looks_own = |path: &Utf8Path| {
        path == usual(host, places) || !path.ends_with(install::file(host, Scope::Project(Utf8Path::new(""))))
    };
    let is_own = |known: &Install| known.for_project.map_or_else(|| looks_own(&known.path), |is| !is);
    let known = recorded.iter().filter(|known| known.host == host.as_str() && known.plugged_in);
    known.filter(|known| is_own(known) && !is_read(&known.path)).map(|known| known.path.clone()).collect()
}

/// What is said of one of them.
pub(super) fn told(host: Host, places: &Places, path: &Utf8Path) -> String {
    let name = install::home_variable(host);
    let now =
        variable(name).map_or_else(|| "is not set".to_owned(), |now| format!("is {}", text::quote(&now)));
    let then = match install::home_of(host, path).filter(|_| path != usual(host, places)) {
        Some(home) => format!("with {name} set to {}", text::quote(home.as_str())),
        None => format!("without {name}"),
    };
    format!(
        "plugged in at {}, but here {} reads {}, for {name} {now}. `becket install {host}` plugs in here, too; `becket \
         uninstall {host}` {then} ends it there",
        text::line(path.as_str()),
        host.title(),
        text::line(places.own_file(host).as_str())
    )
}

/// Where the agent looks without the variable.
fn usual(host: Host, places: &Places) -> Utf8PathBuf {
    let scope =
        Scope::User { home: places.home(), codex_home: None, config: None, claude: None, gemini: None };
    install::file(host, scope)
}
