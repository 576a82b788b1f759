//! A very small shop.

/// One line of a basket.
pub struct Line {
    /// The price of one piece, in cents.
    pub cents: u64,
    /// How many pieces.
    pub pieces: u64,
}

/// What a basket costs, in cents. From ten pieces of one thing on, every tenth is free.
pub fn total(basket: &[Line]) -> u64 {
    basket.iter().map(|line| line.cents * line.pieces).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_add_up() {
        assert_eq!(total(&[Line { cents: 250, pieces: 2 }, Line { cents: 100, pieces: 1 }]), 600);
    }

    #[test]
    fn every_tenth_is_free() {
        assert_eq!(total(&[Line { cents: 100, pieces: 20 }]), 1800);
    }
}
