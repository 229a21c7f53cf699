//! JUnit XML, as cargo-nextest, pytest, Surefire, gotestsum and others write it.
//!
//! Test cases are counted where they stand, however suites are nested. Entities other than the five of XML are not
//! expanded, document types are read over, and nothing outside the file is looked at.

use super::{Report, by_counts, line, text};
use crate::history::observation::Counts;
use gemel_object::{EvidenceKind, EvidenceOutcome};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// Deepest nesting of elements.
const MAX_DEPTH: usize = 1000;

/// Names of suites that name a tool, not what was tested.
const TOOLS: [&str; 3] = ["nextest-run", "pytest", "pytest tests"];

/// Reads a file.
///
/// # Errors
/// When it is no JUnit XML.
pub(super) fn read(bytes: &[u8]) -> Result<Report, String> {
    let (text, bad) = text(bytes);
    let mut run = Run::default();
    run.report.unparsed = bad;
    let mut reader = Reader::from_str(&text);
    let cut = loop {
        match reader.read_event() {
            Ok(Event::Eof) if run.path.is_empty() => break None,
            Ok(Event::Eof) => break Some("it ends before its last element does".to_owned()),
            Ok(event) => run.event(&event)?,
            Err(error) => break Some(format!("{error}, at byte {}", reader.error_position())),
        }
    };
    if !run.is_junit {
        return Err(cut.unwrap_or_else(|| "it holds no testsuite".to_owned()));
    }
    Ok(run.close(cut))
}

/// What an element means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Suites,
    Suite,
    Case,
    Failure,
    Skipped,
    Flaky,
    Property,
    Other,
}

impl Element {
    fn of(name: &str) -> Element {
        match name {
            "testsuites" => Element::Suites,
            "testsuite" => Element::Suite,
            "testcase" => Element::Case,
            "failure" | "error" => Element::Failure,
            "skipped" | "disabled" => Element::Skipped,
            "flakyFailure" | "flakyError" => Element::Flaky,
            "property" => Element::Property,
            _ => Element::Other,
        }
    }
}

/// A test case that is being read.
#[derive(Debug, Default)]
struct Case {
    name: String,
    failure: Option<String>,
    is_skipped: bool,
    is_flaky: bool,
}

/// Numbers that attributes of a suite give.
#[derive(Clone, Copy, Debug, Default)]
struct Declared {
    tests: u64,
    bad: u64,
    skipped: u64,
    is_there: bool,
}

struct Run {
    report: Report,
    path: Vec<Element>,
    is_junit: bool,
    case: Option<Case>,
    counts: Counts,
    flaky: u64,
    suites: u64,
    /// Of the outermost element, and of the first suite below it.
    names: [Option<String>; 2],
    /// Of the outermost element; else the sum of those of the suites directly below.
    declared: [Declared; 2],
    has_doctype: bool,
    /// Elements open around the case, itself included.
    case_depth: usize,
    /// Whether a case stands beside suites, not in one: then the numbers of suites do not tell of all.
    has_loose_cases: bool,
}

impl Default for Run {
    fn default() -> Run {
        Run {
            report: Report::new(EvidenceKind::TestResult),
            path: Vec::new(),
            is_junit: false,
            case: None,
            counts: Counts::default(),
            flaky: 0,
            suites: 0,
            names: [None, None],
            declared: [Declared::default(); 2],
            has_doctype: false,
            case_depth: 0,
            has_loose_cases: false,
        }
    }
}

