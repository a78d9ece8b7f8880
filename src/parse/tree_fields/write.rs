//! The fields of INSERT, UPSERT, UPDATE, DELETE and MERGE.

use sqlparser::ast::{
    Assignment, AssignmentTarget, ConflictTarget, DoUpdate, FromTable, Merge, MergeAction, MergeInsertKind,
    OnConflict, OnConflictAction, OnInsert, OutputClause, Statement, TableObject, UpdateTableFromKind,
};

use super::{Flow, Probe, TreeCheck, Unread, fields};

impl<P: Probe> TreeCheck<P> {
    pub(super) fn write_statement(&mut self, statement: &mut Statement) -> Flow {
        match statement {
            Statement::Insert(insert) => {
                fields!(
                    self,
                    insert,
                    Insert {
                        insert_token: spelling,
                        optimizer_hints: foreign("/*+"),
                        or: foreign("OR"),
                        ignore: foreign("IGNORE"),
                        into: spelling,
                        table: must,
                        table_alias: read,
                        columns: read,
                        overwrite: foreign("OVERWRITE"),
                        source: read,
                        assignments: foreign("SET"),
                        partitioned: foreign("PARTITION"),
                        after_columns: foreign("("),
                        has_table_keyword: foreign("TABLE"),
                        on: read,
                        returning: read,
                        output: foreign("OUTPUT"),
                        replace_into: read,
                        priority: foreign("PRIORITY"),
                        insert_alias: foreign("AS"),
                        settings: foreign("SETTINGS"),
                        format_clause: foreign("FORMAT"),
                        multi_table_insert_type: foreign("ALL"),
                        multi_table_into_clauses: foreign("INTO"),
                        multi_table_when_clauses: foreign("WHEN"),
                        multi_table_else_clause: foreign("ELSE"),
                    }
                );
                match table {
                    TableObject::TableName(_) => {}
                    TableObject::TableFunction(_) => return Flow::Break(Unread::Foreign("FUNCTION")),
                    TableObject::TableQuery(_) => return Flow::Break(Unread::Foreign("(")),
                }
                if let Some(alias) = table_alias {
                    fields!(
                        self,
                        alias,
                        TableAliasWithoutColumns {
                            explicit: spelling,
                            alias: must
                        }
                    );
                }
                on.iter_mut().try_for_each(|on| self.on_insert(on))?;
                returning
                    .iter_mut()
                    .try_for_each(|items| self.select_items(items))
            }
            Statement::Update(update) => {
                fields!(
                    self,
                    update,
                    Update {
                        update_token: spelling,
                        optimizer_hints: foreign("/*+"),
                        table: must,
                        assignments: must,
                        from: read,
                        selection: read,
                        returning: read,
                        output: foreign("OUTPUT"),
                        or: foreign("OR"),
                        order_by: foreign("ORDER BY"),
                        limit: foreign("LIMIT"),
                    }
                );
                self.joins(table)?;
                match from {
                    Some(UpdateTableFromKind::AfterSet(tables)) => {
                        tables.iter_mut().try_for_each(|table| self.joins(table))?;
                    }
                    Some(UpdateTableFromKind::BeforeSet(_)) => return Flow::Break(Unread::Foreign("FROM")),
                    None => {}
                }
                self.assignments(assignments)?;
                returning
                    .iter_mut()
                    .try_for_each(|items| self.select_items(items))
            }
            Statement::Delete(delete) => {
                fields!(
                    self,
                    delete,
                    Delete {
                        delete_token: spelling,
                        optimizer_hints: foreign("/*+"),
                        tables: foreign("DELETE"),
                        from: must,
                        using: read,
                        selection: read,
                        returning: read,
                        output: foreign("OUTPUT"),
                        order_by: foreign("ORDER BY"),
                        limit: foreign("LIMIT"),
                    }
                );
                match from {
                    FromTable::WithFromKeyword(tables) => {
                        tables.iter_mut().try_for_each(|table| self.joins(table))?;
                    }
                    FromTable::WithoutKeyword(_) => return Flow::Break(Unread::Foreign("DELETE")),
                }
                let used = using.iter_mut().flatten();
                used.into_iter().try_for_each(|table| self.joins(table))?;
                returning
                    .iter_mut()
                    .try_for_each(|items| self.select_items(items))
            }
            _ => Flow::Continue(()),
        }
    }

