// SPDX-License-Identifier: MIT
//
// The engines of docs/handbook/engines.md, two small and two complete ones, as they stand in the page, against real nodes.
// What the complete ones do while all is well is also run by tests/documents/handbook_code.test.mjs. Only the function `model`, which is there to be replaced, is.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ACCOUNTS, assertOk, eventually, makeFolder, newTopic, ROOT, startProcess, suite } from '../support/harness.mjs';
import { verbCalls } from '../cluster/watch.mjs';

const PAGE = readFileSync(join(ROOT, 'docs/handbook/engines.md'), 'utf8');
// A model that says what its question asks for: "endless", "silent FILE" until that file is there, "broken", or its echo.
const LANGUAGES = {
  Python: {
    program: 'python3',
    file: 'engine.py',
    kind: 'python',
    model: `def model(question):
    word, _, path = question.partition(" ")
    if word == "broken":
        raise ValueError("no such model")
    while word == "silent" and not os.path.exists(path) or word == "endless":
        if word == "endless":
            yield "more "
        time.sleep(0.05)
    yield from ("You asked: ", "ü" + question)

`,
    ofPage: /^def model\([^]*?\n\n/m,
  },
  JavaScript: {
    program: 'node',
    file: 'engine.mjs',
    kind: 'js',
    model: `import { existsSync } from 'node:fs';
async function* model(question) {
  const [word, path] = question.split(' ');
  if (word === 'broken') throw new Error('no such model');
  while ((word === 'silent' && !existsSync(path)) || word === 'endless') {
    if (word === 'endless') yield 'more ';
    await sleep(50);
  }
  yield 'You asked: ';
  yield \`ü\${question}\`;
}

`,
    ofPage: /^async function\* model\([^]*?\n\n/m,
  },
};

const programOf = ({ kind, file }) => {
  const found = [...PAGE.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].find(([, its, text]) => its === kind && text.split('\n')[0].endsWith(` ${file}`));
  assert.ok(found, `the page has ${file}`);
  return found[2];
};

suite('the engines of the handbook', { nodes: 1, args: ['--lease-seconds', '3', '--rescan-seconds', '1'] }, ({ test, cluster }) => {
  const claimOfPage = JSON.parse(/^```json\n(\{"Topic"[^]*?"Details"[^]*?)^```$/m.exec(PAGE)[1].replace(/\n\s*/g, ' '));

  // Starts an engine and runs body({engine, path}); ends it.
  async function withEngine(language, text, body, { secret = ACCOUNTS.Inference_1.secret, url = cluster.nodes[0].url } = {}) {
    const folder = makeFolder();
    const path = folder.file(language.file, text);
    const env = { PARLEY_URL: url, PARLEY_USER: 'Inference_1', PARLEY_SECRET_FILE: folder.file('secret', `${secret}\n`) };
    const engine = startProcess([path], { bin: language.program, env });
    try {
      await body({ engine, file: (name) => join(folder.dir, name) });
    } catch (error) {
      console.error(`--- ${language.file}\n${engine.stdout}${engine.stderr}\n---`);
      throw error;
    } finally {
      engine.child.kill('SIGKILL');
      await engine.exit();
      folder.remove();
    }
  }
  const outcome = async ({ Topic, Seq }) => assertOk(await cluster.checkOpen({ Topic, Seq, wait: 60, detail: true }).response);
  // A stream's events up to `done`.
  async function ask(Query) {
    const stream = await cluster.stream('/api/add-query', { as: 'User_1', method: 'POST', query: { Wait: 60 }, body: { Topic: newTopic(), User: 'User_1', Query } });
    return stream.until('done', 60_000);
  }
  const textOf = ({ Answer }) => Answer.join('');

  test('a claim has the members that the page shows', async () => {
    const { Topic, User, Queries } = { ...claimOfPage, Topic: newTopic(), User: 'User_1' };
    for (const [Query] of Queries.map(Object.values)) await cluster.add({ as: 'User_1', User, Topic, Query });
    const claim = await cluster.claim({ detail: true });
    const shape = ({ Topic: _topic, Lease, LeaseSeconds, Details, ...rest }) => [
      typeof Lease, typeof LeaseSeconds, Object.entries(Details).map(([seq, { Timestamp, RequestId, ...more }]) => [seq, more, typeof RequestId, /^[\dT:-]+Z$/.test(Timestamp)]), rest,
    ];
    assert.deepEqual(shape(claim), shape(claimOfPage));
    for (const [Seq, Query] of Queries.flatMap(Object.entries)) await cluster.answer({ Topic, Seq: Number(Seq), Query, Lease: claim.Lease });
  });

  for (const [name, { file, ...language }] of Object.entries(LANGUAGES)) {
    const smallest = { ...language, file: file.replace('engine', 'smallest') };
    test(`${name}: the smallest engine has some 25 lines, and answers all questions of a topic, and of the next one`, () => {
      const text = programOf(smallest);
      assert.ok(text.split('\n').filter((line) => line.trim()).length <= 25);
      return withEngine(smallest, text, async () => {
        for (const Topic of [newTopic(), newTopic()]) {
          const asked = [];
          for (const Query of ['one ü', 'two']) asked.push(await cluster.add({ Topic, Query }));
          for (const [i, Query] of ['one ü', 'two'].entries()) assert.equal(textOf(await outcome(asked[i])), `You asked: ${Query}`);
        }
      });
    });
  }

  for (const [name, language] of Object.entries(LANGUAGES)) {
    const asItStands = programOf(language);
    assert.match(asItStands, language.ofPage);
    const withModel = asItStands.replace(language.ofPage, () => language.model);

    test(`${name}: a question is streamed piece by piece, and all questions of a topic are answered`, () =>
      withEngine(language, asItStands, async () => {
        const before = await verbCalls(cluster, cluster.nodes[0], 'partial');
        const events = await ask('Is it so?');
        const tokens = events.filter(({ event }) => event === 'token').map(({ data }) => data.text);
        assert.equal(tokens.join('').trim(), 'You asked: Is it so?', JSON.stringify(events));
        assert.equal((await verbCalls(cluster, cluster.nodes[0], 'partial')) - before, 5);
        const Topic = newTopic();
        const asked = [];
        for (const Query of ['one ü', 'two']) asked.push(await cluster.add({ Topic, Query }));
        for (const [i, Query] of ['one ü', 'two'].entries()) assert.equal(textOf(await outcome(asked[i])).trim(), `You asked: ${Query}`);
      }));

    test(`${name}: a model that is silent for longer than its lease lasts keeps its claim`, () =>
      withEngine(language, withModel, async ({ file }) => {
        const before = await verbCalls(cluster, cluster.nodes[0], 'extend');
        const answered = ask(`silent ${file('go')}`);
        await eventually(async () => (await verbCalls(cluster, cluster.nodes[0], 'extend')) >= before + 4, { what: 'it renews its lease' });
        writeFileSync(file('go'), '');
        const events = await answered;
        assert.equal(textOf(events.at(-1).data), `You asked: üsilent ${file('go')}`);
        for (const { event, id } of events) assert.ok(event !== 'restart' && !/^[^1]/.test(id ?? ''), `${event} ${id}: another attempt`);
      }));

    test(`${name}: a cancelled question is dropped, and the next one answered`, () =>
      withEngine(language, withModel, async ({ engine }) => {
        const before = await verbCalls(cluster, cluster.nodes[0], 'partial');
        const asked = await cluster.add({ Query: 'endless' });
        await eventually(async () => (await verbCalls(cluster, cluster.nodes[0], 'partial')) > before, { what: 'it streams' });
        assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: asked }));
        assert.equal(textOf(await outcome(await cluster.add({ Query: 'next' }))), 'You asked: ünext');
        assert.equal(engine.child.exitCode, null);
      }));

    test(`${name}: a question whose model fails gets its attempts, then its reason`, () =>
      withEngine(language, withModel, async () => {
        const { Status, Reason } = await outcome(await cluster.add({ Query: 'broken' }));
        assert.equal(Status, 'Failed');
        assert.match(Reason, /no such model/);
        assert.equal(textOf(await outcome(await cluster.add({ Query: 'next' }))), 'You asked: ünext');
      }));

    test(`${name}: the node goes away and comes back, and the answer continues where it was`, async () => {
      const node = await cluster.startNode();
      const listen = new URL(node.url).host;
      await withEngine(
        language,
        withModel,
        async ({ engine, file }) => {
          const asked = await cluster.add({ Query: `silent ${file('go')}`, node: 0 });
          await eventually(async () => (await verbCalls(cluster, node, 'extend')) > 0, { what: 'it has the question' });
          await node.kill();
          cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
          writeFileSync(file('go'), '');
          await eventually(() => /^[a-z-]+: .+/m.test(engine.stderr), { what: 'it has noticed' });
          const back = await cluster.startNode({ listen });
          assert.equal(textOf(await outcome({ ...asked, node: 0 })), `You asked: üsilent ${file('go')}`);
          engine.child.kill('SIGTERM');
          assert.deepEqual(await engine.exit(), { code: 0, signal: null });
          await back.stop();
          cluster.nodes.splice(cluster.nodes.indexOf(back), 1);
        },
        { url: node.url },
      );
    });

    test(`${name}: Ctrl-C gives the claim back, and no attempt is used up`, () =>
      withEngine(language, withModel, async ({ engine }) => {
        const before = await verbCalls(cluster, cluster.nodes[0], 'partial');
        const asked = await cluster.add({ Query: 'endless' });
        await eventually(async () => (await verbCalls(cluster, cluster.nodes[0], 'partial')) > before, { what: 'it streams' });
        engine.child.kill('SIGINT');
        assert.deepEqual(await engine.exit(), { code: 0, signal: null });
        const { Topic, Attempt, Lease } = await cluster.claim({ detail: true });
        assert.deepEqual([Topic, Attempt], [asked.Topic, 1]);
        await cluster.answer({ ...asked, Query: 'endless', Lease }); // or the next test's engine gets it
      }));

    test(`${name}: a wrong secret ends it with the node's words`, () =>
      withEngine(language, asItStands, async ({ engine }) => {
        assert.equal((await engine.exit()).code, 1);
        assert.match(engine.stderr, /credentials|secret/i);
      }, { secret: 'wrong' }));
  }
});
