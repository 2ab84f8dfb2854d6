// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';

interface Props {
  name: string;
  /** '': a column without a head. */
  heads: string[];
  children: ComponentChildren;
}

/** Rows under heads; it scrolls sideways where it is wider than the page. */
export function Table({ name, heads, children }: Props) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={name}>
      <table>
        <thead>
          <tr>{heads.map((head) => (head ? <th scope="col" key={head}>{head}</th> : <td key={head} />))}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
