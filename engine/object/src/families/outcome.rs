//! Reconciliation, release and checkpoint: where work is brought together.

use crate::macros::*;

record! {
    /// How the work of two trajectories meets.
    Interaction / NewInteraction {
        0x01 kind: req (enum InteractionKind),
        0x02 certainty: req (enum Certainty),
        0x03 subjects: opt [(gid *)],
        0x04 severity: opt str,
        0x05 detail: opt str,
    }
}

family! {
    /// A decision over several trajectories.
    Reconciliation / NewReconciliation {
        0x01 summary: req str,
        0x02 intent: opt (gid Intent),
        0x03 input_trajectories: opt [(gid Trajectory)],
        0x04 input_states: opt [(gid State)],
        0x05 adopted_changes: opt [(gid Change)],
        0x06 rejected_changes: opt [(gid Change)],
        0x07 unresolved_residuals: opt [(gid Residual)],
        0x08 resolved_residuals: opt [(gid Residual)],
        0x09 semantic_interactions: opt [(record Interaction / NewInteraction)],
        0x0A claims_retained: opt [(gid Claim)],
        0x0B claims_invalidated: opt [(gid Claim)],
        0x0C evidence_retained: opt [(gid Evidence)],
        0x0D verification_required: opt [(gid Verification)],
        0x0E resulting_state: opt (gid State),
        0x0F resulting_change: opt (gid Change),
        0x10 rationale: opt str,
        0x11 producer: opt (gid Producer),
        0x12 created_at: opt sint,
    }
}

record! {
    /// A file that was shipped.
    Artifact / NewArtifact {
        0x01 name: req str,
        0x02 digest: req bytes,
        0x03 uri: opt str,
    }
}

family! {
    /// A distributable state.
    Release / NewRelease {
        0x01 name: req str,
        0x02 version: opt str,
        0x03 state: req (gid State),
        0x04 changes: opt [(gid Change)],
        0x05 cases: opt [(gid Case)],
        0x06 claims: opt [(gid Claim)],
        0x07 residuals: opt [(gid Residual)],
        0x08 verification: opt [(gid Verification)],
        0x09 artifacts: opt [(record Artifact / NewArtifact)],
        0x0A producer: opt (gid Producer),
        0x0B created_at: opt sint,
    }
}

family! {
    /// A continuation boundary.
    Checkpoint / NewCheckpoint {
        0x01 previous: opt (gid Checkpoint),
        0x02 summary: req str,
        0x03 intent: opt (gid Intent),
        0x04 trajectory: opt (gid Trajectory),
        0x05 state: opt (gid State),
        0x06 open_claims: opt [(gid Claim)],
        0x07 unresolved_residuals: opt [(gid Residual)],
        0x08 important_evidence: opt [(gid Evidence)],
        0x09 recent_decisions: opt [(gid Change)],
        0x0A relevant_attempts: opt [(gid Trajectory)],
        0x0B continuation_scope: opt [str],
        0x0C producer: opt (gid Producer),
        0x0D created_at: opt sint,
    }
}
