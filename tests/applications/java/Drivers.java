import java.io.*;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.postgresql.PGConnection;

/** pgjdbc in its query modes, with `all` in all of them: `Drivers [all] HOST PORT USER DATABASE`. Prints its steps, which are the same on Keyspan and on PostgreSQL. */
public class Drivers {
    interface Step { Object run(Connection c) throws Exception; }

    static Connection connection;
    static String mode = "";

    static void step(String name, Step step) {
        try {
            System.out.println(mode + " " + name + " OK " + step.run(connection));
        } catch (Throwable error) {
            String state = error instanceof SQLException ? ((SQLException) error).getSQLState() : "";
            System.out.println(mode + " " + name + " FAIL " + state + " " + ("42601".equals(state) ? "" : first(error)));
            try { if (!connection.getAutoCommit()) { connection.rollback(); connection.setAutoCommit(true); } } catch (SQLException ignored) { }
        }
    }

    static String first(Throwable error) { return String.valueOf(error.getMessage()).split("\n")[0]; }

    /** Rows as text, without some columns. */
    static String rows(ResultSet set, String... leave) throws SQLException {
        ResultSetMetaData meta = set.getMetaData();
        StringBuilder text = new StringBuilder();
        Set<String> left = new TreeSet<>(String.CASE_INSENSITIVE_ORDER);
        left.addAll(Arrays.asList(leave));
        for (int at = 1; at <= meta.getColumnCount(); at++) text.append(meta.getColumnLabel(at)).append(':').append(meta.getColumnTypeName(at)).append(' ');
        int count = 0;
        while (set.next()) {
            text.append('|');
            for (int at = 1; at <= meta.getColumnCount(); at++) {
                if (left.contains(meta.getColumnLabel(at))) continue;
                Object value = set.getObject(at);
                text.append(value instanceof byte[] ? Arrays.toString((byte[]) value) : String.valueOf(value).replace("\n", " ")).append(',');
            }
            count++;
        }
        set.close();
        return text + " rows " + count;
    }

