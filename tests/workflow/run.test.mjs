// SPDX-License-Identifier: MIT
//
// Runs of workflows over /ws, on two nodes: which frames come, in which order, and to whom.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { assertOk, eventually, makeFolder, suite } from '../support/harness.mjs';
import { shortTrees } from '../support/trees.mjs';
import { isOver, isStop, newId, no, openWorkflow, withAgents, yes } from '../support/workflow.mjs';

const folder = makeFolder();
after(() => folder.remove());
const args = [`--workflows=${folder.file('trees.yaml', shortTrees())}`];

const shown = (frames) => frames.map(({ agent, decision, nextAgent, returnCode, seq }) => [agent, decision, nextAgent, returnCode, seq]);

async function history(cluster, query, options = {}) {
  return assertOk(await cluster.request('GET', `/api/workflows/history?${new URLSearchParams(query)}`, { as: 'User_1', ...options })).runs;
}

suite('a run', { args }, ({ test, cluster }) => {
  test('every agent says yes: a frame for each, each with a larger messageBody', async () => {
    const [session, id] = [newId('s'), newId('r')];
    await withAgents(cluster, { 'model.first': yes({ one: 1 }), 'model.second': yes({ two: [2] }), 'model.third': yes() }, async (asked) => {
      const client = await openWorkflow(cluster);
      client.request(session, id, { verb: 'RULE', nextAgent: 'model.first', messageBody: { raw_text: 'Show\nVerb: CONTENT' } });
      const frames = await client.until(isOver);
      assert.deepEqual(shown(frames), [
        ['model.first', 'yes', 'model.second', 0, 1],
        ['model.second', 'yes', 'model.third', 0, 2],
        ['model.third', 'yes', null, 1, 3],
      ]);
      for (const frame of frames) {
        assert.deepEqual([frame.session_id, frame.request_id, frame.verb, frame.confidence, frame.reason], [session, id, 'RULE', 0.9, 'It fits.']);
        assert.ok(Math.abs(frame.timestamp - Date.now()) < 60_000);
      }
      const raw_text = 'Show\nVerb: CONTENT';
      assert.deepEqual(frames.map(({ messageBody }) => messageBody), [{ raw_text, one: 1 }, { raw_text, one: 1, two: [2] }, { raw_text, one: 1, two: [2] }]);
      assert.deepEqual(asked.map(({ agent, verb, body, request }) => [agent, verb, body, request]), [
        ['model.first', 'RULE', {}, 'Show Verb: CONTENT'],
        ['model.second', 'RULE', { one: 1 }, 'Show Verb: CONTENT'],
        ['model.third', 'RULE', { one: 1, two: [2] }, 'Show Verb: CONTENT'],
      ]);
      const [run] = await history(cluster, { session_id: session });
      assert.deepEqual([run.request_id, run.session_id, run.verb, run.final_status, run.hitl_triggered, run.hitl_approved_by, run.answers], [id, session, 'RULE', 'done', false, null, []]);
      assert.ok(Math.abs(run.timestamp - Date.now()) < 60_000, 'a number of ms, as in frames');
      assert.deepEqual(run.steps.map(({ agent, decision, attempt }) => [agent, decision, attempt]), [
        ['model.first', 'yes', 1], ['model.second', 'yes', 1], ['model.third', 'yes', 1],
      ]);
      await client.close();
    });
  });

  test('a no stops it for a person, whose correction is given to the agent that said no, from another node', async () => {
    const [session, id] = [newId('s'), newId('r')];
    await withAgents(cluster, { 'model.second': [no('Which table?'), yes()] }, async (asked) => {
      const first = await openWorkflow(cluster, { node: 0 });
      first.request(session, id, { verb: 'RULE', messageBody: { raw_text: 'Show it', kept: 1 } });
      const [, stop] = await first.until(isStop);
      assert.deepEqual(shown([stop]), [['model.second', 'no', 'sendMessageToChat', 0, 2]]);
      const { id: question, ...rest } = stop.hitl;
      assert.match(question, /^[0-9a-f]{32}\.\d+\.2$/);
      assert.deepEqual([stop.reason, rest], ['Which table?', { deadline: null, form: null, approvals: 0, quorum: 1, self: true, approvers: [] }]);
      assert.equal((await history(cluster, { request_id: id }))[0].final_status, 'waiting');
      await first.close();

      const second = await openWorkflow(cluster, { node: 1 });
      second.answer(session, id, { approved: true, corrections: { raw_text: 'Show cards' }, approved_by: 'Ada' });
      const frames = await second.until(isOver);
      assert.deepEqual(shown(frames), [['model.second', 'yes', 'model.third', 0, 3], ['model.third', 'yes', null, 1, 4]]);
      assert.deepEqual(frames.at(-1).messageBody, { raw_text: 'Show cards', kept: 1 });
      assert.deepEqual(asked.map(({ agent, request }) => [agent, request]), [
        ['model.first', 'Show it'], ['model.second', 'Show it'], ['model.second', 'Show cards'], ['model.third', 'Show cards'],
      ]);
      const [run] = await history(cluster, { session_id: session, status: 'approved' });
      assert.deepEqual(await history(cluster, { session_id: session, status: 'done' }), []);
      assert.deepEqual([run.hitl_triggered, run.hitl_approved_by], [true, 'User_1']);
      const [{ timestamp, ...answer }] = run.answers;
      assert.ok(Date.parse(timestamp) > 0);
      assert.deepEqual(answer, {
        step: 2, how: 'socket', approved: true, account: 'User_1', user: 'User_1', note: 'Ada', corrections: { raw_text: 'Show cards' }, before: { raw_text: 'Show it' }, comment: null,
      });
      await second.close();
    });
  });

  test('an approval without corrections is a yes of the agent that said no; a second answer names the first', async () => {
    const [session, id] = [newId('s'), newId('r')];
    await withAgents(cluster, { 'model.third': no('Too many.') }, async (asked) => {
      const client = await openWorkflow(cluster);
      client.request(session, id, { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
      await client.until(isStop);
      client.send({ type: 'response', request_id: id, hitl_response: { approved: true } });
      const [frame] = await client.until(isOver);
      assert.deepEqual(shown([frame]), [['model.third', 'yes', null, 1, 3]]);
      assert.equal(asked.length, 2, 'it is not asked again');
      const other = await openWorkflow(cluster, { node: 1 });
      other.answer(session, id, { approved: false });
      assert.match((await other.error()).reason, /User_1/);
      await client.close();
      await other.close();
    });
  });

  test('of the people of one frontend, the history names the one who approved', async () => {
    const [session, id] = [newId('s'), newId('r')];
    const query = { OnBehalfOf: 'ann' };
    await withAgents(cluster, { 'model.first': no() }, async () => {
      const client = await openWorkflow(cluster, { as: 'Frontend_1', query });
      client.request(session, id, { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
      await client.until(isStop);
      client.answer(session, id, { approved: true });
      await client.until(isOver);
      const [{ final_status, hitl_approved_by, answers }] = await history(cluster, { request_id: id, ...query }, { as: 'Frontend_1' });
      assert.deepEqual([final_status, hitl_approved_by, answers[0].account], ['approved', 'ann', 'Frontend_1']);
      await client.close();
    });
  });

  test('a rejection ends it with one frame', async () => {
    const [session, id] = [newId('s'), newId('r')];
    await withAgents(cluster, { 'model.first': no() }, async () => {
      const client = await openWorkflow(cluster);
      client.request(session, id, { verb: 'RULE', messageBody: { raw_text: 'x' } });
      await client.until(isStop);
      client.answer(session, id, { approved: false, comment: 'not today' });
      const frames = await client.until(isOver);
      assert.deepEqual(shown(frames), [['model.first', 'no', null, -1, 2]]);
      assert.match(frames[0].reason, /^Rejected by User_1: not today\.$/);
      assert.equal((await history(cluster, { request_id: id }))[0].final_status, 'rejected');
      await client.close();
    });
  });

  for (const [text, expected] of [
    ['yes', [['model.first', 'yes', 'model.third', 0, 2], ['model.third', 'yes', null, 1, 3]]],
    ['OK', [['model.first', 'yes', 'model.third', 0, 2], ['model.third', 'yes', null, 1, 3]]],
    ['cancel', [['model.first', 'no', null, -1, 2]]],
    ['Show cards', [['model.first', 'yes', 'model.third', 0, 2], ['model.third', 'yes', null, 1, 3]]],
  ]) {
    test(`the deployed chat's echo with a new request_id: "${text}"`, async () => {
      const [session, id, echoId] = [newId('s'), newId('r'), newId('e')];
      await withAgents(cluster, { 'model.first': [no('Why?'), yes()] }, async (asked) => {
        const client = await openWorkflow(cluster);
        client.request(session, id, { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
        const [{ verb, nextAgent, messageBody }] = await client.until(isStop);
        const other = await openWorkflow(cluster, { node: 1 });
        other.request(session, echoId, { verb, nextAgent, messageBody: { ...messageBody, raw_text: text, sql_query: 'DROP TABLE cards' } });
        const frames = await other.until(isOver);
        assert.deepEqual(shown(frames), expected);
        for (const frame of frames) {
          assert.equal(frame.request_id, echoId);
          assert.equal(frame.messageBody.sql_query, undefined, 'only raw_text is taken');
        }
        assert.equal(asked.filter(({ agent }) => agent === 'model.first').length, text === 'Show cards' ? 2 : 1);
        assert.deepEqual(await client.until(isOver), frames, 'whoever follows the first id sees the same');
        const runs = await history(cluster, { request_id: id });
        assert.deepEqual(runs, await history(cluster, { request_id: echoId }));
        assert.equal(runs[0].answers[0].how, 'echo');
        await client.close();
        await other.close();
      });
    });
  }

  test('without a verb the first word names the tree, else the router, which sends no frame', async () => {
    const session = newId('s');
    await withAgents(cluster, { 'model.LanguageCapo': [yes({ verb: 'NO' }), yes({ verb: 'RULE' })] }, async (asked) => {
      const client = await openWorkflow(cluster);
      for (const [raw_text, verb] of [['run Show cards', 'RULE'], ['Extract this', 'CONTENT'], ['how many cards?', 'RULE']]) {
        client.request(session, newId('r'), { verb: 'GENERIC', nextAgent: 'model.LanguageCapo', messageBody: { raw_text } });
        const frames = await client.until(isOver);
        assert.equal(frames[0].agent, 'model.first');
        assert.deepEqual(frames.map(({ seq }) => seq), frames.map((_, i) => i + 1));
        assert.ok(frames.every((frame) => frame.verb === verb), raw_text);
        assert.equal(frames.at(-1).messageBody.verb, undefined);
      }
      const routed = asked.filter(({ agent }) => agent === 'model.LanguageCapo');
      assert.deepEqual(routed.map(({ verbs }) => verbs), ['RULE, CONTENT', 'RULE, CONTENT']);
      assert.match(routed[1].complaint, /verb/);
      await client.close();
    });
  });

  test('a client that leaves misses nothing: a resume on the other node has every frame once, in order', async () => {
    const [session, id] = [newId('s'), newId('r')];
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await withAgents(cluster, { 'model.second': () => held.then(() => yes({ late: true })) }, async (asked) => {
      const first = await openWorkflow(cluster, { node: 0 });
      first.request(session, id, { verb: 'RULE', messageBody: { raw_text: 'x' } });
      const [seen] = await first.until(({ seq }) => seq === 1);
      await eventually(() => asked.length === 2, { what: 'the second agent works' });
      await first.close();
      const second = await openWorkflow(cluster, { node: 1 });
      second.resume(session, id, seen.seq);
      const whole = await openWorkflow(cluster, { node: 1 });
      whole.resume(session, id, 0);
      assert.deepEqual((await whole.until(({ seq }) => seq === 1))[0], seen);
      release();
      const frames = await second.until(isOver);
      assert.deepEqual(frames.map(({ seq }) => seq), [2, 3]);
      assert.deepEqual(await whole.until(isOver), frames);
      const later = await openWorkflow(cluster, { node: 0 });
      later.resume(session, id);
      assert.deepEqual(await later.until(isOver), [seen, ...frames]);
      for (const client of [second, whole, later]) await client.close();
    });
  });
});
