//! Upper bounds on one object (object model, section 6).

/// The largest sizes and counts an object may have. Reading and writing apply the same values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole envelope, and of each field and record in it.
    pub max_object_bytes: u64,
    /// Nested records, the body counting as the first.
    pub max_record_depth: u64,
    /// Elements of each array.
    pub max_array_elements: u64,
    /// References in the whole object.
    pub max_refs_per_object: u64,
    /// Bytes of each string, path, enumeration value and byte string.
    pub max_string_bytes: u64,
}

impl Limits {
    /// The limits of encoding version 1, which are also the operator's ceiling unless lowered.
    pub const DEFAULT: Limits = Limits {
        max_object_bytes: 1 << 30,
        max_record_depth: 64,
        max_array_elements: 1_000_000,
        max_refs_per_object: 100_000,
        max_string_bytes: 16 << 20,
    };

    /// These limits with each value lowered to that of `policy` where that one is smaller. A repository's policy
    /// can tighten the ceiling and never raises it.
    #[must_use]
    pub fn lowered_by(&self, policy: &Limits) -> Limits {
        Limits {
            max_object_bytes: self.max_object_bytes.min(policy.max_object_bytes),
            max_record_depth: self.max_record_depth.min(policy.max_record_depth),
            max_array_elements: self.max_array_elements.min(policy.max_array_elements),
            max_refs_per_object: self.max_refs_per_object.min(policy.max_refs_per_object),
            max_string_bytes: self.max_string_bytes.min(policy.max_string_bytes),
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}

impl From<crate::families::ConfigLimits<'_>> for Limits {
    /// The limits a repository asks for; to be applied through [`Limits::lowered_by`].
    fn from(policy: crate::families::ConfigLimits<'_>) -> Limits {
        Limits {
            max_object_bytes: policy.max_object_bytes(),
            max_record_depth: policy.max_record_depth(),
            max_array_elements: policy.max_array_elements(),
            max_refs_per_object: policy.max_refs_per_object(),
            max_string_bytes: policy.max_string_bytes(),
        }
    }
}

/// Names one of the [`Limits`] in an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// [`Limits::max_object_bytes`].
    ObjectBytes,
    /// [`Limits::max_record_depth`].
    RecordDepth,
    /// [`Limits::max_array_elements`].
    ArrayElements,
    /// [`Limits::max_string_bytes`].
    StringBytes,
}

impl LimitKind {
    /// The name of the limit as policies write it.
    pub fn name(self) -> &'static str {
        match self {
            LimitKind::ObjectBytes => "max_object_bytes",
            LimitKind::RecordDepth => "max_record_depth",
            LimitKind::ArrayElements => "max_array_elements",
            LimitKind::StringBytes => "max_string_bytes",
        }
    }
}
