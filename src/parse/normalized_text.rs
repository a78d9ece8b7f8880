//! `NormalizedText`: a statement's text with `$n` in place of its constants, as pg_stat_statements shows it, and a number that texts have
//! in common which differ in constants, letter case, blanks and comments alone. Read from the tokens; what is no constant of an
//! expression stays: places in ORDER BY and GROUP BY, lengths of types, IS NULL.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer};

use super::dialect::KEYSPAN;

/// Bytes of a text that are shown: behind them it is cut.
const SHOWN_BYTES_MAX: usize = 16 << 10;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalizedText {
    /// The number.
    pub id: i64,
    /// The text.
    pub text: Arc<str>,
}

/// What the constants of a text are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextConstants {
    /// They stay: it is no query, and writes no rows.
    Stay,
    /// They go.
    Go,
    /// They go, and parameters stand for some that went before: all are numbered anew.
    GoLikeParameters,
}

impl NormalizedText {
    /// That of a statement's own text.
    pub fn of(text: &str, constants: TextConstants) -> NormalizedText {
        let tokens = match constants {
            TextConstants::Stay => None,
            // What cannot be split into tokens did not run either.
            _ => Tokenizer::new(&KEYSPAN, text)
                .with_unescape(false)
                .tokenize()
                .ok(),
        };
        let Some(tokens) = tokens else {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            return NormalizedText::new(&hasher, text);
        };
        let renumbers = constants == TextConstants::GoLikeParameters;
        let mut writer = Writer {
            renumbers,
            constants: if renumbers { 0 } else { greatest_parameter(&tokens) },
            ..Writer::default()
        };
        for (at, token) in tokens.iter().enumerate() {
            writer.take(token, &tokens[at + 1..]);
        }
        NormalizedText::new(&writer.hasher, writer.text.trim())
    }

    fn new(hasher: &DefaultHasher, text: &str) -> NormalizedText {
        NormalizedText {
            id: hasher.finish().cast_signed(),
            text: text[..text.floor_char_boundary(SHOWN_BYTES_MAX)].into(),
        }
    }
}

/// The number of the last parameter of a text: constants are counted on from there.
fn greatest_parameter(tokens: &[Token]) -> u32 {
    let number = |token: &Token| match token {
        Token::Placeholder(name) => name.strip_prefix('$')?.parse().ok(),
        _ => None,
    };
    tokens.iter().filter_map(number).max().unwrap_or(0)
}

/// Puts the text together, token by token.
#[derive(Default)]
struct Writer<'t> {
    text: String,
    hasher: DefaultHasher,
    renumbers: bool,
    /// Constants that went so far, and parameters before them.
    constants: u32,
    /// The last two tokens but blanks and comments, the last one first.
    last: [Option<&'t Token>; 2],
    depth: u32,
    /// How deep ORDER BY or GROUP BY stands whose list this is.
    by_depth: Option<u32>,
    /// How deep the parenthesis behind a type's name is.
    type_depth: Option<u32>,
    /// A minus sign belongs to the number that follows.
    is_negative: bool,
}

impl<'t> Writer<'t> {
    fn take(&mut self, token: &'t Token, rest: &[Token]) {
        if let Token::Whitespace(blank) = token {
            // What stands between a sign and its number goes with them.
            if !self.is_negative {
                self.text.push_str(&blank.to_string());
            }
            return;
        }
        match token {
            Token::Minus if self.begins_operand() && matches!(next(rest), Some(Token::Number(..))) => {
                self.is_negative = true;
                return;
            }
            Token::Number(..) if self.stays(rest) => self.keep(token),
            Token::Word(word) if word.quote_style.is_none() => self.word(word.keyword, token),
            Token::Placeholder(_) if !self.renumbers => self.keep(token),
            token if is_constant(token) => self.replace(),
            token => self.keep(token),
        }
        match token {
            Token::LParen => self.open(),
            Token::RParen => self.close(),
            Token::Word(word) if self.by_depth == Some(self.depth) && ends_list(word.keyword) => {
                self.by_depth = None;
            }
            _ => {}
        }
        self.last = [Some(token), self.last[0]];
    }

    fn word(&mut self, keyword: Keyword, token: &Token) {
        let is_value = match keyword {
            Keyword::TRUE | Keyword::FALSE | Keyword::NULL => !self.follows_is(),
            // The field of EXTRACT(year FROM …) is a constant of PostgreSQL's function.
            _ => self.last[0] == Some(&Token::LParen) && is_keyword(self.last[1], Keyword::EXTRACT),
        };
        if is_value {
            return self.replace();
        }
        if keyword == Keyword::BY
            && [Keyword::ORDER, Keyword::GROUP]
                .iter()
                .any(|by| is_keyword(self.last[0], *by))
        {
            self.by_depth = Some(self.depth);
        }
        self.keep(token);
    }

    /// IS NULL, IS NOT NULL and their like are no values.
    fn follows_is(&self) -> bool {
        is_keyword(self.last[0], Keyword::IS)
            || (is_keyword(self.last[0], Keyword::NOT) && is_keyword(self.last[1], Keyword::IS))
    }

    /// Whether a number is a place in a list of ORDER BY or GROUP BY, or says how long a type's values are.
    fn stays(&self, rest: &[Token]) -> bool {
        let is_item = matches!(self.last[0], Some(Token::Comma)) || is_keyword(self.last[0], Keyword::BY);
        let ends_item = match next(rest) {
            None | Some(Token::Comma | Token::RParen | Token::SemiColon) => true,
            Some(Token::Word(word)) => {
                matches!(word.keyword, Keyword::ASC | Keyword::DESC | Keyword::NULLS)
                    || ends_list(word.keyword)
            }
            _ => false,
        };
        self.type_depth.is_some()
            || (self.by_depth == Some(self.depth) && is_item && ends_item && !self.is_negative)
    }

