//! The tree of a body in PL/pgSQL.

use crate::parse::routine::WrittenType;

/// A body.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// Its outermost block.
    pub block: Block,
    /// `#variable_conflict`.
    pub conflict: VariableConflict,
}

/// What a name means that is a variable's and a column's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VariableConflict {
    /// Neither: 42702.
    #[default]
    Error,
    /// The variable.
    UseVariable,
    /// The column.
    UseColumn,
}

/// DECLARE … BEGIN … EXCEPTION … END.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Where BEGIN stands.
    pub line: usize,
    /// <<label>>.
    pub label: Option<String>,
    /// DECLARE.
    pub declarations: Vec<Declaration>,
    /// What is done.
    pub statements: Vec<Statement>,
    /// EXCEPTION.
    pub handlers: Vec<Handler>,
}

/// A variable declared.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// Where it stands.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: DeclarationKind,
}

/// What a declaration declares.
#[derive(Debug, Clone, PartialEq)]
pub enum DeclarationKind {
    /// A variable of a type.
    Variable {
        ty: VariableType,
        constant: bool,
        not_null: bool,
        default: Option<Fragment>,
    },
    /// ALIAS FOR: another name.
    Alias(String),
    /// CURSOR FOR a query, with arguments.
    Cursor {
        arguments: Vec<(String, WrittenType)>,
        query: Fragment,
        /// [NO] SCROLL.
        scroll: Option<bool>,
    },
}

/// The type of a variable.
#[derive(Debug, Clone, PartialEq)]
pub enum VariableType {
    /// record.
    Record,
    /// refcursor.
    Cursor,
    /// Any other. The name of a relation is its row type.
    Written(WrittenType),
}

/// WHEN condition OR condition THEN statements.
#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    /// What it catches.
    pub conditions: Vec<Condition>,
    /// What is done then.
    pub statements: Vec<Statement>,
}

/// What a handler catches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// OTHERS.
    Others,
    /// SQLSTATE, or that of a name. A whole class where it ends in 000.
    State(String),
}

/// An expression or a query, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// The text.
    pub text: String,
}

/// What is assigned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The variable, with its block's label or its field.
    pub parts: Vec<String>,
    /// What of it: `[1]`, `[2:3]`, `."field"`.
    pub subscripts: Vec<String>,
}

impl Target {
    /// As messages name it.
    pub fn name(&self) -> String {
        self.parts.join(".")
    }
}

/// INTO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Into {
    /// STRICT.
    pub strict: bool,
    /// Where to.
    pub targets: Vec<Target>,
}

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Where it stands, from 1.
    pub line: usize,
    /// What it does.
    pub kind: Kind,
}

/// A query that a loop goes over, or that RETURN QUERY returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// As it stands.
    Query(Fragment),
    /// EXECUTE of a text, USING values.
    Dynamic { text: Fragment, using: Vec<Fragment> },
    /// A cursor that was declared, with its arguments.
    Cursor { name: String, arguments: Vec<Fragment> },
}

/// What OPEN opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenSource {
    /// FOR a query.
    Query(Fragment),
    /// FOR EXECUTE.
    Dynamic { text: Fragment, using: Vec<Fragment> },
    /// The query that the cursor was declared for.
    Bound(Vec<CursorArgument>),
}

/// An argument of a cursor that is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorArgument {
    /// Which, if it says so.
    pub name: Option<String>,
    /// Its value.
    pub value: Fragment,
}

/// Where FETCH and MOVE go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Direction {
    Next,
    Prior,
    First,
    Last,
    Absolute(Fragment),
    Relative(Fragment),
    Forward(Option<Fragment>),
    Backward(Option<Fragment>),
    All,
    AllBackward,
}

