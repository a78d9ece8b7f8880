//! The fields of definitions: CREATE, ALTER, DROP, TRUNCATE and COMMENT, and of EXPLAIN.
//!
//! A whole statement, operation or option that nobody here reads is refused by who is given it, so that only those that somebody
//! does read are taken apart.

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, CheckConstraint, ColumnDef, ColumnOption,
    ConstraintCharacteristics, ConstraintUsingIndex, CreateIndex, CreateTable, CreateView,
    ForeignKeyConstraint, IndexColumn, ObjectType, PrimaryKeyConstraint, Statement, TableConstraint,
    UniqueConstraint,
};

use super::{Flow, Probe, TreeCheck, Unread, fields, verdicts};

impl<P: Probe> TreeCheck<P> {
    #[expect(clippy::too_many_lines, reason = "a verdict a field, one arm a variant")]
    pub(super) fn definition(&mut self, statement: &mut Statement) -> Flow {
        match statement {
            Statement::CreateTable(create) => self.create_table(create),
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::CreateView(create) => self.create_view(create),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::CreateSchema {
                schema_name,
                if_not_exists,
                with,
                options,
                default_collate_spec,
                clone,
            } => {
                verdicts!(self, "Statement::CreateSchema",
                    schema_name: must,
                    if_not_exists: read,
                    with: foreign("WITH"),
                    options: foreign("OPTIONS"),
                    default_collate_spec: foreign("DEFAULT"),
                    clone: foreign("CLONE"),
                );
                Flow::Continue(())
            }
            Statement::Drop {
                object_type,
                if_exists,
                names,
                cascade,
                restrict,
                purge,
                temporary,
                table,
            } => {
                // RESTRICT is what is done without a word.
                verdicts!(self, "Statement::Drop",
                    object_type: must,
                    if_exists: read,
                    names: must,
                    cascade: read,
                    restrict: spelling,
                    purge: foreign("PURGE"),
                    temporary: foreign("TEMPORARY"),
                    table: read,
                );
                match table.is_some() && *object_type != ObjectType::Index {
                    true => Flow::Break(Unread::Foreign("ON")),
                    false => Flow::Continue(()),
                }
            }
            Statement::Truncate(truncate) => {
                // Nothing refers to a table, so that CASCADE has nobody to take along.
                fields!(
                    self,
                    truncate,
                    Truncate {
                        table_names: must,
                        partitions: foreign("PARTITION"),
                        table: spelling,
                        if_exists: foreign("IF"),
                        identity: read,
                        cascade: spelling,
                        on_cluster: foreign("ON"),
                    }
                );
                table_names.iter_mut().try_for_each(|target| {
                    // There is no table that inherits another's rows: ONLY and `*` say the same.
                    fields!(
                        self,
                        target,
                        TruncateTableTarget {
                            name: must,
                            only: spelling,
                            has_asterisk: spelling
                        }
                    );
                    Flow::Continue(())
                })
            }
            Statement::Comment {
                object_type,
                object_name,
                comment,
                if_exists,
            } => {
                verdicts!(self, "Statement::Comment",
                    object_type: must,
                    object_name: must,
                    comment: read,
                    if_exists: foreign("IF"),
                );
                Flow::Continue(())
            }
            Statement::Explain {
                describe_alias,
                analyze,
                verbose,
                query_plan,
                estimate,
                statement,
                format,
                options,
            } => {
                verdicts!(self, "Statement::Explain",
                    describe_alias: spelling,
                    analyze: read,
                    verbose: read,
                    query_plan: foreign("QUERY"),
                    estimate: foreign("ESTIMATE"),
                    statement: must,
                    format: foreign("FORMAT"),
                    options: read,
                );
                Flow::Continue(())
            }
            _ => Flow::Continue(()),
        }
    }

