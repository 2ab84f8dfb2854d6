// SPDX-License-Identifier: MIT
//
// `./dev engine` against what `./dev up` has started: one engine takes the place of the other, so that no answer comes
// from a model that somebody believes to be gone.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gate } from '../support/asking.mjs';
import { makeCheckout } from '../support/checkout.mjs';
import { assertOk, eventually, newTopic, openRequest, sign, withQuery } from '../support/harness.mjs';
import { startLlm } from '../support/llm_stub.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // the script, whatever it starts: the same on any number of shards

const BUILT_IN = 'parley-extractive';
const QUESTION = 'How long does a lease last?';
const TIMEOUT = { timeout: 900_000 };

function assertDone({ code, stdout, stderr }) {
  assert.equal(code, 0, `${stdout}${stderr}`);
  assert.equal(stderr, '');
  return stdout;
}

// `./dev engine` fails with these lines alone, one of the engine and one of its own, or just the latter.
function assertRefused({ code, stdout, stderr }, ...expected) {
  assert.equal(code, 1, stderr);
  assert.equal(stdout, '');
  const lines = stderr.trim().split('\n');
  assert.equal(lines.length, expected.length, stderr);
  expected.forEach((pattern, i) => assert.match(lines[i], pattern));
}

describe('./dev engine before ./dev up', TIMEOUT, () => {
  const checkout = makeCheckout();
  after(() => checkout.remove());

  it('reports what is missing, and --help needs neither a build nor a node', async () => {
    assertRefused(await checkout.dev('engine'), /^dev: no node runs: start one with \.\/dev up$/);
    assertRefused(await checkout.dev('engine', '--nonsense'), /^dev: no node runs: start one with \.\/dev up$/);
    const unbuilt = { env: { PARLEY_BIN: '' } };
    assertRefused(await checkout.dev('engine', unbuilt), /^dev: there is no build: \.\/dev up makes one, and starts a node$/);
    const help = assertDone(await checkout.dev('engine', '--help', unbuilt));
    assert.match(help, /^usage: \.\/dev engine \[FLAGS\]\n/);
    assert.match(help, /\.\/dev engine --llm \S+ --model \S+\n/);
    assert.match(assertDone(await checkout.dev('engine', '--model', 'llama3', '-h')), /^usage: \.\/dev engine \[FLAGS\]\n/);
  });

  it('another command that is asked for help does nothing else', async () => {
    for (const command of ['up', 'down', 'cluster']) assert.match(assertDone(await checkout.dev(command, '--help')), /^usage: \.\/dev COMMAND\n/);
    assert.deepEqual(checkout.running(), []);
  });
});

