//! Words of constraints that the parser does not read: `CHECK (…) NO INHERIT`, and NOT VALID in CREATE TABLE, where no row is
//! there that it could be said of. The first becomes a word that another dialect has there, and which PostgreSQL has not.

use sqlparser::ast::CheckConstraint;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::set_columns;
use super::token_reader::is_word_at;
use crate::Result;

/// Brings such words of CREATE TABLE or ALTER TABLE into the parser's form.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let creates = is_word_at(tokens, 0, "CREATE");
    // The words themselves are no words of PostgreSQL's.
    for token in tokens.iter_mut() {
        if let Token::Word(word) = &mut token.token
            && word.keyword == Keyword::ENFORCED
        {
            word.keyword = Keyword::NoKeyword;
        }
    }
    let mut at = 1;
    while at < tokens.len() {
        if tokens[at - 1].token == Token::RParen {
            take_behind(tokens, at, creates);
        }
        set_columns::take(tokens, at)?;
        take_repeated(tokens, at);
        at += 1;
    }
    Ok(())
}

/// Takes out what a constraint says twice of when it is asked: `DEFERRABLE INITIALLY DEFERRED DEFERRABLE INITIALLY DEFERRED`.
fn take_repeated(tokens: &mut Vec<TokenWithSpan>, start: usize) {
    let characteristic = |tokens: &[TokenWithSpan], at: usize| {
        let said = [
            &["DEFERRABLE"] as &[&'static str],
            &["NOT", "DEFERRABLE"],
            &["INITIALLY", "DEFERRED"],
            &["INITIALLY", "IMMEDIATE"],
        ];
        let mut said = said.into_iter();
        said.find(|words| (at..).zip(*words).all(|(at, word)| is_word_at(tokens, at, word)))
    };
    let (mut at, mut known) = (start, Vec::new());
    while let Some(words) = characteristic(tokens, at) {
        match known.contains(&words) {
            true => drop(tokens.drain(at..at + words.len())),
            false => {
                known.push(words);
                at += words.len();
            }
        }
    }
}

/// Whether it says NO INHERIT.
pub(crate) fn is_no_inherit(check: &CheckConstraint) -> bool {
    check.enforced == Some(true)
}

/// The words behind a closing parenthesis: NO INHERIT and NOT VALID, in any order.
fn take_behind(tokens: &mut Vec<TokenWithSpan>, at: usize, creates: bool) {
    let is_valid =
        |tokens: &[TokenWithSpan], at| is_word_at(tokens, at, "NOT") && is_word_at(tokens, at + 1, "VALID");
    let is_no_inherit =
        |tokens: &[TokenWithSpan], at| is_word_at(tokens, at, "NO") && is_word_at(tokens, at + 1, "INHERIT");
    if is_valid(tokens, at) && is_no_inherit(tokens, at + 2) {
        tokens[at..at + 4].rotate_left(2);
    }
    let mut behind = at;
    if is_no_inherit(tokens, at) {
        tokens.remove(at);
        if let Some(Token::Word(word)) = tokens.get_mut(at).map(|token| &mut token.token) {
            word.keyword = Keyword::ENFORCED;
        }
        behind += 1;
    }
    if creates && is_valid(tokens, behind) && is_of_table(tokens, at - 1) {
        tokens.drain(behind..behind + 2);
    }
}

/// Whether the parentheses that close here are those of a CHECK of the table, not of a column.
fn is_of_table(tokens: &[TokenWithSpan], close: usize) -> bool {
    let mut depth = 0usize;
    let open = (0..=close).rev().find(|at| {
        match tokens[*at].token {
            Token::RParen => depth += 1,
            Token::LParen => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let check = open.and_then(|open| open.checked_sub(1));
    let Some(check) = check.filter(|check| is_word_at(tokens, *check, "CHECK")) else {
        return false;
    };
    let named = check >= 2 && is_word_at(tokens, check - 2, "CONSTRAINT");
    let first = if named { check - 2 } else { check };
    let before = first.checked_sub(1).map(|at| &tokens[at].token);
    matches!(before, Some(Token::Comma | Token::LParen))
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::{AlterTableOperation, Statement, TableConstraint};

    use super::is_no_inherit;
    use crate::parse::parse;

    #[test]
    fn no_inherit_and_not_valid_stand_in_any_order() {
        for words in ["NO INHERIT NOT VALID", "NOT VALID NO INHERIT"] {
            let text = format!("ALTER TABLE t ADD CHECK (a > 0) {words}");
            match parse(&text).unwrap().remove(0).ast {
                Statement::AlterTable(alter) => match &alter.operations[0] {
                    AlterTableOperation::AddConstraint {
                        constraint: TableConstraint::Check(check),
                        not_valid,
                    } => assert!(*not_valid && is_no_inherit(check), "{words}"),
                    other => panic!("{other}"),
                },
                other => panic!("{other}"),
            }
        }
        parse("CREATE TABLE t (a int CHECK (a > 0) NO INHERIT, CHECK (a < 5) NOT VALID, b int)").unwrap();
        for wrong in ["ENFORCED", "NOT ENFORCED", "NOT VALID"] {
            let error = parse(&format!("CREATE TABLE t (a int CHECK (a > 0) {wrong})")).unwrap_err();
            assert_eq!(error.sqlstate(), "42601", "{wrong}");
        }
    }
}
