// SPDX-License-Identifier: MIT
//
// report: makes tables and pictures of what simulate.mjs has printed.
//
//   node tests/bench/simulate/report.mjs RESULTS.jsonl [FOLDER]
//
// Prints tables in Markdown, and which runs are to be repeated with a larger --slow: their timers were late by more than LATE_MS on
// average. FOLDER gets a picture of each failure, failure-FAILURE-NODES.svg, to which the table links.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fit } from './fits.mjs';

const LATE_MS = 100; // simulated
const [path, folder] = process.argv.slice(2);
const results = readFileSync(path, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
const round = (value, digits = 0) => value.toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: digits });
const row = (...cells) => `| ${cells.join(' | ')} |`;
const head = (...cells) => [row(...cells), `|${'---|'.repeat(cells.length)}`];

const meanLate = ({ late }) => (late ? late.sumMs / late.n : NaN);
const lateText = (one) => `${round(meanLate(one), 1)} (${round(one.late?.mostMs ?? NaN)})`;

const SPANS = { idle: 'without engines', waiting: 'engines wait', loaded: 'under load' };
const count = (span, name) => span.counts[name] ?? 0;

function growthTable(some) {
  const lines = head('Nodes', 'Shards', 'Calls: without engines', 'engines wait', 'under load', 'of each shard, engines wait', 'Script, us a call', 'Script, ms a shard', 'KiB a shard', 'Connections', 'Longest queue', 'Moves', 'Missed', 'Timers late, ms (most)');
  for (const one of some) {
    const { idle, waiting, loaded, nodes, shards } = one;
    lines.push(row(nodes, shards, round(idle.calls), round(waiting.calls), round(loaded.calls), round(waiting.calls / shards, 1), round(waiting.usPerCall), round(waiting.scriptUs / shards / 1000, 1),
      round(waiting.bytes / shards / 1024, 1), round(2 * nodes * shards), one.longest, count(loaded, 'moves'), count(loaded, 'missed hand-overs'), lateText(one)));
  }
  return lines;
}

function fitTable(some, name) {
  const lines = [];
  const figures = { calls: (span) => span.calls, bytes: (span) => span.bytes, 'us in scripts': (span) => span.scriptUs };
  for (const [figure, read] of Object.entries(figures)) {
    const found = fit(some.map((one) => ({ ...one, value: read(one.waiting) })));
    const text = Object.entries(found.factors).map(([term, factor]) => `${Number(factor.toPrecision(3))} × ${term}`).join(' + ').replace(/ × constant/g, '');
    lines.push(row(name, figure, text, `${round(found.error * 100)} %`, `${round(found.worst * 100)} %`));
  }
  return lines;
}

function realTable(some) {
  const lines = head('Nodes', 'Shards', ...Object.values(SPANS).map((name) => `Calls ${name}: real, virtual`), 'KiB under load', 'Script us a call');
  const off = [];
  for (const { nodes, shards, real, virtual } of some) {
    const pair = (span, read, digits) => {
      if (real[span] && read === 'calls') off.push(Math.abs(virtual[span].calls / real[span].calls - 1));
      return `${round(real[span][read], digits)}, ${round(virtual[span][read], digits)}`;
    };
    const kib = (one) => round(one.loaded.bytes / 1024, 1);
    lines.push(row(nodes, shards, ...Object.keys(SPANS).map((span) => pair(span, 'calls', 1)), `${kib(real)}, ${kib(virtual)}`, pair('loaded', 'usPerCall', 0)));
  }
  if (off.length) lines.push('', `Calls differ by ${round(100 * Math.max(...off))} % at most.`);
  return lines;
}

// --- failures ----------------------------------------------------------------------------------

const pictureName = ({ failure, nodes }) => `failure-${failure}-${nodes}.svg`;
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;

function figuresOf(one) {
  const { began, ended, perSecond } = one;
  const before = perSecond.slice(began - 8, began);
  const after = perSecond.slice(began).map((n) => n ?? 0);
  const depths = new Map(one.depths);
  return { usual: median(before), most: Math.max(...after), depth: Math.max(...[...depths].filter(([s]) => s >= began).map(([, n]) => n)), lasted: ended - began };
}

