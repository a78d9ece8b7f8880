// TypeORM: entities synchronized, relations, query builders, soft deletion, versions, locks, migrations, the schema read back.
'use strict';

const { place, run, step } = require('./steps');
require('reflect-metadata');
const { DataSource, EntitySchema, In, Like, Between, IsNull, Not, Raw, MoreThan, Brackets } = require('typeorm');
const User = new EntitySchema({
  name: 'User',
  tableName: 'user',
  columns: {
    id: { type: Number, primary: true, generated: true },
    name: { type: String },
    email: { type: 'varchar', length: 100, unique: true },
    age: { type: 'int', nullable: true },
    role: { type: 'enum', enum: ['admin', 'user'], default: 'user' },
    tags: { type: 'text', array: true, nullable: true },
    meta: { type: 'jsonb', nullable: true },
    uid: { type: 'uuid', generated: 'uuid' },
    bal: { type: 'numeric', precision: 10, scale: 2, default: 0 },
    born: { type: 'date', nullable: true },
    at: { type: 'timestamptz', createDate: true },
    upd: { type: 'timestamp', updateDate: true },
    del: { type: 'timestamp', deleteDate: true },
    v: { type: 'int', version: true },
    simple: { type: 'simple-array', nullable: true },
    iv: { type: 'interval', nullable: true },
  },
  indices: [{ name: 'ix_age', columns: ['age', 'name'] }],
  checks: [{ name: 'age_ck', expression: 'age > -1' }],
  relations: { posts: { type: 'one-to-many', target: 'Post', inverseSide: 'author' } },
});
const Post = new EntitySchema({
  name: 'Post',
  columns: { id: { type: 'uuid', primary: true, generated: 'uuid' }, title: { type: String }, body: { type: 'text', default: '' } },
  relations: {
    author: { type: 'many-to-one', target: 'User', inverseSide: 'posts', onDelete: 'CASCADE', nullable: true },
    tags: { type: 'many-to-many', target: 'Tag', joinTable: true, cascade: true },
  },
});
const Tag = new EntitySchema({
  name: 'Tag',
  columns: { id: { type: 'bigint', primary: true, generated: 'identity' }, t: { type: String, unique: true } },
});
const mig1 = class M1690000000001 {
  constructor() {
    this.name = 'M1690000000001';
  }
  async up(q) {
    await q.query(
      `CREATE TABLE "mig" ("id" SERIAL NOT NULL, "a" character varying NOT NULL DEFAULT 'x', CONSTRAINT "PK_mig" PRIMARY KEY ("id"))`,
    );
    await q.query(`CREATE TYPE "public"."mig_k_enum" AS ENUM('a', 'b')`);
    await q.query(`ALTER TABLE "mig" ADD "k" "public"."mig_k_enum" NOT NULL DEFAULT 'a'`);
  }
  async down(q) {
    await q.query(`ALTER TABLE "mig" DROP COLUMN "k"`);
    await q.query(`DROP TYPE "public"."mig_k_enum"`);
    await q.query(`DROP TABLE "mig"`);
  }
};
const ds = new DataSource({
  type: 'postgres',
  host: place.host,
  port: place.port,
  username: place.user,
  database: place.database,
  entities: [User, Post, Tag],
  synchronize: false,
  migrations: [mig1],
  logging: false,
  installExtensions: false,
  uuidExtension: 'pgcrypto',
});
let U, P, T;
step('init', async () => {
  await ds.initialize();
  U = ds.getRepository('User');
  P = ds.getRepository('Post');
  T = ds.getRepository('Tag');
  return 1;
});
step('sync', () => ds.synchronize(true).then(() => 1));
step('sync2', async () => (await ds.driver.createSchemaBuilder().log()).upQueries.map((q) => q.query));
step('save', async () => {
  const u = await U.save({
    name: 'Ann',
    email: 'a@x',
    age: 3,
    tags: ['a', 'b'],
    meta: { k: 1 },
    bal: '12.345',
    born: '2020-01-02',
    simple: ['p', 'q'],
    iv: '1 day',
  });
  return [u.id, u.v, u.role, u.bal];
});
step(
  'insert many',
  async () =>
    (
      await U.insert([
        { name: 'Bob', email: 'b@x', age: 30 },
        { name: 'Cid', email: 'c@x' },
      ])
    ).identifiers,
);
step('posts', async () => {
  const u = await U.findOneBy({ email: 'a@x' });
  const p = await P.save({ title: 't1', author: u, tags: [{ t: 'x' }, { t: 'y' }] });
  await P.save({ title: 't2', author: u });
  return p.tags.map((t) => t.t);
});
step('relations', async () =>
  (
    await U.find({ relations: { posts: { tags: true } }, where: { name: 'Ann' }, order: { posts: { title: 'ASC', tags: { t: 'ASC' } } } })
  ).map((u) => u.posts.map((p) => [p.title, p.tags.map((t) => t.t)])),
);
step('where', async () => [
  await U.countBy({ age: Between(1, 50) }),
  await U.countBy({ name: In(['Ann', 'Bob']) }),
  await U.countBy({ name: Like('%i%') }),
  await U.countBy({ age: IsNull() }),
  await U.countBy({ age: Not(IsNull()) }),
  await U.countBy({ meta: Raw(() => `"User".meta->>'k' = '1'`) }),
]);
step(
  'qb',
  async () =>
    await U.createQueryBuilder('u')
      .leftJoin('u.posts', 'p')
      .select('u.name', 'n')
      .addSelect('COUNT(p.id)', 'c')
      .groupBy('u.name')
      .having('COUNT(p.id) >= :c', { c: 0 })
      .orderBy('u.name')
      .getRawMany(),
);
step('paging', async () => {
  const [r, c] = await U.createQueryBuilder('u').leftJoinAndSelect('u.posts', 'p').orderBy('u.id').skip(0).take(2).getManyAndCount();
  return [r.length, c];
});
step('brackets', async () =>
  (
    await U.createQueryBuilder('u')
      .where(new Brackets((q) => q.where('u.age > 5').orWhere('u.age IS NULL')))
      .andWhere((q) => 'u.id IN ' + q.subQuery().select('x.id').from('User', 'x').getQuery())
      .orderBy('u.id')
      .getMany()
  ).map((u) => u.name),
);
step('update', async () => [
  (await U.update({ name: 'Bob' }, { age: () => 'age + 1' })).affected,
  (await U.findOneBy({ name: 'Bob' })).age,
]);
step('version', async () => {
  const u = await U.findOneBy({ name: 'Ann' });
  u.age = 4;
  await U.save(u);
  return (await U.findOneBy({ name: 'Ann' })).v;
});
step('upsert', async () => {
  await U.upsert(
    [
      { name: 'Cid2', email: 'c@x' },
      { name: 'Dee', email: 'd@x' },
    ],
    ['email'],
  );
  return (await U.find({ order: { email: 'ASC' } })).map((u) => u.name);
});
step('orIgnore', async () => (await U.createQueryBuilder().insert().values({ name: 'q', email: 'd@x' }).orIgnore().execute()).raw.length);
step('soft', async () => {
  await U.softDelete({ name: 'Dee' });
  const a = await U.count();
  const b = await U.count({ withDeleted: true });
  await U.restore({ name: 'Dee' });
  return [a, b, await U.count()];
});
step('trx', async () => {
  try {
    await ds.transaction('SERIALIZABLE', async (m) => {
      await m.save('User', { name: 'T', email: 't@x' });
      await m.createQueryBuilder('User', 'u').setLock('pessimistic_write').getMany();
      throw new Error('rb');
    });
  } catch (e) {
    return [e.message, await U.countBy({ name: 'T' })];
  }
});
step('lock', () =>
  ds.transaction(
    async (m) => (await m.findOne('User', { where: { name: 'Ann' }, lock: { mode: 'pessimistic_write', onLocked: 'skip_locked' } })).name,
  ),
);
step('stream', async () => {
  const s = await U.createQueryBuilder('u').stream();
  let n = 0;
  for await (const _ of s) n++;
  return n;
});
step('cascade', async () => {
  await U.delete({ name: 'Ann' });
  return [await P.count(), await T.count()];
});
step('migrate', async () => {
  const a = await ds.runMigrations();
  const r = await ds.query('select count(*)::int as n from "mig"');
  await ds.undoLastMigration();
  return [a.length, r];
});
step('table', async () => {
  const q = ds.createQueryRunner();
  const t = await q.getTable('user');
  const r = [
    t.columns.map((c) => [c.name, c.type, c.isNullable, c.isGenerated, c.isUnique, c.default && c.default.slice(0, 12)]),
    t.indices.map((i) => [i.name, i.columnNames]),
    t.checks.map((c) => c.name),
    t.foreignKeys.length,
    t.uniques.length,
  ];
  const p = await q.getTable('post');
  r.push(p.foreignKeys.map((f) => [f.columnNames, f.referencedTableName, f.onDelete]));
  await q.release();
  return r;
});
step('err', async () => {
  const o = [];
  for (const f of [
    () => U.insert({ name: 'x', email: 'c@x' }),
    () => U.insert({ email: 'n@x' }),
    () => U.insert({ name: 'x', email: 'k@x', age: -5 }),
    () => P.insert({ title: 'q', author: { id: 999 } }),
    () => U.insert({ name: 'x', email: 'k@x', role: 'zzz' }),
  ])
    try {
      await f();
    } catch (e) {
      o.push([e.name, e.code, e.driverError && e.driverError.table, !!(e.driverError && e.driverError.constraint)]);
    }
  return o;
});
step('drop', async () => {
  await ds.dropDatabase();
  await ds.destroy();
  return 1;
});
run(() => ds.isInitialized && ds.destroy());
