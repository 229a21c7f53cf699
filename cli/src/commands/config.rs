//! `gemel config show` and `set`.

use crate::answer::{Answer, View};
use crate::app::Context;
use crate::error::CliError;
use crate::json::Obj;
use crate::render::Printer;
use crate::time;
use gemel_repo::history::{self, ConfigFacts, ConfigOptions, RequiredRow};
use serde_json::{Map, Value};

/// What the policy in force is called.
const NAME: &str = "refs/config";

/// Show or change the repository's policy
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Show(ShowArgs),
    Set(SetArgs),
}

/// Show the policy in force
#[derive(Debug, clap::Args)]
struct ShowArgs {}

/// Publish a new version of the policy; what is not named stays as it is
#[derive(Debug, clap::Args)]
struct SetArgs {
    /// never_auto_execute, policy_gated or allowlist
    #[arg(long, value_name = "POLICY")]
    execution_policy: Option<String>,
    /// Verification that is required; those named take the place of those before
    #[arg(long, value_name = "KIND=PLATFORM/ARCH")]
    require: Vec<String>,
    /// Require no verification any more
    #[arg(long, conflicts_with = "require")]
    require_nothing: bool,
    /// Disclosure of what names none: FULL, DIGEST_ONLY, REDACTED, EXTERNAL_ATTESTATION or EPHEMERAL
    #[arg(long, value_name = "LEVEL")]
    disclosure_default: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Who decides
    #[arg(long, value_name = "ID")]
    producer: Option<String>,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &Args) -> Result<Answer<'c>, CliError> {
    let repo = context.repo()?;
    let timestamps = context.globals.timestamps;
    match &args.action {
        Action::Show(_) => Ok(Answer::of(Shown { facts: history::config_show(repo)?, timestamps })),
        Action::Set(args) => {
            let options = ConfigOptions {
                execution_policy: args.execution_policy.clone(),
                require: args.require.clone(),
                require_nothing: args.require_nothing,
                disclosure_default: args.disclosure_default.clone(),
                reason: args.reason.clone(),
                producer: args.producer.clone(),
                now_ms: context.now_ms,
            };
            let set = history::config_set(repo, &options)?;
            let dropped: Vec<String> = set.dropped.iter().map(words).collect();
            let notice = (!dropped.is_empty()).then(|| format!("no longer required: {}", dropped.join(", ")));
            Ok(Answer { notice, ..Answer::done(Shown { facts: set.now, timestamps }) })
        }
    }
}

fn words(row: &RequiredRow) -> String {
    format!("{}={}/{}", row.kind, row.platform, row.arch)
}

struct Shown {
    facts: ConfigFacts,
    timestamps: bool,
}

impl View for Shown {
    fn json(&self) -> Map<String, Value> {
        let facts = &self.facts;
        let required = |row: &RequiredRow| {
            Obj::new().put("kind", &row.kind).put("platform", &row.platform).put("arch", &row.arch)
        };
        Obj::new()
            .put("id", &facts.id)
            .put("name", NAME)
            .opt("previous", facts.previous.as_ref())
            .put("versions", &facts.versions)
            .put("execution_policy", facts.execution_policy.as_str())
            .put("disclosure_default", facts.disclosure_default.as_str())
            .rows("required_verification", &facts.required, required)
            .opt("reason", facts.reason.as_ref())
            .opt("producer", facts.producer.as_ref())
            .opt("created_at", facts.created_at_ms.as_ref().filter(|_| self.timestamps))
            .map()
    }

    fn human(&self, out: &mut Printer<'_>) {
        let facts = &self.facts;
        out.lit("config ").named(&facts.id, None).end();
        out.field("execution policy", facts.execution_policy.as_str());
        out.field("disclosure by default", facts.disclosure_default.as_str());
        for row in &facts.required {
            out.field("required", &words(row));
        }
        if let Some(reason) = &facts.reason {
            out.field("reason", reason);
        }
        if let Some(producer) = &facts.producer {
            out.field("decided by", producer);
        }
        if let Some(ms) = facts.created_at_ms.filter(|_| self.timestamps) {
            out.field("since", &time::utc(ms));
        }
    }
}
