//! Tokens to a statement's tree, by the parser with our dialect.

use std::ops::ControlFlow;

use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::dialect::{KEYSPAN, KeyspanDialect, WITH_NESTED_JOINS, WITH_SYSTEM_TIME};
use super::position::character_position;
use super::syntax_error::{self, NESTING_MAX};
use super::system_time::{dialect_of, respell};
use super::token_reader::keyword_of;
use super::tree_fields::{self, Unread};
use super::{long_names, parenthesized, reserved_names};
use crate::error::TextPlace;
use crate::{Error, Result};

/// The tree of a statement's tokens. `text`: the message's.
pub(super) fn parse_tree(tokens: Vec<TokenWithSpan>, text: &str) -> Result<ast::Statement> {
    let mut parser = parser_of(dialect_of(&tokens), tokens);
    let refused = match read_tree(&mut parser, text) {
        Ok(tree) => return Ok(tree),
        Err(refused) => refused,
    };
    let tokens = parser.into_tokens();
    let is_join = |token: &&TokenWithSpan| keyword_of(Some(token)) == Keyword::JOIN;
    match tokens.iter().filter(is_join).count() {
        0 | 1 => Err(refused),
        _ => read_tree(&mut parser_of(&WITH_NESTED_JOINS, tokens), text).map_err(|_| refused),
    }
}

fn parser_of(dialect: &KeyspanDialect, tokens: Vec<TokenWithSpan>) -> Parser<'_> {
    Parser::new(dialect)
        .with_recursion_limit(NESTING_MAX)
        .with_tokens_with_locations(tokens)
}

fn read_tree(parser: &mut Parser<'_>, text: &str) -> Result<ast::Statement> {
    let mut tree = parser
        .parse_statement()
        .map_err(|error| syntax_error::of_parser(error, text))?;
    let rest = parser.peek_token_ref();
    if rest.token != Token::EOF {
        return Err(syntax_error::near(rest, text));
    }
    if let ControlFlow::Break(unread) = tree_fields::check(&mut tree, ()) {
        return Err(refusal(unread, parser, text));
    }
    parenthesized::take_away(&mut tree).map_err(|repeated| {
        let place = TextPlace::Character(character_position(repeated.place, text));
        Error::At {
            error: Box::new(repeated.into()),
            place,
        }
    })?;
    if let Some(name) = reserved_names::find(&tree) {
        let position = character_position(name.span.start, text);
        return Err(syntax_error::near_text(&name.value, position));
    }
    match is_incomplete(&tree) && !ends_list(&tree, parser) {
        true => Err(syntax_error::end_of_input(text)),
        false => Ok(tree),
    }
}

/// Reads a query, in a text that no client sent.
pub(crate) fn parse_query(text: &str) -> std::result::Result<Box<ast::Query>, ParserError> {
    if !text.to_ascii_uppercase().contains("SYSTEM_TIME") {
        return without_parentheses(long_names::parser_of(&KEYSPAN, text)?.parse_query()?);
    }
    let mut tokens = Tokenizer::new(&WITH_SYSTEM_TIME, text).tokenize_with_location()?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
    long_names::truncate(&mut tokens);
    respell(&mut tokens);
    let mut parser = Parser::new(&WITH_SYSTEM_TIME).with_tokens_with_locations(tokens);
    without_parentheses(parser.parse_query()?)
}

fn without_parentheses(mut query: Box<ast::Query>) -> std::result::Result<Box<ast::Query>, ParserError> {
    let taken = parenthesized::take_away(&mut *query);
    taken.map_err(|repeated| ParserError::ParserError(Error::from(repeated).to_string()))?;
    Ok(query)
}

/// Whether it is a CREATE TABLE that says nothing of what is in the table, which the parser lets through; in PostgreSQL
/// at least the parentheses must stand. So with a MERGE without WHEN.
fn is_incomplete(tree: &ast::Statement) -> bool {
    if let ast::Statement::Merge(merge) = tree {
        return merge.clauses.is_empty();
    }
    matches!(tree, ast::Statement::CreateTable(create)
        if create.columns.is_empty()
            && create.constraints.is_empty()
            && create.query.is_none()
            && create.like.is_none()
            && create.clone.is_none()
            && create.partition_of.is_none())
}

/// Whether it ends with a list, which may be an empty one of columns; ON COMMIT may stand behind that.
fn ends_list(tree: &ast::Statement, parser: &Parser<'_>) -> bool {
    let has_on_commit = matches!(tree, ast::Statement::CreateTable(create) if create.on_commit.is_some());
    let current = parser.get_current_index();
    let is_empty_list = |at: usize| {
        parser.token_at(at).token == Token::LParen && parser.token_at(at + 1).token == Token::RParen
    };
    match has_on_commit {
        true => (0..current).any(is_empty_list),
        false => parser.token_at(current).token == Token::RParen,
    }
}

/// The error for what nobody reads, at its words.
fn refusal(unread: Unread, parser: &Parser<'_>, text: &str) -> Error {
    match unread {
        Unread::Lacking(feature, hint) => Error::unsupported(feature, Some(hint)),
        Unread::String(value) => match string_as_name(&value, parser) {
            Some(token) => syntax_error::near(token, text),
            None => Error::Syntax {
                message: format!("syntax error at or near \"'{value}'\""),
                position: 0,
            },
        },
        Unread::Foreign(words) => match find(words, parser) {
            Some(token) => syntax_error::near(token, text),
            None => Error::Syntax {
                message: format!("syntax error at or near \"{words}\""),
                position: 0,
            },
        },
    }
}

/// The string of this value that stands in the place of a name: behind AS, or behind what is named.
fn string_as_name<'a>(value: &str, parser: &'a Parser<'_>) -> Option<&'a TokenWithSpan> {
    let is_it =
        |token: &TokenWithSpan| matches!(&token.token, Token::SingleQuotedString(found) if found == value);
    let mut behind_as = false;
    let mut first = None;
    for token in (0..).map(|at| parser.token_at(at)) {
        match &token.token {
            Token::EOF => break,
            Token::Whitespace(_) => continue,
            _ if is_it(token) && behind_as => return Some(token),
            _ if is_it(token) => first = first.or(Some(token)),
            _ => {}
        }
        behind_as = matches!(&token.token, Token::Word(word) if word.keyword == Keyword::AS);
    }
    first
}

/// The first of these words in the statement, where they stand one behind the other.
fn find<'a>(words: &str, parser: &'a Parser<'_>) -> Option<&'a TokenWithSpan> {
    let tokens = (0..).map(|at| parser.token_at(at));
    let tokens: Vec<_> = tokens
        .take_while(|token| token.token != Token::EOF)
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .collect();
    let words: Vec<_> = words.split(' ').collect();
    let begins = |at: &usize| {
        let rest = tokens.get(*at..*at + words.len());
        rest.is_some_and(|rest| {
            let mut pairs = rest.iter().zip(&words);
            pairs.all(|(token, word)| token.token.to_string().eq_ignore_ascii_case(word))
        })
    };
    let at = (0..tokens.len()).find(begins)?;
    Some(tokens[at])
}
