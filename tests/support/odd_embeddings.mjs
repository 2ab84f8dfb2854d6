// SPDX-License-Identifier: MIT
//
// odd_embeddings: ways in which a server of vectors answers, with what must become of the document: indexed, after
// so many requests, or failed with that reason. A row is [name, answer, expected]; answer(texts, n)
// returns an exchange (tests/support/odd_server.mjs).
import { gzipSync } from 'node:zlib';

const vectorOf = (text) => Array.from({ length: 8 }, (_, i) => 1 + (text.charCodeAt(i % text.length) % 13));
const list = (texts) => ({ object: 'list', data: texts.map((text, index) => ({ object: 'embedding', index, embedding: vectorOf(text) })) });
const json = (body, more = {}) => ({ type: 'application/json', body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body), ...more });
const fails = (status, body) => json(body, { status });
const TOO_MANY = { error: 'batch size 32 > maximum allowed batch size 2', error_type: 'Validation' };
const TOO_LONG = { error: 'Input validation error: `inputs` must have less than 512 tokens. Given: 612', error_type: 'Validation' };

const ollama = (texts) => ({ model: 'odd', embeddings: texts.map(vectorOf) });

const OLLAMA = [
  ['Ollama, plain', (texts) => json(ollama(texts)), { requests: 1 }],
  ['Ollama, a byte order mark', (texts) => json(`\ufeff${JSON.stringify(ollama(texts))}`), { requests: 1 }],
  ['Ollama, too long', (texts) => (texts.some((text) => text.length > 300) ? fails(400, { error: 'the input length exceeds the context length' }) : json(ollama(texts))), { halved: 1 }],
  ['Ollama, one of many', (texts) => json(ollama(texts.slice(0, 1))), { halved: 1 }],
  ['Ollama, an unknown model', () => fails(404, { error: 'model "odd" not found, try pulling it first' }), { reason: /status 404: model "odd" not found, try pulling it first$/ }],
  ['Ollama, an error with status 200', () => json({ error: 'out of memory' }), { reason: /has no vectors: out of memory$/ }],
  ['Ollama, vectors of OpenAI', (texts) => json(list(texts)), { reason: /has no vectors$/ }],
].map(([name, answer, expected]) => [name, answer, { ...expected, dialect: 'ollama' }]);

const OPENAI = [
  ['plain', (texts) => json(list(texts)), { requests: 1 }],
  ['the other way round', (texts) => json({ data: list(texts).data.reverse() }), { requests: 1 }],
  ['without an index', (texts) => json({ data: list(texts).data.map(({ embedding }) => ({ embedding })) }), { requests: 1 }],
  ['another type', (texts) => json(list(texts), { type: 'text/plain' }), { requests: 1 }],
  ['base64', (texts) => json({ data: texts.map((text, index) => ({ index, embedding: Buffer.from(new Float32Array(vectorOf(text)).buffer).toString('base64') })) }), { requests: 1 }],
  ['status 201', (texts) => json(list(texts), { status: 201 }), { requests: 1 }],
  ['a byte order mark', (texts) => json(`\ufeff${JSON.stringify(list(texts))}`), { requests: 1 }],
  ['gzip', (texts) => json(gzipSync(JSON.stringify(list(texts))), { headers: { 'content-encoding': 'gzip' } }), { requests: 1 }],
  ['a whole list, then a reset', (texts) => json(list(texts), { end: 'reset' }), { requests: 1 }],
  ['busy once', (texts, n) => (n === 1 ? fails(503, { error: 'busy' }) : json(list(texts))), { requests: 2 }],
  ['reset once', (texts, n) => (n === 1 ? json('{"data":[', { end: 'reset' }) : json(list(texts))), { requests: 2 }],
  ['at most two by 413', (texts) => (texts.length > 2 ? fails(413, { error: { message: 'Payload Too Large' } }) : json(list(texts))), { halved: 2 }],
  ['at most two by 422', (texts) => (texts.length > 2 ? fails(422, TOO_MANY) : json(list(texts))), { halved: 2 }],
  ['one, whatever was sent', (texts) => json(list(texts.slice(0, 1))), { halved: 1 }],
  ['at most 300 bytes', (texts) => (texts.some((text) => Buffer.byteLength(text) > 300) ? fails(413, TOO_LONG) : json(list(texts))), { halved: 1 }],
  ['an error with status 200', () => json({ error: { message: 'out of memory' } }), { reason: /has no vectors: out of memory$/ }],
  ['an unknown model', () => fails(404, { error: { message: 'model "odd" not found' } }), { reason: /status 404: model "odd" not found$/ }],
  ['never small enough', () => fails(413, TOO_LONG), { reason: /status 413: Input validation error: `inputs` must have less than 512 tokens/ }],
  ['a key that is repeated', () => fails(401, { error: { message: 'wrong key sk-1234' } }), { reason: /status 401$/ }],
  ['a page', () => ({ type: 'text/html', body: '<html></html>' }), { reason: /has no vectors$/ }],
  ['events', () => ({ body: 'data: {}\n\n' }), { reason: /has no vectors/ }],
  ['an empty list', () => json({ data: [] }), { reason: /has no vectors$/ }],
  ['an empty vector', () => json({ data: [{ index: 0, embedding: [] }] }), { reason: /has no vectors$/ }],
  ['numbers that are none', () => json({ data: [{ index: 0, embedding: [1, null] }] }), { reason: /has no vectors$/ }],
  ['an index that was not asked for', () => json({ data: [{ index: 7, embedding: [1, 2] }] }), { reason: /has no vectors$/ }],
  ['the same index for all', (texts) => json({ data: texts.map((text) => ({ index: 0, embedding: vectorOf(text) })) }), { halved: 1 }],
  ['vectors of two lengths', (texts) => json({ data: texts.map((text, index) => ({ index, embedding: vectorOf(text).slice(index % 2) })) }), { halved: 1 }],
];

export const EMBEDDINGS = [...OPENAI, ...OLLAMA];
