// SPDX-License-Identifier: MIT
//
// Custom tools of /v1/responses, whose input is a text: engines get them as functions, or have them.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { assertOk, assertOpenaiError, suite } from '../support/harness.mjs';
import { ask, deltaOf, engineOf, fits, openChat, tokenOf } from '../support/openai.mjs';

const PATH = '/v1/responses';
const GRAMMAR = { type: 'grammar', syntax: 'lark', definition: 'start: "a"\n' };
const PATCH = { type: 'custom', name: 'apply_patch', description: 'Changes "files".', format: GRAMMAR };
const READ = { type: 'function', name: 'read', parameters: { type: 'object', properties: {} }, strict: false };
const BODY = { model: 'llama3', input: 'Change x.', tools: [READ, PATCH] };
const INPUT = '*** Begin Patch\n+"ä"\\n\n*** End Patch';
const call = (more, index = 0) => deltaOf({ tool_calls: [{ index, ...more }] });
const END = deltaOf({}, { finish_reason: 'tool_calls' });
const text = JSON.stringify({ input: INPUT });
const WRAPPED = [
  call({ id: 'call_1', type: 'function', function: { name: 'apply_patch', arguments: text.slice(0, 15) } }),
  call({ id: 'call_2', type: 'function', function: { name: 'read', arguments: '{' } }, 1),
  call({ function: { arguments: text.slice(15) } }), call({ function: { arguments: '}' } }, 1), END,
];
const PARAMETERS = { type: 'object', properties: { input: { type: 'string', description: 'The input of the tool, a plain text.' } }, required: ['input'], additionalProperties: false };

