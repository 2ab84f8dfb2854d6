// SPDX-License-Identifier: MIT
//
// Budgets of an account: what is counted when a request begins, and charged when its query ends, whatever ends it.
import assert from 'node:assert/strict';
import { lines, random, scripts, tailOf, zset } from '../../support/lua.mjs';

const MODEL = 'chat/llama3';
const RUN_MS = 1_860_000;
const DAY = Math.floor(Date.now() / 86_400_000);
const REQUEST = JSON.stringify('x'.repeat(398)); // 400 bytes: 101 tokens
const SAID = '"Usage":{"prompt_tokens":7,"completion_tokens":30}';
const take = (id, { requests = '', tokens = '', running = '', account = 'F' } = {}) => ['budget_take', 0, account, id, requests, tokens, running];
const ask = (id, { topic = `ask.${id}`, digest = `d${id}` } = {}) => ['door_ask', 0, topic, id, digest, 'alice', 'F', MODEL, 1, 100, tailOf({ user: 'alice', model: 'llama3' }), REQUEST, id];
const leave = (id, how = 'over', { topic = `ask.${id}`, digest = `d${id}` } = {}) => ['door_leave', topic, 1, id, digest, '', how];
const firstLine = (reply) => reply.split('\n')[0];

scripts('budget_take', ({ test, shard }) => {
  const taken = async (id, options, node = 'n1') => firstLine((await shard.turn([take(id, options)], { node })).replies[0]);
  const state = () => shard.get('running:F');

  test('as many requests a minute as may be, whatever node takes them, and what is left is said', async () => {
    const [left, reset] = (await shard.call(...take('1', { requests: 3 }))).split('\n').slice(1);
    assert.deepEqual([left, reset], ['2', '60000']);
    assert.equal(await taken('2', { requests: 3 }, 'n2'), 'ok');
    assert.equal(await taken('3', { requests: 3 }, 'n3'), 'ok');
    const refused = (await shard.call(...take('4', { requests: 3 }))).split('\n');
    assert.deepEqual(refused.slice(0, 2), ['requests', '0']);
    assert.ok(refused[5] > 50_000 && refused[5] <= 60_000, refused[5]);
    assert.equal(Object.keys((await state()).value).length, 3);
    assert.equal(await taken('5', { requests: 3, account: 'G' }), 'ok');
  });

  test('what one budget refuses is counted in none', async () => {
    assert.equal(await taken('1', { requests: 5, running: 1 }), 'ok');
    assert.equal(await taken('2', { requests: 5, running: 1 }), 'running');
    await shard.seed({ 'spent:F': { [DAY]: '10' } });
    assert.equal(await taken('3', { requests: 5, tokens: 10 }), 'tokens');
    assert.equal((await shard.call(...take('4', { requests: 5, tokens: 11 }))).split('\n')[1], '3');
  });

  test('tokens of another day do not count, and the day ends at midnight of UTC', async () => {
    await shard.seed({ 'spent:F': { [DAY - 1]: '1000' } });
    const reply = (await shard.call(...take('1', { tokens: 10 }))).split('\n');
    assert.deepEqual([reply[0], reply[3]], ['ok', '10']);
    assert.ok(Math.abs(Number(reply[4]) - (86_400_000 - (Date.now() % 86_400_000))) < 20_000, reply[4]);
  });

  test('a place is free again when it is released, when its time is over and when its node is gone', async () => {
    assert.equal(await taken('1', { running: 1 }), 'ok');
    await shard.call('budget_release', 'F', '1', '1');
    assert.equal(await state(), undefined);
    assert.equal(await taken('2', { running: 1 }), 'ok');
    await shard.call('budget_release', 'F', '2', ''); // its query may be there until it is cancelled
    assert.equal(await taken('3', { running: 1 }), 'running');
    assert.ok((await state()).value['n1 2'] <= Date.now() + 3000);
    await shard.cmd('ZADD', shard.key('running:F'), Date.now() - 1, 'n1 2');
    assert.equal(await taken('3', { running: 1 }), 'ok');
    assert.deepEqual(Object.keys((await state()).value).sort(), ['n1 2', 'n1 3']);
    const now = Date.now();
    await shard.seed({ nodes: zset({ n1: now, n3: now }), 'running:F': zset({ 'n1 1': now - 10, 'n2 2': now + RUN_MS - 61_000, 'n3 3': now + RUN_MS - 61_000, 'n4 4': now + RUN_MS - 1000 }) });
    assert.equal(await taken('5', { running: 3 }), 'running'); // n4 may not have said yet that it is there
    assert.equal(await taken('6', { running: 4 }), 'ok');
    assert.ok((await state()).value['n2 2'] <= Date.now());
  });
});

