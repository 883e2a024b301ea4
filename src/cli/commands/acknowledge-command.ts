import * as z from 'zod';
import type { Edge } from '../../process-io.ts';
import { actOnFiring, refusedShape, type SignedOptions } from './signed-alerts.ts';

const answerShape = z.object({
  acknowledged: z.array(z.object({ id: z.string(), silence_id: z.string() })),
  refused: refusedShape,
});

/** Acknowledges the alerts that match and fire: each is silenced until it is resolved. Prints the silences' ids. */
export function acknowledge(edge: Edge, args: readonly string[], options: SignedOptions): Promise<number> {
  return actOnFiring(edge, args, options, {
    path: '/api/v1/alerts/acknowledge',
    who: 'takes care of it',
    shape: answerShape,
    done: ({ acknowledged }) => acknowledged.map((one) => one.silence_id),
  });
}
