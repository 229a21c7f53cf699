//! Writing a field sequence: the body of an object, or a nested record.

use crate::varint::{write_uint, zigzag};
use crate::{
    EXTENSION_TAGS, FieldSchema, FieldType, GID_LEN, Gid, ObjectError, Record, RecordSchema, Strings, Value,
};

/// Collects the fields of one record. The first value that does not fit is remembered and reported when the object
/// is finished, so that calls can be chained.
#[derive(Clone, Debug)]
pub struct RecordBuilder {
    schema: &'static RecordSchema,
    /// Encoded values, back to back.
    values: Vec<u8>,
    /// Tag of each field and where its value ends.
    fields: Vec<(u8, usize)>,
    error: Option<ObjectError>,
}

impl RecordBuilder {
    pub(crate) fn new(schema: &'static RecordSchema) -> RecordBuilder {
        RecordBuilder { schema, values: Vec::new(), fields: Vec::new(), error: None }
    }

    /// Adds the declared field `tag`.
    pub fn set(&mut self, tag: u8, value: impl WriteValue) -> &mut RecordBuilder {
        let outcome = self.declared(tag).and_then(|field| value.write(&mut self.values, tag, &field.ty));
        self.note(tag, outcome)
    }

    /// Adds the declared field `tag` when there is a value.
    pub fn set_if(&mut self, tag: u8, value: Option<impl WriteValue>) -> &mut RecordBuilder {
        match value {
            Some(value) => self.set(tag, value),
            None => self,
        }
    }

    /// Adds the nested record `tag`, which `fill` fills.
    pub fn record(&mut self, tag: u8, fill: impl FnOnce(&mut RecordBuilder)) -> &mut RecordBuilder {
        let outcome = self.declared(tag).and_then(|field| match &field.ty {
            FieldType::Record(schema) => write_record(&mut self.values, schema, fill),
            other => Err(mismatch(tag, other, "record")),
        });
        self.note(tag, outcome)
    }

    /// Adds the array of records `tag`, one for each of `items`, which `fill` fills.
    pub fn records<T>(
        &mut self,
        tag: u8,
        items: impl ExactSizeIterator<Item = T>,
        mut fill: impl FnMut(&mut RecordBuilder, T),
    ) -> &mut RecordBuilder {
        let outcome = self.declared(tag).and_then(|field| {
            write_array(&mut self.values, tag, &field.ty, items, |out, element, item| match element {
                FieldType::Record(schema) => write_record(out, schema, |record| fill(record, item)),
                other => Err(mismatch(tag, other, "record")),
            })
        });
        self.note(tag, outcome)
    }

    /// Adds an extension: opaque bytes under a tag from 0x80 to 0xEF.
    pub fn ext(&mut self, tag: u8, bytes: &[u8]) -> &mut RecordBuilder {
        let outcome = if EXTENSION_TAGS.contains(&tag) {
            self.values.extend_from_slice(bytes);
            Ok(())
        } else if self.schema.field(tag).is_some() {
            Err(ObjectError::UnexpectedRawValue { tag })
        } else {
            Err(self.undeclared(tag))
        };
        self.note(tag, outcome)
    }

    /// Reports `error` when the object is finished, unless an earlier value failed.
    pub fn fail(&mut self, error: ObjectError) -> &mut RecordBuilder {
        self.error.get_or_insert(error);
        self
    }

    /// Adds every field of `record`.
    pub(crate) fn copy(&mut self, record: &Record<'_>) {
        for field in record.fields() {
            match field.value() {
                Some(Value::Extension(bytes)) => self.ext(field.tag, bytes),
                Some(value) => self.set(field.tag, value),
                None => self,
            };
        }
    }

    pub(crate) fn is_untouched(&self) -> bool {
        self.fields.is_empty() && self.error.is_none()
    }

    /// The field sequence in tag order.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, ObjectError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let mut start = 0;
        let mut order: Vec<(u8, &[u8])> = Vec::with_capacity(self.fields.len());
        for (tag, end) in &self.fields {
            order.push((*tag, self.values.get(start..*end).unwrap_or_default()));
            start = *end;
        }
        // Stable, so that a tag given twice stays in order and is then reported as a duplicate.
        order.sort_by_key(|(tag, _)| *tag);
        let mut out = Vec::with_capacity(self.values.len() + 4 * order.len());
        for (tag, value) in order {
            write_uint(&mut out, u64::from(tag));
            write_uint(&mut out, value.len() as u64);
            out.extend_from_slice(value);
        }
        Ok(out)
    }

    fn declared(&self, tag: u8) -> Result<&'static FieldSchema, ObjectError> {
        self.schema.field(tag).ok_or_else(|| self.undeclared(tag))
    }

    fn undeclared(&self, tag: u8) -> ObjectError {
        match tag {
            0x01..=0x7F => ObjectError::UnknownMandatoryField { at: 0, tag },
            0x80..=0xEF => ObjectError::ExtensionMustBeRaw { tag },
            _ => ObjectError::ReservedTag { at: 0, tag: u64::from(tag) },
        }
    }

    fn note(&mut self, tag: u8, outcome: Result<(), ObjectError>) -> &mut RecordBuilder {
        match outcome {
            Ok(()) => self.fields.push((tag, self.values.len())),
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
        self
    }
}