    fn create_table(&mut self, create: &mut CreateTable) -> Flow {
        // GLOBAL and LOCAL stand before TEMPORARY alone, FOR VALUES behind PARTITION OF: with these they are refused.
        fields!(
            self,
            create,
            CreateTable {
                or_replace: foreign("TABLE"),
                temporary: read,
                external: foreign("EXTERNAL"),
                dynamic: foreign("DYNAMIC"),
                global: spelling,
                if_not_exists: read,
                transient: foreign("TRANSIENT"),
                volatile: foreign("VOLATILE"),
                iceberg: foreign("ICEBERG"),
                snapshot: foreign("SNAPSHOT"),
                name: must,
                columns: read,
                constraints: read,
                hive_distribution: foreign("PARTITIONED"),
                table_options: read,
                file_format: foreign("STORED"),
                location: foreign("LOCATION"),
                hive_formats: foreign("ROW"),
                query: read,
                without_rowid: foreign("WITHOUT ROWID"),
                like: foreign("LIKE"),
                clone: foreign("CLONE"),
                version: foreign("FOR"),
                comment: foreign("COMMENT"),
                on_commit: read,
                on_cluster: foreign("ON"),
                primary_key: foreign("PRIMARY"),
                order_by: foreign("ORDER BY"),
                partition_by: read,
                cluster_by: foreign("CLUSTER"),
                clustered_by: foreign("CLUSTERED"),
                inherits: read,
                partition_of: read,
                for_values: read,
                strict: foreign("STRICT"),
                copy_grants: foreign("COPY"),
                enable_schema_evolution: foreign("ENABLE_SCHEMA_EVOLUTION"),
                change_tracking: foreign("CHANGE_TRACKING"),
                data_retention_time_in_days: foreign("DATA_RETENTION_TIME_IN_DAYS"),
                max_data_extension_time_in_days: foreign("MAX_DATA_EXTENSION_TIME_IN_DAYS"),
                default_ddl_collation: foreign("DEFAULT_DDL_COLLATION"),
                with_aggregation_policy: foreign("AGGREGATION"),
                with_row_access_policy: foreign("ROW"),
                with_storage_lifecycle_policy: foreign("STORAGE"),
                with_tags: foreign("TAG"),
                external_volume: foreign("EXTERNAL_VOLUME"),
                base_location: foreign("BASE_LOCATION"),
                catalog: foreign("CATALOG"),
                catalog_sync: foreign("CATALOG_SYNC"),
                storage_serialization_policy: foreign("STORAGE_SERIALIZATION_POLICY"),
                target_lag: foreign("TARGET_LAG"),
                warehouse: foreign("WAREHOUSE"),
                refresh_mode: foreign("REFRESH_MODE"),
                initialize: foreign("INITIALIZE"),
                require_user: foreign("REQUIRE"),
                diststyle: foreign("DISTSTYLE"),
                distkey: foreign("DISTKEY"),
                sortkey: foreign("SORTKEY"),
                backup: foreign("BACKUP"),
            }
        );
        columns.iter_mut().try_for_each(|column| self.column(column))?;
        constraints
            .iter_mut()
            .try_for_each(|constraint| self.constraint(constraint))
    }

    fn column(&mut self, column: &mut ColumnDef) -> Flow {
        fields!(
            self,
            column,
            ColumnDef {
                name: must,
                data_type: must,
                options: read
            }
        );
        options.iter_mut().try_for_each(|option| {
            fields!(
                self,
                option,
                ColumnOptionDef {
                    name: read,
                    option: must
                }
            );
            self.column_option(option)
        })
    }

    fn column_option(&mut self, option: &mut ColumnOption) -> Flow {
        match option {
            ColumnOption::PrimaryKey(key) => self.primary_key(key),
            ColumnOption::Unique(unique) => self.unique(unique),
            ColumnOption::Check(check) => self.check_constraint(check),
            ColumnOption::ForeignKey(key) => self.foreign_key(key),
            ColumnOption::Generated {
                generated_as,
                sequence_options,
                generation_expr,
                generation_expr_mode,
                generated_keyword,
            } => {
                verdicts!(self, "ColumnOption::Generated",
                    generated_as: must,
                    sequence_options: read,
                    generation_expr: read,
                    generation_expr_mode: read,
                    generated_keyword: spelling,
                );
                Flow::Continue(())
            }
            _ => Flow::Continue(()),
        }
    }

