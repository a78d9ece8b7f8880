//! Reads ALTER and COMMENT ON LARGE OBJECT off their tokens. Called by `definition_reader`.

use sqlparser::tokenizer::TokenWithSpan;

use super::definition::{Definition, LargeObjectChange};
use super::token_reader::{TokenReader, is_word_at};
use crate::Result;

/// Whether the tokens are of a large object.
pub(super) fn is_large_object_definition(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, name: &str| is_word_at(tokens, at, name);
    let at = if is(0, "COMMENT") { 2 } else { 1 };
    (is(0, "ALTER") || is(0, "COMMENT")) && is(at, "LARGE") && is(at + 1, "OBJECT")
}

impl TokenReader<'_> {
    /// What stands behind ALTER or COMMENT.
    pub(super) fn of_large_object(&mut self) -> Result<Definition> {
        let is_comment = self.word("ON");
        self.expect("LARGE")?;
        self.expect("OBJECT")?;
        let oid = self.large_object_oid()?;
        let change = if is_comment {
            LargeObjectChange::Comment(self.comment()?)
        } else {
            self.expect("OWNER")?;
            self.expect("TO")?;
            LargeObjectChange::Owner(self.role_name()?)
        };
        Ok(Definition::LargeObject { oid, change })
    }

    /// The number of a large object.
    pub(super) fn large_object_oid(&mut self) -> Result<u32> {
        let digits = self.signed_number()?;
        digits.parse().map_err(|_| self.syntax_error())
    }
}
