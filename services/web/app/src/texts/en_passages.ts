// SPDX-License-Identifier: MIT
//
// The texts of lookups and recommendations in English.
export const passages = {
  title: 'Matching passages',
  find: 'Find matching passages',
  findNote: 'Engines look for passages in what they have indexed.',
  findAction: 'Find passages',
  recommend: 'Recommend to the engines',
  recommendAction: 'Recommend',
  bar: 'With the selection',
  fragment: 'Passage',
  what: 'What should engines know?',
  comment: 'Comment (optional)',
  commentNote: 'What is better, what is missing, or why',
  send: 'Send',
  thanks: 'Thank you. Engines take it into account from now on.',
  types: {
    'Promote Answer': { name: 'This is a good answer', note: 'Use it again for similar questions.' },
    'Suggest Improvement': { name: 'It could be better', note: 'Say how in the comment.' },
    'Make Correction': { name: 'It is wrong', note: 'Write what is right in the comment.' },
    'Add Missing Info': { name: 'Something is missing', note: 'Add it in the comment.' },
    'Clarify Phrasing': { name: 'It is hard to understand', note: 'Write how you would put it.' },
    'Flag as Off Topic': { name: 'It is off topic', note: 'This passage is left out from now on.' },
  },
  looking: 'An engine looks for passages …',
  noMatch: 'No passage matches.',
  none: 'Select a part of a question or an answer to find passages that match it.',
  unnamed: 'Passage',
  copy: 'Copy the passage',
};
