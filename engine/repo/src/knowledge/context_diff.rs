//! `context-diff`: what one agent run saw and another did not (query surface, section 4.12).

use crate::Result;
use crate::facts::Uncertainty;
use crate::history::graph::stored;
use crate::history::nodes;
use crate::knowledge::session::Session;
use crate::names::{Accept, resolve_in};
use gemel_object::families::{AgentRun, ContextManifest};
use gemel_object::{Family, Gid};
use gemel_store::Store;
use std::collections::BTreeSet;

/// Something a run saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeenFacts {
    /// As what: `source`, `documentation`, `claim`, `residual`, `trajectory`, `external_artifact`, `tool_output`, `policy`.
    pub class: &'static str,
    /// The object.
    pub id: Gid,
}

/// Two runs compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextDiffFacts {
    /// The first run.
    pub run_a: Gid,
    /// The second run.
    pub run_b: Gid,
    /// By class, then identity.
    pub seen_by_a_only: Vec<SeenFacts>,
    /// By class, then identity.
    pub seen_by_b_only: Vec<SeenFacts>,
    /// The state run A worked on.
    pub state_a: Option<Gid>,
    /// The state run B worked on.
    pub state_b: Option<Gid>,
    /// Whether both were instructed alike; `None` when it is not known.
    pub instruction_digests_equal: Option<bool>,
    /// What is not recorded of the runs.
    pub uncertainty: Vec<Uncertainty>,
}

/// Compares what two agent runs saw, by the manifests they name.
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `WrongFamily`, `Store`, `CorruptObject`.
pub fn context_diff(session: &mut Session<'_>, run_a: &str, run_b: &str) -> Result<ContextDiffFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let accept = Accept::only(Family::AgentRun);
    let a = resolve_in(repo, &world.refs, run_a, accept)?;
    let b = resolve_in(repo, &world.refs, run_b, accept)?;
    let (a, b) = (Run::read(repo.store(), a)?, Run::read(repo.store(), b)?);
    let only = |of: &Run, other: &Run| of.seen.difference(&other.seen).copied().collect();
    Ok(ContextDiffFacts {
        run_a: a.id,
        run_b: b.id,
        seen_by_a_only: only(&a, &b),
        seen_by_b_only: only(&b, &a),
        state_a: a.state,
        state_b: b.state,
        instruction_digests_equal: a.digest.as_ref().zip(b.digest.as_ref()).map(|(a, b)| a == b),
        uncertainty: [&a, &b].into_iter().filter_map(Run::doubt).collect(),
    })
}

/// A run with what it saw.
struct Run {
    id: Gid,
    state: Option<Gid>,
    digest: Option<Vec<u8>>,
    manifest: Option<Gid>,
    seen: BTreeSet<SeenFacts>,
    /// Whether the manifest it names is stored.
    is_known: bool,
}

impl Run {
    fn read(store: &Store, id: Gid) -> Result<Run> {
        let mut run = nodes::read(store, &id, |object| {
            let run = AgentRun::view(object)?;
            Ok(Run {
                id,
                state: run.input_state(),
                digest: run.instruction_digest().map(<[u8]>::to_vec),
                manifest: run.context_manifest(),
                seen: BTreeSet::new(),
                is_known: false,
            })
        })?;
        let Some(manifest) = run.manifest else { return Ok(run) };
        let found = stored(nodes::read(store, &manifest, |object| {
            let manifest = ContextManifest::view(object)?;
            Ok((seen(&manifest), manifest.instruction_digest().map(<[u8]>::to_vec)))
        }))?;
        if let Some((seen, digest)) = found {
            run.seen = seen;
            run.digest = run.digest.or(digest);
            run.is_known = true;
        }
        Ok(run)
    }

    /// What to say when it is not recorded what the run saw.
    fn doubt(&self) -> Option<Uncertainty> {
        let reason = match self.manifest {
            _ if self.is_known => return None,
            Some(manifest) => format!("what the run saw is told by {manifest}, which is not stored here"),
            None => "the run names no context manifest: what it saw is not recorded".to_owned(),
        };
        Some(Uncertainty { class: "context_manifest", ids: vec![self.id.to_string()], reason })
    }
}

fn seen(manifest: &ContextManifest<'_>) -> BTreeSet<SeenFacts> {
    let mut found = BTreeSet::new();
    let mut add = |class: &'static str, ids: &mut dyn Iterator<Item = Gid>| {
        found.extend(ids.map(|id| SeenFacts { class, id }));
    };
    add("source", &mut manifest.source_objects().iter());
    add("documentation", &mut manifest.documentation_objects().iter());
    add("claim", &mut manifest.claims().iter());
    add("residual", &mut manifest.residuals().iter());
    add("trajectory", &mut manifest.previous_trajectories().iter());
    add("external_artifact", &mut manifest.external_artifacts().iter());
    add("tool_output", &mut manifest.tool_outputs().iter());
    add("policy", &mut manifest.policies().iter());
    found
}
