#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// clients.mjs WHAT URL USER SECRET_FILE: clients of a cluster that runs in containers, through its balancer only.
//
//   stream            a question as a stream of events: prints `tokens N`
//   socket            a room over a WebSocket: prints `message TEXT`
//   load STOP [retry] all kinds of requests until the file STOP exists; then each promise is compared with what is stored.
//                     Without `retry` the first request that fails is an error; with it clients try again, as they should
//                     after a crash. Prints figures as JSON; exits 1 with a line for each thing that is wrong.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { WebSocket } from 'ws';

const [what, url, user, secretFile, stop, mode] = process.argv.slice(2);
const secret = readFileSync(secretFile, 'utf8').trim();
const random = () => randomBytes(8).toString('hex');

async function login() {
  const nonce = random();
  const hash = createHash('sha256').update(`${user} ${nonce} ${secret}`).digest('hex');
  const response = await fetch(`${url}/api/login?User=${user}&Nonce=${nonce}&Hash=${hash}`);
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).Token;
}

const token = await login();
const authorization = { authorization: `Bearer ${token}` };

const add = (topic, query, more = {}, wait = 20) =>
  fetch(`${url}/api/add-query?Wait=${wait}`, {
    method: 'POST',
    headers: { ...authorization, 'idempotency-key': random(), ...more },
    body: JSON.stringify({ Topic: topic, User: user, Query: query }),
  });
const get = (path, headers = {}) => fetch(url + path, { headers: { ...authorization, ...headers } });
const post = (path, body) =>
  fetch(url + path, { method: 'POST', headers: authorization, body: JSON.stringify(body) });

// The events of a stream, as [name, data].
function events(text) {
  return text
    .split('\n\n')
    .map((block) => [block.match(/^event: (.*)$/m)?.[1], block.match(/^data: (.*)$/m)?.[1]])
    .filter(([name]) => name);
}

// Calls back for each message; reconnects, from the last one that it saw, until `close` is called.
function listen(room, onMessage, onReady) {
  let socket;
  let last = '';
  let over = false;
  const connect = () => {
    socket = new WebSocket(`${url.replace('http', 'ws')}/ws/rooms/${room}?token=${token}&after=${last}`);
    socket.on('open', () => onReady?.());
    socket.on('message', (data) => {
      const message = JSON.parse(data);
      last = message.id;
      onMessage(message);
    });
    socket.on('error', () => {});
    socket.on('close', () => over || setTimeout(connect, 50));
  };
  connect();
  return () => {
    over = true;
    socket.close();
  };
}

async function stream() {
  const response = await add(`stream-${random()}`, 'How long does a lease last?', { accept: 'text/event-stream' });
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type'), /^text\/event-stream/);
  const all = events(await response.text());
  const text = all.filter(([name]) => name === 'token').map(([, data]) => JSON.parse(data).text).join('');
  const done = JSON.parse(all.find(([name]) => name === 'done')[1]);
  assert.ok(done.Answer.join('').length > 0, 'an answer');
  assert.ok(text.includes('lease'), 'the tokens are the answer');
  console.log(`tokens ${all.filter(([name]) => name === 'token').length}`);
}

async function socket() {
  const room = await (await post('/api/rooms', { name: `Tea kitchen ${random()}` })).json();
  const close = await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('no message in 30 s')), 30000).unref();
    const stopListening = listen(
      room.id,
      (message) => {
        console.log(`message ${message.text}`);
        resolve(stopListening);
      },
      async () => assert.equal((await post(`/api/rooms/${room.id}/messages`, { text: 'Hello' })).status, 201),
    );
  });
  close();
}

