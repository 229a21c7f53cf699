//! A believable recorded history out of a seed: the input of the benches of questions.
//!
//! Work goes on along one line in attempts of a few dozen changes, with a side change merged in now and then; each
//! change edits a file, claims something of it, and leaves evidence and a residual behind. Some claims are refined, most
//! residuals are resolved later, and attempts end in every way there is.

use crate::corpus::Draw;
use gemel_object::families::{
    NewChange, NewClaim, NewDispositionEvent, NewEvidence, NewEvidenceResult, NewIntent, NewOperation,
    NewResidual, NewResidualScope, NewState, NewTrajectory,
};
use gemel_object::{
    ClaimKind, Disposition, Encoded, EvidenceKind, EvidenceOutcome, Gid, Limits, Mode, ObjectError, OpType,
    ResidualClass, ResidualSeverity, Strings, TrajectoryOutcome, blob_envelope, tree_envelope,
};
use gemel_repo::{InitOptions, Repo};
use gemel_store::vfs::real::RealDisk;
use gemel_store::{NewObject, StoreError, Writer};
use std::path::Path;
use std::sync::Arc;

/// Folders below `src`, and files in each.
const FOLDERS: usize = 48;
const FILES: usize = 40;

/// Changes of an attempt, at most.
const ATTEMPT: usize = 120;

/// Time between changes.
const STEP_MS: i64 = 60_000;
const START_MS: i64 = 1_600_000_000_000;

/// What was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryReport {
    /// Changes.
    pub changes: u64,
    /// Trajectories.
    pub trajectories: u64,
    /// Versions of claims, evidence, and versions of residuals.
    pub knowledge: u64,
}

/// Why a history could not be made.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The repository.
    #[error(transparent)]
    Repo(#[from] gemel_repo::RepoError),
    /// Its store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An object that cannot be.
    #[error("{0}")]
    Object(String),
}

impl From<ObjectError> for HistoryError {
    fn from(error: ObjectError) -> HistoryError {
        HistoryError::Object(error.to_string())
    }
}

/// Makes a repository in `dir`, which holds none, with `changes` changes.
///
/// # Errors
/// Those of the disk, and of making a repository where one is.
pub fn record(dir: &Path, changes: usize, seed: u64) -> Result<HistoryReport, HistoryError> {
    std::fs::create_dir_all(dir).map_err(|e| HistoryError::Object(format!("{}: {e}", dir.display())))?;
    let disk: Arc<RealDisk> = Arc::new(RealDisk::new());
    let options = InitOptions { now_ms: START_MS, ..InitOptions::default() };
    let producer = Repo::init(disk.clone(), dir, &options)?.default_producer;
    let repo = Repo::open(disk, dir)?;
    let writer = repo.store().writer()?;
    let mut line = Line::begin(&writer, producer, seed)?;
    while line.count < changes {
        line.step()?;
    }
    line.close(None)?;
    let Line { names, report, head, state, .. } = line;
    writer.commit()?;
    let mut transaction = repo.store().transaction()?;
    names.into_iter().for_each(|(name, id)| transaction.set(name, id));
    transaction.set("refs/head", head.ok_or_else(|| HistoryError::Object("no change was made".to_owned()))?);
    transaction.set("refs/state/head", state);
    transaction.set("local/worktrees/default/state", state);
    let now_ms = START_MS + STEP_MS * i64::try_from(changes).unwrap_or(0);
    transaction.commit("corpus-history", now_ms)?;
    Ok(report)
}

/// The content of the worktree as far as it is needed to make the next state: names and identities.
#[derive(Clone)]
struct Content {
    /// Trees of the folders.
    folders: Vec<Gid>,
    files: Vec<Vec<Gid>>,
}

/// An attempt that goes on.
struct Attempt {
    number: u64,
    intent: Gid,
    base: Gid,
    version: Option<Gid>,
    left: usize,
    begun_ms: i64,
}

struct Line<'w> {
    writer: &'w Writer<'w>,
    limits: Limits,
    draw: Draw,
    producer: Gid,
    content: Content,
    state: Gid,
    head: Option<Gid>,
    attempt: Option<Attempt>,
    /// Open residuals: number, newest version.
    open: Vec<(u64, Gid, String)>,
    /// Recent claims: number, newest version, subject, predicate, evidence.
    recent: Vec<(u64, Gid, String, String, Gid)>,
    names: std::collections::BTreeMap<String, Gid>,
    report: HistoryReport,
    count: usize,
    claims: u64,
    evidence: u64,
    residuals: u64,
}

