//! Why bytes are not what a layout says.

/// A layout violation: what was read, where in the given bytes, and the values that disagree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The bytes end before the named part does.
    #[error("{what} is cut off at byte {offset}")]
    Cut {
        /// The part.
        what: &'static str,
        /// Where it starts.
        offset: u64,
    },
    /// A number that must not exceed a bound does.
    #[error("{what} is {found}, above {limit}")]
    TooLarge {
        /// The number.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The bound.
        limit: u64,
    },
    /// A checksum differs.
    #[error("{what} at byte {offset}: checksum {found:08x}, expected {expected:08x}")]
    Checksum {
        /// The part.
        what: &'static str,
        /// Where it starts.
        offset: u64,
        /// The value stored.
        expected: u64,
        /// The value computed.
        found: u64,
    },
    /// A field with a value the layout does not have.
    #[error("{what} is {found}, which this layout does not have")]
    Unknown {
        /// The field.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// A newer layout.
    #[error("{what} has version {found}; this build reads {supported}")]
    Version {
        /// The file kind.
        what: &'static str,
        /// The version found.
        found: u32,
        /// The version supported.
        supported: u32,
    },
    /// Two numbers that must agree do not.
    #[error("{what}: {found} where {expected} was declared")]
    Mismatch {
        /// The number.
        what: &'static str,
        /// The value declared.
        expected: u64,
        /// The value found.
        found: u64,
    },
    /// The codec refused the payload.
    #[error("{what} does not inflate: {detail}")]
    Codec {
        /// The part.
        what: &'static str,
        /// The codec's answer.
        detail: String,
    },
}
