//! Verbs that record what follows from derived status: closing with a handoff, checkpoints, reconciliations, releases.
