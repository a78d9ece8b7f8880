//! Reads CREATE, ALTER, DROP and COMMENT ON ROLE (USER, GROUP), REASSIGN and DROP OWNED off their tokens. Called by `definition_reader`;
//! GRANT of roles is `grant_reader`'s, ALTER ROLE … SET and RESET are `setting_reader`'s.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::role::{Memberships, RoleDefinition, RoleOptions};
use super::role_name::RoleName;
use super::token_reader::{TokenReader, is_word_at, string_of};
use crate::{Error, Result};

/// What a role is called in statements.
const KINDS: [&str; 3] = ["ROLE", "USER", "GROUP"];

/// Words that say yes, and those that say no, of what is either.
const SWITCHES: [(&str, &str); 7] = [
    ("SUPERUSER", "NOSUPERUSER"),
    ("CREATEDB", "NOCREATEDB"),
    ("CREATEROLE", "NOCREATEROLE"),
    ("INHERIT", "NOINHERIT"),
    ("LOGIN", "NOLOGIN"),
    ("REPLICATION", "NOREPLICATION"),
    ("BYPASSRLS", "NOBYPASSRLS"),
];

/// Whether the tokens define a role.
pub(super) fn is_role_definition(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, name: &str| is_word_at(tokens, at, name);
    let is_kind = |at: usize| KINDS.iter().any(|kind| is(at, kind));
    // USER MAPPING is of foreign servers.
    let is_mapping = is(2, "MAPPING");
    if is(0, "COMMENT") {
        return is(2, "ROLE");
    }
    if is(1, "OWNED") {
        return is(0, "REASSIGN") || is(0, "DROP");
    }
    match is(0, "ALTER") {
        true => is_kind(1) && !is_mapping && !alters_settings(tokens),
        false => (is(0, "CREATE") || is(0, "DROP")) && is_kind(1) && !is_mapping,
    }
}

/// Whether ALTER ROLE changes what its sessions begin with.
fn alters_settings(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, name: &str| is_word_at(tokens, at, name);
    is(3, "SET") || is(3, "RESET") || (is(3, "IN") && is(4, "DATABASE"))
}

