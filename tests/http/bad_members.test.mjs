// SPDX-License-Identifier: MIT
//
// Each member and parameter of each route in every wrong type and length: 4xx, and nothing is stored.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, newTopic, suite } from '../support/harness.mjs';
import { leavesNoTrace } from '../support/trace.mjs';

suite('bad members', {}, ({ test, cluster }) => {
  const OVER = 'x'.repeat(256 * 1024 + 1);
  const topics = [undefined, null, 7, true, [], {}, '', ' ', 'a b', 'a\tb', 'x'.repeat(129), 'ä'.repeat(65)];
  const seqs = [undefined, null, '1', true, [], {}, -1, 1.5, 2 ** 31, 1e300];
  const texts = [undefined, null, 7, true, [], {}, '', OVER];
  const optional = [7, true, [], {}, OVER];
  const leases = [undefined, null, true, [], {}, -1, 0, 1.5, '', 'x', '1 2', '9'.repeat(30)];

  // Each route with a body that it takes, and for each member what it must not take there.
  const routes = {
    '/api/add-query': {
      as: 'Frontend_1',
      good: { User: 'alice', Query: 'Why?', Modifiers: {}, Model: 'default' },
      bad: {
        Topic: topics,
        User: [undefined, null, 7, true, [], {}, '', 'x'.repeat(129)],
        Query: texts,
        Modifiers: ['x', 7, true, []],
        Model: [7, true, [], {}, 'x'.repeat(129)],
      },
    },
    '/api/cancel-query': { as: 'Frontend_1', good: { Seq: 1 }, bad: { Topic: topics, Seq: [...seqs, 0] } },
    '/api/add-lookup': {
      as: 'Frontend_1',
      good: { Seq: 1, Fragment: 'A sentence.', Count: 5, Threshold: 1 },
      bad: {
        Topic: topics,
        Seq: [...seqs, 0],
        Fragment: texts,
        Count: ['5', true, [], {}, 0, 101, 1.5, -1],
        Threshold: ['1', true, [], {}, -0.1, 2.1, 1e300],
      },
    },
    '/api/recommend': {
      as: 'Frontend_1',
      good: { OnBehalfOf: 'alice', Query: 'Why?', Fragment: 'f', Comment: 'c', Type: 'Promote Answer' },
      bad: {
        Topic: topics,
        OnBehalfOf: [undefined, null, 7, true, [], {}, '', 'x'.repeat(129)],
        Query: optional,
        Fragment: optional,
        Comment: optional,
        Type: [undefined, null, 7, [], {}, '', 'promote answer', 'Promote Answer\u0000', OVER],
      },
    },
    '/api/give-new-answer': {
      as: 'Inference_1',
      good: { Seq: 1, Query: 'Why?', Think: ['hm'], Answer: ['42'], Model: 'm', FinishReason: 'stop', Usage: { prompt_tokens: 1, completion_tokens: 2 } },
      bad: {
        Topic: topics,
        Seq: seqs,
        Query: texts,
        Think: [7, true, {}, [7], [null], [['x']]],
        Answer: [undefined, null, 7, true, {}, [], [7], ['x', null], [['x']]],
        Lease: [7, true, [], {}, 'x'.repeat(21)],
        Model: [7, true, [], {}, 'x'.repeat(129)],
        FinishReason: [7, true, [], {}, 'x'.repeat(65)],
        Usage: [7, true, [], {}, 'x', ...[-1, 1.5, '1', null, 2 ** 64, []].flatMap((n) => [{ prompt_tokens: n, completion_tokens: 1 }, { prompt_tokens: 1, completion_tokens: n }])],
      },
    },
    '/api/give-partial': {
      as: 'Inference_1',
      good: { Seq: 1, Offset: 0, Think: 't', Answer: 'a', FinishReason: 'stop', Usage: { prompt_tokens: 1, completion_tokens: 2 } },
      bad: {
        Topic: topics,
        Seq: [...seqs, 0],
        Lease: leases,
        Offset: [undefined, null, '0', true, [], {}, -1, 1.5, 2 ** 31],
        Think: [7, true, [], {}],
        Answer: [7, true, ['a'], {}],
        FinishReason: [7, true, [], {}, 'x'.repeat(65)],
        Usage: [7, true, [], {}, 'x', { prompt_tokens: -1, completion_tokens: 1 }, { prompt_tokens: 1 }],
      },
    },
    '/api/extend-claim': { as: 'Inference_1', good: {}, bad: { Topic: topics, Lease: leases } },
    '/api/release-claim': {
      as: 'Inference_1',
      good: { Reason: 'busy', Retry: true },
      bad: { Topic: topics, Lease: leases, Reason: optional, Retry: ['true', 0, 1, [], {}], Seq: ['1', true, [], {}, -1, 0, 1.5, 2 ** 31, 7] },
    },
    '/api/give-new-matches': {
      as: 'Inference_1',
      good: { Fingerprint: '7b33f9588431', Matches: ['m'] },
      bad: {
        Fingerprint: [undefined, null, 7, true, [], {}, '', 'x'.repeat(41), '../x', 'nonesuch'],
        Matches: [undefined, null, 7, true, 'm', {}, [7], [null], [['m']], Array(101).fill('m')],
      },
    },
    '/api/retry-query': { as: 'Operator_1', good: { Seq: 1 }, bad: { Topic: topics, Seq: [...seqs, 0] } },
    '/api/drain-engine': {
      as: 'Operator_1',
      good: { User: 'Inference_2' },
      bad: { User: [undefined, null, 7, true, [], {}, '', 'nobody', 'Frontend_1', OVER], Drain: ['true', 0, 1, [], {}] },
    },
  };

  for (const [path, { as, good, bad }] of Object.entries(routes)) {
    test(`POST ${path} refuses each member of a wrong type or length, and stores nothing`, async () => {
      const Topic = newTopic();
      await cluster.add({ Topic, Query: 'Why?' });
      const { Lease } = await cluster.claim({ detail: true });
      await leavesNoTrace(cluster, async () => {
        for (const [member, values] of Object.entries(bad)) {
          for (const value of values) {
            const body = { Topic, Lease, ...good, [member]: value };
            const response = await cluster.request('POST', path, { as, body });
            const reported = `${member} ${JSON.stringify(value)?.slice(0, 40)}: ${response.status} ${response.text.slice(0, 200)}`;
            assert.ok(response.status >= 400 && response.status < 500, reported);
            assertProblem(response, response.status);
          }
        }
      });
      await cluster.answer({ Topic, Seq: 1, Query: 'Why?', Lease });
    });
  }

  test('GET and PUT parameters of a wrong kind or length are refused', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    const renamed = { Topic, OnBehalfOf: 'alice', Description: 'd' };
    const numbers = ['', '0', '-1', '1.5', 'x', '1 ', '0x1', '99999999999999999999'];
    const long = 'x'.repeat(129);
    await leavesNoTrace(cluster, async () => {
      for (const [method, path, as, query, name, values] of [
        ['GET', '/api/check-query', 'Frontend_1', { Topic, Seq: 1, Wait: 0 }, 'Seq', numbers],
        ['GET', '/api/check-query', 'Frontend_1', { Topic, Seq: 1 }, 'Wait', ['', '-1', '121', '1.5', 'x', '1e1', '0x1']],
        ['GET', '/api/check-query', 'Frontend_1', { Topic, Seq: 1, Wait: 0 }, 'Topic', ['', long, 'a\u0000b', 'a\nb']],
        ['GET', '/api/get-topic-thread', 'Frontend_1', {}, 'Topic', [undefined, '', long, 'a\u0000b']],
        ['GET', '/api/user-topics', 'Frontend_1', {}, 'OnBehalfOf', [undefined, '', long, 'a\u0000b']],
        ['GET', '/api/get-lookups', 'Frontend_1', {}, 'Topic', [undefined, '', long]],
        ['GET', '/api/find-topics', 'Frontend_1', { Text: 'x' }, 'OnBehalfOf', [undefined, '', long, 'a\u0000b']],
        ['GET', '/api/find-topics', 'Frontend_1', { OnBehalfOf: 'alice' }, 'Text', [undefined, '', long.repeat(2), 'a\u0000b']],
        ['DELETE', '/api/users/alice', 'Frontend_1', {}, 'OnBehalfOf', ['', 'bob', long]],
        ['PUT', '/api/rename-topic', 'Frontend_1', renamed, 'Topic', [undefined, '', long]],
        ['PUT', '/api/rename-topic', 'Frontend_1', renamed, 'OnBehalfOf', [undefined, '', long]],
        ['DELETE', '/api/topic', 'Frontend_1', { Topic, OnBehalfOf: 'alice' }, 'OnBehalfOf', [undefined, '', 'bob', long]],
        ['GET', '/api/get-new-queries', 'Inference_1', {}, 'Wait', ['', '-1', '121', 'x']],
        ['GET', '/api/get-new-queries', 'Inference_1', { Wait: 0 }, 'Models', ['m'.repeat(600)]],
        ['GET', '/api/get-new-queries', 'Inference_1', { Wait: 0 }, 'Engine', ['e'.repeat(65)]],
        ['GET', '/api/get-new-lookup', 'Inference_1', {}, 'Wait', ['-1', '121', 'x']],
        ['GET', '/api/get-recommendations', 'Inference_1', {}, 'After', ['x', '1', '1-', '-1-1', '1-1-1', '9'.repeat(50)]],
        ['GET', '/api/recommendations', 'Operator_1', {}, 'After', ['x', '1', '1-', '-1-1', '1-1-1', '9'.repeat(50)]],
        ['GET', '/api/recommendations', 'Operator_1', {}, 'OnBehalfOf', [long]],
        ['DELETE', '/api/recommendations', 'Operator_1', {}, 'Id', [undefined, '', 'x', '1-', '9-9-9', '9'.repeat(50)]],
        ['GET', '/api/queue', 'Operator_1', { State: 'Open' }, 'State', ['open', 'Nonsense', 'a\u0000b']],
        ['GET', '/api/queue', 'Operator_1', { State: 'Open' }, 'After', ['-1', 'x', '99999999999999999999']],
      ]) {
        for (const value of values) {
          const response = await cluster.request(method, path, { as, query: { ...query, [name]: value } });
          const sent = `${path} ${name}=${JSON.stringify(value)?.slice(0, 40)}`;
          const reported = `${sent}: ${response.status} ${response.text.slice(0, 200)}`;
          assert.ok(response.status >= 400 && response.status < 500, reported);
          assertProblem(response, response.status);
        }
      }
    });
  });

  test('what is exactly as long as it may be is taken', async () => {
    const Topic = newTopic('t').padEnd(128, 'x');
    const Query = 'q'.repeat(256 * 1024);
    assert.equal((await cluster.add({ Topic, User: 'u'.repeat(128), Query, Model: 'm'.repeat(128) })).Seq, 1);
    assertOk(await cluster.checkRaw({ Topic, Seq: 1 }));
    const claim = await cluster.claim({ detail: true });
    assert.equal(claim.Topic, Topic);
    const Answer = ['a'.repeat(300 * 1024)];
    await cluster.answer({ Topic, Seq: 1, Query, Answer, Lease: claim.Lease });
    assert.deepEqual((await cluster.check({ Topic, Seq: 1 })).Answer, Answer);
    const padded = JSON.stringify({ Topic: newTopic(), User: 'u', Query: 'Why?' }).padEnd(1024 * 1024, ' ');
    assertOk(await cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body: padded }));
  });
});
