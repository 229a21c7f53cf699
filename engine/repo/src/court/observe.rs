//! What a run becomes: outputs as blobs, the observation as evidence.

use super::{CourtFacts, CourtOptions, CourtPlan, Way};
use crate::facts::Progress;
use crate::{Repo, RepoError, Result};

/// Refuses: a process whose descendants cannot be stopped is not started.
///
/// # Errors
/// `Invalid`.
#[cfg(not(unix))]
pub(super) fn observe(
    _: &Repo,
    _: &CourtPlan,
    _: &Way,
    _: &CourtOptions,
    _: &dyn Progress,
) -> Result<CourtFacts> {
    Err(RepoError::invalid(
        "court runs commands on Unix only: elsewhere a whole process group cannot be stopped",
    ))
}

#[cfg(unix)]
pub(super) use unix::observe;

#[cfg(unix)]
mod unix {
    use super::*;
    use crate::court::process::{self, Ended, How, Output};
    use crate::facts::{Omitted, Uncertainty};
    use crate::history::observation::{self, Observation, Outcome, Reproduction};
    use crate::history::unrecorded::{Files, files_against};
    use crate::history::workspace::Workspace;
    use crate::repo::court_runner;
    use gemel_object::{EvidenceOutcome, Gid, blob_envelope};
    use std::time::Duration;

    /// Bytes kept of each output.
    const MAX_OUTPUT_BYTES: u64 = 1 << 20;

    /// Bytes of standard error that become the detail.
    const MAX_DETAIL_BYTES: usize = 4096;

    /// Bytes of an envelope around its body at most.
    const ENVELOPE_BYTES: u64 = 32;

    /// Runs and records.
    ///
    /// # Errors
    /// `Process` when the process cannot be watched, `Object`, `Store`.
    pub(in crate::court) fn observe(
        repo: &Repo,
        plan: &CourtPlan,
        way: &Way,
        options: &CourtOptions,
        progress: &dyn Progress,
    ) -> Result<CourtFacts> {
        let refs = repo.store().refs()?;
        let limits = repo.limits(&refs)?;
        let runner = court_runner()?;
        let producer = match &options.producer {
            Some(text) => repo.producer(&refs, Some(text), None)?,
            None => runner.id,
        };
        let environment = options.environment.as_ref().map(|machine| machine.encode(&limits)).transpose()?;
        let head = refs.get("refs/state/head")?;
        let mut uncertainty = match head {
            Some(state) => {
                let files = files_against(repo, &refs, &Workspace::load(&refs, None)?, state, progress)?;
                other_files(state, &files)
            }
            None => Vec::new(),
        };
        let keep = MAX_OUTPUT_BYTES.min(limits.max_object_bytes.saturating_sub(ENVELOPE_BYTES));
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        let timeout = Duration::from_secs(plan.timeout_s);
        let ended = process::run(&plan.command, way, repo.root(), timeout, keep)
            .map_err(|source| RepoError::Process { source })?;

        let mut beside = vec![runner];
        let mut outputs = Vec::new();
        if ended.stdout.total > 0 || ended.stderr.total > 0 {
            for output in [&ended.stdout, &ended.stderr] {
                let blob = blob_envelope(&output.kept, &limits)
                    .map_err(|source| RepoError::Object { family: gemel_object::Family::Blob, source })?;
                outputs.push(blob.id);
                beside.push(blob);
            }
        }
        let (result, doubt) = outcome(&ended, plan);
        let mut made = Observation::new(producer, plan.kind, options.now_ms);
        made.subject.clone_from(&plan.subject);
        made.subject_refs.clone_from(&plan.subject_refs);
        made.command = Some(plan.command.clone());
        made.inputs = vec![plan.source];
        made.result =
            Some(Outcome { detail: result.detail.clone().filter(|text| !text.is_empty()), ..result.clone() });
        made.outputs = outputs;
        made.environment = environment.as_ref().map(|environment| environment.id);
        beside.extend(environment);
        made.reproduction = Reproduction {
            replayable: Some(true),
            inputs_present: Some(true),
            inputs_remote: None,
            policy_required: Some(true),
        };
        made.evaluated_state = head;
        let object = made.encode(&limits)?;
        let names = observation::keep(repo, "court", std::slice::from_ref(&object), &beside, options.now_ms)?;
        uncertainty.extend(doubt.map(|reason| Uncertainty {
            class: "court",
            ids: vec![object.id.to_string()],
            reason,
        }));
        let digest = |output: &Output| {
            matches!(ended.how, How::Exited(_) | How::Signalled(_)).then(|| output.digest())
        };
        Ok(CourtFacts {
            source: plan.source,
            evidence: object.id,
            name: names.into_iter().next().unwrap_or_default(),
            outcome: result.outcome,
            exit_code: result.exit_code,
            stdout_digest: digest(&ended.stdout),
            stderr_digest: digest(&ended.stderr),
            detail: result.detail.unwrap_or_default(),
            omitted: [("stdout", &ended.stdout), ("stderr", &ended.stderr)]
                .into_iter()
                .filter_map(cut)
                .collect(),
            uncertainty,
        })
    }

