//! SHA-256 as lower-case hex, the form in which content is shown, approved and compared.

use sha2::{Digest, Sha256};

/// The SHA-256 of `bytes` as 64 lower-case hex digits.
pub fn of(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(bytes);
    let mut hex = String::with_capacity(64);
    for byte in digest {
        hex.push(char::from(DIGITS[usize::from(byte >> 4)]));
        hex.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    hex
}

/// Whether `text` is 64 hex digits, of either case.
pub fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
