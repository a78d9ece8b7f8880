//! What people write who come from LindormTable, MySQL or PostgreSQL's kin, and what to write here: one table, a habit a row. Asked by `habits`;
//! those of other databases stand in `other_habits`.

/// A type, or another object, that is not there.
pub(super) const UNDEFINED_OBJECT: &str = "42704";

/// The SQLSTATEs at which a row may tell: of what does not read, or is not there under this name. What is only a hint to where the text
/// stops making sense needs that place.
pub(super) const READS: &[&str] = &["42601"];
const COMMAND: &[&str] = &["42601", "0A000", UNDEFINED_OBJECT];
pub(super) const SYNTAX: &[&str] = &["42601", "0A000"];
pub(super) const FUNCTION: &[&str] = &["42883", "42703", "42601"];
pub(super) const OPERATOR: &[&str] = &["42883", "42601"];
pub(super) const COLUMN: &[&str] = &["42703"];
pub(super) const RELATION: &[&str] = &["42P01"];
pub(super) const TYPE: &[&str] = &[UNDEFINED_OBJECT, "42601"];
pub(super) const NAME: &[&str] = &["42703", "42883", "42P01", "42601"];
pub(super) const CAST: &[&str] = &["42846"];
/// Calls that only an aggregate takes.
const AGGREGATE: &[&str] = &["42883", "42809"];
const SETTING: &[&str] = &["22023", UNDEFINED_OBJECT, "42601"];

