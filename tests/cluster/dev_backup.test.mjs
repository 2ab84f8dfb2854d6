// SPDX-License-Identifier: MIT
//
// `./dev backup` and `./dev restore`: what a checkout has asked comes back, and a restore that fails changes nothing.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeCheckout } from '../support/checkout.mjs';
import { assertOk, freePort, openRequest, sign, withQuery } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // the script, whatever it starts: the same on any number of shards

describe('./dev backup and restore', { timeout: 900_000 }, () => {
  const checkout = makeCheckout();
  let ports;
  before(async () => {
    ports = ['--port', await freePort(), '--redis-port', await freePort()];
    await done('up', ...ports);
  });
  after(() => checkout.remove());

  const done = async (...args) => {
    const { code, stdout, stderr } = await checkout.dev(...args);
    assert.equal(code, 0, `${args}: ${stdout}${stderr}`);
    return stdout;
  };
  const request = async (path, body) => {
    const url = withQuery(path, sign('User_1', checkout.secret('User_1')));
    return assertOk(await openRequest(checkout.url('node1'), body ? 'POST' : 'GET', url, { body }).response);
  };
  const ask = (topic) => request('/api/add-query?Wait=60', { Topic: topic, User: 'User_1', Query: 'How long does a lease last?' });
  const topics = async () => Object.keys(await request('/api/user-topics')).sort();
  const kept = () => readdirSync(join(checkout.dir, 'var')).filter((name) => name.startsWith('redis-'));

  it('what was asked before the backup is there after a restore, and what came later is kept beside it', async () => {
    await ask('early');
    await done('backup', 'my.backup', { cwd: join(checkout.dir, 'var') });
    assert.equal(statSync(join(checkout.dir, 'var/my.backup')).mode & 0o777, 0o600);
    await ask('late');
    assert.deepEqual(await topics(), ['early', 'late']);
    const said = await done('restore', 'my.backup', { cwd: join(checkout.dir, 'var') });
    assert.deepEqual(checkout.running(), ['redis']);
    assert.deepEqual(kept().map((name) => `what Redis held before is in ${checkout.dir}/var/${name}`), said.match(/^what Redis held .*$/gm));
    await done('up', ...ports);
    assert.deepEqual(await topics(), ['early']);
    assert.match((await ask('again')).Answer[0], /150 seconds/);
  });

  it('a file that is damaged changes nothing', async () => {
    const [before] = [kept()];
    const bytes = readFileSync(join(checkout.dir, 'var/my.backup'));
    writeFileSync(join(checkout.dir, 'var/damaged'), bytes.subarray(0, bytes.length / 2));
    const { code, stderr } = await checkout.dev('restore', 'var/damaged');
    assert.equal(code, 1);
    assert.match(stderr, /^dev: nothing was restored: \.\/dev up starts what was there before$/m);
    assert.deepEqual([kept(), checkout.running()], [before, []]);
    await done('up', ...ports);
    assert.deepEqual(await topics(), ['again', 'early']);
  });

  it('a backup without a Redis that runs says what starts it', async () => {
    await done('down');
    const { code, stderr } = await checkout.dev('backup', 'var/other');
    assert.deepEqual([code, stderr], [1, 'dev: Redis does not run: ./dev up starts it\n']);
  });
});
