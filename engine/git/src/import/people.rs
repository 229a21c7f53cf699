//! Producers of imported changes (git interchange, section 1.3).

use super::commit::Person;
use crate::Result;
use gemel_object::families::{Change, NewHuman, NewIdentity, NewProducer, Producer};
use gemel_object::{Disclosure, Encoded, Gid, Limits, Object, ObjectError, ProducerKind};
use gemel_store::{RefValue, Refs, Store};
use std::collections::HashMap;

/// Remembers the producer of each person across runs: their field 06 is the time of the first commit, which a later
/// run no longer sees. Without these records the changes mapped before tell.
const RECORDS: &str = "local/git/producers/";
/// Set once the records are complete.
const COMPLETE: &str = "local/git/people";

/// The producers of a run.
pub(crate) struct People {
    known: HashMap<Person, Gid>,
    made: Vec<(Person, Gid)>,
    unknown: Gid,
    pub(crate) git_import: Gid,
    /// To be written.
    pub(crate) objects: Vec<Encoded>,
}

impl People {
    /// The producers that earlier runs gave, and the two fixed ones.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn load(store: &Store, refs: &Refs, limits: &Limits) -> Result<People, crate::GitError> {
        let fixed = |kind, name| {
            NewProducer {
                kind: Some(kind),
                name: Some(name),
                disclosure: Some(Disclosure::DigestOnly),
                created_at: Some(0),
                ..NewProducer::default()
            }
            .encode(limits)
            .map_err(|source| gemel_repo::RepoError::Object {
                family: gemel_object::Family::Producer,
                source,
            })
        };
        let git_import = fixed(ProducerKind::GitImport, "git-import")?;
        let unknown = fixed(ProducerKind::Unknown, "unknown")?;
        let mut people = People {
            known: HashMap::new(),
            made: Vec::new(),
            unknown: unknown.id,
            git_import: git_import.id,
            objects: vec![git_import, unknown],
        };
        if refs.record(COMPLETE)?.is_some() {
            for (_, value) in refs.scan(RECORDS)? {
                let Ok(RefValue::Record(bytes)) = value else { continue };
                let id = bytes.as_slice().try_into().ok().and_then(Gid::from_bytes);
                if let Some(id) = id {
                    people.seed(store, &id)?;
                }
            }
        } else {
            people.seed_from_changes(store, refs)?;
        }
        Ok(people)
    }

    /// Takes the producers of all changes mapped before: of each person the one first used.
    fn seed_from_changes(&mut self, store: &Store, refs: &Refs) -> Result<()> {
        let mut oldest: HashMap<Person, (i64, Gid)> = HashMap::new();
        for (_, value) in refs.scan(super::changes::COMMITS)? {
            let Ok(RefValue::Id(mapping)) = value else { continue };
            let Some(change) = super::changes::mapped(store, &mapping)? else { continue };
            let bytes = store.read(&change)?;
            let Ok(change) = Change::decode(&bytes, &Limits::DEFAULT) else { continue };
            let producer = change.producer();
            if let Some((person, made)) = person_of(store, &producer)? {
                let entry = oldest.entry(person).or_insert((made, producer));
                *entry = (*entry).min((made, producer));
            }
        }
        for (person, (_, producer)) in oldest {
            self.made.push((person.clone(), producer));
            self.known.insert(person, producer);
        }
        Ok(())
    }

    fn seed(&mut self, store: &Store, producer: &Gid) -> Result<()> {
        if let Some((person, _)) = person_of(store, producer)? {
            self.known.insert(person, *producer);
        }
        Ok(())
    }

    /// The producer of a commit by `person` at `time_ms`.
    ///
    /// # Errors
    /// `Object` when a limit does not allow one.
    pub(crate) fn producer(
        &mut self,
        person: &Person,
        time_ms: i64,
        limits: &Limits,
    ) -> Result<Gid, ObjectError> {
        if person.is_unknown() {
            return Ok(self.unknown);
        }
        if let Some(id) = self.known.get(person) {
            return Ok(*id);
        }
        let human =
            NewHuman { name: Some(&person.name), email: person.email.as_deref(), ..NewHuman::default() };
        let encoded = NewProducer {
            kind: Some(ProducerKind::Human),
            name: Some(&person.name),
            identity: Some(NewIdentity { human: Some(human), ..NewIdentity::default() }),
            disclosure: Some(Disclosure::Full),
            created_at: Some(time_ms),
            ..NewProducer::default()
        }
        .encode(limits)?;
        let id = encoded.id;
        self.objects.push(encoded);
        self.known.insert(person.clone(), id);
        self.made.push((person.clone(), id));
        Ok(id)
    }

    /// The records that let the next run go on.
    pub(crate) fn records(&self) -> Vec<(String, Vec<u8>)> {
        let name = |person: &Person| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(person.name.as_bytes()).update(&[0]);
            hasher.update(person.email.as_deref().unwrap_or("").as_bytes());
            format!("{RECORDS}{}", &hasher.finalize().to_hex()[..32])
        };
        let made = self.made.iter().map(|(person, id)| (name(person), id.as_bytes().to_vec()));
        made.chain([(COMPLETE.to_owned(), b"1".to_vec())]).collect()
    }
}

/// The person a producer of an import stands for, and its field 06.
fn person_of(store: &Store, producer: &Gid) -> Result<Option<(Person, i64)>> {
    let bytes = store.read(producer)?;
    let Ok(object) = Object::parse(&bytes, &Limits::DEFAULT) else { return Ok(None) };
    let Ok(producer) = Producer::view(&object) else { return Ok(None) };
    let human = producer.identity().and_then(|identity| identity.human());
    Ok(human.map(|human| {
        let person = Person { name: human.name().to_owned(), email: human.email().map(str::to_owned) };
        (person, producer.created_at().unwrap_or(0))
    }))
}
