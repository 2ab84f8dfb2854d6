// SPDX-License-Identifier: MIT
//
// blocks: cuts Markdown where a part of it can be read alone, so that a long answer costs no more for each new word than its last
// block does. Code between fences is a block of its own and needs no reading at all.
export type Block = { kind: 'text'; source: string } | { kind: 'code'; language: string; source: string };

const FENCE = /^(`{3,}|~{3,})[ \t]*([^`\s]*)[^`]*$/;
/** Of a group of blocks, about. */
const GROUP_CHARS = 4096;
/** A line that continues nothing above a blank line: no indentation, no list, no quotation. */
const FRESH = /^(?![ \t]|[-+*][ \t]|\d{1,9}[.)][ \t]|>)/;
/** A definition that other blocks may refer to. */
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:/m;

/** Lines that do not keep the whole text in memory: engines of JavaScript make parts of a string point into it. */
const joined = (lines: string[]) => (lines.length === 1 ? ` ${lines[0]}`.slice(1) : lines.join('\n'));

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
    if (kind === 'code') blocks.push({ kind, language, source: joined(lines) });
    else if (lines.some((line) => line.trim() !== '')) blocks.push({ kind, source: joined(lines) });
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

/** The blocks in groups of about equal size, each of which is drawn at once. */
export function group(blocks: Block[]): Block[][] {
  const groups: Block[][] = [];
  let chars = GROUP_CHARS;
  for (const block of blocks) {
    if (chars >= GROUP_CHARS) {
      groups.push([]);
      chars = 0;
    }
    groups.at(-1)!.push(block);
    chars += block.source.length;
  }
  return groups;
}

const isSameBlock = (one: Block, other: Block | undefined) =>
  one === other || (one.kind === other?.kind && one.source === other.source && (one.kind === 'text' || one.language === (other as typeof one).language));

export const isSameGroup = (one: Block[], other: Block[]) => one.length === other.length && one.every((block, i) => isSameBlock(block, other[i]));
