//! `CatalogType`: the types that only the system catalogs are made of, or that few columns of tables are of. A part of `SqlType`.

/// A type that the system catalogs are made of; columns of tables may be of some (`is_stored`). The comment names the Arrow type that carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CatalogType {
    /// Int64: the oid of a function.
    Regproc,
    /// Int64: the oid of a function, printed with its arguments.
    Regprocedure,
    /// Int64: the oid of an operator.
    Regoper,
    /// Int64: the oid of an operator, printed with its operands.
    Regoperator,
    /// Int64: the oid of a type.
    Regtype,
    /// Int64: the oid of a schema.
    Regnamespace,
    /// Int64: the oid of a role.
    Regrole,
    /// Int64: the oid of a collation.
    Regcollation,
    /// Utf8: what a regclass leaves a query as, because clients are sent the object's name.
    RegclassName,
    /// Utf8: see `RegclassName`.
    RegprocName,
    /// Utf8: see `RegclassName`.
    RegprocedureName,
    /// Utf8: see `RegclassName`.
    RegoperName,
    /// Utf8: see `RegclassName`.
    RegoperatorName,
    /// Utf8: see `RegclassName`.
    RegtypeName,
    /// Utf8: see `RegclassName`.
    RegnamespaceName,
    /// Utf8: see `RegclassName`.
    RegroleName,
    /// Utf8: see `RegclassName`.
    RegcollationName,
    /// Int64.
    Xid,
    /// Int64: the number of a command in its transaction.
    Cid,
    /// Int64: the number of a row, of which block and offset are the high and the low part.
    Tid,
    /// Int64: the number of a transaction, which never comes again.
    Xid8,
    /// Utf8: `first:next:open,open`.
    PgSnapshot,
    /// Utf8: the same under its older name.
    TxidSnapshot,
    /// List(Int64), printed `1 2`.
    OidVector,
    /// Utf8.
    Aclitem,
    /// Utf8: a default or view expression, as SQL text.
    NodeTree,
    /// Utf8: the name of a configuration of text search.
    Regconfig,
    /// Utf8: the name of a dictionary of text search.
    Regdictionary,
    /// Utf8: a path in the form in which it prints.
    JsonPath,
    /// Utf8: the name of a cursor.
    Refcursor,
    /// Int64: a place in a log, less 2^63.
    PgLsn,
    /// Utf8: an array of any type, as text.
    AnyArray,
    /// Utf8: a row of any shape, as text.
    Record,
    /// Utf8: what a function gives that gives nothing: the empty text, or NULL.
    Void,
}

/// The name of an object as it leaves a query: the name, and behind a zero byte, which no name holds, the oid that it stands for. Clients that
/// ask for binary values are sent the oid, all others the name.
pub(crate) fn name_with_oid(name: &str, oid: i64) -> String {
    format!("{name}\0{oid}")
}

/// The name of such a text, and the oid; `None`: the text is a name alone.
pub(crate) fn name_and_oid(text: &str) -> (&str, Option<i64>) {
    match text.split_once('\0') {
        Some((name, oid)) => (name, oid.parse().ok()),
        None => (text, None),
    }
}

impl CatalogType {
    /// Whether its texts are snapshots of transactions.
    pub(super) fn is_snapshot(self) -> bool {
        matches!(self, CatalogType::PgSnapshot | CatalogType::TxidSnapshot)
    }

    /// Whether it is what an oid that names an object leaves a query as.
    pub(crate) fn is_name_of_object(self) -> bool {
        matches!(
            self,
            CatalogType::RegclassName
                | CatalogType::RegprocName
                | CatalogType::RegprocedureName
                | CatalogType::RegoperName
                | CatalogType::RegoperatorName
                | CatalogType::RegtypeName
                | CatalogType::RegnamespaceName
                | CatalogType::RegroleName
                | CatalogType::RegcollationName
        )
    }

    /// Whether columns of tables may be of it: not what only leaves a query, and no pseudo-type.
    pub(crate) fn is_stored(self) -> bool {
        match self {
            CatalogType::Regproc
            | CatalogType::Regprocedure
            | CatalogType::Regoper
            | CatalogType::Regoperator
            | CatalogType::Regtype
            | CatalogType::Regnamespace
            | CatalogType::Regrole
            | CatalogType::Regcollation
            | CatalogType::Xid
            | CatalogType::Cid
            | CatalogType::Tid
            | CatalogType::Xid8
            | CatalogType::PgSnapshot
            | CatalogType::TxidSnapshot
            | CatalogType::OidVector
            | CatalogType::Aclitem
            | CatalogType::Regconfig
            | CatalogType::Regdictionary
            | CatalogType::JsonPath
            | CatalogType::Refcursor
            | CatalogType::PgLsn => true,
            CatalogType::RegclassName
            | CatalogType::RegprocName
            | CatalogType::RegprocedureName
            | CatalogType::RegoperName
            | CatalogType::RegoperatorName
            | CatalogType::RegtypeName
            | CatalogType::RegnamespaceName
            | CatalogType::RegroleName
            | CatalogType::RegcollationName
            | CatalogType::NodeTree
            | CatalogType::AnyArray
            | CatalogType::Record
            | CatalogType::Void => false,
        }
    }
}