describe('./dev engine after ./dev up', TIMEOUT, () => {
  const checkout = makeCheckout();
  let llm, model;
  before(async () => {
    llm = await startLlm();
    model = ['--llm', llm.url, '--model', 'stub'];
    const said = assertDone(await checkout.dev('up'));
    assert.match(said, /^started engine: built-in, extractive, over the documents in docs\/handbook$/m);
    assert.match(said, /^\.\/dev engine --llm URL --model NAME answers with a model of yours instead/m);
  });
  after(async () => {
    await llm?.stop();
    await checkout.remove();
  });

  const request = async (method, path, query = {}, body = undefined) => {
    const proof = sign('User_1', checkout.secret('User_1'));
    return assertOk(await openRequest(checkout.url('node1'), method, withQuery(path, { ...query, ...proof }), { body, timeout: 300_000 }).response);
  };
  const add = (Query = QUESTION) => request('POST', '/api/add-query', {}, { Topic: newTopic(), User: 'User_1', Query });
  const check = ({ Topic, Seq }, Wait = 30) => request('GET', '/api/check-query', { Topic, Seq, Wait, Detail: true });
  // The models that answered these questions; every one of them has an answer.
  const answeredBy = async (questions) => {
    const rows = await Promise.all(questions.map((question) => check(question)));
    for (const { Status } of rows) assert.equal(Status, 'Done');
    return [...new Set(rows.map(({ Model }) => Model))];
  };
  const ask = async (n) => answeredBy(await Promise.all(Array.from({ length: n }, () => add())));
  const engine = async (...args) => assertDone(await checkout.dev('engine', ...args));

  it('the model that is asked for gives all answers, and the replaced one none', async () => {
    await engine();
    assert.deepEqual(await ask(4), [BUILT_IN]);
    const replaced = checkout.pid('engine');
    // Questions that come while one replaces the other are all answered, by either.
    let isReplaced = false;
    const asker = async () => {
      const models = new Set();
      while (!isReplaced) models.add((await ask(1))[0]);
      return [...models];
    };
    const meanwhile = Promise.all([asker(), asker(), asker()]);
    const said = await engine(...model);
    isReplaced = true;
    assert.match(said, /^stopped engine \(pid \d+\)$/m);
    assert.match(said, new RegExp(`^started engine: stub at ${llm.url}, over the documents in docs/handbook$`, 'm'));
    assert.notEqual(checkout.pid('engine'), replaced);
    assert.deepEqual(checkout.engines(), [checkout.pid('engine')]);
    for (const name of (await meanwhile).flat()) assert.ok([BUILT_IN, 'stub'].includes(name), name);
    const first = llm.requests.length;
    assert.deepEqual(await ask(40), ['stub']);
    assert.equal(llm.requests.length - first, 40);
    const { answer } = assertOk(await openRequest(checkout.url('node1'), 'POST', '/ask', { body: { question: QUESTION }, timeout: 300_000 }).response);
    assert.match(answer, /^Stub says hello\./);
  });

  it('a question that the replaced engine works on is given back, and the new one answers it', async () => {
    const { hold, open } = gate();
    llm.behave({ hold });
    try {
      await engine(...model);
      const before = llm.requests.length;
      const question = await add();
      await eventually(() => llm.requests.length > before, { what: 'the model is asked' });
      assert.match(await engine(), /^started engine: built-in, extractive, over the documents in docs\/handbook$/m);
      assert.deepEqual(await answeredBy([question]), [BUILT_IN]);
      await eventually(() => llm.requests.at(-1).aborted, { what: 'the model is stopped' });
    } finally {
      open();
      llm.behave({});
    }
    const asked = llm.requests.length;
    assert.deepEqual(await ask(10), [BUILT_IN]);
    assert.equal(llm.requests.length, asked);
  });

  it('a wrong setting ends with a clear line, and the running engine continues', async () => {
    await engine(...model);
    const pid = checkout.pid('engine');
    const goesOn = /^dev: no engine was started; the one that runs continues$/;
    assertRefused(await checkout.dev('engine', '--nonsense'), /^parley: unknown flag '--nonsense'/, goesOn);
    assertRefused(await checkout.dev('engine', '--slots', 'many'), /^parley: .*slots/, goesOn);
    assertRefused(await checkout.dev('engine', 'llama3'), /^parley: engine takes flags only/, goesOn);
    assertRefused(await checkout.dev('engine', '--llm', llm.url), /^parley: --model is missing: the model server lists no models/, goesOn);
    assertRefused(await checkout.dev('engine', '--model', 'llama3'), /^dev: --model needs --llm URL.*; the one that runs continues$/);
    assertRefused(await checkout.dev('engine', '--llm', 'http://127.0.0.1:1/v1', '--model', 'a'), /^parley: --llm http:\S+: the model server does not respond/, goesOn);
    assertRefused(await checkout.dev('engine', '--corpus', 'nowhere'), /^parley: --corpus takes a folder that can be read, not 'nowhere'/, goesOn);
    assert.equal(checkout.pid('engine'), pid);
    assert.deepEqual(await ask(4), ['stub']);
  });

  it('--help, --check-config and the same flags again leave the engine that runs alone', async () => {
    await engine(...model);
    const pid = checkout.pid('engine');
    assert.match(await engine('--help'), /^usage: \.\/dev engine \[FLAGS\]\n/);
    assert.match(await engine('--corpus', 'docs/adr', '--check-config'), /^model: built-in, extractive\nserves: .*\ncorpus: docs\/adr/m);
    assert.match(await engine(...model), /^engine runs already: stub at /);
    assert.equal(checkout.pid('engine'), pid);
    assert.deepEqual(await ask(4), ['stub']);
  });

  it('variables that a shell still exports do not choose the model of `./dev engine`', async () => {
    await engine(...model);
    await engine({ env: { PARLEY_LLM_URL: llm.url, PARLEY_MODEL: 'stub' } });
    assert.deepEqual(await ask(4), [BUILT_IN]);
  });

  it('a folder of documents is the one that was asked for', async () => {
    assert.match(await engine('--corpus', 'docs/adr'), /^started engine: built-in, extractive, over the documents in docs\/adr$/m);
    const row = await check(await add('Which algorithm of Knuth searches texts?'));
    assert.match(row.Answer[0], /Knuth, Morris and Pratt/);
  });

  it('after an engine has stopped, questions wait for the next one, and /ask reports that there is no engine', async () => {
    await engine(...model);
    process.kill(checkout.pid('engine'), 'SIGTERM');
    await eventually(() => !checkout.pid('engine'));
    const question = await add();
    await eventually(async () => {
      const { status, json } = await openRequest(checkout.url('node1'), 'POST', '/ask', { body: { question: QUESTION }, timeout: 300_000 }).response;
      return status === 503 && json.code === 'no_engine';
    });
    assert.equal((await check(question, 0)).Status, 'Open');
    await engine();
    assert.deepEqual(await answeredBy([question]), [BUILT_IN]);
  });

  it('./dev up with PARLEY_LLM_URL starts with that model, and without it goes back', async () => {
    assertDone(await checkout.dev('up', { env: { PARLEY_LLM_URL: llm.url, PARLEY_MODEL: 'stub' } }));
    assert.deepEqual(await ask(4), ['stub']);
    assertDone(await checkout.dev('up'));
    assert.deepEqual(await ask(4), [BUILT_IN]);
  });

  it('in a cluster the new engine pulls from all nodes', async () => {
    assertDone(await checkout.dev('cluster', 2));
    await engine(...model);
    const command = checkout.commandLine('engine');
    for (const node of ['node1', 'node2']) assert.ok(command.includes(checkout.url(node)), command);
    assert.deepEqual(await ask(10), ['stub']);
  });
});
