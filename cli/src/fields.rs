//! The fields of any object, by its schema: canonical JSON, compact JSON, and lines for people.

use crate::color::Style;
use crate::ids::hex;
use crate::json::{Json, Obj};
use crate::render::{Printer, Table};
use crate::time;
use gemel_object::{Array, Family, FieldType, Object, Record, Value as Field, json};
use gemel_repo::history::Veil;
use serde_json::{Map, Value};

/// The capture record of a state (object model, section 7.2).
const CAPTURE_TAG: u8 = 0x80;
/// Why and by whom a version of the config was made (the same section).
const REASON_TAG: u8 = 0x80;
const PRODUCER_TAG: u8 = 0x81;
/// Names are looked up for this many references of a list; the rest are shown by their digits.
const NAMED_REFERENCES: usize = 16;
/// Lists of plain values up to this length are shown on one line.
const INLINE_ELEMENTS: u64 = 4;

/// The canonical form (object model, section 10), with the names of known extensions and without what `veil` hides.
pub(crate) fn canonical(object: &Object<'_>, veil: &Veil) -> Map<String, Value> {
    let mut form = match plain(json::project(object, &[])) {
        Value::Object(form) => form,
        _ => Map::new(),
    };
    if let Some(Value::Array(body)) = form.get_mut("body") {
        let hidden: Vec<u8> =
            object.record().fields().filter(|field| veil.hides(field)).map(|field| field.tag).collect();
        let tag =
            |field: &Value| field.get("tag").and_then(Value::as_u64).and_then(|tag| u8::try_from(tag).ok());
        body.retain(|field| tag(field).is_none_or(|tag| !hidden.contains(&tag)));
        for field in body.iter_mut().filter_map(Value::as_object_mut) {
            let tag = field.get("tag").and_then(Value::as_u64).and_then(|tag| u8::try_from(tag).ok());
            if let Some(name) = tag.and_then(|tag| extension_name(object.family(), tag)) {
                field.insert("name".to_owned(), name.json());
            }
        }
    }
    form
}

/// The projection as a value of the JSON library.
fn plain(projected: json::Json) -> Value {
    match projected {
        json::Json::Null => Value::Null,
        json::Json::Bool(flag) => Value::Bool(flag),
        json::Json::Number(number) => Value::from(number),
        json::Json::Text(text) => Value::String(text),
        json::Json::List(elements) => Value::Array(elements.into_iter().map(plain).collect()),
        json::Json::Object(members) => {
            Value::Object(members.into_iter().map(|(k, v)| (k, plain(v))).collect())
        }
    }
}

/// Named fields with plain numbers, without what `veil` hides. Times are told only when asked for.
pub(crate) fn compact(object: &Object<'_>, veil: &Veil, timestamps: bool) -> Map<String, Value> {
    let shown = object.record().fields().filter(|field| !veil.hides(field));
    let mut form = compact_fields(shown, object.family(), timestamps);
    if object.family() == Family::Blob {
        form.insert("bytes".to_owned(), object.body().len().json());
    }
    form.insert("family".to_owned(), object.family().name().json());
    form
}

fn compact_fields<'a>(
    fields: impl Iterator<Item = gemel_object::Field<'a>>,
    family: Family,
    timestamps: bool,
) -> Map<String, Value> {
    let mut form = Obj::new();
    for field in fields {
        let Some(value) = field.value() else { continue };
        match field.schema {
            Some(schema) if is_time(schema.name) && !timestamps => {}
            Some(schema) => form = form.put(schema.name, &compact_value(&value, family, timestamps)),
            None => {
                let name = extension_name(family, field.tag);
                let text = name.and_then(|_| std::str::from_utf8(field.raw).ok());
                let value = match family {
                    Family::State => text.and_then(|text| serde_json::from_str(text).ok()),
                    _ => text.map(Value::from),
                };
                let key = name.map_or_else(|| format!("extension_{:02x}", field.tag), str::to_owned);
                form = form.put(&key, &value.unwrap_or_else(|| Value::from(hex(field.raw))));
            }
        }
    }
    form.map()
}

fn compact_value(value: &Field<'_>, family: Family, timestamps: bool) -> Value {
    match value {
        Field::Uint(number) => number.json(),
        Field::Sint(number) => number.json(),
        Field::Bool(flag) => flag.json(),
        Field::Bytes(bytes) | Field::Extension(bytes) => Value::from(hex(bytes)),
        Field::Text(text) => text.json(),
        Field::Gid(id) => id.json(),
        Field::Record(record) => Value::Object(compact_fields(record.fields(), family, timestamps)),
        Field::Array(array) => {
            Value::Array(array.iter().map(|v| compact_value(&v, family, timestamps)).collect())
        }
    }
}

/// One line a field that `veil` does not hide, nested records indented, references by name and digits.
pub(crate) fn human(object: &Object<'_>, veil: &Veil, out: &mut Printer<'_>) {
    match object.family() {
        Family::Blob => drop(out.field("bytes", &object.body().len().to_string())),
        Family::Tree => entries(&object.record(), out),
        family => {
            let shown = object.record().fields().filter(|field| !veil.hides(field));
            Lines { family }.fields(shown, 1, out);
        }
    }
}

struct Lines {
    family: Family,
}

impl Lines {
    fn record(&self, record: &Record<'_>, depth: usize, out: &mut Printer<'_>) {
        self.fields(record.fields(), depth, out);
    }

