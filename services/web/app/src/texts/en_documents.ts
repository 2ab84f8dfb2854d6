// SPDX-License-Identifier: MIT
//
// The texts of documents in English.
const count = (n: number, one: string, more: string) => (n === 1 ? `1 ${one}` : `${n} ${more}`);

/** "1.4 MB", with the decimal sign of the language. */
export function sizeOf(bytes: number, sign: string): string {
  const [unit, n] = bytes < 1000 ? ['B', bytes] : bytes < 1e6 ? ['kB', bytes / 1e3] : ['MB', bytes / 1e6];
  return `${n < 10 && unit !== 'B' ? n.toFixed(1).replace('.', sign) : Math.round(n)} ${unit}`;
}

export const documents = {
  files: 'Files',
  ask: 'Ask',
  askAbout: 'Ask about them',
  dropHere: 'Drop the files here',
  drop: 'Drop files here',
  choose: 'Choose files',
  formats: 'PDF, Word, Excel, PowerPoint, OpenDocument, EPUB, web pages, mail, Markdown and plain text, up to 25 MiB each.',
  none: 'Upload documents, and ask about what is in them.',
  listFailed: 'The documents could not be loaded.',
  status: (all: number, underWay: number, failed: number) =>
    [count(all, 'document', 'documents'), underWay > 0 ? `${underWay} in progress` : '', failed > 0 ? `${failed} failed` : ''].filter(Boolean).join(', '),
  size: (bytes: number) => sizeOf(bytes, '.'),
  waiting: 'Waiting for its turn',
  sending: (percent: number) => `Uploading, ${percent} %`,
  sendingName: (name: string) => `Uploading ${name}`,
  delayed: {
    limit: (seconds: number) => `The node takes only some files a minute. This one is next in ${count(seconds, 'second', 'seconds')}.`,
    busy: (seconds: number) => `The node is busy. Trying again in ${count(seconds, 'second', 'seconds')}.`,
    away: (seconds: number) => `The node cannot be reached. Trying again in ${count(seconds, 'second', 'seconds')}.`,
  },
  refused: (detail: string) => `Not accepted: ${detail}`,
  known: (name: string) => `You have this file already, as ${name}.`,
  dismiss: (name: string) => `Remove ${name} from the uploads`,
  queued: 'Waiting for an indexer',
  stages: { PARSE: 'Reading the text', CHUNK: 'Cutting it into passages', EMBED: 'Computing vectors', STORE: 'Making it searchable', COMPLETE: 'Ready' },
  indexing: (name: string) => `Indexing ${name}`,
  failed: (reason: string) => (reason ? `Could not be indexed: ${reason}` : 'Could not be indexed.'),
  menu: (name: string) => `More about ${name}`,
  reindex: 'Index again',
  deleteTitle: 'Delete the document?',
  deleteText: (name: string) => `“${name}” and everything that was read from it will be deleted. This cannot be undone.`,
  welcome: 'What do your documents say?',
  welcomeNote: 'The answer names the places that it is taken from. Open one to read on.',
  question: 'Your question about the documents',
  placeholder: 'Ask about your documents',
  askHint: 'Each question is answered by itself.',
  agent: 'Agent',
  agentNote: 'Searches several times, and takes longer.',
  tooLong: (max: number) => `The question is longer than ${max} characters.`,
  keptHere: 'These questions are kept in this tab only.',
  forget: 'Clear',
  sources: 'Places',
  reading: 'Found so far',
  others: (n: number) => `${count(n, 'other place', 'other places')} that ${n === 1 ? 'was' : 'were'} read`,
  nearest: 'The nearest passages, which do not answer it',
  page: (n: number) => `Page ${n}`,
  citation: (n: number, place: string) => `Place ${n}: ${place}`,
  placeGone: 'This place no longer exists: the document was deleted or indexed again.',
  earlier: 'Show more before it',
  later: 'Show more after it',
  trace: {
    title: (n: number) => `What the agent did (${count(n, 'step', 'steps')})`,
    plan: 'Made a plan',
    search: 'Searched for',
    open: 'Read passage',
    tool: (name: string) => `Used ${name}:`,
    final: 'Wrote the answer',
    error: 'Something went wrong',
  },
};
