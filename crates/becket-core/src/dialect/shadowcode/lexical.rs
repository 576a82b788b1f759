//! Words in commands: what looks like a test, and what reaches for root or the network. Word lists, no parsers.

use super::profile::Policy;

/// Words that are test runners by themselves.
const RUNNERS: [&str; 6] = ["pytest", "pytest-3", "unittest", "vitest", "jest", "ctest"];

/// Words that run tests when `test` follows.
const BUILDERS: [&str; 7] = ["cargo", "go", "npm", "pnpm", "yarn", "bun", "dotnet"];

/// Words that ask for another user's rights.
const ROOT: [&str; 6] = ["sudo", "doas", "su", "pkexec", "run0", "--privileged"];

/// Words that reach for the network.
const NETWORK: [&str; 24] = [
    "curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "nmap", "socat", "telnet", "ftp",
    "aria2c", "pip", "pip3", "pipx", "npm", "npx", "pnpm", "yarn", "uv", "uvx", "bunx",
];

/// Whether a command resembles a test.
pub(super) fn is_test(command: &str) -> bool {
    let breaks = |character: char| character.is_whitespace() || ";&|\"'".contains(character);
    let mut before = "";
    for word in command.split(breaks).filter(|word| !word.is_empty()) {
        if RUNNERS.contains(&word) || (word == "test" && BUILDERS.contains(&before)) {
            return true;
        }
        before = word;
    }
    false
}

/// Why a hook's command may not run under a profile's permissions, with the way to allow it.
pub(super) fn denial(command: &str, policy: &Policy) -> Option<String> {
    let words = || {
        command
            .split(|character: char| !(character.is_ascii_alphanumeric() || "_-".contains(character)))
            .filter(|word| !word.is_empty())
    };
    if !policy.allow_root
        && let Some(word) = words().find(|word| ROOT.contains(word))
    {
        return Some(format!(
            "the command has the privileged word `{word}`, which `permissions.allow_root: true` in ShadowCode's \
             config.yaml allows"
        ));
    }
    let word = words().find(|word| NETWORK.contains(word))?;
    if policy.offline {
        return Some(format!(
            "the command has the network word `{word}`, and `network.mode` in ShadowCode's config.yaml is `offline`"
        ));
    }
    (!policy.network).then(|| {
        format!(
            "the command has the network word `{word}`, which `permissions.network: true` in ShadowCode's \
             config.yaml allows"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_told_by_words_alone() {
        for command in [
            "cargo test",
            "FOO=1 cargo test --locked",
            "python -m pytest",
            "npx jest",
            "bash -c \"go test ./...\"",
            "echo pytest",
            "cargo; test",
            "a\nnpm\ttest",
            "x|ctest",
        ] {
            assert!(is_test(command), "{command}");
        }
        for command in [
            "",
            "cargo nextest run",
            "cargo +nightly test",
            "cargo --locked test",
            "cargo t",
            "npm run test",
            "make test",
            "test -f x",
            "./node_modules/.bin/jest",
            "(pytest)",
            "$(pytest)",
            "`pytest`",
            "Cargo test",
            "PYTEST",
        ] {
            assert!(!is_test(command), "{command}");
        }
    }

    #[test]
    fn root_and_network_words_are_denied_unless_allowed() {
        let policy = Policy::default();
        for command in ["sudo x", "echo \"su\"", "docker run --privileged x", "pkexec a", "/usr/bin/doas b"] {
            assert!(denial(command, &policy).unwrap().contains("privileged"), "{command}");
        }
        for command in ["npm test", "/usr/bin/curl x", "curl.exe", "cat docs/npm.md", "uvx ruff", "bunx x"] {
            let denied = denial(command, &policy).unwrap();
            assert!(denied.contains("network") && denied.contains("permissions.network: true"), "{command}");
        }
        for command in
            ["cargo test", "my-curl", "ssh-keygen", "SUDO", "rm -rf x", "git push --force", "susan"]
        {
            assert_eq!(denial(command, &policy), None, "{command}");
        }
        let open = Policy { allow_root: true, network: true, ..Policy::default() };
        assert_eq!(denial("sudo curl x", &open), None);
        let offline = Policy { offline: true, ..open };
        assert!(denial("curl x", &offline).unwrap().contains("offline"));
    }
}
