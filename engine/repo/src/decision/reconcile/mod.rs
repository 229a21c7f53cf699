//! `reconcile`: one result out of several attempts (workflow, section 12). Inputs are neither closed nor changed.
//!
//! A plan is made first and changes nothing; carrying it out writes the objects the plan named, the files if they are to
//! follow, and then every ref in one transaction. Files come before refs: whoever is stopped in between finds the
//! reconciled files unrecorded, and the same command again goes on from there.

mod adopt;
mod base;
mod plan;
mod record;

pub use plan::{Interaction, ReconcilePlan, TextualConflict};
pub use record::{ReconcileFacts, Recorded};

use crate::content::{CheckoutRequest, ContentError, plan_checkout};
use crate::facts::Progress;
use crate::history::workspace::{Workspace, record_name};
use crate::knowledge::Session;
use crate::names::{Allocator, Kind};
use crate::{RepoError, Result};
use gemel_object::Gid;

/// What `reconcile` is told.
#[derive(Clone, Debug, Default)]
pub struct ReconcileOptions {
    /// At least two trajectories, by name or any version, first the one that wins.
    pub trajectories: Vec<String>,
    /// Whether nothing is recorded.
    pub plan: bool,
    /// Whether head moves, and the files of the default workspace with it.
    pub apply: bool,
    /// Whether the files and the workspace's state stay when it is applied.
    pub no_checkout: bool,
    /// Whether unrecorded files in the way may be lost.
    pub force: bool,
    /// Text to add to the rationale.
    pub rationale: Option<String>,
    /// Who decides; the default producer when absent.
    pub producer: Option<String>,
    /// Unix milliseconds.
    pub now_ms: i64,
}

/// Times a plan is made again because refs moved while its objects were written.
const MAX_REPLANS: usize = 3;

/// Plans a reconciliation and, unless only the plan is wanted, records it.
///
/// # Errors
/// `Invalid` for fewer than two inputs, the same one twice, or inputs without a common base; `Unresolved`,
/// `WrongFamily`; with `apply` `AlreadyPending` and whatever the checkout refuses (`UnrecordedWork`). Refs are then as
/// they were.
pub fn reconcile(
    session: &mut Session<'_>,
    options: &ReconcileOptions,
    progress: &dyn Progress,
) -> Result<ReconcileFacts> {
    let repo = session.repo();
    let world = session.world()?;
    let producer = repo.producer(&world.refs, options.producer.as_deref(), None)?;
    if options.plan {
        let plan = plan::make(session, options)?.plan;
        return Ok(ReconcileFacts { plan, recorded: None });
    }
    let follow = options.apply && !options.no_checkout;
    let mut replans = 0;
    let (made, objects) = loop {
        let sequence = session.world()?.refs.sequence();
        let made = plan::make(session, options)?;
        let refs = session.world()?.refs.clone();
        if follow && !options.force {
            let workspace = Workspace::load(&refs, None)?;
            if workspace.pending.is_some() {
                return Err(RepoError::AlreadyPending { workspace: workspace.name });
            }
        }
        let objects = record::objects(repo, &refs, &made, producer, options.now_ms)?;
        record::store(repo, &made, &objects)?;
        replans += 1;
        if replans >= MAX_REPLANS || repo.store().refs()?.sequence() == sequence {
            break (made, objects);
        }
    };
    if follow {
        write_files(session, made.plan.resulting_state, options.force, progress)?;
    }

    let mut transaction = repo.store().transaction()?;
    let mut names = Allocator::new(transaction.refs());
    let (reconciliation, state, change) =
        (names.next(Kind::Reconciliation)?, names.next(Kind::State)?, names.next(Kind::Change)?);
    transaction.set(reconciliation.full, objects.reconciliation.id);
    transaction.set(state.full, made.plan.resulting_state);
    transaction.set(change.full, objects.change.id);
    if options.apply {
        transaction.set("refs/head", objects.change.id);
        transaction.set("refs/state/head", made.plan.resulting_state);
        if follow {
            let workspace = Workspace::load(transaction.refs(), None)?;
            transaction.set(record_name(&workspace.name, "state"), made.plan.resulting_state);
        }
    }
    names.save(&mut transaction);
    transaction.commit("reconcile", options.now_ms)?;
    let recorded = Recorded {
        reconciliation: objects.reconciliation.id,
        reconciliation_name: reconciliation.short,
        change: objects.change.id,
        change_name: change.short,
        state: made.plan.resulting_state,
        state_name: state.short,
        applied: options.apply,
    };
    Ok(ReconcileFacts { plan: made.plan, recorded: Some(recorded) })
}

/// Makes the files of the default workspace the result, exactly, unless unrecorded work is in the way.
fn write_files(session: &mut Session<'_>, state: Gid, force: bool, progress: &dyn Progress) -> Result<()> {
    let repo = session.repo();
    let refs = repo.store().refs()?;
    let workspace = Workspace::load(&refs, None)?;
    let (dir, limits) = (workspace.dir(repo), repo.limits(&refs)?);
    let cache = workspace.cache_name(repo, &dir);
    let request = CheckoutRequest {
        target: &dir,
        state,
        recorded: workspace.recorded(&refs)?,
        overlay: false,
        force,
        cache: Some(&cache),
        limits: &limits,
        progress,
    };
    let plan = plan_checkout(repo.store(), &request)?;
    if !plan.obstacles.is_empty() && !force {
        return Err(ContentError::UnrecordedWork { paths: plan.obstacles }.into());
    }
    plan.run(repo.store(), &request)?;
    Ok(())
}
