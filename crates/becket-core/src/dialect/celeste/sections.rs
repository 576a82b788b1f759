//! Sources that define no hooks and still loosen what an agent may do: the sandbox of a workspace's configuration
//! and its MCP servers. Celeste pins them in the same store, so they are discovered, listed and answered for here.

use std::collections::BTreeMap;

use serde_json::Value;

use super::definitions::Mistake;
use super::go;
use crate::hash;
use crate::json::{self, Node, Object, Repeated};
use crate::text;

/// A section with what is approved of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// Lower-case hex SHA-256 of what is approved.
    pub(super) hash: String,
    /// What a person reads.
    pub(super) shown: String,
}

/// The `sandbox` object of a `.celeste/config.json`, where it loosens the sandbox.
pub(super) fn sandbox(data: &[u8]) -> Result<Option<Section>, Mistake> {
    let document = document(data)?;
    let Some(node) = field(document, "sandbox")? else { return Ok(None) };
    let Value::Object(written) = node.value() else {
        return Err(wrong(node, "`sandbox` must be an object"));
    };
    let mut known = Object::new();
    for (key, value) in written.into_iter().filter(|(_, value)| !value.is_null()) {
        match (key.as_str(), &value) {
            ("enabled" | "network", Value::Bool(_)) => drop(known.insert(key, value)),
            ("enabled" | "network", _) => {
                return Err(wrong(node, "`enabled` and `network` must be true or false"));
            }
            ("writable", Value::Array(paths)) if paths.is_empty() => {}
            ("writable", Value::Array(paths)) if paths.iter().all(Value::is_string) => {
                known.insert(key, value);
            }
            ("writable", _) => return Err(wrong(node, "`writable` must be a list of paths")),
            _ => {}
        }
    }
    let loosens = known.get("enabled") == Some(&Value::Bool(false))
        || known.get("network") == Some(&Value::Bool(true))
        || known.contains_key("writable");
    let body = go::compact_object(&known);
    Ok(loosens.then(|| Section { hash: hash::of(body.as_bytes()), shown: body }))
}

/// The servers of an MCP configuration, by name.
pub(super) fn servers(data: &[u8]) -> Result<BTreeMap<String, Section>, Mistake> {
    let document = document(data)?;
    let Some(node) = field(document, "mcpServers")? else { return Ok(BTreeMap::new()) };
    let entries = node.object().ok_or_else(|| wrong(node, "`mcpServers` must be an object"))?;
    entries.into_iter().map(|(name, server)| Ok((name, server_section(server)?))).collect()
}

fn document(data: &[u8]) -> Result<Node<'_>, Mistake> {
    let whole =
        |error: json::JsonError| Mistake { line: error.line, column: error.column, message: error.message };
    let text = json::text(data).map_err(whole)?;
    // Two readers that disagree on a repeated key would approve one thing and use another.
    json::parse(data, Repeated::Refuse).map_err(whole)?;
    Node::document(text).map_err(whole)
}

fn field<'a>(document: Node<'a>, key: &str) -> Result<Option<Node<'a>>, Mistake> {
    let entries = document.object().ok_or_else(|| wrong(document, "the file must be an object"))?;
    Ok(entries
        .into_iter()
        .find(|(name, _)| name == key)
        .map(|(_, node)| node)
        .filter(|node| node.raw() != "null"))
}

fn wrong(node: Node<'_>, message: &str) -> Mistake {
    let (line, column) = node.place();
    Mistake { line, column, message: message.to_owned() }
}

fn server_section(node: Node<'_>) -> Result<Section, Mistake> {
    let Value::Object(server) = node.value() else {
        return Err(wrong(node, "a server must be an object"));
    };
    let text = |key: &str| match server.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(wrong(node, &format!("`{key}` must be a string"))),
    };
    let transport = match text("transport")? {
        "" => "stdio",
        transport => transport,
    };
    let (command, url) = (text("command")?, text("url")?);
    let args = server.get("args").unwrap_or(&Value::Null);
    let env = server.get("env").unwrap_or(&Value::Null);
    let are_texts = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.iter().all(Value::is_string),
        Value::Object(items) => items.values().all(Value::is_string),
        _ => false,
    };
    if !are_texts(args) || args.is_object() {
        return Err(wrong(node, "`args` must be a list of strings"));
    }
    if !are_texts(env) || env.is_array() {
        return Err(wrong(node, "`env` must be an object of strings"));
    }
    let mut pinned = String::from("{");
    for (key, value) in [
        ("transport", Ok(transport)),
        ("command", Ok(command)),
        ("args", Err(args)),
        ("env", Err(env)),
        ("url", Ok(url)),
    ] {
        if pinned.len() > 1 {
            pinned.push(',');
        }
        go::write_string(key, &mut pinned);
        pinned.push(':');
        match value {
            Ok(text) => go::write_string(text, &mut pinned),
            Err(value) => go::write(value, &mut pinned),
        }
    }
    pinned.push('}');
    Ok(Section { hash: hash::of(pinned.as_bytes()), shown: summary(transport, command, args, env, url) })
}

