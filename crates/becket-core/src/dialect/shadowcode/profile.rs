//! The profile's `config.yaml`: registrations, permissions and the agent's settings, as far as hooks hang on them.

use serde::{Deserialize, Serialize};

use super::definitions::normal_path;
use super::tree::{self, Mistake, Node};
use crate::hash;
use crate::text;

/// Largest file that is read or written, in bytes.
pub(super) const LIMIT: usize = 1_000_000;

/// Most registrations of one profile.
pub(super) const MOST: usize = 256;

/// Most registrations of one project.
pub(super) const MOST_OF_PROJECT: usize = 16;

/// Longest path of a workspace, in bytes.
const WORKSPACE_LIMIT: usize = 4_096;

/// What a profile lets hooks do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Policy {
    /// `permissions.level` is read-only: no hook runs, none can be enabled.
    pub(super) read_only: bool,
    /// `permissions.allow_root`.
    pub(super) allow_root: bool,
    /// `permissions.network`.
    pub(super) network: bool,
    /// `network.mode` is `offline`.
    pub(super) offline: bool,
}

/// How far an agent goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Agent {
    /// How often failed completion checks are given back for repair.
    pub(super) max_fix_retries: u32,
    /// Longest time of a tool and of a hook, in seconds.
    pub(super) tool_timeout: u64,
}

impl Default for Agent {
    fn default() -> Self {
        Self { max_fix_retries: 3, tool_timeout: 60 }
    }
}

/// A hook that a person has enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registration {
    pub(super) workspace: String,
    /// As [`normal_path`] has it.
    pub(super) path: String,
    /// As it is written: of upper case it is equal to no hash.
    pub(super) hash: String,
}

/// All that is read of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Profile {
    pub(super) policy: Policy,
    pub(super) agent: Agent,
    pub(super) registrations: Vec<Registration>,
}

/// What a project's own file may change, in a trusted project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Overlay {
    pub(super) read_only: bool,
    pub(super) max_fix_retries: Option<u32>,
    pub(super) tool_timeout: Option<u64>,
}

/// The file's text.
pub(super) fn text_of(bytes: &[u8]) -> Result<&str, Mistake> {
    if bytes.len() > LIMIT {
        return Err(Mistake::whole(format!("it has {} bytes, and {LIMIT} are the most", bytes.len())));
    }
    std::str::from_utf8(bytes)
        .map_err(|error| Mistake::new(error.valid_up_to(), "it is not valid UTF-8 from here on"))
}

/// The file's tree; `None` where it says nothing.
pub(super) fn root_of(text: &str) -> Result<Option<Node>, Mistake> {
    let Some(root) = tree::yaml(text)? else { return Ok(None) };
    if root.is_none() {
        return Ok(None);
    }
    if root.map().is_none() {
        return Err(Mistake::new(root.at, format!("it must be a mapping, not {}", root.kind())));
    }
    Ok(Some(root))
}

/// Reads the profile. One wrong entry makes all of it wrong: a gate that cannot be known has not passed.
pub(super) fn parse(bytes: &[u8]) -> Result<Profile, Mistake> {
    let text = text_of(bytes)?;
    match root_of(text)? {
        Some(root) => of_root(&root),
        None => Ok(Profile::default()),
    }
}

/// Reads the profile from its tree.
pub(super) fn of_root(root: &Node) -> Result<Profile, Mistake> {
    let permissions = section(root, "permissions")?;
    let network = section(root, "network")?;
    let settings = Overlay::of_root(root)?;
    Ok(Profile {
        policy: Policy {
            read_only: settings.read_only,
            allow_root: truth(permissions, "permissions", "allow_root")?,
            network: truth(permissions, "permissions", "network")?,
            offline: word(network, "network", "mode")? == Some("offline"),
        },
        agent: settings.apply(Agent::default()),
        registrations: registrations(root)?,
    })
}

impl Overlay {
    /// Reads a project's file: only its level and its agent's settings count. Registrations in it are nothing.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Mistake> {
        match root_of(text_of(bytes)?)? {
            Some(root) => Self::of_root(&root),
            None => Ok(Self::default()),
        }
    }

    fn of_root(root: &Node) -> Result<Self, Mistake> {
        let permissions = section(root, "permissions")?;
        let agent = section(root, "agent")?;
        let level = word(permissions, "permissions", "level")?.unwrap_or_default();
        let retries = number(agent, "agent", "max_fix_retries", 0, 10)?;
        Ok(Self {
            read_only: matches!(level, "read-only" | "read_only" | "readonly"),
            max_fix_retries: retries.and_then(|retries| u32::try_from(retries).ok()),
            tool_timeout: number(agent, "agent", "tool_timeout_sec", 1, 3_600)?,
        })
    }

    pub(super) fn apply(&self, agent: Agent) -> Agent {
        Agent {
            max_fix_retries: self.max_fix_retries.unwrap_or(agent.max_fix_retries),
            tool_timeout: self.tool_timeout.unwrap_or(agent.tool_timeout),
        }
    }
}

