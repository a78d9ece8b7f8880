//! Where a statement of a message ends: at a semicolon, but for those between BEGIN ATOMIC and END of a function that is created.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// How deep in such a body the tokens of a statement are.
#[derive(Debug, Default)]
pub(super) struct AtomicBody {
    /// Whether the statement begins with CREATE, once it has begun.
    creates: Option<bool>,
    /// BEGIN was the last word.
    begins: bool,
    /// END stands so many times before the body is closed.
    depth: usize,
}

impl AtomicBody {
    /// Whether the next token ends the statement.
    pub(super) fn is_end(&mut self, token: &TokenWithSpan) -> bool {
        match &token.token {
            Token::Whitespace(_) => false,
            Token::SemiColon => self.depth == 0,
            Token::Word(word) if word.quote_style.is_none() => {
                self.meet(word.keyword, &word.value);
                false
            }
            _ => {
                self.creates.get_or_insert(false);
                self.begins = false;
                false
            }
        }
    }

    fn meet(&mut self, keyword: Keyword, word: &str) {
        let creates = *self.creates.get_or_insert(keyword == Keyword::CREATE);
        if !creates {
            return;
        }
        match keyword {
            Keyword::CASE if self.depth > 0 => self.depth += 1,
            Keyword::END if self.depth > 0 => self.depth -= 1,
            _ if self.begins && word.eq_ignore_ascii_case("ATOMIC") => self.depth = 1,
            _ => {}
        }
        self.begins = keyword == Keyword::BEGIN;
    }
}
