//! The table of queries: which questions a session answers, by which verb, with which parameters.
//!
//! A parameter is a flag or a positional argument of the verb, by its name in snake case. Its type, its values and
//! its description are the verb's own, so that they are told once.

/// What answering does to the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Reads,
    /// Stores objects that can be derived again.
    Derives,
    /// Records knowledge.
    Records,
}

/// How an answer is made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Fewer rows: it takes `limit`.
    Rows,
    /// A smaller budget: it takes `budget_bytes`.
    Budget,
    /// Shorter arrays.
    Arrays,
    /// Not at all: it is one object.
    Whole,
}

/// The parameter that stands for a file of the command line: the session reads no files for others.
pub(crate) const DOCUMENT: &str = "document";

/// A question.
#[derive(Debug)]
pub(crate) struct Query {
    /// Its name in a request.
    pub(crate) name: &'static str,
    /// What it answers, for an agent that chooses among them.
    pub(crate) about: &'static str,
    /// What answering does.
    pub(crate) effect: Effect,
    /// How its answer is made smaller.
    pub(crate) room: Room,
    /// The verbs behind it, tried in order.
    pub(crate) forms: &'static [Form],
}

/// One verb that answers a query when all of `needs` are given.
#[derive(Debug)]
pub(crate) struct Form {
    /// Words of the command, and flags that are always given.
    pub(crate) words: &'static [&'static str],
    /// Parameters that must be given.
    pub(crate) needs: &'static [&'static str],
    /// Parameters that may be given.
    pub(crate) takes: &'static [&'static str],
}

impl Query {
    /// The query of that name.
    pub(crate) fn named(name: &str) -> Option<&'static Query> {
        QUERIES.iter().find(|query| query.name == name)
    }

    /// Whether it asks and records nothing, so that every session answers it.
    pub(crate) fn is_question(&self) -> bool {
        self.effect != Effect::Records
    }
}

impl Form {
    fn listed(&self) -> String {
        let needs = self.needs.iter().map(|name| format!(" {name}"));
        needs.chain(self.takes.iter().map(|name| format!(" [{name}]"))).collect()
    }

    /// Everything that may be given, what must be given first.
    pub(crate) fn params(&self) -> impl Iterator<Item = &'static str> {
        self.needs.iter().chain(self.takes).copied()
    }
}

/// The queries of every session, for help.
pub(crate) fn listed() -> String {
    let mut text = "Queries and their parameters; those in brackets may be left out:\n".to_owned();
    for query in QUERIES.iter().filter(|query| query.is_question()) {
        let forms: Vec<String> = query.forms.iter().map(Form::listed).collect();
        text.push_str(&format!("\n  {}{}\n      {}\n", query.name, forms.join(" |"), query.about));
    }
    text
}

/// Name, effect, room and description, then for each verb `[words] (parameters needed) (parameters taken)`.
macro_rules! queries {
    ($($name:literal $effect:ident $room:ident $about:literal $([$($word:literal)+] ($($need:ident)*) ($($take:ident)*);)+)+) => {
        &[$(Query {
            name: $name,
            about: $about,
            effect: Effect::$effect,
            room: Room::$room,
            forms: &[$(Form {
                words: &[$($word),+],
                needs: &[$(stringify!($need)),*],
                takes: &[$(stringify!($take)),*],
            }),+],
        }),+]
    };
}

