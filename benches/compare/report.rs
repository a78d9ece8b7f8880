//! `Report`: measurements by row and system, and the table of their medians.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::system::System;
use crate::workload::Sizes;

/// Columns after those of the systems: what is beside SQL or below it.
const LAYERS: [&str; 4] = ["floor", "store", "sled", "fjall"];

/// One row of the table.
struct Line {
    name: String,
    unit: &'static str,
    /// Measurements by column.
    columns: BTreeMap<usize, Vec<f64>>,
}

/// Everything measured so far.
pub(crate) struct Report {
    heading: String,
    systems: Vec<String>,
    /// Those of `LAYERS` that have a column.
    layers: Vec<&'static str>,
    lines: Vec<Line>,
}

impl Report {
    /// An empty report that names the machine and the systems.
    pub(crate) fn new(sizes: &Sizes, systems: &[System]) -> Report {
        let heading = format!("{} rows, medians of {} rounds", sizes.rows, sizes.rounds);
        let names = systems.iter().map(|system| system.name().to_string()).collect();
        Report::of_part(&heading, names).with_layers(&["store", "sled", "fjall"])
    }

    /// An empty report of another part, with a column for each name.
    pub(crate) fn of_part(heading: &str, names: Vec<String>) -> Report {
        Report {
            heading: format!("{heading}; {}", machine()),
            systems: names,
            layers: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// With columns for these of `LAYERS`.
    pub(crate) fn with_layers(self, layers: &[&'static str]) -> Report {
        Report {
            layers: layers.to_vec(),
            ..self
        }
    }

    /// Adds a column for a system.
    pub(crate) fn add_system(&mut self, name: &str) -> usize {
        self.systems.push(name.to_string());
        self.systems.len() - 1
    }

    /// The column of a layer below SQL.
    pub(crate) fn layer(layer: &str) -> usize {
        100 + LAYERS
            .iter()
            .position(|name| *name == layer)
            .expect("a layer of the table")
    }

    /// Adds one measurement; greater is faster, except for memory.
    pub(crate) fn add(&mut self, name: &str, unit: &'static str, column: usize, value: f64) {
        if !self.lines.iter().any(|line| line.name == name) {
            self.lines.push(Line {
                name: name.to_string(),
                unit,
                columns: BTreeMap::new(),
            });
        }
        let line = self
            .lines
            .iter_mut()
            .find(|line| line.name == name)
            .expect("the line was just added");
        line.columns.entry(column).or_default().push(value);
    }

    /// The table in Markdown. Behind the systems stands the ratio of the first and the last.
    pub(crate) fn table(&self) -> String {
        let mut names: Vec<&str> = self.systems.iter().map(String::as_str).collect();
        let has_ratio = names.len() > 1 || !self.layers.is_empty();
        if has_ratio {
            names.push("ratio");
        }
        names.extend(&self.layers);
        let mut table = format!("{}\n\n| measured | unit |", self.heading);
        for name in &names {
            let _ = write!(table, " {name} |");
        }
        let _ = write!(table, "\n|---|---|{}", "---:|".repeat(names.len()));
        for line in &self.lines {
            let median = |column| line.columns.get(&column).map(|values| median(values));
            let _ = write!(table, "\n| {} | {} |", line.name, line.unit);
            for at in 0..self.systems.len() {
                let _ = write!(table, " {} |", figure(median(at)));
            }
            if has_ratio {
                let last = self.systems.len().max(2) - 1;
                let ratio = median(0).zip(median(last)).map(|(first, other)| first / other);
                let ratio = ratio.map_or("–".to_string(), |ratio| format!("{ratio:.2}"));
                let _ = write!(table, " {ratio} |");
            }
            for layer in &self.layers {
                let _ = write!(table, " {} |", figure(median(Report::layer(layer))));
            }
        }
        table
    }
}

/// The middle value.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    }
}

/// A figure of three digits with thousands apart; a dash where nothing was measured.
fn figure(value: Option<f64>) -> String {
    let Some(value) = value else {
        return "–".to_string();
    };
    if value < 10.0 {
        return format!("{value:.2}");
    }
    let scale = 10f64.powi((value.abs().max(1.0).log10().floor() as i32 - 2).max(0));
    let digits = format!("{:.0}", (value / scale).round() * scale);
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Date, processors and memory, for whoever reads the table later.
fn machine() -> String {
    let processors = std::thread::available_parallelism().map_or(0, |count| count.get());
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = memory
        .split_whitespace()
        .nth(1)
        .and_then(|kilobytes| kilobytes.parse::<u64>().ok())
        .unwrap_or(0);
    let model = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("", |(_, m)| m);
    let date = chrono::Utc::now().format("%Y-%m-%d");
    format!(
        "{date}, {processors} processors ({model}), {} GiB of memory",
        kilobytes >> 20
    )
}
