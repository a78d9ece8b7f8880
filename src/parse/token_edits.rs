//! Statements whose tokens are put as the parser reads them, once all of them are there: what `tokens` cannot tell as they come.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use super::token_reader::{closing, is_word, keyword_of, opening};

/// `INSERT INTO t (VALUES …)` as `INSERT INTO t VALUES …`; so with WITH.
pub(super) fn open_values(tokens: &mut Vec<TokenWithSpan>) {
    let Some(open) = tokens.iter().position(|token| token.token == Token::LParen) else {
        return;
    };
    if !matches!(keyword_of(tokens.get(open + 1)), Keyword::VALUES | Keyword::WITH) {
        return;
    }
    let closes = |at: &usize| tokens[*at].token == Token::RParen && opening(&tokens[..=*at]) == Some(open);
    if let Some(close) = (open..tokens.len()).find(closes) {
        tokens.remove(close);
        tokens.remove(open);
    }
}

fn is_comparison(token: &Token) -> bool {
    matches!(
        token,
        Token::Eq | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq
    )
}

/// `(VALUES …)` as `(SELECT * FROM (VALUES …) AS "*VALUES*")`, where an expression may stand: the parser takes it for a function there.
pub(super) fn select_values(tokens: &mut Vec<TokenWithSpan>) {
    use Keyword::{ALL, AND, ANY, ARRAY, ELSE, NOT, OR, RETURNING, SELECT, SOME, THEN, WHEN, WHERE};
    let is_place = |token: &Token| match token {
        Token::Word(word) => {
            [AND, ARRAY, ELSE, NOT, OR, RETURNING, SELECT, THEN, WHEN, WHERE].contains(&word.keyword)
        }
        Token::Comma | Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::StringConcat => true,
        other => is_comparison(other),
    };
    let mut at = 1;
    while at + 1 < tokens.len() {
        let is_values = tokens[at].token == Token::LParen
            && keyword_of(tokens.get(at + 1)) == Keyword::VALUES
            && match keyword_of(tokens.get(at - 1)) {
                // Behind UNION and its like, ALL stands before a query.
                ALL | ANY | SOME => at > 1 && is_comparison(&tokens[at - 2].token),
                _ => is_place(&tokens[at - 1].token),
            };
        if let Some(close) = closing(tokens, at).filter(|_| is_values) {
            let span = tokens[at].span;
            let made = |token: Token| TokenWithSpan { token, span };
            let ends = [
                Token::RParen,
                Token::make_keyword("AS"),
                Token::make_word("*VALUES*", Some('"')),
            ];
            tokens.splice(close..close, ends.map(made));
            let begins = [
                Token::make_keyword("SELECT"),
                Token::Mul,
                Token::make_keyword("FROM"),
                Token::LParen,
            ];
            tokens.splice(at + 1..at + 1, begins.map(made));
            at += 4;
        }
        at += 1;
    }
}

/// Words that no relation and no column may have as a name, unless quoted.
const RESERVED: [Keyword; 84] = [
    Keyword::ALL,
    Keyword::AND,
    Keyword::ANY,
    Keyword::ARRAY,
    Keyword::AS,
    Keyword::ASC,
    Keyword::BOTH,
    Keyword::CASE,
    Keyword::CAST,
    Keyword::CHECK,
    Keyword::COLLATE,
    Keyword::COLUMN,
    Keyword::CONSTRAINT,
    Keyword::CREATE,
    Keyword::CROSS,
    Keyword::CURRENT_CATALOG,
    Keyword::CURRENT_DATE,
    Keyword::CURRENT_ROLE,
    Keyword::CURRENT_TIME,
    Keyword::CURRENT_TIMESTAMP,
    Keyword::CURRENT_USER,
    Keyword::DEFAULT,
    Keyword::DESC,
    Keyword::DISTINCT,
    Keyword::DO,
    Keyword::ELSE,
    Keyword::END,
    Keyword::EXCEPT,
    Keyword::FALSE,
    Keyword::FETCH,
    Keyword::FOR,
    Keyword::FOREIGN,
    Keyword::FROM,
    Keyword::FULL,
    Keyword::GRANT,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::ILIKE,
    Keyword::IN,
    Keyword::INNER,
    Keyword::INTERSECT,
    Keyword::INTO,
    Keyword::IS,
    Keyword::JOIN,
    Keyword::LATERAL,
    Keyword::LEADING,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::LOCALTIME,
    Keyword::LOCALTIMESTAMP,
    Keyword::NATURAL,
    Keyword::NOT,
    Keyword::NULL,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::ONLY,
    Keyword::OR,
    Keyword::ORDER,
    Keyword::OUTER,
    Keyword::OVERLAPS,
    Keyword::PLACING,
    Keyword::PRIMARY,
    Keyword::REFERENCES,
    Keyword::RETURNING,
    Keyword::SELECT,
    Keyword::SESSION_USER,
    Keyword::SIMILAR,
    Keyword::SOME,
    Keyword::SYMMETRIC,
    Keyword::TABLE,
    Keyword::THEN,
    Keyword::TO,
    Keyword::TRAILING,
    Keyword::TRUE,
    Keyword::UNION,
    Keyword::UNIQUE,
    Keyword::USER,
    Keyword::USING,
    Keyword::VARIADIC,
    Keyword::VERBOSE,
    Keyword::WHEN,
    Keyword::WHERE,
    Keyword::WINDOW,
    Keyword::WITH,
];