impl TokenReader<'_> {
    /// What stands behind CREATE, DROP, ALTER, COMMENT or REASSIGN.
    pub(super) fn role_definition(&mut self) -> Result<RoleDefinition> {
        let first = ["CREATE", "DROP", "ALTER", "REASSIGN"]
            .into_iter()
            .find(|word| is_word_at(&self.tokens, 0, word));
        if self.word("OWNED") {
            return self.owned(first == Some("REASSIGN"));
        }
        self.word("ON");
        let kind = KINDS.into_iter().find(|kind| self.word(kind));
        match first {
            Some("CREATE") => self.create_role(kind == Some("USER")),
            Some("DROP") => self.drop_roles(),
            Some("ALTER") => self.alter_role(kind == Some("GROUP")),
            _ => self.comment_on_role(),
        }
    }

    fn owned(&mut self, reassigns: bool) -> Result<RoleDefinition> {
        self.expect("BY")?;
        let mut roles = self.roles()?;
        if reassigns {
            self.expect("TO")?;
            roles.push(self.one_role()?);
        } else if !self.word("CASCADE") {
            self.word("RESTRICT");
        }
        let tag = if reassigns { "REASSIGN OWNED" } else { "DROP OWNED" };
        Ok(RoleDefinition::Owned { roles, tag })
    }

    fn create_role(&mut self, logs_in: bool) -> Result<RoleDefinition> {
        let name = self.one_role()?;
        self.word("WITH");
        let mut options = self.role_options(true)?;
        options.login = options.login.or(Some(logs_in));
        Ok(RoleDefinition::Create { name, options })
    }

    fn alter_role(&mut self, of_group: bool) -> Result<RoleDefinition> {
        let name = self.one_role()?;
        if self.word("RENAME") {
            self.expect("TO")?;
            let RoleName::Named(name) = name else {
                return Err(self.syntax_error());
            };
            let new_name = self.name()?;
            return Ok(RoleDefinition::Rename { name, new_name });
        }
        if of_group {
            let revokes = !self.word("ADD");
            if revokes {
                self.expect("DROP")?;
            }
            self.expect("USER")?;
            return Ok(RoleDefinition::Members(Memberships {
                roles: vec![name],
                members: self.roles()?,
                revokes,
                admin: false,
                tag: "ALTER ROLE",
            }));
        }
        self.word("WITH");
        let options = self.role_options(false)?;
        Ok(RoleDefinition::Alter { name, options })
    }

    fn drop_roles(&mut self) -> Result<RoleDefinition> {
        let if_exists = self.if_exists()?;
        let names = self.roles()?;
        Ok(RoleDefinition::Drop { names, if_exists })
    }

    fn comment_on_role(&mut self) -> Result<RoleDefinition> {
        let name = self.one_role()?;
        let comment = self.comment()?;
        Ok(RoleDefinition::Comment { name, comment })
    }

    /// One role. Errors: 42601 for ALL.
    pub(super) fn one_role(&mut self) -> Result<RoleName> {
        match self.role_name()? {
            RoleName::All => Err(self.syntax_error()),
            role => Ok(role),
        }
    }

    /// One role or several, parted by commas.
    fn roles(&mut self) -> Result<Vec<RoleName>> {
        self.listed(TokenReader::one_role)
    }

    /// A string, or NULL.
    fn string_or_null(&mut self) -> Result<Option<String>> {
        match self.peek().and_then(string_of) {
            Some(text) => {
                self.at += 1;
                Ok(Some(text))
            }
            None => self.expect("NULL").map(|()| None),
        }
    }

    /// Options up to the end. `creates`: those of CREATE among them. Errors: 42601.
    fn role_options(&mut self, creates: bool) -> Result<RoleOptions> {
        let mut options = RoleOptions::default();
        while self.peek().is_some() {
            let begun = self.at;
            let is_again = !self.role_option(&mut options, creates)?;
            if is_again {
                return Err(Error::Syntax {
                    message: "conflicting or redundant options".to_string(),
                    position: self.position(begun),
                });
            }
        }
        Ok(options)
    }

    /// Takes the next option; whether nothing was said of it before.
    fn role_option(&mut self, options: &mut RoleOptions, creates: bool) -> Result<bool> {
        for (at, (yes, no)) in SWITCHES.into_iter().enumerate() {
            let said = match (self.word(yes), self.word(no)) {
                (false, false) => continue,
                (is_yes, _) => is_yes,
            };
            let switches = [
                &mut options.superuser,
                &mut options.create_db,
                &mut options.create_role,
                &mut options.inherit,
                &mut options.login,
                &mut options.replication,
                &mut options.bypass_rls,
            ];
            return Ok(switches
                .into_iter()
                .nth(at)
                .is_some_and(|switch| switch.replace(said).is_none()));
        }
        let encrypted = self.word("ENCRYPTED");
        if self.word("PASSWORD") {
            let password = self.string_or_null()?;
            return Ok(options.password.replace(password).is_none());
        }
        if encrypted {
            return Err(self.syntax_error());
        }
        if self.word("CONNECTION") {
            self.expect("LIMIT")?;
            let limit = self.signed_number()?.parse().map_err(|_| self.syntax_error())?;
            return Ok(options.connection_limit.replace(limit).is_none());
        }
        if self.word("VALID") {
            self.expect("UNTIL")?;
            let until = self
                .peek()
                .and_then(string_of)
                .ok_or_else(|| self.syntax_error())?;
            self.at += 1;
            return Ok(options.valid_until.replace(until).is_none());
        }
        if !creates {
            // ALTER USER … USER is the old name of what GRANT does.
            return Err(self.unknown_role_option());
        }
        if self.word("SYSID") {
            self.signed_number()?;
            return Ok(true);
        }
        let list = if self.word("IN") {
            if !self.word("ROLE") {
                self.expect("GROUP")?;
            }
            &mut options.in_roles
        } else if self.word("ROLE") || self.word("USER") {
            &mut options.members
        } else if self.word("ADMIN") {
            &mut options.admins
        } else {
            return Err(self.unknown_role_option());
        };
        let is_new = list.is_empty();
        list.extend(self.roles()?);
        Ok(is_new)
    }

    fn unknown_role_option(&self) -> Error {
        match self.peek() {
            Some(Token::Word(word)) if word.quote_style.is_none() => Error::Syntax {
                message: format!("unrecognized role option \"{}\"", word.value.to_lowercase()),
                position: self.position(self.at),
            },
            _ => self.syntax_error(),
        }
    }
}
