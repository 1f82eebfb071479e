// SPDX-License-Identifier: Apache-2.0
// The calls of the API at a microversion, as the service describes them itself; each can be tried here.
import {html, useRef, useState} from '../html.js';
import {VERSION} from '../api.js';
import {addressOf, describe, fetchVersions, titleOf} from '../api_document.js';
import {useLoad} from '../load.js';
import {Loaded, Prose, Section, Title} from '../parts/basics.js';
import {Choice, Text} from '../parts/form.js';
import {About, Schema} from '../parts/schema.js';
import {Table} from '../parts/table.js';
import {TryIt} from '../parts/try_it.js';
import {go, link} from '../router.js';
import {S} from '../strings.js';

const T = S.api;
// What was searched for, while a call is looked at.
let searched = '';

const linkTo = (version, {method, path, action}) => link('api', version, method, path, ...(action ? [action] : []));
const isAsked = ([method, path, action = '']) => (call) => call.method === method && call.path === path && call.action === action;
const fits = (words) => (call) => words.every((word) => `${titleOf(call)} ${call.summary} ${call.tag}`.toLowerCase().includes(word));

const Names = ({call: {method, path, action}}) => html`<code>${method}</code> <code>${path}</code>
  ${action && html` <code>${action}</code>`}`;

function List({data}) {
  const [text, search] = useState(searched);
  searched = text;
  const calls = data.calls.filter(fits(text.toLowerCase().split(/\s+/)));
  const tags = [...new Set(calls.map(({tag}) => tag))].sort();
  return html`<p>${T.text} <a href=${addressOf(data.version).href} target="_blank" rel="noopener">${T.document}</a></p>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Text} label=${T.search} type="search" value=${text} onChange=${search} maxlength="255" />
      <p role="status">${T.count(calls.length)}</p></form>
    ${tags.map((tag) => html`<${Section} key=${tag} title=${tag.replaceAll('_', ' ')}><ul class="calls">
      ${calls.filter((call) => call.tag === tag).map((call) => html`<li key=${titleOf(call)}>
        <a href=${linkTo(data.version, call)}><${Names} call=${call} /></a> <${Prose} text=${call.summary} /></li>`)}</ul><//>`)}`;
}

const PARAMETERS = [
  {key: 'name', head: S.table.name, cell: ({name}) => html`<code>${name}</code>`},
  {key: 'in', head: T.in, cell: (row) => T.places[row.in]},
  {key: 'kind', head: T.kind, class: 'long', cell: (row) => html`<${About} schema=${row.schema} />
    ${row.required && html` <strong>${T.required}</strong>`} <${Prose} text=${row.description ?? ''} />`},
];

const statuses = (answers) => answers.map(({status}) => status).join(', ');

function Answers({answers}) {
  const good = answers.filter(({status}) => Number(status) < 400);
  const bad = answers.filter(({status}) => Number(status) >= 400);
  return html`${good.map(({status, schema, headers}) => html`<div key=${status}><h3>${status}</h3>
      <p class="hint">${T.with(headers.join(', '))}</p>${schema ? html`<${Schema} schema=${schema} />` : html`<p class="none">${T.empty}</p>`}</div>`)}
    ${bad.length > 0 && html`<h3>${T.refused}</h3><p>${statuses(bad)}</p><${Schema} schema=${bad[0].schema} />`}`;
}

function Call({data, rest}) {
  const call = data.calls.find(isAsked(rest));
  if (!call) return html`<p class="none">${T.none}</p>`;
  return html`<p><${Prose} text=${call.summary} /></p>
    <p class="hint">${T.policies} ${call.policies.map((rule) => html`<code key=${rule}>${rule}</code> `)}</p>
    <${Section} title=${T.try}><${TryIt} call=${call} version=${data.version} /><//>
    <${Section} title=${T.parameters}><${Table} caption=${T.parameters} columns=${PARAMETERS} rows=${call.parameters}
      keyOf=${(row) => `${row.in} ${row.name}`} /><//>
    ${call.body && html`<${Section} title=${T.body}><${Schema} schema=${call.body} /><//>`}
    <${Section} title=${T.answers}><${Answers} answers=${call.answers} /><//>`;
}

export function Api({rest: [version = VERSION, ...rest]}) {
  const versions = useLoad(fetchVersions, []);
  const found = useLoad(() => describe(version), [version]);
  // While another version comes, the page and what was written on it stay.
  const last = useRef(null);
  last.current = found.value ?? last.current;
  const isList = rest.length === 0;
  return html`${!isList && html`<p><a href=${link('api', version)}>${T.back}</a></p>`}
    <${Title}>${isList ? T.title : rest.join(' ')}<//>
    <${Loaded} from=${versions}>${(all) => html`<${Choice} label=${T.version} value=${version}
      onChange=${(chosen) => go('api', chosen, ...rest)} options=${all.map((one) => [one, one])} />`}<//>
    <${Loaded} from=${{...found, value: found.error ? null : last.current}}>${(data) => (isList
      ? html`<${List} data=${data} />` : html`<${Call} ...${{data, rest}} />`)}<//>`;
}
