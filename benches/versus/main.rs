//! Gemel against git on the same work in the same run: a line `name ours git ratio bar` for each.
//!
//! Inputs are built here (the monorepo of `gemel-tools corpus`, a big file, a tiny repository); source trees for the row
//! about stored bytes are given. git and gemel take turns, each on a copy of its own, and the medians count. `versus import
//! PATH` measures what becomes of the history of a Git repository instead, `versus queries` what questions to a long
//! recorded history cost.

mod big;
mod import;
mod library;
mod monorepo;
mod peers;
mod process;
mod queries;
mod stored;
mod syncs;
mod table;
mod tiny;

use clap::Parser;
use gemel_tools::program;
use peers::{Gemel, Git};
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use table::Table;

/// Result of a measurement.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

const GROUPS: [&str; 8] = ["monorepo", "stored", "reads", "lookup", "big-file", "syncs", "tiny", "all"];

#[derive(Debug, Parser)]
#[command(
    name = "versus",
    about = "Gemel against git on the same work",
    args_conflicts_with_subcommands = true
)]
struct Cli {
    #[command(subcommand)]
    history: Option<History>,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, clap::Subcommand)]
enum History {
    Import(import::Args),
    Queries(queries::Args),
}

#[derive(Debug, clap::Args)]
struct Options {
    /// Files of the monorepo
    #[arg(long, default_value_t = 100_000)]
    files: usize,
    /// Seed of the monorepo and of everything drawn at random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Rounds of each measurement; the median counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Source tree whose stored size is compared (repeatable)
    #[arg(long = "tree")]
    trees: Vec<PathBuf>,
    /// Size of the big file in MiB
    #[arg(long, default_value_t = 1000)]
    big_mib: u64,
    /// Keys of the lookup measurement
    #[arg(long, default_value_t = 1_000_000)]
    keys: usize,
    /// What to measure
    #[arg(long, value_delimiter = ',', default_value = "all", value_parser = GROUPS)]
    rows: Vec<String>,
    /// Folder for the inputs; needs about ten times the size of the monorepo
    #[arg(long)]
    scratch: Option<PathBuf>,
    /// The gemel program to measure, instead of the one of this checkout
    #[arg(long)]
    gemel: Option<PathBuf>,
}

impl Options {
    fn wants(&self, group: &str) -> bool {
        self.rows.iter().any(|row| row == group || row == "all")
    }
}

fn main() -> ExitCode {
    match run(&Cli::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli, out: &mut dyn Write) -> Result<()> {
    let (folder, program) = match &cli.history {
        Some(History::Import(args)) => (&args.scratch, &args.gemel),
        Some(History::Queries(args)) => (&args.scratch, &args.gemel),
        None => (&cli.options.scratch, &cli.options.gemel),
    };
    let mut scratch = tempfile::Builder::new();
    scratch.prefix("versus-");
    let scratch = match folder {
        Some(folder) => scratch.tempdir_in(folder)?,
        None => scratch.tempdir()?,
    };
    let root = scratch.path();
    let gemel = Gemel::new(match program {
        Some(path) => path.canonicalize()?,
        None => program::build(Path::new(program::ROOT))?,
    });
    let git = Git::new(root)?;
    let mut table = Table::begin(out)?;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    table.note(&format!("{}; {cores} cores", git.version()?))?;
    match &cli.history {
        Some(History::Import(args)) => import::measure(&git, &gemel, root, args, &mut table)?,
        Some(History::Queries(args)) => queries::measure(&git, &gemel, root, args, &mut table)?,
        None => worktrees(&git, &gemel, root, &cli.options, &mut table)?,
    }
    table.end()
}

/// The rows about worktrees and single stores.
fn worktrees(git: &Git, gemel: &Gemel, root: &Path, options: &Options, table: &mut Table<'_>) -> Result<()> {
    if options.wants("tiny") {
        tiny::measure(git, gemel, root, table)?;
    }
    if options.wants("lookup") {
        library::lookup(options.keys, options.seed, table)?;
    }
    if options.wants("syncs") {
        syncs::measure(root, 100, options.seed, table)?;
        syncs::measure(root, 3000, options.seed, table)?;
    }
    if options.wants("monorepo") || options.wants("reads") {
        monorepo::measure(git, gemel, root, options, table)?;
    }
    if options.wants("stored") {
        stored::measure(git, gemel, root, &options.trees, table)?;
    }
    if options.wants("big-file") {
        big::measure(git, gemel, root, options.big_mib, table)?;
    }
    Ok(())
}
