// SPDX-License-Identifier: MIT
//
// Two owners, every route of the document service, every id guessed, filters and owners made up: no byte
// of the other's. The routes are read from services/documents/routes.yaml, so a new one is tried here, or this
// test fails. The victim's documents, their names and their text hold words that nothing else holds; every
// answer, every event and all that a model is given are searched for these words and for the ids.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { withEngine } from '../support/asking.mjs';
import { forgetLimits, formOf, settled, upload, uploadIndexed } from '../support/documents.mjs';
import { assertOk, suite } from '../support/harness.mjs';
import { openDesk } from '../support/indexing.mjs';
import { routesOf } from '../support/routes.mjs';
import { openWatch } from '../support/websocket.mjs';

const VICTIM = 'User_1';
const SECRETS = { name: 'Zwetschgenkuchen', text: 'Quitschentee', frontend: 'Mirabellenmus' };
const QUESTION = 'What is the codeword, and when does the vault open?';
const textOf = (secret, i) => `# Vault ${i}\n\nThe codeword of this vault is ${secret}. The vault opens at noon, the codeword is asked for at the door.\n`;

const ROUTES = routesOf('documents');

// A body for each POST that takes one; the others take none.
const BODIES = {
  '/api/rag/retrieve': { query: QUESTION, topK: 20 },
  '/api/rag/rewrite': { question: QUESTION },
  '/api/rag/ask': { question: QUESTION, topK: 20, refine_prompt: true, rerank: true },
  '/api/agent/run': { question: QUESTION, mode: 'agent', returnTrace: true },
  '/api/agent/stream': { question: QUESTION, mode: 'agent', returnTrace: true },
  '/ask': { question: QUESTION, top_k: 20 },
};

// Ways to say whose documents are meant that must change nothing.
const CLAIMS = [
  {},
  { owner: VICTIM, user: VICTIM, user_id: VICTIM, userId: VICTIM, sub: VICTIM, account: VICTIM },
  { space: `o:${VICTIM}`, collection: `../o:${VICTIM}`, namespace: `o:${VICTIM}` },
  { filter: {}, filters: [], docIds: [], where: null },
];
const BEHALVES = [VICTIM, `o:${VICTIM}`, `${VICTIM}\n`, ` ${VICTIM}`, `${VICTIM}%`, VICTIM.toUpperCase(), '*', 'User_*', '', '../User_1', 'User%5F1', `${VICTIM}\u200b`];

