//! Reads CREATE, ALTER and DROP of types and domains off their tokens. Called by `definition_reader`; knows nothing of what they do.

use sqlparser::ast::{DataType, Expr, ObjectName};
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::definition::{
    AttributeChange, Definition, DomainChange, LabelPlace, NewDomain, NewDomainCheck, TypeChange, TypeDrop,
};
use super::dialect::KEYSPAN;
use super::syntax_error::{self, NESTING_MAX};
use super::system_time::dialect_of;
use super::token_reader::{TokenReader, is_word_at, string_of};
use crate::error::StatementFault;
use crate::{Error, Result};

/// Whether the tokens are a definition of a type or domain.
pub(super) fn is_type_definition(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, name: &str| is_word_at(tokens, at, name);
    (is(0, "CREATE") || is(0, "ALTER") || is(0, "DROP")) && (is(1, "TYPE") || is(1, "DOMAIN"))
}

impl TokenReader<'_> {
    /// What stands behind CREATE TYPE.
    pub(super) fn create_type(&mut self) -> Result<Definition> {
        let name = self.object_name()?;
        if self.peek().is_none() {
            return Err(unsupported_type(
                "a shell type",
                "Give the type its labels: CREATE TYPE name AS ENUM ('a', 'b').",
            ));
        }
        if self.token(&Token::LParen) {
            return Err(unsupported_type(
                "a base type",
                "Use CREATE DOMAIN over a type that is there.",
            ));
        }
        self.expect("AS")?;
        if self.word("RANGE") {
            return Err(unsupported_type(
                "a range type",
                "Keep both ends in columns of their own.",
            ));
        }
        if !self.word("ENUM") {
            return match self.peek() {
                Some(Token::LParen) => self.attributes(name),
                _ => Err(self.syntax_error()),
            };
        }
        let mut labels = Vec::new();
        self.take_token(&Token::LParen)?;
        if !self.token(&Token::RParen) {
            loop {
                labels.push(self.string()?);
                if !self.token(&Token::Comma) {
                    break;
                }
            }
            self.take_token(&Token::RParen)?;
        }
        Ok(Definition::CreateEnum { name, labels })
    }

    /// What stands behind ALTER TYPE.
    pub(super) fn alter_type(&mut self) -> Result<Definition> {
        let name = self.object_name()?;
        let change = if self.word("ADD") {
            match self.word("ATTRIBUTE") {
                true => self.attribute_changes(Self::added_attribute)?,
                false => {
                    self.expect("VALUE")?;
                    self.added_value()?
                }
            }
        } else if self.word("DROP") {
            self.expect("ATTRIBUTE")?;
            self.attribute_changes(Self::dropped_attribute)?
        } else if self.word("ALTER") {
            self.expect("ATTRIBUTE")?;
            self.attribute_changes(Self::retyped_attribute)?
        } else if self.word("RENAME") {
            if self.word("VALUE") {
                let from = self.string()?;
                self.expect("TO")?;
                TypeChange::RenameValue {
                    from,
                    to: self.string()?,
                }
            } else if self.word("ATTRIBUTE") {
                let from = self.name()?;
                self.expect("TO")?;
                let to = self.name()?;
                self.cascade();
                TypeChange::RenameAttribute { from, to }
            } else {
                self.expect("TO")?;
                TypeChange::Rename(self.name()?)
            }
        } else {
            self.place_or_owner()?
        };
        Ok(Definition::AlterType { name, change })
    }

    /// `(name type, …)` behind CREATE TYPE … AS.
    fn attributes(&mut self, name: ObjectName) -> Result<Definition> {
        self.take_token(&Token::LParen)?;
        let mut attributes = Vec::new();
        if !self.token(&Token::RParen) {
            loop {
                attributes.push((self.name()?, self.attribute_type()?));
                if !self.token(&Token::Comma) {
                    break;
                }
            }
            self.take_token(&Token::RParen)?;
        }
        Ok(Definition::CreateComposite { name, attributes })
    }

    fn attribute_type(&mut self) -> Result<DataType> {
        let ty = self.data_type()?;
        if self.word("COLLATE") {
            let name = self.object_name()?;
            super::collation::check(&name)?;
        }
        Ok(ty)
    }

    /// The changes of ALTER TYPE, of whose first ATTRIBUTE was read.
    fn attribute_changes(&mut self, first: fn(&mut Self) -> Result<AttributeChange>) -> Result<TypeChange> {
        let mut changes = vec![first(self)?];
        while self.token(&Token::Comma) {
            let next: fn(&mut Self) -> Result<AttributeChange> = if self.word("ADD") {
                Self::added_attribute
            } else if self.word("DROP") {
                Self::dropped_attribute
            } else {
                self.expect("ALTER")?;
                Self::retyped_attribute
            };
            self.expect("ATTRIBUTE")?;
            changes.push(next(self)?);
        }
        Ok(TypeChange::Attributes(changes))
    }

    fn added_attribute(&mut self) -> Result<AttributeChange> {
        let (name, ty) = (self.name()?, self.attribute_type()?);
        self.cascade();
        Ok(AttributeChange::Add { name, ty })
    }

    fn dropped_attribute(&mut self) -> Result<AttributeChange> {
        let if_exists = self.if_exists()?;
        let name = self.name()?;
        self.cascade();
        Ok(AttributeChange::Drop { name, if_exists })
    }

    fn retyped_attribute(&mut self) -> Result<AttributeChange> {
        let name = self.name()?;
        if self.word("SET") {
            self.expect("DATA")?;
        }
        self.expect("TYPE")?;
        let ty = self.attribute_type()?;
        self.cascade();
        Ok(AttributeChange::Retype { name, ty })
    }

    fn added_value(&mut self) -> Result<TypeChange> {
        let if_not_exists = self.word("IF");
        if if_not_exists {
            self.expect("NOT")?;
            self.expect("EXISTS")?;
        }
        let label = self.string()?;
        let place = if self.word("BEFORE") {
            LabelPlace::Before(self.string()?)
        } else if self.word("AFTER") {
            LabelPlace::After(self.string()?)
        } else {
            LabelPlace::End
        };
        Ok(TypeChange::AddValue {
            label,
            if_not_exists,
            place,
        })
    }

    /// SET SCHEMA, OWNER TO.
    fn place_or_owner(&mut self) -> Result<TypeChange> {
        if self.word("SET") {
            self.expect("SCHEMA")?;
            return self.name().map(TypeChange::Schema);
        }
        self.expect("OWNER")?;
        self.expect("TO")?;
        self.role_name().map(TypeChange::Owner)
    }

    /// What stands behind DROP TYPE, or DROP DOMAIN.
    pub(super) fn drop_types(&mut self, of_domains: bool) -> Result<Definition> {
        let if_exists = self.if_exists()?;
        let mut names = vec![self.object_name()?];
        while self.token(&Token::Comma) {
            names.push(self.object_name()?);
        }
        let cascade = self.cascade();
        Ok(Definition::DropTypes(TypeDrop {
            of_domains,
            names,
            if_exists,
            cascade,
        }))
    }

    pub(super) fn cascade(&mut self) -> bool {
        let cascade = self.word("CASCADE");
        if !cascade {
            self.word("RESTRICT");
        }
        cascade
    }

    /// What stands behind CREATE DOMAIN.
    pub(super) fn create_domain(&mut self) -> Result<Definition> {
        let name = self.object_name()?;
        self.word("AS");
        let mut domain = NewDomain {
            name,
            ty: self.data_type()?,
            default: None,
            not_null: None,
            checks: Vec::new(),
        };
        while self.peek().is_some() {
            self.domain_option(&mut domain)?;
        }
        Ok(Definition::CreateDomain(Box::new(domain)))
    }

    fn domain_option(&mut self, domain: &mut NewDomain) -> Result<()> {
        if self.word("COLLATE") {
            let name = self.object_name()?;
            return super::collation::check(&name);
        }
        if self.word("DEFAULT") {
            if domain.default.is_some() {
                return Err(syntax("multiple default expressions"));
            }
            domain.default = Some(self.default()?);
            return Ok(());
        }
        let constraint = match self.word("CONSTRAINT") {
            true => Some(self.name()?),
            false => None,
        };
        let is_not = self.word("NOT");
        if is_not || self.word("NULL") {
            if is_not {
                self.expect("NULL")?;
            }
            if domain.not_null.is_some_and(|known| known != is_not) {
                return Err(syntax("conflicting NULL/NOT NULL constraints"));
            }
            domain.not_null = Some(is_not);
            return Ok(());
        }
        let check = self.domain_check(constraint)?;
        domain.checks.push(check);
        Ok(())
    }

    fn domain_check(&mut self, name: Option<String>) -> Result<NewDomainCheck> {
        for word in ["UNIQUE", "PRIMARY", "REFERENCES", "EXCLUDE", "GENERATED"] {
            if self.word(word) {
                let what = match word {
                    "UNIQUE" => "unique",
                    "PRIMARY" => "primary key",
                    "REFERENCES" => "foreign key",
                    "EXCLUDE" => "exclusion",
                    _ => return Err(syntax("specifying GENERATED is not supported for domains")),
                };
                return Err(syntax(&format!("{what} constraints not possible for domains")));
            }
        }
        self.expect("CHECK")?;
        self.take_token(&Token::LParen)?;
        let expr = self.expression()?;
        self.take_token(&Token::RParen)?;
        Ok(NewDomainCheck { name, expr })
    }

    /// What stands behind ALTER DOMAIN.
    pub(super) fn alter_domain(&mut self) -> Result<Definition> {
        let name = self.object_name()?;
        let change = if self.word("ADD") {
            let constraint = match self.word("CONSTRAINT") {
                true => Some(self.name()?),
                false => None,
            };
            if self.word("NOT") {
                self.expect("NULL")?;
                DomainChange::NotNull(true)
            } else {
                let check = self.domain_check(constraint)?;
                let not_valid = self.word("NOT");
                if not_valid {
                    self.expect("VALID")?;
                }
                DomainChange::AddCheck { check, not_valid }
            }
        } else if self.word("DROP") {
            self.dropped_of_domain()?
        } else if self.word("VALIDATE") {
            self.expect("CONSTRAINT")?;
            DomainChange::Validate(self.name()?)
        } else if self.word("RENAME") {
            match self.word("CONSTRAINT") {
                true => {
                    let from = self.name()?;
                    self.expect("TO")?;
                    DomainChange::RenameCheck {
                        from,
                        to: self.name()?,
                    }
                }
                false => {
                    self.expect("TO")?;
                    DomainChange::Type(TypeChange::Rename(self.name()?))
                }
            }
        } else if is_word_at(&self.tokens, self.at, "SET") && !is_word_at(&self.tokens, self.at + 1, "SCHEMA")
        {
            self.at += 1;
            if self.word("DEFAULT") {
                DomainChange::Default(Some(self.default()?))
            } else {
                self.expect("NOT")?;
                self.expect("NULL")?;
                DomainChange::NotNull(true)
            }
        } else {
            DomainChange::Type(self.place_or_owner()?)
        };
        Ok(Definition::AlterDomain {
            name,
            change: Box::new(change),
        })
    }

    fn dropped_of_domain(&mut self) -> Result<DomainChange> {
        if self.word("DEFAULT") {
            return Ok(DomainChange::Default(None));
        }
        if self.word("NOT") {
            self.expect("NULL")?;
            return Ok(DomainChange::NotNull(false));
        }
        self.expect("CONSTRAINT")?;
        let if_exists = self.if_exists()?;
        let name = self.name()?;
        self.cascade();
        Ok(DomainChange::DropCheck { name, if_exists })
    }

    /// A type, by the parser.
    pub(super) fn data_type(&mut self) -> Result<DataType> {
        self.parsed(|parser| parser.parse_data_type())
    }

    /// An expression, by the parser.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.parsed(|parser| parser.parse_expr())
    }

    /// A default: an expression behind which NOT begins a constraint.
    fn default(&mut self) -> Result<Expr> {
        self.parsed(|parser| {
            let least = KEYSPAN.prec_value(Precedence::Is);
            parser.parse_subexpr(least)
        })
    }

    pub(super) fn parsed<T>(
        &mut self,
        parse: impl FnOnce(&mut Parser<'_>) -> Result<T, ParserError>,
    ) -> Result<T> {
        let tokens = self.tokens[self.at..].to_vec();
        let mut parser = Parser::new(dialect_of(&tokens))
            .with_recursion_limit(NESTING_MAX)
            .with_tokens_with_locations(tokens);
        let found = parse(&mut parser).map_err(|error| syntax_error::of_parser(error, self.text()))?;
        self.at += parser.index();
        Ok(found)
    }

    fn string(&mut self) -> Result<String> {
        let text = self.peek().and_then(string_of);
        let text = text.ok_or_else(|| self.syntax_error())?;
        self.at += 1;
        Ok(text)
    }

    pub(super) fn take_token(&mut self, token: &Token) -> Result<()> {
        match self.token(token) {
            true => Ok(()),
            false => Err(self.syntax_error()),
        }
    }
}

fn unsupported_type(what: &str, way_out: &'static str) -> Error {
    Error::unsupported(format!("CREATE TYPE of {what}"), Some(way_out))
}

fn syntax(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: message.to_string(),
        hint: None,
    }
}
