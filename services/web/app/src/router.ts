// SPDX-License-Identifier: MIT
//
// router: where one is in the app, in the fragment of the address, which works below any path and is never sent to a node.
//   #/                 a new topic
//   #/t/TOPIC          a topic
//   #/PAGE[/WORD…]     another page (ui/navigation.tsx), and what it shows
//   #code=CODE         a link that signs in once
import { signal } from '@preact/signals';

export type Place = { at: 'new' } | { at: 'topic'; topic: string } | { at: 'page'; page: string; words: string[] };

function read(): Place {
  const [, page = '', ...words] = location.hash.split('/');
  try {
    if (page === 't' && words.length > 0) return { at: 'topic', topic: decodeURIComponent(words.join('/')) };
    return page === '' ? { at: 'new' } : { at: 'page', page, words: words.map(decodeURIComponent) };
  } catch {
    return { at: 'new' };
  }
}

export function hrefOf(to: Place): string {
  if (to.at === 'new') return '#/';
  return to.at === 'topic' ? `#/t/${encodeURIComponent(to.topic)}` : `#/${[to.page, ...to.words].map(encodeURIComponent).join('/')}`;
}
export const pageAt = (page: string, ...words: string[]): Place => ({ at: 'page', page, words });
export const place = signal<Place>(read());

export function go(to: Place, { replaces = false } = {}): void {
  history[replaces ? 'replaceState' : 'pushState'](null, '', hrefOf(to));
  place.value = read();
}

/** The code of a link that signs in, which then is no longer in the address or in the history. */
export function takeCode(): string | undefined {
  const [, code] = /^#code=(.+)$/.exec(location.hash) ?? [];
  if (code !== undefined) go({ at: 'new' }, { replaces: true });
  return code;
}

for (const name of ['hashchange', 'popstate']) addEventListener(name, () => (place.value = read()));
