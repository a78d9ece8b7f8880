// knex and objection: a schema, its migrations, graphs of models, transactions; sessions of Express; cursors, COPY and LISTEN of pg.
'use strict';

const { place, run, step } = require('./steps');
const Knex = require('knex');
const { Model } = require('objection');
const conn = place;
const knex = Knex({ client: 'pg', connection: conn, pool: { min: 1, max: 4 } });
Model.knex(knex);
class Person extends Model {
  static get tableName() {
    return 'persons';
  }
  static get relationMappings() {
    return {
      pets: { relation: Model.HasManyRelation, modelClass: Animal, join: { from: 'persons.id', to: 'animals.owner_id' } },
      movies: {
        relation: Model.ManyToManyRelation,
        modelClass: Movie,
        join: { from: 'persons.id', through: { from: 'persons_movies.person_id', to: 'persons_movies.movie_id' }, to: 'movies.id' },
      },
      parent: { relation: Model.BelongsToOneRelation, modelClass: Person, join: { from: 'persons.parent_id', to: 'persons.id' } },
    };
  }
}
class Animal extends Model {
  static get tableName() {
    return 'animals';
  }
}
class Movie extends Model {
  static get tableName() {
    return 'movies';
  }
}
step('drop', async () => {
  for (const t of ['persons_movies', 'movies', 'animals', 'persons', 'knex_t', 'session', 'knex_migrations', 'knex_migrations_lock'])
    await knex.schema.dropTableIfExists(t);
});
step(
  'create',
  async () =>
    void (await knex.schema.createTable('persons', (t) => {
      t.increments('id').primary();
      t.integer('parent_id').unsigned().references('id').inTable('persons').onDelete('SET NULL').index();
      t.string('firstName');
      t.string('lastName');
      t.integer('age');
      t.json('address');
      t.timestamps(true, true);
    })),
);
step(
  'animals',
  async () =>
    void (await knex.schema.createTable('animals', (t) => {
      t.increments('id').primary();
      t.integer('owner_id').unsigned().references('id').inTable('persons').onDelete('CASCADE').index();
      t.string('name');
      t.string('species');
      t.enu('kind', ['cat', 'dog']);
    })),
);
step(
  'movies',
  async () =>
    void (await knex.schema.createTable('movies', (t) => {
      t.increments('id');
      t.string('name').notNullable().unique();
      t.decimal('price', 8, 2).defaultTo(1.5);
      t.uuid('u').defaultTo(knex.raw('gen_random_uuid()'));
      t.specificType('tags', 'text[]');
      t.enu('mood', ['sad', 'happy'], { useNative: true, enumName: 'mood_k' });
      t.comment('films');
    })),
);
step(
  'pm',
  async () =>
    void (await knex.schema.createTable('persons_movies', (t) => {
      t.increments('id');
      t.integer('person_id').references('persons.id').onDelete('CASCADE');
      t.integer('movie_id').references('movies.id').onDelete('CASCADE');
      t.unique(['person_id', 'movie_id']);
    })),
);
step('hasTable', async () => [
  await knex.schema.hasTable('persons'),
  await knex.schema.hasColumn('persons', 'age'),
  await knex.schema.hasTable('nope'),
]);
step(
  'alter',
  async () =>
    void (await knex.schema.alterTable('persons', (t) => {
      t.string('nick', 30).defaultTo('x').notNullable();
      t.renameColumn('lastName', 'surname');
      t.bigInteger('age').alter();
      t.index(['surname', 'age'], 'nm_idx');
    })),
);
step(
  'alter2',
  async () =>
    void (await knex.schema.alterTable('persons', (t) => {
      t.setNullable('nick');
      t.dropIndex(['surname', 'age'], 'nm_idx');
      t.renameColumn('surname', 'lastName');
      t.check('age > -5', [], 'age_ck');
    })),
);
step('columnInfo', async () => Object.entries(await knex('persons').columnInfo()).map(([n, c]) => [n, c.type, c.nullable, c.defaultValue]));
step('insertGraph', async () => {
  const r = await Person.query().insertGraph([
    {
      firstName: 'Jen',
      lastName: 'L',
      age: 40,
      address: { city: 'X' },
      pets: [
        { name: 'Kat', species: 'cat', kind: 'cat' },
        { name: 'Dog', species: 'dog', kind: 'dog' },
      ],
      movies: [{ name: 'M1', tags: ['a', 'b'], mood: 'sad' }],
    },
    { firstName: 'Ann', lastName: 'B', age: 20, parent: { firstName: 'Mum', lastName: 'B', age: 60 } },
  ]);
  return r.map((x) => [x.firstName, x.pets && x.pets.length]);
});
step('graphFetch', async () =>
  (
    await Person.query()
      .withGraphFetched('[pets(p), movies, parent]')
      .modifiers({ p: (b) => b.orderBy('name') })
      .orderBy('firstName')
  ).map((p) => [
    p.firstName,
    p.pets.map((x) => x.name),
    p.movies.map((m) => [m.name, m.price, m.tags, m.mood]),
    p.parent && p.parent.firstName,
  ]),
);
step('joined', async () =>
  (await Person.query().withGraphJoined('[pets, movies]').where('pets.species', 'cat')).map((p) => [p.firstName, p.pets.length]),
);
step('upsertGraph', async () => {
  const p = await Person.query().findOne({ firstName: 'Jen' }).withGraphFetched('pets');
  const r = await Person.query().upsertGraph({
    id: p.id,
    age: 41,
    pets: [
      { id: p.pets[0].id, name: 'Renamed' },
      { name: 'New', species: 'cat' },
    ],
  });
  return (await Animal.query().orderBy('name')).map((a) => a.name);
});
step('patch', async () => [
  await Person.query()
    .patch({ age: knex.raw('age + 1') })
    .where('age', '>', 30),
  await Person.query().findById(1).select('age'),
]);
step(
  'json',
  async () =>
    await Person.query()
      .where(knex.raw("address->>'city' = ?", ['X']))
      .select('firstName'),
);
step('agg', () => knex('persons').count('* as c').avg('age as a').max('age as m').first());
step('having', () => knex('animals').select('species').count('*').groupBy('species').havingRaw('count(*) >= ?', [1]).orderBy('species'));
step('cte', () =>
  knex
    .with('old', knex('persons').where('age', '>', 30))
    .select('firstName')
    .from('old')
    .orderBy('firstName'),
);
step('rec', () =>
  knex
    .withRecursive('anc', ['id', 'n'], (q) =>
      q
        .select('id', 'firstName')
        .from('persons')
        .whereNull('parent_id')
        .unionAll((u) => u.select('p.id', 'p.firstName').from('persons as p').join('anc', 'anc.id', 'p.parent_id')),
    )
    .select('n')
    .from('anc')
    .orderBy('n'),
);
step('upsert', () =>
  knex('movies')
    .insert([
      { name: 'M1', price: 9 },
      { name: 'M2', price: 3 },
    ])
    .onConflict('name')
    .merge()
    .returning(['name', 'price']),
);
step('ignore', () => knex('movies').insert({ name: 'M2' }).onConflict('name').ignore().returning('*'));
step('trx', async () => {
  try {
    await knex.transaction(async (t) => {
      await t('movies').insert({ name: 'T' });
      const s = await t
        .savepoint(async (s) => {
          await s('movies').insert({ name: 'M1' });
        })
        .catch((e) => e.code);
      await t('movies').insert({ name: 'T2' });
      throw new Error('rb ' + s);
    });
  } catch (e) {
    return e.message;
  }
});
step('forUpdate', () => knex.transaction(async (t) => await t('movies').where({ name: 'M1' }).forUpdate().skipLocked().first('name')));
step('batch', async () => {
  await knex.batchInsert(
    'animals',
    Array.from({ length: 500 }, (_, i) => ({ name: 'b' + i, species: 'x' })),
    100,
  );
  return (await knex('animals').where('species', 'x').count().first()).count;
});
step('stream', async () => {
  let n = 0;
  for await (const r of knex('animals').where('species', 'x').stream({ highWaterMark: 10 })) n++;
  return n;
});
step('distinctOn', () => knex('animals').distinctOn('species').select('species').orderBy('species').limit(3));
step('whereIn', () =>
  knex('animals')
    .whereIn(
      ['name', 'species'],
      [
        ['b1', 'x'],
        ['b2', 'x'],
      ],
    )
    .select('name')
    .orderBy('name'),
);
step('window', () =>
  knex('animals')
    .select('name')
    .rowNumber('rn', (q) => q.orderBy('name').partitionBy('species'))
    .where('species', 'cat')
    .orderBy('name'),
);
step('del', async () => [await knex('animals').where('species', 'x').del(), await knex('animals').where('species', 'cat').del()]);
step('truncate', async () => {
  await knex('animals').truncate();
  return (await knex('animals').count().first()).count;
});
step('raw multi', async () => {
  const r = await knex.raw('select 1 as a; select 2 as b');
  return r.map((x) => x.rows);
});
step('migrate', async () => {
  const fs = require('fs');
  const dir = fs.mkdtempSync(require('path').join(require('os').tmpdir(), 'migrations-'));
  fs.writeFileSync(
    dir + '/001_a.js',
    "exports.up=k=>k.schema.createTable('knex_t',t=>{t.bigIncrements();t.jsonb('d').nullable();t.date('dt');t.binary('b');t.float('f');t.time('tm');t.boolean('ok').defaultTo(false)}); exports.down=k=>k.schema.dropTable('knex_t');",
  );
  fs.writeFileSync(
    dir + '/002_b.js',
    "exports.up=async k=>{await k.schema.table('knex_t',t=>{t.string('s').collate('C').nullable();t.dropColumn('f')})}; exports.down=k=>k.schema.table('knex_t',t=>t.float('f'));",
  );
  const a = await knex.migrate.latest({ directory: dir });
  const l = await knex.migrate.list({ directory: dir });
  const r = await knex.migrate.rollback({ directory: dir }, true);
  fs.rmSync(dir, { recursive: true });
  return [a[1].length, l[0].length, r[1].length];
});
step('session', async () => {
  const s = require('express-session');
  const PgS = require('connect-pg-simple')(s);
  const { Pool } = require('pg');
  const pool = new Pool(conn);
  const st = new PgS({ pool, createTableIfMissing: true, pruneSessionInterval: false });
  const p = (m, ...a) => new Promise((res, rej) => st[m](...a, (e, r) => (e ? rej(e) : res(r))));
  await p('set', 'sid1', { cookie: { maxAge: 60000 }, user: 'u' });
  const g = await p('get', 'sid1');
  await p('touch', 'sid1', { cookie: { maxAge: 90000 } });
  await new Promise((r) => st.pruneSessions(r));
  await p('destroy', 'sid1');
  const h = await p('get', 'sid1');
  st.close();
  await pool.end();
  return [g.user, h];
});
step('cursor', async () => {
  const { Client } = require('pg');
  const Cursor = require('pg-cursor');
  const c = new Client(conn);
  await c.connect();
  const cur = c.query(new Cursor('select * from generate_series(1,$1::int) g', [25]));
  const a = await cur.read(10),
    b = await cur.read(100);
  await cur.close();
  await c.end();
  return [a.length, b.length];
});
step('copy', async () => {
  const { Client } = require('pg');
  const { from, to } = require('pg-copy-streams');
  const { pipeline } = require('stream/promises');
  const { Readable } = require('stream');
  const c = new Client(conn);
  await c.connect();
  await c.query('create table if not exists cpy(a int primary key,b text)');
  await c.query('truncate cpy');
  await pipeline(Readable.from(['1\tx\n', '2\ty\n']), c.query(from('copy cpy from stdin')));
  let out = '';
  for await (const d of c.query(to('copy (select * from cpy order by a) to stdout csv'))) out += d;
  await c.query('drop table cpy');
  await c.end();
  return out;
});
step('listen', async () => {
  const { Client } = require('pg');
  const a = new Client(conn),
    b = new Client(conn);
  await a.connect();
  await b.connect();
  await a.query('listen ch');
  const got = new Promise((r) => a.on('notification', (m) => r([m.channel, m.payload])));
  await b.query("select pg_notify('ch','hi')");
  const g = await got;
  await a.end();
  await b.end();
  return g;
});
step('errors', async () => {
  const o = [];
  for (const q of [
    "insert into movies(name) values ('M1')",
    'insert into movies(name) values (null)',
    'insert into persons_movies(person_id,movie_id) values (999,1)',
    'insert into persons(age) values (-10)',
    'select nope',
    "insert into movies(name,mood) values('q','zzz')",
  ])
    try {
      await knex.raw(q);
    } catch (e) {
      o.push([e.code, e.constraint, e.table, e.column, e.detail && e.detail.replace(/\(.*\)/, '()'), e.schema]);
    }
  return o;
});
run(() => knex.destroy());
