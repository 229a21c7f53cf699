//! `gemel evidence show`, and `gemel evidence ID`.

use super::look;
use crate::answer::{Answer, View};
use crate::app::Context;
use crate::error::CliError;
use crate::fields;
use crate::json::Json;
use crate::render::Printer;
use gemel_object::{Limits, Object};
use gemel_repo::knowledge::{self, EvidenceFacts};
use serde_json::{Map, Value};

/// Show one piece of evidence and whether it is still fresh
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The evidence
    #[arg(value_name = "ID")]
    id: String,
    /// Freshness at this state, or at that of a change, trajectory or release [default: the head state]
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// The object as it is stored
    #[arg(long)]
    canonical: bool,
}

pub(crate) fn run<'c>(context: &'c Context<'_>, args: &ShowArgs) -> Result<Answer<'c>, CliError> {
    let facts =
        context.knowing(|session| knowledge::evidence_show(session, &args.id, args.state.as_deref()))?;
    let doubts = facts.uncertainty.clone();
    Ok(Answer::of(Shown { facts, canonical: args.canonical }).long().doubting(&doubts))
}

struct Shown {
    facts: EvidenceFacts,
    canonical: bool,
}

impl View for Shown {
    fn json(&self) -> Map<String, Value> {
        if !self.canonical {
            return look::row_json(&self.facts.row).map();
        }
        // It was read as evidence before, so that it decodes.
        let object = Object::parse(&self.facts.envelope, &Limits::default());
        let mut form = object.map(|object| fields::canonical(&object, &self.facts.veil)).unwrap_or_default();
        form.insert("id".to_owned(), self.facts.row.id.json());
        form.extend(self.facts.row.name.as_ref().map(|name| ("name".to_owned(), name.json())));
        form
    }

    fn human(&self, out: &mut Printer<'_>) {
        let row = &self.facts.row;
        if self.canonical {
            out.lit("evidence ").named(&row.id, row.name.as_deref()).end();
            if let Ok(object) = Object::parse(&self.facts.envelope, &Limits::default()) {
                fields::human(&object, &self.facts.veil, out);
            }
            return;
        }
        look::whole(row, out);
    }
}
