// SPDX-License-Identifier: MIT
//
// embed: a box for questions over the public collection, on any page, under that page's policy:
//   <script src="https://parley.example/embed.js" data-collection="public" async></script>
// It is one file without imports at run time, makes every element itself, and has its style in a sheet of its own shadow tree, so a page
// needs to allow the address of this Parley for scripts and connections, and nothing else. The page's styles do not reach in. Nothing is
// kept in the browser, and the questions carry no credentials.
import { readEvents } from '../api/events';
import { style } from './style';
import { textsOf, type EmbedTexts } from './texts';

interface Source {
  url: string;
  content: string;
  position: number;
}
interface Answer {
  answer: string;
  sources: Source[];
}
const MARK = /\[(\d{1,2})\]/;
const QUESTION_MAX_CHARS = 4000;
const PREVIEW_CHARS = 120;

type Child = Node | string;
function make<K extends keyof HTMLElementTagNameMap>(name: K, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** A source's address, if it is one to follow. Those without a host are of this Parley. */
function addressOf(source: Source | undefined, base: string): string | undefined {
  if (!source?.url) return undefined;
  try {
    const { protocol, href } = new URL(source.url, base);
    return protocol === 'https:' || protocol === 'http:' ? href : undefined;
  } catch {
    return undefined;
  }
}

function linkTo(source: Source | undefined, base: string, text: string): Child {
  const href = addressOf(source, base);
  return href === undefined ? text : make('a', { href, target: '_blank', rel: 'noopener' }, text);
}

const withMarks = (text: string, sources: Source[], base: string): Child[] =>
  text.split(new RegExp(MARK, 'g')).map((part, i) => (i % 2 === 0 ? part : linkTo(sources.find(({ position }) => position === Number(part)), base, `[${part}]`)));

function listOf(sources: Source[], base: string): Child[] {
  const items = sources.map((source) => {
    const line = source.content.trim().split('\n')[0]!;
    const item = make('li', { value: String(source.position) }, linkTo(source, base, line.length > PREVIEW_CHARS ? `${line.slice(0, PREVIEW_CHARS)} …` : line));
    return item;
  });
  return items.length > 0 ? [make('ol', { class: 'sources' }, ...items)] : [];
}

/** Shows what comes of one question. Throws a text for people. */
async function answer(url: string, body: object, words: EmbedTexts, show: (text: string) => void): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', credentials: 'omit', headers: { Accept: 'text/event-stream', 'Content-Type': 'application/json' }, body: JSON.stringify(body) }).catch(() => {
    throw words.away;
  });
  if (!response.ok || !response.body) throw response.status === 429 ? words.tooMany : response.status === 503 ? words.busy : words.failed;
  let text = '';
  for await (const { name, data } of readEvents(response.body)) {
    if (name === 'done') return data as Answer;
    if (name === 'error') throw words.busy;
    if (name === 'token') text += (data as { text: string }).text;
    else if (name === 'reset') text = (data as { text: string }).text;
    else if (name === 'restart') text = '';
    else continue;
    show(text);
  }
  throw words.away;
}

function build(script: HTMLScriptElement): void {
  const base = new URL('.', script.src).href;
  const words = textsOf(document.documentElement.lang);
  const { collection } = script.dataset;
  const host = make('div', { 'data-parley': '' });
  const root = host.attachShadow({ mode: 'open' });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  root.adoptedStyleSheets = [sheet];

  const log = make('div', { role: 'log', 'aria-live': 'off', 'aria-label': words.answers });
  const status = make('p', { role: 'status' });
  const field = make('textarea', { name: 'question', rows: '2', required: '', maxlength: String(QUESTION_MAX_CHARS), 'aria-label': words.question, placeholder: words.question });
  const button = make('button', { type: 'submit' }, words.ask);
  const form = make('form', {}, field, button);
  root.append(log, status, form);

  const ask = async (question: string) => {
    const text = make('div', { class: 'answer', dir: 'auto' });
    log.append(make('p', { class: 'question', dir: 'auto' }, question), text);
    button.disabled = true;
    status.textContent = words.asking;
    try {
      const done = await answer(`${base}ask`, { question, ...(collection ? { collection } : {}) }, words, (soFar) => text.replaceChildren(soFar));
      text.replaceChildren(...withMarks(done.answer, done.sources, base), ...listOf(done.sources, base));
      status.textContent = words.answered;
    } catch (error) {
      text.classList.add('is-fault');
      text.replaceChildren(typeof error === 'string' ? error : words.away);
      status.textContent = '';
      field.value ||= question;
    }
    button.disabled = false;
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const question = field.value.trim();
    if (question === '' || button.disabled) return;
    field.value = '';
    void ask(question);
  });
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  script.after(host);
}

// Undefined in a module, whose place in the page nobody knows.
if (document.currentScript instanceof HTMLScriptElement) build(document.currentScript);
