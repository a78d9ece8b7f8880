// What else Node has: pg-promise, kysely, node-pg-migrate.
'use strict';

const path = require('path');
const fs = require('fs');
const os = require('os');
const { Pool } = require('pg');
const { place, step, run } = require('./steps');

const pool = new Pool({ ...place, max: 4 });
const url = `postgres://${place.user}@${place.host}:${place.port}/${place.database}`;

// pg-promise
const promise = require('pg-promise')();
const db = promise({ ...place, max: 2 });
step('pg-promise tables', () => db.none('CREATE TABLE pets (id serial PRIMARY KEY, name text NOT NULL, tags text[], made timestamptz DEFAULT now(), info jsonb)'));
step('pg-promise one', () => db.one('INSERT INTO pets (name, tags, info) VALUES ($/name/, $/tags/, $/info:json/) RETURNING id, name, tags, info', { name: "o'x", tags: ['a', 'b'], info: { k: 1 } }));
step('pg-promise helpers', async () => { const set = new promise.helpers.ColumnSet(['name', { name: 'tags', cast: 'text[]' }], { table: 'pets' }); await db.none(promise.helpers.insert([{ name: 'x', tags: [] }, { name: 'y', tags: ['q'] }], set)); await db.none(`${promise.helpers.update([{ id: 2, name: 'xx' }, { id: 3, name: 'yy' }], ['?id', 'name'], 'pets')} WHERE v.id = t.id`); return db.any('SELECT id, name, tags FROM pets ORDER BY id'); });
step('pg-promise tx', () => db.tx({ mode: new promise.txMode.TransactionMode({ tiLevel: promise.txMode.isolationLevel.serializable }) }, async (t) => { await t.none('INSERT INTO pets (name) VALUES ($1)', 'tx'); await t.tx(async (s) => { await s.none('INSERT INTO pets (name) VALUES ($1)', 'inner'); throw new Error('back'); }).catch(() => null); return t.map('SELECT name FROM pets ORDER BY id', [], (row) => row.name); }));
step('pg-promise batch', () => db.task((t) => t.batch([t.one('SELECT count(*)::int AS n FROM pets'), t.oneOrNone('SELECT 1 AS a WHERE false'), t.multi('SELECT 1 AS a; SELECT 2 AS b')])));
step('pg-promise prepared', () => db.any(new promise.PreparedStatement({ name: 'find', text: 'SELECT name FROM pets WHERE id = ANY ($1) ORDER BY 1', values: [[1, 2]] })));
step('pg-promise filters', () => db.any('SELECT $1:name FROM $2:name WHERE id IN ($3:csv) ORDER BY id', ['name', 'pets', [1, 3]]));

