//! The fields of queries: SELECT and what stands around it, FROM, ORDER BY, windows.

use sqlparser::ast::{
    Distinct, GroupByExpr, JoinConstraint, JoinOperator, LimitClause, LockClause, NamedWindowDefinition,
    NamedWindowExpr, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier, TableAlias, TableFactor,
    TableWithJoins, WildcardAdditionalOptions, WindowFrame, WindowFrameBound, WindowSpec, With,
};

use super::{Flow, Probe, TreeCheck, Unread, fields, verdicts};
use crate::parse::search_cycle;

impl<P: Probe> TreeCheck<P> {
    pub(super) fn query(&mut self, query: &mut Query) -> Flow {
        fields!(
            self,
            query,
            Query {
                with: read,
                body: must,
                order_by: read,
                limit_clause: read,
                fetch: read,
                locks: read,
                for_clause: foreign("FOR"),
                settings: foreign("SETTINGS"),
                format_clause: foreign("FORMAT"),
                pipe_operators: foreign("|>"),
            }
        );
        with.iter_mut().try_for_each(|with| self.with(with))?;
        order_by.iter_mut().try_for_each(|order| self.order_by(order))?;
        limit_clause.iter_mut().try_for_each(|limit| self.limit(limit))?;
        locks.iter_mut().try_for_each(|lock| self.lock(lock))?;
        if let Some(fetch) = fetch {
            fields!(
                self,
                fetch,
                Fetch {
                    with_ties: read,
                    percent: foreign("PERCENT"),
                    quantity: read
                }
            );
        }
        self.set_expr(body)
    }

    fn lock(&mut self, lock: &mut LockClause) -> Flow {
        fields!(
            self,
            lock,
            LockClause {
                lock_type: must,
                of: read,
                nonblock: spelling
            }
        );
        Flow::Continue(())
    }

    fn with(&mut self, with: &mut With) -> Flow {
        fields!(
            self,
            with,
            With {
                with_token: spelling,
                recursive: read,
                cte_tables: must
            }
        );
        cte_tables.iter_mut().try_for_each(|cte| {
            // The FROM of a query of WITH is another dialect's, unless it stands for SEARCH and CYCLE.
            if cte.from.is_some() && !search_cycle::is_made(cte) {
                return Flow::Break(Unread::Foreign("FROM"));
            }
            fields!(
                self,
                cte,
                Cte {
                    alias: must,
                    query: must,
                    from: read,
                    materialized: read,
                    closing_paren_token: spelling,
                }
            );
            self.alias(alias)
        })
    }

