//! Reads CREATE, ALTER, DROP and COMMENT ON of triggers off their tokens. Called by `routine_reader`.

use sqlparser::tokenizer::Token;

use super::token_reader::{TokenReader, is_word_at, string_of};
use super::trigger::{
    ConstraintTrigger, NewTrigger, TransitionName, TriggerDefinition, TriggerEvent, TriggerTiming,
};
use crate::{Error, Result};

impl TokenReader<'_> {
    /// What stands behind CREATE [OR REPLACE].
    pub(super) fn create_trigger(&mut self, or_replace: bool) -> Result<TriggerDefinition> {
        let is_constraint = self.word("CONSTRAINT");
        self.expect("TRIGGER")?;
        let name = self.name()?;
        let timing_at = self.at;
        let timing = self.trigger_timing()?;
        if is_constraint && timing != TriggerTiming::After {
            self.at = timing_at;
            return Err(self.syntax_error());
        }
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
        let constraint = self.constraint_of_trigger(is_constraint)?;
        let referencing = match is_constraint {
            true => Vec::new(),
            false => self.transition_names()?,
        };
        let level = self.at;
        let for_each_row = self.trigger_level()?;
        if is_constraint && !for_each_row {
            // At STATEMENT, if it stands there.
            self.at = level.max(self.at - 1);
            return Err(self.syntax_error());
        }
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
            constraint,
            name,
            timing,
            events,
            update_of,
            table,
            referencing,
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

    /// What a constraint trigger has besides. Errors: 42601 for INITIALLY DEFERRED of one that is NOT DEFERRABLE.
    fn constraint_of_trigger(&mut self, is_constraint: bool) -> Result<Option<ConstraintTrigger>> {
        if !is_constraint {
            return Ok(None);
        }
        if self.word("FROM") {
            self.object_name()?;
        }
        let said = self.characteristics()?;
        if said.deferrable == Some(false) && said.initially_deferred == Some(true) {
            return Err(Error::Syntax {
                message: "constraint declared INITIALLY DEFERRED must be DEFERRABLE".to_string(),
                position: self.position(said.last_at),
            });
        }
        let initially_deferred = said.initially_deferred == Some(true);
        Ok(Some(ConstraintTrigger {
            deferrable: said.deferrable.unwrap_or(initially_deferred),
            initially_deferred,
        }))
    }

    /// REFERENCING, if it stands there.
    fn transition_names(&mut self) -> Result<Vec<TransitionName>> {
        let mut names = Vec::new();
        if !self.word("REFERENCING") {
            return Ok(names);
        }
        loop {
            let is_new = self.word("NEW");
            if !is_new && !self.word("OLD") {
                break;
            }
            let is_table = self.word("TABLE");
            if !is_table {
                self.expect("ROW")?;
            }
            self.word("AS");
            let name = self.name()?;
            names.push(TransitionName {
                is_new,
                is_table,
                name,
            });
        }
        match names.is_empty() {
            true => Err(self.syntax_error()),
            false => Ok(names),
        }
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
                Some(Token::Word(_)) => self.label()?,
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
