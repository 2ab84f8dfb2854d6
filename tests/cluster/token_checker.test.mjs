// SPDX-License-Identifier: MIT
//
// The checker of tokens.test.mjs finds what it looks for: each test breaks a promise in a history that is right.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ownShards } from '../support/shards.mjs';
import { check } from './token_checker.mjs';

ownShards(); // nothing runs

const event = (name, id, text) => ({ event: name, id, data: text === undefined ? {} : { text } });
const done = { event: 'done', id: undefined, data: { Answer: ['Añ b'] } };

// Two viewers of one answer, whose first claim was lost. The second one came late.
function makeHistory() {
  const first = {
    topic: 'a',
    steps: [
      { open: undefined },
      event('queue'),
      event('token', '1-5', 'False'),
      { open: '1-5' },
      event('restart'),
      { open: '1-5' },
      event('restart'),
      event('think', '2-3', 'hm.'),
      event('token', '2-6', 'Añ'),
      { open: '2-6' },
      event('token', '2-8', ' b'),
      done,
    ],
  };
  const second = { topic: 'a', steps: [{ open: undefined }, event('think', '2-3', 'hm.'), event('token', '2-8', 'Añ b'), done, { open: undefined }, event('think', '2-3', 'hm.'), event('token', '2-8', 'Añ b'), done] };
  return {
    views: [first, second],
    written: new Map([['a', [{ lease: '1', Think: '', Answer: 'False start' }, { lease: '2', Think: 'hm.', Answer: 'Añ b' }]]]),
    answers: new Map([['a', { Status: 'Done', Think: ['hm.'], Answer: ['Añ b'] }]]),
  };
}

const stepsOf = ({ views }, i = 0) => views[i].steps;
const answerOf = ({ answers }) => answers.get('a');

const BROKEN = {
  'a piece that is lost': [(h) => stepsOf(h).splice(8, 1), /2 bytes that end at 2-8 came after 2-3/],
  'a piece that comes twice': [(h) => stepsOf(h).splice(9, 0, event('token', '2-6', 'Añ')), /2-6 came after 2-6/],
  'ids that fall': [(h) => (stepsOf(h)[10].id = '2-5'), /2-5 came after 2-6/],
  'ids that do not rise over a reconnect': [(h) => (stepsOf(h)[10].id = '2-6'), /2-6 came after 2-6/],
  'the text of a new claim after that of an old one': [(h) => stepsOf(h).splice(3, 4), /2-3 came after 1-5 without a restart/],
  'a restart within a claim': [(h) => stepsOf(h).splice(10, 0, event('restart')), /a restart, and 2-8 continues 2-6/],
  'a text without an id': [(h) => delete stepsOf(h)[2].id, /token has the id undefined/],
  'another event with an id': [(h) => (stepsOf(h)[1].id = '1-1'), /queue has the id 1-1/],
  'a reset': [(h) => stepsOf(h).splice(11, 0, event('reset', undefined, 'Añ b')), /reset \{"text":"Añ b"\}/],
  'an error': [(h) => stepsOf(h).splice(11, 0, event('error')), /error \{\}/],
  'an event after the end': [(h) => stepsOf(h).push(event('queue')), /queue after the end/],
  'a viewer without an end': [(h) => stepsOf(h).pop(), /a viewer did not see the end/],
  'a viewer that continues elsewhere': [(h) => (stepsOf(h)[9].open = '2-3'), /a viewer at 2-6 continued after 2-3/],
  'another text of the same length': [(h) => (stepsOf(h)[8].data.text = 'Ann'), /saw "Ann b"/],
  'a character that is cut': [(h) => Object.assign(stepsOf(h)[8], { id: '2-5', data: { text: 'A\ufffd' } }), /4 bytes that end at 2-5/],
  'two texts of one claim': [(h) => (stepsOf(h, 1)[1].data.text = 'ho.') && stepsOf(h, 1).splice(4), /two viewers of claim 2 saw different texts/],
  'thoughts and answer in another order': [(h) => stepsOf(h, 1).splice(0, 8, { open: undefined }, event('token', '2-5', 'Añ b'), event('think', '2-8', 'hm.'), done), /two viewers of claim 2 saw different texts/],
  'an end that is not what is stored': [(h) => (stepsOf(h)[11] = { ...done, data: { Answer: ['Añ'] } }), /done says \["Añ"\]/],
  'an answer that is not what was seen': [(h) => (answerOf(h).Answer = ['Añ b.']), /a viewer saw "Añ b", and \["Añ b\."\] is stored as Answer/],
  'thoughts that are not what was seen': [(h) => (answerOf(h).Think = null), /a viewer saw "hm\.", and null is stored as Think/],
  'an answer that no engine wrote': [(h) => h.written.get('a').pop(), /no engine wrote \["Añ b"\]/],
  'an answer without an end': [(h) => (answerOf(h).Status = 'Pending'), /a is Pending/],
};

describe('the checker of answers under way', () => {
  it('finds nothing in a history that is right, and counts', () => {
    const { wrong, figures } = check(makeHistory());
    assert.deepEqual(wrong, []);
    assert.deepEqual(figures, { answers: 1, viewers: 2, reconnects: 4, 'most reconnects of a viewer': 3, events: 8, restarts: 2, 'claims whose text was seen': 2, 'claims of engines': 2 });
  });

  for (const [what, [breakIt, sentence]] of Object.entries(BROKEN)) {
    it(`finds ${what}`, () => {
      const history = makeHistory();
      breakIt(history);
      assert.match(check(history).wrong.join('\n'), sentence);
    });
  }
});
