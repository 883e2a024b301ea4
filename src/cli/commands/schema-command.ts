import { configJsonSchema } from '../../config/json-schema.ts';
import type { Edge } from '../../process-io.ts';

export function schema(edge: Edge): number {
  edge.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return 0;
}
