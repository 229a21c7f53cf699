//! Reading files into blobs: all cores, each file once, into one buffer that begins with the envelope's header.

use crate::content::disk::{self, Dir, FileRead, Kind, Stat};
use crate::content::error::{ContentError, Result};
use crate::content::scan::{Content, Scan};
use crate::facts::Progress;
use gemel_object::{Encoded, EnvelopeHasher, Family, Gid, Limits, blob_envelope, blob_header};
use gemel_store::{NewObject, StoreError, Writer};
use rayon::prelude::*;
use std::io::{self, Read};

/// Files longer than this stream past instead of being held in memory.
pub(crate) const STREAM_OVER: u64 = 4 << 20;
/// Files of one directory that one thread reads in a row.
const BATCH: usize = 64;
/// How often a file that changes under the reader is read again.
const MAX_TRIES: u32 = 8;
/// Bytes of a long file hashed at a time.
const PIECE: usize = 1 << 20;

/// Where content goes.
pub(crate) trait BlobSink: Sync {
    /// Takes a blob held in memory.
    ///
    /// # Errors
    /// Those of the store.
    fn take(&self, blob: Encoded, base: Option<Gid>) -> Result<Gid>;
    /// Takes exactly `len_bytes` from `source`.
    ///
    /// # Errors
    /// Those of the store; `Source` when the source fails.
    fn take_stream(&self, len_bytes: u64, source: &mut dyn Read, limits: &Limits) -> Result<Gid>;
}

impl BlobSink for Writer<'_> {
    fn take(&self, blob: Encoded, base: Option<Gid>) -> Result<Gid> {
        self.put(NewObject { id: blob.id, bytes: blob.bytes, base: base.filter(|base| *base != blob.id) })?;
        Ok(blob.id)
    }

    fn take_stream(&self, len_bytes: u64, source: &mut dyn Read, _: &Limits) -> Result<Gid> {
        Ok(self.put_blob_stream(len_bytes, source)?.0)
    }
}

/// Names content and keeps nothing.
pub(crate) struct HashOnly;

impl BlobSink for HashOnly {
    fn take(&self, blob: Encoded, _: Option<Gid>) -> Result<Gid> {
        Ok(blob.id)
    }

