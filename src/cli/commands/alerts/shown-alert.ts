/** What the daemon answers about one alert. */
import * as z from 'zod';
import { FINDINGS } from '../finding-lines.ts';
import { DELIVERIES, EVENTS } from '../printed-lists.ts';

export const recordShape = z.object({
  id: z.string(),
  state: z.string(),
  labels: z.record(z.string(), z.string()),
  annotations: z.record(z.string(), z.string()),
  startsAt: z.string().nullable(),
  endsAt: z.string(),
  kept: z.boolean(),
  silenced_by: z.array(z.object({ acknowledgement: z.boolean(), author: z.string(), comment: z.string() })),
  /** A daemon before this version does not list them. */
  acknowledgements: z
    .array(z.object({ author: z.string(), comment: z.string(), at: z.string() }))
    .default([]),
  notes: z
    .array(z.object({ author: z.string(), text: z.string(), public: z.boolean(), at: z.string() }))
    .default([]),
  inhibited_by: z.array(z.string()),
  receivers: z.array(z.string()),
  findings: FINDINGS,
  events_total: z.number(),
  events: z.array(EVENTS.item),
  episodes: z.array(z.object({ startsAt: z.string(), endsAt: z.string(), ending: z.string().nullable() })),
  notifications: z.array(
    z.object({
      receiver: z.string(),
      reason: z.string(),
      created_at: z.string(),
      deliveries: z.array(DELIVERIES.item),
    }),
  ),
  suppressions: z
    .array(z.object({ receiver: z.string(), reason: z.string(), detail: z.string(), at: z.string() }))
    .default([]),
});
export type ShownAlert = z.output<typeof recordShape>;
