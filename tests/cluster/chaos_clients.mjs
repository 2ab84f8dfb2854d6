// SPDX-License-Identifier: MIT
//
// chaos_clients: clients of chaos.test.mjs that ask questions in every way that a client can wait for its answer, and send
// each request again, to another node, until they have one. Some give up instead: their question may be stored or not.
//
//   const clients = startClients({ urls, account, of: 5000, atOnce: 48 });
//   clients.questions   all so far, as chaos_checker.mjs reads them
//   clients.answered    how many have their answer
//   clients.stop()      no further questions
//   await clients.done  rejects when a client gets what it must not get
import { randomBytes } from 'node:crypto';
import { insist, meansTryAgain, send } from './chaos_http.mjs';

const WAIT_S = 20;
const TOPICS = 64; // at once
const ROWS = 12; // of a topic; then another takes its place
const GIVES_UP = 0.01;
const WAYS = ['wait', 'wait', 'check', 'stream']; // each question takes one of them

const now = () => Number(process.hrtime.bigint() / 1000n) / 1000;

export function startClients({ urls, account, of = Infinity, atOnce = 48, onRetry = () => {} }) {
  const run = randomBytes(4).toString('hex');
  const questions = [];
  const topics = Array.from({ length: TOPICS }, (_, i) => ({ name: `chaos-${run}-${i}`, left: ROWS }));
  let topicN = TOPICS;
  let answered = 0;
  let isStopped = false;
  let turn = 0;

  const call = (method, path, options, more = {}) => insist(urls, method, path, { account, ...options }, { onRetry, turn: turn++, ...more });

  function refuse(question, what, { status, text }) {
    throw new Error(`${what} of ${question.topic} ${question.seq ?? ''} (${question.text}): ${status} ${text}`);
  }

  function takeTopic() {
    const i = Math.floor(Math.random() * TOPICS);
    topics[i].left--;
    const { name } = topics[i];
    if (topics[i].left === 0) topics[i] = { name: `chaos-${run}-${topicN++}`, left: ROWS };
    return name;
  }

  // With an Idempotency-Key, so that it may be sent any number of times. False: the client gave up.
  async function add(question, user, query) {
    const isImpatient = Math.random() < GIVES_UP;
    const body = { Topic: question.topic, User: user, Query: question.text };
    const headers = { 'idempotency-key': randomBytes(12).toString('hex') };
    question.begun = now();
    const added = await call('POST', '/api/add-query', { body, headers, query }, { isOver: () => isImpatient });
    if (added === null) {
      question.isDoubtful = true;
      return false;
    }
    if (added.status !== 200) refuse(question, 'add-query', added);
    question.acked = now();
    question.seq = added.json.Seq;
    if (added.json.Answer) question.seen.push(added.json.Answer);
    return true;
  }

  async function poll(question) {
    for (;;) {
      const query = { Topic: question.topic, Seq: question.seq, Wait: WAIT_S, Detail: 'true' };
      const response = await call('GET', '/api/check-query', { query });
      if (response.status !== 200 || ['Failed', 'Cancelled'].includes(response.json.Status)) refuse(question, 'check-query', response);
      if (response.json.Answer) return question.seen.push(response.json.Answer);
    }
  }

  // The pieces put together, over however many connections, are the answer.
  async function stream(question) {
    let text = '';
    let last;
    let answer;
    while (!answer) {
      const query = { Topic: question.topic, Seq: question.seq, Wait: WAIT_S };
      try {
        const response = await send(urls[turn++ % urls.length], 'GET', '/api/check-query', {
          account,
          query,
          headers: last === undefined ? {} : { 'last-event-id': last },
          onEvent(event, data, id) {
            if (id) last = id;
            if (event === 'token') text += data.text;
            if (event === 'reset') text = data.text;
            if (event === 'restart') text = '';
            if (event === 'done') answer = data.Answer;
          },
        });
        if (response.status !== 200 && !meansTryAgain(response)) refuse(question, 'the stream', response);
        if (response.status !== 200) onRetry(`the stream: ${response.status} ${response.text}`);
      } catch (error) {
        if (error.message.startsWith('the stream of')) throw error;
        onRetry(`the stream: ${error.message}`);
      }
      if (!answer) await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 60));
    }
    question.seen.push(answer, [text]);
  }

  async function client(number) {
    const user = `user-${run}-${number}`;
    while (!isStopped && questions.length < of) {
      const question = { topic: takeTopic(), text: `question ${questions.length} of ${run}`, seen: [] };
      questions.push(question);
      const way = WAYS[Math.floor(Math.random() * WAYS.length)];
      if (!(await add(question, user, way === 'wait' ? { Wait: WAIT_S } : {}))) continue;
      if (way === 'stream') await stream(question);
      else if (question.seen.length === 0) await poll(question);
      answered++;
    }
  }

  const done = Promise.all(Array.from({ length: atOnce }, (_, i) => client(i)));
  done.catch(() => {});
  return {
    questions,
    done,
    stop: () => (isStopped = true),
    get answered() {
      return answered;
    },
  };
}
