//! `gemel context-manifest create`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::error::CliError;
use crate::ids::hex;
use crate::input;
use crate::json::Obj;
use crate::render::Printer;
use gemel_object::Limits;
use gemel_repo::history::{self, ManifestFacts, ManifestOptions};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Record what agents see
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Create(Box<CreateArgs>),
}

/// Record a context manifest: everything an agent had in view
#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// Who saw it [default: the default producer]
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
    /// Source it saw
    #[arg(long, value_name = "ID")]
    source: Vec<String>,
    /// Documentation it saw
    #[arg(long, value_name = "ID")]
    doc: Vec<String>,
    /// Claim it saw
    #[arg(long, value_name = "ID")]
    claim: Vec<String>,
    /// Residual it saw
    #[arg(long, value_name = "ID")]
    residual: Vec<String>,
    /// Earlier trajectory it saw
    #[arg(long, value_name = "ID")]
    previous_trajectory: Vec<String>,
    /// Artifact from elsewhere it saw
    #[arg(long, value_name = "ID")]
    external: Vec<String>,
    /// Output of a tool it saw
    #[arg(long, value_name = "ID")]
    tool_output: Vec<String>,
    /// Config it saw
    #[arg(long, value_name = "ID")]
    policy: Vec<String>,
    /// Its instructions
    #[arg(long, value_name = "TEXT")]
    instruction: Option<String>,
    /// File that holds its instructions, - for standard input; stands before --instruction
    #[arg(long, value_name = "FILE")]
    instruction_file: Option<PathBuf>,
    /// BLAKE3 digest of its instructions, when the text is withheld
    #[arg(long, value_name = "HEX")]
    instruction_digest: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let Action::Create(args) = &args.action;
    let repo = context.repo()?;
    let instruction = match &args.instruction_file {
        Some(path) => Some(text_of(context, path)?),
        None => args.instruction.clone(),
    };
    let options = ManifestOptions {
        producer: args.producer.clone(),
        sources: args.source.clone(),
        documentation: args.doc.clone(),
        claims: args.claim.clone(),
        residuals: args.residual.clone(),
        previous_trajectories: args.previous_trajectory.clone(),
        external: args.external.clone(),
        tool_outputs: args.tool_output.clone(),
        policies: args.policy.clone(),
        instruction,
        instruction_digest: args.instruction_digest.clone(),
        now_ms: context.now_ms,
    };
    Ok(Answer::done(Recorded(history::manifest_create(repo, &options)?)))
}

/// The text of a file, no longer than a text may be.
fn text_of(context: &Context<'_>, path: &Path) -> Result<String, CliError> {
    let bytes = input::read(context, path, Limits::DEFAULT.max_string_bytes)?;
    String::from_utf8(bytes).map_err(|_| CliError::invalid(format!("{} is not UTF-8 text", path.display())))
}

struct Recorded(ManifestFacts);

impl View for Recorded {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.0;
        Obj::new()
            .put("id", &facts.id)
            .put("context_manifest", &facts.id)
            .put("name", &facts.name)
            .opt("instruction_digest", facts.instruction_digest.as_ref().map(|digest| hex(digest)).as_ref())
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.0;
        out.lit("context manifest ").named(&facts.id, Some(&facts.name)).end();
        if let Some(digest) = &facts.instruction_digest {
            out.field("instruction digest", &hex(digest));
        }
    }
}
