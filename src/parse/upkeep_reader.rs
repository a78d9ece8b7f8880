//! Reads VACUUM, ANALYZE, REINDEX, CLUSTER and LOCK TABLE off their tokens, with the options that PostgreSQL has. Called by
//! `command_reader`; knows nothing of what they do.

use sqlparser::tokenizer::Token;

use super::command::Command;
use super::definition::{ReindexOf, Upkeep, UpkeepKind, UpkeepTarget};
use super::token_reader::TokenReader;
use crate::error::StatementFault;
use crate::{Error, Result};

/// The options of VACUUM in parentheses.
const VACUUM_OPTIONS: [&str; 11] = [
    "full",
    "freeze",
    "verbose",
    "analyze",
    "disable_page_skipping",
    "skip_locked",
    "index_cleanup",
    "process_toast",
    "truncate",
    "parallel",
    "analyse",
];
const ANALYZE_OPTIONS: [&str; 2] = ["verbose", "skip_locked"];
const REINDEX_OPTIONS: [&str; 3] = ["verbose", "concurrently", "tablespace"];
const CLUSTER_OPTIONS: [&str; 1] = ["verbose"];

/// What LOCK TABLE may ask for.
const LOCK_MODES: [&str; 8] = [
    "ACCESS SHARE",
    "ROW SHARE",
    "ROW EXCLUSIVE",
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
];

