// SPDX-License-Identifier: MIT
//
// Four ways to answer one kind of question: on the socket, as the deployed chat does, over HTTP and by a link; what a run does after
// each answer, and at each kind of deadline. The socket is on one node, the answer on the other.
import assert from 'node:assert/strict';
import { ACCOUNTS, assertOk, assertProblem, eventually, makeFolder, suite } from '../support/harness.mjs';
import { isOver, isStop, newId, no, openWorkflow, withAgents, yes } from '../support/workflow.mjs';

const accounts = {
  ...ACCOUNTS,
  Anna: { secret: 'anna-secret', role: 'user' },
  Ben: { secret: 'ben-secret', role: 'user' },
  Cara: { secret: 'cara-secret', role: 'operator' },
};
const treeOf = (first, more = '') => `    ${first}: {yes: model.act, no: sendMessageToChat${more}}\n    model.act: {yes: null, no: sendMessageToChat}\n`;
const FILE = `WORKFLOWS:
  OWN:
${treeOf('model.own')}
  TWO:
${treeOf('model.two')}
  FORM:
${treeOf('model.form')}
  REJECT:
${treeOf('model.rejects')}
  CONTINUE:
${treeOf('model.continues')}
  DIVERT:
${treeOf('model.diverts')}
AGENTS:
  model.own: {kind: model, prompt: "Check.", timeout: 60}
  model.act: {kind: model, prompt: "Act.", timeout: 60}
  model.two: {kind: model, prompt: "Check.", timeout: 60, hitl: {approvers: [Anna, Ben, "role:operator"], quorum: 2, self: false}}
  model.form: {kind: model, prompt: "Check.", timeout: 60, hitl: {form: {type: object, properties: {raw_text: {type: string, maxLength: 30}, amount: {type: integer, minimum: 0}}, additionalProperties: false}}}
  model.rejects: {kind: model, prompt: "Check.", timeout: 60, hitl: {timeout: 1s, on_timeout: reject}}
  model.continues: {kind: model, prompt: "Check.", timeout: 60, hitl: {timeout: 1s, on_timeout: continue}}
  model.diverts: {kind: model, prompt: "Check.", timeout: 60, hitl: {timeout: 1s, on_timeout: model.act}}
`;

const folder = makeFolder();
const workflows = folder.file('workflows.yaml', FILE);
process.on('exit', folder.remove);

