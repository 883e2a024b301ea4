/** The time zone in which people read the messages of an integration. */
import * as z from 'zod';
import { isTimezone } from '../time/zone-format.ts';

export const timezoneKey = {
  timezone: z
    .string()
    .refine(isTimezone, { error: 'must be a time zone, such as Europe/Amsterdam' })
    .optional()
    .describe(
      'Time zone in which the built-in message shows times, such as Europe/Amsterdam. UTC without it.',
    ),
};

/** What integrations for people have of it. */
export interface ReaderZone {
  readonly timezone?: string;
}
