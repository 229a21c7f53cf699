//! `gemel diff`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::color::Style;
use crate::error::CliError;
use crate::json::{Json, Obj};
use crate::render::{Printer, Table, counted};
use gemel_object::Gid;
use gemel_repo::Repo;
use gemel_repo::content::diff::{Version, count, write_patch};
use gemel_repo::history::{self, DiffEntry, DiffFacts, DiffKind, DiffOptions, DiffSide, Side};
use gemel_repo::knowledge::{self, Dimensions, DimensionsFacts, GainedRow};
use serde_json::{Map, Value};

/// Compare two states, or a state with the files
///
/// Without arguments the workspace's state is compared with its files, with one argument that state with the files.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// First side: a state, or a change, trajectory or release that has one [default: the workspace's state]
    a: Option<String>,
    /// Second side [default: the files]
    b: Option<String>,
    /// Show counts a file instead of lines
    #[arg(long, conflicts_with = "name_only")]
    stat: bool,
    /// Show paths only
    #[arg(long)]
    name_only: bool,
    /// Unchanged lines around each difference [default: 3]
    #[arg(long, value_name = "LINES")]
    context: Option<u64>,
    /// Workspace to compare [default: default]
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,
    #[command(flatten)]
    wanted: Wanted,
}

/// The dimensions beside text.
#[derive(Debug, clap::Args)]
struct Wanted {
    /// Compare semantic entities
    #[arg(long, hide = true)]
    semantic: bool,
    /// Compare claims
    #[arg(long)]
    claims: bool,
    /// Compare observed behavior
    #[arg(long, hide = true)]
    behavior: bool,
    /// Compare evidence
    #[arg(long)]
    evidence: bool,
    /// Compare residuals
    #[arg(long)]
    residuals: bool,
    /// Compare dependencies
    #[arg(long, hide = true)]
    dependencies: bool,
    /// Compare in every dimension
    #[arg(long)]
    all: bool,
}

impl Wanted {
    /// What was asked for, if anything.
    fn dimensions(&self) -> Option<Dimensions> {
        let wanted = Dimensions {
            semantic: self.all || self.semantic,
            behavior: self.all || self.behavior,
            claims: self.all || self.claims,
            evidence: self.all || self.evidence,
            residuals: self.all || self.residuals,
            dependencies: self.all || self.dependencies,
        };
        (wanted != Dimensions::default()).then_some(wanted)
    }
}

/// Lines around a difference unless the caller says otherwise.
const DEFAULT_CONTEXT: u64 = 3;

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    let mut options = DiffOptions { a: args.a.clone(), b: args.b.clone(), workspace: args.workspace.clone() };
    let wanted = args.wanted.dimensions();
    let found = match wanted {
        Some(wanted) => Some(context.knowing(|session| {
            let (a, b) = (args.a.as_deref(), args.b.as_deref());
            let found = knowledge::dimensions(session, a, b, args.workspace.as_deref(), wanted)?;
            if args.a.is_none()
                && let Some((Some(input), result)) = knowledge::head_step(session)?
            {
                (options.a, options.b) = (Some(input.to_string()), Some(result.to_string()));
            }
            Ok(found)
        })?),
        None => None,
    };
    let facts = history::diff(repo, &options, &*context.progress())?;
    let (omitted, uncertainty) = (facts.omitted.clone(), facts.uncertainty.clone());
    let look = match (args.name_only, args.stat) {
        (true, _) => Look::Names,
        (_, true) => Look::Counts,
        _ => Look::Lines(u32::try_from(args.context.unwrap_or(DEFAULT_CONTEXT)).unwrap_or(u32::MAX)),
    };
    let (more, doubts) =
        found.as_ref().map(|found| (found.omitted.clone(), found.uncertainty.clone())).unwrap_or_default();
    let view =
        Compared { repo, facts, look, wanted: wanted.unwrap_or_default(), found: found.unwrap_or_default() };
    let answer = Answer::of(view).long().omitting(&omitted).omitting(&more);
    Ok(answer.doubting(&uncertainty).doubting(&doubts))
}

enum Look {
    Lines(u32),
    Counts,
    Names,
}

struct Compared<'c> {
    repo: &'c Repo,
    facts: DiffFacts,
    look: Look,
    wanted: Dimensions,
    found: DimensionsFacts,
}

