// SPDX-License-Identifier: MIT
//
// markdown: a text that somebody else wrote, as elements. Each element is made here from a node of the tree, so there is nothing to
// clean: a link leads to the web or to a mailbox, a picture is a link, HTML is text.
import type { Definition, Nodes, Parents, Root, Table } from 'mdast';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { memo } from './memo';
import { t } from '../texts';
import { CopyButton } from '../ui/copy';
import { cut, group, isSameGroup, type Block } from './blocks';
import { isReadable, parse } from './parse';

const SAFE_ADDRESS = /^(?:https?:\/\/|mailto:)/i;

export type DrawText = (text: string) => ComponentChildren;
interface Drawing {
  definitions: Map<string, Definition>;
  drawText: DrawText;
}

const asItIs: DrawText = (text) => text;

function Link({ url, children }: { url: string; children: ComponentChildren }) {
  if (!SAFE_ADDRESS.test(url)) return <>{children}</>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

export function CodeBlock({ source, language }: { source: string; language: string }) {
  return (
    <div class="code">
      <div class="code-bar">
        <span dir="auto">{language || t().thread.code}</span>
        <CopyButton text={source} name={t().thread.copyCode} />
      </div>
      <pre tabIndex={0} aria-label={t().thread.code}>
        <code>{source}</code>
      </pre>
    </div>
  );
}

function drawTable(table: Table, drawing: Drawing): VNode {
  const [head, ...rows] = table.children;
  const cells = (row: Table['children'][number] | undefined, kind: 'th' | 'td') => {
    const Cell = kind;
    return row?.children.map((cell, i) => (
      <Cell key={i} dir="auto" class={`is-${table.align?.[i] ?? 'start'}`} {...(kind === 'th' ? { scope: 'col' } : {})}>
        {drawAll(cell, drawing)}
      </Cell>
    ));
  };
  return (
    <div class="table" tabIndex={0} role="region" aria-label={t().thread.table}>
      <table>
        <thead>
          <tr>{cells(head, 'th')}</tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>{cells(row, 'td')}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const drawAll = (parent: Parents, drawing: Drawing): ComponentChildren => parent.children.map((child) => draw(child, drawing));

function drawList(node: Nodes & { type: 'list' }, drawing: Drawing): VNode {
  return node.ordered ? <ol start={node.start ?? 1}>{drawAll(node, drawing)}</ol> : <ul>{drawAll(node, drawing)}</ul>;
}

function drawItem(node: Nodes & { type: 'listItem' }, drawing: Drawing): VNode {
  const isTight = !node.spread;
  const children = node.children.map((child) => (isTight && child.type === 'paragraph' ? <span>{drawAll(child, drawing)}</span> : draw(child, drawing)));
  if (typeof node.checked !== 'boolean') return <li dir="auto">{children}</li>;
  return (
    <li dir="auto" class="is-task">
      <input type="checkbox" checked={node.checked} disabled aria-label={node.checked ? '✓' : '–'} />
      {children}
    </li>
  );
}

function draw(node: Nodes, drawing: Drawing): ComponentChildren {
  switch (node.type) {
    case 'text':
      return drawing.drawText(node.value);
    case 'html':
      return node.value;
    case 'paragraph':
      return <p dir="auto">{drawAll(node, drawing)}</p>;
    case 'heading': // below that of its question; engines skip levels as they like
      return (
        <h3 dir="auto" class={`is-${node.depth}`}>
          {drawAll(node, drawing)}
        </h3>
      );
    case 'emphasis':
      return <em>{drawAll(node, drawing)}</em>;
    case 'strong':
      return <strong>{drawAll(node, drawing)}</strong>;
    case 'delete':
      return <del>{drawAll(node, drawing)}</del>;
    case 'inlineCode':
      return <code dir="ltr">{node.value}</code>;
    case 'code':
      return <CodeBlock source={node.value} language={node.lang ?? ''} />;
    case 'break':
      return <br />;
    case 'thematicBreak':
      return <hr />;
    case 'blockquote':
      return <blockquote dir="auto">{drawAll(node, drawing)}</blockquote>;
    case 'list':
      return drawList(node, drawing);
    case 'listItem':
      return drawItem(node, drawing);
    case 'table':
      return drawTable(node, drawing);
    case 'link':
      return <Link url={node.url}>{drawAll(node, drawing)}</Link>;
    case 'image':
      return <Link url={node.url}>{node.alt || node.url}</Link>;
    case 'linkReference':
      return <Link url={drawing.definitions.get(node.identifier)?.url ?? ''}>{drawAll(node, drawing)}</Link>;
    case 'imageReference':
      return <Link url={drawing.definitions.get(node.identifier)?.url ?? ''}>{node.alt}</Link>;
    default:
      return null;
  }
}

function definitionsOf(root: Root): Drawing['definitions'] {
  return new Map(root.children.flatMap((node) => (node.type === 'definition' ? [[node.identifier, node] as const] : [])));
}

const Text = memo(({ source, drawText }: { source: string; drawText: DrawText }) => {
  if (!isReadable(source))
    return (
      <p dir="auto" class="is-plain" title={t().thread.tooLong}>
        {source}
      </p>
    );
  const root = parse(source);
  return <>{drawAll(root, { definitions: definitionsOf(root), drawText })}</>;
});

const Code = memo(CodeBlock);

interface GroupProps {
  blocks: Block[];
  drawText: DrawText;
}

const Group = memo<GroupProps>(
  ({ blocks, drawText }) => (
    <div>{blocks.map((block, i) => (block.kind === 'code' ? <Code key={i} source={block.source} language={block.language} /> : <Text key={i} source={block.source} drawText={drawText} />))}</div>
  ),
  (one, other) => one === other || (Array.isArray(one) && isSameGroup(one as Block[], other as Block[])),
);

/** How many more groups are drawn in one go; then the browser has its turn. */
const GROUPS_AT_ONCE = 1;

/** `source` may be the beginning of a text that is still being written. `drawText` draws the texts in it; it stays the same function. */
export function Markdown({ source, drawText = asItIs }: { source: string; drawText?: DrawText }) {
  const groups = group(cut(source));
  const [shown, setShown] = useState(GROUPS_AT_ONCE);
  const isWhole = shown >= groups.length;
  useEffect(() => {
    if (isWhole) return;
    const timer = setTimeout(() => setShown(shown + GROUPS_AT_ONCE));
    return () => clearTimeout(timer);
  }, [shown, isWhole]);
  return (
    <div class={`markdown ${groups.length > GROUPS_AT_ONCE ? 'is-long' : ''}`}>
      {groups.slice(0, shown).map((blocks, i) => (
        <Group key={i} blocks={blocks} drawText={drawText} />
      ))}
    </div>
  );
}