fn section<'n>(root: &'n Node, name: &str) -> Result<Option<&'n Node>, Mistake> {
    match root.get(name).filter(|node| !node.is_none()) {
        Some(node) if node.map().is_none() => {
            Err(Mistake::new(node.at, format!("`{name}` must be a mapping, not {}", node.kind())))
        }
        section => Ok(section),
    }
}

fn truth(section: Option<&Node>, name: &str, key: &str) -> Result<bool, Mistake> {
    let Some(node) = section.and_then(|section| section.get(key)) else { return Ok(false) };
    node.truth().ok_or_else(|| Mistake::new(node.at, format!("`{name}.{key}` must be true or false")))
}

fn word<'n>(section: Option<&'n Node>, name: &str, key: &str) -> Result<Option<&'n str>, Mistake> {
    let Some(node) = section.and_then(|section| section.get(key)) else { return Ok(None) };
    let wrong = || Mistake::new(node.at, format!("`{name}.{key}` must be a text, not {}", node.kind()));
    node.text().map(Some).ok_or_else(wrong)
}

fn number(
    section: Option<&Node>,
    name: &str,
    key: &str,
    least: u64,
    most: u64,
) -> Result<Option<u64>, Mistake> {
    let Some(node) = section.and_then(|section| section.get(key)) else { return Ok(None) };
    match node.whole_number() {
        Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err(Mistake::new(node.at, format!("`{name}.{key}` must be a whole number, {least} to {most}"))),
    }
}

/// The list `hooks.approved`; `None` where there is none.
pub(super) fn approved(root: &Node) -> Result<Option<&Node>, Mistake> {
    let Some(hooks) = section(root, "hooks")? else { return Ok(None) };
    if let Some(at) = hooks.first_dressed() {
        return Err(Mistake::new(
            at,
            "anchors, aliases and tags are not taken in `hooks`: write the value out",
        ));
    }
    if let Some((key, _)) =
        hooks.map().unwrap_or_default().iter().find(|(key, _)| key.text() != Some("approved"))
    {
        let name = text::quote(key.text().unwrap_or_default());
        return Err(Mistake::new(key.at, format!("unknown key {name} in `hooks`")));
    }
    match hooks.get("approved").filter(|node| !node.is_none()) {
        Some(node) if node.list().is_none() => {
            Err(Mistake::new(node.at, format!("`hooks.approved` must be a list, not {}", node.kind())))
        }
        approved => Ok(approved),
    }
}

fn registrations(root: &Node) -> Result<Vec<Registration>, Mistake> {
    let entries = approved(root)?.and_then(Node::list).unwrap_or_default();
    if let Some(over) = entries.get(MOST) {
        return Err(Mistake::new(over.at, format!("`hooks.approved` has more than {MOST} entries")));
    }
    let mut read: Vec<Registration> = Vec::with_capacity(entries.len());
    for entry in entries {
        let registration = registration(entry)?;
        let same = |other: &Registration| {
            other.workspace == registration.workspace && other.path == registration.path
        };
        if read.iter().any(same) {
            let path = text::quote(&registration.path);
            return Err(Mistake::new(entry.at, format!("{path} is registered twice for one workspace")));
        }
        read.push(registration);
    }
    Ok(read)
}