    fn fields<'a>(
        &self,
        fields: impl Iterator<Item = gemel_object::Field<'a>>,
        depth: usize,
        out: &mut Printer<'_>,
    ) {
        for field in fields {
            let (Some(value), name) = (field.value(), self.name(&field)) else { continue };
            out.lit(&"  ".repeat(depth)).lit(&name).lit(":");
            match value {
                Field::Record(nested) => {
                    out.end();
                    self.record(&nested, depth + 1, out);
                }
                Field::Array(array) => self.array(&array, depth, out),
                value => {
                    out.lit(" ");
                    self.value(&value, field.schema.map(|schema| &schema.ty), &name, depth, out);
                    out.end();
                }
            }
        }
    }

    fn array(&self, array: &Array<'_>, depth: usize, out: &mut Printer<'_>) {
        let on_one_line = array.len() <= INLINE_ELEMENTS && array.iter().all(|value| is_scalar(&value));
        if array.is_empty() {
            out.lit(" none");
        }
        if !on_one_line {
            out.end();
        }
        for (index, value) in array.iter().enumerate() {
            match value {
                _ if on_one_line => drop(out.lit(if index > 0 { ", " } else { " " })),
                _ => drop(out.lit(&"  ".repeat(depth + 1)).lit("- ")),
            }
            match value {
                Field::Record(nested) if nested.fields().filter_map(|f| f.value()).all(|v| is_scalar(&v)) => {
                    self.flat(&nested, depth + 1, out);
                }
                Field::Record(nested) => {
                    out.end();
                    self.record(&nested, depth + 2, out);
                    continue;
                }
                Field::Gid(id) if index >= NAMED_REFERENCES => drop(out.named(&id, None)),
                value => self.value(&value, Some(array.element()), "", depth + 1, out),
            }
            if !on_one_line {
                out.end();
            }
        }
        if on_one_line {
            out.end();
        }
    }

    /// A record of a list on one line.
    fn flat(&self, record: &Record<'_>, depth: usize, out: &mut Printer<'_>) {
        for (index, field) in record.fields().enumerate() {
            let (Some(value), name) = (field.value(), self.name(&field)) else { continue };
            out.lit(if index > 0 { ", " } else { "" }).lit(&name).lit(" ");
            self.value(&value, field.schema.map(|schema| &schema.ty), &name, depth, out);
        }
    }

    fn value(
        &self,
        value: &Field<'_>,
        ty: Option<&FieldType>,
        name: &str,
        depth: usize,
        out: &mut Printer<'_>,
    ) {
        match value {
            Field::Uint(number) => out.lit(&number.to_string()),
            Field::Sint(ms) if is_time(&name.replace(' ', "_")) => out.lit(&time::utc(*ms)),
            Field::Sint(number) => out.lit(&number.to_string()),
            Field::Bool(flag) => out.lit(if *flag { "yes" } else { "no" }),
            Field::Bytes(bytes) => out.lit(&hex(bytes)),
            Field::Extension(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => out.text(text),
                Err(_) => out.lit(&hex(bytes)),
            },
            Field::Text(text) => text_lines(text, depth, out),
            Field::Gid(id) => {
                if !matches!(ty, Some(FieldType::Gid(Some(_)))) {
                    out.lit(id.family().name()).lit(" ");
                }
                out.lookup(id)
            }
            Field::Record(_) | Field::Array(_) => out,
        };
    }

    fn name(&self, field: &gemel_object::Field<'_>) -> String {
        let name = field.schema.map(|schema| schema.name).or_else(|| extension_name(self.family, field.tag));
        name.map_or_else(|| format!("extension {:02x}", field.tag), |name| name.replace('_', " "))
    }
}

/// Text of several lines keeps its lines, indented.
fn text_lines<'p, 'w>(text: &str, depth: usize, out: &'p mut Printer<'w>) -> &'p mut Printer<'w> {
    for (index, line) in text.trim_end().split('\n').enumerate() {
        if index > 0 {
            out.end().lit(&"  ".repeat(depth + 1));
        }
        out.text(line);
    }
    out
}

fn is_scalar(value: &Field<'_>) -> bool {
    !matches!(value, Field::Record(_) | Field::Array(_))
}

/// The entries of a tree: mode, target, name.
fn entries(record: &Record<'_>, out: &mut Printer<'_>) {
    let Some(Field::Array(list)) = record.get_named("entries").and_then(|field| field.value()) else {
        return;
    };
    let mut table = Table::default();
    for entry in list.iter() {
        let Field::Record(entry) = entry else { continue };
        let value = |name: &str| entry.get_named(name).and_then(|field| field.value());
        let (Some(Field::Text(name)), Some(Field::Uint(mode)), Some(Field::Gid(target))) =
            (value("name"), value("mode"), value("target"))
        else {
            continue;
        };
        let family = target.family().name().to_owned();
        let digits = out.short(&target);
        table.row([
            (Style::Dim, format!("{mode:06o}")),
            (Style::Plain, family),
            (Style::Id, digits),
            (Style::Plain, name.to_owned()),
        ]);
    }
    table.print("  ", out);
}

fn extension_name(family: Family, tag: u8) -> Option<&'static str> {
    match (family, tag) {
        (Family::State, CAPTURE_TAG) => Some("capture"),
        (Family::Config, REASON_TAG) => Some("reason"),
        (Family::Config, PRODUCER_TAG) => Some("producer"),
        _ => None,
    }
}

/// Whether a field holds a time, by the naming rule of the schema.
fn is_time(name: &str) -> bool {
    name == "at" || name.ends_with("_at")
}
