//! FOR UPDATE and kin, read in this one place. The parser takes a part of them alone, and behind LIMIT: [`settle`] makes of the tokens
//! what it takes, [`locking_clauses`] gives back what they said. Called by `tokens`, and by `query`, which knows what the names mean.
//!
//! ```text
//! FOR UPDATE OF a, b LIMIT 1   =>  LIMIT 1 FOR UPDATE OF a.b
//! FOR NO KEY UPDATE OF a       =>  FOR UPDATE OF "".a
//! FOR KEY SHARE NOWAIT         =>  FOR SHARE OF "" NOWAIT
//! ```
//!
//! No name is empty, so that the empty one marks the weaker of two strengths.

use std::ops::ControlFlow;

use sqlparser::ast::{self, Ident, LockType, NonBlock};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use super::position::character_position;
use super::walk::WalkMut;
use crate::{Error, Result};

/// One locking clause of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockingClause {
    /// FOR what.
    pub(crate) strength: LockStrength,
    /// What stands behind OF; empty: all relations of FROM.
    pub(crate) relations: Vec<Ident>,
    /// Whether it waits.
    pub(crate) wait: WaitPolicy,
}

/// How a row is locked, the stronger behind the weaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LockStrength {
    /// FOR KEY SHARE.
    KeyShare,
    /// FOR SHARE.
    Share,
    /// FOR NO KEY UPDATE.
    NoKeyUpdate,
    /// FOR UPDATE.
    Update,
}

/// What becomes of a row that another transaction has locked; of several clauses the last in this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WaitPolicy {
    /// It is waited for.
    Block,
    /// SKIP LOCKED.
    SkipLocked,
    /// NOWAIT.
    NoWait,
}

impl LockStrength {
    /// `FOR UPDATE`.
    pub(crate) fn clause(self) -> &'static str {
        match self {
            LockStrength::KeyShare => "FOR KEY SHARE",
            LockStrength::Share => "FOR SHARE",
            LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
            LockStrength::Update => "FOR UPDATE",
        }
    }
}

/// The locking clauses of a query, without those of queries in it.
pub(crate) fn locking_clauses(query: &ast::Query) -> Vec<LockingClause> {
    query.locks.iter().map(read).collect()
}

/// How the first locking clause of a query itself locks.
pub(crate) fn own_lock(query: &ast::Query) -> Option<LockStrength> {
    query.locks.first().map(|lock| read(lock).strength)
}

fn read(lock: &ast::LockClause) -> LockingClause {
    let names = lock.of.iter().flat_map(|names| &names.0);
    let mut relations: Vec<Ident> = names.filter_map(|name| name.as_ident().cloned()).collect();
    let is_weaker = relations.first().is_some_and(|name| name.value.is_empty());
    if is_weaker {
        relations.remove(0);
    }
    LockingClause {
        strength: match (lock.lock_type, is_weaker) {
            (LockType::Update, false) => LockStrength::Update,
            (LockType::Update, true) => LockStrength::NoKeyUpdate,
            (LockType::Share, false) => LockStrength::Share,
            (LockType::Share, true) => LockStrength::KeyShare,
        },
        relations,
        wait: match lock.nonblock {
            None => WaitPolicy::Block,
            Some(NonBlock::SkipLocked) => WaitPolicy::SkipLocked,
            Some(NonBlock::Nowait) => WaitPolicy::NoWait,
        },
    }
}

/// The query without the locking clauses of it and of queries in it.
pub(crate) fn without_row_locks(query: &ast::Query) -> ast::Query {
    struct Unlock;
    impl ast::VisitorMut for Unlock {
        type Break = ();
        fn pre_visit_query(&mut self, query: &mut ast::Query) -> ControlFlow<()> {
            query.locks.clear();
            ControlFlow::Continue(())
        }
    }
    let mut query = query.clone();
    let _ = query.walk_mut(&mut Unlock);
    query
}

/// Makes of every locking clause what the parser takes; answers the first's strength. Errors: 42601 for a name with a schema.
pub(super) fn settle(tokens: &mut Vec<TokenWithSpan>, text: &str) -> Result<Option<LockStrength>> {
    let mut first = None;
    let mut at = 0;
    while at < tokens.len() {
        let Some(clause) = Clause::at(tokens, at) else {
            at += 1;
            continue;
        };
        if let Some(position) = clause.qualified_name(tokens) {
            return Err(Error::Syntax {
                message: format!(
                    "{} must specify unqualified relation names",
                    clause.strength.clause()
                ),
                position: character_position(position.start, text),
            });
        }
        first.get_or_insert(clause.strength);
        let settled = clause.settled(tokens);
        let length = settled.len();
        tokens.splice(at..clause.end, settled);
        at += length;
        if Clause::at(tokens, at).is_none() {
            take_behind_limit(tokens, at);
        }
    }
    Ok(first)
}

