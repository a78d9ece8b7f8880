//! How deep the tree of a statement can be at most, told from its tokens. `a + a + a …` is read in a loop, without
//! recursion, but gives a tree that is as deep as it is long: whoever walks, clones or drops that tree needs stack for
//! each level. So a chain too long is refused before there is a tree; so are parentheses that the parser would refuse, which it tries in several
//! ways, each of them at each level. Called by `tokens` alone.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::disjunction::WRITTEN_MAX;
use super::syntax_error::{NESTING_MAX, too_deep};
use super::token_reader::is_word;
use crate::error::Limit;
use crate::{Error, Result};

/// Operators that may depend on one another. A level takes up to 6 kB of stack in builds without optimization
/// (`THREAD_STACK_BYTES`).
const CHAIN_MAX: usize = 4_000;

/// The depth of a statement's tree at most, as far as its tokens were taken.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    /// Parentheses that are open.
    open: Vec<Level>,
    /// Brackets that are.
    brackets: usize,
    /// What stands outside all parentheses.
    outside: Level,
    /// The sum of their operators, the depth at most.
    depth: usize,
}

/// What stands between two parentheses, since the last comma.
#[derive(Debug, Default)]
struct Level {
    /// Operators that may depend on one another. Of the operands between two ORs only the deepest counts, since a long chain of
    /// ORs is no deep tree ([`super::disjunction`]).
    operators: usize,
    /// Those of the operand since the last OR; `None` where none was, or another clause has begun since.
    operand: Option<usize>,
    /// Those of the deepest operand between two ORs, and such operands.
    deepest: usize,
    operands: usize,
}