    fn constraint(&mut self, constraint: &mut TableConstraint) -> Flow {
        match constraint {
            TableConstraint::PrimaryKey(key) => self.primary_key(key),
            TableConstraint::Unique(unique) => self.unique(unique),
            TableConstraint::Check(check) => self.check_constraint(check),
            TableConstraint::PrimaryKeyUsingIndex(using) | TableConstraint::UniqueUsingIndex(using) => {
                let using: &mut ConstraintUsingIndex = using;
                fields!(
                    self,
                    using,
                    ConstraintUsingIndex {
                        name: read,
                        index_name: must,
                        characteristics: read
                    }
                );
                self.characteristics(characteristics)
            }
            TableConstraint::ForeignKey(key) => self.foreign_key(key),
            // Refused as a whole.
            TableConstraint::Index(_) | TableConstraint::FulltextOrSpatial(_) => Flow::Continue(()),
        }
    }

    fn primary_key(&mut self, key: &mut PrimaryKeyConstraint) -> Flow {
        fields!(
            self,
            key,
            PrimaryKeyConstraint {
                name: read,
                index_name: foreign("("),
                index_type: foreign("USING"),
                columns: must,
                index_options: read,
                characteristics: read,
            }
        );
        self.index_columns(columns)?;
        self.characteristics(characteristics)
    }

    fn unique(&mut self, unique: &mut UniqueConstraint) -> Flow {
        fields!(
            self,
            unique,
            UniqueConstraint {
                name: read,
                index_name: foreign("("),
                index_type_display: spelling,
                index_type: foreign("USING"),
                columns: must,
                index_options: read,
                characteristics: read,
                nulls_distinct: read,
            }
        );
        self.index_columns(columns)?;
        self.characteristics(characteristics)
    }

    fn foreign_key(&mut self, key: &mut ForeignKeyConstraint) -> Flow {
        fields!(
            self,
            key,
            ForeignKeyConstraint {
                name: read,
                index_name: foreign("("),
                columns: must,
                foreign_table: must,
                referred_columns: read,
                on_delete: read,
                on_update: read,
                match_kind: read,
                characteristics: read,
            }
        );
        self.characteristics(characteristics)
    }

    fn check_constraint(&mut self, check: &mut CheckConstraint) -> Flow {
        fields!(
            self,
            check,
            CheckConstraint {
                name: read,
                expr: must,
                // `constraint_words` has NO INHERIT here, and nothing else.
                enforced: read
            }
        );
        Flow::Continue(())
    }

    fn characteristics(&mut self, characteristics: &mut Option<ConstraintCharacteristics>) -> Flow {
        if let Some(characteristics) = characteristics {
            fields!(
                self,
                characteristics,
                ConstraintCharacteristics {
                    deferrable: read,
                    initially: read,
                    enforced: foreign("ENFORCED"),
                }
            );
        }
        Flow::Continue(())
    }

    fn index_columns(&mut self, columns: &mut [IndexColumn]) -> Flow {
        columns.iter_mut().try_for_each(|part| {
            fields!(
                self,
                part,
                IndexColumn {
                    column: must,
                    operator_class: read
                }
            );
            self.order_item(column)
        })
    }

    fn create_index(&mut self, create: &mut CreateIndex) -> Flow {
        fields!(
            self,
            create,
            CreateIndex {
                name: read,
                table_name: must,
                using: read,
                columns: must,
                unique: read,
                concurrently: read,
                if_not_exists: read,
                include: read,
                nulls_distinct: read,
                with: read,
                predicate: read,
                index_options: foreign("USING"),
                alter_options: foreign("ALGORITHM"),
            }
        );
        self.index_columns(columns)
    }