/// Words behind which the parser reads an expression of their own form, where a function of a schema may be meant.
const FORMS: [Keyword; 7] = [
    Keyword::CEIL,
    Keyword::CONVERT,
    Keyword::EXISTS,
    Keyword::FLOOR,
    Keyword::INTERVAL,
    Keyword::SUBSTR,
    Keyword::SUBSTRING,
];

/// A name between backticks as one between double quotes.
pub(super) fn quote_doubly(token: &mut TokenWithSpan) {
    if let Token::Word(word) = &mut token.token {
        word.quote_style = Some('"');
        word.keyword = Keyword::NoKeyword;
    }
}

/// What stands behind a point is a name, whatever the word.
pub(super) fn name_behind_point(token: &mut TokenWithSpan) {
    if let Token::Word(word) = &mut token.token
        && word.quote_style.is_none()
        && (RESERVED.contains(&word.keyword) || FORMS.contains(&word.keyword))
    {
        word.value = word.value.to_ascii_lowercase();
        word.quote_style = Some('"');
        word.keyword = Keyword::NoKeyword;
    }
}

/// Whether the token is this word, which the parser has no `Keyword` for.
pub(super) fn is_named(token: &TokenWithSpan, text: &str) -> bool {
    matches!(&token.token, Token::Word(word) if is_word(word, text))
}

/// Takes ASYNC out of `CREATE INDEX … ASYNC`, or `… ASYNC WITH (…)`, and answers whether it was there; SYNC says what is so anyway.
pub(super) fn take_async(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let is_index = |token: &TokenWithSpan| keyword_of(Some(token)) == Keyword::INDEX;
    if !tokens.iter().take(3).any(is_index) {
        return false;
    }
    let stands = |at: &usize| {
        let is_last = at + 1 == tokens.len();
        let is_it = is_named(&tokens[*at], "ASYNC") || keyword_of(tokens.get(*at)) == Keyword::SYNC;
        is_it
            && (is_last
                || tokens[at - 1].token == Token::RParen && keyword_of(tokens.get(at + 1)) == Keyword::WITH)
    };
    let Some(at) = (3..tokens.len()).rev().find(stands) else {
        return false;
    };
    is_named(&tokens.remove(at), "ASYNC")
}

/// `WITH (DYNAMIC_COLUMNS)` means `WITH (DYNAMIC_COLUMNS = 'true')`.
pub(super) fn give_options_values(tokens: &mut Vec<TokenWithSpan>) {
    let is_view = (1..6).any(|at| keyword_of(tokens.get(at)) == Keyword::VIEW);
    let begins_options = |at: &usize| {
        keyword_of(tokens.get(*at)) == Keyword::WITH
            && (tokens[at - 1].token == Token::RParen || is_view)
            && tokens.get(at + 1).is_some_and(|next| next.token == Token::LParen)
    };
    let Some(with) = (1..tokens.len()).rev().find(begins_options) else {
        return;
    };
    let mut at = with + 2;
    let mut depth = 0_usize;
    while at + 1 < tokens.len() {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return,
            Token::RParen => depth -= 1,
            _ => {}
        }
        let starts_option = matches!(tokens[at - 1].token, Token::LParen | Token::Comma);
        let ends_option = matches!(tokens[at + 1].token, Token::RParen | Token::Comma);
        if starts_option && ends_option && matches!(tokens[at].token, Token::Word(_)) {
            let value = [Token::Eq, Token::SingleQuotedString("true".to_string())];
            let value = value.map(|token| TokenWithSpan {
                token,
                span: Span::empty(),
            });
            tokens.splice(at + 1..at + 1, value);
        }
        at += 1;
    }
}
