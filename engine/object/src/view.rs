//! Borrowed views of decoded fields. Nothing is copied; lists and records are walked where they lie.
//!
//! Views are made from validated bytes. On other bytes they end early and never panic.

use crate::varint::{read_uint, unzigzag};
use crate::{FieldSchema, FieldType, GID_LEN, Gid, RecordSchema};
use std::fmt;
use std::marker::PhantomData;

/// A field sequence: the body of an object or a nested record.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    data: &'a [u8],
    schema: &'static RecordSchema,
}

/// One present field.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The tag.
    pub tag: u8,
    /// The declaration; `None` for an extension.
    pub schema: Option<&'static FieldSchema>,
    /// The bytes of the value, without tag and length.
    pub raw: &'a [u8],
}

/// A value of any type.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// Unsigned integer.
    Uint(u64),
    /// Signed integer.
    Sint(i64),
    /// True or false.
    Bool(bool),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Text, path or enumeration value.
    Text(&'a str),
    /// Reference.
    Gid(Gid),
    /// Nested record.
    Record(Record<'a>),
    /// Sequence of elements.
    Array(Array<'a>),
    /// Opaque bytes of an extension.
    Extension(&'a [u8]),
}

/// An array whose element type is known from the schema.
#[derive(Clone, Copy)]
pub struct Array<'a> {
    data: &'a [u8],
    len: u64,
    element: &'static FieldType,
}

/// An array whose element type is known to the compiler.
#[derive(Clone, Copy)]
pub struct List<'a, T> {
    data: &'a [u8],
    len: u64,
    element: PhantomData<fn() -> T>,
}

impl<'a> Record<'a> {
    pub(crate) fn new(data: &'a [u8], schema: &'static RecordSchema) -> Record<'a> {
        Record { data, schema }
    }

    /// The declaration.
    pub fn schema(&self) -> &'static RecordSchema {
        self.schema
    }

    /// The bytes of the field sequence.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// The present fields in tag order, extensions last.
    pub fn fields(&self) -> Fields<'a> {
        Fields { data: self.data, schema: self.schema }
    }

    /// The field with tag `tag`, when present.
    pub fn get(&self, tag: u8) -> Option<Field<'a>> {
        self.fields().take_while(|field| field.tag <= tag).find(|field| field.tag == tag)
    }

    /// The field declared as `name`, when present.
    pub fn get_named(&self, name: &str) -> Option<Field<'a>> {
        self.schema.field_named(name).and_then(|field| self.get(field.tag))
    }

    /// The extension fields: tag and bytes.
    pub fn extensions(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        self.fields().filter(|field| field.schema.is_none()).map(|field| (field.tag, field.raw))
    }

    /// The bytes of the extension with tag `tag`.
    pub fn extension(&self, tag: u8) -> Option<&'a [u8]> {
        self.get(tag).filter(|field| field.schema.is_none()).map(|field| field.raw)
    }

    pub(crate) fn optional<T: FromValue<'a>>(&self, tag: u8) -> Option<T> {
        let mut raw = self.get(tag)?.raw;
        T::take(&mut raw)
    }

    /// A field that validation found present.
    pub(crate) fn required<T: FromValue<'a>>(&self, tag: u8) -> T {
        self.optional(tag).unwrap_or_else(T::zero)
    }

    pub(crate) fn list<T: FromValue<'a>>(&self, tag: u8) -> List<'a, T> {
        self.optional(tag).unwrap_or_else(List::zero)
    }
}

impl fmt::Debug for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |field: &Field<'_>| field.schema.map_or("extension", |schema| schema.name);
        f.debug_map().entries(self.fields().map(|field| (name(&field), field.value()))).finish()
    }
}

impl<'a> Field<'a> {
    /// The typed value.
    pub fn value(&self) -> Option<Value<'a>> {
        let mut raw = self.raw;
        match self.schema {
            None => Some(Value::Extension(raw)),
            Some(field) => take_value(&mut raw, &field.ty),
        }
    }
}

/// Iterates over the fields of a [`Record`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    data: &'a [u8],
    schema: &'static RecordSchema,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        let tag = u8::try_from(take_uint(&mut self.data)?).ok()?;
        let raw = take_bytes(&mut self.data)?;
        Some(Field { tag, schema: self.schema.field(tag), raw })
    }
}

impl<'a> Array<'a> {
    /// Number of elements.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The type of the elements.
    pub fn element(&self) -> &'static FieldType {
        self.element
    }

    /// The elements in stored order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let Array { mut data, len, element } = *self;
        (0..len).map_while(move |_| take_value(&mut data, element))
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: FromValue<'a>> List<'a, T> {
    /// Number of elements; 0 also for an absent field.
    pub fn len(&self) -> usize {
        usize::try_from(self.len).unwrap_or(usize::MAX)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements in stored order.
    pub fn iter(&self) -> ListIter<'a, T> {
        ListIter { data: self.data, left: self.len, element: PhantomData }
    }

    /// The last element.
    pub fn last(&self) -> Option<T> {
        self.iter().last()
    }
}