impl<'w> Line<'w> {
    fn begin(writer: &'w Writer<'w>, producer: Gid, seed: u64) -> Result<Line<'w>, HistoryError> {
        let mut line = Line {
            writer,
            limits: Limits::DEFAULT,
            draw: Draw::new(seed),
            producer,
            content: Content { folders: Vec::new(), files: Vec::new() },
            state: producer,
            head: None,
            attempt: None,
            open: Vec::new(),
            recent: Vec::new(),
            names: std::collections::BTreeMap::new(),
            report: HistoryReport::default(),
            count: 0,
            claims: 0,
            evidence: 0,
            residuals: 0,
        };
        for folder in 0..FOLDERS {
            let mut files = Vec::with_capacity(FILES);
            for file in 0..FILES {
                files.push(line.put(blob_envelope(text(folder, file, 0).as_bytes(), &line.limits)?, None)?);
            }
            line.content.files.push(files);
            let tree = line.folder(folder, None)?;
            line.content.folders.push(tree);
        }
        line.state = line.state_of_content()?;
        line.names.insert("refs/names/S1".to_owned(), line.state);
        Ok(line)
    }

    fn put(&self, object: Encoded, base: Option<Gid>) -> Result<Gid, HistoryError> {
        let id = object.id;
        self.writer.put(NewObject { id, bytes: object.bytes, base })?;
        Ok(id)
    }

    fn folder(&self, folder: usize, base: Option<Gid>) -> Result<Gid, HistoryError> {
        let mut names: Vec<(String, Gid)> =
            (0..FILES).map(|file| (file_name(file), self.content.files[folder][file])).collect();
        names.sort();
        let entries = names.iter().map(|(name, id)| (name.as_str(), Mode::File, *id));
        self.put(tree_envelope(entries, &self.limits)?, base)
    }

    fn state_of_content(&self) -> Result<Gid, HistoryError> {
        let mut names: Vec<(String, Gid)> =
            (0..FOLDERS).map(|folder| (folder_name(folder), self.content.folders[folder])).collect();
        names.sort();
        let src =
            tree_envelope(names.iter().map(|(n, id)| (n.as_str(), Mode::Directory, *id)), &self.limits)?;
        let src = self.put(src, None)?;
        let root = self.put(tree_envelope([("src", Mode::Directory, src)], &self.limits)?, None)?;
        let state = NewState { root_tree: Some(root), ..NewState::default() };
        self.put(state.encode(&self.limits)?, None)
    }

    fn now_ms(&self) -> i64 {
        START_MS + STEP_MS * i64::try_from(self.count).unwrap_or(0)
    }

    /// One change, or a side change with the one that merges it.
    fn step(&mut self) -> Result<(), HistoryError> {
        if self.attempt.as_ref().is_none_or(|attempt| attempt.left == 0) {
            let outcome = self.draw.pick(&[
                TrajectoryOutcome::Completed,
                TrajectoryOutcome::Completed,
                TrajectoryOutcome::Rejected,
                TrajectoryOutcome::Abandoned,
                TrajectoryOutcome::Interrupted,
            ]);
            self.close(Some(outcome))?;
            self.open_attempt()?;
        }
        if self.draw.chance(20) && self.head.is_some() {
            let (content, state, parent) = (self.content.clone(), self.state, self.head);
            self.change(parent.into_iter().collect())?;
            let side = self.head;
            // The line goes on from where the side change began, and takes it in.
            (self.content, self.state, self.head) = (content, state, parent);
            self.change(parent.into_iter().collect())?;
            let main = self.head;
            return self.change(main.into_iter().chain(side).collect());
        }
        self.change(self.head.into_iter().collect())
    }

    fn open_attempt(&mut self) -> Result<(), HistoryError> {
        self.report.trajectories += 1;
        let number = self.report.trajectories;
        let summary = format!("goal {number}: {}", self.draw.pick(&["speed", "safety", "clarity", "reach"]));
        let intent = NewIntent {
            summary: Some(&summary),
            producer: Some(self.producer),
            created_at: Some(self.now_ms()),
            ..NewIntent::default()
        };
        let intent = self.put(intent.encode(&self.limits)?, None)?;
        self.names.insert(format!("refs/names/I{number}"), intent);
        let left = 1 + self.draw.below(ATTEMPT);
        let (base, begun_ms) = (self.state, self.now_ms());
        self.attempt = Some(Attempt { number, intent, base, version: None, left, begun_ms });
        Ok(())
    }

    /// Ends the attempt; without an outcome it stays open, and is the current one.
    fn close(&mut self, outcome: Option<TrajectoryOutcome>) -> Result<(), HistoryError> {
        let Some(attempt) = self.attempt.take() else { return Ok(()) };
        let Some(version) = attempt.version else { return Ok(()) };
        if outcome.is_none() {
            self.names.insert("refs/trajectories/current".to_owned(), version);
            return Ok(());
        }
        let last = NewTrajectory {
            previous: Some(version),
            intent: Some(attempt.intent),
            base_state: Some(attempt.base),
            producer: Some(self.producer),
            outcome,
            termination_reason: Some("as far as it went"),
            created_at: Some(attempt.begun_ms),
            updated_at: Some(self.now_ms()),
            ..NewTrajectory::default()
        };
        let last = self.put(last.encode(&self.limits)?, None)?;
        self.names.insert(format!("refs/trajectories/T{}", attempt.number), last);
        Ok(())
    }

    fn change(&mut self, parents: Vec<Gid>) -> Result<(), HistoryError> {
        self.count += 1;
        let (folder, file) = (self.draw.below(FOLDERS), self.draw.below(FILES));
        let path = format!("src/{}/{}", folder_name(folder), file_name(file));
        let before = self.content.files[folder][file];
        let blob = blob_envelope(text(folder, file, self.count).as_bytes(), &self.limits)?;
        let after = self.put(blob, Some(before))?;
        self.content.files[folder][file] = after;
        self.content.folders[folder] = self.folder(folder, Some(self.content.folders[folder]))?;
        let (input, now) = (self.state, self.now_ms());
        self.state = self.state_of_content()?;
        let operation = NewOperation {
            op_type: Some(OpType::WriteFile),
            subject_path: Some(&path),
            input_refs: Some(&[before]),
            output_refs: Some(&[after]),
            content: Some(after),
            producer: Some(self.producer),
            started_at: Some(now),
            ended_at: Some(now),
            ..NewOperation::default()
        };
        let operation = self.put(operation.encode(&self.limits)?, None)?;
        let evidence = self.evidence(&path)?;
        let claim = self.claim(&path, evidence)?;
        let residual = self.residual(&path, claim)?;
        let Some(attempt) = self.attempt.take() else { return Ok(()) };
        let summary = format!("change {}: {path}", self.count);
        let change = NewChange {
            summary: Some(&summary),
            intent: Some(attempt.intent),
            input_state: Some(input),
            operations: Some(&[operation]),
            resulting_state: Some(self.state),
            producer: Some(self.producer),
            claims: Some(&[claim]),
            evidence: Some(&[evidence]),
            residuals: Some(&[residual]),
            causal_parents: (!parents.is_empty()).then_some(&parents),
            created_at: Some(now),
            ..NewChange::default()
        };
        let change = self.put(change.encode(&self.limits)?, None)?;
        self.names.insert(format!("refs/names/C{}", self.count), change);
        self.names.insert(format!("refs/names/S{}", self.count + 1), self.state);
        let version = NewTrajectory {
            previous: attempt.version,
            intent: Some(attempt.intent),
            base_state: Some(attempt.base),
            producer: Some(self.producer),
            added_changes: Some(&[change]),
            added_evidence: Some(&[evidence]),
            added_residuals: Some(&[residual]),
            created_at: Some(attempt.begun_ms),
            updated_at: Some(now),
            ..NewTrajectory::default()
        };
        let version = self.put(version.encode(&self.limits)?, None)?;
        self.names.insert(format!("refs/trajectories/T{}", attempt.number), version);
        self.head = Some(change);
        let left = attempt.left.saturating_sub(1);
        self.attempt = Some(Attempt { version: Some(version), left, ..attempt });
        self.report.changes += 1;
        self.resolve_some()
    }

    fn evidence(&mut self, path: &str) -> Result<Gid, HistoryError> {
        let outcome = match self.draw.below(100) {
            0..80 => EvidenceOutcome::Pass,
            80..88 => EvidenceOutcome::Fail,
            88..92 => EvidenceOutcome::Mismatch,
            _ => EvidenceOutcome::Inconclusive,
        };
        let evidence = NewEvidence {
            producer: Some(self.producer),
            kind: Some(EvidenceKind::TestResult),
            subject: Some(path),
            result: Some(NewEvidenceResult { outcome: Some(outcome), ..NewEvidenceResult::default() }),
            created_at: Some(self.now_ms()),
            evaluated_state: Some(self.state),
            ..NewEvidence::default()
        };
        let id = self.put(evidence.encode(&self.limits)?, None)?;
        self.evidence += 1;
        self.report.knowledge += 1;
        self.names.insert(format!("refs/names/E{}", self.evidence), id);
        Ok(id)
    }

    fn claim(&mut self, path: &str, evidence: Gid) -> Result<Gid, HistoryError> {
        let predicate = format!("holds after change {}", self.count);
        let linked: &[Gid] = if self.draw.chance(900) { &[evidence] } else { &[] };
        let claim = NewClaim {
            subject: Some(path),
            predicate: Some(&predicate),
            predicate_kind: Some(self.draw.pick(&[ClaimKind::Correctness, ClaimKind::Performance])),
            producer: Some(self.producer),
            evidence: (!linked.is_empty()).then_some(linked),
            created_at: Some(self.now_ms()),
            ..NewClaim::default()
        };
        let id = self.put(claim.encode(&self.limits)?, None)?;
        self.claims += 1;
        self.report.knowledge += 1;
        self.names.insert(format!("refs/names/Cl{}", self.claims), id);
        self.recent.push((self.claims, id, path.to_owned(), predicate, evidence));
        if self.recent.len() > 40 {
            self.recent.remove(0);
        }
        if self.draw.chance(50) {
            self.refine()?;
        }
        Ok(id)
    }

    /// A recent claim gets evidence linked.
    fn refine(&mut self) -> Result<(), HistoryError> {
        let at = self.draw.below(self.recent.len());
        let (number, older, subject, predicate, evidence) = self.recent[at].clone();
        let claim = NewClaim {
            subject: Some(&subject),
            predicate: Some(&predicate),
            producer: Some(self.producer),
            evidence: Some(&[evidence]),
            supersedes: Some(older),
            created_at: Some(self.now_ms() + 1),
            ..NewClaim::default()
        };
        let id = self.put(claim.encode(&self.limits)?, None)?;
        self.report.knowledge += 1;
        self.names.insert(format!("refs/names/Cl{number}"), id);
        self.recent[at].1 = id;
        Ok(())
    }

    fn residual(&mut self, path: &str, claim: Gid) -> Result<Gid, HistoryError> {
        let severity = match self.draw.below(100) {
            0..2 => ResidualSeverity::Blocking,
            2..15 => ResidualSeverity::High,
            15..60 => ResidualSeverity::Medium,
            _ => ResidualSeverity::Low,
        };
        let claims: &[Gid] = if self.draw.chance(100) { &[claim] } else { &[] };
        let summary = format!("open question {} about {path}", self.count);
        let residual = NewResidual {
            summary: Some(&summary),
            classification: Some(ResidualClass::Other),
            severity: Some(severity),
            scope: Some(NewResidualScope {
                paths: Some(Strings::Borrowed(&[path])),
                ..NewResidualScope::default()
            }),
            affected_claims: (!claims.is_empty()).then_some(claims),
            first_observed_at: Some(self.now_ms()),
            created_at: Some(self.now_ms()),
            ..NewResidual::default()
        };
        let id = self.put(residual.encode(&self.limits)?, None)?;
        self.residuals += 1;
        self.report.knowledge += 1;
        self.names.insert(format!("refs/names/R{}", self.residuals), id);
        self.open.push((self.residuals, id, path.to_owned()));
        Ok(id)
    }

    /// Residuals are resolved until some hundred are open.
    fn resolve_some(&mut self) -> Result<(), HistoryError> {
        while self.open.len() > 400 {
            let at = self.draw.below(self.open.len());
            let (number, older, path) = self.open.swap_remove(at);
            let event = NewDispositionEvent {
                disposition: Some(self.draw.pick(&[Disposition::Resolved, Disposition::Irrelevant])),
                by: Some(self.producer),
                reason: Some("looked into"),
                at: Some(self.now_ms()),
                ..NewDispositionEvent::default()
            };
            let residual = NewResidual {
                previous: Some(older),
                summary: Some("open question, settled"),
                scope: Some(NewResidualScope {
                    paths: Some(Strings::Borrowed(&[path.as_str()])),
                    ..NewResidualScope::default()
                }),
                disposition_event: Some(event),
                created_at: Some(self.now_ms()),
                ..NewResidual::default()
            };
            let id = self.put(residual.encode(&self.limits)?, None)?;
            self.report.knowledge += 1;
            self.names.insert(format!("refs/names/R{number}"), id);
        }
        Ok(())
    }
}

fn folder_name(folder: usize) -> String {
    format!("part{folder:02}")
}

fn file_name(file: usize) -> String {
    format!("file{file:02}.rs")
}

fn text(folder: usize, file: usize, version: usize) -> String {
    let mut text = String::new();
    for line in 0..24 {
        // The line that the version falls on tells it.
        let number = if line == version % 24 { version } else { 0 };
        text.push_str(&format!("pub fn part{folder}_file{file}_{line}() -> usize {{ {number} }}\n"));
    }
    text
}
