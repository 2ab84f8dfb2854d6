// SPDX-License-Identifier: MIT
//
// evaluations_view: the evaluations of the account, and starting one.
import { useEffect, useRef, useState } from 'preact/hooks';
import { go, hrefOf, pageAt } from '../router';
import { Problem } from '../session/session';
import { t } from '../texts';
import { Frame } from '../ui/frame';
import { Icon } from '../ui/icons';
import { Name } from '../ui/name';
import { Time } from '../ui/time';
import { bots, loadBots } from './bots';
import { beginEvaluation, FILE_MAX_BYTES, listEvaluations, readConversation, type Evaluation, type Line } from './evaluations';
import { RoomList } from './room_list';

const detailOf = (error: unknown) => t().unexpected(error instanceof Problem ? error.detail : t().signIn.unreachable);

interface Chosen {
  name: string;
  lines: Line[];
}

function StartForm() {
  const words = t().evaluations;
  const input = useRef<HTMLInputElement>(null);
  const [file, setFile] = useState<Chosen | null>(null);
  const [fault, setFault] = useState('');
  const [isOver, setOver] = useState(false);
  const known = (bots.value ?? []).filter(({ pulls, emulates }) => !pulls && emulates);
  const take = async (given: File | undefined) => {
    setFault('');
    setFile(null);
    if (!given) return;
    if (given.size > FILE_MAX_BYTES) return setFault(words.tooLarge);
    try {
      setFile({ name: given.name, lines: readConversation(await given.text()) });
    } catch (error) {
      setFault(words.badLine(given.name, Number((error as Error).message)));
    }
  };
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const bot = String(new FormData(event.currentTarget as HTMLFormElement).get('bot'));
    try {
      go(pageAt('rooms', 'evaluations', await beginEvaluation(bot, file!.lines)));
    } catch (error) {
      setFault(detailOf(error));
    }
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take(event.dataTransfer?.files[0]);
  };
  return (
    <form class="card" onSubmit={onSubmit}>
      <h2>{words.startTitle}</h2>
      <p class="note">{words.startNote}</p>
      <div class="field">
        <label for="bot">{words.bot}</label>
        <select class="input" id="bot" name="bot" required>
          {known.map(({ username, emulates }) => (
            <option key={username} value={username}>
              {t().rooms.optionOf(username, emulates!)}
            </option>
          ))}
        </select>
        {bots.value && known.length === 0 && (
          <p class="note">
            {words.noBot} <a href={hrefOf(pageAt('rooms', 'bots'))}>{t().rooms.register}</a>
          </p>
        )}
      </div>
      <div
        class={`drop ${isOver ? 'is-over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={onDrop}
      >
        <label class="button" for="conversation">
          <Icon name="plus" /> {words.choose}
        </label>
        <input class="hidden" id="conversation" ref={input} type="file" accept=".jsonl,.ndjson,.json,.txt" onChange={() => void take(input.current?.files?.[0])} />
        <p class="note" dir="auto">
          {file ? words.chosen(file.name, file.lines.length) : words.drop}
        </p>
        <code class="example">{'{"from":"Bob","text":"…"}'}</code>
      </div>
      <p class="fault" role="alert">
        {fault}
      </p>
      <div class="dialog-buttons">
        <button type="submit" class="button is-main" disabled={!file || known.length === 0}>
          {words.start}
        </button>
      </div>
    </form>
  );
}

function Row({ one }: { one: Evaluation }) {
  const words = t().evaluations;
  return (
    <li class="row">
      <a class="row-text" href={hrefOf(pageAt('rooms', 'evaluations', one.id))}>
        <strong>
          @<Name of={one.bot} />
        </strong>
        <span class="note">
          <Time at={one.created} /> · {words.states[one.status]} · {words.progress(one.done, one.total)}
        </span>
      </a>
      {one.score !== null && (
        <span class="score">
          {Math.round(one.score)} <span class="note">{words.ofHundred}</span>
        </span>
      )}
    </li>
  );
}

export function EvaluationsView() {
  const [all, setAll] = useState<Evaluation[] | null>(null);
  const [fault, setFault] = useState('');
  useEffect(() => {
    Promise.all([listEvaluations().then(setAll), loadBots()]).catch((error: unknown) => setFault(detailOf(error)));
  }, []);
  return (
    <Frame title={t().rooms.evaluations} list={<RoomList />}>
      <div class="scroller">
        <div class="sheet">
          {fault && (
            <p class="fault" role="alert">
              {fault}
            </p>
          )}
          {all && all.length > 0 && (
            <ul class="rows">
              {all.map((one) => (
                <Row key={one.id} one={one} />
              ))}
            </ul>
          )}
          <StartForm />
        </div>
      </div>
    </Frame>
  );
}
