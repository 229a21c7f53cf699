//! `environment create`: where something was run.

use super::desk::{Desk, Made, cannot_make, pair, said};
use crate::history::objects::non_empty;
use crate::names::Kind;
use crate::{Repo, RepoError, Result};
use gemel_object::families::{NewEnvironment, NewNamedVersion, NewOs, NewToolchain};
use gemel_object::{Encoded, Family, Limits};

/// A description of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentOptions {
    /// Operating system family: `linux`, `macos`, `windows`, `freebsd`.
    pub os_family: Option<String>,
    /// Its name; the family when absent.
    pub os_name: Option<String>,
    /// Its version.
    pub os_version: Option<String>,
    /// Version of the kernel.
    pub kernel: Option<String>,
    /// Processor architecture: `x86_64`, `aarch64`.
    pub arch: Option<String>,
    /// The compiler, `NAME=VERSION`.
    pub compiler: Option<String>,
    /// Other tools, `NAME=VERSION`.
    pub tools: Vec<String>,
}

impl EnvironmentOptions {
    /// The object. It holds no time, so that the same machine is the same object whenever it is described.
    ///
    /// # Errors
    /// `Invalid`, `Object`.
    pub fn encode(&self, limits: &Limits) -> Result<Encoded> {
        if *self == EnvironmentOptions::default() {
            return Err(RepoError::invalid(
                "nothing is said about the environment; name at least its --arch",
            ));
        }
        for (flag, text) in [
            ("--os-family", &self.os_family),
            ("--os-name", &self.os_name),
            ("--os-version", &self.os_version),
            ("--kernel", &self.kernel),
            ("--arch", &self.arch),
        ] {
            text.as_deref().map(|text| said(flag, text)).transpose()?;
        }
        let os = self.os_family.as_deref().map(|family| NewOs {
            family: Some(family),
            name: Some(self.os_name.as_deref().unwrap_or(family)),
            version: self.os_version.as_deref(),
            kernel: self.kernel.as_deref(),
            ..NewOs::default()
        });
        if os.is_none() && (self.os_name.is_some() || self.os_version.is_some() || self.kernel.is_some()) {
            return Err(RepoError::invalid("--os-name, --os-version and --kernel need --os-family"));
        }
        let compiler = self.compiler.as_deref().map(|text| pair("--compiler", text)).transpose()?;
        let mut tools =
            self.tools.iter().map(|text| pair("--tool", text)).collect::<Result<Vec<(&str, &str)>>>()?;
        tools.sort_unstable();
        tools.dedup();
        let tools: Vec<NewToolchain<'_>> = tools
            .into_iter()
            .map(|(name, version)| NewToolchain {
                name: Some(name),
                version: Some(version),
                ..NewToolchain::default()
            })
            .collect();
        NewEnvironment {
            os,
            arch: self.arch.as_deref(),
            compiler: compiler.map(|(name, version)| NewNamedVersion {
                name: Some(name),
                version: Some(version),
                ..NewNamedVersion::default()
            }),
            toolchain: non_empty(&tools),
            ..NewEnvironment::default()
        }
        .encode(limits)
        .map_err(cannot_make(Family::Environment))
    }
}

/// Records an environment and names it `Env<n>`; one that is recorded already keeps its name.
///
/// # Errors
/// `Invalid`, `Object`, `Store`.
pub fn environment_create(repo: &Repo, options: &EnvironmentOptions, now_ms: i64) -> Result<Made> {
    let desk = Desk::open(repo, now_ms)?;
    let environment = options.encode(&desk.limits)?;
    desk.keep("environment create", Kind::Environment, &environment, |_| Ok(()))
}
