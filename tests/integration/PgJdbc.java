// What a Java program does with Keyspan through pgjdbc: started by clients.rs with the JDBC URL as its argument.
import java.math.BigDecimal;
import java.io.StringReader;
import java.io.StringWriter;
import java.sql.*;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyManager;
import org.postgresql.largeobject.LargeObject;
import org.postgresql.largeobject.LargeObjectManager;

public class PgJdbc {
    static void check(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
        System.out.println(what);
    }

    static String sqlState(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
            return "no error";
        } catch (SQLException error) {
            return error.getSQLState();
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE payments (channel varchar(20), id int, paid timestamp, amount numeric(12,2),"
                    + " note text, done boolean, PRIMARY KEY (channel, id))");
            }
            insertAndRead(connection);
            fetchInPages(connection);
            transactions(connection);
            metadata(connection);
            copy(connection);
            largeObjects(connection);
            check(sqlState(connection, "SELECT * FROM nowhere").equals("42P01"), "undefined table is 42P01");
            check(sqlState(connection, "SELECT * FROM payments WHERE note = 'x'").equals("53400"), "full scan is 53400");
        }
        System.out.println("all done");
    }

    static void copy(Connection connection) throws Exception {
        CopyManager copies = connection.unwrap(PGConnection.class).getCopyAPI();
        String data = "channel,id,note\ncopied,1,\"a,b\"\ncopied,2,\n";
        long rows = copies.copyIn("COPY payments (channel, id, note) FROM STDIN (FORMAT csv, HEADER)", new StringReader(data));
        check(rows == 2, "COPY takes two rows");
        StringWriter out = new StringWriter();
        rows = copies.copyOut("COPY (SELECT channel, id, note FROM payments WHERE channel = 'copied') TO STDOUT CSV HEADER", out);
        check(rows == 2 && out.toString().equals(data), "COPY gives them back");
        CopyIn given = copies.copyIn("COPY payments (channel, id) FROM STDIN");
        given.writeToCopy("copied\t3\n".getBytes(), 0, 9);
        given.cancelCopy();
        check(sqlState(connection, "COPY payments FROM STDIN (FORMAT nothing)").equals("22023"), "a format that is none is 22023");
        try {
            copies.copyIn("COPY payments (channel, id) FROM STDIN", new StringReader("copied\tx\n"));
            throw new AssertionError("x is no number");
        } catch (SQLException error) {
            check(error.getSQLState().equals("22P02"), "what is no number is 22P02");
        }
    }

    static void largeObjects(Connection connection) throws Exception {
        connection.setAutoCommit(false);
        LargeObjectManager objects = connection.unwrap(PGConnection.class).getLargeObjectAPI();
        byte[] bytes = new byte[100_000];
        for (int at = 0; at < bytes.length; at++) bytes[at] = (byte) (at * 7);
        long oid = objects.createLO(LargeObjectManager.READWRITE);
        try (LargeObject object = objects.open(oid, LargeObjectManager.READWRITE)) {
            object.write(bytes);
            object.seek64(50_000, LargeObject.SEEK_SET);
            object.write(new byte[] {1, 2, 3});
            check(object.size64() == bytes.length && object.tell64() == 50_003, "a large object is written in the middle");
        }
        connection.commit();
        System.arraycopy(new byte[] {1, 2, 3}, 0, bytes, 50_000, 3);
        try (LargeObject object = objects.open(oid, LargeObjectManager.READ)) {
            check(java.util.Arrays.equals(object.getInputStream().readAllBytes(), bytes), "and streamed back");
        }
        objects.delete(oid);
        connection.commit();
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE attachments (id int PRIMARY KEY, content oid)");
        }
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO attachments VALUES (1, ?)")) {
            insert.setBlob(1, new java.io.ByteArrayInputStream(bytes));
            insert.executeUpdate();
        }
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT content FROM attachments WHERE id = 1")) {
            rows.next();
            Blob blob = rows.getBlob(1);
            check(blob.length() == bytes.length && blob.getBytes(50_001, 3)[2] == 3, "a blob is read and written");
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    static void insertAndRead(Connection connection) throws SQLException {
        Timestamp paid = Timestamp.valueOf("2024-01-20 21:35:02.123456");
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO payments VALUES (?, ?, ?, ?, ?, ?)")) {
            for (int id = 0; id < 500; id++) {
                insert.setString(1, id % 2 == 0 ? "alipay" : "wechat");
                insert.setInt(2, id);
                insert.setTimestamp(3, paid);
                insert.setBigDecimal(4, new BigDecimal("19.90").add(BigDecimal.valueOf(id)));
                if (id % 10 == 0) insert.setNull(5, Types.VARCHAR); else insert.setString(5, "größer " + id);
                insert.setBoolean(6, id % 3 == 0);
                insert.addBatch();
            }
            check(insert.executeBatch().length == 500, "a batch inserts 500 rows");
        }
        // More than five executions: the driver changes to a server-prepared statement and binary transfer.
        try (PreparedStatement select = connection.prepareStatement("SELECT * FROM payments WHERE channel = ? AND id = ?")) {
            for (int id = 0; id < 20; id++) {
                select.setString(1, id % 2 == 0 ? "alipay" : "wechat");
                select.setInt(2, id);
                try (ResultSet row = select.executeQuery()) {
                    if (!row.next()) throw new AssertionError("row " + id + " is missing");
                    if (!row.getTimestamp("paid").equals(paid)) throw new AssertionError(row.getString("paid"));
                    BigDecimal amount = new BigDecimal("19.90").add(BigDecimal.valueOf(id));
                    if (!row.getBigDecimal("amount").equals(amount)) throw new AssertionError(row.getString("amount"));
                    if (row.getBoolean("done") != (id % 3 == 0)) throw new AssertionError("done of " + id);
                    String note = row.getString("note");
                    if (id % 10 == 0 ? !row.wasNull() : !note.equals("größer " + id)) throw new AssertionError(note);
                }
            }
        }
        check(true, "prepared point reads answer");
        try (PreparedStatement update = connection.prepareStatement("UPDATE payments SET note = ? WHERE channel = ? AND id < ?")) {
            update.setString(1, "early");
            update.setString(2, "alipay");
            update.setInt(3, 10);
            check(update.executeUpdate() == 5, "an update counts its rows");
        }
    }

    static void fetchInPages(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        int rows = 0;
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(64);
            try (ResultSet result = statement.executeQuery("SELECT * FROM payments")) {
                while (result.next()) rows++;
            }
        }
        connection.commit();
        connection.setAutoCommit(true);
        check(rows == 500, "a cursor fetches in pages");
    }

    static void transactions(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("DELETE FROM payments WHERE channel = 'alipay'");
            connection.rollback();
            Savepoint savepoint = connection.setSavepoint();
            check(sqlState(connection, "INSERT INTO payments (channel, id) VALUES ('alipay', 0)").equals("23505"), "duplicate key is 23505");
            connection.rollback(savepoint);
            statement.executeUpdate("INSERT INTO payments (channel, id) VALUES ('alipay', 1000)");
            connection.commit();
            try (ResultSet count = statement.executeQuery("SELECT count(*) FROM payments")) {
                count.next();
                check(count.getLong(1) == 501, "rollback, savepoint and commit hold");
            }
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    static void metadata(Connection connection) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement("SELECT * FROM payments WHERE channel = ?")) {
            ResultSetMetaData columns = select.getMetaData();
            check(columns.getColumnCount() == 6 && columns.getColumnType(3) == Types.TIMESTAMP
                && columns.getColumnType(4) == Types.NUMERIC, "a prepared statement describes its columns");
            check(select.getParameterMetaData().getParameterType(1) == Types.VARCHAR, "and its parameters");
        }
    }
}
