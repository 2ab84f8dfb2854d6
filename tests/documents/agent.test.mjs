// SPDX-License-Identifier: MIT
//
// The agent, with the built-in engine, and with models that loop, invent, break off and
// truncate ids.
import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { ACCOUNTS, assertMembers, assertOk, eventually, makeFolder, startProcess, suite, waitForOutput } from '../support/harness.mjs';
import { gate, openLibrary, passagesOf, withEngine } from '../support/asking.mjs';
import { startEmbedder } from '../support/indexing.mjs';
import { startLlm } from '../support/llm_stub.mjs';

const NOTHING = "I don't know based on the provided documents.";
const LONG = `${'The history of leases is long. '.repeat(20)}A lease lasts 150 seconds. ${'Much more could be said of it. '.repeat(20)}`;
const MINE = { 'leases.md': LONG, 'fruit.md': 'Bananas are yellow. No lease is.', 'signing.md': 'A nonce works once. Its lease is a day.' };
const QUESTION = 'How long does a lease last?';
const PLAN = '{"steps":["Search for leases","Answer"]}';
const search = (query) => JSON.stringify({ tool: 'search_docs', input: { query }, notes: 'looking' });
const open = (input) => JSON.stringify({ tool: 'open_citation', input });
const FINAL = '{"tool":"final","input":{}}';

// A model by the kind of its prompts; `steps` are its replies to step prompts, the last one forever.
function model({ plan = PLAN, steps = [search('lease'), FINAL], answer = 'It lasts 150 seconds [1].' } = {}) {
  let step = 0;
  const say = (reply, prompt) => (typeof reply === 'function' ? reply(prompt) : reply);
  return (prompt) => {
    if (prompt.kind === 'plan') return say(plan, prompt);
    if (prompt.kind === 'step') return say(steps[Math.min(step++, steps.length - 1)], prompt);
    return say(answer, prompt);
  };
}

function assertEntry(entry) {
  assertMembers(entry, ['type', 'tool', 'input', 'outputSummary', 'steps', 'notes', 'error']);
  assert.ok(['plan', 'tool_call', 'final', 'error'].includes(entry.type), entry.type);
}

// What holds for every run, whatever the model did.
function assertRun(json) {
  assertMembers(json, ['answer', 'citations', 'trace']);
  json.trace.forEach(assertEntry);
  assert.ok(json.trace.filter(({ tool }) => tool !== null).length <= 5, 'at most 5 tool calls');
  const marks = [...json.answer.matchAll(/\[(\d+)\]/g)].map(([, number]) => Number(number));
  for (const mark of marks) assert.ok(mark >= 1 && mark <= json.citations.length, `mark ${mark} names a citation`);
  assert.equal(new Set(marks).size, json.citations.length, 'each citation is named');
  return json;
}

const types = ({ trace }) => trace.map(({ type }) => type);

