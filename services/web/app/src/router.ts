// SPDX-License-Identifier: MIT
//
// router: where one is in the app, in the fragment of the address, which works below any path and is never sent to a node.
//   #/                 a new topic
//   #/t/TOPIC          a topic
//   #/PAGE[/WORD…]     another page (ui/navigation.tsx), and what it shows
//   #code=CODE             a link that signs in once
//   #signed-in=CODE        the way back from the OpenID provider
//   #not-signed-in=WORD    the same, when it signed nobody in
import { signal } from '@preact/signals';
import { comeBack } from './session/provider';

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

/** How one came here, if it was to sign in: by a link, or from the OpenID provider with a code or with the reason why there is none. */
export interface Arrival {
  by: 'code' | 'signed-in' | 'not-signed-in';
  word: string;
}

/** Afterwards its code is no longer in the address or in the history. */
export function takeArrival(): Arrival | undefined {
  const [, by, word] = /^#(code|signed-in|not-signed-in)=(.+)$/.exec(location.hash) ?? [];
  if (by === undefined) return undefined;
  history.replaceState(null, '', (by !== 'code' && comeBack()) || hrefOf({ at: 'new' }));
  place.value = read();
  return { by: by as Arrival['by'], word: word! };
}

for (const name of ['hashchange', 'popstate']) addEventListener(name, () => (place.value = read()));