    /// Whether an operand is expected behind the last token.
    fn begins_operand(&self) -> bool {
        match self.last[0] {
            None => true,
            Some(Token::Word(word)) => word.quote_style.is_none() && OPERAND_FOLLOWS.contains(&word.keyword),
            Some(Token::RParen | Token::RBracket | Token::Placeholder(_)) => false,
            Some(token) => !is_constant(token),
        }
    }

    fn open(&mut self) {
        self.depth += 1;
        let names_type =
            matches!(self.last[1], Some(Token::DoubleColon)) || is_keyword(self.last[1], Keyword::AS);
        if names_type && matches!(self.last[0], Some(Token::Word(_))) && self.type_depth.is_none() {
            self.type_depth = Some(self.depth);
        }
    }

    fn close(&mut self) {
        if self.type_depth == Some(self.depth) {
            self.type_depth = None;
        }
        if self.by_depth == Some(self.depth) {
            self.by_depth = None;
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn replace(&mut self) {
        self.is_negative = false;
        self.constants += 1;
        self.text.push('$');
        self.text.push_str(&self.constants.to_string());
        "?".hash(&mut self.hasher);
    }

    fn keep(&mut self, token: &Token) {
        if std::mem::take(&mut self.is_negative) {
            self.text.push('-');
            "-".hash(&mut self.hasher);
        }
        let written = token.to_string();
        self.text.push_str(&written);
        match token {
            Token::Word(word) if word.quote_style.is_none() => written.to_lowercase().hash(&mut self.hasher),
            _ => written.hash(&mut self.hasher),
        }
    }
}

/// The next token but blanks and comments.
fn next(rest: &[Token]) -> Option<&Token> {
    rest.iter().find(|token| !matches!(token, Token::Whitespace(_)))
}

fn is_keyword(token: Option<&Token>, keyword: Keyword) -> bool {
    matches!(token, Some(Token::Word(word)) if word.quote_style.is_none() && word.keyword == keyword)
}

/// Whether the word ends a list of ORDER BY or GROUP BY.
fn ends_list(keyword: Keyword) -> bool {
    use Keyword::{
        EXCEPT, FETCH, FOR, GROUPS, HAVING, INTERSECT, LIMIT, OFFSET, ORDER, RANGE, ROWS, UNION, WINDOW,
    };
    [
        EXCEPT, FETCH, FOR, GROUPS, HAVING, INTERSECT, LIMIT, OFFSET, ORDER, RANGE, ROWS, UNION, WINDOW,
    ]
    .contains(&keyword)
}

/// Words behind which a minus sign is a number's.
const OPERAND_FOLLOWS: &[Keyword] = &[
    Keyword::SELECT,
    Keyword::DISTINCT,
    Keyword::WHERE,
    Keyword::AND,
    Keyword::OR,
    Keyword::NOT,
    Keyword::BETWEEN,
    Keyword::WHEN,
    Keyword::THEN,
    Keyword::ELSE,
    Keyword::LIKE,
    Keyword::IN,
    Keyword::BY,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::HAVING,
    Keyword::ON,
    Keyword::RETURNING,
];

fn is_constant(token: &Token) -> bool {
    matches!(
        token,
        Token::Number(..)
            | Token::Placeholder(_)
            | Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::DollarQuotedString(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        NormalizedText::of(text, TextConstants::Go).text.to_string()
    }

    #[test]
    fn constants_go_and_all_else_stays_as_it_was_written() {
        for (text, expected) in [
            (
                "SELECT  'x', 1.5, NULL, a IS NOT NULL, true",
                "SELECT  $1, $2, $3, a IS NOT NULL, $4",
            ),
            (
                "select a - 1, a = - 2, (-3) from t limit 4",
                "select a - $1, a = $2, ($3) from t limit $4",
            ),
            (
                "select a from t order by 1, 2 desc limit 3",
                "select a from t order by 1, 2 desc limit $1",
            ),
            (
                "select '1'::varchar(10), cast(2 as numeric(3,1))",
                "select $1::varchar(10), cast($2 as numeric(3,1))",
            ),
            (
                "select a from t where b = $2 and c = 5",
                "select a from t where b = $2 and c = $3",
            ),
            (
                "select extract(year from d) -- when\n from t",
                "select extract($1 from d) -- when\n from t",
            ),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn texts_are_alike_but_for_constants_case_and_blanks() {
        let id = |text: &str, constants| NormalizedText::of(text, constants).id;
        let go = TextConstants::Go;
        let one = id("SELECT a FROM t WHERE b = 1", go);
        assert_eq!(one, id("select A from T\n where b =  -2 /* two */", go));
        assert_eq!(
            one,
            id("SELECT a FROM t WHERE b = $1", TextConstants::GoLikeParameters)
        );
        assert_ne!(one, id("SELECT a FROM t WHERE b = $1", go));
        assert_ne!(one, id("SELECT \"A\" FROM t WHERE b = 1", go));
        let stay = TextConstants::Stay;
        assert_ne!(id("SET a = 1", stay), id("SET a = 2", stay));
    }

    #[test]
    fn constants_are_numbered_anew_where_parameters_stand_for_some() {
        let text = "select 'x' from t where a = $1";
        let anew = NormalizedText::of(text, TextConstants::GoLikeParameters);
        assert_eq!(&*anew.text, "select $1 from t where a = $2");
    }
}
