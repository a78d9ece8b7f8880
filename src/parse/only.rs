//! `OnlyReader`: takes ONLY away in front of tables, and the parentheses that may stand around a name behind it; the parser knows neither.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::token_reader::keyword_of;

/// How far ONLY has been read, and where the names stand that were behind it.
#[derive(Debug, Default)]
pub(super) struct OnlyReader {
    reached: Reached,
    names: Vec<Location>,
}

#[derive(Debug, Clone, Copy, Default)]
enum Reached {
    #[default]
    Nothing,
    /// ONLY was the last token.
    Word,
    /// The parenthesis behind it was.
    Opened,
    /// A name in the parenthesis.
    Name,
}

impl OnlyReader {
    /// Whether the token is to be left out, of which `before` are those that were not.
    pub(super) fn passes(&mut self, before: &[TokenWithSpan], token: &TokenWithSpan) -> bool {
        let (next, passes) = match (&token.token, self.reached) {
            (Token::Whitespace(_), reached) => (reached, false),
            (Token::Word(word), _) if word.keyword == Keyword::ONLY && word.quote_style.is_none() => {
                match stands_before_table(before) {
                    true => (Reached::Word, true),
                    false => (Reached::Nothing, false),
                }
            }
            (Token::LParen, Reached::Word) => (Reached::Opened, true),
            (Token::RParen, Reached::Opened | Reached::Name) => (Reached::Nothing, true),
            (_, Reached::Opened) => {
                self.names.push(token.span.start);
                (Reached::Name, false)
            }
            (_, Reached::Name) => (Reached::Name, false),
            (_, Reached::Word) => {
                self.names.push(token.span.start);
                (Reached::Nothing, false)
            }
            (_, Reached::Nothing) => (Reached::Nothing, false),
        };
        self.reached = next;
        passes
    }

    /// Where the names stand that were behind ONLY.
    pub(super) fn into_names(self) -> Vec<Location> {
        self.names
    }
}

/// Whether an ONLY behind these tokens is one of a table. COPY takes a relation as it is alone.
fn stands_before_table(before: &[TokenWithSpan]) -> bool {
    let others = [Keyword::READ, Keyword::ROW, Keyword::ROWS, Keyword::NoKeyword];
    let is_listed = before.last().is_some_and(|last| last.token == Token::Comma);
    keyword_of(before.first()) != Keyword::COPY && (is_listed || !others.contains(&keyword_of(before.last())))
}
