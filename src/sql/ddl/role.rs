//! Roles: CREATE, ALTER, DROP and COMMENT ON ROLE, who is a member of which, and those that other definitions name. They are records; what
//! a role may do is asked of nobody.

use std::sync::Arc;

use sqlparser::ast::{Ident, Owner};

use super::notice;
use crate::catalog::{CatalogWriter, FIRST_OID, RoleDef, SettingOverrides, SettingsOwner};
use crate::error::StatementFault;
use crate::parse::definition::RoleName;
use crate::parse::names;
use crate::parse::role::{Memberships, RoleDefinition, RoleOptions};
use crate::system::catalog_version::objects::OWNER_NAME;
use crate::system::pg_catalog::{is_role, role_oid};
use crate::system::{Notice, StatementContext, scram_verifier};
use crate::types::{FormatSettings, SqlType, Value};
use crate::{Error, Result};

/// What stands behind a NOTICE of something that is kept and asked of nobody.
const NO_PRIVILEGES: &str = "There are no privileges yet: every role that connects may do everything.";

/// OWNER TO. Errors: 42704 for a role that does not exist.
pub(super) fn check_owner(ctx: &StatementContext, owner: &Owner) -> Result<()> {
    match owner {
        Owner::CurrentRole | Owner::CurrentUser | Owner::SessionUser => Ok(()),
        Owner::Ident(name) => check(ctx, name),
    }
}

/// A role by its name. Errors: 42704.
pub(super) fn check(ctx: &StatementContext, name: &Ident) -> Result<()> {
    require(ctx, &names::fold(name))
}

/// The same of a name as it is. Errors: 42704.
pub(super) fn require(ctx: &StatementContext, name: &str) -> Result<()> {
    match is_role(ctx, name) {
        true => Ok(()),
        false => Err(undefined(name)),
    }
}

fn undefined(name: &str) -> Error {
    Error::UndefinedObject {
        kind: "role",
        name: name.to_string(),
    }
}

/// Runs one of them. Errors: 42704, 42710, 42939, 22023, 55006, 0LP01.
pub(super) async fn execute(ctx: &StatementContext, definition: &RoleDefinition) -> Result<()> {
    match definition {
        RoleDefinition::Create { name, options } => create(ctx, name, options).await,
        RoleDefinition::Alter { name, options } => alter(ctx, name, options),
        RoleDefinition::Rename { name, new_name } => rename(ctx, name, new_name),
        RoleDefinition::Drop { names, if_exists } => drop_roles(ctx, names, *if_exists),
        RoleDefinition::Members(memberships) => change_members(ctx, memberships),
        RoleDefinition::Comment { name, comment } => {
            let role = made(ctx, &named(ctx, name))?;
            put(
                ctx,
                RoleDef {
                    comment: comment.clone(),
                    ..RoleDef::clone(role)
                },
            )
        }
        RoleDefinition::Owned { roles, tag } => {
            for role in roles {
                require(ctx, &named(ctx, role))?;
            }
            ctx.notice(Notice {
                hint: Some(
                    "Everything belongs to one role: drop what is not wanted by its name.".to_string(),
                ),
                ..Notice::new("00000", format!("without effect here: {tag}"))
            });
            Ok(())
        }
    }
}

/// The name of a role that a statement names.
fn named(ctx: &StatementContext, name: &RoleName) -> String {
    match name {
        RoleName::Named(name) => name.clone(),
        RoleName::All | RoleName::Current => ctx.user.to_string(),
    }
}

/// A role that was made. Errors: 42704; 0A000 for one that is there by itself.
fn made<'c>(ctx: &'c StatementContext, name: &str) -> Result<&'c Arc<RoleDef>> {
    match ctx.catalog.roles.get(name) {
        Some(role) => Ok(role),
        None if is_role(ctx, name) => Err(Error::unsupported(
            format!("changing the role \"{name}\", which nobody made"),
            Some("CREATE ROLE makes one that can be changed."),
        )),
        None => Err(undefined(name)),
    }
}

fn put(ctx: &StatementContext, role: RoleDef) -> Result<()> {
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_role(&role)
}

