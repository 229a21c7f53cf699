//! Config and mapping: rules of a repository, and its ties to others.

use crate::macros::*;

record! {
    /// The policy of one tier.
    RetentionTier / NewRetentionTier {
        0x01 tier: req uint,
        0x02 policy: req (enum RetentionPolicy),
        0x03 days: opt uint,
        0x04 bytes: opt uint,
        0x05 remote: opt str,
    }
}

record! {
    /// What may be pruned, by tier.
    Retention / NewRetention {
        0x01 tiers: opt [(record RetentionTier / NewRetentionTier)],
        0x02 default_unknown: opt (enum DefaultUnknown),
    }
}

record! {
    /// When garbage is collected.
    GcPolicy / NewGcPolicy {
        0x01 enabled: req bool,
        0x02 interval_days: req uint,
    }
}

record! {
    /// A repository's own limits; they only lower the operator's.
    ConfigLimits / NewConfigLimits {
        0x01 max_object_bytes: req uint,
        0x02 max_record_depth: req uint,
        0x03 max_array_elements: req uint,
        0x04 max_refs_per_object: req uint,
        0x05 max_string_bytes: req uint,
    }
}

record! {
    /// A platform and architecture.
    RequiredPlatform / NewRequiredPlatform {
        0x01 platform: req str,
        0x02 arch: req str,
    }
}

record! {
    /// One kind of claim and the platforms it is required on.
    RequiredEntry / NewRequiredEntry {
        0x01 kind: req str,
        0x02 platforms: opt [(record RequiredPlatform / NewRequiredPlatform)],
    }
}

record! {
    /// What a release must have been verified for.
    RequiredVerification / NewRequiredVerification {
        0x01 entries: opt [(record RequiredEntry / NewRequiredEntry)],
    }
}

family! {
    /// Repository policy.
    Config / NewConfig {
        0x01 previous: opt (gid Config),
        0x02 retention: opt (record Retention / NewRetention),
        0x03 gc: opt (record GcPolicy / NewGcPolicy),
        0x04 execution_policy: req (enum ExecutionPolicy),
        0x05 disclosure_default: opt (enum Disclosure),
        0x06 limits: opt (record ConfigLimits / NewConfigLimits),
        0x07 created_at: opt sint,
        0x08 required_verification: opt (record RequiredVerification / NewRequiredVerification),
    }
}

record! {
    /// What a mapping could not carry over.
    Loss / NewLoss {
        0x01 known_loss: opt [str],
        0x02 unknowns: opt [str],
        0x03 fabricated: opt [str] check MustBeEmpty,
    }
}

family! {
    /// Correspondence with an external identity.
    Mapping / NewMapping {
        0x01 kind: req (enum MappingKind),
        0x02 from: req str,
        0x03 to: req (gid *),
        0x04 loss: opt (record Loss / NewLoss),
        0x05 producer: opt (gid Producer),
        0x06 created_at: opt sint,
    }
}
