// SPDX-License-Identifier: MIT
//
// export: a topic as a file of Markdown.
import { pages } from '../session/session';
import { t } from '../texts';
import type { Row } from './turn';

const FILE_NAME_MAX = 60;

function sectionOf(row: Row): string {
  const words = t().export;
  const question = row.Query.split('\n').map((line) => `> ${line}`).join('\n');
  const answer = row.Answer?.join('\n') ?? `*${row.Reason ?? words.open}*`;
  const think = row.Think?.length ? `*${words.think}:* ${row.Think.join('\n')}\n\n` : '';
  return `## ${words.question} ${row.Seq}${row.Timestamp ? ` (${row.Timestamp})` : ''}\n\n${question}\n\n${think}${answer}\n`;
}

function save(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/markdown' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export async function exportTopic(topic: string, name: string): Promise<void> {
  const sections: string[] = [];
  for await (const page of pages<Row[]>('api/get-topic-thread', { Topic: topic, Detail: 'true' })) sections.push(...page.map(sectionOf));
  const file = name.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, FILE_NAME_MAX) || t().export.file;
  save(`${file}.md`, `# ${name.replace(/\s+/g, ' ')}\n\n${sections.join('\n')}`);
}
