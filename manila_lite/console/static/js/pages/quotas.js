// SPDX-License-Identifier: Apache-2.0
// Quotas of the project as bars.
import {html} from '../html.js';
import {get, id as quoted} from '../api.js';
import {isEvent, useLoad} from '../load.js';
import {Loaded, Title} from '../parts/basics.js';
import {Bar} from '../parts/bars.js';
import {session} from '../session.js';
import {S} from '../strings.js';

const T = S.quotas;

function Quota({name, limit, used, reserved}) {
  const label = T.names[name] ?? name.replaceAll('_', ' ');
  const text = limit < 0 ? T.usedOnly(used) : T.used(used, limit);
  return html`<li><span>${label}</span><${Bar} label=${`${label}: ${text}`} most=${limit < 0 ? used + reserved || 1 : limit}
      parts=${[['used', used], ['reserved', reserved]]} />
    <span>${text}${reserved > 0 && ` (+${reserved} ${T.reserved})`}</span></li>`;
}

export function Quotas() {
  const project = session.value.user.project_id;
  const found = useLoad(async () => (await get(`quota-sets/${quoted(project)}/detail`)).quota_set, [project],
    isEvent('operation', 'status'));
  return html`<${Title}>${T.title}<//><${Loaded} from=${found}>${(set) => html`<ul class="quotas">${Object.entries(set)
    .filter(([, value]) => typeof value === 'object' && value !== null)
    .map(([name, {limit, in_use: used, reserved}]) => html`<${Quota} key=${name} ...${{name, limit, used, reserved}} />`)}</ul>`}<//>`;
}
