//! Claim, evidence, residual and verification: what is said, seen, open and checked.

use crate::macros::*;

record! {
    /// A tool with its exact version.
    Tool / NewTool {
        0x01 name: req str,
        0x02 version: req str,
        0x03 digest: opt bytes,
    }
}

record! {
    /// Something named and pinned by its digest.
    NamedDigest / NewNamedDigest {
        0x01 name: req str,
        0x02 digest: req bytes,
    }
}

record! {
    /// Numbers of cases by outcome.
    Counts / NewCounts {
        0x01 passed: req uint,
        0x02 failed: req uint,
        0x03 skipped: req uint,
        0x04 total: req uint,
    }
}

record! {
    /// What an observation showed.
    EvidenceResult / NewEvidenceResult {
        0x01 outcome: req (enum EvidenceOutcome),
        0x02 detail: opt str,
        0x03 exit_code: opt sint,
        0x04 counts: opt (record Counts / NewCounts),
    }
}

record! {
    /// What a repetition would need.
    Reproduction / NewReproduction {
        0x01 replayable: opt bool,
        0x02 inputs_present: opt bool,
        0x03 inputs_remote: opt bool,
        0x04 policy_required: opt bool,
    }
}

family! {
    /// A record of what actually happened.
    Evidence / NewEvidence {
        0x01 producer: req (gid Producer),
        0x02 kind: req (enum EvidenceKind),
        0x03 subject: opt str,
        0x04 subject_refs: opt [(gid *)],
        0x05 command: opt str,
        0x06 command_ref: opt (gid Operation),
        0x07 input_refs: opt [(gid *)],
        0x08 environment: opt (gid Environment),
        0x09 tools: opt [(record Tool / NewTool)],
        0x0A fixtures: opt [(gid *)],
        0x0B normalizers: opt [(record NamedDigest / NewNamedDigest)],
        0x0C comparators: opt [(record NamedDigest / NewNamedDigest)],
        0x0D result: opt (record EvidenceResult / NewEvidenceResult),
        0x0E output_refs: opt [(gid *)],
        0x0F reproduction: opt (record Reproduction / NewReproduction),
        0x10 created_at: opt sint,
        0x11 evaluated_state: opt (gid State),
    }
}

family! {
    /// An asserted proposition.
    Claim / NewClaim {
        0x01 subject: opt str,
        0x02 subject_refs: opt [(gid *)],
        0x03 predicate: req str check NonEmpty,
        0x04 predicate_kind: opt (enum ClaimKind),
        0x05 scope: opt str,
        0x06 scope_refs: opt [(gid *)],
        0x07 producer: req (gid Producer),
        0x08 evidence: opt [(gid Evidence)],
        0x09 residuals: opt [(gid Residual)],
        0x0A dependencies: opt [(gid *)],
        0x0B supersedes: opt (gid Claim),
        0x0C change: opt (gid Change),
        0x0D assertion: opt str,
        0x0E created_at: opt sint,
    }
}

record! {
    /// What a residual concerns.
    ResidualScope / NewResidualScope {
        0x01 intent: opt (gid Intent),
        0x02 trajectories: opt [(gid *)],
        0x03 paths: opt [str],
        0x04 entities: opt [(gid *)],
    }
}

record! {
    /// A decision about a residual.
    DispositionEvent / NewDispositionEvent {
        0x01 disposition: req (enum Disposition),
        0x02 by: req (gid Producer),
        0x03 evidence: opt (gid Evidence),
        0x04 reconciliation: opt (gid Reconciliation),
        0x05 reason: opt str,
        0x06 at: opt sint,
    }
}

family! {
    /// Unresolved disagreement.
    Residual / NewResidual {
        0x01 previous: opt (gid Residual),
        0x02 summary: req str,
        0x03 classification: opt (enum ResidualClass),
        0x04 severity: opt (enum ResidualSeverity),
        0x05 scope: opt (record ResidualScope / NewResidualScope),
        0x06 affected_claims: opt [(gid Claim)],
        0x07 affected_changes: opt [(gid Change)],
        0x08 origin_evidence: opt (gid Evidence),
        0x09 first_observed_at: opt sint,
        0x0A disposition_event: opt (record DispositionEvent / NewDispositionEvent),
        0x0B recurrence: opt [(gid Residual)],
        0x0C created_at: opt sint,
    }
}

record! {
    /// A platform that a verification covered.
    ScopePlatform / NewScopePlatform {
        0x01 os: req str,
        0x02 arch: req str,
        0x03 variant: opt str,
    }
}

record! {
    /// A tool that a verification used.
    ToolVersion / NewToolVersion {
        0x01 name: req str,
        0x02 version: req str,
    }
}

record! {
    /// What a verification covered.
    VerificationScope / NewVerificationScope {
        0x01 platforms: opt [(record ScopePlatform / NewScopePlatform)],
        0x02 configs: opt [str],
        0x03 tool_versions: opt [(record ToolVersion / NewToolVersion)],
    }
}

family! {
    /// A scoped verification run.
    Verification / NewVerification {
        0x01 subject: opt str,
        0x02 subject_refs: opt [(gid *)],
        0x03 scope: opt (record VerificationScope / NewVerificationScope),
        0x04 claims: opt [(gid Claim)],
        0x05 evidence: opt [(gid Evidence)],
        0x06 residuals: opt [(gid Residual)],
        0x07 result: req (enum VerifyResult),
        0x08 producer: opt (gid Producer),
        0x09 environment: opt (gid Environment),
        0x0A started_at: opt sint,
        0x0B ended_at: opt sint,
        0x0C policy: opt (gid Config),
    }
}
