//! The references of an object, with their offsets (object model, section 14). Extension bytes yield none.

use crate::blob::read_header;
use crate::varint::read_uint;
use crate::{Check, Family, FamilySchema, FieldType, GID_LEN, Gid, Limits, RecordSchema, tree};

/// One reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefAt {
    /// Where its 33 bytes begin in the envelope.
    pub offset: usize,
    /// The object referred to.
    pub gid: Gid,
    /// Tag of the outermost field it stands in: the kind of the edge.
    pub tag: u8,
    /// Position in the innermost array it stands in, 0 outside of arrays.
    pub ordinal: u32,
}

impl RefAt {
    /// The kind of the edge from an object of `family`: the name of the outermost field.
    pub fn kind(&self, family: Family) -> &'static str {
        let field = FamilySchema::of(family).body.and_then(|body| body.field(self.tag));
        field.map_or("", |field| field.name)
    }
}

/// The references of the object in `envelope`, in order of appearance. The envelope must have been validated; on
/// other bytes the iteration ends early. Allocates nothing.
pub fn refs_of(envelope: &[u8]) -> Refs<'_> {
    match read_header(envelope, &UNBOUNDED) {
        Ok((schema, body_at, _)) => Refs::new(envelope, body_at, schema),
        Err(_) => Refs { bytes: envelope, depth: 0, stack: [Frame::EMPTY; MAX_FRAMES], tag: 0 },
    }
}

/// Limits belong to validation.
const UNBOUNDED: Limits = Limits { max_object_bytes: u64::MAX, ..Limits::DEFAULT };

/// Records and arrays that can be open at once; a test compares it with the schema tables.
const MAX_FRAMES: usize = 8;

/// Iterates over the references of an object.
#[derive(Clone, Debug)]
pub struct Refs<'a> {
    bytes: &'a [u8],
    depth: usize,
    stack: [Frame; MAX_FRAMES],
    tag: u8,
}

/// A record or an array that is being walked.
#[derive(Clone, Copy, Debug)]
struct Frame {
    at: usize,
    end: usize,
    walk: Walk,
}

