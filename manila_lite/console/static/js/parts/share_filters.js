// SPDX-License-Identifier: Apache-2.0
// Filters of the list of shares, as the service knows them.
import {html} from '../html.js';
import {get, unlessForbidden} from '../api.js';
import {useLoad} from '../load.js';
import {may, session} from '../session.js';
import {Choice, Text} from './form.js';
import {S} from '../strings.js';

const T = S.filters;

export const NONE = {text: '', status: '', type: '', host: '', project: '', metadata: ''};

// The query of the list. Metadata is looked for as soon as there is a value.
export function queryOf({text, status, type, host, project, metadata}) {
  const [key, ...value] = metadata.split('=');
  return {'name~': text.trim(), status, share_type_id: type, host, project_id: project.trim(),
    metadata: value.length > 0 ? JSON.stringify({[key.trim()]: value.join('=').trim()}) : ''};
}

async function load() {
  const [{share_types: types}, {pools}] = await Promise.all([unlessForbidden(get('types'), {share_types: []}),
    may('scheduler_stats:pools:index') ? get('scheduler-stats/pools') : {pools: []}]);
  return {types: types.map(({id, name}) => [id, name]), hosts: pools.map(({name}) => [name, name])};
}

export function Filters({field}) {
  const {value} = useLoad(load, []);
  const any = [['', T.any]];
  return html`<${Text} label=${S.shares.search} type="search" ...${field('text')} maxlength="255" />
    <${Choice} label=${S.shares.state} ...${field('status')}
      options=${[['', S.shares.anyState], ...S.shares.states.map((name) => [name, name.replaceAll('_', ' ')])]} />
    <details class="more"><summary>${T.more}</summary><div class="filters">
      <${Choice} label=${T.type} ...${field('type')} options=${[...any, ...(value?.types ?? [])]} />
      ${may('scheduler_stats:pools:index') && html`<${Choice} label=${T.host} ...${field('host')} options=${[...any, ...(value?.hosts ?? [])]} />`}
      ${session.value.everything && html`<${Text} label=${T.project} ...${field('project')} maxlength="255" />`}
      <${Text} label=${T.metadata} ...${field('metadata')} maxlength="1300" /></div></details>`;
}
