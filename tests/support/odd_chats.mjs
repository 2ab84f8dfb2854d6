// SPDX-License-Identifier: MIT
//
// odd_chats: ways in which a model server answers /chat/completions, with what must become of the question. A row is
// [name, exchange (tests/support/odd_server.mjs), expected]. Expected of an answer: {text, think, finish, usage}; of a
// failure: {reason} and `isOnce`, if the same cannot succeed: the model is asked once, and otherwise once in each attempt.
import { gzipSync } from 'node:zlib';

const event = (object) => `data: ${JSON.stringify(object)}\n\n`;
const choice = (delta, finish_reason = null, more = {}) => ({ choices: [{ index: 0, delta, finish_reason, ...more }] });
const chunk = (...args) => event(choice(...args));
const DONE = 'data: [DONE]\n\n';
const HELLO = chunk({ content: 'Hello ' }) + chunk({ content: 'you.' });
const STOP = chunk({}, 'stop');
const WHOLE = HELLO + STOP + DONE;
const object = (message, finish_reason = 'stop', more = {}) => ({ choices: [{ index: 0, message, finish_reason }], ...more });
const json = (body, more = {}) => ({ type: 'application/json', body, ...more });
const bytes = (text) => [...Buffer.from(text)].map((byte) => Buffer.from([byte]));
const hello = { text: 'Hello you.', finish: 'stop' };
// Written as it is sent: JSON.stringify would not make these.
const raw = (content, finish = 'null') => `data: {"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":${finish}}]}\n\n`;

const WAYS_TO_SAY = [
  ['plain', { body: WHOLE }, hello],
  ['no finish reason but DONE', { body: HELLO + DONE }, { text: 'Hello you.' }],
  ['a finish reason and no DONE', { body: HELLO + STOP }, hello],
  ['a finish reason, then a reset', { body: [HELLO + STOP, 'data: {"cho'], end: 'reset' }, hello],
  ['DONE and an open connection', { body: WHOLE, end: 'open' }, hello],
  ['a finish reason and an open connection', { body: HELLO + STOP, end: 'open' }, hello],
  ['text after DONE', { body: `${WHOLE}${chunk({ content: 'More.' })}` }, hello],
  ['a byte order mark', { body: `\ufeff${WHOLE}` }, hello],
  ['a byte order mark in pieces', { body: [...bytes('\ufeff'), WHOLE] }, hello],
  ['each byte alone', { body: bytes(chunk({ content: 'ü🦜' }) + STOP + DONE) }, { text: 'ü🦜', finish: 'stop' }],
  ['content as parts', { body: chunk({ content: [{ type: 'text', text: 'Hello ' }, { type: 'text', text: 'you.' }] }, 'stop') }, hello],
  ['parts with thoughts', { body: chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }, { type: 'text', text: 'Hello you.' }] }, 'stop') }, { ...hello, think: 'Hm.' }],
  ['thoughts under two names', { body: chunk({ reasoning: 'Hm.', reasoning_content: 'Hm.', content: 'Hello you.' }, 'stop') }, { ...hello, think: 'Hm.' }],
  ['another case of the type', { type: 'Text/Event-Stream; Charset=UTF-8', body: WHOLE }, hello],
  ['events as plain text', { type: 'text/plain', body: WHOLE }, hello],
  ['events as octets', { type: 'application/octet-stream', body: WHOLE }, hello],
  ['events without a type', { type: null, body: WHOLE }, hello],
  ['events as JSON', { type: 'application/json', body: WHOLE }, hello],
  ['JSON as events', { body: object({ content: 'Hello you.' }) }, hello],
  ['JSON with a byte order mark', json(`\ufeff${JSON.stringify(object({ content: 'Hello you.' }))}`), hello],
  ['JSON without a finish reason', json(object({ content: 'Hello you.' }, null)), { text: 'Hello you.' }],
  ['JSON and an open connection', json(object({ content: 'Hello you.' }), { end: 'open' }), hello],
  ['JSON in pieces that end like one', json(['{"choices":[{"index":0,"message":{"content":"Hello you."}', ',"finish_reason":"stop"}]}'], { pieceMs: 1500 }), hello],
  ['JSON, then a reset', json(object({ content: 'Hello you.' }), { end: 'reset' }), hello],
  ['JSON with parts', json(object({ content: [{ type: 'text', text: 'Hello you.' }] })), hello],
  ['halves of a character', { body: raw('a\\ud83e') + raw('\\udd9cb', '"stop"') }, { text: 'a🦜b', finish: 'stop' }],
  ['halves with thoughts between', { body: raw('a\\ud83e') + chunk({ reasoning: 'Hm.' }) + raw('\\udd9cb', '"stop"') }, { text: 'a🦜b', think: 'Hm.', finish: 'stop' }],
  ['half a character', { body: raw('a\\ud83e') + raw('b\\udd9c', '"stop"') }, { text: 'a\ufffdb\ufffd', finish: 'stop' }],
  ['a NUL', { body: raw('a\\u0000b', '"stop"') }, { text: 'a\ufffdb', finish: 'stop' }],
  ['bytes that are no text', { body: [raw('a'), Buffer.from(raw('\xe4', '"stop"'), 'latin1')] }, { text: 'a\ufffd', finish: 'stop' }],
  ['a raw tab', { body: raw('a\tb', '"stop"') }, { text: 'a\tb', finish: 'stop' }],
  ['gzip', { headers: { 'content-encoding': 'gzip' }, body: gzipSync(WHOLE) }, hello],
  ['gzip of JSON', json(gzipSync(JSON.stringify(object({ content: 'Hello you.' }))), { headers: { 'content-encoding': 'gzip' } }), hello],
  ['CRLF', { body: WHOLE.replaceAll('\n', '\r\n') }, hello],
  ['no empty line at the end', { body: (HELLO + STOP).trimEnd() }, hello],
  ['pings', { body: `: hi\n\ndata:\n\nevent: ping\ndata: {"type":"ping"}\n\n${HELLO}data: null\n\n${STOP}` }, hello],
  ['data on several lines', { body: `data: {"choices":[{"index":0,\ndata: "delta":{"content":"Hello you."},"finish_reason":"stop"}]}\n\n` }, hello],
  ['one newline between events', { body: WHOLE.replaceAll('\n\n', '\n') }, hello],
  ['the whole message again', { body: HELLO + event(object({ content: 'Hello you.' })) + DONE }, hello],
  ['a message for a delta', { body: event(object({ content: 'Hello you.' })) }, hello],
  ['another choice', { body: chunk({ content: 'Hello ' }) + event({ choices: [{ index: 1, delta: { content: 'Bye.' }, finish_reason: 'stop' }] }) + chunk({ content: 'you.' }, 'stop') }, hello],
  ['two choices of which ours is second', { body: event({ choices: [{ index: 1, delta: { content: 'Bye.' } }, { index: 0, delta: { content: 'Hello you.' }, finish_reason: 'stop' }] }) }, hello],
  ['a choice without an index', { body: event({ choices: [{ delta: { content: 'Hello you.' }, finish_reason: 'stop' }] }) }, hello],
  ['counts of tokens', { body: HELLO + STOP + event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } }) + DONE }, { ...hello, usage: { prompt_tokens: 5, completion_tokens: 7 } }],
  ['counts of JSON', json(object({ content: 'Hello you.' }, 'stop', { usage: { prompt_tokens: 1, completion_tokens: 0 } })), { ...hello, usage: { prompt_tokens: 1, completion_tokens: 0 } }],
  ['cut off', { body: HELLO + chunk({}, 'length') + DONE }, { text: 'Hello you.', finish: 'length' }],
  ['filtered after some text', { body: HELLO + chunk({}, 'content_filter') + DONE }, { text: 'Hello you.', finish: 'content_filter' }],
  ['a word for the end that is new', { body: HELLO + chunk({}, 'eos_token') }, { text: 'Hello you.', finish: 'eos_token' }],
];

