// SPDX-License-Identifier: Apache-2.0
// Keys with values as lines that people write, and back.
import {S} from './strings.js';

export const linesOf = (pairs) => Object.entries(pairs).map(([key, value]) => `${key} = ${value}`).sort().join('\n');

export function pairsOf(lines) {
  return Object.fromEntries(lines.split('\n').map((line) => line.trim()).filter(Boolean).map((line) => {
    const [, key, value] = /^([^=]+?)\s*=\s*(.*)$/.exec(line) ?? [];
    if (!key) throw new Error(S.error.badLine(line));
    return [key, value];
  }));
}
