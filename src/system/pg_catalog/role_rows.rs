//! Roles: the owner of everything, those that were made, the session's user, whatever he is called, and PostgreSQL's predefined ones; their
//! rows in `pg_catalog`.

use super::object_class::AUTHID_CLASS;
use super::relation_rows::{Constants, RelationRows, Source, array_text, boolean, text};
use crate::catalog::{Catalog, RoleDef, SettingsOwner};
use crate::system::StatementContext;
use crate::system::catalog_version::cells::Cell;
use crate::system::catalog_version::objects::{OWNER_NAME, OWNER_OID};

/// The oid of a session's user that nobody made: no object has it.
const SESSION_USER_OID: i64 = 16383;

/// The role that PostgreSQL gives the schema public.
pub(crate) const DATABASE_OWNER_OID: i64 = 6171;

/// PostgreSQL's predefined roles, for tools that look for them: nobody can be one.
const PREDEFINED_ROLES: [(i64, &str); 12] = [
    (DATABASE_OWNER_OID, "pg_database_owner"),
    (6181, "pg_read_all_data"),
    (6182, "pg_write_all_data"),
    (3373, "pg_monitor"),
    (3374, "pg_read_all_settings"),
    (3375, "pg_read_all_stats"),
    (3377, "pg_stat_scan_tables"),
    (4569, "pg_read_server_files"),
    (4570, "pg_write_server_files"),
    (4571, "pg_execute_server_program"),
    (4200, "pg_signal_backend"),
    (4544, "pg_checkpoint"),
];

/// The roles that are somebody: the owner of everything, those that were made, and the session's users, who may do everything too.
pub(crate) fn role_names(ctx: &StatementContext) -> Vec<(i64, String)> {
    let mut roles = vec![(OWNER_OID, OWNER_NAME.to_string())];
    let made = ctx.catalog.roles.values();
    roles.extend(made.map(|role| (i64::from(role.oid), role.name.clone())));
    if user_oid(&ctx.catalog, &ctx.session_user) == SESSION_USER_OID {
        roles.push((SESSION_USER_OID, ctx.session_user.to_string()));
    }
    roles
}

/// Every role that has a name: those that are somebody, and the predefined ones.
pub(crate) fn all_role_names(ctx: &StatementContext) -> impl Iterator<Item = (i64, String)> {
    let predefined = PREDEFINED_ROLES.iter();
    role_names(ctx)
        .into_iter()
        .chain(predefined.map(|(oid, name)| (*oid, name.to_string())))
}

/// Whether there is a role of this name that somebody can be.
pub(crate) fn is_role(ctx: &StatementContext, name: &str) -> bool {
    role_names(ctx).iter().any(|(_, role)| role == name)
}

/// The oid of a role, of the predefined ones, too.
pub(crate) fn role_oid(ctx: &StatementContext, name: &str) -> Option<u32> {
    let mut roles = all_role_names(ctx);
    let (oid, _) = roles.find(|(_, role)| role == name)?;
    u32::try_from(oid).ok()
}

/// The oid that a session's user has.
pub(crate) fn user_oid(catalog: &Catalog, name: &str) -> i64 {
    match catalog.roles.get(name) {
        Some(role) => i64::from(role.oid),
        None if name == OWNER_NAME => OWNER_OID,
        None => SESSION_USER_OID,
    }
}

pub(crate) const ROLE: Constants = &[];

pub(crate) const ROLE_WITH_PASSWORD: Constants = &[("rolpassword", "********")];

pub(crate) fn authid(source: &Source<'_>, rows: &mut RelationRows) {
    push_roles(source, rows, true);
}

pub(crate) fn roles(source: &Source<'_>, rows: &mut RelationRows) {
    push_roles(source, rows, false);
}

