//! Reads PostgreSQL's advanced regular expressions, and writes them as Rust's crates spell them: the directors and options at
//! their beginning, escapes, bracket expressions, bounds, comments, look-around. What PostgreSQL refuses is refused here, in
//! its words, so that the crates' own syntax shows nowhere. `regular_expression` compiles what comes out.

use regex_syntax::is_meta_character;

use super::regular_bracket::read_bracket;
use super::regular_escape::{Escape, read_escape};
use super::regular_fault::{BAD_QUANTIFIER, BRACES, COUNTS, NO_GROUP, PARENTHESES, invalid};
use super::regular_options::RegularOptions;
use crate::Result;

/// Greatest number of repetitions, as PostgreSQL has it.
const REPETITIONS_MAX: u32 = 255;

/// A pattern in Rust's spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RustPattern {
    pub(super) text: String,
    pub(super) options: RegularOptions,
    /// Whether it has back references or look-around.
    pub(super) backtracks: bool,
    /// How many groups it has, also those that match nothing (`(a){0}`).
    pub(super) groups: usize,
}

/// Reads a pattern. Errors: 2201B, 0A000 for basic regular expressions.
pub(super) fn rust_pattern(pattern: &str, mut options: RegularOptions) -> Result<RustPattern> {
    let mut rest = pattern;
    if !options.is_literal
        && let Some(directed) = rest.strip_prefix("***")
    {
        rest = match directed.split_at_checked(1) {
            Some((":", behind)) => behind,
            Some(("=", behind)) => {
                options.is_literal = true;
                behind
            }
            _ => return Err(invalid(BAD_QUANTIFIER)),
        };
    }
    if !options.is_literal {
        rest = options.read_embedded(rest)?;
    }
    if options.is_literal {
        return Ok(RustPattern {
            text: regex_syntax::escape(rest),
            options,
            backtracks: false,
            groups: 0,
        });
    }
    let mut reader = Reader::new(rest, options);
    reader.read()?;
    Ok(RustPattern {
        backtracks: reader.backtracks,
        groups: reader.closed.len(),
        text: reader.written(),
        options,
    })
}

/// Matches nothing, wherever it stands. Before a branch it keeps branches apart that `regex_syntax` would write as one class, or behind
/// their common beginning, so that nobody saw any more that there are several: these prefer the longest match.
const BRANCH_MARK: &str = "(?:\\A)?";

/// What stands before a quantifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Atom,
    /// Nothing, a constraint or another quantifier: none may follow.
    Nothing,
}

/// An open group.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// Its number, if it has one.
    number: Option<usize>,
    is_look: bool,
    /// Whether it is look-around or stands in one.
    is_in_look: bool,
    /// Whether it has several branches.
    is_branched: bool,
}

struct Reader<'p> {
    rest: &'p str,
    options: RegularOptions,
    written: String,
    before: Before,
    open: Vec<Group>,
    /// By number, whether the group is closed.
    closed: Vec<bool>,
    backtracks: bool,
    /// Whether a quantifier prefers the shortest match.
    is_lazy: bool,
    /// Whether it has several branches outside of all groups.
    is_branched: bool,
    /// Where in what is written the second branch of something begins.
    second_branches: Vec<usize>,
}

