//! `Expr`: a typed expression, and how one is made.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};

use super::accumulator::Accumulator;
use super::call::FunctionCall;
use super::column::Column;
use super::let_value::{Fold, Let, LetValue};
use super::operator::Operator;
use super::plan::Plan;
use super::window::WindowFunction;
use super::{RelationAlias, ScalarValue};

/// What an expression computes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Expr {
    /// Another one under a name.
    Alias(Alias),
    /// A column of the rows at hand.
    Column(Column),
    /// A column of the rows around the query at hand.
    OuterReferenceColumn(FieldRef, Column),
    /// A constant.
    Literal(ScalarValue, Option<FieldMetadata>),
    /// What is known when the statement runs: a parameter, the time.
    Placeholder(Placeholder),
    /// Two operands.
    BinaryExpr(BinaryExpr),
    /// `NOT …`.
    Not(Box<Expr>),
    /// `… IS NULL`.
    IsNull(Box<Expr>),
    /// `… IS NOT NULL`.
    IsNotNull(Box<Expr>),
    /// `… IS TRUE`, and its like.
    TruthTest(TruthTest),
    /// `… LIKE …`.
    Like(Like),
    /// `CASE …`.
    Case(Case),
    /// A value that is computed once, and what asks for it.
    Let(Let),
    /// That value, in what asks for it.
    LetValue(LetValue),
    /// What is made of the items of arrays, one after the other.
    Fold(Fold),
    /// Arrow's own cast, between types of one kind.
    Cast(Cast),
    /// A call of a function.
    ScalarFunction(FunctionCall),
    /// `… IN (…)`.
    InList(InList),
    /// `EXISTS (…)`.
    Exists(Exists),
    /// `… IN (SELECT …)`.
    InSubquery(InSubquery),
    /// `(SELECT …)` as a value.
    ScalarSubquery(Subquery),
    /// A call of an aggregate.
    AggregateFunction(AggregateFunction),
    /// A call over a window.
    WindowFunction(Box<WindowFunction>),
    /// The items of an array, each in a row of its own.
    Unnest(UnnestExpr),
    /// Sets of keys to group by.
    GroupingSets(Vec<Vec<Expr>>),
}

/// What a column's field carries beside its type.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct FieldMetadata(Arc<BTreeMap<String, String>>);

impl FieldMetadata {
    /// By key.
    pub fn inner(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// As fields have it.
    pub fn to_hash_map(&self) -> HashMap<String, String> {
        self.0
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }
}

impl From<HashMap<String, String>> for FieldMetadata {
    fn from(metadata: HashMap<String, String>) -> FieldMetadata {
        FieldMetadata(Arc::new(metadata.into_iter().collect()))
    }
}

impl From<&HashMap<String, String>> for FieldMetadata {
    fn from(metadata: &HashMap<String, String>) -> FieldMetadata {
        FieldMetadata::from(metadata.clone())
    }
}

impl From<BTreeMap<String, String>> for FieldMetadata {
    fn from(metadata: BTreeMap<String, String>) -> FieldMetadata {
        FieldMetadata(Arc::new(metadata))
    }
}

/// An expression under a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Alias {
    /// The expression.
    pub expr: Box<Expr>,
    /// The relation that it is a column of from now on.
    pub relation: Option<RelationAlias>,
    /// The name.
    pub name: String,
    /// What its field carries beside what the expression's does.
    pub metadata: Option<FieldMetadata>,
}

impl Alias {
    /// Of these parts.
    pub fn new(expr: Expr, relation: Option<RelationAlias>, name: impl Into<String>) -> Alias {
        Alias {
            expr: Box::new(expr),
            relation,
            name: name.into(),
            metadata: None,
        }
    }
}

/// A parameter, or what else is known when the statement runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Placeholder {
    /// `$1`.
    pub id: String,
    /// Its type, once it is decided.
    pub field: Option<FieldRef>,
}

/// Two operands and what is between them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BinaryExpr {
    /// The left one.
    pub left: Box<Expr>,
    /// The operator.
    pub op: Operator,
    /// The right one.
    pub right: Box<Expr>,
}

impl BinaryExpr {
    /// Of these parts.
    pub fn new(left: Box<Expr>, op: Operator, right: Box<Expr>) -> BinaryExpr {
        BinaryExpr { left, op, right }
    }
}

/// Whether something is a truth value; itself never NULL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TruthTest {
    /// What is tested.
    pub expr: Box<Expr>,
    /// For being this; `None`: unknown.
    pub truth: Option<bool>,
    /// IS NOT.
    pub negated: bool,
}

