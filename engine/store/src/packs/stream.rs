//! Large objects: read, hashed, compressed and appended in chunks, so that memory stays bounded.

use super::session::Session;
use super::writer::Writer;
use crate::{Result, StoreError};
use gemel_object::{Family, Gid, Limits, blob_header};
use gemel_packfmt::codec::{self, Aid, Level};
use gemel_packfmt::frame::{Kind, Method};
use gemel_packfmt::large::{self, CHUNK_BYTES};
use std::io::{self, Read};
use std::sync::PoisonError;

/// Chunks compressed at the same time.
fn width() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get().min(8))
}

impl Writer<'_> {
    /// Reads a blob body of exactly `len_bytes` from `source` and adds it in bounded memory; tells its identity
    /// and whether it is new.
    ///
    /// # Errors
    /// `Source` when it fails, ends early or goes on (nothing is then added); `Limit`, `Io`, `Poisoned`.
    pub fn put_blob_stream(&self, len_bytes: u64, source: &mut dyn Read) -> Result<(Gid, bool)> {
        let header = blob_header(len_bytes, &Limits::DEFAULT).map_err(|_| StoreError::Limit {
            what: "max_object_bytes: blob".to_owned(),
            found: len_bytes,
            limit: Limits::DEFAULT.max_object_bytes,
        })?;
        let total = header.as_bytes().len() as u64 + len_bytes;
        self.put_chunked(Family::Blob, total, header.as_bytes(), source)
    }

    /// Adds the object whose `total` bytes are `header` and then what `source` gives. The session is held
    /// throughout: its chunks stand together, and are taken back when the object turns out to be known.
    pub(super) fn put_chunked(
        &self,
        family: Family,
        total: u64,
        header: &[u8],
        source: &mut dyn Read,
    ) -> Result<(Gid, bool)> {
        let level = self.effort.read().unwrap_or_else(PoisonError::into_inner).level.min(3);
        let mut input = Input { source: &mut header.chain(source), left: total };
        // A failing source is the caller's affair and must not end the session, so it travels as a value.
        let outcome = self.with_session(false, |session| {
            let (start, sum) = (session.end(), session.sum.clone());
            match chunks(session, &mut input, level)? {
                Err(source) => {
                    session.rewind(start, sum)?;
                    Ok(Err(source))
                }
                Ok((digest, offsets)) => self
                    .finish_chunked(session, Gid::new(family, digest), total, start, sum, &offsets)
                    .map(Ok),
            }
        })?;
        outcome.map_err(|source| StoreError::Source { source })
    }

    fn finish_chunked(
        &self,
        session: &mut Session,
        id: Gid,
        total: u64,
        start: u64,
        sum: gemel_packfmt::mark::FrameSum,
        offsets: &[u64],
    ) -> Result<(Gid, bool)> {
        let ordinal = if self.is_stored(&id) {
            None
        } else {
            session.admit(&id, usize::try_from(total).unwrap_or(usize::MAX))
        };
        let Some(ordinal) = ordinal else {
            session.rewind(start, sum)?;
            return Ok((id, false));
        };
        let list = large::payload(session.end(), offsets);
        session.put_object(ordinal, Kind::Large { ordinal }, Method::Stored, total, &[&list])?;
        Ok((id, true))
    }
}

/// A source with a known length.
struct Input<'r> {
    source: &'r mut dyn Read,
    left: u64,
}

impl Input<'_> {
    /// The next chunk; empty at the end, which is checked to be one.
    fn next(&mut self) -> io::Result<Vec<u8>> {
        let want = self.left.min(CHUNK_BYTES as u64);
        let mut chunk = Vec::with_capacity(usize::try_from(want).unwrap_or(0));
        let got = self.source.take(want).read_to_end(&mut chunk)? as u64;
        self.left -= got;
        if got < want {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the content became shorter while it was read",
            ));
        }
        if want == 0 && self.source.take(1).read_to_end(&mut chunk)? > 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the content became longer while it was read",
            ));
        }
        Ok(chunk)
    }
}

type Chunked = ([u8; 32], Vec<u64>);

/// Appends chunk frames until the input ends; the outer error is the disk's, the inner one the source's.
fn chunks(session: &mut Session, input: &mut Input<'_>, level: Level) -> Result<io::Result<Chunked>> {
    let (mut hasher, mut offsets) = (blake3::Hasher::new(), Vec::new());
    loop {
        let mut round = Vec::new();
        while round.len() < width() {
            match input.next() {
                Ok(chunk) if chunk.is_empty() => break,
                Ok(chunk) => round.push(chunk),
                Err(error) => return Ok(Err(error)),
            }
        }
        if round.is_empty() {
            return Ok(Ok((*hasher.finalize().as_bytes(), offsets)));
        }
        // Threads of their own: the callers' pool may be waiting for this very session.
        let payloads: Vec<Option<Vec<u8>>> = std::thread::scope(|scope| {
            let jobs: Vec<_> =
                round.iter().map(|chunk| scope.spawn(move || deflated(chunk, level))).collect();
            round.iter().for_each(|chunk| {
                hasher.update(chunk);
            });
            jobs.into_iter().map(|job| job.join().unwrap_or(None)).collect()
        });
        for (chunk, payload) in round.iter().zip(&payloads) {
            let (method, bytes) = match payload {
                Some(bytes) => (Method::Deflated, bytes),
                None => (Method::Stored, chunk),
            };
            offsets.push(session.put_frame(Kind::Chunk, method, chunk.len() as u64, &[bytes])?);
        }
    }
}

fn deflated(chunk: &[u8], level: Level) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    codec::deflate(chunk, Aid::Alone, level, &mut out).then_some(out)
}
