//! Indexes as PostgreSQL's catalogs have them: columns by their numbers, expressions as text.

use super::default_text::DefaultNames;
use super::user_column::{UserColumn, user_column};
use crate::catalog::{ColumnDef, Deferral, Exclusion, IndexDef, TableDef};
use crate::codec::row::ColumnId;
use crate::codec::terms::TermClass;
use crate::types::SqlType;

/// An index or the primary key.
#[derive(Debug)]
pub(crate) struct UserIndex {
    pub(crate) oid: i64,
    pub(crate) name: String,
    /// What is computed for a primary key, as `PRIMARY KEY (…)` writes it: before which of its columns, the expression, and its direction.
    pub(crate) computed: Vec<ComputedKey>,
    pub(crate) keys: Vec<UserKey>,
    /// Its entries are those of terms: it is no btree.
    pub(crate) is_inverted: bool,
    /// Attribute numbers of INCLUDE.
    pub(crate) included: Vec<usize>,
    /// WHERE, as `pg_get_expr` prints it, plain and pretty.
    pub(crate) predicate: Option<(String, String)>,
    pub(crate) unique: bool,
    /// NULLS NOT DISTINCT.
    pub(crate) nulls_not_distinct: bool,
    /// DEFERRABLE.
    pub(crate) deferral: Option<Deferral>,
    /// EXCLUDE.
    pub(crate) exclusion: Option<Exclusion>,
    pub(crate) primary: bool,
    /// Declared as PRIMARY KEY or UNIQUE of the table.
    pub(crate) constraint: bool,
    /// Every row has its entry.
    pub(crate) valid: bool,
    /// Whether writes keep its entries.
    pub(crate) ready: bool,
    /// Whether plans are kept from it, though its entries are kept.
    pub(crate) inactive: bool,
    /// pg_class.reloptions.
    pub(crate) options: Vec<String>,
    /// COMMENT ON INDEX.
    pub(crate) comment: Option<String>,
    /// COMMENT ON CONSTRAINT.
    pub(crate) constraint_comment: Option<String>,
    /// The oid of the index of its table's parent that it is like.
    pub(crate) parent: Option<i64>,
}

impl UserIndex {
    /// Attribute numbers of its columns, those of INCLUDE last.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = usize> {
        let keys = self.keys.iter().map(|key| key.attribute);
        keys.chain(self.included.iter().copied())
    }
}

/// A part of a primary key that is computed, and no column of the relation.
#[derive(Debug)]
pub(crate) struct ComputedKey {
    /// How many columns stand before it.
    pub(crate) at: usize,
    pub(crate) text: String,
    /// It is a call, which CREATE INDEX has without parentheses.
    pub(crate) is_call: bool,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

/// A column of an index.
#[derive(Debug)]
pub(crate) struct UserKey {
    /// Attribute number in the table; 0 for an expression.
    pub(crate) attribute: usize,
    /// The expression, if it is one.
    pub(crate) computed: Option<Box<UserExpression>>,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
    /// How its values are taken apart, if the index is inverted.
    pub(crate) terms: Option<TermClass>,
    /// The operator class, if it is not the type's own.
    pub(crate) class: Option<String>,
}

/// An expression of an index.
#[derive(Debug)]
pub(crate) struct UserExpression {
    /// The column of the index that holds it.
    pub(crate) column: UserColumn,
    /// As it stands in CREATE INDEX.
    pub(crate) text: String,
    pub(crate) pretty_text: String,
    /// As `pg_get_expr` prints it, plain and pretty.
    pub(crate) node: String,
    pub(crate) pretty_node: String,
}

/// An index of a table with these visible columns.
pub(super) fn user_index(
    names: &DefaultNames<'_>,
    (table, visible): (&TableDef, &[&ColumnDef]),
    index: &IndexDef,
    primary: bool,
) -> UserIndex {
    let attribute = |id| attribute_of(visible, id);
    UserIndex {
        oid: i64::from(index.oid),
        parent: None,
        name: index.name.clone(),
        comment: index.comment.clone(),
        constraint_comment: index.constraint_comment.clone(),
        computed: computed_keys(table, index),
        predicate: (index.predicate.as_ref())
            .map(|predicate| (predicate.text.clone(), predicate.pretty_text.clone())),
        is_inverted: index.terms.is_some(),
        keys: user_keys(names, (table, visible), index),
        included: index.include.iter().filter_map(|id| attribute(*id)).collect(),
        unique: index.unique || index.deferral.is_some(),
        nulls_not_distinct: index.nulls_not_distinct,
        deferral: index
            .deferral
            .or(index.exclusion.as_ref().and_then(|of| of.deferral)),
        exclusion: index.exclusion.clone(),
        primary,
        constraint: primary || index.constraint,
        valid: index.is_complete(),
        ready: index.is_kept(),
        inactive: index.inactive,
        options: index
            .buckets
            .iter()
            .map(|buckets| format!("buckets={}", buckets.count))
            .chain(
                index
                    .options
                    .iter()
                    .map(|(name, value)| format!("{name}={value}")),
            )
            .collect(),
    }
}

/// The number of a column among the visible ones.
fn attribute_of(visible: &[&ColumnDef], id: ColumnId) -> Option<usize> {
    let position = visible.iter().position(|column| column.id == id)?;
    Some(position + 1)
}

/// What an index is over.
fn user_keys(
    names: &DefaultNames<'_>,
    (table, visible): (&TableDef, &[&ColumnDef]),
    index: &IndexDef,
) -> Vec<UserKey> {
    let mut keys: Vec<UserKey> = index
        .shown_columns()
        .iter()
        .enumerate()
        .filter_map(|(place, key)| {
            let source = index.term_sources().nth(place);
            let computed = user_expression(names, (table, index), key.column);
            let attribute = match computed {
                Some(_) => 0,
                None => attribute_of(visible, key.column)?,
            };
            Some(UserKey {
                attribute,
                computed,
                descending: key.descending,
                nulls_first: key.nulls_first,
                terms: source.map(|source| source.class),
                class: (source.and_then(|source| source.named.clone()))
                    .or_else(|| index.classes.get(&key.column).cloned()),
            })
        })
        .collect();
    number_names(&mut keys, visible);
    keys
}

/// The parts of a primary key that are computed for it, but for the number of the bucket, which BUCKETS says.
fn computed_keys(table: &TableDef, index: &IndexDef) -> Vec<ComputedKey> {
    let (mut at, mut computed) = (0, Vec::new());
    for (place, key) in index.columns.iter().enumerate() {
        let column = table
            .column_index_by_id(key.column)
            .and_then(|at| table.columns.get(at));
        let hidden = column.filter(|column| column.hidden && index.id == 0);
        let is_bucket = place == 0 && table.options.buckets.is_some();
        match hidden.and_then(ColumnDef::generation) {
            Some(_) if is_bucket => {}
            Some(generation) => computed.push(ComputedKey {
                at,
                text: generation.sql.clone(),
                is_call: is_call(&generation.sql),
                descending: key.descending,
                nulls_first: key.nulls_first,
            }),
            None => at += 1,
        }
    }
    computed
}

/// Whether an expression is a call of a function, and nothing more.
fn is_call(sql: &str) -> bool {
    let name = sql.split('(').next().unwrap_or_default();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    is_name && closes_at_end(sql)
}

/// Whether the first parenthesis of a text is closed by its last character.
fn closes_at_end(sql: &str) -> bool {
    let (mut depth, mut quoted) = (0_usize, false);
    for (at, c) in sql.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1 == sql.len();
                }
            }
            _ => {}
        }
    }
    false
}

