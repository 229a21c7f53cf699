//! The tables in docs/OBJECT_MODEL.md are those the code uses.

use super::Finding;
use super::files::Files;
use crate::schema;

const DOCUMENT: &str = "docs/OBJECT_MODEL.md";

pub(super) fn check(files: &Files) -> Vec<Finding> {
    let text = files.get(DOCUMENT);
    let mut findings = Vec::new();
    for (part, table) in [("families", schema::families()), ("enums", schema::enums())] {
        if !text.contains(&format!("<!-- {part} -->\n\n{table}\n\n<!-- end of {part} -->")) {
            let text = format!("the part `{part}` is not what `gemel-tools schema {part}` prints");
            findings.push(Finding::new(DOCUMENT, 0, text));
        }
    }
    findings
}
