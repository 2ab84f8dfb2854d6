// SPDX-License-Identifier: MIT
//
// Every text of the app in English. Another language is a file of the same shape (de.ts).
import { documents } from './en_documents';
import { evaluations, rooms } from './en_rooms';
import { operations } from './en_operations';
import { passages } from './en_passages';
import { workflows } from './en_workflows';

/** "1 question", "2 questions". */
const count = (n: number, one: string, more: string) => (n === 1 ? `1 ${one}` : `${n} ${more}`);

export const en = {
  language: 'English',
  appName: 'Parley',

  signIn: {
    title: 'Sign in',
    lead: 'Ask questions, and get answers from the engines of this Parley.',
    name: 'Account name',
    secret: 'Secret',
    secretNote: 'The secret stays in this page. It signs the request, and is never sent.',
    show: 'Show the secret',
    hide: 'Hide the secret',
    submit: 'Sign in',
    busy: 'Signing in …',
    continueAs: (user: string) => `Continue as ${user}`,
    other: 'or with another account',
    with: (provider: string) => `Sign in with ${provider}`,
    withAccount: 'or with an account',
    badReturn: 'This sign-in has been used, is too old, or began in another tab. Sign in again.',
    notSignedIn: {
      denied: 'You have not been signed in: the provider says that it was cancelled.',
      expired: 'Signing in took more than ten minutes. Try again.',
      failed: 'The provider did not sign you in. Try again, and ask your operator if it happens again.',
      taken: 'Your name at the provider is that of an account here, so you cannot use it. Ask your operator.',
    },
    home: 'What is Parley?',
    wrong: 'The name or the secret is not right.',
    wait: (seconds: number) => `Too many attempts failed. You can try again in ${count(seconds, 'second', 'seconds')}.`,
    unreachable: 'This Parley cannot be reached. Check the connection, and try again.',
    badLink: 'This link has been used, or is too old. Sign in with a secret, or make a new link.',
    expired: 'Your session has ended. Sign in again to continue where you were.',
    refused: 'This account is no longer valid. Sign in again.',
    signedOut: 'You have signed out.',
    cannotAsk: (user: string, role: string) => `The account ${user} has the role ${role}, which asks no questions. Sign in with an account of a user.`,
  },

  account: {
    menu: (user: string) => `Account: ${user}`,
    signOut: 'Sign out',
    handbook: 'Handbook',
    licenses: 'Licences',
    theme: 'Appearance',
    themes: { auto: 'As the system', light: 'Light', dark: 'Dark' },
    languages: 'Language',
    endsSoon: (minutes: number) => `This session ends in ${count(minutes, 'minute', 'minutes')}.`,
  },

  frame: { side: 'Side bar', open: 'Open the side bar', close: 'Close the side bar' },
  pages: { chat: 'Chat', documents: 'Documents', operations: 'Operations', rooms: 'Rooms', workflows: 'Workflows', approvals: 'Approvals', failed: 'This page could not be loaded.' },

  topics: {
    title: 'Topics',
    new: 'New topic',
    search: 'Search topics',
    clear: 'Clear the search',
    none: 'Your topics will be listed here.',
    noMatch: 'No topic contains this text.',
    searching: 'Searching …',
    failed: 'The topics could not be loaded.',
    menu: 'More about this topic',
    rename: 'Rename',
    export: 'Export',
    delete: 'Delete',
    renameTitle: 'Rename the topic',
    renameLabel: 'Name',
    deleteTitle: 'Delete the topic?',
    deleteText: (name: string) => `“${name}” and its questions and answers will be deleted. This cannot be undone.`,
    missing: 'This topic does not exist, or has been deleted.',
    untitled: 'New topic',
  },

  thread: {
    label: 'Questions and answers',
    welcome: 'What would you like to know?',
    welcomeNote: 'Your question waits in a queue until an engine takes it. You can close this page meanwhile: the answer will be here.',
    earlier: 'Show earlier questions',
    loading: 'Loading …',
    failed: 'The topic could not be loaded.',
    again: 'Try again',
    you: 'You',
    question: (n: number) => `Question ${n}`,
    latest: 'Go to the latest answer',
    think: 'Reasoning',
    thinking: 'Reasoning …',
    copy: 'Copy',
    copied: 'Copied',
    copyAnswer: 'Copy the answer',
    copyCode: 'Copy the code',
    edit: 'Edit and ask again',
    retry: 'Ask again',
    cancelled: 'You stopped this question.',
    failedAnswer: (reason: string) => `No answer: ${reason}`,
    unsent: 'This question was not sent.',
    answeredBy: (model: string) => `Answered by ${model}`,
    cutShort: 'The answer was cut short, because it reached its maximum length.',
    code: 'Code',
    table: 'Table',
    tooLong: 'Shown as plain text, because it is very long.',
  },

  composer: {
    label: 'Your question',
    placeholder: 'Ask a question',
    send: 'Send',
    stop: 'Stop',
    model: 'Model',
    modelDefault: 'Default model',
    modelOther: 'Another model …',
    modelTitle: 'Which model is to answer?',
    modelLabel: 'Name of the model',
    modelNote: 'If no engine serves it, the default model answers.',
    hint: 'Enter sends, Shift and Enter begin a new line.',
    tooLong: 'The question is longer than 256 KiB.',
    editing: 'You are changing an earlier question.',
    cancelEdit: 'Leave it as it was',
  },

  status: {
    sending: 'Sending …',
    queued: 'Waiting for an engine …',
    position: (before: number) => (before === 0 ? 'Next in the queue' : `${count(before, 'question', 'questions')} before yours`),
    eta: (seconds: number) => (seconds < 90 ? `about ${count(Math.max(1, seconds), 'second', 'seconds')}` : `about ${Math.round(seconds / 60)} minutes`),
    thinking: 'The engine is reasoning …',
    answering: 'The answer is being written …',
    restarted: 'Another engine starts over …',
    away: 'The connection is lost. The answer continues as soon as it is back.',
    refused: (detail: string, seconds: number) => `${detail} Trying again in ${count(seconds, 'second', 'seconds')}.`,
    done: 'The answer is complete.',
  },

  dialog: { cancel: 'Cancel', save: 'Save', choose: 'Use it', delete: 'Delete', close: 'Close' },
  export: { file: 'topic', question: 'Question', answer: 'Answer', think: 'Reasoning', open: 'not answered yet' },
  rooms,
  evaluations,
  workflows,
  documents,
  operations,
  passages,
  unexpected: (detail: string) => `That did not work: ${detail}`,
};

export type Texts = typeof en;