/// Where in the tokens a locking clause stands, and its parts.
struct Clause {
    begin: usize,
    strength: LockStrength,
    /// The names behind OF, from the first to behind the last.
    names: std::ops::Range<usize>,
    end: usize,
}

impl Clause {
    /// The clause that begins at a token.
    fn at(tokens: &[TokenWithSpan], begin: usize) -> Option<Clause> {
        let word = |at: usize| word_at(tokens, at);
        if begin == 0 || word(begin) != "FOR" {
            return None;
        }
        let words = [word(begin + 1), word(begin + 2), word(begin + 3)];
        let (strength, length) = match words.each_ref().map(String::as_str) {
            ["UPDATE", ..] => (LockStrength::Update, 2),
            ["SHARE", ..] => (LockStrength::Share, 2),
            ["KEY", "SHARE", _] => (LockStrength::KeyShare, 3),
            ["NO", "KEY", "UPDATE"] => (LockStrength::NoKeyUpdate, 4),
            _ => return None,
        };
        let mut end = begin + length;
        let mut names = end..end;
        if word(end) == "OF" {
            names = end + 1..end + 2;
            while matches!(token_at(tokens, names.end), Some(Token::Comma | Token::Period)) {
                names.end += 2;
            }
            end = names.end;
        }
        match (word(end).as_str(), word(end + 1).as_str()) {
            ("NOWAIT", _) => end += 1,
            ("SKIP", "LOCKED") => end += 2,
            _ => {}
        }
        // Whatever else begins so is not ours to judge.
        let ends = match token_at(tokens, end) {
            None | Some(Token::RParen) => end <= tokens.len(),
            Some(Token::Word(_)) => {
                let next = word(end);
                let next = next.as_str();
                is_limit(next) || matches!(next, "FOR" | "RETURNING" | "ON" | "WITH" | "ALLOW")
            }
            Some(_) => false,
        };
        ends.then_some(Clause {
            begin,
            strength,
            names,
            end,
        })
    }

    /// Where a name begins that has a schema.
    fn qualified_name(&self, tokens: &[TokenWithSpan]) -> Option<Span> {
        let names = &tokens[self.names.clone()];
        let period = names.iter().position(|token| token.token == Token::Period)?;
        names.get(period.checked_sub(1)?).map(|name| name.span)
    }

    fn settled(&self, tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
        let span = tokens[self.begin].span;
        let made = |token| TokenWithSpan { token, span };
        let word = |text| made(Token::make_keyword(text));
        let (lock, is_weaker) = match self.strength {
            LockStrength::Update => ("UPDATE", false),
            LockStrength::NoKeyUpdate => ("UPDATE", true),
            LockStrength::Share => ("SHARE", false),
            LockStrength::KeyShare => ("SHARE", true),
        };
        let names = tokens[self.names.clone()].iter();
        let mut names: Vec<TokenWithSpan> = names
            .map(|name| match name.token {
                Token::Comma => made(Token::Period),
                _ => name.clone(),
            })
            .collect();
        if is_weaker {
            let marks = [made(Token::make_word("", Some('"'))), made(Token::Period)];
            let marked = if names.is_empty() { 1 } else { 2 };
            names.splice(0..0, marks.into_iter().take(marked));
        }
        let mut settled = vec![word("FOR"), word(lock)];
        if !names.is_empty() {
            settled.push(word("OF"));
            settled.append(&mut names);
        }
        settled.extend(tokens[self.names.end..self.end].iter().cloned());
        settled
    }
}

