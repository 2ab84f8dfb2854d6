// SPDX-License-Identifier: MIT
//
// chaos_checker: compares all that clients and engines saw with what is stored in the end. Pure: chaos.test.mjs proves on
// invented histories that it finds what it looks for.
//
//   questions  [{topic, text, begun, acked, seq, isDoubtful, seen: [Answer]}]  as clients saw them. acked: when the first
//              200 came, undefined if none did; isDoubtful: the client gave up, so it may be stored or not, but once
//   events     lines of chaos_engine.mjs
//   threads    topic -> rows {Seq, Query, Answer, Status} as get-topic-thread with Detail shows them
// All times are ms of one clock. Returns {wrong: [sentence], figures: {name: number}}.

function byKey(list, keyOf) {
  const found = new Map();
  for (const one of list) found.set(keyOf(one), [...(found.get(keyOf(one)) ?? []), one]);
  return found;
}

// A topic's Seqs are in the order in which its questions were acknowledged, as far as one was before another began.
function checkOrder(topic, questions, wrong) {
  const begun = questions.filter(({ seq }) => seq).sort((a, b) => a.begun - b.begun);
  const acked = [...begun].sort((a, b) => a.acked - b.acked);
  let highest = 0;
  let at = 0;
  for (const question of begun) {
    for (; at < acked.length && acked[at].acked < question.begun; at++) highest = Math.max(highest, acked[at].seq);
    if (question.seq <= highest) wrong.push(`${topic} ${question.seq} was asked after ${highest} was acknowledged`);
  }
}

function checkRows(threads, questions, wrong) {
  const known = new Map(questions.map((question) => [question.text, question]));
  const places = new Map();
  for (const [topic, rows] of threads) {
    rows.forEach(({ Seq, Query }, i) => {
      if (Seq !== i + 1) wrong.push(`${topic}: row ${i + 1} has Seq ${Seq}`);
      if (known.get(Query)?.topic !== topic) wrong.push(`${topic} ${Seq} holds a question that nobody asked there: ${Query}`);
      if (places.has(Query)) wrong.push(`${topic} ${Seq} holds the question of ${places.get(Query)} once more`);
      places.set(Query, `${topic} ${Seq}`);
    });
  }
}

// What engines were answered, by question: texts that were tried, accepted, refused.
function readEvents(events) {
  const of = new Map();
  const get = (query) => of.get(query) ?? of.set(query, { tried: new Set(), accepted: new Set(), refused: new Set(), acceptedAt: Infinity }).get(query);
  for (const event of events) {
    if (event.did === 'try') get(event.query).tried.add(event.text);
    if (event.did !== 'answered') continue;
    const known = get(event.query);
    if (event.status === 200) {
      known.accepted.add(event.text);
      known.acceptedAt = Math.min(known.acceptedAt, event.at);
    } else known.refused.add(event.text);
  }
  return of;
}

function checkAnswer(question, row, known, wrong) {
  const where = `${question.topic} ${row.Seq}`;
  if (row.Status !== 'Done') return wrong.push(`${where} is ${row.Status}`);
  const stored = JSON.stringify(row.Answer);
  const [text, ...more] = row.Answer;
  if (more.length > 0) wrong.push(`${where} has more than one answer: ${stored}`);
  if (!known?.tried.has(text)) wrong.push(`${where} holds an answer that no engine gave to it: ${stored}`);
  if (known?.refused.has(text) && !known.accepted.has(text)) wrong.push(`${where} holds an answer that was refused: ${stored}`);
  if (known?.accepted.size > 1) wrong.push(`${where}: ${known.accepted.size} answers were accepted`);
  for (const accepted of known?.accepted ?? []) if (accepted !== text) wrong.push(`${where}: ${accepted} was accepted, and ${stored} is stored`);
  for (const seen of question.seen) if (JSON.stringify(seen) !== stored) wrong.push(`${where}: a client got ${JSON.stringify(seen)}, and ${stored} is stored`);
}

function checkClaims(claims, answers, wrong) {
  const leases = new Set();
  for (const { topic, lease, rows, sent } of claims) {
    if (leases.has(`${topic} ${lease}`)) wrong.push(`lease ${lease} of ${topic} was given twice`);
    leases.add(`${topic} ${lease}`);
    for (const [seq, text] of rows) {
      if (answers.get(text)?.acceptedAt < sent) wrong.push(`${topic} ${seq} was given to an engine that asked after its answer was accepted`);
    }
  }
}

export function check({ questions, events, threads }) {
  const wrong = [];
  const acked = questions.filter(({ seq }) => seq);
  for (const { topic, text, seq, isDoubtful } of questions) if (!seq && !isDoubtful) wrong.push(`${topic}: ${text} was never acknowledged`);
  for (const [place, same] of byKey(acked, ({ topic, seq }) => `${topic} ${seq}`)) {
    if (same.length > 1) wrong.push(`${place} was given to ${same.length} questions`);
  }
  for (const [topic, some] of byKey(acked, ({ topic }) => topic)) checkOrder(topic, some, wrong);
  checkRows(threads, questions, wrong);
  const answers = readEvents(events);
  for (const question of questions) {
    const rows = threads.get(question.topic) ?? [];
    const row = question.seq ? rows[question.seq - 1] : rows.find(({ Query }) => Query === question.text);
    if (row?.Query === question.text) checkAnswer(question, row, answers.get(question.text), wrong);
    else if (question.seq) wrong.push(`${question.topic} ${question.seq} is lost: ${question.text}`);
    if (!question.isDoubtful && question.seen.length === 0) wrong.push(`${question.topic} ${question.seq}: its client got no answer`);
  }
  const claims = events.filter(({ did }) => did === 'claim');
  checkClaims(claims, answers, wrong);
  const given = claims.reduce((sum, { rows }) => sum + rows.length, 0);
  return {
    wrong,
    figures: {
      questions: questions.length,
      topics: threads.size,
      acknowledged: acked.length,
      'given up by clients': questions.filter(({ isDoubtful }) => isDoubtful).length,
      claims: claims.length,
      'questions claimed again': given - new Set(claims.flatMap(({ rows }) => rows.map(([, text]) => text))).size,
      'late answers refused': [...answers.values()].reduce((sum, { refused }) => sum + refused.size, 0),
    },
  };
}
