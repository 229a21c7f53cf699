//! The derivation rules of the object model, section 15, written down plainly: over a list of all objects, without any
//! index, cache or order of evaluation, each rule as its sentence says it. Slow on purpose.

use gemel_object::families::{
    Change, Claim, Config, Environment, Evidence, Operation, Residual, State, Trajectory,
};
use gemel_object::{Disposition, EvidenceOutcome, Family, Gid, Limits, Mode, ResidualSeverity, Tree};
use gemel_object::{Object, TrajectoryOutcome};
use std::collections::{BTreeMap, BTreeSet};

type Ids = BTreeSet<Gid>;

pub(crate) struct Change_ {
    pub(crate) input: Option<Gid>,
    pub(crate) result: Option<Gid>,
    pub(crate) parents: Vec<Gid>,
    pub(crate) operations: Vec<Gid>,
    pub(crate) claims: Vec<Gid>,
    pub(crate) evidence: Vec<Gid>,
    pub(crate) residuals: Vec<Gid>,
    pub(crate) created: i64,
}

pub(crate) struct Trajectory_ {
    previous: Option<Gid>,
    outcome: Option<TrajectoryOutcome>,
    changes: Vec<Gid>,
    evidence: Vec<Gid>,
    residuals: Vec<Gid>,
}

pub(crate) struct Claim_ {
    subject: Option<String>,
    subject_refs: Vec<Gid>,
    predicate: String,
    kind: Option<String>,
    evidence: Vec<Gid>,
    residuals: Vec<Gid>,
    supersedes: Option<Gid>,
    change: Option<Gid>,
    created: i64,
}

pub(crate) struct Evidence_ {
    subject: Option<String>,
    subject_refs: Vec<Gid>,
    outcome: Option<EvidenceOutcome>,
    evaluated: Option<Gid>,
    environment: Option<Gid>,
}

pub(crate) struct Residual_ {
    previous: Option<Gid>,
    severity: ResidualSeverity,
    disposition: Disposition,
    claims: Vec<Gid>,
    changes: Vec<Gid>,
    created: i64,
}

#[derive(Default)]
struct Operation_ {
    paths: Vec<String>,
    references: Vec<Gid>,
}

/// Everything stored, and every name.
#[derive(Default)]
pub(crate) struct Model {
    refs: BTreeMap<String, Gid>,
    pub(crate) changes: BTreeMap<Gid, Change_>,
    trajectories: BTreeMap<Gid, Trajectory_>,
    claims: BTreeMap<Gid, Claim_>,
    evidence: BTreeMap<Gid, Evidence_>,
    residuals: BTreeMap<Gid, Residual_>,
    operations: BTreeMap<Gid, Operation_>,
    roots: BTreeMap<Gid, Gid>,
    trees: BTreeMap<Gid, Vec<(String, bool, Gid)>>,
    platforms: BTreeMap<Gid, (String, String)>,
    required: BTreeSet<(String, String, String)>,
}

/// A claim as answers tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimAnswer {
    pub(crate) status: &'static str,
    pub(crate) basis: &'static str,
    pub(crate) reason: Option<&'static str>,
    pub(crate) supporting: Vec<Gid>,
    pub(crate) contradicting: Vec<Gid>,
    pub(crate) stale: Vec<Gid>,
    pub(crate) change: Option<Gid>,
}

/// A verdict as answers tell it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) verdict: &'static str,
    pub(crate) reasons: Vec<String>,
}

impl Model {
    pub(crate) fn name(&mut self, name: &str, id: Gid) {
        self.refs.insert(name.to_owned(), id);
    }