    fn create_view(&mut self, create: &mut CreateView) -> Flow {
        fields!(
            self,
            create,
            CreateView {
                or_alter: foreign("ALTER"),
                or_replace: read,
                materialized: read,
                secure: foreign("SECURE"),
                name: must,
                name_before_not_exists: foreign("IF"),
                columns: read,
                query: must,
                options: read,
                cluster_by: foreign("CLUSTER"),
                comment: foreign("COMMENT"),
                with_no_schema_binding: foreign("WITH NO SCHEMA"),
                if_not_exists: read,
                temporary: read,
                copy_grants: foreign("COPY"),
                to: foreign("TO"),
                params: foreign("ALGORITHM"),
            }
        );
        columns.iter_mut().try_for_each(|column| {
            fields!(
                self,
                column,
                ViewColumnDef {
                    name: must,
                    data_type: foreign("VIEW"),
                    options: foreign("VIEW"),
                }
            );
            Flow::Continue(())
        })
    }

    fn alter_table(&mut self, alter: &mut AlterTable) -> Flow {
        // The mark of SET SCHEMA is the cluster (`parse::alter`). No table inherits another's columns: ONLY says nothing.
        fields!(
            self,
            alter,
            AlterTable {
                name: must,
                if_exists: read,
                only: spelling,
                operations: must,
                location: foreign("LOCATION"),
                on_cluster: read,
                table_type: read,
                end_token: spelling,
            }
        );
        operations
            .iter_mut()
            .try_for_each(|operation| self.alter_operation(operation))
    }

    fn alter_operation(&mut self, operation: &mut AlterTableOperation) -> Flow {
        use AlterTableOperation as O;
        match operation {
            O::AddConstraint {
                constraint,
                not_valid,
            } => {
                verdicts!(self, "AlterTableOperation::AddConstraint", constraint: must, not_valid: read);
                self.constraint(constraint)
            }
            O::AddColumn {
                column_keyword,
                if_not_exists,
                column_def,
                column_position,
            } => {
                verdicts!(self, "AlterTableOperation::AddColumn",
                    column_keyword: spelling,
                    if_not_exists: read,
                    column_def: must,
                    column_position: foreign("FIRST"),
                );
                self.column(column_def)
            }
            O::DropConstraint {
                if_exists,
                name,
                drop_behavior,
            } => {
                // Nothing depends on a constraint.
                verdicts!(self, "AlterTableOperation::DropConstraint",
                    if_exists: read, name: must, drop_behavior: spelling,
                );
                Flow::Continue(())
            }
            O::DropColumn {
                has_column_keyword,
                column_names,
                if_exists,
                drop_behavior,
            } => {
                verdicts!(self, "AlterTableOperation::DropColumn",
                    has_column_keyword: spelling,
                    column_names: must,
                    if_exists: read,
                    drop_behavior: read,
                );
                Flow::Continue(())
            }
            O::DropPrimaryKey { drop_behavior } => {
                verdicts!(self, "AlterTableOperation::DropPrimaryKey", drop_behavior: foreign("CASCADE"));
                Flow::Continue(())
            }
            O::AlterColumn { column_name, op } => {
                verdicts!(self, "AlterTableOperation::AlterColumn", column_name: must);
                match op {
                    AlterColumnOperation::SetDataType {
                        data_type,
                        using,
                        had_set,
                    } => {
                        verdicts!(self, "AlterColumnOperation::SetDataType",
                            data_type: must, using: read, had_set: spelling,
                        );
                    }
                    AlterColumnOperation::AddGenerated {
                        generated_as,
                        sequence_options,
                    } => {
                        verdicts!(self, "AlterColumnOperation::AddGenerated",
                            generated_as: must, sequence_options: spelling,
                        );
                    }
                    AlterColumnOperation::SetNotNull
                    | AlterColumnOperation::DropNotNull
                    | AlterColumnOperation::SetDefault { value: _ }
                    | AlterColumnOperation::DropDefault => {}
                }
                Flow::Continue(())
            }
            _ => Flow::Continue(()),
        }
    }
}
