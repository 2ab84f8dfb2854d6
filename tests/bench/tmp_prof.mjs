// SPDX-License-Identifier: MIT
//
// web_app: what the web app costs a browser where there is much to show: how long it blocks the page at a time (long tasks, of 50 ms
// and more), and what its heap grows by.
//
//   ./dev build release && PARLEY_BIN=build/release/parley node tests/bench/web_app.mjs [ROUNDS] [NAME…]
//
//   topic     a topic of 2,000 questions is opened and scrolled to its beginning
//   answer    an answer of 1 MB with headings, lists, tables and code arrives in pieces of 1 KiB, 50 a second
//   uploads   50 files of 100 KiB are chosen at once, uploaded and indexed (without the limit of uploads a minute)
//
// Each, or those named, in a tab of its own, ROUNDS times (3). Prints a table of medians; asserts nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import { openApp, takeQuestion } from '../support/app.mjs';
import { Browser } from '../support/browser.mjs';
import { forgetLimits } from '../support/documents.mjs';
import { assertOk, eventually, makeFolder, startCluster } from '../support/harness.mjs';
import { prose, startEmbedder } from '../support/indexing.mjs';

const TURNS = 2000;
const TURNS_AT_ONCE = 50;
const ANSWER_BYTES = 1_000_000; // what an answer may be, with the escapes of its JSON
const PIECE_MS = 20;
const FILES = 50;
const LIMITS_MS = 20; // how often uploads a minute are forgotten
const FILE_WORDS = 16_000;
const WAIT_MS = 300_000;
const [rounds = '3', ...names] = process.argv.slice(2);

const PART = (n) => `## Part ${n}\n\nA lease lasts **150 seconds**, unless a [heartbeat](https://example.org/${n}) renews it.\n\n1. The engine sends it.\n2. The node stores it in \`leases\`.\n\n| State | Meaning |\n|---|---|\n| Open | waits |\n| Pending | is with an engine |\n\n\`\`\`c\nint lease_${n} = ${n};\n\`\`\`\n\n${prose(60, n)}\n\n`;

function longAnswer() {
  let text = '';
  for (let n = 0; text.length < ANSWER_BYTES; n += 1) text += PART(n);
  return text.slice(0, ANSWER_BYTES);
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

// A signed-in tab that notes its long tasks from `begin` on.
async function open(cluster, browser, path = 'app/') {
  const app = await openApp(browser, cluster.nodes[0].url, { path });
  app.tab.setDefaultTimeout(WAIT_MS);
  await app.page.send('Performance.enable');
  await app.signIn('User_1', cluster.accounts.User_1.secret);
  await app.tab.locator('main').waitFor();
  const heapMib = async () => {
    await app.page.send('HeapProfiler.collectGarbage');
    const { metrics } = await app.page.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'JSHeapUsedSize').value / (1 << 20);
  };
  const begin = async () => {
    const before = await heapMib();
    await app.page.evaluate(`(window.blocked = [], new PerformanceObserver((list) => window.blocked.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' }))`);
    const startedMs = performance.now();
    return async () => {
      const tookMs = performance.now() - startedMs;
      const blocked = await app.page.evaluate('window.blocked');
      return { longest: Math.max(0, ...blocked), tasks: blocked.length, sum: blocked.reduce((sum, one) => sum + one, 0), seconds: tookMs / 1000, heap: (await heapMib()) - before };
    };
  };
  return { app, begin };
}

// Locators look at every element of the page, in its thread.
const isShown = (app, text) => app.page.evaluate(`[...document.querySelectorAll('.question, .note')].some((one) => one.textContent.includes(${JSON.stringify(text)}))`);
const shows = (app, text) => eventually(() => isShown(app, text), { every: 200, ms: WAIT_MS, what: text });

async function fill(cluster, topic) {
  for (let from = 0; from < TURNS; from += TURNS_AT_ONCE) {
    const added = Array.from({ length: TURNS_AT_ONCE }, (_, i) => ({ Topic: topic, User: 'User_1', Query: `Question ${from + i}: how long does a lease last?` }));
    for (const body of added) assertOk(await cluster.request('POST', '/api/add-query', { as: 'User_1', body }));
    for (let left = TURNS_AT_ONCE; left > 0; ) {
      const { Topic, Lease, Queries } = await cluster.claim({ detail: true });
      for (const [Seq, Query] of (Queries ?? []).flatMap(Object.entries)) {
        await cluster.answer({ Topic, Lease, Seq: Number(Seq), Query, Answer: [PART(from)] });
        left -= 1;
      }
    }
  }
}

