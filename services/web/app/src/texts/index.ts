// SPDX-License-Identifier: MIT
//
// texts: the texts of the app in the language that is shown. English is part of the first load, others are loaded when they are used.
import { signal } from '@preact/signals';
import { en, type Texts } from './en';

const KEY = 'parley.language';
const loaders: Record<string, () => Promise<Texts>> = {
  en: async () => en,
  de: async () => (await import('./de')).de,
};
export const languages = { en: 'English', de: 'Deutsch' };
export type Language = keyof typeof languages;

const texts = signal<Texts>(en);
export const language = signal<Language>('en');

/** The texts. A component that calls it is drawn again when the language changes. */
export const t = () => texts.value;

function preferred(): Language {
  const wanted = [localStorage.getItem(KEY), ...navigator.languages].map((one) => one?.slice(0, 2));
  return (wanted.find((one) => one && one in loaders) ?? 'en') as Language;
}

export async function showLanguage(name: Language): Promise<void> {
  texts.value = await loaders[name]!();
  language.value = name;
  document.documentElement.lang = name;
}

export function chooseLanguage(name: Language): void {
  localStorage.setItem(KEY, name);
  void showLanguage(name);
}

/** Resolves when the texts can be shown; in English if those of the preferred language cannot be loaded. */
export const loadTexts = () => showLanguage(preferred()).catch(() => showLanguage('en'));
