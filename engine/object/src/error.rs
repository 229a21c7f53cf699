//! Why bytes are not an object, or values cannot become one (object model, section 4).

use crate::{Family, LimitKind, MalformedIdentity};
use std::fmt;

/// A broken rule of the object model. Every variant bears the name of the error catalogue; `at` is a byte offset in
/// the envelope, `tag` the field the value belongs to (0 for the envelope itself).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectError {
    /// A declared length reaches past the enclosing bound, or the input is shorter than an envelope.
    LengthMismatch {
        /// Where the declared bytes begin.
        at: usize,
        /// Bytes declared.
        declared: u64,
        /// Bytes there are.
        available: u64,
    },
    /// The first four bytes are not those of an envelope (ENC-01).
    BadMagic {
        /// The bytes found.
        found: [u8; 4],
    },
    /// Not encoding version 1 (ENC-02).
    UnknownEncodingVersion {
        /// The version found.
        found: u8,
    },
    /// No family has this code (ENC-03).
    UnknownFamily {
        /// Where the code is.
        at: usize,
        /// The code found.
        found: u8,
    },
    /// The family has no such schema version (ENC-04).
    UnknownSchemaVersion {
        /// The family of the envelope.
        family: Family,
        /// The version found.
        found: u8,
    },
    /// The flags byte is not zero (ENC-05).
    ReservedFlags {
        /// The flags found.
        found: u8,
    },
    /// Bytes follow the body (ENC-06).
    TrailingBytes {
        /// Length of the envelope as declared.
        declared: u64,
        /// Length of the input.
        found: u64,
    },
    /// An integer is longer than its value needs, or than ten bytes (ENC-07).
    NonCanonicalInteger {
        /// Where the integer begins.
        at: usize,
    },
    /// An integer has more than 64 bits (ENC-07).
    IntegerOverflow {
        /// Where the integer begins.
        at: usize,
    },
    /// An integer, length or count is missing or cut off at its enclosing bound.
    Varint {
        /// Where the integer begins.
        at: usize,
        /// The enclosing bound.
        bound: usize,
    },
    /// A size, count or depth is above its limit (ENC-19, ENC-20).
    LimitExceeded {
        /// Where the size or count stands.
        at: usize,
        /// Which limit.
        limit: LimitKind,
        /// The limit's value.
        max: u64,
        /// The value found.
        found: u64,
    },
    /// A boolean byte is neither 0 nor 1 (ENC-09).
    InvalidBoolean {
        /// Where the byte is.
        at: usize,
        /// The field.
        tag: u8,
        /// The byte found.
        found: u8,
    },
    /// A string is not UTF-8 (ENC-10).
    InvalidUtf8 {
        /// Where the first wrong byte is.
        at: usize,
        /// The field.
        tag: u8,
    },
    /// A reference is not 33 bytes long (ENC-11).
    InvalidGid {
        /// Where the length stands.
        at: usize,
        /// The field.
        tag: u8,
        /// The length found.
        length: u64,
    },
    /// A reference names another family than the field takes (ENC-11), or an object of one family was taken for
    /// another.
    FamilyMismatch {
        /// Where the family code is.
        at: usize,
        /// The field.
        tag: u8,
        /// The family the field takes.
        expected: Family,
        /// The family found.
        found: Family,
    },
    /// A tag occurs again right after itself (ENC-12).
    DuplicateField {
        /// Where the tag is.
        at: usize,
        /// The tag.
        tag: u8,
    },
    /// A tag is lower than the one before (ENC-12).
    UnsortedFields {
        /// Where the tag is.
        at: usize,
        /// The tag.
        tag: u8,
        /// The tag before.
        previous: u8,
    },
    /// A tag is 0 or above 0xEF (ENC-13).
    ReservedTag {
        /// Where the tag is.
        at: usize,
        /// The tag.
        tag: u64,
    },
    /// A tag of the declared range is not declared (ENC-14).
    UnknownMandatoryField {
        /// Where the tag is.
        at: usize,
        /// The tag.
        tag: u8,
    },
    /// An extension stands where the family permits none (ENC-15).
    ExtensionNotPermitted {
        /// Where the tag is.
        at: usize,
        /// The tag.
        tag: u8,
    },
    /// A value is shorter than its field says (ENC-17).
    ValueLengthMismatch {
        /// Where the value begins.
        at: usize,
        /// The field.
        tag: u8,
        /// The length the field declares.
        declared: u64,
        /// The length the value has.
        used: u64,
    },
    /// A required field is absent (ENC-18).
    MissingRequiredField {
        /// Where the record begins.
        at: usize,
        /// The absent field.
        tag: u8,
        /// Its name.
        field: &'static str,
    },
    /// The object holds more references than permitted.
    RefCountExceeded {
        /// The limit.
        max: u64,
        /// The number found.
        found: u64,
    },
    /// A path is not canonical (ENC-23).
    InvalidPath {
        /// Where the path begins.
        at: usize,
        /// The field.
        tag: u8,
    },
    /// A value is not in the field's set.
    InvalidEnumValue {
        /// Where the value begins.
        at: usize,
        /// The field.
        tag: u8,
        /// The set.
        set: &'static str,
    },
    /// Tree names do not ascend (FAM-01).
    InvalidTreeOrder {
        /// Position of the entry.
        index: u64,
    },
    /// A tree mode is none of the four (FAM-02).
    InvalidTreeMode {
        /// Position of the entry.
        index: u64,
        /// The mode found.
        mode: u64,
    },
    /// A tree entry's mode and target disagree (FAM-03).
    InvalidTreeTargetFamily {
        /// Position of the entry.
        index: u64,
        /// The family found.
        found: Family,
    },
    /// A tree name is not one path segment (FAM-04).
    InvalidTreeName {
        /// Position of the entry.
        index: u64,
    },
    /// An operation bears a parameter its kind does not declare (FAM-06).
    UndeclaredOperationTag {
        /// The parameter.
        tag: u8,
        /// The operation's kind.
        op_type: &'static str,
    },
    /// A claim's predicate is empty (FAM-12).
    EmptyPredicate,
    /// A mapping says that something was fabricated (OBJ-12).
    MappingFabricatedNonEmpty {
        /// Elements of the list.
        count: u64,
    },
    /// Text that should be an identity is not (ID-04).
    MalformedIdentity(MalformedIdentity),
    /// Writing only: a value's kind differs from the declared type.
    TypeMismatch {
        /// The field.
        tag: u8,
        /// The declared type.
        expected: &'static str,
        /// The kind of the value given.
        found: &'static str,
    },
    /// Writing only: fields for a blob, or raw bytes for another family.
    BodyKindMismatch {
        /// The family being written.
        family: Family,
    },
    /// Writing only: opaque bytes under a declared tag.
    UnexpectedRawValue {
        /// The tag.
        tag: u8,
    },
    /// Writing only: a typed value under an extension tag.
    ExtensionMustBeRaw {
        /// The tag.
        tag: u8,
    },
    /// Writing only: an imported or unknown producer may not claim an identity (FAM-18).
    IdentityNotPermitted {
        /// The producer's kind.
        kind: &'static str,
    },
}

