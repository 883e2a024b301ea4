/** Tables of the configuration's keys: name, type with its limits, default, description. */
import { formatDuration, LONGEST_MS } from '../../src/time/duration.ts';
import { type KindKey, keysOf, kindKeys, type Schema } from './schema.ts';

/** The table of an object's keys; those below a path in `elsewhere` have a table of their own. */
export function keyTable(path: string, elsewhere: readonly string[]): string {
  const rows = keysOf(path, elsewhere).map(({ names, schema, isRequired }) => [
    names.map(code).join(', '),
    typeOf(schema),
    isRequired ? 'required' : presetOf(schema),
    schema.description ?? firstSentence(schema.items?.description),
  ]);
  return table(['key', 'type', 'default', 'meaning'], rows);
}

/** The first sentence, for places with little room. */
export function firstSentence(text = ''): string {
  return /^.*?[.](?= |$)/.exec(text)?.[0] ?? text;
}

/**
 * The table of the keys that only rules of some kinds have. A key with the same meaning in several kinds is listed
 * once.
 */
export function parameterTable(): string {
  const keys = kindKeys();
  const order = [...new Set(keys.map(({ name }) => name))];
  const groups = Map.groupBy(keys, ({ name, schema }) => `${name} ${schema.description}`);
  const rows = [...groups.values()]
    .toSorted(([a], [b]) => order.indexOf(a!.name) - order.indexOf(b!.name))
    .map((same) => {
      const [{ name, schema }] = same as [KindKey];
      const kinds = same.map((one) => {
        const preset = presetOf(one.schema);
        return code(one.kind) + (preset && ` (${preset})`);
      });
      return [code(name), typeOf(schema), kinds.join(', '), schema.description ?? ''];
    });
  return table(['key', 'type', 'kinds, with their default', 'meaning'], rows);
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');
}

function presetOf({ preset: filledIn, default: preset = filledIn, properties }: Schema): string {
  if (preset === undefined || properties) return '';
  if (Array.isArray(preset) && preset.length === 0) return '';
  if (typeof preset === 'object' && Object.keys(preset ?? {}).length === 0) return '';
  return code(typeof preset === 'string' ? preset : JSON.stringify(preset));
}

/** The type with its limits, in words. */
function typeOf(schema: Schema): string {
  const { type, duration } = schema;
  if (duration) {
    const bounds = rangeOf(
      duration.leastMs > 0 ? formatDuration(duration.leastMs) : undefined,
      duration.mostMs < LONGEST_MS ? formatDuration(duration.mostMs) : undefined,
    );
    return `duration${bounds}${duration.never ? ', or `never`' : ''}`;
  }
  if (schema.enum) return schema.enum.map(code).join(', ');
  if (type === 'array') return `list${schema.items?.type === 'string' ? ' of texts' : ''}`;
  if (type === 'number' || type === 'integer') {
    const name = type === 'integer' ? 'whole number' : 'number';
    const above = schema.exclusiveMinimum === undefined ? '' : ` above ${schema.exclusiveMinimum}`;
    return name + above + rangeOf(schema.minimum, safe(schema.maximum));
  }
  if (type === 'boolean') return '`true`, `false`';
  if (type === 'object') return 'map';
  return 'text';
}

/** Ignores the limits of safe integers, which zod adds to integers without a limit. */
function safe(maximum: number | undefined): number | undefined {
  return maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
}

function rangeOf(least: number | string | undefined, most: number | string | undefined): string {
  if (least !== undefined && most !== undefined) return `, ${least} to ${most}`;
  if (least !== undefined) return `, at least ${least}`;
  return most === undefined ? '' : `, up to ${most}`;
}

function code(text: string): string {
  return `\`${text}\``;
}
