// Go's lib/pq and pgx: `drivers HOST PORT USER DATABASE`. Prints its steps, which are the same on Keyspan and on PostgreSQL.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
	"github.com/jackc/pgconn"
	"github.com/lib/pq"
)

func step(name string, run func() (interface{}, error)) {
	given, err := run()
	if err != nil {
		code := ""
		var one *pq.Error
		var other *pgconn.PgError
		if errors.As(err, &one) {
			code = string(one.Code)
		} else if errors.As(err, &other) {
			code = other.Code
		}
		fmt.Println(name, "FAIL", code, strings.Split(err.Error(), "\n")[0])
		return
	}
	fmt.Println(name, "OK", fmt.Sprint(given))
}

func pqSteps(url string) {
	for _, binary := range []string{"no", "yes"} {
		db, err := sql.Open("postgres", url+"&binary_parameters="+binary)
		if err != nil {
			panic(err)
		}
		name := func(s string) string { return "pq " + binary + " " + s }
		step(name("tables"), func() (interface{}, error) {
			return nil, exec(db, "DROP TABLE IF EXISTS pets", "CREATE TABLE pets (id serial PRIMARY KEY, name text UNIQUE, n bigint, ok bool, at timestamptz, raw bytea, tags text[], price numeric(8,2))")
		})
		step(name("insert"), func() (interface{}, error) {
			var id int
			err := db.QueryRow("INSERT INTO pets (name, n, ok, at, raw, tags, price) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id", "a", int64(1)<<40, true, time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC), []byte{0, 255}, pq.Array([]string{"x", "y,z"}), "1.50").Scan(&id)
			return id, err
		})
		step(name("null"), func() (interface{}, error) {
			r, err := db.Exec("INSERT INTO pets (name, n, at) VALUES ($1, $2, $3)", "b", nil, sql.NullTime{})
			if err != nil {
				return nil, err
			}
			return r.RowsAffected()
		})
		step(name("read"), func() (interface{}, error) {
			var n sql.NullInt64
			var ok sql.NullBool
			var at sql.NullTime
			var raw []byte
			var tags []string
			var price string
			err := db.QueryRow("SELECT n, ok, at, raw, tags, price FROM pets WHERE name = $1", "a").Scan(&n, &ok, &at, &raw, pq.Array(&tags), &price)
			return []interface{}{n, ok, at.Time.UTC(), raw, tags, price}, err
		})
		step(name("prepared"), func() (interface{}, error) {
			s, err := db.Prepare("SELECT name FROM pets WHERE id = ANY ($1) ORDER BY 1")
			if err != nil {
				return nil, err
			}
			defer s.Close()
			var all []string
			for i := 0; i < 3; i++ {
				rows, err := s.Query(pq.Array([]int64{1, 2}))
				if err != nil {
					return nil, err
				}
				for rows.Next() {
					var name string
					rows.Scan(&name)
					all = append(all, name)
				}
				rows.Close()
			}
			return all, nil
		})
		step(name("copy"), func() (interface{}, error) {
			tx, err := db.Begin()
			if err != nil {
				return nil, err
			}
			s, err := tx.Prepare(pq.CopyIn("pets", "name", "n", "tags"))
			if err != nil {
				return nil, err
			}
			for i := 0; i < 50; i++ {
				if _, err := s.Exec(fmt.Sprint("c", i), i, pq.Array([]string{"t"})); err != nil {
					return nil, err
				}
			}
			if _, err := s.Exec(); err != nil {
				return nil, err
			}
			if err := s.Close(); err != nil {
				return nil, err
			}
			return nil, tx.Commit()
		})
		step(name("transaction"), func() (interface{}, error) {
			tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: false})
			if err != nil {
				return nil, err
			}
			tx.Exec("INSERT INTO pets (name) VALUES ('gone')")
			tx.Rollback()
			var n int
			err = db.QueryRow("SELECT count(*) FROM pets").Scan(&n)
			return n, err
		})
		step(name("types"), func() (interface{}, error) {
			rows, err := db.Query("SELECT id, name, price, at, tags FROM pets LIMIT 0")
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			types, err := rows.ColumnTypes()
			var all []string
			for _, t := range types {
				length, _ := t.Length()
				all = append(all, fmt.Sprint(t.Name(), t.DatabaseTypeName(), length))
			}
			return all, err
		})
		step(name("error"), func() (interface{}, error) { return nil, exec(db, "INSERT INTO pets (name) VALUES ('a')") })
		step(name("cancel"), func() (interface{}, error) {
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			_, err := db.ExecContext(ctx, "SELECT pg_sleep(10)")
			return err != nil, nil
		})
		step(name("several"), func() (interface{}, error) {
			rows, err := db.Query("SELECT 1; SELECT 'x'")
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			sets := 0
			for more := true; more; more = rows.NextResultSet() {
				for rows.Next() {
				}
				sets++
			}
			return sets, nil
		})
		step(name("listen"), func() (interface{}, error) {
			l := pq.NewListener(url, time.Second, time.Minute, nil)
			defer l.Close()
			if err := l.Listen("news"); err != nil {
				return nil, err
			}
			if _, err := db.Exec("SELECT pg_notify('news', 'hi')"); err != nil {
				return nil, err
			}
			select {
			case n := <-l.Notify:
				return []string{n.Channel, n.Extra}, nil
			case <-time.After(3 * time.Second):
				return "nothing", nil
			}
		})
		db.Close()
	}
}

