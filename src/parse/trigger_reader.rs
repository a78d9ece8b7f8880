//! Reads CREATE, ALTER, DROP and COMMENT ON of triggers off their tokens. Called by `routine_reader`.

use sqlparser::tokenizer::Token;

use super::token_reader::{TokenReader, is_word_at, string_of};
use super::trigger::{NewTrigger, TriggerDefinition, TriggerEvent, TriggerTiming};
use crate::{Error, Result};

impl TokenReader<'_> {
    /// What stands behind CREATE [OR REPLACE].
    pub(super) fn create_trigger(&mut self, or_replace: bool) -> Result<TriggerDefinition> {
        let is_constraint = self.word("CONSTRAINT");
        self.expect("TRIGGER")?;
        let name = self.name()?;
        let timing = self.trigger_timing()?;
        let (mut events, mut update_of) = (Vec::new(), Vec::new());
        loop {
            let event = self.trigger_event()?;
            if events.contains(&event) {
                return Err(self.syntax_error());
            }
            events.push(event);
            if event == TriggerEvent::Update && self.word("OF") {
                update_of.push(self.name()?);
                while self.token(&Token::Comma) {
                    update_of.push(self.name()?);
                }
            }
            if !self.word("OR") {
                break;
            }
        }
        self.expect("ON")?;
        let table = self.object_name()?;
        self.constraint_of_trigger(is_constraint)?;
        if self.word("REFERENCING") {
            return Err(Error::unsupported(
                "REFERENCING tables of a trigger",
                Some("Write FOR EACH ROW, and read OLD and NEW."),
            ));
        }
        let for_each_row = self.trigger_level()?;
        let when = match self.word("WHEN") {
            true => {
                self.take_token(&Token::LParen)?;
                let condition = self.expression()?;
                self.take_token(&Token::RParen)?;
                Some(condition)
            }
            false => None,
        };
        self.expect("EXECUTE")?;
        if !self.word("FUNCTION") {
            self.expect("PROCEDURE")?;
        }
        Ok(TriggerDefinition::Create(Box::new(NewTrigger {
            or_replace,
            name,
            timing,
            events,
            update_of,
            table,
            for_each_row,
            when,
            function: self.object_name()?,
            arguments: self.trigger_arguments()?,
        })))
    }

    fn trigger_timing(&mut self) -> Result<TriggerTiming> {
        if self.word("BEFORE") {
            return Ok(TriggerTiming::Before);
        }
        if self.word("INSTEAD") {
            self.expect("OF")?;
            return Ok(TriggerTiming::InsteadOf);
        }
        self.expect("AFTER")?;
        Ok(TriggerTiming::After)
    }

    fn trigger_event(&mut self) -> Result<TriggerEvent> {
        let events = [
            TriggerEvent::Insert,
            TriggerEvent::Update,
            TriggerEvent::Delete,
            TriggerEvent::Truncate,
        ];
        let event = events.into_iter().find(|event| self.word(event.word()));
        event.ok_or_else(|| self.syntax_error())
    }

    /// What a constraint trigger has besides: it fires when its statement ends, as others do. Errors: 0A000 for a later end.
    fn constraint_of_trigger(&mut self, is_constraint: bool) -> Result<()> {
        if !is_constraint {
            return Ok(());
        }
        if self.word("FROM") {
            self.object_name()?;
        }
        let is_not = self.word("NOT");
        if self.word("DEFERRABLE") && !is_not {
            return Err(Error::unsupported(
                "a constraint trigger that is DEFERRABLE",
                Some("Leave DEFERRABLE out: it fires at the end of each statement."),
            ));
        }
        if self.word("INITIALLY") {
            self.expect("IMMEDIATE")?;
        }
        Ok(())
    }

    /// Whether it fires for each row.
    fn trigger_level(&mut self) -> Result<bool> {
        if !self.word("FOR") {
            return Ok(false);
        }
        self.word("EACH");
        if self.word("ROW") {
            return Ok(true);
        }
        self.expect("STATEMENT")?;
        Ok(false)
    }

    /// Literals and words, as text.
    fn trigger_arguments(&mut self) -> Result<Vec<String>> {
        self.take_token(&Token::LParen)?;
        let mut arguments = Vec::new();
        while !self.token(&Token::RParen) {
            if !arguments.is_empty() {
                self.take_token(&Token::Comma)?;
            }
            let argument = match self.peek() {
                Some(token) if string_of(token).is_some() => {
                    let text = string_of(token).unwrap_or_default();
                    self.at += 1;
                    text
                }
                Some(Token::Word(_)) => self.name()?,
                _ => self.signed_number()?,
            };
            arguments.push(argument);
        }
        Ok(arguments)
    }

    /// What stands behind DROP TRIGGER.
    pub(super) fn drop_trigger(&mut self) -> Result<TriggerDefinition> {
        let if_exists = self.if_exists()?;
        let name = self.name()?;
        self.expect("ON")?;
        let table = self.object_name()?;
        self.cascade();
        Ok(TriggerDefinition::Drop {
            name,
            table,
            if_exists,
        })
    }

    /// What stands behind ALTER TRIGGER.
    pub(super) fn alter_trigger(&mut self) -> Result<TriggerDefinition> {
        let name = self.name()?;
        self.expect("ON")?;
        let table = self.object_name()?;
        if is_word_at(&self.tokens, self.at, "DEPENDS") || is_word_at(&self.tokens, self.at, "NO") {
            return Err(Error::unsupported("ALTER TRIGGER ... DEPENDS ON EXTENSION", None));
        }
        self.expect("RENAME")?;
        self.expect("TO")?;
        let new = self.name()?;
        Ok(TriggerDefinition::Rename { name, table, new })
    }

    /// What stands behind COMMENT ON TRIGGER.
    pub(super) fn comment_on_trigger(&mut self) -> Result<TriggerDefinition> {
        let name = self.name()?;
        self.expect("ON")?;
        let table = self.object_name()?;
        let comment = self.comment()?;
        Ok(TriggerDefinition::Comment { name, table, comment })
    }
}
