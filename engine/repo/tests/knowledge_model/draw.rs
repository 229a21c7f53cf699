//! Small recorded histories at random: several lines and merges, attempts that overlap, refinements and replacements of
//! claims, dispositions back and forth, evidence of old, foreign and unknown states, and objects that nothing leads to.

use crate::model::Model;
use gemel_object::families::{
    NewChange, NewClaim, NewConfig, NewDispositionEvent, NewEnvironment, NewEvidence, NewEvidenceResult,
    NewOperation, NewOs, NewRequiredEntry, NewRequiredPlatform, NewRequiredVerification, NewResidual,
    NewResidualScope, NewState, NewTrajectory,
};
use gemel_object::{
    ClaimKind, Disposition, Encoded, EvidenceKind, EvidenceOutcome, ExecutionPolicy, Gid, Limits, Mode,
    OpType, ResidualSeverity, Strings, TrajectoryOutcome, blob_envelope, tree_envelope,
};
use gemel_store::{NewObject, Store, Writer};
use std::collections::BTreeMap;

/// splitmix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    /// Some of a list, in its order.
    fn some<T: Clone>(&mut self, items: &[T], percent: usize) -> Vec<T> {
        items.iter().filter(|_| self.chance(percent)).cloned().collect()
    }
}

const PATHS: [&str; 4] = ["a", "d/b", "d/c", "d/e/f"];
const SUBJECTS: [&str; 9] = ["a", "d/b", "d/c", "d", "d/e", "d/e/f", "gone", "crate::m::f", "m::f"];

/// The files of a state: which version of each path, 0 for none.
type Files = [usize; 4];

struct Made {
    id: Gid,
    files: Files,
}

/// Records a history in the store, names what is to be named, and tells the model of all of it.
pub(crate) fn record(store: &Store, producer: Gid, seed: u64) -> Model {
    let writer = store.writer().unwrap();
    let mut history = History {
        writer: &writer,
        draw: Draw(seed),
        producer,
        model: Model::default(),
        names: BTreeMap::new(),
        objects: Vec::new(),
        changes: Vec::new(),
        states: Vec::new(),
        claims: Vec::new(),
        evidence: Vec::new(),
        residuals: Vec::new(),
        environments: Vec::new(),
        clock: 100,
    };
    history.run();
    let History { names, objects, mut model, .. } = history;
    writer.commit().unwrap();
    let mut transaction = store.transaction().unwrap();
    for (name, id) in &names {
        transaction.set(name.clone(), *id);
        model.name(name, *id);
    }
    transaction.commit("test", 1).unwrap();
    objects.iter().for_each(|object| model.add(object.id, &object.bytes));
    model
}

struct History<'w> {
    writer: &'w Writer<'w>,
    draw: Draw,
    producer: Gid,
    model: Model,
    names: BTreeMap<String, Gid>,
    objects: Vec<Encoded>,
    changes: Vec<Made>,
    states: Vec<Gid>,
    /// Newest versions, with what they say.
    claims: Vec<(Gid, Option<&'static str>, String)>,
    evidence: Vec<Gid>,
    residuals: Vec<Gid>,
    environments: Vec<Gid>,
    clock: i64,
}