impl TokenReader<'_> {
    /// What stands behind VACUUM.
    pub(super) fn vacuum(&mut self) -> Result<Command> {
        let (full, analyze, skip_locked) = match self.peek() {
            Some(Token::LParen) => {
                let options = self.options("VACUUM", &VACUUM_OPTIONS)?;
                let has = |name: &str| options.iter().any(|option| option.starts_with(name));
                (has("full"), has("analy"), has("skip_locked"))
            }
            _ => {
                let full = self.word("FULL");
                self.word("FREEZE");
                self.word("VERBOSE");
                (full, self.word("ANALYZE") || self.word("ANALYSE"), false)
            }
        };
        let targets = self.targets()?;
        let kind = UpkeepKind::Vacuum {
            full,
            analyze,
            skip_locked,
        };
        Ok(Command::Keep(Upkeep { kind, targets }))
    }

    /// What stands behind FLUSH.
    pub(super) fn flush(&mut self) -> Result<Command> {
        if !self.word("TABLES") && self.tokens.len() > 2 {
            self.word("TABLE");
        }
        let (kind, targets) = (UpkeepKind::Flush, self.targets()?);
        Ok(Command::Keep(Upkeep { kind, targets }))
    }

    /// What stands behind ANALYZE.
    pub(super) fn analyze(&mut self) -> Result<Command> {
        let skip_locked = match self.peek() {
            Some(Token::LParen) => {
                let options = self.options("ANALYZE", &ANALYZE_OPTIONS)?;
                options.iter().any(|option| option == "skip_locked")
            }
            _ => {
                self.word("VERBOSE");
                false
            }
        };
        let (kind, targets) = (UpkeepKind::Analyze { skip_locked }, self.targets()?);
        Ok(Command::Keep(Upkeep { kind, targets }))
    }

    /// What stands behind REINDEX.
    pub(super) fn reindex(&mut self) -> Result<Command> {
        let options = match self.peek() {
            Some(Token::LParen) => self.options("REINDEX", &REINDEX_OPTIONS)?,
            _ => Vec::new(),
        };
        let object = self.label()?;
        let concurrently = self.word("CONCURRENTLY") || options.iter().any(|option| option == "concurrently");
        let mut targets = Vec::new();
        let of = match object.as_str() {
            "index" | "table" => {
                targets.push(self.target()?);
                if object == "index" {
                    ReindexOf::Index
                } else {
                    ReindexOf::Table
                }
            }
            "schema" => ReindexOf::Schema(self.name()?),
            "database" => ReindexOf::Database(self.last_name()?),
            "system" => ReindexOf::System(self.last_name()?),
            _ => {
                self.at -= 1;
                return Err(self.syntax_error());
            }
        };
        let kind = UpkeepKind::Reindex { of, concurrently };
        Ok(Command::Keep(Upkeep { kind, targets }))
    }

    /// What stands behind CLUSTER.
    pub(super) fn cluster(&mut self) -> Result<Command> {
        match self.peek() {
            Some(Token::LParen) => {
                self.options("CLUSTER", &CLUSTER_OPTIONS)?;
            }
            _ => {
                self.word("VERBOSE");
            }
        }
        let (mut targets, mut index) = (Vec::new(), None);
        if self.peek().is_some() {
            targets.push(self.target()?);
            if self.word("USING") {
                index = Some(self.name()?);
            }
        }
        let kind = UpkeepKind::Cluster { index };
        Ok(Command::Keep(Upkeep { kind, targets }))
    }

    /// What stands behind LOCK.
    pub(super) fn lock(&mut self) -> Result<Command> {
        self.word("TABLE");
        let mut targets = Vec::new();
        loop {
            self.word("ONLY");
            targets.push(self.target()?);
            self.token(&Token::Mul);
            if !self.token(&Token::Comma) {
                break;
            }
        }
        let mut place = LOCK_MODES.len() - 1;
        if self.word("IN") {
            place = self.lock_mode()?;
        }
        let nowait = self.word("NOWAIT");
        let kind = UpkeepKind::Lock {
            mode: place as u8 + 1,
            nowait,
        };
        Ok(Command::Keep(Upkeep { kind, targets }))
    }

    /// A mode and MODE. Errors: 42601 at the first word with which none goes on.
    fn lock_mode(&mut self) -> Result<usize> {
        let mut said = String::new();
        loop {
            let place = LOCK_MODES.iter().position(|mode| *mode == said);
            if let Some(place) = place
                && self.word("MODE")
            {
                return Ok(place);
            }
            let rest = LOCK_MODES.iter().filter_map(|mode| mode.strip_prefix(&said));
            let mut next = rest.filter_map(|rest| rest.split_whitespace().next());
            let Some(word) = next.find(|word| self.word(word)) else {
                return Err(self.syntax_error());
            };
            said = match said.is_empty() {
                true => word.to_string(),
                false => format!("{said} {word}"),
            };
        }
    }

    fn last_name(&mut self) -> Result<Option<String>> {
        match self.peek() {
            None => Ok(None),
            Some(_) => self.name().map(Some),
        }
    }

    /// Relations with commas between them, each with columns; none is all.
    fn targets(&mut self) -> Result<Vec<UpkeepTarget>> {
        let mut targets = Vec::new();
        if self.peek().is_none() {
            return Ok(targets);
        }
        loop {
            let mut target = self.target()?;
            if self.token(&Token::LParen) {
                loop {
                    target.columns.push(self.name()?);
                    if !self.token(&Token::Comma) {
                        break;
                    }
                }
                if !self.token(&Token::RParen) {
                    return Err(self.syntax_error());
                }
            }
            targets.push(target);
            if !self.token(&Token::Comma) {
                return Ok(targets);
            }
        }
    }

    fn target(&mut self) -> Result<UpkeepTarget> {
        Ok(UpkeepTarget {
            name: self.object_name()?,
            columns: Vec::new(),
        })
    }

    /// `(name [value], …)`; answers the names of those that are not turned off. Errors: 42601 for what is no option.
    fn options(&mut self, statement: &str, known: &[&str]) -> Result<Vec<String>> {
        let mut options = Vec::new();
        self.token(&Token::LParen);
        loop {
            let name = self.label()?;
            if !known.contains(&name.as_str()) {
                return Err(Error::InvalidStatement {
                    state: StatementFault::Syntax,
                    message: format!("unrecognized {statement} option \"{name}\""),
                    hint: Some(format!("The options are {}.", known.join(", "))),
                });
            }
            let value = match self.peek() {
                Some(Token::Comma | Token::RParen) => None,
                _ => self.value()?,
            };
            let is_off = |value: &String| ["off", "false", "0"].contains(&value.as_str());
            if !value.as_ref().is_some_and(is_off) {
                options.push(name);
            }
            if !self.token(&Token::Comma) {
                break;
            }
        }
        match self.token(&Token::RParen) {
            true => Ok(options),
            false => Err(self.syntax_error()),
        }
    }
}
