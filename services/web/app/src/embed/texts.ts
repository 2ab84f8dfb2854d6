// SPDX-License-Identifier: MIT
//
// Texts of the box on other pages, in the language of the page.
const en = {
  question: 'Your question',
  ask: 'Ask',
  answers: 'Answers',
  asking: 'Looking for an answer …',
  answered: 'The answer is there.',
  tooMany: 'Too many questions have been asked from here. Try again in a minute.',
  busy: 'No answer could be had at the moment. Try again shortly.',
  failed: 'This question could not be asked here.',
  away: 'The answers cannot be reached. Check the connection, and try again.',
};
export type EmbedTexts = typeof en;
const de: EmbedTexts = {
  question: 'Ihre Frage',
  ask: 'Fragen',
  answers: 'Antworten',
  asking: 'Eine Antwort wird gesucht …',
  answered: 'Die Antwort ist da.',
  tooMany: 'Von hier wurden zu viele Fragen gestellt. Bitte in einer Minute noch einmal versuchen.',
  busy: 'Gerade gibt es keine Antwort. Bitte gleich noch einmal versuchen.',
  failed: 'Diese Frage konnte hier nicht gestellt werden.',
  away: 'Die Antworten sind nicht erreichbar. Bitte die Verbindung prüfen und es noch einmal versuchen.',
};

export const textsOf = (language: string): EmbedTexts => (language.startsWith('de') ? de : en);
