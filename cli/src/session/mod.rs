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
use gemel_repo::{Code, Repo, knowledge};
use gemel_store::vfs::real::RealDisk;
use queries::{Effect, Query};
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
pub(crate) struct Session {
    environment: Environment,
    globals: Globals,
    grammar: Grammar,
    rights: Rights,
    /// What was read so far; not there while a question uses it.
    knowledge: Mutex<Option<knowledge::Session<'static>>>,
    repo: Mutex<&'static Repo>,
}

impl Session {
    /// A session about the repository of `context`.
    ///
    /// # Errors
    /// Those of opening it.
    pub(crate) fn open(context: &Context<'_>, rights: Rights) -> Result<Session, CliError> {
        let repo = context.repo()?;
        // Answers are made for programs: no bars, no pager, nothing on a terminal.
        let globals = Globals { quiet: true, no_pager: true, json: true, ..context.globals.clone() };
        let environment = context.environment.clone();
        let (grammar, repo) = (Grammar::new(), Mutex::new(repo));
        Ok(Session { environment, globals, grammar, rights, knowledge: Mutex::new(None), repo })
    }

    /// The grammar of the verbs.
    pub(crate) fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// Whether it may record knowledge.
    pub(crate) fn may_record(&self) -> bool {
        self.rights == Rights::Record
    }

    /// Whether it may answer a query.
    pub(crate) fn permits(&self, query: &Query) -> bool {
        let needed = match query.effect {
            Effect::Reads => Rights::Read,
            Effect::Derives => Rights::Derive,
            Effect::Records => Rights::Record,
        };
        needed <= self.rights
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
            let now_ms = self.environment.now_ms()?;
            let knowledge = locked(&self.knowledge).take();
            let knowledge = knowledge.unwrap_or_else(|| knowledge::Session::new(*locked(&self.repo)));
            let repo = knowledge.repo();
            let document = call::document(params)?;
            let context = Context::with(&self.environment, &self.globals, now_ms, knowledge, document);
            let outcome = commands::run(&context, &command).and_then(|answer| look(&answer, repo));
            *locked(&self.knowledge) =
                context.into_knowledge().filter(|known| std::ptr::eq(known.repo(), *locked(&self.repo)));
            outcome
        });
        if matches!(&outcome, Err(CliError::Refused(refusal)) if refusal.code == Code::Internal) {
            self.reopen();
        }
        outcome
    }

    fn permit(&self, query: &Query) -> Result<(), CliError> {
        if self.permits(query) {
            return Ok(());
        }
        let message = format!("{} writes to the repository, and this session only reads", query.name);
        Err(CliError::new(Code::PolicyDenied, message))
    }

    /// Whatever a failure left behind in memory is not used again. What it holds is given up with it: failures of this
    /// kind are defects, or a disk that fails.
    fn reopen(&self) {
        let root = locked(&self.repo).root();
        let opened = guarded(|| Ok(Repo::open(Arc::new(RealDisk::new()), root)?));
        if let Ok(opened) = opened {
            *locked(&self.repo) = Box::leak(Box::new(opened));
            *locked(&self.knowledge) = None;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(knowledge) = locked(&self.knowledge).take() {
            knowledge.keep();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
