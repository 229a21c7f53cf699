//! The rules of the project that no compiler checks, as a test: `cargo tidy` prints the same findings.

use std::path::Path;

#[test]
fn the_house_is_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let findings = gemel_tools::tidy::check(&root).unwrap();
    let text: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{} findings:\n{}", text.len(), text.join("\n"));
}