#[derive(Clone, Copy, Debug)]
enum Walk {
    Record(&'static RecordSchema),
    /// Of references, and the position of the next one.
    Gids(u32),
    /// Of records, and the position of the next one.
    Records(&'static RecordSchema, u32),
    /// Of tree entries, and the position of the next one.
    Entries(u32),
}

impl Frame {
    const EMPTY: Frame = Frame { at: 0, end: 0, walk: Walk::Gids(0) };
}

impl<'a> Refs<'a> {
    pub(crate) fn new(bytes: &'a [u8], body_at: usize, schema: &'static FamilySchema) -> Refs<'a> {
        let mut refs = Refs { bytes, depth: 0, stack: [Frame::EMPTY; MAX_FRAMES], tag: 0 };
        if let Some(body) = schema.body.filter(|body| body.has_refs) {
            refs.push(Frame { at: body_at, end: bytes.len(), walk: Walk::Record(body) });
        }
        refs
    }

    fn push(&mut self, frame: Frame) {
        if let Some(slot) = self.stack.get_mut(self.depth) {
            *slot = frame;
            self.depth += 1;
        }
    }

    /// Ends the iteration: the bytes are not those of an object.
    fn stop(&mut self) -> Option<RefAt> {
        self.depth = 0;
        None
    }

    /// The bounds of the bytes whose length stands at `at`.
    #[inline]
    fn sized(&self, at: usize, end: usize) -> Option<(usize, usize)> {
        let (len, from) = read_uint(self.bytes, at, end).ok()?;
        let to = from.checked_add(usize::try_from(len).ok()?)?;
        (to <= end).then_some((from, to))
    }

    /// The reference whose length stands at `at`, and the offset after it.
    #[inline]
    fn gid(&self, at: usize, end: usize, ordinal: u32) -> Option<(RefAt, usize)> {
        let (offset, to) = self.sized(at, end)?;
        let bytes: &[u8; GID_LEN] = self.bytes.get(offset..to)?.try_into().ok()?;
        Some((RefAt { offset, gid: Gid::from_bytes(bytes)?, tag: self.tag, ordinal }, to))
    }

    /// Advances the innermost frame by a step. `Ok(None)` is a step without a reference; `Err` ends everything.
    #[inline]
    fn step(&mut self, top: usize) -> Result<Option<RefAt>, ()> {
        let Some(&Frame { at, end, walk }) = self.stack.get(top) else { return Err(()) };
        if at >= end {
            self.depth = top;
            return Ok(None);
        }
        match walk {
            Walk::Record(schema) => self.field(top, at, end, schema),
            Walk::Gids(ordinal) => {
                let (found, next) = self.gid(at, end, ordinal).ok_or(())?;
                self.advance(top, next, Walk::Gids(ordinal.saturating_add(1)));
                Ok(Some(found))
            }
            Walk::Entries(ordinal) => self.entry(top, at, end, ordinal),
            Walk::Records(schema, ordinal) => {
                let (from, to) = self.sized(at, end).ok_or(())?;
                self.advance(top, to, Walk::Records(schema, ordinal.saturating_add(1)));
                self.push(Frame { at: from, end: to, walk: Walk::Record(schema) });
                Ok(None)
            }
        }
    }

    #[inline]
    fn advance(&mut self, top: usize, at: usize, walk: Walk) {
        if let Some(frame) = self.stack.get_mut(top) {
            (frame.at, frame.walk) = (at, walk);
        }
    }

    fn entry(&mut self, top: usize, at: usize, end: usize, ordinal: u32) -> Result<Option<RefAt>, ()> {
        let data = self.bytes.get(at..end).ok_or(())?;
        let (offset, gid, len) = tree::target(data).ok_or(())?;
        self.advance(top, at + len, Walk::Entries(ordinal.saturating_add(1)));
        Ok(Some(RefAt { offset: at + offset, gid, tag: self.tag, ordinal }))
    }

    /// Walks one field of a record.
    #[inline]
    fn field(
        &mut self,
        top: usize,
        at: usize,
        end: usize,
        schema: &'static RecordSchema,
    ) -> Result<Option<RefAt>, ()> {
        let (tag, length_at) = read_uint(self.bytes, at, end).map_err(drop)?;
        let (from, to) = self.sized(length_at, end).ok_or(())?;
        self.advance(top, to, Walk::Record(schema));
        let tag = u8::try_from(tag).map_err(drop)?;
        let Some(field) = schema.field(tag) else { return Ok(None) };
        if top == 0 {
            self.tag = tag;
        }
        match &field.ty {
            FieldType::Gid(_) => {
                // Outside of any array of this record; a surrounding array of records gives the position.
                let ordinal = self.surrounding_ordinal(top);
                self.gid(from, to, ordinal).map(|(found, _)| Some(found)).ok_or(())
            }
            FieldType::Record(nested) if nested.has_refs => {
                let (from, to) = self.sized(from, to).ok_or(())?;
                self.push(Frame { at: from, end: to, walk: Walk::Record(nested) });
                Ok(None)
            }
            FieldType::Array(element) if element.has_refs() => {
                let (_, from) = read_uint(self.bytes, from, to).map_err(drop)?;
                let walk = match element {
                    FieldType::Record(_) if field.check == Some(Check::TreeOrder) => Walk::Entries(0),
                    FieldType::Record(nested) => Walk::Records(nested, 0),
                    _ => Walk::Gids(0),
                };
                self.push(Frame { at: from, end: to, walk });
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn surrounding_ordinal(&self, top: usize) -> u32 {
        let enclosing = self.stack.get(..top).unwrap_or_default();
        let position = enclosing.iter().rev().find_map(|frame| match frame.walk {
            // The frame already stands on the next element.
            Walk::Records(_, next) => Some(next.saturating_sub(1)),
            _ => None,
        });
        position.unwrap_or(0)
    }
}

impl Iterator for Refs<'_> {
    type Item = RefAt;

    #[inline]
    fn next(&mut self) -> Option<RefAt> {
        while let Some(top) = self.depth.checked_sub(1) {
            match self.step(top) {
                Ok(Some(found)) => return Some(found),
                Ok(None) => {}
                Err(()) => return self.stop(),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families::{NewDispositionEvent, NewReconciliation, NewResidual, NewResidualScope};
    use crate::families::{NewInteraction, NewState};
    use crate::{Certainty, Disposition, InteractionKind};

    fn frames(schema: &RecordSchema) -> usize {
        let nested = |ty: &FieldType| match ty {
            FieldType::Record(schema) => frames(schema),
            FieldType::Array(FieldType::Record(schema)) => 1 + frames(schema),
            FieldType::Array(_) => 1,
            _ => 0,
        };
        1 + schema.fields.iter().map(|field| nested(&field.ty)).max().unwrap_or(0)
    }

    #[test]
    fn the_stack_holds_the_deepest_declaration() {
        let deepest =
            Family::ALL.into_iter().filter_map(|family| FamilySchema::of(family).body).map(frames).max();
        assert!(deepest.is_some_and(|deepest| deepest <= MAX_FRAMES), "{deepest:?}");
    }

    fn gid(family: Family, byte: u8) -> Gid {
        Gid::new(family, [byte; 32])
    }

    fn edges(family: Family, envelope: &[u8]) -> Vec<(&'static str, u32, Gid)> {
        let found = refs_of(envelope).inspect(|found| {
            assert_eq!(&envelope[found.offset..found.offset + GID_LEN], found.gid.as_bytes());
        });
        found.map(|found| (found.kind(family), found.ordinal, found.gid)).collect()
    }

    #[test]
    fn nested_references_are_edges_of_the_outermost_field() {
        let trajectories = [gid(Family::Change, 2), gid(Family::Trajectory, 3)];
        let claims = [gid(Family::Claim, 4), gid(Family::Claim, 4)];
        let residual = NewResidual {
            summary: Some("s"),
            scope: Some(NewResidualScope {
                intent: Some(gid(Family::Intent, 1)),
                trajectories: Some(&trajectories),
                ..Default::default()
            }),
            affected_claims: Some(&claims),
            disposition_event: Some(NewDispositionEvent {
                disposition: Some(Disposition::Open),
                by: Some(gid(Family::Producer, 5)),
                ..Default::default()
            }),
            ..Default::default()
        };
        let envelope = residual.encode(&Limits::DEFAULT).unwrap().bytes;
        let expected = [
            ("scope", 0, gid(Family::Intent, 1)),
            ("scope", 0, gid(Family::Change, 2)),
            ("scope", 1, gid(Family::Trajectory, 3)),
            ("affected_claims", 0, gid(Family::Claim, 4)),
            ("affected_claims", 1, gid(Family::Claim, 4)),
            ("disposition_event", 0, gid(Family::Producer, 5)),
        ];
        assert_eq!(edges(Family::Residual, &envelope), expected);
    }

    #[test]
    fn arrays_of_records() {
        let subjects = [gid(Family::Blob, 1), gid(Family::Blob, 2)];
        let interaction = |subjects| NewInteraction {
            kind: Some(InteractionKind::Semantic),
            certainty: Some(Certainty::Observed),
            subjects: Some(subjects),
            ..Default::default()
        };
        let interactions = [interaction(&subjects[..1]), interaction(&subjects)];
        let reconciliation = NewReconciliation {
            summary: Some("s"),
            semantic_interactions: Some(&interactions),
            ..Default::default()
        };
        let envelope = reconciliation.encode(&Limits::DEFAULT).unwrap().bytes;
        let ordinals: Vec<u32> = refs_of(&envelope).map(|found| found.ordinal).collect();
        assert_eq!(ordinals, [0, 0, 1]);
    }

    #[test]
    fn extension_bytes_yield_none() {
        let disguised = [&[0x21], gid(Family::Blob, 9).as_bytes().as_slice()].concat();
        let extensions: &[(u8, &[u8])] = &[(0x80, &disguised)];
        let state = NewState { root_tree: Some(gid(Family::Tree, 1)), extensions };
        let envelope = state.encode(&Limits::DEFAULT).unwrap().bytes;
        assert_eq!(edges(Family::State, &envelope), [("root_tree", 0, gid(Family::Tree, 1))]);
    }
}