impl<'a, T: FromValue<'a>> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = ListIter<'a, T>;

    fn into_iter(self) -> ListIter<'a, T> {
        self.iter()
    }
}

impl<'a, T: FromValue<'a> + fmt::Debug> fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Iterates over a [`List`].
#[derive(Clone, Debug)]
pub struct ListIter<'a, T> {
    data: &'a [u8],
    left: u64,
    element: PhantomData<fn() -> T>,
}

impl<'a, T: FromValue<'a>> Iterator for ListIter<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.left = self.left.checked_sub(1)?;
        T::take(&mut self.data)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // Each element is at least a byte, which bounds what a caller may reserve.
        (0, Some(self.data.len().min(usize::try_from(self.left).unwrap_or(usize::MAX))))
    }
}

/// A Rust type that reads values of one declared type.
pub trait FromValue<'a>: Sized {
    /// Takes a value off the front of `data`.
    fn take(data: &mut &'a [u8]) -> Option<Self>;

    /// What stands for a required field in bytes that were never validated.
    fn zero() -> Self;
}

pub(crate) fn take_uint(data: &mut &[u8]) -> Option<u64> {
    let (value, used) = read_uint(data, 0, data.len()).ok()?;
    *data = data.get(used..)?;
    Some(value)
}

/// Takes a length and that many bytes.
#[inline]
pub(crate) fn take_bytes<'a>(data: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(take_uint(data)?).ok()?;
    let (taken, rest) = data.split_at_checked(len)?;
    *data = rest;
    Some(taken)
}

pub(crate) fn take_value<'a>(data: &mut &'a [u8], ty: &'static FieldType) -> Option<Value<'a>> {
    Some(match ty {
        FieldType::Uint => Value::Uint(u64::take(data)?),
        FieldType::Sint => Value::Sint(i64::take(data)?),
        FieldType::Bool => Value::Bool(bool::take(data)?),
        FieldType::Bytes => Value::Bytes(take_bytes(data)?),
        FieldType::String | FieldType::Path | FieldType::Enum(_) => Value::Text(<&str>::take(data)?),
        FieldType::Gid(_) => Value::Gid(Gid::take(data)?),
        FieldType::Record(schema) => Value::Record(Record::new(take_bytes(data)?, schema)),
        FieldType::Array(element) => {
            let len = take_uint(data)?;
            // An array inside an array does not occur in the schema: the elements are the rest of the field.
            Value::Array(Array { data: std::mem::take(data), len, element })
        }
    })
}

impl<'a> FromValue<'a> for u64 {
    fn take(data: &mut &'a [u8]) -> Option<u64> {
        take_uint(data)
    }

    fn zero() -> u64 {
        0
    }
}

impl<'a> FromValue<'a> for i64 {
    fn take(data: &mut &'a [u8]) -> Option<i64> {
        take_uint(data).map(unzigzag)
    }

    fn zero() -> i64 {
        0
    }
}

impl<'a> FromValue<'a> for bool {
    fn take(data: &mut &'a [u8]) -> Option<bool> {
        let (byte, rest) = data.split_first()?;
        *data = rest;
        Some(*byte == 1)
    }

    fn zero() -> bool {
        false
    }
}

impl<'a> FromValue<'a> for &'a [u8] {
    fn take(data: &mut &'a [u8]) -> Option<&'a [u8]> {
        take_bytes(data)
    }

    fn zero() -> &'a [u8] {
        &[]
    }
}

impl<'a> FromValue<'a> for &'a str {
    fn take(data: &mut &'a [u8]) -> Option<&'a str> {
        std::str::from_utf8(take_bytes(data)?).ok()
    }

    fn zero() -> &'a str {
        ""
    }
}

impl<'a> FromValue<'a> for Gid {
    fn take(data: &mut &'a [u8]) -> Option<Gid> {
        let bytes: &[u8; GID_LEN] = take_bytes(data)?.try_into().ok()?;
        Gid::from_bytes(bytes)
    }

    fn zero() -> Gid {
        Gid::new(crate::Family::Blob, [0; 32])
    }
}

impl<'a, T> FromValue<'a> for List<'a, T> {
    fn take(data: &mut &'a [u8]) -> Option<List<'a, T>> {
        let len = take_uint(data)?;
        Some(List { data: std::mem::take(data), len, element: PhantomData })
    }

    fn zero() -> List<'a, T> {
        List { data: &[], len: 0, element: PhantomData }
    }
}
