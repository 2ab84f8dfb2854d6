// SPDX-License-Identifier: MIT
//
// Budgets of accounts at /v1: requests a minute, tokens a day, requests at a time, exact for all nodes; and GET /api/usage.
import assert from 'node:assert/strict';
import { ACCOUNTS, assertOk, assertOpenaiError, assertProblem, eventually, suite } from '../support/harness.mjs';
import { ask, deltaOf, Engine, engineOf, fits, openChat } from '../support/openai.mjs';
import { keyOf } from '../support/shards.mjs';

const MESSAGES = [{ role: 'user', content: 'What is the meaning of life?' }];
const USAGE = { prompt_tokens: 6, completion_tokens: 4 };
const user = (name, budgets) => ({ [name]: { secret: `secret-of-${name}`, role: 'user', ...budgets } });
const accounts = {
  ...ACCOUNTS,
  ...user('Few', { requests_per_minute: 3 }),
  ...user('One', { max_concurrent: 1 }),
  ...user('Away', { max_concurrent: 1 }),
  ...user('Daily', { tokens_per_day: 25 }),
  ...user('Crowd', { tokens_per_day: 300, max_concurrent: 5 }),
};
const DURATION = /^(\d+ms|(\d+h)?(\d+m)?\d+s)$/;
const chat = (cluster, as, body = {}, options) => ask(cluster, 'POST', '/v1/chat/completions', { as, body: { model: 'fast', messages: MESSAGES, ...body }, ...options });
const usage = async (cluster, as, query) => assertOk(await ask(cluster, 'GET', '/api/usage', { as, query }));
const usageOf = async (cluster, as) => (await usage(cluster, as)).accounts[0];
const headersOf = ({ headers }, what) => ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}-${what}`]);

// Engines that answer at once until the test is over.
function working(cluster, n) {
  let isOver = false;
  const one = async () => {
    const engine = new Engine(cluster, { models: 'fast', apis: 'chat' });
    while (!isOver) {
      const claim = await engine.poll(1).response;
      if (!claim.json?.Queries) continue;
      await engine.take({ response: Promise.resolve(claim) });
      assertOk(await engine.answer([deltaOf({ role: 'assistant', content: 'Forty-two' }, { finish_reason: 'stop' })], { Usage: USAGE }));
    }
  };
  const all = Array.from({ length: n }, one);
  return async () => {
    isOver = true;
    await Promise.all(all);
  };
}

suite('budgets of accounts', { accounts, sweep: false }, ({ test, cluster }) => {
  // With engines there.
  const served = (name, run) => test(name, async () => {
    const end = working(cluster, 2);
    try {
      await eventually(async () => (await chat(cluster, 'User_1')).status === 200, { what: 'an engine answers' });
      await run();
    } finally {
      await end();
    }
  });
  // Is there a place for one more? An unknown model is looked for only then.
  const hasPlace = async (as) => {
    const { status } = await chat(cluster, as, { model: 'nobody' });
    assert.ok([404, 429].includes(status), `${status}`);
    return status === 404;
  };
  // A stream with a piece, of an account.
  const begin = async (as, options) => {
    const engine = await engineOf(cluster, { models: 'slow', apis: 'chat', node: 0 });
    const stream = await openChat(cluster, { model: 'slow', messages: MESSAGES }, { as, ...options });
    await engine.take(engine.parked);
    assertOk(await engine.give(deltaOf({ role: 'assistant', content: 'Forty' })));
    await stream.until(({ text }) => text.includes('Forty'));
    return { engine, stream };
  };

  served('requests_per_minute: exactly so many of those that come at once, on all nodes', async () => {
    const all = await Promise.all(Array.from({ length: 12 }, () => chat(cluster, 'Few')));
    const good = all.filter(({ status }) => status === 200);
    assert.equal(good.length, 3);
    for (const response of good) fits('CreateChatCompletionResponse', response.json);
    assert.deepEqual(good.map((response) => headersOf(response, 'requests')[1]).sort(), ['0', '1', '2']);
    for (const response of all.filter(({ status }) => status !== 200)) {
      const error = fits('ErrorResponse', { error: assertOpenaiError(response, 429, 'rate_limited') }).error;
      assert.equal(error.type, 'requests');
      assert.match(error.message, /3 requests a minute/);
      const [limit, remaining, reset] = headersOf(response, 'requests');
      assert.deepEqual([limit, remaining], ['3', '0']);
      assert.match(reset, DURATION);
      assert.ok(response.headers['retry-after'] >= 1 && response.headers['retry-after'] <= 60, response.headers['retry-after']);
      assert.ok(response.headers['retry-after-ms'] >= 1 && response.headers['retry-after-ms'] <= 60_000);
      assert.equal(response.headers['x-should-retry'], undefined);
      assert.ok(response.headers['openai-processing-ms'] >= 0);
    }
    const other = await chat(cluster, 'User_1');
    assert.equal(other.status, 200);
    assert.deepEqual(Object.keys(other.headers).filter((name) => name.startsWith('x-ratelimit-')), []);
    assert.ok(other.headers['openai-processing-ms'] >= 0);
    assert.deepEqual(await cluster.redis.cmd('KEYS', '*:running:User_1'), []);
    assert.deepEqual((await usageOf(cluster, 'Few')).requests_per_minute, { max: 3, used: 3 });
  });

  served('tokens_per_day: answers are charged with what their engines said, and past it there is no quota', async () => {
    for (const left of ['25', '15', '5']) {
      const response = await chat(cluster, 'Daily');
      assert.equal(response.status, 200);
      const [limit, remaining, reset] = headersOf(response, 'tokens');
      assert.deepEqual([limit, remaining], ['25', left]);
      assert.match(reset, DURATION);
      const spent = 25 - left + 10;
      await eventually(async () => (await usageOf(cluster, 'Daily')).tokens_per_day.used === spent, { what: `${spent} tokens are charged` });
    }
    for (const node of [0, 1]) {
      const refused = await chat(cluster, 'Daily', {}, { node });
      const error = assertOpenaiError(refused, 429, 'quota_used');
      assert.deepEqual([error.type, error.code], ['insufficient_quota', 'insufficient_quota']);
      assert.equal(refused.headers['x-should-retry'], 'false');
      assert.ok(refused.headers['retry-after'] <= 60);
      assert.equal(headersOf(refused, 'tokens')[1], '0');
    }
    const found = await usageOf(cluster, 'Daily');
    assert.deepEqual(found.rows, [{ day: found.rows[0].day, api: 'chat', model: 'fast', requests: 3, prompt_tokens: 18, completion_tokens: 12, estimated_requests: 0 }]);
  });

  test('max_concurrent: one at a time, whatever the node, and the next once it is answered', async () => {
    const { engine, stream } = await begin('One', { node: 0 });
    for (const node of [0, 1]) {
      const refused = await chat(cluster, 'One', { model: 'slow' }, { node });
      assert.match(assertOpenaiError(refused, 429, 'rate_limited').message, /1 request at work/);
      assert.equal(refused.headers['retry-after'], '1');
    }
    assert.ok(await hasPlace('Crowd'));
    assertOk(await engine.answer([deltaOf({}, { finish_reason: 'stop' })]));
    await stream.whole();
    await eventually(() => hasPlace('One'), { what: 'there is a place' });
    assert.ok(await hasPlace('One')); // a refused request keeps none
  });

  test('a client that hangs up frees its place, and what was written is charged', async () => {
    const { stream } = await begin('One');
    assert.equal(await hasPlace('One'), false);
    stream.abort();
    await eventually(() => hasPlace('One'), { what: 'there is a place' });
    const [row] = (await usageOf(cluster, 'One')).rows.filter((one) => one.estimated_requests > 0);
    assert.ok(row.prompt_tokens > 10 && row.completion_tokens >= 1, JSON.stringify(row));
  });

  test('an engine that dies in the middle frees the place of its client', async () => {
    const { engine, stream } = await begin('One');
    await cluster.endLease(engine.of.Topic);
    await stream.whole();
    assert.match(stream.text, /engine_lost/);
    await eventually(() => hasPlace('One'), { what: 'there is a place' });
  });

  test('a node that dies frees the places of its clients once it is missed', async () => {
    const node = await cluster.startNode();
    const { stream } = await begin('One', { node });
    assert.equal(await hasPlace('One'), false);
    await node.kill();
    await stream.whole();
    const [running, nodes] = ['running:One', 'nodes'].map((name) => keyOf('One', name));
    const [member, until] = await cluster.redis.cmd('ZRANGE', running, 0, -1, 'WITHSCORES');
    await cluster.redis.cmd('ZADD', running, 'XX', Number(until) - 61_000, member); // a minute later
    await cluster.redis.cmd('ZREM', nodes, member.split(' ')[0]);
    assert.ok(await hasPlace('One'));
  });

  test('a client that hangs up while Redis cannot be written to frees its place when it can', async () => {
    const { stream } = await begin('Away');
    assert.equal(await hasPlace('Away'), false);
    await cluster.redis.cmd('REPLICAOF', '127.0.0.1', 1);
    stream.abort();
    await new Promise((resolve) => setTimeout(resolve, 3000)); // its query would have been cancelled by now
    await cluster.redis.cmd('REPLICAOF', 'NO', 'ONE');
    await eventually(async () => (await chat(cluster, 'Away', { model: 'nobody' })).status === 404, { what: 'there is a place' });
  });

  test('an account reads its own usage, and an operator that of each', async () => {
    for (const query of [{}, { account: 'Few' }]) {
      const found = await usage(cluster, 'One', query);
      assert.deepEqual([found.accounts.map(({ account }) => account), found.next], [['One'], null]);
    }
    const all = await usage(cluster, 'Operator_1', { days: 1 });
    assert.deepEqual(all.accounts.map(({ account }) => account), Object.keys(accounts));
    assert.equal((await usage(cluster, 'Operator_1', { account: 'Few' })).accounts[0].requests_per_minute.max, 3);
    assert.deepEqual((await usage(cluster, 'Operator_1', { after: 2 })).accounts.map(({ account }) => account), Object.keys(accounts).slice(2));
    const refused = async (as, query, status, code) => assertProblem(await ask(cluster, 'GET', '/api/usage', { as, query }), status, code);
    await refused('Operator_1', { account: 'nobody' }, 404, 'not_found');
    await refused('One', { days: 31 }, 400, 'bad_request');
    await refused('Inference_1', {}, 403, 'forbidden');
  });
});

suite('budgets of accounts, under a crowd', { accounts, nodes: 3 }, ({ test, cluster }) => {
  test('a hundred clients exceed tokens_per_day by no more than what was running', async () => {
    const end = working(cluster, 6);
    let good = 0;
    const client = async () => {
      for (;;) {
        const { status, json } = await chat(cluster, 'Crowd');
        if (status === 200) good++;
        else if (json.error.code === 'insufficient_quota') return;
        else assert.deepEqual([status, json.error.code], [429, 'rate_limit_exceeded'], JSON.stringify(json));
      }
    };
    await eventually(async () => (await chat(cluster, 'User_1')).status === 200, { what: 'an engine answers' });
    await Promise.all(Array.from({ length: 100 }, client));
    await end();
    assert.ok(good * 10 >= 300 && good * 10 <= 300 + 4 * 10, `${good} answers`);
    await eventually(async () => {
      const { tokens_per_day: tokens, max_concurrent: running } = await usageOf(cluster, 'Crowd');
      return tokens.used === good * 10 && running.used === 0;
    }, { what: 'each is charged once' });
  });
});