    /// Takes an object in.
    pub(crate) fn add(&mut self, id: Gid, bytes: &[u8]) {
        let object = Object::parse(bytes, &Limits::DEFAULT).unwrap();
        match id.family() {
            Family::Change => {
                let o = Change::view(&object).unwrap();
                let change = Change_ {
                    input: o.input_state(),
                    result: o.resulting_state(),
                    parents: o.causal_parents().iter().collect(),
                    operations: o.operations().iter().collect(),
                    claims: o.claims().iter().collect(),
                    evidence: o.evidence().iter().collect(),
                    residuals: o.residuals().iter().collect(),
                    created: o.created_at().unwrap_or(0),
                };
                self.changes.insert(id, change);
            }
            Family::Trajectory => {
                let o = Trajectory::view(&object).unwrap();
                let trajectory = Trajectory_ {
                    previous: o.previous(),
                    outcome: o.outcome(),
                    changes: o.added_changes().iter().collect(),
                    evidence: o.added_evidence().iter().collect(),
                    residuals: o.added_residuals().iter().collect(),
                };
                self.trajectories.insert(id, trajectory);
            }
            Family::Claim => {
                let o = Claim::view(&object).unwrap();
                let claim = Claim_ {
                    subject: o.subject().map(str::to_owned),
                    subject_refs: o.subject_refs().iter().collect(),
                    predicate: o.predicate().to_owned(),
                    kind: o.predicate_kind().map(|kind| kind.as_str().to_owned()),
                    evidence: o.evidence().iter().collect(),
                    residuals: o.residuals().iter().collect(),
                    supersedes: o.supersedes(),
                    change: o.change(),
                    created: o.created_at().unwrap_or(0),
                };
                self.claims.insert(id, claim);
            }
            Family::Evidence => {
                let o = Evidence::view(&object).unwrap();
                let evidence = Evidence_ {
                    subject: o.subject().map(str::to_owned),
                    subject_refs: o.subject_refs().iter().collect(),
                    outcome: o.result().map(|result| result.outcome()),
                    evaluated: o.evaluated_state(),
                    environment: o.environment(),
                };
                self.evidence.insert(id, evidence);
            }
            Family::Residual => {
                let o = Residual::view(&object).unwrap();
                let residual = Residual_ {
                    previous: o.previous(),
                    severity: o.severity().unwrap_or(ResidualSeverity::Medium),
                    disposition: o.disposition_event().map_or(Disposition::Open, |e| e.disposition()),
                    claims: o.affected_claims().iter().collect(),
                    changes: o.affected_changes().iter().collect(),
                    created: o.created_at().unwrap_or(0),
                };
                self.residuals.insert(id, residual);
            }
            Family::Operation => {
                let o = Operation::view(&object).unwrap();
                let paths = [o.subject_path(), o.from(), o.to()];
                let paths = paths.into_iter().flatten().map(str::to_owned).collect();
                let references = o.subject_ref().into_iter().chain(o.input_refs().iter());
                let references = references.chain(o.output_refs().iter()).collect();
                self.operations.insert(id, Operation_ { paths, references });
            }
            Family::State => {
                self.roots.insert(id, State::view(&object).unwrap().root_tree());
            }
            Family::Tree => {
                let tree = Tree::decode(bytes, &Limits::DEFAULT).unwrap();
                let entries = tree.iter().map(|e| (e.name.to_owned(), e.mode == Mode::Directory, e.target));
                self.trees.insert(id, entries.collect());
            }
            Family::Environment => {
                let o = Environment::view(&object).unwrap();
                if let Some((os, arch)) = o.os().zip(o.arch()) {
                    self.platforms.insert(id, (os.family().to_owned(), arch.to_owned()));
                }
            }
            Family::Config if self.refs.get("refs/config") == Some(&id) => {
                let o = Config::view(&object).unwrap();
                for entry in o.required_verification().iter().flat_map(|r| r.entries().iter()) {
                    for platform in entry.platforms().iter() {
                        let row = (entry.kind(), platform.platform(), platform.arch());
                        self.required.insert((row.0.to_owned(), row.1.to_owned(), row.2.to_owned()));
                    }
                }
            }
            _ => {}
        }
    }

    fn head(&self) -> Option<Gid> {
        self.refs.get("refs/head").copied()
    }

    /// anc(K).
    fn anc(&self, start: impl IntoIterator<Item = Gid>) -> Ids {
        let mut found = Ids::new();
        let mut open: Vec<Gid> = start.into_iter().collect();
        while let Some(id) = open.pop() {
            if let Some(change) = self.changes.get(&id)
                && found.insert(id)
            {
                open.extend(&change.parents);
            }
        }
        found
    }

    fn versions(&self, newest: &Gid) -> Vec<Gid> {
        let (mut found, mut next) = (Vec::new(), Some(*newest));
        while let Some(id) = next
            && let Some(version) = self.trajectories.get(&id)
        {
            found.push(id);
            next = version.previous;
        }
        found
    }

    /// Newest versions of the named trajectories.
    fn named_trajectories(&self) -> Vec<Gid> {
        let named = self.refs.iter().filter(|(name, _)| {
            name.strip_prefix("refs/trajectories/T").is_some_and(|digits| digits.parse::<u64>().is_ok())
        });
        named.map(|(_, id)| *id).collect()
    }

