import * as z from 'zod';
import { fileShape } from './sections/file-shape.ts';

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
