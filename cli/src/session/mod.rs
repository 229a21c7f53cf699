//! Sessions: one process that answers many questions about one repository.
//!
//! A question is a command line in another notation: the table in [`queries`] names the words of a verb and the
//! parameters that become its flags, [`call`] turns JSON parameters into arguments, and the verb itself answers. So
//! that the command line, `gemel protocol` and `gemel mcp` cannot differ.

pub(crate) mod call;
pub(crate) mod lines;
pub(crate) mod queries;
pub(crate) mod strict;

use crate::answer::Answer;
use crate::app::Context;
use crate::args::Globals;
use crate::commands;
use crate::environment::Environment;
use crate::error::CliError;
use crate::guard::guarded;
use call::Grammar;
use gemel_repo::{Code, Repo};
use gemel_store::vfs::real::RealDisk;
use queries::{Effect, Query};
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// What a session may do beside reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rights {
    /// Nothing at all.
    Read,
    /// Store objects that can be derived again.
    Derive,
    /// Record knowledge.
    Record,
}

/// A repository, opened once, and the grammar of the verbs. Safe to share between threads.
#[derive(Debug)]
pub(crate) struct Session {
    environment: Environment,
    globals: Globals,
    grammar: Grammar,
    rights: Rights,
    repo: Mutex<Arc<Repo>>,
}

impl Session {
    /// A session about the repository of `context`.
    ///
    /// # Errors
    /// Those of opening it.
    pub(crate) fn open(context: &Context<'_>, rights: Rights) -> Result<Session, CliError> {
        let repo = context.repo_shared()?;
        // Answers are made for programs: no bars, no pager, nothing on a terminal.
        let globals = Globals { quiet: true, no_pager: true, json: true, ..context.globals.clone() };
        let environment = context.environment.clone();
        Ok(Session { environment, globals, grammar: Grammar::new(), rights, repo: Mutex::new(repo) })
    }

    /// Answers a query, refs and objects read anew, and hands the answer to `look`. A panic is an `INTERNAL` refusal.
    ///
    /// # Errors
    /// Unfit parameters, and the refusals of the verb.
    pub(crate) fn ask<T>(
        &self,
        query: &Query,
        params: &Map<String, Value>,
        look: impl FnOnce(&Answer<'_>, &Repo) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let outcome = guarded(|| {
            self.permit(query)?;
            let command = self.grammar.command(query, params)?;
            let repo = self.repo();
            let now_ms = self.environment.now_ms()?;
            let context = Context::with(&self.environment, &self.globals, now_ms, repo.clone());
            let answer = commands::run(&context, &command)?;
            look(&answer, &repo)
        });
        if matches!(&outcome, Err(CliError::Refused(refusal)) if refusal.code == Code::Internal) {
            self.reopen();
        }
        outcome
    }

    fn permit(&self, query: &Query) -> Result<(), CliError> {
        let needed = match query.effect {
            Effect::Reads => Rights::Read,
            Effect::Derives => Rights::Derive,
            Effect::Records => Rights::Record,
        };
        if needed <= self.rights {
            return Ok(());
        }
        let message = format!("{} writes to the repository, and this session only reads", query.name);
        Err(CliError::new(Code::PolicyDenied, message))
    }

    fn repo(&self) -> Arc<Repo> {
        self.repo.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whatever a failure left behind in memory is not used again.
    fn reopen(&self) {
        let repo = self.repo();
        let disk = Arc::new(RealDisk::new());
        let opened = guarded(|| Ok(Repo::open(disk, repo.root())?));
        if let Ok(opened) = opened {
            *self.repo.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(opened);
        }
    }
}
