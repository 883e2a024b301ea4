import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { LIMITS } from '../../limits.ts';

export const metricsShape = z.strictObject({
  birds: z
    .enum(['all', 'failing', 'none'])
    .prefault('all')
    .describe(
      'Which Birds have series of their own. `failing`: Birds with a failed Flight within the last day, and suspended Birds. The series of Nests count every Bird.',
    ),
  max_birds: z
    .int()
    .min(1)
    .max(LIMITS.shown_birds.most)
    .prefault(10_000)
    .describe(
      'Maximum number of Birds with series of their own, divided evenly among the regions. Each has 14 series.',
    ),
});

export interface MetricsConfig {
  readonly birds: 'all' | 'failing' | 'none';
  readonly maxBirds: number;
}

export function readMetrics(check: Check): MetricsConfig | undefined {
  const metrics = check.read(metricsShape.prefault({}), ['metrics']);
  return metrics && { birds: metrics.birds, maxBirds: metrics.max_birds };
}
