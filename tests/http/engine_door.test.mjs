// SPDX-License-Identifier: MIT
//
// `parley engine` and the requests of clients of a door: what its model server gets, and which deltas a node gets, by the
// routes and over the engine's socket.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gate } from '../support/asking.mjs';
import { withDoor } from '../support/door_engine.mjs';
import { chunk, startModel } from '../support/door_model.mjs';
import { startDoorNode } from '../support/door_node.mjs';
import { startEngine } from '../support/engines.mjs';
import { eventually, makeFolder } from '../support/harness.mjs';
import { CHATS } from '../support/odd_chats.mjs';
import { startOdd } from '../support/odd_server.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // there is no Redis

const HELLO = [chunk({ role: 'assistant', content: '' }), chunk({ content: 'Hello ' }), chunk({ content: 'you.' }), chunk({}, 'stop')];
const USAGE = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } };
const messages = [{ role: 'user', content: 'Hi?' }];
const chat = (more = {}, options = {}) => ({ api: 'chat', model: 'm', request: { model: 'm', messages, ...more }, ...options });
const tool = (index, more) => ({ tool_calls: [{ index, ...more }] });

for (const socket of [false, true])
  describe(`requests of a door, ${socket ? 'over the socket' : 'by the routes'}`, () => {
    const test = (name, answer, body, options) => it(name, { timeout: 90_000 }, () => withDoor(socket, answer, body, options));

    test('a request goes to the server whole, and its chunks to the node one by one', (_, response) => response.events([...HELLO, USAGE]), async ({ node, model }) => {
      const job = node.ask(chat({ stream: false, temperature: 0.5, tools: [{ type: 'function', function: { name: 'f' } }], stream_options: { include_queue: true }, n: null, odd: { deep: [1.0] } }));
      const { answer } = await job.over();
      assert.equal(model.seen[0].path, '/v1/chat/completions');
      assert.deepEqual(model.seen[0].body, {
        model: 'm', messages, temperature: 0.5, tools: [{ type: 'function', function: { name: 'f' } }], n: null, odd: { deep: [1] },
        stream: true, stream_options: { include_usage: true },
      });
      assert.match(model.seen[0].text, /"odd":\{"deep":\[1\]\}/);
      assert.deepEqual(job.chunks, [
        { choices: [{ index: 0, delta: { content: 'Hello ' }, finish_reason: null }] },
        { choices: [{ index: 0, delta: { content: 'you.' }, finish_reason: null }] },
        { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
        USAGE,
      ]);
      assert.deepEqual([answer.Answer, answer.Think, answer.FinishReason, answer.Model, answer.Usage], [['Hello you.'], null, 'stop', 'm', { prompt_tokens: 5, completion_tokens: 2 }]);
    });

    test('a slot whose next claim is there already counts once', (_, response) => response.events(HELLO), async ({ node }) => {
      await Promise.all(Array.from({ length: 40 }, () => node.ask(chat()).over()));
      assert.equal(Math.max(0, ...node.slots), socket ? 2 : 0);
    });

    const open = gate();
    test('deltas come while the model still writes', async (_, response) => {
      response.event(HELLO[1]);
      await open.hold;
      response.events(HELLO.slice(2));
    }, async ({ node }) => {
      const job = node.ask(chat());
      await job.until(({ deltas }) => deltas.length > 0, 'the first delta');
      assert.equal(job.ended, null);
      open.open();
      await job.over();
      assert.equal(job.text(), 'Hello you.');
    });

    const calls = [
      chunk(tool(0, { id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } })),
      chunk(tool(0, { function: { arguments: '{"a":' } })),
      chunk(tool(0, { function: { arguments: '1}' } })),
      chunk(tool(1, { id: 'call_2', type: 'function', function: { name: 'g', arguments: '{}' } })),
      chunk({}, 'tool_calls'),
    ];
    test('tool calls, several choices, refusals, thoughts and logprobs', (_, response) => response.events([
      chunk({ reasoning_content: 'Hm.' }, null, { logprobs: { content: [{ token: 'Hm', logprob: -0.25, bytes: [72], top_logprobs: [] }] } }),
      ...calls,
      { choices: [{ index: 1, delta: { refusal: 'No.' } }, { index: 2, delta: { content: 'x' }, finish_reason: 'length' }] },
      { choices: [{ index: 1, delta: {}, finish_reason: 'content_filter' }] },
    ]), async ({ node }) => {
      const job = node.ask(chat({ n: 3 }));
      const { answer } = await job.over();
      assert.deepEqual([job.finish(0), job.finish(1), job.finish(2)], ['tool_calls', 'content_filter', 'length']);
      assert.equal(job.choices(0)[0].logprobs.content[0].logprob, -0.25);
      const pieces = job.choices(0).flatMap(({ delta }) => delta.tool_calls ?? []);
      assert.deepEqual(pieces.map((piece) => [piece.index, piece.id, piece.function.arguments]), [[0, 'call_1', ''], [0, undefined, '{"a":'], [0, undefined, '1}'], [1, 'call_2', '{}']]);
      assert.equal(job.choices(1)[0].delta.refusal, 'No.');
      assert.deepEqual([answer.Answer, answer.Think], [[''], ['Hm.']]);
    });

    test('a text without messages', (_, response) => response.events([{ choices: [{ index: 0, text: 'Once ', logprobs: null }] }, { choices: [{ index: 0, text: 'more.', finish_reason: 'stop' }] }]), async ({ node, model }) => {
      const job = node.ask({ api: 'completions', model: 'm', request: { prompt: 'Say', echo: false } });
      const { answer } = await job.over();
      assert.equal(model.seen[0].path, '/v1/completions');
      assert.equal(model.seen[0].body.prompt, 'Say');
      assert.deepEqual([job.text(), job.finish(), answer.Answer], ['Once more.', 'stop', ['Once more.']]);
    });

    test('a server that does not stream', (_, response) => response.json({ choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.', tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] }, finish_reason: 'stop' }], usage: USAGE.usage }), async ({ node }) => {
      const job = node.ask(chat({ stream: true }));
      await job.over();
      const [call] = job.choices()[0].delta.tool_calls;
      assert.deepEqual([job.text(), job.finish(), call.function.arguments, call.type, call.index], ['Hi.', 'tool_calls', '{"a":1}', 'function', 0]);
      assert.match(call.id, /^call_/);
      assert.deepEqual(job.chunks.at(-1).usage, USAGE.usage);
    });

    test('a server that refuses stream_options, and then any stream, is asked without from then on', ({ body }, response) => {
      if (body.stream_options) return response.json({ error: { message: 'Unrecognized request argument: stream_options', type: 'invalid_request_error' } }, 400);
      if (body.stream) return response.json({ error: { message: 'stream is not supported' } }, 422);
      return response.json({ choices: [{ index: 0, message: { content: 'Hi.' }, finish_reason: 'stop' }] });
    }, async ({ node, model }) => {
      for (let i = 0; i < 2; i += 1) {
        const job = node.ask(chat());
        await job.over();
        assert.equal(job.text(), 'Hi.');
      }
      assert.deepEqual(model.seen.map(({ body }) => [body.stream, body.stream_options !== undefined]), [[true, true], [true, false], [undefined, false], [undefined, false]]);
    });

    test('what the server refuses fails with its error', ({ path }, response) =>
      (path === '/v1/completions' ? response.json({ detail: 'Not Found' }, 404) : response.json({ error: { message: `too long: ${'x'.repeat(3000)}`, type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' } }, 400)), async ({ node, model }) => {
      const [one, two] = [node.ask(chat()), node.ask({ api: 'completions', model: 'm', request: { prompt: 'p' } })];
      const { release } = await one.over();
      assert.deepEqual({ ...release.Error, message: release.Error.message.slice(0, 12) }, { status: 400, message: 'too long: xx', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' });
      assert.ok(release.Error.message.length === 2000 && release.Retry === false);
      assert.deepEqual((await two.over()).release.Error, { status: 404, message: 'Not Found', type: null, param: null, code: null });
      assert.equal(model.seen.length, 2, 'each is asked once');
    });

    test('a request for an Api that the engine does not serve fails', () => {}, async ({ node, model }) => {
      const jobs = ['embeddings', 'messages'].map((api) => node.ask({ api, model: 'm', request: { input: 'a' } }));
      for (const job of jobs) {
        const { release } = await job.over();
        assert.deepEqual([release.Retry, release.Error.status], [false, 400]);
      }
      assert.equal(model.seen.length, 0);
    });

    test('an error in the middle of a stream: another attempt, or none if it is about the request', ({ body }, response) => response.events([
      HELLO[1], body.user === 'bad' ? { error: { message: 'Bad.', type: 'invalid_request_error', code: 400 } } : { error: { message: 'out of memory', code: 500 } },
    ]), async ({ node }) => {
      const [bad, lost] = [node.ask(chat({ user: 'bad' })), node.ask(chat({ user: 'lost' }))];
      const release = { ...(await bad.over()).release };
      assert.deepEqual([release.Retry, release.Error], [false, { status: 400, message: 'Bad.', type: 'invalid_request_error', param: null, code: null }]);
      const other = (await lost.over()).release;
      assert.deepEqual([other.Retry, other.Away, other.Seq, other.Error], [true, false, 1, undefined]);
      assert.match(other.Reason, /out of memory/);
    });

    test('a server that is busy is left alone, and no attempt is used up', (_, response, n) => (n === 1 ? response.json({ error: { message: 'slow down' } }, 429, { 'retry-after': '1' }) : response.events(HELLO)), async ({ node }) => {
      const job = node.ask(chat());
      await eventually(() => node.rests.length > 0 || job.ended, { what: 'the node is told' });
      await job.over();
      assert.equal(job.text(), 'Hello you.');
      assert.equal(job.claims, 1);
    });

    const forgotten = gate();
    test('one that gives up a long output: deltas that a node lost are sent again', async (_, response) => {
      const all = Array.from({ length: 300 }, (__, i) => chunk({ content: `${i} ${'é'.repeat(500)}` }));
      response.events(all.slice(0, 200), { done: false, end: false });
      await forgotten.hold;
      response.events([...all.slice(200), chunk({}, 'stop')]);
    }, async ({ node }) => {
      const job = node.ask(chat());
      await job.until(({ deltas }) => deltas.length > 20, 'some deltas');
      job.forget(7);
      forgotten.open();
      await job.over();
      assert.equal(job.deltas.length, 301);
      assert.deepEqual(job.choices().slice(0, -1).map(({ delta }) => Number(delta.content.split(' ')[0])), Array.from({ length: 300 }, (__, i) => i));
    });

    test('an endless output ends at 8 MiB', (_, response) => {
      const piece = chunk({ content: 'x'.repeat(30_000) });
      const more = () => {
        while (!response.destroyed && response.event(piece));
      };
      response.on('drain', more);
      more();
    }, async ({ node, model }) => {
      const job = node.ask(chat());
      const { release } = await job.over();
      assert.match(release.Reason, /too large/);
      assert.equal(release.Error.status, 500);
      assert.ok(job.deltas.join('').length <= 8 << 20);
      await eventually(() => model.seen[0].isGone, { what: 'the connection is closed' });
    });

    const nested = (depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const hostile = {
      'ten thousand choices': (response) => response.events([{ choices: Array.from({ length: 10_000 }, (_, index) => ({ index, delta: { content: 'x' }, finish_reason: 'stop' })) }]),
      'tool calls without end': (response) => response.events([chunk({ tool_calls: Array.from({ length: 5000 }, (_, index) => ({ index, function: { name: 'f', arguments: '{}' } })) }), chunk({}, 'tool_calls')]),
      'nesting within a chunk': (response) => {
        response.event(HELLO[1]);
        response.end(`data: {"choices":[{"index":0,"delta":{"x":${nested(1000)}},"finish_reason":"stop"}]}\n\n`);
      },
      'an event that is too long': (response) => {
        response.event(HELLO[1]);
        response.end(`data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(2 << 20)}"}}]}\n\n`);
      },
      'nesting without end': (response) => response.end(`data: ${nested(100_000)}\n\n`),
      'members that are none': (response) => response.events([{ choices: [7, null, { index: 'x', delta: 5 }, { index: 0, delta: { content: { text: 7 }, tool_calls: {} } }], usage: [] }, { choices: { 0: 1 } }, chunk({ tool_calls: [null, 5, { function: 5 }] }, 'stop')]),
    };
    test('a hostile server: its requests end, and the next one is answered', ({ body }, response) => (hostile[body.user] ?? ((r) => r.events(HELLO)))(response), async ({ node }) => {
      const jobs = Object.keys(hostile).map((user) => node.ask(chat({ user })));
      for (const job of jobs) await job.over();
      const [many, calls, deep, long, endless, odd] = jobs;
      assert.deepEqual([many.choices(0).length, many.choices(1).length], [1, 0], 'one choice was asked for');
      assert.ok(calls.choices()[0].delta.tool_calls.length <= 256);
      assert.deepEqual([deep.finish(), odd.finish()], ['stop', 'tool_calls']);
      assert.match(long.ended.release.Reason, /too long/);
      assert.equal(endless.ended.release.Retry, true);
      const last = node.ask(chat());
      await last.over();
      assert.equal(last.text(), 'Hello you.');
    }, { args: ['--model', 'm', '--slots', 10] });

    test('comments alone do not hold a request forever', ({ body }, response) => {
      if (body.user !== 'comments') return response.events(HELLO);
      const more = () => response.destroyed || (response.write(': wait\n\n'), setTimeout(more, 100));
      return more();
    }, async ({ node }) => {
      const job = node.ask(chat({ user: 'comments' }));
      assert.match((await job.over()).release.Reason, /nothing but comments/);
    }, { args: ['--model', 'm', '--llm-timeout', 1] });

    test('a cancelled request closes the connection to the server, silent or not', ({ body }, response) => {
      if (body.user === 'talks') response.event(HELLO[1]);
    }, async ({ node, model }) => {
      const [silent, talks] = [node.ask(chat({ user: 'silent' })), node.ask(chat({ user: 'talks' }))];
      await talks.until(({ deltas }) => deltas.length > 0, 'a delta');
      await eventually(() => model.seen.length === 2, { what: 'both are asked' });
      for (const job of [silent, talks]) job.cancel();
      await eventually(() => model.seen.every(({ isGone }) => isGone), { what: 'both connections are closed' });
      assert.deepEqual([silent.ended, talks.ended], [null, null]);
      const next = node.ask(chat());
      await eventually(() => model.seen.length === 3, { what: 'the slots are free' });
      next.cancel();
    });

    test('a text is continued where its engine was lost', ({ body }, response) => response.events([chunk({ content: `${body.messages.at(-1).content.length}` }), chunk({}, 'stop')]), async ({ node, model }) => {
      const job = node.ask(chat({}, { continued: 'So far', offset: 1234 }));
      const { answer } = await job.over();
      assert.deepEqual(model.seen[0].body.messages, [...messages, { role: 'assistant', content: 'So far' }]);
      assert.equal(model.seen[0].body.continue_final_message, true);
      assert.deepEqual([job.text(), answer.Answer], ['6', ['So far6']]);
      assert.equal(node.polls[0].Continues, 'true');
    }, { args: ['--model', 'm', '--continues'] });

    test('an engine that is stopped in the middle gives the request back', (_, response) => response.event(HELLO[1]), async ({ node, engine }) => {
      const job = node.ask(chat());
      await job.until(({ deltas }) => deltas.length > 0, 'a delta');
      assert.deepEqual(await engine.stop(), { code: 0, signal: null });
      const { release } = await job.over();
      assert.deepEqual([release.Retry, release.Away], [true, true]);
    });

    const vectors = { object: 'list', model: 'e', data: Array.from({ length: 300 }, (_, index) => ({ object: 'embedding', index, embedding: Array.from({ length: 64 }, (__, i) => (index + i) / 1e6) })), usage: { prompt_tokens: 9, total_tokens: 9 } };
    it('embeddings pass unchanged, by a server of their own', { timeout: 60_000 }, async () => {
      const other = await startModel(({ body }, response) => response.json(body.input === 'one' ? { ...vectors, data: vectors.data.slice(0, 1) } : vectors));
      await withDoor(socket, () => {}, async ({ node, model }) => {
        const [many, one] = [['a', 'b'], 'one'].map((input) => node.ask({ api: 'embeddings', model: 'e', request: { input, encoding_format: 'float', dimensions: 64 } }));
        const { answer } = await many.over();
        const all = many.chunks.flatMap(({ data }) => data);
        assert.deepEqual(all, vectors.data);
        assert.ok(many.deltas.length > 1);
        const { data, ...last } = many.chunks.at(-1);
        assert.deepEqual(last, { object: 'list', model: 'e', usage: vectors.usage });
        assert.deepEqual([answer.Answer, answer.Usage], [[''], { prompt_tokens: 9, completion_tokens: 0 }]);
        await one.over();
        assert.equal(one.deltas.length, 1);
        const seen = other.seen.find(({ body }) => body.input !== 'one');
        assert.deepEqual([other.seen.length, model.seen.length, seen.body], [2, 0, { model: 'e', input: ['a', 'b'], encoding_format: 'float', dimensions: 64 }]);
        assert.deepEqual([node.polls[0].Models, node.polls[0].Apis], ['m,e', 'chat,completions,embeddings']);
      }, { args: ['--model', 'm,e', '--embeddings-url', other.url], models: ['m', 'e'] });
      await other.stop();
    });

    it('a server that misbehaves: all that can be said comes through, and nothing that cannot', { timeout: 90_000 }, async () => {
      // No text at all is an answer for a client of a door, and it may know what a status means.
      const silent = ['DONE alone', 'nothing and stop', 'a status that says little'];
      const cases = CHATS.filter(([name, , { isOnce }]) => !isOnce && !silent.includes(name));
      const odd = await startOdd({ chat: (name) => cases.find(([one]) => one === name)[1] });
      await withDoor(socket, null, async ({ node }) => {
        const jobs = cases.map(([name]) => node.ask(chat({ messages: [{ role: 'user', content: `case: ${name}` }] })));
        for (const [i, job] of jobs.entries()) {
          const [name, , { text, think, finish, reason }] = cases[i];
          const { answer, release } = await job.over();
          if (reason) {
            assert.ok(release, `${name}: ${JSON.stringify(job.ended)}`);
            assert.match(release.Reason, reason, name);
            assert.equal(release.Retry, true, name);
          } else {
            assert.ok(answer, `${name}: ${JSON.stringify(job.ended)}`);
            // Half a character that nothing follows is left out of a delta.
            assert.equal(job.text().replace(/\ufffd$/, ''), text.replace(/\ufffd$/, ''), name);
            assert.deepEqual([answer.Answer, answer.Think], [[text], think ? [think] : null], name);
            // One that OpenAI's specification does not know is no reason of its own.
            assert.equal(job.finish(), ['length', 'content_filter'].includes(finish) ? finish : 'stop', name);
          }
        }
      }, { args: ['--model', 'odd', '--slots', 100, '--llm-timeout', 3], odd });
    });
  });

describe('what an engine says that it serves', () => {
  const pollOf = async (args, models = ['alpha', 'beta,x', 'gamma']) => {
    let poll;
    await withDoor(false, () => {}, async ({ node }) => {
      await eventually(() => node.polls.length > 0, { what: 'a poll' });
      [poll] = node.polls;
    }, { args, models });
    return [poll.Models, poll.Apis, poll.Continues];
  };

  it('the models that its server lists, unless --model names some', async () => {
    assert.deepEqual(await pollOf([]), ['alpha,gamma', 'chat,completions', undefined]);
    assert.deepEqual(await pollOf(['--model', 'gamma,alpha']), ['gamma,alpha', 'chat,completions', undefined]);
    assert.deepEqual(await pollOf(['--model', 'alpha', '--models', 'gamma', '--apis', 'chat']), ['gamma', 'chat', undefined]);
    assert.deepEqual(await pollOf(['--model', 'alpha', '--apis', 'none']), [undefined, undefined, undefined]);
    const many = Array.from({ length: 80 }, (_, i) => `org/model-${i}`);
    const [models] = await pollOf([], many);
    assert.ok(models.split(',').length > 10 && models.length <= 256, models);
    assert.deepEqual(models.split(','), many.slice(0, models.split(',').length));
  });

  it('an engine for embeddings alone; one whose server cannot embed says why', { timeout: 60_000 }, async () => {
    const node = await startDoorNode();
    const server = await startModel(({ body }, response) => (body.model === 'e' ? response.json({ data: [{ index: 0, embedding: 'AAAA' }] }) : response.json({ error: { message: 'no embeddings' } }, 501)), { models: ['e', 'f'] });
    const engine = await startEngine({ nodes: [node] }, ['--transport', 'routes', '--embeddings-url', server.url, '--slots', 1]);
    const [good, bad] = ['e', 'f'].map((model) => node.ask({ api: 'embeddings', model, request: { input: ['a'] } }));
    try {
      await good.over();
      assert.deepEqual(good.chunks, [{ data: [{ index: 0, embedding: 'AAAA' }] }]);
      assert.deepEqual((await bad.over()).release.Error, { status: 501, message: 'no embeddings', type: null, param: null, code: null });
      assert.deepEqual([node.polls[0].Models, node.polls[0].Apis, server.seen.length], ['e,f', 'embeddings', 2]);
    } finally {
      await engine.stop();
      await server.stop();
      await node.stop();
    }
  });

  it('the built-in model answers chat from the documents: the last message of the user asks', { timeout: 60_000 }, async () => {
    const node = await startDoorNode();
    const folder = makeFolder();
    folder.file('leases.md', 'A lease lasts 150 seconds unless a setting says otherwise.\n');
    const engine = await startEngine({ nodes: [node] }, ['--transport', 'routes', '--corpus', folder.dir, '--index', '']);
    try {
      const parts = [{ type: 'text', text: 'How long does a lease last?' }];
      const job = node.ask(chat({ messages: [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: 'Hello.' }, { role: 'user', content: parts }] }, { model: 'parley-extractive' }));
      const { answer } = await job.over();
      assert.equal(job.text(), 'A lease lasts 150 seconds unless a setting says otherwise. [1]\n\nSources:\n[1] leases.md');
      assert.equal(job.finish(), 'stop');
      assert.match(job.choices()[0].delta.reasoning_content, /no language model/i);
      assert.deepEqual([answer.Answer, answer.Model], [[job.text()], 'parley-extractive']);
      assert.deepEqual([node.polls[0].Models, node.polls[0].Apis], ['parley-extractive', 'chat']);
      const { release } = await node.ask(chat({ messages: [] })).over();
      assert.deepEqual([release.Retry, release.Error.status], [false, 400]);
    } finally {
      await engine.stop();
      await node.stop();
      folder.remove();
    }
  });
});
