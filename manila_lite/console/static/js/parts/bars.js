// SPDX-License-Identifier: Apache-2.0
// Bars of amounts. The text beside each bar says the same.
import {html} from '../html.js';

// parts: [[class, amount], ...] one after the other; mark: an amount with a line, such as what was promised.
export function Bar({label, most, parts, mark}) {
  const scale = Math.max(most, mark ?? 0, parts.reduce((sum, [, amount]) => sum + amount, 0)) || 1;
  let left = 0;
  const shown = parts.map(([kind, amount]) => {
    const x = (100 * left) / scale;
    left += amount;
    return html`<rect key=${kind} class=${kind} x=${x} y="0" width=${(100 * amount) / scale} height="10" />`;
  });
  return html`<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label=${label}>
    <rect class="whole" x="0" y="0" width=${(100 * most) / scale} height="10" />${shown}
    ${mark !== undefined && html`<rect class="mark" x=${Math.min((100 * mark) / scale, 99.4)} y="0" width="0.6" height="10" />`}</svg>`;
}
