//! The schema tables of the object model as a document shows them, made from the tables the code uses.

use gemel_object::{EnumSet, Family, FamilySchema, FieldSchema, FieldType, OpType, RecordSchema};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Field tables of all families, with their nested records, in Markdown.
pub fn families() -> String {
    let mut out = String::new();
    for family in Family::ALL {
        let schema = FamilySchema::of(family);
        let mut traits = String::new();
        if schema.append_chained {
            traits.push_str(", append-chained");
        }
        if !schema.extensions {
            traits.push_str(", no extensions");
        }
        let _ = writeln!(out, "**{:02X} `{}`**{traits}\n", family.code(), family.name());
        match schema.body {
            None => out.push_str("The body is raw bytes.\n\n"),
            Some(body) => {
                out.push_str("| tag | field | type | rule |\n|---|---|---|---|\n");
                record(&mut out, body, "");
                out.push('\n');
            }
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// The enumerated sets that fields refer to, by name, in Markdown.
pub fn enums() -> String {
    let mut sets = BTreeMap::new();
    for family in Family::ALL {
        if let Some(body) = FamilySchema::of(family).body {
            collect(body, &mut sets);
        }
    }
    let mut out = "| set | values |\n|---|---|\n".to_string();
    for (name, set) in sets {
        let values: Vec<String> = set.values.iter().map(|value| format!("`{value}`")).collect();
        let _ = writeln!(out, "| {name} | {} |", values.join(" "));
    }
    out.truncate(out.trim_end().len());
    out
}

/// One row for each field; fields of nested records follow with the path that leads to them. The schema is data of
/// this program and a few levels deep.
fn record(out: &mut String, schema: &RecordSchema, path: &str) {
    for field in schema.fields {
        let name = format!("{path}{}", field.name);
        let _ = writeln!(out, "| {:02X} | {name} | {} | {} |", field.tag, type_name(&field.ty), rules(field));
        match &field.ty {
            FieldType::Record(inner) => record(out, inner, &format!("{name}.")),
            FieldType::Array(FieldType::Record(inner)) => record(out, inner, &format!("{name}[].")),
            _ => {}
        }
    }
}

fn type_name(ty: &FieldType) -> String {
    match ty {
        FieldType::Gid(None) => "gid".to_string(),
        FieldType::Gid(Some(family)) => format!("gid of {}", family.name()),
        FieldType::Enum(set) => format!("enum {}", set.name),
        FieldType::Array(element) => format!("array of {}", type_name(element)),
        other => other.name().to_string(),
    }
}

fn rules(field: &FieldSchema) -> String {
    let mut rules = Vec::new();
    if field.required {
        rules.push("required".to_string());
    }
    rules.extend(field.check.map(|check| check.name().to_string()));
    if field.op_types.is_parameter() {
        let kinds: Vec<&str> = OpType::ALL
            .iter()
            .filter(|kind| field.op_types.contains(**kind))
            .map(|kind| kind.as_str())
            .collect();
        rules.push(format!("with {}", kinds.join(", ")));
    }
    rules.join("; ")
}

fn collect(schema: &RecordSchema, sets: &mut BTreeMap<&'static str, &'static EnumSet>) {
    for field in schema.fields {
        let element = if let FieldType::Array(element) = &field.ty { element } else { &field.ty };
        match element {
            FieldType::Enum(set) => {
                sets.insert(set.name, set);
            }
            FieldType::Record(inner) => collect(inner, sets),
            _ => {}
        }
    }
}
