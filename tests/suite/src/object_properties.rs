//! What holds for every object and for every byte string: decode then encode is the identity (ENC-16, ENC-21, ENC-22),
//! hostile bytes never panic (SEC-01, SEC-02), references are found where they are.

use crate::object_files::{envelopes, lines};
use crate::object_fuzz::entry;
use crate::object_gen;
use gemel_object::json::{Json, build, project};
use gemel_object::{Gid, Limits, Object, ObjectBuilder, Record, Value, refs_of};
use gemel_tools::vectors::from_serde;
use proptest::prelude::*;

/// References by way of the values, the slow and obvious way.
fn references(record: &Record<'_>, out: &mut Vec<Gid>) {
    for field in record.fields() {
        value_references(&field.value().unwrap(), out);
    }
}

fn value_references(value: &Value<'_>, out: &mut Vec<Gid>) {
    match value {
        Value::Gid(gid) => out.push(*gid),
        Value::Record(record) => references(record, out),
        Value::Array(array) => array.iter().for_each(|value| value_references(&value, out)),
        _ => {}
    }
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_object_comes_out_as_it_went_in(choices in choices()) {
        let encoded = object_gen::object(&choices);
        let limits = Limits::default();
        let object = Object::decode(&encoded.bytes, &limits).unwrap();
        prop_assert_eq!(object.id(), encoded.id);
        let again = ObjectBuilder::from_object(&object).finish_existing(&limits).unwrap();
        prop_assert_eq!(&again, &encoded);
        let text = project(&object, &[]).to_string();
        let parsed = serde_json::from_str(&text).unwrap();
        let rebuilt = build(&from_serde(&parsed).unwrap()).unwrap().finish_existing(&limits).unwrap();
        prop_assert_eq!(&rebuilt, &encoded);
    }

    #[test]
    fn references_are_those_of_the_values(choices in choices()) {
        let encoded = object_gen::object(&choices);
        let object = Object::decode(&encoded.bytes, &Limits::default()).unwrap();
        let mut expected = Vec::new();
        references(&object.record(), &mut expected);
        let found: Vec<Gid> = refs_of(&encoded.bytes).map(|found| found.gid).collect();
        prop_assert_eq!(&found, &expected);
        let exact = Limits { max_refs_per_object: found.len() as u64, ..Limits::default() };
        prop_assert!(Object::decode(&encoded.bytes, &exact).is_ok());
        if let Some(fewer) = exact.max_refs_per_object.checked_sub(1) {
            let error = Object::decode(&encoded.bytes, &Limits { max_refs_per_object: fewer, ..exact }).unwrap_err();
            prop_assert_eq!(error.name(), "RefCountExceeded");
        }
    }

    #[test]
    fn changed_objects_never_panic(choices in choices(), edits in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4)) {
        let mut bytes = object_gen::object(&choices).bytes;
        for (at, byte) in edits {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        entry::decode(&bytes);
    }

    #[test]
    fn cut_objects_are_rejected(choices in choices(), cut in any::<usize>()) {
        let bytes = object_gen::object(&choices).bytes;
        let cut = &bytes[..cut % bytes.len()];
        prop_assert_eq!(Object::decode(cut, &Limits::default()).map(drop).map_err(|error| error.name()).is_err(), true);
        entry::decode(cut);
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), family in 0u8..=0x19) {
        entry::decode(&bytes);
        let mut envelope = vec![b'G', b'E', b'M', b'L', 1, family, 1, 0];
        envelope.extend([bytes.len() as u8 & 0x7F]);
        envelope.extend(&bytes[..bytes.len() & 0x7F]);
        entry::decode(&envelope);
    }

    #[test]
    fn random_text_is_no_identity(text in "\\PC{0,90}") {
        entry::identity(text.as_bytes());
    }
}

/// Each byte of each golden vector, changed in ten ways.
#[test]
fn one_changed_byte_never_panics_and_never_encodes_differently() {
    for (_, mut bytes) in envelopes() {
        for at in 0..bytes.len() {
            let kept = bytes[at];
            for changed in (0..8).map(|bit| kept ^ 1 << bit).chain([0x00, 0xFF]) {
                bytes[at] = changed;
                entry::decode(&bytes);
            }
            bytes[at] = kept;
        }
    }
}

/// SEC-01: what a length or count says is never reserved. Rejected lines with the largest values take no memory.
#[test]
fn rejected_lines_are_harmless_as_unchecked_bytes_too() {
    for (_, bytes, _) in lines("negative/negative.tsv") {
        entry::decode(&bytes);
    }
}

#[test]
fn projection_members_ascend() {
    fn ascends(json: &Json) {
        match json {
            Json::Object(members) => {
                assert!(members.is_sorted_by(|a, b| a.0 < b.0), "{json}");
                members.iter().for_each(|(_, value)| ascends(value));
            }
            Json::List(elements) => elements.iter().for_each(ascends),
            _ => {}
        }
    }
    for (_, bytes) in envelopes() {
        let object = Object::decode(&bytes, &Limits::default()).unwrap();
        ascends(&project(&object, &[("id", Json::Text(String::new())), ("name", Json::Null)]));
    }
}