fn registration(entry: &Node) -> Result<Registration, Mistake> {
    const KEYS: [&str; 3] = ["workspace", "path", "hash"];
    let Some(fields) = entry.map() else {
        return Err(Mistake::new(entry.at, format!("a registration is a mapping, not {}", entry.kind())));
    };
    let is_known = |key: &Node| key.text().is_some_and(|key| KEYS.contains(&key));
    if let Some((key, _)) = fields.iter().find(|(key, _)| !is_known(key)) {
        let name = text::quote(key.text().unwrap_or_default());
        return Err(Mistake::new(key.at, format!("unknown key {name} in a registration")));
    }
    let field = |name: &str| {
        let node = entry
            .get(name)
            .ok_or_else(|| Mistake::new(entry.at, format!("a registration has no `{name}`")))?;
        let wrong = || Mistake::new(node.at, format!("`{name}` must be a text, not {}", node.kind()));
        Ok((node, node.text().ok_or_else(wrong)?))
    };
    let (at, workspace) = field("workspace")?;
    if !workspace.starts_with('/') || workspace.len() > WORKSPACE_LIMIT {
        let message = format!("`workspace` must be an absolute path of at most {WORKSPACE_LIMIT} bytes");
        return Err(Mistake::new(at.at, message));
    }
    let (at, path) = field("path")?;
    let Some(path) = normal_path(path) else {
        return Err(Mistake::new(at.at, format!("{} is no path of a definition", text::quote(path))));
    };
    let (at, hash) = field("hash")?;
    if !hash::is_hash(hash) {
        return Err(Mistake::new(at.at, "`hash` must be 64 hex digits"));
    }
    Ok(Registration { workspace: workspace.to_owned(), path, hash: hash.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Profile, String> {
        parse(text.as_bytes()).map_err(|mistake| {
            let (line, column) = mistake.place(text);
            format!("{}:{}: {}", line.unwrap_or(0), column.unwrap_or(0), mistake.message)
        })
    }

    fn entry(workspace: &str, path: &str, hash: &str) -> String {
        format!("hooks:\n  approved:\n    - workspace: {workspace}\n      path: {path}\n      hash: {hash}\n")
    }

    #[test]
    fn everything_that_hooks_hang_on_is_read() {
        let hash = "ab".repeat(32);
        let text = format!(
            "model: x\npermissions:\n  level: workspace\n  allow_root: true\n  network: true\nnetwork: {{mode: offline}}\nagent:\n  max_fix_retries: 0\n  tool_timeout_sec: 7\n{}",
            entry("/w", ".shadow//hooks/x.yaml", &hash)
        );
        let profile = read(&text).unwrap();
        let policy = Policy { read_only: false, allow_root: true, network: true, offline: true };
        assert_eq!(profile.policy, policy);
        assert_eq!(profile.agent, Agent { max_fix_retries: 0, tool_timeout: 7 });
        let registration = Registration { workspace: "/w".into(), path: ".shadow/hooks/x.yaml".into(), hash };
        assert_eq!(profile.registrations, [registration]);
        for empty in
            ["", "# nothing\n", "~", "{}", "hooks:\n", "hooks: {approved: []}", "hooks:\n  approved:\n"]
        {
            assert_eq!(read(empty).unwrap(), Profile::default(), "{empty}");
        }
        for level in ["read-only", "read_only", "readonly"] {
            assert!(read(&format!("permissions: {{level: {level}}}")).unwrap().policy.read_only);
        }
    }

    #[test]
    fn one_wrong_entry_makes_all_wrong() {
        let hash = "0".repeat(64);
        let good = entry("/w", ".shadow/hooks/x.yaml", &hash);
        read(&good).unwrap();
        for (text, says) in [
            ("[1]".to_owned(), "1:1: it must be a mapping, not a list"),
            ("a: [".to_owned(), "1:4:"),
            ("hooks: 5".to_owned(), "`hooks` must be a mapping"),
            ("hooks: {approved: 5}".to_owned(), "`hooks.approved` must be a list"),
            ("hooks: {other: 5}".to_owned(), "unknown key \"other\" in `hooks`"),
            ("hooks: {approved: [5]}".to_owned(), "a registration is a mapping"),
            (format!("{good}      more: 1\n"), "unknown key \"more\" in a registration"),
            (good.replace("      path: .shadow/hooks/x.yaml\n", ""), "has no `path`"),
            (entry("w", ".shadow/hooks/x.yaml", &hash), "`workspace` must be an absolute path"),
            (entry("/w", ".shadow/x.yaml", &hash), "is no path of a definition"),
            (entry("/w", ".shadow/hooks/x.yaml", "12"), "`hash` must be 64 hex digits"),
            (
                format!(
                    "{good}{}",
                    entry("/w", ".shadow//hooks/x.yaml", &hash).split_once("approved:\n").unwrap().1
                ),
                "registered twice",
            ),
            (good.replace("hooks:", "hooks: &a"), "anchors, aliases and tags"),
            ("permissions: {network: 'true'}".to_owned(), "`permissions.network` must be true or false"),
            ("agent: {max_fix_retries: 11}".to_owned(), "must be a whole number, 0 to 10"),
            ("agent: {tool_timeout_sec: 0}".to_owned(), "must be a whole number, 1 to 3600"),
        ] {
            assert!(read(&text).unwrap_err().contains(says), "{text}: {:?}", read(&text));
        }
        assert!(read(&format!("#{}", "x".repeat(LIMIT))).is_err());
    }

    #[test]
    fn a_project_can_change_no_more_than_it_may() {
        let overlay = Overlay::parse(b"hooks: {approved: []}\npermissions: {level: read-only, network: true}\nagent: {max_fix_retries: 0}").unwrap();
        assert!(overlay.read_only);
        assert_eq!(overlay.apply(Agent::default()), Agent { max_fix_retries: 0, tool_timeout: 60 });
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
            let _ = Overlay::parse(&bytes);
        }
    }
}
