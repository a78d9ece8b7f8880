//! `KeyspanDialect`: PostgreSQL's dialect, what the parser reads otherwise than PostgreSQL put right, and our own
//! syntax (`UPSERT INTO`), as the hooks that the parser asks. Called by whoever parses; knows nothing of what is meant.
//!
//! What no hook is asked for is done to the tokens before ([`super::tokens`], [`super::hash_comment`]).

use std::any::TypeId;

use sqlparser::ast::{
    ColumnDef, ColumnOption, DataType, DescribeAlias, Expr, Ident, KeyOrIndexDisplay, NullsDistinctOption,
    ObjectName, OnConflictAction, OnInsert, Statement, TypedString, UniqueConstraint, UtilityOption,
};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::call::{call, call_without_parentheses};
use super::token_reader::is_word;
use super::{
    alias_words, alter, disjunction, like_any, long_names, membership, prefix_words, query_operand,
    row_assignment, substring, symmetric, trim, with_write,
};

/// What it is based on.
const POSTGRESQL: PostgreSqlDialect = PostgreSqlDialect {};

/// PostgreSQL's dialect with ours in it.
#[derive(Debug)]
pub(crate) struct KeyspanDialect {
    /// Whether FOR SYSTEM_TIME may stand behind a table. Words that are names elsewhere begin clauses then, too.
    has_system_time: bool,
    /// Whether a join may stand between a relation and the ON of the join before it: `a JOIN b JOIN c ON … ON …`. Then the parser takes
    /// what follows NATURAL JOIN for such, too.
    nests_joins: bool,
}

/// The dialect of most statements.
pub(crate) const KEYSPAN: KeyspanDialect = KeyspanDialect {
    has_system_time: false,
    nests_joins: false,
};

/// That of statements whose joins do not read otherwise.
pub(super) const WITH_NESTED_JOINS: KeyspanDialect = KeyspanDialect {
    nests_joins: true,
    ..KEYSPAN
};

/// That of statements that say FOR SYSTEM_TIME.
pub(crate) const WITH_SYSTEM_TIME: KeyspanDialect = KeyspanDialect {
    has_system_time: true,
    ..KEYSPAN
};

/// Hooks that answer as PostgreSQL's do.
macro_rules! as_postgresql {
    ($($hook:ident)*) => {
        $(fn $hook(&self) -> bool {
            POSTGRESQL.$hook()
        })*
    };
}

impl Dialect for KeyspanDialect {
    /// What the parser does for PostgreSQL alone it does for us.
    fn dialect(&self) -> TypeId {
        POSTGRESQL.dialect()
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        POSTGRESQL.identifier_quote_style(identifier)
    }

