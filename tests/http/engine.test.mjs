// SPDX-License-Identifier: MIT
//
// `parley engine` against real nodes, with the built-in model and with a small
// OpenAI-compatible stub.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gate } from '../support/asking.mjs';
import { withEngines } from '../support/engines.mjs';
import { assertOk, eventually, makeFolder, newTopic, runParley, suite, waitForOutput } from '../support/harness.mjs';

suite('the engine with its built-in model', {}, ({ test, cluster }) => {
  const ask = async (Query, more = {}) => {
    const { Topic, Seq } = await cluster.add({ Query, ...more });
    return cluster.check({ Topic, Seq, wait: 20, detail: true });
  };

  test('a question is answered with a sentence of the folder, its mark and its source', () =>
    withEngines(cluster, async ({ start, corpus }) => {
      await start(['--corpus', corpus]);
      const row = await ask('How long does a lease last?');
      assert.deepEqual(row.Answer, ['A lease lasts 150 seconds unless a setting says otherwise. [1]', 'Sources:\n[1] leases.md']);
      assert.match(row.Think[0], /extractive.*Searched 3 passages of 3 documents/);
      assert.equal(row.Model, 'parley-extractive');
      assert.deepEqual((await ask('Where do bananas grow?')).Answer, [
        'Bananas are yellow & grow in the tropics. [1]',
        'Sources:\n[1] fruit/bananas.html',
      ]);
    }));

  test('without an answer in the folder, or without a folder, the engine says so', () =>
    withEngines(cluster, async ({ start, corpus }) => {
      const nothing = ["I don't know based on the provided documents."];
      const engine = await start(['--corpus', corpus]);
      assert.deepEqual((await ask('Who painted the Mona Lisa?')).Answer, nothing);
      await engine.stop();
      await start();
      const row = await ask('How long does a lease last?');
      assert.deepEqual(row.Answer, nothing);
      assert.match(row.Think[0], /has no documents/);
    }));

  test('all questions of a topic are answered, in order, and then those of the next', () =>
    withEngines(cluster, async ({ start, corpus }) => {
      const Topic = newTopic();
      const other = newTopic();
      for (let i = 0; i < 5; i += 1) await cluster.add({ Topic, Query: `Where do bananas grow, ${i}?` });
      await cluster.add({ Topic: other, Query: 'How long does a lease last?' });
      await start(['--corpus', corpus, '--slots', 1]);
      for (let Seq = 1; Seq <= 5; Seq += 1) assert.match((await cluster.check({ Topic, Seq, wait: 20 })).Answer[0], /^Bananas/);
      assert.match((await cluster.check({ Topic: other, Seq: 1, wait: 20 })).Answer[0], /^A lease/);
    }));

  test('the index stays on disk: a second start reads nothing again', () =>
    withEngines(cluster, async ({ start, corpus, folder }) => {
      const index = join(folder.dir, 'kept.index');
      const first = await start(['--corpus', corpus, '--index', index]);
      assert.match(first.stderr, /corpus ready .*indexed=3 kept=0/);
      await first.stop();
      assert.ok(existsSync(index));
      const second = await start(['--corpus', corpus, '--index', index]);
      assert.match(second.stderr, /corpus ready .*indexed=0 kept=3/);
      folder.file('kept.index', 'not an index');
      await second.stop();
      const third = await start(['--corpus', corpus, '--index', index]);
      assert.match(third.stderr, /rebuilding the corpus index.*damaged/);
      assert.match((await ask('How long does a lease last?')).Answer[0], /^A lease/);
    }));

  test('without --index it is kept in the cache folder of the user, and nothing is written into the folder of documents', () =>
    withEngines(cluster, async ({ start, corpus, folder }) => {
      folder.file('corpus/.parley-index', 'The index of an older build says that leases last a century.');
      const written = statSync(corpus).mtimeMs;
      const env = { XDG_CACHE_HOME: join(folder.dir, 'cache') };
      const first = await start(['--corpus', corpus], { env });
      assert.match(first.stderr, /corpus ready .*documents=3 .*indexed=3 kept=0/);
      await first.stop();
      const second = await start(['--corpus', `${corpus}/../corpus`], { env });
      assert.match(second.stderr, /corpus ready .*indexed=0 kept=3/);
      await second.stop();
      const [name, ...others] = readdirSync(join(folder.dir, 'cache/parley'));
      assert.match(name, /^corpus-[0-9a-f]{16}\.index$/);
      assert.deepEqual([others, statSync(join(folder.dir, 'cache/parley')).mode & 0o777], [[], 0o700]);
      assert.equal(statSync(corpus).mtimeMs, written);
      const third = await start(['--corpus', corpus]);
      assert.match(third.stderr, /corpus ready .*indexed=3 kept=0/, 'without a cache folder, nothing is kept');
      assert.equal(statSync(corpus).mtimeMs, written);
    }));

  test('SIGHUP reads the folder again', () =>
    withEngines(cluster, async ({ start, corpus, folder }) => {
      const engine = await start(['--corpus', corpus]);
      folder.file('corpus/new.md', 'The mascot of Parley is a heron with a red hat.');
      engine.child.kill('SIGHUP');
      await waitForOutput(engine, ({ stderr }) => /corpus changed.*documents=4/.test(stderr), 60_000, 'the folder with a file more');
      assert.match((await ask('What is the mascot of Parley?')).Answer[0], /a heron with a red hat\. \[1\]/);
    }));

  test('a lookup brings the nearest passages, as many and as near as asked for', () =>
    withEngines(cluster, async ({ start, corpus }) => {
      await start(['--corpus', corpus]);
      const { Topic } = await cluster.add({ Query: 'Where do bananas grow?' });
      await cluster.check({ Topic, wait: 20 });
      const lookUp = async (Fragment, Count, Threshold) => {
        assertOk(await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic, Seq: 1, Fragment, Count, Threshold } }));
        return eventually(async () => {
          const { Lookups } = assertOk(await cluster.request('GET', '/api/get-lookups', { as: 'Frontend_1', query: { Topic } }));
          return Lookups[0].Fragments.find((entry) => Fragment in entry)?.[Fragment];
        });
      };
      const matches = await lookUp('A nonce works once per account', 2, 2);
      assert.equal(matches.length, 2);
      assert.match(matches[0], /^Distance: 0\.\d\d\nDocument Name: signing\.txt\n\.{5}\nEvery request is signed/);
      assert.deepEqual(await lookUp('Something else entirely, about zebras', 5, 0.05), []);
    }));

  test('recommended texts count as documents, skipping flagged passages', () =>
    withEngines(cluster, async ({ start, corpus }) => {
      const { Topic } = await cluster.add({ User: 'alice', Query: 'Who keeps the bees?' });
      const recommend = async (body) =>
        assertOk(await cluster.request('POST', '/api/recommend', { as: 'Frontend_1', body: { Topic, OnBehalfOf: 'alice', Query: '', Fragment: '', Comment: '', ...body } }));
      await recommend({ Type: 'Add Missing Info', Query: 'Who keeps the bees?', Comment: 'The bees are kept by Miriam on the roof.' });
      await recommend({ Type: 'Make Correction', Query: 'When is the market?', Fragment: 'The market is on Monday.', Comment: 'The market is on Friday.' });
      await recommend({ Type: 'Flag as Off Topic', Fragment: 'Bananas are YELLOW &\n grow' });
      const engine = await start(['--corpus', corpus]);
      await waitForOutput(engine, ({ stderr }) => /flagged passages/.test(stderr), 60_000, 'the flag');
      assert.match((await cluster.check({ Topic, wait: 20 })).Answer[0], /bees|don't know/);
      await eventually(async () => /kept by Miriam on the roof/.test((await ask('Who keeps the bees?')).Answer[0]));
      const market = (await ask('When is the market?')).Answer[0];
      assert.match(market, /Friday/);
      assert.doesNotMatch(market, /Monday/);
      assert.deepEqual((await ask('Where do bananas grow?')).Answer, ["I don't know based on the provided documents."]);
    }));

  const forgetAll = async () => {
    const as = 'Operator_1';
    for (const { Id } of assertOk(await cluster.request('GET', '/api/recommendations', { as })).Recommendations)
      assertOk(await cluster.request('DELETE', '/api/recommendations', { as, query: { Id } }));
  };
  // Recommends, and waits until the engine has read it.
  const recommender = async (cluster_, engine) => {
    const { Topic } = await cluster_.add({ User: 'alice', Query: 'What is comp time?' });
    await cluster_.check({ Topic, wait: 20 });
    return async (body) => {
      const log = engine.stderr.length;
      const { Id } = assertOk(await cluster_.request('POST', '/api/recommend', { as: 'Frontend_1', query: { Detail: 'true' }, body: { Topic, OnBehalfOf: 'alice', Fragment: '', Comment: null, Query: 'How long does a lease last?', ...body } }));
      await waitForOutput(engine, ({ stderr }) => /recommendations were read/.test(stderr.slice(log)), 60_000, 'the engine reads it');
      return Id;
    };
  };
  const LEASE = 'How long does a lease last?';
  const FACT = 'A lease lasts 150 seconds unless a setting says otherwise.';

  test('what is promoted neither doubles a sentence nor copies marks, however often', () =>
    withEngines(cluster, async ({ start, corpus }) => {
      await forgetAll();
      const engine = await start(['--corpus', corpus]);
      const recommend = await recommender(cluster, engine);
      const before = (await ask(LEASE)).Answer;
      assert.deepEqual(before, [`${FACT} [1]`, 'Sources:\n[1] leases.md']);
      for (const [Comment, Fragment] of [[null, before.join('\n\n')], ['Says it best.', before[0]], ['Good.', before.join(' ')]]) {
        await recommend({ Type: 'Promote Answer', Fragment, Comment });
        await waitForOutput(engine, ({ stderr }) => /documents=4/.test(stderr), 60_000, 'the note');
        const [text, ...rest] = (await ask(LEASE)).Answer;
        assert.equal(text.split(FACT).length, 2, text);
        assert.doesNotMatch(text, /\] *\[|Sources/);
        assert.match(rest[0], /^Sources:\n\[1\] leases\.md/);
      }
      await forgetAll();
      await waitForOutput(engine, ({ stderr }) => [...stderr.matchAll(/recommendations are gone n=(\d+)/g)].reduce((sum, [, n]) => sum + Number(n), 0) === 3, 60_000, 'the engine forgets them');
      assert.deepEqual((await ask(LEASE)).Answer, before);
    }));

  test('Suggest Improvement changes the next answer, with a comment or without, of a fragment that is known or new', () =>
    withEngines(cluster, async ({ start, corpus }) => {
      await forgetAll();
      const engine = await start(['--corpus', corpus]);
      const recommend = await recommender(cluster, engine);
      const remove = async (Id) => assertOk(await cluster.request('DELETE', '/api/recommendations', { as: 'Operator_1', query: { Id } }));
      const Type = 'Suggest Improvement';
      const comp = 'Employees can accrue comp time for overtime hours worked';
      const seen = async (question, pattern) => eventually(async () => pattern.test((await ask(question)).Answer.join('\n\n')), { ms: 60_000, every: 250, what: String(pattern) });
      assert.deepEqual((await ask('What is comp time?')).Answer, ["I don't know based on the provided documents."]);
      await recommend({ Type, Query: 'What is comp time?', Fragment: `${comp} ...` });
      await seen('What is comp time?', new RegExp(`^${comp}.*\\[1\\]\n\nSources:\n\\[1\\] Recommendation: Suggest Improvement$`, 's'));
      const plain = await recommend({ Type, Fragment: FACT });
      await seen(LEASE, /^A lease lasts 150 seconds .*\[1\]\n\nSources:\n\[1\] leases\.md \(a user suggests an improvement\)$/s);
      await remove(plain);
      const commented = await recommend({ Type, Fragment: FACT, Comment: 'Heartbeats renew it every minute.' });
      await seen(LEASE, /A lease lasts 150 seconds .*\[1\] Heartbeats renew it every minute\. \[2\]/);
      await remove(commented);
      await seen(LEASE, /leases\.md$/);
      await recommend({ Type: 'Make Correction', Fragment: FACT, Comment: 'A lease lasts 60 seconds.' });
      await seen(LEASE, /^A lease lasts 60 seconds\. \[1\]\n\nSources:\n\[1\] Recommendation: Make Correction$/);
      await forgetAll();
    }));

  test('a flag that is undone shows its passage again', () =>
    withEngines(cluster, async ({ start, corpus }) => {
      await forgetAll();
      const engine = await start(['--corpus', corpus]);
      const recommend = await recommender(cluster, engine);
      const nothing = ["I don't know based on the provided documents."];
      await recommend({ Type: 'Flag as Off Topic', Fragment: 'The orchard lies behind the mill.' });
      await waitForOutput(engine, ({ stderr }) => /flagged passages/.test(stderr), 60_000, 'the flag');
      await recommend({ Type: 'Flag as Off Topic', Fragment: `${FACT} [1]` });
      await eventually(async () => JSON.stringify((await ask(LEASE)).Answer) === JSON.stringify(nothing), { ms: 60_000, every: 250 });
      await recommend({ Type: 'Promote Answer', Fragment: FACT });
      await eventually(async () => (await ask(LEASE)).Answer[0].startsWith(FACT), { ms: 60_000, every: 250 });
      await forgetAll();
    }));

  test('a workflow prompt gets its decision as a JSON object', () =>
    withEngines(cluster, async ({ start }) => {
      await start();
      const row = await ask('Answer with {"decision","confidence","reason","output"}.\nRequest: drop all tables');
      const { decision, confidence, reason } = JSON.parse(row.Answer[0]);
      assert.equal(decision, 'no');
      assert.equal(typeof confidence, 'number');
      assert.match(reason, /Built-in rule/);
    }));

  test('Modifiers.Messages are the conversation, with the passages that they bring', () =>
    withEngines(cluster, async ({ start, corpus }) => {
      await start(['--corpus', corpus]);
      const Messages = [
        { role: 'system', content: 'Answer from these.\n\n[1] Pears are green.\n[2] Plums are blue.' },
        { role: 'user', content: 'Are plums blue?' },
      ];
      assert.match((await ask('Are plums blue?', { Modifiers: { Messages } })).Answer[0], /^Plums are blue\. \[2\]/);
    }));

  test('a start with an unusable setting is one clear line and exit 2', async () => {
    const folder = makeFolder();
    const account = ['--user', 'u', '--secret-file', folder.file('secret', 'x')];
    const cases = [
      [[], /--url is missing/],
      [['--url', 'ftp://x', ...account], /--url takes http:\/\/HOST/],
      [['--url', 'http://u:p@x', ...account], /--url takes http:\/\/HOST/],
      [['--url', 'http://x', '--user', 'u', '--secret-file', '/dev/null'], /secret file .*empty/],
      [['--url', 'http://x', ...account, '--corpus', '/nonexistent'], /--corpus takes a folder that can be read, not '\/nonexistent'/],
      [['--url', 'http://x', ...account, '--engine-id', 'a b'], /--engine-id takes/],
      [['--url', 'http://x', ...account, '--engine-id', 'e'.repeat(61)], /--engine-id takes/],
      [['--url', 'http://x', ...account, '--models', 'm'.repeat(257)], /--models takes at most 256 bytes/],
      [['--url', 'http://x', ...account, '--models', '你'.repeat(85)], /--models takes at most 256 bytes/],
      [['--url', 'http://x', ...account, '--user', 'u'.repeat(129)], /--user takes at most 128 bytes/],
      [['--url', 'http://x', '--user', 'u'], /--secret-file is missing/],
      [['--url', 'http://x', ...account, '--apis', 'chat,chats'], /--apis takes auto, none, or a list of chat, completions, embeddings and messages, not 'chat,chats'/],
      [['--url', 'http://x', ...account, '--apis', 'messages'], /--apis with messages needs --llm/],
      [['--url', 'http://x', ...account, '--apis', 'completions'], /--apis with completions needs --llm/],
      [['--url', 'http://x', ...account, '--apis', 'embeddings', '--llm', 'http://y'], /--apis with embeddings needs --embeddings-url/],
      [['--url', 'http://x', ...account, '--apis', 'chat', '--embeddings-url', 'http://y'], /--apis with chat and --embeddings-url needs --llm/],
      [['--url', 'http://x', ...account, '--embeddings-url', 'http://u:p@y/v1'], /--embeddings-url takes a URL (?!.*u:p)/],
      [['--url', 'http://x', ...account, '--continues'], /--continues needs --llm/],
      [['--url', 'http://x', ...account, '--llm', 'http://y', '--apis', 'chat,completions', '--models', Array.from({ length: 9 }, (_, i) => `${i}${'/'.repeat(15)}`).join()], /--models takes .*1,024/],
      [['--url', 'http://x', ...account, '--model', 'm', '--llm', 'http://u:p@y/v1'], /--llm takes a URL (?!.*u:p)/],
      [['--url', 'http://x', ...account, '--embeddings-model', 'm', '--embeddings', 'http://u:p@y'], /--embeddings takes (?!.*u:p)/],
      [['--url', 'http://x', '--slots', '0'], /--slots takes a whole number/],
      [['--bogus', '1'], /unknown flag '--bogus'/],
    ];
    for (const [args, expected] of cases) {
      const { code, stderr } = await runParley(['engine', ...args]);
      assert.equal(code, 2);
      assert.match(stderr, expected);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
    }
    folder.remove();
    const help = await runParley(['engine', '--help']);
    assert.equal(help.code, 0);
    for (const word of ['--url', '--corpus', 'SIGTERM', 'PARLEY_LLM_URL', 'Examples']) assert.ok(help.stdout.includes(word), word);
  });

  test('the longest --engine-id, --models and --slots that it takes are taken by a node, too', () =>
    withEngines(cluster, async ({ start }) => {
      const [id, models] = ['e'.repeat(60), `${'你'.repeat(56)},${'m'.repeat(7)}`];
      await start(['--engine-id', id, '--models', models, '--slots', 256]);
      await eventually(async () => {
        const status = assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' }));
        return status.Engines.some(({ Engine, Slots }) => Engine === id && Slots.Waiting === 256);
      });
    }));

  test('parked engines that are stopped exit 0 at once', () =>
    withEngines(cluster, async ({ start }) => {
      const engine = await start(['--slots', 3]);
      await eventually(async () => {
        const status = assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' }));
        return JSON.stringify(status).includes('Inference_1');
      });
      const began = Date.now();
      assert.deepEqual(await engine.stop('SIGINT'), { code: 0, signal: null });
      assert.ok(Date.now() - began < 9_000);
    }));
});

