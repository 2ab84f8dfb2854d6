// SPDX-License-Identifier: MIT
//
// door_engine: `parley engine` between a node that has nothing but requests of clients of a door (door_node.mjs) and a model
// server whose responses a test writes (door_model.mjs).
//
//   await withDoor(socket, (seen, response) => response.events([...]), async ({ node, model, engine, start }) => { ... }, { args, models, odd });
//
// `socket`: over the engine's socket, not by the routes. `args`: more of the engine. `models`: that the server lists. `odd`: a
// server that runs already, instead.
import assert from 'node:assert/strict';
import { startModel } from './door_model.mjs';
import { startDoorNode } from './door_node.mjs';
import { startEngine } from './engines.mjs';

export async function withDoor(socket, answer, body, { args = ['--model', 'm'], models, odd } = {}) {
  const node = await startDoorNode({ socket });
  const model = odd ?? (await startModel(answer, { models }));
  const start = (more = args) => startEngine({ nodes: [node] }, ['--llm', model.url, '--transport', socket ? 'socket' : 'routes', '--slots', 2, ...more]);
  const engine = await start();
  try {
    await body({ node, model, engine, start });
    if (!engine.stopped) assert.deepEqual(await engine.stop(), { code: 0, signal: null }, engine.stderr);
    assert.doesNotMatch(engine.stderr, /Sanitizer|runtime error:/);
  } catch (error) {
    console.error(`--- log of the engine\n${engine.stderr.slice(-4000)}\n---`);
    throw error;
  } finally {
    engine.child.kill('SIGKILL');
    await model.stop();
    await node.stop();
  }
}