async function load() {
  const counts = {};
  const wrong = [];
  let retries = 0;
  let slowest = 0;
  const isOver = () => existsSync(stop) || wrong.length > 20;

  // Sends until it is answered with 200 or 201; without `retry` anything else is wrong.
  async function send(kind, request) {
    for (;;) {
      const began = Date.now();
      let seen;
      try {
        const response = await request();
        const body = await response.text();
        if (response.status === 200 || response.status === 201) {
          counts[kind] = (counts[kind] ?? 0) + 1;
          if (kind !== 'question') slowest = Math.max(slowest, Date.now() - began);
          return body;
        }
        seen = `${response.status} ${body.slice(0, 200)}`;
        if (mode === 'retry' && ![429, 502, 503, 504].includes(response.status)) wrong.push(`${kind}: ${seen}`);
      } catch (error) {
        seen = `${error.message} ${error.cause?.code ?? ''}`;
      }
      if (mode !== 'retry') {
        wrong.push(`${kind}: ${seen}`);
        if (isOver()) return null;
      }
      retries++;
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (wrong.length > 20) return null;
    }
  }

  const asked = new Map(); // topic -> [[query, answer], …]
  async function asker() {
    const topic = `load-${random()}`;
    asked.set(topic, []);
    while (!isOver()) {
      const query = `What does ${random()} say about a lease?`;
      const key = { 'idempotency-key': random() };
      let row = JSON.parse((await send('question', () => add(topic, query, key, 5))) ?? 'null');
      while (row && row.Answer === null)
        row = JSON.parse(await send('check', () => get(`/api/check-query?Topic=${topic}&Seq=${row.Seq}&Wait=5`)));
      if (row) asked.get(topic).push([query, row.Answer.join('\n')]);
    }
  }

  async function streamer() {
    const topic = `load-${random()}`;
    asked.set(topic, []);
    while (!isOver()) {
      const query = `Where does ${random()} read of leases?`;
      const key = { 'idempotency-key': random() };
      let row = JSON.parse((await send('asked for a stream', () => add(topic, query, key, 0))) ?? 'null');
      if (!row) return;
      // A stream ends with the node that sends it; the client resumes it at another one.
      for (let tries = 0; tries < 20; tries++) {
        const text = await send('stream', () =>
          get(`/api/check-query?Topic=${topic}&Seq=${row.Seq}&Wait=20`, { accept: 'text/event-stream' }),
        );
        const done = events(text ?? '').find(([name]) => name === 'done')?.[1];
        const answer = done && JSON.parse(done).Answer;
        if (answer) {
          asked.get(topic).push([query, answer.join('\n')]);
          break;
        }
      }
    }
  }

  const repeat = (kind, request) => async () => {
    while (!isOver()) {
      await send(kind, request);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  const workers = [
    asker,
    asker,
    asker,
    streamer,
    repeat('retrieve', () => post('/api/rag/retrieve', { query: 'How many attempts does a question get?' })),
    repeat('documents', () => get('/api/docs')),
    repeat('workflows', () => get('/api/workflows')),
    repeat('status', () => get('/api/user-topics')),
  ];

  // A POST to a room has no key, so a client that sends it again may say it twice: only where nothing crashes.
  const said = [];
  const heard = [];
  let close = () => {};
  if (mode !== 'retry') {
    const room = JSON.parse(await send('room', () => post('/api/rooms', { name: `Load ${random()}` })));
    close = listen(room.id, (message) => heard.push(message.text));
    workers.push(async () => {
      while (!isOver()) {
        const text = random();
        await send('message', () => post(`/api/rooms/${room.id}/messages`, { text }));
        said.push(text);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
  }
  await Promise.all(workers.map((work) => work()));

  // What was said is heard, once and in its order.
  for (const until = Date.now() + 30000; heard.length < said.length && Date.now() < until; )
    await new Promise((resolve) => setTimeout(resolve, 50));
  close();
  if (JSON.stringify(heard) !== JSON.stringify(said))
    wrong.push(`${said.length} messages were posted, and the WebSocket got ${heard.length}, or others`);

  // Each question is stored once, with the answer that its client got.
  let questions = 0;
  for (const [topic, rows] of asked) {
    questions += rows.length;
    const thread = JSON.parse((await send('thread', () => get(`/api/get-topic-thread?Topic=${topic}`))) ?? '[]');
    for (const [query, answer] of rows) {
      const found = thread.filter((row) => row.Query === query);
      if (found.length !== 1) wrong.push(`${query} is stored ${found.length} times`);
      else if ((found[0].Answer ?? []).join('\n') !== answer) wrong.push(`${query} has another answer now`);
    }
    if (thread.length !== rows.length) wrong.push(`${topic} holds ${thread.length} questions of ${rows.length}`);
  }
  const requests = Object.values(counts).reduce((sum, n) => sum + n, 0);
  if (questions === 0 || requests === 0) wrong.push('no load at all');
  console.log(JSON.stringify({ requests, questions, messages: said.length, retries, failed: wrong.length, slowest_ms: slowest, counts }));
  for (const line of wrong.slice(0, 20)) console.error(line);
  process.exitCode = wrong.length > 0 ? 1 : 0;
}

await { stream, socket, load }[what]();
process.exit();
