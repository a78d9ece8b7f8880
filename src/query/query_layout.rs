//! `QueryLayout`: the lines of a printed query, in the plain form and the pretty one. Filled by `query_text`; sets lines and blanks as
//! PostgreSQL's `ruleutils` does, and knows no query.

use super::printed::Printed;
use super::printed_names::LINE_BEGINS;

/// What a line begins with, in a layout and within an expression.
const LINE_ENDS: [char; 2] = ['\n', LINE_BEGINS];

/// From this many blanks on, further ones count half.
const INDENT_LIMIT: usize = 40;

/// A query in two forms, which differ in parentheses.
#[derive(Debug, Clone)]
pub(super) struct QueryLayout {
    pub(super) plain: String,
    pub(super) pretty: String,
    /// Blanks before the next line, but for what its keyword says.
    pub(super) indent: usize,
    /// Whether the last output took several lines, plain and pretty.
    was_long: (bool, bool),
}

impl QueryLayout {
    /// Empty, with so many blanks before its lines.
    pub(super) fn new(indent: usize) -> QueryLayout {
        QueryLayout {
            plain: String::new(),
            pretty: String::new(),
            indent,
            was_long: (false, false),
        }
    }

    /// A text in both forms.
    pub(super) fn word(&mut self, text: &str) {
        self.plain.push_str(text);
        self.pretty.push_str(text);
    }

    /// In the plain form alone.
    pub(super) fn plain_word(&mut self, text: &str) {
        self.plain.push_str(text);
    }

    /// In the pretty form alone.
    pub(super) fn pretty_word(&mut self, text: &str) {
        self.pretty.push_str(text);
    }

    /// An expression.
    pub(super) fn printed(&mut self, printed: &Printed) {
        push(&mut self.plain, &printed.plain);
        push(&mut self.pretty, &printed.pretty);
    }

    /// Another layout as it is.
    pub(super) fn append(&mut self, other: &QueryLayout) {
        self.plain.push_str(&other.plain);
        self.pretty.push_str(&other.pretty);
    }

    /// A keyword on a line of its own. `before`, `behind`: what the blanks of lines change by; `more`: blanks of this line alone.
    pub(super) fn keyword(&mut self, text: &str, before: i32, behind: i32, more: usize) {
        self.indent = changed(self.indent, before);
        let blanks = " ".repeat(blanks(self.indent) + more);
        for buffer in [&mut self.plain, &mut self.pretty] {
            buffer.truncate(buffer.trim_end_matches(' ').len());
            buffer.push('\n');
            buffer.push_str(&blanks);
            buffer.push_str(text);
        }
        self.indent = changed(self.indent, behind);
    }

    /// An output, on a line of its own but for the first.
    pub(super) fn target(&mut self, target: &Printed, is_behind: bool) {
        let line = format!("\n{}", " ".repeat(blanks(self.indent.saturating_sub(8)) + 4));
        let buffers = [
            (&mut self.plain, &target.plain, &mut self.was_long.0),
            (&mut self.pretty, &target.pretty, &mut self.was_long.1),
        ];
        for (buffer, text, was_long) in buffers {
            let begins_line = text.starts_with(LINE_ENDS);
            if begins_line || is_behind {
                buffer.truncate(buffer.trim_end_matches(' ').len());
            }
            if !begins_line && is_behind {
                buffer.push_str(&line);
            }
            buffer.push_str(text);
            *was_long = text.trim_start_matches(LINE_ENDS).contains(LINE_ENDS);
        }
    }

    /// A further item of FROM, on a line of its own.
    pub(super) fn item(&mut self, item: &QueryLayout) {
        let line = format!("\n{}", " ".repeat(blanks(self.indent.saturating_sub(8)) + 4));
        for (buffer, text) in [(&mut self.plain, &item.plain), (&mut self.pretty, &item.pretty)] {
            buffer.truncate(buffer.trim_end_matches(' ').len());
            if !text.starts_with(LINE_ENDS) {
                buffer.push_str(&line);
            }
            buffer.push_str(text);
        }
    }
}

/// A text that begins a line takes the blanks before it away.
fn push(buffer: &mut String, text: &str) {
    if text.starts_with(LINE_ENDS) {
        buffer.truncate(buffer.trim_end_matches(' ').len());
    }
    buffer.push_str(text);
}

fn changed(indent: usize, by: i32) -> usize {
    let by = isize::try_from(by).unwrap_or_default();
    indent.saturating_add_signed(by)
}

fn blanks(indent: usize) -> usize {
    match indent < INDENT_LIMIT {
        true => indent,
        false => (INDENT_LIMIT + (indent - INDENT_LIMIT) / 4) % INDENT_LIMIT,
    }
}
