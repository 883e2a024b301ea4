import * as z from 'zod';
import type { Check } from '../../document/check.ts';
import { LIMITS } from '../../limits.ts';

export const metricsShape = z.strictObject({
  birds: z
    .enum(['all', 'failing', 'none'])
    .prefault('all')
    .describe(
      'Which Birds have series of their own. `failing` are those of which a Flight failed within a day, or that are suspended. The series of Nests count every Bird.',
    ),
  max_birds: z
    .int()
    .min(1)
    .max(LIMITS.shown_birds.most)
    .prefault(10_000)
    .describe('How many Birds at the most, shared out evenly among the regions. Each has 14 series.'),
});

export interface MetricsConfig {
  readonly birds: 'all' | 'failing' | 'none';
  readonly maxBirds: number;
}

export function readMetrics(check: Check): MetricsConfig | undefined {
  const metrics = check.read(metricsShape.prefault({}), ['metrics']);
  return metrics && { birds: metrics.birds, maxBirds: metrics.max_birds };
}
