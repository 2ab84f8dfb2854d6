// SPDX-License-Identifier: MIT
//
// Each pool that accounts share, as the table *Limits* of docs/operations/limits.md names it: one account takes all that it can get,
// and another one is served all the same. How long that takes is printed, not asserted. A row of a thread, the process, a
// namespace or the cluster that is not here fails.
//
// Shards: 1, because what one account may have is divided by the number of shards.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { openLibrary } from '../support/asking.mjs';
import { ACCOUNTS, assertOk, assertProblem, eventually, newTopic, suite } from '../support/harness.mjs';

const SHARED = ['thread', 'process', 'namespace', 'cluster', 'bot'];
const QUEUE_MAX = 260;
const PUBLIC_MAX_WAITING = 6;
const OTHER_N = 20;

// [what, whose, what one account has] of each row.
function rowsOfLimits() {
  const text = readFileSync(new URL('../../docs/operations/limits.md', import.meta.url), 'utf8');
  const [, table] = /\n\| What \| Limit \| Whose \| One account has \| Then \|\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(text);
  return table.trim().split('\n').map((line) => line.slice(2, -2).split(' | ')).map(([what, , whose, share]) => [what, whose, share]);
}

// Shown where the pool can be taken: a file, and the name of its test.
const ELSEWHERE = {
  'requests at `/v1` that wait': ['http/openai_enemy.test.mjs', 'while short requests, and long ones of others later, are answered'],
  'bodies over 16 KiB in memory': ['http/strangers.test.mjs', 'over its bound a node has no time for a large body'],
  'answers over 16 KiB': ['http/unread.test.mjs', 'over its share of them an address gets 503 for long answers'],
  'runs that a thread drives': ['workflow/turns.test.mjs', 'a run of another account is driven next, and all end'],
  'statements for the workflows': ['workflow/turns.test.mjs', 'delay a statement of another account by one of them'],
  'rooms of a namespace': ['bots/rooms.test.mjs', 'an account has half of them at most, and other accounts have the rest'],
  'unfinished deliveries of one bot': ['lua/bots/deliveries.test.mjs', 'unfinished deliveries at most, and what it has finished makes room'],
  'calls of bots under way': ['bots/turns.test.mjs', 'more messages to bots that never answer than a node holds delay no other account'],
  'evaluations that a thread drives': ['bots/turns.test.mjs', 'more evaluations of a bot that never answers than a node drives delay no other account'],
  'exports of users': ['http/users.test.mjs', '32 exports of one account at once on a node are answered'],
  'pages of exports': ['http/users.test.mjs', '32 exports of one account at once on a node are answered'],
  'WebSockets of one account': ['workflow/websocket.test.mjs', 'past it 429, and others still get in'],
  'WebSockets: what all of a thread': ['unit/test_websocket_limits.c', 'what_two_owners_do_not_read_leaves_room_for_a_third_one'],
  'polls for free slots': ['unit/test_engine_owners.c', 'one_account_leaves_half_to_the_others'],
  'WebSockets: messages that are being received': ['http/strangers.test.mjs', 'over its bound a node has no time for a large body'],
  'blocks of uploads': ['documents/upload_blocks.test.mjs', 'many at once take turns over one connection, and all are stored'],
  connections: ['http/strangers.test.mjs', 'the address with the most idle connections loses them first'],
};