impl Run {
    fn event(&mut self, event: &Event<'_>) -> Result<(), String> {
        match event {
            Event::Start(tag) => self.open(tag)?,
            Event::Empty(tag) => {
                self.open(tag)?;
                self.leave();
            }
            Event::End(_) => self.leave(),
            Event::Text(text) => self.said(text),
            Event::CData(text) => self.said(text),
            Event::DocType(_) => self.has_doctype = true,
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        if self.path.len() >= MAX_DEPTH {
            return Err(format!("its elements are nested deeper than {MAX_DEPTH}"));
        }
        let element = Element::of(tag.local_name().as_ref());
        let is_top = self.path.is_empty();
        if is_top && !matches!(element, Element::Suites | Element::Suite) {
            return Err(format!(
                "its outermost element is {:?}, not testsuites",
                line(tag.local_name().as_ref())
            ));
        }
        self.path.push(element);
        match element {
            Element::Suites | Element::Suite => self.suite(tag, element),
            Element::Case => self.begin_case(tag),
            Element::Property => self.property(tag),
            Element::Failure | Element::Skipped | Element::Flaky => {
                let message = self.attribute(tag, "message").or_else(|| self.attribute(tag, "type"));
                let Some(case) = self.case.as_mut() else { return Ok(()) };
                match element {
                    Element::Failure if case.failure.as_ref().is_none_or(String::is_empty) => {
                        case.failure = Some(message.as_deref().map(line).unwrap_or_default());
                    }
                    Element::Skipped => case.is_skipped = true,
                    Element::Flaky => case.is_flaky = true,
                    _ => {}
                }
            }
            Element::Other => {}
        }
        Ok(())
    }

    fn leave(&mut self) {
        if self.path.pop().is_some() && self.path.len() + 1 == self.case_depth {
            self.end_case();
        }
    }

    /// The value of an attribute; one that does not read is taken as it is written.
    fn attribute(&mut self, tag: &BytesStart<'_>, name: &str) -> Option<String> {
        let mut attributes = tag.attributes();
        // Looking for repetitions takes the square of their number.
        let found = attributes
            .with_checks(false)
            .flatten()
            .find(|attribute| attribute.key.local_name().as_ref() == name)?;
        Some(match found.normalized_value(XmlVersion::Implicit1_0) {
            Ok(value) => value.into_owned(),
            Err(_) => {
                self.report.unparsed += 1;
                found.value.to_string()
            }
        })
    }

    fn number(&mut self, tag: &BytesStart<'_>, name: &str) -> Option<u64> {
        self.attribute(tag, name)?.trim().parse().ok()
    }

    fn suite(&mut self, tag: &BytesStart<'_>, element: Element) {
        self.is_junit = true;
        let depth = self.path.len() - 1;
        let name = self.attribute(tag, "name").map(|name| line(&name)).filter(|name| !name.is_empty());
        match name.as_deref() {
            Some("nextest-run") => self.report.tool("cargo-nextest", None),
            Some("pytest") => self.report.tool("pytest", None),
            _ => {}
        }
        if element == Element::Suite {
            self.suites += 1;
        }
        let is_tool = name.as_deref().is_some_and(|name| TOOLS.contains(&name));
        let slot = if depth == 0 { &mut self.names[0] } else { &mut self.names[1] };
        if slot.is_none() && !is_tool {
            *slot = name;
        }
        if let (Some(tests), Some(slot)) = (self.number(tag, "tests"), self.declared.get_mut(depth)) {
            slot.is_there = true;
            slot.tests = slot.tests.saturating_add(tests);
            let mut sum = |keys: [&str; 2]| {
                let numbers = keys.map(|key| self.number(tag, key).unwrap_or(0));
                numbers[0].saturating_add(numbers[1])
            };
            let (bad, skipped) = (sum(["failures", "errors"]), sum(["skipped", "disabled"]));
            if let Some(slot) = self.declared.get_mut(depth) {
                slot.bad = slot.bad.saturating_add(bad);
                slot.skipped = slot.skipped.saturating_add(skipped);
            }
        }
    }

    fn begin_case(&mut self, tag: &BytesStart<'_>) {
        if self.case.is_some() {
            // A case inside a case belongs to it.
            self.report.unparsed += 1;
            return;
        }
        self.case_depth = self.path.len();
        self.has_loose_cases |= self.path.first() == Some(&Element::Suites) && self.path.len() == 2;
        let name = self.attribute(tag, "name").unwrap_or_default();
        let class = self.attribute(tag, "classname").filter(|class| !class.is_empty() && *class != name);
        let status =
            self.attribute(tag, "status").or_else(|| self.attribute(tag, "result")).unwrap_or_default();
        self.case = Some(Case {
            name: match class {
                Some(class) => format!("{}::{}", line(&class), line(&name)),
                None => line(&name),
            },
            is_skipped: ["notrun", "skipped", "disabled", "suppressed"].contains(&status.as_str()),
            ..Case::default()
        });
    }

    fn end_case(&mut self) {
        self.case_depth = 0;
        let Some(case) = self.case.take() else { return };
        match case.failure {
            Some(why) => {
                self.counts.failed += 1;
                self.report.detail.add(&case.name, &why);
            }
            None if case.is_skipped => self.counts.skipped += 1,
            None => {
                self.counts.passed += 1;
                self.flaky += u64::from(case.is_flaky);
            }
        }
    }

    /// Text; that of a failure says why when its message does not.
    fn said(&mut self, said: &str) {
        if self.path.last() == Some(&Element::Failure)
            && let Some(case) = self.case.as_mut()
            && let Some(why) = case.failure.as_mut().filter(|why| why.is_empty())
        {
            *why = line(said);
        }
    }

    fn property(&mut self, tag: &BytesStart<'_>) {
        let tool = match self.attribute(tag, "name").as_deref() {
            Some("go.version") => "go",
            Some("java.version") => "java",
            _ => return,
        };
        let Some(value) = self.attribute(tag, "value") else { return };
        // `go1.22.1 linux/amd64`
        let version = value.trim_start_matches("go").split_whitespace().next().unwrap_or_default().to_owned();
        if !version.is_empty() {
            self.report.tool(tool, Some(&version));
        }
    }

    fn close(mut self, cut: Option<String>) -> Report {
        let counts = self.counts;
        let [whole, suites] = self.declared;
        let declared = if whole.is_there || self.has_loose_cases { whole } else { suites };
        let mut outcome = by_counts(&counts);
        if declared.is_there && cut.is_none() && declared.tests != counts.total() {
            let listed = counts.total();
            self.report
                .doubt("counts", format!("the report declares {} tests and lists {listed}", declared.tests));
            // Some list no test that was skipped.
            let unlisted = declared.skipped.saturating_sub(counts.skipped);
            if outcome != EvidenceOutcome::Fail && declared.tests.saturating_sub(listed) > unlisted {
                outcome = EvidenceOutcome::Inconclusive;
            }
        }
        if declared.bad > counts.failed {
            let bad = declared.bad;
            self.report.doubt(
                "counts",
                format!("the report declares {bad} failures and errors and lists {}", counts.failed),
            );
            outcome = EvidenceOutcome::Fail;
        }
        if let Some(reason) = cut {
            self.report.doubt("report", format!("the report is cut: {reason}"));
            if outcome != EvidenceOutcome::Fail {
                outcome = EvidenceOutcome::Inconclusive;
            }
        }
        if self.flaky > 0 {
            self.report.doubt("flaky", format!("{} test(s) passed only when repeated", self.flaky));
        }
        if self.has_doctype {
            self.report.doubt("report", "a document type was read over; its entities are not expanded");
        }
        self.report.outcome = Some(outcome);
        self.report.counts = (counts.total() > 0).then_some(counts);
        let [whole, first] = self.names;
        self.report.subject = first.filter(|_| self.suites == 1 && !self.has_loose_cases).or(whole);
        self.report
    }
}
