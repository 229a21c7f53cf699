//! One declaration of a record gives its schema, its borrowed view and its write form, so that the three agree.
//!
//! A field is written `tag name: need type`, with `req` or `opt` and one of `str uint sint bool bytes path`,
//! `(enum E)`, `(gid Family)`, `(gid *)`, `(record R)`, `[element]`; then, where there is one, `check Rule` or, for
//! the parameter of an operation, `for Kind Kind ...`.

/// The [`FieldType`](crate::FieldType) of a field.
macro_rules! field_type {
    (str) => {
        $crate::FieldType::String
    };
    (path) => {
        $crate::FieldType::Path
    };
    (uint) => {
        $crate::FieldType::Uint
    };
    (sint) => {
        $crate::FieldType::Sint
    };
    (bool) => {
        $crate::FieldType::Bool
    };
    (bytes) => {
        $crate::FieldType::Bytes
    };
    ((enum $set:ident)) => {
        $crate::FieldType::Enum($crate::$set::SET)
    };
    ((gid *)) => {
        $crate::FieldType::Gid(None)
    };
    ((gid $family:ident)) => {
        $crate::FieldType::Gid(Some($crate::Family::$family))
    };
    ((record $view:ident / $new:ident)) => {
        $crate::FieldType::Record($view::SCHEMA)
    };
    ((schema $schema:ident)) => {
        $crate::FieldType::Record($schema)
    };
    ([$element:tt]) => {
        $crate::FieldType::Array(&field_type!($element))
    };
}

/// The Rust type that reads a value.
macro_rules! read_type {
    ($lt:lifetime str) => { &$lt str };
    ($lt:lifetime path) => { &$lt str };
    ($lt:lifetime uint) => { u64 };
    ($lt:lifetime sint) => { i64 };
    ($lt:lifetime bool) => { bool };
    ($lt:lifetime bytes) => { &$lt [u8] };
    ($lt:lifetime (enum $set:ident)) => { $crate::$set };
    ($lt:lifetime (gid $($family:tt)?)) => { $crate::Gid };
    ($lt:lifetime (record $view:ident / $new:ident)) => { $view<$lt> };
    ($lt:lifetime [$element:tt]) => { $crate::List<$lt, read_type!($lt $element)> };
}

/// The Rust type that is written as a value.
macro_rules! write_type {
    ($lt:lifetime [str]) => { $crate::Strings<$lt> };
    ($lt:lifetime [(gid $($family:tt)?)]) => { &$lt [$crate::Gid] };
    ($lt:lifetime [(record $view:ident / $new:ident)]) => { &$lt [$new<$lt>] };
    ($lt:lifetime (record $view:ident / $new:ident)) => { $new<$lt> };
    ($lt:lifetime $ty:tt) => { read_type!($lt $ty) };
}

/// What an accessor returns: a list, a value, or an optional value.
macro_rules! accessor_type {
    ($lt:lifetime $need:ident [$element:tt]) => { $crate::List<$lt, read_type!($lt $element)> };
    ($lt:lifetime req $ty:tt) => { read_type!($lt $ty) };
    ($lt:lifetime opt $ty:tt) => { Option<read_type!($lt $ty)> };
}

/// The body of an accessor.
macro_rules! accessor_body {
    ($record:expr, $tag:literal, $need:ident [$element:tt]) => {
        $record.list($tag)
    };
    ($record:expr, $tag:literal, req $ty:tt) => {
        $record.required($tag)
    };
    ($record:expr, $tag:literal, opt $ty:tt) => {
        $record.optional($tag)
    };
}

macro_rules! is_required {
    (req) => {
        true
    };
    (opt) => {
        false
    };
}

macro_rules! optional_check {
    () => {
        None
    };
    ($check:ident) => {
        Some($crate::Check::$check)
    };
}

/// A [`RecordSchema`](crate::RecordSchema).
macro_rules! record_schema {
    ($($tag:literal $name:ident : $need:ident $ty:tt
        $(check $check:ident)? $(for $($kind:ident)+)?),* $(,)?) => {
        &$crate::RecordSchema::new(&[$($crate::FieldSchema {
            tag: $tag,
            name: stringify!($name),
            ty: field_type!($ty),
            required: is_required!($need),
            check: optional_check!($($check)?),
            op_types: $crate::OpTypes::of(&[$($($crate::OpType::$kind),+)?]),
        }),*])
    };
}

