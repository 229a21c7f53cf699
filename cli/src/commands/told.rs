//! Looks that several verbs share. No verb of its own.

use crate::color::Style;
use crate::render::Printer;
use gemel_object::Gid;

/// The name of a thing, else the digits of its identity.
pub(super) fn label(id: &Gid, name: Option<&String>, out: &Printer<'_>) -> (Style, String) {
    match name {
        Some(name) => (Style::Name, name.clone()),
        None => (Style::Id, out.short(id)),
    }
}

/// How the status of a claim looks.
pub(super) fn claim_style(status: &str) -> Style {
    match status {
        "SUPPORTED" => Style::Good,
        "CONTRADICTED" => Style::Bad,
        "SUPERSEDED" => Style::Dim,
        _ => Style::Caution,
    }
}

/// How a residual looks, by its disposition and severity.
pub(super) fn residual_style(disposition: &str, severity: &str) -> Style {
    match (disposition, severity) {
        ("open" | "acknowledged", "blocking" | "high") => Style::Bad,
        ("open" | "acknowledged", _) => Style::Caution,
        _ => Style::Dim,
    }
}

/// How an outcome of evidence looks.
pub(super) fn outcome_style(outcome: Option<&str>) -> Style {
    match outcome {
        Some("pass") => Style::Good,
        Some("fail" | "mismatch") => Style::Bad,
        _ => Style::Caution,
    }
}

/// How the outcome of a trajectory looks.
pub(super) fn attempt_style(outcome: &str) -> Style {
    match outcome {
        "completed" => Style::Good,
        "rejected" | "abandoned" => Style::Bad,
        _ => Style::Caution,
    }
}