    fn set_expr(&mut self, body: &mut SetExpr) -> Flow {
        match body {
            // Visited by themselves.
            SetExpr::Select(_) | SetExpr::Query(_) => Flow::Continue(()),
            SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } => {
                match op {
                    SetOperator::Union | SetOperator::Except | SetOperator::Intersect => {}
                    SetOperator::Minus => return Flow::Break(Unread::Foreign("MINUS")),
                }
                match set_quantifier {
                    SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None => {}
                    SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName => {
                        return Flow::Break(Unread::Foreign("BY NAME"));
                    }
                }
                verdicts!(self, "SetExpr::SetOperation", set_quantifier: read);
                self.set_expr(left)?;
                self.set_expr(right)
            }
            SetExpr::Values(values) => {
                fields!(
                    self,
                    values,
                    Values {
                        explicit_row: foreign("ROW"),
                        value_keyword: foreign("VALUE"),
                        rows: must
                    }
                );
                Flow::Continue(())
            }
            // A write is refused where no write may stand; a table is its name.
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Flow::Continue(())
            }
            SetExpr::Table(_) => Flow::Continue(()),
        }
    }

    fn limit(&mut self, limit: &mut LimitClause) -> Flow {
        match limit {
            LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            } => {
                verdicts!(self, "LimitClause::LimitOffset", limit: read, offset: read, limit_by: foreign("BY"));
                if let Some(offset) = offset {
                    fields!(
                        self,
                        offset,
                        Offset {
                            value: must,
                            rows: spelling
                        }
                    );
                }
                Flow::Continue(())
            }
            LimitClause::OffsetCommaLimit { offset, limit } => {
                verdicts!(self, "LimitClause::OffsetCommaLimit", offset: must, limit: must);
                Flow::Continue(())
            }
        }
    }

    pub(super) fn select(&mut self, select: &mut Select) -> Flow {
        fields!(
            self,
            select,
            Select {
                select_token: spelling,
                optimizer_hints: foreign("/*+"),
                distinct: read,
                select_modifiers: foreign("STRAIGHT_JOIN"),
                top: foreign("TOP"),
                top_before_distinct: spelling,
                projection: read,
                exclude: foreign("EXCLUDE"),
                into: read,
                from: read,
                lateral_views: foreign("LATERAL VIEW"),
                prewhere: foreign("PREWHERE"),
                selection: read,
                connect_by: foreign("CONNECT"),
                group_by: read,
                cluster_by: foreign("CLUSTER"),
                distribute_by: foreign("DISTRIBUTE"),
                sort_by: foreign("SORT"),
                having: read,
                named_window: read,
                qualify: foreign("QUALIFY"),
                window_before_qualify: spelling,
                value_table_mode: foreign("AS"),
                flavor: spelling,
            }
        );
        match distinct {
            None | Some(Distinct::All | Distinct::Distinct | Distinct::On(_)) => {}
        }
        if let Some(into) = into {
            fields!(
                self,
                into,
                SelectInto {
                    temporary: read,
                    unlogged: spelling,
                    table: spelling,
                    name: must
                }
            );
        }
        self.group_by(group_by)?;
        self.select_items(projection)?;
        from.iter_mut().try_for_each(|table| self.joins(table))?;
        named_window
            .iter_mut()
            .try_for_each(|NamedWindowDefinition(_, window)| match window {
                NamedWindowExpr::NamedWindow(_) => Flow::Break(Unread::Foreign("WINDOW")),
                NamedWindowExpr::WindowSpec(spec) => self.window(spec),
            })
    }

    fn group_by(&self, group_by: &GroupByExpr) -> Flow {
        match group_by {
            GroupByExpr::All(_) => Flow::Break(Unread::Foreign("GROUP BY ALL")),
            GroupByExpr::Expressions(_, modifiers) if modifiers.is_empty() => Flow::Continue(()),
            GroupByExpr::Expressions(..) => Flow::Break(Unread::Foreign("WITH")),
        }
    }

    /// The select list, or RETURNING's.
    pub(super) fn select_items(&mut self, items: &mut [SelectItem]) -> Flow {
        items.iter_mut().try_for_each(|item| match item {
            SelectItem::UnnamedExpr(_) => Flow::Continue(()),
            SelectItem::ExprWithAlias { expr, alias } => {
                verdicts!(self, "SelectItem::ExprWithAlias", expr: must, alias: name);
                Flow::Continue(())
            }
            SelectItem::ExprWithAliases { expr, aliases } => {
                verdicts!(self, "SelectItem::ExprWithAliases", expr: must, aliases: foreign("AS ("));
                Flow::Continue(())
            }
            SelectItem::QualifiedWildcard(of, options) => {
                match of {
                    // An expression is looked at on its own.
                    SelectItemQualifiedWildcardKind::ObjectName(_)
                    | SelectItemQualifiedWildcardKind::Expr(_) => {}
                }
                self.wildcard(options)
            }
            SelectItem::Wildcard(options) => self.wildcard(options),
        })
    }

    pub(super) fn wildcard(&mut self, options: &mut WildcardAdditionalOptions) -> Flow {
        fields!(
            self,
            options,
            WildcardAdditionalOptions {
                wildcard_token: spelling,
                opt_ilike: foreign("ILIKE"),
                opt_exclude: foreign("EXCLUDE"),
                opt_except: foreign("EXCEPT"),
                opt_replace: foreign("REPLACE"),
                opt_rename: foreign("RENAME"),
                opt_alias: foreign("AS"),
            }
        );
        Flow::Continue(())
    }

    /// One item of FROM with its joins; the items joined are visited by themselves.
    pub(super) fn joins(&mut self, table: &mut TableWithJoins) -> Flow {
        fields!(
            self,
            table,
            TableWithJoins {
                relation: must,
                joins: read
            }
        );
        joins.iter_mut().try_for_each(|join| {
            fields!(
                self,
                join,
                Join {
                    relation: must,
                    global: foreign("GLOBAL"),
                    join_operator: must
                }
            );
            self.join_operator(join_operator)
        })
    }

    fn join_operator(&self, operator: &JoinOperator) -> Flow {
        use JoinOperator as O;
        let words = match operator {
            O::Join(on)
            | O::Inner(on)
            | O::Left(on)
            | O::LeftOuter(on)
            | O::Right(on)
            | O::RightOuter(on)
            | O::FullOuter(on) => match on {
                JoinConstraint::On(_) | JoinConstraint::Using(_) | JoinConstraint::Natural => {
                    return Flow::Continue(());
                }
                // The binder knows where the condition is missing.
                JoinConstraint::None => return Flow::Continue(()),
            },
            O::CrossJoin(JoinConstraint::None) => return Flow::Continue(()),
            O::CrossJoin(JoinConstraint::On(_)) => "ON",
            O::CrossJoin(JoinConstraint::Using(_)) => "USING",
            O::CrossJoin(JoinConstraint::Natural) => "CROSS",
            O::Semi(_) | O::LeftSemi(_) | O::RightSemi(_) => "SEMI",
            O::Anti(_) | O::LeftAnti(_) | O::RightAnti(_) => "ANTI",
            O::CrossApply | O::OuterApply => "APPLY",
            O::AsOf {
                match_condition: _,
                constraint: _,
            } => "ASOF",
            O::StraightJoin(_) => "STRAIGHT_JOIN",
            O::ArrayJoin | O::LeftArrayJoin | O::InnerArrayJoin => "ARRAY",
        };
        Flow::Break(Unread::Foreign(words))
    }

    #[expect(clippy::too_many_lines, reason = "a verdict a field, one arm a variant")]
    pub(super) fn table_factor(&mut self, factor: &mut TableFactor) -> Flow {
        let (words, alias) = match factor {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                verdicts!(self, "TableFactor::Table",
                    name: must,
                    alias: read,
                    args: read,
                    with_hints: foreign("WITH"),
                    version: read,
                    with_ordinality: read,
                    partitions: foreign("PARTITION"),
                    json_path: foreign("["),
                    sample: read,
                    index_hints: foreign("INDEX"),
                );
                if let Some(args) = args {
                    fields!(
                        self,
                        args,
                        TableFunctionArgs {
                            args: must,
                            settings: foreign("SETTINGS")
                        }
                    );
                    args.iter_mut().try_for_each(|argument| self.argument(argument))?;
                }
                (None, alias)
            }
            TableFactor::Derived {
                lateral,
                subquery,
                alias,
                sample,
            } => {
                verdicts!(self, "TableFactor::Derived",
                    lateral: read,
                    subquery: must,
                    alias: read,
                    sample: foreign("TABLESAMPLE"),
                );
                (None, alias)
            }
            TableFactor::TableFunction { expr, alias } => {
                verdicts!(self, "TableFactor::TableFunction", expr: must);
                (Some("TABLE"), alias)
            }
            TableFactor::Function {
                lateral,
                name,
                args,
                with_ordinality,
                alias,
            } => {
                // A function in FROM is lateral without the word, too.
                verdicts!(self, "TableFactor::Function",
                    lateral: spelling,
                    name: must,
                    args: read,
                    with_ordinality: read,
                    alias: read,
                );
                args.iter_mut().try_for_each(|argument| self.argument(argument))?;
                (None, alias)
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset,
                with_offset_alias,
                with_ordinality,
            } => {
                verdicts!(self, "TableFactor::UNNEST",
                    alias: read,
                    array_exprs: must,
                    with_offset: foreign("OFFSET"),
                    with_offset_alias: foreign("OFFSET"),
                    with_ordinality: read,
                );
                (None, alias)
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                verdicts!(self, "TableFactor::NestedJoin", alias: read);
                self.joins(table_with_joins)?;
                (None, alias)
            }
            // Not of PostgreSQL 15; the binder refuses the whole.
            TableFactor::JsonTable {
                json_expr: _,
                json_path: _,
                columns: _,
                alias,
            } => (Some("JSON_TABLE"), alias),
            TableFactor::OpenJsonTable {
                json_expr: _,
                json_path: _,
                columns: _,
                alias,
            } => (Some("OPENJSON"), alias),
            TableFactor::Pivot {
                table: _,
                aggregate_functions: _,
                value_column: _,
                value_source: _,
                default_on_null: _,
                alias,
            } => (Some("PIVOT"), alias),
            TableFactor::Unpivot {
                table: _,
                value: _,
                name: _,
                columns: _,
                null_inclusion: _,
                alias,
            } => (Some("UNPIVOT"), alias),
            TableFactor::MatchRecognize {
                table: _,
                partition_by: _,
                order_by: _,
                measures: _,
                rows_per_match: _,
                after_match_skip: _,
                pattern: _,
                symbols: _,
                alias,
            } => (Some("MATCH_RECOGNIZE"), alias),
            TableFactor::XmlTable {
                namespaces: _,
                row_expression: _,
                passing: _,
                columns: _,
                alias: _,
            } => {
                return Flow::Break(Unread::Lacking(
                    "XMLTABLE",
                    "There is no type xml: use jsonb and its functions.",
                ));
            }
            TableFactor::SemanticView {
                name: _,
                dimensions: _,
                metrics: _,
                facts: _,
                where_clause: _,
                alias,
            } => (Some("SEMANTIC_VIEW"), alias),
        };
        match words {
            Some(words) => Flow::Break(Unread::Foreign(words)),
            None => alias.iter_mut().try_for_each(|alias| self.alias(alias)),
        }
    }

    fn alias(&mut self, alias: &mut TableAlias) -> Flow {
        fields!(
            self,
            alias,
            TableAlias {
                explicit: spelling,
                name: name,
                columns: read,
                at: foreign("AT")
            }
        );
        columns.iter_mut().try_for_each(|column| {
            fields!(
                self,
                column,
                TableAliasColumnDef {
                    name: must,
                    data_type: read,
                }
            );
            Flow::Continue(())
        })
    }

    fn order_by(&mut self, order_by: &mut OrderBy) -> Flow {
        fields!(
            self,
            order_by,
            OrderBy {
                kind: must,
                interpolate: foreign("INTERPOLATE")
            }
        );
        match kind {
            OrderByKind::All(_) => Flow::Break(Unread::Foreign("ORDER BY ALL")),
            OrderByKind::Expressions(items) => self.order_items(items),
        }
    }

    pub(super) fn order_items(&mut self, items: &mut [OrderByExpr]) -> Flow {
        items.iter_mut().try_for_each(|item| self.order_item(item))
    }

    pub(super) fn order_item(&mut self, item: &mut OrderByExpr) -> Flow {
        fields!(
            self,
            item,
            OrderByExpr {
                expr: must,
                options: must,
                with_fill: foreign("WITH FILL")
            }
        );
        let options: &mut OrderByOptions = options;
        fields!(
            self,
            options,
            OrderByOptions {
                asc: read,
                nulls_first: read
            }
        );
        Flow::Continue(())
    }

    pub(super) fn window(&mut self, window: &mut WindowSpec) -> Flow {
        fields!(
            self,
            window,
            WindowSpec {
                window_name: read,
                partition_by: read,
                order_by: read,
                window_frame: read,
            }
        );
        self.order_items(order_by)?;
        if let Some(frame) = window_frame {
            let frame: &mut WindowFrame = frame;
            fields!(
                self,
                frame,
                WindowFrame {
                    units: must,
                    start_bound: must,
                    end_bound: read
                }
            );
            for bound in std::iter::once(start_bound).chain(end_bound) {
                match bound {
                    WindowFrameBound::CurrentRow => {}
                    WindowFrameBound::Preceding(rows) | WindowFrameBound::Following(rows) => {
                        verdicts!(self, "WindowFrameBound", rows: read);
                    }
                }
            }
        }
        Flow::Continue(())
    }
}