fn push_roles(source: &Source<'_>, rows: &mut RelationRows, with_passwords: bool) {
    for (oid, name) in all_role_names(source.ctx) {
        let made = source.ctx.catalog.roles.get(&name);
        // Who was not made may do everything; who is predefined is nobody.
        let may_all = !PREDEFINED_ROLES.iter().any(|(predefined, _)| *predefined == oid);
        let is = |said: fn(&RoleDef) -> bool| boolean(made.map_or(may_all, |role| said(role)));
        let mut row = vec![
            ("oid", text(oid)),
            ("rolname", text(&name)),
            ("rolsuper", is(|role| role.superuser)),
            ("rolinherit", boolean(made.is_none_or(|role| role.inherit))),
            ("rolcreaterole", is(|role| role.create_role)),
            ("rolcreatedb", is(|role| role.create_db)),
            ("rolcanlogin", is(|role| role.login)),
            ("rolreplication", is(|role| role.replication)),
            ("rolbypassrls", is(|role| role.bypass_rls)),
            (
                "rolconnlimit",
                text(made.map_or(-1, |role| role.connection_limit)),
            ),
            ("rolvaliduntil", valid_until(made.map(AsRef::as_ref))),
        ];
        row.push(match with_passwords {
            true => ("rolpassword", made.and_then(|role| role.password.clone())),
            false => ("rolconfig", own_settings(source, &name)),
        });
        rows.push(&row);
    }
}

/// What ALTER ROLE … SET left for all databases.
fn own_settings(source: &Source<'_>, role: &str) -> Cell {
    let owner = SettingsOwner::Role(role.to_string());
    let altered = source.ctx.catalog.altered.get(&owner)?;
    Some(array_text(&altered.texts()))
}

fn valid_until(role: Option<&RoleDef>) -> Option<String> {
    role?.valid_until.map(|until| until.to_string())
}

pub(crate) const USER: Constants = &[("passwd", "********")];

/// The roles that may log in.
pub(crate) fn users(source: &Source<'_>, rows: &mut RelationRows) {
    for (oid, name) in role_names(source.ctx) {
        let made = source.ctx.catalog.roles.get(&name);
        if made.is_some_and(|role| !role.login) {
            continue;
        }
        let is = |said: fn(&RoleDef) -> bool| boolean(made.is_none_or(|role| said(role)));
        rows.push(&[
            ("usesysid", text(oid)),
            ("usename", text(&name)),
            ("usecreatedb", is(|role| role.create_db)),
            ("usesuper", is(|role| role.superuser)),
            ("userepl", is(|role| role.replication)),
            ("usebypassrls", is(|role| role.bypass_rls)),
            ("useconfig", own_settings(source, &name)),
            ("valuntil", valid_until(made.map(AsRef::as_ref))),
        ]);
    }
}

/// The roles that may not, with those that are members of them.
pub(crate) fn groups(source: &Source<'_>, rows: &mut RelationRows) {
    let roles = &source.ctx.catalog.roles;
    for group in roles.values().filter(|role| !role.login) {
        let members = roles.values();
        let members = members.filter(|member| member.member_of.iter().any(|(of, _)| *of == group.oid));
        let members: Vec<String> = members.map(|member| member.oid.to_string()).collect();
        rows.push(&[
            ("groname", text(&group.name)),
            ("grosysid", text(group.oid)),
            ("grolist", text(format!("{{{}}}", members.join(",")))),
        ]);
    }
}

/// Who is a member of which role.
pub(crate) fn memberships(source: &Source<'_>, rows: &mut RelationRows) {
    for member in source.ctx.catalog.roles.values() {
        for (of, admin) in &member.member_of {
            rows.push(&[
                ("roleid", text(of)),
                ("member", text(member.oid)),
                ("grantor", text(OWNER_OID)),
                ("admin_option", boolean(*admin)),
            ]);
        }
    }
}

/// Comments on roles.
pub(super) fn descriptions(source: &Source<'_>, rows: &mut RelationRows) {
    for role in source.ctx.catalog.roles.values() {
        if let Some(comment) = &role.comment {
            rows.push(&[
                ("objoid", text(role.oid)),
                ("classoid", text(AUTHID_CLASS)),
                ("description", text(comment)),
            ]);
        }
    }
}