impl ObjectError {
    /// The name in the error catalogue.
    pub fn name(&self) -> &'static str {
        match self {
            ObjectError::LengthMismatch { .. } => "LengthMismatch",
            ObjectError::BadMagic { .. } => "BadMagic",
            ObjectError::UnknownEncodingVersion { .. } => "UnknownEncodingVersion",
            ObjectError::UnknownFamily { .. } => "UnknownFamily",
            ObjectError::UnknownSchemaVersion { .. } => "UnknownSchemaVersion",
            ObjectError::ReservedFlags { .. } => "ReservedFlags",
            ObjectError::TrailingBytes { .. } => "TrailingBytes",
            ObjectError::NonCanonicalInteger { .. } => "NonCanonicalInteger",
            ObjectError::IntegerOverflow { .. } => "IntegerOverflow",
            ObjectError::Varint { .. } => "Varint",
            ObjectError::LimitExceeded { .. } => "LimitExceeded",
            ObjectError::InvalidBoolean { .. } => "InvalidBoolean",
            ObjectError::InvalidUtf8 { .. } => "InvalidUtf8",
            ObjectError::InvalidGid { .. } => "InvalidGid",
            ObjectError::FamilyMismatch { .. } => "FamilyMismatch",
            ObjectError::DuplicateField { .. } => "DuplicateField",
            ObjectError::UnsortedFields { .. } => "UnsortedFields",
            ObjectError::ReservedTag { .. } => "ReservedTag",
            ObjectError::UnknownMandatoryField { .. } => "UnknownMandatoryField",
            ObjectError::ExtensionNotPermitted { .. } => "ExtensionNotPermitted",
            ObjectError::ValueLengthMismatch { .. } => "ValueLengthMismatch",
            ObjectError::MissingRequiredField { .. } => "MissingRequiredField",
            ObjectError::RefCountExceeded { .. } => "RefCountExceeded",
            ObjectError::InvalidPath { .. } => "InvalidPath",
            ObjectError::InvalidEnumValue { .. } => "InvalidEnumValue",
            ObjectError::InvalidTreeOrder { .. } => "InvalidTreeOrder",
            ObjectError::InvalidTreeMode { .. } => "InvalidTreeMode",
            ObjectError::InvalidTreeTargetFamily { .. } => "InvalidTreeTargetFamily",
            ObjectError::InvalidTreeName { .. } => "InvalidTreeName",
            ObjectError::UndeclaredOperationTag { .. } => "UndeclaredOperationTag",
            ObjectError::EmptyPredicate => "EmptyPredicate",
            ObjectError::MappingFabricatedNonEmpty { .. } => "MappingFabricatedNonEmpty",
            ObjectError::MalformedIdentity(_) => "MalformedIdentity",
            ObjectError::TypeMismatch { .. } => "TypeMismatch",
            ObjectError::BodyKindMismatch { .. } => "BodyKindMismatch",
            ObjectError::UnexpectedRawValue { .. } => "UnexpectedRawValue",
            ObjectError::ExtensionMustBeRaw { .. } => "ExtensionMustBeRaw",
            ObjectError::IdentityNotPermitted { .. } => "IdentityNotPermitted",
        }
    }
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name())?;
        match self {
            ObjectError::LengthMismatch { at, declared, available } => {
                write!(f, "{declared} bytes declared at offset {at}, {available} there")
            }
            ObjectError::BadMagic { found } => write!(f, "the input begins with {found:02x?}"),
            ObjectError::UnknownEncodingVersion { found } => {
                write!(f, "encoding version {found}, 1 is known")
            }
            ObjectError::UnknownFamily { at, found } => write!(f, "family code {found:#04x} at offset {at}"),
            ObjectError::UnknownSchemaVersion { family, found } => {
                write!(f, "schema version {found} of {}, 1 is known", family.name())
            }
            ObjectError::ReservedFlags { found } => write!(f, "flags {found:#04x}, must be zero"),
            ObjectError::TrailingBytes { declared, found } => {
                write!(f, "the envelope has {declared} bytes, the input {found}")
            }
            ObjectError::NonCanonicalInteger { at } => write!(f, "overlong integer at offset {at}"),
            ObjectError::IntegerOverflow { at } => write!(f, "integer of more than 64 bits at offset {at}"),
            ObjectError::Varint { at, bound } => {
                write!(f, "integer at offset {at} is cut off at offset {bound}")
            }
            ObjectError::LimitExceeded { at, limit, max, found } => {
                write!(f, "{found} at offset {at} is above {} {max}", limit.name())
            }
            ObjectError::InvalidBoolean { at, tag, found } => {
                write!(f, "byte {found:#04x} at offset {at}, field {tag:#04x}")
            }
            ObjectError::InvalidUtf8 { at, tag } | ObjectError::InvalidPath { at, tag } => {
                write!(f, "text at offset {at}, field {tag:#04x}")
            }
            ObjectError::InvalidGid { at, tag, length } => {
                write!(f, "reference of {length} bytes at offset {at}, field {tag:#04x}")
            }
            ObjectError::FamilyMismatch { at, tag, expected, found } => {
                let (expected, found) = (expected.name(), found.name());
                write!(f, "{found} in place of {expected} at offset {at}, field {tag:#04x}")
            }
            ObjectError::DuplicateField { at, tag } => write!(f, "field {tag:#04x} again at offset {at}"),
            ObjectError::UnsortedFields { at, tag, previous } => {
                write!(f, "field {tag:#04x} after {previous:#04x} at offset {at}")
            }
            ObjectError::ReservedTag { at, tag } => write!(f, "tag {tag:#04x} at offset {at}"),
            ObjectError::UnknownMandatoryField { at, tag }
            | ObjectError::ExtensionNotPermitted { at, tag } => {
                write!(f, "field {tag:#04x} at offset {at}")
            }
            ObjectError::ValueLengthMismatch { at, tag, declared, used } => {
                write!(f, "value of {used} bytes in {declared} at offset {at}, field {tag:#04x}")
            }
            ObjectError::MissingRequiredField { at, tag, field } => {
                write!(f, "no {field} (field {tag:#04x}) in the record at offset {at}")
            }
            ObjectError::RefCountExceeded { max, found } => write!(f, "{found} references, {max} permitted"),
            ObjectError::InvalidEnumValue { at, tag, set } => {
                write!(f, "value at offset {at}, field {tag:#04x} is not in {set}")
            }
            ObjectError::InvalidTreeOrder { index } => {
                write!(f, "entry {index} does not follow its predecessor")
            }
            ObjectError::InvalidTreeMode { index, mode } => write!(f, "mode {mode:#o} of entry {index}"),
            ObjectError::InvalidTreeTargetFamily { index, found } => {
                write!(f, "target family {} of entry {index}", found.name())
            }
            ObjectError::InvalidTreeName { index } => write!(f, "name of entry {index}"),
            ObjectError::UndeclaredOperationTag { tag, op_type } => {
                write!(f, "parameter {tag:#04x} of {op_type}")
            }
            ObjectError::EmptyPredicate => f.write_str("a claim must say something"),
            ObjectError::MappingFabricatedNonEmpty { count } => write!(f, "{count} fabricated facts"),
            ObjectError::MalformedIdentity(text) => write!(f, "{:?}", text.0),
            ObjectError::TypeMismatch { tag, expected, found } => {
                write!(f, "{found} for field {tag:#04x}, which is {expected}")
            }
            ObjectError::BodyKindMismatch { family } => write!(f, "wrong kind of body for {}", family.name()),
            ObjectError::UnexpectedRawValue { tag } => write!(f, "raw bytes for declared field {tag:#04x}"),
            ObjectError::ExtensionMustBeRaw { tag } => write!(f, "typed value for extension {tag:#04x}"),
            ObjectError::IdentityNotPermitted { kind } => write!(f, "identity of a {kind} producer"),
        }
    }
}

impl std::error::Error for ObjectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ObjectError::MalformedIdentity(text) => Some(text),
            _ => None,
        }
    }
}

impl From<MalformedIdentity> for ObjectError {
    fn from(text: MalformedIdentity) -> ObjectError {
        ObjectError::MalformedIdentity(text)
    }
}
