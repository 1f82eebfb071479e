// SPDX-License-Identifier: Apache-2.0
// What is around every page: navigation, the user, and whether the service answers.
import {html, useState} from '../html.js';
import {link as service} from '../api.js';
import {go, link} from '../router.js';
import {guideOf} from '../guides.js';
import {mayOpen} from '../rules.js';
import {askAgain, logIn, otherProjects, session} from '../session.js';
import {useStore} from '../store.js';
import {S} from '../strings.js';
import {choose, theme} from '../theme.js';
import {Own, useAct} from './basics.js';
import {FormDialog} from './dialog.js';
import {Check, Choice} from './form.js';
import {Icon, Logo} from './icons.js';
import {ActAs, LoginAgain, LogOut} from './login.js';

const PROJECT = ['overview', 'shares', 'snapshots', 'backups', 'schedules', 'networks', 'groups', 'replicas', 'operations', 'messages', 'quotas',
  'api'];
const OPERATOR = ['pools', 'types', 'services', 'servers', 'migrations', 'findings'];

function Links({title, names, here}) {
  const open = names.filter(mayOpen);
  return open.length > 0 && html`<h2>${title}</h2><ul>${open.map((name) => html`<li key=${name}><a href=${link(name)}
    aria-current=${name === here ? 'page' : undefined}><${Icon} name=${name} />${S.nav[name]}</a></li>`)}</ul>`;
}

function Account() {
  const {user, settings, everything} = useStore(session);
  const [projects, setProjects] = useState(null);
  const [acting, act] = useState(false);
  const [chosen, choose] = useState(user.project_id);
  const [run, problem] = useAct();
  return html`<div class="account" role="group" aria-label=${S.user.account}>
    <span><${Own} text=${user.user_name} /> · ${S.user.project} <${Own} text=${user.project_name} /></span>
    ${user.administrator && html`<${Check} label=${S.user.everything} value=${everything}
      onChange=${(value) => session.set({everything: value})} />`}
    ${settings.auth_strategy === 'keystone' && html`<button type="button"
      onClick=${() => run(async () => setProjects(await otherProjects()))}>${S.user.change}</button>`}
    ${settings.auth_strategy === 'noauth' && html`<button type="button" onClick=${() => act(true)}>${S.user.changeUser}</button>`}
    <${Theme} /><${LogOut} />${problem}
    ${acting && html`<${ActAs} onClose=${() => act(false)} />`}
    ${projects && html`<${FormDialog} title=${S.user.change} submit=${S.login.switch} onClose=${() => setProjects(null)}
        onSubmit=${() => logIn({project_id: chosen})}><${Choice} label=${S.user.project} value=${chosen} onChange=${choose}
        options=${projects.map(({id, name}) => [id, name])} /><//>`}</div>`;
}

function Find() {
  const submit = (event) => {
    event.preventDefault();
    const text = event.target.elements.text.value.trim();
    if (text) go('search', text);
  };
  return html`<form class="find" role="search" aria-label=${S.search.label} onSubmit=${submit}>
    <input type="search" name="text" aria-label=${S.search.label} placeholder=${S.search.short} maxlength="255" dir="auto" />
    <button type="submit">${S.search.submit}</button></form>`;
}

function Theme() {
  const {chosen} = useStore(theme);
  return html`<select class="inline" aria-label=${S.theme.label} value=${chosen} onChange=${(event) => choose(event.target.value)}>
    ${Object.entries(S.theme.names).map(([name, text]) => html`<option key=${name} value=${name} selected=${name === chosen}>${text}</option>`)}</select>`;
}

const logInAgain = () => askAgain().catch(() => {});

export function Frame({page, here, children}) {
  const {user, settings, declined} = useStore(session);
  const {away} = useStore(service);
  const guide = guideOf(page, settings.docs_url);
  const toContent = (event) => {
    event.preventDefault();
    document.getElementById('content').focus();
  };
  return html`<a class="skip" href="#content" onClick=${toContent}>${S.skip}</a>
    <header><a class="brand" href=${link('overview')}><${Logo} />${S.title}</a><${Find} /><${Account} key=${user.project_id} /></header>
    <nav aria-label=${S.nav.label}><${Links} title=${S.nav.project} names=${PROJECT} here=${here} />
      <${Links} title=${S.nav.operator} names=${OPERATOR} here=${here} /></nav>
    <main id="content" tabindex="-1"><div role="status">${away && html`<p class="away">${S.away}</p>`}
      ${declined && html`<p class="away">${S.error.ended} <button type="button" onClick=${logInAgain}>${S.login.submit}</button></p>`}</div>${children}
      ${guide && html`<p class="guide"><a href=${guide} target="_blank" rel="noopener noreferrer">${S.guide}</a></p>`}</main>
    <${LoginAgain} />`;
}