    /// The changes of every version of some trajectories.
    fn changes_of(&self, trajectories: &[Gid]) -> Ids {
        let versions = trajectories.iter().flat_map(|id| self.versions(id));
        let listed = versions.flat_map(|id| self.trajectories[&id].changes.clone());
        listed.filter(|id| self.changes.contains_key(id)).collect()
    }

    pub(crate) fn known(&self) -> Ids {
        let mut known = self.anc(self.head());
        known.extend(self.changes_of(&self.named_trajectories()));
        for (name, id) in &self.refs {
            let is_number = |digits: &str| digits.parse::<u64>().is_ok();
            if name.strip_prefix("refs/names/C").is_some_and(is_number) && self.changes.contains_key(id) {
                known.insert(*id);
            }
        }
        known
    }

    /// Declared claims, evidence and residuals: listed by known changes, by versions of named trajectories, or named;
    /// and what those lead to: older versions, and what claims list.
    pub(crate) fn declared(&self) -> Ids {
        let mut open: Vec<Gid> = Vec::new();
        for id in self.known() {
            let change = &self.changes[&id];
            open.extend(change.claims.iter().chain(&change.evidence).chain(&change.residuals));
        }
        for version in self.named_trajectories().iter().flat_map(|id| self.versions(id)) {
            let version = &self.trajectories[&version];
            open.extend(version.evidence.iter().chain(&version.residuals));
        }
        open.extend(self.refs.iter().filter(|(name, _)| name.starts_with("refs/names/")).map(|(_, id)| *id));
        let mut found = Ids::new();
        while let Some(id) = open.pop() {
            let is_knowledge = matches!(id.family(), Family::Claim | Family::Evidence | Family::Residual);
            if !is_knowledge || !found.insert(id) {
                continue;
            }
            if let Some(claim) = self.claims.get(&id) {
                open.extend(claim.supersedes.iter().chain(&claim.evidence).chain(&claim.residuals));
            }
            if let Some(residual) = self.residuals.get(&id) {
                open.extend(residual.previous);
            }
        }
        found
    }

    fn root(&self, state: Option<Gid>) -> Option<Gid> {
        self.roots.get(&state?).copied()
    }

    fn same(&self, a: Option<Gid>, b: Option<Gid>) -> bool {
        self.root(a).is_some() && self.root(a) == self.root(b)
    }

    /// The query state: the result of the head change.
    fn state(&self) -> Option<Gid> {
        self.changes.get(&self.head()?)?.result
    }

    /// between(A, S); `None`: no path.
    fn between(&self, a: Gid) -> Option<Ids> {
        let s = self.state()?;
        if self.same(Some(a), Some(s)) {
            return Some(Ids::new());
        }
        let of_head = self.anc(self.head());
        let heads: Vec<Gid> =
            of_head.iter().copied().filter(|id| self.same(self.changes[id].result, Some(s))).collect();
        let history = self.anc(heads);
        let ending: Vec<Gid> =
            history.iter().copied().filter(|id| self.same(self.changes[id].result, Some(a))).collect();
        if !ending.is_empty() {
            let before = self.anc(ending);
            return Some(history.difference(&before).copied().collect());
        }
        let starting: Ids =
            history.iter().copied().filter(|id| self.same(self.changes[id].input, Some(a))).collect();
        if starting.is_empty() {
            return None;
        }
        Some(history.iter().copied().filter(|id| !self.anc([*id]).is_disjoint(&starting)).collect())
    }

    fn touches(&self, change: &Gid, path: Option<&str>, references: &[Gid]) -> bool {
        let prefix = |long: &str, short: &str| {
            long == short || long.strip_prefix(short).is_some_and(|rest| rest.starts_with('/'))
        };
        let operations = self.changes[change].operations.iter().filter_map(|id| self.operations.get(id));
        operations.into_iter().any(|operation| {
            let by_path = path.is_some_and(|path| {
                operation.paths.iter().any(|touched| prefix(touched, path) || prefix(path, touched))
            });
            by_path || operation.references.iter().any(|id| references.contains(id))
        })
    }

