// SPDX-License-Identifier: Apache-2.0
// Forms. What was written stays in them until the service took it.
import {html, useId, useRef, useState} from '../html.js';
import {S} from '../strings.js';
import {Problem} from './basics.js';

export function Form({submit, onSubmit, onCancel, children, danger = false}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const alive = useRef(true);
  async function send(event) {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      await onSubmit();
    } catch (problem) {
      if (alive.current) setError(problem);
    }
    if (alive.current) setBusy(false);
  }
  return html`<form onSubmit=${send} autocomplete="off">${children}<${Problem} error=${error} />
    <div class="actions"><button type="submit" class=${danger ? 'danger' : 'main'} aria-disabled=${busy}>${submit}</button>
    ${onCancel && html`<button type="button" onClick=${onCancel} autofocus=${danger}>${S.action.cancel}</button>`}</div></form>`;
}

function Labelled({label, hint, children}) {
  const id = useId();
  const described = hint ? `${id}-hint` : undefined;
  return html`<div class="field"><label for=${id}>${label}</label>${children({id, 'aria-describedby': described})}
    ${hint && html`<p class="hint" id=${described}>${hint}</p>`}</div>`;
}

export const Text = ({label, hint, value, onChange, ...more}) => html`<${Labelled} label=${label} hint=${hint}>${(own) => html`
  <input type="text" dir="auto" ...${own} ...${more} value=${value} onInput=${(event) => onChange(event.target.value)} />`}<//>`;

export const Area = ({label, hint, value, onChange, ...more}) => html`<${Labelled} label=${label} hint=${hint}>${(own) => html`
  <textarea dir="auto" rows="3" ...${own} ...${more} value=${value} onInput=${(event) => onChange(event.target.value)}></textarea>`}<//>`;

export const Whole = (props) => html`<${Text} type="number" inputmode="numeric" step="1" dir="ltr" ...${props} />`;

// options: [[value, label], ...]; multiple: the value is a list of them
export const Choice = ({label, hint, value, onChange, options, multiple, ...more}) => html`<${Labelled} label=${label} hint=${hint}>${(own) => html`
  <select ...${own} ...${more} multiple=${multiple} value=${multiple ? undefined : value} onChange=${({target}) => onChange(multiple
    ? [...target.selectedOptions].map((one) => one.value) : target.value)}>
    ${options.map(([key, text]) => html`<option key=${key} value=${key}
      selected=${multiple ? value.includes(key) : key === value}>${text}</option>`)}</select>`}<//>`;

export function Check({label, value, onChange, ...more}) {
  const id = useId();
  return html`<div class="field check"><input type="checkbox" id=${id} ...${more} checked=${value} onChange=${(event) => onChange(event.target.checked)} />
    <label for=${id}>${label}</label></div>`;
}

// The values of a form, and a function that gives the properties of a field.
export function useFields(begin) {
  const [values, set] = useState(begin);
  const change = (name) => (value) => set((old) => ({...old, [name]: value}));
  return {values, set, field: (name) => ({value: values[name], onChange: change(name)})};
}
