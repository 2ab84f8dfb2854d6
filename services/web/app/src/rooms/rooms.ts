// SPDX-License-Identifier: MIT
//
// rooms: the list of rooms in the side bar, the newest first.
import { signal } from '@preact/signals';
import { call, onBehalf, pages } from '../session/session';

export interface Room {
  id: string;
  name: string;
}

const LISTED_MAX = 2000;
const PAGE = 1000;

/** null: not loaded yet. */
export const rooms = signal<Room[] | null>(null);
export const haveRoomsFailed = signal(false);

export const nameOfRoom = (id: string) => rooms.value?.find((one) => one.id === id)?.name;

export async function loadRooms(): Promise<void> {
  try {
    const all: Room[] = [];
    for await (const page of pages<{ rooms: Room[] }>('api/rooms', { ...onBehalf(), limit: PAGE })) {
      all.push(...page.rooms);
      if (all.length >= LISTED_MAX) break;
    }
    rooms.value = all;
    haveRoomsFailed.value = false;
  } catch {
    haveRoomsFailed.value = rooms.value === null;
  }
}

export async function createRoom(name: string): Promise<Room> {
  const room = (await (await call('POST', 'api/rooms', { query: onBehalf(), body: { name }, headers: { 'Idempotency-Key': crypto.getRandomValues(new Uint32Array(4)).join('-') } })).json()) as Room;
  rooms.value = [room, ...(rooms.value ?? [])];
  return room;
}

export async function deleteRoom(id: string): Promise<void> {
  await call('DELETE', `api/rooms/${id}`, { query: onBehalf() });
  forgetRoom(id);
}

export const forgetRoom = (id: string) => void (rooms.value = rooms.value?.filter((one) => one.id !== id) ?? null);
