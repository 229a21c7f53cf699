//! JSON from outside, read within bounds: so many values, no key twice, and nothing kept that nobody asks for.

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Map, Value};
use std::cell::Cell;
use std::fmt::{self, Formatter};

/// What of a document is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Most values, counted over all levels. Nesting is bounded by the parser, at 128 levels.
    pub(super) values: u64,
    /// Whether the member of this name is kept; others are read over.
    pub(super) keep: fn(&str) -> bool,
}

/// Reads one JSON document.
///
/// # Errors
/// What is wrong and where: not JSON, something behind the document, a key twice, too many values, nesting too deep.
pub(super) fn read(bytes: &[u8], bounds: Bounds) -> Result<Value, String> {
    let left = Cell::new(bounds.values);
    let mut source = Deserializer::from_slice(bytes);
    let seed = Tree { left: &left, bounds };
    let value = seed.deserialize(&mut source).map_err(|error| error.to_string())?;
    source.end().map_err(|error| error.to_string())?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Tree<'b> {
    left: &'b Cell<u64>,
    bounds: Bounds,
}

impl Tree<'_> {
    fn count<E: Error>(&self) -> Result<(), E> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(E::custom(format_args!("more than {} values", self.bounds.values))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        self.count()?;
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = source.next_element_seed(self)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = source.next_key::<String>()? {
            if !(self.bounds.keep)(&key) {
                source.next_value::<IgnoredAny>()?;
                continue;
            }
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("{key:?} stands twice in one object")));
            }
            let value = source.next_value_seed(self)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Bounds = Bounds { values: 100, keep: |_| true };

    #[test]
    fn documents() {
        let doc = br#" {"a": [1, -2, 1.5, "x\n", null, true], "b": {"c": 18446744073709551615}} "#;
        assert_eq!(read(doc, ALL).unwrap(), serde_json::from_slice::<Value>(doc).unwrap());
        let only_b = Bounds { keep: |key| key != "a", ..ALL };
        assert_eq!(read(doc, only_b).unwrap().to_string(), r#"{"b":{"c":18446744073709551615}}"#);
    }

    #[test]
    fn bounds() {
        let check = |doc: &str, expected: &str| {
            let error = read(doc.as_bytes(), ALL).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check("", "EOF");
        check("{} {}", "trailing characters");
        check(r#"{"a": 1, "a": 2}"#, r#""a" stands twice"#);
        check(&format!("[{}0]", "0,".repeat(200)), "more than 100 values");
        check(&"[".repeat(100_000), "");
        check(&format!("{{\"a\":{}", "[".repeat(100_000)), "");
        check("\u{feff}{}", "expected value");
        assert!(read(b"\"\xff\"", ALL).is_err());
        assert!(read(br#""\ud800""#, ALL).is_err());
        // A value that is read over nests as deep as it likes.
        let deep = format!(r#"{{"skipped":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let kept = read(deep.as_bytes(), Bounds { keep: |key| key != "skipped", ..ALL });
        assert_eq!(kept.unwrap(), Value::Object(Map::new()));
    }
}
