//! Refs and local records: what they point to, and whether they read (REF-05, STO-07, STO-08).

use crate::audit::Problem;
use crate::audit::graph::is_stored_now;
use crate::history::pending::Pending;
use crate::history::table::Table;
use crate::history::workspace::check_workspace_name;
use crate::{Repo, Result};
use gemel_object::Gid;
use gemel_store::refs::local;
use gemel_store::{RefValue, Store, StoreError};
use std::collections::HashSet;

/// What refs and records say.
pub(super) struct Records<'s> {
    store: &'s Store,
    pub(super) problems: Vec<Problem>,
    /// Identities with a tombstone.
    pub(super) pruned: HashSet<Gid>,
}

impl<'s> Records<'s> {
    /// Looks at every ref and record.
    ///
    /// # Errors
    /// `Io` when the disk fails; damage is a finding.
    pub(super) fn read(repo: &'s Repo, table: &Table) -> Result<Records<'s>> {
        let mut records = Records { store: repo.store(), problems: Vec::new(), pruned: HashSet::new() };
        let refs = match repo.store().refs() {
            Ok(refs) => refs,
            Err(error @ StoreError::Io { .. }) => return Err(error.into()),
            Err(error) => {
                records.problems.push(Problem::error("corrupt-ref", None, error.to_string()));
                return Ok(records);
            }
        };
        for (name, _) in refs.scan(local::TOMBSTONES)? {
            let id = name.strip_prefix(local::TOMBSTONES).and_then(|text| Gid::parse(text).ok());
            match id {
                Some(id) if table.find(&id).is_some() => {
                    let message = format!("{id} is stored although a tombstone says it was pruned");
                    records.problems.push(Problem::warning("live-tombstone", Some(id), message));
                }
                Some(id) => {
                    records.pruned.insert(id);
                }
                None => {
                    let message = format!("{name} names no identity");
                    records.problems.push(Problem::error("corrupt-ref", None, message));
                }
            }
        }
        for (name, value) in refs.scan("refs/")? {
            match value {
                Ok(RefValue::Id(id)) => records.target(table, &name, id, "missing-reference"),
                Ok(RefValue::Record(_)) => {
                    let message = format!("{name} holds a record, not an identity");
                    records.problems.push(Problem::error("corrupt-ref", None, message));
                }
                Err(error) => records.problems.push(Problem::error("corrupt-ref", None, error.to_string())),
            }
        }
        for (name, value) in refs.scan("local/")? {
            match name.strip_prefix(local::WORKTREES).and_then(|rest| rest.rsplit_once('/')) {
                Some((workspace, record)) => records.workspace(table, &name, workspace, record, value),
                None => records.other(table, &name, value),
            }
        }
        Ok(records)
    }

    /// Reports a target that is not stored: neither when the objects were listed nor now, since others may write.
    fn target(&mut self, table: &Table, name: &str, id: Gid, code: &'static str) {
        if table.find(&id).is_some() || is_stored_now(self.store, &id) {
            return;
        }
        self.problems.push(if self.pruned.contains(&id) {
            let message = format!("{name} points to {id}, which was pruned under a retention policy");
            Problem::warning("pruned-referenced", Some(id), message)
        } else {
            Problem::error(code, Some(id), format!("{name} points to {id}, which is not stored"))
        });
    }

    fn workspace(
        &mut self,
        table: &Table,
        name: &str,
        workspace: &str,
        record: &str,
        value: gemel_store::Result<RefValue>,
    ) {
        if let Err(error) = check_workspace_name(workspace) {
            self.problems.push(Problem::error("workspace-state-corrupt", None, format!("{name}: {error}")));
        }
        match (record, value) {
            ("state" | "change", Ok(RefValue::Id(id))) => {
                self.target(table, name, id, "workspace-state-missing");
            }
            ("pending", Ok(RefValue::Record(bytes))) => match Pending::parse(workspace, &bytes) {
                Ok(pending) => {
                    for id in pending.input_state.into_iter().chain(pending.intent).chain(pending.producer) {
                        self.target(table, name, id, "pending-corrupt");
                    }
                }
                Err(error) => self.problems.push(Problem::error("pending-corrupt", None, error.to_string())),
            },
            ("path", Ok(RefValue::Record(bytes))) => {
                if std::str::from_utf8(&bytes).is_err() {
                    let message = format!("{name} is not UTF-8");
                    self.problems.push(Problem::error("workspace-state-corrupt", None, message));
                }
            }
            (_, Ok(_)) => {
                let message = format!("{name} is no record of a workspace");
                self.problems.push(Problem::warning("stray-record", None, message));
            }
            ("pending", Err(error)) => {
                self.problems.push(Problem::error("pending-corrupt", None, error.to_string()));
            }
            (_, Err(error)) => {
                self.problems.push(Problem::error("workspace-state-corrupt", None, error.to_string()));
            }
        }
    }

    fn other(&mut self, table: &Table, name: &str, value: gemel_store::Result<RefValue>) {
        match value {
            Ok(RefValue::Id(id)) => self.target(table, name, id, "missing-reference"),
            Ok(RefValue::Record(_)) => {}
            Err(error) => self.problems.push(Problem::error("corrupt-ref", None, error.to_string())),
        }
    }
}