scripts('charges', ({ test, shard }) => {
  const begin = async (id, { topic = `ask.${id}`, isClaimed = true } = {}) => {
    await shard.cmd('HSET', shard.key('models_seen'), MODEL, `${Date.now()} E `);
    assert.equal(firstLine(await shard.call(...take(id, { tokens: 1e6 }))), 'ok');
    assert.equal(firstLine(await shard.call(...ask(id, { topic }))), 'ok');
    assert.equal((await shard.get(`t:${topic}`))['g:1'], `n1 ${id}`);
    return { topic, lease: isClaimed ? (await shard.call('claim', 0, 'E|chat/llama3', '0')).split('\n')[3] : '' };
  };
  const complete = ({ topic, lease }, said, answer = 'x'.repeat(35)) => shard.call('complete', 0, topic, 1, lease, 'E', '', lines(JSON.stringify([answer]), 'null', 'null'), '', '', '', '', '', said, '', 0);
  const spent = async () => Number((await shard.get('spent:F'))?.value?.[DAY] ?? (await shard.get('spent:F'))?.[DAY] ?? 0);
  const running = async () => Object.keys((await shard.get('running:F'))?.value ?? {});
  const rows = async () => (await shard.call('account_usage', 0, 30, 'F')).split('\n').slice(2);

  test('an answer is charged once with what its engine said', async () => {
    const query = await begin('1');
    assert.match(await complete(query, SAID), /^ok/);
    assert.match(await complete(query, SAID), /^same/);
    assert.deepEqual([await spent(), await running()], [37, []]);
    assert.equal((await shard.get(`t:${query.topic}`))['g:1'], undefined);
    await shard.call(...leave('1'));
    assert.equal(await spent(), 37);
    assert.deepEqual(await rows(), [`${DAY} ${MODEL} 1 7 30 0`]);
  });

  test('without its word, by the bytes of request and answer, marked as an estimate', async () => {
    assert.match(await complete(await begin('1'), ''), /^ok/);
    assert.equal(await spent(), 101 + 13); // ["xxx"] and two lines with null
    assert.deepEqual(await rows(), [`${DAY} ${MODEL} 1 101 13 1`]);
  });

  test('a question over documents is charged the same, and what others who share it were granted is not', async () => {
    const question = (id) => ['ask', 'd1', `ask.${id}`, 'alice', 'F', 'default', 1, tailOf({ user: 'alice', query: 'x'.repeat(398) }), '', '', id];
    await shard.seed({ engines: { 'E -': `${Date.now()} {}` } });
    for (const [id, reply] of [['1', 'ok'], ['2', 'joined']]) {
      assert.equal(firstLine(await shard.call(...take(id, { tokens: 1e6 }))), 'ok');
      assert.equal(firstLine(await shard.call(...question(id))), reply);
    }
    const topic = 'ask.1';
    assert.equal((await shard.get(`t:${topic}`))['g:1'], 'n1 1');
    const bytes = await shard.cmd('HSTRLEN', shard.key(`t:${topic}`), 'q:1');
    const lease = (await shard.call('claim', 0, 'E|*', '0')).split('\n')[3];
    assert.match(await complete({ topic, lease }, ''), /^ok/);
    const read = Math.floor(bytes / 4) + 1;
    assert.deepEqual([await spent(), await running()], [read + 13, ['n1 2']]); // its node gives that back
    assert.deepEqual(await rows(), [`${DAY} default 1 ${read} 13 1`]);
    await shard.call('ask', '', 'ask.3', 'alice', 'F', 'default', 1, tailOf({ user: 'alice' }), '', '', '2');
    await shard.call('ask_leave', 'ask.3', 0);
    assert.deepEqual([await spent(), await running()], [read + 13, []]);
  });

  test('one that was never claimed costs nothing, whatever ends it', async () => {
    const [left, cancelled] = [await begin('1', { isClaimed: false }), await begin('2', { isClaimed: false })];
    await shard.call(...leave('1'));
    assert.equal(await shard.call('cancel', 0, cancelled.topic, 1, '', '"no"'), 'ok');
    assert.deepEqual([await spent(), await running(), await rows()], [0, [], []]);
  });

  test('one that is left in the middle costs its request and the pieces that were written', async () => {
    const query = await begin('1');
    const deltas = ['{"a":1}', '{"a":2}', '{"a":3}'];
    assert.match(await shard.call('partial', 0, query.topic, 1, query.lease, 0, '', '', 1000, 'E', 'whole', '', deltas.join('\n')), /^ok/);
    await shard.call(...leave('1'));
    assert.deepEqual([await spent(), await running()], [104, []]);
    assert.deepEqual(await rows(), [`${DAY} ${MODEL} 1 101 3 1`]);
  });

  test('one that its engine refused costs nothing', async () => {
    const query = await begin('1');
    assert.match(await shard.call('release', 0, query.topic, query.lease, 'E', '', '"no"', 'fail', '', '{"message":"no"}'), /^ok/);
    assert.deepEqual([await spent(), await running()], [0, []]);
  });

  test('a request that is counted no longer is charged all the same, for an hour', async () => {
    const query = await begin('1');
    await shard.call('budget_release', 'F', '1', '');
    assert.match(await complete(query, SAID), /^ok/);
    assert.deepEqual([await spent(), await running()], [37, []]);
  });

  test('a request that takes a query over is charged instead of the one whose client has gone', async () => {
    const query = await begin('1');
    assert.equal(await shard.call(...leave('1', 'left')), 'ok');
    assert.equal(firstLine(await shard.call(...take('2', { running: 2 }))), 'ok');
    for (let i = 0; i < 2; i++) assert.equal(await shard.call(...ask('2', { digest: 'd1' })), lines('attached', query.topic, 1, '1', 'runs'));
    assert.deepEqual([await spent(), await running()], [0, ['n1 2']]);
    assert.equal(await shard.call(...leave('1')), 'ok'); // two seconds later
    assert.match(await complete(query, SAID), /^ok/);
    assert.deepEqual([await spent(), await running()], [37, []]);
    assert.equal(await shard.call(...leave('2', 'left', { digest: 'd1' })), 'ok');
    assert.equal(firstLine(await shard.call(...take('3'))), 'ok');
    assert.equal(await shard.call(...ask('3', { digest: 'd1' })), lines('attached', query.topic, 1, '1', 'done'));
    assert.deepEqual([await spent(), await running()], [37, ['n1 3']]); // its node gives that back
  });

  test('with several shards the outbox has it, and the account\'s shard takes it once', async () => {
    const query = await begin('1');
    const { events } = await shard.turn([['complete', 0, query.topic, 1, query.lease, 'E', '', lines('["a"]', 'null', 'null'), '', '', '', '', '', SAID, '', 0]], { shards: 4 });
    assert.ok(events.includes('outbox'), JSON.stringify(events));
    assert.equal(await spent(), 0);
    assert.equal(await shard.call('outbox', '1'), '$F n1 1 37');
    for (let i = 0; i < 2; i++) assert.equal(await shard.call('budget_charge', 'F', 'n1', '1', 37), 'ok');
    assert.deepEqual([await spent(), await running()], [37, []]);
  });

  test('an account has so many models a day as may be, and the rest is added up', async () => {
    await shard.seed({ 'account_tokens:F': Object.fromEntries(Array.from({ length: 4200 }, (_, i) => [`${DAY} n m${i}`, '1'])) });
    assert.match(await complete(await begin('1'), SAID), /^ok/);
    const found = await rows();
    assert.equal(found.length, 4201);
    assert.ok(found.includes(`${DAY} % 1 7 30 0`));
  });
});

