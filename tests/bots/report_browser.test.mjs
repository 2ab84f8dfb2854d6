// SPDX-License-Identifier: MIT
//
// The report of `parley evaluate` in a real browser: it asks for nothing, the curve is there, it can be read without color, by a
// screen reader and on paper, and texts of others in it are texts. PARLEY_TEST_SHOTS names a folder for pictures of it. Skipped
// where no browser is installed.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Browser, contrasts, findBrowser } from '../support/browser.mjs';
import { conversationOf, evaluateCommands, linesOf, messagesOf, ORIGINAL, PERSON, registerBot, startBot } from '../support/evaluations.mjs';
import { suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // a file that a command wrote: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';
const TURNS = 40;
const FAILED = [7, 14, 21, 28, 35];
const VIEWS = [
  { name: 'light', width: 1200, scheme: 'light' },
  { name: 'dark', width: 1200, scheme: 'dark' },
  { name: 'phone', width: 390, scheme: 'light' },
  { name: 'phone-dark', width: 390, scheme: 'dark' },
  { name: 'narrow', width: 320, scheme: 'light' },
];
// What a bot or a person might write to get out of its cell.
const HOSTILE = [
  '</td></tr></table></div></main><script>document.title = "taken"; fetch("http://evil.example/x")</script>',
  '<img src="http://evil.example/x.png" onerror="document.title = 1"><svg onload=alert(1)><style>@import "http://evil.example/x.css";</style>',
  '"><iframe src="http://evil.example/"></iframe><form action="http://evil.example/"><button>Go</button></form>',
  "' onmouseover='alert(1)' {{style}} &amp; &#x3c;b&#x3e; <!-- <meta http-equiv=refresh content='0;url=http://evil.example/'>",
  '\u202egnirts desrever\u2066 \u0000\u0007\u001b[31m\ufeff'.replace('\u0000', ''),
  `${'w'.repeat(60_000)} end`,
];

suite('the report of an evaluation in a browser', { nodes: 1, args: ['--allow-private-endpoints'], sweep: false }, ({ test, cluster }) => {
  const commands = evaluateCommands(cluster);
  const bots = [];
  const reports = {};
  const urlOf = (name) => pathToFileURL(reports[name]).href;

  async function evaluated(name, answer, conversation, words = []) {
    const bot = await startBot(answer);
    bots.push(bot);
    await registerBot(cluster, name, bot.url);
    const path = commands.file(`${name}.jsonl`);
    writeFileSync(path, conversation);
    reports[name] = commands.file(`${name}.html`);
    const { code, stdout, stderr } = await commands.run(['--bot', name, '--conversation', path, '--report', reports[name], '--json', ...words]);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  }
  const runs = {};
  before(async () => {
    if (skip) return;
    runs.first = await evaluated('first', ({ i }) => (i % 9 ? { message: `I do not remember ${'it '.repeat(i % 6)}well.` } : { status: 404 }), conversationOf(TURNS));
    runs.second = await evaluated('second', ({ i }) => (i % 7 ? { message: ORIGINAL(i).slice(0, 12 + 3 * (i % 11)) } : { status: 404 }), conversationOf(TURNS), ['--against', runs.first.id]);
    const messages = messagesOf(HOSTILE.length);
    for (const [i, text] of HOSTILE.entries()) for (const at of [2 * i, 2 * i + 1]) messages[at].text = `${text}${at % 2 ? ' answer' : ` number ${i + 1}?`}`;
    runs.hostile = await evaluated('hostile', ({ i }) => ({ message: HOSTILE[i - 1] }), linesOf(messages));
  });
  after(async () => {
    for (const bot of bots) await bot.stop();
    commands.remove();
  });

  async function withBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }
  const shot = async (page, name) => {
    if (process.env.PARLEY_TEST_SHOTS) await page.screenshot(join(process.env.PARLEY_TEST_SHOTS, `report-${name}.png`));
  };

  test('no request leaves the page, no script is in it, and its policy allows its one style alone', () =>
    withBrowser(async (browser) => {
      for (const name of Object.keys(reports)) {
        const text = readFileSync(reports[name], 'utf8');
        assert.doesNotMatch(text, /<(script|img|iframe|form|link|object|button|a)\b|\sstyle=|@import "|url\(/i, name);
        const styles = [...text.matchAll(/<style>([^]*?)<\/style>/g)];
        assert.equal(styles.length, 1);
        const hash = createHash('sha256').update(styles[0][1]).digest('base64');
        const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
        assert.ok(text.includes(`<meta http-equiv="Content-Security-Policy" content="${policy}">`), name);
        const page = await browser.open(urlOf(name));
        assert.deepEqual(page.requests, [urlOf(name)], name);
        assert.deepEqual(page.complaints, [], name);
      }
    }), { skip });

  test('fits every width, and every text has a contrast of 4.5 at least', () =>
    withBrowser(async (browser) => {
      const backs = new Set();
      for (const { name, ...view } of VIEWS) {
        const page = await browser.open(urlOf('second'), view);
        assert.ok((await page.evaluate('document.documentElement.scrollWidth')) <= view.width, name);
        const found = (await page.evaluate(`(${contrasts})()`)).filter(([text]) => text);
        assert.ok(found.length > 100, name);
        for (const [text, contrast] of found) assert.ok(contrast >= 4.5, `${name}: ${text}: ${contrast}`);
        backs.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
        await shot(page, name);
      }
      assert.equal(backs.size, 2, 'light and dark differ');
    }), { skip });

  test('the curve is there: a marker where each turn was measured, at its height, a cross for each that failed, and the mean', () =>
    withBrowser(async (browser) => {
      const page = await browser.open(urlOf('second'));
      const drawn = await page.evaluate(`(() => {
        const middle = (element) => { const r = element.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; };
        const all = (selector) => [...document.querySelectorAll('svg ' + selector)].map((element) => [...middle(element), element.textContent]);
        const box = document.querySelector('svg').getBoundingClientRect();
        return { box: [box.x, box.y, box.right, box.bottom], one: all('.dot.one'), other: all('.dot.other'), failed: all('.failed:not(.other)'), otherFailed: all('.failed.other'), mean: all('.mean'), lines: all('.line').length, band: all('.band').length };
      })()`);
      const measured = runs.second.turns.filter(({ distance }) => distance !== null);
      assert.deepEqual(drawn.failed.map(([, , text]) => text), FAILED.map((i) => `turn ${i} failed`));
      assert.deepEqual(drawn.one.map(([, , text]) => text), measured.map(({ turn, distance }) => `turn ${turn}: ${distance.toFixed(4)}`));
      assert.equal(drawn.other.length, runs.first.turns.filter(({ distance }) => distance !== null).length);
      assert.equal(drawn.otherFailed.length, Math.floor(TURNS / 9));
      assert.deepEqual([drawn.lines, drawn.band, drawn.mean.length], [2, 1, 1]);
      // Heights are linear in the distance: two markers give the scale, and all others and the mean are on it.
      const [low, high] = [Math.min, Math.max].map((pick) => measured.findIndex(({ distance }) => distance === pick(...measured.map((turn) => turn.distance))));
      const scale = (drawn.one[low][1] - drawn.one[high][1]) / (measured[low].distance - measured[high].distance);
      assert.ok(scale < 0, 'larger distances are higher');
      const yOf = (distance) => drawn.one[low][1] + scale * (distance - measured[low].distance);
      for (const [i, { distance }] of measured.entries()) assert.ok(Math.abs(drawn.one[i][1] - yOf(distance)) < 1, `turn ${measured[i].turn}`);
      assert.ok(Math.abs(drawn.mean[0][1] - yOf(runs.second.mean)) < 1);
      for (const [x, y] of [...drawn.one, ...drawn.other, ...drawn.failed]) assert.ok(x > drawn.box[0] && x < drawn.box[2] && y > drawn.box[1] && y < drawn.box[3]);
    }), { skip });

  test('reads without color: runs differ by the form of their markers and lines, and by words', () =>
    withBrowser(async (browser) => {
      const page = await browser.open(urlOf('second'));
      await page.send('Emulation.setEmulatedVisionDeficiency', { type: 'achromatopsia' });
      await shot(page, 'grey');
      const forms = await page.evaluate(`['.dot.one', '.dot.other'].map((one) => document.querySelector(one).tagName).concat(['.line.one', '.line.other', '.mean'].map((one) => getComputedStyle(document.querySelector(one)).strokeDasharray))`);
      assert.equal(new Set(forms.slice(0, 2)).size, 2, String(forms));
      assert.equal(new Set(forms.slice(2)).size, 3, String(forms));
      assert.equal(forms[2], 'none');
      const rows = await page.evaluate(`[...new Set([...document.querySelectorAll('svg .failed')].map((one) => one.classList.contains('other') + ' ' + Math.round(one.getBoundingClientRect().y)))]`);
      assert.equal(rows.length, 2, 'failed turns of each run have a row of their own');
      assert.match(await page.evaluate(`document.querySelector('figcaption').textContent`), /^Circles on a solid line: this run\. Squares on a dotted line: the run it is compared with\. Dashed line: the mean/);
    }), { skip });

  test('a screen reader finds headings in order, the curve as an image with a name and a description, and tables with headers', () =>
    withBrowser(async (browser) => {
      const page = await browser.open(urlOf('second'));
      const { nodes } = await page.send('Accessibility.getFullAXTree');
      const found = nodes.filter(({ ignored }) => !ignored).map(({ role, name, description, properties = [] }) => {
        const level = properties.find((one) => one.name === 'level')?.value.value;
        return [`${role.value}${level ? ` ${level}` : ''}: ${name?.value ?? ''}`, description?.value ?? ''];
      });
      const find = (name) => found.filter(([one]) => one === name);
      for (const name of ['RootWebArea: Evaluation of second - Parley', 'main: ', 'heading 1: Evaluation of second', 'heading 2: Distance of each turn', 'heading 2: Compared with an earlier run', 'heading 2: Turns',
        'image: cosine distance of each turn', 'region: Distance of each turn', 'region: Turns', 'table: Both runs', "table: Each turn with its message, the bot's answer and the original answer",
        'columnheader: Answer', 'columnheader: Original', 'rowheader: 40', 'rowheader: This run', 'rowheader: The other'])
        assert.equal(find(name).length, 1, `${name} in\n${found.map(([one]) => one).join('\n').slice(0, 3000)}`);
      const [[, description]] = find('image: cosine distance of each turn');
      assert.match(description, /^A line from turn 1 to turn 40\. Lowest: \d\.\d{4} at turn \d+\. Highest: \d\.\d{4} at turn \d+\. Mean: \d\.\d{4}\. Failed turns: 7, 14, 21, 28, 35\. A second line/);
      assert.equal(await page.evaluate('document.documentElement.lang'), 'en');
      // What scrolls can be reached and scrolled by the keyboard.
      assert.equal(await page.evaluate(`[...document.querySelectorAll('.wide')].every((one) => one.tabIndex === 0)`), true);
    }), { skip });

  test('the table has every turn: its distance, the other one, the difference, and the texts', () =>
    withBrowser(async (browser) => {
      const page = await browser.open(urlOf('second'), { scripts: true });
      const rows = await page.evaluate(`[...document.querySelectorAll('.turns tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))`);
      assert.equal(rows.length, TURNS);
      for (const [i, [number, distance, other, difference, message, answer]] of rows.entries()) {
        const [turn, was] = [runs.second.turns[i], runs.first.turns[i]];
        const show = (value) => (value === null ? 'failed' : value.toFixed(4));
        assert.deepEqual([Number(number), distance, other, message], [i + 1, show(turn.distance), show(was.distance), turn.text]);
        if (turn.distance === null || was.distance === null) assert.equal(difference, 'none');
        else assert.ok(Math.abs(Number(difference) - (turn.distance - was.distance)) < 0.0001);
        if (turn.distance === null) assert.equal(answer, `Failed: ${turn.error}`);
        else assert.equal(answer, turn.answer);
      }
      const { against } = runs.second;
      const text = await page.evaluate('document.body.innerText');
      assert.ok(text.includes(`Mean difference ${against.difference.toFixed(4)}, 95 % interval ${against.interval.map((one) => one.toFixed(4)).join(' to ')}`), text.slice(0, 2000));
    }), { skip });

  test('hostile texts of people and bots are texts: nothing runs, loads, leaves its cell or hides what follows', () =>
    withBrowser(async (browser) => {
      const page = await browser.open(urlOf('hostile'));
      await shot(page, 'hostile');
      assert.equal(await page.evaluate('document.title'), 'Evaluation of hostile - Parley');
      assert.deepEqual(page.requests, [urlOf('hostile')]);
      assert.deepEqual(page.complaints, []);
      const rows = await page.evaluate(`[...document.querySelectorAll('.turns tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))`);
      assert.deepEqual(rows.map(([number]) => Number(number)), HOSTILE.map((_, i) => i + 1));
      for (const [i, text] of HOSTILE.slice(0, 4).entries()) assert.ok(rows[i][2].startsWith(text) && rows[i][3].startsWith(text), rows[i][2]);
      assert.ok(!/[\u0000-\u0008\u000b-\u001f]/.test(rows.flat().join('')));
      assert.ok(rows[5].every((cell) => cell.length < 5000));
      assert.equal(await page.evaluate(`document.querySelectorAll('main *').length === document.querySelectorAll('body *').length - 1`), true, 'everything is inside main');
      assert.equal(await page.evaluate(`[...document.querySelectorAll('.turns td:not(.number)')].every((cell) => getComputedStyle(cell).unicodeBidi.startsWith('isolate'))`), true);
      assert.ok((await page.evaluate('document.documentElement.scrollWidth')) <= 1200);
    }), { skip });

  test('prints: black on white, the curve on one page, every turn, nothing cut off at the right', () =>
    withBrowser(async (browser) => {
      const page = await browser.open(urlOf('second'), { scheme: 'dark', width: 700 });
      await page.send('Emulation.setEmulatedMedia', { media: 'print', features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
      const style = await page.evaluate(`(() => { const body = getComputedStyle(document.body); return [body.color, body.backgroundColor, getComputedStyle(document.querySelector('svg')).breakInside, getComputedStyle(document.querySelector('.wide')).overflowX]; })()`);
      assert.deepEqual(style, ['rgb(0, 0, 0)', 'rgb(255, 255, 255)', 'avoid', 'visible']);
      assert.ok((await page.evaluate('document.documentElement.scrollWidth')) <= 700);
      const { data } = await page.send('Page.printToPDF', { printBackground: false });
      const pdf = Buffer.from(data, 'base64');
      assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
      if (process.env.PARLEY_TEST_SHOTS) writeFileSync(join(process.env.PARLEY_TEST_SHOTS, 'report.pdf'), pdf);
    }), { skip });
});