    fn has_path(&self, state: Gid, path: &str) -> bool {
        let Some(mut tree) = self.root(Some(state)) else { return false };
        let segments: Vec<&str> = path.split('/').collect();
        for (at, segment) in segments.iter().enumerate() {
            let entry = self.trees.get(&tree).and_then(|t| t.iter().find(|(name, ..)| name == segment));
            match entry {
                Some((_, true, target)) => tree = *target,
                Some(_) => return at + 1 == segments.len(),
                None => return false,
            }
        }
        true
    }

    /// 15.2: the word, and the changes that cause it.
    pub(crate) fn freshness(
        &self,
        anchor: Option<Gid>,
        path: Option<&str>,
        references: &[Gid],
    ) -> (&'static str, Vec<Gid>) {
        let Some(anchor) = anchor else { return ("UNKNOWN", Vec::new()) };
        let Some(between) = self.between(anchor) else { return ("MAY_REQUIRE_REFRESH", Vec::new()) };
        if between.is_empty() {
            return ("FRESH", Vec::new());
        }
        let causes: Vec<Gid> =
            between.iter().copied().filter(|id| self.touches(id, path, references)).collect();
        if !causes.is_empty() {
            return ("MAY_REQUIRE_REFRESH", causes);
        }
        let states = [Some(anchor), self.state()];
        let is_path =
            path.is_some_and(|path| states.iter().flatten().any(|state| self.has_path(*state, path)));
        if references.is_empty() && !is_path { ("UNKNOWN", Vec::new()) } else { ("FRESH", Vec::new()) }
    }

    /// The freshness of evidence by itself.
    pub(crate) fn evidence_freshness(&self, id: &Gid) -> (&'static str, Vec<Gid>) {
        let evidence = &self.evidence[id];
        self.freshness(evidence.evaluated, evidence.subject.as_deref(), &evidence.subject_refs)
    }

    /// Of the versions that begin with the same one: the declared one that no declared one follows.
    pub(crate) fn newest_residual(&self, declared: &Ids, id: &Gid) -> Gid {
        let mut first = *id;
        while let Some(older) = self.residuals.get(&first).and_then(|r| r.previous)
            && self.residuals.contains_key(&older)
        {
            first = older;
        }
        let mut versions = Ids::from([first]);
        loop {
            let follows = |(id, r): &(&Gid, &Residual_)| {
                declared.contains(id) && r.previous.is_some_and(|older| versions.contains(&older))
            };
            let more: Ids = self.residuals.iter().filter(follows).map(|(id, _)| *id).collect();
            if more.is_subset(&versions) {
                break;
            }
            versions.extend(more);
        }
        let followed: Ids = versions.iter().filter_map(|id| self.residuals.get(id)?.previous).collect();
        let named: Ids =
            self.refs.iter().filter(|(name, _)| name.starts_with("refs/names/")).map(|(_, id)| *id).collect();
        let created = |id: &Gid| self.residuals.get(id).map_or(0, |r| r.created);
        let last = versions.difference(&followed);
        let best = last.min_by_key(|id| (!named.contains(id), std::cmp::Reverse(created(id)), **id));
        *best.unwrap_or(id)
    }

    fn refines(&self, newer: &Gid, older: &Gid) -> bool {
        let (a, b) = (&self.claims[newer], &self.claims[older]);
        a.supersedes == Some(*older) && a.subject == b.subject && a.predicate == b.predicate
    }

    /// The versions of a claim, oldest first: those it refines, then at each step the newest declared refinement.
    pub(crate) fn claim_versions(&self, declared: &Ids, id: &Gid) -> Vec<Gid> {
        let mut first = *id;
        while let Some(older) = self.claims[&first].supersedes
            && self.claims.contains_key(&older)
            && self.refines(&first, &older)
        {
            first = older;
        }
        let mut versions = vec![first];
        loop {
            let last = versions[versions.len() - 1];
            let next = self.claims.iter().filter(|(id, _)| declared.contains(id) && self.refines(id, &last));
            match next.min_by_key(|(id, claim)| (std::cmp::Reverse(claim.created), **id)) {
                Some((next, _)) => versions.push(*next),
                None => return versions,
            }
        }
    }

    fn is_replaced(&self, declared: &Ids, versions: &[Gid]) -> bool {
        let supersedes = |id: &Gid| self.claims[id].supersedes.filter(|older| versions.contains(older));
        self.claims
            .keys()
            .any(|id| declared.contains(id) && supersedes(id).is_some_and(|older| !self.refines(id, &older)))
    }