// Numbers of the table are in the code: [file, constant, its unit if that is not the table's].
const CODE = {
  'runs that a thread drives': [['services/workflow/run/runs.h', 'RUNS_MAX'], ['services/workflow/run/runs.h', 'RUNS_WAITING_MAX']],
  'runs that one socket': [['services/workflow/run/socket.h', 'SOCKET_FOLLOWS_MAX']],
  'statements for the workflows': [['services/workflow/sql/statement.h', 'SQL_WAITING_MAX'], ['services/workflow/sql/statement.h', 'SQL_LIMIT_MS', 's'], ['services/workflow/sql/sql.c', 'BUSY_MS', 's']],
  'unfinished workflow runs': [['lua/workflow/runs.lua', 'OPEN_MAX']],
  'workflow runs of one session': [['lua/workflow/runs.lua', 'SESSION_MAX']],
  'steps of a workflow run': [['lua/workflow/runs.lua', 'STEPS_MAX'], ['lua/workflow/runs.lua', 'RUN_BYTES'], ['lua/workflow/runs.lua', 'LOG_BYTES']],
  'request ids': [['lua/workflow/runs.lua', 'NAMES_MAX']],
  'rooms of a namespace': [['lua/bots/names.lua', 'NAMES_MAX'], ['lua/bots/registry.lua', 'NAMESPACE_MAX']],
  'bots of an account': [['lua/bots/registry.lua', 'REGISTRANT_MAX']],
  'calls of a bot for one message': [['lua/bots/deliveries.lua', 'ATTEMPTS'], ['lua/bots/deliveries.lua', 'CALL_MS', 's']],
  'unfinished deliveries': [['lua/bots/deliveries.lua', 'BUSY']],
  'calls of bots under way': [['services/bots/dispatch/delivery.h', 'DISPATCH_CALLS_MAX'], ['services/bots/dispatch/delivery.h', 'DISPATCH_CALLS_OF_BOT'], ['services/bots/dispatch/delivery.h', 'DISPATCH_HELD_MAX']],
  'deliveries of a thread that rest': [['services/bots/dispatch/delivery.h', 'DISPATCH_HELD_MAX'], ['services/bots/evaluate/evaluation.h', 'EVALUATIONS_RESTING_MAX'], ['services/workflow/run/run.c', 'CROWDED_MAX']],
  'hops from bot to bot': [['lua/bots/messages.lua', 'HOPS_MAX']],
  'a conversation to evaluate': [['services/bots/evaluate/conversation.h', 'CONVERSATION_MAX_BYTES'], ['services/bots/evaluate/conversation.h', 'CONVERSATION_TURNS_MAX']],
  'evaluations of an account and user': [['lua/bots/evaluations.lua', 'OPEN_MAX'], ['lua/bots/evaluations.lua', 'KEPT_MAX']],
  'evaluations that a thread drives': [['services/bots/evaluate/evaluation.h', 'EVALUATIONS_MAX'], ['services/bots/evaluate/evaluation.h', 'EVALUATIONS_WAITING_MAX']],
  'searches in texts': [['services/broker/find_topics.c', 'SEARCHES_MAX']],
  'exports of users': [['services/users/export.c', 'EXPORTS_MAX']],
  'pages of exports': [['services/users/export.c', 'PAGES_MAX']],
  'lookups of one topic': [['lua/turn/bounds.lua', 'LOOKUPS_PER_TOPIC']],
  'recommendations stored': [['lua/lookup/recommend.lua', 'RECOMMENDATIONS_MAX']],
  'failed logins': [['shared/http/access/failures.h', 'FAILURES_MAX']],
  'WebSockets: a text message': [['shared/http/websocket/websocket.h', 'WEBSOCKET_MESSAGE_BYTES']],
  'text that an engine': [['services/broker/socket/engine_draft.c', 'CLOG_BYTES'], ['services/broker/socket/engine_asks.c', 'TEXT_BYTES']],
  'polls for free slots': [['services/broker/socket/engine_owners.h', 'ENGINE_POLLS_MAX'], ['services/broker/socket/engine_owners.h', 'ENGINE_POLLS_ALWAYS']],
  'WebSockets: buffer': [['shared/http/websocket/websocket.c', 'QUEUE_BYTES'], ['shared/http/websocket/websocket.c', 'QUEUE_MESSAGES']],
  'WebSockets: what all of a thread': [['shared/http/websocket/websocket_owners.c', 'QUEUES_BYTES']],
  'blocks of uploads': [['shared/redis/blocks.c', 'UNDER_WAY_MAX']],
  connections: [['services/node/serve.c', 'RESERVED_FILES'], ['services/node/serve.c', 'RESERVED_FILES_OF_NODE']],
};

// A number of the code as the table writes it: in bytes, or of ms in seconds.
function shown(file, constant, unit) {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  const [, expression] = new RegExp(`\\b${constant} = ([\\d <]+)`).exec(text) ?? assert.fail(`${file} has no ${constant}`);
  const [base, shift = 0] = expression.split('<<').map(Number);
  const number = base * 2 ** shift;
  if (unit === 's') return `${number / 1000} s`;
  if (/BYTES/.test(constant)) return number % 2 ** 20 ? `${number / 1024} KiB` : `${number / 2 ** 20} MiB`;
  return number.toLocaleString('en');
}