impl View for Compared<'_> {
    fn json(&self) -> Map<String, Value> {
        let paths = |wanted: fn(&DiffKind) -> bool| {
            let entries = self.facts.entries.iter().filter(move |entry| wanted(&entry.kind));
            entries.map(|entry| entry.path.json()).collect::<Vec<Value>>()
        };
        let renamed = self.facts.entries.iter().filter_map(|entry| match &entry.kind {
            DiffKind::Renamed { from } => Some(Obj::new().put("from", from).put("to", &entry.path).json()),
            _ => None,
        });
        let files = Obj::new()
            .put("changed", &paths(|kind| matches!(kind, DiffKind::Modified | DiffKind::TypeChanged)))
            .put("added", &paths(|kind| matches!(kind, DiffKind::Added)))
            .put("deleted", &paths(|kind| matches!(kind, DiffKind::Deleted)))
            .put("renamed", &renamed.collect::<Vec<Value>>());
        let answer = Obj::new()
            .opt("state_a", state(&self.facts.a))
            .opt("state_b", state(&self.facts.b))
            .put("textual", &Obj::new().put("files", &files));
        self.dimensions_json(answer).map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        match self.look {
            Look::Lines(context) => self.lines(context, out),
            Look::Counts => self.counts(out),
            Look::Names => {
                for entry in &self.facts.entries {
                    out.text(&entry.path).end();
                }
            }
        }
        self.dimensions(out);
    }
}

fn state(side: &Side) -> Option<&Gid> {
    match side {
        Side::State { id, .. } => Some(id),
        Side::Worktree { .. } | Side::Empty => None,
    }
}

impl Compared<'_> {
    /// Adds the dimensions asked for; without an index those of entities are empty, and said to be so.
    fn dimensions_json(&self, mut answer: Obj) -> Obj {
        let none: [Gid; 0] = [];
        let none = none.as_slice();
        let (wanted, found) = (&self.wanted, &self.found);
        if wanted.semantic {
            let lists = ["added", "removed", "modified", "moved"];
            let empty = lists.into_iter().fold(Obj::new(), |empty, list| empty.put(list, none));
            answer = answer.put("semantic", &empty.put("unchanged", &0));
        }
        if wanted.behavior {
            answer = answer.put("behavioral", none);
        }
        if wanted.dependencies {
            answer = answer.put("dependencies", none);
        }
        if wanted.semantic || wanted.dependencies {
            answer = answer.put("semantic_interactions", none);
        }
        if let Some(claims) = &found.claims {
            let claims = Obj::new().put("added", &claims.added).put("invalidated", &claims.invalidated);
            answer = answer.put("claims", &claims);
        }
        if let Some(evidence) = &found.evidence {
            let gained = |row: &GainedRow| {
                Obj::new().put("id", &row.id).put("kind", row.kind).opt("count", row.count.as_ref())
            };
            let evidence =
                Obj::new().rows("gained", &evidence.gained, gained).put("invalidated", &evidence.invalidated);
            answer = answer.put("evidence", &evidence);
        }
        if let Some(residuals) = &found.residuals {
            let residuals =
                Obj::new().put("introduced", &residuals.introduced).put("resolved", &residuals.resolved);
            answer = answer.put("residuals", &residuals);
        }
        answer
    }

    fn dimensions(&self, out: &mut Printer<'_>) {
        let found = &self.found;
        let mut list = |what: &str, ids: &mut dyn Iterator<Item = &Gid>| {
            for id in ids {
                out.lit(what).lit(": ").lookup(id).end();
            }
        };
        if let Some(claims) = &found.claims {
            list("claim added", &mut claims.added.iter());
            list("claim invalidated", &mut claims.invalidated.iter());
        }
        if let Some(evidence) = &found.evidence {
            list("evidence gained", &mut evidence.gained.iter().map(|row| &row.id));
            list("evidence invalidated", &mut evidence.invalidated.iter());
        }
        if let Some(residuals) = &found.residuals {
            list("residual introduced", &mut residuals.introduced.iter());
            list("residual resolved", &mut residuals.resolved.iter());
        }
    }

    fn lines(&self, context: u32, out: &mut Printer<'_>) {
        for entry in &self.facts.entries {
            if out.failed() {
                return;
            }
            let patch = self.versions(entry, |old, new| {
                let mut patch = Vec::new();
                // Writing into memory cannot fail.
                drop(write_patch(&mut patch, old, new, context));
                patch
            });
            match patch {
                Ok(patch) => print_patch(&patch, out),
                Err(error) => out.fail(error),
            }
        }
    }

    fn counts(&self, out: &mut Printer<'_>) {
        let mut table = Table::default();
        for entry in &self.facts.entries {
            let counts = match self.versions(entry, count) {
                Ok(counts) => counts,
                Err(error) => return out.fail(error),
            };
            let (style, mark) = mark(&entry.kind);
            let path = match &entry.kind {
                DiffKind::Renamed { from } => format!("{from} -> {}", entry.path),
                _ => entry.path.clone(),
            };
            let lines = if counts.binary {
                "binary".to_owned()
            } else {
                format!("+{} -{}", counts.added, counts.removed)
            };
            table.row([(style, mark.to_owned()), (Style::Plain, path), (Style::Dim, lines)]);
        }
        table.print("", out);
        let number =
            |wanted: &str| self.facts.entries.iter().filter(|entry| mark(&entry.kind).1 == wanted).count();
        let files = counted(u64::try_from(self.facts.entries.len()).unwrap_or(u64::MAX), "file");
        let (added, modified, deleted, renamed) = (number("+"), number("~"), number("-"), number(">"));
        out.lit(&format!("{files}: +{added} ~{modified} -{deleted} >{renamed}")).end();
    }

    /// Calls `act` with both versions of an entry.
    fn versions<T>(
        &self,
        entry: &DiffEntry,
        act: impl FnOnce(Option<&Version<'_>>, Option<&Version<'_>>) -> T,
    ) -> Result<T, CliError> {
        let old_path = match &entry.kind {
            DiffKind::Renamed { from } => from,
            _ => &entry.path,
        };
        let (old_bytes, new_bytes) = if is_same_content(entry) {
            (Some(Vec::new()), Some(Vec::new()))
        } else if self.facts.is_too_long(self.repo, entry)? {
            (None, None)
        } else {
            (Some(self.facts.old_bytes(self.repo, entry)?), Some(self.facts.new_bytes(self.repo, entry)?))
        };
        let old = entry.old.as_ref().map(|side| version(old_path, side, old_bytes.as_deref()));
        let new = entry.new.as_ref().map(|side| version(&entry.path, side, new_bytes.as_deref()));
        Ok(act(old.as_ref(), new.as_ref()))
    }
}

