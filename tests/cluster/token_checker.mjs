// SPDX-License-Identifier: MIT
//
// token_checker: compares all that viewers of answers under way were sent with what engines wrote and what is stored. Pure:
// token_checker.test.mjs proves on invented histories that it finds what it looks for.
//
//   views    [{topic, steps}], in the order in which they came. A step is {open: id} when the viewer connects again after
//            that id (undefined: from the start), or an event {event, id, data}
//   written  topic -> [{lease, Think, Answer}]: what its engines meant to write, under each lease
//   answers  topic -> {Status, Think, Answer} as check-query returns it in the end
// Returns {wrong: [sentence], figures: {name: number}}.

const KINDS = { think: 'Think', token: 'Answer' };
const START = [0, 0];
const numbersOf = (id) => (id === undefined ? START : id.split('-').map(Number));
const isBehind = ([claim, offset], [a, b]) => claim > a || (claim === a && offset > b);
const joined = (value) => [value ?? ''].flat().join('');

// The text of one claim as one viewer was sent it. `order` has a mark where thoughts and answer follow each other.
class Text {
  Think = '';
  Answer = '';
  order = '';
  #last;

  add(kind, text) {
    this[kind] += text;
    this.order += kind === this.#last ? text : `\0${kind}\0${text}`;
    this.#last = kind;
  }
}

// One viewer's history, step by step. `texts`: the claims that it saw, by their numbers.
class View {
  texts = new Map();
  #at = START;
  #restarted = false;
  #last;
  done;

  constructor({ topic, steps }, say) {
    this.steps = steps;
    this.say = (what) => say(`${topic}: ${what}`);
  }

  read() {
    for (const step of this.steps) {
      if ('open' in step) this.#open(step.open);
      else this.#take(step);
    }
    if (!this.done) this.say('a viewer did not see the end');
    return this;
  }

  get text() {
    return this.texts.get(this.#at[0]) ?? new Text();
  }

  // From the start all comes again: what was shown is cleared, as by a page that is loaded again.
  #open(id) {
    if (id !== undefined && id !== this.#last) this.say(`a viewer at ${this.#last} continued after ${id}`);
    if (id === undefined) [this.#at, this.#last, this.#restarted, this.texts] = [START, undefined, false, new Map()];
    this.done = undefined;
  }

  #take({ event, id, data }) {
    if (this.done) return this.say(`${event} after the end`);
    if (KINDS[event]) return this.#takeText(event, id, data.text);
    if (id !== undefined) this.say(`${event} has the id ${id}`);
    if (event === 'restart') this.#restarted = true;
    else if (event === 'done') this.done = data;
    else if (event !== 'queue') this.say(`${event} ${JSON.stringify(data)}`);
  }

  #takeText(event, id, text) {
    const next = numbersOf(id);
    if (!/^[1-9]\d*-[1-9]\d*$/.test(id ?? '')) return this.say(`${event} has the id ${id}`);
    if (!isBehind(next, this.#at)) this.say(`${id} came after ${this.#last}`);
    const isNew = next[0] !== this.#at[0];
    if (isNew && this.#last !== undefined && !this.#restarted) this.say(`${id} came after ${this.#last} without a restart`);
    if (!isNew && this.#restarted && this.texts.has(next[0])) this.say(`a restart, and ${id} continues ${this.#last}`);
    const begin = isNew ? 0 : this.#at[1];
    if (begin + Buffer.byteLength(text) !== next[1]) this.say(`${Buffer.byteLength(text)} bytes that end at ${id} came after ${this.#last}`);
    if (isNew || !this.texts.has(next[0])) this.texts.set(next[0], new Text());
    [this.#at, this.#last, this.#restarted] = [next, id, false];
    this.text.add(KINDS[event], text);
  }
}

// All viewers of a claim were sent the beginnings of one text.
function checkClaims(topic, views, say) {
  const longest = new Map();
  for (const { texts } of views) {
    for (const [claim, { order }] of texts) {
      const [short, long] = [order, longest.get(claim) ?? ''].sort((a, b) => a.length - b.length);
      if (!long.startsWith(short)) say(`${topic}: two viewers of claim ${claim} saw different texts`);
      longest.set(claim, long);
    }
  }
  return longest.size;
}

function checkEnd(topic, view, answer, say) {
  for (const kind of ['Think', 'Answer']) {
    if (view.text[kind] !== joined(answer[kind])) say(`${topic}: a viewer saw ${JSON.stringify(view.text[kind])}, and ${JSON.stringify(answer[kind])} is stored as ${kind}`);
  }
  if (view.done && JSON.stringify(view.done.Answer) !== JSON.stringify(answer.Answer)) say(`${topic}: done says ${JSON.stringify(view.done.Answer)}`);
}

function checkStored(topic, answer, written, say) {
  if (answer?.Status !== 'Done') return say(`${topic} is ${answer?.Status}`);
  const isWritten = ({ Think, Answer }) => Think === joined(answer.Think) && Answer === joined(answer.Answer);
  if (!written?.some(isWritten)) say(`${topic}: no engine wrote ${JSON.stringify(answer.Answer)}`);
}

export function check({ views, written, answers }) {
  const wrong = [];
  const say = (sentence) => wrong.push(sentence);
  const byTopic = new Map([...answers.keys()].map((topic) => [topic, []]));
  for (const view of views) byTopic.get(view.topic).push(new View(view, say).read());
  let claims = 0;
  for (const [topic, seen] of byTopic) {
    const answer = answers.get(topic);
    checkStored(topic, answer, written.get(topic), say);
    claims += checkClaims(topic, seen, say);
    for (const view of seen) checkEnd(topic, view, answer ?? {}, say);
  }
  const count = (fits) => views.reduce((sum, { steps }) => sum + steps.filter(fits).length, 0);
  const reconnects = views.map(({ steps }) => steps.filter((step) => 'open' in step).length - 1);
  return {
    wrong,
    figures: {
      answers: answers.size,
      viewers: views.length,
      reconnects: reconnects.reduce((sum, n) => sum + n, 0),
      'most reconnects of a viewer': Math.max(...reconnects),
      events: count(({ event }) => event in KINDS),
      restarts: count(({ event }) => event === 'restart'),
      'claims whose text was seen': claims,
      'claims of engines': [...written.values()].reduce((sum, { length }) => sum + length, 0),
    },
  };
}