suite('agent', {}, ({ test, cluster }) => {
  let library;
  let ids;
  let theirs;
  const run = (body = {}, options = {}) => cluster.request('POST', '/api/agent/run', { as: 'User_1', body: { question: QUESTION, returnTrace: true, ...body }, ...options });
  const runWith = (script, body) => withEngine(cluster, model(script), async (engine) => ({ json: assertRun(assertOk(await run(body))), engine }));
  before(async () => {
    library = await openLibrary(cluster.redis);
    ids = await library.store('o:User_1', MINE);
    theirs = await library.store('o:User_2', { 'theirs.md': 'Their lease lasts 77 seconds. Nobody else may know.' });
  });
  beforeEach(() => library.forgetLimits());
  after(() => library?.close());

  test('a run plans, searches, reads and answers with what it found', async () => {
    const { json, engine } = await runWith({ steps: [search('lease'), open({ citation: 1 }), FINAL] });
    assert.deepEqual(types(json), ['plan', 'tool_call', 'tool_call', 'final']);
    assert.deepEqual(json.trace[0].steps, ['Search for leases', 'Answer']);
    assert.deepEqual(json.trace[1].input, { query: 'lease' });
    assert.equal(json.trace[1].notes, 'looking');
    assert.equal(json.answer, 'It lasts 150 seconds [1].');
    assert.deepEqual(engine.kinds(), ['plan', 'step', 'step', 'step', 'answer']);
    // Passages are shown by their beginnings until they are opened, and never longer than allowed.
    const [before1, after1] = [engine.prompts[2], engine.prompts[3]].map(({ user }) => passagesOf(user)[1].length);
    assert.ok(before1 < after1 || after1 <= 320, `${before1} < ${after1}`);
    for (const { user } of engine.prompts) for (const text of Object.values(passagesOf(user))) assert.ok(text.length <= 1500 + 210);
    const quiet = await withEngine(cluster, model(), async () => assertOk(await run({ returnTrace: false })));
    assert.deepEqual(quiet.trace, []);
  });

  test('the engine without a model runs it to its end', async () => {
    const folder = makeFolder();
    const engine = startProcess(['engine', '--url', cluster.nodes.map(({ url }) => url).join(','), '--user', 'Inference_1', '--secret-file', folder.file('secret', ACCOUNTS.Inference_1.secret), '--wait', 20]);
    try {
      await waitForOutput(engine, ({ stdout }) => /pulling from/.test(stdout), 60_000, 'the engine pulls');
      const json = assertRun(assertOk(await run()));
      assert.deepEqual(types(json), ['plan', 'tool_call', 'tool_call', 'final']);
      assert.match(json.answer, /A lease lasts 150 seconds\. \[1\]/);
      assert.equal(json.citations[0].docId, ids['leases.md']);
      assert.deepEqual(assertRun(assertOk(await run())), json, 'the same again');
    } finally {
      engine.child.kill('SIGTERM');
      await engine.exit();
      folder.remove();
    }
  });

  test('the engine without a model answers both halves of a question', async () => {
    const folder = makeFolder();
    const engine = startProcess(['engine', '--url', cluster.nodes[0].url, '--user', 'Inference_1', '--secret-file', folder.file('secret', ACCOUNTS.Inference_1.secret), '--wait', 20]);
    try {
      await waitForOutput(engine, ({ stdout }) => /pulling from/.test(stdout), 60_000, 'the engine pulls');
      const question = 'How long does a lease last and when are bananas yellow?';
      const json = assertRun(assertOk(await run({ question })));
      assert.match(json.answer, /A lease lasts 150 seconds\. \[1\].*Bananas are yellow\. \[2\]/s);
      assert.deepEqual(json.citations.map(({ docId }) => docId), [ids['leases.md'], ids['fruit.md']]);
      const searches = json.trace.filter(({ tool }) => tool === 'search_docs').map(({ input }) => input.query);
      assert.deepEqual(searches, ['How long does a lease last', 'when are bananas yellow?']);
      const stream = await cluster.request('POST', '/api/agent/stream', { as: 'User_1', body: { question } });
      assert.deepEqual(JSON.parse(/^data: (.*)\nevent: complete$/m.exec(stream.text)[1]), json);
    } finally {
      engine.child.kill('SIGTERM');
      await engine.exit();
      folder.remove();
    }
  });

  test('a model that loops comes to its end', async () => {
    const { json, engine } = await runWith({ steps: [search('Lease ')] });
    assert.deepEqual(types(json), ['plan', 'tool_call', 'error', 'error', 'error', 'error', 'final']);
    assert.match(json.trace[2].error, /already been made/);
    assert.equal(engine.prompts.length, 7);
  });

  test('a model that never has enough gets five tool calls', async () => {
    let n = 0;
    const { json } = await runWith({ steps: [() => search(`lease ${(n += 1)}`)] });
    assert.equal(types(json).filter((type) => type === 'tool_call').length, 5);
    assert.equal(json.trace.at(-1).type, 'final');
  });

  test('marks and citations that no tool returned are taken out', async () => {
    const { json } = await runWith({ answer: 'It lasts 150 seconds [9], or so [2][77], see [0-1].' });
    assert.equal(json.answer, 'It lasts 150 seconds, or so [1], see [2].');
    assert.equal(json.citations.length, 2);
  });

  test('an answer that its model did not end says why', () =>
    withEngine(cluster, model({ answer: { text: 'It lasts [1].', finish: 'length' } }), async () =>
      assert.equal(assertOk(await run()).finish_reason, 'length')));

  test('broken JSON is asked for again once, and then a plain search answers', async () => {
    let plans = 0;
    const again = await runWith({ plan: () => ((plans += 1) === 1 ? '{"steps":["one"' : PLAN) });
    assert.deepEqual(again.engine.kinds(), ['plan', 'plan', 'step', 'step', 'answer']);
    assert.equal(types(again.json)[0], 'plan');
    const never = await runWith({ plan: 'I have no plan.' });
    assert.deepEqual(never.engine.kinds(), ['plan', 'plan', 'answer']);
    assert.deepEqual(types(never.json), ['error', 'tool_call', 'final']);
    assert.deepEqual(never.json.trace[1].input, { query: QUESTION });
    const steps = await runWith({ steps: ['{"tool":"search_docs","input":{"query":', 'search!'] });
    assert.deepEqual(steps.engine.kinds(), ['plan', 'step', 'step', 'answer']);
    assert.deepEqual(types(steps.json), ['plan', 'error', 'tool_call', 'final']);
    assert.equal(steps.json.answer, 'It lasts 150 seconds [1].');
  });

  test('an id that was cut opens the passage that it can only mean', async () => {
    const { json } = await runWith({ steps: [search('bananas'), () => open({ chunkId: ids['fruit.md'].slice(0, 14) }), FINAL] });
    assert.deepEqual(types(json), ['plan', 'tool_call', 'tool_call', 'final']);
  });

  test('a passage of somebody else, or one that was made up, is not opened', async () => {
    const steps = [search('lease'), open({ docId: theirs['theirs.md'], chunkIndex: 0 }), open({ chunkId: `${theirs['theirs.md']}:0` }), open({ citation: 99 }), FINAL];
    const { json, engine } = await runWith({ steps });
    assert.deepEqual(types(json), ['plan', 'tool_call', 'error', 'error', 'error', 'final']);
    for (const { user } of engine.prompts) assert.ok(!user.includes('77 seconds'));
  });

  test('one passage is counted in the singular', () =>
    withEngine(cluster, model({ steps: [search('lease'), FINAL] }), async () => {
      const { trace } = assertRun(assertOk(await run({}, { as: 'User_2' })));
      assert.equal(trace[1].outputSummary, '1 passage found, 1 of them new.');
      assert.match(trace.at(-1).outputSummary, /^Answered from 1 passage, /);
    }));

  test('a tool that does not exist costs a call and no more', async () => {
    const { json } = await runWith({ steps: ['{"tool":"shell","input":{"command":"ls"}}', search('lease'), FINAL] });
    assert.deepEqual(types(json), ['plan', 'error', 'tool_call', 'final']);
    assert.equal(json.trace[1].tool, 'shell');
  });

  test('a model that answers without searching is given a plain search', async () => {
    const { json } = await runWith({ steps: [FINAL] });
    assert.deepEqual(types(json), ['plan', 'tool_call', 'final']);
  });

  test('where nothing is found no engine is asked', async () => {
    const json = assertRun(assertOk(await run({}, { as: 'Frontend_1', query: { OnBehalfOf: 'nobody' } })));
    assert.equal(json.answer, NOTHING);
    assert.deepEqual(json.citations, []);
    assert.deepEqual(await library.questions(), []);
    const { json: said } = await runWith({ answer: NOTHING });
    assert.deepEqual([said.answer, said.citations], [NOTHING, []]);
  });

  test('fields that are not as they should be are refused with 400', async () => {
    const bad = [[{ question: '' }, 'question'], [{ question: 'x'.repeat(2001) }, 'question'], [{ mode: 'chat' }, 'mode'], [{ mode: 3 }, 'mode'], [{ returnTrace: 'yes' }, 'returnTrace']];
    for (const path of ['/api/agent/run', '/api/agent/stream']) {
      for (const [body, name] of bad) {
        const response = await cluster.request('POST', path, { as: 'User_1', body: { question: QUESTION, ...body } });
        assert.equal(response.status, 400, response.text);
        assert.match(response.json.error, new RegExp(`^${name} `));
      }
    }
  });

  for (const options of [{ returnTrace: true }, { returnTrace: false }, {}]) test(`a stream sends each entry, data before event, with line feeds only, and then the whole with its trace (${JSON.stringify(options)})`, () =>
    withEngine(cluster, model(), async () => {
      const response = await cluster.request('POST', '/api/agent/stream', { as: 'User_1', body: { question: QUESTION, mode: 'agent', ...options } });
      assert.equal(response.status, 200);
      assert.match(response.headers['content-type'], /^text\/event-stream/);
      assert.ok(!response.text.includes('\r'));
      const blocks = response.text.split('\n\n').filter((block) => block && !block.startsWith(':'));
      const events = blocks.map((block) => {
        const [, data, event] = /^data: (.*)\nevent: (\w+)$/.exec(block) ?? assert.fail(`not data first: ${block}`);
        return { event, data: JSON.parse(data) };
      });
      assert.deepEqual(events.map(({ event }) => event), ['trace', 'trace', 'trace', 'complete']);
      const { data } = events.pop();
      assertRun(data);
      assert.deepEqual(events.map((entry) => entry.data), data.trace);
    }));

  test('a client that leaves ends what its run is doing', async () => {
    const { hold, open: letGo } = gate();
    await withEngine(cluster, async () => hold, async (engine) => {
      for (const path of ['/api/agent/run', '/api/agent/stream']) {
        const before1 = engine.prompts.length;
        const asked = cluster.open('POST', path, { as: 'User_1', body: { question: QUESTION } });
        if (before1 === 0) await engine.asked(1);
        else await eventually(async () => (await library.questions()).length === 1, { what: 'it waits in the queue' });
        asked.abort();
        await eventually(async () => (await library.questions()).length === 0, { what: 'its question is gone' });
      }
      letGo();
    });
  });

  test('a language model behind the engine that invents and breaks off is survived', async () => {
    const llm = await startLlm();
    const folder = makeFolder();
    llm.behave({
      text: ({ messages }) => {
        const [{ content }] = messages;
        if (content.includes('"steps"')) return 'Of course! ```json\n{"steps":["a","b","c","d","e","f","g"]}\n```';
        if (content.includes('"tool"')) return '{"tool":"search_docs","input":{"query":"lease"},"notes":"';
        return 'It lasts 150 seconds [1, 9].';
      },
    });
    const engine = startProcess(['engine', '--url', cluster.nodes[0].url, '--user', 'Inference_1', '--secret-file', folder.file('secret', ACCOUNTS.Inference_1.secret), '--wait', 20, '--llm', llm.url, '--model', 'stub']);
    try {
      await waitForOutput(engine, ({ stdout }) => /pulling from/.test(stdout), 60_000, 'the engine pulls');
      const json = assertRun(assertOk(await run()));
      assert.equal(json.answer, 'It lasts 150 seconds [1].');
      assert.equal(json.trace[0].steps.length, 5);
      assert.deepEqual(types(json), ['plan', 'error', 'tool_call', 'final']);
    } finally {
      engine.child.kill('SIGTERM');
      await engine.exit();
      await llm.stop();
      folder.remove();
    }
  });
});

