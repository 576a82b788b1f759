//! How many characters a part of a pattern matches.

use crate::ast::UNBOUNDED;

/// The least and the most characters. A sum that does not fit stays at the largest number, which stands
/// for "no limit".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Width {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Width {
    pub(crate) const ZERO: Width = Width { min: 0, max: 0 };
    pub(crate) const ONE: Width = Width { min: 1, max: 1 };

    /// This part and then the other.
    pub(crate) fn then(self, next: Width) -> Width {
        Width { min: self.min.saturating_add(next.min), max: self.max.saturating_add(next.max) }
    }

    /// Either part.
    pub(crate) fn or(self, other: Width) -> Width {
        Width { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// This part, repeated.
    pub(crate) fn times(self, min: u32, max: u32) -> Width {
        Width {
            min: self.min.saturating_mul(min.into()),
            max: match max {
                UNBOUNDED if self.max > 0 => u64::MAX,
                _ => self.max.saturating_mul(max.into()),
            },
        }
    }
}
