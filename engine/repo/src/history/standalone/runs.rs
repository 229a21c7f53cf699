//! `agent-run create` (workflow, section 13).

use super::desk::{Desk, Made, all_said, cannot_make, disclosure, pair};
use crate::history::agent;
use crate::history::objects::non_empty;
use crate::names::Kind;
use crate::{Repo, Result};
use gemel_object::families::{NewAgentRun, NewTool};
use gemel_object::{Family, Strings};

/// What `agent-run create` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Who ran; the default producer when absent.
    pub producer: Option<String>,
    /// Model family.
    pub model_family: Option<String>,
    /// Model.
    pub model_id: Option<String>,
    /// Harness.
    pub harness: Option<String>,
    /// Permissions.
    pub permissions: Vec<String>,
    /// The state it started from.
    pub input_state: Option<String>,
    /// What it was asked for.
    pub intent: Option<String>,
    /// What it saw.
    pub context_manifest: Option<String>,
    /// 64 hex digits.
    pub instruction_digest: Option<String>,
    /// Tools, `NAME=VERSION`.
    pub tools: Vec<String>,
    /// Where it ran.
    pub environment: Option<String>,
    /// The run that started it.
    pub parent: Option<String>,
    /// The trajectory it worked on, which exists already.
    pub output_trajectory: Option<String>,
    /// One of the disclosure set; the repository's default when absent.
    pub disclosure: Option<String>,
    /// Its conversation, an object of any family.
    pub conversation_ref: Option<String>,
    /// Unix milliseconds.
    pub started_at_ms: Option<i64>,
    /// Unix milliseconds.
    pub ended_at_ms: Option<i64>,
    /// Unix milliseconds, for the journal: the object holds the times given.
    pub now_ms: i64,
}

/// Records an agent run and names it `A<n>`; one that is recorded already keeps its name.
///
/// # Errors
/// `Invalid`, `EnumValue`, `WrongFamily`, `Unresolved`, `Object`, `Store`.
pub fn run_create(repo: &Repo, options: &RunOptions) -> Result<Made> {
    let desk = Desk::open(repo, options.now_ms)?;
    let tools = options.tools.iter().map(|text| pair("--tool", text)).collect::<Result<Vec<_>>>()?;
    let tools: Vec<NewTool<'_>> = tools
        .into_iter()
        .map(|(name, version)| NewTool { name: Some(name), version: Some(version), ..NewTool::default() })
        .collect();
    all_said("--permission", &options.permissions)?;
    let disclosure = match &options.disclosure {
        Some(text) => disclosure(text)?,
        None => repo.disclosure_default(&desk.refs)?,
    };
    let digest = options.instruction_digest.as_deref().map(agent::digest).transpose()?;
    let id = |text: &Option<String>, family: Family| desk.optional(text.as_deref(), family);
    let conversation = desk.any(options.conversation_ref.as_slice())?;
    let run = NewAgentRun {
        producer: Some(desk.producer(options.producer.as_deref())?),
        model_family: options.model_family.as_deref(),
        model_id: options.model_id.as_deref(),
        harness: options.harness.as_deref(),
        permissions: non_empty(&options.permissions).map(Strings::Owned),
        input_state: id(&options.input_state, Family::State)?,
        intent: id(&options.intent, Family::Intent)?,
        context_manifest: id(&options.context_manifest, Family::ContextManifest)?,
        instruction_digest: digest.as_ref().map(<[u8; 32]>::as_slice),
        tool_identities: non_empty(&tools),
        environment: id(&options.environment, Family::Environment)?,
        parent: id(&options.parent, Family::AgentRun)?,
        output_trajectory: id(&options.output_trajectory, Family::Trajectory)?,
        disclosure: Some(disclosure),
        conversation_ref: conversation.first().copied(),
        started_at: options.started_at_ms,
        ended_at: options.ended_at_ms,
        ..NewAgentRun::default()
    };
    let run = run.encode(&desk.limits).map_err(cannot_make(Family::AgentRun))?;
    desk.keep("agent-run create", Kind::AgentRun, &run, |_| Ok(()))
}