    fn declaring(&self, versions: &[Gid]) -> Option<Gid> {
        let (first, newest) = (versions.first()?, versions.last()?);
        let said = self.claims[newest].change.or(self.claims[first].change);
        said.or_else(|| {
            let known = self.known();
            let listing = known
                .iter()
                .filter(|id| versions.iter().any(|version| self.changes[id].claims.contains(version)));
            listing.min_by_key(|id| (self.changes[id].created, **id)).copied()
        })
    }

    /// 15.3, of the claim with these versions.
    pub(crate) fn claim(&self, declared: &Ids, versions: &[Gid]) -> ClaimAnswer {
        let claim = &self.claims[&versions[versions.len() - 1]];
        let change = self.declaring(versions);
        let declared_at = change.and_then(|id| self.changes.get(&id)?.result);
        let evidence: Ids = claim.evidence.iter().copied().collect();
        let with = |wanted: &[EvidenceOutcome]| -> Vec<Gid> {
            let outcome = |id: &Gid| self.evidence.get(id).and_then(|e| e.outcome);
            evidence.iter().copied().filter(|id| outcome(id).is_some_and(|o| wanted.contains(&o))).collect()
        };
        let supporting = with(&[EvidenceOutcome::Pass]);
        let contradicting = with(&[EvidenceOutcome::Fail, EvidenceOutcome::Mismatch]);
        let is_stale = |id: &Gid| {
            self.evidence.get(id).is_some_and(|e| {
                let anchor = e.evaluated.or(declared_at);
                let subject = claim.subject.as_deref();
                self.freshness(anchor, subject, &claim.subject_refs).0 == "MAY_REQUIRE_REFRESH"
            })
        };
        let stale: Vec<Gid> = evidence.iter().copied().filter(is_stale).collect();
        let mut residuals: Ids =
            claim.residuals.iter().map(|id| self.newest_residual(declared, id)).collect();
        for id in declared.iter().filter(|id| self.residuals.contains_key(id)) {
            let newest = self.newest_residual(declared, id);
            if self.residuals[&newest].claims.iter().any(|claim| versions.contains(claim)) {
                residuals.insert(newest);
            }
        }
        let open = residuals.iter().any(|id| self.residuals.get(id).is_some_and(unsettled));
        let (for_it, against) = (!supporting.is_empty(), !contradicting.is_empty());
        let (status, basis, reason) = if self.is_replaced(declared, versions) {
            ("SUPERSEDED", "8.1.1", None)
        } else if !for_it && (against || open) {
            ("CONTRADICTED", "8.1.2", None)
        } else if !against && !evidence.is_empty() && stale.len() == evidence.len() {
            ("STALE", "8.1.5", None)
        } else if for_it && (against || open) {
            ("PARTIALLY_SUPPORTED", "8.1.2", None)
        } else if for_it {
            ("SUPPORTED", "8.1.3", None)
        } else if evidence.is_empty() {
            ("UNVERIFIED", "8.1.4", Some("no evidence"))
        } else {
            ("UNVERIFIED", "8.1.4", Some("no conclusive evidence"))
        };
        ClaimAnswer { status, basis, reason, supporting, contradicting, stale, change }
    }

    /// 15.4: distinct reachable changes that descend from what is affected or from a declaring change.
    pub(crate) fn persistence(&self, newest: &Gid) -> u64 {
        let reachable = self.anc(self.known());
        let known = self.known();
        let mut versions = vec![*newest];
        while let Some(older) = self.residuals[&versions[versions.len() - 1]].previous
            && self.residuals.contains_key(&older)
        {
            versions.push(older);
        }
        let listing = known
            .iter()
            .copied()
            .filter(|id| versions.iter().any(|version| self.changes[id].residuals.contains(version)));
        let from: Ids = listing.chain(self.residuals[newest].changes.iter().copied()).collect();
        let descends = |id: &Gid| {
            let parents = self.anc(self.changes[id].parents.iter().copied());
            !parents.is_disjoint(&from)
        };
        reachable.iter().filter(|id| descends(id)).count() as u64
    }

