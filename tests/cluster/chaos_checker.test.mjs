// SPDX-License-Identifier: MIT
//
// The checker of chaos.test.mjs finds what it looks for: each test breaks a promise in a history that is right.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ownShards } from '../support/shards.mjs';
import { check } from './chaos_checker.mjs';

ownShards(); // nothing runs

// Three questions in two topics; the engine's first answer to the second one came too late.
function makeHistory() {
  const question = (topic, seq, begun, answer) => ({ topic, seq, text: `${topic}${seq}?`, begun, acked: begun + 1, seen: [[answer]] });
  const questions = [question('a', 1, 10, 'A1'), question('a', 2, 20, 'A2'), question('b', 1, 30, 'B1')];
  const events = [
    { did: 'claim', topic: 'a', lease: 1, rows: [[1, 'a1?'], [2, 'a2?']], sent: 25, at: 26 },
    { did: 'try', query: 'a1?', text: 'A1' },
    { did: 'answered', query: 'a1?', text: 'A1', status: 200, at: 27 },
    { did: 'try', query: 'a2?', text: 'late' },
    { did: 'claim', topic: 'a', lease: 2, rows: [[2, 'a2?']], sent: 36, at: 37 },
    { did: 'try', query: 'a2?', text: 'A2' },
    { did: 'answered', query: 'a2?', text: 'A2', status: 200, at: 38 },
    { did: 'answered', query: 'a2?', text: 'late', status: 409, code: 'lease_lost', at: 39 },
    { did: 'claim', topic: 'b', lease: 3, rows: [[1, 'b1?']], sent: 40, at: 41 },
    { did: 'try', query: 'b1?', text: 'B1' }, // killed before it knew
  ];
  const row = (topic, Seq, answer) => ({ Seq, Query: `${topic}${Seq}?`, Answer: [answer], Status: 'Done' });
  const threads = new Map([['a', [row('a', 1, 'A1'), row('a', 2, 'A2')]], ['b', [row('b', 1, 'B1')]]]);
  return { questions, events, threads };
}

function foundIn(breakIt) {
  const history = makeHistory();
  breakIt(history);
  return check(history).wrong;
}

const BROKEN = {
  'a question that is lost': [({ threads }) => threads.get('a').pop(), /a 2 is lost/],
  'a topic that is lost': [({ threads }) => threads.delete('b'), /b 1 is lost/],
  'a question that was never acknowledged': [({ questions }) => delete questions[2].seq, /b: b1\? was never acknowledged/],
  'a question that is stored twice': [({ threads }) => threads.get('b').push({ ...threads.get('b')[0], Seq: 2 }), /b 2 holds the question of b 1 once more/],
  'a question of nobody': [({ threads }) => threads.get('b').push({ Seq: 2, Query: 'who?', Answer: ['I'], Status: 'Done' }), /nobody asked there: who\?/],
  'one place for two questions': [({ questions }) => questions.push({ ...questions[2], text: 'other?' }), /b 1 was given to 2 questions/],
  'a gap in the Seqs': [({ threads }) => (threads.get('b')[0].Seq = 2), /b: row 1 has Seq 2/],
  'Seqs in another order than the acknowledgements': [({ questions }) => (questions[1].begun = 5) && (questions[1].acked = 6), /a 1 was asked after 2 was acknowledged/],
  'a question without an end': [({ threads }) => (threads.get('b')[0].Status = 'Pending'), /b 1 is Pending/],
  'an answer that is stored twice': [({ threads }) => threads.get('a')[0].Answer.push('A1'), /a 1 has more than one answer/],
  'two accepted answers': [({ events }) => (events[7].status = 200), /a 2: 2 answers were accepted/],
  'an accepted answer that is not the stored one': [({ events }) => (events[2].text = 'A1b'), /a 1: A1b was accepted, and \["A1"\] is stored/],
  'a refused answer that is stored': [({ threads }) => (threads.get('a')[1].Answer = ['late']), /a 2 holds an answer that was refused/],
  'an answer from nowhere': [({ events }) => events.pop(), /b 1 holds an answer that no engine gave to it/],
  'a client that got another answer': [({ questions }) => questions[0].seen.push(['B1']), /a 1: a client got \["B1"\]/],
  'a client that got none': [({ questions }) => (questions[0].seen = []), /a 1: its client got no answer/],
  'a lease that was given twice': [({ events }) => (events[4].lease = 1), /lease 1 of a was given twice/],
  'work that was given out after it was done': [({ events }) => (events[4].rows = [[1, 'a1?']]), /a 1 was given to an engine that asked after its answer was accepted/],
};

describe('the checker of a history', () => {
  it('finds nothing in one that is right', () => assert.deepEqual(foundIn(() => {}), []));

  it('takes a question whose client gave up as stored or not', () => {
    const giveUp = ({ questions }) => Object.assign(questions[2], { seq: undefined, isDoubtful: true, seen: [] });
    assert.deepEqual(foundIn(giveUp), []);
    assert.deepEqual(foundIn((history) => giveUp(history) && history.threads.delete('b')), []);
  });

  for (const [what, [breakIt, sentence]] of Object.entries(BROKEN)) {
    it(`finds ${what}`, () => assert.match(foundIn(breakIt).join('\n'), sentence));
  }
});
