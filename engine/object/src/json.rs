//! The JSON projection of objects, both ways (object model, section 10). No JSON library is involved: a reader of
//! JSON text hands over a [`Json`] tree, and the text form is written here, so that its bytes are fixed.

use crate::record_builder::{RecordBuilder, mismatch, write_record};
use crate::varint::write_uint;
use crate::view::{Array, Record};
use crate::{
    EXTENSION_TAGS, Family, FamilySchema, FieldType, Gid, Object, ObjectBuilder, ObjectError, RecordSchema,
    Value, WriteValue,
};
use std::fmt::{self, Write};

/// A JSON value. Projections hold no numbers but tags and schema versions, so that these are unsigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(u64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object: members in the order they are written.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The member `name` of an object.
    pub fn member(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "bool",
            Json::Number(_) => "number",
            Json::Text(_) => "string",
            Json::List(_) => "array",
            Json::Object(_) => "object",
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Json {
    /// The text form: no spaces, members as they stand, only the necessary escapes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(value) => write!(f, "{value}"),
            Json::Text(text) => quote(f, text),
            Json::List(elements) => {
                separated(f, ['[', ']'], elements, |f, element| fmt::Display::fmt(element, f))
            }
            Json::Object(members) => separated(f, ['{', '}'], members, |f, (key, value)| {
                quote(f, key)?;
                write!(f, ":{value}")
            }),
        }
    }
}

fn separated<'f, T>(
    f: &mut fmt::Formatter<'f>,
    [open, close]: [char; 2],
    items: &[T],
    mut write: impl FnMut(&mut fmt::Formatter<'f>, &T) -> fmt::Result,
) -> fmt::Result {
    f.write_char(open)?;
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_char(',')?;
        }
        write(f, item)?;
    }
    f.write_char(close)
}

fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate().filter(|(_, byte)| matches!(byte, 0..0x20 | b'"' | b'\\')) {
        f.write_str(text.get(plain..at).unwrap_or_default())?;
        plain = at + 1;
        match byte {
            b'"' => f.write_str("\\\"")?,
            b'\\' => f.write_str("\\\\")?,
            0x08 => f.write_str("\\b")?,
            0x0C => f.write_str("\\f")?,
            b'\n' => f.write_str("\\n")?,
            b'\r' => f.write_str("\\r")?,
            b'\t' => f.write_str("\\t")?,
            other => write!(f, "\\u{other:04x}")?,
        }
    }
    f.write_str(text.get(plain..).unwrap_or_default())?;
    f.write_char('"')
}

