// SPDX-License-Identifier: Apache-2.0
// A form that sends one call of the API as the user of the session, and shows the answer as it came.
import {html, useState} from '../html.js';
import {PATIENCE, fetchApi, id as quoted, url} from '../api.js';
import {TURNING} from '../names.js';
import {Area, Choice, Form, Text, useFields} from './form.js';
import {choices, example} from './schema.js';
import {S} from '../strings.js';

const T = S.api;
const LONGEST = 200000;
const escaped = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

const isIn = (call, place) => call.parameters.filter((one) => one.in === place);
const onceOf = (call) => isIn(call, 'header').find(({name}) => name === 'Idempotency-Key');

function addressOf(call, values) {
  const path = call.path.slice(1).replace(/{(\w+)}/g, (_, name) => quoted((values[`path ${name}`] ?? '').trim()));
  return url(path, Object.fromEntries(isIn(call, 'query').map(({name}) => [name, values[`query ${name}`]])));
}

async function send(call, version, values) {
  const began = performance.now();
  const answer = await fetchApi(addressOf(call, values), () => ({
    method: call.method, signal: AbortSignal.timeout(PATIENCE), body: call.body && values.body, headers: {
      Accept: 'application/json', 'X-OpenStack-Manila-API-Version': version,
      ...(call.body && {'Content-Type': 'application/json'}), ...(values.once && {'Idempotency-Key': values.once})}}));
  const text = await answer.text();
  return {status: answer.status, milliseconds: Math.round(performance.now() - began), headers: [...answer.headers], text};
}

// JSON in lines, with every character that turns text as an escape of JSON.
export function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).replace(TURNING, escaped);
  } catch {
    return text;
  }
}

function Answer({answer}) {
  const text = readable(answer.text);
  return html`<h3>${T.answer}</h3><p role="status">${T.answered(answer.status, answer.milliseconds)}</p>
    <details><summary>${T.headers}</summary><dl class="facts">${answer.headers.map(([name, value]) => html`<div key=${name}>
      <dt>${name}</dt><dd>${value}</dd></div>`)}</dl></details>
    ${text ? html`<pre dir="ltr" tabindex="0" role="region" aria-label=${T.answer}>${text.slice(0, LONGEST)}</pre>`
      : html`<p class="none">${T.empty}</p>`}${text.length > LONGEST && html`<p class="hint">${T.cut(LONGEST)}</p>`}`;
}

function Parameter({parameter, field, ...more}) {
  const values = choices(parameter.schema);
  return values.length > 0 ? html`<${Choice} label=${parameter.name} ...${field} options=${[['', S.none], ...values.map((one) => [one, one])]} />`
    : html`<${Text} label=${parameter.name} hint=${parameter.description} ...${field} ...${more} autocapitalize="off" spellcheck=${false} />`;
}

export function TryIt({call, version}) {
  const [answer, tell] = useState(null);
  const {values, field} = useFields({
    ...Object.fromEntries(['path', 'query'].flatMap((place) => isIn(call, place).map(({name}) => [`${place} ${name}`, '']))),
    once: '', body: call.body ? JSON.stringify(example(call.body), null, 2) : ''});
  const of = (name) => ({...field(name), value: values[name] ?? ''});
  const query = isIn(call, 'query');
  const submit = async () => {
    tell(null);
    tell(await send(call, version, values));
  };
  return html`<p>${T.tryHint}</p><${Form} submit=${T.send(call.method)} danger=${call.method === 'DELETE'}
      onSubmit=${submit}>
    ${isIn(call, 'path').map((one) => html`<${Parameter} key=${one.name} parameter=${one} field=${of(`path ${one.name}`)} required />`)}
    ${query.length > 0 && html`<details open=${query.length < 9}><summary>${T.query(query.length)}</summary>
      ${query.map((one) => html`<${Parameter} key=${one.name} parameter=${one} field=${of(`query ${one.name}`)} />`)}</details>`}
    ${onceOf(call) && html`<${Parameter} parameter=${onceOf(call)} field=${field('once')} />`}
    ${call.body && html`<${Area} label=${T.body} ...${field('body')} class="program" rows="8" dir="ltr" autocapitalize="off"
      spellcheck=${false} />`}<//>
    ${answer && html`<${Answer} answer=${answer} />`}`;
}