// Not divided: what one account takes there is no place that another one needs.
const UNDIVIDED = /^(all|what the others leave)\b/;

suite('what accounts share', {
  nodes: 1,
  servers: 1,
  accounts: { ...ACCOUNTS, Frontend_1: { ...ACCOUNTS.Frontend_1, max_waiting: 10_000 }, Other: { secret: 'other-secret', role: 'frontend' } },
  args: ['--queue-max', String(QUEUE_MAX), '--threads', '1', '--public-max-waiting', String(PUBLIC_MAX_WAITING), '--trusted-proxies', '127.0.0.1'],
}, ({ test, cluster }) => {
  const post = (as, path, body) => cluster.request('POST', path, { as, body });
  const get = (as, path, query) => cluster.request('GET', path, { as, query });
  const add = (as, more = {}) => post(as, '/api/add-query', { Topic: newTopic(), User: 'u', Query: 'Why?', ...more });

  // Until it is refused. How many it has got.
  async function takeAll(one) {
    for (let n = 0; n <= QUEUE_MAX; n++) {
      const response = await one(n);
      if (response.status !== 200) {
        assertProblem(response, 429);
        return n;
      }
    }
    throw new Error('one account gets all that there is');
  }

  // The other account asks while the first one's many requests are under way.
  async function during(many, one, other) {
    const all = Promise.all(Array.from({ length: many }, (_, i) => one(i)));
    const times = await asOther(other);
    for (const response of await all) assertOk(response);
    return times;
  }

  async function asOther(other) {
    const times = [];
    for (let i = 0; i < OTHER_N; i++) {
      const began = performance.now();
      assertOk(await other(i));
      times.push(performance.now() - began);
    }
    return times.sort((a, b) => a - b);
  }

  async function answered(as) {
    const { Topic } = assertOk(await add(as));
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1, Query: 'Why?' });
    return Topic;
  }

  const lookup = (as, Topic) => (i) => post(as, '/api/add-lookup', { Topic, Seq: 1, Fragment: `fragment ${as} ${i}`, Count: 1, Threshold: 1 });
  const readsOf = (User, n = 20) => Promise.all(Array.from({ length: n }, () => add('Frontend_1', { User, Query: 'x'.repeat(50_000) })));

  // What is stored for the test's time, and the library that it is stored with.
  async function withLibrary(documents, body) {
    const library = await openLibrary(cluster.redis);
    try {
      for (const [space, texts] of Object.entries(documents)) await library.store(space, texts);
      return await body(library);
    } finally {
      library.close();
    }
  }

  // Each takes its pool with Frontend_1 and returns the times of Other.
  const ATTACKS = {
    'Open queries in all': async () => {
      await takeAll(() => add('Frontend_1'));
      return asOther(() => add('Other'));
    },
    'models of Open queries': async () => {
      await takeAll((i) => add('Frontend_1', { Model: `model-${i}` }));
      return asOther((i) => add('Other', { Model: `other-${i}` }));
    },
    'open lookups in all': async () => {
      const [mine, others] = [await answered('Frontend_1'), await answered('Other')];
      await takeAll(lookup('Frontend_1', mine));
      return asOther(lookup('Other', others));
    },
    'different questions of': () =>
      withLibrary({ 'c:public': { 'leases.md': 'A lease lasts 150 seconds.' } }, async (library) => {
        assertOk(await add('Other'));
        await cluster.claim(); // an engine is at work, so questions wait
        const ask = (address, question) => cluster.open('POST', '/ask', { headers: { 'X-Forwarded-For': address }, body: { question } });
        const open = [];
        const isIn = async (address, question) => {
          const one = ask(address, question), before = (await library.questions()).length;
          open.push(one);
          const queued = eventually(async () => (await library.questions()).length > before, { what: 'it waits, or is refused' }).then(() => undefined);
          queued.catch(() => {});
          const refused = await Promise.race([one.response.catch(() => undefined), queued]);
          if (refused) assertProblem(refused, 503, 'queue_full');
          return !refused;
        };
        let n = 0;
        while (await isIn('192.0.2.1', `How long does a lease last, asked for the ${n}th time?`)) n++;
        assert.ok(n < PUBLIC_MAX_WAITING, `one address has all ${n}`);
        const began = performance.now();
        assert.ok(await isIn('192.0.2.2', 'How long does a lease last?'), 'another address has a place');
        for (const one of open) one.abort();
        return [performance.now() - began];
      }),
    'searches of indexes': () =>
      withLibrary({ 'o:searched': { 'a.md': `needle ${'and hay '.repeat(20_000)}` }, 'o:searcher': { 'b.md': 'a needle' } }, () =>
        during(60, () => cluster.request('POST', '/api/rag/retrieve', { as: 'Frontend_1', query: { OnBehalfOf: 'searched' }, body: { query: 'needle' } }), () => cluster.request('POST', '/api/rag/retrieve', { as: 'Other', query: { OnBehalfOf: 'searcher' }, body: { query: 'needle' } }))),
    'searches in texts': async () => {
      await readsOf('searched');
      assertOk(await add('Other', { User: 'searcher' }));
      return during(60, () => get('Frontend_1', '/api/find-topics', { OnBehalfOf: 'searched', Text: 'needle' }), () => get('Other', '/api/find-topics', { OnBehalfOf: 'searcher', Text: 'Why' }));
    },
    'bodies over 32 KiB': async () => {
      const Query = '\u0001'.repeat(40_000);
      return during(40, (i) => add('Frontend_1', { User: `long-${i}`, Query }), () => add('Other', { Query: 'x'.repeat(40_000) }));
    },
    'calls for long lists': async () => {
      await readsOf('listed');
      assertOk(await add('Other', { User: 'lister' }));
      return during(100, () => get('Frontend_1', '/api/user-topics', { OnBehalfOf: 'listed', Detail: 'true' }), () => get('Other', '/api/user-topics', { OnBehalfOf: 'lister' }));
    },
  };

  const shared = rowsOfLimits().filter(([, whose]) => SHARED.includes(whose));
  const of = (list, what) => list[Object.keys(list).find((name) => what.startsWith(name))];

  test('each row says whose its limit is, and the shared ones what one account has', () => {
    const rows = rowsOfLimits();
    assert.ok(rows.length > 80 && shared.length > 20, `${rows.length} rows, ${shared.length} of them shared`);
    for (const [what, whose, share] of rows) assert.ok(whose && (SHARED.includes(whose) ? share !== '–' : share === '–'), what);
    const known = [...Object.keys(ATTACKS), ...Object.keys(ELSEWHERE)];
    assert.deepEqual(known.filter((name) => !shared.some(([what]) => what.startsWith(name))), [], 'no such row');
    assert.deepEqual(shared.filter(([what, , share]) => !of(ATTACKS, what) && !of(ELSEWHERE, what) && !UNDIVIDED.test(share)).map(([what]) => what), []);
    for (const [file, name] of Object.values(ELSEWHERE)) {
      assert.ok(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').includes(name), `${file} has no test "${name}"`);
    }
  });

  test('numbers of the table are those of the code', () => {
    const text = readFileSync(new URL('../../docs/operations/limits.md', import.meta.url), 'utf8');
    for (const [what, numbers] of Object.entries(CODE)) {
      const row = text.split('\n').find((line) => line.startsWith(`| ${what}`)) ?? assert.fail(`no row: ${what}`);
      for (const [file, constant, unit] of numbers) {
        const number = shown(file, constant, unit);
        assert.ok(row.match(/[\d,.]+( (s|[KM]iB)\b)?/g).some((one) => one === number || one.split(' ')[0].replace(/,$/, '') === number), `${what}: ${constant} is ${number}`);
      }
    }
  });

  for (const [what] of shared.filter(([one]) => of(ATTACKS, one))) {
    test(`one account takes: ${what}`, async () => {
      await cluster.redis.cmd('FLUSHALL');
      const times = await of(ATTACKS, what)();
      console.log(`${what}: another account meanwhile p50 ${times[times.length >> 1].toFixed(1)} ms, p99 ${times.at(-1).toFixed(1)} ms`);
    });
  }
});