    /// Backticks stand where double quotes would, as LindormTable's users write them; `tokens` makes double quotes of them.
    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '`' || POSTGRESQL.is_delimited_identifier_start(ch)
    }

    fn supports_table_versioning(&self) -> bool {
        self.has_system_time
    }

    fn supports_left_associative_joins_without_parens(&self) -> bool {
        !self.nests_joins
    }

    /// `f(name := value)`.
    fn supports_named_fn_args_with_assignment_operator(&self) -> bool {
        true
    }

    /// The name behind a query of WITH that stands for SEARCH and CYCLE ([`super::search_cycle`]).
    fn supports_from_first_insert(&self) -> bool {
        true
    }

    /// `LIMIT offset, count`.
    fn supports_limit_comma(&self) -> bool {
        true
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        POSTGRESQL.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        POSTGRESQL.is_identifier_part(ch)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        POSTGRESQL.is_reserved_for_identifier(keyword)
    }

    /// Signs behind an operator are signs of what follows (`1>-1`, `- -+1`), and `/` may begin a comment. The operators
    /// that have them inside (`->`, `#-`, `|/`) the tokenizer knows by themselves.
    fn is_custom_operator_part(&self, ch: char) -> bool {
        !matches!(ch, '+' | '-' | '/' | '`') && POSTGRESQL.is_custom_operator_part(ch)
    }

    /// Those that PostgreSQL has no bare labels either, such as ON: what stands behind them belongs to the statement.
    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        alias_words::is_label(*keyword, POSTGRESQL.is_column_alias(keyword, parser), parser)
    }

    /// Those that begin clauses of other dialects are names where nothing of such a clause follows.
    fn is_table_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        POSTGRESQL.is_table_alias(keyword, parser) || alias_words::is_alias(*keyword, parser)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        POSTGRESQL.prec_value(precedence)
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        let token = parser.peek_token_ref();
        match &token.token {
            // The parser would take it for an alias.
            Token::SingleQuotedString(_) => Some(parser.expected_ref("an operator", token)),
            // It stands between the name of an argument and its value.
            Token::Assignment => Some(Ok(self.prec_unknown())),
            Token::Word(word) if is_word(word, "ISNULL") => Some(Ok(self.prec_value(Precedence::Is))),
            _ => POSTGRESQL.get_next_precedence(parser),
        }
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let [first, second] = parser.peek_tokens_ref();
        match &first.token {
            Token::LParen if second.token == Token::LParen => query_operand::parse_set_operation(parser),
            Token::LParen if query_operand::is_quantified(parser) => query_operand::parse_quantified(parser),
            // The parser would try to read a type first, here and before a name, and throw away the error.
            Token::Number(..) | Token::SingleQuotedString(_) | Token::Placeholder(_) => {
                Some(parser.parse_value().map(Expr::Value))
            }
            Token::Word(word) if word.keyword == Keyword::TRIM => trim::parse(parser),
            Token::Word(word) if word.keyword == Keyword::SUBSTRING => substring::parse(parser),
            Token::Word(word)
                if word.keyword == Keyword::GROUPING && is_keyword(&second.token, Keyword::SETS) =>
            {
                Some(parse_grouping_sets(parser))
            }
            Token::Word(word)
                if word.keyword == Keyword::COLLATION && is_keyword(&second.token, Keyword::FOR) =>
            {
                Some(parse_collation_for(parser))
            }
            // The parser has these for names.
            Token::Word(word)
                if matches!(word.keyword, Keyword::CURRENT_ROLE | Keyword::CURRENT_SCHEMA)
                    && !matches!(second.token, Token::LParen | Token::Period) =>
            {
                let name = word.to_ident(first.span);
                parser.advance_token();
                Some(Ok(call_without_parentheses(name)))
            }
            Token::Word(word) if word.keyword == Keyword::VARIADIC => {
                let prefix = word.to_ident(first.span);
                parser.advance_token();
                let value = parser.parse_expr().map(Box::new);
                Some(value.map(|value| Expr::Prefixed { prefix, value }))
            }
            // The parser would take the digits for the value.
            Token::Word(word) if word.keyword == Keyword::INTERVAL && second.token == Token::LParen => {
                Some(parse_interval_of_digits(parser))
            }
            // A column of the name, unless it begins a literal.
            Token::Word(word) if word.keyword == Keyword::INTERVAL && !may_be_interval(&second.token) => {
                let ident = word.to_ident(first.span);
                parser.advance_token();
                Some(Ok(Expr::Identifier(ident)))
            }
            Token::Word(word) if is_name(word, &second.token) || names_type(word, &second.token) => {
                let ident = word.to_ident(first.span);
                let is_called = second.token == Token::LParen;
                let is_type = matches!(second.token, Token::SingleQuotedString(_));
                parser.advance_token();
                Some(match (is_called, is_type) {
                    (true, _) => parser.parse_function(ObjectName::from(vec![ident])),
                    (_, true) => parser.parse_value().map(|value| {
                        Expr::TypedString(TypedString {
                            data_type: DataType::Custom(ObjectName::from(vec![ident]), Vec::new()),
                            value,
                            uses_odbc_syntax: false,
                        })
                    }),
                    _ => Ok(Expr::Identifier(ident)),
                })
            }
            _ => prefix_words::parse(parser),
        }
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        left: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let Token::Word(word) = &parser.peek_token_ref().token else {
            return like_any::parse_operator(parser, left);
        };
        match word.keyword {
            Keyword::OR => Some(disjunction::parse(parser, left, precedence)),
            // The parser reads it right behind a name or a literal alone.
            Keyword::COLLATE => {
                parser.advance_token();
                let collation = parser.parse_object_name(false);
                Some(collation.map(|collation| Expr::Collate {
                    expr: Box::new(left.clone()),
                    collation,
                }))
            }
            Keyword::IS => parse_distinct(parser, left, precedence),
            Keyword::IN => membership::parse(parser, left),
            Keyword::BETWEEN => symmetric::parse(parser, left, precedence),
            Keyword::LIKE | Keyword::ILIKE => like_any::parse(parser, left),
            Keyword::NOT => membership::parse(parser, left)
                .or_else(|| symmetric::parse(parser, left, precedence))
                .or_else(|| like_any::parse(parser, left)),
            _ if is_word(word, "ISNULL") => {
                parser.advance_token();
                Some(Ok(Expr::IsNull(Box::new(left.clone()))))
            }
            _ => None,
        }
    }

    /// The parser would take the words of other dialects' options, and then not read them.
    fn parse_column_option(
        &self,
        parser: &mut Parser,
    ) -> Result<Option<Result<Option<ColumnOption>, ParserError>>, ParserError> {
        use Keyword::{AS, ASC, AUTO_INCREMENT, AUTOINCREMENT, DESC, IDENTITY, ON, SRID};
        if parser.parse_keywords(&[Keyword::UNIQUE, Keyword::NULLS]) {
            return Ok(Some(parse_unique_nulls(parser).map(Some)));
        }
        let token = parser.peek_token_ref();
        match &token.token {
            Token::Word(word)
                if [AS, ASC, AUTO_INCREMENT, AUTOINCREMENT, DESC, IDENTITY, ON, SRID]
                    .contains(&word.keyword) =>
            {
                parser.expected_ref("another option of the column", token)
            }
            _ => Ok(None),
        }
    }

    fn parse_statement(&self, parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
        let Token::Word(word) = &parser.peek_token_ref().token else {
            return None;
        };
        match word.keyword {
            Keyword::INSERT => Some(parse_insert(parser, false)),
            Keyword::UPDATE => Some(row_assignment::parse_update(parser)),
            Keyword::MERGE => Some(row_assignment::parse_merge(parser)),
            Keyword::WITH => Some(with_write::parse(parser)),
            Keyword::EXPLAIN => Some(parse_explain(parser)),
            Keyword::ALTER => alter::parse(parser),
            _ if is_word(word, "UPSERT") => Some(parse_insert(parser, true)),
            _ => None,
        }
    }

    as_postgresql! {
        allow_extract_custom
        allow_extract_single_quotes
        supports_alter_column_type_using
        supports_array_typedef_with_brackets
        supports_bitwise_shift_operators
        supports_comma_separated_trim
        supports_comment_on
        supports_create_index_with_clause
        supports_create_table_like_parenthesized
        supports_empty_projections
        supports_explain_with_utility_options
        supports_factorial_operator
        supports_filter_during_aggregation
        supports_geometric_types
        supports_group_by_expr
        supports_insert_table_alias
        supports_interval_options
        supports_named_fn_args_with_colon_operator
        supports_nested_comments
        supports_notnull_operator
        supports_numeric_literal_underscores
        supports_string_escape_constant
    }
}

