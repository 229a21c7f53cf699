//! Reading an object: every check of the object model, section 4, in its order, without copying or allocating.
//!
//! Recursion follows the schema tables, never the input, so that its depth is bounded by the deepest declaration.

use crate::blob::read_header;
use crate::varint::read_uint;
use crate::view::Record;
use crate::{
    EXTENSION_TAGS, Family, FamilySchema, FieldSchema, FieldType, GID_LEN, Gid, LimitKind, Limits,
    ObjectError, RecordSchema, Refs, is_canonical_path, rules, tree,
};

/// A validated object, borrowed from its envelope.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    envelope: &'a [u8],
    schema: &'static FamilySchema,
    body_at: usize,
}

impl<'a> Object<'a> {
    /// Validates `envelope` and views it. The first check that fails names the error.
    ///
    /// # Errors
    /// Every error of the catalogue that a reader can meet (object model, section 4).
    pub fn decode(envelope: &'a [u8], limits: &Limits) -> Result<Object<'a>, ObjectError> {
        let object = Object::parse(envelope, limits)?;
        if !(object.family() == Family::Tree && tree::is_plain(object.body(), limits)) {
            object.check_body(limits)?;
        }
        Ok(object)
    }

    /// Views an envelope that was validated before, when it was stored under its identity: only the header and the
    /// length are checked. On bytes that are no object the views end early; they never panic.
    ///
    /// # Errors
    /// The checks on the envelope itself, 1 to 10 of the object model, section 4.
    pub fn parse(envelope: &'a [u8], limits: &Limits) -> Result<Object<'a>, ObjectError> {
        let (schema, body_at, body_len) = read_header(envelope, limits)?;
        let available = (envelope.len() - body_at) as u64;
        if available < body_len {
            return Err(ObjectError::LengthMismatch { at: body_at, declared: body_len, available });
        }
        if available > body_len {
            let declared = body_len.saturating_add(body_at as u64);
            return Err(ObjectError::TrailingBytes { declared, found: envelope.len() as u64 });
        }
        Ok(Object { envelope, schema, body_at })
    }

    /// Checks 11 to 14.
    fn check_body(&self, limits: &Limits) -> Result<(), ObjectError> {
        let Some(body) = self.schema.body else { return Ok(()) };
        let mut checker =
            Checker { bytes: self.envelope, limits, extensions: self.schema.extensions, refs: 0 };
        checker.record(self.body_at, self.envelope.len(), body, 1)?;
        rules::check(self)?;
        let (max, found) = (limits.max_refs_per_object, checker.refs);
        if found > max { Err(ObjectError::RefCountExceeded { max, found }) } else { Ok(()) }
    }

    /// The family.
    pub fn family(&self) -> Family {
        self.schema.family
    }

    /// The declaration of the family.
    pub fn schema(&self) -> &'static FamilySchema {
        self.schema
    }

    /// All bytes, header included.
    pub fn envelope(&self) -> &'a [u8] {
        self.envelope
    }

    /// The bytes of the body; the content of a blob.
    pub fn body(&self) -> &'a [u8] {
        self.envelope.get(self.body_at..).unwrap_or_default()
    }

    /// Where the body begins in the envelope.
    pub fn body_offset(&self) -> usize {
        self.body_at
    }

    /// The body as fields; a blob has none.
    pub fn record(&self) -> Record<'a> {
        match self.schema.body {
            Some(schema) => Record::new(self.body(), schema),
            None => Record::new(&[], NO_FIELDS),
        }
    }

    /// The body as fields of `family`.
    ///
    /// # Errors
    /// `FamilyMismatch` when the object is of another family.
    pub(crate) fn record_of(&self, family: Family) -> Result<Record<'a>, ObjectError> {
        if self.family() == family {
            return Ok(self.record());
        }
        Err(ObjectError::FamilyMismatch { at: 5, tag: 0, expected: family, found: self.family() })
    }

    /// The identity: hashes the envelope.
    pub fn id(&self) -> Gid {
        Gid::of_envelope(self.family(), self.envelope)
    }

    /// The references in order of appearance, with their offsets in the envelope.
    pub fn refs(&self) -> Refs<'a> {
        Refs::new(self.envelope, self.body_at, self.schema)
    }
}

