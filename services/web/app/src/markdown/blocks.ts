// SPDX-License-Identifier: MIT
//
// blocks: cuts Markdown where a part of it can be read alone, so that a long answer costs no more for each new word than its last
// block does. Code between fences is a block of its own and needs no reading at all.
export type Block = { kind: 'text'; source: string } | { kind: 'code'; language: string; source: string };

const FENCE = /^(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*$/;
/** A line that continues nothing above a blank line: no indentation, no list, no quotation. */
const FRESH = /^(?![ \t]|[-+*][ \t]|\d{1,9}[.)][ \t]|>)/;
/** A definition that other blocks may refer to. */
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

function closes(line: string, fence: string): boolean {
  const text = line.trimEnd();
  return text.length >= fence.length && text === fence[0]!.repeat(text.length);
}

export function cut(source: string): Block[] {
  if (DEFINITION.test(source)) return [{ kind: 'text', source }];
  const blocks: Block[] = [];
  let lines: string[] = [];
  let fence = '';
  let language = '';
  let isAfterBlank = false;
  const end = (kind: Block['kind']) => {
    if (kind === 'code') blocks.push({ kind, language, source: lines.join('\n') });
    else if (lines.some((line) => line.trim() !== '')) blocks.push({ kind, source: lines.join('\n') });
    lines = [];
  };
  for (const line of source.split('\n')) {
    const [, opened, info] = (fence === '' && FENCE.exec(line)) || [];
    if (fence !== '' && closes(line, fence)) {
      end('code');
      fence = '';
    } else if (fence !== '') lines.push(line);
    else if (opened) {
      end('text');
      [fence, language] = [opened, info ?? ''];
    } else {
      if (isAfterBlank && FRESH.test(line)) end('text');
      lines.push(line);
    }
    isAfterBlank = fence === '' && line.trim() === '';
  }
  end(fence === '' ? 'text' : 'code');
  return blocks;
}
