<?php
// PHP's PDO and pg functions: `pdo.php HOST PORT USER DATABASE`. Prints its steps, which are the same on Keyspan and on PostgreSQL.
if (!extension_loaded('pdo_pgsql')) { fwrite(STDERR, "pdo_pgsql is absent\n"); exit(77); }
[$_, $host, $port, $user, $db] = $argv;
function step($name, $run) { try { echo $name, ' OK ', json_encode($run()), "\n"; } catch (Throwable $e) { echo $name, ' FAIL ', $e->getCode(), ' ', strtok($e->getMessage(), "\n"), "\n"; } }
foreach ([true, false] as $emulate) foreach ([false, true] as $persistent) {
  $mode = ($emulate ? 'emulated' : 'native') . ($persistent ? ' persistent' : '');
  $c = new PDO("pgsql:host=$host;port=$port;dbname=$db", $user, '', [PDO::ATTR_EMULATE_PREPARES => $emulate, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_PERSISTENT => $persistent]);
  step("$mode tables", fn() => $c->exec('DROP TABLE IF EXISTS pets; CREATE TABLE pets (id serial PRIMARY KEY, name text UNIQUE, n int, ok boolean, price numeric(8,2), raw bytea, doc jsonb, made timestamptz DEFAULT now())'));
  step("$mode insert", function () use ($c) { $s = $c->prepare('INSERT INTO pets (name, n, ok, price, doc) VALUES (:name, :n, :ok, :price, :doc)'); $s->bindValue(':name', "o'x"); $s->bindValue(':n', 5, PDO::PARAM_INT); $s->bindValue(':ok', true, PDO::PARAM_BOOL); $s->bindValue(':price', '12.50'); $s->bindValue(':doc', '{"a":1}'); $s->execute(); return [$c->lastInsertId(), $c->lastInsertId('pets_id_seq'), $s->rowCount()]; });
  step("$mode positional", function () use ($c) { $s = $c->prepare('INSERT INTO pets (name, n) VALUES (?, ?)'); foreach (range(1, 20) as $n) $s->execute(["p$n", $n]); return $c->query('SELECT count(*) FROM pets')->fetchColumn(); });
  step("$mode null", function () use ($c) { $s = $c->prepare('INSERT INTO pets (name, n, ok, raw) VALUES (?, ?, ?, ?) RETURNING id'); $s->bindValue(1, null, PDO::PARAM_NULL); $s->bindValue(2, null, PDO::PARAM_NULL); $s->bindValue(3, false, PDO::PARAM_BOOL); $s->bindValue(4, "\0\1\xff", PDO::PARAM_LOB); $s->execute(); return $s->fetch(PDO::FETCH_ASSOC); });
  step("$mode lob", function () use ($c) { $r = $c->query('SELECT raw FROM pets WHERE raw IS NOT NULL')->fetch(PDO::FETCH_NUM); return bin2hex(stream_get_contents($r[0])); });
  step("$mode fetch", fn() => $c->query('SELECT id, name, n, ok, price, doc FROM pets ORDER BY id LIMIT 2')->fetchAll(PDO::FETCH_ASSOC));
  step("$mode fetch styles", fn() => [$c->query('SELECT name, n FROM pets ORDER BY id LIMIT 2')->fetchAll(PDO::FETCH_KEY_PAIR), $c->query('SELECT n % 2, name FROM pets WHERE n < 4 ORDER BY id')->fetchAll(PDO::FETCH_GROUP | PDO::FETCH_COLUMN), $c->query('SELECT name FROM pets ORDER BY id LIMIT 1')->fetchAll(PDO::FETCH_OBJ)]);
  step("$mode meta", function () use ($c) { $s = $c->query('SELECT id, name, price, doc, made FROM pets'); return array_map(fn($n) => array_intersect_key($s->getColumnMeta($n), ['native_type' => 1, 'name' => 1, 'pgsql:oid' => 1, 'table' => 1, 'len' => 1, 'pdo_type' => 1]), range(0, 4)); });
  step("$mode transaction", function () use ($c) { $c->beginTransaction(); $c->exec("INSERT INTO pets (name) VALUES ('gone')"); $c->rollBack(); $c->beginTransaction(); $c->exec("INSERT INTO pets (name) VALUES ('kept')"); $c->commit(); return [$c->inTransaction(), $c->query("SELECT name FROM pets WHERE name IN ('gone', 'kept')")->fetchAll(PDO::FETCH_COLUMN)]; });
  step("$mode error", function () use ($c) { try { $c->prepare('INSERT INTO pets (name) VALUES (?)')->execute(['p1']); } catch (PDOException $e) { return [$e->getCode(), $e->errorInfo[0], strtok($e->errorInfo[2], "\n")]; } });
  step("$mode cursor", function () use ($c) { $c->beginTransaction(); $s = $c->prepare('SELECT n FROM pets WHERE n > ? ORDER BY n', [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]); $s->execute([3]); $a = $s->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_NEXT); $b = $s->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_LAST); $d = $s->fetch(PDO::FETCH_NUM, PDO::FETCH_ORI_ABS, 2); $c->commit(); return [$a, $b, $d]; });
  step("$mode in", function () use ($c) { $s = $c->prepare('SELECT count(*) FROM pets WHERE n IN (?, ?, ?) AND doc IS NULL AND (? = 1 OR ok)'); $s->execute([1, 2, 3, 1]); return $s->fetchColumn(); });
  step("$mode json operators", function () use ($c) { $s = $c->prepare("SELECT count(*) FROM pets WHERE doc ?? 'a' AND doc->>'a' = ?"); $s->execute(['1']); return $s->fetchColumn(); });
  step("$mode copy", fn() => [$c->pgsqlCopyFromArray('pets', ["100\tcopied\t7"], "\t", '\\\\N', 'id, name, n'), $c->pgsqlCopyToArray("(SELECT id, name FROM pets WHERE id = 100)")]);
  step("$mode notify", function () use ($c) { $c->exec('LISTEN ch'); $c->exec("NOTIFY ch, 'hi'"); $n = $c->pgsqlGetNotify(PDO::FETCH_ASSOC, 1000); $c->exec('UNLISTEN ch'); return [$n['message'], $n['payload']]; });
  step("$mode several", fn() => [$c->quote("it's"), $c->getAttribute(PDO::ATTR_SERVER_VERSION) > '15', $c->getAttribute(PDO::ATTR_CLIENT_VERSION) > '1']);
  $c = null;
}
$p = pg_connect("host=$host port=$port user=$user dbname=$db");
step('pg insert', fn() => pg_insert($p, 'pets', ['name' => 'via pg', 'n' => 3]) !== false);
step('pg select', fn() => pg_select($p, 'pets', ['name' => 'via pg']) !== false);
step('pg update', fn() => pg_update($p, 'pets', ['n' => 4], ['name' => 'via pg']));
step('pg delete', fn() => pg_delete($p, 'pets', ['name' => 'via pg']));
step('pg meta', fn() => pg_meta_data($p, 'pets'));
step('pg params', fn() => pg_fetch_all(pg_query_params($p, 'SELECT $1::int + 1 AS a, $2::text AS b', [4, 'x'])));
step('pg prepare', function () use ($p) { pg_prepare($p, 's', 'SELECT name FROM pets WHERE n = $1 ORDER BY 1'); return pg_fetch_all_columns(pg_execute($p, 's', [3])); });
step('pg async', function () use ($p) { pg_send_query($p, 'SELECT 1 AS a; SELECT 2 AS b'); $all = []; while ($r = pg_get_result($p)) $all[] = pg_fetch_all($r); return $all; });
step('pg field', function () use ($p) { $r = pg_query($p, 'SELECT id, name, price FROM pets LIMIT 1'); return [pg_field_type($r, 0), pg_field_type($r, 2), pg_field_size($r, 1), pg_field_table($r, 1)]; });
step('pg error', function () use ($p) { @pg_send_query($p, 'SELECT 1/0'); $r = pg_get_result($p); return [pg_result_error_field($r, PGSQL_DIAG_SQLSTATE), pg_result_error_field($r, PGSQL_DIAG_MESSAGE_PRIMARY)]; });
step('pg copy', fn() => [pg_copy_from($p, 'pets', ["200\tz\t\\N\t\\N\t\\N\t\\N\t\\N\t2024-01-01 00:00:00+00\n"]), count(pg_copy_to($p, 'pets')) > 3]);