suite('two owners', { sweep: false }, ({ test, cluster }) => {
  let desk;
  let victim; // { docs, jobs, state }
  let guesses;

  const stateOf = async (as, query) => {
    const { documents } = assertOk(await cluster.request('GET', '/api/docs', { as, query }));
    const chunks = await Promise.all(
      documents.map(async ({ id }) => assertOk(await cluster.request('GET', `/api/docs/${id}/chunks/0`, { as, query }))),
    );
    return JSON.stringify({ documents, chunks });
  };

  before(async () => {
    desk = await openDesk(cluster.redis);
    const docs = [];
    for (const i of [1, 2, 3]) docs.push(await uploadIndexed(cluster, { as: VICTIM, name: `${SECRETS.name}${i}.md`, bytes: textOf(SECRETS.text, i) }));
    const { job } = await desk.upload({ space: 'o:fiona', name: 'fiona.md', bytes: textOf(SECRETS.frontend, 9) });
    assert.equal((await desk.ended(job)).status, 'DONE');
    await uploadIndexed(cluster, { as: 'User_2', name: 'mine.md', bytes: textOf('Apfelmus', 4) });
    victim = { docs: docs.map(({ id }) => id), jobs: docs.map(({ latestJob }) => latestJob.id) };
    victim.state = await stateOf(VICTIM);
    const [id] = victim.docs;
    guesses = [
      ...victim.docs,
      ...victim.jobs,
      id.toUpperCase(),
      `${id}:0`,
      `${id}%00`,
      `${id}%0a`,
      `${id}%2fchunks`,
      `%2e%2e%2f${id}`,
      '*',
      '[0-9a-f]*',
      '{id}',
      '00000000-0000-4000-8000-000000000000',
      id.replaceAll('-', ''),
    ];
  });
  after(() => desk.close());

  // A model that says all that it was given, and asks its tools for what is another one's.
  const parrot = ({ kind, user, system }) => {
    if (kind === 'plan') return '{"steps":["Search","Open what was found"]}';
    if (kind === 'rewrite') return JSON.stringify({ rewritten_query: QUESTION });
    if (kind === 'ranking') return '{"ranking":[1,2,3]}';
    if (kind === 'step') {
      const input = { query: QUESTION, owner: VICTIM, space: `o:${VICTIM}`, filter: {} };
      const opened = { citation: 1, docId: victim.docs[0], documentId: victim.docs[0], chunkId: `${victim.docs[0]}:0`, chunkIndex: 0 };
      const reply = [{ tool: 'search_docs', input }, { tool: 'open_citation', input: opened }, { tool: 'open_citation', input: { docId: victim.docs[1], chunkIndex: 0 } }, { tool: 'final', input: {} }];
      return JSON.stringify(reply[Math.min((user.match(/search_docs|open_citation/g) ?? []).length, 3)]);
    }
    return `${system}\n${user} [1] [2] [3]`;
  };

  // The answer holds nothing of the victim's, except for the ids that the request itself said, or the model.
  function assertNothingOf(response, sent) {
    const text = `${response.text}\n${JSON.stringify(response.headers)}`;
    for (const secret of Object.values(SECRETS)) assert.ok(!text.includes(secret), `${sent}: ${text}`);
    const said = sent.includes('/api/agent/') ? [sent, ...victim.docs].join() : sent;
    for (const id of [...victim.docs, ...victim.jobs]) if (!said.includes(id)) assert.ok(!text.includes(id), `${sent}: ${text}`);
  }

  const isAsking = (path) => path.includes('ask') || path.includes('agent') || path.includes('rewrite') || path.includes('upload');

  function* requestsOf({ method, path }) {
    const paths = path.includes('{id}') ? guesses.map((id) => path.replace('{id}', id).replace('{index}', '0')) : [path];
    for (const filled of paths) {
      for (const claim of CLAIMS) {
        const query = Object.fromEntries(Object.entries(claim).map(([name, value]) => [name, typeof value === 'string' ? value : '']));
        if (path.endsWith('/upload')) yield { method, path: filled, query, ...formOf({ name: 'mine.md', bytes: textOf('Apfelmus', 4) }) };
        else if (BODIES[path]) yield { method, path: filled, query, body: { ...BODIES[path], ...claim } };
        else yield { method, path: filled, query };
      }
    }
  }

  async function attack(route, as) {
    for (const { method, path, query, ...options } of requestsOf(route)) {
      if (isAsking(path)) await forgetLimits(cluster);
      const all = { as: route.path === '/ask' ? undefined : as, ...options, query };
      const sent = `${method} ${path} ${JSON.stringify(all.query)} ${all.body && !Buffer.isBuffer(all.body) ? JSON.stringify(all.body) : ''}`;
      const response = await cluster.request(method, path, all);
      assertNothingOf(response, sent);
      assert.ok(response.status < 500 || response.json?.code === 'LLM_UNAVAILABLE', `${sent}: ${response.status} ${response.text}`);
      if (path.includes(victim.docs[0])) assert.ok([400, 403, 404].includes(response.status), `${sent}: ${response.status}`);
    }
  }

  test('the list of routes is read, and each POST has its body here', () => {
    assert.ok(ROUTES.length >= 15, JSON.stringify(ROUTES));
    for (const { method, path } of ROUTES)
      if (method === 'POST' && !path.includes('{id}') && !path.endsWith('/upload')) assert.ok(BODIES[path], `a body for ${path}`);
  });

  test('the words are found where they may be: this test can fail', () =>
    withEngine(cluster, parrot, async () => {
      await forgetLimits(cluster);
      const [id] = victim.docs;
      const holds = async (method, path, body) => {
        const { text } = await cluster.request(method, path, { as: VICTIM, body });
        assert.ok(text.includes(SECRETS.name) || text.includes(SECRETS.text), `${path}: ${text}`);
      };
      await holds('GET', '/api/docs');
      await holds('GET', `/api/docs/${id}`);
      await holds('GET', `/api/docs/${id}/chunks/0`);
      for (const path of ['/api/rag/retrieve', '/api/rag/ask', '/api/agent/run', '/api/agent/stream']) await holds('POST', path, BODIES[path]);
    }));

  for (const route of ROUTES) {
    test(`${route.method} ${route.path} gives nothing of another owner's`, () =>
      withEngine(cluster, parrot, async (engine) => {
        await attack(route, 'User_2');
        const given = JSON.stringify(engine.prompts);
        for (const secret of Object.values(SECRETS)) assert.ok(!given.includes(secret), 'a model was given it');
        assert.equal(await stateOf(VICTIM), victim.state, 'what the victim has is untouched');
      }));
  }

  test('names that look like the victim\'s are other owners', async () => {
    for (const name of BEHALVES.slice(1)) {
      for (const route of ROUTES.filter(({ path }) => !isAsking(path))) {
        const path = route.path.replace('{id}', victim.docs[0]).replace('{index}', '0');
        const response = await cluster.request(route.method, path, { as: 'Frontend_1', query: { OnBehalfOf: name }, body: BODIES[route.path] });
        assertNothingOf(response, `${path} for ${JSON.stringify(name)}`);
      }
    }
    assert.equal(await stateOf(VICTIM), victim.state);
  });

  test('an account of role user acts for nobody else, whatever the name', async () => {
    for (const name of BEHALVES) {
      for (const route of ROUTES.filter(({ path }) => path !== '/ask' && path !== '/api/me')) {
        await forgetLimits(cluster);
        const path = route.path.replace('{id}', victim.docs[0]).replace('{index}', '0');
        const response = await cluster.request(route.method, path, { as: 'User_2', query: { OnBehalfOf: name }, body: BODIES[route.path] });
        assert.equal(response.status, 403, `${route.method} ${path} for ${JSON.stringify(name)}: ${response.text}`);
        assertNothingOf(response, path);
      }
    }
  });

  test('other roles and clients without credentials have no documents', async () => {
    for (const [as, status] of [['Inference_1', 403], ['Operator_1', 403], [undefined, 401]]) {
      for (const route of ROUTES.filter(({ path }) => path !== '/ask')) {
        const path = route.path.replace('{id}', victim.docs[0]).replace('{index}', '0');
        // Failed logins are counted by address, so each comes from one of its own.
        const localAddress = `127.7.0.${2 + ROUTES.indexOf(route)}`;
        const response = await cluster.request(route.method, path, { as, query: { OnBehalfOf: VICTIM }, body: BODIES[route.path], localAddress });
        assert.equal(response.status, status, `${route.method} ${path}: ${response.text}`);
        assertNothingOf(response, path);
      }
    }
  });

  test('what a model is asked for one owner is no topic of another\'s', () =>
    withEngine(
      cluster,
      async (prompt) => {
        for (const path of ['/api/check-query', '/api/get-topic-thread', '/api/get-lookups']) {
          const response = await cluster.request('GET', path, { as: 'User_2', query: { Topic: prompt.topic, Seq: 1, Wait: 0 } });
          assert.equal(response.status, 404, `${path}: ${response.text}`);
          assertNothingOf(response, path);
        }
        const topics = await cluster.request('GET', '/api/user-topics', { as: 'User_2' });
        assertNothingOf(topics, 'user-topics');
        return parrot(prompt);
      },
      async (engine) => {
        await forgetLimits(cluster);
        assertOk(await cluster.request('POST', '/api/rag/ask', { as: VICTIM, body: BODIES['/api/rag/ask'] }));
        assert.ok(engine.prompts.length > 0);
      },
    ));

  test('a watcher sees nothing of another owner\'s uploads', async () => {
    const { Token } = assertOk(await cluster.request('GET', '/api/login', { as: 'User_2' }));
    const sockets = await Promise.all(
      cluster.nodes.map(({ url }) => openWatch(`${url}/ws/indexing?token=${Token}&space=o:${VICTIM}&user_id=${VICTIM}`)),
    );
    await forgetLimits(cluster);
    const theirs = assertOk(await upload(cluster, { as: VICTIM, name: `${SECRETS.name}4.md`, bytes: textOf(SECRETS.text, 5) }), 201);
    await settled(cluster, VICTIM, theirs.documentId);
    const mine = assertOk(await upload(cluster, { as: 'User_2', name: 'mine2.md', bytes: textOf('Apfelmus', 6) }), 201);
    for (const socket of sockets) {
      const frames = await socket.until('index_complete', ({ data }) => data.document_id === mine.documentId);
      const text = JSON.stringify(frames);
      for (const secret of [...Object.values(SECRETS), ...victim.docs, ...victim.jobs, theirs.documentId, theirs.jobId, VICTIM])
        assert.ok(!text.includes(secret), text);
      await socket.close();
    }
  });

  test('the same bytes under another owner reveal nothing about the first', async () => {
    await forgetLimits(cluster);
    const response = await upload(cluster, { as: 'User_2', name: 'guess.md', bytes: textOf(SECRETS.text, 1) });
    const body = assertOk(response, 201);
    assert.ok(!victim.docs.includes(body.documentId));
    assert.equal(body.duplicate, undefined);
  });
});
