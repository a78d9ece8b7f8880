-- any: scalar subquery in the select list
SELECT o.id, (SELECT c.name FROM customer c WHERE c.id = o.customer) FROM shop_order o WHERE o.id = $1;

-- any: UNION ALL of two point reads
SELECT id, amount FROM shop_order WHERE id = $1 UNION ALL SELECT id, amount FROM shop_order WHERE id = $1 + 1;

-- any: sum over generate_series(1, 500)
SELECT sum(i) FROM generate_series(1, 500) i;

-- any: running sum over 1,000 rows
SELECT id, sum(amount) OVER (ORDER BY id) FROM shop_order WHERE id >= $1 AND id < $1 + 1000;

-- any: WITH, join and the top 5
WITH recent AS (SELECT customer, amount FROM shop_order WHERE id >= $1 AND id < $1 + 100)
SELECT c.name, sum(r.amount) AS total FROM recent r JOIN customer c ON c.id = r.customer
GROUP BY c.name ORDER BY total DESC, c.name LIMIT 5;

-- any: string_agg of 1,000 rows
SELECT string_agg(note, ',') FROM shop_order WHERE id >= $1 AND id < $1 + 1000;

-- any: array_agg of 1,000 rows
SELECT array_agg(amount) FROM shop_order WHERE id >= $1 AND id < $1 + 1000;

-- any: IN list of 20 keys
SELECT id, amount FROM shop_order WHERE id IN ($1, $1 + 7, $1 + 14, $1 + 21, $1 + 28, $1 + 35, $1 + 42, $1 + 49,
  $1 + 56, $1 + 63, $1 + 70, $1 + 77, $1 + 84, $1 + 91, $1 + 98, $1 + 105, $1 + 112, $1 + 119, $1 + 126, $1 + 133);

-- any: 10 rows through an index, ORDER BY … DESC LIMIT
SELECT id, placed, amount, note FROM shop_order WHERE placed <= $1 + 10 ORDER BY placed DESC LIMIT 10;

-- any: a list page, 10 rows through an index with a join
SELECT o.id, o.amount, c.name FROM shop_order o JOIN customer c ON c.id = o.customer
WHERE o.placed <= $1 + 10 ORDER BY o.placed DESC LIMIT 10;

-- any: 10 rows through an index, a count for each
SELECT o.id, (SELECT count(*) FROM item i WHERE i.shop_order = o.id) FROM shop_order o
WHERE o.placed <= $1 + 10 ORDER BY o.placed DESC LIMIT 10;

-- any: the greatest key as a scalar subquery
SELECT coalesce((SELECT max(id) FROM shop_order), 0) + $1;

-- any: PL/pgSQL, a loop of 100 rounds
SELECT sum_of_odd(100) + $1;

-- any: PL/pgSQL, a function of 100 rows
SELECT sum(next_of(g)) + $1 FROM generate_series(1, 100) g;

-- any: lookup join by an index
SELECT c.name, o.id, o.amount FROM customer c JOIN shop_order o ON o.customer = c.id WHERE c.id = $1 / 10;

-- any: OR over two keys
SELECT id, amount FROM shop_order WHERE id = $1 OR id = $1 + 500;

-- any: EXISTS by lookup
SELECT c.id, c.name FROM customer c
WHERE c.id = $1 / 10 AND EXISTS (SELECT 1 FROM shop_order o WHERE o.customer = c.id);

-- any: jsonb operators
SELECT document ->> 'name', document -> 'tags' -> 0, document #>> '{address,city}', document @> '{"active": true}',
  document ? 'tags' FROM customer WHERE id = $1 / 10;

-- any: correlated subquery over 21 outer rows
SELECT o.id, (SELECT sum(i.quantity) FROM item i WHERE i.shop_order = o.id) FROM shop_order o
WHERE o.id BETWEEN $1 AND $1 + 20;

-- any: LEFT JOIN chain of three
SELECT o.id, c.name, i.quantity FROM shop_order o
LEFT JOIN customer c ON c.id = o.customer
LEFT JOIN item i ON i.shop_order = o.id AND i.line = 1
LEFT JOIN counter n ON n.id = o.id WHERE o.id = $1;

-- any: LATERAL, the newest 3 orders of a customer
SELECT c.name, o.id, o.amount FROM customer c
CROSS JOIN LATERAL (SELECT id, amount FROM shop_order WHERE customer = c.id ORDER BY id DESC LIMIT 3) o
WHERE c.id = $1 / 10;