const error = (message, more = {}) => ({ object: 'error', message, type: 'BadRequestError', param: null, code: 400, ...more });
const CONTEXT = "This model's maximum context length is 4096 tokens. Please reduce the length.";

const WAYS_TO_REFUSE = [
  ['thoughts cut off', { body: chunk({ reasoning_content: 'Hm, ' }) + chunk({}, 'length') + DONE }, /no text: length$/],
  ['thoughts alone', { body: chunk({ reasoning_content: 'Hm.' }) + STOP + DONE }, /no text: stop$/],
  ['thoughts in tags alone', { body: chunk({ content: '<think>Hm.</think>' }) + STOP + DONE }, /no text: stop$/],
  ['filtered', { body: chunk({}, 'content_filter') + DONE }, /no text: content_filter$/],
  ['refused', { body: chunk({ refusal: "I can't " }) + chunk({ refusal: 'help.' }) + STOP + DONE }, /\(refusal\): I can't help\.$/],
  ['refused in JSON', json(object({ content: null, refusal: 'No.' })), /\(refusal\): No\.$/],
  ['tools', { body: chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] }) + chunk({}, 'tool_calls') + DONE }, /no text: tool_calls$/],
  ['a function', json(object({ content: null, function_call: { name: 'f', arguments: '{}' } })), /no text: tool_calls$/],
  ['too long as vLLM says it', json(error(CONTEXT), { status: 400 }), /status 400: This model's maximum context length is 4096 tokens\./],
  ['too long as OpenAI says it', json({ error: { message: CONTEXT, type: 'invalid_request_error', code: 'context_length_exceeded' } }, { status: 400 }), /status 400: This model's maximum context/],
  ['too long as Gemini says it', json(JSON.stringify([{ error: { message: CONTEXT } }]), { status: 400 }), /status 400: This model's maximum context/],
  ['too long as FastAPI says it', json({ detail: [{ loc: ['body', 'messages'], msg: CONTEXT }] }, { status: 422 }), /status 422: This model's maximum context/],
  ['too long as plain text', { type: 'text/plain', status: 413, body: `${CONTEXT}\n` }, /status 413: This model's maximum context/],
  ['too long with a byte order mark', json(`\ufeff${JSON.stringify({ error: CONTEXT })}`, { status: 400 }), /status 400: This model's maximum context/],
  ['filtered with status 403', json({ error: { message: 'Flagged.', code: 'content_filter' } }, { status: 403 }), /status 403$/],
  ['too long with status 500', json({ error: { message: CONTEXT, code: 'context_length_exceeded' } }, { status: 500 }), /status 500: This model's maximum context/],
  ['unavailable for legal reasons', json({ error: 'No.' }, { status: 451 }), /status 451: No\.$/],
  ['too long in a stream', { body: HELLO + event(error(CONTEXT)) }, /reported an error: This model's maximum context/],
  ['a long and dirty reason', json({ error: { message: `Bad\n\n\u202e\u0007input ${'x'.repeat(5000)}` } }, { status: 400 }), /status 400: Bad input x{200,240}$/],
  ['a page for an error', { type: 'text/html', status: 413, body: '<html><body>Too large</body></html>' }, /returned status 413$/],
];

const WAYS_TO_FAIL = [
  ['empty finish reasons, then a reset', { body: [chunk({ content: 'Hello ' }, ''), chunk({ content: 'you.' }, '')], end: 'reset' }, /broke off: ./],
  ['empty finish reasons, then an end', { body: chunk({ content: 'Hello ' }, '') + chunk({ content: 'you.' }, '') }, /without a finish_reason$/],
  ['blank finish reasons', { body: chunk({ content: 'Hello you.' }, ' ') }, /without a finish_reason$/],
  ['an error event', { body: `${HELLO}event: error\ndata: {"message":"out of memory"}\n\n` }, /error: out of memory$/],
  ['an error event of plain text', { body: `${HELLO}event: error\ndata: out of memory\n\n` }, /error: out of memory$/],
  ['an error event, then DONE', { body: `${HELLO}event: error\ndata: {"message":"out of memory"}\n\n${DONE}` }, /error: out of memory$/],
  ['an error object', { body: HELLO + event({ object: 'error', message: 'out of memory', code: 500 }) + DONE }, /error: out of memory$/],
  ['an error member', { body: HELLO + event({ error: { message: 'out of memory' } }) + DONE }, /error: out of memory$/],
  ['an error as text', { body: HELLO + event({ error: 'out of memory' }) }, /error: out of memory$/],
  ['an error of type error', { body: HELLO + event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }) }, /error: Overloaded$/],
  ['an error with status 200', json({ error: { message: 'out of memory' } }), /error: out of memory$/],
  ['a detail with status 200', json({ detail: 'out of memory' }), /without an answer: out of memory$/],
  ['the finish reason error', { body: HELLO + chunk({}, 'error') + DONE }, /gave up: error$/],
  ['the finish reason abort', { body: HELLO + chunk({}, 'abort') + DONE }, /gave up: abort$/],
  ['a reset', { body: HELLO, end: 'reset' }, /broke off: ./],
  ['a reset in JSON', json('{"choices":[{"index":0,"mess', { end: 'reset' }), /broke off: ./],
  ['an end of another choice', { body: HELLO + event({ choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] }) }, /without a finish_reason$/],
  ['events that are not JSON', { body: `${HELLO}data: {"choices":\n\n` }, /event that is not JSON$/],
  ['an empty body', { body: '' }, /without a finish_reason$/],
  ['a status that says little', json({ error: 'teapot' }, { status: 418 }), /status 418: teapot$/],
  ['a page', { type: 'text/html', body: '<html></html>' }, /neither JSON nor events$/],
  ['no choices', json({ choices: [] }), /without an answer$/],
  ['DONE alone', { body: DONE }, /returned no text$/],
  ['nothing and stop', { body: STOP + DONE }, /no text: stop$/],
  ['silence', { body: HELLO, end: 'open' }, /broke off: ./],
  ['an unknown encoding', { headers: { 'content-encoding': 'snappy' }, body: WHOLE }, /broke off: ./],
  ['gzip that is none', { headers: { 'content-encoding': 'gzip' }, body: WHOLE }, /broke off: ./],
];

export const CHATS = [
  ...WAYS_TO_SAY,
  ...WAYS_TO_REFUSE.map(([name, exchange, reason]) => [name, exchange, { reason, isOnce: true }]),
  ...WAYS_TO_FAIL.map(([name, exchange, reason]) => [name, exchange, { reason }]),
];
