//! Objects made from arbitrary bytes by walking the schema tables, for property tests. Every choice is taken from the
//! front of the input, so that shrinking the input shrinks the object.

use gemel_object::{
    Encoded, Family, FamilySchema, FieldSchema, FieldType, Gid, Limits, Mode, ObjectBuilder, OpType,
    RecordBuilder, RecordSchema,
};

struct Choices<'c>(&'c [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    fn wide(&mut self) -> u64 {
        let bytes = self.below(9);
        (0..bytes).fold(0, |value, _| value << 8 | u64::from(self.byte()))
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = self.below(40);
        (0..len).map(|_| self.byte()).collect()
    }

    fn text(&mut self) -> String {
        const PARTS: [&str; 12] =
            ["a", "B", "\u{e9}", "e\u{301}", "\u{1F600}", "\0", "\n", "\"", "\\", "/", " ", "\u{7f}"];
        let len = self.below(12);
        (0..len).map(|_| PARTS[self.below(PARTS.len())]).collect()
    }

    fn segment(&mut self) -> String {
        const PARTS: [&str; 8] = ["a", "b", ".", "-", "\u{e9}", "~", ":", "long segment text "];
        let len = self.below(9);
        let tail: String = (0..len).map(|_| PARTS[self.below(PARTS.len())]).collect();
        format!("n{tail}")
    }

    fn gid(&mut self, family: Option<Family>) -> Gid {
        let family = family.unwrap_or_else(|| Family::ALL[self.below(24)]);
        Gid::new(family, [self.byte(); 32])
    }
}

/// The object that `choices` lead to, and always the same one.
pub(crate) fn object(choices: &[u8]) -> Encoded {
    let mut choices = Choices(choices);
    let family = Family::ALL[choices.below(24)];
    let mut builder = ObjectBuilder::new(family);
    match FamilySchema::of(family).body {
        None => {
            builder.raw(&choices.bytes());
        }
        Some(_) if family == Family::Tree => entries(builder.body(), &mut choices),
        Some(schema) => record(builder.body(), schema, family, &mut choices),
    }
    builder.finish_existing(&Limits::default()).unwrap_or_else(|error| panic!("{family:?}: {error}"))
}

fn entries(body: &mut RecordBuilder, choices: &mut Choices<'_>) {
    let count = choices.below(6);
    let names: std::collections::BTreeSet<String> = (0..count).map(|_| choices.segment()).collect();
    body.records(0x01, names.iter(), |entry, name| {
        let mode = Mode::ALL[choices.below(4)];
        entry.set(0x01, name.as_str()).set(0x02, u64::from(mode.bits()));
        entry.set(0x03, choices.gid(Some(mode.target_family())));
        extensions(entry, choices);
    });
    extensions(body, choices);
}

fn extensions(out: &mut RecordBuilder, choices: &mut Choices<'_>) {
    let mut tag = 0x7F;
    while choices.below(4) == 3 && tag < 0xE0 {
        tag += 1 + (choices.byte() & 0x0F);
        out.ext(tag, &choices.bytes());
    }
}

fn record(out: &mut RecordBuilder, schema: &'static RecordSchema, family: Family, choices: &mut Choices<'_>) {
    let kind = OpType::ALL[choices.below(OpType::ALL.len())];
    // Backwards now and then: a builder sorts.
    let mut fields: Vec<&'static FieldSchema> = schema.fields.iter().collect();
    if choices.below(2) == 1 {
        fields.reverse();
    }
    for field in fields {
        let stray = field.op_types.is_parameter() && !field.op_types.contains(kind);
        if stray || !(field.required || choices.below(3) == 2) {
            continue;
        }
        match (field.name, &field.ty) {
            ("op_type", _) => {
                out.set(field.tag, kind);
            }
            ("predicate", _) => {
                out.set(field.tag, format!("p{}", choices.text()).as_str());
            }
            ("fabricated", _) => {
                out.set(field.tag, gemel_object::Strings::Borrowed(&[]));
            }
            _ => value(out, field, family, choices),
        }
    }
    extensions(out, choices);
}

fn value(out: &mut RecordBuilder, field: &'static FieldSchema, family: Family, choices: &mut Choices<'_>) {
    let tag = field.tag;
    match &field.ty {
        FieldType::Uint => out.set(tag, choices.wide()),
        FieldType::Sint => out.set(tag, choices.wide().cast_signed()),
        FieldType::Bool => out.set(tag, choices.below(2) == 1),
        FieldType::Bytes => out.set(tag, choices.bytes().as_slice()),
        FieldType::String => out.set(tag, choices.text().as_str()),
        FieldType::Path => out.set(tag, format!("{}/{}", choices.segment(), choices.segment()).as_str()),
        FieldType::Enum(set) => out.set(tag, set.values[choices.below(set.values.len())]),
        FieldType::Gid(target) => out.set(tag, choices.gid(*target)),
        FieldType::Record(schema) => out.record(tag, |nested| record(nested, schema, family, choices)),
        FieldType::Array(element) => array(out, tag, element, family, choices),
    };
}

fn array<'o>(
    out: &'o mut RecordBuilder,
    tag: u8,
    element: &'static FieldType,
    family: Family,
    choices: &mut Choices<'_>,
) -> &'o mut RecordBuilder {
    let count = choices.below(4);
    match element {
        FieldType::Gid(target) => {
            let gids: Vec<Gid> = (0..count).map(|_| choices.gid(*target)).collect();
            out.set(tag, gids.as_slice())
        }
        FieldType::Record(schema) => {
            out.records(tag, 0..count, |nested, _| record(nested, schema, family, choices))
        }
        _ => {
            let texts: Vec<String> = (0..count).map(|_| choices.text()).collect();
            out.set(tag, gemel_object::Strings::Owned(&texts))
        }
    }
}
