// SPDX-License-Identifier: MIT
//
// openai_served: a model server whose responses a test writes (door_model.mjs), and `parley engine` in front of it.
//
//   const served = await startServed(cluster, ({ body }, response) => response.events([...]), ['--slots', 4]);
//   served.model.seen       what reached the server
//   await served.stop();
import assert from 'node:assert/strict';
import { startModel } from './door_model.mjs';
import { startEngine } from './engines.mjs';
import { assertOk, eventually } from './harness.mjs';
import { ask } from './openai.mjs';

// `args`: more of the engine; URL in it is that of the server. `name`: of the server's model.
export async function startServed(cluster, answer, args = [], { name = 'm' } = {}) {
  const model = await startModel(answer, { models: [name] });
  const engine = await startEngine(cluster, ['--llm', model.url, ...args.map((arg) => (arg === 'URL' ? model.url : arg))]);
  const isListed = async () => assertOk(await ask(cluster, 'GET', '/v1/models')).data.some(({ id }) => id === name);
  await eventually(isListed, { what: 'the model is listed' });
  const stop = async () => {
    await engine.stop();
    await model.stop();
    assert.doesNotMatch(engine.stderr, /Sanitizer|runtime error:/);
  };
  return { model, engine, stop };
}
