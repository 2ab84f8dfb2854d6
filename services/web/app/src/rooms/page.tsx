// SPDX-License-Identifier: MIT
//
// page: rooms, bots and evaluations: what the words of the address name.
import { useEffect } from 'preact/hooks';
import '../style/rooms.css';
import type { PageProps } from '../ui/navigation';
import { BotsView } from './bots_view';
import { EvaluationView } from './evaluation_view';
import { EvaluationsView } from './evaluations_view';
import { RoomView, Welcome } from './room_view';
import { loadRooms, rooms } from './rooms';

export function RoomsPage({ session, words }: PageProps) {
  const [what = '', id] = words;
  useEffect(() => {
    rooms.value = null;
    void loadRooms();
  }, [session.user]);
  if (what === 'bots') return <BotsView />;
  if (what === 'evaluations') return id ? <EvaluationView key={id} id={id} /> : <EvaluationsView />;
  return what ? <RoomView key={what} id={what} user={session.user} /> : <Welcome />;
}
