// SPDX-License-Identifier: MIT
//
// What goes wrong around a run of a workflow: messages that nobody understands, runs of others, agents that
// do not decide, clients that do not read.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after } from 'node:test';
import WebSocket from 'ws';
import { assertOk, eventually, makeFolder, suite } from '../support/harness.mjs';
import { shortTrees } from '../support/trees.mjs';
import { decision, isOver, isStop, newId, no, openWorkflow, withAgents, yes } from '../support/workflow.mjs';

const folder = makeFolder();
after(() => folder.remove());
const args = [`--workflows=${folder.file('trees.yaml', shortTrees())}`];
// Workflows whose first agent has one retry and `timeout` seconds for each attempt.
const asking = (name, timeout) => {
  const members = 'timeout: 30.0, retryable: true, retries: 2';
  const text = shortTrees({ 'model.first': 'here' }).replace(`${members}, here`, `timeout: ${timeout}, retryable: true, retries: 1`);
  return [`--workflows=${folder.file(name, text)}`];
};

suite('messages of a workflow socket', { args }, ({ test, cluster }) => {
  const ask = { type: 'request', session_id: 's', request_id: 'r', verb: 'RULE', messageBody: { raw_text: 'x' } };
  const without = (...names) => Object.fromEntries(Object.entries(ask).filter(([name]) => !names.includes(name)));

  for (const [message, reason] of [
    ['{"type":', /^The frame is not JSON/],
    ['[1]', /not a JSON object/],
    ['"text"', /not a JSON object/],
    [`${'[{"a":'.repeat(3000)}`, /^The frame is not JSON/],
    [{ ...ask, type: 'question' }, /^type must be/],
    [without('type'), /^type is missing/],
    [without('session_id'), /^session_id is missing/],
    [without('request_id'), /^request_id is missing/],
    [{ ...ask, request_id: 7 }, /^request_id must be a text/],
    [{ ...ask, session_id: 'x'.repeat(129) }, /^session_id must be a text/],
    [{ ...ask, request_id: 'a\nb' }, /^request_id must be a text/],
    [{ ...ask, verb: 'DROP' }, /^There is no verb 'DROP'\. This node has GENERIC, \w+/],
    [{ ...ask, verb: 7 }, /^verb must be a text/],
    [without('verb', 'messageBody'), /verb is missing/],
    [{ ...without('verb'), messageBody: { raw_text: '  ' } }, /verb is missing/],
    [{ ...ask, nextAgent: 'model.nobody' }, /^There is no agent 'model\.nobody'/],
    [{ ...ask, nextAgent: 'model.second' }, /cannot begin at 'model\.second'/],
    [{ ...ask, nextAgent: 'tool.executeSQL' }, /tool\.executeSQL/],
    [{ ...ask, nextAgent: 'sendMessageToChat' }, /No question of this session is open/],
    [{ ...ask, nextAgent: 'sendMessageToChat', messageBody: {} }, /raw_text is missing/],
    [{ ...ask, messageBody: [] }, /^messageBody must be an object/],
    [{ ...ask, messageBody: { text: 'y'.repeat(200_000) } }, /larger than 192 KiB/],
    [{ ...ask, decision: 'perhaps' }, /^decision must be/],
    [{ type: 'response', session_id: 's', request_id: 'r' }, /^hitl_response is missing/],
    [{ type: 'response', session_id: 's', request_id: 'r', hitl_response: true }, /must be an object/],
    [{ type: 'response', session_id: 's', request_id: 'r', hitl_response: {} }, /approved is missing/],
    [{ type: 'response', session_id: 's', request_id: 'r', hitl_response: { approved: 'yes' } }, /must be true or false/],
    [{ type: 'response', session_id: 's', request_id: 'r', hitl_response: { approved: true, corrections: 'x' } }, /corrections must be an object/],
    [{ type: 'response', session_id: 's', request_id: 'r', hitl_response: { approved: true } }, /no run 'r' in this session/],
    [{ type: 'response', request_id: 'r', hitl_response: { approved: true } }, /session_id is missing/],
    [{ type: 'resume', session_id: 's', request_id: 'r' }, /no run 'r' in this session/],
    [{ type: 'resume', session_id: 's', request_id: 'r', since: -1 }, /^since must be/],
  ]) {
    test(`an error for ${JSON.stringify(message).slice(0, 100)}, and the connection stays`, async () => {
      const client = await openWorkflow(cluster);
      client.send(message);
      const error = await client.error();
      assert.match(error.reason, reason);
      client.send({ type: 'resume', session_id: newId('s'), request_id: 'still here' });
      assert.equal((await client.error()).request_id, 'still here');
      await client.close();
    });
  }

  test('sessionId and requestId, and a decision in any case, are understood', async () => {
    await withAgents(cluster, {}, async () => {
      const [session, id] = [newId('s'), newId('r')];
      const client = await openWorkflow(cluster);
      client.send({ type: 'request', sessionId: session, requestId: id, verb: 'CONTENT', decision: 'YES', unknown: [1], messageBody: { raw_text: 'x' } });
      const frames = await client.until(isOver);
      assert.deepEqual([frames[0].session_id, frames[0].request_id], [session, id]);
      client.send({ type: 'request', sessionId: session, requestId: id, verb: 'CONTENT', messageBody: { raw_text: 'x' } });
      assert.match((await client.error()).reason, /has a run already/);
      await client.close();
    });
  });

  test('runs of others do not exist: not by their ids, not in the history', async () => {
    const [session, id] = [newId('s'), newId('r')];
    await withAgents(cluster, { 'model.first': no() }, async () => {
      const mine = await openWorkflow(cluster, { as: 'User_1' });
      mine.request(session, id, { verb: 'RULE', messageBody: { raw_text: 'secret' } });
      const [stop] = await mine.until(isStop);
      for (const options of [{ as: 'User_2' }, { as: 'Frontend_1', query: { OnBehalfOf: 'User_1' } }]) {
        const other = await openWorkflow(cluster, { ...options, node: 1 });
        for (const send of [
          () => other.resume(session, id, 0),
          () => other.answer(session, id, { approved: true }),
          () => other.request(session, newId('e'), { verb: 'RULE', nextAgent: stop.nextAgent, messageBody: { raw_text: 'yes' } }),
        ]) {
          send();
          assert.match((await other.error()).reason, /There is no run|No question/);
        }
        await other.close();
      }
      const { runs } = assertOk(await cluster.request('GET', `/api/workflows/history?session_id=${session}`, { as: 'User_2' }));
      assert.deepEqual(runs, []);
      await mine.close();
    });
  });

  test('a new request brings no SQL and no rows of its own', async () => {
    await withAgents(cluster, {}, async () => {
      const client = await openWorkflow(cluster);
      client.request(newId('s'), newId('r'), { verb: 'CONTENT', messageBody: { raw_text: 'x', sql_query: 'DROP TABLE cards', rows: [[1]], kept: true } });
      const [{ messageBody }] = await client.until(isOver);
      assert.deepEqual(messageBody, { raw_text: 'x', kept: true });
      await client.close();
    });
  });

  test('a hundred messages at once are answered one by one, in their order', async () => {
    const client = await openWorkflow(cluster);
    const ids = Array.from({ length: 100 }, (_, i) => `m${i}`);
    for (const id of ids) client.resume('none', id, 0);
    for (const id of ids) assert.equal((await client.error()).request_id, id);
    await client.close();
  });

  test('a client without credentials is refused', async () => {
    await assert.rejects(openWorkflow(cluster, { as: null }), { status: 401 });
  });
});

