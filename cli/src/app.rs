//! From arguments to exit status: parse, run one command, show its answer.

use crate::answer::{Answer, Body};
use crate::args::{self, Globals, Usage};
use crate::color::Style;
use crate::commands;
use crate::envelope::{self, Request};
use crate::environment::Environment;
use crate::error::{CliError, EXIT_BROKEN_PIPE, EXIT_ERROR, Refusal};
use crate::guard::guarded;
use crate::progress::Bar;
use crate::render::{Printer, counted};
use crate::{pager, term};
use gemel_repo::facts::{Omitted, Progress, Silent};
use gemel_repo::{Code, Repo, RepoError, knowledge};
use gemel_store::legacy;
use gemel_store::vfs::Vfs;
use gemel_store::vfs::real::RealDisk;
use std::cell::{Cell, OnceCell};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// What a command may use.
pub(crate) struct Context<'e> {
    /// The process environment.
    pub(crate) environment: &'e Environment,
    /// The global flags.
    pub(crate) globals: &'e Globals,
    /// The one clock reading of this command, Unix milliseconds.
    pub(crate) now_ms: i64,
    /// A process opens one repository and keeps it until it ends.
    repo: OnceCell<&'static Repo>,
    knowledge: Cell<Option<knowledge::Session<'static>>>,
    /// What stands for standard input where that belongs to a session.
    pub(crate) input: Option<Vec<u8>>,
}

impl<'e> Context<'e> {
    /// The context of a command; the repository is opened when it is asked for.
    fn new(environment: &'e Environment, globals: &'e Globals, now_ms: i64) -> Context<'e> {
        let (repo, knowledge) = (OnceCell::new(), Cell::new(None));
        Context { environment, globals, now_ms, repo, knowledge, input: None }
    }

    /// The context of a command on a repository that is open, with what was read of it before and what it is to read
    /// instead of standard input.
    pub(crate) fn with(
        environment: &'e Environment,
        globals: &'e Globals,
        now_ms: i64,
        knowledge: knowledge::Session<'static>,
        input: Vec<u8>,
    ) -> Context<'e> {
        let repo = OnceCell::from(knowledge.repo());
        let knowledge = Cell::new(Some(knowledge));
        Context { environment, globals, now_ms, repo, knowledge, input: Some(input) }
    }

    /// What was read, for the next command.
    pub(crate) fn into_knowledge(self) -> Option<knowledge::Session<'static>> {
        self.knowledge.into_inner()
    }
}

impl Context<'_> {
    /// The disk.
    pub(crate) fn disk(&self) -> Arc<dyn Vfs> {
        Arc::new(RealDisk::new())
    }

    /// The repository that `--repo` names or that lies here or above, opened once.
    ///
    /// # Errors
    /// `NOT_FOUND` without a repository, and whatever keeps it from opening.
    pub(crate) fn repo(&self) -> Result<&'static Repo, CliError> {
        if let Some(repo) = self.repo.get() {
            return Ok(repo);
        }
        let repo = Box::new(self.open()??);
        Ok(self.repo.get_or_init(|| Box::leak(repo)))
    }

    /// Asks what is known. What is read for one question is there for the next, also for that of another command of
    /// the same session.
    ///
    /// # Errors
    /// As [`Context::repo`], and those of `ask`.
    pub(crate) fn knowing<T>(
        &self,
        ask: impl FnOnce(&mut knowledge::Session<'static>) -> Result<T, RepoError>,
    ) -> Result<T, CliError> {
        let repo = self.repo()?;
        let mut session = self.knowledge.take().unwrap_or_else(|| knowledge::Session::new(repo));
        let answer = ask(&mut session);
        self.knowledge.set(Some(session));
        Ok(answer?)
    }

    /// Opens that repository; the inner error is the library's own.
    ///
    /// # Errors
    /// As [`Context::current_dir`].
    pub(crate) fn open(&self) -> Result<Result<Repo, RepoError>, CliError> {
        Ok(match &self.globals.repo {
            Some(root) => Repo::open(self.disk(), &self.absolute(root)?),
            None => Repo::discover(self.disk(), self.current_dir()?),
        })
    }

    /// The directory the command was started in.
    ///
    /// # Errors
    /// `NOT_FOUND` when it is gone.
    pub(crate) fn current_dir(&self) -> Result<&Path, CliError> {
        let gone = || CliError::new(Code::NotFound, "the current directory does not exist any more");
        self.environment.current_dir.as_deref().ok_or_else(gone)
    }

    /// `path` as seen from the directory the command was started in, without `.` and `..`.
    ///
    /// # Errors
    /// As [`Context::current_dir`], for a relative path.
    pub(crate) fn absolute(&self, path: &Path) -> Result<PathBuf, CliError> {
        let path = if path.is_absolute() { path.to_owned() } else { self.current_dir()?.join(path) };
        Ok(normal(&path))
    }

    /// Where long work reports: a bar on a terminal, nowhere else.
    pub(crate) fn progress(&self) -> Box<dyn Progress> {
        if self.shows_progress() { Box::new(Bar::new()) } else { Box::new(Silent) }
    }

    /// The same for a migration.
    pub(crate) fn migration_progress(&self) -> Box<dyn legacy::Progress> {
        if self.shows_progress() { Box::new(Bar::new()) } else { Box::new(|_, _, _| ()) }
    }

    /// Whether a person watches.
    pub(crate) fn shows_progress(&self) -> bool {
        self.environment.stderr_is_terminal && !self.globals.quiet
    }
}