// kysely
const { Kysely, PostgresDialect, sql } = require('kysely');
const kysely = new Kysely({ dialect: new PostgresDialect({ pool, cursor: require('pg-cursor') }) });
step('kysely schema', async () => { await kysely.schema.createTable('person').addColumn('id', 'integer', (c) => c.primaryKey().generatedAlwaysAsIdentity()).addColumn('first_name', 'varchar(50)', (c) => c.notNull()).addColumn('age', 'integer', (c) => c.check(sql`age >= 0`)).addColumn('parent', 'integer', (c) => c.references('person.id').onDelete('set null')).addColumn('created', 'timestamptz', (c) => c.defaultTo(sql`now()`)).addUniqueConstraint('person_name', ['first_name']).execute(); await kysely.schema.createIndex('person_age').on('person').columns(['age desc', 'first_name']).where('age', '>', 5).execute(); await kysely.schema.createView('adults').orReplace().as(kysely.selectFrom('person').selectAll().where('age', '>=', 18)).execute(); });
step('kysely insert', () => kysely.insertInto('person').values([{ first_name: 'a', age: 20 }, { first_name: 'b', age: 10 }]).returning(['id', 'first_name']).execute());
step('kysely conflict', () => kysely.insertInto('person').values({ first_name: 'a', age: 21 }).onConflict((c) => c.column('first_name').doUpdateSet((e) => ({ age: e.ref('excluded.age') }))).returningAll().execute().then((rows) => rows.map((r) => [r.first_name, r.age])));
step('kysely select', () => kysely.selectFrom('person as p').leftJoin('person as q', 'q.id', 'p.parent').select((e) => ['p.first_name', e.fn.countAll().as('n'), e.fn.max('p.age').as('m')]).groupBy('p.first_name').having((e) => e.fn.countAll(), '>', 0).orderBy('p.first_name').limit(5).execute());
step('kysely json', async () => { const { jsonArrayFrom, jsonObjectFrom } = require('kysely/helpers/postgres'); return kysely.selectFrom('person').select((e) => ['first_name', jsonArrayFrom(e.selectFrom('pets').select(['pets.name']).whereRef('pets.id', '<=', 'person.id').orderBy('pets.id')).as('pets'), jsonObjectFrom(e.selectFrom('pets').select(['pets.id', 'pets.name']).whereRef('pets.id', '=', 'person.id')).as('pet')]).orderBy('first_name').execute(); });
step('kysely cte', () => kysely.with('old', (q) => q.selectFrom('person').where('age', '>', 15).select(['id', 'age'])).updateTable('person').from('old').set((e) => ({ age: e('person.age', '+', 1) })).whereRef('person.id', '=', 'old.id').returning('person.age').execute());
step('kysely stream', async () => { const names = []; for await (const row of kysely.selectFrom('person').select('first_name').orderBy('id').stream(1)) names.push(row); return names; });
step('kysely transaction', () => kysely.transaction().setIsolationLevel('repeatable read').execute(async (t) => { await t.deleteFrom('person').where('age', '<', 15).execute(); return t.selectFrom('adults').select('first_name').forUpdate().execute().catch((e) => e.code); }));
step('kysely introspection', async () => (await kysely.introspection.getTables()).filter((t) => ['person', 'adults', 'pets'].includes(t.name)).map((t) => [t.name, t.isView, t.columns.map((c) => [c.name, c.dataType, c.isNullable, c.isAutoIncrementing, c.hasDefaultValue])]).sort());
step('kysely alter', async () => { await kysely.schema.dropView('adults').execute(); await kysely.schema.alterTable('person').addColumn('email', 'text').alterColumn('age', (c) => c.setDataType('bigint')).execute(); await kysely.schema.alterTable('person').renameColumn('email', 'mail').execute(); await kysely.schema.alterTable('person').dropConstraint('person_name').execute(); });
step('kysely migrations', async () => { const { Migrator } = require('kysely'); const migrations = { m1: { up: (k) => k.schema.createTable('m').addColumn('a', 'integer', (c) => c.primaryKey()).execute(), down: (k) => k.schema.dropTable('m').execute() }, m2: { up: (k) => k.schema.alterTable('m').addColumn('b', 'text').execute(), down: (k) => k.schema.alterTable('m').dropColumn('b').execute() } }; const migrator = new Migrator({ db: kysely, provider: { getMigrations: async () => migrations } }); const up = await migrator.migrateToLatest(); const down = await migrator.migrateDown(); return [up, down].map((r) => [r.results.map((x) => [x.migrationName, x.status]), String(r.error)]); });

// node-pg-migrate
step('node-pg-migrate', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations'));
  fs.writeFileSync(path.join(folder, '1_first.js'), `exports.up = (pgm) => { pgm.createType('mood', ['sad', 'ok']); pgm.createTable('users', { id: 'id', name: { type: 'varchar(100)', notNull: true }, mood: { type: 'mood', default: 'ok' }, createdAt: { type: 'timestamp', notNull: true, default: pgm.func('current_timestamp') } }); pgm.createTable('posts', { id: 'id', userId: { type: 'integer', notNull: true, references: 'users', onDelete: 'cascade' }, body: 'text' }); pgm.createIndex('posts', 'userId'); pgm.addConstraint('posts', 'posts_body', { check: "body <> ''" }); }; exports.down = (pgm) => { pgm.dropTable('posts'); pgm.dropTable('users'); pgm.dropType('mood'); };`);
  fs.writeFileSync(path.join(folder, '2_second.js'), `exports.up = (pgm) => { pgm.addColumns('posts', { lead: { type: 'text' } }); pgm.sql("INSERT INTO users (name) VALUES ('x')"); pgm.alterColumn('users', 'name', { type: 'text' }); pgm.addTypeValue('mood', 'happy', { ifNotExists: true }); pgm.createView('names', {}, 'SELECT name FROM users'); pgm.createFunction('one', [], { returns: 'integer', language: 'sql' }, 'SELECT 1'); }; exports.down = (pgm) => { pgm.dropFunction('one', []); pgm.dropView('names'); pgm.dropColumns('posts', ['lead']); };`);
  const runner = require('node-pg-migrate').runner || require('node-pg-migrate').default;
  const options = { databaseUrl: url, dir: folder, migrationsTable: 'pgmigrations', log: () => {}, verbose: false };
  const up = await runner({ ...options, direction: 'up', count: Infinity });
  const down = await runner({ ...options, direction: 'down', count: 1 });
  const again = await runner({ ...options, direction: 'up', count: Infinity });
  return [up, down, again].map((done) => done.map((m) => m.name));
});

run(async () => { await pool.end(); process.exit(0); });
