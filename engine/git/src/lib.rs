//! Git in, Git out: import of whole histories, export that gives every object name back, clone (docs/GIT_INTEROP.md).

pub mod clone;
mod error;
pub mod export;
pub mod import;
mod object;
mod pack;

pub use error::{GitError, Result};
