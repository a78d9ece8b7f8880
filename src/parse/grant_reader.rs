//! Reads GRANT, REVOKE and ALTER DEFAULT PRIVILEGES off their tokens. Called by `command_reader`; knows nothing of what they do.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::definition::{Definition, RoleName};
use super::grant::{Grant, GrantObjects};
use super::role::{Memberships, RoleDefinition};
use super::token_reader::{TokenReader, is_word_at};
use crate::error::StatementFault;
use crate::{Error, Result};

/// The privileges that there are. PostgreSQL finds out that another word is none when it has read the whole statement.
const PRIVILEGES: [&str; 14] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "TRUNCATE",
    "REFERENCES",
    "TRIGGER",
    "USAGE",
    "CREATE",
    "CONNECT",
    "TEMPORARY",
    "TEMP",
    "EXECUTE",
    "SET",
];

/// Whether the tokens are ALTER DEFAULT PRIVILEGES.
pub(super) fn is_default_privileges(tokens: &[TokenWithSpan]) -> bool {
    is_word_at(tokens, 0, "ALTER") && is_word_at(tokens, 1, "DEFAULT")
}

impl TokenReader<'_> {
    /// What stands behind GRANT or REVOKE.
    pub(super) fn grant(&mut self, revokes: bool) -> Result<Definition> {
        let only_admin = revokes && is_word_at(&self.tokens, self.at, "ADMIN");
        let (privileges, columns) = self.privileges(revokes)?;
        if !self.word("ON") {
            let (members, with_option) = self.grantees(revokes)?;
            return Ok(Definition::Role(RoleDefinition::Members(Memberships {
                roles: privileges.into_iter().map(RoleName::Named).collect(),
                members,
                revokes,
                admin: only_admin || with_option,
                tag: if revokes { "REVOKE ROLE" } else { "GRANT ROLE" },
            })));
        }
        require_privileges(privileges)?;
        let objects = self.grant_objects()?;
        let (roles, _) = self.grantees(revokes)?;
        Ok(Definition::Grant(Grant {
            revokes,
            columns,
            objects,
            roles,
        }))
    }

    /// What stands behind ALTER.
    pub(super) fn default_privileges(&mut self) -> Result<Definition> {
        self.expect("DEFAULT")?;
        self.expect("PRIVILEGES")?;
        let (mut roles, mut schemas) = (Vec::new(), Vec::new());
        loop {
            if self.word("FOR") {
                if !self.word("ROLE") {
                    self.expect("USER")?;
                }
                roles.extend(self.listed(TokenReader::role_name)?);
            } else if self.word("IN") {
                self.expect("SCHEMA")?;
                schemas.extend(self.listed(TokenReader::name)?);
            } else {
                break;
            }
        }
        let revokes = self.word("REVOKE");
        if !revokes {
            self.expect("GRANT")?;
        }
        let (privileges, columns) = self.privileges(revokes)?;
        require_privileges(privileges)?;
        self.expect("ON")?;
        let kinds = ["TABLES", "SEQUENCES", "FUNCTIONS", "ROUTINES", "TYPES", "SCHEMAS"];
        if !kinds.iter().any(|kind| self.word(kind)) {
            return Err(self.syntax_error());
        }
        roles.extend(self.grantees(revokes)?.0);
        Ok(Definition::Grant(Grant {
            revokes,
            columns,
            objects: GrantObjects::Defaults(schemas),
            roles,
        }))
    }

    /// The words of a list of privileges or roles, and the columns that stand behind them.
    fn privileges(&mut self, revokes: bool) -> Result<(Vec<String>, Vec<String>)> {
        let mut columns = Vec::new();
        let begun = self.at;
        if revokes && (self.word("GRANT") || self.word("ADMIN")) {
            match self.word("OPTION") {
                true => self.expect("FOR")?,
                false => self.at = begun,
            }
        }
        if self.word("ALL") {
            self.word("PRIVILEGES");
            self.columns_in_parentheses(&mut columns)?;
            return Ok((Vec::new(), columns));
        }
        let words = self.listed(|reader| {
            let word = reader.label()?;
            if word.eq_ignore_ascii_case("ALTER") {
                reader.expect("SYSTEM")?;
                return Ok("SET".to_string());
            }
            reader.columns_in_parentheses(&mut columns)?;
            Ok(word)
        })?;
        Ok((words, columns))
    }

    fn columns_in_parentheses(&mut self, columns: &mut Vec<String>) -> Result<()> {
        if self.token(&Token::LParen) {
            columns.extend(self.listed(TokenReader::name)?);
            if !self.token(&Token::RParen) {
                return Err(self.syntax_error());
            }
        }
        Ok(())
    }

    fn grant_objects(&mut self) -> Result<GrantObjects> {
        if self.word("ALL") {
            let kinds = ["TABLES", "SEQUENCES", "FUNCTIONS", "PROCEDURES", "ROUTINES"];
            if !kinds.iter().any(|kind| self.word(kind)) {
                return Err(self.syntax_error());
            }
            self.expect("IN")?;
            self.expect("SCHEMA")?;
            return self.listed(TokenReader::name).map(GrantObjects::Schemas);
        }
        if ["FUNCTION", "PROCEDURE", "ROUTINE"]
            .iter()
            .any(|word| is_word_at(&self.tokens, self.at, word))
        {
            let word = self.routine_word()?;
            let routines = self.listed(TokenReader::routine_ref)?;
            return Ok(GrantObjects::Routines(word, routines));
        }
        if self.word("SEQUENCE") {
            return self.listed(TokenReader::object_name).map(GrantObjects::Sequences);
        }
        if self.word("DATABASE") {
            return self.listed(TokenReader::name).map(GrantObjects::Databases);
        }
        if self.word("SCHEMA") {
            return self.listed(TokenReader::name).map(GrantObjects::Schemas);
        }
        if self.word("TYPE") || self.word("DOMAIN") {
            return self.listed(TokenReader::object_name).map(GrantObjects::Types);
        }
        if self.word("LARGE") {
            self.expect("OBJECT")?;
            return self
                .listed(TokenReader::large_object_oid)
                .map(GrantObjects::LargeObjects);
        }
        if self.words_of_others() {
            self.listed(TokenReader::object_name)?;
            return Ok(GrantObjects::Others);
        }
        self.word("TABLE");
        self.listed(TokenReader::object_name).map(GrantObjects::Relations)
    }

    /// The words before what no database here has of its own.
    fn words_of_others(&mut self) -> bool {
        let begun = self.at;
        let kinds: [&[&str]; 5] = [
            &["LANGUAGE"],
            &["TABLESPACE"],
            &["PARAMETER"],
            &["FOREIGN", "SERVER"],
            &["FOREIGN", "DATA", "WRAPPER"],
        ];
        kinds.iter().any(|words| {
            self.at = begun;
            words.iter().all(|word| self.word(word))
        }) || {
            self.at = begun;
            false
        }
    }

    /// TO or FROM, the roles, and what may stand behind them; whether an option is granted with them.
    fn grantees(&mut self, revokes: bool) -> Result<(Vec<RoleName>, bool)> {
        self.expect(if revokes { "FROM" } else { "TO" })?;
        let roles = self.listed(|reader| {
            reader.word("GROUP");
            reader.one_role()
        })?;
        let with_option = self.word("WITH");
        if with_option {
            let options = ["GRANT", "ADMIN"];
            if !options.iter().any(|option| self.word(option)) {
                return Err(self.syntax_error());
            }
            self.expect("OPTION")?;
        }
        if self.word("GRANTED") {
            self.expect("BY")?;
            self.role_name()?;
        }
        if revokes && !self.word("CASCADE") {
            self.word("RESTRICT");
        }
        Ok((roles, with_option))
    }

    /// One thing or several, parted by commas.
    pub(super) fn listed<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut all = vec![one(self)?];
        while self.token(&Token::Comma) {
            all.push(one(self)?);
        }
        Ok(all)
    }
}

/// Errors: 42601 for a word that is no privilege.
fn require_privileges(words: Vec<String>) -> Result<()> {
    let other = words
        .into_iter()
        .find(|word| !PRIVILEGES.iter().any(|known| known.eq_ignore_ascii_case(word)));
    match other {
        None => Ok(()),
        Some(word) => Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: format!("unrecognized privilege type \"{word}\""),
            hint: None,
        }),
    }
}
