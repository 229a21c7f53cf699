//! Evidence, claims and residuals declared by `change finish`, as objects (workflow, sections 4.2 and 4.3).
//!
//! Links are only what the specs say: nothing is derived from equal subjects or order (DER-07). A claim may name a
//! residual of the same command and the reverse, so they are built in the order their links demand; a circle cannot
//! be built at all, identities being hashes.

use crate::history::objects::{cannot_make, non_empty, sorted};
use crate::history::specs::{self, ClaimSpec, EvidenceSpec, ResidualSpec, StateSpec, Target};
use crate::names::{Accept, resolve_in};
use crate::{Repo, RepoError, Result};
use gemel_object::families::{
    NewClaim, NewCounts, NewEvidence, NewEvidenceResult, NewReproduction, NewResidual, NewResidualScope,
    NewTool,
};
use gemel_object::{Encoded, Family, Gid, Limits, Strings};
use gemel_store::Refs;

/// What the specs may refer to.
#[derive(Clone, Copy)]
pub(crate) struct DeclareContext<'a> {
    pub(crate) repo: &'a Repo,
    pub(crate) refs: &'a Refs,
    pub(crate) limits: &'a Limits,
    pub(crate) producer: Gid,
    pub(crate) input_state: Option<Gid>,
    pub(crate) result_state: Gid,
    pub(crate) now_ms: i64,
}

/// All specs of a command, read but not yet resolved.
#[derive(Debug, Default)]
pub(crate) struct Specs {
    pub(crate) evidence: Vec<EvidenceSpec>,
    pub(crate) claims: Vec<ClaimSpec>,
    pub(crate) residuals: Vec<ResidualSpec>,
}

impl Specs {
    /// Reads the specs and checks the positions in them.
    ///
    /// # Errors
    /// `MalformedSpec`, `EmptyPredicate`, `EnumValue`, `Invalid` for a position out of range.
    pub(crate) fn read(evidence: &[String], claims: &[String], residuals: &[String]) -> Result<Specs> {
        let specs = Specs {
            evidence: evidence.iter().map(|text| specs::evidence(text)).collect::<Result<_>>()?,
            claims: claims.iter().map(|text| specs::claim(text)).collect::<Result<_>>()?,
            residuals: residuals.iter().map(|text| specs::residual(text)).collect::<Result<_>>()?,
        };
        let check =
            |targets: &[Target], len: usize, what: &str| match targets.iter().find_map(
                |target| match target {
                    Target::Index(at) if *at >= len => Some(*at),
                    _ => None,
                },
            ) {
                Some(at) => Err(RepoError::invalid(format!(
                    "{what} {at} is out of range: this command declares {len}, counted from 0"
                ))),
                None => Ok(()),
            };
        for claim in &specs.claims {
            check(&claim.evidence, specs.evidence.len(), "evidence")?;
            check(&claim.residuals, specs.residuals.len(), "residual")?;
        }
        for residual in &specs.residuals {
            check(&residual.claims, specs.claims.len(), "claim")?;
            check(residual.origin.as_slice(), specs.evidence.len(), "evidence")?;
        }
        Ok(specs)
    }
}

/// The objects, one for each spec and in the same order.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) evidence: Vec<Encoded>,
    pub(crate) claims: Vec<Encoded>,
    pub(crate) residuals: Vec<Encoded>,
}

/// Resolves and builds everything declared.
///
/// # Errors
/// As for resolving; `Invalid` for claims and residuals that refer to each other in a circle; `Object`.
pub(crate) fn declare(context: DeclareContext<'_>, specs: &Specs) -> Result<Declared> {
    let evidence =
        specs.evidence.iter().map(|spec| build_evidence(context, spec)).collect::<Result<Vec<_>>>()?;
    let mut claims: Vec<Option<Encoded>> = vec![None; specs.claims.len()];
    let mut residuals: Vec<Option<Encoded>> = vec![None; specs.residuals.len()];
    loop {
        let mut built = 0;
        for (slot, spec) in claims.iter_mut().zip(&specs.claims) {
            if slot.is_none() && ready(&spec.residuals, &residuals) {
                *slot = Some(build_claim(context, spec, &evidence, &residuals)?);
                built += 1;
            }
        }
        for (slot, spec) in residuals.iter_mut().zip(&specs.residuals) {
            if slot.is_none() && ready(&spec.claims, &claims) {
                *slot = Some(build_residual(context, spec, &evidence, &claims)?);
                built += 1;
            }
        }
        if built == 0 {
            break;
        }
    }
    let circle =
        || RepoError::invalid("claims and residuals of this command refer to each other in a circle");
    Ok(Declared {
        evidence,
        claims: claims.into_iter().collect::<Option<_>>().ok_or_else(circle)?,
        residuals: residuals.into_iter().collect::<Option<_>>().ok_or_else(circle)?,
    })
}

fn ready(targets: &[Target], built: &[Option<Encoded>]) -> bool {
    targets.iter().all(|target| match target {
        Target::Index(at) => built.get(*at).is_some_and(Option::is_some),
        Target::Name(_) => true,
    })
}

