import { describe, expect, test } from 'vitest';
import { threadHeaders } from '../../src/channels/email/email-channel.ts';
import { mailMessage } from '../../src/channels/email/mail-message.ts';
import { mailView } from '../../src/channels/message/message-view.ts';
import type { GroupNotification } from '../../src/domain/grouping/notification.ts';
import { compileTemplate } from '../../src/templates/liquid.ts';
import { createStage } from './stage.ts';

describe('a Flight fails', () => {
  test('and people are notified by mail and webhook, once, with the reason, and of the recovery [long]', async () => {
    const { eu, bird, minutesPass, received, mails } = await createStage({
      regions: ['eu'],
      // Short enough that repetitions show within the hour.
      route: { repeatIntervalMs: 1_200_000 },
      nests: { Marketing: ['Translate blog'] },
    });
    await minutesPass(2);
    expect(received()).toEqual([]);

    eu.startFlight(bird('Translate blog'), {
      endsAs: 'failed',
      fliesForMs: 20_000,
      errorMessages: 'The TMS refused the job',
    });
    await minutesPass(2);
    expect(received()).toMatchObject([
      {
        status: 'firing',
        alerts: [
          {
            status: 'firing',
            labels: { alertname: 'FlightFailed', region: 'eu', nest: 'Marketing', bird: 'Translate blog' },
            events: [{ type: 'flight.failed', message: 'The TMS refused the job' }],
            events_total: 1,
          },
        ],
      },
    ]);
    expect(mails).toHaveLength(1);

    eu.startFlight(bird('Translate blog'), { endsAs: 'succeeded', fliesForMs: 5_000 });
    await minutesPass(3);
    expect(received().map(({ status }) => status)).toEqual(['firing', 'resolved']);
    expect(received()[1]!.alerts[0]!.events).toEqual([]);
    await minutesPass(62);
    expect(received()).toHaveLength(2);
  });
});

test('the mails of a group are one thread, with reminder and recovery, over restarts and under telling subjects [long]', async () => {
  const { eu, bird, minutesPass, mails, restart } = await createStage({
    regions: ['eu'],
    route: { repeatIntervalMs: 1_200_000 },
    nests: { Marketing: ['Translate blog'] },
  });
  const end = async (status: 'failed' | 'succeeded') => {
    eu.endFlight(eu.startFlight(bird('Translate blog')).id, status, {
      errorMessages: 'The TMS refused the job',
    });
    await minutesPass(3);
  };
  await minutesPass(2);
  await end('failed');
  await restart();
  await minutesPass(25);
  await restart();
  await end('succeeded');
  await end('failed');
  const headers = mails.map(({ notification, delivery }) =>
    threadHeaders(notification, delivery, 'n@example.com'),
  );
  const subjects = mails.map(({ notification }) => mailMessage(notification, 'https://x', undefined).subject);
  expect(subjects).toEqual([
    '✕ Translate blog failed · EU Marketing',
    'Reminder: Translate blog still fails · EU Marketing',
    '✓ Translate blog lands again · EU Marketing',
    '✕ Translate blog failed · EU Marketing',
  ]);
  const [first, reminder, recovery, again] = headers;
  for (const reply of [reminder, recovery])
    expect(reply).toMatchObject({ inReplyTo: first!.messageId, references: first!.messageId });
  expect(new Set(headers.map(({ messageId }) => messageId)).size).toBe(4);
  // The next failure is news, not an answer to what is over.
  expect([first!.references, again!.references]).toEqual([undefined, undefined]);
});

test('a message links to the Flight in the application of the service, if its address is configured [long]', async () => {
  const { eu, bird, minutesPass, received, mails, regionsFollow } = await createStage({
    nests: { Marketing: ['Translate blog'] },
  });
  await regionsFollow({
    links: {
      bird: compileTemplate('https://app.example.com/{{ bird_id }}', 'address', { bird_id: '1' }),
      flight: compileTemplate('https://app.example.com/flights/{{ flight_id }}', 'address', {
        flight_id: '1',
      }),
    },
  });
  await minutesPass(2);
  const flight = eu.startFlight(bird('Translate blog'), { endsAs: 'failed', fliesForMs: 20_000 });
  await minutesPass(2);
  const address = `https://app.example.com/flights/${flight.id.toLowerCase()}`;
  expect(received()[0]!.alerts[0]!.annotations).toMatchObject({
    flight_url: address,
    bird_url: `https://app.example.com/${bird('Translate blog')}`,
  });
  expect(mails).toHaveLength(1);
  const { notification } = mails[0]!;
  const { links } = mailView(notification as GroupNotification, 'http://nestwatch.example');
  expect(links).toContainEqual({ text: 'Flight in the service', url: address });
});