impl<'p> Reader<'p> {
    fn new(rest: &'p str, options: RegularOptions) -> Reader<'p> {
        Reader {
            rest,
            options,
            written: String::with_capacity(rest.len()),
            before: Before::Nothing,
            open: Vec::new(),
            closed: Vec::new(),
            backtracks: false,
            is_lazy: false,
            is_branched: false,
            second_branches: Vec::new(),
        }
    }

    /// What was read, in Rust's spelling. Which length branches prefer matters only where something prefers the shortest.
    fn written(mut self) -> String {
        if self.is_lazy && !self.backtracks {
            for at in self.second_branches.iter().rev() {
                self.written.insert_str(*at, BRANCH_MARK);
            }
        }
        self.written
    }

    fn read(&mut self) -> Result<()> {
        while let Some(character) = self.next() {
            match character {
                ' ' | '\t' | '\n' | '\r' | '\x0B' | '\x0C' if self.options.is_expanded => {}
                '#' if self.options.is_expanded => {
                    self.rest = self.rest.split_once('\n').map_or("", |(_, behind)| behind);
                }
                '|' => self.branch(),
                '^' | '$' => self.write(character, Before::Nothing),
                '.' => self.write('.', Before::Atom),
                '(' => self.open()?,
                ')' => self.close()?,
                '[' => self.bracket()?,
                '*' | '+' | '?' => self.quantify(&character.to_string())?,
                '{' if self.rest.starts_with(|next: char| next.is_ascii_digit()) => self.bound()?,
                '\\' => self.escape()?,
                literal => self.literal(literal),
            }
        }
        match self.open.is_empty() {
            true => Ok(()),
            false => Err(invalid(PARENTHESES)),
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let next = characters.next();
        self.rest = characters.as_str();
        next
    }

    fn write(&mut self, character: char, before: Before) {
        self.written.push(character);
        self.before = before;
    }

    fn branch(&mut self) {
        self.write('|', Before::Nothing);
        let is_branched = match self.open.last_mut() {
            Some(group) => &mut group.is_branched,
            None => &mut self.is_branched,
        };
        if !std::mem::replace(is_branched, true) {
            self.second_branches.push(self.written.len());
        }
    }

    fn literal(&mut self, character: char) {
        if is_meta_character(character) {
            self.written.push('\\');
        }
        self.write(character, Before::Atom);
    }

    fn open(&mut self) -> Result<()> {
        let is_in_look = self.open.last().is_some_and(|group| group.is_in_look);
        let looks = ["?=", "?!", "?<=", "?<!"];
        let mut group = Group {
            number: None,
            is_look: false,
            is_in_look,
            is_branched: false,
        };
        if let Some(comment) = self.rest.strip_prefix("?#") {
            self.rest = comment.split_once(')').map_or("", |(_, behind)| behind);
            return Ok(());
        }
        if let Some(look) = looks.iter().find(|look| self.rest.starts_with(**look)) {
            self.rest = &self.rest[look.len()..];
            self.written.push('(');
            self.written.push_str(look);
            self.backtracks = true;
            (group.is_look, group.is_in_look) = (true, true);
        } else if let Some(behind) = self.rest.strip_prefix("?:") {
            self.rest = behind;
            self.written.push_str("(?:");
        } else if self.rest.starts_with('?') {
            return Err(invalid(BAD_QUANTIFIER));
        } else if is_in_look {
            // No number means what look-around matches.
            self.written.push_str("(?:");
        } else {
            self.closed.push(false);
            group.number = Some(self.closed.len());
            self.written.push('(');
        }
        self.open.push(group);
        self.before = Before::Nothing;
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let Some(group) = self.open.pop() else {
            return Err(invalid(PARENTHESES));
        };
        if let Some(number) = group.number {
            self.closed[number - 1] = true;
        }
        let before = if group.is_look {
            Before::Nothing
        } else {
            Before::Atom
        };
        self.write(')', before);
        Ok(())
    }

    fn bracket(&mut self) -> Result<()> {
        for (border, written) in [("[:<:]]", "\\b{start}"), ("[:>:]]", "\\b{end}")] {
            if let Some(behind) = self.rest.strip_prefix(border) {
                self.rest = behind;
                self.written.push_str(written);
                self.before = Before::Nothing;
                return Ok(());
            }
        }
        self.rest = read_bracket(self.rest, self.options, &mut self.written)?;
        self.before = Before::Atom;
        Ok(())
    }

    fn quantify(&mut self, quantifier: &str) -> Result<()> {
        if self.before != Before::Atom {
            return Err(invalid(BAD_QUANTIFIER));
        }
        self.written.push_str(quantifier);
        if let Some(behind) = self.rest.strip_prefix('?') {
            self.rest = behind;
            self.written.push('?');
            self.is_lazy = true;
        }
        self.before = Before::Nothing;
        Ok(())
    }

    /// `{m}`, `{m,}` or `{m,n}`, behind its brace.
    fn bound(&mut self) -> Result<()> {
        let Some((inner, behind)) = self.rest.split_once('}') else {
            return Err(invalid(BRACES));
        };
        let count = |digits: &str| match digits.parse::<u32>() {
            Ok(count) if count <= REPETITIONS_MAX && !digits.starts_with('+') => Ok(count),
            _ => Err(invalid(COUNTS)),
        };
        let quantifier = match inner.split_once(',') {
            None => format!("{{{}}}", count(inner)?),
            Some((from, "")) => format!("{{{},}}", count(from)?),
            Some((from, to)) => {
                let (from, to) = (count(from)?, count(to)?);
                if from > to {
                    return Err(invalid(COUNTS));
                }
                format!("{{{from},{to}}}")
            }
        };
        self.rest = behind;
        self.quantify(&quantifier)
    }

    fn escape(&mut self) -> Result<()> {
        let (escape, behind) = read_escape(self.rest, self.closed.len())?;
        self.rest = behind;
        match escape {
            Escape::Character(character) => self.literal(character),
            Escape::Class(class) => {
                self.written.push_str(class.written());
                self.before = Before::Atom;
            }
            Escape::Constraint(written) => {
                self.written.push_str(written);
                self.before = Before::Nothing;
            }
            Escape::Reference(number) => {
                let is_in_look = self.open.last().is_some_and(|group| group.is_in_look);
                if is_in_look || self.closed.get(number - 1) != Some(&true) {
                    return Err(invalid(NO_GROUP));
                }
                // What stands behind it may be a digit.
                self.written.push_str(&format!("(?:\\{number})"));
                self.backtracks = true;
                self.before = Before::Atom;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &str) -> Result<String> {
        rust_pattern(pattern, RegularOptions::read("")?).map(|pattern| pattern.text)
    }

    #[test]
    fn patterns_are_spelled_as_rust_spells_them() {
        for (pattern, spelled) in [
            ("a{,2}b{2,}?", "a\\{,2\\}b{2,}?"),
            ("[]a-]x]", "[\\]a\\-]x\\]"),
            ("[[:alpha:][.-.]\\]&&]", "[\\p{Alphabetic}\\-\\]\\&\\&]"),
            ("\\d\\B\\x41\\u00e9\\012\\e", "[0-9]\\\\Aé\n\x1B"),
            ("(a)\\1\\10", "(a)(?:\\1)\x08"),
            ("(?=(a))[[:<:]]b", "(?=(?:a))\\b{start}b"),
            ("a(?#no matter)b", "ab"),
            ("(?x)a b # c", "ab"),
            ("(?n)[^a]", "[^\\na]"),
            ("(?q)(a", "\\(a"),
            ("***=a.b", "a\\.b"),
            ("***:a.b", "a.b"),
            ("x(a|b|c)+", "x(a|b|c)+"),
            ("x(a|b|c)d*?|e", "x(a|(?:\\A)?b|c)d*?|(?:\\A)?e"),
        ] {
            assert_eq!(read(pattern).unwrap(), spelled, "{pattern}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_in_postgresqls_words() {
        for (pattern, reason) in [
            ("a**", BAD_QUANTIFIER),
            ("^*", BAD_QUANTIFIER),
            ("(*a)", BAD_QUANTIFIER),
            ("a(?i)b", BAD_QUANTIFIER),
            ("(?=a)*", BAD_QUANTIFIER),
            ("(?z)a", "invalid embedded option"),
            ("(a", PARENTHESES),
            ("a)", PARENTHESES),
            ("a{2", BRACES),
            ("a{2,1}", COUNTS),
            ("a{256}", COUNTS),
            ("[a", "brackets [] not balanced"),
            ("[b-a]", "invalid character range"),
            ("[[:letters:]]", "invalid character class"),
            ("\\q", "invalid escape \\ sequence"),
            ("a\\", "invalid escape \\ sequence"),
            ("\\1", NO_GROUP),
            ("(a\\1)", NO_GROUP),
            ("(a)(?=\\1)", NO_GROUP),
        ] {
            let error = read(pattern).unwrap_err();
            assert_eq!(error.sqlstate(), "2201B");
            let message = format!("invalid regular expression: {reason}");
            assert_eq!(error.to_string(), message, "{pattern}");
        }
    }
}
