//! Reads RAISE and GET DIAGNOSTICS.

use super::reader::{Reader, syntax};
use super::scanner::Token;
use super::tree::{Fragment, Kind, Level, Raise};
use crate::Result;

/// What GET DIAGNOSTICS tells of the last statement.
const CURRENT_ITEMS: &[&str] = &["row_count", "pg_context"];
/// What GET STACKED DIAGNOSTICS tells of the error that is handled.
const STACKED_ITEMS: &[&str] = &[
    "returned_sqlstate",
    "message_text",
    "pg_exception_detail",
    "pg_exception_hint",
    "pg_exception_context",
    "column_name",
    "constraint_name",
    "pg_datatype_name",
    "table_name",
    "schema_name",
    "pg_context",
];

impl Reader<'_> {
    /// What stands behind RAISE.
    pub(super) fn raise(&mut self) -> Result<Kind> {
        let mut raise = Raise {
            level: Level::Exception,
            format: None,
            arguments: Vec::new(),
            condition: None,
            sqlstate: None,
            options: Vec::new(),
            bare: false,
        };
        if self.character(';') {
            raise.bare = true;
            return Ok(Kind::Raise(raise));
        }
        let levels = [
            ("exception", Level::Exception),
            ("warning", Level::Warning),
            ("notice", Level::Notice),
            ("info", Level::Info),
            ("log", Level::Log),
            ("debug", Level::Debug),
        ];
        if let Some((_, level)) = levels.into_iter().find(|(word, _)| self.word(word)) {
            raise.level = level;
        }
        match self.peek().cloned() {
            Some(Token::Text(format)) => {
                self.at += 1;
                raise.format = Some(format);
                while self.character(',') {
                    raise.arguments.push(self.raised_text()?);
                }
                self.check_arguments(&raise)?;
            }
            Some(Token::Word(word)) if word == "sqlstate" => {
                self.at += 1;
                raise.sqlstate = Some(self.sqlstate()?);
            }
            Some(Token::Word(word)) if word == "using" => {}
            Some(Token::Word(condition)) => {
                self.at += 1;
                raise.condition = Some(condition);
            }
            _ => {}
        }
        self.raise_options(&mut raise)?;
        self.expect_character(';')?;
        Ok(Kind::Raise(raise))
    }

    /// USING, if it is next.
    fn raise_options(&mut self, raise: &mut Raise) -> Result<()> {
        if !self.word("using") {
            return Ok(());
        }
        loop {
            let option = self.word_or_error()?.to_uppercase();
            let known = [
                "ERRCODE",
                "MESSAGE",
                "DETAIL",
                "HINT",
                "COLUMN",
                "CONSTRAINT",
                "DATATYPE",
                "TABLE",
                "SCHEMA",
            ];
            if !known.contains(&option.as_str()) {
                self.at -= 1;
                return Err(syntax("unrecognized RAISE statement option"));
            }
            if !self.assigns() {
                return Err(syntax("syntax error, expected \"=\""));
            }
            raise.options.push((option, self.raised_text()?));
            if !self.character(',') {
                break;
            }
        }
        Ok(())
    }

    fn raised_text(&mut self) -> Result<Fragment> {
        self.text_until(|token| match token {
            Token::Word(word) => word == "using",
            token => matches!(token, Token::Character(',' | ';')),
        })
    }

    fn check_arguments(&self, raise: &Raise) -> Result<()> {
        let format = raise.format.as_deref().unwrap_or_default().replace("%%", "");
        let wanted = format.matches('%').count();
        match raise.arguments.len() {
            given if given < wanted => Err(syntax("too few parameters specified for RAISE")),
            given if given > wanted => Err(syntax("too many parameters specified for RAISE")),
            _ => Ok(()),
        }
    }

    /// What stands behind GET.
    pub(super) fn diagnostics(&mut self) -> Result<Kind> {
        let stacked = self.word("stacked");
        if !stacked {
            self.word("current");
        }
        self.expect("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let target = self.target()?;
            if !self.assigns() {
                return Err(self.syntax_error());
            }
            let item = self.word_or_error()?;
            let (own, other, which) = match stacked {
                true => (STACKED_ITEMS, CURRENT_ITEMS, "STACKED"),
                false => (CURRENT_ITEMS, STACKED_ITEMS, "CURRENT"),
            };
            if other.contains(&item.as_str()) && !own.contains(&item.as_str()) {
                return Err(syntax(format!(
                    "diagnostics item {} is not allowed in GET {which} DIAGNOSTICS",
                    item.to_uppercase()
                )));
            }
            if !own.contains(&item.as_str()) {
                self.at -= 1;
                return Err(syntax(format!(
                    "unrecognized GET DIAGNOSTICS item at or near \"{item}\""
                )));
            }
            items.push((target, item));
            if !self.character(',') {
                break;
            }
        }
        self.expect_character(';')?;
        Ok(Kind::Diagnostics { stacked, items })
    }
}