-- any: DISTINCT ON over 100 rows
SELECT DISTINCT ON (customer) customer, id, amount FROM shop_order WHERE id >= $1 AND id < $1 + 100
ORDER BY customer, amount DESC, id;

-- any: GROUPING SETS over 100 rows
SELECT customer % 5 AS part, placed % 3 AS kind, sum(amount) FROM shop_order WHERE id >= $1 AND id < $1 + 100
GROUP BY GROUPING SETS ((customer % 5, placed % 3), (customer % 5), ());

-- any: INTERSECT of 20 rows and 20
SELECT id FROM shop_order WHERE id >= $1 AND id < $1 + 20
INTERSECT SELECT id FROM shop_order WHERE id >= $1 + 10 AND id < $1 + 30;

-- any: EXCEPT of 20 rows and 20
SELECT id FROM shop_order WHERE id >= $1 AND id < $1 + 20
EXCEPT SELECT id FROM shop_order WHERE id >= $1 + 10 AND id < $1 + 30;

-- any: WITH RECURSIVE of 10 steps
WITH RECURSIVE step (n, id, amount) AS (
  SELECT 1, o.id, o.amount FROM shop_order o WHERE o.id = $1
  UNION ALL SELECT s.n + 1, o.id, o.amount FROM step s JOIN shop_order o ON o.id = s.id + 1 WHERE s.n < 10)
SELECT n, id, amount FROM step;

-- any: UPDATE … FROM
UPDATE counter SET n = counter.n + change.n FROM change WHERE change.id = counter.id AND counter.id = $1;

-- doomed: DELETE … USING
DELETE FROM doomed USING change WHERE change.id = doomed.n AND doomed.id = $1;

-- new: INSERT … SELECT of 10 rows
INSERT INTO written SELECT $1 + g, g, 'selected' FROM generate_series(1, 10) g;

-- new: INSERT of 10 rows
INSERT INTO written (id, n, note) VALUES {10 rows};

-- new: INSERT of 100 rows
INSERT INTO written (id, n, note) VALUES {100 rows};

-- new: INSERT into a table with two indexes
INSERT INTO indexed (id, n, note) VALUES ($1, $1 % 1000, 'an indexed text');

-- new: INSERT of 10 rows, ON CONFLICT DO NOTHING, 5 are there
INSERT INTO counter (id, n) VALUES ($1, 1), ($1 + 1, 1), ($1 + 2, 1), ($1 + 3, 1), ($1 + 4, 1),
  (10, 1), (20, 1), (30, 1), (40, 1), (50, 1) ON CONFLICT DO NOTHING;

-- any: ON CONFLICT DO UPDATE, RETURNING
INSERT INTO counter (id, n) VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET n = counter.n + 1 RETURNING id, n;

-- any: a write in WITH
WITH changed AS (UPDATE counter SET n = n + 1 WHERE id = $1 RETURNING id, n)
SELECT changed.n, o.amount FROM changed JOIN shop_order o ON o.id = changed.id;

-- any: catalog join, the columns of psql's \d
SELECT a.attname,
  pg_catalog.format_type(a.atttypid, a.atttypmod),
  (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true)
   FROM pg_catalog.pg_attrdef d
   WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef),
  a.attnotnull,
  (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t
   WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
  a.attidentity,
  a.attgenerated
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = 'shop_order'::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum;

-- any: psql's \d of a table, all its statements
SELECT c.oid, n.nspname, c.relname
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname OPERATOR(pg_catalog.~) '^(shop_order)$' COLLATE pg_catalog.default
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 2, 3;
SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, '', c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident, am.amname
FROM pg_catalog.pg_class c
 LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid)
WHERE c.oid = 'shop_order'::regclass;
SELECT a.attname,
  pg_catalog.format_type(a.atttypid, a.atttypmod),
  (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true)
   FROM pg_catalog.pg_attrdef d
   WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef),
  a.attnotnull,
  (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t
   WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
  a.attidentity,
  a.attgenerated
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = 'shop_order'::regclass AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum;
SELECT c2.relname, i.indisprimary, i.indisunique, i.indisclustered, i.indisvalid, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true),
  pg_catalog.pg_get_constraintdef(con.oid, true), contype, condeferrable, condeferred, i.indisreplident, c2.reltablespace
FROM pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i
  LEFT JOIN pg_catalog.pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p','u','x'))
