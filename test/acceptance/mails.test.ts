/**
 * Stories with exactly the mails that a person would want of each, as texts to be read: `mails/*.txt`. A change of
 * wording shows there; write them anew with `vitest run test/acceptance/mails.test.ts -u`, and read them.
 */
import { describe, expect, test } from 'vitest';
import { mailSubject } from '../../src/delivery/formats/email-headers.ts';
import { emailText } from '../../src/delivery/formats/email-text.ts';
import { mailView } from '../../src/delivery/formats/email-view.ts';
import { type Cast, MAIL_STORIES, type MailStory, setTheScene } from './mails/stories.ts';
import { type Mail, openStage } from './stage.ts';

const EXTERNAL_URL = 'http://nestwatch.example';

async function mailsOf({ before, options, steps }: MailStory, restartAfter?: number): Promise<Mail[]> {
  const cast: Cast = { nests: new Map(), birds: new Map(), flights: new Map() };
  const stage = await openStage({
    regions: ['eu'],
    route: { groupWaitMs: 30_000, groupIntervalMs: 300_000 },
    ...options,
    before(world) {
      setTheScene(world, cast);
      before?.(world, cast);
    },
  });
  try {
    for (const [at, step] of steps.entries()) {
      if (typeof step === 'number') await stage.minutesPass(step);
      else step(stage.worlds.eu!, cast, stage);
      if (at === restartAfter) await stage.restart();
    }
    return [...stage.mails];
  } finally {
    await stage.close();
  }
}

function written(mails: readonly Mail[]): string {
  const texts = mails.map(({ notification, receivedAtUs }) => {
    const minute = new Date(receivedAtUs / 1000).toISOString().slice(11, 16);
    const text = emailText(mailView(notification, EXTERNAL_URL));
    return `${minute} UTC\nSubject: ${mailSubject(notification)}\n\n${text}`;
  });
  return texts.join(`\n${'='.repeat(80)}\n\n`);
}

/**
 * What is told: the messages in their order, and of the events that each one of them is told once. Which of two
 * messages tells an event may depend on seconds, by which a restart shifts polls.
 */
function told(mails: readonly Mail[]): unknown {
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
  return { messages, events: events.toSorted(), omitted };
}

describe.each(MAIL_STORIES)('$name', (story) => {
  test('gives these mails', async () => {
    await expect(written(await mailsOf(story))).toMatchFileSnapshot(`mails/${story.name}.txt`);
  });

  test('gives the same mails when nestwatch is restarted in between', async () => {
    const expected = told(await mailsOf(story));
    for (const at of story.steps.keys())
      expect(told(await mailsOf(story, at)), `after step ${at}`).toEqual(expected);
  });
});
