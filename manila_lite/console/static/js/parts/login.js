// SPDX-License-Identifier: Apache-2.0
// The log-in: as a page, and as a dialog over a page whose session ended.
import {html, useState} from '../html.js';
import {giveUp, logIn, logOut, session} from '../session.js';
import {useStore} from '../store.js';
import {S} from '../strings.js';
import {Problem} from './basics.js';
import {Dialog} from './dialog.js';
import {Choice, Form, Text, useFields} from './form.js';

const FIELDS = {
  keystone: ['user', 'password', 'user_domain'],
  http_basic: ['user', 'password'],
  noauth: ['user', 'project', 'roles'],
};

function LoginForm({onDone, onCancel, known}) {
  const {settings} = session.value;
  const [projects, setProjects] = useState(null);
  const {values, set, field} = useFields({
    user: known?.user_name ?? '', password: '', user_domain: settings.user_domain, project: known?.project_id ?? '',
    roles: known?.roles.join(',') ?? 'member,reader', project_id: known?.project_id ?? ''});
  const wanted = FIELDS[settings.auth_strategy];
  async function submit() {
    const fields = Object.fromEntries(wanted.map((name) => [name, values[name]]));
    if (settings.auth_strategy === 'keystone' && (projects || known)) fields.project_id = values.project_id;
    const found = await logIn(fields);
    if (found.length === 0) return onDone?.();
    setProjects(found);
    return set((old) => ({...old, project_id: found[0].id}));
  }
  const inputs = {
    user: html`<${Text} label=${S.login.user} ...${field('user')} required autocomplete="username" autofocus />`,
    password: html`<${Text} label=${S.login.password} ...${field('password')} type="password" required autocomplete="current-password" />`,
    user_domain: html`<${Text} label=${S.login.domain} ...${field('user_domain')} required />`,
    project: html`<${Text} label=${S.login.project} ...${field('project')} required />`,
    roles: html`<${Text} label=${S.login.roles} hint=${S.login.rolesHint} ...${field('roles')} required />`,
  };
  return html`<${Form} submit=${S.login.submit} onSubmit=${submit} onCancel=${onCancel}>
    ${settings.auth_strategy === 'noauth' && html`<p>${S.login.noauth}</p>`}
    ${projects === null ? wanted.map((name) => html`<div key=${name}>${inputs[name]}</div>`)
      : html`<${Choice} label=${S.login.choose} ...${field('project_id')} options=${projects.map(({id, name}) => [id, name])} autofocus />`}<//>`;
}

export function LoginPage() {
  const {error, settings} = useStore(session);
  return html`<main class="login" id="content"><h1>${S.title}</h1><div class="card"><h2>${S.login.title}</h2>
    <${Problem} error=${error} />${settings && html`<${LoginForm} />`}</div></main>`;
}

export function LoginAgain() {
  const {asking, user} = useStore(session);
  if (!asking) return null;
  return html`<${Dialog} title=${S.login.again} onClose=${giveUp}><p>${S.login.againText}</p>
    <${LoginForm} known=${user} onCancel=${giveUp} /><//>`;
}

export function ActAs({onClose}) {
  return html`<${Dialog} title=${S.user.changeUser} onClose=${onClose}>
    <${LoginForm} known=${session.value.user} onDone=${onClose} onCancel=${onClose} /><//>`;
}

export function LogOut() {
  return html`<button type="button" onClick=${() => logOut().catch(() => {})}>${S.user.logOut}</button>`;
}