    fn take_stream(&self, len_bytes: u64, source: &mut dyn Read, limits: &Limits) -> Result<Gid> {
        let failed = |source| ContentError::Store(StoreError::Source { source });
        let header = blob_header(len_bytes, limits).map_err(|error| failed(io::Error::other(error)))?;
        let mut hasher = EnvelopeHasher::new(&header);
        let mut piece = vec![0; PIECE];
        loop {
            match source.read(&mut piece) {
                Ok(0) => return Ok(hasher.finish()),
                Ok(read) => hasher.update(piece.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

/// What reading a file or link gave.
pub(crate) struct FileContent {
    /// Its blob.
    pub(crate) blob: Gid,
    /// What it was after it had been read.
    pub(crate) after: Stat,
}

/// Some pending files of one directory.
struct Batch {
    node: usize,
    first: usize,
    end: usize,
}

/// Reads everything pending and notes what it holds. What is gone meanwhile stays without a blob.
///
/// # Errors
/// `Io`, `Limit`, `Unstable` naming the path; those of the sink.
pub(crate) fn resolve(
    scan: &mut Scan,
    sink: &dyn BlobSink,
    limits: &Limits,
    progress: &dyn Progress,
) -> Result<()> {
    let mut batches = Vec::new();
    for (node, directory) in scan.nodes.iter().enumerate() {
        if let Content::Fresh(leaves) = &directory.content {
            let count = leaves.pending.len();
            let firsts = (0..count).step_by(BATCH);
            batches.extend(firsts.map(|first| Batch { node, first, end: count.min(first + BATCH) }));
        }
    }
    let results: Vec<Vec<Option<FileContent>>> = batches
        .par_iter()
        .map(|batch| read_batch(scan, batch, sink, limits, progress))
        .collect::<Result<_>>()?;
    for (batch, results) in batches.iter().zip(results) {
        let Content::Fresh(leaves) = &mut scan.nodes[batch.node].content else { continue };
        for (pending, result) in (batch.first..batch.end).zip(results) {
            let Some(&(position, _)) = leaves.pending.get(pending) else { continue };
            let Some(leaf) = leaves.item_mut(position) else { continue };
            leaf.blob = result.as_ref().map(|content| content.blob);
            leaf.settled = result.as_ref().is_some_and(|content| content.after == leaf.stat);
            scan.disturbed |= !result.is_some_and(|content| content.after.same_content(&leaf.stat));
        }
    }
    Ok(())
}

fn read_batch(
    scan: &Scan,
    batch: &Batch,
    sink: &dyn BlobSink,
    limits: &Limits,
    progress: &dyn Progress,
) -> Result<Vec<Option<FileContent>>> {
    let Content::Fresh(leaves) = &scan.nodes[batch.node].content else { return Ok(Vec::new()) };
    let pending = leaves.pending.get(batch.first..batch.end).unwrap_or_default();
    let path = scan.path(batch.node);
    let dir = match scan.root.beneath(&path) {
        Ok(dir) => dir,
        Err(error) if disk::is_absent(&error) => return Ok(pending.iter().map(|_| None).collect()),
        Err(error) => return Err(ContentError::io("open", disk::text(&path))(error)),
    };
    let mut results = Vec::with_capacity(pending.len());
    for &(position, base) in pending {
        let Some(leaf) = leaves.items().get(position) else { continue };
        let name = leaves.name(leaf);
        let reader = Reader { dir: &dir, name, path: &path, limits };
        results.push(reader.read(&leaf.stat, base, sink)?);
        progress.advance(1);
    }
    Ok(results)
}

/// Reads one file or link of a directory.
pub(crate) struct Reader<'a> {
    /// The directory.
    pub(crate) dir: &'a Dir,
    /// The name in it.
    pub(crate) name: &'a [u8],
    /// The path of the directory, for messages.
    pub(crate) path: &'a [u8],
    /// Upper bounds on objects.
    pub(crate) limits: &'a Limits,
}

/// One attempt at a file.
enum Attempt {
    Read(FileContent),
    Gone,
    /// It had another length than expected.
    Again(u64),
}

impl Reader<'_> {
    /// Hands the content to `sink`; `None` when there is no file or link any more.
    ///
    /// # Errors
    /// `Io`, `Limit`, `Unstable` naming the path; those of the sink.
    pub(crate) fn read(
        &self,
        expected: &Stat,
        base: Option<Gid>,
        sink: &dyn BlobSink,
    ) -> Result<Option<FileContent>> {
        if expected.kind == Kind::Link {
            return self.link(base, sink);
        }
        let mut size = expected.size;
        for _ in 0..MAX_TRIES {
            match self.attempt(size, base, sink)? {
                Attempt::Read(content) => return Ok(Some(content)),
                Attempt::Gone => return Ok(None),
                Attempt::Again(found) => size = found,
            }
        }
        Err(ContentError::Unstable { path: self.shown() })
    }

    fn link(&self, base: Option<Gid>, sink: &dyn BlobSink) -> Result<Option<FileContent>> {
        let target = match self.dir.read_link(self.name) {
            Ok(target) => target,
            // Not a link any more.
            Err(error) if disk::is_absent(&error) || error.kind() == io::ErrorKind::InvalidInput => {
                return Ok(None);
            }
            Err(error) => return Err(self.failed("read", error)),
        };
        let after = self.dir.stat(self.name).map_err(|error| self.failed("stat", error))?;
        let Some(after) = after.filter(|after| after.kind == Kind::Link) else { return Ok(None) };
        let blob = blob_envelope(&target, self.limits).map_err(|_| self.too_large(target.len() as u64))?;
        Ok(Some(FileContent { blob: sink.take(blob, base)?, after }))
    }

    fn attempt(&self, size: u64, base: Option<Gid>, sink: &dyn BlobSink) -> Result<Attempt> {
        let mut file = match self.dir.open_file(self.name) {
            Ok(file) => file,
            Err(error) if disk::is_absent(&error) => return Ok(Attempt::Gone),
            Err(error) => return Err(self.failed("open", error)),
        };
        let header = blob_header(size, self.limits).map_err(|_| self.too_large(size))?;
        if size > STREAM_OVER {
            return self.stream(&mut file, size, sink);
        }
        // One byte more than expected: a read that comes back short has met the end, no second one is needed.
        let capacity = header.as_bytes().len() + usize::try_from(size).unwrap_or(0) + 1;
        let mut bytes = Vec::with_capacity(capacity);
        bytes.extend_from_slice(header.as_bytes());
        let ended = match file.fill(&mut bytes) {
            Ok(ended) => ended,
            // Opening a folder that took the file's place goes well.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => return Ok(Attempt::Gone),
            Err(error) => return Err(self.failed("read", error)),
        };
        let after = file.stat().map_err(|error| self.failed("stat", error))?;
        if !matches!(after.kind, Kind::File | Kind::Executable) {
            return Ok(Attempt::Gone);
        }
        if bytes.len() as u64 != header.envelope_len() {
            let read = bytes.len() - header.as_bytes().len();
            return Ok(Attempt::Again(if ended { read as u64 } else { after.size.max(size + 1) }));
        }
        let blob = Encoded { id: Gid::of_envelope(Family::Blob, &bytes), bytes };
        Ok(Attempt::Read(FileContent { blob: sink.take(blob, base)?, after }))
    }

    fn stream(&self, file: &mut FileRead, size: u64, sink: &dyn BlobSink) -> Result<Attempt> {
        let mut source = Exact { file, left: size, failure: None };
        let result = sink.take_stream(size, &mut source, self.limits);
        let (left, failure) = (source.left, source.failure);
        if let Some(error) = failure {
            return Err(self.failed("read", error));
        }
        let after = file.stat().map_err(|error| self.failed("stat", error))?;
        if !matches!(after.kind, Kind::File | Kind::Executable) {
            return Ok(Attempt::Gone);
        }
        if left > 0 {
            return Ok(Attempt::Again(size - left));
        }
        Ok(Attempt::Read(FileContent { blob: result?, after }))
    }

    fn shown(&self) -> String {
        disk::text(&disk::join(self.path, self.name))
    }

    fn failed(&self, op: &'static str, source: io::Error) -> ContentError {
        ContentError::io(op, self.shown())(source)
    }

    fn too_large(&self, found: u64) -> ContentError {
        ContentError::Limit {
            what: format!("size of {}", self.shown()),
            found,
            limit: self.limits.max_object_bytes,
        }
    }
}

/// The first bytes of a file, and how their reading went.
struct Exact<'f> {
    file: &'f mut FileRead,
    left: u64,
    failure: Option<io::Error>,
}

impl Read for Exact<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let wanted = buf.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        match self.file.read(&mut buf[..wanted]) {
            Ok(read) => {
                self.left -= read as u64;
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let told = io::Error::from(error.kind());
                self.failure = Some(error);
                Err(told)
            }
        }
    }
}
