//! `docs/hosts.md` says what the loss table says. `BECKET_WRITE_DOCS=1` writes it.

use std::path::Path;

const BEGIN: &str = "<!-- the loss table: written from the code by `BECKET_WRITE_DOCS=1 cargo test -p becket-hosts --test table` -->\n";
const END: &str = "<!-- end of the loss table -->\n";

#[test]
#[allow(clippy::disallowed_methods, reason = "a test of a document reads it")]
fn the_document_says_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let right = format!("{before}{BEGIN}\n{}{END}{after}", becket_hosts::loss::tables());
    if std::env::var_os("BECKET_WRITE_DOCS").is_some() {
        std::fs::write(&path, right).unwrap();
        return;
    }
    assert!(page == right, "docs/hosts.md is not what the loss table says: see its first comment");
}
