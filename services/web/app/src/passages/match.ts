// SPDX-License-Identifier: MIT
//
// match: what an engine sends for a fragment: lines of facts, a line of five dots, the passage.
export interface Match {
  name: string;
  facts: [string, string][];
  text: string;
}

const RULE = '\n.....\n';
const NAME = 'Document Name';

export function readMatch(source: string): Match {
  const at = source.indexOf(RULE);
  if (at < 0) return { name: '', facts: [], text: source };
  const all = source
    .slice(0, at)
    .split('\n')
    .map((line): [string, string] => {
      const colon = line.indexOf(': ');
      return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 2)];
    })
    .filter(([name]) => name !== '');
  return { name: all.find(([name]) => name === NAME)?.[1] ?? '', facts: all.filter(([name]) => name !== NAME), text: source.slice(at + RULE.length) };
}
