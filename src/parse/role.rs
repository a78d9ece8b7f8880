//! `RoleDefinition`: CREATE, ALTER, DROP and COMMENT ON ROLE, and GRANT and REVOKE of roles. `role_reader` reads them, `sql::ddl::role`
//! runs them; ALTER ROLE … SET and RESET are settings'.

use super::role_name::RoleName;

/// A change of the roles there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleDefinition {
    /// CREATE ROLE, CREATE USER (which may log in), CREATE GROUP.
    Create { name: RoleName, options: RoleOptions },
    /// ALTER ROLE, ALTER USER.
    Alter { name: RoleName, options: RoleOptions },
    /// ALTER ROLE … RENAME TO.
    Rename { name: String, new_name: String },
    /// DROP ROLE.
    Drop { names: Vec<RoleName>, if_exists: bool },
    /// GRANT and REVOKE of roles, ALTER GROUP … ADD and DROP USER.
    Members(Memberships),
    /// COMMENT ON ROLE; an empty comment is none.
    Comment { name: RoleName, comment: Option<String> },
    /// REASSIGN OWNED, DROP OWNED: roles own nothing. `tag`: which it is.
    Owned { roles: Vec<RoleName>, tag: &'static str },
}

/// Who becomes, or is no longer, a member of which roles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memberships {
    /// The roles that have members.
    pub roles: Vec<RoleName>,
    /// The members.
    pub members: Vec<RoleName>,
    /// They are taken out.
    pub revokes: bool,
    /// WITH ADMIN OPTION, or only that.
    pub admin: bool,
    /// How it was written.
    pub tag: &'static str,
}

/// What is said of a role; `None`: nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleOptions {
    pub superuser: Option<bool>,
    pub create_db: Option<bool>,
    pub create_role: Option<bool>,
    pub inherit: Option<bool>,
    pub login: Option<bool>,
    pub replication: Option<bool>,
    pub bypass_rls: Option<bool>,
    pub connection_limit: Option<i32>,
    /// VALID UNTIL.
    pub valid_until: Option<String>,
    /// PASSWORD; within: NULL is none.
    pub password: Option<Option<String>>,
    /// IN ROLE: what it becomes a member of.
    pub in_roles: Vec<RoleName>,
    /// ROLE: who becomes a member of it.
    pub members: Vec<RoleName>,
    /// ADMIN: the same, and may let others in.
    pub admins: Vec<RoleName>,
}

impl RoleDefinition {
    /// Its command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            RoleDefinition::Create { .. } => "CREATE ROLE",
            RoleDefinition::Alter { .. } | RoleDefinition::Rename { .. } => "ALTER ROLE",
            RoleDefinition::Drop { .. } => "DROP ROLE",
            RoleDefinition::Members(memberships) => memberships.tag,
            RoleDefinition::Comment { .. } => "COMMENT",
            RoleDefinition::Owned { tag, .. } => tag,
        }
    }
}
