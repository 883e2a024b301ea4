/** Reads a silence that is to be created: Alertmanager's `postableSilence`, with our `recurrence` in addition. */
import * as z from 'zod';
import { wireText } from '../../domain/alert/event.ts';
import {
  createMatchers,
  type Matcher,
  type MatcherJson,
  matcherParts,
} from '../../domain/matchers/matcher.ts';
import { MatcherSyntaxError } from '../../domain/matchers/matcher-syntax.ts';
import type { SilenceRequest } from '../../domain/muting/silence-change.ts';
import { LIMITS } from '../../limits.ts';
import { parseDuration } from '../../time/duration.ts';
import { instantMistake, parseInstant } from '../../time/instant.ts';
import { refuse } from './query.ts';

/** One expression can hold the ids of the 500 Birds of a group. */
const MAX_VALUE_LENGTH = 10_000;
export const MAX_COMMENT_LENGTH = 2_000;
export const MAX_AUTHOR_LENGTH = 200;
/** Who does something by the API, and why. */
export const signatureShape = z.object({
  author: z.string().trim().min(1).max(MAX_AUTHOR_LENGTH).transform(wireText),
  comment: z.string().trim().max(MAX_COMMENT_LENGTH).default('').transform(wireText),
});

const MAX_ANNOTATION_NAME = 200;
const MAX_ANNOTATIONS = 20;

const dateTime = z.string().transform((text, context) => {
  const instant = parseInstant(text);
  if (instant) return instant.us;
  const message = instantMistake(text, 'an RFC 3339 instant like 2026-07-02T13:59:34Z');
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

const duration = z.string().transform((text, context) => {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  context.addIssue({ code: 'custom', message: 'must be a duration such as 2h' });
  return z.NEVER;
});

/** Half a surrogate pair would make every list of silences unreadable for clients with a strict JSON parser. */
const text = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .transform((given) => given.toWellFormed());

/** Other keys are ignored, as in Alertmanager. */
const postableSilence = z.object({
  id: z.string().optional(),
  matchers: z
    .array(
      z.object({
        name: text(MAX_VALUE_LENGTH),
        value: text(MAX_VALUE_LENGTH),
        isRegex: z.boolean(),
        isEqual: z.boolean().default(true),
      }),
    )
    .max(LIMITS.matchers.most),
  startsAt: dateTime.optional(),
  endsAt: dateTime,
  createdBy: text(MAX_AUTHOR_LENGTH),
  comment: text(MAX_COMMENT_LENGTH),
  annotations: z
    .record(text(MAX_ANNOTATION_NAME), text(MAX_COMMENT_LENGTH))
    .refine((given) => Object.keys(given).length <= MAX_ANNOTATIONS, {
      error: `at most ${MAX_ANNOTATIONS} of them`,
    })
    .nullish(),
  recurrence: z.object({ cron: z.string(), timezone: z.string(), duration }).nullish(),
});

/** Throws `usage` with the first mistake. */
export function readSilence(body: unknown): SilenceRequest {
  const { success, data, error } = postableSilence.safeParse(body);
  if (!success) {
    const [issue] = error.issues;
    const place = issue!.path.join('.');
    throw refuse(`bad silence: ${place ? `${place}: ` : ''}${issue!.message}`);
  }
  const { recurrence } = data;
  return {
    id: data.id || undefined,
    matchers: matchersOf(data.matchers),
    startsAtUs: data.startsAt,
    endsAtUs: data.endsAt,
    createdBy: data.createdBy,
    comment: data.comment,
    annotations: data.annotations ?? undefined,
    recurrence: recurrence && {
      cron: recurrence.cron,
      timezone: recurrence.timezone,
      durationMs: recurrence.duration,
    },
  };
}

function matchersOf(given: readonly MatcherJson[]): Matcher[] {
  try {
    return createMatchers(given.map(matcherParts));
  } catch (error) {
    if (error instanceof MatcherSyntaxError) throw refuse(`bad silence: ${error.message}`);
    throw error;
  }
}