suite('a public workflow socket', { args: [...args, '--workflow-public'] }, ({ test, cluster }) => {
  test('with --workflow-public it needs no credentials, and has runs of its own', async () => {
    await withAgents(cluster, {}, async () => {
      const [session, id] = [newId('s'), newId('r')];
      const client = await openWorkflow(cluster, { as: null });
      client.request(session, id, { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
      await client.until(isOver);
      const named = await openWorkflow(cluster, { as: 'User_1' });
      named.resume(session, id, 0);
      assert.match((await named.error()).reason, /There is no run/);
      await client.close();
      await named.close();
    });
  });
});

async function run(cluster, script, body) {
  await withAgents(cluster, script, async (asked) => {
    const client = await openWorkflow(cluster);
    client.request(newId('s'), newId('r'), { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
    await body(await client.until((frame) => isOver(frame) || isStop(frame)), asked);
    await client.close();
  });
}

suite('agents that do not decide', { args: asking('patient.yaml', '30.0') }, ({ test, cluster }) => {
  for (const [what, reply, complaint] of [
    ['prose', 'Sure! I think it is fine.', /not one JSON object/],
    ['broken JSON', '{"decision":"yes",', /not one JSON object/],
    ['an object in prose', `Here: ${decision('yes', 'x')}`, /not one JSON object/],
    ['another decision', decision('maybe', 'x'), /neither "yes" nor "no"/],
    ['a confidence of 2', decision('yes', 'x', undefined, 2), /confidence/],
    ['no reason', decision('yes', ''), /reason/],
    ['a list as its output', decision('yes', 'x', [1]), /output/],
    ['an output that is too large', decision('yes', 'x', { text: 'z'.repeat(200_000) }), /192 KiB/],
  ]) {
    test(`${what}: it is asked again with what was wrong, then it counts as no`, async () => {
      await run(cluster, { 'model.first': reply }, (frames, asked) => {
        assert.deepEqual(frames.map(({ agent, decision: word, confidence }) => [agent, word, confidence]), [['model.first', 'no', 0]]);
        assert.match(frames[0].reason, complaint);
        assert.equal(asked.length, 2);
        assert.equal(asked[0].complaint, undefined);
        assert.match(asked[1].complaint, complaint);
      });
    });
  }

  test('a decision in a fence of backticks counts, and so does the second attempt', async () => {
    await run(cluster, { 'model.first': ['prose', `\`\`\`json\n${yes({ a: 1 })}\n\`\`\``] }, (frames) => {
      assert.deepEqual(frames[0].messageBody, { raw_text: 'x', a: 1 });
      assert.equal(frames.at(-1).returnCode, 1);
    });
  });
});

suite('agents that do not answer', { args: asking('hasty.yaml', '0.5') }, ({ test, cluster }) => {
  test('an agent that never answers is asked again, then it counts as no', async () => {
    await run(cluster, { 'model.first': () => undefined }, (frames) => {
      assert.match(frames[0].reason, /model\.first: it did not answer within 0\.5 s/);
      assert.ok(isStop(frames[0]));
    });
  });

  test('without any engine a run stops at a person, too', async () => {
    const client = await openWorkflow(cluster);
    client.request(newId('s'), newId('r'), { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
    const [frame] = await client.until(isStop);
    assert.match(frame.reason, /did not answer/);
    await client.close();
  });
});

suite('a workflow socket that is not read', { args }, ({ test, cluster }) => {
  test('its runs continue, and its frames are there when it comes back', async () => {
    const session = newId('s');
    const token = assertOk(await cluster.request('GET', '/api/login', { as: 'User_1' })).Token;
    const slow = new WebSocket(`${cluster.nodes[0].url.replace(/^http/, 'ws')}/ws?token=${token}`, { perMessageDeflate: false });
    await once(slow, 'open');
    slow._socket.pause();
    const ids = Array.from({ length: 12 }, () => newId('r'));
    const big = 'b'.repeat(150_000);
    await withAgents(cluster, {}, async () => {
      for (const request_id of ids) slow.send(JSON.stringify({ type: 'request', session_id: session, request_id, verb: 'CONTENT', messageBody: { raw_text: 'x', big } }));
      const done = () => cluster.request('GET', `/api/workflows/history?session_id=${session}&status=done`, { as: 'User_1' });
      await eventually(async () => assertOk(await done()).runs.length === ids.length, { what: 'all runs are done' });
      const client = await openWorkflow(cluster, { node: 1 });
      for (const id of ids) {
        client.resume(session, id, 0);
        const frames = await client.until(isOver);
        assert.deepEqual(frames.map(({ seq, request_id, messageBody }) => [seq, request_id, messageBody.big.length]), [[1, id, big.length], [2, id, big.length]]);
      }
      await client.close();
    });
    slow.terminate();
  });
});