    /// 15.5 with the default scope, or the current trajectory's alone.
    pub(crate) fn readiness(&self, only_trajectory: bool) -> Verdict {
        let declared = self.declared();
        let current = self.refs.get("refs/trajectories/current").copied();
        let current = current.filter(|id| self.trajectories.get(id).is_some_and(|t| t.outcome.is_none()));
        let current: Vec<Gid> = current.into_iter().collect();
        let mut changes = if only_trajectory { Ids::new() } else { self.anc(self.head()) };
        changes.extend(self.changes_of(&current));
        let given_up: Vec<Gid> = self
            .named_trajectories()
            .into_iter()
            .filter(|id| {
                use TrajectoryOutcome::{Abandoned, Rejected, Superseded};
                matches!(
                    self.trajectories.get(id).and_then(|t| t.outcome),
                    Some(Rejected | Abandoned | Superseded)
                )
            })
            .collect();
        let given_up = self.changes_of(&given_up);
        let mut residuals: Ids = changes.iter().flat_map(|id| self.changes[id].residuals.clone()).collect();
        for version in current.iter().flat_map(|id| self.versions(id)) {
            residuals.extend(&self.trajectories[&version].residuals);
        }
        // What was recorded outside a change and names one of them.
        let of_declared = |family: Family| declared.iter().filter(move |id| id.family() == family);
        residuals.extend(of_declared(Family::Residual).filter(|id| {
            self.residuals.get(id).is_some_and(|r| r.changes.iter().any(|change| changes.contains(change)))
        }));
        let residuals: Ids = residuals.iter().map(|id| self.newest_residual(&declared, id)).collect();
        let claims = changes.difference(&given_up).flat_map(|id| self.changes[id].claims.clone());
        let made_at = |id: &&Gid| self.claims.get(id).and_then(|claim| claim.change);
        let outside = of_declared(Family::Claim).filter(|id| {
            made_at(id).is_some_and(|change| changes.contains(&change) && !given_up.contains(&change))
        });
        let rows: BTreeMap<Gid, Vec<Gid>> = claims
            .chain(outside.copied())
            .filter(|id| self.claims.contains_key(id))
            .map(|id| self.claim_versions(&declared, &id))
            .map(|versions| (versions[versions.len() - 1], versions))
            .collect();
        let mut reasons: Vec<(u8, String)> = Vec::new();
        for (id, residual) in residuals.iter().filter_map(|id| Some((id, self.residuals.get(id)?))) {
            if unsettled(residual) {
                let rule = if residual.severity == ResidualSeverity::Blocking { 1 } else { 4 };
                let (how, severity) = (residual.disposition.as_str(), residual.severity.as_str());
                reasons.push((rule, format!("{how} residual {id} ({severity})")));
            }
        }
        let mut met = BTreeSet::new();
        let mut in_scope = 0;
        for (id, versions) in &rows {
            let answer = self.claim(&declared, versions);
            if answer.status == "SUPERSEDED" {
                continue;
            }
            in_scope += 1;
            let against = !answer.contradicting.is_empty();
            let told = match answer.status {
                "CONTRADICTED" => Some((2, "contradicted")),
                "PARTIALLY_SUPPORTED" => Some((if against { 2 } else { 5 }, "partially supported")),
                "UNVERIFIED" => Some((5, "unverified")),
                "STALE" => Some((5, "stale")),
                _ => None,
            };
            reasons.extend(told.map(|(rule, word)| (rule, format!("{word} claim {id}"))));
            let claim = &self.claims[id];
            for evidence in &answer.supporting {
                let place = self.evidence[evidence].environment.and_then(|id| self.platforms.get(&id));
                met.extend(
                    claim.kind.clone().zip(place).map(|(kind, (os, arch))| (kind, os.clone(), arch.clone())),
                );
            }
        }
        for (_, os, arch) in self.required.difference(&met) {
            reasons.push((3, format!("missing verification: {os}/{arch}")));
        }
        let verdict = match reasons.iter().map(|(rule, _)| *rule).min() {
            Some(1..=3) => "NOT_READY",
            Some(_) => "READY_WITH_RESIDUALS",
            None => "READY",
        };
        if reasons.is_empty() {
            let recorded = in_scope > 0 || !residuals.is_empty();
            let text = if recorded { "nothing unresolved in scope" } else { "nothing recorded in scope" };
            reasons.push((6, text.to_owned()));
        }
        reasons.sort();
        Verdict { verdict, reasons: reasons.into_iter().map(|(_, text)| text).collect() }
    }
}

fn unsettled(residual: &Residual_) -> bool {
    matches!(residual.disposition, Disposition::Open | Disposition::Acknowledged)
}
