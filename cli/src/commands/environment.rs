//! `gemel environment create`.

use super::made::{Recorded, check_producer, unrecorded_producer};
use crate::answer::Answer;
use crate::app::Context;
use crate::detect;
use crate::error::CliError;
use gemel_object::Family;
use gemel_repo::history::{self, EnvironmentOptions};

/// Record environments: where something was run
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Create(Box<CreateArgs>),
}

/// Record an environment; the same machine described again keeps its name
#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// Operating system family: linux, macos, windows, freebsd ..
    #[arg(long, value_name = "NAME")]
    os_family: Option<String>,
    /// Operating system or distribution [default: the family]
    #[arg(long, value_name = "NAME")]
    os_name: Option<String>,
    /// Its version
    #[arg(long, value_name = "VERSION")]
    os_version: Option<String>,
    /// Version of the kernel
    #[arg(long, value_name = "VERSION")]
    kernel: Option<String>,
    /// Processor architecture: x86_64, aarch64 ..
    #[arg(long, value_name = "NAME")]
    arch: Option<String>,
    /// The compiler
    #[arg(long, value_name = "NAME=VERSION")]
    compiler: Option<String>,
    /// Another tool
    #[arg(long, value_name = "NAME=VERSION")]
    tool: Vec<String>,
    /// Fill in what is not named from this machine; rustc and cc are asked for their versions
    #[arg(long)]
    detect: bool,
    /// Who records it
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let Action::Create(args) = &args.action;
    let repo = context.repo()?;
    check_producer(repo, args.producer.as_ref())?;
    let mut options = EnvironmentOptions {
        os_family: args.os_family.clone(),
        os_name: args.os_name.clone(),
        os_version: args.os_version.clone(),
        kernel: args.kernel.clone(),
        arch: args.arch.clone(),
        compiler: args.compiler.clone(),
        tools: args.tool.clone(),
    };
    if args.detect {
        options = detect::filled(options, context.environment, repo.root());
    }
    let made = history::environment_create(repo, &options, context.now_ms)?;
    let answer = Answer::done(Recorded { made, key: Some("environment"), noun: "environment" });
    Ok(Answer { notice: unrecorded_producer(args.producer.as_ref(), Family::Environment), ..answer })
}
