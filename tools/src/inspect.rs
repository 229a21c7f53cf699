//! What is in a file of a store: the header and frames of a pack, the counts of an index.

use gemel_packfmt::FormatError;
use gemel_packfmt::frame::{self, Frame, HEADER_LEN, Kind, Method};
use gemel_packfmt::index::Index;
use gemel_packfmt::mark::Mark;
use gemel_packfmt::refcode::RefCode;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Describes the pack or index at `path`, each frame of a pack when `frames` is set.
///
/// # Errors
/// Any error of the disk; a file that is neither; damage of its header.
pub fn inspect(path: &Path, frames: bool, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(path)?;
    match bytes.get(..4) {
        Some(b"GPAK") => pack(&bytes, frames, out),
        Some(b"GIDX") => index(&bytes, out),
        _ => Err(format!("{}: neither a pack nor an index", path.display()).into()),
    }
}

/// Frames, stored and plain bytes of one kind and method.
#[derive(Default)]
struct Sum {
    frames: u64,
    stored_bytes: u64,
    plain_bytes: u64,
}

fn pack(bytes: &[u8], show: bool, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    writeln!(out, "pack {}, version {}, {} bytes", frame::read_header(bytes)?, frame::VERSION, bytes.len())?;
    let mut sums: BTreeMap<(&str, &str), Sum> = BTreeMap::new();
    let (mut at, mut acknowledged, mut objects) = (HEADER_LEN as u64, HEADER_LEN as u64, 0u64);
    while at < bytes.len() as u64 {
        let frame = match checked(bytes, at) {
            Ok(frame) => frame,
            Err(error) => {
                writeln!(out, "{at:>12}  {error}")?;
                break;
            }
        };
        let stored = frame.end - frame.offset;
        let sum = sums.entry((kind_name(frame.kind), method_name(frame.method))).or_default();
        sum.frames += 1;
        sum.stored_bytes += stored;
        sum.plain_bytes += frame.plain_len;
        if show {
            writeln!(out, "{at:>12}  {}, {stored} bytes for {}", described(&frame), frame.plain_len)?;
        }
        if frame.kind == Kind::Mark {
            let mark = Mark::read(&frame)?;
            objects += u64::from(mark.objects);
            acknowledged = frame.end;
        }
        at = frame.end;
    }
    writeln!(
        out,
        "{:<12} {:<16} {:>10} {:>14} {:>14}",
        "kind", "method", "frames", "stored bytes", "plain bytes"
    )?;
    for ((kind, method), sum) in &sums {
        let Sum { frames, stored_bytes, plain_bytes } = sum;
        writeln!(out, "{kind:<12} {method:<16} {frames:>10} {stored_bytes:>14} {plain_bytes:>14}")?;
    }
    writeln!(out, "{objects} objects; {} bytes behind the last mark", bytes.len() as u64 - acknowledged)?;
    Ok(())
}

fn checked(bytes: &[u8], at: u64) -> Result<Frame<'_>, FormatError> {
    let frame = Frame::parse(bytes, at)?;
    frame.check()?;
    Ok(frame)
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Raw { .. } => "raw",
        Kind::Cut { .. } => "cut",
        Kind::Group => "group",
        Kind::Chunk => "chunk",
        Kind::Large { .. } => "large",
        Kind::Dictionary { .. } => "dictionary",
        Kind::Foreign { .. } => "foreign",
        Kind::Mark => "mark",
    }
}

fn method_name(method: Method) -> &'static str {
    match method {
        Method::Stored => "stored",
        Method::Deflated => "deflated",
        Method::WithDictionary(_) => "with dictionary",
        Method::Delta { .. } => "delta",
    }
}

/// Kind and method with their numbers.
fn described(frame: &Frame<'_>) -> String {
    let number = match frame.kind {
        Kind::Raw { ordinal: n } | Kind::Cut { ordinal: n } | Kind::Large { ordinal: n } => format!(" {n}"),
        Kind::Dictionary { number: n } | Kind::Foreign { first: n } => format!(" {n}"),
        Kind::Group | Kind::Chunk | Kind::Mark => String::new(),
    };
    let method = match frame.method {
        Method::WithDictionary(n) => format!("with dictionary {n}"),
        Method::Delta { base: RefCode::Local(n), depth } => format!("delta to {n}, depth {depth}"),
        Method::Delta { base: RefCode::Foreign(n), depth } => format!("delta to foreign {n}, depth {depth}"),
        plain => method_name(plain).to_string(),
    };
    format!("{}{number}, {method}", kind_name(frame.kind))
}

fn index(bytes: &[u8], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let index = Index::open(bytes)?;
    index.verify_all(bytes)?;
    writeln!(out, "index of pack {}, {} bytes, covers {} bytes", index.pack, bytes.len(), index.covered)?;
    writeln!(
        out,
        "{} objects, {} foreign keys in {} runs, {} dictionaries",
        index.objects,
        index.foreign,
        index.foreign_runs().len(),
        index.dictionaries().len()
    )?;
    for class in 0..=u8::MAX {
        let count = |brief| index.beginning(bytes, (class, brief), &[], 0).count();
        let (held, brief) = (count(false), count(true));
        if held + brief > 0 {
            let family = gemel_object::Family::from_code(class).map_or("unknown", gemel_object::Family::name);
            writeln!(out, "{held:>10}  {family}, and {brief} with brief keys")?;
        }
    }
    for (what, len_bytes) in index.sizes() {
        writeln!(out, "{len_bytes:>10}  bytes of {what}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_is_described_up_to_its_damage() {
        let mut bytes = frame::header(3).to_vec();
        frame::put(Kind::Raw { ordinal: 0 }, Method::Stored, 2, &[b"hi"], &mut bytes);
        let mark = Mark {
            start: 20,
            first_ordinal: 0,
            objects: 1,
            foreign: 0,
            dictionaries: 0,
            frames: 0,
            keys: None,
        };
        mark.put(&mut bytes);
        bytes.extend_from_slice(b"torn");
        let mut out = Vec::new();
        pack(&bytes, true, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("raw 0, stored"), "{text}");
        assert!(text.ends_with("1 objects; 4 bytes behind the last mark\n"), "{text}");
    }
}
