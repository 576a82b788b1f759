//! Each campaign, shortened to a few seconds, so that none of them rots: it runs, and every figure is what it must be.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::process::Command;

use serde_json::Value;

fn is_fine(arguments: &[&str]) {
    let ran = Command::new(env!("CARGO_BIN_EXE_becket-campaign")).args(arguments).output().unwrap();
    let [out, err] = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let line = out.lines().last().unwrap_or_default();
    let said: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {out}{err}"));
    assert_eq!((ran.status.code(), said["fine"].as_bool()), (Some(0), Some(true)), "{out}{err}");
}

#[test]
fn kills() {
    is_fine(&["kills", "--count", "25"]);
}

#[test]
fn misbehaving() {
    is_fine(&["misbehaving", "--count", "20"]);
}

#[test]
fn crowd() {
    is_fine(&["crowd", "--events", "40", "--sessions", "4"]);
}