impl TruthTest {
    /// What stands behind the operand: `IS NOT TRUE`.
    pub fn words(&self) -> &'static str {
        TruthTest::words_of(self.truth, self.negated)
    }

    /// The same of a test that is not made yet.
    pub fn words_of(truth: Option<bool>, negated: bool) -> &'static str {
        match (truth, negated) {
            (Some(true), false) => "IS TRUE",
            (Some(true), true) => "IS NOT TRUE",
            (Some(false), false) => "IS FALSE",
            (Some(false), true) => "IS NOT FALSE",
            (None, false) => "IS UNKNOWN",
            (None, true) => "IS NOT UNKNOWN",
        }
    }
}

/// `CASE`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Case {
    /// What the branches are compared with.
    pub expr: Option<Box<Expr>>,
    /// WHEN and THEN of each branch.
    pub when_then_expr: Vec<(Box<Expr>, Box<Expr>)>,
    /// ELSE.
    pub else_expr: Option<Box<Expr>>,
}

impl Case {
    /// Of these parts.
    pub fn new(
        expr: Option<Box<Expr>>,
        when_then_expr: Vec<(Box<Expr>, Box<Expr>)>,
        else_expr: Option<Box<Expr>>,
    ) -> Case {
        Case {
            expr,
            when_then_expr,
            else_expr,
        }
    }
}

/// `LIKE`, of text or of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Like {
    /// NOT LIKE.
    pub negated: bool,
    /// The text.
    pub expr: Box<Expr>,
    /// The pattern.
    pub pattern: Box<Expr>,
    /// ILIKE.
    pub case_insensitive: bool,
    /// What stands before a character that means itself.
    pub escape: Option<char>,
}

impl Like {
    /// `LIKE`, `ILIKE`.
    pub fn word(&self) -> &'static str {
        if self.case_insensitive { "ILIKE" } else { "LIKE" }
    }
}

/// ` ESCAPE 'c'`, where it is not the usual one.
pub fn escape_clause(escape: Option<char>) -> String {
    match escape {
        Some('\\') => String::new(),
        Some('\'') => " ESCAPE ''''".to_string(),
        Some(escape) => format!(" ESCAPE '{escape}'"),
        None => " ESCAPE ''".to_string(),
    }
}

/// A cast.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cast {
    /// What is cast.
    pub expr: Box<Expr>,
    /// To which type.
    pub ty: DataType,
}

impl Cast {
    /// Of these parts.
    pub fn new(expr: Box<Expr>, ty: DataType) -> Cast {
        Cast { expr, ty }
    }
}

/// `IN (…)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InList {
    /// What is looked for.
    pub expr: Box<Expr>,
    /// Among which.
    pub list: Vec<Expr>,
    /// NOT IN.
    pub negated: bool,
}

impl InList {
    /// Of these parts.
    pub fn new(expr: Box<Expr>, list: Vec<Expr>, negated: bool) -> InList {
        InList { expr, list, negated }
    }
}

/// A query in an expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Subquery {
    /// Its plan.
    pub subquery: Arc<Plan>,
    /// The columns of the rows around it that it refers to, as [`Expr::OuterReferenceColumn`].
    pub outer_ref_columns: Vec<Expr>,
}

/// `EXISTS`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Exists {
    /// The query.
    pub subquery: Subquery,
    /// NOT EXISTS.
    pub negated: bool,
}

impl Exists {
    /// Of these parts.
    pub fn new(subquery: Subquery, negated: bool) -> Exists {
        Exists { subquery, negated }
    }
}

/// `IN (SELECT …)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InSubquery {
    /// What is looked for.
    pub expr: Box<Expr>,
    /// Among whose rows.
    pub subquery: Subquery,
    /// NOT IN.
    pub negated: bool,
}

impl InSubquery {
    /// Of these parts.
    pub fn new(expr: Box<Expr>, subquery: Subquery, negated: bool) -> InSubquery {
        InSubquery {
            expr,
            subquery,
            negated,
        }
    }
}

/// A key of an order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OrderKey {
    /// What is ordered by.
    pub expr: Expr,
    /// From the least to the greatest.
    pub asc: bool,
    /// NULLs first.
    pub nulls_first: bool,
}

impl OrderKey {
    /// Of these parts.
    pub fn new(expr: Expr, asc: bool, nulls_first: bool) -> OrderKey {
        OrderKey {
            expr,
            asc,
            nulls_first,
        }
    }
}