/// Every query, in the order in which a newcomer would ask.
pub(crate) static QUERIES: &[Query] = queries! {
    "status" Reads Arrays
    "Where things stand: current intent and trajectory, changed files, claims by status, open residuals, and whether \
     the work is ready, with reasons. Ask this first."
    ["status"] () (scope verbose);

    "next" Reads Arrays
    "What to do next: recommended steps with what they rest on, such as unresolved residuals, claims to verify and \
     earlier attempts to read."
    ["next"] () ();

    "context" Reads Budget
    "What is known about a subject (a path, an entity or an identity) before you work on it, most relevant first, \
     within a token budget: changes, claims, residuals, earlier attempts, evidence. What did not fit is listed."
    ["context"] (subject) (for_intent budget budget_bytes include include_l3);

    "attempts" Reads Rows
    "Who tried before: trajectories that touched a subject or share its intent, how they ended and why. Ask before \
     work, so that a rejected approach is not tried again."
    ["attempts"] (subject) (limit cursor);

    "why" Reads Arrays
    "Why a thing is as it is: the change that introduced a path, path:line, entity or object, with its intent, \
     claim, evidence, residuals, decision, and the approaches before it."
    ["why"] (subject) ();

    "claims" Reads Rows
    "What is claimed, with the derived status of each claim (SUPPORTED, CONTRADICTED, STALE, UNVERIFIED and others) \
     and what it rests on."
    ["claims"] () (subject status all limit cursor);

    "evidence" Reads Rows
    "One piece of evidence (`id`), or all evidence about a subject (`subject`): kind, outcome, what was evaluated, and \
     whether it is still fresh."
    ["evidence" "show"] (id) (state);
    ["evidence" "list"] (subject) (kind outcome limit cursor);

    "residuals" Reads Rows
    "Where certainty ends: what is known to be unresolved, how severe it is and what it affects."
    ["residuals"] () (subject disposition severity order limit cursor);

    "trajectory" Reads Arrays
    "One line of work: its intent, its changes in order, its evidence and residuals, how it ended, and its handoff."
    ["trajectory"] (id) ();

    "checkpoint" Reads Arrays
    "A recorded checkpoint, the newest unless `id` names one: the state of the work at a moment, with open claims, \
     residuals and decisions."
    ["checkpoint"] (id) ();
    ["checkpoint" "--current"] () ();

    "impact" Reads Arrays
    "What a change may affect: paths, entities, claims, residuals, and evidence that may have to be refreshed."
    ["impact"] (change) ();

    "diff" Reads Arrays
    "What differs between two states, changes, trajectories or releases (or the working tree), in text and, as asked, \
     in claims, behaviour, evidence, residuals, entities and dependencies."
    ["diff"] () (a b all semantic claims behavior evidence residuals dependencies);

    "log" Reads Rows
    "Changes, newest first."
    ["log"] () (limit cursor all operations subject trajectory);

    "show" Reads Whole
    "One object, whole, in canonical form, or its most useful fields with `compact`."
    ["show"] (id) (compact);

    "reconcile" Reads Arrays
    "A plan for bringing trajectories together, without doing it: conflicts, interactions, claims kept and lost, and \
     what would have to be verified."
    ["reconcile" "--plan"] (trajectories) ();

    "policy" Reads Arrays
    "The rules of the repository: what may be executed, which verification is required, and which of it is missing."
    ["policy"] () ();

    "context-diff" Reads Arrays
    "What one agent run saw and another did not."
    ["context-diff"] (run_a run_b) ();

    "semantic" Reads Rows
    "Entities (functions, types and the like) of the indexed head state: one by name, or a list."
    ["semantic"] () (subject limit cursor);

    "index" Derives Arrays
    "Index the entities of a state, so that questions about entities can be answered. Stores derived objects."
    ["index"] () (state);

    "change begin" Records Arrays
    "Begin a change before you edit: remember the state it starts from and the intent behind it."
    ["change" "begin"] () (intent intent_summary from producer workspace);

    "change finish" Records Arrays
    "Finish the change in progress: record the files as they are now, with what is claimed about them, the evidence there \
     is, and what stays unresolved."
    ["change" "finish"] (summary) (claim evidence residual producer workspace agent_run agent_model_family agent_model_id
        agent_harness agent_permission agent_tool context_manifest disclosure instruction_digest environment dry_run);

    "change abort" Records Arrays
    "Give up the change in progress; files stay as they are."
    ["change" "abort"] () (workspace);

    "claim link" Records Arrays
    "Say that evidence bears on a claim."
    ["claim" "link"] (id evidence) (producer);

    "residual add" Records Arrays
    "Record something unresolved that was found outside a change."
    ["residual" "add"] (summary) (severity classification claim origin path change producer);

    "residual resolve" Records Arrays
    "Record what became of a residual: acknowledged, resolved, superseded, irrelevant, or open again, with a reason."
    ["residual" "resolve"] (id disposition) (reason evidence producer);

    "evidence ingest" Records Arrays
    "Record what a tool observed, from the document it wrote. Nothing is executed, and no claim is linked."
    ["evidence" "ingest" "-"] (document) (format producer subject state workspace environment detect_environment tool);

    "checkpoint create" Records Arrays
    "Record where the work stands, for whoever goes on: open claims, residuals, decisions, evidence."
    ["checkpoint"] () (summary producer);

    "trajectory close" Records Arrays
    "Close a line of work with its outcome, and leave a handoff."
    ["trajectory" "close"] (id outcome) (reason handoff_summary next_step producer);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_records_is_never_asked_twice() {
        for query in QUERIES.iter().filter(|query| query.effect == Effect::Records) {
            assert_eq!(query.room, Room::Arrays, "{}", query.name);
        }
    }

    #[test]
    fn rows_and_budgets_have_their_parameter() {
        for query in QUERIES {
            let needed = match query.room {
                Room::Rows => "limit",
                Room::Budget => "budget_bytes",
                Room::Arrays | Room::Whole => continue,
            };
            assert!(query.forms.iter().any(|form| form.takes.contains(&needed)), "{}", query.name);
        }
    }
}
