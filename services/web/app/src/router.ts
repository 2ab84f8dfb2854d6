// SPDX-License-Identifier: MIT
//
// router: where one is in the app, in the fragment of the address, which works below any path and is never sent to a node.
//   #/                 a new topic
//   #/t/TOPIC          a topic
//   #code=CODE         a link that signs in once
import { signal } from '@preact/signals';

export type Place = { at: 'new' } | { at: 'topic'; topic: string };

function read(): Place {
  const [, topic] = /^#\/t\/(.+)$/.exec(location.hash) ?? [];
  try {
    return topic === undefined ? { at: 'new' } : { at: 'topic', topic: decodeURIComponent(topic) };
  } catch {
    return { at: 'new' };
  }
}

export const hrefOf = (to: Place) => (to.at === 'topic' ? `#/t/${encodeURIComponent(to.topic)}` : '#/');
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