// Requests of several nodes that end in any way, in any order, with what the outbox carries late or twice: as one knows
// them here, so the account's shard does.
scripts('budgets, at random', ({ test, shard }) => {
  for (const [shards, seed] of [[1, 1], [1, 2], [4, 3], [4, 4]]) test(`${shards} shards, seed ${seed}`, async () => {
    const below = random(seed);
    const [LIMIT, NODES] = [4, ['n1', 'n2', 'n3']];
    const live = new Map(); // id -> {node, topic, lease, pieces}
    let [spent, n, items] = [0, 0, []];
    const run = async (node, ...verb) => (await shard.turn([verb], { node, shards })).replies[0];
    const pick = () => [...live.values()][below(live.size)];
    const end = (query, tokens) => {
      spent += tokens;
      live.delete(query.id);
    };
    const carry = async () => {
      const found = (await run('n1', 'outbox', '1')).split('\n').filter(Boolean);
      items.push(...found);
      for (const item of items.filter(() => below(3))) {
        const [account, ...rest] = item.slice(1).split(' ');
        assert.equal(await run('n2', 'budget_charge', account, ...rest), 'ok');
        if (below(2)) items = items.filter((other) => other !== item);
      }
    };
    const actions = {
      async take() {
        const [node, id] = [NODES[below(3)], `r${++n}`];
        const reply = firstLine(await run(node, ...take(id, { running: LIMIT, tokens: 1e9 })));
        if (shards === 1) assert.equal(reply, live.size < LIMIT ? 'ok' : 'running');
        if (reply !== 'ok') return;
        if (!below(4)) {
          assert.equal(await run(node, 'budget_release', 'F', id, '1'), 'ok');
          return;
        }
        await shard.cmd('HSET', shard.key('models_seen'), MODEL, `${Date.now()} E `);
        assert.equal(firstLine(await run(node, ...ask(id))), 'ok');
        live.set(id, { id, node, topic: `ask.${id}`, pieces: 0, offset: 0 });
      },
      async claim() {
        const claim = (await run('n1', 'claim', 0, 'E|chat/llama3', '0')).split('\n');
        const query = [...live.values()].find(({ topic }) => topic === claim[2]);
        if (claim[0] === 'claim') query.lease = claim[3];
      },
      async partial(query) {
        if (!query?.lease) return;
        assert.match(await run('n1', 'partial', 0, query.topic, 1, query.lease, query.offset, '', '', 1000, 'E', 'whole', '', '{"a":1}'), /^ok/);
        query.offset += 7;
        query.pieces++;
      },
      async answer(query) {
        if (!query?.lease) return;
        assert.match(await run('n1', 'complete', 0, query.topic, 1, query.lease, 'E', '', lines('["a"]', 'null', 'null'), '', '', '', '', '', SAID, '', query.offset), /^ok/);
        end(query, 37);
      },
      async leave(query) {
        if (!query) return;
        assert.equal(await run(query.node, ...leave(query.id)), 'ok');
        end(query, query.lease ? 101 + query.pieces : 0);
      },
      async cancel(query) {
        if (!query) return;
        assert.match(await run('n3', 'cancel', 0, query.topic, 1, '', '"no"'), /^ok/);
        end(query, query.lease ? 101 + query.pieces : 0);
      },
      async fail(query) {
        if (!query?.lease) return;
        assert.match(await run('n1', 'release', 0, query.topic, query.lease, 'E', '', '"no"', 'fail', '', '{"message":"no"}'), /^ok/);
        end(query, query.pieces > 0 ? 101 + query.pieces : 0);
      },
      carry,
    };
    const names = ['take', 'take', 'take', 'claim', 'claim', 'partial', 'answer', 'leave', 'cancel', 'fail', 'carry'];
    for (let i = 0; i < 300; i++) await actions[names[below(names.length)]](live.size > 0 ? pick() : undefined);
    const found = async () => [Number((await shard.get('spent:F'))?.value?.[DAY] ?? (await shard.get('spent:F'))?.[DAY] ?? 0), Object.keys((await shard.get('running:F'))?.value ?? {}).sort()];
    for (const item of items) await run('n2', 'budget_charge', ...item.slice(1).split(' '));
    for (const item of (await run('n1', 'outbox', '1')).split('\n').filter(Boolean)) await run('n2', 'budget_charge', ...item.slice(1).split(' '));
    assert.deepEqual(await found(), [spent, [...live.values()].map(({ node, id }) => `${node} ${id}`).sort()]);
    assert.ok(spent > 0);
  });
});