impl DeclareContext<'_> {
    fn name(&self, text: &str, accept: Accept) -> Result<Gid> {
        resolve_in(self.repo, self.refs, text, accept)
    }

    fn target(&self, target: &Target, family: Family, own: &[Gid]) -> Result<Gid> {
        match target {
            Target::Name(text) => self.name(text, Accept::only(family)),
            Target::Index(at) => own.get(*at).copied().ok_or_else(|| {
                RepoError::invalid(format!("{} {at} is out of range; positions count from 0", family.name()))
            }),
        }
    }

    /// Resolved targets, ascending and each once: a link is a set, not a sequence.
    fn targets(&self, targets: &[Target], family: Family, own: &[Gid]) -> Result<Vec<Gid>> {
        let found = targets.iter().map(|target| self.target(target, family, own)).collect::<Result<_>>()?;
        Ok(sorted(found))
    }

    fn names(&self, texts: &[String], accept: Accept) -> Result<Vec<Gid>> {
        let found = texts.iter().map(|text| self.name(text, accept)).collect::<Result<_>>()?;
        Ok(sorted(found))
    }
}

fn ids(built: &[Option<Encoded>]) -> Vec<Gid> {
    // Slots that are not built yet are not referred to by what is being built.
    let placeholder = Gid::new(Family::Blob, [0; 32]);
    built.iter().map(|slot| slot.as_ref().map_or(placeholder, |encoded| encoded.id)).collect()
}

fn build_evidence(context: DeclareContext<'_>, spec: &EvidenceSpec) -> Result<Encoded> {
    let evaluated_state = match &spec.state {
        None => None,
        Some(StateSpec::Result) => Some(context.result_state),
        Some(StateSpec::Input) => Some(context.input_state.ok_or_else(|| {
            RepoError::invalid(format!(
                "evidence {:?}: state=input, but the change has no input state",
                spec.subject
            ))
        })?),
        Some(StateSpec::Name(text)) => Some(context.name(text, Accept::only(Family::State))?),
    };
    let environment =
        spec.environment.as_deref().map(|text| context.name(text, Accept::only(Family::Environment)));
    let tools: Vec<NewTool<'_>> = spec
        .tools
        .iter()
        .map(|(name, version)| NewTool { name: Some(name), version: Some(version), ..NewTool::default() })
        .collect();
    let counts = spec.counts.map(|counts| NewCounts {
        passed: Some(counts.passed),
        failed: Some(counts.failed),
        skipped: Some(counts.skipped),
        total: Some(counts.total),
        ..NewCounts::default()
    });
    NewEvidence {
        producer: Some(context.producer),
        kind: Some(spec.kind),
        subject: Some(&spec.subject),
        command: spec.command.as_deref(),
        environment: environment.transpose()?,
        tools: non_empty(&tools),
        result: Some(NewEvidenceResult {
            outcome: Some(spec.outcome),
            detail: spec.detail.as_deref(),
            exit_code: spec.exit_code,
            counts,
            ..NewEvidenceResult::default()
        }),
        reproduction: spec
            .replayable
            .map(|replayable| NewReproduction { replayable: Some(replayable), ..NewReproduction::default() }),
        created_at: Some(context.now_ms),
        evaluated_state,
        ..NewEvidence::default()
    }
    .encode(context.limits)
    .map_err(cannot_make(Family::Evidence))
}

fn build_claim(
    context: DeclareContext<'_>,
    spec: &ClaimSpec,
    evidence: &[Encoded],
    residuals: &[Option<Encoded>],
) -> Result<Encoded> {
    let own: Vec<Gid> = evidence.iter().map(|encoded| encoded.id).collect();
    let evidence = context.targets(&spec.evidence, Family::Evidence, &own)?;
    let residuals = context.targets(&spec.residuals, Family::Residual, &ids(residuals))?;
    let dependencies = context.names(&spec.depends, Accept::ANY)?;
    let supersedes = spec.supersedes.as_deref().map(|text| context.name(text, Accept::only(Family::Claim)));
    NewClaim {
        subject: Some(&spec.subject),
        predicate: Some(&spec.predicate),
        predicate_kind: Some(spec.kind),
        scope: spec.scope.as_deref(),
        producer: Some(context.producer),
        evidence: non_empty(&evidence),
        residuals: non_empty(&residuals),
        dependencies: non_empty(&dependencies),
        supersedes: supersedes.transpose()?,
        created_at: Some(context.now_ms),
        ..NewClaim::default()
    }
    .encode(context.limits)
    .map_err(cannot_make(Family::Claim))
}

fn build_residual(
    context: DeclareContext<'_>,
    spec: &ResidualSpec,
    evidence: &[Encoded],
    claims: &[Option<Encoded>],
) -> Result<Encoded> {
    let own: Vec<Gid> = evidence.iter().map(|encoded| encoded.id).collect();
    let claims = context.targets(&spec.claims, Family::Claim, &ids(claims))?;
    let origin = spec.origin.as_ref().map(|target| context.target(target, Family::Evidence, &own));
    let entities = context.names(&spec.entities, Accept::ANY)?;
    let changes = context.names(&spec.changes, Accept::only(Family::Change))?;
    let recurrence = context.names(&spec.recurs, Accept::only(Family::Residual))?;
    let scope = NewResidualScope {
        paths: non_empty(&spec.paths).map(Strings::Owned),
        entities: non_empty(&entities),
        ..NewResidualScope::default()
    };
    NewResidual {
        summary: Some(&spec.summary),
        classification: Some(spec.class),
        severity: Some(spec.severity),
        scope: (!spec.paths.is_empty() || !entities.is_empty()).then_some(scope),
        affected_claims: non_empty(&claims),
        affected_changes: non_empty(&changes),
        origin_evidence: origin.transpose()?,
        first_observed_at: Some(context.now_ms),
        recurrence: non_empty(&recurrence),
        created_at: Some(context.now_ms),
        ..NewResidual::default()
    }
    .encode(context.limits)
    .map_err(cannot_make(Family::Residual))
}
