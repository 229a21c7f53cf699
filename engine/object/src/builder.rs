//! Writing objects. A builder takes values in any order, emits canonical bytes and reads them back with the checks
//! of a reader, so that nothing a reader would reject can be written.

use crate::blob::write_header;
use crate::families::{Producer, Verification};
use crate::record_builder::RecordBuilder;
use crate::{
    EnvelopeHeader, Family, FamilySchema, Gid, Limits, Object, ObjectError, ProducerKind, RecordSchema, Value,
};

/// A finished object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The identity of `bytes`.
    pub id: Gid,
    /// The envelope.
    pub bytes: Vec<u8>,
}

/// Writes one object of any family by tag. The families' own write forms are shorter where the family is known.
#[derive(Clone, Debug)]
pub struct ObjectBuilder {
    family: Family,
    fields: RecordBuilder,
    raw: Option<Vec<u8>>,
}

const NO_FIELDS: &RecordSchema = &RecordSchema::new(&[]);

impl ObjectBuilder {
    /// An object of `family` without content.
    pub fn new(family: Family) -> ObjectBuilder {
        let schema = FamilySchema::of(family).body.unwrap_or(NO_FIELDS);
        ObjectBuilder { family, fields: RecordBuilder::new(schema), raw: None }
    }

    /// A builder that holds every value of `object`, for writing it again.
    pub fn from_object(object: &Object<'_>) -> ObjectBuilder {
        let mut builder = ObjectBuilder::new(object.family());
        if object.schema().body.is_none() {
            builder.raw(object.body());
        }
        builder.fields.copy(&object.record());
        builder
    }

    /// The family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The fields of the body.
    pub fn body(&mut self) -> &mut RecordBuilder {
        &mut self.fields
    }

    /// The content of a blob.
    pub fn raw(&mut self, content: &[u8]) -> &mut ObjectBuilder {
        self.raw = Some(content.to_vec());
        self
    }

    /// Encodes and names the object.
    ///
    /// # Errors
    /// The first value that did not fit its field; every rule a reader applies; a verification without scope
    /// (FAM-17) and an imported or unknown producer with an identity (FAM-18).
    pub fn finish(&self, limits: &Limits) -> Result<Encoded, ObjectError> {
        let bytes = self.encode()?;
        let object = Object::decode(&bytes, limits)?;
        check_writer_rules(&object)?;
        Ok(Encoded { id: object.id(), bytes })
    }

    /// As [`ObjectBuilder::finish`] for an object that exists already: the rules that bind only writers are left out.
    ///
    /// # Errors
    /// The first value that did not fit its field, and every rule a reader applies.
    pub fn finish_existing(&self, limits: &Limits) -> Result<Encoded, ObjectError> {
        let bytes = self.encode()?;
        let id = Object::decode(&bytes, limits)?.id();
        Ok(Encoded { id, bytes })
    }

    fn encode(&self) -> Result<Vec<u8>, ObjectError> {
        let is_blob = FamilySchema::of(self.family).body.is_none();
        if if is_blob { !self.fields.is_untouched() } else { self.raw.is_some() } {
            return Err(ObjectError::BodyKindMismatch { family: self.family });
        }
        let body = match &self.raw {
            Some(raw) => raw.clone(),
            None => self.fields.encode()?,
        };
        let mut bytes = Vec::with_capacity(body.len().saturating_add(EnvelopeHeader::MAX_LEN));
        write_header(&mut bytes, self.family, body.len() as u64);
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }
}

/// FAM-17 and FAM-18, which readers do not apply.
fn check_writer_rules(object: &Object<'_>) -> Result<(), ObjectError> {
    match object.family() {
        Family::Verification if Verification::view(object)?.scope().is_none() => {
            Err(ObjectError::MissingRequiredField { at: object.body_offset(), tag: 0x03, field: "scope" })
        }
        Family::Producer => {
            let producer = Producer::view(object)?;
            let kind = producer.kind();
            let anonymous = matches!(kind, ProducerKind::GitImport | ProducerKind::Unknown);
            if anonymous && producer.identity().is_some() {
                return Err(ObjectError::IdentityNotPermitted { kind: kind.as_str() });
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Text for an array of strings.
#[derive(Clone, Copy, Debug)]
pub enum Strings<'a> {
    /// Borrowed texts.
    Borrowed(&'a [&'a str]),
    /// Owned texts.
    Owned(&'a [String]),
}

impl<'a> From<&'a [&'a str]> for Strings<'a> {
    fn from(texts: &'a [&'a str]) -> Strings<'a> {
        Strings::Borrowed(texts)
    }
}

impl<'a> From<&'a [String]> for Strings<'a> {
    fn from(texts: &'a [String]) -> Strings<'a> {
        Strings::Owned(texts)
    }
}

impl<'a> From<&'a Vec<String>> for Strings<'a> {
    fn from(texts: &'a Vec<String>) -> Strings<'a> {
        Strings::Owned(texts)
    }
}

impl Value<'_> {
    /// What kind of value it is, in the words of the schema.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Uint(_) => "uint",
            Value::Sint(_) => "sint",
            Value::Bool(_) => "bool",
            Value::Bytes(_) => "bytes",
            Value::Text(_) => "string",
            Value::Gid(_) => "gid",
            Value::Record(_) => "record",
            Value::Array(_) => "array",
            Value::Extension(_) => "extension",
        }
    }
}