function failureTable(some) {
  const lines = head('Nodes', 'Shards', 'Failure', 'Lasts', 'Calls a second before', 'at most after', 'Longest queue', 'Moves, missed hand-overs', 'Questions', 'Timers late, ms (most)', 'Checker');
  for (const one of some) {
    const { usual, most, depth, lasted } = figuresOf(one);
    const verdict = one.wrongN + one.left === 0 ? 'nothing lost, nothing twice' : `${one.wrongN} wrong, ${one.left} left`;
    lines.push(row(one.nodes, one.shards, folder ? `[${one.name}](${basename(folder)}/${pictureName(one)})` : one.name, `${lasted} s`, round(usual), `${round(most)} (${round(most / usual, 1)} times)`, depth, `${count(one, 'moves')}, ${count(one, 'missed hand-overs')}`, one.figures.questions, lateText(one), verdict));
  }
  return lines;
}

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [640, 200, 60, 30, 26];

function pictureOf(one) {
  const depths = new Map(one.depths);
  const from = Math.max(0, one.began - 10);
  const to = Math.min(one.perSecond.length - 2, one.ended + 25);
  const seconds = Array.from({ length: to - from }, (_, i) => from + i);
  const calls = seconds.map((s) => one.perSecond[s] ?? 0);
  const queue = seconds.map((s) => depths.get(s) ?? 0);
  const [mostCalls, mostQueue] = [Math.max(...calls, 1), Math.max(...queue, 1)];
  const x = (i) => LEFT + (i * (WIDTH - 2 * LEFT)) / (seconds.length - 1);
  const y = (value, most) => HEIGHT - BOTTOM - (value * (HEIGHT - BOTTOM - TOP)) / most;
  const line = (list, most, color) => `<polyline fill="none" stroke="${color}" stroke-width="1.5" points="${list.map((value, i) => `${x(i).toFixed(0)},${y(value, most).toFixed(0)}`).join(' ')}"/>`;
  const text = (at, up, words, anchor = 'start', color = '#333') => `<text x="${at}" y="${up}" text-anchor="${anchor}" fill="${color}">${words}</text>`;
  const [a, b] = [x(one.began - from), x(Math.max(one.ended - from, one.began - from + 0.3))];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<rect x="${a.toFixed(0)}" y="${TOP}" width="${(b - a).toFixed(0)}" height="${HEIGHT - BOTTOM - TOP}" fill="#eee"/>`,
    `<path d="M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - LEFT}V${TOP}" fill="none" stroke="#999"/>`,
    line(calls, mostCalls, '#0b63b0'), line(queue, mostQueue, '#b0400b'),
    text(LEFT, 16, `${one.name}: ${one.nodes} nodes, ${one.shards} shards`),
    text(LEFT - 4, TOP + 4, round(mostCalls), 'end', '#0b63b0'), text(LEFT - 4, HEIGHT - BOTTOM, '0', 'end', '#0b63b0'),
    text(WIDTH - LEFT + 4, TOP + 4, mostQueue, 'start', '#b0400b'), text(WIDTH - LEFT + 4, HEIGHT - BOTTOM, '0', 'start', '#b0400b'),
    text(LEFT, HEIGHT - 10, 'calls a second', 'start', '#0b63b0'), text(WIDTH - LEFT, HEIGHT - 10, 'longest queue of a shard', 'end', '#b0400b'),
    text(WIDTH / 2, HEIGHT - 10, `${seconds.length} s; grey: the failure`, 'middle'),
    '</svg>\n',
  ].join('\n');
}

// --- all -----------------------------------------------------------------------------------------

const of = (kind, filter = () => true) => results.filter((one) => one.kind === kind && filter(one)).sort((a, b) => a.nodes - b.nodes || a.shards - b.shards);
const now = of('growth', ({ unpaced }) => !unpaced);
const before = of('growth', ({ unpaced }) => unpaced);
const parts = [];
if (now.length) parts.push(growthTable(now));
if (before.length) parts.push(['Before:', '', ...growthTable(before)]);
const fits = [...(now.length > 3 ? fitTable(now, 'now') : []), ...(before.length > 3 ? fitTable(before, 'before') : [])];
if (fits.length) parts.push([...head('', 'A second', 'Fit', 'Error', 'Worst'), ...fits]);
if (of('real').length) parts.push(realTable(of('real')));
if (of('failure').length) parts.push(failureTable(of('failure')));
console.log(parts.map((lines) => lines.join('\n')).join('\n\n'));
const wrong = results.flatMap((one) => (one.wrong ?? one.virtual?.wrong ?? []).map((text) => `${one.kind} ${one.nodes} ${one.shards}: ${text}`));
if (wrong.length) console.log(`\n${wrong.join('\n')}`);
const late = results.filter((one) => meanLate(one.virtual ?? one) > LATE_MS);
for (const one of late) console.log(`\nTimers were late, repeat it with --slow ${2 * one.slow}: ${one.kind} ${one.failure} ${one.nodes} ${one.shards}`);
if (folder) for (const one of of('failure')) writeFileSync(join(folder, pictureName(one)), pictureOf(one));