/// Whether a word before this token can be nothing but a name, as one that the parser does not know, or one behind
/// which an operand ends and that is no value by itself.
fn is_name(word: &Word, next: &Token) -> bool {
    use Keyword::{
        CURRENT_CATALOG, CURRENT_DATE, CURRENT_TIME, CURRENT_TIMESTAMP, CURRENT_USER, FALSE, LOCALTIME,
        LOCALTIMESTAMP, NULL, NoKeyword, SESSION_USER, TRUE, USER,
    };
    let ends_operand = matches!(
        next,
        Token::Eq
            | Token::Neq
            | Token::Lt
            | Token::LtEq
            | Token::Gt
            | Token::GtEq
            | Token::Period
            | Token::Comma
            | Token::RParen
            | Token::EOF
    );
    match word.keyword {
        NoKeyword => true,
        NULL | TRUE | FALSE | USER | SESSION_USER | CURRENT_USER | CURRENT_CATALOG => false,
        CURRENT_DATE | CURRENT_TIME | CURRENT_TIMESTAMP | LOCALTIME | LOCALTIMESTAMP => false,
        keyword => ends_operand && !POSTGRESQL.is_reserved_for_identifier(keyword),
    }
}

/// Whether a word that the parser has other uses for is a type before a value: `name 'x'`.
fn names_type(word: &Word, next: &Token) -> bool {
    word.keyword == Keyword::NAME && matches!(next, Token::SingleQuotedString(_))
}