async function topic(cluster, browser) {
  const { app, begin } = await open(cluster, browser);
  await app.page.send('Profiler.enable'); await app.page.send('Profiler.setSamplingInterval',{interval:200}); await app.page.send('Profiler.start');
  const end = await begin();
  await app.page.evaluate(`location.hash = '#/t/long'`);
  await shows(app, `Question ${TURNS - 1}:`);
  const {profile}=await app.page.send('Profiler.stop');
  const byId=new Map(profile.nodes.map(n=>[n.id,n])); const self={}; const dt=profile.timeDeltas;
  profile.samples.forEach((id,i)=>{self[id]=(self[id]||0)+dt[i]/1000;});
  const tot=(n)=>n.tot??=(self[n.id]||0)+(n.children||[]).reduce((s,c)=>s+tot(byId.get(c)),0);
  const show=(n,d)=>{ if(tot(n)<12||d>70) return; const kids=(n.children||[]).map(c=>byId.get(c)).sort((a,b)=>tot(b)-tot(a)); const dull=kids[0]&&tot(kids[0])>0.97*tot(n); if(!dull) console.log(' '.repeat(d)+tot(n).toFixed(0)+' ms (self '+(self[n.id]||0).toFixed(0)+') '+n.callFrame.functionName+' '+n.callFrame.url.split('/').pop()+':'+n.callFrame.lineNumber+':'+n.callFrame.columnNumber);  kids.forEach(c=>show(c,d+(dull?0:1))); };
  show(profile.nodes[0],0);
  return {longest:0,tasks:0,sum:0,seconds:0,heap:0};
  while (!(await isShown(app, 'Question 0:'))) {
    await app.page.evaluate(`document.querySelector('.scroller').scrollTo(0, 0)`);
    await sleep(50);
  }
  await app.page.evaluate(`document.querySelector('.scroller').scrollTo(0, 1e9)`);
  await sleep(500);
  return end();
}

async function answer(cluster, browser) {
  const { app, begin } = await open(cluster, browser);
  const text = longAnswer();
  await app.ask('Tell me everything about leases.');
  const engine = await takeQuestion(cluster);
  const end = await begin();
  for (let at = 0; at < text.length; at += 1024) {
    const due = sleep(PIECE_MS);
    await engine.write(text.slice(at, at + 1024));
    await due;
  }
  await engine.end(text, { Model: 'llama3' });
  await shows(app, 'Answered by llama3');
  return end();
}

async function uploads(cluster, browser, folder, round) {
  const { app, begin } = await open(cluster, browser, 'app/#/documents');
  await app.tab.locator('#files').waitFor({ state: 'attached' });
  const names = Array.from({ length: FILES }, (_, n) => folder.file(`file-${round}-${n}.md`, `# File ${round} ${n}\n\n${prose(FILE_WORDS, round * FILES + n)}\n`));
  const end = await begin();
  await app.tab.locator('#files').setInputFiles(names);
  const limits = setInterval(() => void forgetLimits(cluster), LIMITS_MS);
  await app.tab.getByRole('status').getByText(`${FILES * (round + 1)} documents`).waitFor();
  await eventually(async () => (await app.tab.getByRole('progressbar').count()) === 0, { what: 'all are indexed', ms: WAIT_MS });
  clearInterval(limits);
  return end();
}

const embedder = await startEmbedder();
const cluster = await startCluster({ nodes: 1, args: [`--embeddings=openai:${embedder.url}#stub`] });
const browser = await Browser.start();
const folder = makeFolder();
try {
  if (names.length === 0 || names.includes('topic')) await fill(cluster, 'long');
  const found = {};
  for (let round = 0; round < Number(rounds); round += 1)
    for (const [name, run] of Object.entries({ topic, answer, uploads }))
      if (names.length === 0 || names.includes(name)) (found[name] ??= []).push(await run(cluster, browser, folder, round));
  console.log('          longest task   long tasks   blocked in all    took   heap grew by');
  for (const [name, all] of Object.entries(found)) {
    const of = (member, digits = 0) => median(all.map((one) => one[member])).toFixed(digits);
    console.log(`${name.padEnd(10)}${of('longest').padStart(9)} ms ${of('tasks').padStart(12)} ${of('sum').padStart(13)} ms ${of('seconds', 1).padStart(6)} s ${of('heap', 1).padStart(10)} MiB`);
  }
} finally {
  folder.remove();
  await browser.stop();
  await cluster.stop();
  await embedder.stop();
}
