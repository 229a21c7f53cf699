//! What the object targets do with an input. Shared by the fuzzer and by the suite's replay.

use gemel_object::json::{build, project};
use gemel_object::{GID_LEN, Gid, Limits, Object, ObjectBuilder, Record, Tree, Value, refs_of};

/// Bytes as an envelope: nothing panics, and what decodes comes out byte for byte.
pub(crate) fn decode(data: &[u8]) {
    let limits = Limits::default();
    // Views over bytes that were never validated must end quietly.
    let walked = refs_of(data).count();
    if let Ok(unchecked) = Object::parse(data, &limits) {
        let entries = Tree::view(&unchecked).map_or(0, |tree| tree.iter().count());
        assert!(values(&unchecked.record()) + entries <= 2 * data.len());
    }
    let Ok(object) = Object::decode(data, &limits) else { return };
    let again = ObjectBuilder::from_object(&object).finish_existing(&limits);
    assert_eq!(again.as_ref().map(|encoded| encoded.bytes.as_slice()), Ok(data));
    let rebuilt = build(&project(&object, &[])).and_then(|builder| builder.finish_existing(&limits));
    assert_eq!(rebuilt, again);
    let mut end = 0;
    for found in object.refs() {
        assert!(found.offset >= end, "references are in order and do not overlap");
        end = found.offset + GID_LEN;
        assert_eq!(data.get(found.offset..end), Some(found.gid.as_bytes().as_slice()));
    }
    assert_eq!(walked, object.refs().count());
}

/// Values in a record, nested ones included; none takes less than a byte.
fn values(record: &Record<'_>) -> usize {
    record.fields().filter_map(|field| field.value()).map(|value| 1 + within(&value)).sum()
}

fn within(value: &Value<'_>) -> usize {
    match value {
        Value::Record(record) => values(record),
        Value::Array(array) => array.iter().map(|value| 1 + within(&value)).sum(),
        _ => 0,
    }
}

/// Bytes as a textual identity: what parses is printed as it was.
pub(crate) fn identity(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(gid) = Gid::parse(text) {
        assert_eq!(gid.to_string(), text);
    }
}
