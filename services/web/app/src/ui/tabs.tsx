// SPDX-License-Identifier: MIT
//
// tabs: the parts of a page, as links.
import { hrefOf, type Place } from '../router';

export interface Tab {
  text: string;
  to: Place;
  isCurrent: boolean;
  count?: number;
}

export function Tabs({ name, tabs }: { name: string; tabs: Tab[] }) {
  return (
    <nav class="tabs" aria-label={name}>
      {tabs.map(({ text, to, isCurrent, count }) => (
        <a key={text} href={hrefOf(to)} aria-current={isCurrent ? 'page' : undefined}>
          {text}
          {count !== undefined && count > 0 && <span class="count">{count}</span>}
        </a>
      ))}
    </nav>
  );
}
