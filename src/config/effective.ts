/**
 * A configuration as it counts: with every default that its file leaves out, references expanded, and without its
 * secrets. It is made from the JSON Schema, so that no key can be forgotten.
 */
import { configJsonSchema } from './json-schema.ts';

/** Sections without which there is none of what they describe. */
const OPTIONAL_SECTIONS: ReadonlySet<string> = new Set(['heartbeat']);

/** What stands for a secret, as in Alertmanager. */
const HIDDEN = '<secret>';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly $ref?: string;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** What was written in the file that a configuration was read from. */
const FILES = new WeakMap<object, unknown>();

export function rememberFile(config: object, value: unknown): void {
  FILES.set(config, value);
}

/** The same for a configuration that was read; undefined for one that came from no file. */
export function effectiveOf(config: object): unknown {
  return FILES.has(config) ? effectiveConfig(FILES.get(config)) : undefined;
}

/** `value` is the file as it was parsed and expanded; it must have been found right. */
export function effectiveConfig(value: unknown): unknown {
  const root = configJsonSchema() as Schema;
  const definitions = new Map(Object.entries(root.definitions ?? {}));

  /** The schema that describes maps, or lists, where there are several. */
  function resolved(schema: Schema, kind: 'properties' | 'items'): Schema {
    const { $ref, anyOf, allOf, oneOf } = schema;
    const target = $ref && definitions.get($ref.replace('#/definitions/', ''));
    if (target) return resolved(target, kind);
    const inner = [...(anyOf ?? []), ...(allOf ?? []), ...(oneOf ?? [])].map((one) => resolved(one, kind));
    return inner.find((one) => one[kind] ?? (kind === 'properties' && one.additionalProperties)) ?? schema;
  }

  function filled(given: unknown, schema: Schema): unknown {
    const found = given ?? schema.default ?? (isSection(schema) ? {} : undefined);
    if (Array.isArray(found)) {
      const { items } = resolved(schema, 'items');
      return items ? found.map((item) => filled(item, items)) : found;
    }
    if (typeof found === 'string') return withoutPassword(found);
    if (typeof found !== 'object' || found === null) return found;
    return filledMap(new Map(Object.entries(found)), resolved(schema, 'properties'));
  }

  function filledMap(given: ReadonlyMap<string, unknown>, schema: Schema): Record<string, unknown> {
    const known = new Map(Object.entries(schema.properties ?? {}));
    const others = schema.additionalProperties;
    const keys = new Set([...known.keys(), ...given.keys()]);
    const entries = [...keys].flatMap((key): [string, unknown][] => {
      const own = known.get(key) ?? (typeof others === 'object' ? others : {});
      const value = given.get(key);
      if (value !== undefined && isSecret(key, known)) return [[key, HIDDEN]];
      const all = filled(value, own);
      return all === undefined ? [] : [[key, all]];
    });
    return Object.fromEntries(entries);
  }

  /** A section of the file that may be left out and has defaults all the same. */
  function isSection(schema: Schema): boolean {
    const [name] = Object.entries(root.properties ?? {}).find(([, one]) => one === schema) ?? [''];
    const { properties, required = [] } = schema;
    const hasDefaults = Object.values(properties ?? {}).some((one) => one.default !== undefined);
    return name !== '' && required.length === 0 && hasDefaults && !OPTIONAL_SECTIONS.has(name);
  }

  return filled(value ?? {}, root);
}

/** What may stand in a file of its own instead; of a header all its `secrets`. */
function isSecret(key: string, known: ReadonlyMap<string, Schema>): boolean {
  return known.has(`${key}_file`) || (key === 'secrets' && known.has('files'));
}

/** An address with a user and password keeps its host. */
function withoutPassword(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#@]*@/i, `$1${HIDDEN}@`);
}
