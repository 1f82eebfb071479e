// SPDX-License-Identifier: Apache-2.0
// Small parts of every page.
import {html, useEffect, useLayoutEffect, useRef, useState} from '../html.js';
import {ago, time} from '../format.js';
import {own} from '../names.js';
import {Store, useStore} from '../store.js';
import {S} from '../strings.js';

// A text that somebody else wrote: it may be in any script, and must not turn the text around it.
export const Own = ({text}) => html`<bdi>${text}</bdi>`;

// A text of the service, which marks words of programs as its guides do: ``word``.
export const Prose = ({text}) => String(text).split('``').map((part, place) => (place % 2 ? html`<code>${part}</code>` : part));

export const named = (row) => row.name || S.table.unnamed(row.id);
export const Name = ({row}) => html`<${Own} text=${named(row)} />`;

// Ages are told anew from time to time, by one clock for the page.
const clock = new Store({});
setInterval(() => document.hidden || clock.set({}), 15000);

// How long ago; the exact time when pointed at.
export function Time({at}) {
  useStore(clock);
  return at ? html`<time datetime=${at} title=${time(at)}>${ago(at)}</time>` : S.none;
}

const KINDS = [
  ['bad', /error|failed|^down$|parked/],
  ['good', /^(available|active|up|enabled|in_sync|done|migration_success)$/],
  ['plain', /^(inactive|disabled|out_of_sync|migration_cancelled|ro|rw)$/],
];
const kindOf = (status) => KINDS.find(([, form]) => form.test(status))?.[0] ?? 'busy';

// The word says it; the color only helps.
export const Status = ({of}) => (of ? html`<span class="status ${kindOf(of)}">${of.replaceAll('_', ' ')}</span>` : S.none);

export const isBusy = (status) => kindOf(status ?? '') === 'busy';

let moved = false;
export const focusTitle = () => { moved = true; };

export function Title({children, actions}) {
  const ref = useRef();
  const text = [children].flat().map((child) => (typeof child === 'string' ? child : child?.props?.text ?? '')).join('');
  useLayoutEffect(() => { document.title = `${own(text)} – ${S.title}`; }, [text]);
  // Screen readers begin to read here, after a link led to this page.
  useEffect(() => {
    if (moved) ref.current.focus();
    moved = false;
  }, []);
  return html`<div class="title"><h1 tabindex="-1" ref=${ref}>${children}</h1>${actions && html`<div class="actions">${actions}</div>`}</div>`;
}

// What to do here after a refusal: the service names commands, and this is a page.
const nextOf = ({reason, next}) => S.error.here[reason] ?? (/_locked$/.test(reason) ? S.error.here.locked : next);

export function Problem({error, onDismiss}) {
  if (!error) return null;
  const text = {403: S.error.forbidden}[error.status];
  const next = nextOf(error);
  return html`<div class="problem" role="alert">
    <p><strong dir="auto"><${Prose} text=${error.message} /></strong></p>
    ${next && next !== error.message ? html`<p dir="auto"><${Prose} text=${next} /></p>` : text && html`<p>${text}</p>`}
    ${onDismiss && html`<button type="button" onClick=${onDismiss}>${S.error.dismiss}</button>`}
  </div>`;
}

// What was loaded; until then that it loads; or why it cannot be shown.
export function Loaded({from, children}) {
  if (from.value === null) {
    return from.error ? html`<${Problem} error=${from.error} />` : html`<p class="loading" role="status">${S.loading}…</p>`;
  }
  return html`<${Problem} error=${from.error} />${children(from.value)}`;
}

// A list without rows: what to do first, and a way to it.
export const Empty = ({text, next, children}) => html`<div class="empty"><p class="none">${text}</p>
  ${next && html`<p>${next}</p>`}${children && html`<div class="actions">${children}</div>`}</div>`;

export function Section({title, actions, children}) {
  return html`<section><div class="title"><h2>${title}</h2>${actions && html`<div class="actions">${actions}</div>`}</div>${children}</section>`;
}

// A list as a page of its own, or, with `part`, as a part of another one.
export const Headed = ({part, title, actions, children}) => (part ? html`<${Section} ...${{title, actions}}>${children}<//>`
  : html`<${Title} actions=${actions}>${title}<//>${children}`);

export function Facts({rows}) {
  return html`<dl class="facts">${rows.filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
    .map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

// A picture that scrolls by itself where the screen is too narrow for it.
export const Picture = ({label, children}) => html`<div class="picture" role="region" tabindex="0"
  aria-label=${S.table.scroll(label)}>${children}</div>`;

async function write(text) {
  if (!navigator.clipboard) throw new Error('only over HTTPS');
  await navigator.clipboard.writeText(text);
}

// A text to copy. Without a clipboard, as over plain HTTP, it is selected instead.
export function Copied({text, label}) {
  const [said, say] = useState('');
  const code = useRef();
  async function copy() {
    try {
      await write(text);
      say(S.action.copied);
    } catch {
      getSelection().selectAllChildren(code.current);
      say(document.execCommand('copy') ? S.action.copied : S.action.copyFailed);
    }
  }
  return html`<div class="copied"><code ref=${code} dir="ltr" tabindex="0" role="group" aria-label=${label}>${text}</code>
    <button type="button" onClick=${copy} aria-label=${S.action.ofThis(S.action.copy, label)}>${S.action.copy}</button>
    <span role="status">${said}</span></div>`;
}

// [run, problem]: `run(act)` does something at once, has the page ask again, and says whether it worked; the problem is shown where it is put.
export function useAct(reload = () => {}) {
  const [error, set] = useState(null);
  const run = (act) => {
    set(null);
    return act().then(reload).then(() => true, (problem) => {
      set(problem);
      return false;
    });
  };
  return [run, html`<${Problem} error=${error} onDismiss=${() => set(null)} />`];
}

// A button for one of several rows: those who hear it hear which.
export const button = (label, row, act, name = named(row)) => html`<button type="button" onClick=${() => act(row)}
  aria-label=${S.action.ofThis(label, name)}>${label}</button>`;