/// `[NOT] DISTINCT` behind UNIQUE NULLS of a column, where the parser does not read it.
fn parse_unique_nulls(parser: &mut Parser) -> Result<ColumnOption, ParserError> {
    let not_distinct = parser.parse_keyword(Keyword::NOT);
    parser.expect_keyword_is(Keyword::DISTINCT)?;
    Ok(ColumnOption::from(UniqueConstraint {
        name: None,
        index_name: None,
        index_type_display: KeyOrIndexDisplay::None,
        index_type: None,
        columns: Vec::new(),
        index_options: Vec::new(),
        characteristics: parser.parse_constraint_characteristics()?,
        nulls_distinct: match not_distinct {
            true => NullsDistinctOption::NotDistinct,
            false => NullsDistinctOption::Distinct,
        },
    }))
}

fn is_keyword(token: &Token, keyword: Keyword) -> bool {
    matches!(token, Token::Word(word) if word.keyword == keyword)
}

/// GROUPING SETS within GROUPING SETS: the parser knows them as an item of GROUP BY only.
fn parse_grouping_sets(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.expect_keywords(&[Keyword::GROUPING, Keyword::SETS])?;
    parser.expect_token(&Token::LParen)?;
    let sets = parser.parse_comma_separated(|parser| {
        if parser.consume_tokens(&[Token::LParen, Token::RParen]) {
            return Ok(Vec::new());
        }
        Ok(match parser.parse_expr()? {
            Expr::Tuple(keys) => keys,
            Expr::Nested(key) => vec![*key],
            key => vec![key],
        })
    });
    let sets = sets?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::GroupingSets(sets))
}

/// `COLLATION FOR (expr)`, the function that it stands for.
fn parse_collation_for(parser: &mut Parser) -> Result<Expr, ParserError> {
    let span = parser.next_token().span;
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let of = parser.parse_expr()?;
    parser.expect_token(&Token::RParen)?;
    Ok(call(Ident::with_span(span, "pg_collation_for"), vec![of]))
}

/// `interval(3) '1.2345 seconds'`.
fn parse_interval_of_digits(parser: &mut Parser) -> Result<Expr, ParserError> {
    Ok(Expr::TypedString(TypedString {
        data_type: parser.parse_data_type()?,
        value: parser.parse_value()?,
        uses_odbc_syntax: false,
    }))
}

/// `INSERT INTO …`, or `UPSERT INTO …`, which is an INSERT that `statement::is_upsert`.
fn parse_insert(parser: &mut Parser, is_upsert: bool) -> Result<Statement, ParserError> {
    let verb = parser.next_token();
    if !parser.peek_keyword(Keyword::INTO) {
        return parser.expected_ref("INTO", parser.peek_token_ref());
    }
    let mut statement = parser.parse_insert(verb)?;
    if let Statement::Insert(insert) = &mut statement {
        insert.replace_into = is_upsert;
        if let Some(OnInsert::OnConflict(on)) = &mut insert.on
            && let OnConflictAction::DoUpdate(update) = &mut on.action
        {
            row_assignment::take_apart(&mut update.assignments);
        }
    }
    Ok(statement)
}

/// `EXPLAIN [ANALYZE] [VERBOSE] statement`, `EXPLAIN (option, …) statement`. The parser reads other words for options
/// too, and a statement that does not read for the name of a table.
fn parse_explain(parser: &mut Parser) -> Result<Statement, ParserError> {
    parser.advance_token();
    let [first, second] = parser.peek_tokens_ref();
    let lists_options = first.token == Token::LParen && !begins_query(second);
    let options = match lists_options {
        true => Some(parser.parse_utility_options()?),
        false => explain_depth(parser),
    };
    let analyze = options.is_none() && parser.parse_keyword(Keyword::ANALYZE);
    let verbose = options.is_none() && parser.parse_keyword(Keyword::VERBOSE);
    skip_declare(parser)?;
    if parser.peek_keyword(Keyword::EXPLAIN) {
        return parser.expected_ref("a statement to explain", parser.peek_token_ref());
    }
    Ok(Statement::Explain {
        describe_alias: DescribeAlias::Explain,
        analyze,
        verbose,
        query_plan: false,
        estimate: false,
        statement: Box::new(parser.parse_statement()?),
        format: None,
        options,
    })
}

