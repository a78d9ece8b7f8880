//! Reads CREATE AGGREGATE off its tokens, in both forms: `name(types) (option = value, …)`, and the older one, whose `basetype` says what
//! it is given. Called by `routine_reader`; knows nothing of what an aggregate computes.

use sqlparser::tokenizer::Token;

use super::routine::{NewAggregate, PassedAs, WrittenArgument, WrittenType};
use super::token_reader::{TokenReader, string_of};
use crate::error::StatementFault;
use crate::{Error, Result};

/// Options that say how PostgreSQL computes it in parts, over moving frames and by several workers: results are the same without.
const WITHOUT_EFFECT: [&str; 15] = [
    "sspace",
    "combinefunc",
    "serialfunc",
    "deserialfunc",
    "msfunc",
    "minvfunc",
    "mstype",
    "msspace",
    "mfinalfunc",
    "mfinalfunc_extra",
    "mfinalfunc_modify",
    "minitcond",
    "finalfunc_modify",
    "sortop",
    "parallel",
];

impl TokenReader<'_> {
    /// What stands behind CREATE AGGREGATE.
    pub(super) fn create_aggregate(&mut self, or_replace: bool) -> Result<NewAggregate> {
        let name = self.object_name()?;
        self.take_token(&Token::LParen)?;
        let is_old = matches!(
            self.tokens.get(self.at + 1).map(|token| &token.token),
            Some(Token::Eq)
        );
        let mut new = NewAggregate {
            or_replace,
            name,
            arguments: Vec::new(),
            step: None,
            state: None,
            finish: None,
            finish_extra: false,
            initial: None,
        };
        if !is_old {
            new.arguments = self.aggregate_arguments()?;
            self.take_token(&Token::LParen)?;
        }
        loop {
            self.aggregate_option(&mut new)?;
            if !self.token(&Token::Comma) {
                break;
            }
        }
        self.take_token(&Token::RParen)?;
        Ok(new)
    }

    /// The arguments of an aggregate, up to the parenthesis that closes them: `*` for none. Errors: 0A000 for ORDER BY.
    pub(super) fn aggregate_arguments(&mut self) -> Result<Vec<WrittenArgument>> {
        if self.token(&Token::Mul) {
            self.take_token(&Token::RParen)?;
            return Ok(Vec::new());
        }
        let begins_order = |token: &Token| token.to_string().eq_ignore_ascii_case("order");
        if self.peek().is_some_and(begins_order) {
            return Err(Error::unsupported("an ordered-set aggregate", None));
        }
        self.written_arguments()
    }

    fn aggregate_option(&mut self, new: &mut NewAggregate) -> Result<()> {
        let name = self.label()?.to_lowercase();
        if !self.token(&Token::Eq) {
            return match name.as_str() {
                "finalfunc_extra" => {
                    new.finish_extra = true;
                    Ok(())
                }
                "mfinalfunc_extra" => Ok(()),
                "hypothetical" => Err(Error::unsupported("a hypothetical-set aggregate", None)),
                _ => Err(self.syntax_error()),
            };
        }
        match name.as_str() {
            "sfunc" | "sfunc1" => new.step = Some(self.object_name()?),
            "finalfunc" => new.finish = Some(self.object_name()?),
            "stype" | "stype1" => new.state = Some(self.written_type()?),
            "basetype" => {
                let is_any = self
                    .peek()
                    .and_then(string_of)
                    .is_some_and(|text| text.eq_ignore_ascii_case("any"));
                match is_any {
                    true => self.at += 1,
                    false => new.arguments.push(unnamed(self.written_type()?)),
                }
            }
            "initcond" | "initcond1" => new.initial = Some(self.option_text()?),
            "finalfunc_extra" => new.finish_extra = self.option_text()?.eq_ignore_ascii_case("true"),
            name if WITHOUT_EFFECT.contains(&name) => self.skip_value()?,
            name => {
                return Err(Error::InvalidStatement {
                    state: StatementFault::Syntax,
                    message: format!("aggregate attribute \"{name}\" not recognized"),
                    hint: None,
                });
            }
        }
        Ok(())
    }

    /// A string, number or word.
    fn option_text(&mut self) -> Result<String> {
        let sign = if self.token(&Token::Minus) { "-" } else { "" };
        let token = self.peek().cloned().ok_or_else(|| self.syntax_error())?;
        self.at += 1;
        let text = match string_of(&token) {
            Some(text) => text.to_string(),
            None => token.to_string(),
        };
        Ok(format!("{sign}{text}"))
    }

    /// Goes on behind the value of an option.
    fn skip_value(&mut self) -> Result<()> {
        while let Some(token) = self.peek() {
            if matches!(token, Token::Comma | Token::RParen) {
                return Ok(());
            }
            self.at += 1;
        }
        Err(self.syntax_error())
    }
}

fn unnamed(ty: WrittenType) -> WrittenArgument {
    WrittenArgument {
        name: None,
        passed: PassedAs::In,
        ty,
        default: None,
    }
}
