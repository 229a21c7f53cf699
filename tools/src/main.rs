//! `gemel-tools`: corpus, tidy, demo and the other tools of people who work on Gemel.

use clap::{Parser, Subcommand};
use gemel_tools::program::ROOT;
use gemel_tools::{conformance, corpus, demo, golden, inspect, schema, tidy};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(version, about = "Tools for people who work on Gemel")]
struct Cli {
    #[command(subcommand)]
    tool: Tool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Run a folder of pinned objects: positive.tsv, negative.tsv, golden/
    Conformance(conformance::Args),
    /// Make the golden objects anew and compare them with the pinned bytes
    Golden(golden::Args),
    /// Write a believable monorepo, or edit one that was written
    Corpus {
        /// Number of files to write
        #[arg(long, default_value_t = 1000)]
        files: usize,
        /// Edit this number of files of an existing corpus instead
        #[arg(long, conflicts_with = "files")]
        edits: Option<usize>,
        /// Decides every byte
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Folder of the corpus
        dir: PathBuf,
    },
    /// Make a repository with a believable recorded history: changes, claims, evidence, residuals, attempts
    CorpusHistory {
        /// Number of changes to record
        #[arg(long, default_value_t = 1000)]
        changes: usize,
        /// Decides every byte
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Folder of the repository
        dir: PathBuf,
    },
    /// Bring in this checkout's own history, give it back, and take a change through, printing every command and its answer
    Demo {
        /// The gemel program to show, instead of the one of this checkout
        #[arg(long)]
        gemel: Option<PathBuf>,
        /// Keep the scratch folder
        #[arg(long)]
        keep: bool,
    },
    /// Describe a pack or the index of one
    Inspect {
        /// Show every frame
        #[arg(long)]
        frames: bool,
        /// The file
        file: PathBuf,
    },
    /// Print the schema tables of docs/OBJECT_MODEL.md from the tables the code uses
    Schema {
        /// Which of them
        #[arg(value_parser = ["families", "enums"])]
        part: String,
    },
    /// Check the rules of the project that no compiler checks
    Tidy {
        /// Root of the project
        #[arg(default_value = ROOT)]
        root: PathBuf,
    },
}

type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run(Cli::parse().tool, &mut io::stdout().lock()) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(tool: Tool, out: &mut dyn Write) -> Outcome {
    match tool {
        Tool::Conformance(args) if !conformance::run(&args)? => return Ok(ExitCode::FAILURE),
        Tool::Golden(args) if !golden::run(&args)? => return Ok(ExitCode::FAILURE),
        Tool::Conformance(_) | Tool::Golden(_) => {}
        Tool::Corpus { edits: Some(count), seed, dir, .. } => {
            let done = corpus::edit(&dir, count, seed)?;
            writeln!(
                out,
                "{} changed, {} appended to, {} created, {} removed",
                done.changed, done.appended, done.created, done.removed
            )?;
        }
        Tool::Corpus { files, seed, dir, .. } => {
            let report = corpus::generate(&dir, files, seed)?;
            writeln!(out, "{} files in {} folders, {} bytes", report.files, report.folders, report.bytes)?;
        }
        Tool::CorpusHistory { changes, seed, dir } => {
            let report = corpus::record(&dir, changes, seed)?;
            writeln!(
                out,
                "{} changes in {} trajectories, {} claims, evidence and residuals",
                report.changes, report.trajectories, report.knowledge
            )?;
        }
        Tool::Demo { gemel, keep } => {
            let root = Path::new(ROOT).canonicalize()?;
            demo::run(&root, &demo::Options { program: gemel, keep }, out)?;
        }
        Tool::Inspect { frames, file } => inspect::inspect(&file, frames, out)?,
        Tool::Schema { part } => {
            writeln!(out, "{}", if part == "enums" { schema::enums() } else { schema::families() })?;
        }
        Tool::Tidy { root } => {
            let findings = tidy::check(&root)?;
            for finding in &findings {
                writeln!(out, "{finding}")?;
            }
            if !findings.is_empty() {
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
