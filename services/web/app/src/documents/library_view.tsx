// SPDX-License-Identifier: MIT
import { useEffect, useRef, useState } from 'preact/hooks';
import { go, pageAt } from '../router';
import { Problem } from '../session/session';
import { t } from '../texts';
import { askFor } from '../ui/dialog';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';
import { seen } from '../ui/name';
import { Time } from '../ui/time';
import { deleteDoc, docs, hasFailed, isUnderWay, loadDocs, reindexDoc, type Doc } from './library';
import type { PlaceInDoc } from './passage_pane';
import { addFiles, dismiss, isPending, uploads, type Upload } from './uploads';

const EXTENSION_MAX = 5;

const extensionOf = (name: string) => /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.slice(0, EXTENSION_MAX).toLowerCase() ?? '';
const FAMILIES: Record<string, string> = { pdf: 'red', doc: 'blue', docx: 'blue', odt: 'blue', rtf: 'blue', xlsx: 'green', ods: 'green', csv: 'green', tsv: 'green', pptx: 'orange', odp: 'orange' };

function Badge({ name }: { name: string }) {
  const extension = extensionOf(name);
  return (
    <span class={`doc-badge is-${FAMILIES[extension] ?? 'plain'}`} aria-hidden="true">
      {extension || <Icon name="file" />}
    </span>
  );
}

function DropZone({ isEmpty }: { isEmpty: boolean }) {
  const words = t().documents;
  const input = useRef<HTMLInputElement>(null);
  const onChange = () => {
    addFiles([...input.current!.files!]);
    input.current!.value = '';
  };
  return (
    <div class={`drop-zone ${isEmpty ? 'is-large' : ''}`}>
      <Icon name="upload" />
      <p>
        <strong>{words.drop}</strong>
        <span class="note">{words.formats}</span>
      </p>
      <input ref={input} type="file" id="files" multiple hidden onChange={onChange} />
      <button type="button" class="button is-main" onClick={() => input.current!.click()}>
        {words.choose}
      </button>
    </div>
  );
}

