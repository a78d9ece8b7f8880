//! Words that may be aliases without AS: other dialects begin clauses with some that are names in PostgreSQL.

use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// Words that name a column of the select list only behind AS.
const NO_BARE_LABELS: [Keyword; 38] = [
    Keyword::ARRAY,
    Keyword::AS,
    Keyword::CHAR,
    Keyword::CHARACTER,
    Keyword::CREATE,
    Keyword::DAY,
    Keyword::EXCEPT,
    Keyword::FETCH,
    Keyword::FILTER,
    Keyword::FOR,
    Keyword::FROM,
    Keyword::GRANT,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::HOUR,
    Keyword::INTERSECT,
    Keyword::INTO,
    Keyword::LIMIT,
    Keyword::MINUTE,
    Keyword::MONTH,
    Keyword::NOTNULL,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::ORDER,
    Keyword::OVER,
    Keyword::OVERLAPS,
    Keyword::PRECISION,
    Keyword::RETURNING,
    Keyword::SECOND,
    Keyword::TO,
    Keyword::UNION,
    Keyword::VARYING,
    Keyword::WHERE,
    Keyword::WINDOW,
    Keyword::WITH,
    Keyword::WITHIN,
    Keyword::WITHOUT,
    Keyword::YEAR,
];

/// Words that begin clauses of other dialects behind a relation, and are names in PostgreSQL.
const FOREIGN_CLAUSES: [Keyword; 22] = [
    Keyword::ANTI,
    Keyword::ASOF,
    Keyword::CLUSTER,
    Keyword::CONNECT,
    Keyword::DISTRIBUTE,
    Keyword::EXPLAIN,
    Keyword::FORMAT,
    Keyword::GLOBAL,
    Keyword::OPEN,
    Keyword::OUTPUT,
    Keyword::PARTITION,
    Keyword::PIVOT,
    Keyword::PREWHERE,
    Keyword::QUALIFY,
    Keyword::SAMPLE,
    Keyword::SEMI,
    Keyword::SETTINGS,
    Keyword::SORT,
    Keyword::START,
    Keyword::TOP,
    Keyword::UNPIVOT,
    Keyword::VIEW,
];

/// Whether a word before the parser's place names a column of the select list. `is_plain`: the parser takes it for such anyway.
pub(super) fn is_label(keyword: Keyword, is_plain: bool, parser: &Parser) -> bool {
    !NO_BARE_LABELS.contains(&keyword) && (is_plain || ends_item(&parser.peek_token_ref().token))
}

/// Whether a word before the parser's place is another name of a relation: nothing of another dialect's clause follows.
pub(super) fn is_alias(keyword: Keyword, parser: &Parser) -> bool {
    FOREIGN_CLAUSES.contains(&keyword) && ends_item(&parser.peek_token_ref().token)
}

/// Whether an item of a list ends before the token: the word before it is its alias.
fn ends_item(token: &Token) -> bool {
    use Keyword::{
        CROSS, EXCEPT, FETCH, FOR, FROM, FULL, GROUP, HAVING, INNER, INTERSECT, INTO, JOIN, LEFT, LIMIT,
        NATURAL, OFFSET, ON, ORDER, RETURNING, RIGHT, UNION, USING, WHERE, WINDOW,
    };
    match token {
        Token::Comma | Token::RParen | Token::SemiColon | Token::EOF => true,
        Token::Word(word) if word.quote_style.is_none() => matches!(
            word.keyword,
            CROSS
                | EXCEPT
                | FETCH
                | FOR
                | FROM
                | FULL
                | GROUP
                | HAVING
                | INNER
                | INTERSECT
                | INTO
                | JOIN
                | LEFT
                | LIMIT
                | NATURAL
                | OFFSET
                | ON
                | ORDER
                | RETURNING
                | RIGHT
                | UNION
                | USING
                | WHERE
                | WINDOW
        ),
        _ => false,
    }
}
