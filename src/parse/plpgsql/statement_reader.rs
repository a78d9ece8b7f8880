//! Reads a statement of a body.

use super::reader::{Reader, syntax};
use super::scanner::Token;
use super::tree::{Fragment, Into, Kind, Source, Statement};
use crate::Result;

impl Reader<'_> {
    /// A statement with its semicolon.
    pub(super) fn statement(&mut self) -> Result<Kind> {
        let label = self.label()?;
        if self.is_word("declare") || self.is_word("begin") {
            let block = self.block(label)?;
            self.expect_character(';')?;
            return Ok(Kind::Block(block));
        }
        if let Some(kind) = self.any_loop(label.clone())? {
            return Ok(kind);
        }
        if label.is_some() {
            return Err(self.syntax_error());
        }
        if self.begins_assignment() {
            let target = self.target()?;
            if !self.assigns() {
                return Err(self.syntax_error());
            }
            let value = self.until_semicolon()?;
            return Ok(Kind::Assign { target, value });
        }
        if self.is_word("commit") || self.is_word("rollback") {
            return self.end_of_transaction();
        }
        if let Some(kind) = self.of_cursor()? {
            return Ok(kind);
        }
        if self.word("if") {
            return self.condition();
        }
        if self.word("case") {
            return self.case();
        }
        if self.is_word("exit") || self.is_word("continue") {
            return self.leave();
        }
        if self.word("return") {
            return self.returned();
        }
        if self.word("raise") {
            return self.raise();
        }
        if self.word("assert") {
            return self.assertion();
        }
        if self.word("perform") {
            return self.until_semicolon().map(Kind::Perform);
        }
        if self.is_word("call") || self.is_word("do") {
            return self.until_semicolon().map(Kind::Call);
        }
        if self.word("execute") {
            return self.execute();
        }
        if self.is_word("get") {
            self.at += 1;
            return self.diagnostics();
        }
        if self.word("null") {
            self.expect_character(';')?;
            return Ok(Kind::Null);
        }
        self.sql()
    }

    /// COMMIT or ROLLBACK, [AND [NO] CHAIN].
    fn end_of_transaction(&mut self) -> Result<Kind> {
        let commits = self.word("commit");
        if !commits {
            self.expect("rollback")?;
        }
        let mut chain = false;
        if self.word("and") {
            chain = !self.word("no");
            self.expect("chain")?;
        }
        self.expect_character(';')?;
        Ok(Kind::EndTransaction { commits, chain })
    }

    fn assertion(&mut self) -> Result<Kind> {
        let condition = self.text_until(|token| matches!(token, Token::Character(',' | ';')))?;
        let message = match self.character(',') {
            true => Some(self.text_until(|token| *token == Token::Character(';'))?),
            false => None,
        };
        self.expect_character(';')?;
        Ok(Kind::Assert { condition, message })
    }

    /// Whether a variable to be assigned to begins here.
    fn begins_assignment(&mut self) -> bool {
        if !matches!(
            self.peek(),
            Some(Token::Word(_) | Token::Quoted(_) | Token::Parameter(_))
        ) {
            return false;
        }
        let begun = self.at;
        let is_target = self.target().is_ok() && self.assigns();
        self.at = begun;
        is_target
    }

    fn condition(&mut self) -> Result<Kind> {
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            let condition = self.until_word("then")?;
            self.at += 1;
            let body = self.statements(&["elsif", "elseif", "else", "end"])?;
            branches.push((condition, body));
            if self.word("elsif") || self.word("elseif") {
                continue;
            }
            if self.word("else") {
                otherwise = self.statements(&["end"])?;
            }
            break;
        }
        self.expect("end")?;
        self.expect("if")?;
        self.expect_character(';')?;
        Ok(Kind::If { branches, otherwise })
    }

    fn case(&mut self) -> Result<Kind> {
        let operand = match self.is_word("when") {
            true => None,
            false => Some((
                format!("__Case__Variable_{}__", self.at),
                self.until_word("when")?,
            )),
        };
        let mut branches: Vec<(Fragment, Vec<Statement>)> = Vec::new();
        while self.word("when") {
            let mut condition = self.until_word("then")?;
            if let Some((variable, _)) = &operand {
                condition.text = format!("\"{variable}\" IN ({})", condition.text);
            }
            self.at += 1;
            let body = self.statements(&["when", "else", "end"])?;
            branches.push((condition, body));
        }
        if branches.is_empty() {
            return Err(self.syntax_error());
        }
        let otherwise = match self.word("else") {
            true => Some(self.statements(&["end"])?),
            false => None,
        };
        self.expect("end")?;
        self.expect("case")?;
        self.expect_character(';')?;
        Ok(Kind::Case {
            operand,
            branches,
            otherwise,
        })
    }

    fn leave(&mut self) -> Result<Kind> {
        let is_continue = self.word("continue");
        if !is_continue {
            self.expect("exit")?;
        }
        let label = match self.peek() {
            Some(Token::Word(word)) if word != "when" => Some(self.name()?),
            Some(Token::Quoted(_)) => Some(self.name()?),
            _ => None,
        };
        let when = match self.word("when") {
            true => Some(self.text_until(|token| *token == Token::Character(';'))?),
            false => None,
        };
        self.expect_character(';')?;
        Ok(Kind::Leave {
            is_continue,
            label,
            when,
        })
    }

    fn returned(&mut self) -> Result<Kind> {
        if self.character(';') {
            return Ok(Kind::Return(None));
        }
        if self.word("next") {
            return match self.character(';') {
                true => Ok(Kind::ReturnNext(None)),
                false => Ok(Kind::ReturnNext(Some(self.until_semicolon()?))),
            };
        }
        if self.word("query") {
            if self.word("execute") {
                let (text, using) = self.dynamic()?;
                self.expect_character(';')?;
                return Ok(Kind::ReturnQuery(Source::Dynamic { text, using }));
            }
            let query = self.until_semicolon()?;
            return Ok(Kind::ReturnQuery(Source::Query(query)));
        }
        self.until_semicolon().map(|value| Kind::Return(Some(value)))
    }

    /// The text of EXECUTE, and USING.
    fn dynamic(&mut self) -> Result<(Fragment, Vec<Fragment>)> {
        let text = self.text_until(|token| match token {
            Token::Word(word) => word == "using" || word == "into",
            token => *token == Token::Character(';'),
        })?;
        let using = self.using()?;
        Ok((text, using))
    }

    fn using(&mut self) -> Result<Vec<Fragment>> {
        match self.word("using") {
            false => Ok(Vec::new()),
            true => self.list_until(|token| match token {
                Token::Word(word) => word == "into",
                token => *token == Token::Character(';'),
            }),
        }
    }

    fn execute(&mut self) -> Result<Kind> {
        let (text, mut using) = self.dynamic()?;
        let mut into = None;
        if self.word("into") {
            into = Some(self.into()?);
            if using.is_empty() {
                using = self.using()?;
            }
        }
        self.expect_character(';')?;
        Ok(Kind::Execute { text, into, using })
    }

    /// Any other statement, of SQL; INTO is taken out of it.
    fn sql(&mut self) -> Result<Kind> {
        if !matches!(self.peek(), Some(Token::Word(_) | Token::Character('('))) {
            return Err(self.syntax_error());
        }
        let begun = self.at;
        let mut into: Option<Into> = None;
        let (mut before, mut behind) = (String::new(), begun);
        loop {
            let Some(token) = self.peek() else {
                return Err(self.syntax_error());
            };
            if *token == Token::Character(';') {
                break;
            }
            let is_into = *token == Token::Word("into".to_string()) && !self.follows_insert(begun);
            if !is_into {
                self.at += 1;
                continue;
            }
            if into.is_some() {
                return Err(syntax("INTO specified more than once"));
            }
            before = format!("{} ", self.text_of(begun, self.at));
            self.at += 1;
            into = Some(self.into()?);
            behind = self.at;
        }
        let text = format!("{before}{}", self.text_of(behind, self.at));
        self.at += 1;
        Ok(Kind::Sql { text, into })
    }

    /// Whether the INTO that is next belongs to INSERT, UPSERT or MERGE.
    fn follows_insert(&mut self, begun: usize) -> bool {
        if self.at == begun {
            return false;
        }
        self.at -= 1;
        let is_write = ["insert", "upsert", "merge"]
            .iter()
            .any(|word| self.is_word(word));
        self.at += 1;
        is_write
    }
}