/// Runs the command line and returns its exit status.
pub(crate) fn main(environment: &Environment) -> ExitCode {
    let status = match args::parse(&environment.args) {
        Ok(parsed) => {
            let screen = Screen { environment, globals: &parsed.cli.globals };
            let outcome = environment.now_ms().and_then(|now_ms| {
                let globals = &parsed.cli.globals;
                let context = Context::new(environment, globals, now_ms);
                guarded(|| {
                    let answer = commands::run(&context, &parsed.cli.command)?;
                    let status = screen.show(&parsed.request, answer, context.repo.get().copied())?;
                    if let Some(knowledge) = context.into_knowledge() {
                        knowledge.keep();
                    }
                    Ok(status)
                })
            });
            outcome.unwrap_or_else(|error| screen.refuse(&parsed.request, &error))
        }
        Err(usage) => report_usage(environment, &usage),
    };
    ExitCode::from(status)
}

/// Standard output and standard error, and how they are to look.
struct Screen<'e> {
    environment: &'e Environment,
    globals: &'e Globals,
}

impl Screen<'_> {
    /// Shows an answer; its exit status.
    fn show(&self, request: &Request, answer: Answer<'_>, repo: Option<&Repo>) -> Result<u8, CliError> {
        let exit = answer.exit;
        match answer.body {
            Body::Raw(write) => raw(write)?,
            Body::View(ref view) if self.globals.json => {
                let envelope = envelope::answer(request, &answer, view.json());
                write_stdout(envelope::pretty(&envelope).as_bytes())?;
            }
            Body::View(_) if self.globals.quiet && answer.confirmation => {}
            Body::View(_) => self.human(&answer, repo)?,
        }
        Ok(exit)
    }

    fn human(&self, answer: &Answer<'_>, repo: Option<&Repo>) -> Result<(), CliError> {
        let pageable = self.environment.stdout_is_terminal && answer.paged && answer.exit == 0;
        if !pageable || self.globals.no_pager {
            let mut out = BufWriter::new(io::stdout().lock());
            self.render(answer, repo, &mut out)?;
            out.flush().map_err(|e| CliError::output(&e))?;
            return self.notes_to_stderr(answer);
        }
        let mut text = Vec::new();
        self.render(answer, repo, &mut text)?;
        if !fits(&text) {
            let short = text.len();
            self.notes(answer, &mut self.printer(&mut text, repo));
            pager::show(self.environment, &text).map_err(|e| CliError::output(&e))?;
            text.truncate(short);
        }
        write_stdout(&text)?;
        self.notes_to_stderr(answer)
    }

    fn printer<'w>(&self, out: &'w mut dyn Write, repo: Option<&'w Repo>) -> Printer<'w> {
        let terminal = self.environment.stdout_is_terminal;
        let color = self.globals.color.enabled(terminal, self.environment.no_color);
        Printer::new(out, repo, color, terminal)
    }

    fn render(&self, answer: &Answer<'_>, repo: Option<&Repo>, out: &mut dyn Write) -> Result<(), CliError> {
        let mut printer = self.printer(out, repo);
        if let Body::View(view) = &answer.body {
            view.human(&mut printer);
        }
        if let Some(cursor) = &answer.next_cursor {
            printer.paint(Style::Dim, &format!("next: --cursor {cursor}")).end();
        }
        printer.finish()
    }

    fn notes(&self, answer: &Answer<'_>, out: &mut Printer<'_>) {
        if !self.globals.quiet {
            notes(answer, out);
        }
    }

    fn notes_to_stderr(&self, answer: &Answer<'_>) -> Result<(), CliError> {
        let mut out = io::stderr().lock();
        let mut printer = self.stderr_printer(&mut out);
        self.notes(answer, &mut printer);
        printer.finish()
    }

    fn stderr_printer<'w>(&self, out: &'w mut dyn Write) -> Printer<'w> {
        let terminal = self.environment.stderr_is_terminal;
        let color = self.globals.color.enabled(terminal, self.environment.no_color);
        Printer::new(out, None, color && terminal, terminal)
    }

    /// Reports a refusal; its exit status.
    fn refuse(&self, request: &Request, error: &CliError) -> u8 {
        let CliError::Refused(refusal) = error else { return EXIT_BROKEN_PIPE };
        if self.globals.json && reader_left(request, refusal) {
            return EXIT_BROKEN_PIPE;
        }
        let mut out = io::stderr().lock();
        let mut printer = self.stderr_printer(&mut out);
        printer.paint(Style::Bad, "error").lit(": ").text(&refusal.message).end();
        if let Some(hint) = refusal.hint.as_ref().filter(|_| !self.globals.json) {
            printer.paint(Style::Caution, "hint").lit(": ").text(hint).end();
        }
        // Nothing is left to tell anybody if standard error is gone, too.
        drop(printer.finish());
        EXIT_ERROR
    }
}

