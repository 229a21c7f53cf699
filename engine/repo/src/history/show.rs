//! `show`: one object as it is stored.

use crate::history::disclosure::Openness;
use crate::history::graph::stored;
use crate::history::nodes;
use crate::names::{self, Accept, Namer, resolve_in};
use crate::{Repo, Result};
use gemel_object::families::{Change, Producer};
use gemel_object::{Family, Gid, Limits, ProducerKind};
use gemel_store::Store;

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShowFacts {
    /// Its identity.
    pub id: Gid,
    /// Its name, if a ref gives it one.
    pub name: Option<String>,
    /// The whole canonical envelope, re-hashed.
    pub envelope: Vec<u8>,
    /// Of a change: the Git commits it came from or went to, ascending.
    pub git: Vec<String>,
    /// Of a change by a person: who, with mail address.
    pub author: Option<String>,
}

/// Reads the object that `text` names.
///
/// # Errors
/// `Unresolved`, `Ambiguous`, `Store`.
pub fn show(repo: &Repo, text: &str) -> Result<ShowFacts> {
    let refs = repo.store().refs()?;
    let id = resolve_in(repo, &refs, text, Accept::ANY)?;
    let envelope = repo.store().read(&id)?;
    let name = match names::typed(&refs, id, Some(text))? {
        Some(typed) => Some(typed),
        None => Namer::find(repo.store(), &refs, [id])?.get(&id),
    };
    let (mut git, mut author) = (Vec::new(), None);
    if id.family() == Family::Change {
        git = names::git_names(repo, &id)?;
        author = Change::decode(&envelope, &Limits::DEFAULT).ok().map(|change| change.producer());
    }
    let author = author.map(|producer| person(repo.store(), &producer)).transpose()?.flatten();
    Ok(ShowFacts { id, name, envelope, git, author })
}

/// Name and mail address of a producer that is a person; one that is not stored is nobody.
fn person(store: &Store, id: &Gid) -> Result<Option<String>> {
    let read = nodes::read(store, id, |object| {
        let producer = Producer::view(object)?;
        let human = producer.kind() == ProducerKind::Human;
        let shown = Openness::of(producer.disclosure()) != Openness::Outline;
        let email = producer
            .identity()
            .filter(|_| shown)
            .and_then(|identity| identity.human())
            .and_then(|human| human.email());
        Ok(human.then(|| match email {
            Some(email) => format!("{} <{email}>", producer.name()),
            None => producer.name().to_owned(),
        }))
    });
    Ok(stored(read)?.flatten())
}
