//! The agent run that `change finish` links or records (workflow, section 13).

use crate::history::finish::AgentOptions;
use crate::history::objects::non_empty;
use crate::{RepoError, Result};
use gemel_object::families::{NewAgentRun, NewTool};
use gemel_object::{Disclosure, Encoded, Family, Gid, Limits, Strings};

/// What a run made by `change finish` takes from the change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunContext<'a> {
    pub(crate) producer: Gid,
    pub(crate) input_state: Option<Gid>,
    pub(crate) intent: Option<Gid>,
    pub(crate) context_manifest: Option<Gid>,
    pub(crate) instruction_digest: Option<&'a [u8]>,
    pub(crate) environment: Option<Gid>,
    pub(crate) disclosure: Disclosure,
    pub(crate) started_at_ms: i64,
    pub(crate) ended_at_ms: i64,
}

impl AgentOptions {
    /// Whether nothing was said about an agent.
    pub(crate) fn is_empty(&self) -> bool {
        *self == AgentOptions::default()
    }

    /// Checks what can be checked before anything is captured.
    ///
    /// # Errors
    /// `Invalid` for a tool that is not `NAME=VERSION`.
    pub(crate) fn tools(&self) -> Result<Vec<NewTool<'_>>> {
        let tool = |text: &'_ String| match text.split_once('=') {
            Some((name, version)) if !name.is_empty() && !version.is_empty() => Ok(()),
            _ => Err(RepoError::invalid(format!("--agent-tool {text:?} is not NAME=VERSION"))),
        };
        self.tools.iter().try_for_each(tool)?;
        let pairs = self.tools.iter().filter_map(|text| text.split_once('='));
        Ok(pairs
            .map(|(name, version)| NewTool { name: Some(name), version: Some(version), ..NewTool::default() })
            .collect())
    }

    /// The run object.
    ///
    /// # Errors
    /// `Invalid`, `Object`.
    pub(crate) fn encode(&self, context: RunContext<'_>, limits: &Limits) -> Result<Encoded> {
        let tools = self.tools()?;
        NewAgentRun {
            producer: Some(context.producer),
            model_family: self.model_family.as_deref(),
            model_id: self.model_id.as_deref(),
            harness: self.harness.as_deref(),
            permissions: non_empty(&self.permissions).map(Strings::Owned),
            input_state: context.input_state,
            intent: context.intent,
            context_manifest: context.context_manifest,
            instruction_digest: context.instruction_digest,
            tool_identities: non_empty(&tools),
            environment: context.environment,
            disclosure: Some(context.disclosure),
            started_at: Some(context.started_at_ms),
            ended_at: Some(context.ended_at_ms),
            ..NewAgentRun::default()
        }
        .encode(limits)
        .map_err(|source| RepoError::Object { family: Family::AgentRun, source })
    }
}

/// Reads a digest of 32 bytes from 64 hex digits.
///
/// # Errors
/// `Invalid` for any other text.
pub(crate) fn digest(text: &str) -> Result<[u8; 32]> {
    match blake3::Hash::from_hex(text) {
        Ok(hash) => Ok(*hash.as_bytes()),
        Err(_) => Err(RepoError::invalid(format!("--instruction-digest {text:?} is not 64 hex digits"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests() {
        assert_eq!(digest(&"0f".repeat(32)).unwrap(), [15; 32]);
        assert_eq!(digest(&"F0".repeat(32)).unwrap(), [240; 32]);
        for bad in ["", "0f", &"0f".repeat(31), &"0f".repeat(33), &"0g".repeat(32), &"é".repeat(32)] {
            assert!(digest(bad).is_err(), "{bad}");
        }
    }
}
