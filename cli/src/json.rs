//! Building JSON: members in byte order, absent options left out, identities as text.

use gemel_object::Gid;
use gemel_repo::Named;
use gemel_repo::facts::Reference;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// A value that has one JSON form.
pub(crate) trait Json {
    /// The JSON form.
    fn json(&self) -> Value;
}

/// A JSON object under construction.
#[derive(Debug, Default)]
pub(crate) struct Obj(Map<String, Value>);

impl Obj {
    /// An empty object.
    pub(crate) fn new() -> Obj {
        Obj::default()
    }

    /// Adds a member.
    pub(crate) fn put<T: Json + ?Sized>(mut self, key: &str, value: &T) -> Obj {
        self.0.insert(key.to_owned(), value.json());
        self
    }

    /// Adds a member if there is a value; null is never written.
    pub(crate) fn opt<T: Json>(self, key: &str, value: Option<&T>) -> Obj {
        match value {
            Some(value) => self.put(key, value),
            None => self,
        }
    }

    /// Adds an array with one element per row.
    pub(crate) fn rows<'r, R: 'r, V: Json>(
        mut self,
        key: &str,
        rows: impl IntoIterator<Item = &'r R>,
        row: impl Fn(&'r R) -> V,
    ) -> Obj {
        let rows = rows.into_iter().map(|r| row(r).json()).collect();
        self.0.insert(key.to_owned(), Value::Array(rows));
        self
    }

    /// The finished object.
    pub(crate) fn map(self) -> Map<String, Value> {
        self.0
    }
}

impl Json for Obj {
    fn json(&self) -> Value {
        Value::Object(self.0.clone())
    }
}

impl Json for Value {
    fn json(&self) -> Value {
        self.clone()
    }
}

impl Json for Gid {
    fn json(&self) -> Value {
        Value::String(self.to_string())
    }
}

impl Json for str {
    fn json(&self) -> Value {
        Value::String(self.to_owned())
    }
}

impl Json for &str {
    fn json(&self) -> Value {
        Value::String((*self).to_owned())
    }
}

impl Json for String {
    fn json(&self) -> Value {
        Value::String(self.clone())
    }
}

impl<T: Json> Json for [T] {
    fn json(&self) -> Value {
        Value::Array(self.iter().map(Json::json).collect())
    }
}

impl<T: Json> Json for Vec<T> {
    fn json(&self) -> Value {
        self.as_slice().json()
    }
}

macro_rules! plain {
    ($($kind:ty),*) => {
        $(impl Json for $kind {
            fn json(&self) -> Value {
                Value::from(*self)
            }
        })*
    };
}
plain!(bool, u8, u32, u64, usize, i32, i64);

/// An identity with its name.
impl Json for Named {
    fn json(&self) -> Value {
        Obj::new().put("id", &self.id).opt("name", self.name.as_ref()).json()
    }
}

/// A reference (query surface, section 1.7).
impl Json for Reference {
    fn json(&self) -> Value {
        let head = Obj::new().put("family", self.id.family().name()).put("id", &self.id);
        head.opt("name", self.name.as_ref()).opt("summary", self.summary.as_ref()).json()
    }
}

impl Json for Path {
    fn json(&self) -> Value {
        Value::String(self.to_string_lossy().into_owned())
    }
}

impl Json for PathBuf {
    fn json(&self) -> Value {
        self.as_path().json()
    }
}

impl Json for f64 {
    fn json(&self) -> Value {
        // A number JSON cannot hold stays out rather than becoming null.
        serde_json::Number::from_f64(*self).map_or(Value::from(0), Value::Number)
    }
}
