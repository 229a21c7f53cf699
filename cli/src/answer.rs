//! What a command hands back: facts that can be shown two ways, and what has to be said beside them.

use crate::cursor::Slice;
use crate::error::CliError;
use crate::json::{Json, Obj};
use crate::render::Printer;
use gemel_repo::facts::{Omitted, Uncertainty};
use serde_json::{Map, Value};
use std::io::Write;

/// Facts with their two looks.
pub(crate) trait View {
    /// The `result` member.
    fn json(&self) -> Map<String, Value>;
    /// The text for people.
    fn human(&self, out: &mut Printer<'_>);
}

/// Writes bytes that are neither text nor JSON.
pub(crate) type RawWriter<'c> = Box<dyn FnOnce(&mut dyn Write) -> Result<(), CliError> + 'c>;

/// The content of an answer.
pub(crate) enum Body<'c> {
    /// Facts.
    View(Box<dyn View + 'c>),
    /// Bytes for standard output as they are.
    Raw(RawWriter<'c>),
}

/// A finished command.
pub(crate) struct Answer<'c> {
    /// The content.
    pub(crate) body: Body<'c>,
    /// Rows in this answer; 1 for single answers.
    pub(crate) count: usize,
    /// It is a page of a list.
    pub(crate) listed: bool,
    /// Where the list goes on.
    pub(crate) next_cursor: Option<String>,
    /// What was left out.
    pub(crate) omitted: Vec<Omitted>,
    /// What is a guess.
    pub(crate) uncertainty: Vec<Uncertainty>,
    /// What was adjusted.
    pub(crate) notice: Option<String>,
    /// Exit status.
    pub(crate) exit: u8,
    /// The text only confirms what was done, so `--quiet` may drop it.
    pub(crate) confirmation: bool,
    /// The text may be long enough for a pager.
    pub(crate) paged: bool,
}

/// Identities listed with an omission at most.
const MAX_OMITTED_IDS: usize = 8;

impl<'c> Answer<'c> {
    /// Facts that a person asked to see.
    pub(crate) fn of(view: impl View + 'c) -> Answer<'c> {
        Answer {
            body: Body::View(Box::new(view)),
            count: 1,
            listed: false,
            next_cursor: None,
            omitted: Vec::new(),
            uncertainty: Vec::new(),
            notice: None,
            exit: 0,
            confirmation: false,
            paged: false,
        }
    }

    /// Facts about something that was done.
    pub(crate) fn done(view: impl View + 'c) -> Answer<'c> {
        Answer { confirmation: true, ..Answer::of(view) }
    }

    /// Bytes.
    pub(crate) fn raw(write: impl FnOnce(&mut dyn Write) -> Result<(), CliError> + 'c) -> Answer<'c> {
        Answer { body: Body::Raw(Box::new(write)), ..Answer::of(Nothing) }
    }

    /// One page of a list of `count` rows.
    pub(crate) fn list(view: impl View + 'c, count: usize, slice: Slice) -> Answer<'c> {
        Answer {
            count,
            listed: true,
            next_cursor: slice.next_cursor,
            notice: slice.notice,
            paged: true,
            ..Answer::of(view)
        }
    }

    /// Lets a pager take long text.
    pub(crate) fn long(self) -> Answer<'c> {
        Answer { paged: true, ..self }
    }

    /// Sets the exit status.
    pub(crate) fn exit(self, exit: u8) -> Answer<'c> {
        Answer { exit, ..self }
    }

    /// Adds what was left out.
    pub(crate) fn omitting(mut self, omitted: &[Omitted]) -> Answer<'c> {
        self.omitted.extend_from_slice(omitted);
        self
    }

    /// Adds doubts.
    pub(crate) fn doubting(mut self, uncertainty: &[Uncertainty]) -> Answer<'c> {
        self.uncertainty.extend_from_slice(uncertainty);
        self
    }
}

impl Json for Omitted {
    fn json(&self) -> Value {
        let ids = (!self.ids.is_empty() && self.ids.len() <= MAX_OMITTED_IDS).then_some(&self.ids);
        let row = Obj::new().put("class", self.class).put("count", &self.count).put("reason", self.reason);
        row.opt("ids", ids).json()
    }
}

impl Json for Uncertainty {
    fn json(&self) -> Value {
        Obj::new().put("class", self.class).put("ids", &self.ids).put("reason", &self.reason).json()
    }
}

/// The view of an answer without facts.
struct Nothing;

impl View for Nothing {
    fn json(&self) -> Map<String, Value> {
        Map::new()
    }
    fn human(&self, _: &mut Printer<'_>) {}
}
