//! Ignore rules, as Git reads them (workflow, section 3.2).
//!
//! [`RuleFile`] is one `.gitignore`; [`Rules`] holds those of a worktree, each knowing the one above it. Bytes in,
//! answers out: this module opens no file. The user's global rules are not known here on purpose, because capture must
//! not depend on the machine.

mod glob;
mod rules;

pub(crate) use rules::{MAX_RULE_FILE, RuleDigest, RuleFile, RuleId, Rules};
