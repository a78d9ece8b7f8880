//! `CatalogWriter`, where it changes what is no object of a schema: databases, roles, schemas, casts, extensions, and the settings that sessions begin
//! with.

use super::{
    CastDef, CastMethod, CatalogWriter, DatabaseDef, ExtensionDef, RoleDef, SchemaDef, SettingOverrides,
    SettingsOwner, cast, database, extension, record, role,
};
use crate::Result;
use crate::codec::keyspace::{CastKey, FIRST_DATABASE, Keyspace};
use crate::store::{LockMode, Write};

impl CatalogWriter<'_> {
    /// Writes a schema's record, new or changed.
    pub fn put_schema(&self, schema: &SchemaDef) -> Result<()> {
        let value = record::encode_schema(schema, self.stamp())?;
        self.write_record(
            Keyspace::Schema {
                schema: self.schema_key(&schema.name),
            },
            Some(value),
        )
    }

    /// Removes a schema's record; what it held must be gone.
    pub fn drop_schema(&self, schema: &SchemaDef) -> Result<()> {
        self.drop_record(
            Keyspace::Schema {
                schema: self.schema_key(&schema.name),
            },
            schema.oid,
        )
    }

    /// Writes the settings of an owner; none left removes the record. A role must stay as long as it is to have some.
    pub fn put_settings(&self, settings: &SettingOverrides) -> Result<()> {
        let of = settings.owner.key_text();
        if let SettingsOwner::Role(name) | SettingsOwner::RoleInDatabase(name, _) = &settings.owner
            && !settings.values.is_empty()
            && self.catalog().roles.contains_key(name)
        {
            self.txn().guard(&Keyspace::Role { name }.encode());
        }
        let value = match settings.values.is_empty() {
            true => None,
            false => Some(record::encode_settings(settings, self.shared_stamp())?),
        };
        self.write_record(Keyspace::Settings { of: &of }, value)
    }

    /// Writes a cast's record, new or changed.
    pub fn put_cast(&self, cast: &CastDef) -> Result<()> {
        for oid in cast.types_used() {
            self.rest_on_type(oid)?;
        }
        if let CastMethod::Function(oid) = cast.method {
            self.rest_on_object(oid)?;
        }
        let value = cast::encode(cast, self.stamp())?;
        self.write_record(self.cast_key(cast), Some(value))
    }

    /// Removes a cast's record.
    pub fn drop_cast(&self, cast: &CastDef) -> Result<()> {
        self.write_record(self.cast_key(cast), None)
    }

    fn cast_key(&self, cast: &CastDef) -> Keyspace<'static> {
        Keyspace::Cast(CastKey {
            database: self.txn().database(),
            source: cast.source.oid(),
            target: cast.target.oid(),
        })
    }

    /// Writes an extension's record.
    pub fn put_extension(&self, extension: &ExtensionDef) -> Result<()> {
        let value = extension::encode(extension, self.stamp())?;
        self.write_record(
            Keyspace::Extension {
                database: self.txn().database(),
                name: &extension.name,
            },
            Some(value),
        )
    }

    /// Removes an extension's record.
    pub fn drop_extension(&self, extension: &ExtensionDef) -> Result<()> {
        self.write_record(
            Keyspace::Extension {
                database: self.txn().database(),
                name: &extension.name,
            },
            None,
        )
    }

    /// Writes a database's record, new or changed.
    pub fn put_database(&self, database: &DatabaseDef) -> Result<()> {
        let value = database::encode(database, self.shared_stamp())?;
        self.write_record(Keyspace::Database { name: &database.name }, Some(value))
    }

    /// Removes a database's record: its name is free.
    pub fn forget_database(&self, database: &DatabaseDef) -> Result<()> {
        self.write_record(Keyspace::Database { name: &database.name }, None)
    }

    /// Removes a database's record, and leaves what is in it to be removed.
    pub fn drop_database(&self, database: &DatabaseDef) -> Result<()> {
        self.forget_database(database)?;
        let key = Keyspace::DroppedDatabase {
            database: database.oid,
        }
        .encode();
        let value = Vec::new();
        self.txn()
            .write(Write::Put { key, value }, Some(LockMode::Replace))
    }

    /// Writes a role's record, new or changed.
    pub fn put_role(&self, role: &RoleDef) -> Result<()> {
        let value = role::encode(role, self.shared_stamp())?;
        self.write_record(Keyspace::Role { name: &role.name }, Some(value))
    }

    /// Removes a role's record; its settings are the caller's, and nobody else may have given it some.
    pub fn drop_role(&self, role: &RoleDef) -> Result<()> {
        let others = self.catalog().databases.values().map(|database| database.oid);
        let databases = others.chain([FIRST_DATABASE]);
        let within = databases.map(|database| SettingsOwner::RoleInDatabase(role.name.clone(), database));
        for owner in within.chain([SettingsOwner::Role(role.name.clone())]) {
            let of = owner.key_text();
            self.txn().guard(&Keyspace::Settings { of: &of }.encode());
        }
        self.write_record(Keyspace::Role { name: &role.name }, None)
    }
}
