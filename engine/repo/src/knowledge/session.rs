//! Questions asked one after another: what was read for one is there for the next.

use crate::knowledge::world::World;
use crate::{Repo, Result};

/// A repository that is asked several questions. Each sees the refs of its own moment.
pub struct Session<'r> {
    repo: &'r Repo,
    world: Option<World<'r>>,
}

impl<'r> Session<'r> {
    /// A session that has read nothing yet.
    pub fn new(repo: &'r Repo) -> Session<'r> {
        Session { repo, world: None }
    }

    /// The repository.
    pub fn repo(&self) -> &'r Repo {
        self.repo
    }

    /// What is known now. What was read before is kept as long as no ref has changed.
    ///
    /// # Errors
    /// `Store`.
    pub(crate) fn world(&mut self) -> Result<&mut World<'r>> {
        let refs = self.repo.store().refs()?;
        let world = match self.world.take().filter(|world| world.refs.sequence() == refs.sequence()) {
            Some(world) => world,
            None => World::new(self.repo.store(), refs),
        };
        Ok(self.world.insert(world))
    }

    /// Keeps what was read for later commands. No failure: it can be read again.
    pub fn keep(self) {
        if let Some(world) = self.world {
            world.graph.keep();
        }
    }
}