    static String query(Connection c, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = c.prepareStatement(sql)) {
            for (int at = 0; at < values.length; at++) statement.setObject(at + 1, values[at]);
            return rows(statement.executeQuery());
        }
    }

    static String execute(Connection c, String... statements) throws SQLException {
        StringBuilder counts = new StringBuilder();
        try (Statement statement = c.createStatement()) {
            for (String sql : statements) { statement.execute(sql); counts.append(statement.getUpdateCount()).append(' '); }
        }
        return counts.toString();
    }

    static String state(Step step) throws Exception {
        try { step.run(connection); return "none"; } catch (SQLException error) { return error.getSQLState() + " " + first(error); }
    }

    static String described(ResultSetMetaData meta) throws SQLException {
        StringBuilder text = new StringBuilder();
        for (int at = 1; at <= meta.getColumnCount(); at++)
            text.append(meta.getColumnName(at)).append(' ').append(meta.getColumnTypeName(at)).append(' ').append(meta.getColumnType(at)).append(' ')
                .append(meta.getPrecision(at)).append(' ').append(meta.getScale(at)).append(' ').append(meta.isNullable(at)).append(' ').append(meta.isAutoIncrement(at))
                .append(' ').append(meta.getTableName(at)).append(' ').append(meta.getSchemaName(at)).append(' ').append(meta.getColumnClassName(at)).append(' ').append(meta.isSigned(at)).append(' ').append(meta.getColumnDisplaySize(at)).append(';');
        return text.toString();
    }

    static void statements() {
        step("tables", c -> execute(c, "DROP TABLE IF EXISTS lines, items, people CASCADE",
            "CREATE TABLE people (id serial PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, born date, paid numeric(12,2), tags text[], doc jsonb, made timestamptz DEFAULT now(), ok boolean, raw bytea, uid uuid, big bigint, small smallint, f real, d double precision, t time, ts timestamp)",
            "CREATE TABLE items (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, person integer REFERENCES people (id) ON DELETE CASCADE, price numeric(10,2) CHECK (price >= 0))",
            "CREATE TABLE lines (item bigint, line integer, note text, PRIMARY KEY (item, line), FOREIGN KEY (item) REFERENCES items (id))",
            "CREATE INDEX people_born ON people (born DESC, name)", "COMMENT ON TABLE people IS 'who buys'", "COMMENT ON COLUMN people.born IS 'a day'"));
        step("types", c -> {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO people (name, born, paid, tags, doc, ok, raw, uid, big, small, f, d, t, ts) VALUES (?, ?, ?, ?, ?::jsonb, ?, ?, ?, ?, ?, ?, ?, ?, ?)", Statement.RETURN_GENERATED_KEYS)) {
                s.setString(1, "ann"); s.setDate(2, java.sql.Date.valueOf("1990-02-03")); s.setBigDecimal(3, new BigDecimal("12.50"));
                s.setArray(4, c.createArrayOf("text", new String[] {"a", "b c", null})); s.setString(5, "{\"a\": [1, 2]}"); s.setBoolean(6, true);
                s.setBytes(7, new byte[] {0, 1, -1}); s.setObject(8, UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")); s.setLong(9, Long.MAX_VALUE);
                s.setShort(10, (short) -3); s.setFloat(11, 1.5f); s.setDouble(12, 2.25); s.setTime(13, Time.valueOf("10:11:12")); s.setTimestamp(14, Timestamp.valueOf("2024-01-02 03:04:05.678"));
                int count = s.executeUpdate();
                try (ResultSet keys = s.getGeneratedKeys()) { keys.next(); return count + " " + keys.getInt(1) + " " + keys.getString("name"); }
            }
        });
        step("java.time", c -> {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO people (name, born, ts, made, t) VALUES (?, ?, ?, ?, ?) RETURNING id, born, ts, made AT TIME ZONE 'UTC', t")) {
                s.setString(1, "bob"); s.setObject(2, LocalDate.of(2001, 2, 3)); s.setObject(3, LocalDateTime.of(2001, 2, 3, 4, 5, 6)); s.setObject(4, OffsetDateTime.of(2001, 2, 3, 4, 5, 6, 0, ZoneOffset.ofHours(2))); s.setObject(5, LocalTime.of(1, 2, 3));
                return rows(s.executeQuery());
            }
        });
        step("nulls", c -> {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO people (name, born, paid, ok, big, raw, uid, doc, tags, d) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
                s.setString(1, "cy"); s.setNull(2, Types.DATE); s.setNull(3, Types.NUMERIC); s.setNull(4, Types.BOOLEAN); s.setNull(5, Types.BIGINT); s.setNull(6, Types.BINARY); s.setNull(7, Types.OTHER); s.setNull(8, Types.OTHER); s.setNull(9, Types.ARRAY); s.setNull(10, Types.DOUBLE);
                return s.executeUpdate();
            }
        });
        step("read", c -> query(c, "SELECT id, name, born, paid, tags, doc, ok, raw, uid, big, small, f, d, t, ts FROM people WHERE name = ?", "ann"));
        step("read often", c -> {
            StringBuilder all = new StringBuilder();
            try (PreparedStatement s = c.prepareStatement("SELECT name, paid, d, ts, tags, uid, big FROM people WHERE id = ?")) {
                for (int at = 0; at < 12; at++) { s.setInt(1, 1 + at % 3); all.append(rows(s.executeQuery())); }
            }
            return all;
        });
        step("described", c -> { try (PreparedStatement s = c.prepareStatement("SELECT p.*, 1 AS one, 'x' AS x, count(*) OVER () FROM people p WHERE id = ? AND name LIKE ? AND paid > ?")) { return described(s.getMetaData()) + s.getParameterMetaData().getParameterCount() + s.getParameterMetaData().getParameterTypeName(1) + s.getParameterMetaData().getParameterTypeName(2) + s.getParameterMetaData().getParameterTypeName(3); } });
        step("batch", c -> {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO people (name, paid) VALUES (?, ?)")) {
                for (int at = 0; at < 300; at++) { s.setString(1, "p" + at); s.setBigDecimal(2, BigDecimal.valueOf(at)); s.addBatch(); }
                return s.executeBatch().length + " " + query(c, "SELECT count(*), sum(paid) FROM people");
            }
        });
        step("batch keys", c -> {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO items (person, price) VALUES (?, ?)", new String[] {"id"})) {
                for (int at = 0; at < 20; at++) { s.setInt(1, 1 + at % 3); s.setBigDecimal(2, BigDecimal.valueOf(at)); s.addBatch(); }
                s.executeBatch(); return rows(s.getGeneratedKeys());
            }
        });
        step("batch fails", c -> {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO people (name) VALUES (?)")) {
                for (String name : new String[] {"q1", "ann", "q2"}) { s.setString(1, name); s.addBatch(); }
                try { s.executeBatch(); return "none"; } catch (BatchUpdateException error) { return error.getSQLState() + Arrays.toString(error.getUpdateCounts()) + query(c, "SELECT count(*) FROM people WHERE name IN ('q1', 'q2')"); }
            }
        });
        step("statement batch", c -> { try (Statement s = c.createStatement()) { s.addBatch("UPDATE people SET paid = paid + 1 WHERE name = 'ann'"); s.addBatch("INSERT INTO lines VALUES (1, 1, 'x'), (1, 2, 'y')"); s.addBatch("DELETE FROM lines WHERE line = 2"); return Arrays.toString(s.executeBatch()); } });
        step("several statements", c -> { try (Statement s = c.createStatement()) { StringBuilder all = new StringBuilder(); boolean is = s.execute("SELECT 1 AS a; UPDATE people SET ok = false WHERE name = 'ann'; SELECT 2 AS b, ok FROM people WHERE name = 'ann'"); while (true) { if (is) all.append(rows(s.getResultSet())); else { int count = s.getUpdateCount(); if (count < 0) break; all.append(count).append(' '); } is = s.getMoreResults(); } return all; } });
        step("upsert", c -> { try (PreparedStatement s = c.prepareStatement("INSERT INTO people (name, paid) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET paid = people.paid + excluded.paid RETURNING paid")) { s.setString(1, "ann"); s.setBigDecimal(2, new BigDecimal("1.25")); return rows(s.executeQuery()); } });
        step("cursor", c -> { c.setAutoCommit(false); try (PreparedStatement s = c.prepareStatement("SELECT id, name FROM people ORDER BY id")) { s.setFetchSize(50); int n = 0; long sum = 0; try (ResultSet r = s.executeQuery()) { while (r.next()) { n++; sum += r.getInt(1); } } c.commit(); return n + " " + sum; } finally { c.setAutoCommit(true); } });
        step("scroll", c -> { try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY); ResultSet r = s.executeQuery("SELECT name FROM people ORDER BY id LIMIT 20")) { r.last(); int last = r.getRow(); r.absolute(3); String third = r.getString(1); r.previous(); return last + third + r.getString(1); } });
        step("updatable", c -> {
            try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                try (ResultSet r = s.executeQuery("SELECT id, name, paid FROM people WHERE name IN ('p1', 'p2', 'p3') ORDER BY id")) {
                    r.next(); r.updateString("name", "P1"); r.updateBigDecimal("paid", new BigDecimal("7.00")); r.updateRow();
                    r.next(); r.deleteRow();
                    r.moveToInsertRow(); r.updateString("name", "fresh"); r.updateInt("id", 9000); r.updateBigDecimal("paid", BigDecimal.ONE); r.insertRow(); r.moveToCurrentRow();
                    r.first(); r.refreshRow();
                }
            }
            return query(c, "SELECT id, name, paid FROM people WHERE name IN ('P1', 'p1', 'p2', 'p3', 'fresh') ORDER BY name");
        });
        step("updatable composite", c -> { execute(c, "INSERT INTO lines VALUES (2, 1, 'a'), (2, 2, 'b')"); try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE)) { try (ResultSet r = s.executeQuery("SELECT * FROM lines WHERE item = 2 ORDER BY line")) { while (r.next()) { r.updateString("note", r.getString("note") + "!"); r.updateRow(); } } } return query(c, "SELECT * FROM lines WHERE item = 2 ORDER BY line"); });
        step("savepoints", c -> {
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.execute("INSERT INTO people (name) VALUES ('s1')");
                Savepoint one = c.setSavepoint(), two = c.setSavepoint("two words");
                String failed = state(x -> execute(x, "INSERT INTO people (name) VALUES ('ann')"));
                c.rollback(two); s.execute("INSERT INTO people (name) VALUES ('s2')"); c.releaseSavepoint(one); c.commit();
                return failed + query(c, "SELECT name FROM people WHERE name IN ('s1', 's2') ORDER BY 1");
            } finally { c.setAutoCommit(true); }
        });
        step("failed transaction", c -> { c.setAutoCommit(false); try { String first = state(x -> execute(x, "SELECT 1/0")); String second = state(x -> execute(x, "SELECT 1")); c.rollback(); return first + second; } finally { c.setAutoCommit(true); } });
        step("isolation", c -> { StringBuilder all = new StringBuilder(); for (int level : new int[] {1, 2, 4, 8}) { c.setTransactionIsolation(level); all.append(c.getTransactionIsolation()); } c.setTransactionIsolation(2); c.setReadOnly(true); c.setAutoCommit(false); all.append(state(x -> execute(x, "DELETE FROM lines"))); c.rollback(); c.setReadOnly(false); c.setAutoCommit(true); return all; });
        step("constraints", c -> state(x -> execute(x, "INSERT INTO items (person, price) VALUES (99999, 1)")) + state(x -> execute(x, "INSERT INTO items (person, price) VALUES (1, -1)")) + state(x -> execute(x, "INSERT INTO people (name) VALUES (NULL)")) + state(x -> execute(x, "INSERT INTO people (name) VALUES (repeat('x', 50))")) + state(x -> execute(x, "INSERT INTO items (id, price) VALUES (1, 1)")));
        step("server error", c -> { try { execute(c, "INSERT INTO people (name) VALUES ('ann')"); return ""; } catch (org.postgresql.util.PSQLException error) { var e = error.getServerErrorMessage(); return e.getSchema() + e.getTable() + e.getColumn() + e.getConstraint() + e.getDetail(); } });
        step("arrays", c -> { try (PreparedStatement s = c.prepareStatement("SELECT name FROM people WHERE id = ANY (?) ORDER BY 1")) { s.setArray(1, c.createArrayOf("integer", new Integer[] {1, 3})); return rows(s.executeQuery()); } });
        step("array values", c -> { try (PreparedStatement s = c.prepareStatement("SELECT ?::int[], ?::text[], ?::numeric[], ?::timestamp[], ARRAY[[1,2],[3,4]]")) { s.setArray(1, c.createArrayOf("int4", new Integer[] {1, null})); s.setObject(2, new String[] {"a,b", "\"q\""}); s.setArray(3, c.createArrayOf("numeric", new BigDecimal[] {new BigDecimal("1.10")})); s.setArray(4, c.createArrayOf("timestamp", new Timestamp[] {Timestamp.valueOf("2024-01-01 00:00:00")})); return rows(s.executeQuery()); } });
        step("array rows", c -> { try (ResultSet r = c.createStatement().executeQuery("SELECT tags FROM people WHERE name = 'ann'")) { r.next(); Array a = r.getArray(1); return a.getBaseTypeName() + a.getBaseType() + Arrays.toString((Object[]) a.getArray()) + rows(a.getResultSet()); } });
        step("streams", c -> { try (PreparedStatement s = c.prepareStatement("UPDATE people SET raw = ? WHERE name = ? RETURNING raw, length(raw)")) { byte[] data = new byte[5000]; s.setBinaryStream(1, new ByteArrayInputStream(data), data.length); s.setString(2, "bob"); try (ResultSet r = s.executeQuery()) { r.next(); return r.getBinaryStream(1).readAllBytes().length + " " + r.getInt(2); } } });
        step("xml and pgobject", c -> { org.postgresql.util.PGobject json = new org.postgresql.util.PGobject(); json.setType("jsonb"); json.setValue("{\"k\": true}"); try (PreparedStatement s = c.prepareStatement("UPDATE people SET doc = ? WHERE name = 'bob' RETURNING doc, doc->>'k', doc ?? 'k'")) { s.setObject(1, json); return rows(s.executeQuery()); } });
        step("interval", c -> { try (PreparedStatement s = c.prepareStatement("SELECT ?::interval + interval '1 day', timestamp '2024-01-31' + ?")) { var i = new org.postgresql.util.PGInterval(0, 1, 2, 3, 4, 5.5); s.setObject(1, i); s.setObject(2, i); return rows(s.executeQuery()); } });
        step("escapes", c -> query(c, "SELECT {fn ucase('a')}, {d '2024-01-02'}, {ts '2024-01-02 03:04:05'}, {fn concat('a', 'b')}, {fn length('abc')}, {fn year(date '2024-01-02')}, {fn timestampadd(SQL_TSI_DAY, 1, date '2024-01-02')}, {fn mod(7, 3)}, {fn ifnull(NULL, 1)}, {fn locate('b', 'abc')}") + query(c, "SELECT name FROM people WHERE name LIKE 'a|_%' {escape '|'} OR name = 'ann'"));
        step("max rows", c -> { try (Statement s = c.createStatement()) { s.setMaxRows(2); s.setQueryTimeout(5); return rows(s.executeQuery("SELECT name FROM people ORDER BY id")); } });
        step("cancel", c -> { try (Statement s = c.createStatement()) { s.setQueryTimeout(1); return state(x -> s.execute("SELECT pg_sleep(20)")); } });
        step("notices", c -> { try (Statement s = c.createStatement()) { s.execute("DROP TABLE IF EXISTS nothing_there"); return s.getWarnings() == null ? "none" : s.getWarnings().getSQLState() + s.getWarnings().getMessage(); } });
        step("client info", c -> { c.setClientInfo("ApplicationName", "app one"); return c.getClientInfo("ApplicationName") + query(c, "SHOW application_name"); });
        step("schema", c -> { execute(c, "CREATE SCHEMA IF NOT EXISTS other", "DROP TABLE IF EXISTS other.t", "CREATE TABLE other.t (a int PRIMARY KEY)"); c.setSchema("other"); String now = c.getSchema() + query(c, "SELECT current_schema(), count(*) FROM t"); c.setSchema("public"); return now + c.getCatalog().length() / 100; });
        step("ddl in a transaction", c -> { c.setAutoCommit(false); execute(c, "CREATE TABLE gone (a int PRIMARY KEY, b text)", "INSERT INTO gone VALUES (1, 'x')", "ALTER TABLE gone ADD COLUMN c int DEFAULT 5"); String seen = query(c, "SELECT * FROM gone"); c.rollback(); c.setAutoCommit(true); return seen + state(x -> execute(x, "SELECT * FROM gone")); });
        step("altered under a statement", c -> { execute(c, "DROP TABLE IF EXISTS alt", "CREATE TABLE alt (a int PRIMARY KEY)", "INSERT INTO alt VALUES (1)"); try (PreparedStatement s = c.prepareStatement("SELECT * FROM alt")) { for (int at = 0; at < 8; at++) rows(s.executeQuery()); execute(c, "ALTER TABLE alt ADD COLUMN b int DEFAULT 2"); return rows(s.executeQuery()); } });
        step("lock", c -> { c.setAutoCommit(false); String got = query(c, "SELECT id, name FROM people WHERE id = 1 FOR UPDATE") + query(c, "SELECT id FROM people WHERE id = 2 FOR NO KEY UPDATE SKIP LOCKED") + query(c, "SELECT p.id FROM people p JOIN items i ON i.person = p.id WHERE p.id = 1 ORDER BY i.id LIMIT 1 FOR SHARE OF p NOWAIT"); c.commit(); c.setAutoCommit(true); return got; });
        step("function calls", c -> {
            execute(c, "CREATE OR REPLACE FUNCTION add_tax(amount numeric, rate numeric DEFAULT 0.1) RETURNS numeric LANGUAGE sql AS $$ SELECT round(amount * (1 + rate), 2) $$", "CREATE OR REPLACE FUNCTION twice(a int, OUT b int, OUT c int) LANGUAGE plpgsql AS $$ BEGIN b := a * 2; c := a * 3; END $$");
            String all = "";
            try (CallableStatement call = c.prepareCall("{? = call add_tax(?, ?)}")) { call.registerOutParameter(1, Types.NUMERIC); call.setBigDecimal(2, new BigDecimal("10")); call.setBigDecimal(3, new BigDecimal("0.25")); call.execute(); all += call.getBigDecimal(1); }
            try (CallableStatement call = c.prepareCall("{? = call upper(?)}")) { call.registerOutParameter(1, Types.VARCHAR); call.setString(2, "abc"); call.execute(); all += call.getString(1); }
            try (CallableStatement call = c.prepareCall("{call twice(?, ?, ?)}")) { call.setInt(1, 4); call.registerOutParameter(2, Types.INTEGER); call.registerOutParameter(3, Types.INTEGER); call.execute(); all += call.getInt(2) + " " + call.getInt(3); }
            return all;
        });
        step("procedure calls", c -> { execute(c, "CREATE OR REPLACE PROCEDURE note_line(p_item bigint, p_line int, p_note text) LANGUAGE sql AS $$ INSERT INTO lines VALUES (p_item, p_line, p_note) $$"); try (CallableStatement call = c.prepareCall("call note_line(?, ?, ?)")) { call.setLong(1, 3); call.setInt(2, 1); call.setString(3, "called"); call.execute(); } return query(c, "SELECT * FROM lines WHERE item = 3"); });
        step("ref cursor", c -> { execute(c, "CREATE OR REPLACE FUNCTION open_people() RETURNS refcursor LANGUAGE plpgsql AS $$ DECLARE r refcursor; BEGIN OPEN r FOR SELECT id, name FROM people WHERE id < 3 ORDER BY id; RETURN r; END $$"); c.setAutoCommit(false); try (CallableStatement call = c.prepareCall("{? = call open_people()}")) { call.registerOutParameter(1, Types.REF_CURSOR); call.execute(); return rows((ResultSet) call.getObject(1)); } finally { c.rollback(); c.setAutoCommit(true); } });
        step("notifications", c -> { execute(c, "LISTEN news", "NOTIFY news, 'hello'"); var got = c.unwrap(PGConnection.class).getNotifications(2000); execute(c, "UNLISTEN *"); return got.length + got[0].getName() + got[0].getParameter(); });
        step("copy", c -> { var copy = c.unwrap(PGConnection.class).getCopyAPI(); long in = copy.copyIn("COPY lines (item, line, note) FROM STDIN WITH (FORMAT csv)", new StringReader("4,1,one\n4,2,\"two, three\"\n")); StringWriter out = new StringWriter(); long n = copy.copyOut("COPY (SELECT * FROM lines WHERE item = 4 ORDER BY line) TO STDOUT", out); return in + " " + n + out.toString().replace("\n", "/"); });
        step("large object", c -> { c.setAutoCommit(false); try { var api = c.unwrap(PGConnection.class).getLargeObjectAPI(); return api.createLO() > 0; } finally { c.rollback(); c.setAutoCommit(true); } });
        step("prepared xids", c -> state(x -> { x.setAutoCommit(false); execute(x, "INSERT INTO lines VALUES (5, 5, 'x')"); execute(x, "ROLLBACK"); x.setAutoCommit(true); return ""; }));
        step("valid", c -> c.isValid(2) + " " + c.getNetworkTimeout());
    }

    static void metadata() {
        step("metadata names", c -> { DatabaseMetaData m = c.getMetaData(); return m.getDatabaseProductName() + m.getDatabaseMajorVersion() + m.getMaxColumnNameLength() + m.getIdentifierQuoteString() + m.supportsSavepoints() + m.getSQLKeywords().length() + m.getNumericFunctions().length() + m.getDefaultTransactionIsolation(); });
        step("schemas", c -> rows(c.getMetaData().getSchemas(), "TABLE_CATALOG") + rows(c.getMetaData().getSchemas(null, "pub%"), "TABLE_CATALOG"));
        step("catalogs", c -> c.getMetaData().getCatalogs().next());
        step("table types", c -> rows(c.getMetaData().getTableTypes()));
        step("type info", c -> rows(c.getMetaData().getTypeInfo()).replaceAll("\\|[^|]*(?=\\|)", "").length() > 0);
        step("tables", c -> rows(c.getMetaData().getTables(null, "public", "%", new String[] {"TABLE", "VIEW"}), "TABLE_CAT") + rows(c.getMetaData().getTables(null, "public", "%", null), "TABLE_CAT"));
        step("columns", c -> rows(c.getMetaData().getColumns(null, "public", "%", "%"), "TABLE_CAT"));
        step("primary keys", c -> rows(c.getMetaData().getPrimaryKeys(null, "public", "lines"), "TABLE_CAT") + rows(c.getMetaData().getPrimaryKeys(null, null, "people"), "TABLE_CAT"));
        step("imported keys", c -> rows(c.getMetaData().getImportedKeys(null, "public", "lines")) + rows(c.getMetaData().getImportedKeys(null, null, "items")));
        step("exported keys", c -> rows(c.getMetaData().getExportedKeys(null, "public", "people")));
        step("cross reference", c -> rows(c.getMetaData().getCrossReference(null, "public", "items", null, "public", "lines")));
        step("indexes", c -> rows(c.getMetaData().getIndexInfo(null, "public", "people", false, false), "TABLE_CAT", "CARDINALITY", "PAGES") + rows(c.getMetaData().getIndexInfo(null, "public", "people", true, true), "TABLE_CAT", "CARDINALITY", "PAGES"));
        step("best row", c -> rows(c.getMetaData().getBestRowIdentifier(null, "public", "lines", DatabaseMetaData.bestRowSession, true)));
        step("version columns", c -> rows(c.getMetaData().getVersionColumns(null, "public", "people")));
        step("functions", c -> rows(c.getMetaData().getFunctions(null, "public", "%"), "FUNCTION_CAT", "SPECIFIC_NAME") + rows(c.getMetaData().getFunctionColumns(null, "public", "%", "%"), "FUNCTION_CAT", "SPECIFIC_NAME"));
        step("procedures", c -> rows(c.getMetaData().getProcedures(null, "public", "%"), "PROCEDURE_CAT", "SPECIFIC_NAME") + rows(c.getMetaData().getProcedureColumns(null, "public", "%", "%"), "PROCEDURE_CAT", "SPECIFIC_NAME"));
        step("privileges", c -> rows(c.getMetaData().getTablePrivileges(null, "public", "people"), "TABLE_CAT", "GRANTOR", "GRANTEE") + rows(c.getMetaData().getColumnPrivileges(null, "public", "lines", "%"), "TABLE_CAT", "GRANTOR", "GRANTEE"));
        step("udts", c -> rows(c.getMetaData().getUDTs(null, "public", "%", null), "TYPE_CAT"));
        step("client infos", c -> rows(c.getMetaData().getClientInfoProperties()));
    }

    public static void main(String[] arguments) throws Exception {
        boolean all = arguments[0].equals("all");
        String[] a = Arrays.copyOfRange(arguments, all ? 1 : 0, arguments.length);
        String url = "jdbc:postgresql://" + a[0] + ":" + a[1] + "/" + a[3] + "?user=" + a[2] + "&ApplicationName=drivers&options=-c%20TimeZone=UTC";
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        String[] modes = {"preferQueryMode=simple", "preferQueryMode=extended", "preferQueryMode=extendedForPrepared", "preferQueryMode=extendedCacheEverything&prepareThreshold=1",
            "prepareThreshold=-1&binaryTransfer=true", "prepareThreshold=0", "reWriteBatchedInserts=true", "autosave=always&cleanupSavepoints=true", "autosave=conservative&defaultRowFetchSize=7", "stringtype=unspecified"};
        for (String options : all ? modes : new String[] {modes[0], modes[4], modes[7]}) {
            mode = options.replaceAll("[^=&]*=", "").replace('&', '+');
            connection = DriverManager.getConnection(url + "&" + options);
            statements();
            connection.close();
        }
        mode = "metadata";
        connection = DriverManager.getConnection(url);
        metadata();
    }
}
