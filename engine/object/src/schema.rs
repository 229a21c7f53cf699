//! The schema tables as data (object model, section 5): what each record declares.

use crate::{EnumSet, Family, OpType, families};

/// The only encoding version.
pub const ENCODING_VERSION: u8 = 1;
/// The first four bytes of every envelope.
pub const MAGIC: [u8; 4] = *b"GEML";
/// Tags a schema may declare.
pub const SCHEMA_TAGS: std::ops::RangeInclusive<u8> = 0x01..=0x7F;
/// Tags of extensions.
pub const EXTENSION_TAGS: std::ops::RangeInclusive<u8> = 0x80..=0xEF;

/// The declaration of a family.
#[derive(Debug)]
pub struct FamilySchema {
    /// The family.
    pub family: Family,
    /// Envelope byte 6.
    pub schema_version: u8,
    /// The fields of the body; `None` when the body is raw bytes.
    pub body: Option<&'static RecordSchema>,
    /// Whether extension fields may appear, in the body and in nested records.
    pub extensions: bool,
    /// Whether objects form version chains through `previous`.
    pub append_chained: bool,
}

/// The declared fields of a body or a nested record.
#[derive(Debug)]
pub struct RecordSchema {
    /// Ascending by tag.
    pub fields: &'static [FieldSchema],
    /// Whether any field holds references, at any depth.
    pub(crate) has_refs: bool,
}

/// One declared field.
#[derive(Debug)]
pub struct FieldSchema {
    /// The tag, 0x01 to 0x7F.
    pub tag: u8,
    /// The name; it is not stored.
    pub name: &'static str,
    /// The type of the value.
    pub ty: FieldType,
    /// Whether the record must have it.
    pub required: bool,
    /// A family rule on the value.
    pub check: Option<Check>,
    /// For a parameter of an operation: the kinds it may appear with.
    pub op_types: OpTypes,
}

/// The type of a value (object model, section 1).
#[derive(Debug)]
pub enum FieldType {
    /// Unsigned integer.
    Uint,
    /// Signed integer.
    Sint,
    /// True or false.
    Bool,
    /// Bytes.
    Bytes,
    /// UTF-8 text.
    String,
    /// Canonical path.
    Path,
    /// Text of a set.
    Enum(&'static EnumSet),
    /// Reference to an object of the family, or of any family.
    Gid(Option<Family>),
    /// Nested record.
    Record(&'static RecordSchema),
    /// Sequence of elements of one type.
    Array(&'static FieldType),
}

/// A rule on a value that holds beyond its type (object model, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// FAM-01: names strictly ascending.
    TreeOrder,
    /// FAM-04: one path segment.
    TreeName,
    /// FAM-02: one of the four modes.
    TreeMode,
    /// FAM-03: a tree for a directory, a blob otherwise.
    TreeTarget,
    /// FAM-12: not empty.
    NonEmpty,
    /// OBJ-12: absent or empty.
    MustBeEmpty,
}

impl Check {
    /// The name of the rule in the schema tables.
    pub fn name(self) -> &'static str {
        match self {
            Check::TreeOrder => "tree-order",
            Check::TreeName => "tree-name",
            Check::TreeMode => "tree-mode",
            Check::TreeTarget => "tree-target",
            Check::NonEmpty => "non-empty",
            Check::MustBeEmpty => "must-be-empty",
        }
    }
}

/// A set of operation kinds; empty for a field that is no parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpTypes(u16);

impl OpTypes {
    /// The set of `kinds`.
    pub(crate) const fn of(kinds: &[OpType]) -> OpTypes {
        let (mut mask, mut index) = (0, 0);
        while index < kinds.len() {
            mask |= 1 << kinds[index] as u16;
            index += 1;
        }
        OpTypes(mask)
    }

    /// Whether the field is a parameter at all.
    pub fn is_parameter(self) -> bool {
        self.0 != 0
    }

    /// Whether the parameter may appear with `kind`.
    pub fn contains(self, kind: OpType) -> bool {
        self.0 & (1 << kind as u16) != 0
    }
}

impl RecordSchema {
    /// A schema with `fields`, which ascend by tag.
    pub(crate) const fn new(fields: &'static [FieldSchema]) -> RecordSchema {
        let (mut has_refs, mut index) = (false, 0);
        while index < fields.len() {
            assert!(fields[index].tag <= *SCHEMA_TAGS.end(), "declared tags end at 0x7F");
            assert!(index == 0 || fields[index - 1].tag < fields[index].tag, "declared tags ascend");
            has_refs |= fields[index].ty.has_refs();
            index += 1;
        }
        RecordSchema { fields, has_refs }
    }

    /// The declared field with tag `tag`.
    #[inline]
    pub fn field(&self, tag: u8) -> Option<&'static FieldSchema> {
        // Most records number their fields without gaps.
        let fields: &'static [FieldSchema] = self.fields;
        match fields.get(usize::from(tag).wrapping_sub(1)) {
            Some(field) if field.tag == tag => Some(field),
            _ => fields.binary_search_by_key(&tag, |field| field.tag).ok().and_then(|at| fields.get(at)),
        }
    }

    /// The declared field named `name`.
    pub fn field_named(&self, name: &str) -> Option<&'static FieldSchema> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl FieldType {
    /// Whether values of this type hold references, at any depth.
    pub(crate) const fn has_refs(&self) -> bool {
        match self {
            FieldType::Gid(_) => true,
            FieldType::Record(schema) => schema.has_refs,
            FieldType::Array(element) => element.has_refs(),
            _ => false,
        }
    }

    /// The name of the type.
    pub fn name(&self) -> &'static str {
        match self {
            FieldType::Uint => "uint",
            FieldType::Sint => "sint",
            FieldType::Bool => "bool",
            FieldType::Bytes => "bytes",
            FieldType::String => "string",
            FieldType::Path => "path",
            FieldType::Enum(_) => "enum",
            FieldType::Gid(_) => "gid",
            FieldType::Record(_) => "record",
            FieldType::Array(_) => "array",
        }
    }
}

impl FamilySchema {
    /// The declaration of `family`.
    pub fn of(family: Family) -> &'static FamilySchema {
        // Codes are 1 to 24 and the table is in code order, which a test holds.
        families::FAMILIES.get(usize::from(family.code()).wrapping_sub(1)).unwrap_or(&families::FAMILIES[0])
    }
}