    pub(super) fn merge(&mut self, merge: &mut Merge) -> Flow {
        fields!(
            self,
            merge,
            Merge {
                merge_token: spelling,
                optimizer_hints: foreign("/*+"),
                into: must,
                table: must,
                source: must,
                on: must,
                clauses: must,
                output: read,
            }
        );
        if !*into {
            return Flow::Break(Unread::Foreign("MERGE"));
        }
        for clause in clauses.iter_mut() {
            fields!(
                self,
                clause,
                MergeClause {
                    when_token: spelling,
                    clause_kind: must,
                    predicate: read,
                    action: must
                }
            );
            self.merge_action(action)?;
        }
        match output {
            Some(OutputClause::Output {
                output_token: _,
                select_items: _,
                into_table: _,
            }) => Flow::Break(Unread::Foreign("OUTPUT")),
            Some(OutputClause::Returning {
                returning_token: _,
                select_items,
            }) => self.select_items(select_items),
            None => Flow::Continue(()),
        }
    }

    fn merge_action(&mut self, action: &mut MergeAction) -> Flow {
        match action {
            MergeAction::Delete { delete_token: _ } => Flow::Continue(()),
            MergeAction::Update(update) => {
                fields!(
                    self,
                    update,
                    MergeUpdateExpr {
                        update_token: spelling,
                        assignments: must,
                        update_predicate: foreign("WHERE"),
                        delete_predicate: foreign("DELETE WHERE"),
                    }
                );
                self.assignments(assignments)
            }
            MergeAction::Insert(insert) => {
                fields!(
                    self,
                    insert,
                    MergeInsertExpr {
                        insert_token: spelling,
                        columns: read,
                        kind_token: spelling,
                        kind: must,
                        insert_predicate: foreign("WHERE"),
                    }
                );
                match kind {
                    MergeInsertKind::Values(values) if values.rows.len() == 1 => Flow::Continue(()),
                    MergeInsertKind::Values(_) => Flow::Break(Unread::Foreign(",")),
                    MergeInsertKind::Row => Flow::Break(Unread::Foreign("ROW")),
                }
            }
        }
    }

    fn on_insert(&mut self, on: &mut OnInsert) -> Flow {
        let conflict: &mut OnConflict = match on {
            OnInsert::OnConflict(conflict) => conflict,
            OnInsert::DuplicateKeyUpdate(_) => return Flow::Break(Unread::Foreign("DUPLICATE")),
            _ => return Flow::Break(Unread::Foreign("ON")),
        };
        fields!(
            self,
            conflict,
            OnConflict {
                conflict_target: read,
                action: must
            }
        );
        match conflict_target {
            None | Some(ConflictTarget::Columns(_) | ConflictTarget::OnConstraint(_)) => {}
        }
        match action {
            OnConflictAction::DoNothing => Flow::Continue(()),
            OnConflictAction::DoUpdate(update) => {
                let update: &mut DoUpdate = update;
                fields!(
                    self,
                    update,
                    DoUpdate {
                        assignments: must,
                        selection: read
                    }
                );
                self.assignments(assignments)
            }
        }
    }

    fn assignments(&mut self, assignments: &mut [Assignment]) -> Flow {
        assignments.iter_mut().try_for_each(|assignment| {
            fields!(
                self,
                assignment,
                Assignment {
                    target: must,
                    value: must
                }
            );
            match target {
                AssignmentTarget::ColumnName(_) | AssignmentTarget::Tuple(_) => Flow::Continue(()),
            }
        })
    }
}
