//! The fields of any object, by its schema: canonical JSON, compact JSON, and lines for people.

use crate::color::Style;
use crate::json::{Json, Obj};
use crate::render::{Printer, Table};
use crate::time;
use gemel_object::{Family, Gid, Object, Record, Value as Field, json};
use gemel_repo::{Repo, names};
use serde_json::{Map, Value};

/// The capture record of a state (object model, section 7.2).
const CAPTURE_TAG: u8 = 0x80;
/// Names are looked up for this many references of a list; the rest are shown by their digits.
const NAMED_REFERENCES: usize = 16;

/// The canonical form (object model, section 10), with the names of known extensions.
pub(crate) fn canonical(object: &Object<'_>) -> Map<String, Value> {
    let mut form = match plain(json::project(object, &[])) {
        Value::Object(form) => form,
        _ => Map::new(),
    };
    if let Some(Value::Array(body)) = form.get_mut("body") {
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

/// Named fields with plain numbers. Times are told only when asked for.
pub(crate) fn compact(object: &Object<'_>, timestamps: bool) -> Map<String, Value> {
    let mut form = compact_record(&object.record(), object.family(), timestamps);
    if object.family() == Family::Blob {
        form.insert("bytes".to_owned(), object.body().len().json());
    }
    form.insert("family".to_owned(), object.family().name().json());
    form
}

fn compact_record(record: &Record<'_>, family: Family, timestamps: bool) -> Map<String, Value> {
    let mut form = Obj::new();
    for field in record.fields() {
        let Some(value) = field.value() else { continue };
        match field.schema {
            Some(schema) if is_time(schema.name) && !timestamps => {}
            Some(schema) => form = form.put(schema.name, &compact_value(&value, family, timestamps)),
            None => {
                let name = extension_name(family, field.tag);
                let text = name.and_then(|_| std::str::from_utf8(field.raw).ok());
                let value = text.and_then(|text| serde_json::from_str(text).ok());
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
        Field::Record(record) => Value::Object(compact_record(record, family, timestamps)),
        Field::Array(array) => {
            Value::Array(array.iter().map(|v| compact_value(&v, family, timestamps)).collect())
        }
    }
}

/// One line a field, nested records indented, references by name and digits.
pub(crate) fn human(object: &Object<'_>, repo: &Repo, out: &mut Printer<'_>) {
    match object.family() {
        Family::Blob => drop(out.field("bytes", &object.body().len().to_string())),
        Family::Tree => entries(&object.record(), out),
        family => Lines { repo, family }.record(&object.record(), 1, out),
    }
}

struct Lines<'r> {
    repo: &'r Repo,
    family: Family,
}

impl Lines<'_> {
    fn record(&self, record: &Record<'_>, depth: usize, out: &mut Printer<'_>) {
        for field in record.fields() {
            let Some(value) = field.value() else { continue };
            let name =
                field.schema.map(|schema| schema.name).or_else(|| extension_name(self.family, field.tag));
            let label =
                name.map_or_else(|| format!("extension {:02x}", field.tag), |name| name.replace('_', " "));
            out.lit(&"  ".repeat(depth)).lit(&label).lit(":");
            match value {
                Field::Sint(ms) if name.is_some_and(is_time) => drop(out.lit(" ").lit(&time::utc(ms)).end()),
                Field::Record(record) => {
                    out.end();
                    self.record(&record, depth + 1, out);
                }
                Field::Array(array) if array.is_empty() => drop(out.lit(" none").end()),
                Field::Array(array) => {
                    out.end();
                    for (index, element) in array.iter().enumerate() {
                        self.element(&element, index, depth + 1, out);
                    }
                }
                value => {
                    out.lit(" ");
                    self.scalar(&value, 0, depth, out);
                }
            }
        }
    }

    fn element(&self, value: &Field<'_>, index: usize, depth: usize, out: &mut Printer<'_>) {
        out.lit(&"  ".repeat(depth)).lit("- ");
        match value {
            Field::Record(record) if is_flat(record) => {
                for (index, field) in record.fields().enumerate() {
                    out.lit(if index > 0 { ", " } else { "" });
                    out.lit(&field.schema.map_or("extension", |schema| schema.name).replace('_', " "))
                        .lit(" ");
                    if let Some(value) = field.value() {
                        self.value(&value, index, depth, out);
                    }
                }
                out.end();
            }
            Field::Record(record) => {
                out.end();
                self.record(record, depth + 1, out);
            }
            value => self.scalar(value, index, depth, out),
        }
    }

    fn scalar(&self, value: &Field<'_>, index: usize, depth: usize, out: &mut Printer<'_>) {
        self.value(value, index, depth, out);
        out.end();
    }

    fn value(&self, value: &Field<'_>, index: usize, depth: usize, out: &mut Printer<'_>) {
        match value {
            Field::Uint(number) => out.lit(&number.to_string()),
            Field::Sint(number) => out.lit(&number.to_string()),
            Field::Bool(flag) => out.lit(if *flag { "yes" } else { "no" }),
            Field::Bytes(bytes) => out.lit(&hex(bytes)),
            Field::Extension(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => out.text(text),
                Err(_) => out.lit(&hex(bytes)),
            },
            Field::Text(text) => self.text(text, depth, out),
            Field::Gid(id) => self.reference(id, index, out),
            Field::Record(_) | Field::Array(_) => out,
        };
    }

    /// Text of several lines keeps its lines, indented.
    fn text<'p, 'w>(&self, text: &str, depth: usize, out: &'p mut Printer<'w>) -> &'p mut Printer<'w> {
        for (index, line) in text.trim_end().split('\n').enumerate() {
            if index > 0 {
                out.end().lit(&"  ".repeat(depth + 1));
            }
            out.text(line);
        }
        out
    }

    fn reference<'p, 'w>(&self, id: &Gid, index: usize, out: &'p mut Printer<'w>) -> &'p mut Printer<'w> {
        // A name is a convenience: an object without a readable one is shown by its digits.
        let name = if index < NAMED_REFERENCES { names::name_of(self.repo, id).ok().flatten() } else { None };
        out.lit(id.family().name()).lit(" ").named(id, name.as_deref())
    }
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

/// Whether a record fits on a line.
fn is_flat(record: &Record<'_>) -> bool {
    let nested = |value: &Field<'_>| matches!(value, Field::Record(_) | Field::Array(_));
    record.fields().filter_map(|field| field.value()).all(|value| !nested(&value))
}

fn extension_name(family: Family, tag: u8) -> Option<&'static str> {
    (family == Family::State && tag == CAPTURE_TAG).then_some("capture")
}

/// Whether a field holds a time, by the naming rule of the schema.
fn is_time(name: &str) -> bool {
    name == "at" || name.ends_with("_at")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
