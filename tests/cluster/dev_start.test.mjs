// SPDX-License-Identifier: MIT
//
// `./dev up` and `./dev cluster`: on the ports that were asked for, from any folder, and beside a copy of the checkout.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeCheckout } from '../support/checkout.mjs';
import { assertOk, BIN, cleanEnvironment, freePort, openRequest, ROOT, runParley, sign, withQuery } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // the script, whatever it starts: the same on any number of shards

const TIMEOUT = { timeout: 900_000 };

function assertDone({ code, stdout, stderr }) {
  assert.equal(code, 0, `${stdout}${stderr}`);
  assert.equal(stderr, '');
  return stdout;
}

describe('./dev up and the ports that it is given', TIMEOUT, () => {
  const checkout = makeCheckout();
  let ports;
  before(async () => (ports = [await freePort(), await freePort(), await freePort(), await freePort()]));
  after(() => checkout.remove());
  const at = (port) => `http://127.0.0.1:${port}`;
  // Redis itself changes its command line, so that of the node.
  const redisPort = () => Number(/--redis redis:\/\/127\.0\.0\.1:(\d+)\//.exec(checkout.commandLine('node1'))[1]);

  it('they are taken from flags, in either form, and every line that is printed names them', async () => {
    const said = assertDone(await checkout.dev('up', '--port', ports[0], `--redis-port=${ports[1]}`));
    assert.match(said, new RegExp(`^started redis on port ${ports[1]},`, 'm'));
    assert.match(said, new RegExp(`^started node1 at ${at(ports[0])}$`, 'm'));
    for (const [url] of said.matchAll(/http:\/\/127\.0\.0\.1:\d+/g)) assert.equal(url, at(ports[0]));
    assert.equal(checkout.url('node1'), at(ports[0]));
    assert.equal(redisPort(), ports[1]);
    assert.equal((await openRequest(at(ports[0]), 'GET', '/readyz').response).status, 200);
  });

  it('what runs stays where it is, and a restart for another reason does not move it', async () => {
    const pid = checkout.pid('node1');
    assert.match(assertDone(await checkout.dev('up')), new RegExp(`^node1 runs already at ${at(ports[0])}, with these settings$`, 'm'));
    assert.equal(checkout.pid('node1'), pid);
    assert.match((await checkout.dev('up', { env: { PARLEY_LOG_LEVEL: 'debug' } })).stdout, new RegExp(`^started node1 at ${at(ports[0])}$`, 'm'));
    assert.equal(redisPort(), ports[1]);
  });

  it('lines to paste are one line each and work in any folder, from wherever it was called', async () => {
    const said = assertDone(await checkout.dev('up', { cwd: '/' }));
    const [env, ...lines] = [...said.matchAll(/^ {2}((?:\.|curl|parley) .*)$/gm)].map(([, line]) => line);
    assert.equal(env, `. ${checkout.dir}/var/env`);
    assert.equal(lines.length, 6, said);
    const [asked, queued, file, run, bot, message] = lines.map((line) => checkout.paste(`${env}\n${line}`, '/'));
    assert.match(asked, /\[1\][^]*^Sources:\n\[1\] http:\S+\/handbook\//m);
    assert.match(queued, /150 seconds/);
    assert.match(file, /^\[\d\] architecture\.md$/m);
    assert.match(run, /^The run is done\.$/m);
    assert.equal(JSON.parse(bot).username, 'librarian');
    assert.deepEqual(JSON.parse(message).tagged, ['librarian']);
    assert.ok(said.includes(`${checkout.dir}/dev down stops it all`), said);
    assert.ok(said.includes(`${checkout.dir}/var/accounts.yaml`), said);
  });

  it('the first example of the README is one line, and gets an answer with its sources, on this port too', () => {
    const [line] = /^parley ask .*$/m.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'));
    const said = checkout.paste(`. ${checkout.dir}/var/env\n${line}`);
    assert.match(said, new RegExp(`\\[1\\][^]*^\\[1\\] ${checkout.url('node1')}/handbook/`, 'm'));
  });

  it('var/env may be read again and again, and its commands are those of the node that runs', () => {
    const twice = `. ${checkout.dir}/var/env\n. ${checkout.dir}/var/env\n`;
    assert.equal(checkout.paste(`${twice}echo "$PARLEY_URL $PARLEY_USER"; tr ':' '\n' <<<"$PATH" | grep -cx "$(dirname "$(command -v parley)")"; parley sign /api/me | cut -d '?' -f 1`), `${checkout.url('node1')} User_1\n1\n${checkout.url('node1')}/api/me\n`);
  });

  it('a file that is named from where one is, is that file', async () => {
    assert.match(assertDone(await checkout.dev('engine', '--corpus', 'adr', { cwd: `${checkout.dir}/docs` })), /^started engine: .*over the documents in \/.*\/docs\/adr$/m);
    assert.match(assertDone(await checkout.dev('engine', { cwd: `${checkout.dir}/docs` })), /over the documents in docs\/handbook$/m);
  });

  it('a port that another program has is refused before anything stops', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    try {
      await once(other, 'listening');
      const { port } = other.address();
      const pids = ['redis', 'node1', 'engine'].map(checkout.pid);
      for (const flag of ['--port', '--redis-port']) {
        const { code, stdout, stderr } = await checkout.dev('up', flag, port);
        assert.deepEqual([code, stdout, stderr], [1, '', `dev: port ${port} is taken: ${flag} N takes another one\n`]);
      }
      assert.deepEqual(['redis', 'node1', 'engine'].map(checkout.pid), pids);
    } finally {
      other.close();
    }
  });

  it('they are taken from the environment, a flag beats it, and what runs elsewhere moves with its data', async () => {
    const env = { PARLEY_PORT: String(ports[0]), PARLEY_REDIS_PORT: String(ports[3]) };
    const said = assertDone(await checkout.dev('cluster', 2, '--port', ports[2], { env }));
    assert.match(said, /^stopped engine .*\nstopped node1 .*\nstopped redis /m);
    assert.equal(checkout.url('node1'), at(ports[2]));
    assert.equal(redisPort(), ports[3]);
    assert.notEqual(checkout.url('node2'), at(ports[2]));
    const topics = assertOk(await openRequest(at(ports[2]), 'GET', withQuery('/api/user-topics', sign('User_1', checkout.secret('User_1')))).response);
    assert.match(JSON.stringify(topics), /"ask-[0-9a-f]{12}"/);
    const [line] = /^ {2}parley ask --public .*$/m.exec(said);
    assert.match(checkout.paste(`. ${checkout.dir}/var/env\n${line}`), /^Sources:$/m);
  });

  it('the port of another node of the cluster is free for the first one', async () => {
    const second = Number(new URL(checkout.url('node2')).port);
    assertDone(await checkout.dev('cluster', 2, '--port', second));
    assert.equal(checkout.url('node1'), at(second));
    assert.equal(redisPort(), ports[3], 'where it was');
    assert.notEqual(checkout.url('node2'), at(second));
    assert.equal((await checkout.dev('up', '--port', ports[3])).stderr, `dev: port ${ports[3]} is taken: --port N takes another one\n`);
  });

  it('a misspelt variable ends the start with the nearest name, and those of Kubernetes do not', async () => {
    const pids = ['redis', 'node1', 'engine'].map(checkout.pid);
    const env = { PARLEY_LEASE_SECOND: '9', PARLEY_PROT: '9', PARLEY_LEASE_SECONDS: '150', PARLEY_SERVICE_HOST: '10.0.0.1' };
    const { code, stdout, stderr } = await checkout.dev('cluster', 2, { env });
    assert.deepEqual([code, stdout], [1, ''], stderr);
    assert.deepEqual(stderr.trim().split('\n'), [
      'dev: the environment variable PARLEY_LEASE_SECOND is not a setting: did you mean PARLEY_LEASE_SECONDS? If not, unset it',
      'dev: the environment variable PARLEY_PROT is not a setting: did you mean PARLEY_PORT? If not, unset it',
    ]);
    assert.deepEqual(['redis', 'node1', 'engine'].map(checkout.pid), pids);
  });

  describe('a copy of the checkout', TIMEOUT, () => {
    const copy = `${checkout.dir}-copy`, moved = `${checkout.dir}-moved`;
    const dev = (dir, ...args) => spawnSync(`${dir}/dev`, args, { cwd: dir, env: cleanEnvironment({ PARLEY_BIN: BIN }), encoding: 'utf8', timeout: 250_000 });
    after(() => {
      for (const dir of [copy, moved]) {
        if (existsSync(dir)) dev(dir, 'down');
        rmSync(dir, { recursive: true, force: true });
      }
    });

    it('does not stop what runs in the other one, and starts its own', async () => {
      assert.equal(spawnSync('cp', ['-a', checkout.dir, copy]).status, 0);
      assert.match(dev(copy, 'down').stdout, /^nothing was running$/m);
      assert.equal(spawnSync('cp', ['-a', `${checkout.dir}/var/run`, `${copy}/var`]).status, 0);
      const { status, stdout, stderr } = dev(copy, 'up');
      assert.equal(status, 0, stdout + stderr);
      assert.doesNotMatch(stdout, /runs already/);
      assert.ok(!stdout.includes(`${checkout.url('node1')}/`), stdout);
      assert.deepEqual(['redis', 'node1', 'node2', 'engine'].map((name) => checkout.pid(name) > 0), [true, true, true, true]);
    });

    it('that is moved while it runs still knows its own processes', () => {
      renameSync(copy, moved);
      const { stdout } = dev(moved, 'down');
      for (const name of ['engine', 'node1', 'redis']) assert.match(stdout, new RegExp(`^stopped ${name} `, 'm'));
    });
  });
});

describe('./dev cluster and settings in the environment', TIMEOUT, () => {
  const checkout = makeCheckout();
  after(() => checkout.remove());
  const NAMES = ['node1', 'node2', 'engine'];
  const pids = () => NAMES.map(checkout.pid);
  const env = { PARLEY_SHARDS: '4', PARLEY_LEASE_SECONDS: '99' };
  const cluster = (more = {}) => checkout.dev('cluster', 2, { env: { ...env, ...more } });
  const shards = async () => {
    const redis = /redis:\/\/\S+/.exec(checkout.commandLine('node1'))[0];
    return /shards [\d, ]+/.exec((await runParley(['servers', '--redis', redis])).stdout)[0].trim();
  };

  it('they are those of the first start, the number of shards among them', async () => {
    assertDone(await cluster());
    assert.equal(await shards(), 'shards 0, 1, 2, 3');
  });

  it('what runs with the same is left alone, which is said', async () => {
    const before = pids();
    const said = assertDone(await cluster());
    for (const name of ['node1', 'node2']) assert.match(said, new RegExp(`^${name} runs already at \\S+, with these settings$`, 'm'));
    assert.match(said, /^engine runs already: /m);
    assert.deepEqual(pids(), before);
    const exported = { PARLEY_URL: checkout.url('node1'), PARLEY_USER: 'User_1', PARLEY_SECRET_FILE: `${checkout.dir}/var/secrets/User_1` };
    assertDone(await cluster(exported));
    assert.deepEqual(pids(), before, 'what a client of the nodes has exported is outdone by the flags of the engine');
  });

  it('a node that runs with others is replaced, which is said, and the engine that has none of them stays', async () => {
    const before = pids(), url = checkout.url('node1');
    const said = assertDone(await cluster({ PARLEY_LEASE_SECONDS: '98', PARLEY_DRAIN_SECONDS: '9' }));
    for (const name of ['node1', 'node2']) {
      assert.match(said, new RegExp(`^${name} runs with other settings \\(PARLEY_DRAIN_SECONDS, PARLEY_LEASE_SECONDS\\): it is replaced$`, 'm'));
      assert.notEqual(checkout.pid(name), before[NAMES.indexOf(name)]);
    }
    assert.equal(checkout.url('node1'), url);
    assert.equal(checkout.pid('engine'), before[2]);
  });

  it('what cannot be applied is said before anything stops', async () => {
    const before = pids();
    const cases = [
      [{ PARLEY_SHARDS: '8' }, [/^parley: --shards is 8, but this cluster has 4: /, /^dev: the number of shards is fixed .* remove \/\S+\/var\/redis$/]],
      [{ PARLEY_LEASE_SECONDS: 'long' }, [/^parley: --lease-seconds takes a whole number from \d+ to \d+, not 'long' \(PARLEY_LEASE_SECONDS in the environment\)$/]],
    ];
    for (const [more, lines] of cases) {
      const { code, stderr } = await cluster(more);
      const said = stderr.trim().split('\n');
      assert.equal(code, 1, stderr);
      [...lines, /^dev: no node was started or replaced$/].forEach((line, i) => assert.match(said[i] ?? '', line));
      assert.deepEqual(pids(), before);
    }
    assert.equal(await shards(), 'shards 0, 1, 2, 3');
  });
});