/// What a statement does.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A block in a block.
    Block(Block),
    /// `target := value`.
    Assign { target: Target, value: Fragment },
    /// IF.
    If {
        branches: Vec<(Fragment, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    /// CASE; `otherwise` is `None` where there is no ELSE.
    Case {
        /// What the values of branches are compared with, and the variable that holds it, which their conditions name.
        operand: Option<(String, Fragment)>,
        branches: Vec<(Fragment, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    },
    /// LOOP.
    Loop {
        label: Option<String>,
        body: Vec<Statement>,
    },
    /// WHILE.
    While {
        label: Option<String>,
        condition: Fragment,
        body: Vec<Statement>,
    },
    /// FOR over integers.
    ForInteger {
        label: Option<String>,
        variable: String,
        reverse: bool,
        from: Fragment,
        to: Fragment,
        step: Option<Fragment>,
        body: Vec<Statement>,
    },
    /// FOR over rows.
    ForRows {
        label: Option<String>,
        targets: Vec<Target>,
        source: Source,
        body: Vec<Statement>,
    },
    /// FOREACH over the items of an array, or over its parts of so many dimensions.
    ForEach {
        label: Option<String>,
        targets: Vec<Target>,
        slice: usize,
        array: Fragment,
        body: Vec<Statement>,
    },
    /// EXIT, CONTINUE.
    Leave {
        is_continue: bool,
        label: Option<String>,
        when: Option<Fragment>,
    },
    /// RETURN.
    Return(Option<Fragment>),
    /// RETURN NEXT.
    ReturnNext(Option<Fragment>),
    /// RETURN QUERY.
    ReturnQuery(Source),
    /// RAISE.
    Raise(Raise),
    /// ASSERT.
    Assert {
        condition: Fragment,
        message: Option<Fragment>,
    },
    /// PERFORM, without the word.
    Perform(Fragment),
    /// CALL, or DO.
    Call(Fragment),
    /// COMMIT, or ROLLBACK.
    EndTransaction { commits: bool, chain: bool },
    /// Any statement of SQL.
    Sql { text: String, into: Option<Into> },
    /// EXECUTE.
    Execute {
        text: Fragment,
        into: Option<Into>,
        using: Vec<Fragment>,
    },
    /// GET DIAGNOSTICS.
    Diagnostics {
        stacked: bool,
        items: Vec<(Target, String)>,
    },
    /// OPEN.
    Open {
        cursor: String,
        scroll: Option<bool>,
        source: OpenSource,
    },
    /// FETCH.
    Fetch {
        cursor: String,
        direction: Direction,
        into: Into,
    },
    /// MOVE.
    Move { cursor: String, direction: Direction },
    /// CLOSE.
    Close { cursor: String },
    /// NULL.
    Null,
}

impl Kind {
    /// As CONTEXT names it.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Block(_) => "statement block",
            Kind::Assign { .. } => "assignment",
            Kind::If { .. } => "IF",
            Kind::Case { .. } => "CASE",
            Kind::Loop { .. } => "LOOP",
            Kind::While { .. } => "WHILE",
            Kind::ForInteger { .. } => "FOR with integer loop variable",
            Kind::ForRows { source, .. } => match source {
                Source::Query(_) => "FOR over SELECT rows",
                Source::Dynamic { .. } => "FOR over EXECUTE statement",
                Source::Cursor { .. } => "FOR over cursor",
            },
            Kind::ForEach { .. } => "FOREACH over array",
            Kind::Leave {
                is_continue: true, ..
            } => "CONTINUE",
            Kind::Leave { .. } => "EXIT",
            Kind::Return(_) => "RETURN",
            Kind::ReturnNext(_) => "RETURN NEXT",
            Kind::ReturnQuery(_) => "RETURN QUERY",
            Kind::Raise(_) => "RAISE",
            Kind::Assert { .. } => "ASSERT",
            Kind::Perform(_) => "PERFORM",
            Kind::Call(call) if begins_with_do(&call.text) => "DO",
            Kind::Call(_) => "CALL",
            Kind::EndTransaction { commits: true, .. } => "COMMIT",
            Kind::EndTransaction { .. } => "ROLLBACK",
            Kind::Sql { .. } => "SQL statement",
            Kind::Execute { .. } => "EXECUTE",
            Kind::Diagnostics { stacked: true, .. } => "GET STACKED DIAGNOSTICS",
            Kind::Diagnostics { .. } => "GET DIAGNOSTICS",
            Kind::Open { .. } => "OPEN",
            Kind::Fetch { .. } => "FETCH",
            Kind::Move { .. } => "MOVE",
            Kind::Close { .. } => "CLOSE",
            Kind::Null => "NULL",
        }
    }
}

fn begins_with_do(text: &str) -> bool {
    let word = text.trim_start().get(..2);
    word.is_some_and(|word| word.eq_ignore_ascii_case("do"))
}

/// The level of RAISE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// DEBUG.
    Debug,
    /// LOG.
    Log,
    /// INFO.
    Info,
    /// NOTICE.
    Notice,
    /// WARNING.
    Warning,
    /// EXCEPTION.
    Exception,
}

impl Level {
    /// As a message bears it.
    pub fn word(self) -> &'static str {
        match self {
            Level::Debug => "DEBUG",
            Level::Log => "LOG",
            Level::Info => "INFO",
            Level::Notice => "NOTICE",
            Level::Warning => "WARNING",
            Level::Exception => "ERROR",
        }
    }
}

/// RAISE.
#[derive(Debug, Clone, PartialEq)]
pub struct Raise {
    /// How bad it is.
    pub level: Level,
    /// The text, with % for each argument.
    pub format: Option<String>,
    /// What stands for %.
    pub arguments: Vec<Fragment>,
    /// The name of a condition.
    pub condition: Option<String>,
    /// SQLSTATE.
    pub sqlstate: Option<String>,
    /// USING: options in upper case.
    pub options: Vec<(String, Fragment)>,
    /// Whether nothing but RAISE is said.
    pub bare: bool,
}

impl Raise {
    /// Whether it raises again what is being handled.
    pub fn is_bare(&self) -> bool {
        self.bare
    }
}
