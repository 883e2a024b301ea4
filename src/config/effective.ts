/**
 * Describes the configuration as JSON Schema, and builds the effective one from that: with all defaults, with references
 * expanded, and without secrets. So no key can be forgotten.
 */
import * as z from 'zod';
import { fileShape } from './sections/file-shape.ts';
import { pollPresets } from './sections/poll-section.ts';
import { INHERITED_KEYS } from './sections/route-section.ts';

/** The configuration's JSON Schema, for editors. Their YAML support knows draft 7 best. */
export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(fileShape, {
    io: 'input',
    target: 'draft-7',
    override({ jsonSchema, path }) {
      showPreset(jsonSchema);
      // References in keys are not expanded.
      if (path.at(-1) !== 'propertyNames') acceptReferences(jsonSchema);
    },
  });
  return { title: 'nestwatch configuration', ...schema };
}

/** Shapes hold defaults that are filled in after parsing as `preset`, because zod drops a foreign `default`. */
function showPreset(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.preset === undefined) return;
  schema.default = schema.preset as z.core.JSONSchema.BaseSchema['default'];
  delete schema.preset;
}

/** Allows `${NAME}` wherever a number, a boolean or particular texts are expected. */
function acceptReferences(schema: z.core.JSONSchema.BaseSchema): void {
  const isOpen = schema.type === 'string' && schema.pattern === undefined && schema.enum === undefined;
  const isScalar = ['string', 'number', 'integer', 'boolean'].includes(String(schema.type));
  if (!isScalar || isOpen || schema.const !== undefined) return;
  const { description, default: preset, ...rest } = schema;
  for (const key of Object.keys(schema)) delete schema[key];
  if (description !== undefined) schema.description = description;
  if (preset !== undefined) schema.default = preset;
  schema.anyOf = [rest, { type: 'string', pattern: '\\$\\{' }];
}

/** Sections that are not filled with their defaults if they are missing, because their feature is off then. */
const OPTIONAL_SECTIONS: ReadonlySet<string> = new Set(['heartbeat']);

/** Replaces a secret, as in Alertmanager. */
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
  readonly writeOnly?: boolean;
  readonly definitions?: Readonly<Record<string, Schema>>;
}

/** The parsed file that each configuration was read from. */
const FILES = new WeakMap<object, unknown>();

export function rememberFile(config: object, value: unknown): void {
  FILES.set(config, value);
}

/** The parsed sections of its file; undefined for a configuration that did not come from a file. */
export function fileOf(config: object): Readonly<Record<string, object | null | undefined>> | undefined {
  return FILES.get(config) as ReturnType<typeof fileOf>;
}

/** The effective form of a configuration; undefined for one that did not come from a file. */
export function effectiveOf(config: object): unknown {
  return FILES.has(config) ? effectiveConfig(FILES.get(config)) : undefined;
}

/** `value` is the parsed and expanded file, which must be valid. */
export function effectiveConfig(value: unknown): unknown {
  const root = configJsonSchema() as Schema;
  const definitions = new Map(Object.entries(root.definitions ?? {}));

  /** If there are several schemas, the one that describes maps (`properties`) or lists (`items`). */
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
      if (value !== undefined && known.get(key)?.writeOnly) return [[key, HIDDEN]];
      const isAddress = known.has(key) && /(?:^|_)url$/.test(key) && typeof value === 'string';
      const all = filled(isAddress ? withoutQuery(value) : value, own);
      return all === undefined ? [] : [[key, all]];
    });
    return Object.fromEntries(entries);
  }

  /** Whether this is a section of the file that may be left out but has defaults. */
  function isSection(schema: Schema): boolean {
    const [name] = Object.entries(root.properties ?? {}).find(([, one]) => one === schema) ?? [''];
    const { properties, required = [] } = schema;
    const hasDefaults = Object.values(properties ?? {}).some((one) => one.default !== undefined);
    return name !== '' && required.length === 0 && hasDefaults && !OPTIONAL_SECTIONS.has(name);
  }

  return filled(withPresets(value as GivenFile | null), root);
}

interface GivenRoute {
  readonly routes?: readonly GivenRoute[] | null;
  readonly [key: string]: unknown;
}

interface GivenFile {
  readonly poll?: Readonly<Record<string, string>> | null;
  readonly route?: GivenRoute | null;
}

/** Adds the defaults that depend on what else is given: those of `poll`, and what routes inherit. */
function withPresets(file: GivenFile | null | undefined): GivenFile {
  const { poll, route } = file ?? {};
  const { interval } = poll ?? {};
  return {
    ...file,
    ...(interval !== undefined && { poll: { ...pollPresets(interval), ...poll } }),
    ...(route && { route: withInherited(route, {}) }),
  };
}

function withInherited(route: GivenRoute, inherited: Readonly<Record<string, unknown>>): GivenRoute {
  const own = { ...inherited, ...route };
  const handedOn = Object.fromEntries(Object.entries(own).filter(([key]) => INHERITED_KEYS.has(key)));
  return { ...own, ...(route.routes && { routes: route.routes.map((one) => withInherited(one, handedOn)) }) };
}

/** Hides the query of an address, which may contain a key. */
function withoutQuery(text: string): string {
  return text.replace(/^(https?:\/\/[^?#]*[?#]).+$/is, `$1${HIDDEN}`);
}

/** Hides user and password of an address, but keeps its host. */
function withoutPassword(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, `$1${HIDDEN}@`);
}