/// What a server runs or connects to. Values of variables and the secret parts of an address are left out: they
/// are no part of the question, and whatever is shown is also kept for comparison.
fn summary(transport: &str, command: &str, args: &Value, env: &Value, url: &str) -> String {
    let mut lines = vec![format!("transport: {}", text::quote(transport))];
    if !command.is_empty() {
        lines.push(format!("command: {}", text::quote(command)));
    }
    let quoted: Vec<String> =
        args.as_array().into_iter().flatten().filter_map(Value::as_str).map(text::quote).collect();
    if !quoted.is_empty() {
        lines.push(format!("args: {}", quoted.join(" ")));
    }
    let mut names: Vec<String> =
        env.as_object().into_iter().flatten().map(|(name, _)| text::quote(name)).collect();
    names.sort_unstable();
    if !names.is_empty() {
        lines.push(format!("env: {} (values not shown)", names.join(" ")));
    }
    if !url.is_empty() {
        lines.push(format!("url: {}", text::quote(&public_address(url))));
    }
    lines.join("\n")
}

/// An address without user, password, query and fragment.
fn public_address(url: &str) -> String {
    let url = &url[..url.find(['?', '#']).unwrap_or(url.len())];
    let Some((scheme, rest)) = url.split_once("//") else {
        return url.rsplit_once('@').map_or(url, |(_, host)| host).to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}//{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(config: &str) -> Option<String> {
        sandbox(config.as_bytes()).unwrap().map(|section| section.shown)
    }

    #[test]
    fn only_what_loosens_the_sandbox_needs_approval() {
        assert_eq!(body("{}"), None);
        assert_eq!(body(r#"{"sandbox":null}"#), None);
        assert_eq!(body(r#"{"sandbox":{"enabled":true,"network":false,"writable":[]}}"#), None);
        assert_eq!(
            body(r#"{"x":1,"sandbox":{"enabled":false,"x":1}}"#).as_deref(),
            Some(r#"{"enabled":false}"#)
        );
        assert_eq!(
            body(r#"{"sandbox":{"writable":["/a&b"],"network":true,"enabled":null}}"#).as_deref(),
            Some(r#"{"network":true,"writable":["/a\u0026b"]}"#)
        );
        assert_eq!(
            sandbox(br#"{"sandbox":{"enabled":false}}"#).unwrap().unwrap().hash,
            "5acf3ff77b4420677b5923071f303facaba7a9273a346284a667a275df325146"
        );
        for wrong in [
            "[]",
            "",
            r#"{"sandbox":[]}"#,
            r#"{"sandbox":{"enabled":"no"}}"#,
            r#"{"sandbox":{"writable":[1]}}"#,
            r#"{"sandbox":{"enabled":true,"enabled":false}}"#,
        ] {
            assert!(sandbox(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_server_is_pinned_by_what_it_runs() {
        let of = |server: &str| {
            let servers = servers(format!(r#"{{"mcpServers":{{"r":{server}}}}}"#).as_bytes()).unwrap();
            servers["r"].clone()
        };
        let plain = of(r#"{"command":"r","args":["-x"]}"#);
        assert_eq!(plain.hash, "4fd398878a3327628890d33ecfcc0abdcfef035496ac9d2b5c0361690c3fec12");
        assert_eq!(of(r#"{"args":["-x"],"command":"r","enabled":false,"trusted":true}"#).hash, plain.hash);
        assert_ne!(of(r#"{"command":"r","args":["-x"],"env":{"A":"1"}}"#).hash, plain.hash);
        assert_eq!(
            of(r#"{"command":"r","env":{"B":"1","A":"2"}}"#).hash,
            of(r#"{"command":"r","env":{"A":"2","B":"1"}}"#).hash
        );
        assert!(servers(br#"{"mcpServers":{"r":{"args":"x"}}}"#).is_err());
        assert!(servers(b"{}").unwrap().is_empty());
    }

    #[test]
    fn a_summary_shows_no_secret_and_no_escape() {
        let shown = &servers(
            br#"{"mcpServers":{"r":{"transport":"http","command":"a\u001b[2J","args":["-x","y z"],"env":{"TOKEN":"SECRET"},"url":"https://me:SECRET@h:1/p?k=SECRET#SECRET"}}}"#,
        )
        .unwrap()["r"]
            .shown;
        assert_eq!(
            shown,
            "transport: \"http\"\ncommand: \"a\\x1b[2J\"\nargs: \"-x\" \"y z\"\nenv: \"TOKEN\" (values not shown)\nurl: \"https://h:1/p\""
        );
        assert_eq!(public_address("u:p@h/x?q"), "h/x");
    }
}
