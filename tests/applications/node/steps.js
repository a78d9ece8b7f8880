// Steps of a script: each prints its name and what it gave, or how it failed. The same script prints the same on Keyspan and on PostgreSQL.
'use strict';

const [host, port, user, database] = process.argv.slice(2);
const steps = [];

/** Where the database is. */
exports.place = { host, port: Number(port), user, database };

/** A step; what it gives is printed, without moments. */
exports.step = (name, run) => steps.push([name, run]);

/** Runs the steps one by one, and then `end`. */
exports.run = async (end) => {
  for (const [name, run] of steps) {
    try {
      console.log(name, 'OK', JSON.stringify(await run()));
    } catch (error) {
      const code = error.code || (error.parent && error.parent.code) || '';
      console.log(name, 'FAIL', code, error.message, error.sql || error.query || '');
    }
  }
  await end();
};
