//! What may be told of an object, where that follows from the objects that name it.

use crate::Result;
use crate::history::disclosure::{self, Veil};
use crate::knowledge::session::Session;
use crate::knowledge::world::World;
use crate::repo::disclosure_default;
use gemel_object::Gid;

/// The veil over an object; every answer that tells fields of it looks through this one.
///
/// # Errors
/// `CorruptObject`, `Store`.
pub fn veil(session: &mut Session<'_>, id: &Gid) -> Result<Veil> {
    session.world()?.veil(id)
}

impl World<'_> {
    /// As [`veil`].
    ///
    /// # Errors
    /// `CorruptObject`, `Store`.
    pub(crate) fn veil(&mut self, id: &Gid) -> Result<Veil> {
        if let Some(own) = Veil::own(self.store(), id)? {
            return Ok(own);
        }
        let default = disclosure_default(self.store(), &self.refs)?;
        let named_by = self.ledger()?.naming(id);
        Ok(Veil::new(*id, disclosure::of_manifest(self.store(), named_by, default)?))
    }
}
