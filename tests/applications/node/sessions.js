// connect-pg-simple: sessions of Express.
'use strict';

const session = require('express-session');
const { Pool } = require('pg');
const { place, step, run } = require('./steps');

const pool = new Pool({ ...place, max: 2 });
const Store = require('connect-pg-simple')(session);
const store = new Store({ pool, createTableIfMissing: true, tableName: 'user sessions', pruneSessionInterval: false });
const wait = (call) => new Promise((done, fail) => call((error, value) => (error ? fail(error) : done(value === undefined ? null : value))));
step('session set', () => wait((done) => store.set('s1', { cookie: { maxAge: 60000 }, user: 'ann' }, done)));
step('session get', () => wait((done) => store.get('s1', done)));
step('session again', async () => { await wait((done) => store.set('s1', { cookie: { maxAge: 60000 }, user: 'bob' }, done)); return (await wait((done) => store.get('s1', done))).user; });
step('session touch', () => wait((done) => store.touch('s1', { cookie: { maxAge: 120000 } }, done)));
step('session prune', async () => { await wait((done) => store.set('old', { cookie: { expires: new Date(Date.now() - 5000) } }, done)); await wait((done) => store.pruneSessions(done)); return (await pool.query('SELECT count(*)::int AS n FROM "user sessions"')).rows; });
step('session destroy', async () => { await wait((done) => store.destroy('s1', done)); return wait((done) => store.get('s1', done)); });

run(() => pool.end());
