//! The one way through sqlparser's trees. Its `visit` is compiled anew, for each of some three hundred kinds of node, for every visitor
//! that is given to it (12 of 74 MB of code, once); here it is compiled for one that asks the visitor by reference.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut, Visitor,
    VisitorMut,
};

/// A tree that a visitor may walk through.
pub trait Walk {
    /// Shows the visitor all nodes, until it breaks.
    fn walk<V: Visitor>(&self, visitor: &mut V) -> ControlFlow<V::Break>;
}

/// A tree whose nodes a visitor may change.
pub trait WalkMut {
    /// Gives the visitor all nodes, until it breaks.
    fn walk_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> ControlFlow<V::Break>;
}

impl<T: Visit> Walk for T {
    fn walk<V: Visitor>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut kept = Kept { visitor, end: None };
        #[expect(clippy::disallowed_methods, reason = "the one place")]
        let _ = self.visit(&mut Asked(&mut kept));
        kept.end.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}

impl<T: VisitMut> WalkMut for T {
    fn walk_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut kept = KeptMut { visitor, end: None };
        #[expect(clippy::disallowed_methods, reason = "the one place")]
        let _ = self.visit(&mut AskedMut(&mut kept));
        kept.end.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}

/// Shows all expressions of a tree, each before those within it.
pub fn visit_expressions<T, E, F>(tree: &T, ask: F) -> ControlFlow<E>
where
    T: Walk,
    F: FnMut(&Expr) -> ControlFlow<E>,
{
    tree.walk(&mut Expressions(ask))
}

/// Gives all expressions of a tree to be changed, each behind those within it.
pub fn visit_expressions_mut<T, E, F>(tree: &mut T, change: F) -> ControlFlow<E>
where
    T: WalkMut,
    F: FnMut(&mut Expr) -> ControlFlow<E>,
{
    tree.walk_mut(&mut Expressions(change))
}

/// Gives the expressions of a tree to be changed, each behind those within it, but for those of subqueries: these look for names in their own
/// relations first.
pub fn change_outside_subqueries<T: WalkMut>(tree: &mut T, change: impl FnMut(&mut Expr)) {
    let _ = tree.walk_mut(&mut OutsideSubqueries {
        change,
        subqueries: 0,
    });
}

/// Shows the names of all relations in a tree.
pub fn visit_relations<T, E, F>(tree: &T, ask: F) -> ControlFlow<E>
where
    T: Walk,
    F: FnMut(&ObjectName) -> ControlFlow<E>,
{
    tree.walk(&mut Relations(ask))
}

struct Expressions<F>(F);

impl<E, F: FnMut(&Expr) -> ControlFlow<E>> Visitor for Expressions<F> {
    type Break = E;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<E> {
        (self.0)(expr)
    }
}

impl<E, F: FnMut(&mut Expr) -> ControlFlow<E>> VisitorMut for Expressions<F> {
    type Break = E;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<E> {
        (self.0)(expr)
    }
}

struct OutsideSubqueries<F> {
    change: F,
    /// How many subqueries it is in.
    subqueries: usize,
}

impl<F: FnMut(&mut Expr)> VisitorMut for OutsideSubqueries<F> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.subqueries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.subqueries -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.subqueries == 0 {
            (self.change)(expr);
        }
        ControlFlow::Continue(())
    }
}

struct Relations<F>(F);

impl<E, F: FnMut(&ObjectName) -> ControlFlow<E>> Visitor for Relations<F> {
    type Break = E;

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<E> {
        (self.0)(name)
    }
}

/// Asks whatever visitor it is.
struct Asked<'a>(&'a mut dyn Visitor<Break = ()>);

struct AskedMut<'a>(&'a mut dyn VisitorMut<Break = ()>);

/// A visitor that breaks with nothing, and keeps what it would have broken with.
struct Kept<'a, V: Visitor> {
    visitor: &'a mut V,
    end: Option<V::Break>,
}

struct KeptMut<'a, V: VisitorMut> {
    visitor: &'a mut V,
    end: Option<V::Break>,
}

/// The flow without what it breaks with, which goes to `end`.
fn kept<B>(flow: ControlFlow<B>, end: &mut Option<B>) -> ControlFlow<()> {
    match flow {
        ControlFlow::Continue(()) => ControlFlow::Continue(()),
        ControlFlow::Break(with) => {
            *end = Some(with);
            ControlFlow::Break(())
        }
    }
}

/// Hands the nodes on: each method of sqlparser's visitors with what it visits.
macro_rules! hand_on {
    ($($method:ident: $node:ty),* $(,)?) => {
        impl Visitor for Asked<'_> {
            type Break = ();
            $(fn $method(&mut self, node: &$node) -> ControlFlow<()> { self.0.$method(node) })*
        }

        impl VisitorMut for AskedMut<'_> {
            type Break = ();
            $(fn $method(&mut self, node: &mut $node) -> ControlFlow<()> { self.0.$method(node) })*
        }

        impl<V: Visitor> Visitor for Kept<'_, V> {
            type Break = ();
            $(fn $method(&mut self, node: &$node) -> ControlFlow<()> {
                kept(self.visitor.$method(node), &mut self.end)
            })*
        }

        impl<V: VisitorMut> VisitorMut for KeptMut<'_, V> {
            type Break = ();
            $(fn $method(&mut self, node: &mut $node) -> ControlFlow<()> {
                kept(self.visitor.$method(node), &mut self.end)
            })*
        }
    };
}

hand_on! {
    pre_visit_query: Query,
    post_visit_query: Query,
    pre_visit_select: Select,
    post_visit_select: Select,
    pre_visit_relation: ObjectName,
    post_visit_relation: ObjectName,
    pre_visit_table_factor: TableFactor,
    post_visit_table_factor: TableFactor,
    pre_visit_expr: Expr,
    post_visit_expr: Expr,
    pre_visit_statement: Statement,
    post_visit_statement: Statement,
    pre_visit_value: ValueWithSpan,
    post_visit_value: ValueWithSpan,
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn a_walk_ends_where_the_visitor_breaks_and_says_with_what() {
        let mut tree = Parser::parse_sql(&PostgreSqlDialect {}, "SELECT a + b FROM t, u").expect("it parses");
        let mut seen = Vec::new();
        let end = visit_expressions(&tree, |expr| match expr {
            Expr::Identifier(name) if name.value == "a" => ControlFlow::Break(name.value.clone()),
            expr => {
                seen.push(expr.to_string());
                ControlFlow::Continue(())
            }
        });
        assert_eq!(end, ControlFlow::Break("a".to_string()));
        assert_eq!(seen, ["a + b"]);
        let mut named = Vec::new();
        let _: ControlFlow<()> = visit_relations(&tree, |name| {
            named.push(name.to_string());
            ControlFlow::Continue(())
        });
        assert_eq!(named, ["t", "u"]);
        let _: ControlFlow<()> = visit_expressions_mut(&mut tree, |expr| {
            if let Expr::Identifier(name) = expr {
                name.value.push('x');
            }
            ControlFlow::Continue(())
        });
        assert_eq!(tree[0].to_string(), "SELECT ax + bx FROM t, u");
    }
}
