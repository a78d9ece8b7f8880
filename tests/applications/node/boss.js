// pg-boss: queues in a table that is partitioned by their names.
'use strict';

const PgBoss = require('pg-boss');
const { place, step, run } = require('./steps');

const faults = [];
const boss = new PgBoss({ ...place, max: 3, schedule: false });
boss.on('error', (error) => faults.push(error.message));

step('start', async () => { await boss.start(); });
step('queues', async () => { await boss.createQueue('mail'); await boss.createQueue('one', { policy: 'singleton' }); await boss.createQueue('dead'); await boss.createQueue('retried', { retryLimit: 2, deadLetter: 'dead' }); return (await boss.getQueues()).map((q) => [q.name, q.policy]).sort(); });
let first;
step('send', async () => { first = await boss.send('mail', { to: 'a' }); return typeof first; });
step('insert', () => boss.insert([{ name: 'mail', data: { to: 'b' } }, { name: 'mail', data: { to: 'c' }, priority: 5 }]).then(() => null));
step('singleton', async () => [typeof await boss.send('mail', { to: 'd' }, { singletonKey: 'k', singletonSeconds: 60 }), await boss.send('mail', { to: 'd' }, { singletonKey: 'k', singletonSeconds: 60 })]);
step('later', () => boss.send('mail', { to: 'e' }, { startAfter: 3600 }).then((id) => typeof id));
step('fetch', async () => { const jobs = await boss.fetch('mail', { batchSize: 10 }); await boss.complete('mail', jobs.map((job) => job.id), { done: true }); return jobs.map((job) => job.data.to).sort(); });
step('fetch nothing', () => boss.fetch('mail'));
step('state', () => boss.getJobById('mail', first).then((job) => [job.state, job.data, job.output]));
step('dead letter', async () => { await boss.send('retried', { r: 1 }, { retryLimit: 0 }); const [job] = await boss.fetch('retried'); await boss.fail('retried', job.id, { why: 'no' }); return (await boss.fetch('dead')).map((dead) => dead.data); });
step('retry', async () => { await boss.send('retried', { r: 2 }); const [job] = await boss.fetch('retried'); await boss.fail('retried', job.id, new Error('again')); return (await boss.getJobById('retried', job.id)).state; });
step('work', () => new Promise((resolve, reject) => { boss.work('mail', { pollingIntervalSeconds: 0.5 }, async (jobs) => { resolve(jobs.map((job) => job.data)); }).catch(reject); boss.send('mail', { to: 'worker' }).catch(reject); }));
step('publish', async () => { await boss.subscribe('joined', 'one'); await boss.publish('joined', { who: 'x' }); return (await boss.fetch('one')).map((job) => job.data); });
step('size', () => boss.getQueueSize('mail', { before: 'completed' }).then((size) => size > 0));
step('upkeep', async () => { await boss.maintain(); await boss.purgeQueue('mail'); await boss.createQueue('gone'); await boss.deleteQueue('gone'); return (await boss.getQueues()).map((q) => q.name).sort(); });
step('faults', async () => faults);

run(async () => { await boss.stop({ graceful: true, timeout: 5000 }); process.exit(0); });