WHERE c.oid = 'shop_order'::regclass AND c.oid = i.indrelid AND i.indexrelid = c2.oid
ORDER BY i.indisprimary DESC, c2.relname;
SELECT pol.polname, pol.polpermissive,
  CASE WHEN pol.polroles = '{0}' THEN NULL ELSE pg_catalog.array_to_string(array(select rolname from pg_catalog.pg_roles where oid = any (pol.polroles) order by 1),',') END,
  pg_catalog.pg_get_expr(pol.polqual, pol.polrelid),
  pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid),
  CASE pol.polcmd
    WHEN 'r' THEN 'SELECT'
    WHEN 'a' THEN 'INSERT'
    WHEN 'w' THEN 'UPDATE'
    WHEN 'd' THEN 'DELETE'
    END AS cmd
FROM pg_catalog.pg_policy pol
WHERE pol.polrelid = 'shop_order'::regclass ORDER BY 1;
SELECT oid, stxrelid::pg_catalog.regclass, stxnamespace::pg_catalog.regnamespace::pg_catalog.text AS nsp, stxname,
pg_catalog.pg_get_statisticsobjdef_columns(oid) AS columns,
  'd' = any(stxkind) AS ndist_enabled,
  'f' = any(stxkind) AS deps_enabled,
  'm' = any(stxkind) AS mcv_enabled,
stxstattarget
FROM pg_catalog.pg_statistic_ext
WHERE stxrelid = 'shop_order'::regclass
ORDER BY nsp, stxname;
SELECT pubname
     , NULL
     , NULL
FROM pg_catalog.pg_publication p
     JOIN pg_catalog.pg_publication_namespace pn ON p.oid = pn.pnpubid
     JOIN pg_catalog.pg_class pc ON pc.relnamespace = pn.pnnspid
WHERE pc.oid ='shop_order'::regclass and pg_catalog.pg_relation_is_publishable('shop_order'::regclass)
UNION
SELECT pubname
     , pg_get_expr(pr.prqual, c.oid)
     , (CASE WHEN pr.prattrs IS NOT NULL THEN
         (SELECT string_agg(attname, ', ')
           FROM pg_catalog.generate_series(0, pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[], 1)) s,
                pg_catalog.pg_attribute
          WHERE attrelid = pr.prrelid AND attnum = prattrs[s])
        ELSE NULL END) FROM pg_catalog.pg_publication p
     JOIN pg_catalog.pg_publication_rel pr ON p.oid = pr.prpubid
     JOIN pg_catalog.pg_class c ON c.oid = pr.prrelid
WHERE pr.prrelid = 'shop_order'::regclass
UNION
SELECT pubname
     , NULL
     , NULL
FROM pg_catalog.pg_publication p
WHERE p.puballtables AND pg_catalog.pg_relation_is_publishable('shop_order'::regclass)
ORDER BY 1;
SELECT c.oid::pg_catalog.regclass
FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i
WHERE c.oid = i.inhparent AND i.inhrelid = 'shop_order'::regclass
  AND c.relkind != 'p' AND c.relkind != 'I'
ORDER BY inhseqno;
SELECT c.oid::pg_catalog.regclass, c.relkind, inhdetachpending, pg_catalog.pg_get_expr(c.relpartbound, c.oid)
FROM pg_catalog.pg_class c, pg_catalog.pg_inherits i
WHERE c.oid = i.inhrelid AND i.inhparent = 'shop_order'::regclass
ORDER BY pg_catalog.pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.oid::pg_catalog.regclass::pg_catalog.text;

-- any: JDBC's getColumns of a table
SELECT * FROM (
  SELECT current_database() AS current_database, n.nspname, c.relname, a.attname, a.atttypid,
    a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull, a.atttypmod, a.attlen, t.typtypmod,
    row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') AS attidentity,
    nullif(a.attgenerated, '') AS attgenerated, pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,
    dsc.description, t.typbasetype, t.typtype
  FROM pg_catalog.pg_namespace n
  JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid)
  JOIN pg_catalog.pg_attribute a ON (a.attrelid = c.oid)
  JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid)
  LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid = def.adrelid AND a.attnum = def.adnum)
  LEFT JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid)
  LEFT JOIN pg_catalog.pg_class dc ON (dc.oid = dsc.classoid AND dc.relname = 'pg_class')
  LEFT JOIN pg_catalog.pg_namespace dn ON (dc.relnamespace = dn.oid AND dn.nspname = 'pg_catalog')
  WHERE c.relkind IN ('r', 'p', 'v', 'f', 'm') AND a.attnum > 0 AND NOT a.attisdropped
    AND n.nspname LIKE 'public' AND c.relname LIKE 'shop_order') c
WHERE true ORDER BY nspname, c.relname, attnum;
