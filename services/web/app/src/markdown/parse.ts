// SPDX-License-Identifier: MIT
//
// parse: Markdown as GitHub writes it, as a tree. No HTML is made or read: what looks like HTML is text.
import type { Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmAutolinkLiteralFromMarkdown } from 'mdast-util-gfm-autolink-literal';
import { gfmStrikethroughFromMarkdown } from 'mdast-util-gfm-strikethrough';
import { gfmTableFromMarkdown } from 'mdast-util-gfm-table';
import { gfmTaskListItemFromMarkdown } from 'mdast-util-gfm-task-list-item';
import { gfmAutolinkLiteral } from 'micromark-extension-gfm-autolink-literal';
import { gfmStrikethrough } from 'micromark-extension-gfm-strikethrough';
import { gfmTable } from 'micromark-extension-gfm-table';
import { gfmTaskListItem } from 'micromark-extension-gfm-task-list-item';

/** A longer block is shown as it is: reading takes time with the square of some things that an engine may write. */
const READ_MAX = 16_384;
/** So is one with a line that nests or opens more than this. */
const ODD_LINE = /^(?:[ \t]*(?:>|[-+*]|\d{1,9}[.)])){24}|(?:[[*_~`!<][^\n]{0,2}){400}/m;

export const isReadable = (source: string) => source.length <= READ_MAX && !ODD_LINE.test(source);

export function parse(source: string): Root {
  return fromMarkdown(source, {
    extensions: [gfmAutolinkLiteral(), gfmStrikethrough({ singleTilde: false }), gfmTable(), gfmTaskListItem(), { disable: { null: ['htmlFlow', 'htmlText'] } }],
    mdastExtensions: [gfmAutolinkLiteralFromMarkdown(), gfmStrikethroughFromMarkdown(), gfmTableFromMarkdown(), gfmTaskListItemFromMarkdown()],
  });
}
