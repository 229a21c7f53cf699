//! `context-manifest create`: what an agent saw (workflow, section 13).

use super::desk::{Desk, cannot_make, said};
use crate::history::agent;
use crate::history::objects::non_empty;
use crate::names::Kind;
use crate::{Repo, RepoError, Result};
use gemel_object::families::NewContextManifest;
use gemel_object::{Family, Gid};

/// What `context-manifest create` is told; identities are text in any accepted form.
#[derive(Clone, Debug, Default)]
pub struct ManifestOptions {
    /// Who saw it; the default producer when absent.
    pub producer: Option<String>,
    /// Source: objects of any family.
    pub sources: Vec<String>,
    /// Documentation: objects of any family.
    pub documentation: Vec<String>,
    /// Claims.
    pub claims: Vec<String>,
    /// Residuals.
    pub residuals: Vec<String>,
    /// Trajectories that went before.
    pub previous_trajectories: Vec<String>,
    /// Artifacts from elsewhere: objects of any family.
    pub external: Vec<String>,
    /// Outputs of tools: objects of any family.
    pub tool_outputs: Vec<String>,
    /// Configs.
    pub policies: Vec<String>,
    /// The instructions, as they were given.
    pub instruction: Option<String>,
    /// Their digest, 64 hex digits, when the text is withheld.
    pub instruction_digest: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// A manifest that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFacts {
    /// The manifest.
    pub id: Gid,
    /// Its name.
    pub name: String,
    /// Digest of the instructions: BLAKE3-256.
    pub instruction_digest: Option<[u8; 32]>,
}

/// Records a context manifest and names it `M<n>`. Lists are sets: sorted, and nothing twice.
///
/// # Errors
/// `Invalid`, `WrongFamily`, `Unresolved`, `Object`, `Store`.
pub fn manifest_create(repo: &Repo, options: &ManifestOptions) -> Result<ManifestFacts> {
    let desk = Desk::open(repo, options.now_ms)?;
    options.instruction.as_deref().map(|text| said("the instruction", text)).transpose()?;
    let given = options.instruction_digest.as_deref().map(agent::digest).transpose()?;
    let of_text = options.instruction.as_deref().map(|text| *blake3::hash(text.as_bytes()).as_bytes());
    if let (Some(given), Some(of_text)) = (&given, &of_text)
        && given != of_text
    {
        return Err(RepoError::invalid("--instruction-digest is not the digest of the instructions given"));
    }
    let digest = of_text.or(given);
    let sources = desk.any(&options.sources)?;
    let documentation = desk.any(&options.documentation)?;
    let claims = desk.ids(&options.claims, Family::Claim)?;
    let residuals = desk.ids(&options.residuals, Family::Residual)?;
    let trajectories = desk.ids(&options.previous_trajectories, Family::Trajectory)?;
    let external = desk.any(&options.external)?;
    let tool_outputs = desk.any(&options.tool_outputs)?;
    let policies = desk.ids(&options.policies, Family::Config)?;
    let manifest = NewContextManifest {
        source_objects: non_empty(&sources),
        documentation_objects: non_empty(&documentation),
        claims: non_empty(&claims),
        residuals: non_empty(&residuals),
        previous_trajectories: non_empty(&trajectories),
        external_artifacts: non_empty(&external),
        tool_outputs: non_empty(&tool_outputs),
        policies: non_empty(&policies),
        producer: Some(desk.producer(options.producer.as_deref())?),
        instruction: options.instruction.as_deref(),
        instruction_digest: digest.as_ref().map(<[u8; 32]>::as_slice),
        created_at: Some(options.now_ms),
        ..NewContextManifest::default()
    };
    let manifest = manifest.encode(&desk.limits).map_err(cannot_make(Family::ContextManifest))?;
    let made = desk.keep("context-manifest create", Kind::ContextManifest, &manifest, |_| Ok(()))?;
    Ok(ManifestFacts { id: made.id, name: made.name, instruction_digest: digest })
}