suite('custom tools', { nodes: 2 }, ({ test, cluster }) => {
  const respond = (body, options) => ask(cluster, 'POST', PATH, { body: { ...BODY, ...body }, ...options });
  async function answered(body, deltas, options) {
    const engine = await engineOf(cluster);
    const response = respond(body, options);
    await engine.take(engine.parked);
    assertOk(await engine.answer(deltas));
    return Object.assign(fits('Response', assertOk(await response)), { asked: engine.body });
  }
  const outputOf = async (deltas, body = {}) => (await answered(body, deltas)).output.map(({ id, status, ...item }) => item);

  test('an engine gets one as a function, and its call comes back as that of a custom tool', async () => {
    const engine = await engineOf(cluster);
    const stream = await openChat(cluster, BODY, { path: PATH, node: 0 });
    await engine.take(engine.parked);
    assert.deepEqual(engine.body.tools[1], { type: 'function', function: { name: 'apply_patch', description: 'Changes "files".\n\nThe input follows this grammar (lark):\nstart: "a"\n', parameters: PARAMETERS } });
    for (const delta of WRAPPED) assertOk(await engine.give(delta));
    assertOk(await engine.answer([]));
    const events = (await stream.whole()).chunks;
    assert.deepEqual(events.map(({ sequence_number }) => sequence_number), events.map((_, i) => i));
    assert.deepEqual(events.slice(3, -1).map(({ type, output_index }) => [type.replace('response.', ''), output_index]), [
      ['output_item.added', 0], ['output_item.added', 1], ['function_call_arguments.delta', 1], ['function_call_arguments.delta', 1],
      ['custom_tool_call_input.delta', 0], ['custom_tool_call_input.done', 0], ['output_item.done', 0], ['function_call_arguments.done', 1], ['output_item.done', 1],
    ]);
    const { response } = events.at(-1);
    assert.equal(events.find(({ type }) => type.endsWith('input.done')).input, INPUT);
    assert.deepEqual(response.output.map(({ type, name, input, arguments: given }) => [type, name, input ?? given]), [['custom_tool_call', 'apply_patch', INPUT], ['function_call', 'read', '{}']]);
    assert.deepEqual(response.tools, [{ ...READ }, PATCH]);
    const again = await openChat(cluster, {}, { method: 'GET', path: `${PATH}/${response.id}?stream=true`, node: 1 });
    assert.deepEqual((await again.whole()).chunks.map(({ queue, ...event }) => event), events.map(({ queue, ...event }) => event));
  });

  test("its result is sent in the next turn, with the call, by previous_response_id or by the item's id", async () => {
    const client = new OpenAI({ baseURL: `${cluster.pick(1).url}/v1`, apiKey: await tokenOf(cluster, 'User_1'), maxRetries: 0 });
    const first = await answered({}, [WRAPPED[0], WRAPPED[2], END]);
    const result = { type: 'custom_tool_call_output', call_id: 'call_1', output: 'Done.' };
    const { id, status, ...item } = first.output[0];
    assert.deepEqual(item, { type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', input: INPUT });
    const turns = [
      { previous_response_id: first.id, input: [result] },
      { input: [{ role: 'user', content: BODY.input }, { type: 'item_reference', id }, result] },
      { input: [{ role: 'user', content: BODY.input }, first.output[0], result] },
    ];
    for (const turn of turns) {
      const engine = await engineOf(cluster);
      const response = client.responses.create({ ...BODY, ...turn });
      await engine.take(engine.parked);
      const [, { tool_calls: [made] }, said] = engine.body.messages;
      assert.deepEqual([made.id, made.function.name, JSON.parse(made.function.arguments), said], ['call_1', 'apply_patch', { input: INPUT }, { role: 'tool', tool_call_id: 'call_1', content: 'Done.' }]);
      assertOk(await engine.answer([deltaOf({ content: 'It is done.' }, { finish_reason: 'stop' })]));
      assert.equal((await response).output_text, 'It is done.');
    }
    const items = assertOk(await ask(cluster, 'GET', `${PATH}/${(await answered(turns[1], [deltaOf({ content: 'Yes.' }, { finish_reason: 'stop' })])).id}/input_items?order=asc`));
    assert.deepEqual(fits('ResponseItemList', items).data.map(({ type }) => type), ['message', 'custom_tool_call', 'custom_tool_call_output']);
  });

  test('it may be chosen, alone or among those that are allowed, and be in a namespace', async () => {
    const said = [deltaOf({ content: 'No.' }, { finish_reason: 'stop' })];
    const choice = async (tool_choice, tools = BODY.tools) => (await answered({ tool_choice, tools }, said)).asked;
    assert.deepEqual((await choice({ type: 'custom', name: 'apply_patch' })).tool_choice, { type: 'function', function: { name: 'apply_patch' } });
    const { tools } = await choice({ type: 'allowed_tools', mode: 'required', tools: [{ type: 'custom', name: 'apply_patch' }] });
    assert.deepEqual(tools.map(({ function: { name } }) => name), ['apply_patch']);
    assert.match(assertOpenaiError(await respond({ tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'apply_patch' }] } }), 400).message, /tool_choice/);
    const space = [{ type: 'namespace', name: 'files', description: 'Files.', tools: [PATCH] }];
    assert.deepEqual(await outputOf([call({ id: 'call_1', function: { name: 'files__apply_patch', arguments: text } }), END], { tools: space }), [{ type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', namespace: 'files', input: INPUT }]);
  });

  test('what engines do otherwise: their own custom calls, arguments of another shape, none, cut ones', async () => {
    const custom = (body, more = {}) => [{ type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', ...more, ...body }];
    const made = (given) => [call({ id: 'call_1', function: { name: 'apply_patch', arguments: given } }), END];
    const own = [call({ id: 'call_1', type: 'custom', custom: { name: 'apply_patch', input: '*** ' } }), call({ custom: { input: '"x"' } }), END];
    assert.deepEqual(await outputOf(own), custom({ input: '*** "x"' }));
    assert.deepEqual(await outputOf([call({ id: 'call_1', custom: { name: 'other', input: 'x' } }), END]), custom({ name: 'other', input: 'x' }));
    assert.deepEqual(await outputOf([call({ id: 'call_1', custom: { name: 'read', input: 'x' } }), END]), [{ type: 'function_call', call_id: 'call_1', name: 'read', arguments: 'x' }]);
    for (const given of ['plain text', '{"input":5}', '{"other":"x"}', '["x"]', '{"input":"cut', '"x"', '{}']) assert.deepEqual(await outputOf(made(given)), custom({ input: given }), given);
    assert.deepEqual(await outputOf(made('')), custom({ input: '' }));
    assert.deepEqual(await outputOf(made('{"input":"a","input":"b","more":[1]}')), custom({ input: 'b' }));
    const long = 'x"\n'.repeat(50_000);
    assert.deepEqual(await outputOf(made(JSON.stringify({ input: long }))), custom({ input: long }));
    assertOpenaiError(await respond({ input: [{ type: 'custom_tool_call', call_id: 'c', name: 'f', input: 5 }] }), 400);
    assertOpenaiError(await respond({ tools: [{ type: 'custom' }] }), 400);
    assertOpenaiError(await respond({ tools: [{ type: 'custom', name: '' }] }), 400);
  });
});