impl Nesting {
    /// Takes the next token. Errors: 54001 when operators could make a tree deeper than `CHAIN_MAX`, or parentheses one that is not read.
    pub(super) fn take(&mut self, token: &Token) -> Result<()> {
        match token {
            Token::LParen | Token::LBracket if self.open.len() + self.brackets >= NESTING_MAX => {
                return Err(too_deep());
            }
            Token::LParen => self.open.push(Level::default()),
            Token::RParen => {
                let level = self.open.pop();
                self.depth -= level.map_or(0, |level| level.operators);
            }
            Token::Comma => {
                let level = std::mem::take(self.innermost());
                self.depth -= level.operators;
            }
            Token::Word(word) if word.keyword == Keyword::OR => {
                let fewer = self.innermost().end_operand();
                self.depth = self.depth + 1 - fewer;
            }
            token if is_operator(token) => {
                let level = self.innermost();
                level.operators += 1;
                level.operand = level.operand.map(|operators| operators + 1);
                self.depth += 1;
            }
            Token::Word(word) if begins_clause(word.keyword) => self.innermost().operand = None,
            _ => {}
        }
        match token {
            Token::LBracket => self.brackets += 1,
            Token::RBracket => self.brackets = self.brackets.saturating_sub(1),
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

    fn innermost(&mut self) -> &mut Level {
        self.open.last_mut().unwrap_or(&mut self.outside)
    }
}

impl Level {
    /// An OR ends an operand and begins the next; answers how many operators no longer count, but for the OR itself.
    fn end_operand(&mut self) -> usize {
        let mut fewer = 0;
        match self.operand {
            Some(operators) => {
                fewer = operators.min(self.deepest);
                self.deepest = self.deepest.max(operators);
                self.operands += 1;
                // The OR before the operand, unless the chain is short enough to stay as it is written.
                fewer += usize::from(self.operands > WRITTEN_MAX);
            }
            // Another chain begins.
            None => (self.deepest, self.operands) = (0, 0),
        }
        self.operand = Some(0);
        self.operators = self.operators + 1 - fewer;
        fewer
    }
}

/// Whether what follows the keyword is no operand of an OR before it.
fn begins_clause(keyword: Keyword) -> bool {
    use Keyword as K;
    matches!(
        keyword,
        K::SELECT
            | K::FROM
            | K::JOIN
            | K::ON
            | K::USING
            | K::WHERE
            | K::GROUP
            | K::HAVING
            | K::WINDOW
            | K::ORDER
            | K::LIMIT
            | K::VALUES
            | K::SET
            | K::RETURNING
            | K::CASE
            | K::WHEN
            | K::THEN
            | K::ELSE
            | K::END
            | K::AS
            | K::WITH
    )
}

/// Whether the token may put what stands before it one level deeper.
fn is_operator(token: &Token) -> bool {
    match token {
        Token::Word(word) => {
            matches!(
                word.keyword,
                Keyword::AND
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
    fn what_is_nested_too_deeply_is_refused_at_once() {
        let nested = |open: &str, close: &str, times: usize| {
            format!("SELECT {}1{}", open.repeat(times), close.repeat(times))
        };
        for (open, close) in [
            ("(", ")"),
            ("not (", ")"),
            ("ARRAY[", "]"),
            ("(SELECT ", ")"),
            ("abs(", ")"),
            ("a[(", ")]"),
        ] {
            // Many times what took a minute when the parser tried it.
            assert!(refused(&nested(open, close, 200_000)), "{open}");
            assert!(!refused(&nested(open, close, 20)), "{open}");
        }
    }

    #[test]
    fn an_error_in_a_nest_is_found_at_once() {
        for (open, close) in [
            ("not (", ")"),
            ("cast(", " as int)"),
            ("case when true then ", " end"),
            ("case ", " when 1 then 1 end"),
            ("array[", "]"),
            ("array(select ", ")"),
            ("exists (select ", ")"),
            ("floor(", ")"),
            ("ceil(", ")"),
            ("overlay(", " placing 'x' from 1)"),
            ("overlay(", ", 'x', 1)"),
            ("substr(", ", 1)"),
            ("substring(", " from 1)"),
            ("trim(", ")"),
            ("position('x' in ", ")"),
            ("extract(day from ", ")"),
            ("convert(", ")"),
            ("coalesce(", ", 1)"),
            ("current_timestamp(", ")"),
            ("row(", ")"),
            ("f(a => ", ")"),
            ("1 in (", ")"),
            ("1 = any (", ")"),
            ("(select * from (select ", ") x)"),
        ] {
            for inner in ["1 1", "select,", "="] {
                let text = format!("SELECT {}{inner}{}", open.repeat(60), close.repeat(60));
                let error = parse(&text).unwrap_err();
                assert!(
                    ["42601", "54001"].contains(&error.sqlstate()),
                    "{open}{inner}: {error}"
                );
            }
        }
    }

    #[test]
    fn long_chains_are_refused_and_long_lists_are_not() {
        let chain = |operator: &str, times: usize| format!("SELECT 1{}", operator.repeat(times));
        for operator in [
            " + 1",
            "::int",
            " AND true",
            " UNION SELECT 1",
            "[1]",
            " IS NULL",
            " ISNULL",
            " NOTNULL",
            " SIMILAR TO '1'",
            " OVERLAPS 1",
            " OPERATOR(pg_catalog.+) 1",
            " BETWEEN 1 AND 2",
        ] {
            assert!(refused(&chain(operator, 50_000)), "{operator}");
            assert!(!refused(&chain(operator, 100)), "{operator}");
        }
        assert!(!refused(&chain(", 1 + 1", 50_000)));
        // An OR is no deeper than its operands.
        assert!(!refused(&chain(" OR 1 + 1 = 1 AND 2 > 1", 50_000)));
        let chained = |operand: &str| chain(&format!(" OR {operand}"), 50);
        assert!(refused(&chained(&"1 + ".repeat(5000))));
        for chain_of_clauses in [" UNION SELECT 1 OR true OR true", " JOIN t ON a OR b = c OR d"] {
            assert!(refused(&chain(chain_of_clauses, 50_000)), "{chain_of_clauses}");
        }
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