/// Projects `object`. The members of every JSON object ascend, those of `extra` included: `show` passes the id and
/// the name there.
pub fn project(object: &Object<'_>, extra: &[(&str, Json)]) -> Json {
    let body = match object.schema().body {
        None => Json::Text(hex(object.body())),
        Some(_) => project_record(&object.record()),
    };
    let mut members = vec![
        ("body".to_owned(), body),
        ("family".to_owned(), Json::Text(object.family().name().to_owned())),
        ("schemever".to_owned(), Json::Number(u64::from(object.schema().schema_version))),
    ];
    members.extend(extra.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    members.sort_by(|a, b| a.0.cmp(&b.0));
    Json::Object(members)
}

fn project_record(record: &Record<'_>) -> Json {
    let fields = record.fields().map(|field| {
        let name = field.schema.map(|schema| ("name".to_owned(), Json::Text(schema.name.to_owned())));
        let tag = ("tag".to_owned(), Json::Number(u64::from(field.tag)));
        // Validation found a value in every field.
        let value = ("value".to_owned(), field.value().map_or(Json::Null, |value| project_value(&value)));
        Json::Object(name.into_iter().chain([tag, value]).collect())
    });
    Json::List(fields.collect())
}

fn project_value(value: &Value<'_>) -> Json {
    match value {
        Value::Uint(number) => Json::Text(number.to_string()),
        Value::Sint(number) => Json::Text(number.to_string()),
        Value::Bool(value) => Json::Bool(*value),
        Value::Bytes(bytes) | Value::Extension(bytes) => Json::Text(hex(bytes)),
        Value::Text(text) => Json::Text((*text).to_owned()),
        Value::Gid(gid) => Json::Text(gid.to_string()),
        Value::Record(record) => project_record(record),
        Value::Array(array) => project_array(array),
    }
}

fn project_array(array: &Array<'_>) -> Json {
    Json::List(array.iter().map(|value| project_value(&value)).collect())
}

fn hex(bytes: &[u8]) -> String {
    let digits = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(digits[usize::from(nibble & 0x0F)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

/// A builder with the content that `json` projects. `tag` decides which field a value is for, `name` is ignored; a
/// null is an absent field.
///
/// # Errors
/// `UnknownSchemaVersion`, `MalformedIdentity`, or `TypeMismatch` for JSON of another shape than the schema asks for.
pub fn build(json: &Json) -> Result<ObjectBuilder, ObjectError> {
    let shape = |expected, found: Option<&Json>| {
        let found = found.map_or("nothing", Json::kind);
        ObjectError::TypeMismatch { tag: 0, expected, found }
    };
    let name = json.member("family");
    let family = name.and_then(Json::text).and_then(Family::from_name);
    let family = family.ok_or_else(|| shape("family name", name))?;
    let schema = FamilySchema::of(family);
    match json.member("schemever") {
        Some(Json::Number(version)) if *version == u64::from(schema.schema_version) => {}
        Some(Json::Number(version)) => {
            let found = u8::try_from(*version).unwrap_or(u8::MAX);
            return Err(ObjectError::UnknownSchemaVersion { family, found });
        }
        other => return Err(shape("schema version", other)),
    }
    let mut builder = ObjectBuilder::new(family);
    let body = json.member("body").ok_or_else(|| shape("body", None))?;
    match schema.body {
        None => {
            builder.raw(&unhex(0, body)?);
        }
        Some(_) => fill_record(builder.body(), 0, body)?,
    }
    Ok(builder)
}

/// Adds the fields of `json`, the value of the field `outer`, to `record`.
fn fill_record(record: &mut RecordBuilder, outer: u8, json: &Json) -> Result<(), ObjectError> {
    let Json::List(fields) = json else {
        return Err(ObjectError::TypeMismatch { tag: outer, expected: "record", found: json.kind() });
    };
    for field in fields {
        let tag = match field.member("tag") {
            Some(Json::Number(tag)) => *tag,
            other => {
                let found = other.map_or("nothing", Json::kind);
                return Err(ObjectError::TypeMismatch { tag: outer, expected: "tag", found });
            }
        };
        let tag = u8::try_from(tag).map_err(|_| ObjectError::ReservedTag { at: 0, tag })?;
        match field.member("value") {
            None | Some(Json::Null) => {}
            Some(value) if EXTENSION_TAGS.contains(&tag) => {
                record.ext(tag, &unhex(tag, value)?);
            }
            Some(value) => {
                record.set(tag, Projected(value));
            }
        }
    }
    Ok(())
}

/// The JSON of one value, written as the type the schema declares.
#[derive(Clone, Copy)]
struct Projected<'j>(&'j Json);

impl WriteValue for Projected<'_> {
    fn write(self, out: &mut Vec<u8>, tag: u8, ty: &'static FieldType) -> Result<(), ObjectError> {
        match (ty, self.0) {
            (FieldType::Uint, Json::Text(text)) => decimal::<u64>(tag, ty, text)?.write(out, tag, ty),
            (FieldType::Sint, Json::Text(text)) => decimal::<i64>(tag, ty, text)?.write(out, tag, ty),
            (FieldType::Bool, Json::Bool(value)) => value.write(out, tag, ty),
            (FieldType::Bytes, value) => unhex(tag, value)?.as_slice().write(out, tag, ty),
            (FieldType::String | FieldType::Path | FieldType::Enum(_), Json::Text(text)) => {
                text.as_str().write(out, tag, ty)
            }
            (FieldType::Gid(_), Json::Text(text)) => Gid::parse(text)?.write(out, tag, ty),
            (FieldType::Record(schema), value) => projected_record(out, tag, schema, value),
            (FieldType::Array(element), Json::List(elements)) => {
                write_uint(out, elements.len() as u64);
                elements.iter().try_for_each(|value| Projected(value).write(out, tag, element))
            }
            (_, other) => Err(mismatch(tag, ty, other.kind())),
        }
    }
}

fn projected_record(
    out: &mut Vec<u8>,
    tag: u8,
    schema: &'static RecordSchema,
    json: &Json,
) -> Result<(), ObjectError> {
    write_record(out, schema, |record| {
        if let Err(error) = fill_record(record, tag, json) {
            record.fail(error);
        }
    })
}

/// A number as it is projected: digits, `-` in front of a negative one, nothing superfluous.
fn decimal<N: std::str::FromStr + ToString>(tag: u8, ty: &FieldType, text: &str) -> Result<N, ObjectError> {
    let number = text.parse::<N>().ok().filter(|number| number.to_string() == text);
    number.ok_or_else(|| mismatch(tag, ty, "other text"))
}

fn unhex(tag: u8, json: &Json) -> Result<Vec<u8>, ObjectError> {
    let malformed = |found| ObjectError::TypeMismatch { tag, expected: "lowercase hex digits", found };
    let text = json.text().ok_or(malformed(json.kind()))?;
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low),
        _ => None,
    });
    pairs.collect::<Option<Vec<u8>>>().ok_or(malformed("other text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::families::NewState;

    #[test]
    fn escapes() {
        let text = Json::Text("\"\\/\u{8}\u{c}\n\r\t\0\u{1f}\u{7f}\u{e9}\u{1f600}".into());
        assert_eq!(text.to_string(), "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}\u{e9}\u{1f600}\"");
    }

    fn sample() -> crate::Encoded {
        let root = Gid::new(Family::Tree, [2; 32]);
        let extensions: &[(u8, &[u8])] = &[(0x80, b"\x01\xff")];
        NewState { root_tree: Some(root), extensions }.encode(&Limits::DEFAULT).unwrap()
    }

    #[test]
    fn members_ascend_and_extensions_have_no_name() {
        let encoded = sample();
        let object = Object::decode(&encoded.bytes, &Limits::DEFAULT).unwrap();
        let hex = "02".repeat(32);
        let expected = format!(
            r#"{{"body":[{{"name":"root_tree","tag":1,"value":"tree.{hex}"}},{{"tag":128,"value":"01ff"}}],"family":"state","id":"x","schemever":1}}"#
        );
        assert_eq!(project(&object, &[("id", Json::Text("x".into()))]).to_string(), expected);
    }

    fn field(tag: u64, value: Json) -> Json {
        Json::Object(vec![("value".into(), value), ("tag".into(), Json::Number(tag))])
    }

    fn object(family: &str, fields: Vec<Json>) -> Json {
        Json::Object(vec![
            ("schemever".into(), Json::Number(1)),
            ("family".into(), Json::Text(family.into())),
            ("body".into(), Json::List(fields)),
        ])
    }

    fn outcome(json: &Json) -> Result<(), &'static str> {
        let encoded = build(json).and_then(|builder| builder.finish(&Limits::DEFAULT));
        encoded.map(drop).map_err(|error| error.name())
    }

    #[test]
    fn null_is_absence() {
        let summary = field(1, Json::Text("x".into()));
        assert_eq!(outcome(&object("intent", vec![summary.clone(), field(2, Json::Null)])), Ok(()));
        assert_eq!(outcome(&object("intent", vec![field(1, Json::Null)])), Err("MissingRequiredField"));
    }

    #[test]
    fn shapes_that_do_not_fit() {
        let text = |text: &str| Json::Text(text.into());
        let check = |family: &str, tag, value, name| {
            assert_eq!(outcome(&object(family, vec![field(tag, value)])), Err(name), "{family} {tag}");
        };
        check("intent", 1, Json::Number(1), "TypeMismatch");
        check("intent", 12, text("1.5"), "TypeMismatch");
        check("intent", 12, text("+1"), "TypeMismatch");
        check("intent", 12, text("01"), "TypeMismatch");
        check("intent", 12, text("9223372036854775808"), "TypeMismatch");
        check("intent", 8, text("intent.00"), "MalformedIdentity");
        check("intent", 3, text("a"), "TypeMismatch");
        check("intent", 9, Json::List(vec![text("a")]), "TypeMismatch");
        check("intent", 9, Json::List(vec![Json::List(vec![text("a")])]), "TypeMismatch");
        check("change", 10, text("0"), "TypeMismatch");
        check("change", 10, text("AA"), "TypeMismatch");
        check("change", 127, text("a"), "UnknownMandatoryField");
        check("change", 128, Json::Bool(true), "TypeMismatch");
        check("change", 240, text(""), "ReservedTag");
        check("change", 1 << 40, text(""), "ReservedTag");
        assert_eq!(outcome(&object("commit", vec![])), Err("TypeMismatch"));
        assert_eq!(outcome(&Json::Null), Err("TypeMismatch"));
        assert_eq!(outcome(&object("blob", vec![])), Err("TypeMismatch"));
    }
}