impl std::fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(self.family().name()).field("body", &self.record()).finish()
    }
}

const NO_FIELDS: &RecordSchema = &RecordSchema::new(&[]);

/// Walks the fields of one object.
struct Checker<'a> {
    bytes: &'a [u8],
    limits: &'a Limits,
    extensions: bool,
    refs: u64,
}

impl Checker<'_> {
    /// Checks the field sequence `start..end`, which lies in `bytes`; `depth` counts it.
    fn record(
        &mut self,
        start: usize,
        end: usize,
        schema: &'static RecordSchema,
        depth: u64,
    ) -> Result<(), ObjectError> {
        self.limit(start, LimitKind::RecordDepth, depth, self.limits.max_record_depth)?;
        let mut declared = schema.fields.iter();
        let mut missing = None;
        let (mut at, mut previous) = (start, 0);
        while at < end {
            let (tag, length_at) = self.tag(at, end, previous)?;
            let (length, value_at) = read_uint(self.bytes, length_at, end)?;
            self.limit(length_at, LimitKind::ObjectBytes, length, self.limits.max_object_bytes)?;
            let value_end = bounded(value_at, length, end)?;
            if EXTENSION_TAGS.contains(&tag) {
                if !self.extensions {
                    return Err(ObjectError::ExtensionNotPermitted { at, tag });
                }
            } else {
                let field = seek(&mut declared, tag, &mut missing);
                let field = field.ok_or(ObjectError::UnknownMandatoryField { at, tag })?;
                self.field(value_at, value_end, field, depth)?;
            }
            (at, previous) = (value_end, tag);
        }
        match missing.or_else(|| declared.find(|field| field.required)) {
            Some(field) => {
                Err(ObjectError::MissingRequiredField { at: start, tag: field.tag, field: field.name })
            }
            None => Ok(()),
        }
    }

    /// The tag at `at` and the offset after it.
    #[inline]
    fn tag(&self, at: usize, end: usize, previous: u8) -> Result<(u8, usize), ObjectError> {
        let (wide, next) = read_uint(self.bytes, at, end)?;
        let tag = match u8::try_from(wide) {
            Ok(tag) if tag != 0 && tag <= *EXTENSION_TAGS.end() => tag,
            _ => return Err(ObjectError::ReservedTag { at, tag: wide }),
        };
        if tag == previous {
            return Err(ObjectError::DuplicateField { at, tag });
        }
        if tag < previous {
            return Err(ObjectError::UnsortedFields { at, tag, previous });
        }
        Ok((tag, next))
    }

    fn field(
        &mut self,
        at: usize,
        end: usize,
        field: &'static FieldSchema,
        depth: u64,
    ) -> Result<(), ObjectError> {
        let after = self.value(at, end, field.tag, &field.ty, depth)?;
        if after == end {
            return Ok(());
        }
        let (declared, used) = ((end - at) as u64, (after - at) as u64);
        Err(ObjectError::ValueLengthMismatch { at, tag: field.tag, declared, used })
    }

    /// Checks the value that begins at `at` and must end by `end`; returns where it ends.
    fn value(
        &mut self,
        at: usize,
        end: usize,
        tag: u8,
        ty: &'static FieldType,
        depth: u64,
    ) -> Result<usize, ObjectError> {
        match ty {
            FieldType::Uint | FieldType::Sint => Ok(read_uint(self.bytes, at, end)?.1),
            FieldType::Bool => self.boolean(at, end, tag),
            FieldType::Gid(family) => self.gid(at, end, tag, *family),
            FieldType::Record(schema) => {
                let (from, to) = self.sized(at, end, LimitKind::ObjectBytes)?;
                self.record(from, to, schema, depth + 1).map(|()| to)
            }
            FieldType::Array(element) => {
                let (count, mut next) = read_uint(self.bytes, at, end)?;
                self.limit(at, LimitKind::ArrayElements, count, self.limits.max_array_elements)?;
                for _ in 0..count {
                    next = self.value(next, end, tag, element, depth)?;
                }
                Ok(next)
            }
            FieldType::Bytes => Ok(self.sized(at, end, LimitKind::StringBytes)?.1),
            FieldType::String => self.text(at, end, tag).map(|(_, next)| next),
            FieldType::Path => {
                let (text, next) = self.text(at, end, tag)?;
                if is_canonical_path(text) { Ok(next) } else { Err(ObjectError::InvalidPath { at, tag }) }
            }
            FieldType::Enum(set) => {
                let (text, next) = self.text(at, end, tag)?;
                let known = set.position(text).map(|_| next);
                known.ok_or(ObjectError::InvalidEnumValue { at, tag, set: set.name })
            }
        }
    }

    /// The one value whose own bytes bear no length, so that it must fill its field.
    fn boolean(&self, at: usize, end: usize, tag: u8) -> Result<usize, ObjectError> {
        match self.bytes.get(at..end) {
            Some(&[0 | 1]) => Ok(end),
            Some(&[found]) => Err(ObjectError::InvalidBoolean { at, tag, found }),
            _ => Err(ObjectError::ValueLengthMismatch { at, tag, declared: (end - at) as u64, used: 1 }),
        }
    }

    #[inline]
    fn gid(
        &mut self,
        at: usize,
        end: usize,
        tag: u8,
        expected: Option<Family>,
    ) -> Result<usize, ObjectError> {
        let (length, from) = read_uint(self.bytes, at, end)?;
        if length != GID_LEN as u64 {
            return Err(ObjectError::InvalidGid { at, tag, length });
        }
        let next = bounded(from, length, end)?;
        let code = self.bytes.get(from).copied().unwrap_or_default();
        let found = Family::from_code(code).ok_or(ObjectError::UnknownFamily { at: from, found: code })?;
        match expected {
            Some(expected) if expected != found => {
                Err(ObjectError::FamilyMismatch { at: from, tag, expected, found })
            }
            _ => {
                self.refs += 1;
                Ok(next)
            }
        }
    }

    #[inline]
    fn text(&self, at: usize, end: usize, tag: u8) -> Result<(&[u8], usize), ObjectError> {
        let (from, to) = self.sized(at, end, LimitKind::StringBytes)?;
        let text = self.bytes.get(from..to).unwrap_or_default();
        match std::str::from_utf8(text) {
            Ok(_) => Ok((text, to)),
            Err(error) => Err(ObjectError::InvalidUtf8 { at: from + error.valid_up_to(), tag }),
        }
    }

    /// The bounds of the bytes whose length stands at `at`.
    #[inline]
    fn sized(&self, at: usize, end: usize, limit: LimitKind) -> Result<(usize, usize), ObjectError> {
        let (length, from) = read_uint(self.bytes, at, end)?;
        let max = match limit {
            LimitKind::StringBytes => self.limits.max_string_bytes,
            _ => self.limits.max_object_bytes,
        };
        self.limit(at, limit, length, max)?;
        Ok((from, bounded(from, length, end)?))
    }

    #[inline]
    fn limit(&self, at: usize, limit: LimitKind, found: u64, max: u64) -> Result<(), ObjectError> {
        if found > max { Err(ObjectError::LimitExceeded { at, limit, max, found }) } else { Ok(()) }
    }
}

