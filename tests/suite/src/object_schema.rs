//! The schema tables of the code against the published tables under `golden/object/schema`.

use crate::object_files::{golden, table};
use gemel_object::{ENUM_SETS, Family, FamilySchema, FieldSchema, FieldType, OpType, RecordSchema};

fn kind(ty: &FieldType) -> String {
    match ty {
        FieldType::Gid(family) => format!("gid {}", family.map_or("any", Family::name)),
        FieldType::Enum(set) => format!("enum {}", set.name),
        FieldType::Array(element) => format!("array of {}", kind(element)),
        other => other.name().to_owned(),
    }
}

fn line(record: &str, field: &FieldSchema) -> String {
    let need = if field.required { "required" } else { "optional" };
    let check = field.check.map_or("-", |check| check.name());
    let kinds: Vec<&str> =
        OpType::ALL.iter().filter(|kind| field.op_types.contains(**kind)).map(|kind| kind.as_str()).collect();
    let kinds = if kinds.is_empty() { "-".to_owned() } else { kinds.join(",") };
    assert_eq!(field.op_types.is_parameter(), kinds != "-");
    format!("{record}\t{:02x}\t{}\t{}\t{need}\t{check}\t{kinds}", field.tag, field.name, kind(&field.ty))
}

fn lines(record: &str, schema: &RecordSchema, out: &mut Vec<String>) {
    for field in schema.fields {
        out.push(line(record, field));
        if let FieldType::Record(nested) | FieldType::Array(FieldType::Record(nested)) = &field.ty {
            lines(&format!("{record}.{}", field.name), nested, out);
        }
    }
}

fn published(path: &str) -> Vec<String> {
    std::fs::read_to_string(golden(path)).unwrap().lines().skip(1).map(String::from).collect()
}

#[test]
fn fields_of_every_record() {
    let mut found = Vec::new();
    for family in Family::ALL {
        if let Some(body) = FamilySchema::of(family).body {
            lines(family.name(), body, &mut found);
        }
    }
    assert_eq!(found, published("object/schema/fields.tsv"));
}

#[test]
fn families() {
    let yes = |flag| if flag { "yes" } else { "no" };
    let rows = table("object/schema/families.tsv");
    assert_eq!(rows.rows().count(), Family::ALL.len());
    for (row, family) in rows.rows().zip(Family::ALL) {
        let schema = FamilySchema::of(family);
        assert_eq!(schema.family, family);
        assert_eq!(row.cell("code"), format!("{:02x}", family.code()));
        assert_eq!(row.cell("name"), family.name());
        assert_eq!(row.cell("schemever"), schema.schema_version.to_string());
        assert_eq!(row.cell("body"), if schema.body.is_some() { "fields" } else { "raw" });
        assert_eq!(row.cell("extensions"), yes(schema.extensions));
        assert_eq!(row.cell("append_chained"), yes(schema.append_chained));
        // The one rule that belongs to a family and not to a field is that of operation parameters.
        assert_eq!(row.cell("check"), if family == Family::Operation { "op-tags" } else { "-" });
    }
}

#[test]
fn enumerations() {
    let found: Vec<String> =
        ENUM_SETS.iter().map(|set| format!("{}\t{}", set.name, set.values.join(","))).collect();
    assert_eq!(found, published("object/schema/enums.tsv"));
}
