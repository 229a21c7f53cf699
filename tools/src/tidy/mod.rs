//! The rules of the house that no compiler checks, each a function from the text of the project to findings.

mod docs;
mod files;
mod ids;
mod layers;
mod model;
mod words;

use files::Files;
use std::fmt;
use std::io;
use std::path::Path;

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// File, relative to the root of the project.
    pub path: String,
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

impl Finding {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Finding {
        Finding { path: path.to_string(), line, text: text.into() }
    }
}

/// Checks the project at `root`; sorted findings, none if all is in order.
///
/// # Errors
/// Any error of the disk.
pub fn check(root: &Path) -> io::Result<Vec<Finding>> {
    let files = Files::read(root)?;
    let mut findings = layers::check(&files);
    findings.extend(words::check(&files, root));
    findings.extend(ids::check(&files));
    findings.extend(docs::check(&files, root));
    findings.extend(model::check(&files));
    findings.sort();
    Ok(findings)
}
