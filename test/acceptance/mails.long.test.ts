/**
 * Stories, each with exactly the mails that a person would want, as texts to read: `mails/*.txt`. A change of wording
 * shows there. Update them with `vitest run test/acceptance/mails.long.test.ts -u`, and read them.
 */
import { describe, expect, test } from 'vitest';
import { mailMessage } from '../../src/channels/email/mail-message.ts';
import { spread } from '../cases.ts';
import { type Cast, MAIL_STORIES, type MailStory, setTheScene } from './mails/mail-stories.ts';
import { createStage, type DigestMail, type Mail } from './stage.ts';

const EXTERNAL_URL = 'http://nestwatch.example';

interface Post {
  readonly mails: readonly Mail[];
  readonly digests: readonly DigestMail[];
}

async function mailsOf(story: MailStory, restartAfter?: number): Promise<Post> {
  const { before, options, steps } = story;
  const cast: Cast = { nests: new Map(), birds: new Map(), flights: new Map() };
  const stage = await createStage({
    regions: ['eu'],
    route: { groupWaitMs: 30_000, groupIntervalMs: 300_000 },
    ...options,
    before(world) {
      if (world.region === 'eu') setTheScene(world, cast, story);
      before?.(world, cast);
    },
  });
  for (const [at, step] of steps.entries()) {
    if (typeof step === 'number') await stage.minutesPass(step);
    else await step(stage.eu, cast, stage);
    if (at === restartAfter) await stage.restart();
  }
  await story.check?.(stage);
  return { mails: [...stage.mails], digests: [...stage.digests] };
}

function written({ mails, digests }: Post): string {
  const all = [...mails, ...digests].sort((a, b) => a.receivedAtUs - b.receivedAtUs);
  const texts = all.map(({ notification, receivedAtUs }) => {
    const minute = new Date(receivedAtUs / 1000).toISOString().slice(11, 16);
    const { subject, text } = mailMessage(notification, EXTERNAL_URL, undefined);
    return `${minute} UTC\nSubject: ${subject}\n\n${text}`;
  });
  return texts.join(`\n${'='.repeat(80)}\n\n`);
}

/**
 * What was received: the messages in order, and the events that were notified once. Which of two messages contains an
 * event may depend on seconds, by which a restart shifts polls.
 */
function received({ mails, digests }: Post): unknown {
  const messages = mails.map(({ notification: { groupKey, reason, status, alerts } }) => ({
    groupKey,
    reason,
    status,
    alerts: alerts.map((alert) => `${alert.status} ${JSON.stringify(alert.labels)}`),
  }));
  const events = mails.flatMap(({ notification }) =>
    notification.alerts.flatMap((alert) => alert.events.map(({ key }) => `${alert.id} ${key}`)),
  );
  const omitted = mails
    .flatMap(({ notification }) => notification.alerts)
    .reduce((sum, { eventsOmitted }) => sum + eventsOmitted, 0);
  const counts = digests.map(({ notification: { id, digest } }) => {
    const { flights, openTotal, recovered } = digest;
    return { id, flights, openTotal, recovered: recovered.alerts };
  });
  return { messages, events: events.toSorted(), omitted, counts };
}

/** A restart after one step of a story. */
interface Restart {
  readonly story: MailStory;
  readonly at: number;
}

const restarts = MAIL_STORIES.filter(({ isByTheSecond }) => !isByTheSecond).flatMap((story) =>
  [...story.steps.keys()].map((at): Restart => ({ story, at })),
);
/** Each of these keeps something else over the restart, from active Flights to what a digest counts. */
const REMEMBERING = new Set(['stuck', 'silenced, and told at its end']);
const inTheMiddle = restarts.filter(
  ({ story, at }) => REMEMBERING.has(story.name) && at === Math.floor(story.steps.length / 2),
);
const chosen = Map.groupBy([...new Set([...spread(restarts, 7), ...inTheMiddle])], ({ story }) => story);

describe.each(MAIL_STORIES)('$name', (story) => {
  let undisturbed: Promise<Post> | undefined;
  const post = () => (undisturbed ??= mailsOf(story));

  test('sends these mails [long]', async () => {
    const { mails, digests } = await post();
    await expect(written({ mails, digests })).toMatchFileSnapshot(`mails/${story.name}.txt`);
    for (const { notification } of [...mails, ...digests]) {
      const { html } = mailMessage(notification, EXTERNAL_URL, undefined);
      expect(Buffer.byteLength(html)).toBeLessThan(30_000);
      expect(html).not.toMatch(/<(img|link|script|iframe|video|audio|object)|url\(|@import|src=/i);
    }
  });

  test.each(chosen.get(story) ?? [])(
    'sends the same mails when nestwatch is restarted after step $at [long]',
    async ({ at }) => {
      expect(received(await mailsOf(story, at))).toEqual(received(await post()));
    },
  );
});