/// The end of `length` bytes from `at`, which must lie within `end`.
#[inline]
fn bounded(at: usize, length: u64, end: usize) -> Result<usize, ObjectError> {
    let available = (end - at) as u64;
    match usize::try_from(length) {
        Ok(length) if length <= end - at => Ok(at + length),
        _ => Err(ObjectError::LengthMismatch { at, declared: length, available }),
    }
}

/// Advances over the declared fields to the one with tag `tag`, remembering the first required one passed over.
#[inline]
fn seek(
    declared: &mut std::slice::Iter<'static, FieldSchema>,
    tag: u8,
    missing: &mut Option<&'static FieldSchema>,
) -> Option<&'static FieldSchema> {
    while let Some(field) = declared.as_slice().first().filter(|field| field.tag <= tag) {
        declared.next();
        if field.tag == tag {
            return Some(field);
        }
        if field.required && missing.is_none() {
            *missing = Some(field);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, TreeBuilder};

    /// Entries with short and long names, every mode, and non-ASCII text.
    fn sample() -> Vec<u8> {
        let mut builder = TreeBuilder::new();
        let long = "n".repeat(300);
        let names = ["a", "b.txt", "c\u{e9}", &long[..83], &long[..84], &long[..126], &long[..127], &long];
        for (name, mode) in names.into_iter().zip(Mode::ALL.into_iter().cycle()) {
            builder.push(name, mode, &Gid::new(mode.target_family(), [7; 32])).unwrap();
        }
        builder.finish(&Limits::DEFAULT).unwrap().bytes
    }

    /// The recognition of plain trees may only shorten the way to the same answer.
    fn agree(envelope: &[u8], limits: &Limits) {
        let Ok(object) = Object::parse(envelope, limits) else { return };
        let plain = object.family() == Family::Tree && tree::is_plain(object.body(), limits);
        let checked = object.check_body(limits);
        assert!(!plain || checked.is_ok(), "{envelope:02x?}: {checked:?}");
    }

    #[test]
    fn plain_trees_pass_the_general_checks() {
        let envelope = sample();
        let object = Object::decode(&envelope, &Limits::DEFAULT).unwrap();
        assert!(tree::is_plain(object.body(), &Limits::DEFAULT));
        agree(&envelope, &Limits::DEFAULT);
    }

    #[test]
    fn no_changed_byte_of_a_tree_is_accepted_by_shape_alone() {
        let envelope = sample();
        for at in 9..envelope.len() {
            for byte in [0, 1, 2, 3, 0x2F, 0x5C, 0x80, 0xFF, envelope[at] ^ 1, envelope[at] ^ 0x80] {
                let mut changed = envelope.clone();
                changed[at] = byte;
                agree(&changed, &Limits::DEFAULT);
            }
        }
    }

    #[test]
    fn limits_bind_plain_trees() {
        let envelope = sample();
        let names =
            |limits: Limits| Object::decode(&envelope, &limits).map(drop).map_err(|error| error.name());
        let all = Limits::DEFAULT;
        let size = envelope.len() as u64;
        assert_eq!(names(Limits { max_object_bytes: size, ..all }), Ok(()));
        assert_eq!(names(Limits { max_object_bytes: size - 1, ..all }), Err("LimitExceeded"));
        assert_eq!(names(Limits { max_record_depth: 2, ..all }), Ok(()));
        assert_eq!(names(Limits { max_record_depth: 1, ..all }), Err("LimitExceeded"));
        assert_eq!(names(Limits { max_array_elements: 8, ..all }), Ok(()));
        assert_eq!(names(Limits { max_array_elements: 7, ..all }), Err("LimitExceeded"));
        assert_eq!(names(Limits { max_string_bytes: 300, ..all }), Ok(()));
        assert_eq!(names(Limits { max_string_bytes: 299, ..all }), Err("LimitExceeded"));
        assert_eq!(names(Limits { max_refs_per_object: 8, ..all }), Ok(()));
        assert_eq!(names(Limits { max_refs_per_object: 7, ..all }), Err("RefCountExceeded"));
    }

    /// ENC-15: no family of version 1 forbids extensions and has fields, but one could.
    #[test]
    fn extensions_need_the_permission_of_the_family() {
        let bytes = [0x80, 0x01, 0x00];
        let limits = &Limits::DEFAULT;
        let check = |extensions| {
            Checker { bytes: &bytes, limits, extensions, refs: 0 }.record(0, bytes.len(), NO_FIELDS, 1)
        };
        assert_eq!(check(true), Ok(()));
        assert_eq!(check(false), Err(ObjectError::ExtensionNotPermitted { at: 0, tag: 0x80 }));
    }
}
