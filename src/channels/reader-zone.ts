/** The configuration's key for the time zone in which people read the messages of an integration. */
import * as z from 'zod';
import { isTimezone } from '../time/zone-format.ts';

export const timezoneKey = {
  timezone: z
    .string()
    .refine(isTimezone, { error: 'must be a time zone, such as Europe/Amsterdam' })
    .optional()
    .describe('Time zone of the times in the built-in message, such as Europe/Amsterdam. Default: UTC.'),
};

/** The part of integrations for people that holds it. */
export interface ReaderZone {
  readonly timezone?: string;
}
