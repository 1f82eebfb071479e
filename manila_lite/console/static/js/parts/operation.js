// SPDX-License-Identifier: Apache-2.0
// An operation: what it does, how far it is, and how long it still takes.
import {html, useEffect, useRef, useState} from '../html.js';
import {bytes, duration} from '../format.js';
import {S} from '../strings.js';
import {Problem, Status} from './basics.js';

export const kindOf = (operation) => operation.kind.replaceAll('_', ' ').replace('.', ': ');

function figures({step, steps, progress, attempts}) {
  return [
    steps > 1 && S.operation.step(step, steps),
    progress.bytes_total ? S.operation.of(bytes(progress.bytes_done ?? 0), bytes(progress.bytes_total))
      : progress.total && S.operation.of(progress.done ?? 0, progress.total),
    progress.percent !== null && `${progress.percent} %`,
    progress.seconds_left !== null && S.time.left(duration(progress.seconds_left)),
    attempts > 1 && S.operation.attempts(attempts),
  ].filter(Boolean).join(', ');
}

// Without figures the steps tell how far it is.
const percentOf = ({progress, step, steps, state}) => (state === 'done' ? 100
  : progress.percent ?? (steps > 1 ? Math.floor((100 * (step - 1)) / steps) : null));

export function Progress({operation}) {
  const percent = percentOf(operation);
  return html`<div class="operation"><progress max="100" value=${percent ?? undefined}
      aria-label=${S.operation.bar(kindOf(operation))}></progress>
    <span>${operation.phase.replaceAll('_', ' ')}${figures(operation) && ` · ${figures(operation)}`}</span></div>`;
}

export function Running({operations}) {
  return html`<div class="running" aria-live="polite">${operations.map((operation) => html`<div key=${operation.id} class="card">
    <p><strong>${kindOf(operation)}</strong> <${Status} of=${operation.state === 'open'
      ? (operation.running ? S.operation.running : S.operation.waiting) : operation.state} /></p>
    <${Progress} operation=${operation} />
    ${operation.error && html`<${Problem} error=${{message: operation.error}} />`}</div>`)}</div>`;
}

const POINTS = 120;
const [WIDE, HIGH] = [240, 48];

// Speeds in bytes a second, as far as this page has watched.
export function useSpeed(operation) {
  const last = useRef(null);
  const [speeds, set] = useState([]);
  const done = operation.progress.bytes_done;
  useEffect(() => {
    const now = performance.now();
    if (done !== null && last.current && now > last.current.now && done >= last.current.done) {
      const speed = (1000 * (done - last.current.done)) / (now - last.current.now);
      set((old) => [...old, speed].slice(-POINTS));
    }
    last.current = done === null ? null : {now, done};
  }, [done]);
  return speeds;
}

export function Curve({speeds}) {
  if (speeds.length < 2) return null;
  const most = Math.max(...speeds, 1);
  const points = speeds.map((speed, index) => `${(index * WIDE) / (speeds.length - 1)},${HIGH - (speed * (HIGH - 2)) / most}`).join(' ');
  const now = S.operation.rate(bytes(speeds.at(-1)));
  return html`<div class="curve"><svg viewBox="0 0 ${WIDE} ${HIGH}" role="img" aria-label=${S.migrations.curve(now)}>
    <polyline points=${points} /></svg><span>${now}</span></div>`;
}