/// What an answer has to say beside its facts.
pub(crate) fn notes(answer: &Answer<'_>, out: &mut Printer<'_>) {
    for omitted in &answer.omitted {
        let (words, list) = in_words(omitted);
        out.paint(Style::Caution, &words);
        if list && !omitted.ids.is_empty() {
            out.lit(": ").text(&omitted.ids.join(", "));
        }
        out.end();
    }
    for doubt in &answer.uncertainty {
        out.paint(Style::Caution, &format!("uncertain: {}", doubt.class)).lit(": ").text(&doubt.reason).end();
    }
    if let Some(notice) = &answer.notice {
        out.paint(Style::Caution, "notice").lit(": ").text(notice).end();
    }
}

/// An omission as a person reads it, and whether its list says more.
fn in_words(omitted: &Omitted) -> (String, bool) {
    let count = omitted.count;
    match (omitted.class, omitted.reason) {
        ("change", "scope") => {
            let verb = if count == 1 { "does" } else { "do" };
            (format!("{} {verb} not lead to head (--all)", counted(count, "change")), false)
        }
        ("root_gitignore", _) => {
            let why = "configuration, not content, until a recorded state holds it";
            (format!("left out: .gitignore ({why})"), false)
        }
        (class, reason) => (format!("omitted: {count} {class} ({reason})"), true),
    }
}

/// A path without `.` and `..`. What stands before a `..` is followed first when it is a link, as the system does.
fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if plain.is_symlink()
                    && let Ok(followed) = plain.canonicalize()
                {
                    plain = followed;
                }
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Reports a usage error, or prints the help that was asked for.
fn report_usage(environment: &Environment, usage: &Usage) -> u8 {
    if usage.is_answer() {
        return match usage.error.print() {
            Ok(()) => 0,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => EXIT_BROKEN_PIPE,
            Err(_) => EXIT_ERROR,
        };
    }
    let plain = usage.error.render().to_string();
    let safe = term::escaped(&plain, true);
    if usage.json {
        let message = usage.message();
        let refusal =
            Refusal { code: Code::InvalidArgument, message: message.clone(), ids: Vec::new(), hint: None };
        if reader_left(&usage.request, &refusal) {
            return EXIT_BROKEN_PIPE;
        }
        drop(writeln!(io::stderr(), "error: {}", term::escaped(&message, false)));
    } else if environment.stderr_is_terminal {
        // What was typed is part of the message, escapes and all, and rendering hides which are whose.
        drop(io::stderr().write_all(safe.as_bytes()));
    } else {
        drop(usage.error.print());
    }
    EXIT_ERROR
}

/// Writes an error envelope; whether its reader has gone. Any other failure leaves the report on standard error.
fn reader_left(request: &Request, refusal: &Refusal) -> bool {
    let envelope = envelope::refusal(request, refusal);
    matches!(write_stdout(envelope::pretty(&envelope).as_bytes()), Err(CliError::BrokenPipe))
}

fn write_stdout(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| CliError::output(&e))
}

fn raw(write: crate::answer::RawWriter<'_>) -> Result<(), CliError> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    write(&mut out)?;
    out.flush().map_err(|e| CliError::output(&e))
}

/// Whether text fits the terminal, long lines taken as wrapped.
fn fits(text: &[u8]) -> bool {
    let Some((rows, columns)) = term::size() else { return true };
    let lines = text.split(|byte| *byte == b'\n').map(|line| line.len().div_ceil(columns).max(1));
    lines.sum::<usize>() <= rows
}