async fn create(ctx: &StatementContext, name: &RoleName, options: &RoleOptions) -> Result<()> {
    let name = named(ctx, name);
    check_name(&name)?;
    // The session's own name is nobody's yet, if it is not the owner's.
    if ctx.catalog.roles.contains_key(&name) || name == OWNER_NAME {
        return Err(duplicate(name));
    }
    let mut role = RoleDef {
        oid: FIRST_OID + ctx.sequences.object_ids().take().await?,
        name,
        superuser: false,
        inherit: true,
        create_role: false,
        create_db: false,
        login: false,
        replication: false,
        bypass_rls: false,
        connection_limit: -1,
        valid_until: None,
        password: None,
        member_of: Vec::new(),
        comment: None,
    };
    change(ctx, &mut role, options)?;
    for of in &options.in_roles {
        let of = made(ctx, &named(ctx, of))?;
        role.member_of.push((of.oid, false));
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let with_members = options.members.iter().map(|member| (member, false));
    let with_members = with_members.chain(options.admins.iter().map(|member| (member, true)));
    for (member, admin) in with_members {
        let mut member = RoleDef::clone(made(ctx, &named(ctx, member))?);
        member.member_of.push((role.oid, admin));
        writer.put_role(&member)?;
    }
    writer.put_role(&role)
}

fn duplicate(name: String) -> Error {
    Error::InvalidStatement {
        state: StatementFault::DuplicateObject,
        message: format!("role \"{name}\" already exists"),
        hint: None,
    }
}

/// Errors: 42939 for a name that no role can have.
fn check_name(name: &str) -> Result<()> {
    match name.starts_with("pg_") || ["public", "none"].contains(&name) {
        true => Err(Error::InvalidStatement {
            state: StatementFault::ReservedName,
            message: format!("role name \"{name}\" is reserved"),
            hint: Some(
                "Role names starting with \"pg_\" are reserved, and so are public and none.".to_string(),
            ),
        }),
        false => Ok(()),
    }
}

/// Takes what options say. Errors: 22023, 22007.
fn change(ctx: &StatementContext, role: &mut RoleDef, options: &RoleOptions) -> Result<()> {
    let set = |to: &mut bool, said: Option<bool>| *to = said.unwrap_or(*to);
    set(&mut role.superuser, options.superuser);
    set(&mut role.inherit, options.inherit);
    set(&mut role.create_role, options.create_role);
    set(&mut role.create_db, options.create_db);
    set(&mut role.login, options.login);
    set(&mut role.replication, options.replication);
    set(&mut role.bypass_rls, options.bypass_rls);
    if let Some(limit) = options.connection_limit {
        require_limit(limit)?;
        role.connection_limit = limit;
    }
    if let Some(until) = &options.valid_until {
        role.valid_until = Some(timestamp_of(until, &ctx.format_settings())?);
    }
    match &options.password {
        None => {}
        Some(None) => role.password = None,
        Some(Some(password)) if password.is_empty() => {
            notice(
                ctx,
                "00000",
                "empty string is not a valid password, clearing password".to_string(),
                None,
            );
            role.password = None;
        }
        Some(Some(password)) => {
            role.password = Some(scram_verifier(password));
            if !ctx.settings.asks_for_passwords {
                let hint =
                    "Start the server with --set keyspan.authentication=scram-sha-256 to have it asked for.";
                let message = "the password is kept, and nobody is asked for it".to_string();
                notice(ctx, "00000", message, Some(hint.to_string()));
            }
        }
    }
    Ok(())
}

/// Errors: 22023 for what is no CONNECTION LIMIT.
pub(super) fn require_limit(sessions: i32) -> Result<()> {
    match sessions >= -1 {
        true => Ok(()),
        false => Err(Error::InvalidParameter {
            message: format!("invalid connection limit: {sessions}"),
            hint: Some("Give a number of sessions, or -1 for no limit.".to_string()),
        }),
    }
}

/// Errors: 22007.
fn timestamp_of(text: &str, settings: &FormatSettings) -> Result<i64> {
    match Value::parse(text, &SqlType::TimestampTz(None), settings)? {
        Value::TimestampTz(us) => Ok(us),
        other => Err(Error::internal(format!("{other:?} is no time"))),
    }
}

fn alter(ctx: &StatementContext, name: &RoleName, options: &RoleOptions) -> Result<()> {
    let name = named(ctx, name);
    if !ctx.catalog.roles.contains_key(&name) && is_role(ctx, &name) {
        // A dump of roles begins with the owner's; what it says of it is so.
        ctx.notice(Notice {
            hint: Some(NO_PRIVILEGES.to_string()),
            ..Notice::new("00000", format!("role \"{name}\" is as the server has it"))
        });
        return Ok(());
    }
    let mut role = RoleDef::clone(made(ctx, &name)?);
    change(ctx, &mut role, options)?;
    put(ctx, role)
}

fn rename(ctx: &StatementContext, name: &str, new_name: &str) -> Result<()> {
    let role = made(ctx, name)?;
    check_name(new_name)?;
    if is_role(ctx, new_name) {
        return Err(duplicate(new_name.to_string()));
    }
    if *ctx.session_user == *name {
        return Err(Error::unsupported("session user cannot be renamed", None));
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    writer.drop_role(role)?;
    move_settings(ctx, &writer, name, Some(new_name))?;
    writer.put_role(&RoleDef {
        name: new_name.to_string(),
        ..RoleDef::clone(role)
    })
}

/// The settings that a role's sessions begin with go to its new name, or go.
fn move_settings(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    name: &str,
    to: Option<&str>,
) -> Result<()> {
    for altered in ctx.catalog.altered.values() {
        let moved = match &altered.owner {
            SettingsOwner::Role(role) if role == name => to.map(|to| SettingsOwner::Role(to.to_string())),
            SettingsOwner::RoleInDatabase(role, database) if role == name => {
                to.map(|to| SettingsOwner::RoleInDatabase(to.to_string(), *database))
            }
            _ => continue,
        };
        writer.put_settings(&SettingOverrides {
            owner: altered.owner.clone(),
            values: Default::default(),
        })?;
        if let Some(owner) = moved {
            writer.put_settings(&SettingOverrides {
                owner,
                values: altered.values.clone(),
            })?;
        }
    }
    Ok(())
}

fn drop_roles(ctx: &StatementContext, names: &[RoleName], if_exists: bool) -> Result<()> {
    let mut dropped: Vec<&Arc<RoleDef>> = Vec::new();
    for name in names {
        if !matches!(name, RoleName::Named(_)) {
            return Err(Error::InvalidParameter {
                message: "cannot use special role specifier in DROP ROLE".to_string(),
                hint: Some("Write the role's name.".to_string()),
            });
        }
        let name = named(ctx, name);
        if !is_role(ctx, &name) && if_exists {
            notice(
                ctx,
                "00000",
                format!("role \"{name}\" does not exist, skipping"),
                None,
            );
            continue;
        }
        for (whose, user) in [("current", &ctx.user), ("session", &ctx.session_user)] {
            if **user == *name {
                return Err(Error::InvalidStatement {
                    state: StatementFault::ObjectInUse,
                    message: format!("{whose} user cannot be dropped"),
                    hint: None,
                });
            }
        }
        dropped.push(made(ctx, &name)?);
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let is_dropped = |oid: u32| dropped.iter().any(|role| role.oid == oid);
    for role in &dropped {
        writer.drop_role(role)?;
        move_settings(ctx, &writer, &role.name, None)?;
    }
    // Whoever was a member of it is one no more.
    let members =
        ctx.catalog.roles.values().filter(|member| {
            !is_dropped(member.oid) && member.member_of.iter().any(|(of, _)| is_dropped(*of))
        });
    for member in members {
        let mut member = RoleDef::clone(member);
        member.member_of.retain(|(of, _)| !is_dropped(*of));
        writer.put_role(&member)?;
    }
    Ok(())
}

/// GRANT and REVOKE of roles. Errors: 42704, 0LP01.
fn change_members(ctx: &StatementContext, change: &Memberships) -> Result<()> {
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    for member in &change.members {
        let name = named(ctx, member);
        require(ctx, &name)?;
        let roles = change.roles.iter().map(|of| {
            let of = named(ctx, of);
            let oid = role_oid(ctx, &of).ok_or_else(|| undefined(&of))?;
            Ok((oid, of))
        });
        let roles: Vec<(u32, String)> = roles.collect::<Result<_>>()?;
        let Some(known) = ctx.catalog.roles.get(&name) else {
            // One that is there by itself may do everything.
            let tell = |(_, of): &(u32, String)| match change.revokes {
                true => tell_no_member(ctx, &name, of),
                false => tell_member(ctx, &name, of),
            };
            roles.iter().for_each(tell);
            continue;
        };
        let mut member = RoleDef::clone(known);
        for (oid, of) in roles {
            match change.revokes {
                true => take_out(ctx, &mut member, (oid, &of), change.admin),
                false => put_in(ctx, &mut member, (oid, &of), change.admin)?,
            }
        }
        if member != **known {
            writer.put_role(&member)?;
        }
    }
    Ok(())
}

fn put_in(ctx: &StatementContext, member: &mut RoleDef, (oid, of): (u32, &str), admin: bool) -> Result<()> {
    if oid == member.oid || ctx.catalog.is_member_of(oid, member.oid) {
        return Err(Error::InvalidStatement {
            state: StatementFault::InvalidGrant,
            message: format!("role \"{of}\" is a member of role \"{}\"", member.name),
            hint: None,
        });
    }
    match member.member_of.iter_mut().find(|(known, _)| *known == oid) {
        Some((_, is_admin)) if *is_admin || !admin => tell_member(ctx, &member.name, of),
        Some((_, is_admin)) => *is_admin = true,
        None => member.member_of.push((oid, admin)),
    }
    Ok(())
}

fn tell_member(ctx: &StatementContext, member: &str, of: &str) {
    let message = format!("role \"{member}\" is already a member of role \"{of}\"");
    notice(ctx, "00000", message, None);
}

fn tell_no_member(ctx: &StatementContext, member: &str, of: &str) {
    let message = format!("role \"{member}\" is not a member of role \"{of}\"");
    ctx.notice(Notice::warning("01000", message));
}

fn take_out(ctx: &StatementContext, member: &mut RoleDef, (oid, of): (u32, &str), only_admin: bool) {
    let Some(at) = member.member_of.iter().position(|(known, _)| *known == oid) else {
        return tell_no_member(ctx, &member.name, of);
    };
    match only_admin {
        true => member.member_of[at].1 = false,
        false => {
            member.member_of.remove(at);
        }
    }
}