func exec(db *sql.DB, statements ...string) error {
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

func pgxSteps(url string) {
	ctx := context.Background()
	for _, simple := range []bool{false, true} {
		config, err := pgx.ParseConfig(url)
		if err != nil {
			panic(err)
		}
		config.PreferSimpleProtocol = simple
		c, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			fmt.Println("pgx connect FAIL", err)
			return
		}
		name := func(s string) string { return fmt.Sprint("pgx ", simple, " ", s) }
		step(name("tables"), func() (interface{}, error) {
			c.Exec(ctx, "DROP TABLE IF EXISTS toys; DROP TYPE IF EXISTS hue")
			_, err := c.Exec(ctx, "CREATE TABLE toys (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, n int, f float8, tags text[], doc jsonb, at timestamptz, day date, price numeric, u uuid)")
			return nil, err
		})
		step(name("insert"), func() (interface{}, error) {
			var id int
			err := c.QueryRow(ctx, "INSERT INTO toys (name, n, f, tags, doc, at, day, price, u) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id", "x", 5, 1.5, []string{"a", "b"}, map[string]int{"k": 1}, time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC), "12.75", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11").Scan(&id)
			return id, err
		})
		step(name("read"), func() (interface{}, error) {
			var n int
			var f float64
			var tags []string
			var doc map[string]interface{}
			var at time.Time
			var price float64
			err := c.QueryRow(ctx, "SELECT n, f, tags, doc, at, price FROM toys WHERE id = $1", 1).Scan(&n, &f, &tags, &doc, &at, &price)
			return []interface{}{n, f, tags, doc, at.UTC(), price}, err
		})
		step(name("copy"), func() (interface{}, error) {
			rows := [][]interface{}{}
			for i := 0; i < 100; i++ {
				rows = append(rows, []interface{}{fmt.Sprint("c", i), i, []string{"t"}})
			}
			return c.CopyFrom(ctx, pgx.Identifier{"toys"}, []string{"name", "n", "tags"}, pgx.CopyFromRows(rows))
		})
		step(name("batch"), func() (interface{}, error) {
			b := &pgx.Batch{}
			for i := 0; i < 5; i++ {
				b.Queue("INSERT INTO toys (name, n) VALUES ($1, $2)", fmt.Sprint("b", i), i)
			}
			b.Queue("SELECT count(*) FROM toys WHERE n < $1", 3)
			r := c.SendBatch(ctx, b)
			defer r.Close()
			for i := 0; i < 5; i++ {
				if _, err := r.Exec(); err != nil {
					return nil, err
				}
			}
			var n int
			err := r.QueryRow().Scan(&n)
			return n, err
		})
		step(name("transaction"), func() (interface{}, error) {
			tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadWrite, DeferrableMode: pgx.NotDeferrable})
			if err != nil {
				return nil, err
			}
			inner, err := tx.Begin(ctx)
			if err != nil {
				return nil, err
			}
			inner.Exec(ctx, "INSERT INTO toys (name) VALUES ('inner')")
			inner.Rollback(ctx)
			tx.Exec(ctx, "INSERT INTO toys (name) VALUES ('outer')")
			tx.Commit(ctx)
			var n int
			err = c.QueryRow(ctx, "SELECT count(*) FROM toys WHERE name IN ('inner', 'outer')").Scan(&n)
			return n, err
		})
		step(name("values"), func() (interface{}, error) {
			rows, err := c.Query(ctx, "SELECT 1::int2, 2.5::numeric, 'x'::varchar, true, '{1,2}'::int[], NULL, '1 day'::interval, 'c'::\"char\", 5::oid, 'n'::name, '\\x01'::bytea, '12:00'::time, '{\"a\":1}'::json")
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			rows.Next()
			values, err := rows.Values()
			return len(values), err
		})
		step(name("error"), func() (interface{}, error) { _, err := c.Exec(ctx, "INSERT INTO toys (n) VALUES (1)"); return nil, err })
		step(name("bad statement"), func() (interface{}, error) { _, err := c.Query(ctx, "SELECT nothing FROM toys WHERE id = $1", 1); return nil, err })
		step(name("prepared"), func() (interface{}, error) {
			d, err := c.Prepare(ctx, "toy", "SELECT name, price FROM toys WHERE id = $1 AND n = $2")
			if err != nil {
				return nil, err
			}
			return []interface{}{d.ParamOIDs, len(d.Fields), d.Fields[0].DataTypeOID, d.Fields[1].DataTypeOID}, nil
		})
		step(name("notification"), func() (interface{}, error) {
			c.Exec(ctx, "LISTEN ch")
			c.Exec(ctx, "NOTIFY ch, 'hi'")
			n, err := c.WaitForNotification(ctx)
			if err != nil {
				return nil, err
			}
			return []string{n.Channel, n.Payload}, nil
		})
		step(name("altered"), func() (interface{}, error) {
			for i := 0; i < 3; i++ {
				if _, err := c.Exec(ctx, "SELECT name FROM toys WHERE id = $1", i); err != nil {
					return nil, err
				}
			}
			c.Exec(ctx, "ALTER TABLE toys ADD COLUMN more int")
			_, err := c.Exec(ctx, "SELECT name FROM toys WHERE id = $1", 1)
			return nil, err
		})
		c.Close(ctx)
	}
	pool, err := pgxpool.Connect(ctx, url+"&pool_max_conns=4")
	if err != nil {
		fmt.Println("pool FAIL", err)
		return
	}
	step("pgxpool", func() (interface{}, error) {
		var n int
		err := pool.QueryRow(ctx, "SELECT count(*) FROM toys").Scan(&n)
		return n, err
	})
	pool.Close()
}

func main() {
	url := fmt.Sprintf("postgres://%s@%s:%s/%s?sslmode=disable", os.Args[3], os.Args[1], os.Args[2], os.Args[4])
	pqSteps(url)
	pgxSteps(url)
}