    /// What the end of the process says, and how it ended where no status tells.
    fn outcome(ended: &Ended, plan: &CourtPlan) -> (Outcome, Option<String>) {
        let said = detail(&ended.stderr.kept);
        let (outcome, exit_code, detail, doubt) = match &ended.how {
            How::Exited(0) => (EvidenceOutcome::Pass, Some(0), said, None),
            How::Exited(code) => (EvidenceOutcome::Fail, Some(i64::from(*code)), said, None),
            How::Signalled(signal) => {
                (EvidenceOutcome::Inconclusive, None, said, Some(format!("ended by signal {signal}")))
            }
            How::TimedOut => {
                let late = format!("court timed out after {}s", plan.timeout_s);
                (EvidenceOutcome::Inconclusive, None, late.clone(), Some(late))
            }
            How::NotStarted(error) => {
                let never = format!("the command could not be started: {error}");
                (EvidenceOutcome::Error, None, never.clone(), Some(never))
            }
        };
        (Outcome { outcome, detail: Some(detail), exit_code, counts: None }, doubt)
    }

    /// The beginning of an output as text, cut between two characters.
    fn detail(bytes: &[u8]) -> String {
        // A few bytes more than are kept, so that a character the cut goes through is whole.
        let head = bytes.get(..MAX_DETAIL_BYTES + 4).unwrap_or(bytes);
        let mut text = String::from_utf8_lossy(head).into_owned();
        text.truncate(text.floor_char_boundary(MAX_DETAIL_BYTES));
        text
    }

    fn cut((class, output): (&'static str, &Output)) -> Option<Omitted> {
        let kept = u64::try_from(output.kept.len()).unwrap_or(u64::MAX);
        let count = output.total.saturating_sub(kept);
        (count > 0).then_some(Omitted { class, count, reason: "limit", ids: Vec::new() })
    }

    /// Says so when what ran was not what the head state holds.
    fn other_files(state: Gid, files: &Files) -> Vec<Uncertainty> {
        let reason = match files {
            Files::Same => return Vec::new(),
            Files::Differ(paths) => format!(
                "the command ran over files that differ from the head state in {} path(s), {:?} among them",
                paths.len(),
                paths.first().map_or("", String::as_str)
            ),
            Files::Unknown(reason) => {
                format!("whether the files are those of the head state is not known: {reason}")
            }
        };
        vec![Uncertainty { class: "evaluated_state", ids: vec![state.to_string()], reason }]
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn details_end_between_characters() {
            let check = |bytes: Vec<u8>, len: usize| {
                let text = detail(&bytes);
                assert!(
                    text.len() == len && !text.ends_with('\u{fffd}'),
                    "{} of {}",
                    text.len(),
                    bytes.len()
                );
            };
            check(b"short".to_vec(), 5);
            check(vec![b'a'; 5000], 4096);
            check([vec![b'a'; 4095], "é".repeat(9).into_bytes()].concat(), 4095);
            check([vec![b'a'; 4094], "é".repeat(9).into_bytes()].concat(), 4096);
            check([vec![b'a'; 4093], "𝄞".repeat(9).into_bytes()].concat(), 4093);
            check("é".repeat(3000).into_bytes(), 4096);
            // Each byte that is no text becomes a character of three bytes.
            assert_eq!(detail(&[0xff; 5000]), "\u{fffd}".repeat(4096 / 3));
        }
    }
}