/// A call of an aggregate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AggregateFunction {
    /// The aggregate.
    pub func: Accumulator,
    /// What it is given.
    pub params: AggregateParams,
}

/// What a call of an aggregate is given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AggregateParams {
    /// The arguments.
    pub args: Vec<Expr>,
    /// Each value once.
    pub distinct: bool,
    /// FILTER.
    pub filter: Option<Box<Expr>>,
    /// In this order.
    pub order_by: Vec<OrderKey>,
}

impl AggregateFunction {
    /// Of these parts.
    pub fn new(
        func: Accumulator,
        args: Vec<Expr>,
        distinct: bool,
        filter: Option<Box<Expr>>,
        order_by: Vec<OrderKey>,
    ) -> AggregateFunction {
        let params = AggregateParams {
            args,
            distinct,
            filter,
            order_by,
        };
        AggregateFunction { func, params }
    }
}

/// The items of an array as rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UnnestExpr {
    /// The array.
    pub expr: Box<Expr>,
}

impl UnnestExpr {
    /// Of this array.
    pub fn new(expr: Expr) -> UnnestExpr {
        UnnestExpr { expr: Box::new(expr) }
    }
}

impl Default for Expr {
    fn default() -> Expr {
        Expr::Literal(ScalarValue::Null, None)
    }
}

impl From<Column> for Expr {
    fn from(column: Column) -> Expr {
        Expr::Column(column)
    }
}

/// Two operands.
pub fn binary_expr(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

/// A constant.
pub fn lit(value: impl Into<ScalarValue>) -> Expr {
    Expr::Literal(value.into(), None)
}

/// A column of no relation.
#[cfg(test)]
pub fn col(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// A cast.
pub fn cast(expr: Expr, ty: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), ty))
}

impl Expr {
    /// `self = other`.
    pub fn eq(self, other: Expr) -> Expr {
        binary_expr(self, Operator::Eq, other)
    }

    /// `self > other`.
    #[cfg(test)]
    pub fn gt(self, other: Expr) -> Expr {
        binary_expr(self, Operator::Gt, other)
    }

    /// `self < other`.
    #[cfg(test)]
    pub fn lt(self, other: Expr) -> Expr {
        binary_expr(self, Operator::Lt, other)
    }

    /// `self AND other`.
    pub fn and(self, other: Expr) -> Expr {
        binary_expr(self, Operator::And, other)
    }

    /// `self OR other`.
    pub fn or(self, other: Expr) -> Expr {
        binary_expr(self, Operator::Or, other)
    }

    /// `self IN (list)`.
    #[cfg(test)]
    pub fn in_list(self, list: Vec<Expr>, negated: bool) -> Expr {
        Expr::InList(InList::new(Box::new(self), list, negated))
    }

    /// `self IS NULL`.
    #[cfg(test)]
    pub fn null_test(self) -> Expr {
        Expr::IsNull(Box::new(self))
    }

    /// `self IS TRUE`, and its like.
    pub fn truth_test(self, truth: Option<bool>, negated: bool) -> Expr {
        let expr = Box::new(self);
        Expr::TruthTest(TruthTest { expr, truth, negated })
    }

    /// A key of an order.
    pub fn sort(self, asc: bool, nulls_first: bool) -> OrderKey {
        OrderKey::new(self, asc, nulls_first)
    }

    /// Under a name.
    pub fn alias(self, name: impl Into<String>) -> Expr {
        Expr::Alias(Alias::new(self, None, name))
    }

    /// Under a name, as a column of a relation.
    pub fn alias_qualified(
        self,
        relation: Option<impl Into<RelationAlias>>,
        name: impl Into<String>,
    ) -> Expr {
        Expr::Alias(Alias::new(self, relation.map(Into::into), name))
    }

    /// Under a name, with what its field carries beside.
    pub fn alias_with_metadata(self, name: impl Into<String>, metadata: Option<FieldMetadata>) -> Expr {
        let metadata = metadata.filter(|metadata| !metadata.inner().is_empty());
        Expr::Alias(Alias {
            metadata,
            ..Alias::new(self, None, name)
        })
    }

    /// Without its name.
    pub fn unalias(self) -> Expr {
        match self {
            Expr::Alias(alias) => *alias.expr,
            other => other,
        }
    }
}

impl std::ops::Not for Expr {
    type Output = Expr;

    fn not(self) -> Expr {
        Expr::Not(Box::new(self))
    }
}

/// A field without a name that says no more than a type.
pub(super) fn bare_field(name: &str, ty: DataType, nullable: bool) -> FieldRef {
    Arc::new(Field::new(name, ty, nullable))
}
