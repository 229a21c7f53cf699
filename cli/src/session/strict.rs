//! JSON as a request may be written: no member twice, and a request's `id` is found even when the rest is bad.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// What is known of a line.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// Its `id`, if exactly one was read that is an unsigned integer.
    pub(crate) id: Option<u64>,
    /// The line as JSON, or what is wrong with it.
    pub(crate) value: Result<Value, String>,
}

/// Reads one JSON document. Members given twice, at any depth, are refused. Nesting is bounded by the parser.
pub(crate) fn parse(line: &[u8]) -> Parsed {
    match std::str::from_utf8(line) {
        Ok(text) => parse_text(text),
        Err(error) => {
            let id = parse_text(&String::from_utf8_lossy(line)).id;
            Parsed { id, value: Err(format!("not UTF-8 at byte {}", error.valid_up_to())) }
        }
    }
}

fn parse_text(text: &str) -> Parsed {
    let mut id = Seen::Nothing;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict { id: Some(&mut id) }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| format!("invalid JSON: {error}"));
    Parsed { id: if let Seen::Once(id) = id { Some(id) } else { None }, value }
}

/// How often a usable `id` was read.
#[derive(Clone, Copy, Debug)]
enum Seen {
    Nothing,
    Once(u64),
    Unclear,
}

/// A value without repeated members; `id` notes the member of that name, at the top only.
struct Strict<'s> {
    id: Option<&'s mut Seen>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(Strict { id: None })? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let Strict { mut id } = self;
        let mut map = Map::new();
        let mut repeated = None;
        // Reading goes on behind a repeated member, because a second `id` makes the first one unclear.
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(Strict { id: None })?;
            if let Some(seen) = id.as_deref_mut().filter(|_| key == "id") {
                *seen = match (*seen, value.as_u64()) {
                    (Seen::Nothing, Some(id)) => Seen::Once(id),
                    _ => Seen::Unclear,
                };
            }
            if map.contains_key(&key) {
                repeated.get_or_insert(key);
            } else {
                map.insert(key, value);
            }
        }
        match repeated {
            Some(key) => Err(A::Error::custom(format!("member {key:?} is given twice"))),
            None => Ok(Value::Object(map)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_bad_line_is_found() {
        for (line, id) in [
            (&br#"{"id":7,"query":"#[..], Some(7)),
            (br#"{"id":7} x"#, Some(7)),
            (br#"{"query":"a","id":7,"query":"b"}"#, Some(7)),
            (br#"{"id":18446744073709551615,"#, Some(u64::MAX)),
            (b"{\"query\":\"\xff\",\"id\":7}", Some(7)),
            // Whose answer would it be?
            (br#"{"id":7,"id":8}"#, None),
            (br#"{"id":7,"id":7}"#, None),
            (br#"{"id":"7","id":7}"#, None),
            // No ids: of another type, inside, or not there.
            (br#"{"id":7.0,"#, None),
            (br#"{"id":-7,"#, None),
            (br#"{"id":18446744073709551616,"#, None),
            (br#"{"params":{"id":7},"#, None),
            (br#"[{"id":7}"#, None),
            (br"", None),
        ] {
            let parsed = parse(line);
            assert_eq!(parsed.id, id, "{}", String::from_utf8_lossy(line));
            assert!(parsed.value.is_err(), "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn repeated_members_are_refused_at_any_depth() {
        for bad in [r#"{"a":1,"a":1}"#, r#"[{"a":{"b":1,"b":2}}]"#, r#"{"a":1,"\u0061":2}"#] {
            let refusal = parse(bad.as_bytes()).value.expect_err("refused");
            assert!(refusal.contains("is given twice"), "{refusal}");
        }
        assert!(parse(br#"{"a":{"a":[{"a":1},{"a":1}]}}"#).value.is_ok());
    }

    #[test]
    fn values_are_as_the_plain_parser_reads_them() {
        for text in ["null", "true", "-3", "1.5", r#""a\u00e9\n""#, "[1,[2,{}]]", r#"{"b":1,"a":[null]}"#] {
            assert_eq!(parse(text.as_bytes()).value, Ok(serde_json::from_str(text).expect("JSON")));
        }
        let deep = "[".repeat(100_000);
        assert!(parse(deep.as_bytes()).value.is_err());
    }
}
