// SPDX-License-Identifier: MIT
import { render } from 'preact';
import './style/base.css';
import './style/parts.css';
import './style/sheet.css';
import './style/sign_in.css';
import './style/frame.css';
import './style/chat.css';
import './style/markdown.css';
import { App } from './app';
import { takeArrival } from './router';
import { startSession } from './session/session';
import { loadTexts } from './texts';
import { startTheme } from './ui/theme';

startTheme();
const arrival = takeArrival();
startSession();
void loadTexts().then(() => render(<App arrival={arrival} />, document.getElementById('app')!));