suite('the engine with a model server', { env: { PARLEY_LEASE_SECONDS: '6' } }, ({ test, cluster }) => {
  const requestsOf = (llm) => llm.requests.filter(({ path }) => path === '/v1/chat/completions');

  test('words reach the reader while the model still writes, thoughts apart', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      const { hold, open } = gate();
      llm.behave({ think: 'Let me see.', text: 'It is ünïcödé, all of it.', hold, holdAt: 4, pieces: 6 });
      await start(model);
      const { Topic } = await cluster.add();
      const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 } });
      const early = await stream.until('token');
      open();
      const events = [...early, ...(await stream.until('done'))];
      const { data } = events.at(-1);
      assert.deepEqual(data.Answer, ['It is ünïcödé, all of it.']);
      assert.deepEqual(data.Think, ['Let me see.']);
      stream.abort();
    }));

  test('passages go with the question, marks that name none are taken out', () =>
    withEngines(cluster, async ({ start, llm, model, corpus }) => {
      llm.behave({ text: 'It lasts 150 s [1], surely [9]. See `list[7]`.' });
      await start([...model, '--corpus', corpus]);
      const { Topic } = await cluster.add({ Query: 'How long does a lease last?' });
      const { Answer } = await cluster.check({ Topic, wait: 20 });
      assert.deepEqual(Answer, ['It lasts 150 s [1], surely. See `list[7]`.', 'Sources:\n[1] leases.md']);
      const [{ body }] = requestsOf(llm);
      assert.equal(body.model, 'stub');
      assert.match(body.messages[0].content, /\[1\] leases\.md\n# Leases/);
      assert.deepEqual(body.messages.at(-1), { role: 'user', content: 'How long does a lease last?' });
      await cluster.add({ Topic, Query: 'And then?' });
      await cluster.check({ Topic, Seq: 2, wait: 20 });
      const roles = requestsOf(llm)[1].body.messages.map(({ role }) => role);
      assert.deepEqual(roles, ['system', 'user', 'assistant', 'user']);
    }));

  test('a server that does not stream, or refuses to, is understood', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      await start([...model, '--slots', 1]);
      for (const stream of ['never', 'refuse', 'refuse']) {
        llm.behave({ think: 'Hm.', tags: true, text: `From ${stream}.`, stream });
        const { Topic } = await cluster.add();
        const { Answer, Think } = await cluster.check({ Topic, wait: 20 });
        assert.deepEqual([Answer, Think], [[`From ${stream}.`], ['Hm.']]);
      }
      assert.deepEqual(requestsOf(llm).map(({ body }) => body.stream), [true, true, false, false]);
    }));

  test('heartbeats keep a lease of 6 seconds while the model is silent for longer', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      const { hold, open } = gate();
      llm.behave({ text: 'Late but here.', hold });
      await start(model);
      const { Topic } = await cluster.add();
      await eventually(() => requestsOf(llm).length === 1);
      const until = Date.now() + 8000;
      await eventually(() => Date.now() > until);
      open();
      assert.deepEqual((await cluster.check({ Topic, wait: 20 })).Answer, ['Late but here.']);
      assert.equal(requestsOf(llm).length, 1, 'asked once: the lease was never lost');
    }));

  test('a cancelled query stops the model in the middle of its words', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ text: 'word '.repeat(2000), pieceMs: 50 });
      await start(model);
      const { Topic } = await cluster.add();
      await eventually(() => requestsOf(llm).length === 1);
      assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic, Seq: 1 } }));
      await eventually(() => requestsOf(llm)[0].aborted);
      llm.behave({ text: 'Free again.' });
      const next = await cluster.add();
      assert.deepEqual((await cluster.check({ Topic: next.Topic, wait: 20 })).Answer, ['Free again.']);
    }));

  test('an engine that is stopped gives its claim back, and another one answers', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ text: 'word '.repeat(2000), pieceMs: 50 });
      const first = await start(model);
      const { Topic } = await cluster.add();
      await eventually(() => requestsOf(llm).length === 1);
      llm.behave({ text: 'The second engine says so.' });
      const second = start(model);
      assert.deepEqual(await first.stop(), { code: 0, signal: null });
      assert.match(first.stderr, /giving a claim back/);
      assert.deepEqual((await cluster.check({ Topic, wait: 20 })).Answer, ['The second engine says so.']);
      await second;
    }));

  test('an engine that slept past its lease drops the work, and another one answers', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ text: 'word '.repeat(2000), pieceMs: 50 });
      const first = await start([...model, '--slots', 1]);
      const { Topic } = await cluster.add();
      await eventually(() => requestsOf(llm).length === 1);
      first.child.kill('SIGSTOP');
      llm.behave({ text: 'Awake.' });
      await start([...model, '--slots', 1]);
      assert.deepEqual((await cluster.check({ Topic, wait: 30 })).Answer, ['Awake.']);
      first.child.kill('SIGCONT');
      await eventually(() => requestsOf(llm)[0].aborted);
      assert.deepEqual((await cluster.check({ Topic })).Answer, ['Awake.']);
    }));

  test('a model server that comes back answers what it failed before', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ text: 'Back.', status: 500, times: 4 });
      await start([...model, '--slots', 1]);
      const { Topic } = await cluster.add();
      assert.deepEqual((await cluster.check({ Topic, wait: 30 })).Answer, ['Back.']);
      assert.equal(requestsOf(llm).length, 5);
    }));

  test('a truncated stream is not an answer: the query is retried', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ text: 'Half of this is not enough.', stream: 'break' });
      await start([...model, '--slots', 1]);
      const { Topic } = await cluster.add();
      await eventually(() => requestsOf(llm)[0]?.aborted);
      llm.behave({ text: 'A whole answer.' });
      assert.deepEqual((await cluster.check({ Topic, wait: 30 })).Answer, ['A whole answer.']);
    }));

  test('a query that the model server refuses for good fails with its reason', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ status: 422 });
      await start(model);
      const { Topic } = await cluster.add();
      const row = await cluster.check({ Topic, wait: 20, detail: true });
      assert.equal(row.Status, 'Failed');
      assert.match(row.Reason, /status 422: stub fails with 422/);
      assert.equal(requestsOf(llm).length, 1);
    }));

  test('PARLEY_LLM_URL names the model server too, and a query may ask for one of --models', () =>
    withEngines(cluster, async ({ start, llm }) => {
      await start(['--models', 'small,large'], { env: { PARLEY_LLM_URL: llm.url, PARLEY_MODEL: 'small' } });
      const { Topic } = await cluster.add({ Model: 'large' });
      assert.equal((await cluster.check({ Topic, wait: 20, detail: true })).Model, 'large');
      const other = await cluster.add();
      assert.equal((await cluster.check({ Topic: other.Topic, wait: 20, detail: true })).Model, 'small');
    }));

  test('embeddings of a server index the folder and find in it', () =>
    withEngines(cluster, async ({ start, llm, corpus, model }) => {
      await start([...model, '--corpus', corpus, '--embeddings', llm.url, '--embeddings-model', 'stub-embed']);
      const { Topic } = await cluster.add({ Query: 'How long does a lease last?' });
      await cluster.check({ Topic, wait: 20 });
      assert.match(requestsOf(llm)[0].body.messages[0].content, /\[1\] leases\.md/);
      assert.ok(llm.requests.some(({ path, body }) => path === '/v1/embeddings' && body.model === 'stub-embed'));
    }));

  test("Ollama's embeddings are tried again after a failure, index the folder and find in it", () =>
    withEngines(cluster, async ({ start, llm, corpus, model }) => {
      llm.behave({ embedStatus: 503, embedTimes: 1 });
      await start([...model, '--corpus', corpus, '--embeddings', `ollama:${llm.url.replace('/v1', '/')}#stub-embed`]);
      const { Topic } = await cluster.add({ Query: 'How long does a lease last?' });
      await cluster.check({ Topic, wait: 20 });
      const asked = llm.requests.filter(({ path }) => path === '/api/embed');
      assert.match(requestsOf(llm)[0].body.messages[0].content, /\[1\] leases\.md/);
      assert.deepEqual(asked[0].body, asked[1].body);
      assert.equal(asked[0].body.model, 'stub-embed');
      assert.equal(asked[0].body.input.length, 3);
      assert.deepEqual(asked[2].body.input, ['How long does a lease last?']);
    }));
});

suite('the engine and nodes that disappear', { nodes: 2 }, ({ test, cluster }) => {
  test('an engine continues with the other node when one is killed, and returns to a new one', () =>
    withEngines(cluster, async ({ start, corpus }) => {
      const [first, second] = cluster.nodes;
      await start(['--corpus', corpus, '--slots', 2]);
      await first.kill();
      const { Topic } = await cluster.add({ Query: 'How long does a lease last?', node: second });
      assert.match((await cluster.check({ Topic, wait: 20, node: second })).Answer[0], /^A lease/);
    }));

  test('an answer survives a node that dies before it is given', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      const [, second] = cluster.nodes;
      const third = await cluster.startNode();
      const { hold, open } = gate();
      llm.behave({ text: 'Kept all along.', hold });
      await start([...model, '--slots', 1], { nodes: [second, third] });
      const { Topic } = await cluster.add({ node: third });
      await eventually(() => llm.requests.length === 1);
      await second.kill();
      open();
      assert.deepEqual((await cluster.check({ Topic, wait: 20, node: third })).Answer, ['Kept all along.']);
      assert.equal(llm.requests.length, 1);
    }));
});
