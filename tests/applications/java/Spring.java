import com.zaxxer.hikari.*;
import java.math.BigDecimal;
import java.sql.*;
import java.util.*;
import java.util.concurrent.*;
import javax.sql.DataSource;
import org.springframework.dao.*;
import org.springframework.jdbc.core.*;
import org.springframework.jdbc.core.namedparam.*;
import org.springframework.jdbc.core.simple.*;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.transaction.*;
import org.springframework.transaction.support.*;

/** Spring's JDBC over HikariCP, and the statements of Flyway: `Spring HOST PORT USER DATABASE`. Prints its steps, which are the same on
 * Keyspan and on PostgreSQL. */
public class Spring {
    interface Step { Object run() throws Exception; }

    static void step(String name, Step step) {
        try {
            System.out.println(name + " OK " + step.run());
        } catch (Throwable error) {
            Throwable cause = error;
            while (cause.getCause() != null && cause.getCause() != cause) cause = cause.getCause();
            System.out.println(name + " FAIL " + error.getClass().getSimpleName() + " " + String.valueOf(cause.getMessage()).split("\n")[0]);
        }
    }

    public static void main(String[] a) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://" + a[0] + ":" + a[1] + "/" + a[3] + "?options=-c%20TimeZone=UTC");
        config.setUsername(a[2]);
        config.setPassword("x");
        config.setMaximumPoolSize(4);
        config.setAutoCommit(true);
        config.setConnectionTestQuery("SELECT 1");
        config.setConnectionInitSql("SET lock_timeout = '5s'");
        config.setTransactionIsolation("TRANSACTION_REPEATABLE_READ");
        config.addDataSourceProperty("ApplicationName", "spring");
        HikariDataSource source = new HikariDataSource(config);
        JdbcTemplate jdbc = new JdbcTemplate(source);
        NamedParameterJdbcTemplate named = new NamedParameterJdbcTemplate(source);
        TransactionTemplate transaction = new TransactionTemplate(new DataSourceTransactionManager(source));
        step("pool", () -> jdbc.queryForObject("SHOW lock_timeout", String.class) + jdbc.queryForObject("SHOW transaction_isolation", String.class) + jdbc.queryForObject("SHOW application_name", String.class));
        step("flyway", () -> flyway(source));
        step("update", () -> jdbc.update("INSERT INTO person (name, age) VALUES (?, ?)", "ann", 30) + jdbc.update("INSERT INTO person (name, age, paid) VALUES (?, ?, ?)", "bob", null, new BigDecimal("1.50")));
        step("keys", () -> { GeneratedKeyHolder keys = new GeneratedKeyHolder(); jdbc.update(c -> { PreparedStatement s = c.prepareStatement("INSERT INTO person (name) VALUES (?)", new String[] {"id"}); s.setString(1, "cy"); return s; }, keys); return keys.getKey(); });
        step("simple insert", () -> new SimpleJdbcInsert(source).withTableName("person").usingGeneratedKeyColumns("id").usingColumns("name", "age").executeAndReturnKey(Map.of("name", "dee", "age", 5)));
        step("simple call", () -> new SimpleJdbcCall(source).withFunctionName("next_age").withoutProcedureColumnMetaDataAccess().declareParameters(new SqlOutParameter("returned", Types.INTEGER), new SqlParameter("p", Types.INTEGER)).execute(4).get("returned"));
        step("batch", () -> Arrays.stream(jdbc.batchUpdate("INSERT INTO person (name, age) VALUES (?, ?)", List.of(new Object[] {"e", 1}, new Object[] {"f", 2}), new int[] {Types.VARCHAR, Types.INTEGER})).sum());
        step("named batch", () -> Arrays.stream(named.batchUpdate("UPDATE person SET age = :age WHERE name = :name", new SqlParameterSource[] {new MapSqlParameterSource("age", 7).addValue("name", "e"), new MapSqlParameterSource("age", 8).addValue("name", "none")})).sum());
        step("query", () -> jdbc.queryForList("SELECT name, age, paid FROM person ORDER BY id"));
        step("row mapper", () -> jdbc.query("SELECT id, name FROM person WHERE age > ? ORDER BY id", (row, at) -> at + row.getString("name"), 4));
        step("bean", () -> jdbc.query("SELECT id, name, age FROM person WHERE name = 'ann'", new BeanPropertyRowMapper<>(Person.class)).get(0).getName());
        step("in list", () -> named.queryForList("SELECT name FROM person WHERE name IN (:names) AND (:age::int IS NULL OR age = :age) ORDER BY 1", new MapSqlParameterSource("names", List.of("ann", "bob")).addValue("age", null, Types.INTEGER), String.class));
        step("duplicate", () -> { try { jdbc.update("INSERT INTO person (id, name) VALUES (1, 'x')"); return ""; } catch (DuplicateKeyException error) { return "duplicate"; } });
        step("integrity", () -> { try { jdbc.update("INSERT INTO person (name) VALUES (NULL)"); return ""; } catch (DataIntegrityViolationException error) { return "integrity"; } });
        step("grammar", () -> { try { jdbc.update("INSER INTO person"); return ""; } catch (org.springframework.jdbc.BadSqlGrammarException error) { return "grammar"; } });
        step("rollback", () -> { try { transaction.execute(status -> { jdbc.update("DELETE FROM person"); throw new IllegalStateException("back"); }); } catch (IllegalStateException error) { } return jdbc.queryForObject("SELECT count(*) FROM person", Integer.class); });
        step("nested", () -> { TransactionTemplate nested = new TransactionTemplate(transaction.getTransactionManager()); nested.setPropagationBehavior(TransactionDefinition.PROPAGATION_NESTED); return transaction.execute(status -> { jdbc.update("INSERT INTO person (name) VALUES ('outer')"); try { nested.execute(inner -> { jdbc.update("INSERT INTO person (name) VALUES ('inner')"); throw new IllegalStateException(); }); } catch (IllegalStateException error) { } return jdbc.queryForList("SELECT name FROM person WHERE name IN ('outer', 'inner')", String.class); }); });
        step("read only", () -> { TransactionTemplate only = new TransactionTemplate(transaction.getTransactionManager()); only.setReadOnly(true); only.setIsolationLevel(TransactionDefinition.ISOLATION_SERIALIZABLE); only.setTimeout(5); return only.execute(status -> { try { jdbc.update("DELETE FROM person"); return "deleted"; } catch (DataAccessException error) { return "refused"; } }); });
        step("conflict", () -> { String[] first = new String[1]; transaction.setIsolationLevel(TransactionDefinition.ISOLATION_REPEATABLE_READ); try { transaction.execute(status -> { jdbc.queryForObject("SELECT age FROM person WHERE id = 1", Integer.class); CompletableFuture.runAsync(() -> jdbc.update("UPDATE person SET age = age + 1 WHERE id = 1")).join(); jdbc.update("UPDATE person SET age = age + 10 WHERE id = 1"); return null; }); return "none"; } catch (ConcurrencyFailureException error) { return "conflict"; } });
        step("threads", () -> { ExecutorService threads = Executors.newFixedThreadPool(8); List<Future<Integer>> all = new ArrayList<>(); for (int n = 0; n < 40; n++) { int k = n; all.add(threads.submit(() -> jdbc.update("INSERT INTO person (name, age) VALUES (?, ?)", "t" + k, k))); } int sum = 0; for (Future<Integer> one : all) sum += one.get(); threads.shutdown(); return sum; });
        step("stream", () -> { JdbcTemplate paged = new JdbcTemplate(source); paged.setFetchSize(5); int[] n = {0}; paged.query("SELECT id FROM person", row -> { n[0]++; }); return n[0]; });
        source.close();
        System.exit(0);
    }

    /** What Flyway 9 sends to PostgreSQL for two migrations of which the second is not transactional. */
    static Object flyway(DataSource source) throws SQLException {
        StringBuilder all = new StringBuilder();
        try (Connection c = source.getConnection(); Statement s = c.createStatement()) {
            for (String sql : List.of("SELECT current_user", "SELECT CASE WHEN current_setting('server_version_num')::int > 0 THEN 1 END", "SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'public'", "SHOW search_path", "SELECT current_schema",
                "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'public')",
                "SELECT EXISTS (SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_depend d ON d.objid = c.oid AND d.deptype = 'e' WHERE n.nspname = 'public' AND d.objid IS NULL AND c.relkind IN ('r', 'v', 'S', 't') UNION ALL SELECT t.oid FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_catalog.pg_depend d ON d.objid = t.oid AND d.deptype = 'e' WHERE n.nspname = 'public' AND d.objid IS NULL AND t.typcategory NOT IN ('A', 'C') UNION ALL SELECT p.oid FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace LEFT JOIN pg_catalog.pg_depend d ON d.objid = p.oid AND d.deptype = 'e' WHERE n.nspname = 'public' AND d.objid IS NULL)",
                "SELECT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = 'public' AND table_name = 'flyway_schema_history')",
                "SELECT EXISTS(SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relname = 'flyway_schema_history' AND c.relkind = 'r')")) {
                try (ResultSet r = s.executeQuery(sql)) { r.next(); all.append(sql.contains("current_user") ? "" : r.getString(1)).append(' '); }
            }
            c.setAutoCommit(false);
            s.execute("CREATE TABLE \"public\".\"flyway_schema_history\" (\n    \"installed_rank\" INT NOT NULL,\n    \"version\" VARCHAR(50),\n    \"description\" VARCHAR(200) NOT NULL,\n    \"type\" VARCHAR(20) NOT NULL,\n    \"script\" VARCHAR(1000) NOT NULL,\n    \"checksum\" INTEGER,\n    \"installed_by\" VARCHAR(100) NOT NULL,\n    \"installed_on\" TIMESTAMP NOT NULL DEFAULT now(),\n    \"execution_time\" INTEGER NOT NULL,\n    \"success\" BOOLEAN NOT NULL\n) WITH (\n  OIDS=FALSE\n)");
            s.execute("ALTER TABLE \"public\".\"flyway_schema_history\" ADD CONSTRAINT \"flyway_schema_history_pk\" PRIMARY KEY (\"installed_rank\")");
            s.execute("CREATE INDEX \"flyway_schema_history_s_idx\" ON \"public\".\"flyway_schema_history\" (\"success\")");
            c.commit();
            s.execute("SELECT pg_try_advisory_xact_lock(77431708279161)");
            s.execute("SELECT * FROM \"public\".\"flyway_schema_history\" WHERE 1 = 0 FOR UPDATE");
            s.execute("LOCK TABLE \"public\".\"flyway_schema_history\" IN SHARE UPDATE EXCLUSIVE MODE");
            s.execute("SET ROLE " + c.getMetaData().getUserName());
            s.execute("SELECT set_config('search_path', '\"public\"', false)");
            s.execute("CREATE TABLE person (id serial PRIMARY KEY, name text NOT NULL, age int, paid numeric(10, 2) DEFAULT 0);\nCREATE FUNCTION next_age(p int) RETURNS int LANGUAGE sql AS $$ SELECT p + 1 $$;\nCOMMENT ON TABLE person IS 'a; b'");
            history(c, 1, "1", "first");
            c.commit();
            c.setAutoCommit(true);
            s.execute("CREATE INDEX CONCURRENTLY person_name ON person (name)");
            history(c, 2, "2", "second");
            try (ResultSet r = s.executeQuery("SELECT \"installed_rank\",\"version\",\"description\",\"type\",\"script\",\"checksum\",\"success\" FROM \"public\".\"flyway_schema_history\" WHERE \"installed_rank\" > -1 ORDER BY \"installed_rank\"")) {
                while (r.next()) all.append(r.getInt(1)).append(r.getString(2)).append(r.getString(3)).append(r.getBoolean(7)).append(' ');
            }
            for (String sql : List.of("SELECT proname, oidvectortypes(proargtypes) AS args, pg_proc.prokind AS prokind FROM pg_proc INNER JOIN pg_namespace ns ON (pg_proc.pronamespace = ns.oid) LEFT JOIN pg_depend dep ON dep.objid = pg_proc.oid AND dep.deptype = 'e' WHERE pg_proc.prokind <> 'a' AND ns.nspname = 'public' AND dep.objid IS NULL",
                "SELECT t.table_name FROM information_schema.tables t LEFT JOIN pg_depend dep ON dep.objid = (quote_ident(t.table_schema)||'.'||quote_ident(t.table_name))::regclass::oid AND dep.deptype = 'e' WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND dep.objid IS NULL AND NOT (SELECT EXISTS (SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhrelid = (quote_ident(t.table_schema)||'.'||quote_ident(t.table_name))::regclass::oid)) ORDER BY 1",
                "SELECT relname FROM pg_catalog.pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'm' AND n.nspname = 'public'", "SELECT sequence_name FROM information_schema.sequences WHERE sequence_schema = 'public'",
                "SELECT typname, typcategory FROM pg_catalog.pg_type t LEFT JOIN pg_depend dep ON dep.objid = t.oid AND dep.deptype = 'e' WHERE (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid)) AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_type el WHERE el.oid = t.typelem AND el.typarray = t.oid) AND t.typnamespace IN (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'public') AND dep.objid IS NULL AND t.typtype <> 'd'",
                "SELECT domain_name FROM information_schema.domains WHERE domain_schema = 'public'", "SELECT extname FROM pg_extension ORDER BY 1")) {
                try (ResultSet r = s.executeQuery(sql)) { while (r.next()) all.append(r.getString(1)).append(' '); }
            }
        }
        return all;
    }

    static void history(Connection c, int rank, String version, String description) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("INSERT INTO \"public\".\"flyway_schema_history\" (\"installed_rank\", \"version\", \"description\", \"type\", \"script\", \"checksum\", \"installed_by\", \"execution_time\", \"success\") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
            s.setInt(1, rank); s.setString(2, version); s.setString(3, description); s.setString(4, "SQL"); s.setString(5, "V" + version + ".sql"); s.setInt(6, 5); s.setString(7, "app"); s.setInt(8, 3); s.setBoolean(9, true);
            s.executeUpdate();
        }
    }

    public static class Person {
        private String name;
        private Integer age;
        private int id;
        public String getName() { return name; }
        public void setName(String name) { this.name = name; }
        public void setAge(Integer age) { this.age = age; }
        public void setId(int id) { this.id = id; }
    }
}