/// Whether both sides hold the same bytes as the same kind of thing, so that nothing of them is shown.
fn is_same_content(entry: &DiffEntry) -> bool {
    let is_link = |side: &DiffSide| side.mode == gemel_object::Mode::Link;
    match (&entry.old, &entry.new) {
        (Some(old), Some(new)) => old.blob == new.blob && is_link(old) == is_link(new),
        _ => false,
    }
}

fn version<'v>(path: &'v str, side: &DiffSide, bytes: Option<&'v [u8]>) -> Version<'v> {
    Version { path, mode: side.mode, bytes }
}

fn mark(kind: &DiffKind) -> (Style, &'static str) {
    match kind {
        DiffKind::Added => (Style::Added, "+"),
        DiffKind::Modified | DiffKind::TypeChanged => (Style::Changed, "~"),
        DiffKind::Deleted => (Style::Removed, "-"),
        DiffKind::Renamed { .. } => (Style::Changed, ">"),
    }
}

/// Prints a patch, its lines in their colours. Lines of a hunk begin with their mark, so none of them can be taken
/// for a header.
fn print_patch(patch: &[u8], out: &mut Printer<'_>) {
    let mut in_hunk = false;
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        let style = match line {
            [b'@', b'@', ..] => {
                in_hunk = true;
                Style::Changed
            }
            [b'+', ..] if in_hunk => Style::Added,
            [b'-', ..] if in_hunk => Style::Removed,
            [b' ' | b'\\', ..] if in_hunk => Style::Plain,
            _ => {
                in_hunk = false;
                Style::Bold
            }
        };
        let (text, end) = line.split_at(line.len() - usize::from(line.last() == Some(&b'\n')));
        out.content(style, text).content(Style::Plain, end);
    }
}
