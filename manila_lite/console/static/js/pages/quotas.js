// SPDX-License-Identifier: Apache-2.0
// Quotas of the project as bars; administrators see and change those of any project.
import {html, useState} from '../html.js';
import {get, id as quoted, put, remove} from '../api.js';
import {useCalm} from '../calm.js';
import {isEvent, useLoad} from '../load.js';
import {Loaded, Title} from '../parts/basics.js';
import {Bar} from '../parts/bars.js';
import {UsageOfProject} from '../parts/usage.js';
import {FormDialog, useConfirm, useOpened} from '../parts/dialog.js';
import {Text, Whole, useFields} from '../parts/form.js';
import {may, session} from '../session.js';
import {S} from '../strings.js';

const T = S.quotas;
const nameOf = (name) => T.names[name] ?? name.replaceAll('_', ' ');
const resourcesOf = (set) => Object.entries(set).filter(([, value]) => typeof value === 'object' && value !== null);

function Quota({name, limit, used, reserved}) {
  const label = nameOf(name);
  const text = limit < 0 ? T.usedOnly(used) : T.used(used, limit);
  return html`<li><span>${label}</span><${Bar} label=${`${label}: ${text}`} most=${limit < 0 ? used + reserved || 1 : limit}
      parts=${[['used', used], ['reserved', reserved]]} />
    <span>${text}${reserved > 0 && ` (+${reserved} ${T.reserved})`}</span></li>`;
}

const useQuotas = (project) => useLoad(async () => (await get(`quota-sets/${quoted(project)}/detail`)).quota_set, [project],
  isEvent('operation', 'status'));

const Bars = ({set, only}) => html`<ul class="quotas">${resourcesOf(set).filter(([name]) => only?.includes(name) ?? true)
  .map(([name, {limit, in_use: used, reserved}]) => html`<${Quota} key=${name} ...${{name, limit, used, reserved}} />`)}</ul>`;

// `only`: the resources that are shown; default: all.
export function QuotaBars({only}) {
  const found = useQuotas(session.value.user.project_id);
  return html`<${Loaded} from=${found}>${(set) => html`<${Bars} ...${{set, only}} />`}<//>`;
}

function Change({project, set, onClose}) {
  const rows = resourcesOf(set);
  const {values, field} = useFields(Object.fromEntries(rows.map(([name, {limit}]) => [name, String(limit)])));
  const submit = () => {
    const changed = rows.filter(([name, {limit}]) => Number(values[name]) !== limit).map(([name]) => [name, Number(values[name])]);
    return changed.length > 0 && put(`quota-sets/${quoted(project)}`, {quota_set: Object.fromEntries(changed)});
  };
  return html`<${FormDialog} title=${T.changeOf(project)} submit=${S.action.save} onSubmit=${submit} onClose=${onClose}><p>${T.unlimited}</p>
    ${rows.map(([name]) => html`<${Whole} key=${name} label=${nameOf(name)} ...${field(name)} min="-1" required />`)}<//>`;
}

function OfProject({project}) {
  const found = useQuotas(project);
  const [changing, change, close] = useOpened(found.reload);
  const [ask, confirm] = useConfirm(found.reload);
  const reset = () => ask({title: T.resetTitle(project), text: T.resetText, submit: T.reset, act: () => remove(`quota-sets/${quoted(project)}`)});
  return html`<${Loaded} from=${found}>${(set) => html`<div class="actions"><button type="button" onClick=${() => change(true)}>${T.change}</button>
      ${may('quota_set:delete') && html`<button type="button" onClick=${reset}>${T.reset}</button>`}</div><${Bars} set=${set} />
    ${changing && html`<${Change} ...${{project, set}} onClose=${close} />`}`}<//>${confirm}`;
}

export function Quotas() {
  const {user} = session.value;
  const [project, choose] = useState(user.project_id);
  const {wanted} = useCalm({wanted: project.trim()});
  const shown = wanted && wanted === project.trim();
  return html`<${Title}>${T.title}<//>${may('quota_set:update') ? html`
    <form class="filters" onSubmit=${(event) => event.preventDefault()}><${Text} label=${T.project} hint=${T.projectHint} value=${project}
      onChange=${choose} maxlength="255" /></form>
    ${shown && html`<${OfProject} key=${wanted} project=${wanted} />`}` : html`<${QuotaBars} />`}
    ${shown && may('share_usage:projects') && html`<${UsageOfProject} key=${`use ${wanted}`} id=${wanted} />`}`;
}
