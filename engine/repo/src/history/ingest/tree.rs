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

/// The members of the first value of a file that are texts, the names of all others with null; what comes after it is
/// not looked at.
pub(super) fn peek(bytes: &[u8]) -> Map<String, Value> {
    let mut members = Map::new();
    // A file that is cut off inside has told enough by then.
    let _ = Outline(&mut members).deserialize(&mut Deserializer::from_slice(bytes));
    members
}

/// What stands at one place of a document that is read piece by piece.
#[derive(Debug)]
pub(super) enum Piece {
    /// A list begins.
    List,
    /// An element of it.
    Element(Value),
}

/// Reads the elements of `outer[i].inner` one by one and hands each on with its `i`; nothing else is kept.
///
/// # Errors
/// As [`read`], the bounds being those of one element.
pub(super) fn each(
    bytes: &[u8],
    [outer, inner]: [&'static str; 2],
    bounds: Bounds,
    on: &mut dyn FnMut(usize, Piece),
) -> Result<(), String> {
    let mut source = Deserializer::from_slice(bytes);
    let walk = Walk { at: At::Root, names: [outer, inner], bounds, on };
    walk.deserialize(&mut source).map_err(|error| error.to_string())?;
    source.end().map_err(|error| error.to_string())
}

/// A place in a document that is read piece by piece.
#[derive(Clone, Copy)]
enum At {
    /// The document.
    Root,
    /// The outer list.
    Outer,
    /// An element of it.
    Item(usize),
    /// Its inner list.
    Inner(usize),
}

struct Walk<'w> {
    at: At,
    names: [&'static str; 2],
    bounds: Bounds,
    on: &'w mut dyn FnMut(usize, Piece),
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(match self.at {
            At::Root | At::Item(_) => "an object",
            At::Outer | At::Inner(_) => "a list",
        })
    }

    /// A list that is null is none.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        match self.at {
            At::Inner(_) => Ok(()),
            _ => Err(E::invalid_type(serde::de::Unexpected::Unit, &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<(), A::Error> {
        let (name, at) = match self.at {
            At::Root => (self.names[0], At::Outer),
            At::Item(at) => (self.names[1], At::Inner(at)),
            _ => return Err(A::Error::invalid_type(serde::de::Unexpected::Map, &self)),
        };
        let mut found = false;
        while let Some(key) = source.next_key::<String>()? {
            if key == name {
                if found {
                    return Err(A::Error::custom(format_args!("{key:?} stands twice in one object")));
                }
                found = true;
                source.next_value_seed(Walk {
                    at,
                    names: self.names,
                    bounds: self.bounds,
                    on: &mut *self.on,
                })?;
            } else {
                source.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<(), A::Error> {
        match self.at {
            At::Outer => {
                let mut at = 0;
                while source
                    .next_element_seed(Walk {
                        at: At::Item(at),
                        names: self.names,
                        bounds: self.bounds,
                        on: &mut *self.on,
                    })?
                    .is_some()
                {
                    at += 1;
                }
            }
            At::Inner(at) => {
                (self.on)(at, Piece::List);
                loop {
                    let left = Cell::new(self.bounds.values);
                    let seed = Tree { left: &left, bounds: self.bounds };
                    let Some(element) = source.next_element_seed(seed)? else { break };
                    (self.on)(at, Piece::Element(element));
                }
            }
            _ => return Err(A::Error::invalid_type(serde::de::Unexpected::Seq, &self)),
        }
        Ok(())
    }
}

struct Outline<'m>(&'m mut Map<String, Value>);

impl<'de> DeserializeSeed<'de> for Outline<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_map(self)
    }
}

/// Names looked at in an outline.
const MAX_OUTLINE: usize = 1000;

impl<'de> Visitor<'de> for Outline<'_> {
    type Value = ();

    fn expecting(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<(), A::Error> {
        while let Some(key) = source.next_key::<String>()? {
            if self.0.len() >= MAX_OUTLINE {
                return Ok(());
            }
            let slot = self.0.entry(key).or_insert(Value::Null);
            source.next_value_seed(TextOnly(slot))?;
        }
        Ok(())
    }
}

/// Keeps a text and reads over everything else.
struct TextOnly<'v>(&'v mut Value);

impl<'de> DeserializeSeed<'de> for TextOnly<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextOnly<'_> {
    type Value = ();

    fn expecting(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        *self.0 = Value::from(text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<(), A::Error> {
        while source.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<(), A::Error> {
        while source.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
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
    fn outlines() {
        let check = |doc: &str, expected: &str| {
            assert_eq!(Value::Object(peek(doc.as_bytes())).to_string(), expected, "{doc}");
        };
        check(r#"{"a":"x","b":[1,{"c":2}],"d":{"e":[]},"f":1}"#, r#"{"a":"x","b":null,"d":null,"f":null}"#);
        check(r#"{"a":"x"} {"b":"y"}"#, r#"{"a":"x"}"#);
        check(r#"{"a":"x","b":"#, r#"{"a":"x","b":null}"#);
        check("[]", "{}");
        check("", "{}");
        check(&format!("{{\"a\":{}", "[".repeat(100_000)), r#"{"a":null}"#);
    }

    #[test]
    fn pieces() {
        let pieces = |doc: &str| {
            let mut seen = Vec::new();
            let names = ["runs", "results"];
            let bounds = Bounds { values: 10, keep: |key| key != "x" };
            let read = each(doc.as_bytes(), names, bounds, &mut |at, piece| {
                seen.push(match piece {
                    Piece::List => format!("{at}:"),
                    Piece::Element(value) => value.to_string(),
                });
            });
            read.map(|()| seen.join(" "))
        };
        let check = |doc: &str, expected: &str| assert_eq!(pieces(doc).unwrap(), expected, "{doc}");
        check(r#"{"runs":[{"results":[{"a":1,"x":2},3]},{"tool":{}},{"results":[]}]}"#, r#"0: {"a":1} 3 2:"#);
        check(r#"{"runs":[{"results":null}],"a":{"results":[1]}}"#, "");
        check("{}", "");
        for bad in [
            "[]",
            "{\"runs\":{}}",
            "{\"runs\":[1]}",
            "{\"runs\":[{\"results\":{}}]}",
            "{\"runs\":[null]}",
            "{\"runs\":[],\"runs\":[]}",
            "{\"runs\":[]} x",
            "{\"runs\":[",
            "",
            "{\"runs\":[{\"results\":[[0,0,0,0,0,0,0,0,0,0]]}]}",
        ] {
            pieces(bad).unwrap_err();
        }
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
