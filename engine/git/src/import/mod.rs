//! Git to Gemel (docs/GIT_INTEROP.md).

mod commit;
mod source;
