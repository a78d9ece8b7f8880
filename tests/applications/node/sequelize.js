// Sequelize: models synchronized, associations, operators, paranoid and versioned rows, the query interface.
'use strict';

const { place, run, step } = require('./steps');
const { Sequelize, DataTypes, Op, QueryTypes } = require('sequelize');
const sq = new Sequelize(place.database, place.user, '', { host: place.host, port: place.port, dialect: 'postgres', logging: false });
const U = sq.define(
  'User',
  {
    name: { type: DataTypes.STRING, allowNull: false },
    email: { type: DataTypes.STRING, unique: true },
    age: DataTypes.INTEGER,
    role: { type: DataTypes.ENUM('admin', 'user'), defaultValue: 'user' },
    tags: DataTypes.ARRAY(DataTypes.STRING),
    meta: DataTypes.JSONB,
    uid: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4 },
    bal: DataTypes.DECIMAL(10, 2),
    born: DataTypes.DATEONLY,
    ok: { type: DataTypes.BOOLEAN, defaultValue: true },
    big: DataTypes.BIGINT,
    dbl: DataTypes.DOUBLE,
    blob: DataTypes.BLOB,
  },
  {
    indexes: [
      { fields: ['age', 'name'] },
      { fields: [sq.fn('lower', sq.col('name'))], name: 'lower_name' },
      { fields: ['ok'], where: { ok: true }, name: 'part_ok' },
    ],
    paranoid: true,
    version: true,
  },
);
const P = sq.define('Post', { title: DataTypes.STRING, body: DataTypes.TEXT });
const T = sq.define('Tag', { t: DataTypes.STRING });
U.hasMany(P, { onDelete: 'CASCADE' });
P.belongsTo(U);
P.belongsToMany(T, { through: 'PostTags' });
T.belongsToMany(P, { through: 'PostTags' });
step('auth', () => sq.authenticate().then(() => 1));
step('version', async () => typeof (await sq.databaseVersion()));
step('sync', () => sq.sync({ force: true }).then(() => 1));
step('sync again', () => sq.sync({ alter: true }).then(() => 1));
step('create', async () => {
  const u = await U.create({
    name: 'Ann',
    email: 'a@x',
    age: 3,
    tags: ['a', 'b'],
    meta: { k: { d: 1 } },
    bal: '12.345',
    born: '2020-01-02',
    big: '9007199254740993',
    dbl: 1.5,
    blob: Buffer.from('hi'),
  });
  return [u.id, u.role, u.version];
});
step('bulk', async () =>
  (
    await U.bulkCreate(
      [
        { name: 'Bob', email: 'b@x', age: 30 },
        { name: 'Cid', email: 'c@x', age: 40 },
      ],
      { returning: true },
    )
  ).map((x) => x.id),
);
step(
  'bulk dup',
  async () => (await U.bulkCreate([{ name: 'Bob2', email: 'b@x', age: 31 }], { updateOnDuplicate: ['name', 'age'] })).length,
);
step('bulk ignore', async () => (await U.bulkCreate([{ name: 'Bob3', email: 'b@x' }], { ignoreDuplicates: true })).length);
step('upsert', async () => (await U.upsert({ email: 'c@x', name: 'Cid2' })).length);
step('find', async () =>
  (await U.findAll({ where: { age: { [Op.gt]: 2 }, name: { [Op.iLike]: '%n%' } }, order: [['name', 'DESC']], limit: 5 })).map((x) => [
    x.name,
    x.bal,
    x.born,
    x.big,
    x.tags,
    x.meta,
    x.blob && x.blob.toString(),
  ]),
);
step('ops', async () => [
  await U.count({ where: { [Op.or]: [{ age: { [Op.between]: [1, 5] } }, { name: { [Op.in]: ['Bob2'] } }] } }),
  await U.count({ where: { tags: { [Op.contains]: ['a'] } } }),
  await U.count({ where: { tags: { [Op.overlap]: ['b', 'z'] } } }),
  await U.count({ where: { 'meta.k.d': 1 } }),
  await U.count({ where: { meta: { [Op.contains]: { k: { d: 1 } } } } }),
  await U.count({ where: { name: { [Op.regexp]: '^[AB]' } } }),
  await U.count({ where: { name: { [Op.notLike]: 'A%' } } }),
  await U.count({ where: sq.where(sq.fn('char_length', sq.col('name')), 3) }),
]);
step('assoc', async () => {
  const u = await U.findOne({ where: { email: 'a@x' } });
  const p = await u.createPost({ title: 't1' });
  const t = await T.create({ t: 'x' });
  await p.addTag(t);
  await u.createPost({ title: 't2' });
  const r = await U.findOne({ where: { id: u.id }, include: [{ model: P, include: [T] }], order: [[P, 'title', 'ASC']] });
  return r.Posts.map((p) => [p.title, p.Tags.map((t) => t.t)]);
});
step('include where', async () => (await U.findAll({ include: [{ model: P, where: { title: 't1' }, required: true }] })).length);
step('subq', async () => (await U.findAndCountAll({ include: [P], limit: 1, offset: 0, distinct: true, order: ['id'] })).count);
step(
  'group',
  async () =>
    await U.findAll({
      attributes: ['role', [sq.fn('COUNT', '*'), 'n'], [sq.fn('SUM', sq.col('age')), 's']],
      group: ['role'],
      having: sq.where(sq.fn('COUNT', '*'), Op.gt, 0),
      raw: true,
    }),
);
step('inc', async () => {
  await U.increment({ age: 5 }, { where: { name: 'Ann' } });
  return (await U.findOne({ where: { name: 'Ann' } })).age;
});
step('trx', async () => {
  try {
    await sq.transaction({ isolationLevel: 'SERIALIZABLE' }, async (t) => {
      await U.create({ name: 'T' }, { transaction: t });
      await U.findOne({ where: { name: 'T' }, transaction: t, lock: true, skipLocked: true });
      throw new Error('x');
    });
  } catch (e) {
    return [e.message, await U.count({ where: { name: 'T' } })];
  }
});
step('paranoid', async () => {
  await U.destroy({ where: { name: 'Cid2' } });
  return [await U.count(), await U.count({ paranoid: false }), await U.restore({ where: { name: 'Cid2' } }).then(() => U.count())];
});
step('findOrCreate', async () => {
  const [a, c] = await U.findOrCreate({ where: { email: 'z@x' }, defaults: { name: 'Z' } });
  const [b, d] = await U.findOrCreate({ where: { email: 'z@x' }, defaults: { name: 'Z' } });
  return [c, d];
});
step('raw', () => sq.query('select :a::int as a, $$x$$ as b', { replacements: { a: 5 }, type: QueryTypes.SELECT }));
step('bind', () => sq.query('select $1::text as a', { bind: ['q'], type: QueryTypes.SELECT }));
step('qi', async () => {
  const q = sq.getQueryInterface();
  await q.addColumn('Tags', 'extra', { type: DataTypes.STRING, defaultValue: 'd' });
  await q.changeColumn('Tags', 'extra', { type: DataTypes.TEXT, allowNull: false });
  await q.renameColumn('Tags', 'extra', 'extra2');
  await q.addIndex('Tags', ['extra2'], { name: 'ix' });
  const d = Object.keys(await q.describeTable('Tags'));
  const i = (await q.showIndex('Tags')).map((x) => [x.name, x.unique, x.primary]);
  await q.addConstraint('Tags', { fields: ['extra2'], type: 'unique', name: 'uq' });
  await q.addConstraint('Tags', { fields: ['id'], type: 'check', name: 'ck', where: { id: { [Op.gt]: 0 } } });
  await q.removeConstraint('Tags', 'uq');
  await q.removeIndex('Tags', 'ix');
  await q.removeColumn('Tags', 'extra2');
  const t = (await q.showAllTables())
    .map((x) => x.tableName || x)
    .filter((x) => ['Users', 'Posts', 'Tags', 'PostTags'].includes(x))
    .sort();
  const f = await q.getForeignKeyReferencesForTable('Posts');
  return [d, i, t, f.map((x) => [x.columnName, x.referencedTableName])];
});
step('enum alter', async () => {
  await sq.query(`ALTER TYPE "enum_Users_role" ADD VALUE IF NOT EXISTS 'guest'`);
  const u = await U.findOne({ where: { name: 'Ann' } });
  return u.role;
});
step('err', async () => {
  const o = [];
  try {
    await U.create({ name: 'd', email: 'a@x' });
  } catch (e) {
    o.push(e.name, Object.keys(e.fields || {}));
  }
  try {
    await U.create({ email: 'n' });
  } catch (e) {
    o.push(e.name);
  }
  try {
    await P.create({ title: 'q', UserId: 999 });
  } catch (e) {
    o.push(e.name, e.index, e.table);
  }
  return o;
});
run(() => sq.close());
