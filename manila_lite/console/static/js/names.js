// SPDX-License-Identifier: Apache-2.0
// Names that others chose, within texts of ours: none may turn the direction of the text around it.

// Characters that turn text, marks of direction among them.
export const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

// The name, isolated. Within markup it is a <bdi> instead (parts/basics.js).
export const own = (name) => (/^[ -~]*$/.test(name) ? name : `\u2068${name.replace(TURNING, '')}\u2069`);