/// What PostgreSQL names the column of an expression: the column or the function that it is, under casts; the type of a cast of anything
/// else; `expr`.
fn name_of_expression(text: &str) -> String {
    let mut rest = text;
    let mut cast_to = None;
    loop {
        if rest.starts_with('(') && closes_at_end(rest) {
            rest = &rest[1..rest.len() - 1];
        } else if let Some((operand, ty)) = rest.rsplit_once("::").filter(|(operand, _)| is_unit(operand)) {
            cast_to = cast_to.or_else(|| type_word(ty));
            rest = operand;
        } else {
            break;
        }
    }
    let word = if is_call(rest) {
        rest.split('(').next().map(str::to_lowercase)
    } else {
        is_name(rest).then(|| unquoted(rest))
    };
    word.or(cast_to).unwrap_or_else(|| "expr".to_string())
}

/// Whether a text is one operand: a name, a call, or what stands in parentheses.
fn is_unit(text: &str) -> bool {
    is_name(text) || is_call(text) || text.starts_with('(') && closes_at_end(text)
}

fn is_name(text: &str) -> bool {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) => !inner.replace("\"\"", "").contains('"'),
        None => {
            text.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && text.chars().all(|c| c.is_alphanumeric() || c == '_')
        }
    }
}

fn unquoted(name: &str) -> String {
    let inner = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.map_or_else(|| name.to_string(), |inner| inner.replace("\"\"", "\""))
}

/// The name of a type in pg_type, of one that stands behind `::`.
fn type_word(ty: &str) -> Option<String> {
    let base = ty.split('(').next()?.trim();
    match SqlType::from_name(base, &[]) {
        Ok(Some(ty)) => Some(ty.catalog_name()),
        _ => base.rsplit('.').next().map(unquoted),
    }
}

/// Names that several columns of an index would have get numbers, as in PostgreSQL.
fn number_names(keys: &mut [UserKey], visible: &[&ColumnDef]) {
    let mut taken: Vec<String> = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(computed) = &mut key.computed else {
            let column = key.attribute.checked_sub(1).and_then(|at| visible.get(at));
            taken.extend(column.map(|column| column.name.clone()));
            continue;
        };
        let name = &computed.column.name;
        if taken.contains(name) {
            let numbered = (1..).map(|number| format!("{name}{number}"));
            let free = { numbered }.find(|name| !taken.contains(name));
            computed.column.name = free.unwrap_or_default();
        }
        taken.push(computed.column.name.clone());
    }
}

/// The expression of an index that a column holds.
fn user_expression(
    names: &DefaultNames<'_>,
    (table, index): (&TableDef, &IndexDef),
    id: ColumnId,
) -> Option<Box<UserExpression>> {
    let expression = index
        .expressions
        .iter()
        .find(|expression| expression.column == id)?;
    let column = table.columns.get(table.column_index_by_id(id)?)?;
    let written = |text: &str| match expression.is_call {
        true => text.to_string(),
        false => format!("({text})"),
    };
    let name = name_of_expression(&expression.text);
    Some(Box::new(UserExpression {
        column: UserColumn {
            name,
            ..user_column(names, table, column)
        },
        text: written(&expression.text),
        pretty_text: written(&expression.pretty_text),
        node: expression.text.clone(),
        pretty_node: expression.pretty_text.clone(),
    }))
}
