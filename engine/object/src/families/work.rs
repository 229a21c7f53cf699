//! Intent, change, episode, case and trajectory: the course of the work.

use crate::macros::*;

record! {
    /// A pointer to something outside the repository.
    ExternalRef / NewExternalRef {
        0x01 name: req str,
        0x02 uri: req str,
        0x03 digest: opt bytes,
    }
}

family! {
    /// Why something is attempted.
    Intent / NewIntent {
        0x01 summary: req str,
        0x02 description: opt str,
        0x03 acceptance_criteria: opt [str],
        0x04 constraints: opt [str],
        0x05 requested_scope: opt [str],
        0x06 prohibited_scope: opt [str],
        0x07 related_objects: opt [(gid *)],
        0x08 parent_intent: opt (gid Intent),
        0x09 external_refs: opt [(record ExternalRef / NewExternalRef)],
        0x0A case: opt (gid Case),
        0x0B producer: opt (gid Producer),
        0x0C created_at: opt sint,
    }
}

family! {
    /// The evidence-bearing unit of history.
    Change / NewChange {
        0x01 summary: req str,
        0x02 intent: opt (gid Intent),
        0x03 input_state: opt (gid State),
        0x04 operations: opt [(gid Operation)],
        0x05 resulting_state: opt (gid State),
        0x06 producer: req (gid Producer),
        0x07 agent_run: opt (gid AgentRun),
        0x08 context_manifest: opt (gid ContextManifest),
        0x09 disclosure: opt (enum Disclosure),
        0x0A instruction_digest: opt bytes,
        0x0B environment: opt (gid Environment),
        0x0C claims: opt [(gid Claim)],
        0x0D evidence: opt [(gid Evidence)],
        0x0E residuals: opt [(gid Residual)],
        0x0F verification: opt [(gid Verification)],
        0x10 dependencies: opt [(gid *)],
        0x11 causal_parents: opt [(gid Change)],
        0x12 case: opt (gid Case),
        0x13 trajectory: opt (gid Trajectory),
        0x14 episode: opt (gid Episode),
        0x15 created_at: opt sint,
    }
}

family! {
    /// A bounded period of activity.
    Episode / NewEpisode {
        0x01 previous: opt (gid Episode),
        0x02 intent: opt (gid Intent),
        0x03 input_state: opt (gid State),
        0x04 operations: opt [(gid Operation)],
        0x05 output_state: opt (gid State),
        0x06 producer: opt (gid Producer),
        0x07 agent_run: opt (gid AgentRun),
        0x08 environment: opt (gid Environment),
        0x09 summary: opt str,
        0x0A outcome: opt (enum EpisodeOutcome),
        0x0B started_at: opt sint,
        0x0C ended_at: opt sint,
        0x0D trajectory: opt (gid Trajectory),
    }
}

family! {
    /// A larger engineering objective.
    Case / NewCase {
        0x01 previous: opt (gid Case),
        0x02 summary: req str,
        0x03 intent: opt (gid Intent),
        0x04 description: opt str,
        0x05 status: opt (enum CaseStatus),
        0x06 added_changes: opt [(gid Change)],
        0x07 added_trajectories: opt [(gid Trajectory)],
        0x08 releases: opt [(gid Release)],
        0x09 producer: opt (gid Producer),
        0x0A created_at: opt sint,
        0x0B updated_at: opt sint,
    }
}

record! {
    /// What the next worker needs to know.
    Handoff / NewHandoff {
        0x01 summary: opt str,
        0x02 completed: opt [str],
        0x03 remaining: opt [str],
        0x04 open_residuals: opt [(gid *)],
        0x05 important_evidence: opt [(gid *)],
        0x06 recommended_objects: opt [(gid *)],
        0x07 next_steps: opt [str],
    }
}

family! {
    /// One pursuit of an intent from a base state.
    Trajectory / NewTrajectory {
        0x01 previous: opt (gid Trajectory),
        0x02 intent: opt (gid Intent),
        0x03 base_state: opt (gid State),
        0x04 producer: opt (gid Producer),
        0x05 agent_run: opt (gid AgentRun),
        0x06 added_changes: opt [(gid Change)],
        0x07 added_episodes: opt [(gid Episode)],
        0x08 added_evidence: opt [(gid Evidence)],
        0x09 added_residuals: opt [(gid Residual)],
        0x0A outcome: opt (enum TrajectoryOutcome),
        0x0B termination_reason: opt str,
        0x0C handoff: opt (record Handoff / NewHandoff),
        0x0D created_at: opt sint,
        0x0E updated_at: opt sint,
    }
}
