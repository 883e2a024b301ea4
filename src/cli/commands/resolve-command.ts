import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import { actOnFiring, refusedShape, type SignedOptions } from './signed-alerts.ts';

const answerShape = z.object({
  resolved: z.array(z.object({ id: z.string(), ends_at: z.string() })),
  refused: refusedShape,
});

/** Ends the alerts that match and fire, which somebody knows to be over. Prints their ids. */
export function resolve(edge: Edge, args: readonly string[], options: SignedOptions): Promise<number> {
  return actOnFiring(edge, args, options, {
    path: '/api/v1/alerts/resolve',
    who: 'says that it is over',
    shape: answerShape,
    done: ({ resolved }) => resolved.map(({ id }) => id),
  });
}
