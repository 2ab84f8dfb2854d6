// SPDX-License-Identifier: MIT
import { useState } from 'preact/hooks';
import { go, hrefOf, pageAt, place } from '../router';
import { t } from '../texts';
import { askFor } from '../ui/dialog';
import { closeSide } from '../ui/frame';
import { Icon, type IconName } from '../ui/icons';
import { createRoom, haveRoomsFailed, loadRooms, rooms, type Room } from './rooms';

const NAME_MAX = 100;
const SHOWN_FIRST = 200;
/** From as many rooms on there is a field to find one. */
const SEARCHED_MIN = 8;

export function startRoom(): void {
  const words = t().rooms;
  const onAccept = async (name: string) => {
    const room = await createRoom(name);
    closeSide();
    go(pageAt('rooms', room.id));
  };
  askFor({ title: words.newTitle, text: words.newNote, field: { label: words.name, value: '', maxLength: NAME_MAX }, action: words.create, onAccept });
}

function Link({ words, icon, text }: { words: string[]; icon?: IconName; text: string }) {
  const now = place.value;
  const isCurrent = now.at === 'page' && now.words[0] === words[0];
  return (
    <li class={isCurrent ? 'is-current' : ''}>
      <a href={hrefOf(pageAt('rooms', ...words))} aria-current={isCurrent ? 'page' : undefined} dir="auto" title={text} onClick={closeSide}>
        {icon && <Icon name={icon} />} {text}
      </a>
    </li>
  );
}

function List({ all }: { all: Room[] }) {
  const [shown, setShown] = useState(SHOWN_FIRST);
  return (
    <>
      <ul>
        {all.slice(0, shown).map(({ id, name }) => (
          <Link key={id} words={[id]} text={name} />
        ))}
      </ul>
      {all.length > shown && (
        <button type="button" class="button is-quiet is-wide" aria-label={t().rooms.more} onClick={() => setShown(shown * 2)}>
          <Icon name="down" />
        </button>
      )}
    </>
  );
}

export function RoomList() {
  const words = t().rooms;
  const [text, setText] = useState('');
  const all = rooms.value;
  const wanted = text.trim().toLowerCase();
  const found = all?.filter(({ name }) => name.toLowerCase().includes(wanted)) ?? [];
  return (
    <>
      <button type="button" class="button is-wide new" onClick={startRoom}>
        <Icon name="plus" /> {words.new}
      </button>
      {all && all.length >= SEARCHED_MIN && (
        <div class="search" role="search">
          <Icon name="search" />
          <input type="search" name="search" aria-label={words.search} placeholder={words.search} value={text} maxLength={80} onInput={(event) => setText(event.currentTarget.value)} />
        </div>
      )}
      <div class="list">
        {haveRoomsFailed.value && (
          <p class="note">
            {words.failed}{' '}
            <button type="button" class="button is-small" onClick={() => void loadRooms()}>
              {t().thread.again}
            </button>
          </p>
        )}
        {all && found.length === 0 && <p class="note">{wanted ? words.noMatch : words.none}</p>}
        <List all={found} />
      </div>
      <ul class="pages more">
        <Link words={['bots']} icon="bot" text={words.bots} />
        <Link words={['evaluations']} icon="curve" text={words.evaluations} />
      </ul>
    </>
  );
}
