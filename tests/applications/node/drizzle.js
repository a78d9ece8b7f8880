// drizzle and postgres.js: migrations with DO blocks, relational queries, prepared statements, cursors, COPY, LISTEN.
'use strict';

const { place, run, step } = require('./steps');
const postgres = require('postgres');
const { drizzle } = require('drizzle-orm/postgres-js');
const {
  pgTable,
  serial,
  text,
  integer,
  jsonb,
  timestamp,
  boolean,
  uuid,
  numeric,
  primaryKey,
  uniqueIndex,
  index,
  pgEnum,
} = require('drizzle-orm/pg-core');
const { eq, and, or, gt, sql, desc, asc, count, inArray, like, relations, exists } = require('drizzle-orm');
const client = postgres({ ...place, onnotice: () => {}, max: 3 });
const users = pgTable('dusers', {
  id: serial('id').primaryKey(),
  name: text('name').notNull(),
  age: integer('age'),
  meta: jsonb('meta'),
  at: timestamp('at', { withTimezone: true }).defaultNow(),
  ok: boolean('ok').default(true),
  u: uuid('u').defaultRandom(),
  n: numeric('n'),
  tags: text('tags').array(),
});
const posts = pgTable('dposts', {
  id: serial('id').primaryKey(),
  title: text('title'),
  userId: integer('user_id').references(() => users.id),
});
const usersR = relations(users, ({ many }) => ({ posts: many(posts) }));
const postsR = relations(posts, ({ one }) => ({ author: one(users, { fields: [posts.userId], references: [users.id] }) }));
const db = drizzle(client, { schema: { users, posts, usersR, postsR } });
step('ddl', async () => {
  await client`drop table if exists dposts`;
  await client`drop table if exists dusers`;
  await client.unsafe(
    'create table dusers (id serial primary key, name text not null, age int, meta jsonb, at timestamptz default now(), ok boolean default true, u uuid default gen_random_uuid(), n numeric, tags text[]); create table dposts (id serial primary key, title text, user_id int references dusers(id))',
  );
  return 1;
});
step('migrate', async () => {
  const fs = require('fs');
  const dir = fs.mkdtempSync(require('path').join(require('os').tmpdir(), 'migrations-'));
  fs.mkdirSync(dir + '/meta');
  fs.writeFileSync(
    dir + '/0000_a.sql',
    'CREATE TABLE IF NOT EXISTS "dm" ("id" serial PRIMARY KEY NOT NULL, "x" varchar(20) DEFAULT \'q\' NOT NULL);\n--> statement-breakpoint\nDO $$ BEGIN\n ALTER TABLE "dm" ADD CONSTRAINT "dm_ck" CHECK ("id" > 0);\nEXCEPTION\n WHEN duplicate_object THEN null;\nEND $$;\n--> statement-breakpoint\nCREATE UNIQUE INDEX IF NOT EXISTS "dm_x" ON "dm" USING btree ("x");',
  );
  fs.writeFileSync(
    dir + '/meta/_journal.json',
    JSON.stringify({
      version: '7',
      dialect: 'postgresql',
      entries: [{ idx: 0, version: '7', when: 1700000000000, tag: '0000_a', breakpoints: true }],
    }),
  );
  const { migrate } = require('drizzle-orm/postgres-js/migrator');
  await migrate(db, { migrationsFolder: dir });
  await migrate(db, { migrationsFolder: dir });
  const r = await client`select count(*)::int n from drizzle.__drizzle_migrations`;
  await client`drop table dm`;
  await client`drop schema drizzle cascade`;
  fs.rmSync(dir, { recursive: true });
  return r[0].n;
});
step(
  'insert',
  async () =>
    await db
      .insert(users)
      .values([
        { name: 'Ann', age: 3, meta: { k: 1 }, tags: ['a', 'b'], n: '1.50' },
        { name: 'Bob', age: 30 },
      ])
      .returning({ id: users.id, n: users.n, tags: users.tags, meta: users.meta }),
);
step(
  'select',
  async () =>
    await db
      .select({ name: users.name, age: users.age })
      .from(users)
      .where(and(gt(users.age, 1), or(like(users.name, 'A%'), eq(users.ok, true))))
      .orderBy(desc(users.age))
      .limit(5),
);
step('join', async () => {
  await db.insert(posts).values([
    { title: 't1', userId: 1 },
    { title: 't2', userId: 1 },
  ]);
  return await db
    .select()
    .from(posts)
    .leftJoin(users, eq(posts.userId, users.id))
    .orderBy(posts.title)
    .then((r) => r.map((x) => [x.dposts.title, x.dusers.name]));
});
step(
  'relational',
  async () =>
    await db.query.users.findMany({
      with: { posts: { columns: { title: true }, orderBy: (p, { asc }) => asc(p.title) } },
      columns: { name: true },
      orderBy: (u, { asc }) => asc(u.name),
    }),
);
step(
  'first',
  async () =>
    await db.query.posts.findFirst({
      with: { author: { columns: { name: true } } },
      where: eq(posts.title, 't1'),
      columns: { title: true },
    }),
);
step('agg', async () => await db.select({ n: count(), s: sql`sum(${users.age})::int` }).from(users));
step(
  'upsert',
  async () =>
    await db
      .insert(users)
      .values({ id: 1, name: 'Ann2' })
      .onConflictDoUpdate({ target: users.id, set: { name: sql`excluded.name` } })
      .returning({ n: users.name }),
);
step(
  'update',
  async () =>
    await db
      .update(users)
      .set({ age: sql`${users.age}+1` })
      .where(inArray(users.id, [1, 2]))
      .returning({ a: users.age })
      .then((r) => r.map((x) => x.a).sort()),
);
step('cte', async () => {
  const q = db.$with('q').as(db.select({ id: users.id, a: users.age }).from(users).where(gt(users.age, 3)));
  return await db.with(q).select().from(q).orderBy(q.id);
});
step(
  'sub',
  async () =>
    await db
      .select({ name: users.name })
      .from(users)
      .where(exists(db.select().from(posts).where(eq(posts.userId, users.id)))),
);
step('trx', async () => {
  try {
    await db.transaction(
      async (t) => {
        await t.insert(users).values({ name: 'T' });
        await t
          .transaction(async (s) => {
            await s.insert(users).values({ name: 'S' });
            s.rollback();
          })
          .catch(() => 0);
        throw new Error('rb');
      },
      { isolationLevel: 'repeatable read' },
    );
  } catch (e) {
    return [e.message, (await db.select({ n: count() }).from(users))[0].n];
  }
});
step('prepared', async () => {
  const p = db
    .select({ n: users.name })
    .from(users)
    .where(eq(users.id, sql.placeholder('id')))
    .prepare('pq');
  return [await p.execute({ id: 1 }), await p.execute({ id: 2 })];
});
step('pgjs', async () => [
  (await client`select ${[1, 2, 3]}::int[] as a, '{}'::jsonb as j, ${'2020-01-01'}::timestamptz as t, ${'x'}::text as x`)[0],
  (await client`select * from ${client('dusers')} where ${client('id')} in ${client([1, 2])} order by id`).length,
  (
    await client`insert into dposts ${client(
      [
        { title: 'm', user_id: 1 },
        { title: 'n', user_id: 2 },
      ],
      'title',
      'user_id',
    )} returning title`
  ).map((r) => r.title),
]);
step('cursor', async () => {
  let n = 0;
  await client`select * from generate_series(1,100) g`.cursor(30, (r) => {
    n += r.length;
  });
  return n;
});
step('copyin', async () => {
  const w = await client`copy dposts (title) from stdin`.writable();
  await new Promise((r, j) => {
    w.on('finish', r);
    w.on('error', j);
    w.write('c1\n');
    w.end('c2\n');
  });
  return (await client`select count(*)::int n from dposts`)[0].n;
});
step('listen', async () => {
  let got;
  const p = new Promise((r) => (got = r));
  const l = await client.listen('chx', (x) => got(x));
  await client.notify('chx', 'yo');
  const r = await p;
  await l.unlisten();
  return r;
});
step('delete', async () => {
  await db.delete(posts);
  return (await db.delete(users).returning({ id: users.id })).length;
});
step('err', async () => {
  const o = [];
  for (const q of ['insert into dusers(name) values (null)', 'insert into dposts(user_id) values (99)', 'select 1/0', 'selec'])
    try {
      await client.unsafe(q);
    } catch (e) {
      o.push([e.code, e.column_name || null, e.table_name || null, e.constraint_name || null]);
    }
  return o;
});
run(() => client.end());
