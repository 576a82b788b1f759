//! `becket hosts`: what becomes of each answer in each agent.

use crate::exit::ExitCode;
use std::fmt::Write as _;

use becket_hosts::Host;
use becket_hosts::loss::{Answer, Row, Way};
use serde_json::{Map, Value, json};

use super::Result;
use crate::args::Common;
use crate::output;

pub(crate) fn run(common: &Common) -> Result {
    if common.json {
        let hosts: Vec<Value> = Host::ALL.into_iter().map(host_json).collect();
        output::json(&json!({ "hosts": hosts }), true)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = String::new();
    for host in Host::ALL {
        let verified = host.verified();
        let _ = writeln!(
            page,
            "{}, checked against {} on {}: {}",
            host.title(),
            verified.version,
            verified.date,
            verified.how
        );
        for row in host.rows() {
            describe(&mut page, row);
        }
        page.push('\n');
    }
    page.push_str("What is not listed is done as it was meant, or cannot be answered there.\n");
    output::print(&page)?;
    Ok(ExitCode::SUCCESS)
}

fn describe(page: &mut String, row: &Row) {
    let _ = writeln!(page, "  {} ({}), answered within {} s", row.event, row.native, row.deadline());
    for answer in Answer::ALL {
        let way = row.way(answer);
        if !matches!(way, Way::Honoured | Way::Never) {
            let _ = writeln!(page, "    {}: {}", answer.as_str(), way.meaning().replace("**", ""));
        }
    }
}

fn host_json(host: Host) -> Value {
    let verified = host.verified();
    let events: Vec<Value> = host
        .rows()
        .iter()
        .map(|row| {
            let answers: Map<String, Value> = Answer::ALL
                .into_iter()
                .map(|answer| (answer.as_str().replace(' ', "_"), row.way(answer).as_str().into()))
                .collect();
            json!({
                "event": row.event,
                "native": row.native,
                "patience": row.patience,
                "deadline": row.deadline(),
                "answers": answers,
            })
        })
        .collect();
    json!({
        "host": host.as_str(),
        "title": host.title(),
        "verified": { "version": verified.version, "date": verified.date, "how": verified.how },
        "events": events,
    })
}
