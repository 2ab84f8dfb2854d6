// SPDX-License-Identifier: MIT
//
// resumable_stream: the load of `parley bench --mode tokens` for npm's resumable-stream: engines that write answers, and viewers
// that follow them, in this process; between them a publisher and a viewer process that share a Redis (resumable_server.mjs).
//
//   await measureResumable(redis, {streams, rate, perPiece, viewers, seconds, client, bare})
//     -> {sent_per_s, delivered_per_s, p50_ms, p99_ms, max_ms, servers, redis, unequal}
//
// servers, redis: CPU of both processes and of Redis, in ms per 1,000 tokens delivered. An engine's answer is one HTTP response,
// sent piece by piece. The publisher keeps what it has sent in its memory; Redis stores none of it. `bare`: without HTTP and
// without viewers of their own, so without delays: what the library alone costs.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { adopt } from '../../support/redis.mjs';
import { asEvent, eventReader, pace, pieceChars } from './streams.mjs';

const WARM_UP_MS = 1000;
const END_MS = 5000;
const TICK_MS = 10; // of /proc/PID/stat
const SERVER = fileURLToPath(new URL('resumable_server.mjs', import.meta.url));

export function cpuMs(pids) {
  const ticksOf = (pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
    return Number(fields[11]) + Number(fields[12]);
  };
  return pids.reduce((sum, pid) => sum + ticksOf(pid) * TICK_MS, 0);
}

export const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))];

async function startServer(role, redis, client) {
  const child = adopt(fork(SERVER, [role, client], { env: { ...process.env, REDIS_URL: redis.url } }));
  const [{ port }] = await once(child, 'message');
  return {
    pid: child.pid,
    url: `http://127.0.0.1:${port}`,
    async tell(kind, options) {
      child.send({ kind, options });
      const [reply] = await once(child, 'message');
      return reply.counted;
    },
    stop: () => child.kill(),
  };
}

// The engines: each answers one request, when it is asked to, and is written to by send(k, text).
async function startEngines() {
  const answers = [];
  const server = http.createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    answers[Number(request.url.slice(1))] = response;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    urlOf: (k) => `http://127.0.0.1:${server.address().port}/${k}`,
    send: (k, text) => answers[k].write(asEvent(text)),
    end: () => answers.forEach((answer) => answer.end()),
    stop: () => server.close(),
  };
}

// Follows stream `k`; ended resolves with all of its text. onText(chars before, chars after).
async function follow(url, agent, onText) {
  const request = http.get(url, { agent });
  const [response] = await once(request, 'response');
  if (response.statusCode !== 200) throw new Error(`the viewer process answered ${response.statusCode}`);
  let all = '';
  const read = eventReader((text) => {
    const before = all.length;
    all += text;
    onText(before, all.length);
  });
  response.setEncoding('utf8').on('data', read);
  return { ended: once(response, 'end').then(() => all) };
}

async function withHttp({ streams, viewers, rate, perPiece, seconds }, publisher, viewer, measure) {
  const engines = await startEngines();
  const agent = new http.Agent({ maxSockets: Infinity });
  const sentAt = Array.from({ length: streams }, () => []);
  const texts = Array.from({ length: streams }, () => []);
  const delays = [];
  let [sent, delivered, isCounting] = [0, 0, false];
  for (let k = 0; k < streams; k++) await (await fetch(`${publisher.url}/s${k}?engine=${engines.urlOf(k)}`)).text();
  const onText = (k) => (before, after) => {
    const now = performance.now();
    delivered += after - before;
    if (isCounting) for (let piece = Math.floor(before / pieceChars(perPiece)); piece < Math.floor(after / pieceChars(perPiece)); piece++) delays.push(now - sentAt[k][piece]);
  };
  const followed = [];
  for (let i = 0; i < streams * viewers; i++) followed.push({ k: i % streams, ...(await follow(`${viewer.url}/s${i % streams}`, agent, onText(i % streams))) });
  const stop = pace({ streams, rate, perPiece }, (k, text) => {
    sentAt[k].push(performance.now());
    texts[k].push(text);
    sent += text.length;
    engines.send(k, text);
  });
  await sleep(WARM_UP_MS);
  isCounting = true;
  const figures = await measure(() => [sent, delivered], seconds);
  isCounting = false;
  stop();
  engines.end();
  const read = await Promise.all(followed.map(({ ended }) => Promise.race([ended, sleep(END_MS, undefined, { ref: false })])));
  const unequal = read.filter((text, i) => text !== texts[followed[i].k].join('')).length;
  engines.stop();
  delays.sort((a, b) => a - b);
  return { ...figures, p50_ms: quantile(delays, 0.5), p99_ms: quantile(delays, 0.99), max_ms: delays.at(-1), unequal };
}

async function withoutHttp(options, publisher, viewer, measure) {
  await publisher.tell('bare', options);
  await viewer.tell('bare', options);
  await sleep(WARM_UP_MS);
  const figures = await measure(async () => [await publisher.tell('count'), await viewer.tell('count')], options.seconds);
  await publisher.tell('end');
  return figures;
}

export async function measureResumable(redis, options) {
  const publisher = await startServer('publisher', redis, options.client);
  const viewer = await startServer('viewer', redis, options.client);
  const [, redisPid] = /process_id:(\d+)/.exec(await redis.cmd('INFO', 'server'));
  const used = () => ({ ms: performance.now(), servers: cpuMs([publisher.pid, viewer.pid]), redis: cpuMs([redisPid]) });
  // Both ends of the measured time. `count` returns the characters sent and delivered so far.
  const measure = async (count, seconds) => {
    const [[sent, delivered], before] = [await count(), used()];
    await sleep(seconds * 1000);
    const [[sentNow, deliveredNow], now] = [await count(), used()];
    const tokens = (chars) => chars / pieceChars(1);
    const perS = (chars) => (tokens(chars) * 1000) / (now.ms - before.ms);
    const per1k = (name) => ((now[name] - before[name]) * 1000) / tokens(deliveredNow - delivered);
    return { sent_per_s: perS(sentNow - sent), delivered_per_s: perS(deliveredNow - delivered), servers: per1k('servers'), redis: per1k('redis') };
  };
  try {
    return await (options.bare ? withoutHttp : withHttp)(options, publisher, viewer, measure);
  } finally {
    publisher.stop();
    viewer.stop();
  }
}
