//! Members of a JSON object, asked for by name; a member nobody asked for is refused.

use crate::{RepoError, Result};
use serde_json::{Map, Value};
use std::fmt::Display;

/// An object of a document and where in it it stands.
pub(super) struct Fields<'v> {
    place: String,
    members: &'v Map<String, Value>,
    asked: Vec<&'static str>,
}

impl<'v> Fields<'v> {
    /// The outermost object.
    pub(super) fn root(members: &'v Map<String, Value>) -> Fields<'v> {
        Fields { place: String::new(), members, asked: Vec::new() }
    }

    /// An object inside a document.
    ///
    /// # Errors
    /// `Invalid` for anything but an object.
    pub(super) fn at(place: String, value: &'v Value) -> Result<Fields<'v>> {
        match value {
            Value::Object(members) => Ok(Fields { place, members, asked: Vec::new() }),
            other => Err(wrong(&place, "an object", other)),
        }
    }

    /// Where a member stands.
    pub(super) fn place(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    fn get(&mut self, key: &'static str) -> Option<&'v Value> {
        self.asked.push(key);
        self.members.get(key)
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| wrong(&self.place(key), expected, value))
    }

    pub(super) fn text(&mut self, key: &'static str) -> Result<Option<&'v str>> {
        self.read(key, "a string", Value::as_str)
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Result<Option<bool>> {
        self.read(key, "true or false", Value::as_bool)
    }

    pub(super) fn integer(&mut self, key: &'static str) -> Result<Option<i64>> {
        self.read(key, "an integer of at most 64 bits", Value::as_i64)
    }

    pub(super) fn count(&mut self, key: &'static str) -> Result<Option<u64>> {
        self.read(key, "an integer, 0 or greater", Value::as_u64)
    }

    pub(super) fn object(&mut self, key: &'static str) -> Result<Option<Fields<'v>>> {
        let place = self.place(key);
        self.get(key).map(|value| Fields::at(place, value)).transpose()
    }

    /// The elements of a list with their places; none when it is absent.
    pub(super) fn list(&mut self, key: &'static str) -> Result<Vec<(String, &'v Value)>> {
        let list = self.read(key, "a list", Value::as_array)?;
        let place = self.place(key);
        let elements = list.into_iter().flatten().enumerate();
        Ok(elements.map(|(at, value)| (format!("{place}[{at}]"), value)).collect())
    }

    /// A member that must be there.
    ///
    /// # Errors
    /// `Invalid` when it is not.
    pub(super) fn required<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| bad(&self.place(key), "is missing"))
    }

    /// Refuses members that were not asked for; those that begin with `x-` are anybody's.
    ///
    /// # Errors
    /// `Invalid`, naming the member.
    pub(super) fn close(self) -> Result<()> {
        let odd =
            self.members.keys().find(|key| !key.starts_with("x-") && !self.asked.contains(&key.as_str()));
        match odd {
            None => Ok(()),
            Some(key) => {
                let known = self.asked.join(", ");
                Err(bad(
                    &self.place(key),
                    format_args!("is no key of this object (known: {known}; x-… is ignored)"),
                ))
            }
        }
    }
}

/// A document that is refused for what stands at `place`.
pub(super) fn bad(place: &str, detail: impl Display) -> RepoError {
    RepoError::invalid(format!("invalid: {place} {detail}"))
}

/// A value of another type than `expected`.
pub(super) fn wrong(place: &str, expected: &str, value: &Value) -> RepoError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    bad(place, format_args!("is {found}, expected {expected}"))
}
