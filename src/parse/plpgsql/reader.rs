//! `Reader`: goes over the tokens of a body; blocks and their handlers. The other files of the folder read what stands in them.

use super::scanner::{Scanned, Token, scan};
use super::tree::{Block, Body, Condition, Fragment, Handler, Into, Statement, Target, VariableConflict};
use crate::parse::routine::WrittenType;
use crate::parse::sqlstates::state_of_condition;
use crate::{Error, Result};

/// How deeply blocks and loops may nest.
const NESTING_MAX: usize = 200;

/// Goes over the tokens of a body.
pub(super) struct Reader<'t> {
    text: &'t str,
    tokens: Vec<Scanned>,
    pub(super) at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    /// Over a body. Errors: 42601.
    pub(super) fn new(text: &'t str) -> Result<Reader<'t>> {
        Ok(Reader {
            text,
            tokens: scan(text)?,
            at: 0,
            depth: 0,
        })
    }

    /// The body, which must be all there is.
    pub(super) fn body(mut self) -> Result<Body> {
        let mut conflict = VariableConflict::Error;
        while self.character('#') {
            let option = self.word_or_error()?;
            let value = self.word_or_error()?;
            match (option.as_str(), value.as_str()) {
                ("variable_conflict", "error") => conflict = VariableConflict::Error,
                ("variable_conflict", "use_variable") => conflict = VariableConflict::UseVariable,
                ("variable_conflict", "use_column") => conflict = VariableConflict::UseColumn,
                ("print_strict_params", "on" | "off") => {}
                _ => {
                    self.at -= 1;
                    return Err(self.syntax_error());
                }
            }
        }
        let label = self.label()?;
        let block = self.block(label)?;
        self.character(';');
        match self.peek() {
            None => Ok(Body { block, conflict }),
            Some(_) => Err(self.syntax_error()),
        }
    }

    /// A block, up to its END, without the semicolon.
    pub(super) fn block(&mut self, label: Option<String>) -> Result<Block> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(self.unsupported("a block nested so deeply"));
        }
        let declarations = match self.word("declare") {
            true => self.declarations()?,
            false => Vec::new(),
        };
        let line = self.line();
        self.expect("begin")?;
        let statements = self.statements(&["end", "exception"])?;
        let mut handlers = Vec::new();
        if self.word("exception") {
            while self.is_word("when") {
                handlers.push(self.handler()?);
            }
            if handlers.is_empty() {
                return Err(self.syntax_error());
            }
        }
        self.expect("end")?;
        self.end_label(label.as_ref())?;
        self.depth -= 1;
        Ok(Block {
            line,
            label,
            declarations,
            statements,
            handlers,
        })
    }

    fn handler(&mut self) -> Result<Handler> {
        self.expect("when")?;
        let mut conditions = vec![];
        loop {
            let name = self.word_or_error()?;
            if name == "others" {
                conditions.push(Condition::Others);
            } else if name == "sqlstate" {
                conditions.push(Condition::State(self.sqlstate()?));
            } else {
                let states = state_of_condition(&name);
                if states.is_empty() {
                    return Err(undefined_condition(&name));
                }
                let states = states
                    .into_iter()
                    .map(|state| Condition::State(state.to_string()));
                conditions.extend(states);
            }
            if !self.word("or") {
                break;
            }
        }
        self.expect("then")?;
        let statements = self.statements(&["when", "end"])?;
        Ok(Handler {
            conditions,
            statements,
        })
    }

    /// The five characters behind SQLSTATE.
    pub(super) fn sqlstate(&mut self) -> Result<String> {
        let Some(Token::Text(state)) = self.peek().cloned() else {
            return Err(self.syntax_error());
        };
        self.at += 1;
        let is_state = state.len() == 5
            && state
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        match is_state {
            true => Ok(state),
            false => Err(syntax("invalid SQLSTATE code")),
        }
    }

    /// Statements up to one of these words, which is left.
    pub(super) fn statements(&mut self, ends: &[&str]) -> Result<Vec<Statement>> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(self.unsupported("statements nested so deeply"));
        }
        let mut statements = Vec::new();
        loop {
            if ends.iter().any(|end| self.is_word(end)) {
                self.depth -= 1;
                return Ok(statements);
            }
            if self.peek().is_none() {
                return Err(self.syntax_error());
            }
            let line = self.line();
            let kind = self.statement()?;
            statements.push(Statement { line, kind });
        }
    }

    /// `<<label>>`, if one is next.
    pub(super) fn label(&mut self) -> Result<Option<String>> {
        if self.peek() != Some(&Token::Pair(*b"<<")) {
            return Ok(None);
        }
        self.at += 1;
        let label = self.name()?;
        match self.peek() == Some(&Token::Pair(*b">>")) {
            true => {
                self.at += 1;
                Ok(Some(label))
            }
            false => Err(self.syntax_error()),
        }
    }

    /// The label that may stand behind END. Errors: 42601 for another than that of the beginning.
    pub(super) fn end_label(&mut self, begun: Option<&String>) -> Result<()> {
        if !matches!(self.peek(), Some(Token::Word(_) | Token::Quoted(_))) {
            return Ok(());
        }
        let label = self.name()?;
        match begun {
            Some(begun) if *begun == label => Ok(()),
            Some(begun) => Err(syntax(format!(
                "end label \"{label}\" differs from block's label \"{begun}\""
            ))),
            None => Err(syntax(format!(
                "end label \"{label}\" specified for unlabeled block"
            ))),
        }
    }

    // ---- tokens -------------------------------------------------------------------------------------------------

    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|scanned| &scanned.token)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead).map(|scanned| &scanned.token)
    }

    /// The line of the next token.
    pub(super) fn line(&self) -> usize {
        let at = self.at.min(self.tokens.len().saturating_sub(1));
        self.tokens.get(at).map_or(1, |scanned| scanned.line)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(next)) if next == word)
    }

    /// Takes a word when it is next.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        match self.word(word) {
            true => Ok(()),
            false => Err(self.syntax_error()),
        }
    }

    /// Takes a character when it is next.
    pub(super) fn character(&mut self, c: char) -> bool {
        let found = self.peek() == Some(&Token::Character(c));
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect_character(&mut self, c: char) -> Result<()> {
        match self.character(c) {
            true => Ok(()),
            false => Err(self.syntax_error()),
        }
    }

    pub(super) fn word_or_error(&mut self) -> Result<String> {
        match self.peek().cloned() {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// A number without a sign.
    pub(super) fn count(&mut self) -> Result<usize> {
        let digits = match self.tokens.get(self.at) {
            Some(scanned) if scanned.token == Token::Number => &self.text[scanned.start..scanned.end],
            _ => return Err(self.syntax_error()),
        };
        match digits.parse() {
            Ok(count) => {
                self.at += 1;
                Ok(count)
            }
            Err(_) => Err(self.syntax_error()),
        }
    }

    /// A name, in quotes or not.
    pub(super) fn name(&mut self) -> Result<String> {
        match self.peek().cloned() {
            Some(Token::Word(name) | Token::Quoted(name)) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// Takes `:=` or `=`.
    pub(super) fn assigns(&mut self) -> bool {
        let found = matches!(
            self.peek(),
            Some(Token::Pair([b':', b'=']) | Token::Character('='))
        );
        self.at += usize::from(found);
        found
    }

    /// The text up to the first token, outside parentheses, for which `ends` holds; the token is left. Errors: 42601 where there is
    /// nothing before it, or no such token.
    pub(super) fn text_until(&mut self, ends: impl Fn(&Token) -> bool) -> Result<Fragment> {
        let begun = self.at;
        self.pass_until(ends)?;
        if self.at == begun {
            return Err(match self.peek() {
                Some(_) => syntax("missing expression"),
                None => self.syntax_error(),
            });
        }
        Ok(Fragment {
            text: self.text_of(begun, self.at).to_string(),
        })
    }

    /// Goes to the first token, outside parentheses, for which `ends` holds.
    pub(super) fn pass_until(&mut self, ends: impl Fn(&Token) -> bool) -> Result<()> {
        let mut depth = 0usize;
        loop {
            let Some(token) = self.peek() else {
                return Err(self.syntax_error());
            };
            if depth == 0 && ends(token) {
                return Ok(());
            }
            match token {
                Token::Character('(' | '[') => depth += 1,
                Token::Character(')' | ']') if depth == 0 => return Err(syntax("mismatched parentheses")),
                Token::Character(')' | ']') => depth -= 1,
                Token::Character(';') => return Err(self.syntax_error()),
                _ => {}
            }
            self.at += 1;
        }
    }

    /// The text of the tokens from one place up to another.
    pub(super) fn text_of(&self, from: usize, to: usize) -> &'t str {
        let start = self.tokens.get(from).map(|scanned| scanned.start);
        let end = to.checked_sub(1).and_then(|last| self.tokens.get(last));
        match (start, end) {
            (Some(start), Some(end)) if start < end.end => &self.text[start..end.end],
            _ => "",
        }
    }

    /// An expression up to this word.
    pub(super) fn until_word(&mut self, word: &str) -> Result<Fragment> {
        self.text_until(|token| matches!(token, Token::Word(next) if next == word))
    }

    /// An expression up to the semicolon, which is taken.
    pub(super) fn until_semicolon(&mut self) -> Result<Fragment> {
        let text = self.text_until(|token| *token == Token::Character(';'))?;
        self.at += 1;
        Ok(text)
    }

    /// A variable to assign to.
    pub(super) fn target(&mut self) -> Result<Target> {
        let mut parts = match self.peek().cloned() {
            Some(Token::Parameter(name)) => {
                self.at += 1;
                vec![name]
            }
            _ => vec![self.name()?],
        };
        while self.character('.') {
            parts.push(self.name()?);
        }
        let mut subscripts = Vec::new();
        while self.character('[') {
            let subscript = self.text_until(|token| *token == Token::Character(']'))?.text;
            subscripts.push(format!("[{subscript}]"));
            self.at += 1;
            while self.character('.') {
                let field = self.name()?.replace('"', "\"\"");
                subscripts.push(format!(".\"{field}\""));
            }
        }
        Ok(Target { parts, subscripts })
    }

    /// What stands behind INTO.
    pub(super) fn into(&mut self) -> Result<Into> {
        let strict = self.word("strict");
        let mut targets = vec![self.target()?];
        while self.character(',') {
            targets.push(self.target()?);
        }
        Ok(Into { strict, targets })
    }

    /// A type, up to what ends it.
    pub(super) fn type_until(&mut self, ends: impl Fn(&Token) -> bool) -> Result<String> {
        self.text_until(ends).map(|fragment| fragment.text)
    }

    // ---- errors -------------------------------------------------------------------------------------------------

    pub(super) fn syntax_error(&self) -> Error {
        match self.tokens.get(self.at) {
            Some(found) => syntax(format!(
                "syntax error at or near \"{}\"",
                &self.text[found.start..found.end]
            )),
            None => syntax("syntax error at end of input"),
        }
    }

    /// 0A000 that names the construct and its line.
    pub(super) fn unsupported(&self, what: &str) -> Error {
        unsupported_at(what, self.line())
    }
}

/// 0A000 that names the construct and its line.
pub(super) fn unsupported_at(what: &str, line: usize) -> Error {
    Error::unsupported(format!("{what} in PL/pgSQL (line {line})"), None)
}

/// A type that stands alone in a text. Errors: 42601.
pub(super) fn type_of(text: &str) -> Result<WrittenType> {
    crate::parse::written_type(text)
}

pub(super) fn undefined_condition(name: &str) -> Error {
    let message = format!("unrecognized exception condition \"{name}\"");
    crate::error::Raised::new("42704", message).into()
}

pub(super) fn syntax(message: impl std::convert::Into<String>) -> Error {
    Error::Syntax {
        message: message.into(),
        position: 0,
    }
}