suite('agent with little patience', { args: ['--ask-seconds', 5] }, ({ test, cluster }) => {
  let library;
  before(async () => {
    library = await openLibrary(cluster.redis);
    await library.store('o:User_1', MINE);
  });
  beforeEach(() => library.forgetLimits());
  after(() => library?.close());
  const run = () => cluster.request('POST', '/api/agent/run', { as: 'User_1', body: { question: QUESTION, returnTrace: true } });

  test('a model that hangs at a step is abandoned: the answer uses what was found', async () => {
    await withEngine(cluster, ({ kind }) => (kind === 'plan' ? PLAN : kind === 'answer' ? 'It lasts 150 seconds [1].' : undefined), async () => {
      const json = assertRun(assertOk(await run()));
      assert.deepEqual(types(json), ['plan', 'error', 'tool_call', 'final']);
    });
  });

  test('a model that never answers ends the run with LLM_UNAVAILABLE', async () => {
    await withEngine(cluster, () => undefined, async () => {
      const response = await run();
      assert.equal(response.status, 503, response.text);
      assert.equal(response.json.code, 'LLM_UNAVAILABLE');
      assert.equal(response.json.retryable, true);
    });
    await eventually(async () => (await library.questions()).length === 0, { what: 'nothing is left' });
  });
});

