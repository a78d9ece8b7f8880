//! How deep the tree of a statement can be at most, told from its tokens. `a + a + a …` is read in a loop, without
//! recursion, but gives a tree that is as deep as it is long: whoever walks, clones or drops that tree needs stack for
//! each level. So a chain too long is refused before there is a tree. Called by `tokens` alone.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::word::is_word;
use crate::error::Limit;
use crate::{Error, Result};

/// Operators that may depend on one another. A level takes up to 6 kB of stack in builds without optimization
/// (`THREAD_STACK_BYTES`).
const CHAIN_MAX: usize = 4_000;

/// The depth of a statement's tree at most, as far as its tokens were taken.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    /// Operators since the last comma, for each parenthesis that is open.
    open: Vec<usize>,
    /// Those outside all parentheses.
    outside: usize,
    /// The sum of them, the depth at most.
    depth: usize,
}

impl Nesting {
    /// Takes the next token. Errors: 54001 when operators could make a tree deeper than `CHAIN_MAX`.
    pub(super) fn take(&mut self, token: &Token) -> Result<()> {
        match token {
            Token::LParen => self.open.push(0),
            Token::RParen => self.depth -= self.open.pop().unwrap_or(0),
            Token::Comma => self.depth -= std::mem::take(self.innermost()),
            token if is_operator(token) => {
                *self.innermost() += 1;
                self.depth += 1;
            }
            _ => {}
        }
        if self.depth > CHAIN_MAX {
            return Err(Error::LimitExceeded {
                state: Limit::Complexity,
                message: "stack depth limit exceeded".to_string(),
                hint: format!("Chain fewer than {CHAIN_MAX} operators; a long OR is shorter as IN (...)."),
            });
        }
        Ok(())
    }

    fn innermost(&mut self) -> &mut usize {
        self.open.last_mut().unwrap_or(&mut self.outside)
    }
}

/// Whether the token may put what stands before it one level deeper.
fn is_operator(token: &Token) -> bool {
    match token {
        Token::Word(word) => {
            matches!(
                word.keyword,
                Keyword::AND
                    | Keyword::OR
                    | Keyword::NOT
                    | Keyword::IS
                    | Keyword::NOTNULL
                    | Keyword::IN
                    | Keyword::LIKE
                    | Keyword::ILIKE
                    | Keyword::RLIKE
                    | Keyword::REGEXP
                    | Keyword::SIMILAR
                    | Keyword::BETWEEN
                    | Keyword::OVERLAPS
                    | Keyword::OPERATOR
                    | Keyword::MEMBER
                    | Keyword::XOR
                    | Keyword::DIV
                    | Keyword::COLLATE
                    | Keyword::AT
                    | Keyword::UNION
                    | Keyword::INTERSECT
                    | Keyword::EXCEPT
                    | Keyword::MINUS
            ) || is_word(word, "ISNULL")
        }
        Token::Number(..)
        | Token::Char(_)
        | Token::SingleQuotedString(_)
        | Token::DollarQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::UnicodeStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::SingleQuotedByteStringLiteral(_)
        | Token::Placeholder(_)
        | Token::Whitespace(_)
        | Token::Period
        | Token::SemiColon
        | Token::EOF => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use crate::parse::parse;

    fn refused(text: &str) -> bool {
        match parse(text) {
            Err(error) => {
                assert_eq!(error.sqlstate(), "54001", "{error}");
                true
            }
            Ok(_) => false,
        }
    }

    #[test]
    fn long_chains_are_refused_and_long_lists_are_not() {
        let chain = |operator: &str, times: usize| format!("SELECT 1{}", operator.repeat(times));
        for operator in [
            " + 1",
            "::int",
            " AND true",
            " OR 1 = 1",
            " UNION SELECT 1",
            "[1]",
            " IS NULL",
            " ISNULL",
            " NOTNULL",
            " SIMILAR TO '1'",
            " OVERLAPS 1",
            " OPERATOR(pg_catalog.+) 1",
            " MINUS SELECT 1",
            " BETWEEN 1 AND 2",
        ] {
            assert!(refused(&chain(operator, 50_000)), "{operator}");
            assert!(!refused(&chain(operator, 100)), "{operator}");
        }
        assert!(!refused(&chain(", 1 + 1", 50_000)));
        assert!(!refused(&format!(
            "SELECT 1 WHERE 1 IN (1{})",
            ", -1".repeat(50_000)
        )));
        assert!(!refused(&format!(
            "INSERT INTO t VALUES (1 + 1){}",
            ", (1 - 1)".repeat(50_000)
        )));
        // Parentheses do not hide a chain.
        assert!(refused(&format!(
            "SELECT {}",
            "(1 + ".repeat(100) + &"1 + ".repeat(4000)
        )));
        assert!(refused(&format!("SELECT ) {}", "1 + ".repeat(5000))));
    }
}