/// LindormTable's `PLAN [WITH TYPE | WITHOUT IMPLEMENTATION] [FOR]`, as the options that say the same.
fn explain_depth(parser: &mut Parser) -> Option<Vec<UtilityOption>> {
    let is = |token: &TokenWithSpan, text: &str| {
        matches!(&token.token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
    };
    let says_plan = is(parser.peek_token_ref(), "PLAN");
    if says_plan {
        parser.advance_token();
    }
    let [first, second, third] = parser.peek_tokens_ref();
    // A query may begin with WITH type AS (…).
    let names_query = is(third, "AS") || third.token == Token::LParen;
    let depth = if is(first, "WITH") && is(second, "TYPE") && !names_query {
        Some("types")
    } else if is(first, "WITHOUT") && is(second, "IMPLEMENTATION") {
        Some("logical")
    } else {
        None
    };
    if depth.is_some() {
        parser.advance_token();
        parser.advance_token();
    }
    if says_plan || depth.is_some() {
        let _ = parser.parse_keyword(Keyword::FOR);
    }
    let option = |name: &str| UtilityOption {
        name: Ident::new(name),
        arg: None,
    };
    depth.map(|name| vec![option(name)])
}

/// `DECLARE name … CURSOR … FOR`, of which the plan of its query says nothing.
fn skip_declare(parser: &mut Parser) -> Result<(), ParserError> {
    use Keyword::{ASENSITIVE, BINARY, CURSOR, DECLARE, FOR, HOLD, INSENSITIVE, NO, SCROLL, WITH, WITHOUT};
    if !parser.parse_keyword(DECLARE) {
        return Ok(());
    }
    parser.parse_identifier()?;
    let options = [BINARY, INSENSITIVE, ASENSITIVE, NO, SCROLL];
    while parser.parse_one_of_keywords(&options).is_some() {}
    parser.expect_keyword(CURSOR)?;
    if parser.parse_one_of_keywords(&[WITH, WITHOUT]).is_some() {
        parser.expect_keyword(HOLD)?;
    }
    parser.expect_keyword(FOR).map(drop)
}

fn begins_query(token: &TokenWithSpan) -> bool {
    match &token.token {
        Token::LParen => true,
        Token::Word(word) => {
            matches!(word.keyword, Keyword::SELECT | Keyword::WITH | Keyword::VALUES)
        }
        _ => false,
    }
}

/// Whether a literal of type interval goes on so, or what somebody takes for one.
fn may_be_interval(second: &Token) -> bool {
    matches!(
        second,
        Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::Number(..)
            | Token::Placeholder(_)
    )
}

/// Reads an expression, in a text that no client sent.
pub(crate) fn parse_expression(text: &str) -> Result<Expr, ParserError> {
    long_names::parser_of(&KEYSPAN, text)?.parse_expr()
}

/// Reads a column's definition, which must be all of the text.
pub(crate) fn parse_column(text: &str) -> Result<ColumnDef, ParserError> {
    let mut parser = long_names::parser_of(&KEYSPAN, text)?;
    let column = parser.parse_column_def()?;
    parser.expect_token(&Token::EOF)?;
    Ok(column)
}

/// `IS [NOT] DISTINCT FROM` behind `left`, whose IS is next; `None` for other tests. `precedence`: that of IS. The parser takes
/// everything behind it, ANDs and ORs included, for its right side; here it reaches as far as PostgreSQL lets it.
fn parse_distinct(parser: &mut Parser, left: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
    use Keyword::{DISTINCT, FROM, IS, NOT};
    let test = match parser.parse_keywords(&[IS, DISTINCT, FROM]) {
        true => Expr::IsDistinctFrom,
        false if parser.parse_keywords(&[IS, NOT, DISTINCT, FROM]) => Expr::IsNotDistinctFrom,
        false => return None,
    };
    Some(parse_right(parser, precedence).map(|right| test(Box::new(left.clone()), Box::new(right))))
}

/// The right side, behind which no other IS may stand, as in PostgreSQL.
fn parse_right(parser: &mut Parser, precedence: u8) -> Result<Expr, ParserError> {
    let right = parser.parse_subexpr(precedence)?;
    match parser.get_next_precedence()? == precedence {
        true => parser.expected_ref("an operator that binds less", parser.peek_token_ref()),
        false => Ok(right),
    }
}