suite('four ways to answer', { accounts, args: ['--workflows', workflows, '--rescan-seconds', '1'], sweep: false }, ({ test, cluster }) => {
  // A run that stops at its first agent, followed on node 0. `script`: further replies of agents.
  async function stopped(verb, script, use, { as = 'User_1', messageBody = { raw_text: 'do it' } } = {}) {
    const [session, request] = [newId('session'), newId('request')];
    const first = `model.${{ OWN: 'own', TWO: 'two', FORM: 'form', REJECT: 'rejects', CONTINUE: 'continues', DIVERT: 'diverts' }[verb]}`;
    const client = await openWorkflow(cluster, { as, node: 0 });
    try {
      await withAgents(cluster, { [first]: [no('It needs a person.'), yes()], ...script }, async (asked) => {
        client.request(session, request, { verb, messageBody });
        const frames = await client.until(isStop);
        await use({ client, session, request, stop: frames.at(-1), asked });
      });
    } finally {
      await client.close();
    }
  }
  const questionsOf = async (as, query = {}) => assertOk(await cluster.request('GET', '/api/workflows/questions', { as, query, node: 1 })).questions;
  const post = (as, id, body) => cluster.request('POST', `/api/workflows/questions/${id}`, { as, body, node: 1 });
  const historyOf = async (as, session) => assertOk(await cluster.request('GET', '/api/workflows/history', { as, query: { session_id: session } })).runs[0];
  const agents = (asked) => asked.map(({ agent }) => agent);

  test('the stop says whom to ask: the id, the form, the quorum', () =>
    stopped('FORM', {}, async ({ stop, request, session }) => {
      const { deadline, form, approvals, quorum, id } = stop.hitl;
      assert.deepEqual([deadline, approvals, quorum, form.properties.amount], [null, 0, 1, { type: 'integer', minimum: 0 }]);
      assert.deepEqual([stop.decision, stop.nextAgent, stop.reason], ['no', 'sendMessageToChat', 'It needs a person.']);
      const question = (await questionsOf('User_1')).find((one) => one.id === id);
      assert.deepEqual([question.request_id, question.session_id, question.agent, question.messageBody.raw_text], [request, session, 'model.form', 'do it']);
      assert.deepEqual(question.form, form);
    }));

  const WAYS = {
    socket: ({ client, session, request }, body) => client.answer(session, request, { ...body, approved_by: 'somebody else', timestamp: 1 }),
    http: async ({ stop }, body) => assertOk(await post('User_1', stop.hitl.id, body)),
    link: async ({ stop }, body) => {
      const { link } = (await questionsOf('User_1')).find(({ id }) => id === stop.hitl.id);
      assertOk(await cluster.request('POST', link, { body, node: 1 }));
    },
  };
  for (const [way, give] of Object.entries(WAYS)) {
    test(`${way}: a yes counts as the yes of the agent that said no`, () =>
      stopped('OWN', {}, async (run) => {
        await give(run, { approved: true });
        const frames = await run.client.until(isOver);
        assert.deepEqual(frames.map(({ agent, decision, returnCode }) => [agent, decision, returnCode]), [['model.own', 'yes', 0], ['model.act', 'yes', 1]]);
        assert.deepEqual(agents(run.asked), ['model.own', 'model.act']);
        const { final_status, answers } = await historyOf('User_1', run.session);
        assert.equal(final_status, 'approved');
        assert.deepEqual([answers.length, answers[0].how, answers[0].account, answers[0].note], [1, way, 'User_1', way === 'socket' ? 'somebody else' : null]);
        assertProblem(await post('User_1', run.stop.hitl.id, { approved: true }), 409, 'conflict');
      }));

    test(`${way}: with corrections that agent is asked again`, () =>
      stopped('FORM', {}, async (run) => {
        await give(run, { approved: true, corrections: { amount: 5 } });
        const frames = await run.client.until(isOver);
        assert.deepEqual(agents(run.asked), ['model.form', 'model.form', 'model.act']);
        assert.equal(frames.at(-1).messageBody.amount, 5);
        assert.deepEqual((await historyOf('User_1', run.session)).answers[0].corrections, { amount: 5 });
      }));

    test(`${way}: a no ends the run with one frame`, () =>
      stopped('OWN', {}, async (run) => {
        await give(run, { approved: false });
        const frames = await run.client.until(isOver);
        assert.deepEqual(frames.map(({ decision, nextAgent, returnCode }) => [decision, nextAgent, returnCode]), [['no', null, -1]]);
        assert.equal((await historyOf('User_1', run.session)).final_status, 'rejected');
        assert.deepEqual(agents(run.asked), ['model.own']);
      }));
  }

  // The deployed chat sends the frame back as a request with a new id and the person's words.
  const echo = ({ client, session, stop }, raw_text) => {
    const request = newId('request');
    client.request(session, request, { verb: stop.verb, nextAgent: stop.nextAgent, messageBody: { ...stop.messageBody, raw_text, sql_query: 'DROP TABLE cards' } });
    return request;
  };

  for (const [word, decision] of [['yes', 'yes'], [' OK. ', 'yes'], ['Approve!', 'yes'], ['no', 'no'], ['Reject', 'no'], ['cancel', 'no']]) {
    test(`the chat’s echo: ${JSON.stringify(word)} is a ${decision}`, () =>
      stopped('OWN', {}, async (run) => {
        const request = echo(run, word);
        const frames = await run.client.until(isOver);
        assert.ok(frames.every(({ request_id }) => request_id === request), 'frames carry the new id');
        assert.equal(frames.at(-1).returnCode, decision === 'yes' ? 1 : -1);
        assert.deepEqual(agents(run.asked), decision === 'yes' ? ['model.own', 'model.act'] : ['model.own']);
        assert.ok(frames.every(({ messageBody }) => messageBody.raw_text === 'do it' && messageBody.sql_query === undefined));
        const { answers, request_id } = await historyOf('User_1', run.session);
        assert.deepEqual([answers[0].how, answers[0].corrections, request_id], ['echo', null, request]);
      }));
  }

  // What each agent was asked about: the request, and what was said about it.
  const said = (asked) => asked.map(({ agent, request, corrections }) => [agent, request, ...corrections]);

  for (const member of ['raw_text', 'rule_text', 'text']) {
    test(`the chat’s echo: other words do not replace the request in ${member}, nor the objection to it`, () =>
      stopped('OWN', {}, async (run) => {
        echo(run, 'Yes, it should be\npattern');
        const frames = await run.client.until(isOver);
        const correction = { objection: 'model.own: It needs a person.', correction: 'Yes, it should be pattern' };
        assert.deepEqual(said(run.asked), [['model.own', 'do it'], ['model.own', 'do it', correction], ['model.act', 'do it', correction]]);
        const { hitl_corrections, ...body } = frames.at(-1).messageBody;
        assert.deepEqual(body, { [member]: 'do it', kept: 1 });
        assert.deepEqual(hitl_corrections, [{ agent: 'model.own', objection: 'It needs a person.', correction: 'Yes, it should be\npattern' }]);
        const [{ corrections }] = (await historyOf('User_1', run.session)).answers;
        assert.deepEqual(corrections, { raw_text: 'Yes, it should be\npattern' });
      }, { messageBody: { [member]: 'do it', kept: 1, hitl_corrections: [{ correction: 'of a client' }] } }));
  }

  test('the chat’s echo: a second objection stands after the first one, until a correction replaces the request', () =>
    stopped('OWN', { 'model.own': [no('First.'), no('Second.'), no('Third.'), yes({ hitl_corrections: [] })] }, async (run) => {
      const again = async (text) => {
        echo(run, text);
        return { ...run, stop: (await run.client.until(isStop)).at(-1) };
      };
      await again('one');
      const { stop } = await again('two');
      const pairs = [{ objection: 'model.own: First.', correction: 'one' }, { objection: 'model.own: Second.', correction: 'two' }];
      assert.deepEqual(said(run.asked).at(-1), ['model.own', 'do it', ...pairs]);
      assertOk(await post('User_1', stop.hitl.id, { approved: true, corrections: { raw_text: 'do that' } }));
      await run.client.until(isOver);
      assert.deepEqual(said(run.asked).slice(-2), [['model.own', 'do that'], ['model.act', 'do that']]);
    }));

  test('the chat’s echo: what the router did not understand is routed with the correction', () =>
    withAgents(cluster, { 'model.LanguageCapo': [no('Which one?'), yes({ verb: 'OWN' })] }, async (asked) => {
      const client = await openWorkflow(cluster);
      const session = newId('session');
      client.request(session, newId('request'), { verb: 'GENERIC', messageBody: { raw_text: 'do it' } });
      const stop = (await client.until(isStop)).at(-1);
      echo({ client, session, stop }, 'the first');
      await client.until(isOver);
      const correction = { objection: 'model.LanguageCapo: Which one?', correction: 'the first' };
      assert.deepEqual(said(asked), [['model.LanguageCapo', 'do it'], ...['model.LanguageCapo', 'model.own', 'model.act'].map((agent) => [agent, 'do it', correction])]);
      await client.close();
    }));

  test('the chat’s words must fit the form too', () =>
    stopped('FORM', {}, async (run) => {
      echo(run, 'x'.repeat(31));
      assert.match((await run.client.error()).reason, /raw_text/);
      echo(run, 'a shorter text');
      assert.equal((await run.client.until(isOver)).at(-1).messageBody.hitl_corrections[0].correction, 'a shorter text');
    }));

  test('on the socket too a correction that breaks the form names the member, and the question stays open', () =>
    stopped('FORM', {}, async ({ client, session, request, stop }) => {
      client.answer(session, request, { approved: true, corrections: { amount: -1 } });
      assert.match((await client.error()).reason, /amount/);
      client.answer(session, request, { approved: true, corrections: { sql_query: 'x' } });
      assert.match((await client.error()).reason, /sql_query/);
      assert.ok((await questionsOf('User_1')).some(({ id }) => id === stop.hitl.id));
      client.answer(session, request, { approved: true });
      await client.until(isOver);
      client.answer(session, request, { approved: true });
      assert.match((await client.error()).reason, /^User_1 answered this question at /);
    }));

  test('two of three approvers: the owner may not, one counts once, the second one carries the run on', () =>
    stopped('TWO', {}, async ({ client, session, request, stop }) => {
      client.answer(session, request, { approved: true });
      assert.match((await client.error()).reason, /approvers/);
      assertProblem(await post('User_2', stop.hitl.id, { approved: true }), 403, 'forbidden');
      assert.equal(assertOk(await post('Anna', stop.hitl.id, { approved: true, corrections: { raw_text: 'of anna' } })).approvals, 1);
      assertProblem(await post('Anna', stop.hitl.id, { approved: true }), 409, 'conflict');
      assert.equal(assertOk(await post('Cara', stop.hitl.id, { approved: true })).status, 'approved');
      const frames = await client.until(isOver);
      assert.equal(frames.at(-1).messageBody.raw_text, 'of anna');
      assertProblem(await post('Ben', stop.hitl.id, { approved: false }), 409, 'conflict');
      const { answers, final_status, hitl_approved_by } = await historyOf('User_1', session);
      assert.deepEqual([final_status, answers.map(({ account }) => account), hitl_approved_by], ['approved', ['Anna', 'Cara'], 'Cara']);
    }));

  for (const [verb, status, asked_, code] of [['REJECT', 'expired', ['model.rejects'], -1], ['CONTINUE', 'done', ['model.continues', 'model.act'], 1], ['DIVERT', 'done', ['model.diverts', 'model.act'], 1]]) {
    test(`a deadline that passes: ${verb.toLowerCase()}`, () =>
      stopped(verb, {}, async ({ client, session, stop, asked }) => {
        assert.ok(Date.parse(stop.hitl.deadline) > 0);
        const frames = await client.until(isOver);
        assert.equal(frames.at(-1).returnCode, code);
        assert.deepEqual(agents(asked), asked_);
        const { final_status, answers } = await historyOf('User_1', session);
        assert.deepEqual([final_status, answers.map(({ how }) => how)], [status, ['deadline']]);
        const { detail } = assertProblem(await post('User_1', stop.hitl.id, { approved: true }), 409, 'conflict');
        assert.match(detail, /^The deadline of this question passed at /);
      }));
  }

  test('many questions are answered over both nodes at the same time, each exactly once', async () => {
    const client = await openWorkflow(cluster, { as: 'Ben', node: 0 });
    await withAgents(cluster, { 'model.own': ({ }, asked) => no(`${asked.length}`) }, async () => {
      const session = newId('session');
      for (let i = 0; i < 12; i++) client.request(session, newId('request'), { verb: 'OWN', messageBody: { raw_text: `n${i}` } });
      const stops = [];
      while (stops.length < 12) stops.push((await client.until(isStop)).at(-1));
      const all = await Promise.all(stops.flatMap(({ hitl }) => [0, 1].map((node) => cluster.request('POST', `/api/workflows/questions/${hitl.id}`, { as: 'Ben', node, body: { approved: false } }))));
      assert.equal(all.filter(({ status }) => status === 200).length, 12);
      assert.equal(all.filter(({ status }) => status === 409).length, 12);
      for (let n = 0; n < 12; n++) assert.equal((await client.until(isOver)).at(-1).returnCode, -1);
      await eventually(async () => (await questionsOf('Ben')).length === 0);
    });
    await client.close();
  });
});