/// A nested record: schema, view and write form.
macro_rules! record {
    ($(#[$meta:meta])* $view:ident / $new:ident {
        $($tag:literal $name:ident : $need:ident $ty:tt $(check $check:ident)? $(for $($kind:ident)+)?),* $(,)?
    }) => {
        $(#[$meta])*
        ///
        /// Borrowed from the bytes of an object.
        #[derive(Clone, Copy, Debug)]
        pub struct $view<'a>($crate::Record<'a>);

        impl<'a> $view<'a> {
            /// The declared fields.
            pub const SCHEMA: &'static $crate::RecordSchema = record_schema! {
                $($tag $name: $need $ty $(check $check)? $(for $($kind)+)?),*
            };

            /// The untyped view, extensions included.
            pub fn record(&self) -> $crate::Record<'a> {
                self.0
            }

            $(
                #[doc = concat!("Field ", stringify!($tag), ", `", stringify!($name), "`.")]
                pub fn $name(&self) -> accessor_type!('a $need $ty) {
                    accessor_body!(self.0, $tag, $need $ty)
                }
            )*
        }

        impl<'a> $crate::view::FromValue<'a> for $view<'a> {
            fn take(data: &mut &'a [u8]) -> Option<$view<'a>> {
                $crate::view::take_bytes(data).map(|data| $view($crate::Record::new(data, Self::SCHEMA)))
            }

            fn zero() -> $view<'a> {
                $view($crate::Record::new(&[], Self::SCHEMA))
            }
        }

        #[doc = concat!("Values for a new [`", stringify!($view), "`]; a field left `None` is absent.")]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $new<'a> {
            $(
                #[doc = concat!("Field ", stringify!($tag), ", `", stringify!($name), "`.")]
                pub $name: Option<write_type!('a $ty)>,
            )*
            /// Extension fields: tag and bytes.
            pub extensions: &'a [(u8, &'a [u8])],
        }

        impl $crate::record_builder::WriteRecord for $new<'_> {
            fn write_fields(&self, out: &mut $crate::RecordBuilder) {
                $(out.set_if($tag, self.$name);)*
                for (tag, bytes) in self.extensions {
                    out.ext(*tag, bytes);
                }
            }
        }

        $crate::macros::write_records! { $new }
    };
}

/// A write form as the value of a field, alone and in an array.
macro_rules! write_records {
    ($new:ident) => {
        impl $crate::WriteValue for $new<'_> {
            fn write(
                self,
                out: &mut Vec<u8>,
                tag: u8,
                ty: &'static $crate::FieldType,
            ) -> Result<(), $crate::ObjectError> {
                use $crate::record_builder::{WriteRecord, mismatch, write_record};
                match ty {
                    $crate::FieldType::Record(schema) => {
                        write_record(out, schema, |record| self.write_fields(record))
                    }
                    other => Err(mismatch(tag, other, "record")),
                }
            }
        }

        impl $crate::WriteValue for &[$new<'_>] {
            fn write(
                self,
                out: &mut Vec<u8>,
                tag: u8,
                ty: &'static $crate::FieldType,
            ) -> Result<(), $crate::ObjectError> {
                $crate::record_builder::write_array(out, tag, ty, self.iter(), |out, element, item| {
                    $crate::WriteValue::write(*item, out, tag, element)
                })
            }
        }
    };
}

/// A family: as a nested record, and readable from and writable as an object.
macro_rules! family {
    ($(#[$meta:meta])* $view:ident / $new:ident { $($fields:tt)* }) => {
        record! { $(#[$meta])* $view / $new { $($fields)* } }

        impl<'a> $view<'a> {
            /// The family of these objects.
            pub const FAMILY: $crate::Family = $crate::Family::$view;

            /// Views `object` as one of this family.
            ///
            /// # Errors
            /// `FamilyMismatch` when it is of another.
            pub fn view(object: &$crate::Object<'a>) -> Result<$view<'a>, $crate::ObjectError> {
                object.record_of(Self::FAMILY).map($view)
            }

            /// Validates `envelope` and views it.
            ///
            /// # Errors
            /// What [`Object::decode`](crate::Object::decode) answers, or `FamilyMismatch`.
            pub fn decode(
                envelope: &'a [u8],
                limits: &$crate::Limits,
            ) -> Result<$view<'a>, $crate::ObjectError> {
                $crate::Object::decode(envelope, limits).and_then(|object| $view::view(&object))
            }
        }

        impl $new<'_> {
            /// Encodes the object and names it.
            ///
            /// # Errors
            /// Every rule a reader applies, and the rules that bind writers only.
            pub fn encode(&self, limits: &$crate::Limits) -> Result<$crate::Encoded, $crate::ObjectError> {
                let mut builder = $crate::ObjectBuilder::new($crate::Family::$view);
                $crate::record_builder::WriteRecord::write_fields(self, builder.body());
                builder.finish(limits)
            }
        }
    };
}

pub(crate) use {
    accessor_body, accessor_type, family, field_type, is_required, optional_check, read_type, record,
    record_schema, write_records, write_type,
};
