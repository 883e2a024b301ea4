/** Reads behaviours from a YAML or JSON file with keys in snake_case, as `simulate --faults` takes it. */
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { NestwatchError } from '../../errors.ts';
import { messageOf } from '../../text/mistake-words.ts';
import { BEHAVIOURS, type Behaviours } from '../world/behaviours.ts';

const NAMES = new Map(Object.keys(BEHAVIOURS.shape).map((key) => [snakeCase(key), key as keyof Behaviours]));

/**
 * Returns the behaviours that the text sets. Throws `usage` with every mistake as `where:line:column: what`; for an
 * unknown key it lists the keys that exist.
 */
export function readBehaviours(text: string, where: string): Partial<Behaviours> {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const mistakes: string[] = [];
  const note = (offset: number, what: string) => {
    const { line, col } = lines.linePos(offset);
    mistakes.push(`${where}:${line}:${col}: ${what}`);
  };
  for (const error of document.errors) note(error.pos[0], error.message);
  const behaviours: Record<string, unknown> = {};
  const root = document.contents;
  if (isMap(root)) {
    for (const { key, value } of root.items) {
      const name = isScalar(key) ? String(key.value) : '';
      const offset = isScalar(key) ? (key.range?.[0] ?? 0) : 0;
      const known = NAMES.get(name);
      if (!known) {
        note(offset, `unknown key ${JSON.stringify(name)}; the keys are ${[...NAMES.keys()].join(', ')}`);
        continue;
      }
      const result = BEHAVIOURS.shape[known].safeParse(isScalar(value) ? value.value : undefined, {
        error: messageOf,
      });
      // A key without a scalar value would otherwise take its default silently.
      if (!isScalar(value)) note(offset, `${name}: must be a single value`);
      else if (result.success) behaviours[known] = result.data;
      else note(value.range?.[0] ?? offset, `${name}: ${result.error.issues[0]!.message}`);
    }
  } else if (root !== null && mistakes.length === 0) {
    note(root.range?.[0] ?? 0, 'must be a list of keys with their values');
  }
  if (mistakes.length > 0) throw new NestwatchError('usage', mistakes.join('\n'));
  return behaviours;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(/(\d+)/, '_$1');
}
