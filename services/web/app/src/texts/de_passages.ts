// SPDX-License-Identifier: MIT
import type { Texts } from './en';

export const passages: Texts['passages'] = {
  title: 'Passende Stellen',
  find: 'Passende Stellen suchen',
  findNote: 'Engines suchen nach Stellen in dem, was sie gelesen haben.',
  findAction: 'Stellen suchen',
  recommend: 'Den Engines etwas empfehlen',
  recommendAction: 'Empfehlen',
  bar: 'Mit der Auswahl',
  fragment: 'Stelle',
  what: 'Was sollen Engines wissen?',
  comment: 'Bemerkung (freiwillig)',
  commentNote: 'Was besser wäre, was fehlt oder warum',
  send: 'Senden',
  thanks: 'Danke. Engines beachten das von jetzt an.',
  types: {
    'Promote Answer': { name: 'Das ist eine gute Antwort', note: 'Sie soll auch für ähnliche Fragen benutzt werden.' },
    'Suggest Improvement': { name: 'Das geht besser', note: 'Schreiben Sie in die Bemerkung, wie.' },
    'Make Correction': { name: 'Das ist falsch', note: 'Schreiben Sie in die Bemerkung, was richtig ist.' },
    'Add Missing Info': { name: 'Es fehlt etwas', note: 'Ergänzen Sie es in der Bemerkung.' },
    'Clarify Phrasing': { name: 'Das ist schwer zu verstehen', note: 'Schreiben Sie, wie Sie es sagen würden.' },
    'Flag as Off Topic': { name: 'Das gehört nicht hierher', note: 'Diese Stelle wird von jetzt an ausgelassen.' },
  },
  looking: 'Eine Engine sucht nach Stellen …',
  noMatch: 'Keine Stelle passt.',
  none: 'Wählen Sie einen Teil einer Frage oder Antwort aus, um passende Stellen zu finden.',
  unnamed: 'Stelle',
  copy: 'Stelle kopieren',
};