/** Draws again every second while something is counted down. */
function useSeconds(isCounting: boolean): void {
  const [, draw] = useState(0);
  useEffect(() => {
    if (!isCounting) return;
    const timer = setInterval(() => draw((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [isCounting]);
}

function uploadText({ state }: Upload): string {
  const words = t().documents;
  if (state.at === 'sending') return words.sending(Math.round(state.share * 100));
  if (state.at === 'refused') return words.refused(state.detail);
  if (state.at === 'known') return words.known(seen(state.filename));
  if (state.at === 'waiting') return words.waiting;
  const seconds = Math.max(1, Math.ceil((state.untilMs - Date.now()) / 1000));
  return words.delayed[state.why](seconds);
}

function UploadRow({ upload }: { upload: Upload }) {
  const { file, state, key } = upload;
  const name = seen(file.name);
  useSeconds(state.at === 'delayed');
  return (
    <li class="doc">
      <Badge name={file.name} />
      <div class="doc-text">
        <p class="doc-name">
          <bdi>{name}</bdi>
        </p>
        <p class={`doc-state ${state.at === 'refused' ? 'is-bad' : ''}`}>{uploadText(upload)}</p>
        {state.at === 'sending' && <progress max={1} value={state.share} aria-label={t().documents.sendingName(name)} />}
      </div>
      <button type="button" class="button is-quiet is-small is-icon" aria-label={t().documents.dismiss(name)} onClick={() => dismiss(key)}>
        <Icon name="close" />
      </button>
    </li>
  );
}

function DocState({ doc, onAgain }: { doc: Doc; onAgain: () => void }) {
  const words = t().documents;
  const job = doc.latestJob;
  if (doc.status === 'FAILED')
    return (
      <p class="doc-state is-bad">
        {words.failed(job?.errorMessage ?? '')}{' '}
        <button type="button" class="button is-small" onClick={onAgain}>
          {t().thread.again}
        </button>
      </p>
    );
  if (!isUnderWay(doc)) return null;
  const isWaiting = doc.status !== 'INDEXING' || !job;
  return (
    <>
      <p class="doc-state">{isWaiting ? words.queued : words.stages[job.stage]}</p>
      <progress max={100} {...(isWaiting ? {} : { value: job.progress ?? 0 })} aria-label={words.indexing(seen(doc.filename))} />
    </>
  );
}

function DocRow({ doc, onOpen }: { doc: Doc; onOpen: (place: PlaceInDoc) => void }) {
  const words = t().documents;
  const [fault, setFault] = useState('');
  const name = seen(doc.filename);
  const onAgain = async () => {
    setFault('');
    await reindexDoc(doc.id).catch((error: unknown) => setFault(error instanceof Problem ? error.detail : t().signIn.unreachable));
  };
  const onDelete = () => askFor({ title: words.deleteTitle, text: words.deleteText(name), action: t().dialog.delete, isBad: true, onAccept: () => deleteDoc(doc.id) });
  const items = [...(isUnderWay(doc) ? [] : [{ text: words.reindex, icon: 'retry' as const, onChoose: () => void onAgain() }]), { text: t().dialog.delete, icon: 'trash' as const, isBad: true, onChoose: onDelete }];
  return (
    <li class="doc">
      <Badge name={doc.filename} />
      <div class="doc-text">
        <p class="doc-name">
          {doc.status === 'INDEXED' ? (
            <button type="button" class="as-link" onClick={() => onOpen({ docId: doc.id, title: name, index: 0, isWhole: true })}>
              <bdi>{name}</bdi>
            </button>
          ) : (
            <bdi>{name}</bdi>
          )}
        </p>
        <p class="note">
          {words.size(doc.sizeBytes)} · <Time at={doc.createdAt} />
        </p>
        <DocState doc={doc} onAgain={() => void onAgain()} />
        {fault && (
          <p class="doc-state is-bad" role="alert">
            {fault}
          </p>
        )}
      </div>
      <Menu name={words.menu(name)} class="topic-menu" groups={[{ items }]}>
        <Icon name="more" />
      </Menu>
    </li>
  );
}

/** The one line that a screen reader announces. */
function Status() {
  const all = docs.value ?? [];
  const underWay = all.filter(isUnderWay).length + uploads.value.filter(isPending).length;
  const failed = all.filter(({ status }) => status === 'FAILED').length;
  return (
    <p class="library-status note" role="status">
      {t().documents.status(all.length, underWay, failed)}
    </p>
  );
}

export function LibraryView({ onOpen }: { onOpen: (place: PlaceInDoc) => void }) {
  const words = t().documents;
  const all = docs.value;
  const isEmpty = all?.length === 0 && uploads.value.length === 0;
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label={words.files}>
      <div class="library">
        <DropZone isEmpty={isEmpty} />
        {hasFailed.value && (
          <p class="message">
            {words.listFailed}{' '}
            <button type="button" class="button is-small" onClick={() => void loadDocs()}>
              {t().thread.again}
            </button>
          </p>
        )}
        {all === null && !hasFailed.value && <p class="message is-late">{t().thread.loading}</p>}
        {isEmpty && <p class="message">{words.none}</p>}
        {!isEmpty && all !== null && (
          <div class="library-head">
            <Status />
            {all.some(({ status }) => status === 'INDEXED') && (
              <button type="button" class="button is-small" onClick={() => go(pageAt('documents', 'ask'))}>
                <Icon name="chat" /> {words.askAbout}
              </button>
            )}
          </div>
        )}
        <ul class="docs">
          {uploads.value.map((upload) => (
            <UploadRow key={`upload-${upload.key}`} upload={upload} />
          ))}
          {all?.map((doc) => (
            <DocRow key={doc.id} doc={doc} onOpen={onOpen} />
          ))}
        </ul>
      </div>
    </div>
  );
}