impl History<'_> {
    fn put(&mut self, object: Encoded) -> Gid {
        let id = object.id;
        self.writer.put(NewObject { id, bytes: object.bytes.clone(), base: None }).unwrap();
        self.objects.push(object);
        id
    }

    /// Clocks stand still now and then, and run backwards.
    fn now(&mut self) -> i64 {
        self.clock += [0, 1, 1, 5, -3][self.draw.below(5)];
        self.clock
    }

    fn run(&mut self) {
        for (os, arch) in [("linux", "x86_64"), ("freebsd", "x86_64")] {
            let os = NewOs { family: Some(os), name: Some(os), ..NewOs::default() };
            let environment = NewEnvironment { os: Some(os), arch: Some(arch), ..NewEnvironment::default() };
            let id = self.put(environment.encode(&Limits::DEFAULT).unwrap());
            self.environments.push(id);
        }
        if self.draw.chance(30) {
            self.require();
        }
        let changes = 2 + self.draw.below(14);
        for n in 0..changes {
            self.change(n);
        }
        // As every verb that records does: where there is knowledge, some of it has a name.
        if let Some(id) = self.claims.first().map(|(id, ..)| *id) {
            self.names.insert("refs/names/Cl100".to_owned(), id);
        }
        if let Some(id) = self.residuals.first().copied() {
            self.names.insert("refs/names/R100".to_owned(), id);
        }
        self.later_knowledge();
        self.trajectories();
        let head = self.draw.below(self.changes.len().min(3));
        let head = self.changes[self.changes.len() - 1 - head].id;
        if self.draw.chance(95) {
            self.names.insert("refs/head".to_owned(), head);
        }
    }

    fn require(&mut self) {
        let platforms = ["linux", "freebsd"].map(|os| NewRequiredPlatform {
            platform: Some(os),
            arch: Some("x86_64"),
            ..NewRequiredPlatform::default()
        });
        let kind = self.draw.pick(&["correctness", "security"]);
        let entries = [NewRequiredEntry {
            kind: Some(kind),
            platforms: Some(&platforms),
            ..NewRequiredEntry::default()
        }];
        let required =
            NewRequiredVerification { entries: Some(&entries), ..NewRequiredVerification::default() };
        let config = NewConfig {
            execution_policy: Some(ExecutionPolicy::NeverAutoExecute),
            required_verification: Some(required),
            ..NewConfig::default()
        };
        let id = self.put(config.encode(&Limits::DEFAULT).unwrap());
        self.names.insert("refs/config".to_owned(), id);
    }

    fn blob(&mut self, path: usize, version: usize) -> Gid {
        let text = format!("{path} {version}");
        self.put(blob_envelope(text.as_bytes(), &Limits::DEFAULT).unwrap())
    }

    fn tree(&mut self, entries: &[(&str, Mode, Gid)]) -> Gid {
        self.put(tree_envelope(entries.iter().copied(), &Limits::DEFAULT).unwrap())
    }

    fn state(&mut self, files: &Files) -> Gid {
        let blobs: Vec<Option<Gid>> =
            (0..PATHS.len()).map(|path| (files[path] > 0).then(|| self.blob(path, files[path]))).collect();
        let file = |at: usize, name: &'static str| blobs[at].map(|id| (name, Mode::File, id));
        let mut folder: Vec<(&str, Mode, Gid)> = file(1, "b").into_iter().chain(file(2, "c")).collect();
        if let Some(entry) = file(3, "f") {
            let inner = self.tree(&[entry]);
            folder.push(("e", Mode::Directory, inner));
        }
        let mut root: Vec<(&str, Mode, Gid)> = file(0, "a").into_iter().collect();
        if !folder.is_empty() {
            let folder = self.tree(&folder);
            root.push(("d", Mode::Directory, folder));
        }
        let root_tree = self.tree(&root);
        let state = NewState { root_tree: Some(root_tree), ..NewState::default() };
        self.put(state.encode(&Limits::DEFAULT).unwrap())
    }

    fn change(&mut self, n: usize) {
        let parents: Vec<usize> = match n {
            0 => Vec::new(),
            _ if self.draw.chance(5) => Vec::new(),
            _ if self.draw.chance(70) => vec![n - 1],
            _ => (0..1 + self.draw.below(2)).map(|_| self.draw.below(n)).collect(),
        };
        let mut files = parents.first().map_or([0; 4], |parent| self.changes[*parent].files);
        let input = match parents.first() {
            Some(_) => Some(self.state(&files)),
            None if self.draw.chance(20) => Some(self.state(&files)),
            None => None,
        };
        let mut operations = Vec::new();
        for _ in 0..self.draw.below(3) {
            let path = self.draw.below(PATHS.len());
            let before = files[path];
            files[path] = self.draw.below(3);
            let old = (before > 0).then(|| self.blob(path, before));
            let new = (files[path] > 0).then(|| self.blob(path, files[path]));
            let (old, new): (Vec<Gid>, Vec<Gid>) = (old.into_iter().collect(), new.into_iter().collect());
            let operation = NewOperation {
                op_type: Some(if new.is_empty() { OpType::DeleteFile } else { OpType::WriteFile }),
                subject_path: Some(PATHS[path]),
                input_refs: (!old.is_empty()).then_some(&old),
                output_refs: (!new.is_empty()).then_some(&new),
                producer: Some(self.producer),
                ..NewOperation::default()
            };
            operations.push(self.put(operation.encode(&Limits::DEFAULT).unwrap()));
        }
        operations.dedup();
        let result = self.state(&files);
        self.states.push(result);
        let evidence: Vec<Gid> = (0..self.draw.below(3)).map(|_| self.evidence()).collect();
        let claims: Vec<Gid> = (0..self.draw.below(3)).map(|_| self.claim()).collect();
        let residuals: Vec<Gid> = (0..self.draw.below(2)).map(|_| self.residual()).collect();
        let ids: Vec<Gid> = parents.iter().map(|parent| self.changes[*parent].id).collect();
        let now = self.now();
        let summary = format!("change {n}");
        let change = NewChange {
            summary: Some(&summary),
            input_state: input,
            operations: (!operations.is_empty()).then_some(&operations),
            resulting_state: self.draw.chance(95).then_some(result),
            producer: Some(self.producer),
            claims: (!claims.is_empty()).then_some(&claims),
            evidence: (!evidence.is_empty()).then_some(&evidence),
            residuals: (!residuals.is_empty()).then_some(&residuals),
            causal_parents: (!ids.is_empty()).then_some(&ids),
            created_at: Some(now),
            ..NewChange::default()
        };
        let id = self.put(change.encode(&Limits::DEFAULT).unwrap());
        if self.draw.chance(60) {
            self.names.insert(format!("refs/names/C{}", n + 1), id);
        }
        self.changes.push(Made { id, files });
    }

    fn evidence(&mut self) -> Gid {
        use EvidenceOutcome::{Error, Fail, Inconclusive, Mismatch, Pass, Skipped};
        let outcome = self.draw.pick(&[Pass, Pass, Pass, Fail, Mismatch, Inconclusive, Error, Skipped]);
        let foreign = if self.draw.chance(10) { Some(self.state(&[9, 0, 0, 0])) } else { None };
        let evaluated = if self.draw.chance(70) && !self.states.is_empty() {
            Some(self.draw.pick(&self.states.clone()))
        } else {
            foreign
        };
        let references: Vec<Gid> = if self.draw.chance(20) {
            let (path, version) = (self.draw.below(4), 1 + self.draw.below(2));
            vec![self.blob(path, version)]
        } else {
            Vec::new()
        };
        let environment = self.draw.pick(&self.environments.clone());
        let now = self.now();
        let evidence = NewEvidence {
            producer: Some(self.producer),
            kind: Some(EvidenceKind::TestResult),
            subject: self.draw.chance(90).then(|| self.draw.pick(&SUBJECTS)),
            subject_refs: (!references.is_empty()).then_some(&references),
            environment: self.draw.chance(60).then_some(environment),
            result: self
                .draw
                .chance(90)
                .then(|| NewEvidenceResult { outcome: Some(outcome), ..NewEvidenceResult::default() }),
            created_at: Some(now),
            evaluated_state: evaluated,
            ..NewEvidence::default()
        };
        let id = self.put(evidence.encode(&Limits::DEFAULT).unwrap());
        self.evidence.push(id);
        id
    }

    fn claim(&mut self) -> Gid {
        let subject = self.draw.chance(90).then(|| self.draw.pick(&SUBJECTS));
        let predicate = self.draw.pick(&["holds", "is fast"]).to_owned();
        self.claim_that(subject, &predicate, None)
    }

    fn claim_that(&mut self, subject: Option<&'static str>, predicate: &str, supersedes: Option<Gid>) -> Gid {
        let evidence = self.draw.some(&self.evidence.clone(), 25);
        let residuals = self.draw.some(&self.residuals.clone(), 10);
        let references: Vec<Gid> = if self.draw.chance(10) { vec![self.blob(0, 1)] } else { Vec::new() };
        let made_at = if self.draw.chance(10) && !self.changes.is_empty() {
            let at = self.draw.below(self.changes.len());
            Some(self.changes[at].id)
        } else {
            None
        };
        let now = self.now();
        let claim = NewClaim {
            subject,
            subject_refs: (!references.is_empty()).then_some(&references),
            predicate: Some(predicate),
            predicate_kind: Some(self.draw.pick(&[ClaimKind::Correctness, ClaimKind::Security])),
            producer: Some(self.producer),
            evidence: (!evidence.is_empty()).then_some(&evidence),
            residuals: (!residuals.is_empty()).then_some(&residuals),
            supersedes,
            change: made_at,
            created_at: Some(now),
            ..NewClaim::default()
        };
        let id = self.put(claim.encode(&Limits::DEFAULT).unwrap());
        self.claims.push((id, subject, predicate.to_owned()));
        id
    }

    fn residual(&mut self) -> Gid {
        self.residual_after(None, None)
    }

    fn residual_after(&mut self, previous: Option<Gid>, disposition: Option<Disposition>) -> Gid {
        use ResidualSeverity::{Blocking, High, Low, Medium};
        let known: Vec<Gid> = self.claims.iter().map(|(id, ..)| *id).collect();
        let claims = self.draw.some(&known, 15);
        let changes: Vec<Gid> = self.changes.iter().map(|made| made.id).collect();
        let changes = self.draw.some(&changes, 10);
        let path = self.draw.pick(&SUBJECTS);
        let now = self.now();
        let event = disposition.map(|disposition| NewDispositionEvent {
            disposition: Some(disposition),
            by: Some(self.producer),
            at: Some(now),
            ..NewDispositionEvent::default()
        });
        let residual = NewResidual {
            previous,
            summary: Some("open"),
            severity: self.draw.chance(80).then(|| self.draw.pick(&[Blocking, High, Medium, Low, Low])),
            scope: self.draw.chance(50).then(|| NewResidualScope {
                paths: Some(Strings::Borrowed(std::slice::from_ref(&path))),
                ..NewResidualScope::default()
            }),
            affected_claims: (!claims.is_empty()).then_some(&claims),
            affected_changes: (!changes.is_empty()).then_some(&changes),
            disposition_event: event,
            created_at: Some(now),
            ..NewResidual::default()
        };
        let id = self.put(residual.encode(&Limits::DEFAULT).unwrap());
        self.residuals.push(id);
        id
    }

    /// Refinements, replacements and dispositions outside changes: named, or leading nowhere.
    fn later_knowledge(&mut self) {
        for n in 0..self.draw.below(6) {
            if self.claims.is_empty() {
                break;
            }
            let (older, subject, predicate) = self.draw.pick(&self.claims.clone());
            let predicate = if self.draw.chance(75) { predicate } else { "is otherwise".to_owned() };
            let id = self.claim_that(subject, &predicate, Some(older));
            if self.draw.chance(75) {
                self.names.insert(format!("refs/names/Cl{}", n + 1), id);
            }
        }
        for n in 0..self.draw.below(6) {
            if self.residuals.is_empty() {
                break;
            }
            use Disposition::{Acknowledged, Irrelevant, Open, Resolved, Superseded};
            let older = self.draw.pick(&self.residuals.clone());
            let disposition =
                self.draw.pick(&[Open, Acknowledged, Resolved, Resolved, Superseded, Irrelevant]);
            let id = self.residual_after(Some(older), Some(disposition));
            if self.draw.chance(75) {
                self.names.insert(format!("refs/names/R{}", n + 1), id);
            }
        }
        for n in 0..self.draw.below(3) {
            let id = self.evidence();
            if self.draw.chance(50) {
                self.names.insert(format!("refs/names/E{}", n + 1), id);
            }
        }
    }

    fn trajectories(&mut self) {
        use TrajectoryOutcome::{Abandoned, Completed, Inconclusive, Interrupted, Rejected, Superseded};
        let mut versions = Vec::new();
        for n in 1..=self.draw.below(4) {
            let (mut previous, mut outcome) = (None, None);
            for _ in 0..1 + self.draw.below(3) {
                let changes: Vec<Gid> = self.changes.iter().map(|made| made.id).collect();
                let changes = self.draw.some(&changes, 20);
                let evidence = self.draw.some(&self.evidence.clone(), 15);
                let residuals = self.draw.some(&self.residuals.clone(), 15);
                if self.draw.chance(30) {
                    let all = [Completed, Abandoned, Superseded, Rejected, Inconclusive, Interrupted];
                    outcome = Some(self.draw.pick(&all));
                }
                let now = self.now();
                let version = NewTrajectory {
                    previous,
                    producer: Some(self.producer),
                    added_changes: (!changes.is_empty()).then_some(&changes),
                    added_evidence: (!evidence.is_empty()).then_some(&evidence),
                    added_residuals: (!residuals.is_empty()).then_some(&residuals),
                    outcome,
                    updated_at: Some(now),
                    ..NewTrajectory::default()
                };
                previous = Some(self.put(version.encode(&Limits::DEFAULT).unwrap()));
                if outcome.is_some() {
                    break;
                }
            }
            if let Some(version) = previous {
                self.names.insert(format!("refs/trajectories/T{n}"), version);
                versions.push(version);
            }
        }
        if !versions.is_empty() && self.draw.chance(80) {
            let current = self.draw.pick(&versions);
            self.names.insert("refs/trajectories/current".to_owned(), current);
        }
    }
}