/// What is written, at which errors it counts, and what to write instead. Tokens stand between blanks: a word or sign as it is, several with `/` between them for
/// any of these, `_` for any name, `#` for any number, `'` for any string, `^` for the beginning of a statement, `…` for whatever stands between.
pub(super) type Habit = (&'static str, &'static [&'static str], &'static str);

/// Habits of those who come from LindormTable, MySQL and its kin.
pub(super) const HABITS: &[Habit] = &[
    // LindormTable and MySQL
    (
        "^ CREATE INDEX _ USING COLUMNAR ON _ ( *",
        COMMAND,
        "There is no columnar index: INCLUDE (a, b) lets an index answer by itself.",
    ),
    (
        "USING SEARCH ON _ ( *",
        READS,
        "There is no search index: name its columns, and write USING KV.",
    ),
    (
        "USER/ROLE _ IDENTIFIED",
        COMMAND,
        "Write CREATE USER name PASSWORD 'secret'.",
    ),
    (
        "^ GRANT/REVOKE READ/WRITE/ADMIN",
        COMMAND,
        "There are no privileges yet: leave it out.",
    ),
    ("^ ALTER TABLE _ FLUSH", READS, "Write FLUSH t."),
    (") WITH _ =", READS, "Write WITH (OPTION = 'value')."),
    (
        "TABLE/FROM/INTO/JOIN _ -",
        READS,
        "Names with such signs stand between double quotes: \"my-table\".",
    ),
    ("^ SHOW REGIONS FROM TABLE", READS, "Write SHOW REGIONS FROM t."),
    (
        "^ OFFLINE/ONLINE TABLE",
        SYNTAX,
        "There is none; LOCK TABLE t IN ACCESS EXCLUSIVE MODE keeps others out until COMMIT.",
    ),
    (
        "^ KILL",
        COMMAND,
        "Write SELECT pg_cancel_backend(pid), or pg_terminate_backend(pid); SHOW PROCESSLIST tells the ids.",
    ),
    (
        "^ SHOW CREATE DATABASE/SCHEMA",
        COMMAND,
        "Write SHOW TABLES FROM name, and SHOW CREATE TABLE t.",
    ),
    (
        "^ SHOW CHARSET/CHARACTER/COLLATION",
        COMMAND,
        "Texts are UTF-8, and sorted by their bytes.",
    ),
    (
        "^ SHOW QUERIES/SLOW/CLUSTER/SERVERS/REPLICAS/CONTINUOUS",
        COMMAND,
        "Write SHOW PROCESSLIST, or SELECT * FROM pg_stat_activity.",
    ),
    (
        "^ CREATE DATABASE",
        READS,
        "Write CREATE DATABASE name; its texts are UTF-8. What others call a database is a schema here: CREATE SCHEMA name.",
    ),
    (
        "^ ALTER DATABASE",
        READS,
        "Options are of tables: ALTER TABLE t SET 'OPTION' = 'value'; settings: ALTER DATABASE d SET name = v.",
    ),
    (
        "^ SET AUTOCOMMIT",
        SETTING,
        "Leave it out: a statement commits by itself, and BEGIN … COMMIT makes one of several.",
    ),
    ("^ SET NAMES", SETTING, "Write SET NAMES 'UTF8'."),
    (
        "^ LOCK TABLES",
        COMMAND,
        "Write LOCK TABLE t IN SHARE MODE, inside of BEGIN … COMMIT.",
    ),
    (
        "^ UNLOCK",
        COMMAND,
        "Locks end with their transaction: write COMMIT.",
    ),
    (
        "^ OPTIMIZE/REPAIR/CHECK TABLE",
        COMMAND,
        "Write VACUUM t; keyspan check verifies a data directory.",
    ),
    ("^ ANALYZE TABLE", READS, "Write ANALYZE t."),
    ("^ RENAME TABLE", COMMAND, "Write ALTER TABLE t RENAME TO u."),
    (
        "^ ALTER TABLE _ RENAME _",
        READS,
        "Write ALTER TABLE t RENAME TO u, or RENAME COLUMN c TO d.",
    ),
    (
        "^ ALTER TABLE _ DROP INDEX/KEY",
        COMMAND,
        "Write DROP INDEX name.",
    ),
    (
        "^ ALTER TABLE _ SPLIT",
        READS,
        "Write SPLIT AT VALUES (v, …), (w, …).",
    ),
    (
        "^ ALTER TABLE _ COMPACT/MAJOR",
        READS,
        "Write ALTER TABLE t COMPACT.",
    ),
    (
        "^ ALTER TABLE _ ADD (",
        READS,
        "Write ADD COLUMN a type, ADD COLUMN b type.",
    ),
    (
        "ADD COLUMN (",
        READS,
        "Write ADD COLUMN a type, ADD COLUMN b type.",
    ),
    ("DROP COLUMN _ , _", READS, "Write DROP COLUMN a, DROP COLUMN b."),
    (
        "^ ALTER TABLE _ RESET",
        READS,
        "Write RESET (OPTION), without quotes.",
    ),
    (
        "^ ALTER TABLE _ ALTER COLUMN _ _",
        READS,
        "Write ALTER COLUMN c TYPE type.",
    ),
    (
        "^ ALTER INDEX _ ON _ REBUILD",
        READS,
        "Write BUILD INDEX name ON table.",
    ),
    ("EXPLAIN FORMAT", READS, "Write EXPLAIN (FORMAT json)."),
    (
        "EXPLAIN PLAN",
        READS,
        "Write EXPLAIN PLAN FOR …, or EXPLAIN PLAN WITH TYPE FOR ….",
    ),
    (
        "EXPLAIN PLAN WITH _",
        READS,
        "Write EXPLAIN PLAN FOR …, or EXPLAIN PLAN WITH TYPE FOR ….",
    ),
    (
        "INSERT OVERWRITE",
        SYNTAX,
        "Write UPSERT INTO t …, or TRUNCATE t before.",
    ),
    (
        "AGAINST (",
        SYNTAX,
        "There is no index of words: write c LIKE '%word%', or c ~ 'pattern'.",
    ),
    ("MATCH (", FUNCTION, "Write c ~ 'pattern'."),
    (
        "HEAD/TAIL (",
        AGGREGATE,
        "Write (array_agg(c ORDER BY t) FILTER (WHERE c IS NOT NULL))[1]; for the last one ORDER BY t DESC.",
    ),
    (
        "GROUP_CONCAT ( … SEPARATOR",
        SYNTAX,
        "Write string_agg(c, '|' ORDER BY d).",
    ),
    (
        "GROUP_CONCAT ( DISTINCT",
        AGGREGATE,
        "Write string_agg(DISTINCT c, ',').",
    ),
    (
        "FOUND_ROWS (",
        FUNCTION,
        "Write count(*), or count(*) OVER () beside the rows.",
    ),
    ("CONNECTION_ID (", FUNCTION, "Write pg_backend_pid()."),
    (
        "SELECT/,/= USER/CURRENT_USER/SESSION_USER (",
        FUNCTION,
        "Write current_user, without parentheses.",
    ),
    ("SYSDATE (", FUNCTION, "Write now()."),
    ("TRUNCATE (", FUNCTION, "Write trunc(x, digits)."),
    ("SUBSTRING_INDEX (", FUNCTION, "Write split_part(text, '.', n)."),
    (
        "JSON_OBJECT (",
        FUNCTION,
        "Write json_build_object('member', value, …).",
    ),
    ("JSON_ARRAY (", FUNCTION, "Write json_build_array(value, …)."),
    ("< = >", OPERATOR, "Write a IS NOT DISTINCT FROM b."),
    (
        "DIV _/#",
        SYNTAX,
        "Write a / b: of integers that is the whole part.",
    ),
    ("MOD _/#", SYNTAX, "Write a % b, or mod(a, b)."),
    ("XOR _/#", SYNTAX, "Write a <> b of conditions."),
    ("! (", SYNTAX, "Write NOT (condition)."),
    (
        "FORCE/USE/IGNORE INDEX/KEY",
        READS,
        "Write /*+ _l_force_index_('name') */, or /*+ _l_ignore_index_ */, right behind SELECT.",
    ),
    ("LOCK IN SHARE", READS, "Write FOR SHARE."),
    (
        "@ @",
        NAME,
        "Write version(), SHOW name, or current_setting('name').",
    ),
    ("DISTINCTROW", COLUMN, "Write DISTINCT."),
    (
        "^ REPLACE INTO",
        SYNTAX,
        "Write UPSERT INTO t …: it writes the row whether it is there or not.",
    ),
    (
        "INSERT IGNORE",
        SYNTAX,
        "Write INSERT INTO t … ON CONFLICT DO NOTHING.",
    ),
    (
        "AUTO_INCREMENT/AUTOINCREMENT",
        SYNTAX,
        "Write GENERATED BY DEFAULT AS IDENTITY behind the type.",
    ),
    (
        "ENGINE/CHARSET/COLLATE =",
        SYNTAX,
        "Leave the option out: there is one engine, and texts are UTF-8.",
    ),
    (
        "DEFAULT CHARSET/CHARACTER",
        SYNTAX,
        "Leave the option out: texts are UTF-8.",
    ),
    (
        "UNSIGNED/ZEROFILL",
        TYPE,
        "There are no unsigned types: use the next larger one, with CHECK (c >= 0).",
    ),
    (
        "ADD INDEX/KEY/FULLTEXT/SPATIAL",
        TYPE,
        "Write CREATE INDEX name ON t (c).",
    ),
    (
        "^ ALTER TABLE _ MODIFY",
        SYNTAX,
        "Write ALTER COLUMN c TYPE type.",
    ),
    (
        "^ ALTER TABLE _ CHANGE",
        SYNTAX,
        "Write RENAME COLUMN c TO d, and ALTER COLUMN d TYPE type.",
    ),
    (
        "INSERT INTO _ SET",
        SYNTAX,
        "Write INSERT INTO t (c, …) VALUES (v, …).",
    ),
    (
        "UPSERT INTO _ SET",
        SYNTAX,
        "Write UPSERT INTO t (c, …) VALUES (v, …).",
    ),
    ("VALUE (", SYNTAX, "Write VALUES (…)."),
    (
        "^ UPDATE/DELETE … LIMIT",
        READS,
        "Write WHERE key IN (SELECT key FROM t WHERE … LIMIT n).",
    ),
    (
        "^ UPDATE/DELETE … ORDER BY",
        READS,
        "Write WHERE key IN (SELECT key FROM t ORDER BY c LIMIT n).",
    ),
    (
        ") AS _ ON DUPLICATE",
        READS,
        "Leave AS name out, and write VALUES(c) for name.c.",
    ),
    (
        "AS '",
        READS,
        "A name stands between double quotes, or none: AS \"name\".",
    ),
    ("EXPLAIN EXTENDED", SYNTAX, "Write EXPLAIN VERBOSE."),
    (
        "^ SHOW USERS/GRANTS/PRIVILEGES",
        COMMAND,
        "Write SELECT rolname FROM pg_roles; psql has \\du.",
    ),
    (
        "^ SHOW STATUS/ENGINES/PLUGINS/TRIGGERS/EVENTS/FUNCTION/PROCEDURE/WARNINGS/ERRORS/TABLE",
        COMMAND,
        "Known are SHOW TABLES, COLUMNS, INDEX, CREATE TABLE, TABLE VARIABLES, SCHEMAS, and settings by name.",
    ),
    (
        "FROM/JOIN/UPDATE/INTO TABLE/ORDER/GROUP/USER/CHECK/DEFAULT",
        READS,
        "That is a word of SQL: write the name of your table, in double quotes if that is it.",
    ),
    (
        ") PRIMARY KEY",
        READS,
        "PRIMARY KEY (…) stands inside the parentheses, behind the columns.",
    ),
    (
        "^ ALTER TABLE _ SET",
        READS,
        "Write SET 'OPTION' = 'value', or SET (option = value).",
    ),
    (
        "GEOMETRY/POINT/VECTOR",
        TYPE,
        "There is none: store coordinates as numbers, an array, or jsonb.",
    ),
    (
        "INTERVAL # DAY/HOUR/MINUTE/SECOND/MONTH/YEAR/WEEK",
        &["42846", "42601"],
        "Write interval '1 day'.",
    ),
    (
        "^ USE",
        READS,
        "Write USE schema; SHOW SCHEMAS tells which there are.",
    ),
    ("^ DESCRIBE/DESC", READS, "Write DESCRIBE table."),
    (
        "^ SHOW COLUMNS/FIELDS/INDEX/INDEXES/KEYS/FULL",
        READS,
        "Write SHOW COLUMNS FROM t, or SHOW INDEX FROM t.",
    ),
    (
        "^ SHOW TABLE VARIABLES",
        READS,
        "Write SHOW TABLE VARIABLES FROM t.",
    ),
    ("^ BUILD INDEX", READS, "Write BUILD INDEX name ON table."),
    (
        ") PARTITION BY",
        SYNTAX,
        "Leave it out: it is one sorted range of keys; WITH (BUCKETS = 16) spreads the rows of a table.",
    ),
    (
        ") PARTITIONS",
        SYNTAX,
        "Leave it out: it is one sorted range of keys; WITH (BUCKETS = 16) spreads the rows of a table.",
    ),
    (
        "ZORDER BY",
        SYNTAX,
        "Leave it out: rows are sorted by their key, and an index sorts them otherwise.",
    ),
    (
        "REGEXP/RLIKE",
        SYNTAX,
        "Write c ~ 'pattern'; ~* takes upper and lower case as equal.",
    ),
    ("AS SIGNED/UNSIGNED", TYPE, "Write CAST(x AS bigint)."),
    ("& &", OPERATOR, "Write AND."),
    ("| |", OPERATOR, "|| joins texts: write OR between conditions."),
    ("= =", OPERATOR, "Equality is one sign: a = b."),
    ("IFNULL/NVL/ISNULL (", FUNCTION, "Write coalesce(a, b)."),
    (
        "NVL2/IF/IIF/DECODE (",
        FUNCTION,
        "Write CASE WHEN condition THEN a ELSE b END.",
    ),
    (
        "GROUP_CONCAT/LISTAGG/WM_CONCAT (",
        FUNCTION,
        "Write string_agg(c, ',').",
    ),
    (
        "DATE_FORMAT/TIME_FORMAT (",
        FUNCTION,
        "Write to_char(ts, 'YYYY-MM-DD HH24:MI:SS').",
    ),
    (
        "STR_TO_DATE (",
        FUNCTION,
        "Write to_timestamp(text, 'YYYY-MM-DD HH24:MI:SS').",
    ),
    ("FROM_UNIXTIME (", FUNCTION, "Write to_timestamp(seconds)."),
    ("UNIX_TIMESTAMP (", FUNCTION, "Write extract(epoch FROM ts)."),
    (
        "DATEDIFF (",
        FUNCTION,
        "Subtract: a::date - b::date is the number of days.",
    ),
    (
        "DATE_ADD/DATE_SUB/DATEADD/TIMESTAMPADD/ADD_MONTHS (",
        FUNCTION,
        "Add or subtract an interval: ts + interval '1 day'.",
    ),
    (
        "TIMESTAMPDIFF (",
        FUNCTION,
        "Write extract(epoch FROM a - b), in seconds.",
    ),
    (
        "YEAR/MONTH/DAY/HOUR/MINUTE/SECOND/DAYOFWEEK/DAYOFYEAR/WEEK/QUARTER (",
        FUNCTION,
        "Write extract(year FROM ts), and so for month, day, hour, minute, second, week.",
    ),
    (
        "REGEXP_SUBSTR (",
        FUNCTION,
        "Write substring(text FROM 'pattern').",
    ),
    (
        "JSON_EXTRACT/JSON_EXTRACT_STRING/JSON_EXTRACT_LONG/JSON_EXTRACT_DOUBLE/JSON_VALUE (",
        FUNCTION,
        "Write doc ->> 'member', or doc #>> '{a,b}'; as a number (doc ->> 'n')::bigint.",
    ),
    (
        "JSON_CONTAINS (",
        FUNCTION,
        "Write doc @> '{\"member\": 1}'; the column is of type jsonb.",
    ),
    (
        "JSON_SET/JSON_REPLACE/JSON_UPSERT/JSON_INSERT (",
        FUNCTION,
        "Write jsonb_set(doc, '{member}', '1').",
    ),
    (
        "JSON_REMOVE (",
        FUNCTION,
        "Write doc - 'member', or doc #- '{a,b}'.",
    ),
    (
        "DATABASE/SCHEMA ( )",
        FUNCTION,
        "Write current_database(), or current_schema.",
    ),
    ("HEX (", FUNCTION, "Write encode(bytes, 'hex')."),
    ("UNHEX (", FUNCTION, "Write decode(text, 'hex')."),
    ("CURDATE (", FUNCTION, "Write current_date."),
    ("CURTIME (", FUNCTION, "Write localtime."),
    (
        "LAST_INSERT_ID/SCOPE_IDENTITY (",
        FUNCTION,
        "Write INSERT … RETURNING id, or lastval().",
    ),
    ("RAND (", FUNCTION, "Write random()."),
    ("UUID/NEWID/SYS_GUID (", FUNCTION, "Write gen_random_uuid()."),
    ("LCASE (", FUNCTION, "Write lower(text)."),
    ("UCASE (", FUNCTION, "Write upper(text)."),
    (
        "LOCATE/INSTR/CHARINDEX (",
        FUNCTION,
        "Write strpos(text, part), or position(part IN text).",
    ),
    (
        "START_WITH/STARTSWITH (",
        FUNCTION,
        "Write starts_with(text, prefix).",
    ),
];
