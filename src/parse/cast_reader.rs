//! Reads CREATE, DROP and COMMENT ON CAST off their tokens. Called by `definition_reader`.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::cast::{CastDefinition, CastTypes, WrittenContext, WrittenMethod};
use super::token_reader::{TokenReader, is_word_at};
use crate::Result;

/// Whether the tokens define a cast.
pub(super) fn is_cast_definition(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, name: &str| is_word_at(tokens, at, name);
    ((is(0, "CREATE") || is(0, "DROP")) && is(1, "CAST")) || (is(0, "COMMENT") && is(2, "CAST"))
}

impl TokenReader<'_> {
    /// What stands behind CREATE, DROP or COMMENT.
    pub(super) fn cast_definition(&mut self) -> Result<CastDefinition> {
        if self.word("ON") {
            self.expect("CAST")?;
            let types = self.cast_types()?;
            let comment = self.comment()?;
            return Ok(CastDefinition::Comment { types, comment });
        }
        let drops = is_word_at(&self.tokens, 0, "DROP");
        self.expect("CAST")?;
        if drops {
            let if_exists = self.if_exists()?;
            let types = self.cast_types()?;
            // Nothing depends on a cast.
            self.cascade();
            return Ok(CastDefinition::Drop { types, if_exists });
        }
        let types = self.cast_types()?;
        Ok(CastDefinition::Create {
            types,
            method: self.cast_method()?,
            context: self.cast_context()?,
        })
    }

    /// `(source AS target)`.
    fn cast_types(&mut self) -> Result<CastTypes> {
        self.parenthesis(&Token::LParen)?;
        let source = self.data_type()?;
        self.expect("AS")?;
        let target = self.data_type()?;
        self.parenthesis(&Token::RParen)?;
        Ok(CastTypes { source, target })
    }

    fn parenthesis(&mut self, token: &Token) -> Result<()> {
        match self.token(token) {
            true => Ok(()),
            false => Err(self.syntax_error()),
        }
    }

    fn cast_method(&mut self) -> Result<WrittenMethod> {
        if self.word("WITHOUT") {
            self.expect("FUNCTION")?;
            return Ok(WrittenMethod::WithoutFunction);
        }
        self.expect("WITH")?;
        if self.word("INOUT") {
            return Ok(WrittenMethod::InOut);
        }
        self.expect("FUNCTION")?;
        self.routine_ref().map(WrittenMethod::Function)
    }

    fn cast_context(&mut self) -> Result<WrittenContext> {
        if !self.word("AS") {
            return Ok(WrittenContext::Explicit);
        }
        if self.word("IMPLICIT") {
            return Ok(WrittenContext::Implicit);
        }
        self.expect("ASSIGNMENT")?;
        Ok(WrittenContext::Assignment)
    }
}
