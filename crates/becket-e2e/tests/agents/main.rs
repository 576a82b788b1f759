//! Becket in the real agents: each behaviour with each of them, a test of its own.
//!
//! `cargo test -p becket-e2e` fetches the agents into the target directory once. Where they cannot be had, the tests
//! are not run and say so; with `CI=true` that is a failure.

mod gates;
mod installed;
mod limits;
mod play;
mod stops;

use std::io::{self, Write as _};
use std::sync::Arc;

use becket_e2e::{Agents, Host, Unavailable, must_be_had};
use libtest_mimic::{Arguments, Failed, Trial};

use crate::play::{Behaviour, Check, Context};

fn main() {
    let arguments = Arguments::from_args();
    // A list is asked for often, by editors too, and needs no agent.
    let agents = if arguments.list { Err(Unavailable("only listed".into())) } else { Agents::fetch() };
    let must = must_be_had();
    let context = Arc::new(agents.map(Context));
    let mut trials = Vec::new();
    for host in Host::ALL {
        let missing = match context.as_ref() {
            Ok(context) => context.0.program(host).err(),
            Err(why) => Some(why.clone()),
        };
        if let Some(why) = missing.as_ref().filter(|_| !must && !arguments.list) {
            // Said even where nobody reads it.
            let _ = writeln!(io::stderr(), "NOT RUN, {} cannot be had: {}", host.name(), why.0);
        }
        for Behaviour { name, check, .. } in behaviours().filter(|behaviour| behaviour.hosts.contains(&host))
        {
            let ignored = missing.is_some() && !must && !arguments.list;
            let context = Arc::clone(&context);
            let test = move || run(&context, host, check);
            trials.push(Trial::test(format!("{}/{name}", host.name()), test).with_ignored_flag(ignored));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn behaviours() -> impl Iterator<Item = Behaviour> {
    [gates::behaviours(), stops::behaviours(), limits::behaviours(), installed::behaviours()]
        .into_iter()
        .flatten()
}

fn run(context: &Result<Context, Unavailable>, host: Host, check: Check) -> Result<(), Failed> {
    match context {
        Ok(context) => check(context, host).map_err(|error| Failed::from(error.to_string())),
        Err(why) => Err(Failed::from(&why.0)),
    }
}
