//! `RoleName`: how statements name roles.

/// How a statement names a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleName {
    /// ALL.
    All,
    /// CURRENT_USER, CURRENT_ROLE, SESSION_USER.
    Current,
    /// By its name.
    Named(String),
}