// Where questions are embedded by a server, and that one may hang.
suite('agent with a deadline', { nodes: 0 }, ({ test, cluster }) => {
  let library;
  let embedder;
  before(async () => {
    embedder = await startEmbedder();
    for (const seconds of [3, 9]) await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#stub`, '--agent-seconds', seconds] });
    library = await openLibrary(cluster.redis);
    await library.store('o:User_1', MINE);
  });
  beforeEach(() => library.forgetLimits());
  after(async () => {
    library?.close();
    await embedder.stop();
  });
  const open = (path, node = 0) => cluster.open('POST', path, { as: 'User_1', node, body: { question: QUESTION, returnTrace: true } });
  const PATHS = ['/api/agent/run', '/api/agent/stream'];
  const entriesOf = (text) => text.split('\n\n').map((block) => /^data: (.*)\nevent: (\w+)$/.exec(block)).filter(Boolean).map(([, data, event]) => ({ event, data: JSON.parse(data) }));
  const assertNothingLeft = () => eventually(async () => (await library.questions()).length === 0, { what: 'nothing is left in the queue' });
  // The embedding that waits is let go before its own limit: nothing is said of that.
  async function assertStopped(ended, node = 0) {
    const last = embedder.requests.at(-1);
    const log = cluster.nodes[node].log().length;
    await ended();
    await eventually(() => last.left, { what: 'the embedding is given up' });
    assert.doesNotMatch(cluster.nodes[node].log().slice(log), /could not be embedded/);
  }

  test('a client that leaves while its question is embedded ends that', async () => {
    for (const path of PATHS) {
      const release = embedder.hold();
      const before1 = embedder.requests.length;
      const asked = open(path);
      await embedder.asked(before1 + 1);
      await assertStopped(() => asked.abort());
      release();
    }
  });

  test('a client that leaves while a search of its run is embedded ends that', async () => {
    let release;
    const steps = [() => ((release = embedder.hold()), search('bananas'))];
    await withEngine(cluster, model({ steps }), async () => {
      const before1 = embedder.requests.length;
      const asked = open(PATHS[0], 1); // of a slow run, too, there is time left
      await embedder.asked(before1 + 2);
      await assertStopped(() => asked.abort(), 1);
      release();
    });
    await assertNothingLeft();
  });

  test('a run whose question is not embedded in time is refused', async () => {
    for (const path of PATHS) {
      const release = embedder.hold();
      const before1 = embedder.requests.length;
      const asked = open(path);
      await embedder.asked(before1 + 1);
      await assertStopped(async () => {
        const { status, json } = await asked.response;
        assert.deepEqual([status, json.code, json.retryable], [503, 'LLM_UNAVAILABLE', true]);
      });
      release();
    }
  });

  test('a run whose search hangs ends with an error entry, and an error', async () => {
    let release;
    await withEngine(cluster, model({ steps: [() => ((release = embedder.hold()), search('bananas'))] }), async () => {
      const before1 = embedder.requests.length;
      const asked = open(PATHS[1]);
      await embedder.asked(before1 + 2);
      await assertStopped(async () => {
        const events = entriesOf((await asked.response).text);
        assert.deepEqual(events.map(({ event, data }) => data.type ?? event), ['plan', 'error', 'error']);
        const [, entry, { event, data }] = events;
        assertEntry(entry.data);
        assert.deepEqual([event, data.status, data.code, data.retryable, data.detail], ['error', 503, 'LLM_UNAVAILABLE', true, entry.data.error]);
      });
      release();
    });
    await assertNothingLeft();
  });

  test('a model that hangs uses up its part of the time and no more: the run ends with an error entry', async () => {
    await withEngine(cluster, model({ plan: () => undefined }), async () => {
      const events = entriesOf((await open(PATHS[1]).response).text);
      assert.deepEqual(events.map(({ event, data }) => data.type ?? event), ['error', 'error']);
      const { status, json } = await open(PATHS[0]).response;
      assert.deepEqual([status, json.code], [503, 'LLM_UNAVAILABLE']);
    });
    await assertNothingLeft();
  });

  test('the last third of the time is the answer\'s', async () => {
    await withEngine(cluster, ({ kind }) => (kind === 'plan' ? PLAN : kind === 'answer' ? 'It lasts 150 seconds [1].' : undefined), async () => {
      const { json } = await open(PATHS[0], 1).response;
      assert.deepEqual(types(assertRun(json)), ['plan', 'error', 'tool_call', 'final']);
    });
  });
});
