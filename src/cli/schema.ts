import { configJsonSchema } from '../config/json-schema.ts';
import type { Edge } from './edge.ts';

export function schema(edge: Edge): number {
  edge.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return 0;
}
