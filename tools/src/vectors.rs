//! Reading the files that pin objects: tables of accepted and rejected bytes, golden envelopes, and the manifest that
//! holds their content as data.

use gemel_object::json::Json;
use gemel_object::{Encoded, Limits, ObjectError};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A table of tab-separated columns under a header line.
#[derive(Debug)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// One line of a [`Table`].
#[derive(Clone, Copy, Debug)]
pub struct Row<'t> {
    columns: &'t [String],
    cells: &'t [String],
}

impl Table {
    /// Reads the table at `path`; `None` when there is no such file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(path: &Path) -> io::Result<Option<Table>> {
        let Some(text) = read_if_present(path)? else { return Ok(None) };
        let split = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
        let mut lines = text.lines().filter(|line| !line.is_empty()).map(split);
        Ok(Some(Table { columns: lines.next().unwrap_or_default(), rows: lines.collect() }))
    }

    /// The lines below the header.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { columns: &self.columns, cells })
    }
}

impl<'t> Row<'t> {
    /// The cell under the header `column`; empty when the line is too short or there is no such column.
    pub fn cell(&self, column: &str) -> &'t str {
        let position = self.columns.iter().position(|name| name == column);
        position.and_then(|at| self.cells.get(at)).map_or("", String::as_str)
    }

    /// The bytes under `hex`.
    ///
    /// # Errors
    /// Says so when the cell is not hexadecimal.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        unhex(self.cell("hex"))
    }

    /// The limits under `limits`: `-` or nothing for the defaults, else `name=value` pairs joined by commas.
    ///
    /// # Errors
    /// Says which pair is not understood.
    pub fn limits(&self) -> Result<Limits, String> {
        let mut limits = Limits::default();
        let cell = self.cell("limits");
        for pair in cell.split(',').map(str::trim).filter(|pair| !matches!(*pair, "" | "-")) {
            let unknown = || format!("limit {pair:?} is not understood");
            let (name, value) = pair.split_once('=').ok_or_else(unknown)?;
            let place = match name.trim() {
                "max_object_bytes" => &mut limits.max_object_bytes,
                "max_record_depth" => &mut limits.max_record_depth,
                "max_array_elements" => &mut limits.max_array_elements,
                "max_refs_per_object" => &mut limits.max_refs_per_object,
                "max_string_bytes" => &mut limits.max_string_bytes,
                _ => return Err(unknown()),
            };
            *place = value.trim().parse().map_err(|_| unknown())?;
        }
        Ok(limits)
    }
}

/// A named object as data, from a manifest.
#[derive(Debug)]
pub struct Described {
    /// The name, which is also that of its files.
    pub name: String,
    /// The content: a JSON projection.
    pub content: Json,
}

impl Described {
    /// The object that the content makes.
    ///
    /// # Errors
    /// When the content breaks a rule of the object model.
    pub fn encode(&self) -> Result<Encoded, ObjectError> {
        gemel_object::json::build(&self.content)?.finish(&Limits::DEFAULT)
    }
}

/// The vectors of the manifest at `path`, in its order; none when there is no such file.
///
/// # Errors
/// When the file cannot be read or is no manifest.
pub fn manifest(path: &Path) -> Result<Vec<Described>, Box<dyn std::error::Error>> {
    let Some(text) = read_if_present(path)? else { return Ok(Vec::new()) };
    let manifest: serde_json::Value = serde_json::from_str(&text)?;
    let vectors =
        manifest.get("vectors").and_then(serde_json::Value::as_array).ok_or("no list of vectors")?;
    let described = vectors.iter().map(|vector| {
        let name = vector.get("name").and_then(serde_json::Value::as_str).ok_or("a vector without a name")?;
        let content = vector.get("constructed_from").ok_or_else(|| format!("{name} has no content"))?;
        Ok(Described { name: name.to_owned(), content: from_serde(content)? })
    });
    described.collect()
}

/// What `*.gce.hex` and `*.id` files say of each vector in a folder, by name.
///
/// # Errors
/// When the folder cannot be read.
pub fn envelopes(folder: &Path) -> io::Result<BTreeMap<String, (String, Option<String>)>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(ENVELOPE));
        if let Some(name) = name {
            let id = read_if_present(&identity_file(folder, name))?;
            found.insert(name.to_owned(), (fs::read_to_string(&path)?, id));
        }
    }
    Ok(found)
}

const ENVELOPE: &str = ".gce.hex";

/// The file that holds the envelope of the vector `name`.
pub fn envelope_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{ENVELOPE}"))
}

/// The file that holds the identity of the vector `name`.
pub fn identity_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.id"))
}

/// Text of the file at `path`; `None` when there is no such file.
pub(crate) fn read_if_present(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

/// The JSON tree of the object library for one that serde read.
///
/// # Errors
/// Says so when a number is not an unsigned integer, which no projection holds.
pub fn from_serde(value: &serde_json::Value) -> Result<Json, String> {
    Ok(match value {
        serde_json::Value::Null => Json::Null,
        serde_json::Value::Bool(value) => Json::Bool(*value),
        serde_json::Value::Number(number) => {
            Json::Number(number.as_u64().ok_or_else(|| format!("{number} is not an unsigned integer"))?)
        }
        serde_json::Value::String(text) => Json::Text(text.clone()),
        serde_json::Value::Array(elements) => {
            Json::List(elements.iter().map(from_serde).collect::<Result<_, _>>()?)
        }
        serde_json::Value::Object(members) => {
            let members = members.iter().map(|(name, value)| Ok((name.clone(), from_serde(value)?)));
            Json::Object(members.collect::<Result<_, String>>()?)
        }
    })
}

/// The bytes that `text` spells in hexadecimal.
///
/// # Errors
/// Says so when it does not.
pub fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.trim().as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low),
        _ => None,
    });
    pairs.collect::<Option<_>>().ok_or_else(|| "not hexadecimal".to_owned())
}

/// `bytes` in lowercase hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
