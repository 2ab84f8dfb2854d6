// SPDX-License-Identifier: MIT
//
// page: one's documents: the list of them, and asking about them. Files may be dropped anywhere on it.
//   #/documents        the list
//   #/documents/ask    asking
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { pageAt } from '../router';
import { t } from '../texts';
import { Frame, Head } from '../ui/frame';
import type { PageProps } from '../ui/navigation';
import { Tabs } from '../ui/tabs';
import { isNarrow } from '../ui/width';
import { AskView } from './ask_view';
import './documents.css';
import { filesOf, hasFiles } from './dropped';
import { docs, watchDocs } from './library';
import { LibraryView } from './library_view';
import { PassagePane, type PlaceInDoc } from './passage_pane';
import { addFiles } from './uploads';

const opened = signal<PlaceInDoc | null>(null);
const open = (place: PlaceInDoc) => void (opened.value = place);
const close = () => void (opened.value = null);

/** Whether files are held over the page. */
function useDrop() {
  const [isOver, setOver] = useState(false);
  const onDragOver = (event: DragEvent) => {
    if (!hasFiles(event.dataTransfer)) return;
    event.preventDefault();
    setOver(true);
  };
  const onDragLeave = (event: DragEvent) => (event.currentTarget as HTMLElement).contains(event.relatedTarget as Node) || setOver(false);
  const onDrop = (event: DragEvent) => {
    if (!hasFiles(event.dataTransfer)) return;
    event.preventDefault();
    setOver(false);
    void filesOf(event.dataTransfer!).then(addFiles);
  };
  return { isOver, handlers: { onDragOver, onDragLeave, onDrop } };
}

export function DocumentsPage({ session, words: [part] }: PageProps) {
  const words = t().documents;
  const isAsking = part === 'ask';
  const { isOver, handlers } = useDrop();
  useEffect(() => {
    close();
    return watchDocs();
  }, [session.user]);
  useEffect(close, [isAsking]);
  const shown = opened.value;
  const tabs = [
    { text: words.files, to: pageAt('documents'), isCurrent: !isAsking, count: docs.value?.length },
    { text: words.ask, to: pageAt('documents', 'ask'), isCurrent: isAsking },
  ];
  const head = (
    <Head title={t().pages.documents}>
      <Tabs name={t().pages.documents} tabs={tabs} />
    </Head>
  );
  return (
    <Frame title={t().pages.documents} head={head} list={null}>
      <div class={`beside ${isOver ? 'is-over' : ''}`} {...handlers}>
        <div class="beside-main" inert={shown !== null && isNarrow.value}>
          {isAsking ? <AskView user={session.user} onOpen={open} /> : <LibraryView onOpen={open} />}
        </div>
        {shown && <PassagePane key={shown.docId} place={shown} onClose={close} />}
        {isOver && <p class="drop-here">{words.dropHere}</p>}
      </div>
    </Frame>
  );
}