/// A value that can be written as the declared type of a field.
pub trait WriteValue {
    /// Appends the canonical encoding of the value.
    ///
    /// # Errors
    /// `TypeMismatch` when the field `tag` is of another type.
    fn write(self, out: &mut Vec<u8>, tag: u8, ty: &'static FieldType) -> Result<(), ObjectError>;
}

/// A family's or nested record's values.
pub(crate) trait WriteRecord {
    fn write_fields(&self, out: &mut RecordBuilder);
}

pub(crate) fn mismatch(tag: u8, expected: &FieldType, found: &'static str) -> ObjectError {
    ObjectError::TypeMismatch { tag, expected: expected.name(), found }
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), ObjectError> {
    write_uint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
    Ok(())
}

pub(crate) fn write_record(
    out: &mut Vec<u8>,
    schema: &'static RecordSchema,
    fill: impl FnOnce(&mut RecordBuilder),
) -> Result<(), ObjectError> {
    let mut record = RecordBuilder::new(schema);
    fill(&mut record);
    write_bytes(out, &record.encode()?)
}

/// Writes `items` as the elements of an array.
pub(crate) fn write_array<T>(
    out: &mut Vec<u8>,
    tag: u8,
    ty: &'static FieldType,
    items: impl ExactSizeIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, &'static FieldType, T) -> Result<(), ObjectError>,
) -> Result<(), ObjectError> {
    let FieldType::Array(element) = ty else { return Err(mismatch(tag, ty, "array")) };
    write_uint(out, items.len() as u64);
    items.into_iter().try_for_each(|item| write(out, element, item))
}

macro_rules! write_value {
    ($($ty:ty, $kind:literal, $($pattern:pat_param)|+ => |$out:ident, $value:ident| $write:expr;)*) => {
        $(impl WriteValue for $ty {
            fn write(self, $out: &mut Vec<u8>, tag: u8, ty: &'static FieldType) -> Result<(), ObjectError> {
                let $value = self;
                match ty {
                    $($pattern)|+ => $write,
                    other => Err(mismatch(tag, other, $kind)),
                }
            }
        })*
    };
}

write_value! {
    u64, "uint", FieldType::Uint => |out, value| { write_uint(out, value); Ok(()) };
    i64, "sint", FieldType::Sint => |out, value| { write_uint(out, zigzag(value)); Ok(()) };
    bool, "bool", FieldType::Bool => |out, value| { out.push(u8::from(value)); Ok(()) };
    &[u8], "bytes", FieldType::Bytes => |out, value| write_bytes(out, value);
    &str, "string", FieldType::String | FieldType::Path | FieldType::Enum(_) =>
        |out, value| write_bytes(out, value.as_bytes());
    Gid, "gid", FieldType::Gid(_) => |out, value| write_bytes(out, value.as_bytes() as &[u8; GID_LEN]);
}

impl WriteValue for &[Gid] {
    fn write(self, out: &mut Vec<u8>, tag: u8, ty: &'static FieldType) -> Result<(), ObjectError> {
        write_array(out, tag, ty, self.iter(), |out, element, gid| gid.write(out, tag, element))
    }
}

impl WriteValue for Strings<'_> {
    fn write(self, out: &mut Vec<u8>, tag: u8, ty: &'static FieldType) -> Result<(), ObjectError> {
        match self {
            Strings::Borrowed(texts) => {
                write_array(out, tag, ty, texts.iter(), |out, element, text| text.write(out, tag, element))
            }
            Strings::Owned(texts) => write_array(out, tag, ty, texts.iter(), |out, element, text| {
                text.as_str().write(out, tag, element)
            }),
        }
    }
}

impl WriteValue for Value<'_> {
    fn write(self, out: &mut Vec<u8>, tag: u8, ty: &'static FieldType) -> Result<(), ObjectError> {
        match self {
            Value::Uint(value) => value.write(out, tag, ty),
            Value::Sint(value) => value.write(out, tag, ty),
            Value::Bool(value) => value.write(out, tag, ty),
            Value::Bytes(value) => value.write(out, tag, ty),
            Value::Text(value) => value.write(out, tag, ty),
            Value::Gid(value) => value.write(out, tag, ty),
            Value::Extension(_) => Err(ObjectError::UnexpectedRawValue { tag }),
            Value::Record(record) => match ty {
                FieldType::Record(schema) => write_record(out, schema, |nested| nested.copy(&record)),
                other => Err(mismatch(tag, other, "record")),
            },
            Value::Array(array) => {
                let FieldType::Array(element) = ty else { return Err(mismatch(tag, ty, "array")) };
                write_uint(out, array.len());
                array.iter().try_for_each(|value| value.write(out, tag, element))
            }
        }
    }
}
