//! Starting the `gemel` program of this checkout, for the demo and the benches.

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The checkout that this code was built from.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A process of the given program, yet to be started.
#[allow(clippy::disallowed_methods, reason = "tools and benches show and measure programs as processes")]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// Builds `gemel` from the checkout at `root`, with the profile of the running program and beside it; its path.
///
/// # Errors
/// When cargo cannot be started or does not succeed.
pub fn build(root: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let this = env::current_exe()?;
    let folder = this.parent().ok_or("this program lies in no folder")?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = command(cargo);
    build.args(["build", "--package", "gemel", "--manifest-path"]).arg(root.join("Cargo.toml"));
    if folder.ends_with("release") {
        build.arg("--release");
    }
    if let Some(target) = folder.parent() {
        build.arg("--target-dir").arg(target);
    }
    let status = build.status()?;
    if !status.success() {
        return Err(format!("building gemel ended with {status}").into());
    }
    Ok(folder.join(format!("gemel{}", env::consts::EXE_SUFFIX)))
}
