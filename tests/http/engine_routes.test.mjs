// SPDX-License-Identifier: MIT
//
// What engine.test.mjs and engine_rest.test.mjs hold to, for an engine that uses the routes instead of its socket.
process.env.PARLEY_TEST_TRANSPORT = 'routes';
await import('./engine.test.mjs');
await import('./engine_rest.test.mjs');