/// Takes the clauses that end at a token behind the LIMIT that follows. There is none before them: a query has one.
fn take_behind_limit(tokens: &mut [TokenWithSpan], end: usize) {
    if !is_limit(&word_at(tokens, end)) {
        return;
    }
    let (mut begin, mut depth) = (end, 0);
    for at in (0..end).rev() {
        match &tokens[at].token {
            Token::RParen => depth += 1,
            Token::LParen if depth == 0 => break,
            Token::LParen => depth -= 1,
            Token::Word(_) if depth == 0 => match word_at(tokens, at).as_str() {
                "FOR" if Clause::at(tokens, at).is_some() => begin = at,
                "SELECT" => break,
                word if is_limit(word) => return,
                _ => {}
            },
            _ => {}
        }
    }
    let mut behind = end;
    while behind < tokens.len() {
        match &tokens[behind].token {
            Token::RParen if depth == 0 => break,
            Token::RParen => depth -= 1,
            Token::LParen => depth += 1,
            Token::Word(_) if depth == 0 => {
                let (word, next) = (word_at(tokens, behind), word_at(tokens, behind + 1));
                match (word.as_str(), next.as_str()) {
                    ("WITH", "TIES") => {}
                    ("FOR" | "RETURNING" | "ON" | "WITH", _) | ("ALLOW", "FILTERING") => break,
                    _ => {}
                }
            }
            _ => {}
        }
        behind += 1;
    }
    tokens[begin..behind].rotate_left(end - begin);
}

fn is_limit(word: &str) -> bool {
    matches!(word, "LIMIT" | "OFFSET" | "FETCH")
}

fn token_at(tokens: &[TokenWithSpan], at: usize) -> Option<&Token> {
    tokens.get(at).map(|token| &token.token)
}

/// The word at a place, in capitals; empty for anything else, and in quotes.
fn word_at(tokens: &[TokenWithSpan], at: usize) -> String {
    match token_at(tokens, at) {
        Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locking_clauses_are_read_before_limit_and_behind() {
        for (text, tree, clause) in [
            (
                "SELECT a FROM t FOR UPDATE",
                "SELECT a FROM t FOR UPDATE",
                "FOR UPDATE",
            ),
            (
                "SELECT a FROM t ORDER BY a FOR NO KEY UPDATE OF t, u SKIP LOCKED LIMIT 1",
                "SELECT a FROM t ORDER BY a LIMIT 1 FOR UPDATE OF \"\".t.u SKIP LOCKED",
                "FOR NO KEY UPDATE",
            ),
            (
                "SELECT a FROM t LIMIT 1 FOR KEY SHARE NOWAIT FOR UPDATE",
                "SELECT a FROM t LIMIT 1 FOR SHARE OF \"\" NOWAIT FOR UPDATE",
                "FOR KEY SHARE",
            ),
            (
                "DELETE FROM t WHERE a IN (SELECT a FROM t FOR SHARE FOR UPDATE LIMIT (1) OFFSET 2)",
                "DELETE FROM t WHERE a IN (SELECT a FROM t LIMIT (1) OFFSET 2 FOR SHARE FOR UPDATE)",
                "FOR SHARE",
            ),
        ] {
            let parsed = crate::parse::parse(text).unwrap().remove(0);
            assert_eq!(parsed.ast.to_string(), tree);
            assert_eq!(parsed.row_locks.map(LockStrength::clause), Some(clause));
        }
        let other = crate::parse::parse("SELECT substring('a' FOR 1)").unwrap();
        assert_eq!(other[0].row_locks, None);
    }

    #[test]
    fn clauses_say_what_they_lock_and_how() {
        let text = "SELECT a FROM t, u FOR NO KEY UPDATE OF t, u NOWAIT FOR KEY SHARE SKIP LOCKED FOR SHARE OF \"U\"";
        let ast::Statement::Query(query) = crate::parse::parse(text).unwrap().remove(0).ast else {
            panic!("{text} is no query");
        };
        let read = locking_clauses(&query);
        let read: Vec<_> = read
            .iter()
            .map(|clause| {
                let names = clause.relations.iter().map(|name| name.value.as_str());
                (clause.strength, names.collect::<Vec<_>>(), clause.wait)
            })
            .collect();
        assert_eq!(
            read,
            [
                (LockStrength::NoKeyUpdate, vec!["t", "u"], WaitPolicy::NoWait),
                (LockStrength::KeyShare, vec![], WaitPolicy::SkipLocked),
                (LockStrength::Share, vec!["U"], WaitPolicy::Block),
            ]
        );
    }

    #[test]
    fn a_query_has_one_limit_and_names_have_no_schema() {
        for text in [
            "SELECT a FROM t LIMIT 1 FOR UPDATE OFFSET 1",
            "SELECT a FROM t OFFSET 1 FOR UPDATE LIMIT 1",
            "SELECT a FROM t FOR UPDATE ORDER BY a",
            "SELECT a FROM t FOR UPDATE OF s.t",
        ] {
            assert_eq!(
                crate::parse::parse(text).unwrap_err().sqlstate(),
                "42601",
                "{text}"
            );
        }
    }
}
