//! The lines of the answer.

use crate::Result;
use std::fmt;
use std::io::Write;
use std::time::Duration;

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Time(Duration),
    Bytes(u64),
    Count(u64),
    /// Bytes of index for each object.
    BytesEach(f64),
}

impl Value {
    fn number(self) -> f64 {
        match self {
            Value::Time(time) => time.as_secs_f64(),
            Value::Bytes(n) | Value::Count(n) => n as f64,
            Value::BytesEach(n) => n,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match *self {
            Value::Time(time) if time < Duration::from_micros(10) => format!("{} ns", time.as_nanos()),
            Value::Time(time) if time < Duration::from_millis(1) => {
                format!("{:.1} us", time.as_secs_f64() * 1e6)
            }
            Value::Time(time) if time < Duration::from_secs(1) => {
                format!("{:.1} ms", time.as_secs_f64() * 1e3)
            }
            Value::Time(time) => format!("{:.2} s", time.as_secs_f64()),
            Value::Bytes(n) => format!("{:.1} MiB", n as f64 / f64::from(1 << 20)),
            Value::Count(n) => n.to_string(),
            Value::BytesEach(n) => format!("{n:.1} B"),
        };
        f.pad(&text)
    }
}

/// What a row has to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bar {
    /// Ours divided by git's is at most this.
    Ratio(f64),
    /// Ours is at most this.
    AtMost(Value),
    /// Shown for information.
    None,
}

/// Writes rows as they are measured and counts those that miss their bar.
pub(crate) struct Table<'a> {
    out: &'a mut dyn Write,
    rows: usize,
    missed: usize,
}

impl<'a> Table<'a> {
    pub(crate) fn begin(out: &'a mut dyn Write) -> Result<Table<'a>> {
        writeln!(out, "{:<34} {:>12} {:>12} {:>8} {:>10}", "name", "ours", "git", "ratio", "bar")?;
        Ok(Table { out, rows: 0, missed: 0 })
    }

    /// A remark between rows.
    pub(crate) fn note(&mut self, text: &str) -> Result<()> {
        writeln!(self.out, "# {text}")?;
        Ok(self.out.flush()?)
    }

    pub(crate) fn row(&mut self, name: &str, ours: Value, git: Option<Value>, bar: Bar) -> Result<()> {
        let ratio = git.map(|git| ours.number() / git.number());
        let reached = match bar {
            Bar::Ratio(most) => ratio.is_some_and(|ratio| ratio <= most),
            Bar::AtMost(most) => ours.number() <= most.number(),
            Bar::None => true,
        };
        self.rows += usize::from(!matches!(bar, Bar::None));
        self.missed += usize::from(!reached);
        let dash = || "-".to_string();
        let git = git.map_or_else(dash, |git| git.to_string());
        let ratio = ratio.map_or_else(dash, |ratio| format!("{ratio:.3}"));
        let bar = match bar {
            Bar::Ratio(most) => format!("{most}"),
            Bar::AtMost(most) => most.to_string(),
            Bar::None => dash(),
        };
        let verdict = if reached { "" } else { "  MISSED" };
        writeln!(self.out, "{name:<34} {ours:>12} {git:>12} {ratio:>8} {bar:>10}{verdict}")?;
        Ok(self.out.flush()?)
    }

    pub(crate) fn end(self) -> Result<()> {
        writeln!(self.out, "# {} of {} bars reached", self.rows - self.missed, self.rows)?;
        Ok(())
    }
}

/// The middle one of some measurements.
pub(crate) fn median<T: PartialOrd + Copy>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_whether_the_bar_is_reached() {
        let mut out = Vec::new();
        let mut table = Table::begin(&mut out).unwrap();
        let seconds = |n| Value::Time(Duration::from_secs(n));
        table.row("fast", seconds(1), Some(seconds(10)), Bar::Ratio(0.15)).unwrap();
        table.row("slow", seconds(2), Some(seconds(10)), Bar::Ratio(0.15)).unwrap();
        table.row("small", Value::Count(6), None, Bar::AtMost(Value::Count(6))).unwrap();
        table.end().unwrap();
        let text = String::from_utf8(out).unwrap();
        let missed: Vec<&str> = text.lines().filter(|line| line.ends_with("MISSED")).collect();
        assert_eq!(missed.len(), 1, "{text}");
        assert!(missed[0].starts_with("slow"), "{text}");
        assert!(text.ends_with("# 2 of 3 bars reached\n"), "{text}");
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[3, 1, 2]), Some(2));
        assert_eq!(median::<u8>(&[]), None);
    }
}
