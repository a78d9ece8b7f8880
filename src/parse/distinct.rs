//! `IS [NOT] DISTINCT FROM`: the parser takes everything behind it, ANDs and ORs included, for its right side. Here it
//! reaches as far as PostgreSQL lets it.

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

/// The test behind `left`, whose IS is next; `None` for other tests. `precedence`: that of IS.
pub(super) fn parse(parser: &mut Parser, left: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
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
