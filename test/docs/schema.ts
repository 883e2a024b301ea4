/** The configuration's keys, read from its shapes. */
import * as z from 'zod';
import { fileShape } from '../../src/config/sections/file-shape.ts';
import { DURATION_BOUNDS, isRefused } from '../../src/document/value-shape.ts';

/** The part of JSON Schema that is used here; `duration` is our own addition. */
export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  /** A default that is filled in when the configuration is read. */
  readonly preset?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | false;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly duration?: { readonly leastMs: number; readonly mostMs: number; readonly never: boolean };
  readonly definitions?: Readonly<Record<string, Schema>>;
}

const ROOT = z.toJSONSchema(fileShape, {
  io: 'input',
  target: 'draft-7',
  override({ zodSchema, jsonSchema }) {
    const bounds = DURATION_BOUNDS.get(zodSchema);
    if (bounds) Object.assign(jsonSchema, { duration: bounds });
  },
}) as Schema;

/** The names of all supported sections, in the order of the shape. */
export const SECTIONS: readonly string[] = Object.entries(ROOT.properties ?? {}).flatMap(([name, schema]) =>
  isRefused(schema) ? [] : [name],
);

/** The schema at a path such as `regions.*.nests` or `receivers[].email_configs[]`. */
export function schemaAt(path: string): Schema {
  const steps = path === '' ? [] : path.replaceAll('[]', '.[]').split('.');
  return steps.reduce((schema, step) => {
    const next = childOf(schema, step);
    if (!next) throw new Error(`there is no key ${path}`);
    return resolved(next);
  }, ROOT);
}

export function childOf(schema: Schema, step: string): Schema | undefined {
  if (step === '[]') return schema.items && resolved(schema.items);
  if (step === '*') return schema.additionalProperties || undefined;
  const child = schema.properties?.[step] ?? (schema.additionalProperties || undefined);
  return child && resolved(child);
}

/** Follows a reference to the schema itself. */
function resolved(schema: Schema): Schema {
  const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (!reference) return schema;
  return { ...ROOT.definitions?.[reference.replace('#/definitions/', '')], ...schema };
}

/** A key of an object, with its names from there; for a secret also the name of its file key. */
export interface Key {
  readonly names: readonly string[];
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/**
 * The keys of the object at a path and of the objects in it, without what is below a path in `elsewhere`. For rules,
 * the keys that all kinds have.
 */
export function keysOf(path: string, elsewhere: readonly string[] = []): Key[] {
  return keysBelow(schemaAt(path), path, '', elsewhere);
}

function keysBelow(schema: Schema, path: string, prefix: string, elsewhere: readonly string[]): Key[] {
  const properties = schema.oneOf ? sharedBy(schema.oneOf) : (schema.properties ?? {});
  return Object.entries(properties).flatMap(([name, reference]) => {
    const inner = resolved(reference);
    const isFile = name.endsWith('_file') && name.slice(0, -'_file'.length) in properties;
    if (isRefused(inner) || isFile) return [];
    const file = properties[`${name}_file`];
    const names = file && !isRefused(resolved(file)) ? [name, `${name}_file`] : [name];
    const isRequired = (schema.required ?? schema.oneOf?.[0]?.required)?.includes(name) ?? false;
    const own: Key = { names: names.map((one) => prefix + one), schema: inner, isRequired };
    const step = inner.properties ? name : `${name}[]`;
    const item = inner.properties ? inner : inner.items && resolved(inner.items);
    // The routes below a route have the same keys as it.
    const isElsewhere = elsewhere.includes(`${path}.${step}`) || item?.properties === schema.properties;
    if (!item?.properties || isElsewhere) return [own];
    const children = keysBelow(item, `${path}.${step}`, `${prefix}${step}.`, elsewhere);
    return inner.description ? [own, ...children] : children;
  });
}

/** The keys that every option has. */
function sharedBy(options: readonly Schema[]): Readonly<Record<string, Schema>> {
  const [first, ...others] = options.map(({ properties }) => properties ?? {});
  return Object.fromEntries(
    Object.entries(first ?? {})
      .filter(([name]) => others.every((one) => name in one))
      .map(([name, schema]) => {
        const { const: only, ...rest } = schema;
        const all = options.map(({ properties }) => String(properties?.[name]?.const));
        return [name, only === undefined ? schema : { ...rest, enum: all }];
      }),
  );
}

/** A key that only some kinds of rules have, by kind. */
export interface KindKey {
  readonly kind: string;
  readonly name: string;
  readonly schema: Schema;
}

export function kindKeys(): KindKey[] {
  const options = schemaAt('rules[]').oneOf ?? [];
  const shared = sharedBy(options);
  return options.flatMap(({ properties = {} }) => {
    const own = Object.entries(properties).filter(([name]) => !(name in shared));
    return own.map(([name, schema]) => ({ kind: String(properties.kind?.const), name, schema }));
  });
}
