// SPDX-License-Identifier: Apache-2.0
// The beginning: who is the user, and which page does the address name.
import {html, render, useEffect, useErrorBoundary} from './html.js';
import {follow} from './events.js';
import {Problem, Title, focusTitle} from './parts/basics.js';
import {Frame} from './parts/frame.js';
import {LoginPage} from './parts/login.js';
import {PAGES} from './pages/all.js';
import {useRoute} from './router.js';
import {mayOpen} from './rules.js';
import {begin, session} from './session.js';
import {useStore} from './store.js';
import {S} from './strings.js';
import './theme.js';

function Missing() {
  return html`<${Title}>${S.notFound.title}<//><p>${S.notFound.text}</p>`;
}

// Pages that belong to another one of the navigation.
const IN = {share: 'shares', 'create-share': 'shares', evacuate: 'services'};

function Page({name, rest}) {
  const [error, again] = useErrorBoundary((problem) => console.error(problem));
  if (error) {
    return html`<${Title}>${S.broken.title}<//><p>${S.broken.text}</p><button type="button" onClick=${again}>${S.broken.again}</button>`;
  }
  if (!mayOpen(name)) return html`<${Title}>${S.nav[IN[name] ?? name]}<//><${Problem} error=${{message: S.error.forbidden}} />`;
  return html`<${PAGES[name] ?? Missing} id=${rest[0]} rest=${rest} />`;
}

// Words of the address that make no other page: the microversion.
const SAME = {api: 1};

function App() {
  const {phase, user, everything} = useStore(session);
  const [name, ...rest] = useRoute();
  const page = name || 'overview';
  useEffect(() => {
    addEventListener('hashchange', focusTitle);
    return () => removeEventListener('hashchange', focusTitle);
  }, []);
  if (phase === 'begin') return html`<p class="loading" role="status">${S.loading}…</p>`;
  if (phase === 'out') return html`<${LoginPage} />`;
  // A page of another project or address is another page; a new log-in of the same user keeps it.
  const key = [page, ...rest.slice(SAME[page] ?? 0), user.user_id, user.project_id, everything].join(' ');
  return html`<${Frame} page=${page} here=${IN[page] ?? page}><${Page} key=${key} name=${page} rest=${rest} /><//>`;
}

follow();
begin();
render(html`<${App} />`, document.getElementById('root'));
